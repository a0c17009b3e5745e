"""Rounds through shared memory that does not hold all at once: each moves a part through the same bytes.

A part is what has the same bits of its place in the source. Those bits are taken that cost the least: bits of
registers, or of warps, on both sides, so that a round stores and loads the same registers of whole warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from tilewise.hardware.limits import LANES
from tilewise.moves.exchange.question import NOBODY, Bools, Int64s, Question
from tilewise.moves.exchange.search import through_shared
from tilewise.moves.exchange.shared import Shared, wait

MOST_BITS = 4
"""Of those that tell rounds apart: 16 rounds at most."""


@dataclass(frozen=True)
class Rounds:
    """Exchanges through the same bytes, one after the other, mostly one alone."""

    each: tuple[Shared, ...]

    @property
    def asked(self) -> Question:
        """What the first round does, for all threads that share memory."""
        return self.each[0].asked

    @property
    def waits(self) -> int:
        """For what was stored, and before it is stored over."""
        return 2 * len(self.each) - 1

    @property
    def bytes(self) -> int:
        """Of shared memory, for the threads of `asked`."""
        return max(own.bytes for own in self.each)

    @property
    def wavefronts(self) -> tuple[int, int]:
        """Of all stores and of all loads, of all threads of `asked`."""
        return sum(own.stores.wavefronts for own in self.each), sum(own.loads.wavefronts for own in self.each)

    @cached_property
    def cycles(self) -> float:
        """Of a multiprocessor for one warp, where many run."""
        return sum(own.cycles for own in self.each) + (len(self.each) - 1) * wait(self.asked)


def in_rounds(asked: Question, without: frozenset[str], limit: int) -> Rounds | None:
    """The fewest rounds that take `limit` bytes each; None where none were found."""
    moved = len(np.unique(asked.wanted[asked.wanted >= 0])) * asked.bits // 8
    fewest = (max(0, moved - 1) // max(1, limit)).bit_length()
    if fewest > MOST_BITS:
        return None
    places = _places(asked)
    single = {
        bit: first.cycles
        for bit in range(int(places.max()).bit_length())
        if (first := _part(asked, places, (bit,), 0, without)) is not None
    }
    bits = sorted(single, key=single.__getitem__)
    for count in range(max(1, fewest), MOST_BITS + 1):
        firsts = [
            (first.cycles, chosen)
            for chosen in combinations(bits[: count + 2], count)
            if (first := _part(asked, places, chosen, 0, without)) is not None and first.bytes <= limit
        ]
        for _, chosen in sorted(firsts):
            each = [_part(asked, places, chosen, number, without) for number in range(1 << count)]
            found = tuple(own for own in each if own is not None and own.bytes <= limit)
            if len(found) == len(each):
                return Rounds(found)
    return None


def _places(asked: Question) -> Int64s:
    """The first place of every value: position + (thread << bits of the position)."""
    bits = (asked.held.shape[1] - 1).bit_length()
    places = np.zeros(int(asked.held.max()) + 1, np.int64)
    thread, position = np.nonzero(asked.held >= 0)
    places[asked.held[thread, position][::-1]] = (thread << bits | position)[::-1]
    return places


def _part(
    asked: Question, places: Int64s, chosen: Sequence[int], number: int, without: frozenset[str]
) -> Shared | None:
    """The round of the values whose places have these bits; None where it is none."""
    told = sum((places >> bit & 1) << at for at, bit in enumerate(chosen))
    taken = np.append(told == number, False)
    held = np.where(taken[asked.held], asked.held, NOBODY)
    wanted = np.where(taken[asked.wanted], asked.wanted, NOBODY)
    if (wanted < 0).all() or not _apart(asked, wanted):
        return None
    return through_shared(replace(asked, held=held, wanted=wanted), without)


def _apart(asked: Question, wanted: Int64s) -> bool:
    """Whether no warp that takes part is given a register here that it needs for another part."""
    here = _registers(asked, wanted >= 0)
    others = _registers(asked, (asked.wanted >= 0) & (wanted < 0))
    return not others[np.ix_(here.any(axis=1), here.any(axis=0))].any()


def _registers(asked: Question, needed: Bools) -> Bools:
    """needed[warp, register] of needed[thread, position]."""
    padded = np.pad(needed, ((0, 0), (0, -needed.shape[1] % asked.per_register)))
    found: Bools = np.any(padded.reshape(asked.warps, LANES, -1, asked.per_register), axis=(1, 3))
    return found
