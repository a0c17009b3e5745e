"""`drawing_of`: a document as one picture, with its title, its words, its notes and what colours mean.

`glance` is the picture of a layout in a cell of a notebook.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from zlib import crc32

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.pictures.paper.drawing import (
    Box,
    Drawing,
    Fill,
    Item,
    Part,
    Text,
    below,
    flowed,
    paragraph,
    wide,
)
from tilewise.pictures.paper.encoded import encoded_part
from tilewise.pictures.paper.panel import panel_part
from tilewise.pictures.paper.svg import svg_of
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.cells import Elements, shape_of
from tilewise.pictures.scene.encoded import encoded_words
from tilewise.pictures.scene.logical import logical_of
from tilewise.pictures.scene.model import Document, Scene
from tilewise.pictures.scene.words import description, key_words, moment_of, moment_words, refuse_step

MOST_CELLS = 1 << 18
"""So many cells a picture has at most, all panels together."""

ROOM = 1440
"""As wide as a picture is where its panels can be beside each other."""

_MARGIN = 20
_LEAST_TEXT = 420
_BETWEEN = 36
_SWATCH = 18


def drawing_of(
    document: Document, *, step: int | None = None, room: int = ROOM, or_head: bool = False
) -> Drawing:
    """Return a document as a picture about `room` pixels wide; with `step` that moment of every scene.

    With `or_head` a document of too many cells is its head alone.

        refused  TW301 more than 262,144 cells
                 TW201 a step that no scene has

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import document_of
    >>> drawing = drawing_of(document_of(S[(2, 4) : (4, 1)]))
    >>> drawing.title, [item.text for item in drawing.items if getattr(item, "mono", False)][1:6]
    ('S[(2, 4) : (4, 1)]', ['0', '1', '2', '3', '0'])
    >>> drawing = drawing_of(document_of(S[(1024, 1024) : (1024, 1)]), or_head=True)
    >>> drawing.title, len(drawing.items)
    ('S[(1024, 1024) : (1024, 1)]', 1)
    """
    cells = sum(prod(shape_of(panel)) for scene in document.scenes for panel in scene.panels)
    if cells > MOST_CELLS and not or_head:
        raise LayoutError(
            "TW301",
            f"a picture of {cells} cells, and {MOST_CELLS} are the most on paper",
            hint="a part of it fits: --window 0:64,0:64",
        )
    refuse_step(document, step)
    inner = room - 2 * _MARGIN
    body = []
    if cells <= MOST_CELLS:
        scenes = (_scene_part(scene, document, step, inner) for scene in document.scenes)
        body = [flowed(scenes, inner, _BETWEEN + 12, _BETWEEN)]
    widest = max([part.width for part in body], default=0)
    whole = below([*_head(document, max(widest, min(_LEAST_TEXT, inner))), *body], 10)
    words = [description(document)]  # for those who do not see it
    for scene in document.scenes:
        moment = moment_of(scene, step)
        if moment is not None:
            words.append(f"{moment_words(scene, step)}.")
            words.extend([encoded_words(moment.encoded)] if moment.encoded else [])
    return Drawing(
        width=whole.width + 2 * _MARGIN,
        height=whole.height + 2 * _MARGIN,
        title=document.title,
        words=" ".join(words),
        items=whole.at(_MARGIN, _MARGIN),
    )


def _head(document: Document, room: int) -> Iterator[Part]:
    alone = len(document.scenes) == 1
    if alone or document.title != document.scenes[0].title:
        expression = document.scenes[0].expression
        own = alone and document.title == expression
        yield paragraph(document.title, room, 15, mono=own, bold=True)
        if alone and not own:
            yield paragraph(expression, room, 13, mono=True)
    if document.words:
        yield paragraph(document.words, min(room, 900), 13)


def _scene_part(scene: Scene, document: Document, step: int | None, room: int) -> Part:
    moment = moment_of(scene, step)
    elements = Elements(scene, moment)
    panels = flowed((panel_part(panel, elements, room) for panel in scene.panels), room, _BETWEEN, 24)
    text = max(panels.width, min(_LEAST_TEXT, room))
    parts = []
    if len(document.scenes) > 1:
        parts.append(paragraph(scene.title, text, 14, mono=True, bold=True))
    notes = []
    for note in scene.notes:
        said = f"{note.kind}: {note.text}" if note.kind != "fact" else note.text
        notes.append(paragraph(said, min(text, 900), 12, "quiet" if note.kind == "fact" else "ink"))
    parts.append(below(notes, 2))
    if moment is not None:
        parts.append(paragraph(moment_words(scene, step), min(text, 900), 12, bold=True))
        parts.extend([encoded_part(moment.encoded, room)] if moment.encoded else [])
    return below([*parts, panels, _legend(elements, text)], 14)


def _legend(elements: Elements, room: int) -> Part:
    """Return the colours that there are, numbered, and what they mean in words."""
    items: list[Item] = []
    x = 0
    for colour in sorted(set(elements.colours.tolist())):
        items.append(Fill(f"c{colour}", (Box(x, 0, _SWATCH - 1, 16),)))
        items.append(Text(x + (_SWATCH - 1) / 2, 12, str(colour), 10, anchor="middle", mono=True))
        x += _SWATCH
    words = key_words(elements, "pale: not in this step")
    beside = x + 8 + wide(words, 12) <= room
    line = paragraph(words, room if not beside else 2 * room, 12, "quiet")
    left, top = (x + 8, 0) if beside else (0, 20)
    return Part(max(x, left + line.width), max(17, top + line.height), (*items, *line.at(left, top)))


GLANCED = 4096
"""A panel of more cells is left out, and of a layout with more places the corner is drawn."""

_CORNER = 16
_ROOM = 960


def glance(layout: Layout, form: str) -> str | None:
    """Return a picture of about the width of a notebook, as svg or as html; None where nothing can be drawn.

    >>> from tilewise import S
    >>> glance(S[(2, 4)], "svg")[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    >>> glance(S[(2, 4)] + (1 << 60), "svg") is None
    True
    """
    window = None
    try:
        if layout.size * layout.copies > GLANCED:
            grid = logical_of(layout)
            window = (0, min(_CORNER, prod(grid.rows))), (0, min(_CORNER, grid.broad))
        document = document_of(layout, window=window)
        (scene,) = document.scenes
        panels = tuple(panel for panel in scene.panels if prod(shape_of(panel)) <= GLANCED)
        drawing = drawing_of(replace(document, scenes=(replace(scene, panels=panels),)), room=_ROOM)
    except LayoutError:
        return None
    if form == "svg":
        return svg_of(drawing)
    number = crc32(drawing.words.encode())  # ids of pictures in one page differ
    return f'<div style="overflow-x:auto">{svg_of(drawing, number=number)}</div>'
