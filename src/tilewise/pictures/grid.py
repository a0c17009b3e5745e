"""The index panel of a layout of any size: which part of it is drawn, and what stands in its cells.

`scene_of` has every place of a scene; of the index alone few are seen, and only those are computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilewise.core.canonical import merged_replica
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.facts import plain_extremes
from tilewise.core.layout import Iter, Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector
from tilewise.pictures.scene.logical import Logical, logical_of
from tilewise.pictures.scene.model import Axis, Colour, Scene
from tilewise.pictures.scene.panels import colour_of, index_of
from tilewise.pictures.scene.words import MOST_COPIES, axes_in_order, head_text, place_text
from tilewise.pictures.terminal import Line, Piece, paragraph, print_out, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

MOST = (40, 64)
"""So many rows and columns are drawn at most, where no window says which."""

WIDTH = 120
"""Columns where nobody says how many there are."""

NONE = 9
"""The colour of what is not there."""

LEAST = 3
"""Columns of the terminal that a cell takes at least."""

_MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Cell:
    """The text in a cell, and the number of its colour: 0 to 7, `PALE` or `NONE`."""

    text: str
    colour: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and columns of cells with their labels."""

    title: str
    key: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    note: str


def grid_of(
    layout: Layout,
    shape: Any = None,
    window: Sequence[Any] | None = None,
    width: int = WIDTH,
    colour: Colour | str | None = None,
    most: tuple[int, int] = MOST,
) -> Grid:
    """Return a layout as a grid that fits `width` characters, windowed where it is larger.

    `colour` is the colour, or names the axis that gives it.

    >>> from tilewise import S
    >>> grid = grid_of(S[(4, 2, 2, 4) : (16, 4, 8, 1)])
    >>> [cell.text for cell in grid.cells[1]]
    ['4', '5', '6', '7', '12', '13', '14', '15']
    """
    text, layout = str(layout), by_coordinates(layout, shape)
    seen = most[0], min(most[1], max(1, width // LEAST))
    scene = _scene(_thinned(layout), _part(layout, shape, window, seen), colour)
    (panel,) = scene.panels
    firsts = scene.places[scene.colour.rule.axis][:: scene.copies]
    filled = [Cell(place_text(scene, i, scene.copies), scene.colour.rule(x)) for i, x in enumerate(firsts)]
    axes = ":".join(axis.name for axis in axes_in_order(scene))
    copies = ", copies between |" * (scene.copies > 1)
    rows, columns = panel.cells
    whole = Grid(
        title=text,
        key=f"cells {axes}{copies}; colour {scene.colour.words}",
        row_labels=tuple(head_text(panel.row_heads, row) for row in range(rows)),
        column_labels=tuple(head_text(panel.column_heads, column) for column in range(columns)),
        cells=tuple(tuple(filled[at : at + columns]) for at in range(0, len(filled), columns)),
        note="",
    )
    fits = fitting(whole, width) if window is None or len(window) < 2 else columns
    return replace(
        whole,
        column_labels=whole.column_labels[:fits],
        cells=tuple(line[:fits] for line in whole.cells),
        note=_note(scene, fits),
    )


def _part(layout: Layout, shape: Any, window: Sequence[Any] | None, most: tuple[int, int]) -> Logical:
    """Return the part that is drawn: the window, and where it is open as much as is drawn at most."""
    whole = logical_of(layout, shape)
    given = (*(window or ()), None, None)[: max(2, len(window or ()))]
    ends = []
    for pair, extent, many in zip(given, (prod(whole.rows), whole.broad), most, strict=False):
        first, last = pair or (None, None)
        first = first or 0
        ends.append((first, min(extent, first + many) if last is None else last))
    part = logical_of(layout, shape, (*ends, *given[2:]))
    (top, bottom), (left, right) = part.window
    if (bottom - top) * (right - left) > _MOST_CELLS:
        raise LayoutError(
            "TW301", f"a picture of more than {_MOST_CELLS} cells", hint="give a smaller --window"
        )
    return part


def _thinned(layout: Layout) -> Layout:
    """Return the layout with as many copies as a cell shows, and one more that tells that there are
    others.
    """
    iters, start = merged_replica(layout.replica)
    kept, room = [], MOST_COPIES + 1
    for it in iters:
        extent = min(it.extent, room)
        kept.append(Iter(extent, it.stride))
        room = max(1, room // extent)
    named = Vector(tuple((axis, 0) for axis in layout.axes))  # also those on which no kept copy moves
    return replace(layout, replica=tuple(kept), offset=layout.offset + start + named)


def _scene(layout: Layout, part: Logical, colour: Colour | str | None) -> Scene:
    """Return the scene of a part with its index alone; its axes reach as far as those of the whole layout."""
    axes = tuple(Axis(axis.name, axis.kind, *_ends(layout, axis.name)) for axis in layout.axes)
    points = [point for flat in part.flats for point in layout.points(flat)]
    return Scene(
        title=str(layout),
        expression=str(layout),
        shape=extents_of(part.shape),
        rows=part.rows,
        columns=part.columns,
        window=part.window,
        copies=layout.copies,
        axes=axes,
        places={axis.name: values for axis, values in zip(axes, zip(*points, strict=True), strict=True)},
        colour=colour if isinstance(colour, Colour) else colour_of(layout, axes, colour),
        panels=(index_of(part),),
    )


def _ends(layout: Layout, axis: str) -> tuple[int, int]:
    try:
        return layout.extremes(axis)
    except NotDecided:  # before the swizzle is near enough for a colour
        return plain_extremes(layout, axis)


def fitting(grid: Grid, width: int) -> int:
    """Return how many columns fit: a cell is padded on both sides, the row's label on one."""
    return max(1, min(len(grid.column_labels), (width - side_width(grid)) // (cell_width(grid) + 2)))


def grid_width(grid: Grid) -> int:
    """Return the columns that a grid takes."""
    return side_width(grid) + len(grid.column_labels) * (cell_width(grid) + 2)


def side_width(grid: Grid) -> int:
    """Return the columns of the labels of rows."""
    return max(map(len, grid.row_labels)) + 1


def cell_width(grid: Grid) -> int:
    """Return the columns of a cell, without those around it."""
    return max(map(len, (*(cell.text for line in grid.cells for cell in line), *grid.column_labels)))


def _note(scene: Scene, columns: int) -> str:
    """Return the words that name the part of the grid that is drawn; nothing where all is."""
    (top, bottom), (left, _) = scene.window
    down, across = prod(scene.rows), prod(scene.columns)
    if (bottom - top, columns) == (down, across):
        return ""
    return (
        f"rows {top}..{bottom - 1} of {down}, columns {left}..{left + columns - 1} of {across}; "
        "see others with --window 0:16,0:16"
    )


# -- as lines ----------------------------------------------------------------------------------------------


def grid_lines(grid: Grid, room: int | None = None, *, ruled: bool = False) -> Iterator[Line]:
    """Labels and cells, as many columns as there is room for; with rules where no colours part the cells.

    >>> from tilewise import S
    >>> from tilewise.pictures.terminal import as_text
    >>> print(as_text(grid_lines(grid_of(S[(2, 4) : (1, 2)]), ruled=True)))
      | 0 1 2 3
    --+--------
    0 | 0 2 4 6
    1 | 1 3 5 7
    """
    side, width = side_width(grid) - 1, cell_width(grid)
    many = len(grid.column_labels) if room is None else fitting(grid, room)
    between = " " if ruled else "  "
    labels = between.join(f"{label:>{width}}" for label in grid.column_labels[:many])
    if ruled:
        yield (Piece(f"{'':>{side}} | {labels}"),)
        yield (Piece("-" * (side + 1) + "+" + "-" * (len(labels) + 1)),)
    else:
        yield (Piece(f"{'':>{side}}  {labels}", "dim"),)
    for label, row in zip(grid.row_labels, grid.cells, strict=True):
        if ruled:
            yield (Piece(f"{label:>{side}} | " + " ".join(f"{cell.text:>{width}}" for cell in row[:many])),)
        else:
            cells = (Piece(f" {cell.text:>{width}} ", f"c{cell.colour}") for cell in row[:many])
            yield (Piece(f"{label:>{side}} ", "dim"), *cells)


def print_picture(grid: Grid, *, ruled: bool = False) -> None:
    """Print a grid, with its title and what its cells are; `ruled` has lines in the place of colours."""
    room = size(WIDTH, 0)[0]
    lines = [*paragraph(grid.title, room, "head"), *paragraph(grid.key, room, "dim"), ()]
    lines += grid_lines(grid, ruled=ruled)
    lines += [(), *paragraph(grid.note, room, "note")] if grid.note else []
    print_out(lines, plain=ruled)
