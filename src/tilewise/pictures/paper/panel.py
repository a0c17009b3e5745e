"""A panel as a part of a picture: caption, heads, cells as few boxes, and what stands in them.

Neighbouring cells of one colour are one box, and the gaps between cells are drawn over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tilewise.pictures.paper.drawing import LETTER, Box, Fill, Item, Part, Text, below, paragraph, wide
from tilewise.pictures.scene.cells import NOWHERE, Elements, Placed, placed_of, shape_of
from tilewise.pictures.scene.model import Heads, Panel
from tilewise.pictures.scene.words import axes_words, block_words, head_text, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FONTS = {12: 22, 10: 18, 9: 14}
"""{size of what stands in cells: the height of a cell}, as large as there is room for."""
HEAD = 10
CAPTION = 13
MOST_TEXTS = 8192
"""So many cells of a panel have a text at most."""

EMPTY = -1
FADED = 8
"""The step from a colour's number to that of its faded form."""

_TALLEST = 1300
_TALLEST_WITH_TEXT = 1900
_WIDEST = 640
_SMALL = 14
_LEAST_WITH_GAPS = 5
_SMALL_FONT = 8
_BLOCK_GAP = 14
_BLOCK_NAME = 16
_LONGEST = 18
_LEAST_CAPTION = 280


@dataclass(frozen=True, slots=True)
class Line:
    """One direction: where small cells begin."""

    blocks: int
    cells: int
    """Of a block."""
    pitch: int
    gap: int
    """Between blocks."""
    between: int = 0
    """Between neighbouring cells: the last pixels of each."""

    def start(self, cell: int) -> int:
        """Return where a cell begins.

        >>> [Line(2, 4, 10, 5).start(cell) for cell in (0, 3, 4)]
        [0, 30, 45]
        """
        return cell * self.pitch + cell // self.cells * self.gap

    def end(self, cell: int) -> int:
        """Return where the room of a cell ends."""
        return self.start(cell) + self.pitch

    @property
    def length(self) -> int:
        """Return the way from the first cell's beginning to the last one's end."""
        return self.end(self.blocks * self.cells - 1)


class Run(NamedTuple):
    """Neighbouring cells of one colour: from a row and a column to those behind the last."""

    colour: int
    top: int
    left: int
    bottom: int
    right: int


def runs_of(colours: Sequence[Sequence[int]], rows: int, columns: int) -> list[Run]:
    """Return the runs within blocks of so many rows and columns; those of equal rows are one.

    >>> runs_of([[1, 1, 2], [1, 1, 2], [1, 1, 3]], 3, 3)[:2]
    [Run(colour=1, top=0, left=0, bottom=2, right=2), Run(colour=2, top=0, left=2, bottom=2, right=3)]
    """
    return [
        Run(colour, top, left, bottom, right)
        for line, top, bottom in _alike(colours, rows)
        for colour, left, right in _alike(line, columns)
    ]


