"""A layout on one screen: what it is, what it costs, what takes it; with INDEX, how a place comes about.

  tilewise explain 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --dtype bf16
  tilewise explain 'S[(64, 64) : (72, 1)]' --dtype f16 --access row:16B --access ldmatrix.x4.trans
  tilewise explain 'mma.D(m16n8k16, f32)'
  tilewise explain 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
  tilewise explain 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 1,8

Without INDEX: the map as arithmetic and in words, its facts, its corner; of a tile of shared memory, with
--dtype, the bank conflicts of natural accesses or of --access, which engine takes it, and what to change; of
registers who holds what, and what the catalogue calls them. Wavefronts are those of
`tilewise banks`.

With INDEX: the digits, strides, copies, offset and XOR of one element.
"""

from __future__ import annotations

import argparse

from tilewise.cli.addresses import address_from
from tilewise.cli.answer import Answer, misused, order_data, place_data, refuse_given, table_lines
from tilewise.cli.arguments import (
    ASKED,
    TENSOR,
    add_options,
    filled_in,
    layout_and_index,
    layout_from,
    one_layout,
    shape_from,
)

SCREEN = ("access", "base", "width")
"""Options of the screen alone."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [INDEX [--shape S]] [--access A ...] [--base N]."""
    one_layout(parser, ASKED)
    add_options(
        parser,
        {
            "[index]": ("INDEX", "such as 5,3,1 or 47"),
            "--access...": ("A", "instead of the natural ones; repeatable"),
            "--base": ("N", "the address of the tile in shared memory (0)"),
            "--width": ("W", "columns of the screen (those of the terminal, up to 100)"),
        },
    )


def answer(args: argparse.Namespace) -> Answer:
    """The screen, or the steps from an index to its places."""
    if args.index is None:
        args.shape_help = TENSOR
        return _screen(args)
    refuse_given(args, SCREEN, "is an option of the screen, without INDEX", "leave --{} out")
    return _steps(args)


def _screen(args: argparse.Namespace) -> Answer:
    from tilewise.show.screen import screen_of

    args.layout = filled_in(args.layout, args, "dtype")
    width = _width(args.width)
    layout = layout_from(args.layout, args)
    screen = screen_of(layout, args.dtype, args.access, address_from(args.base or "0", "--base"))

    def draw() -> None:
        from tilewise.show.page import page_of
        from tilewise.show.terminal import print_out

        print_out(page_of(screen, width))

    return Answer(screen.as_dict(), draw)


def _width(asked: str | None) -> int:
    from tilewise.show.page import WIDTH
    from tilewise.show.terminal import size

    if asked is None:
        return min(WIDTH, size(WIDTH, 40)[0])
    if not asked.isdecimal() or int(asked) < 40:
        raise misused(f"--width {asked}", "a number of columns, 40 or more")
    return int(asked)


def _steps(args: argparse.Namespace) -> Answer:
    from tilewise.show.steps import steps_of

    layout, flat, index = layout_and_index(args)
    steps = steps_of(layout, flat, shape_from(args))
    data = {
        "index": list(index),
        "flat": flat,
        **order_data(layout),
        "steps": [{"step": step.name, "lines": list(step.lines)} for step in steps],
        "places": [place_data(place) for place in layout.places(flat)],
    }
    rows = [("" if i else step.name, line) for step in steps for i, line in enumerate(step.lines)]
    return Answer(data, "\n".join(table_lines(rows)))
