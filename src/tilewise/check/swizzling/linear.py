"""Find the best layout that is linear over GF(2): the digits inside a word, the banks, and the rest.

Where elements are smaller than a word, and no vector decides which elements share one, that is chosen as
well: a space U of points that lie in a word with 0. A phase then costs #(P & K) / #(P & U): the cost of its
points, where points that differ by U count as one. So `kernels` searches for every U, unit vectors first,
then the other subspaces of the digits that any phase moves. Digits that no phase moves are all alike.

The kernel decides the cost; the rest of the layout is free. It is row-major as far as it can be: the lowest
digits that the banks tell apart become the bits of the bank, all others lie above in their order, and flip
the bank by XOR. Those XORs are the swizzles of the layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tilewise.check.swizzling.kernels import BUDGET, Demand, Kernel, least_kernel
from tilewise.check.swizzling.points import Digits, Group, Points, moved
from tilewise.core.axes import m
from tilewise.core.bits import Basis, combined
from tilewise.core.digits import merged
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode
from tilewise.core.swizzles import Swizzle, apply_chain
from tilewise.core.vectors import Vector, along


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear layout, its cost, and True if a search of all of them found none that costs less."""

    layout: Layout
    cost: int
    least: bool
    tried: int


def linear_layouts(points: Points) -> bool:
    """Return True if there are linear layouts of the tile's own bytes.

    An odd factor stays outermost: there is one at most, and it counts whole rows of all banks.
    """
    odd = sum(bool(extent & extent - 1) for extent in points.digits.extents)
    inner = len(points.free) - len(points.digits.outer)
    return odd == 0 or (odd == 1 and inner >= points.banks + points.sharing)


def linear(points: Points, budget: int = BUDGET) -> Linear | None:
    """Return the linear layout that costs least: one of the tile's own bytes, which keeps vectors together.

        requires       linear_layouts(points)
        postcondition  .least: no linear layout costs less; None where the budget found none at all

    >>> from tilewise.check.swizzling.kernels import Demand
    >>> row, column = Demand(32, (tuple(range(32)),)), Demand(32, (tuple(range(0, 1024, 32)),))
    >>> found = linear(Points(Digits((32, 32)), (), 0, 5, (row, column)))
    >>> print(found.layout, found.cost, found.least)
    Swizzle<5,0,5> o S[(32, 32) : (32, 1)] 64 True
    """
    inner = [digit for digit in points.free if digit not in points.digits.outer]
    banks = min(points.banks, max(0, len(inner) - points.sharing))
    best: tuple[Kernel, tuple[int, ...]] | None = None
    tried, least = 0, True
    for inside in _words(points, inner):
        demands = _without(points.demands, inside)
        if best and sum(demand.least(banks) for demand in demands) >= best[0].cost:
            continue
        kernel = _kernel(points, demands, inside, banks, budget - tried)
        if kernel is None:
            least = False
            break
        tried, least = tried + kernel.tried, least and kernel.least
        if best is None or kernel.cost < best[0].cost:
            best = kernel, inside
        if best[0].cost == points.bound:
            least = True
            break
    if best is None:
        return None
    kernel, inside = best
    layout = layout_of(points.digits, points.kept, inside, kernel.columns, banks)
    return Linear(layout, kernel.cost, least, tried)


def _kernel(
    points: Points, demands: Sequence[Demand], inside: Sequence[int], banks: int, budget: int
) -> Kernel | None:
    """Return the best map to the banks for a choice of words; None where the budget is spent."""
    leading = {vector.bit_length() - 1 for vector in inside}
    used = _support(demands)
    inner = [digit for digit in points.free if digit not in leading and digit not in points.digits.outer]
    moving = [digit for digit in inner if used >> digit & 1]
    outer = [digit for digit in points.digits.outer if used >> digit & 1]
    rank = banks - (len(inner) - len(moving))
    return least_kernel(demands, (*moving, *outer), banks, fixed=len(outer), rank=rank, budget=budget)


def _support(demands: Iterable[Demand]) -> int:
    """Return the digits that any point has."""
    used = 0
    for demand in demands:
        for group in demand.groups:
            for point in group:
                used |= point
    return used


def _without(demands: Iterable[Demand], inside: Sequence[int]) -> list[Demand]:
    """Return the demands on words instead of elements: points that differ by the vectors `inside` are one.

        requires  the vectors are independent, and each has a leading digit that no other has

    >>> _without([Demand(4, ((0, 1, 2, 3),))], [1])
    [Demand(phases=4, groups=((0, 2),))]
    """

    def word(point: int) -> int:
        for vector in inside:
            if point >> vector.bit_length() - 1 & 1:
                point ^= vector
        return point

    joined: Counter[tuple[Group, ...]] = Counter()
    for demand in demands:
        groups = {moved(set(map(word, group))) for group in demand.groups}
        joined[tuple(sorted(groups))] += demand.phases
    return [Demand(phases, groups) for groups, phases in joined.items()]


