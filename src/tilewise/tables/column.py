"""One axis of a table: the constants of every entry, and the steps from sums to places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.tables.digits import INT64_HIGH, INT64_LOW, Int64s, Run, reach, wrapped
from tilewise.tables.swizzling import Wires, bits_reached, swizzle_in_place, wires_of

CHUNK = 1 << 15
"""Entries that are worked on while they are in the cache: 256 KiB, and as much scratch."""

FEW = 4
"""Copies that are sorted by exchanging neighbours."""


class Column(NamedTuple):
    """An axis by its offset, the steps of its copies, its swizzles and P."""

    offset: int
    copies: Int64s
    wires: tuple[Wires, ...] = ()
    outer: int = 0

    def finish(self, sums: Int64s, scratch: Int64s) -> None:
        """Replace sums by P + Sw(sums), in place."""
        swizzle_in_place(sums, self.wires, scratch)
        if self.outer:
            sums += wrapped(self.outer)


def column_of(layout: Layout, own: Axis, copies: Sequence[int], runs: Sequence[Run]) -> Column:
    """Return one axis of a layout over some runs; refuse places that do not fit in 64 bits."""
    offset, outer = layout.offset[own], layout.outer[own]
    swizzles = layout.swizzles if own == layout.swizzled_axis else ()
    ends = [reach(run.digits, run.start, run.stop - 1) for run in runs]
    low = offset + min(copies) + sum(least for least, _ in ends)
    high = offset + max(copies) + sum(most for _, most in ends)
    _refuse_overflow(f"the places on {own} run from {low} to {high}", low, high)
    if swizzles:
        bits = bits_reached(low, high, swizzles)
        lowest, highest = -(1 << bits) if low < 0 else 0, (1 << bits) - 1
        told = f"the places on {own} run from {low} to {high} before {swizzles[-1]}, then up to {bits} bits"
        _refuse_overflow(told, lowest, highest)
        _refuse_overflow(f"{told} and {outer} steps further", lowest + outer, highest + outer)
    return Column(offset, np.array([wrapped(step) for step in copies]), wires_of(swizzles), outer)


def _refuse_overflow(told: str, low: int, high: int) -> None:
    if low < INT64_LOW or high > INT64_HIGH:
        raise LayoutError(
            "TW302", f"{told}: not 64-bit integers", hint="ask by index, with places; its integers are exact"
        )


def sort_copies(columns: Sequence[Int64s], swizzled: int) -> None:
    """Sort the copies of every entry by the axes' order, after a swizzle moved them.

        requires       (entries, copies) arrays, one an axis, sorted but for the swizzled axis

    >>> column = np.array([[3, 1], [0, 2]])
    >>> sort_copies([column], 0)
    >>> column.tolist()
    [[1, 3], [0, 2]]
    """
    moving = [column for column in columns if (column[0] != column[0, 0]).any()]
    if not any(column is columns[swizzled] for column in moving):
        return
    rows = max(1, CHUNK // moving[0].shape[1])
    for first in range(0, len(moving[0]), rows):
        chunks = [column[first : first + rows] for column in moving]
        if len(chunks) == 1:
            _sort_rows(chunks[0])
        else:
            order = np.lexsort(chunks[::-1])
            for chunk in chunks:
                chunk[:] = np.take_along_axis(chunk, order, axis=1)


def _sort_rows(chunk: Int64s) -> None:
    """Sort every row; a few columns are exchanged as a whole, which is faster than row by row."""
    count = chunk.shape[1]
    if count > FEW:
        chunk.sort(axis=1)
        return
    for turn in range(count):
        for left in range(turn % 2, count - 1, 2):
            low = np.minimum(chunk[:, left], chunk[:, left + 1])
            np.maximum(chunk[:, left], chunk[:, left + 1], out=chunk[:, left + 1])
            chunk[:, left] = low
