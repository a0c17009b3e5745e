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

import argparse
from dataclasses import asdict

from tilewise.cli.answer import Answer
from tilewise.cli.arguments import ASKED, add_options, layout_from, let_from, one_layout, shape_from
from tilewise.cli.pictures import (
    asks_for_a_scene,
    files_answer,
    files_asked,
    picture_arguments,
    terminal_answer,
)

_AROUND = 8
"""Rows of the terminal for what stands around the rows of a panel."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [--shape S] [--window W] [--ascii], panels, and pictures as files."""
    one_layout(parser, ASKED)
    add_options(parser, {"--window": ("W", "rows and columns, such as 0:16,8:24")})
    parser.add_argument("--colour", "--color", metavar="AXIS", help="the axis that gives the colour")
    add_options(parser, {"--ascii": "no colour, no sign beyond ASCII"})
    picture_arguments(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The grid, drawn; in JSON its texts. Or the panels of a scene, or the files that were written."""
    if asked := files_asked(args):
        return files_answer(args, asked)
    if asks_for_a_scene(args):
        return terminal_answer(args, _size())
    from tilewise.notation import parse_window
    from tilewise.show.grid import WIDTH, grid_of

    layout = layout_from(args.layout, args)
    window = None if args.window is None else parse_window(args.window, let_from(args))
    width = WIDTH if args.json else _size()[0]
    grid = grid_of(layout, shape_from(args), window, width, args.colour)

    def draw() -> None:
        from tilewise.show.terminal import print_picture

        print_picture(grid, ruled=args.ascii)

    return Answer(asdict(grid) if args.json else {}, draw)


def _size() -> tuple[int, int]:
    """Columns of the terminal, and the rows of it that a panel may take."""
    from tilewise.show.grid import MOST, WIDTH
    from tilewise.show.terminal import size

    columns, rows = size(WIDTH, MOST[0] + _AROUND)
    return columns, max(_AROUND, rows - _AROUND)
