"""Integer combinations that land in a box: the one search behind every inverse question.

    solutions(vectors, ranges, low, high)   every x with ranges[i][0] <= x[i] <= ranges[i][1]
                                            and low <= x[0]*vectors[0] + x[1]*vectors[1] + ... <= high

Vectors are tuples of integers, one a coordinate. The largest vector is chosen first; the reach of the
rest (their interval, and the multiples of their gcd) leaves few digits to try. Where the
iters separate, every level has at most one candidate, and the search is the closed form: greedy
digits. Where they do not, it is exact, and ends with `BudgetSpent` rather than guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from math import gcd

from tilewise.core.polynomials import is_named, is_whole, larger, no_value, only, smaller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Vec = tuple[int, ...]
Range = tuple[int, int]

DEFAULT_BUDGET = 200_000
MOST_STEPS = 1 << 10
"""Steps between the ends of one level that have names, at most."""
MOST_LISTED = 8
"""Digits of one level whose step has names, at most."""


class BudgetSpent(Exception):
    """The search met its bound before it met an answer."""


def solutions(
    vectors: Sequence[Vec],
    ranges: Sequence[Range],
    low: Vec,
    high: Vec,
    budget: int = DEFAULT_BUDGET,
) -> Iterator[tuple[int, ...]]:
    """Yield every x of the module's formula, digits near 0 first.

    `budget` bounds the digits tried between one solution and the next.

    >>> list(solutions([(4,), (1,)], [(0, 7), (0, 3)], (21,), (21,)))
    [(5, 1)]
    >>> next(solutions([(3,), (2,)], [(1, 9), (-9, 9)], (0,), (0,)))
    (2, -3)
    """
    count = len(vectors)
    order = sorted(range(count), key=lambda i: _weight(vectors[i]), reverse=True)
    rest = Suffixes([vectors[i] for i in order], [ranges[i] for i in order], len(low))
    if count == 0:
        if all(a <= 0 <= b for a, b in zip(low, high, strict=True)):
            yield ()
        return
    chosen = [0] * count
    reached: list[Vec] = [(0,) * len(low)] * (count + 1)
    levels: list[Iterator[int]] = [_from_zero_outward(rest.candidates(0, reached[0], low, high))]
    tried = 0
    while levels:
        depth = len(levels) - 1
        digit = next(levels[-1], None)
        if digit is None:
            levels.pop()
            continue
        tried += 1
        if tried > budget:
            raise BudgetSpent
        chosen[order[depth]] = digit
        vector = vectors[order[depth]]
        reached[depth + 1] = tuple(r + digit * v for r, v in zip(reached[depth], vector, strict=True))
        if depth + 1 == count:
            tried = 0
            yield tuple(chosen)
        else:
            levels.append(_from_zero_outward(rest.candidates(depth + 1, reached[depth + 1], low, high)))


def reaches(
    vectors: Sequence[Vec],
    ranges: Sequence[Range],
    low: Vec,
    high: Vec,
    budget: int = DEFAULT_BUDGET,
) -> bool:
    """Return True if any x lands in the box.

    >>> reaches([(4,), (1,)], [(0, 7), (0, 2)], (19,), (19,))
    False
    """
    return next(solutions(vectors, ranges, low, high, budget), None) is not None


def _weight(vector: Vec) -> tuple[int, int]:
    return max(map(abs, vector), default=0), sum(map(abs, vector))


class Suffixes:
    """The reach of the vectors from each level on: an interval and a gcd a coordinate."""

    def __init__(self, vectors: Sequence[Vec], ranges: Sequence[Range], dimension: int) -> None:
        self.vectors, self.ranges = vectors, ranges
        self.has_names = any(type(number) is not int for number in chain(*vectors, *ranges))
        self.larger: Any = larger if self.has_names else max
        self.smaller: Any = smaller if self.has_names else min
        self.divisor: Any = _known_divisor if self.has_names else gcd
        lows, highs, gcds = [(0,) * dimension], [(0,) * dimension], [(0,) * dimension]
        for vector, (a, b) in zip(reversed(vectors), reversed(ranges), strict=True):
            ends = [sorted((a * v, b * v)) for v in vector]
            lows.append(tuple(e[0] + w for e, w in zip(ends, lows[-1], strict=True)))
            highs.append(tuple(e[1] + w for e, w in zip(ends, highs[-1], strict=True)))
            gcds.append(tuple(map(self.divisor, vector, gcds[-1])))
        self.lows, self.highs, self.gcds = lows[::-1], highs[::-1], gcds[::-1]

    def candidates(self, level: int, reached: Vec, low: Vec, high: Vec) -> range | tuple[int, ...]:
        """Return the digits at `level` after which the later levels may still end in the box."""
        first, last = self.ranges[level]
        step, residue = 1, 0
        for v, r, a, b, lo, hi, g in zip(
            self.vectors[level],
            reached,
            low,
            high,
            self.lows[level + 1],
            self.highs[level + 1],
            self.gcds[level + 1],
            strict=True,
        ):
            least, most = a - r - hi, b - r - lo
            if v == 0:
                if least > 0 or most < 0 or (a == b and g and (a - r) % g):
                    return range(0)
                continue
            if v < 0:
                least, most = most, least
            first, last = self.larger(first, -(-least // v)), self.smaller(last, most // v)
            if a == b and g > 1:
                common = self.divisor(v, g)
                if (a - r) % common:
                    return range(0)
                if g // common > step and (inverse := _inverse(v // common, g // common)):
                    step = g // common
                    residue = (a - r) // common * inverse % step
        first += (residue - first) % step
        if self.has_names and any(map(is_named, (first, last, step))):
            return _listed(first, last, step)
        return range(first, last + 1, step)


def _known_divisor(one: int, other: int) -> int:
    """Return a number that divides both, names in them: one of the two, or 1; the largest without names."""
    if not (is_named(one) or is_named(other)):
        return gcd(one, other)
    if not (one and other):
        return one + other
    return next((own for own in (one, other) if is_whole(one, own) and is_whole(other, own)), 1)


def _inverse(number: int, by: int) -> int:
    """Return the inverse of a number modulo one of 2 or more; with names in them 0 where none is known."""
    if not (is_named(number) or is_named(by)):
        return pow(number, -1, by)
    return next((sign for sign in (1, -1) if is_whole(number - sign, by)), 0)


def _listed(first: int, last: int, step: int) -> tuple[int, ...]:
    """Return the numbers from `first` to `last`, names in them; a step of this takes their values if many."""
    if first > last:
        return ()
    if not is_named(step):
        steps = (last - first) // step
        if is_named(steps) or steps > MOST_STEPS:
            return (only(first, last),)  # type: ignore[return-value]
        return tuple([first + more * step for more in range(steps + 1)])
    listed = [first]
    while listed[-1] + step <= last:
        listed.append(listed[-1] + step)
        if len(listed) > MOST_LISTED:
            no_value(f"all numbers from {first} to {last} are tried here")
    return tuple(listed)


def _from_zero_outward(digits: range | tuple[int, ...]) -> Iterator[int]:
    if isinstance(digits, tuple) or not digits.start < 0 < digits.stop - 1:
        yield from digits
        return
    split = -(digits.start // digits.step)
    for up, down in zip_longest(digits[split:], digits[:split][::-1]):
        if up is not None:
            yield up
        if down is not None:
            yield down