def _words(points: Points, inner: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return every choice of vectors that lie inside a word, each with a leading digit of its own."""
    count, support = min(points.sharing, len(inner)), _support(points.demands)
    used = [digit for digit in inner if support >> digit & 1]
    idle = [digit for digit in inner if not support >> digit & 1][:count]
    for digits in combinations(sorted(used + idle), count):
        yield tuple(1 << digit for digit in digits)
    for chosen in range(max(1, count - len(idle)), count + 1):
        rest_of_word = [1 << digit for digit in idle[: count - chosen]]
        for vectors in _spaces(used, chosen):
            if any(vector.bit_count() > 1 for vector in vectors):
                yield (*vectors, *rest_of_word)


def _spaces(digits: Sequence[int], count: int) -> Iterator[list[int]]:
    """Return every subspace of that dimension, by the basis whose leading digits no other vector has."""
    for leading in combinations(range(len(digits)), count):
        below = [[at for at in range(lead) if at not in leading] for lead in leading]
        for choice in range(1 << sum(map(len, below))):
            vectors = []
            for lead, free in zip(leading, below, strict=True):
                vector = combined([1 << digits[at] for at in free], choice)
                choice >>= len(free)
                vectors.append(1 << digits[lead] | vector)
            yield vectors


# -- from a kernel to a layout ---------------------------------------------------------------------


def layout_of(
    digits: Digits, kept: Sequence[int], inside: Sequence[int], columns: Mapping[int, int], banks: int
) -> Layout:
    """Return the layout, in elements: kept digits come first, then the vectors of a word, then the banks.

        requires       as `linear` says of them; columns name no leading digit of `inside`
        postcondition  x and y are in one bank iff the columns of x ^ y, less `inside`, XOR to 0

    >>> print(layout_of(Digits((8, 64)), (0, 1, 2), (), {3: 1, 4: 2, 5: 4, 6: 1, 7: 2, 8: 4}, 3))
    Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    """
    leading = [vector.bit_length() - 1 for vector in inside]
    placed = {*kept, *leading, *digits.outer}
    inner = [digit for digit in range(digits.count) if digit not in placed]
    # the lowest digits whose columns are independent tell banks apart, and idle digits the other banks
    basis = Basis()
    told = {digit: columns[digit] for digit in inner if digit in columns and basis.add_new(columns[digit])}
    missing = [1 << bit for bit in range(banks) if basis.add_new(1 << bit)]
    told |= dict(zip((digit for digit in inner if digit not in columns), missing, strict=False))
    told = dict(sorted(told.items()))
    basis = Basis(told.values())
    above = [digit for digit in inner if digit not in told]
    order = [*kept, *leading, *told, *above, *digits.outer]
    position = {digit: at for at, digit in enumerate(order)}
    xors = set()
    for digit in (*above, *digits.outer):
        flips = basis.combination(columns.get(digit, 0))
        assert flips is not None, "the columns span all banks"
        first = len(kept) + len(leading)
        xors |= {(position[digit], first + bit) for bit in range(banks) if flips >> bit & 1}
    swizzles = _swizzles(xors)
    addresses = [apply_chain(swizzles, 1 << position[digit]) for digit in range(digits.count)]
    lifted = set()
    for lead, vector in zip(leading, inside, strict=True):
        address = combined(addresses, vector ^ 1 << lead)
        lifted |= {(position[lead], bit) for bit in range(digits.count) if address >> bit & 1}
    shape, strides = _plain(digits, position)
    return Layout(shape, strides, swizzles=(*_swizzles(lifted), *swizzles))


def _swizzles(xors: Iterable[tuple[int, int]]) -> tuple[Swizzle, ...]:
    """Return the swizzles that flip bit b by bit a of an address, for every (a, b); no bit is both.

    >>> _swizzles({(6, 3), (7, 4), (8, 5), (9, 3)})
    (Swizzle(3, 3, 3), Swizzle(1, 3, 6))
    """
    left = sorted(xors, key=lambda pair: (pair[0] - pair[1], pair))
    swizzles = []
    while left:
        source, target = left.pop(0)
        shift, bits = source - target, 1
        while (source + bits, target + bits) in left and bits < abs(shift):
            left.remove((source + bits, target + bits))
            bits += 1
        swizzles.append(Swizzle(bits, min(source, target), shift))
    return tuple(swizzles)


def _plain(digits: Digits, position: Mapping[int, int]) -> tuple[tuple[Mode, ...], tuple[Vector, ...]]:
    """Return shape and strides of the layout before its swizzles, neighbouring digits joined."""
    shape: list[Mode] = []
    strides: list[Vector] = []
    for extent, mode in zip(digits.extents, digits.modes, strict=True):
        outer = [digit for digit in mode if digit in digits.outer][:1]
        runs = [(extent >> digit - mode.start, 1 << position[digit]) for digit in outer]
        runs += merged([(2, 1 << position[digit]) for digit in reversed(mode) if digit not in digits.outer])
        runs = runs or [(1, 0)]
        shape.append(tuple(count for count, _ in runs) if len(runs) > 1 else runs[0][0])
        strides += [along(m, step) for _, step in runs]
    return tuple(shape), tuple(strides)
