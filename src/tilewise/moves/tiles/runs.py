"""Runs of a side: elements that are neighbours there, over as many digits as that takes; their begin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import gcd

from tilewise.moves.pairs.pair import Pair, Side


def sides_of(pair: Pair) -> tuple[tuple[Side, str], tuple[Side, str]]:
    """Both sides, and what a digit calls its step there."""
    return (pair.source, "read"), (pair.target, "write")


def run_of(pair: Pair, name: str, wanted: int) -> dict[int, int]:
    """{digit: extent} of a run on one side, the fastest first, of as many elements as are wanted.

    Rows that are read may be a quarter shorter: whole rows are worth more than a part of the next.
    """
    run: dict[int, int] = {}
    digits = pair.digits or ()
    length = 1
    enough = wanted * 3 // 4 if name == "read" else wanted
    while length < enough:
        following = [i for i, digit in enumerate(digits) if getattr(digit, name) == length and i not in run]
        if not following:
            break
        missing, extent = -(-wanted // length), digits[following[0]].extent
        taken = extent if 2 * extent <= 3 * missing else missing
        run[following[0]] = taken
        length *= taken
        if taken != extent:
            break
    return run


def begins_at(pair: Pair, name: str, run: Collection[int], extents: Sequence[int], aligned: int) -> int:
    """The bytes that all runs of a side begin at multiples of; `name` is "read" or "write".

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[512, 508], S[(512, 508) : (1, 512)], DType.of("u8")))
    >>> begins_at(pair, "read", (1,), (128, 128), 256), begins_at(pair, "write", (0,), (128, 128), 256)
    (4, 128)
    """
    side = pair.source if name == "read" else pair.target
    unit, least = pair.bits // 8, gcd(aligned, side.start * pair.bits // 8, side.outer * pair.bits // 8)
    for i, digit in enumerate(pair.digits or ()):
        if i not in run or extents[i] != digit.extent:
            least = gcd(least, getattr(digit, name) * unit * (extents[i] if i in run else 1))
    return least
