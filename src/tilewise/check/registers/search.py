"""The best of all ways through shared memory that are linear over GF(2), and those of any extents.

Linear ways are tried in the order of their cost without conflicts and permutations, until the next one costs
more than the best way in full.

Ways of any extents move units one by one, at addresses that are sums of digits of a thread's number. Memory
is in the order of one side: its positions, each of all threads, or its threads, each with all positions. The
other side steps by its rows, or parts of them, and those of some lengths begin in few banks. So memory is
tried with gaps as well, which make the pitch odd: of rows, of the parts that rows of both sides have in
common, and of as many rows as end in the bank in which they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import gcd, lcm

import numpy as np

from tilewise.check.registers.accesses import Accesses, Counted, SharedAccess, accesses
from tilewise.check.registers.memory import Memories, Reach, reaches
from tilewise.check.registers.question import NOBODY, Bools, Int64s, RegisterQuestion, spread
from tilewise.check.registers.shared import ACCESS, GIVEN, ThroughMemory, follows, in_turns, wait
from tilewise.check.registers.warp import LabelMap
from tilewise.core.bits import rank
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import WAVEFRONT, WORD


def through_shared(
    asked: RegisterQuestion, without: frozenset[str], best: ThroughMemory | None = None
) -> ThroughMemory | None:
    """Return the best way through memory that is linear over GF(2), or `best` if that is no worse.

    `without` leaves out stmatrix or ldmatrix.
    """
    if asked.bits < 8 or asked.sides is None:
        return best
    candidates = Candidates(asked, *asked.sides)
    for bound, (store, load) in sorted(candidates.bounds(without)):
        if best is not None and bound >= best.cycles:
            break
        found = candidates.made(store, load)
        if found is None or (best is not None and not found.cheaper(best.cycles)):
            continue
        found = in_turns(found)
        if follows(found):
            best = found
    return best


class Candidates:
    """The ways of a question, both sides of which are affine."""

    def __init__(self, asked: RegisterQuestion, store: LabelMap, load: LabelMap) -> None:
        self.asked = asked
        self.unit = asked.bits // 8
        self.sides = store, load
        stored, self.same = _same(asked.held, store), _same(asked.wanted, load)
        self.moved = [sorted(set(own) - {NOBODY}) for own in (stored, self.same)]
        self.holding: Bools = np.any(asked.held >= 0, axis=1)
        self.wanting: Bools = np.any(asked.wanted >= 0, axis=1)
        self.memories = Memories(store, load, self.unit, asked.alone)

    def bounds(self, without: frozenset[str]) -> Iterator[tuple[float, tuple[Reach, Reach]]]:
        """Yield all pairs of ways, with the least that they cost."""
        stored = self._least(0, _stored_once(self.sides[0], self.holding))
        loaded = self._least(1, self.wanting)
        for (store, one), (load, other) in product(stored.items(), loaded.items()):
            lacks = (store.matrix and "stmatrix" in without) or (load.matrix and "ldmatrix" in without)
            if not lacks:
                yield one + other + wait(self.asked), (store, load)

    def _least(self, number: int, active: Bools) -> dict[Reach, float]:
        """Return the least cost of each way to one side: without permutations and conflicts."""
        side, bytes = self.sides[number], len(self.moved[number]) * self.unit
        lanes = 1 << rank([*side.positions, *side.lanes]) - rank(side.positions)
        share = float(active.reshape(-1, LANES).any(axis=1).mean())
        found = {}
        for reach in reaches(self.unit, number == 0):
            words = reach.bytes / WORD
            each = words if reach.matrix else max(1.0, lanes / reach.lanes * reach.bytes / WAVEFRONT)
            each = max(each * share, GIVEN * words if reach.lanes == 2 else 0.0)
            found[reach] = bytes * reach.lanes / reach.bytes * (each + ACCESS)
        return found

    def made(self, store: Reach, load: Reach) -> ThroughMemory | None:
        """Return the exchange using these two access forms, or None. The result is not verified here."""
        memory = self.memories.memory(store, load)
        storing, loading = self._storing(store), _whole_warps(self.wanting)
        if memory is None or (store.matrix and not (storing == _whole_warps(storing)).all()):
            return None
        here, there = self.sides
        stores = accesses(memory, here, self.moved[0], True, storing)
        loads = None if stores is None else accesses(memory, there, self.moved[1], False, loading)
        if stores is None or loads is None:
            return None
        return ThroughMemory(self.asked, stores, loads, self.same, memory.swizzled)

    def _storing(self, reach: Reach) -> Bools:
        """Return threads that store: one of copies in several warps, and one of copies in
        phases of a warp.
        """
        side = self.sides[0]
        active = _stored_once(side, self.holding)
        if reach.matrix or not self.holding.all():
            return active
        first = (WAVEFRONT // max(reach.bytes, WORD)).bit_length() - 1
        for bit, column in enumerate(side.lanes):
            if bit >= first and not column:
                active = active & (np.arange(len(active)) >> bit & 1 == 0)
        return active


def _same(values: Int64s, side: LabelMap) -> tuple[int, ...]:
    """Return for every position the first one with the same label; negative where nothing is held."""
    labels = spread(side.positions, values.shape[1]).tolist()
    found: dict[int, int] = {}
    some = np.any(values >= 0, axis=0)
    return tuple(
        found.setdefault(label, position) if some[position] else NOBODY
        for position, label in enumerate(labels)
    )


def _whole_warps(active: Bools) -> Bools:
    return np.repeat(np.any(active.reshape(-1, LANES), axis=1), LANES)


def _stored_once(side: LabelMap, holding: Bools) -> Bools:
    """Return threads that hold something, without the copies that another warp has."""
    active = holding
    number = np.arange(len(holding)) // LANES
    for bit, column in enumerate(side.warps):
        with_it = (number >> bit & 1) == 1
        if not column and active[np.flatnonzero(with_it) ^ (LANES << bit)].all():
            active = active & ~with_it
    return active


# -- any extents --------------------------------------------------------------------------------------


def one_by_one(asked: RegisterQuestion, limit: int) -> ThroughMemory | None:
    """Return the best order of memory, of `limit` bytes if possible; None where addresses are no sums.

    All orders have the same instructions, and differ in wavefronts and bytes.
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
    """Yield the place of every value, in units: without gaps, and with gaps after some parts."""
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
            slots[slots == threads * positions] = 0  # positions that no thread wants
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
    """Return one access for each position; None where the threads that have it are not the first ones."""
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
    """Return the digits of a thread's number that have these steps from thread 0, or None."""
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
