"""An exchange of any extents: units one by one, at addresses that are sums of digits of a thread's number.

LinearMemory is in the order of one side: its positions, each of all threads, or its threads, each with all
positions. The other side steps by its rows, or parts of them, and those of some lengths begin in few banks.
So memory is tried with gaps as well, which make the pitch odd: of rows, of the parts that rows of both sides
have in common, and of as many rows as end in the bank in which they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, lcm

import numpy as np

from tilewise.check.registers.accesses import Accesses, Counted, SharedAccess
from tilewise.check.registers.memory import Reach
from tilewise.check.registers.question import NOBODY, Int64s, RegisterQuestion
from tilewise.check.registers.shared import ThroughMemory, follows
from tilewise.hardware.memory.banks import WAVEFRONT, WORD


def one_by_one(asked: RegisterQuestion, limit: int) -> ThroughMemory | None:
    """Return the best order of memory, of `limit` bytes if one is; None where addresses are no sums.

    All have the same instructions, and differ in wavefronts and bytes.
    """
    unit = asked.bits // 8
    if not unit:
        return None
    labels = np.unique(asked.held[asked.held >= 0])
    sides = [np.where(side < 0, NOBODY, np.searchsorted(labels, side)) for side in (asked.held, asked.wanted)]
    some = np.any(asked.wanted >= 0, axis=0)
    same = tuple(position if some[position] else NOBODY for position in range(len(some)))
    found = list[tuple[bool, int, int, int, ThroughMemory]]()
    for slots in _orders(sides, unit):
        stores = _accesses("st", sides[0], slots * unit, unit)
        loads = _accesses("ld", sides[1], slots * unit, unit) if stores else None
        if stores and loads:
            way, size = ThroughMemory(asked, stores, loads, same), int(slots.max() + 1) * unit
            found.append((size > limit, sum(way.wavefronts), size, len(found), way))
    return next((way for *_, way in sorted(found) if follows(way)), None)


def _orders(sides: Sequence[Int64s], unit: int) -> Iterator[Int64s]:
    """Yield for every value where it lies, in units: without gaps, and with gaps after some parts."""
    known: dict[bytes, tuple[Int64s, set[int]]] = {}
    for side in sides:
        thread, position = np.nonzero(side >= 0)
        threads, positions = int(thread.max()) + 1, side.shape[1]
        for places, row in (
            (thread * positions + position, positions),
            (position * threads + thread, threads),
        ):
            slots = np.full(int(sides[0].max()) + 1, threads * positions)
            np.minimum.at(slots, side[thread, position], places)
            slots[slots == threads * positions] = 0  # what is wanted nowhere
            known.setdefault(slots.tobytes(), (slots, set()))[1].add(row)
    lengths = [row for _, rows in known.values() for row in rows]
    for slots, rows in known.values():
        yield slots
        pitches = set()
        for row in rows:
            parts = {row, lcm(row, WAVEFRONT // unit), *(gcd(row, length) for length in lengths)} - {1}
            pitches |= {(part, (-(-part * unit // WORD) | 1) * WORD // unit) for part in parts}
            pitches.add((row, row | 1))
        for part, pitch in sorted(pitches):
            if pitch > part:
                yield slots // part * pitch + slots % part


def _accesses(name: str, side: Int64s, addresses: Int64s, unit: int) -> Accesses | None:
    """Return one access for each position; None where threads that have it are not the first ones."""
    known: dict[bytes, Counted | None] = {}
    found = []
    for position, column in enumerate(side.T):
        below = int((column >= 0).sum())
        if not below:
            continue
        if (column[:below] < 0).any():
            return None
        at = addresses[column[:below]]
        steps = at - at[0]
        key = steps.tobytes()
        if key not in known:
            known[key] = _digits(steps)
        base = known[key]
        if base is None:
            return None
        word = tuple((position, byte) if byte < unit else None for byte in range(WORD))
        found.append(SharedAccess(Reach(unit), (word,), base, int(at[0]), below % len(side)))
    return Accesses(name, tuple(found), np.any(side >= 0, axis=1))


def _digits(steps: Int64s) -> Counted | None:
    """Return the digits of a thread's number that have these steps from thread 0; None where none have."""
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
