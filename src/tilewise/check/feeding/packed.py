"""Elements of 4 and 6 bits that ldmatrix unpacks: sixteen of them at the start of 16 bytes of shared memory.

In registers each has a byte. Where T places the elements of such sixteen at a + 4 x bits (or 6 x), the layout
that places them at a + x bytes, rows of 16 bytes, is moved by the same forms: a row starts where it did, and
what the form gives to whom is the same. So the question is asked of that one.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.vectors import along

TOGETHER = 16
"""Elements of 16 bytes."""
BYTE = 8


def unpacked(layout: Layout, bits: int) -> Layout | None:
    """The layout in bytes of what a layout in bits packs; None where no sixteen elements are packed.

    >>> from tilewise import S
    >>> print(unpacked(S[(8, (2, 16)) : (256, (128, 4))].counted("bit"), 4))
    S[(8, 32) : (32, 1)]
    """
    for mode in (1, 0):
        spread = _spread(layout, mode, bits)
        if spread is not None:
            return _in_bytes(spread)
    return None


def _in_bytes(spread: Layout) -> Layout | None:
    try:
        return spread.in_bytes("b8").coalesce(by_mode=True)
    except LayoutError:
        return None


def _spread(layout: Layout, mode: int, bits: int) -> Layout | None:
    """The layout with a byte for each of sixteen along a mode; None where it packs none there."""
    extents = extents_of(layout.shape)
    if extents[mode] % TOGETHER:
        return None
    shape: list[int | tuple[int, int]] = [*extents]
    shape[mode] = extents[mode] // TOGETHER, TOGETHER
    try:
        grouped = layout.group(*shape)
    except Refused:
        return None
    strides = list(grouped.strides)
    counts = [extent for extent, _ in grouped.digits]
    at = len(strides) if mode else sum(1 for _ in leaves(grouped.shape[:1]))
    covered = 1
    while covered < TOGETHER:
        at -= 1
        if counts[at] > 1 and strides[at][m] != bits * covered:
            return None
        strides[at] = along(m, BYTE * covered)
        covered *= counts[at]
    return replace(grouped, strides=tuple(strides))
