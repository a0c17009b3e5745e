"""An exchange of any extents: units one by one, at addresses that are sums of digits of a thread's number.

Memory is in the order of one side: its positions, each of all threads, or its threads, each with all
positions. The other side steps by its rows, or parts of them, and those of some lengths begin in few banks.
So memory is tried with gaps as well, which make the pitch odd: of rows, of the parts that rows of both sides
have in common, and of as many rows as end in the bank in which they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, lcm

import numpy as np

from tilewise.hardware.memory.banks import WAVEFRONT, WORD
from tilewise.moves.exchange.accesses import Access, Accesses, Counted
from tilewise.moves.exchange.followed import follows
from tilewise.moves.exchange.memory import Way
from tilewise.moves.exchange.question import NOBODY, Int64s, Question
from tilewise.moves.exchange.shared import Shared

Columns = dict[int, Int64s]
"""For every position that holds something, what threads 0, 1, ... have there."""


def one_by_one(asked: Question, limit: int) -> Shared | None:
    """The best order of memory, of `limit` bytes if one is; None where addresses are no sums of digits."""
    stored, loaded = _columns(asked.held), _columns(asked.wanted)
    if asked.bits < 8 or stored is None or loaded is None:
        return None
    found = list[tuple[bool, int, int, int, Shared]]()
    for slots in _orders(asked):
        made = _made(asked, stored, loaded, slots)
        if made is not None:
            size = int(slots.max() + 1) * asked.bits // 8
            found.append((size > limit, sum(made.wavefronts), size, len(found), made))
    best = (made for *_, made in sorted(found))  # all have the same instructions, and differ in these
    return next(filter(follows, best), None)


def _columns(side: Int64s) -> Columns | None:
    """None where a thread holds nothing in a position in which one after it does."""
    found = {}
    for position, column in enumerate(side.T):
        holding = np.flatnonzero(column >= 0)
        if not len(holding):
            continue
        if len(holding) <= holding[-1]:
            return None
        found[position] = column[: len(holding)]
    return found


# -- orders of memory ------------------------------------------------------------------------------


def _orders(asked: Question) -> Iterator[Int64s]:
    """For every value where it lies, in units."""
    count = int(asked.held.max()) + 1
    whole = [order for side in (asked.held, asked.wanted) for order in _rows(side, count)]
    lengths = [row for _, row in whole]
    known = dict[bytes, tuple[Int64s, set[tuple[int, int]]]]()
    for slots, row in whole:
        _, pitches = known.setdefault(slots.tobytes(), (slots, set()))
        pitches |= _pitches(row, lengths, asked.bits // 8)
    for slots, pitches in known.values():
        yield slots
        for part, pitch in sorted(pitches):
            yield slots // part * pitch + slots % part


def _rows(side: Int64s, count: int) -> Iterator[tuple[Int64s, int]]:
    """Where values lie without gaps, and the length of a row: by threads, and by positions."""
    thread, position = np.nonzero(side >= 0)
    threads, positions = int(thread.max()) + 1, side.shape[1]
    for places, row in (
        (thread * positions + position, positions),
        (position * threads + thread, threads),
    ):
        slots = np.full(count, threads * positions)
        np.minimum.at(slots, side[thread, position], places)
        yield np.where(slots < threads * positions, slots, 0), row


def _pitches(row: int, lengths: Sequence[int], unit: int) -> set[tuple[int, int]]:
    """How long what has no gap is, and how long it is with one, in units."""
    parts = {row, lcm(row, WAVEFRONT // unit), *(gcd(row, length) for length in lengths)} - {1}
    odd = {(part, (-(-part * unit // WORD) | 1) * WORD // unit) for part in parts} | {(row, row | 1)}
    return {(part, pitch) for part, pitch in odd if pitch > part}


# -- accesses --------------------------------------------------------------------------------------


def _made(asked: Question, stored: Columns, loaded: Columns, slots: Int64s) -> Shared | None:
    unit = asked.bits // 8
    stores = _accesses("st", asked.held, stored, slots * unit, unit)
    loads = _accesses("ld", asked.wanted, loaded, slots * unit, unit) if stores else None
    if stores is None or loads is None:
        return None
    same = [position if position in loaded else NOBODY for position in range(asked.wanted.shape[1])]
    return Shared(asked, stores, loads, tuple(same))


def _accesses(name: str, side: Int64s, columns: Columns, addresses: Int64s, unit: int) -> Accesses | None:
    """One access for each position."""
    known: dict[bytes, Counted | None] = {}
    found = []
    for position, column in columns.items():
        at = addresses[column]
        steps = at - at[0]
        key = steps.tobytes()
        if key not in known:
            known[key] = _sum(steps)
        base = known[key]
        if base is None:
            return None
        room = tuple((position, byte) if byte < unit else None for byte in range(WORD))
        word = (room[0], room[1], room[2], room[3])
        below = len(column) if len(column) < len(side) else 0
        found.append(Access(Way(unit), (word,), base, int(at[0]), below))
    return Accesses(name, tuple(found), len(side), tuple(map(bool, np.any(side >= 0, axis=1))))


def _sum(steps: Int64s) -> Counted | None:
    """The digits of a thread's number that have these steps from thread 0; None where none have."""
    digits, size = list[tuple[int, int]](), 1
    while size < len(steps):
        every = steps[::size]
        even = every == np.arange(len(every)) * every[1]
        extent = len(every) if even.all() else int(even.argmin())
        if len(steps) % (size * extent):
            return None
        digits.insert(0, (extent, int(every[1])))
        size *= extent
    found = Counted(tuple(digits))
    return found if np.array_equal(found.at(len(steps)), steps) else None
