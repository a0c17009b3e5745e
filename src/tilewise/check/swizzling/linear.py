"""The best layout that is linear over GF(2): which digits lie inside a word, which banks, and what is left.

Where elements are smaller than a word, and no vector says what shares one, that is chosen as well: a space
U of points that lie in a word with 0. A phase then costs #(P & K) / #(P & U), which is what its points cost
once those that differ by U are one. So for every U the search of `kernels` is asked, unit vectors first, and
the other subspaces of the digits that any phase moves; digits that none moves are all alike.

The kernel decides the cost; the rest of the layout is free. It is row-major as far as it can be: the lowest
digits that the banks tell apart become the bits of the bank, all others lie above in their order, and flip
the bank by XOR. Those XORs are the swizzles of the layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tilewise.check.swizzling.kernels import BUDGET, Demand, Kernel, image, least_kernel
from tilewise.check.swizzling.points import Points, support, without
from tilewise.check.swizzling.spaces import Digits
from tilewise.core.axes import m
from tilewise.core.bits import Basis
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, along


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear layout, what it costs, and whether a search of all of them found none that costs less."""

    layout: Layout
    cost: int
    least: bool
    tried: int


def linear_layouts(points: Points) -> bool:
    """Whether there are linear layouts of the tile's own bytes.

    An odd factor stays outermost: there is one at most, and what it counts are whole rows of all banks.
    """
    inner = len(points.free) - len(points.digits.outer)
    return len(points.digits.odd) <= 1 and (not points.digits.odd or inner >= points.banks + points.sharing)


def linear(points: Points, budget: int = BUDGET) -> Linear | None:
    """The linear layout that costs least: one of the tile's own bytes, which keeps vectors together.

        requires       linear_layouts(points)
        postcondition  found.least: no linear layout costs less; None where the budget found none at all

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
        demands = without(points.demands, inside)
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
    """The best map to the banks, once it is said what lies inside a word; None where the budget is spent."""
    leading = {vector.bit_length() - 1 for vector in inside}
    moved = support(demands)
    own = [digit for digit in points.free if digit not in leading and digit not in points.digits.outer]
    inner = [digit for digit in own if moved >> digit & 1]
    outer = [digit for digit in points.digits.outer if moved >> digit & 1]
    idle = len(own) - len(inner)
    return least_kernel(demands, (*inner, *outer), banks, fixed=len(outer), rank=banks - idle, budget=budget)


def _words(points: Points, inner: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of vectors that lie inside a word, each with a leading digit of its own."""
    count = min(points.sharing, len(inner))
    moved = support(points.demands)
    used = [digit for digit in inner if moved >> digit & 1]
    idle = [digit for digit in inner if not moved >> digit & 1][:count]
    units = sorted(used + idle)
    simple = [tuple(1 << digit for digit in digits) for digits in combinations(units, count)]
    yield from simple
    for used_count in range(1, count + 1):
        if used_count + len(idle) < count:
            continue
        rest_of_word = tuple(1 << digit for digit in idle[: count - used_count])
        for vectors in _spaces(used, used_count):
            if any(vector.bit_count() > 1 for vector in vectors):
                yield (*vectors, *rest_of_word)


