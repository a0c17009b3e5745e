"""An exchange through shared memory, followed value by value for every thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.hardware.memory.banks import WORD
from tilewise.moves.exchange.accesses import Access, Accesses, Counted, Xored
from tilewise.moves.exchange.memory import Way
from tilewise.moves.exchange.question import NOBODY, Int64s
from tilewise.moves.exchange.shared import Shared


def follows(way: Shared) -> bool:
    """Whether every thread gets what it wants, and no two store different values at one address in a turn."""
    asked = way.asked
    unit = asked.bits // 8
    got = np.full_like(asked.wanted, NOBODY)
    for stores, loads in way.each_turn:
        room = np.full(max(stores.reach, loads.reach) // unit, NOBODY)
        stored = [(at, asked.held[np.ix_(*places)]) for at, *places in _touched(stores, unit)]
        for at, values in stored:
            room[at[values >= 0]] = values[values >= 0]
        if any((room[at] != values).any() for at, values in stored):
            return False
        for at, *places in _touched(loads, unit):
            got[np.ix_(*places)] = room[at]
    taken = np.array(way.same)
    wanted = asked.wanted[:, taken >= 0]
    return bool(((got[:, taken[taken >= 0]] == wanted) | (wanted < 0)).all())


def _touched(side: Accesses, unit: int) -> Iterator[tuple[Int64s, Int64s, list[int]]]:
    """(memory[thread, position] in units, threads, positions) of all accesses, unit by unit of words."""
    alike: dict[tuple[Xored | Counted, int, int], list[Access]] = {}
    for access in side.each:
        alike.setdefault((access.base, access.below, len(access.words)), []).append(access)
    for (base, _, words), each in alike.items():
        threads = np.flatnonzero(each[0].taking(side.active))
        supplied = base.at(side.threads)
        for slot in range(0, words * WORD, unit):
            word, byte = divmod(slot, WORD)
            taken = [(own[0], access.offset) for access in each if (own := access.words[word][byte])]
            suppliers, column = _row(each[0].way, threads, word, byte)
            if side.picked.columns:
                column = column ^ side.picked.at(side.threads)[threads, None]
            rows, offsets = supplied[suppliers, None], np.array([offset for _, offset in taken], np.int64)
            at = (rows ^ offsets if isinstance(base, Xored) else rows + offsets) + column
            yield at // unit, threads, [position for position, _ in taken]


def _row(way: Way, threads: Int64s, word: int, byte: int) -> tuple[Int64s, Int64s]:
    """Whose address a byte of a word is read from, or stored at, and how many bytes behind it."""
    if not way.matrix:
        return threads, np.array(WORD * word + byte)
    lane = threads % LANES
    half, inside = divmod(byte, 2)
    row, column = lane // 4, lane % 4 * WORD + byte
    if way.trans:
        row, column = 2 * (lane % 4) + half, lane // 4 * 2 + inside
    return threads - lane + ROWS * word + row, column[:, None]
