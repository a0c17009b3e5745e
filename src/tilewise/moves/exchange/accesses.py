"""Stores and loads of shared memory, as data: bytes of registers, at an address of each thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import count
from tilewise.core.bits import Basis
from tilewise.hardware.limits import LANE_BITS, LANES
from tilewise.hardware.matrices.forms import ROWS
from tilewise.hardware.memory.banks import WORD, Operation
from tilewise.moves.exchange.affine import Side, spread
from tilewise.moves.exchange.memory import ROW, Memory, Way
from tilewise.moves.exchange.packing import Word
from tilewise.moves.exchange.question import Int64s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Xored:
    """The address of a thread: the XOR of a column for each bit of its number."""

    columns: tuple[int, ...]

    def at(self, threads: int) -> Int64s:
        """The addresses of threads 0, 1, ..."""
        return spread(self.columns, threads)

    @cached_property
    def mask(self) -> int:
        """The bits that any thread's address has."""
        found = 0
        for column in self.columns:
            found |= column
        return found


@dataclass(frozen=True)
class Counted:
    """The address of a thread: digits of its number, the slowest first, each times its stride."""

    digits: tuple[tuple[int, int], ...]
    start: int = 0

    def at(self, threads: int) -> Int64s:
        """The addresses of threads 0, 1, ..."""
        rest = np.arange(threads)
        found = np.full(threads, self.start)
        for extent, stride in reversed(self.digits):
            found += rest % extent * stride
            rest = rest // extent
        return found


@dataclass(frozen=True)
class Access:
    """One instruction.

    `words` are the 32-bit words that a thread gives or gets: byte by byte (position, which of its bytes).
    The address is the base's of the thread and `offset`: XORed, or added where the base is counted.
    """

    way: Way
    words: tuple[Word, ...]
    base: Xored | Counted
    offset: int
    below: int = 0
    """Where not 0: only threads whose number is less take part."""

    def taking(self, active: Sequence[bool]) -> NDArray[np.bool_]:
        """Which of the active threads take part."""
        found = np.array(active)
        if self.below:
            found[self.below :] = False
        return found

    def addresses(self, threads: int) -> Int64s:
        """The address that each thread supplies."""
        at = self.base.at(threads)
        return at ^ self.offset if isinstance(self.base, Xored) else at + self.offset


@dataclass(frozen=True)
class Accesses:
    """Those of one side: stores, or loads."""

    operation: str
    """`st`, `ld`, `stmatrix` or `ldmatrix`."""
    each: tuple[Access, ...]
    threads: int
    active: tuple[bool, ...]
    """Which threads take part."""
    picked: Xored = Xored(())
    """What of a thread's own is XORed to the bytes that it takes of words."""

    @cached_property
    def reach(self) -> int:
        """One more than the last byte."""
        if not self.each:
            return 0
        found = 0
        for access in self.each:
            last = int(access.addresses(self.threads)[access.taking(self.active)].max())
            found = max(found, last + (ROW if access.way.matrix else access.way.bytes))
        return found

    @cached_property
    def wavefronts(self) -> int:
        """Those of all warps, as the model of `check.banks` counts them.

        Accesses that differ by whole words, added or XORed, take as many: banks change places.
        """
        alike: dict[tuple[Xored | Counted, int, int, int], list[Access]] = {}
        for access in self.each:
            key = access.base, access.offset % WORD, access.below, len(access.words)
            alike.setdefault(key, []).append(access)
        return sum(len(own) * self._wavefronts(own[0]) for own in alike.values())

    def _wavefronts(self, access: Access) -> int:
        active = access.taking(self.active)
        if access.way.matrix:
            active &= np.arange(self.threads) % LANES < ROWS * len(access.words)
        requests = np.where(active, access.addresses(self.threads), INACTIVE).reshape(-1, LANES)
        requests = requests[active.reshape(-1, LANES).any(axis=1)]
        return int(count(Operation.of(self.operation), access.way.bytes, requests)["wavefronts"].sum())


# -- out of a linear memory ------------------------------------------------------------------------


