"""`table`: the places of every element of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tilewise.core.axes import Axis
from tilewise.core.layout import Layout
from tilewise.core.orders import turned
from tilewise.core.shapes import extents_of, mirrored
from tilewise.core.vectors import ZERO, Vector
from tilewise.tables.column import Column, column_of, sort_copies
from tilewise.tables.digits import Int64s, Run, dealt, digits_of
from tilewise.tables.listing import Listing, listing
from tilewise.tables.request import Window, as_window, refuse_too_many
from tilewise.tables.sums import OuterSum, outer_sums

NARROWER = "ask for a part of it: window=((start, stop), ...), one pair a mode"


@dataclass(frozen=True, eq=False)
class Table:
    """The places of a window of a layout, an array an axis.

    postcondition  columns[a][x] is the coordinate on a of the place of index window start + x;
                   with copies, columns[a][x][r] is that of places(...)[r]
    """

    window: Window
    axes: tuple[str, ...]
    copies: int
    columns: dict[str, Int64s]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the extents of the window, one a mode of its shape."""
        return tuple(stop - start for start, stop in self.window)

    @property
    def array(self) -> Int64s:
        """Return one array: the window's extents, then the copies and the axes where there are several.

        >>> from tilewise import S, laneid, reg
        >>> table(S[(2, 4) : (1@laneid, 1@reg)]).array[1, 3].tolist()
        [1, 3]
        """
        columns = [self.columns[axis] for axis in self.axes]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=-1)

    def __repr__(self) -> str:
        return f"Table(window={self.window}, axes={self.axes}, copies={self.copies})"


def table(layout: Layout, *, shape: Any = None, window: Any = None) -> Table:
    """Return the places of every element, or of every element of a window ((start, stop), ...).

        requires       places within 64-bit integers, and no more entries than memory holds
        postcondition  pointwise equal to `layout.places`, in the same order of copies

    The arrays have the window's extents, and a last dimension for the copies where there are several.

    >>> from tilewise import S, R, Swizzle, laneid, reg
    >>> table(S[(2, 4) : (1@laneid, 1@reg)]).columns["reg"].tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    >>> table(Swizzle(1, 0, 2) @ S[(4, 4) : (4, 1)], window=((1, 3), None)).columns["m"].tolist()
    [[5, 4, 7, 6], [8, 9, 10, 11]]
    >>> table(S[2 : 1] + R[2 : 8]).columns["m"].tolist()
    [[0, 8], [1, 9]]
    """
    asked = layout.asked_in(shape)
    ends = as_window(window, asked)
    if layout.order != "row":
        return _in_reverse(table(turned(layout), shape=mirrored(asked), window=ends[::-1]))
    counts = [stop - start for start, stop in ends]
    elements, axes = prod(counts), layout.axes
    refuse_too_many(elements * len(axes), "the table", NARROWER)
    steps = _copies(layout)
    copies = len(steps[0])
    refuse_too_many(elements * copies * len(axes), "the table", NARROWER)
    planned = [
        _planned(layout, axis, own, extents_of(asked), ends) for axis, own in zip(axes, steps, strict=True)
    ]
    filled = [np.empty((elements, copies), np.int64) for _ in planned]
    for out, (parts, column) in zip(filled, planned, strict=True):
        first = 0
        for part in parts:
            part.write(out[first : first + part.elements], column)
            first += part.elements
    if layout.swizzled_axis is not None:
        sort_copies(filled, axes.index(layout.swizzled_axis))
    shaped = [out.reshape([*counts, copies] if copies > 1 else counts) for out in filled]
    for array in shaped:
        array.flags.writeable = False
    names = tuple(axis.name for axis in axes)
    return Table(ends, names, copies, dict(zip(names, shaped, strict=True)))


def _in_reverse(found: Table) -> Table:
    """Return a table with its modes in reverse."""
    modes = len(found.window)
    columns = {
        axis: column.transpose(*reversed(range(modes)), *range(modes, column.ndim))
        for axis, column in found.columns.items()
    }
    return Table(found.window[::-1], found.axes, found.copies, columns)


def _planned(
    layout: Layout, axis: Axis, copies: tuple[int, ...], extents: Sequence[int], ends: Window
) -> tuple[Sequence[OuterSum | Listing], Column]:
    """Return the sums that list one axis of a window, part after part, and the column that finishes them.

    A window without gaps is one run of flat indices. Else every mode takes a run of its digits, if the
    layout's digits divide the window's shape. The rest is listed entry by entry.
    """
    digits = digits_of(layout, axis)
    counts = [stop - start for start, stop in ends]
    weights = [prod(extents[mode + 1 :]) for mode in range(len(extents))]
    first = sum(start * weight for (start, _), weight in zip(ends, weights, strict=True))
    last = sum((stop - 1) * weight for (_, stop), weight in zip(ends, weights, strict=True))
    flat = Run(digits, first, last + 1)
    if last + 1 - first == prod(counts):
        runs = [flat]
    elif (modes := dealt(digits, extents)) is not None:
        runs = [Run(mode, *pair) for mode, pair in zip(modes, ends, strict=True)]
    else:
        runs = []
    parts: Sequence[OuterSum | Listing] | None = outer_sums(runs, len(copies)) if runs else None
    parts = parts or [listing(flat, counts, weights)]
    return parts, column_of(layout, axis, copies, runs or [flat])


def _copies(layout: Layout) -> list[tuple[int, ...]]:
    """Return the steps of the copies before any swizzle, a tuple an axis, in the order of the places.

    A layout that was turned into another order keeps the order of its axes; a part of it has its own.
    """
    named = Vector(tuple((axis, 0) for axis in layout.axes))  # a swizzle's axis may be named by it alone
    plain = replace(layout, swizzles=(), outer=ZERO, offset=layout.offset + named)
    base = plain.before_swizzle(0)
    steps = [[p - b for p, b in zip(at, base, strict=True)] for at in plain.points(0)]
    columns = dict(zip(plain.axes, zip(*steps, strict=True), strict=True))
    return [columns[axis] for axis in layout.axes]
