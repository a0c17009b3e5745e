"""Accesses as points of GF(2): the demands of each on a layout that is linear in the digits of the index.

An index of a tile is written in binary digits, mode by mode, the last mode lowest; a mode of 48 has the
digits of 64, of which the last two are never both set. The elements of a vector follow one another from a
multiple of its width on. So a linear address is fixed on some digits: the first element of a lane and the
others differ by the same digits everywhere, and these are the lowest bits of the address. They are the `kept`
digits; no layout may use them otherwise.

Where the extents of the tile are powers of two, the bits of its flat index are the digits of its modes. Where
the bits of request, lane and element flip bits of it, all requests are cosets of one space, and one request
stands for all. Otherwise NumPy lists the requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_

from tilewise.check.access import Access
from tilewise.check.access.access import INACTIVE
from tilewise.check.access.addresses import indices_of
from tilewise.check.banks import counted
from tilewise.check.swizzling.kernels import Demand
from tilewise.core.axes import m
from tilewise.core.bits import affine_map, combined, sums
from tilewise.core.shapes import extents_of, size_of
from tilewise.hardware.memory.banks import WAVEFRONT, WORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Group = tuple[int, ...]
"""Points of a phase that may meet in a bank."""


@dataclass(frozen=True, slots=True)
class Digits:
    """The binary digits of the index of a tile, numbered from the lowest of the last mode.

    >>> digits = Digits((64, 48))
    >>> digits.modes, digits.count, digits.outer
    ([range(6, 12), range(0, 6)], 12, (4, 5))
    """

    extents: tuple[int, ...]

    @property
    def modes(self) -> list[range]:
        """Return the digits of every mode."""
        modes = [range(0)]
        for extent in reversed(self.extents):
            low = modes[0].stop
            modes.insert(0, range(low, low + (extent - 1).bit_length()))
        return modes[:-1]

    @property
    def count(self) -> int:
        """Return the number of digits of all modes."""
        return sum(map(len, self.modes))

    @property
    def outer(self) -> tuple[int, ...]:
        """Return the digits that count an odd factor: not all of their values are indices."""
        twos = [(extent & -extent).bit_length() - 1 for extent in self.extents]
        return tuple(digit for digits, low in zip(self.modes, twos, strict=True) for digit in digits[low:])

    def packed(self, flat: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return flat row-major indices as numbers whose bits are the digits; INACTIVE stays.

        >>> import numpy as np
        >>> Digits((64, 48)).packed(np.array([48 * 2 + 5])).tolist()
        [133]
        """
        import numpy as np

        coordinates = np.unravel_index(np.maximum(flat, 0), self.extents)
        points = sum(digits << mode.start for digits, mode in zip(coordinates, self.modes, strict=True))
        return np.where(flat < 0, INACTIVE, points)


# -- the demands of an access ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Space:
    """The digits that the lanes and the elements of requests ask for.

    postcondition  a request asks for the elements of one of `rows`, moved by some digits
    """

    rows: tuple[tuple[int, tuple[int, ...]], ...]
    """(number of requests, the first element of every lane); INACTIVE where a lane asks for nothing."""
    steps: tuple[int, ...] | None
    """The digits that lead from the first element of a vector to every other; None where vectors differ."""
    reached: int
    """The digits that any first element has."""


def affine_space(access: Access) -> Space | None:
    """Return the space of an access whose lanes all ask, by digits affine in the lane's; or None."""
    bits = affine_map(access.index)
    odd = any(extent & extent - 1 for extent in extents_of(access.tile))
    if odd or bits is None or bits.axes != (m,) or access.index.max(m) >= size_of(access.tile):
        return None
    flips, origin = bits.flips, bits.origin[0]
    inside, both = access.elements.bit_length() - 1, (access.elements * access.lanes).bit_length() - 1
    row = tuple(sums(flips[inside:both], origin))
    steps = tuple(sums(flips[:inside]))
    return Space(((access.requests, row),), steps, reduce(or_, flips[inside:], origin))


def listed_space(access: Access, indices: NDArray[np.int64]) -> Space:
    """Return the space of any access, from a list of its indices [request, lane, element]."""
    import numpy as np

    outside = (indices < 0) | (indices >= size_of(access.tile))
    points = Digits(extents_of(access.tile)).packed(np.where(outside, INACTIVE, indices))
    firsts = points[:, :, 0]
    moved = np.where(firsts < 0, INACTIVE, firsts ^ firsts.max(axis=1, keepdims=True))
    different, times = np.unique(moved, axis=0, return_counts=True)
    rows = zip(times.tolist(), map(tuple, different.tolist()), strict=True)
    vectors = points[firsts >= 0]
    steps = vectors ^ vectors[:, :1]
    alike = None if (steps != steps[0]).any() else tuple(steps[0].tolist())
    return Space(tuple(rows), alike, int(np.bitwise_or.reduce(vectors[:, 0])))


