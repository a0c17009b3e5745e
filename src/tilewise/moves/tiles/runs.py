"""Runs of a side: elements that are neighbours there, over as many digits as that takes."""

from __future__ import annotations

from math import gcd

from tilewise.moves.pairs.pair import Pair, Side
from tilewise.moves.tiles.tile import LINE, VECTOR


def shifts_of(pair: Pair, aligned: int) -> tuple[bool, bool]:
    """Whether rows of the source, and of the target, begin elsewhere than at whole vectors."""
    reads, writes = (_alignment(pair, side, name, aligned) < VECTOR for side, name in sides_of(pair))
    return reads, writes


def sides_of(pair: Pair) -> tuple[tuple[Side, str], tuple[Side, str]]:
    """Both sides, and what a digit calls its step there."""
    return (pair.source, "read"), (pair.target, "write")


def _alignment(pair: Pair, side: Side, name: str, aligned: int) -> int:
    """Bytes to which all rows of a side are aligned, were its run as long as can be."""
    unit = pair.bits // 8
    run = set(run_of(pair, name, LINE // unit * 8))
    steps = [getattr(digit, name) for i, digit in enumerate(pair.digits or ()) if i not in run]
    return gcd(aligned, *(step * unit for step in (*steps, side.start, side.outer)))


def run_of(pair: Pair, name: str, wanted: int) -> dict[int, int]:
    """{digit: extent} of a run on one side, the fastest first, of as many elements as are wanted.

    Rows that are read may be a quarter shorter: whole rows are worth more than a part of the next.
    """
    run: dict[int, int] = {}
    digits = pair.digits or ()
    length = 1
    enough = wanted * 3 // 4 if name == "read" else wanted
    while length < enough:
        following = [
            i
            for i, digit in enumerate(digits)
            if getattr(digit, name) == length and i not in run and (i != pair.exchanged or name == "read")
        ]
        if not following:
            break
        missing, extent = -(-wanted // length), digits[following[0]].extent
        taken = extent if 2 * extent <= 3 * missing else missing
        run[following[0]] = taken
        length *= taken
        if taken != extent:
            break
    return run
