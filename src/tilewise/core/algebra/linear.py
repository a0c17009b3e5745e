"""Layouts as maps over GF(2): to bases and back, rank and kernel, wherever sums are XORs.

`tilewise.core.bits.affine` has the map itself, with its inverse and its products.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewise.core.algebra.recognition import recognise_map
from tilewise.core.axes import Axis, m
from tilewise.core.bits import Bits, affine
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.vectors import Vector, as_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout


def bases(layout: Layout) -> dict[str, tuple[int, ...]]:
    """Return what every bit of the flat index flips on every axis, the lowest bit first.

        postcondition  place(x) == place(0) XOR the bases of the bits of x, axis by axis
        refused        TW512 where sums are no XORs, with two indices whose steps carry

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> bases(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)])
    {'laneid': (0, 1, 2, 4, 8, 16), 'reg': (1, 0, 0, 0, 0, 0)}
    >>> bases(Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)])
    {'m': (1, 2, 5)}
    """
    return affine(layout).bases


def from_bases(bases: Any, origin: Any = 0, shape: Any = None) -> Layout:
    """The layout, swizzled where it must be, of XORs of bases: `{axis: one number a bit}`, or a list on m.

        postcondition  place(x) == origin XOR the bases of the bits of x, axis by axis
        refused        TW510 where no swizzle makes such a layout

    >>> from tilewise import laneid
    >>> from_bases({laneid: (0, 1, 2), "reg": (1, 0, 0)})
    S[(4, 2) : (1@laneid, 1@reg)]
    >>> from_bases([1, 2, 5], shape=(2, 4))
    Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)]
    """
    by_axis = dict(bases) if isinstance(bases, Mapping) and bases else {m: bases}
    axes = tuple(axis if isinstance(axis, Axis) else Axis(axis) for axis in by_axis)
    columns = [_numbers(values, axis) for axis, values in zip(axes, by_axis.values(), strict=True)]
    if len(set(map(len, columns))) > 1:
        counts = ", ".join(f"{len(column)} on {axis}" for axis, column in zip(axes, columns, strict=True))
        raise LayoutError(
            "TW107", f"bases of {counts}", hint="one number a bit of the index, 0 where it does not move"
        )
    start = as_vector(origin, "an origin")
    axes += tuple(axis for axis in start.axes if axis not in axes)
    columns += [(0,) * len(columns[0])] * (len(axes) - len(columns))
    found = recognise_map(_map(axes, columns, start))
    return found if shape is None else found.reshape(shape)


def rank(layout: Layout) -> int:
    """The layout has 2^rank places.

    >>> from tilewise import S
    >>> rank(S[(4, 2, 8) : (8, 0, 1)])
    5
    """
    return affine(layout).rank


def kernel(layout: Layout) -> tuple[int, ...]:
    """A basis of the indices d for which x and x ^ d have one place, for all x.

        postcondition  the XORs of the kernel are 2^(bits - rank) indices, all at the place of index 0

    >>> from tilewise import S
    >>> kernel(S[(4, 2, 8) : (8, 0, 1)])
    (8,)
    """
    return affine(layout).kernel


def _numbers(values: Any, axis: Axis) -> tuple[int, ...]:
    if not isinstance(values, Iterable):
        raise LayoutError(
            "TW107", f"the bases on {axis} are a list, one number a bit of the index, not {values!r}"
        )
    return tuple(as_int(value, f"a base on {axis}") for value in values)


def _map(axes: tuple[Axis, ...], columns: list[tuple[int, ...]], start: Vector) -> Bits:
    return Bits(tuple(start[axis] for axis in axes), tuple(zip(*columns, strict=True)), axes)