@dataclass(frozen=True)
class Asked:
    """An access of a tile, with the weight that its wavefronts have in the sum."""

    access: Access
    weight: int = 1

    @property
    def in_order_of_memory(self) -> bool:
        """Return True if its lanes go in the order of memory, as TMA's do: layouts then differ in lanes."""
        return self.access.name == "tma"

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """Return the flat indices [request, lane, element]; some of inactive lanes are past the end."""
        return indices_of(self.access)

    @cached_property
    def space(self) -> Space:
        """Return the digits of the index that its lanes ask for."""
        return affine_space(self.access) or listed_space(self.access, self.indices)

    @cached_property
    def free(self) -> int:
        """Return the wavefronts without conflicts, times the weight: one a phase, however few its lanes."""
        return self.weight * sum(times * len(phases) for times, phases in self.phases)

    @cached_property
    def phases(self) -> list[tuple[int, list[list[int]]]]:
        """Return (how often, the digits that the lanes of every phase ask for) of requests, up to a
        translation.
        """
        return [(times, self._phases(row)) for times, row in self.space.rows]

    def _phases(self, row: Sequence[int]) -> list[list[int]]:
        """Return the lanes that go together. They depend on equal addresses only, not on the addresses."""
        access = self.access
        names = {point: access.bytes * number for number, point in enumerate(dict.fromkeys(row))}
        stand_ins = [None if point < 0 else names[point] for point in row]
        request = counted(access.operation, access.bytes, stand_ins)
        return [[row[lane] for lane in phase.lanes] for phase in request.phases if phase.lanes]

    @property
    def vector(self) -> list[int] | None:
        """Return the digits that count the elements of a vector; None where vectors differ or are not
        aligned.
        """
        steps = self.space.steps
        if steps is None:
            return None
        flips = [steps[1 << bit] for bit in range((len(steps) - 1).bit_length())]
        linear = [*steps] == sums(flips)[: len(steps)] and len({*steps}) == len(steps)
        if not linear or any(flip.bit_count() != 1 or flip & self.space.reached for flip in flips):
            return None
        return [flip.bit_length() - 1 for flip in flips]


# -- all accesses of a tile ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """The demands of accesses on a layout that is linear in the digits of the index."""

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
        """Return the number of digits still to be chosen inside a word."""
        return max(0, self.word - len(self.kept))

    @property
    def banks(self) -> int:
        """Return the number of bits of the bank still to be chosen."""
        return self.bank - max(0, len(self.kept) - self.word)

    @property
    def free(self) -> tuple[int, ...]:
        """Return the digits that are not kept."""
        return tuple(digit for digit in range(self.digits.count) if digit not in self.kept)

    @property
    def bound(self) -> int:
        """Return a lower bound on the wavefronts of every layout that keeps each vector of the tile together.

        The banks form 2^banks groups, and a word has 2^sharing points.
        """
        return sum(demand.least(self.banks + self.sharing) for demand in self.demands)

    def cost(self, columns: Sequence[int]) -> int | None:
        """Return the wavefronts of all accesses where the digits flip these bits of the address in elements.

        postcondition  None where the vectors do not stay together
        """
        below = (1 << len(self.kept)) - 1
        together = [columns[digit] for digit in self.kept] == [1 << bit for bit in range(len(self.kept))]
        if not together or any(columns[digit] & below for digit in self.free):
            return None
        cost, bank = 0, (1 << self.bank) - 1
        for demand in self.demands:
            fullest = 0
            for group in demand.groups:
                words = {combined(columns, point) >> self.word for point in group}
                fullest = max(fullest, *Counter(word & bank for word in words).values())
            cost += demand.phases * fullest
        return cost


def points_of(asked: Sequence[Asked]) -> Points | None:
    """Return the accesses of one tile as points; None where no linear layout keeps their vectors together.

    An access in the order of memory keeps its vectors, and makes no other demand.

    requires  at least one access, all of one tile and one type
    """
    access = asked[0].access
    size = access.dtype.bits // 8
    word = max(0, (WORD // size).bit_length() - 1)
    kept: list[int] = []
    for own in asked:
        vector = own.vector
        if vector is None or vector[: len(kept)] != kept[: len(vector)]:
            return None
        kept = max(kept, vector, key=len)
    demands: Counter[tuple[Group, ...]] = Counter()
    for own in asked:
        for times, phases in () if own.in_order_of_memory else own.phases:
            for starts in phases:
                demands[groups_of(starts, own.access.elements, kept, word)] += own.weight * times
    bank = (WAVEFRONT // size).bit_length() - 1 - word
    ordered = sorted((Demand(phases, groups) for groups, phases in demands.items()), key=lambda d: -d.phases)
    return Points(Digits(extents_of(access.tile)), tuple(kept), word, bank, tuple(ordered))


def groups_of(starts: Iterable[int], elements: int, kept: Sequence[int], word: int) -> tuple[Group, ...]:
    """Return the points of a phase, of vectors of so many elements, by the part of a kept vector they lie in.

    Words of different parts are in different banks, whatever the layout does with the other digits.

    >>> groups_of([0, 8], 4, (0, 1), 1)
    ((0, 8),)
    >>> groups_of(range(12), 1, (0, 1), 0)
    ((0, 4, 8),)
    """
    mask, parts_of = (sum(1 << digit for digit in digits) for digits in (kept, kept[word:]))
    steps = sums(1 << digit for digit in kept[: (elements - 1).bit_length()])
    parts: dict[int, set[int]] = {}
    for start in starts:
        for step in steps:
            point = start ^ step
            parts.setdefault(point & parts_of, set()).add(point & ~mask)
    return tuple(sorted({moved(points) for points in parts.values()}))


def moved(points: set[int]) -> Group:
    """Return points from one of them on: the same for all translations of a space."""
    first = min(points)
    return tuple(sorted(point ^ first for point in points))
