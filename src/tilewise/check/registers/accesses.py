"""Stores and loads of shared memory, as data: bytes of registers, at an address of each thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np

from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import count
from tilewise.check.registers.memory import ROW, LinearMemory, Reach
from tilewise.check.registers.question import Bools, Int64s, spread
from tilewise.check.registers.steps import Row, Slot
from tilewise.check.registers.warp import LabelMap
from tilewise.core.bits import Basis, sums
from tilewise.hardware.limits import LANE_BITS, LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.hardware.memory.banks import WORD, Operation


@dataclass(frozen=True)
class Xored:
    """The address of a thread: the XOR of a column for each bit of its number."""

    columns: tuple[int, ...]

    def at(self, threads: int) -> Int64s:
        """Return the addresses of threads 0, 1, ..."""
        return spread(self.columns, threads)

    @cached_property
    def mask(self) -> int:
        """Return the bits that the address of any thread has."""
        return reduce(or_, self.columns, 0)


@dataclass(frozen=True)
class Counted:
    """The address of a thread: digits of its number, the slowest first, each times its stride."""

    digits: tuple[tuple[int, int], ...]

    @property
    def mask(self) -> int:
        """Return 0: offsets are added, so no bit is XORed."""
        return 0

    def at(self, threads: int) -> Int64s:
        """Return the addresses of threads 0, 1, ..."""
        rest, found = np.arange(threads), np.zeros(threads, np.int64)
        for extent, stride in reversed(self.digits):
            found += rest % extent * stride
            rest = rest // extent
        return found


@dataclass(frozen=True)
class SharedAccess:
    """One instruction.

    `words` are the 32-bit words that a thread gives or gets: byte by byte (position, which of its bytes).
    The address is the base's of the thread and `offset`: XORed, or added where the base is counted.
    """

    reach: Reach
    words: tuple[Row, ...]
    base: Xored | Counted
    offset: int
    below: int = 0
    """Only threads with smaller numbers take part, unless it is 0."""

    @property
    def turned(self) -> int:
        """Return the bits of the offset that are XORed, as threads have them too; others are added."""
        return self.offset & self.base.mask

    def taking(self, active: Bools, supplying: bool = False) -> Bools:
        """Return the active threads that take part, or supply an address."""
        number = np.arange(len(active))
        if self.below:
            active = active & (number < self.below)
        if supplying and self.reach.matrix:
            active = active & (number % LANES < ROWS * len(self.words))
        return active

    def addresses(self, threads: int) -> Int64s:
        """Return the address that each thread supplies."""
        at = self.base.at(threads)
        return at ^ self.offset if isinstance(self.base, Xored) else at + self.offset


@dataclass(frozen=True, eq=False)
class Accesses:
    """Those of one side: stores, or loads."""

    operation: str
    """`st`, `ld`, `stmatrix` or `ldmatrix`."""
    each: tuple[SharedAccess, ...]
    active: Bools
    """True of each thread that takes part."""
    picked: Xored = Xored(())
    """The number of a thread that is XORed to the bytes that it takes of words."""

    @property
    def threads(self) -> int:
        """Return the number of threads that share memory."""
        return len(self.active)

    @cached_property
    def reach(self) -> int:
        """Return the end of the last byte."""
        ends = (
            int(access.addresses(self.threads)[access.taking(self.active, supplying=True)].max())
            + access.reach.bytes
            for access in self.each
        )
        return max(ends)

    @cached_property
    def wavefronts(self) -> int:
        """Return the wavefronts of all warps, by the model of `check.banks`.

        Accesses that differ by whole words, added or XORed, take as many wavefronts: banks only change
        places.
        """
        alike: defaultdict[tuple[object, ...], list[SharedAccess]] = defaultdict(list)
        for access in self.each:
            alike[access.base, access.offset % WORD, access.below, len(access.words)].append(access)
        found = 0
        for own in alike.values():
            active = own[0].taking(self.active, supplying=True).reshape(-1, LANES)
            requests = np.where(active, own[0].addresses(self.threads).reshape(-1, LANES), INACTIVE)
            counted = count(Operation.of(self.operation), own[0].reach.bytes, requests[active.any(axis=1)])
            found += len(own) * int(counted["wavefronts"].sum())
        return found


# -- out of a linear memory ------------------------------------------------------------------------


def accesses(
    memory: LinearMemory, side: LabelMap, positions: Sequence[int], stores: bool, active: Bools
) -> Accesses | None:
    """Return the instructions of one side, for positions with labels of their own.

    Return None where rows of matrices are not whole.
    """
    reach = memory.store if stores else memory.load
    steps = spread(tuple(map(memory.address, side.positions)), positions[-1] + 1)
    addresses = (steps[list(positions)] ^ memory.address(side.origin)).tolist()
    places = dict(zip(addresses, positions, strict=True))  # {address: position} of thread 0
    each = (_matrices if reach.matrix else _vectors)(memory, reach, side, places)
    if each is None:
        return None
    name = ("st" if stores else "ld") + ("matrix" if reach.matrix else "")
    low = [memory.address(own) & reach.bytes - 1 for own in side.threads]
    return Accesses(name, tuple(each), active, Xored(tuple(low if reach.lanes == 2 else ())))


def _vectors(
    memory: LinearMemory, reach: Reach, side: LabelMap, places: dict[int, int]
) -> list[SharedAccess]:
    base = Xored(tuple(memory.address(own) & -reach.bytes for own in side.threads))
    groups: defaultdict[int, list[Slot]] = defaultdict(lambda: [None] * max(reach.bytes, WORD))
    for at, position in places.items():
        first = at % reach.bytes
        groups[at - first][first : first + memory.unit] = [(position, byte) for byte in range(memory.unit)]
    return [SharedAccess(reach, _words(room), base, offset) for offset, room in groups.items()]


def _words(room: Sequence[Slot]) -> tuple[Row, ...]:
    return tuple(tuple(room[at : at + WORD]) for at in range(0, len(room), WORD))


def _matrices(
    memory: LinearMemory, reach: Reach, side: LabelMap, places: dict[int, int]
) -> list[SharedAccess] | None:
    of_word = (WORD // memory.unit).bit_length() - 1
    inside = list(memory.low[: of_word - reach.trans])
    basis = Basis(inside)
    outside = [own for own in side.positions if basis.add_new(own)]
    if reach.trans:
        if not outside:
            return None
        inside.append(outside.pop(0))
    lanes = (inside[-1], *side.lanes[:2]) if reach.trans else side.lanes[2:]
    word = sums(map(memory.address, inside))
    whole = _orbits(places, word)
    starts = [min(orbit, key=lambda at: at % ROW) for orbit in whole or ()]
    if not starts or any(start % ROW for start in starts):
        return None
    first = sorted(outside, key=lambda own: own not in memory.joined)
    for size in (2, 1, 0):
        steps = [memory.address(own) for own in outside if own in first[:size]]
        groups = _orbits(starts, sums(steps)) if len(steps) == size else None
        if groups is None:
            continue
        columns = [*map(memory.address, lanes), *steps]
        columns += [0] * (LANE_BITS - len(columns)) + list(map(memory.address, side.warps))
        base, each = Xored(tuple(columns)), list[SharedAccess]()
        for group in groups:
            units = [places[start ^ step] for start in group for step in word]
            room = [(position, byte) for position in units for byte in range(memory.unit)]
            each.append(SharedAccess(reach, _words(room), base, group[0]))
        return each
    return None


def _orbits(points: Iterable[int], steps: Sequence[int]) -> list[list[int]] | None:
    """Return the points in groups that the XORed steps make of one point; None where some groups are not
    whole.
    """
    found, seen, known = list[list[int]](), set[int](), set(points)
    for point in points:
        if point not in seen:
            group = [point ^ step for step in steps]
            if not known.issuperset(group):
                return None
            seen.update(group)
            found.append(group)
    return found
