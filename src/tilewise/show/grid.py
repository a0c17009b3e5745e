"""Which part of a layout is drawn, what stands in each cell, and what its colour means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.facts import plain_extremes
from tilewise.core.layout import Iter, Layout, Point
from tilewise.core.shapes import coordinates
from tilewise.core.vectors import Vector
from tilewise.show.scene.logical import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COLOURS = 8
MAX_ROWS, MAX_COLUMNS = 40, 64
_COPIES_IN_A_CELL = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One element: the text of its places, and the number of its colour."""

    text: str
    colour: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A window of a layout as rows and columns of cells."""

    title: str
    key: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    note: str


def grid_of(
    layout: Layout,
    shape: Any = None,
    window: tuple[tuple[int | None, int | None], ...] | None = None,
    width: int = 120,
    colour: str | None = None,
) -> Grid:
    """A layout as a grid that fits `width` characters, windowed where it is larger.

    `colour` names the axis that gives the colour.

    >>> from tilewise import S
    >>> grid = grid_of(S[(4, 2, 2, 4) : (16, 4, 8, 1)])
    >>> [cell.text for cell in grid.cells[1]]
    ['4', '5', '6', '7', '12', '13', '14', '15']
    """
    asked = layout.asked_in(shape)
    row_modes, column_modes = split(asked, layout.size)
    rows, columns = prod(row_modes), prod(column_modes)
    row_range, column_range = _window(window, rows, columns)
    painter = _Painter(_thinned(layout), colour)
    labels = (
        tuple(_label(row, row_modes) for row in row_range),
        tuple(_label(column, column_modes) for column in column_range),
    )
    lines: list[tuple[Cell, ...]] = []
    for row in row_range:
        flats = (row * columns + column for column in column_range if row * columns + column < layout.size)
        lines.append(tuple(painter.cell(flat) for flat in flats))
    fitting = len(column_range)
    if window is None or len(window) < 2:
        fitting = _fitting(lines, labels, width)
    return Grid(
        title=str(layout),
        key=painter.key,
        row_labels=labels[0],
        column_labels=labels[1][:fitting],
        cells=tuple(line[:fitting] for line in lines),
        note=_note(rows, columns, row_range, column_range[:fitting]),
    )


def _window(
    window: tuple[tuple[int | None, int | None], ...] | None, rows: int, columns: int
) -> tuple[range, range]:
    ranges = []
    given = (*(window or ()), (None, None), (None, None))
    for name, (start, stop), extent, most in zip(
        ("rows", "columns"), given, (rows, columns), (MAX_ROWS, MAX_COLUMNS), strict=False
    ):
        first = 0 if start is None else start
        last = min(extent, first + most) if stop is None else stop
        if not 0 <= first < last <= extent:
            raise LayoutError(
                "TW201",
                f"{name} {first}:{last} are not within 0:{extent}",
                hint=f"the grid has {extent} {name}",
            )
        ranges.append(range(first, last))
    if window is not None and len(window) > 2:
        raise LayoutError("TW201", f"a window of {len(window)} ranges", hint="a grid has rows and columns")
    if prod(map(len, ranges)) > 1 << 16:
        raise LayoutError("TW301", "a picture of more than 65536 cells", hint="give a smaller --window")
    return ranges[0], ranges[1]


def _thinned(layout: Layout) -> Layout:
    """The layout with as many copies as a cell shows, and one more that tells that there are others."""
    iters, start = merged_replica(layout.replica)
    kept, room = [], _COPIES_IN_A_CELL + 1
    for it in iters:
        extent = min(it.extent, room)
        kept.append(Iter(extent, it.stride))
        room = max(1, room // extent)
    named = Vector(tuple((axis, 0) for axis in layout.axes))  # also those on which no kept copy moves
    return replace(layout, replica=tuple(kept), offset=layout.offset + start + named)


class _Painter:
    """Texts and colours of the elements of one layout."""

    def __init__(self, layout: Layout, colour: str | None) -> None:
        self.layout = layout
        owners = [axis for axis in layout.axes if axis.kind != "storage"]
        self.axes = (*owners, *(axis for axis in layout.axes if axis.kind == "storage"))
        self.axis = layout.axis(colour) if colour else self._telling_axis(owners)
        self.position = layout.axes.index(self.axis)
        try:
            self.low, high = layout.extremes(self.axis)
        except NotDecided:  # before the swizzle is near enough for a colour
            self.low, high = plain_extremes(layout, self.axis.name)
        self.span = 1 + high - self.low

    def _telling_axis(self, owners: list[Axis]) -> Axis:
        """The axis that gives the colour: the owner of most values, else the swizzled one."""
        if owners:
            return max(owners, key=self.layout.span)
        return self.layout.swizzled_axis or self.axes[0]

    @property
    def key(self) -> str:
        """What the numbers in a cell are, and its colour."""
        cells = "cells " + ":".join(axis.name for axis in self.axes)
        if self.layout.copies > 1:
            cells += ", copies between |"
        if self._permuted:
            return f"{cells}; colour by the chunks that the swizzle permutes"
        if self.axis.kind == "storage":
            return f"{cells}; colour by {self.axis}" + (f" in {COLOURS} bands" if self.span > COLOURS else "")
        return f"{cells}; colour by {self.axis}" + (f" mod {COLOURS}" if self.span > COLOURS else "")

    @property
    def _permuted(self) -> bool:
        return self.axis == self.layout.swizzled_axis and self.layout.swizzles[-1].bits > 0

    def cell(self, flat: int) -> Cell:
        """The cell of one element."""
        points = self.layout.points(flat)
        positions = map(self.layout.axes.index, self.axes)
        return Cell(":".join(self._steps(points, i) for i in positions), self._colour(points[0]))

    def _steps(self, points: list[Point], axis: int) -> str:
        values = list(dict.fromkeys(p[axis] for p in points))
        shown = "|".join(map(str, islice(values, _COPIES_IN_A_CELL)))
        return shown + ("|.." if len(values) > _COPIES_IN_A_CELL else "")

    def _colour(self, place: Point) -> int:
        steps = place[self.position]
        if self._permuted:
            target = self.layout.swizzles[-1].target
            return ((steps & target) // (target & -target)) % COLOURS
        if self.axis.kind == "storage":
            return (steps - self.low) * COLOURS // self.span % COLOURS
        return (steps - self.low) % COLOURS


def _fitting(
    lines: list[tuple[Cell, ...]], labels: tuple[tuple[str, ...], tuple[str, ...]], width: int
) -> int:
    """How many columns fit: a cell is padded on both sides, the row's label on one."""
    texts = [cell.text for line in lines for cell in line]
    widest = max(map(len, (*texts, *labels[1])))
    side = max(map(len, labels[0])) + 1
    return max(1, min(len(labels[1]), (width - side) // (widest + 2)))


def _label(flat: int, modes: tuple[int, ...]) -> str:
    return ",".join(map(str, coordinates(flat, modes)))


def _note(rows: int, columns: int, shown_rows: range, shown_columns: range) -> str:
    if len(shown_rows) == rows and len(shown_columns) == columns:
        return ""
    return (
        f"rows {shown_rows.start}..{shown_rows.stop - 1} of {rows}, "
        f"columns {shown_columns.start}..{shown_columns.stop - 1} of {columns}; "
        "see others with --window 0:16,0:16"
    )
