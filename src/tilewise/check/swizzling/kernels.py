"""Search, over GF(2), for the map to the banks that makes the fewest lanes meet, with its proof.

Points are indices of a tile as vectors of bits; d is the number of bits of a bank. A linear map b to d bits
sends points x and y to one bank iff x ^ y lies in its kernel K. So of a phase whose points are a coset of a
space P, #(P & K) meet in every bank that they use: this is the cost of the phase. Over all phases

    cost(b) = sum of phases * #(P & K) = sum of phases + sum over p != 0 of weight(p) * [b(p) = 0]

with weight(p) = the phases whose space has p: the search is for the subspace K of codimension d with the
least weight. Columns of b are chosen one coordinate after the other. Three things keep that short:

    symmetry  an invertible map of the banks changes nothing, so of the values outside the span of the
              columns before, one stands for all: every K is met once, in its reduced echelon form
    cost      a column decides b(p) for the p whose last coordinate is its own, and adds what they weigh;
              what is paid is never paid back, so that a branch ends where it costs as much as the best
    bound     2^dim(P) points in 2^d banks: max(1, 2^(dim P - d)) a phase, for every map, linear or not;
              a map that reaches the sum of them ends the search

A phase whose points are no coset costs its fullest bank. Points that agree in the coordinates to come and in
the sum of the columns so far share a bank whatever follows: their number is that phase's share of the cost.
A search that runs to its end without a better map proves that no map is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewise.core.bits import rank as rank_of

BUDGET = 20_000
"""Columns that are tried before a search gives up its proof: a second or two."""


@dataclass(frozen=True)
class Demand:
    """Phases that ask for the same points, up to a translation, which no linear map to the banks can detect.

    >>> Demand(8, ((0, 1, 2, 3),)).least(1), Demand(8, ((0, 1, 2),)).space
    (16, False)
    """

    phases: int
    """The number of such phases, times the weight of their access."""
    groups: tuple[tuple[int, ...], ...]
    """Sets of points, each with the point 0; only points of one group can meet in a bank."""

    def least(self, banks: int) -> int:
        """Return a lower bound on the wavefronts of every map to 2^banks banks."""
        return self.phases * max(-(-len(group) >> banks) for group in self.groups)

    @cached_property
    def space(self) -> bool:
        """Return True if the points are those of one space."""
        only = self.groups[0]
        return len(self.groups) == 1 and len(only) == 1 << rank_of(only)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A linear map to the banks."""

    columns: dict[int, int]
    """{coordinate: the bits of the bank that it flips}."""
    cost: int
    least: bool
    """True if no other map costs less: a search of all maps ended, or the bound is reached."""
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
    """Return the linear map of `coordinates` to `banks` bits that costs the demands least.

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
    search.extend(0, 0, ((0,), (0,)), sum(demand.phases for demand in demands if demand.space))
    if search.best is None:
        return None
    columns = dict(zip(coordinates, search.best, strict=True))
    return Kernel(columns, search.cost, search.cost == search.bound or not search.spent, search.tried)


Images = tuple[tuple[int, ...], tuple[int, ...]]
"""The banks of all points of the coordinates so far: the XOR of two tables' entries, for the coordinates
before the middle and behind it. Doubling one of them is cheap.
"""


class _Search:
    """A search, depth first, the cheapest column first."""

    def __init__(
        self, demands: Sequence[Demand], order: Sequence[int], banks: int, inner: int, rank: int, budget: int
    ) -> None:
        self.banks, self.inner, self.rank, self.budget = banks, inner, rank, budget
        self.depth, self.middle = len(order), len(order) // 2
        self.bound = sum(demand.least(banks) for demand in demands)
        self.weights: list[Counter[int]] = [Counter() for _ in order]
        """Points of spaces by their last coordinate: {the other coordinates: phases}."""
        self.others: list[Demand] = []
        for demand in demands:
            groups = tuple(
                tuple(
                    sum((point >> coordinate & 1) << at for at, coordinate in enumerate(order))
                    for point in group
                )
                for group in demand.groups
            )
            if not demand.space:
                self.others.append(Demand(demand.phases, groups))
                continue
            for point in filter(None, groups[0]):
                last = point.bit_length() - 1
                self.weights[last][point ^ 1 << last] += demand.phases
        self.best: list[int] | None = None
        self.cost = 0
        self.tried = 0

    @property
    def spent(self) -> bool:
        """Return True if the budget ended the search, and not the maps."""
        return self.tried > self.budget

    def extend(self, rank: int, at: int, images: Images, paid: int) -> None:
        """Choose the columns from `at` on; so far the images of spaces cost `paid`."""
        if at == self.inner and rank < self.rank:
            return
        if at == self.depth:
            cost = paid + self._more(at, images)
            if not self._lost(cost):
                self.cost = cost
                self.best = [self._bank(images, 1 << coordinate) for coordinate in range(at)]
            return
        low, high = images
        for price, column in self._prices(rank, at, images):
            if self._lost(paid + price):
                return
            self.tried += 1
            if at < self.middle:
                extended = (*low, *[bank ^ column for bank in low]), high
            else:
                extended = low, (*high, *[bank ^ column for bank in high])
            if not self._lost(paid + price + self._more(at + 1, extended)):
                self.extend(rank + (column == 1 << rank), at + 1, extended, paid + price)
            if self.spent or (self.best is not None and self.cost == self.bound):
                return

    def _bank(self, images: Images, point: int) -> int:
        return images[0][point & (1 << self.middle) - 1] ^ images[1][point >> self.middle]

    def _prices(self, rank: int, at: int, images: Images) -> Iterator[tuple[int, int]]:
        """Return (addition to the cost, value) of every column, the cheapest and plainest first."""
        prices = [0] * (1 << rank)
        (low, high), middle, mask = images, self.middle, (1 << self.middle) - 1
        for point, weight in self.weights[at].items():
            prices[low[point & mask] ^ high[point >> middle]] += weight  # _bank, without a call for each
        if rank < self.banks:
            yield 0, 1 << rank
        for price, _, value in sorted(
            (price, value.bit_count(), value) for value, price in enumerate(prices)
        ):
            yield price, value

    def _lost(self, paid: int) -> bool:
        """Return True if a partial cost is no better than the best."""
        return self.best is not None and paid >= self.cost

    def _more(self, at: int, images: Images) -> int:
        """Return the least cost of demands that are no spaces, with `at` columns chosen."""
        mask, least = (1 << at) - 1, 0
        for demand in self.others:
            fullest = 0
            for group in demand.groups:  # points that share a bank, whatever the other columns are
                meeting = Counter((point >> at, self._bank(images, point & mask)) for point in group)
                fullest = max(fullest, *meeting.values(), -(-len(group) >> self.banks))
            least += demand.phases * fullest
        return least
