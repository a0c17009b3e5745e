"""The map to the banks that makes the fewest lanes meet: a search over GF(2), with its proof.

Points are indices of a tile as vectors of bits; d is the number of bits of a bank. A linear map b to d bits
sends points x and y to one bank iff x ^ y lies in its kernel K. So of a phase whose points are a coset of a
space P, #(P & K) meet in every bank that they use, and that is what the phase costs. Over all phases

    cost(b) = sum of phases * #(P & K) = sum of phases + sum over p != 0 of weight(p) * [b(p) = 0]

with weight(p) = the phases whose space has p: of all subspaces K of codimension d, the one of least weight is
wanted. Columns of b are chosen one coordinate after the other. Three things keep that short:

    symmetry  an invertible map of the banks changes nothing, so of the values outside the span of the
              columns before, one stands for all: every K is met once, in its reduced echelon form
    cost      a column decides b(p) for the p whose last coordinate is its own, and adds what they weigh;
              what is paid is never paid back, so that a branch ends where it costs as much as the best
    bound     2^dim(P) points in 2^d banks: max(1, 2^(dim P - d)) a phase, for every map, linear or not;
              a map that reaches the sum of them ends the search

A phase whose points are no coset costs its fullest bank. Points that agree in the coordinates to come and in
the sum of the columns so far share a bank whatever follows: their number is that phase's share of the cost.
A search that runs to its end without a better map proves that there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewise.core.bits import Basis

BUDGET = 20_000
"""Columns that are tried before a search gives up its proof: a second or two."""


@dataclass(frozen=True)
class Demand:
    """Phases that ask for the same points, up to a translation, which no linear map to the banks sees.

    >>> Demand(8, ((0, 1, 2, 3),)).least(1), Demand(8, ((0, 1, 2),)).space
    (16, False)
    """

    phases: int
    """How many, times the weight of their access."""
    groups: tuple[tuple[int, ...], ...]
    """Sets of points, each with the point 0; only points of one group can meet in a bank."""

    def least(self, banks: int) -> int:
        """The wavefronts that no map to 2^banks banks is below."""
        return self.phases * max(-(-len(group) >> banks) for group in self.groups)

    @cached_property
    def space(self) -> bool:
        """Whether the points are those of one space."""
        only = self.groups[0]
        return len(self.groups) == 1 and len(only) == 1 << len(Basis(only))

    def cost(self, columns: Sequence[int]) -> int:
        """The wavefronts under a map, given by the bank that every coordinate flips."""
        fullest = (max(Counter(image(columns, point) for point in group).values()) for group in self.groups)
        return self.phases * max(fullest)


def image(columns: Sequence[int], point: int) -> int:
    """The XOR of the columns of the bits of a point."""
    value = 0
    for column in columns:
        if point & 1:
            value ^= column
        point >>= 1
    return value


@dataclass(frozen=True, slots=True)
class Kernel:
    """A linear map to the banks, and whether no other one costs less."""

    columns: dict[int, int]
    """{coordinate: the bits of the bank that it flips}."""
    cost: int
    least: bool
    """Proven: a search of all maps ended, or the bound is reached."""
    tried: int


def least_kernel(
    demands: Sequence[Demand],
    coordinates: Sequence[int],
    banks: int,
    *,
    fixed: int = 0,
    rank: int = 0,
    budget: int = BUDGET,
) -> Kernel | None:
    """The linear map of `coordinates` to `banks` bits that costs the demands least.

        requires       all points of the demands lie in the span of the coordinates; of these the last `fixed`
                       are chosen freely, and those before have at least this rank
        postcondition  kernel.least: no such map costs less; None where there is no such map, or none was
                       found within the budget

    >>> rows, columns = Demand(1, ((0, 1, 2, 3),)), Demand(1, ((0, 4, 8, 12),))
    >>> least_kernel([rows, columns], range(4), 2)
    Kernel(columns={0: 1, 1: 2, 2: 1, 3: 2}, cost=2, least=True, tried=4)
    >>> least_kernel([rows, columns], range(4), 1).cost
    4
    """
    search = _Search(demands, coordinates, banks, len(coordinates) - fixed, rank, budget)
    search.extend(0, 0, Images((0,), (0,), len(coordinates) // 2), search.start)
    if search.best is None:
        return None
    found = dict(zip(coordinates, search.best, strict=True))
    return Kernel(found, search.cost, search.cost == search.bound or not search.spent, search.tried)


@dataclass(frozen=True, slots=True)
class Images:
    """The banks of all points of the coordinates so far, as the XOR of two tables: doubling one is cheap.

    >>> images = Images((0,), (0,), 1).extended(0, 5).extended(1, 3)
    >>> [images.of(point) for point in range(4)]
    [0, 5, 3, 6]
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    split: int
    """The coordinates before this one are in the first table."""

    def of(self, point: int) -> int:
        """The bank of a point."""
        return self.low[point & (1 << self.split) - 1] ^ self.high[point >> self.split]

    def extended(self, at: int, column: int) -> Images:
        """With a column for coordinate `at`, the next one."""
        if at < self.split:
            return Images((*self.low, *[own ^ column for own in self.low]), self.high, self.split)
        return Images(self.low, (*self.high, *[own ^ column for own in self.high]), self.split)


