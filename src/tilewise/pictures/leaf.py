"""A document of scenes as lines for a terminal: notes, a step, the word that it gives, and panels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from tilewise.pictures.grid import grid_lines
from tilewise.pictures.scene.cells import Elements
from tilewise.pictures.scene.encoded import runs_of
from tilewise.pictures.scene.model import Document, Encoded, Panel, Scene
from tilewise.pictures.scene.words import key_words, moment_of, moment_words, refuse_step
from tilewise.pictures.sheet import Room, sheet_of
from tilewise.pictures.terminal import (
    GAP,
    Line,
    Piece,
    abreast,
    beside,
    hanging,
    length,
    paragraph,
)

Section = list[Line]

_KINDS = {"yes": "yes", "no": "no", "hint": "open"}
"""{kind that stands before the text of a note: its role}."""


def lines_of(
    document: Document, room: Room, *, step: int | None = None, ruled: bool = False
) -> Iterator[Line]:
    """Yield a document in lines: scenes side by side, if there is room; with `step` that moment of each.

        refused  TW201 a step that no scene has

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import document_of
    >>> from tilewise.pictures.terminal import as_text
    >>> print(as_text(lines_of(document_of(S[(2, 4) : (1, 2)]), Room(80, 40), ruled=True)))
    S[(2, 4) : (1, 2)]
    8 elements at m = 0..7
    one to one, without holes
    colour by m
    <BLANKLINE>
    index
    cells m
      | 0 1 2 3
    --+--------
    0 | 0 2 4 6
    1 | 1 3 5 7
    <BLANKLINE>
    memory, 4 elements a row
    rows m; columns add; cells coordinates
      |   0   1   2   3
    --+----------------
    0 | 0,0 1,0 0,1 1,1
    4 | 0,2 1,2 0,3 1,3
    """
    refuse_step(document, step)
    if document.words:
        yield from paragraph(document.words, room.width)
        yield ()
    many = len(document.scenes)
    for words in ((room.width + GAP) // many - GAP, room.width):
        scenes = [[*_sections(scene, step, room, words, ruled)] for scene in document.scenes]
        tall = [max(map(len, row)) for row in zip_longest(*scenes, fillvalue=())]
        level = [  # their sections begin on the same lines
            _joined(
                [*section, *[()] * (lines - len(section))]
                for section, lines in zip(scene, tall, strict=False)
            )
            for scene in scenes
        ]
        if abreast(level, room.width):
            yield from beside(level, room.width)
            return
    yield from beside([*map(_joined, scenes)], room.width)


def _joined(sections: Iterable[Section]) -> Section:
    """Return sections with an empty line between."""
    return [line for i, section in enumerate(sections) for line in ([(), *section] if i else section)]


def _sections(scene: Scene, step: int | None, room: Room, words: int, ruled: bool) -> Iterator[Section]:
    """Yield the sentences about a scene, in so many columns, and each of its panels in the room."""
    elements = Elements(scene, moment_of(scene, step))
    yield [*_said(elements, step, words)]
    for panel in scene.panels:
        yield [*_panel(panel, elements, room, words, ruled)]


def _said(elements: Elements, step: int | None, width: int) -> Iterator[Line]:
    scene = elements.scene
    *title, last = paragraph(scene.title, width, "head")
    dtype = Piece(f"   {scene.dtype}" if scene.dtype else "", "dim")
    beside_it = length(last) + len(dtype.text) <= width
    yield from [*title, (*last, dtype)] if beside_it else [*title, last, (dtype,)]
    for note in scene.notes:
        said = f"{note.kind}: {note.text}" if note.kind in _KINDS else note.text
        yield from paragraph(said, width, _KINDS.get(note.kind, "dim"))
    moment = moment_of(scene, step)
    if moment is not None:
        yield from paragraph(moment_words(scene, step), width, "name")
        if moment.encoded is not None:
            yield from _encoded(moment.encoded, width)
    yield from paragraph(key_words(elements, ". is not in this step"), width, "dim")


def _encoded(encoded: Encoded, width: int) -> Iterator[Line]:
    """Yield the word, and a line for each of its fields."""
    yield from paragraph(f"{encoded.name} {encoded.value}", width, "head")
    fields = [(run.where, run.field) for run in runs_of(encoded) if run.field is not None]
    bits = max((len(where) for where, _ in fields), default=0)
    name = max((len(field.name) for _, field in fields), default=0)
    held = max((len(str(field.held)) for _, field in fields), default=0)
    for where, field in fields:
        head = f"  {where:>{bits}}  {field.name:<{name}}  {field.held:>{held}}  "
        yield from hanging((Piece(head, "dim"),), field.words, max(len(head) + 20, width))


def _panel(panel: Panel, elements: Elements, room: Room, words: int, ruled: bool) -> Iterator[Line]:
    sheet = sheet_of(panel, elements, room)
    yield from paragraph(sheet.title, words, "name")
    yield from paragraph(sheet.key, words, "dim")
    blocks = [
        [*([(Piece(grid.title, "dim"),)] if grid.title else []), *grid_lines(grid, ruled=ruled)]
        for grid in sheet.blocks
    ]
    for at in range(0, len(blocks), sheet.abreast):
        if at:
            yield ()
        yield from beside(blocks[at : at + sheet.abreast], room.width)
    if sheet.note:
        yield from paragraph(sheet.note, words, "note")
