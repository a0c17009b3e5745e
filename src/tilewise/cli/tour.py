"""A guided tour, in two minutes: questions to the notation, and three to the hardware.

tilewise tour
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from tilewise.questions.asking import asks
from tilewise.questions.report import Report

STOPS: Sequence[tuple[str, Sequence[str]]] = (
    (
        "A layout is a shape and a stride for each of its digits. Row-major 4 x 4:",
        ["show", "S[(4, 4) : (4, 1)]"],
    ),
    (
        "A tile is a layout with more digits. 8 x 8 in tiles of 2 x 4, each contiguous:",
        ["show", "S[(4, 2, 2, 4) : (16, 4, 8, 1)]"],
    ),
    (
        "Strides move on named axes. A tensor core's fragment lives in lanes and registers:",
        ["show", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"],
    ),
    (
        "Ask where an element lives, ...",
        ["at", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "5,3,1"],
    ),
    (
        "... and what a place holds: here all that lane 5 has.",
        ["who", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "laneid=5"],
    ),
    (
        "R says where copies go. Sharded over one axis of a 2 x 2 mesh, copied along the other:",
        ["at", "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]", "1,2,3"],
    ),
    (
        "A swizzle is an XOR on addresses. The column of this 8 x 8 tile moves with the row:",
        ["show", "Swizzle<3,0,3> o S[(8, 8) : (8, 1)]"],
    ),
    (
        "Ask why of every number.",
        ["explain", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "1,8"],
    ),
    (
        "And ask a layout for its facts, however large it is.",
        ["info", "Swizzle<3,3,3> o S[(33554432, 33554432) : (33554432, 1)]"],
    ),
    (
        "The hardware's layouts have names. Which element of wgmma's accumulator has thread 45 in reg 9?",
        ["who", "wgmma.D(f32, n=128)", "tid_in_wg=45,reg=9"],
    ),
    (
        "And ask the hardware what it takes: does Hopper's wgmma read this tile, and by which descriptor?",
        ["match", "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", "--operand", "A", "--dtype", "bf16"],
    ),
    (
        "On any GPU since Turing: which ldmatrix feeds mma.sync from this tile, and where does lane 17 look?",
        [
            "match",
            "Swizzle<3,3,3> o S[(16, 64) : (64, 1)]",
            *("--operand", "A", "--shape", "m16n8k16", "--dtype", "f16", "--lane", "17"),
        ],
    ),
)
"""(text of the tour, the command that shows it)."""


@asks(no_pause="do not wait for Enter between the stops")
def tour(*, no_pause: bool = False) -> Report:
    """Return the stops of the tour, each with its command; the report's text walks along them.

    >>> tour().stops[0]["command"]
    "tilewise show 'S[(4, 4) : (4, 1)]'"
    """
    stops = [{"text": text, "command": _spelled(words)} for text, words in STOPS]
    return Report({"stops": stops}, lambda: _walk(pause=not no_pause))


def _spelled(words: Sequence[str]) -> str:
    return shlex.join(["tilewise", *words])


def _walk(pause: bool) -> None:
    from tilewise.cli.main import main

    waiting = pause and sys.stdin.isatty() and sys.stdout.isatty()
    for number, (text, words) in enumerate(STOPS, 1):
        print(f"\n{number}/{len(STOPS)}  {text}\n\n$ {_spelled(words)}\n", flush=True)
        main(words)
        if waiting and number < len(STOPS):
            try:
                input("\nEnter goes on, Ctrl-C ends ")
            except EOFError:
                return
    print(f"\nYour turn: {_own_name()} show 'S[(8, 8) : (1, 8)]', or {_own_name()} --help")


def _own_name() -> str:
    """Return the command as typed here: with its path, if the shell does not find it without."""
    from shutil import which

    called = sys.argv[0]
    return "tilewise" if which("tilewise") or not called.endswith("tilewise") else called