def accesses(
    memory: Memory,
    side: Side,
    positions: Sequence[int],
    stores: bool,
    threads: int,
    active: Sequence[bool],
) -> Accesses | None:
    """The instructions of one side, for positions with labels of their own; None where rows are not whole."""
    way = memory.store if stores else memory.load
    steps = spread(tuple(map(memory.address, side.positions)), positions[-1] + 1)
    addresses = (steps[list(positions)] ^ memory.address(side.origin)).tolist()
    places = dict(zip(addresses, positions, strict=True))
    each = (_matrices if way.matrix else _vectors)(memory, way, side, places)
    if each is None:
        return None
    name = ("st" if stores else "ld") + ("matrix" if way.matrix else "")
    low = [memory.address(own) & way.bytes - 1 for own in side.threads]
    picked = Xored(tuple(low if way.lanes == 2 else ()))
    return Accesses(name, tuple(each), threads, tuple(active), picked)


def _vectors(memory: Memory, way: Way, side: Side, places: dict[int, int]) -> list[Access]:
    """`places` are {address: position} of thread 0."""
    base = Xored(tuple(memory.address(own) & -way.bytes for own in side.threads))
    groups: dict[int, list[tuple[int, int] | None]] = {}
    for at, position in places.items():
        group, first = divmod(at, way.bytes)
        room = groups.setdefault(group, [None] * max(way.bytes, WORD))
        room[first : first + memory.unit] = [(position, byte) for byte in range(memory.unit)]
    return [Access(way, _words(room), base, group * way.bytes) for group, room in groups.items()]


def _words(room: Sequence[tuple[int, int] | None]) -> tuple[Word, ...]:
    return tuple((room[at], room[at + 1], room[at + 2], room[at + 3]) for at in range(0, len(room), WORD))


def _matrices(memory: Memory, way: Way, side: Side, places: dict[int, int]) -> list[Access] | None:
    """`places` are {address: position} of thread 0."""
    of_word = (WORD // memory.unit).bit_length() - 1
    inside = list(memory.low[: of_word - 1 if way.trans else of_word])
    basis = Basis(inside)
    outside = [own for own in side.positions if basis.add_new(own)]
    if way.trans:
        if not outside:
            return None
        inside.append(outside.pop(0))
    first = sorted(outside, key=lambda own: own not in memory.joined)
    word = spread(tuple(map(memory.address, inside)), 1 << len(inside)).tolist()
    starts = _starts(word, places)
    if starts is None:
        return None
    half = inside[-1] if way.trans else 0
    lanes = (half, *side.lanes[:2]) if way.trans else side.lanes[2:]
    for size in (2, 1, 0):
        steps = [memory.address(own) for own in outside if own in first[:size]]
        groups = _grouped(starts, spread(tuple(steps), 1 << size).tolist()) if len(steps) == size else None
        if groups is None:
            continue
        columns = [*map(memory.address, lanes), *steps]
        columns += [0] * (LANE_BITS - len(columns)) + list(map(memory.address, side.warps))
        base = Xored(tuple(columns))
        return [
            Access(way, tuple(_word(memory.unit, own, word, places) for own in group), base, group[0])
            for group in groups
        ]
    return None


def _starts(word: list[int], places: dict[int, int]) -> list[int] | None:
    """Where words begin, at the beginning of a row, of which `word` has the steps; None where one lacks."""
    found, seen = list[int](), set[int]()
    for at in places:
        if at in seen:
            continue
        own = [at ^ step for step in word]
        seen.update(own)
        first = next((at for at in own if at % ROW == 0), None)
        if first is None or any(at not in places for at in own):
            return None
        found.append(first)
    return found


def _grouped(starts: list[int], steps: list[int]) -> list[list[int]] | None:
    """Words in groups with these steps; None where some are not whole."""
    found, seen, known = list[list[int]](), set[int](), set(starts)
    for start in starts:
        if start in seen:
            continue
        group = [start ^ step for step in steps]
        if any(own not in known for own in group):
            return None
        seen.update(group)
        found.append(group)
    return found


def _word(unit: int, start: int, word: list[int], places: dict[int, int]) -> Word:
    """The bytes of a word of a matrix: units in the order of the steps."""
    room = [(places[start ^ step], byte) for step in word for byte in range(unit)]
    return _words(room)[0]
