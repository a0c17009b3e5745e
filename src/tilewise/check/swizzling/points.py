"""Accesses as points of GF(2): what each asks of a layout that is linear in the digits of the index.

An index of a tile is written in binary digits, mode by mode, the last mode lowest; a mode of 48 has the
digits of 64, of which the last two are never both set. The elements of a vector follow one another from a
multiple of its width on. So an address that is linear in the digits is given for some of them: the first
element of a lane and the others differ by the same digits everywhere, and these are the lowest bits of the
address. They are the `kept` digits; no layout may use them otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tilewise.check.access import Access
from tilewise.check.banks.phases import counted
from tilewise.check.swizzling.kernels import Demand, image
from tilewise.check.swizzling.spaces import Digits, Space, elements_of
from tilewise.core.shapes import extents_of
from tilewise.hardware.memory.banks import WAVEFRONT, WORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Asked:
    """An access of a tile, with the weight that its wavefronts have in the sum."""

    access: Access
    weight: int = 1

    @property
    def in_order_of_memory(self) -> bool:
        """Whether its lanes go in the order of memory, as TMA's do: each layout has lanes of its own."""
        return self.access.name == "tma"

    @cached_property
    def space(self) -> Space:
        """What its lanes ask for, in digits of the index."""
        return Space.of(self.access)

    @cached_property
    def elements(self) -> NDArray[np.int64]:
        """The flat indices [request, lane, element]; INACTIVE where a lane asks for nothing."""
        return elements_of(self.access)

    @cached_property
    def free(self) -> int:
        """Wavefronts where nothing conflicts, times the weight: one a phase, however few lanes it has."""
        return self.weight * sum(times * len(phases) for times, phases in self.phases)

    @cached_property
    def phases(self) -> list[tuple[int, list[list[int]]]]:
        """(how often, the digits that the lanes of every phase ask for) of requests, up to a translation."""
        return [(times, self._phases(row)) for times, row in self.space.rows]

    def _phases(self, row: Sequence[int]) -> list[list[int]]:
        """The lanes that go together. Which they are depends on who asks for the same, not on where it is."""
        own = self.access
        names = {point: number for number, point in enumerate(dict.fromkeys(row))}
        stand_ins = [None if point < 0 else own.bytes * names[point] for point in row]
        request = counted(own.operation, own.bytes, stand_ins)
        return [[row[lane] for lane in phase.lanes] for phase in request.phases if phase.lanes]


@dataclass(frozen=True)
class Points:
    """What accesses ask of a layout that is linear in the digits of the index."""

    digits: Digits
    kept: tuple[int, ...]
    """The digits that are the lowest bits of the address, lowest first."""
    word: int
    """2^word elements share a word."""
    bank: int
    """2^bank words, or elements where those are larger, lie side by side in the banks."""
    demands: tuple[Demand, ...] = field(repr=False)
    """On the digits that are not kept."""

    @property
    def sharing(self) -> int:
        """Digits that are still to be chosen to lie inside a word."""
        return max(0, self.word - len(self.kept))

    @property
    def banks(self) -> int:
        """Bits of the bank that are still to be chosen."""
        return self.bank - max(0, len(self.kept) - self.word)

    def cost(self, columns: Sequence[int]) -> int | None:
        """The wavefronts of all accesses where every digit flips these bits of the address, in elements.

        postcondition  None where the vectors do not stay together
        """
        below = (1 << len(self.kept)) - 1
        together = [columns[digit] for digit in self.kept] == [1 << bit for bit in range(len(self.kept))]
        if not together or any(columns[digit] & below for digit in self.free):
            return None
        return sum(
            demand.phases * _fullest(demand, columns, self.word, (1 << self.bank) - 1)
            for demand in self.demands
        )

    @property
    def bound(self) -> int:
        """Wavefronts that no layout is below which keeps every vector of the tile together.

        A bank has 2^(bits of the bank that are to be chosen) groups, and a word 2^sharing points.
        """
        return sum(demand.least(self.banks + self.sharing) for demand in self.demands)

    @property
    def free(self) -> tuple[int, ...]:
        """The digits that are not kept."""
        return tuple(digit for digit in range(self.digits.count) if digit not in self.kept)


