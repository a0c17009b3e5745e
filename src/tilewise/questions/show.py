"""A picture, in the terminal or as a file.

  tilewise show 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]'
  tilewise show 'Swizzle<3,0,3> o S[(8, 8) : (8, 1)]'
  tilewise show 'S[(4096, 4096) : (4096, 1)]' --window 0:8,100:108
  tilewise show 'S[64 : 1]' --shape 8,8 --ascii
  tilewise show 'SWIZZLE_128B o S[(8, 64) : (64, 1)]' --dtype bf16 --panel memory
  tilewise show 'tcgen05.D(f32, m=256, n=64, cta_group=2)' --panel tmem --window 126:128,0:4
  tilewise show 'S[(8, 8) : (8, 1)]' --dtype b128 --access col:16B --step 2
  tilewise show 'wgmma.D(f32, n=8)' --svg accumulator.svg --png accumulator.png
  tilewise show 'S[(8, 8) : (8, 1)]' --with 'Swizzle<3,0,3> o S[(8, 8) : (8, 1)]' --html both.html

Modes are folded into rows and columns; a layout that does not fit the terminal is shown in part, and says so.
--panel draws the other panels, too: memory and its banks, lanes and registers, tensor memory, the mesh; with
--access, --step or --with, and in a file, all are drawn that there are. --window picks rows and columns of
the layout, and of --panel regs or tmem alone what is at its heads: lanes and registers, lanes and columns.
SVG and PNG are made here, without a browser; --html is the explorer in one file, which opens from the disk.
With --json, --panel gives the scene.
"""

from __future__ import annotations

from dataclasses import asdict
from os import fspath

from tilewise.questions.asking import ASKED_IN, LAYOUT, asks
from tilewise.questions.drawn import for_values
from tilewise.questions.picture import Picture
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal, Unpack

    from tilewise.core.axes import Axis
    from tilewise.core.layout import Layout
    from tilewise.questions.asking import LayoutText, Many, Ranges, ShapeText, TextOptions, Type

TAKES_JSON = True

_AROUND = 8
"""Rows of the terminal for what stands around the rows of a panel."""

_PAGE = "FILE: the explorer with this layout, in one file that needs nothing else; - for standard output"


@asks(
    {
        "more than the index": {
            "panel": "P: index, memory (mem), registers (regs), tensor memory (tmem), mesh, places, all;"
            " repeatable",
            "access": "A: the access whose wavefronts are the steps, such as col:16B; descriptor.A,"
            " descriptor.B:tcgen05, boxes",
            "step": "N: the elements that move in step N, from 0 on; the rest is pale",
            "with_": "LAYOUT2: a second layout, beside the first; repeatable, up to four layouts",
        },
        "a picture as a file": {
            "svg": "FILE: text as text, light and dark; - for standard output",
            "png": "FILE: twice as large; needs Pillow; - for standard output",
            "html": _PAGE,
            "theme": "auto: as the reader prefers",
        },
    },
    layout=LAYOUT,
    shape=ASKED_IN,
    window="W: rows and columns, such as 0:16,8:24",
    colour="AXIS: the axis that gives the colour",
    ascii="no colour, no sign beyond ASCII",
)
@for_values
def show(
    layout: LayoutText,
    dtype: Type | None = None,
    *,
    shape: ShapeText | None = None,
    window: Ranges | None = None,
    colour: Axis | str | None = None,
    ascii: bool = False,
    panel: Sequence[str] = (),
    access: Layout | str | None = None,
    step: int | None = None,
    with_: Many = (),
    svg: Path | str | None = None,
    png: Path | str | None = None,
    html: Path | str | None = None,
    theme: Literal["auto", "light", "dark"] | None = None,
    json: bool = False,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return a picture of a layout: the grid of its index, panels of a scene, or files that were written.

    >>> print(show("S[(2, 4) : (4, 1)]", ascii=True))
    S[(2, 4) : (4, 1)]
    cells m; colour by m
    <BLANKLINE>
      | 0 1 2 3
    --+--------
    0 | 0 1 2 3
    1 | 4 5 6 7
    """
    texts = Texts(dtype, asked_shape=shape, **reading)
    axis = None if colour is None else str(colour)
    seen = window if isinstance(window, str) else texts.window(window)
    picture = Picture(texts, layout, with_, seen, axis, panel, access, step, theme)
    given = (("svg", svg), ("png", png), ("html", html))
    files = {form: fspath(file) for form, file in given if file is not None}
    if picture.are_files(files, ascii=ascii, json=json):
        return texts.reported(picture.files(files))
    if panel or access is not None or with_ or step is not None:
        return texts.reported(picture.in_terminal(_size(), ascii=ascii, json=json))
    from tilewise.pictures.grid import WIDTH, grid_of

    grid = grid_of(
        texts.layout(layout), texts.asked_shape, texts.window(window), WIDTH if json else _size()[0], axis
    )

    def draw() -> None:
        from tilewise.pictures.grid import print_picture

        print_picture(grid, ruled=ascii)

    return texts.report(asdict(grid), draw)


def _size() -> tuple[int, int]:
    """Return the columns of the terminal, and the rows of it that a panel may take."""
    from tilewise.pictures.grid import MOST, WIDTH
    from tilewise.pictures.terminal import size

    columns, rows = size(WIDTH, MOST[0] + _AROUND)
    return columns, max(_AROUND, rows - _AROUND)
