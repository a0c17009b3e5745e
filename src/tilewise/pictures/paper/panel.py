"""A panel as a part of a picture: caption, heads, cells, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.pictures.paper.cells import Line, Run, box_of, colours_in, fills_of, runs_of
from tilewise.pictures.paper.drawing import LETTER, Box, Fill, Item, Part, Text, below, paragraph, wide
from tilewise.pictures.scene.model import Heads, Panel
from tilewise.pictures.view.placed import NOWHERE, Elements, Placed, placed_of, shape_of
from tilewise.pictures.view.words import axes_words, block_words, head_text, texts_of

FONTS = {12: 22, 10: 18, 9: 14}
"""{size of what stands in cells: the height of a cell}, as large as there is room for."""
HEAD = 10
CAPTION = 13
MOST_TEXTS = 8192
"""So many cells of a panel have a text at most."""

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
class Size:
    """How large small cells are, and what stands in them."""

    across: int
    down: int
    font: int
    said: str
    """full, brief or none."""
    texts: list[str]


def panel_part(panel: Panel, elements: Elements, room: int) -> Part:
    """A panel that is as wide as `room` at most, if its cells can be that small."""
    placed = placed_of(panel, elements)
    gutter = _gutter(panel)
    size = _size(placed, elements, room - gutter)
    named = panel.blocks != (1, 1)
    between = int(min(size.across * panel.slots, size.down) >= _LEAST_WITH_GAPS)
    across = Line(
        panel.blocks[1], panel.cells[1] * panel.slots, size.across, _BLOCK_GAP, between, panel.slots
    )
    down = Line(panel.blocks[0], panel.cells[0], size.down, _BLOCK_GAP + _BLOCK_NAME * named, between)
    runs = runs_of(colours_in(placed, elements), down.cells, across.cells)
    caption = _caption(panel, elements, size.said, gutter + across.length)
    top = caption.height + HEAD + 8 + (_BLOCK_NAME if named else 0)
    inside = [
        *fills_of(placed, runs, across, down),
        *_column_heads(panel, across, -4),
        *_row_heads(panel, down),
        *(_block_heads(panel, across, down) if named else ()),
        *(_texts(placed, elements, size, across, down) if size.font else _numbers(runs, across, down)),
    ]
    width = max(caption.width, gutter + across.length)
    items = (*caption.items, *(item.at(gutter, top) for item in inside))
    return Part(width, top + down.length, items)


def _caption(panel: Panel, elements: Elements, said: str, room: int) -> Part:
    room = max(room, _LEAST_CAPTION)
    title = paragraph(panel.title, room, CAPTION, bold=True)
    axes = paragraph(axes_words(panel, elements.scene, said), room, 11, "quiet")
    return below([title, axes, Part(0, 4, ())], 0)


# -- how large cells are ---------------------------------------------------------------------------


def _size(placed: Placed, elements: Elements, room: int) -> Size:
    rows, columns = shape_of(placed.panel)
    if rows * columns <= MOST_TEXTS:
        for said in ("full", "brief"):
            texts = texts_of(placed.panel, elements, said == "brief")
            longest = max(map(len, texts))
            for font, down in FONTS.items() if longest <= _LONGEST else ():
                across = _pitch(placed.panel, longest, font)
                if _length(placed.panel, across) <= room and rows * down <= _TALLEST_WITH_TEXT:
                    return Size(across, down, font, said, texts)
    across = _fitting(min(room, _WIDEST), columns)
    down = _fitting(_TALLEST, rows)
    slots = placed.panel.slots
    return Size(min(across, 3 * down), min(down, 3 * across * slots), 0, "none", [])


def _pitch(panel: Panel, longest: int, font: int) -> int:
    """Room for a text in the cells that an element takes."""
    pitch = -(-int(longest * font * LETTER + 0.999 + font // 2) // panel.covers)
    return max(pitch, 2 * font if panel.slots == panel.covers else 1)


def _length(panel: Panel, pitch: int) -> int:
    return shape_of(panel)[1] * pitch + (panel.blocks[1] - 1) * _BLOCK_GAP


def _fitting(room: int, cells: int) -> int:
    return max(1, min(_SMALL, room // cells))


# -- heads -----------------------------------------------------------------------------------------


def _gutter(panel: Panel) -> int:
    return wide("0" * _longest(panel.row_heads, panel.cells[0]), HEAD) + 8


def _longest(heads: Heads, count: int) -> int:
    return max(len(head_text(heads, position)) for position in range(count))


def _column_heads(panel: Panel, across: Line, y: int) -> Iterator[Text]:
    slots = panel.slots
    longest = _longest(panel.column_heads, panel.cells[1])
    step = _every(wide("0" * longest, HEAD) + 5, across.pitch * slots)
    middle = (across.pitch * slots - across.between) / 2
    for block in range(panel.blocks[1]):
        for column in range(0, panel.cells[1], step):
            x = across.start(block * across.cells + column * slots)
            yield Text(
                x + middle, y, head_text(panel.column_heads, column), HEAD, "quiet", "middle", mono=True
            )


def _row_heads(panel: Panel, down: Line) -> Iterator[Text]:
    step = _every(HEAD + 2, down.pitch)
    for block in range(panel.blocks[0]):
        for row in range(0, panel.cells[0], step):
            y = down.start(block * down.cells + row) + (down.pitch - down.between) / 2 + HEAD * 0.36
            yield Text(-6, y, head_text(panel.row_heads, row), HEAD, "quiet", "end", mono=True)


def _block_heads(panel: Panel, across: Line, down: Line) -> Iterator[Text]:
    """Above each block its numbers; in the first row of blocks those of columns stand between."""
    width = across.cells * across.pitch + _BLOCK_GAP - 4
    for i in range(panel.blocks[0]):
        y = down.start(i * down.cells) - (HEAD + 8 if i == 0 else 0) - 5
        for j in range(panel.blocks[1]):
            said = next((text for text in block_words(panel, i, j) if wide(text, 11) <= width), "")
            if said:
                yield Text(across.start(j * across.cells), y, said, 11, "quiet")


def _every(least: int, pitch: int) -> int:
    """Every so many: a power of two that leaves room."""
    step = 1
    while step * pitch < least:
        step *= 2
    return step


# -- what stands in cells --------------------------------------------------------------------------


def _texts(placed: Placed, elements: Elements, size: Size, across: Line, down: Line) -> Iterator[Item]:
    marks: list[Box] = []
    faded = elements.faded.tolist()
    several = placed.several.tolist()
    starts = placed.starts.tolist()
    for row, line in enumerate(placed.first.tolist()):
        y = down.start(row) + (down.pitch - down.between) / 2 + size.font * 0.36
        for column, element in enumerate(line):
            if element == NOWHERE or not starts[row][column]:
                continue
            last = min(column + placed.panel.covers, (column // across.cells + 1) * across.cells)
            while several[row][column] and last > column + 1:
                last -= 1
            box = box_of(Run(0, row, column, row + 1, last), across, down)
            role = "quiet" if faded[element] else "ink"
            yield Text(box.x + box.width / 2, y, size.texts[element], size.font, role, "middle", mono=True)
            if several[row][column]:
                marks.append(Box(box.x + box.width - 4, box.y, 4, 4))
    if marks:
        yield Fill("ink", tuple(marks))


def _numbers(runs: list[Run], across: Line, down: Line) -> Iterator[Text]:
    """The number of each run's colour, where there is room for it."""
    if len(runs) > MOST_TEXTS:
        return
    for run in runs:
        box = box_of(run, across, down)
        if run.colour >= 0 and box.width >= _SMALL_FONT and box.height > _SMALL_FONT:
            x, y = box.x + box.width / 2, box.y + box.height / 2 + _SMALL_FONT * 0.36
            role = "ink" if run.colour < 8 else "quiet"
            yield Text(x, y, str(run.colour % 8), _SMALL_FONT, role, "middle", mono=True)