def points_of(asked: Sequence[Asked]) -> Points | None:
    """The accesses of one tile as points; None where no linear layout keeps their vectors together.

    Of one that goes in the order of memory the vectors are kept, and nothing more is asked.

    requires  at least one access, all of one tile and one type
    """
    access = asked[0].access
    digits, size = Digits(extents_of(access.tile)), access.dtype.bits // 8
    word = max(0, (WORD // size).bit_length() - 1)
    kept = _kept(asked)
    if kept is None:
        return None
    demands: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for one in asked:
        for times, phases in () if one.in_order_of_memory else one.phases:
            for starts in phases:
                groups = groups_of(starts, one.access.elements, kept, word)
                demands[groups] += one.weight * times
    found = (Demand(phases, groups) for groups, phases in demands.items())
    bank = (WAVEFRONT // size).bit_length() - 1 - word
    return Points(digits, kept, word, bank, tuple(sorted(found, key=lambda demand: -demand.phases)))


def _kept(asked: Iterable[Asked]) -> tuple[int, ...] | None:
    """The digits that count the elements of the widest vector, where all vectors agree and are aligned."""
    kept: list[int] = []
    for one in asked:
        steps = one.space.steps
        if steps is None:
            return None
        own = [steps[1 << bit] for bit in range((len(steps) - 1).bit_length())]
        linear = [sum(step for bit, step in enumerate(own) if at >> bit & 1) for at in range(len(steps))]
        if [*steps] != linear or any(step.bit_count() != 1 for step in own):
            return None
        own = [step.bit_length() - 1 for step in own]
        if own[: len(kept)] != kept[: len(own)]:
            return None
        kept = max(kept, own, key=len)
        if any(one.space.reached >> digit & 1 for digit in own):
            return None
    return tuple(kept)


def groups_of(
    starts: Iterable[int], elements: int, kept: Sequence[int], word: int
) -> tuple[tuple[int, ...], ...]:
    """The points of a phase, of vectors of so many elements, by the part of a kept vector that they lie in.

    Words of different parts are in different banks, whatever the layout does with the other digits.

    >>> groups_of([0, 8], 4, (0, 1), 1)
    ((0, 8),)
    >>> groups_of(range(12), 1, (0, 1), 0)
    ((0, 4, 8),)
    """
    mask = sum(1 << digit for digit in kept)
    parts_of = sum(1 << digit for digit in kept[word:])
    steps = [0]
    for digit in kept[: (elements - 1).bit_length()]:
        steps += [step | 1 << digit for step in steps]
    parts: dict[int, set[int]] = {}
    for start in starts:
        for step in steps:
            point = start ^ step
            parts.setdefault(point & parts_of, set()).add(point & ~mask)
    return tuple(sorted({_moved(points) for points in parts.values()}))


def _moved(points: set[int]) -> tuple[int, ...]:
    """Points from one of them on: the same for all translations of a space."""
    first = min(points)
    moved = sorted(point ^ first for point in points)
    return tuple(moved)


def _fullest(demand: Demand, columns: Sequence[int], word: int, bank: int) -> int:
    """The most words of one bank."""
    most = 0
    for group in demand.groups:
        words = {image(columns, point) >> word for point in group}
        most = max(most, *Counter(own & bank for own in words).values())
    return most


def without(demands: Iterable[Demand], inside: Sequence[int]) -> list[Demand]:
    """The demands where points that differ by the vectors `inside` are one: words instead of elements.

        requires  the vectors are independent, and each has a leading digit that no other has

    >>> without([Demand(4, ((0, 1, 2, 3),))], [1])
    [Demand(phases=4, groups=((0, 2),))]
    """
    merged: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for demand in demands:
        groups = {_moved({rest(point, inside) for point in group}) for group in demand.groups}
        merged[tuple(sorted(groups))] += demand.phases
    return [Demand(phases, groups) for groups, phases in merged.items()]


def rest(point: int, inside: Sequence[int]) -> int:
    """A point less the leading digits of vectors that lie inside a word."""
    for vector in inside:
        if point >> (vector.bit_length() - 1) & 1:
            point ^= vector
    return point


def support(demands: Iterable[Demand]) -> int:
    """The digits that any point has."""
    used = 0
    for demand in demands:
        for group in demand.groups:
            for point in group:
                used |= point
    return used