def _alike(values: Sequence[Any], size: int) -> Iterator[tuple[Any, int, int]]:
    """Yield equal neighbours within blocks of a size: the value, the first, and the one behind the last."""
    first = 0
    for (_, value), equal in groupby(enumerate(values), lambda each: (each[0] // size, each[1])):
        behind = first + len([*equal])
        yield value, first, behind
        first = behind


@dataclass(frozen=True, slots=True)
class Size:
    """The size of small cells, and the text in them."""

    across: int
    down: int
    font: int
    said: str
    """full, brief or none."""
    texts: list[str]


def panel_part(panel: Panel, elements: Elements, room: int) -> Part:
    """Return a panel that is as wide as `room` at most, if its cells can be that small."""
    placed = placed_of(panel, elements)
    gutter = wide("0" * _longest(panel.row_heads, panel.cells[0]), HEAD) + 8
    size = _size(placed, room - gutter)
    name = _BLOCK_NAME * (panel.blocks != (1, 1))
    between = int(min(size.across * panel.slots, size.down) >= _LEAST_WITH_GAPS)
    across = Line(panel.blocks[1], panel.cells[1] * panel.slots, size.across, _BLOCK_GAP, between)
    down = Line(panel.blocks[0], panel.cells[0], size.down, _BLOCK_GAP + name, between)
    seen = elements.colours + FADED * elements.faded
    colours = np.where(placed.first == NOWHERE, EMPTY, seen[placed.first])
    runs = runs_of(colours.tolist(), down.cells, across.cells)
    width = gutter + across.length
    caption = _caption(panel, elements, size.said, max(width, _LEAST_CAPTION))
    top = caption.height + HEAD + 8 + name
    inside = [
        *_fills(runs, across, down),
        *(_gaps(placed, across, down) if between else ()),
        *_column_heads(panel, across, -4),
        *_row_heads(panel, down),
        *(_block_heads(panel, across, down) if name else ()),
        *(_texts(placed, size, across, down) if size.font else _numbers(runs, across, down)),
    ]
    items = (*caption.items, *(item.at(gutter, top) for item in inside))
    return Part(max(caption.width, width), top + down.length, items)


def _caption(panel: Panel, elements: Elements, said: str, room: int) -> Part:
    title = paragraph(panel.title, room, CAPTION, bold=True)
    axes = paragraph(axes_words(panel, elements.scene, said), room, 11, "quiet")
    return below([title, axes, Part(0, 4, ())], 0)


# -- how large cells are ---------------------------------------------------------------------------


def _size(placed: Placed, room: int) -> Size:
    panel, (rows, columns) = placed.panel, shape_of(placed.panel)
    if rows * columns <= MOST_TEXTS:
        gaps = (panel.blocks[1] - 1) * _BLOCK_GAP
        for said in ("full", "brief"):
            texts = texts_of(panel, placed.elements, said == "brief")
            longest = max(map(len, texts))
            for font, down in FONTS.items() if longest <= _LONGEST else ():
                across = _pitch(panel, longest, font)
                if columns * across + gaps <= room and rows * down <= _TALLEST_WITH_TEXT:
                    return Size(across, down, font, said, texts)
    across, down = (
        max(1, min(_SMALL, most // cells))
        for most, cells in ((min(room, _WIDEST), columns), (_TALLEST, rows))
    )
    return Size(min(across, 3 * down), min(down, 3 * across * panel.slots), 0, "none", [])


def _pitch(panel: Panel, longest: int, font: int) -> int:
    """Return the room for a text in the cells that an element takes."""
    pitch = -(-int(longest * font * LETTER + 0.999 + font // 2) // panel.covers)
    return max(pitch, 2 * font if panel.slots == panel.covers else 1)


# -- heads -----------------------------------------------------------------------------------------


def _longest(heads: Heads, count: int) -> int:
    return max(len(head_text(heads, position)) for position in range(count))


def _column_heads(panel: Panel, across: Line, y: int) -> Iterator[Text]:
    heads, many = panel.column_heads, panel.cells[1]
    wide_cell = across.pitch * panel.slots
    step = _every(wide("0" * _longest(heads, many), HEAD) + 5, wide_cell)
    for block in range(panel.blocks[1]):
        for column in range(0, many, step):
            x = across.start((block * many + column) * panel.slots) + (wide_cell - across.between) / 2
            yield Text(x, y, head_text(heads, column), HEAD, "quiet", "middle", mono=True)


def _row_heads(panel: Panel, down: Line) -> Iterator[Text]:
    step = _every(HEAD + 2, down.pitch)
    for block in range(panel.blocks[0]):
        for row in range(0, panel.cells[0], step):
            y = down.start(block * down.cells + row) + (down.pitch - down.between) / 2 + HEAD * 0.36
            yield Text(-6, y, head_text(panel.row_heads, row), HEAD, "quiet", "end", mono=True)


def _block_heads(panel: Panel, across: Line, down: Line) -> Iterator[Text]:
    """Yield the numbers above each block; in the first row of blocks those of columns stand between."""
    width = across.cells * across.pitch + _BLOCK_GAP - 4
    for i in range(panel.blocks[0]):
        y = down.start(i * down.cells) - (HEAD + 8 if i == 0 else 0) - 5
        for j in range(panel.blocks[1]):
            said = next((text for text in block_words(panel, i, j) if wide(text, 11) <= width), "")
            if said:
                yield Text(across.start(j * across.cells), y, said, 11, "quiet")


def _every(least: int, pitch: int) -> int:
    """Return every how many cells there is room for a head: a power of two."""
    step = 1
    while step * pitch < least:
        step *= 2
    return step


# -- cells, and what stands in them ----------------------------------------------------------------


def _box(run: Run, across: Line, down: Line) -> Box:
    """Return the cells of a run in pixels, with the gap behind the last."""
    x, y = across.start(run.left), down.start(run.top)
    return Box(x, y, across.end(run.right - 1) - x, down.end(run.bottom - 1) - y)


def _fills(runs: Sequence[Run], across: Line, down: Line) -> Iterator[Fill]:
    """Yield the empty cells, and those of each colour."""
    boxes: dict[int, list[Box]] = {}
    for run in runs:
        boxes.setdefault(run.colour, []).append(_box(run, across, down))
    for colour, equal in sorted(boxes.items()):
        role = f"c{colour}" if colour < FADED else f"f{colour - FADED}"
        yield Fill("empty" if colour == EMPTY else role, tuple(equal))


def _gaps(placed: Placed, across: Line, down: Line) -> Iterator[Fill]:
    """Yield lines behind rows and columns, but for columns in which some element goes on."""
    rows, columns = placed.first.shape
    begins = placed.starts.all(axis=0) & (np.arange(columns) % placed.panel.slots == 0)
    lines = [Box(0, down.end(row) - 1, across.length, 1) for row in range(rows)]
    for column in range(1, columns + 1):
        if column == columns or begins[column]:
            lines.append(Box(across.end(column - 1) - 1, 0, 1, down.length))
    yield Fill("paper", tuple(lines))


def _texts(placed: Placed, size: Size, across: Line, down: Line) -> Iterator[Item]:
    marks: list[Box] = []
    faded, several, starts = (
        each.tolist() for each in (placed.elements.faded, placed.several, placed.starts)
    )
    for row, line in enumerate(placed.first.tolist()):
        for column, element in enumerate(line):
            if element == NOWHERE or not starts[row][column]:
                continue
            alone = min(column + placed.panel.covers, (column // across.cells + 1) * across.cells)
            behind = column + 1 if several[row][column] else alone
            box = _box(Run(0, row, column, row + 1, behind), across, down)
            right = box.x + box.width - across.between
            x, y = (box.x + right) / 2, box.y + (box.height - down.between) / 2 + size.font * 0.36
            role = "quiet" if faded[element] else "ink"
            yield Text(x, y, size.texts[element], size.font, role, "middle", mono=True)
            if several[row][column]:
                marks.append(Box(right - 4, box.y, 4, 4))
    if marks:
        yield Fill("ink", tuple(marks))


def _numbers(runs: Sequence[Run], across: Line, down: Line) -> Iterator[Text]:
    """Yield the number of each run's colour, where there is room for it."""
    for run in runs if len(runs) <= MOST_TEXTS else ():
        box = _box(run, across, down)
        if run.colour >= 0 and box.width >= _SMALL_FONT and box.height > _SMALL_FONT:
            x, y = box.x + box.width / 2, box.y + box.height / 2 + _SMALL_FONT * 0.36
            role = "ink" if run.colour < FADED else "quiet"
            yield Text(x, y, str(run.colour % FADED), _SMALL_FONT, role, "middle", mono=True)