def _spaces(digits: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Every subspace of that dimension, by the basis whose leading digits no other vector of it has."""
    for leading in combinations(range(len(digits)), count):
        below = [[at for at in range(lead) if at not in leading] for lead in leading]
        for choice in range(1 << sum(map(len, below))):
            vectors = []
            for lead, free in zip(leading, below, strict=True):
                vector = 1 << digits[lead]
                for at in free:
                    vector |= (choice & 1) << digits[at]
                    choice >>= 1
                vectors.append(vector)
            yield tuple(vectors)


# -- from a kernel to a layout ---------------------------------------------------------------------


def layout_of(
    digits: Digits, kept: Sequence[int], inside: Sequence[int], columns: Mapping[int, int], banks: int
) -> Layout:
    """The layout, in elements, whose kept digits come first, then the vectors inside a word, then the banks.

        requires       as `linear` says of them; columns name no leading digit of `inside`
        postcondition  x and y are in one bank iff the columns of x ^ y, less `inside`, XOR to 0

    >>> print(layout_of(Digits((8, 64)), (0, 1, 2), (), {3: 1, 4: 2, 5: 4, 6: 1, 7: 2, 8: 4}, 3))
    Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    """
    leading = [vector.bit_length() - 1 for vector in inside]
    inner = [
        digit
        for digit in range(digits.count)
        if digit not in kept and digit not in leading and digit not in digits.outer
    ]
    told = _told_apart(inner, columns, banks)
    basis = Basis(told.values())
    above = [digit for digit in inner if digit not in told]
    order = [*kept, *leading, *told, *above, *digits.outer]
    position = {digit: at for at, digit in enumerate(order)}
    first = len(kept) + len(leading)
    xors = set()
    for digit in (*above, *digits.outer):
        flips = basis.combination(columns.get(digit, 0))
        assert flips is not None, "the banks that are told apart are all of them"
        xors |= {(position[digit], first + bit) for bit in range(banks) if flips >> bit & 1}
    chain = _swizzles(xors)
    addresses = [0] * digits.count
    for digit, at in position.items():
        addresses[digit] = 1 << at
    for swizzle in chain:
        addresses = [swizzle(address) for address in addresses]
    lifted = {
        (position[lead], bit)
        for lead, vector in zip(leading, inside, strict=True)
        for bit in range(digits.count)
        if image(addresses, vector ^ 1 << lead) >> bit & 1
    }
    shape, strides = _plain(digits, position)
    return Layout(shape, strides, swizzles=(*_swizzles(lifted), *chain))


def _told_apart(inner: Iterable[int], columns: Mapping[int, int], banks: int) -> dict[int, int]:
    """{digit: its column} for the lowest digits whose columns are independent; idle digits fill them up."""
    basis = Basis()
    told = {digit: columns[digit] for digit in inner if digit in columns and basis.add_new(columns[digit])}
    missing = [1 << bit for bit in range(banks) if basis.add_new(1 << bit)]
    idle = (digit for digit in inner if digit not in columns)
    told |= dict(zip(idle, missing, strict=False))
    return dict(sorted(told.items()))


def _swizzles(xors: Iterable[tuple[int, int]]) -> tuple[Swizzle, ...]:
    """The swizzles that flip bit b by bit a of an address, for every (a, b); no bit is both.

    >>> _swizzles({(6, 3), (7, 4), (8, 5), (9, 3)})
    (Swizzle(3, 3, 3), Swizzle(1, 3, 6))
    """
    left = sorted(xors, key=lambda pair: (pair[0] - pair[1], pair))
    found = []
    while left:
        source, target = left.pop(0)
        shift, bits = source - target, 1
        while (source + bits, target + bits) in left and bits < abs(shift):
            left.remove((source + bits, target + bits))
            bits += 1
        found.append(Swizzle(bits, min(source, target), shift))
    return tuple(found)


def _plain(digits: Digits, position: Mapping[int, int]) -> tuple[tuple[Mode, ...], tuple[Vector, ...]]:
    """Shape and strides of the layout before its swizzles, neighbouring digits joined."""
    shape: list[Mode] = []
    strides: list[Vector] = []
    for mode, extent in enumerate(digits.extents):
        low = digits.first(mode)
        runs: list[tuple[int, int]] = []
        for digit in range(low, low + digits.widths[mode]):
            step = 1 << position[digit]
            if digit in digits.outer:
                runs.append((extent >> digit - low, step))
                break
            if runs and runs[-1][0] * runs[-1][1] == step:
                runs[-1] = (runs[-1][0] * 2, runs[-1][1])
            else:
                runs.append((2, step))
        runs = runs[::-1] or [(1, 0)]
        shape.append(tuple(count for count, _ in runs) if len(runs) > 1 else runs[0][0])
        strides += [along(m, step) for _, step in runs]
    return tuple(shape), tuple(strides)
