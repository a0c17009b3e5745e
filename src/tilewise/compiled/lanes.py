"""Registers of all lanes at once: NumPy arrays, and which of their entries are known.

A lane is a thread of one of the blocks that run together; each block is filled up to whole warps. A value has
one entry for every lane, or a single one that all lanes share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewise.compiled.launch import Launch
from tilewise.hardware.limits import LANES

Bools = NDArray[np.bool_]
Entries = NDArray[Any]


class Near(NamedTuple):
    """The ends of floats that the hardware leaves open in their last place: each lies between two numbers."""

    high: Entries
    """The greatest that each may be; the least is its number."""
    lanes: Bools
    """The lanes of which this is known."""
    divides: Bools
    """The lanes that divide integers, with steps that make up for any float between the ends."""


class Value(NamedTuple):
    """Numbers of lanes, and the lanes whose number nobody knows (None: all are known)."""

    bits: Entries
    unknown: Bools | None = None
    near: Near | None = None
    """The ends of numbers that nobody knows exactly."""

    @classmethod
    def of(cls, number: int, kind: type[np.generic] = np.uint32) -> Value:
        """Return a number that all lanes share, cut to the width of its kind."""
        width = 8 * np.dtype(kind).itemsize
        return cls(np.array([number & (1 << width) - 1], np.uint64).astype(kind))

    def known_in(self, mask: Bools) -> bool:
        """Return True if no lane of a mask has an unknown number."""
        return self.unknown is None or not (self.unknown & mask).any()


ALL = np.ones(1, np.bool_)
UNKNOWN = Value(np.zeros(1, np.uint32), ALL)
UNKNOWN_TRUTH = Value(np.zeros(1, np.bool_), ALL)
TRUE, FALSE = Value(np.ones(1, np.bool_)), Value(np.zeros(1, np.bool_))


def unknown_of(values: Iterable[Value]) -> Bools | None:
    """Return the lanes for which any of the values is unknown."""
    unknown = None
    for value in values:
        if value.unknown is not None:
            unknown = value.unknown if unknown is None else unknown | value.unknown
    return unknown


def near_of(value: Value) -> Near:
    """Return the ends of a value; both are its number where it is known."""
    if value.near is not None:
        return value.near
    return Near(value.bits, ALL if value.unknown is None else ~value.unknown, ~ALL)


def applied(function: Callable[..., Entries], *values: Value) -> Value:
    """Return a function of values, unknown wherever one of them is."""
    return Value(function(*[value.bits for value in values]), unknown_of(values))


@dataclass(frozen=True, slots=True)
class Taking:
    """The lanes that take a step."""

    mask: Bools
    whole: bool
    """True if no other lane is left, so that the old numbers of a register do not matter."""

    def under(self, truth: Value) -> Taking:
        """Return the lanes for which a known predicate holds."""
        if truth.bits.size == 1:
            return self if truth.bits[0] else Taking(np.zeros_like(self.mask), False)
        both = self.mask & truth.bits
        return self if np.array_equal(both, self.mask) else Taking(both, False)


@dataclass(slots=True)
class Lanes:
    """All lanes of some blocks of a launch, and their registers."""

    launch: Launch
    numbers: Sequence[int]
    """The blocks, by their number in the grid."""
    constants: Mapping[tuple[int, int], Value] = field(default_factory=dict)
    """{(bank, offset): word}."""
    banks: dict[int, tuple[NDArray[np.uint8], Bools]] = field(default_factory=dict, repr=False)
    """{bank: its bytes, and which are known}, once they are looked up lane by lane."""
    registers: dict[str, Value] = field(default_factory=dict)
    threads: NDArray[np.int64] = field(init=False)
    """The number of each lane's thread in its block."""
    blocks: NDArray[np.int64] = field(init=False)
    live: Bools = field(init=False)
    thread_index: tuple[Entries, Entries, Entries] = field(init=False)
    block_index: tuple[Entries, Entries, Entries] = field(init=False)

    def __post_init__(self) -> None:
        x, y, z = self.launch.block
        threads = -(-x * y * z // LANES) * LANES
        thread = np.arange(threads)
        self.threads = np.tile(thread, len(self.numbers))
        self.blocks = np.repeat(np.array(self.numbers, np.int64), threads)
        self.live = self.threads < x * y * z
        self.thread_index = _index(self.threads, (x, y))
        self.block_index = _index(self.blocks, self.launch.grid[:2])

    @property
    def count(self) -> int:
        """Return the number of lanes, those that fill up a warp among them."""
        return len(self.threads)

    @property
    def lane(self) -> Entries:
        """Return the number of each lane in its warp."""
        return (self.threads % LANES).astype(np.uint32)

    def read(self, name: str) -> Value:
        """Return a register; unknown before it is written."""
        return self.registers.get(name, UNKNOWN)

    def truth(self, name: str) -> Value:
        """Return a predicate; unknown before it is written."""
        return self.registers.get(name, UNKNOWN_TRUTH)

    def write(self, name: str, value: Value, where: Taking) -> None:
        """Write a register of the lanes that take the step."""
        if not where.whole:
            old = self.registers.get(name)
            if old is None:
                old = Value(np.zeros(1, value.bits.dtype), ALL)
            if old.bits.dtype != value.bits.dtype:
                old = Value(old.bits.astype(value.bits.dtype), old.unknown)
            unknown = None
            if value.unknown is not None or old.unknown is not None:
                new, before = (_NONE if v.unknown is None else v.unknown for v in (value, old))
                unknown = np.where(where.mask, new, before)
            near = None
            if value.near is not None or old.near is not None:
                pairs = zip(near_of(value), near_of(old), strict=True)
                near = Near(*(np.where(where.mask, one, other) for one, other in pairs))
            value = Value(np.where(where.mask, value.bits, old.bits), unknown, near)
        self.registers[name] = value

    def forget(self, names: Sequence[str], where: Taking) -> None:
        """Make registers of the lanes that take the step unknown."""
        for name in names:
            old = self.registers.get(name)
            if old is not None and not where.whole:
                unknown = where.mask if old.unknown is None else old.unknown | where.mask
                self.registers[name] = Value(old.bits, unknown)
            else:
                self.registers.pop(name, None)

    def constant(self, bank: int, places: Value, kind: type[np.generic]) -> Value:
        """Return the constants at the places of a bank, lane by lane."""
        size = np.dtype(kind).itemsize
        content, known = self._content(bank)
        begins = np.minimum(self.spread(places.bits).astype(np.int64), len(content) - size)
        where = begins[:, None] + np.arange(size)
        unknown = ~known[where].all(axis=1) | (begins < 0)
        if places.unknown is not None:
            unknown = unknown | places.unknown
        return Value(content[where].view(kind)[:, 0], unknown if unknown.any() else None)

    def _content(self, bank: int) -> tuple[NDArray[np.uint8], Bools]:
        """Return the bytes of a bank of constants, and which of them are known."""
        if bank not in self.banks:
            words = {
                at: value for (number, at), value in self.constants.items() if number == bank and at < FAR
            }
            content = np.zeros(max(words, default=0) + 2 * MOST_BYTES, np.uint8)
            known = np.zeros(len(content), np.bool_)
            for offset, value in words.items():
                content[offset : offset + 4] = value.bits.view(np.uint8)
                known[offset : offset + 4] = value.unknown is None
            self.banks[bank] = content, known
        return self.banks[bank]

    def spread(self, bits: Entries) -> Entries:
        """Return an array with one entry for each lane."""
        return np.broadcast_to(bits, (self.count,))

    def by_warp(self, bits: Entries) -> Entries:
        """Return an array [warp, lane]."""
        return self.spread(bits).reshape(-1, LANES)


_NONE = np.zeros(1, np.bool_)
MOST_BYTES = 8
"""The bytes of one constant at most."""
FAR = 1 << 17
"""Constants from here on are not known lane by lane."""


def _index(numbers: NDArray[np.int64], extents: Sequence[int]) -> tuple[Entries, Entries, Entries]:
    """Return x, y and z of numbers that count x fastest."""
    x, y = extents
    parts = (numbers % x, numbers // x % y, numbers // (x * y))
    return parts[0].astype(np.uint32), parts[1].astype(np.uint32), parts[2].astype(np.uint32)


LaneReader = Callable[[Lanes], Value]
"""A function that reads an operand of all lanes."""
