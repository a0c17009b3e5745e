"""Shared-memory tiles of operands: the swizzle atoms, and whole tiles made of them.

An operand is [rows, K]: A [M, K], B [N, K]; PTX draws B as K x N. The atom of a mode is `mode.rows` deep
across the major direction, 8 or 4, and `mode.elements` long along it. Atoms stand one after another, down one
direction first, `order`.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.template import ORDERS, extents, spacing, tile_digits

__all__ = ["ORDERS", "atom", "extents", "spacing", "tile"]


def atom(mode: Mode | str, major: str, dtype: DType | str) -> Layout:
    """Return the swizzle atom, [rows, K], counted in elements.

    >>> print(atom("128B", "k", "bf16"))
    Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    >>> print(atom("none", "mn", "f16"))
    S[(8, 8) : (1, 8)]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    shape = extents(mode, major, element)
    long = mode.elements(element)
    strides = (long, 1) if major == "k" else (1, long)
    return _swizzled(mode, element, Layout(shape, tuple(map(as_vector, strides))))


def tile(mode: Mode | str, major: str, dtype: DType | str, rows: int, k: int, order: str = "mn") -> Layout:
    """Return a whole tile of atoms, [rows, K], in elements; atoms follow one another down `order` first.

        requires       the tile is a whole number of atoms both ways

    >>> print(tile("128B", "k", "bf16", 128, 128))
    Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]
    >>> print(tile("128B", "mn", "bf16", 128, 64, order="k"))
    Swizzle<3,3,3> o S[((2, 64), (8, 8)) : ((4096, 1), (512, 64))]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    digits = tile_digits(mode, major, element, rows, k, order)
    shape = tuple([tuple([extent for extent, _ in own]) for own in digits])
    strides = tuple([as_vector(step // element.bits) for own in digits for _, step in own])
    return _swizzled(mode, element, Layout(shape, strides))


def _swizzled(mode: Mode, element: DType, layout: Layout) -> Layout:
    if not mode.bits:
        return layout
    return layout.swizzled((mode.swizzle.scaled(8, element.bits),), Vector(()))
