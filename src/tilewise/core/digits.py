"""Mixed-radix digits: pairs (extent, step), the slowest first.

Digits (e_k, s_k), ..., (e_1, s_1) map 0 <= n < e_k ... e_1 to the sum of s_i d_i, where d_i is n's digit of
extent e_i. A step is an integer or a vector: whatever adds, compares, and is multiplied by integers. The
place value P_i = e_1 ... e_(i-1) of a digit counts the elements that the faster digits have.

    merge    s_(i+1) = e_i s_i: two digits are one of extent e_(i+1) e_i
    split    (e f, s) is (e, f s), (f, s)
    refine   two lists of digits have a common one iff their place values form one chain in which each
             divides the next
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from operator import eq

Digit = tuple[int, int]
"""(extent, step), the step an integer."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, Self, TypeVar

    class Additive(Protocol):
        """An integer or a vector."""

        def __add__(self, other: Self, /) -> Self: ...
        def __mul__(self, count: int, /) -> Self: ...

    T = TypeVar("T", bound=Additive)


def merged(digits: Iterable[tuple[int, T]], alike: Callable[[Any, Any], bool] = eq) -> list[tuple[int, T]]:
    """Return the fewest digits with the same values: neighbours joined, extents of 1 left out.

    `alike` tells which numbers are equal.

    >>> merged([(2, 12), (1, 9), (4, 3), (3, 1)])
    [(24, 1)]
    """
    joined: list[tuple[int, T]] = []
    for extent, step in reversed(list(digits)):
        if alike(extent, 1):
            continue
        if joined and alike(step, joined[-1][1] * joined[-1][0]):
            joined[-1] = extent * joined[-1][0], joined[-1][1]
        else:
            joined.append((extent, step))
    return joined[::-1]


def place_values(extents: Iterable[int]) -> list[int]:
    """Return the place values of extents, slowest first, that lie below their product; ascending.

    >>> place_values([2, 1, 3, 4])
    [1, 4, 12]
    """
    values, value = [], 1
    for extent in reversed(list(extents)):
        if extent > 1:
            values.append(value)
            value *= extent
    return values


def clash(values: Iterable[int], others: Iterable[int]) -> tuple[int, int] | None:
    """Return one place value of each list of which neither divides the other, or None for one chain.

    requires  each list by itself is a chain

    >>> clash([1, 6], [1, 9]), clash([1, 6], [1, 2, 12])
    ((6, 9), None)
    """
    ours = set(values)
    for finer, coarser in pairwise(sorted(ours.union(others))):
        if coarser % finer:
            return (finer, coarser) if finer in ours else (coarser, finer)
    return None


def split(digits: Iterable[tuple[int, T]], values: Sequence[int]) -> list[tuple[int, T]]:
    """Return the digits, cut at the ascending place values of another shape of their size.

    requires  no clash

    >>> split([(6, 1)], [1, 3])
    [(2, 3), (3, 1)]
    """
    pieces: list[tuple[int, T]] = []
    place = 1
    for extent, step in reversed(list(digits)):
        end = place * extent
        inside = values[bisect_right(values, place) : bisect_left(values, end)]
        for start, stop in pairwise([place, *inside, end]):
            pieces.append((stop // start, step * (start // place)))
        place = end
    return pieces[::-1]


def halves(
    digits: Iterable[tuple[int, T]], inner: int
) -> tuple[list[tuple[int, T]], list[tuple[int, T]]] | None:
    """Return the digits of n // inner and those of n % inner, or None where one digit counts across both.

    >>> halves([(4, 100), (16, 2)], 8), halves([(4, 100), (6, 2)], 4)
    (([(4, 100), (2, 16)], [(8, 2)]), None)
    """
    slow, fast = list(digits), []
    while inner > 1 and slow:
        extent, step = slow.pop()
        if inner % extent and extent % inner:
            return None
        fast.append((min(extent, inner), step))
        if extent > inner:
            slow.append((extent // inner, step * inner))
        inner //= min(extent, inner)
    return None if inner > 1 else (slow, fast[::-1])


def in_runs(digits: Iterable[tuple[int, T]], extents: Iterable[int]) -> list[list[tuple[int, T]]]:
    """Return the digits, cut where extents end, as one run for every extent, all slowest first.

        requires  the place values of digits and extents divide one another; the sizes are equal

    >>> in_runs([(8, 4), (4, 1)], [2, 1, 16])
    [[(2, 16)], [], [(4, 4), (4, 1)]]
    """
    asked = list(extents)
    pieces = iter(split(digits, place_values(asked)))
    runs = []
    for extent in asked:
        run = []
        while extent > 1:
            run.append(next(pieces))
            extent //= run[-1][0]
        runs.append(run)
    return runs


def refined(
    one: Sequence[tuple[int, T]],
    other: Sequence[tuple[int, T]],
    alike: Callable[[Any, Any], bool] = eq,
) -> tuple[list[tuple[int, T]], list[tuple[int, T]]] | None:
    """Return both lists over the fewest common extents, or None where their place values clash.

    `alike` tells which numbers are equal, as for `merged`.

    requires  both have one size

    >>> refined([(4, 1), (6, 4)], [(2, 1), (12, 2)])
    ([(2, 2), (2, 1), (6, 4)], [(2, 1), (2, 12), (6, 2)])
    """
    ours, theirs = merged(one, alike), merged(other, alike)
    values, others = (place_values(extent for extent, _ in digits) for digits in (ours, theirs))
    if clash(values, others):
        return None
    cuts = sorted({*values, *others})
    return split(ours, cuts), split(theirs, cuts)


def value(digits: Iterable[tuple[int, T]], n: int, start: T) -> T:
    """Return the start plus the value of the digits at n.

    >>> value([(4, 1), (6, 4)], 7, start=100)
    105
    """
    for extent, step in reversed(list(digits)):
        n, digit = divmod(n, extent)
        start = start + step * digit
    return start


def number(extents: Iterable[int], digits: Iterable[int]) -> int:
    """Return the number with some digits, slowest first; digits beyond the extents are left out.

    >>> number([3, 4], [2, 1])
    9
    """
    total = 0
    for extent, digit in zip(extents, digits, strict=False):
        total = total * extent + digit
    return total
