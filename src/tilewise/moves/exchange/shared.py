"""An exchange through shared memory: registers packed, stored, loaded after a barrier, and packed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tilewise.check.shuffle.cost import STEP
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import WAVEFRONT, WORD
from tilewise.moves.exchange.accesses import Access, Accesses, Xored, accesses
from tilewise.moves.exchange.affine import Side, independent, sides
from tilewise.moves.exchange.memory import ROW, Memory, Way, memories, ways
from tilewise.moves.exchange.packing import Packer, Word
from tilewise.moves.exchange.question import NOBODY, Bools, Int64s, Question

ACCESS = 0.25
"""Cycles that an instruction weighs beside its wavefronts."""

ISSUE = 0.1
"""Cycles that a step weighs where others hide it."""

WAIT_OF_WARP, WAIT_OF_BLOCK = 2.0, 8.0
"""Cycles, of a warp's share, that the wait for what was stored weighs."""


@dataclass(frozen=True)
class Shared:
    """Stores, a wait, loads. Words that are stored are those of `before`, numbered as its packer has them."""

    asked: Question
    """Of all threads that share memory: a block, or one warp."""
    stores: Accesses
    loads: Accesses
    same: tuple[int, ...]
    """For every position of the target the one that is loaded for it; negative where nothing is wanted."""
    swizzle: tuple[int, ...] = ()
    """Bits of addresses that are XORs."""

    @cached_property
    def before(self) -> tuple[Packer, list[list[int]]]:
        """What makes the words that are stored, and their numbers, access by access."""
        unit, size = self.asked.bits // 8, self.asked.per_register
        packer = Packer(self.asked.registers[0])
        words = [
            _renumbered(word, lambda at, byte: (at // size, at % size * unit + byte))
            for access in self.stores.each
            for word in access.words
        ]
        numbers = iter(packer.all(words))
        return packer, [[next(numbers) or 0 for _ in access.words] for access in self.stores.each]

    @cached_property
    def after(self) -> tuple[Packer, list[int | None]]:
        """What makes the registers of the target of the words that are loaded, in their order."""
        unit, size = self.asked.bits // 8, self.asked.per_register
        where = {}
        number = 0
        for access in self.loads.each:
            for word in access.words:
                for at, byte in enumerate(word):
                    if byte is not None:
                        where[byte] = number, at
                number += 1
        packer = Packer(number)
        words: list[Word] = []
        for register in range(self.asked.registers[1]):
            room: list[tuple[int, int] | None] = []
            for position in range(register * size, (register + 1) * size):
                from_ = self.same[position] if position < len(self.same) else NOBODY
                room += [None if from_ < 0 else where[from_, byte] for byte in range(unit)]
            words.append((room[0], room[1], room[2], room[3]))
        return packer, packer.all(words)

    @property
    def bytes(self) -> int:
        """Of shared memory, for the threads of `asked`: whole rows."""
        return -(-max(self.stores.reach, self.loads.reach) // ROW) * ROW

    @property
    def steps(self) -> int:
        """Permutations of bytes, and addresses that are no sum of a base and a constant."""
        return len(self.before[0].steps) + len(self.after[0].steps) + self.turned

    @property
    def turned(self) -> int:
        """Addresses that are XORs of another."""
        found = 0
        for side in (self.stores, self.loads):
            lows = {a.offset & a.base.mask for a in side.each if isinstance(a.base, Xored)}
            found += len(lows - {0})
        return found

    @property
    def wavefronts(self) -> tuple[int, int]:
        """Of the stores and of the loads, of all threads of `asked`."""
        return self.stores.wavefronts, self.loads.wavefronts

    @cached_property
    def cycles(self) -> float:
        """Of a multiprocessor for one warp, where many run."""
        warps = self.asked.warps
        instructions = len(self.stores.each) + len(self.loads.each)
        moved = sum(self.wavefronts) / warps + ACCESS * instructions
        return max(moved, STEP * (self.steps + instructions)) + ISSUE * self.steps + _wait(self.asked)


def _renumbered(word: Word, where: Callable[[int, int], tuple[int, int]]) -> Word:
    """A word whose bytes are named otherwise."""
    a, b, c, d = (None if byte is None else where(*byte) for byte in word)
    return a, b, c, d


def through_shared(asked: Question, without: frozenset[str] = frozenset()) -> Shared | None:
    """The best way through memory that is linear over GF(2); None where there is none.

    `without` leaves out stmatrix or ldmatrix.
    """
    if asked.bits < 8:
        return None
    both = sides(asked)
    if both is None:
        return None
    same, wanted = _wanted(asked, both[1])
    held = _held(asked, both[0])
    chosen, best = memories(*both, asked.bits // 8), None
    unit = asked.bits // 8
    pairs = product(_ways(unit, "stmatrix" in without), _ways(unit, "ldmatrix" in without))
    copies = [len(independent(side.threads)) < len(side.threads) for side in both]
    least = _Least(asked, (len(held), len(wanted)), (copies[0], copies[1]))
    for bound, (here, there) in sorted((least(own), own) for own in pairs):
        if best is not None and bound >= best.cycles:
            break
        memory = chosen(here, there)
        if memory is None or (best is not None and least((here, there), memory.excess) >= best.cycles):
            continue
        found = _made(asked, memory, both, held, wanted, same)
        better = found is not None and (best is None or found.cycles < best.cycles)
        if found is not None and better and follows(found):
            best = found
    return best


def _ways(unit: int, vectors: bool) -> list[Way]:
    """All, or those of vectors alone."""
    return [way for way in ways(unit) if not (way.matrix and vectors)]


def _held(asked: Question, side: Side) -> dict[int, int]:
    """{label: the first position of thread 0 with it} of all that is held."""
    found: dict[int, int] = {}
    for position in np.flatnonzero((asked.held >= 0).any(axis=0)).tolist():
        found.setdefault(side.position(position), position)
    return found


def _wanted(asked: Question, side: Side) -> tuple[tuple[int, ...], dict[int, int]]:
    """For every position the first one that holds the same; {label: position} of those."""
    found: dict[int, int] = {}
    same = [NOBODY] * asked.wanted.shape[1]
    for position in np.flatnonzero((asked.wanted >= 0).any(axis=0)).tolist():
        same[position] = found.setdefault(side.position(position), position)
    return tuple(same), found


@dataclass(frozen=True)
class _Least:
    """The least that two ways cost: without permutations, and without conflicts where none are known."""

    asked: Question
    units: tuple[int, int]
    """Of a thread, that are stored, and loaded."""
    copies: tuple[bool, bool]
    """Whether threads of a side share places."""

    def __call__(self, both: tuple[Way, Way], excess: tuple[int, int] = (0, 0)) -> float:
        cost = 0.0
        for way, ways_, units, copies in zip(both, excess, self.units, self.copies, strict=True):
            bytes = units * self.asked.bits // 8
            if not copies:
                cost += bytes / min(way.bytes, WORD) * 2**ways_
            cost += ACCESS * bytes / way.bytes
        return cost + _wait(self.asked)


def _wait(asked: Question) -> float:
    return WAIT_OF_WARP if asked.alone else WAIT_OF_BLOCK


def _made(
    asked: Question,
    memory: Memory,
    both: tuple[Side, Side],
    held: dict[int, int],
    wanted: dict[int, int],
    same: tuple[int, ...],
) -> Shared | None:
    storing = _storing(asked, both[0], memory.store)
    loading: Bools = np.any(asked.wanted >= 0, axis=1)
    stores = accesses(memory, both[0], held, True, asked.threads, storing.tolist())
    loads = accesses(memory, both[1], wanted, False, asked.threads, _whole_warps(loading).tolist())
    if stores is None or loads is None:
        return None
    if memory.store.matrix and not (storing == _whole_warps(storing)).all():
        return None
    return Shared(asked, stores, loads, same, memory.swizzled)


def _whole_warps(active: Bools) -> Bools:
    return np.repeat(np.any(active.reshape(-1, LANES), axis=1), LANES)


def _storing(asked: Question, side: Side, way: Way) -> Bools:
    """Threads that store: of copies in several warps one, and of copies in several phases of a warp."""
    active: Bools = np.any(asked.held >= 0, axis=1)
    number = np.arange(asked.threads) // LANES
    for bit, column in enumerate(side.warps):
        with_it = (number >> bit & 1) == 1
        if not column and active[np.flatnonzero(with_it) ^ (LANES << bit)].all():
            active = active & ~with_it
    if way.matrix or not (asked.held >= 0).any(axis=1).all():
        return active
    first = (WAVEFRONT // max(way.bytes, WORD)).bit_length() - 1
    for bit, column in enumerate(side.lanes):
        if bit >= first and not column:
            active = active & (np.arange(asked.threads) >> bit & 1 == 0)
    return active


# -- followed --------------------------------------------------------------------------------------


def follows(found: Shared) -> bool:
    """Whether every thread gets what it wants, value by value, through memory."""
    asked = found.asked
    unit = asked.bits // 8
    room = np.full(found.bytes // unit, NOBODY)
    for at, thread, positions in _touched(found.stores, unit):
        values = asked.held[thread][:, positions] if len(positions) else None
        if values is None:
            continue
        before = room[at]
        if ((values >= 0) & (before >= 0) & (before != values)).any() or ((values < 0) & (before >= 0)).any():
            return False
        room[at] = values
    got = np.full_like(asked.wanted, NOBODY)
    for at, thread, positions in _touched(found.loads, unit):
        got[thread[:, None], np.array(positions)[None, :]] = room[at]
    same = np.array(found.same)
    wanted = asked.wanted[:, same >= 0]
    return bool(((got[:, same[same >= 0]] == wanted) | (wanted < 0)).all())


def _touched(side: Accesses, unit: int) -> Iterator[tuple[Int64s, Int64s, list[int]]]:
    """(memory[thread, unit], threads, positions) of every access."""
    for access in side.each:
        threads = np.flatnonzero(access.taking(side.active))
        if access.way.matrix:
            yield from _of_matrices(access, side, threads, unit)
            continue
        starts = access.addresses(side.threads)[threads] // unit
        units = [byte for word in access.words for byte in word[::unit]][: access.way.bytes // unit]
        taken = [(i, byte[0]) for i, byte in enumerate(units) if byte is not None]
        at = starts[:, None] + np.array([i for i, _ in taken])[None, :]
        yield at, threads, [position for _, position in taken]


def _of_matrices(
    access: Access, side: Accesses, threads: Int64s, unit: int
) -> Iterator[tuple[Int64s, Int64s, list[int]]]:
    """The same of matrices: rows whose addresses other lanes supply."""
    supplied = access.addresses(side.threads)
    lane, first = threads % LANES, threads // LANES * LANES
    for number, word in enumerate(access.words):
        for at, byte in enumerate(word[::unit]):
            half, inside = divmod(at * unit, 2)
            if access.way.trans:
                row, column = 2 * (lane % 4) + half, lane // 4 * 2 + inside
            else:
                row, column = lane // 4, lane % 4 * WORD + at * unit
            rows = supplied[first + 8 * number + row]
            assert byte is not None
            yield ((rows + column) // unit)[:, None], threads, [byte[0]]
