"""A layout in a cell of a notebook: its picture, the corner of a large one, or nothing: then it is text."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from zlib import crc32

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.pictures.paper.compose import drawing_of
from tilewise.pictures.paper.svg import svg_of
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.logical import logical_of
from tilewise.pictures.scene.model import Document
from tilewise.pictures.view.placed import shape_of

MOST_CELLS = 4096
"""A panel of more cells is left out, and of a layout with more places the corner is drawn."""

_CORNER = 16
_ROOM = 960


def glance(layout: Layout, form: str) -> str | None:
    """A picture of about the width of a notebook, as svg or as html; None where there is none.

    >>> from tilewise import S
    >>> glance(S[(2, 4)], "svg")[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    >>> glance(S[(2, 4)] + (1 << 60), "svg") is None
    True
    """
    try:
        drawing = drawing_of(_document(layout), room=_ROOM)
    except LayoutError:
        return None
    if form == "svg":
        return svg_of(drawing)
    number = crc32(drawing.words.encode())  # ids of pictures in one page differ
    return f'<div style="overflow-x:auto">{svg_of(drawing, number=number)}</div>'


def _document(layout: Layout) -> Document:
    window = None
    if layout.size * layout.copies > MOST_CELLS:
        grid = logical_of(layout)
        window = (0, min(_CORNER, prod(grid.rows))), (0, min(_CORNER, grid.broad))
    document = document_of(layout, window=window)
    (scene,) = document.scenes
    panels = tuple(panel for panel in scene.panels if prod(shape_of(panel)) <= MOST_CELLS)
    return replace(document, scenes=(replace(scene, panels=panels),))