class _Search:
    """Depth first, the cheapest column first."""

    def __init__(
        self, demands: Sequence[Demand], order: Sequence[int], banks: int, inner: int, rank: int, budget: int
    ) -> None:
        self.banks, self.inner, self.rank, self.budget = banks, inner, rank, budget
        self.depth = len(order)
        self.bound = sum(demand.least(banks) for demand in demands)
        self.start = sum(demand.phases for demand in demands if demand.space)
        self.weights: list[Counter[int]] = [Counter() for _ in order]
        self.others: list[Demand] = []
        for demand in demands:
            groups = tuple(tuple(_recoded(group, order)) for group in demand.groups)
            if demand.space:
                self._weigh(groups[0], demand.phases)
            else:
                self.others.append(Demand(demand.phases, groups))
        self.best: list[int] | None = None
        self.cost = 0
        self.tried = 0

    def _weigh(self, space: Iterable[int], phases: int) -> None:
        for point in space:
            if point:
                last = point.bit_length() - 1
                self.weights[last][point ^ 1 << last] += phases

    @property
    def spent(self) -> bool:
        """Whether the budget ended the search, and not the maps."""
        return self.tried > self.budget

    @property
    def done(self) -> bool:
        """Whether nothing is left to be found, or nothing to look for it with."""
        return self.spent or (self.best is not None and self.cost == self.bound)

    def extend(self, rank: int, at: int, images: Images, paid: int) -> None:
        """Choose the columns from `at` on; so far the images of spaces cost `paid`."""
        if at == self.inner and rank < self.rank:
            return
        if at == self.depth:
            self._take(images, paid)
            return
        for price, value in self._prices(rank, at, images):
            if self._lost(paid + price):
                return
            self.tried += 1
            extended = images.extended(at, value)
            if not self._lost(paid + price + self._more(at + 1, extended)):
                self.extend(rank + (value == 1 << rank), at + 1, extended, paid + price)
            if self.done:
                return

    def _prices(self, rank: int, at: int, images: Images) -> list[tuple[int, int]]:
        """(what it adds to the cost, value) of every column, the cheapest and plainest first."""
        prices = [0] * (1 << rank)
        low, high, split, mask = images.low, images.high, images.split, (1 << images.split) - 1
        for rest, weight in self.weights[at].items():
            prices[low[rest & mask] ^ high[rest >> split]] += weight  # images.of, without a call for each
        found = sorted((price, value.bit_count(), value) for value, price in enumerate(prices))
        fresh = [(0, 1 << rank)] if rank < self.banks else []
        return [*fresh, *((price, value) for price, _, value in found)]

    def _lost(self, paid: int) -> bool:
        """Whether nothing that costs so much already is better than the best."""
        return self.best is not None and paid >= self.cost

    def _take(self, images: Images, paid: int) -> None:
        cost = paid + self._more(self.depth, images)
        if not self._lost(cost):
            self.cost = cost
            self.best = [images.of(1 << at) for at in range(self.depth)]

    def _more(self, at: int, images: Images) -> int:
        """What demands that are no spaces cost at least, with `at` columns chosen."""
        return sum(
            demand.phases * max(self._fullest(group, at, images) for group in demand.groups)
            for demand in self.others
        )

    def _fullest(self, group: Sequence[int], at: int, images: Images) -> int:
        """How many points of a group share a bank, whatever the other columns are."""
        mask = (1 << at) - 1
        meeting = Counter((point >> at, images.of(point & mask)) for point in group)
        return max(*meeting.values(), -(-len(group) >> self.banks))


def _recoded(points: Iterable[int], order: Sequence[int]) -> Iterable[int]:
    """Points by their coordinates in another order."""
    for point in points:
        yield sum((point >> coordinate & 1) << at for at, coordinate in enumerate(order))
