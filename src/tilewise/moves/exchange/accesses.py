"""Stores and loads of shared memory, as data: bytes of registers, at an address of each thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewise.check.access.addresses import INACTIVE
from tilewise.check.banks.counting import count
from tilewise.check.shuffle.linear import combined
from tilewise.core.gf2 import Basis
from tilewise.hardware.limits import LANES
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

    @property
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
        """Those of all warps, as the model of `check.banks` counts them."""
        if not self.each:
            return 0
        operation = Operation.of(self.operation)
        rows = []
        for access in self.each:
            active = access.taking(self.active).reshape(-1, LANES)
            found = access.addresses(self.threads).reshape(-1, LANES)
            unread = np.zeros((1, LANES), bool)
            if access.way.matrix:
                unread = np.arange(LANES)[None] >= ROWS * len(access.words)
            rows.append(np.where(active & ~unread, found, INACTIVE))
        requests = np.concatenate(rows)
        requests = requests[(requests != INACTIVE).any(axis=1)]
        bytes = ROW if self.each[0].way.matrix else self.each[0].way.bytes
        return int(count(operation, bytes, requests).wavefronts.sum())


# -- out of a linear memory ------------------------------------------------------------------------


def accesses(
    memory: Memory, side: Side, labels: dict[int, int], stores: bool, threads: int, active: Sequence[bool]
) -> Accesses | None:
    """The instructions of one side; {label: position} of thread 0. None where rows are not whole."""
    way = memory.store if stores else memory.load
    each = (_matrices if way.matrix else _vectors)(memory, way, side, labels)
    if each is None:
        return None
    name = ("st" if stores else "ld") + ("matrix" if way.matrix else "")
    return Accesses(name, tuple(each), threads, tuple(active))


def _vectors(memory: Memory, way: Way, side: Side, labels: dict[int, int]) -> list[Access]:
    base = Xored(tuple(map(memory.address, side.threads)))
    groups: dict[int, dict[int, int]] = {}
    for label, position in labels.items():
        at = memory.address(label)
        groups.setdefault(at // way.bytes, {})[at % way.bytes] = position
    found = []
    for group, units in sorted(groups.items(), key=lambda own: min(own[1].values())):
        room: list[tuple[int, int] | None] = [None] * max(way.bytes, WORD)
        for at, position in units.items():
            for byte in range(memory.unit):
                room[at + byte] = position, byte
        found.append(Access(way, _words(room), base, group * way.bytes))
    return found


def _words(room: Sequence[tuple[int, int] | None]) -> tuple[Word, ...]:
    return tuple((room[at], room[at + 1], room[at + 2], room[at + 3]) for at in range(0, len(room), WORD))


def _matrices(memory: Memory, way: Way, side: Side, labels: dict[int, int]) -> list[Access] | None:
    of_word = (WORD // memory.unit).bit_length() - 1
    inside = list(memory.low[: of_word - 1 if way.trans else of_word])
    basis = Basis(inside)
    outside = [own for own in side.positions if basis.add_new(own)]
    if way.trans:
        if not outside:
            return None
        inside.append(outside.pop(0))
    starts = _starts(memory, inside, labels)
    if starts is None:
        return None
    half = inside[-1] if way.trans else 0
    lanes = (half, *side.lanes[:2]) if way.trans else side.lanes[2:]
    for size in (2, 1, 0):
        steps = outside[:size]
        groups = _grouped(starts, steps) if len(steps) == size else None
        if groups is None:
            continue
        columns = [memory.address(own) for own in (*lanes, *steps)]
        columns += [0] * (5 - len(columns)) + [memory.address(own) for own in side.warps]
        base = Xored(tuple(columns))
        return [
            Access(
                way,
                tuple(_word(memory, own, inside, labels) for own in group),
                base,
                memory.address(group[0]),
            )
            for group in groups
        ]
    return None


def _starts(memory: Memory, inside: list[int], labels: dict[int, int]) -> list[int] | None:
    """The first labels of words, those at the beginning of a row; None where words are not whole."""
    found, seen = list[int](), set[int]()
    for label in labels:
        if label in seen:
            continue
        word = [label ^ combined(inside, chosen) for chosen in range(1 << len(inside))]
        seen.update(word)
        first = next((own for own in word if memory.address(own) % ROW == 0), None)
        if first is None or any(own not in labels for own in word):
            return None
        found.append(first)
    return found


def _grouped(starts: list[int], steps: list[int]) -> list[list[int]] | None:
    """Words in groups that the steps make; None where some are not whole."""
    found, seen, known = list[list[int]](), set[int](), set(starts)
    for start in starts:
        if start in seen:
            continue
        group = [start ^ combined(steps, chosen) for chosen in range(1 << len(steps))]
        if any(own not in known for own in group):
            return None
        seen.update(group)
        found.append(group)
    return found


def _word(memory: Memory, start: int, inside: list[int], labels: dict[int, int]) -> Word:
    """The bytes of a word of a matrix: units in the order of `inside`."""
    room = [
        (labels[start ^ combined(inside, chosen)], byte)
        for chosen in range(1 << len(inside))
        for byte in range(memory.unit)
    ]
    return _words(room)[0]
