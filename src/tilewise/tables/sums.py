"""Tables as outer sums, written once into fresh memory.

The sum in each entry falls apart into factors: one a digit of the window, and the copies last. The
leading factors are combined into one vector and the trailing ones into another, each about the square
root of the whole, and one broadcast addition writes every entry. Swizzled, it is one broadcast XOR of
swizzled vectors where the sums do not carry; where they do, rows are added and swizzled while they
are in the cache. Where no cut leaves two small vectors, `listing` takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from math import isqrt, prod
from typing import NamedTuple

import numpy as np

from tilewise.tables.column import CHUNK, Column
from tilewise.tables.digits import FloorForm, Int64s, Run, Term, floor_form, wrapped
from tilewise.tables.swizzling import carries, swizzle_in_place

SMALL = 1 << 16
"""The most entries of a vector that is small beside any table."""

LONG = 1 << 12
"""The entries of a long row: NumPy broadcasts long rows up to three times as fast as shorter ones."""


class OuterSum(NamedTuple):
    """A window as a constant and factors, whose terms add; the cuts between them leave two small vectors."""

    constant: int
    factors: list[FloorForm]
    cuts: list[int]

    @property
    def elements(self) -> int:
        """Return the number of elements, copies not counted."""
        return prod(factor.length for factor in self.factors)

    def write(self, out: Int64s, column: Column) -> None:
        """Fill one axis of a table.

            requires       out has one entry for every choice of a value a factor, and of a copy
            postcondition  out = P + Sw(O + constant + the outer sum of factors and copies), flat

        >>> out = np.empty(6, np.int64)
        >>> ten = FloorForm(3, 0, (Term(1, 0, 10),))
        >>> OuterSum(0, [ten], [1]).write(out, Column(5, np.array([0, 100])))
        >>> out.tolist()
        [5, 105, 15, 115, 25, 125]
        """
        halves = self._halves(column)
        if not column.wires:
            head, tail = next(halves)
            np.add(head[:, None], tail, out=out.reshape(len(head), len(tail)))
        elif column.outer or not _write_xors(out, halves, column):
            _write_swizzled_rows(out, *next(self._halves(column)), column)

    def _halves(self, column: Column) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield the outer sums before and after each cut: the offset in the first, then in the second."""
        vectors = [*(factor.terms_summed() for factor in self.factors), column.copies]
        offset = column.offset + self.constant
        for cut in self.cuts:
            for before, after in ((offset, 0), (0, offset)) if offset else ((0, 0),):
                yield _combined(vectors[:cut], before), _combined(vectors[cut:], after)


def outer_sums(runs: Sequence[Run], copies: int) -> list[OuterSum] | None:
    """Return the window of these runs as one or a few consecutive outer sums, or None where it has no cut."""
    whole = outer_sum(runs, copies)
    if whole is not None:
        return [whole]
    leading = next((i for i, run in enumerate(runs) if run.stop - run.start > 1), 0)
    found = []
    for part in in_parts(runs[leading]):
        sums = outer_sum([*runs[:leading], part, *runs[leading + 1 :]], copies)
        if sums is None:
            return None
        found.append(sums)
    return found


def in_parts(run: Run) -> list[Run]:
    """Return the run as its ragged ends and a middle that takes fast digits whole, an even number of times.

    >>> [(part.start, part.stop) for part in in_parts(Run([(4, 9), (99, 1)], 3, 251))]
    [(3, 4), (4, 244), (244, 251)]
    """
    side = isqrt(run.stop - run.start)
    block = 1
    for extent, _ in run.digits:
        if block * extent > side:
            break
        block *= extent
    first = min(-(-run.start // block) * block, run.stop)
    block <<= (side // block).bit_length()
    last = first + (run.stop - first) // block * block
    ends = (run.start, first, last, run.stop)
    return [Run(run.digits, *pair) for pair in pairwise(ends) if pair[0] < pair[1]]


def outer_sum(runs: Sequence[Run], copies: int) -> OuterSum | None:
    """Return the window of these runs as an outer sum, or None where it has no cut."""
    constant, factors = factors_of(runs)
    if prod(factor.length for factor in factors) * copies > SMALL:
        factors = in_halves(factors)
    places = cuts([*(factor.length for factor in factors), copies])
    return OuterSum(constant, factors, places) if places else None


# -- factors ---------------------------------------------------------------------------------------


def factors_of(runs: Sequence[Run]) -> tuple[int, list[FloorForm]]:
    """Return (the sum that all entries share, the factors from the slowest to the fastest) of a window.

    The fast digits that a run takes whole are factors, and its remainder is one more.

    >>> shared, factors = factors_of([Run([(4, 1), (8, 16)], 8, 16)])
    >>> shared, [factor.terms_summed().tolist() for factor in factors]
    (32, [[0, 16], [0, 1, 2, 3]])
    """
    shared = 0
    factors: list[FloorForm] = []
    for digits, start, stop in runs:
        whole: list[FloorForm] = []
        for extent, step in digits:
            if start % extent or stop % extent:
                break
            whole.append(FloorForm(extent, 0, (Term(1, 0, step),)))
            start, stop = start // extent, stop // extent
        rest = floor_form(digits[len(whole) :], start, stop - start)
        shared += rest.constant
        factors += [factor for factor in (rest, *reversed(whole)) if factor.length > 1]
    return shared, factors


def in_halves(factors: Sequence[FloorForm]) -> list[FloorForm]:
    """Return the same sum with more places to cut it: even factors that are multiples of a step, in halves.

    >>> [factor.length for factor in in_halves([FloorForm(24, 0, (Term(1, 0, 5),))])]
    [3, 2, 2, 2]
    """
    result: list[FloorForm] = []
    for extent, _, terms in factors:
        twos = (extent & -extent).bit_length() - 1 if all(t.place == 1 for t in terms) else 0
        result += [
            FloorForm(part, 0, tuple(Term(1, 0, t.weight << bit) for t in terms) if twos else terms)
            for part, bit in [(extent >> twos, twos), *((2, bit) for bit in reversed(range(twos)))]
            if part > 1
        ]
    return result


def cuts(extents: Sequence[int]) -> list[int]:
    """Return the cuts of the factors into two small vectors: long rows first, then even cuts.

    No cut is far worse than the best.

    >>> cuts([64, 64]), cuts([2] * 24)[:2], cuts([2**30])
    ([1], [12, 11], [])
    """
    halves = [(prod(extents[:cut]), prod(extents[cut:])) for cut in range(len(extents) + 1)]
    best = min(map(sum, halves))
    if best > max(SMALL, prod(extents) // 16):
        return []
    near = [cut for cut, pair in enumerate(halves) if sum(pair) <= 8 * best]
    return sorted(near, key=lambda cut: (halves[cut][1] < LONG, sum(halves[cut])))


# -- writing ---------------------------------------------------------------------------------------


def _write_xors(out: Int64s, halves: Iterator[tuple[Int64s, Int64s]], column: Column) -> bool:
    """Write Sw(a + b) = Sw(a) ^ Sw(b) at a cut where no sum carries; return False if there is no such cut."""
    for head, tail in halves:
        if not carries(head, tail):
            swizzle_in_place(head, column.wires)
            swizzle_in_place(tail, column.wires)
            np.bitwise_xor(head[:, None], tail, out=out.reshape(len(head), len(tail)))
            return True
    return False


def _write_swizzled_rows(out: Int64s, head: Int64s, tail: Int64s, column: Column) -> None:
    """Add some rows, and swizzle them before they leave the cache."""
    grid = out.reshape(len(head), len(tail))
    rows = max(1, CHUNK // len(tail))
    scratch = np.empty((rows, len(tail)), np.int64)
    for first in range(0, len(head), rows):
        chunk = grid[first : first + rows]
        np.add(head[first : first + rows, None], tail, out=chunk)
        column.finish(chunk, scratch[: len(chunk)])


def _combined(vectors: Sequence[Int64s], start: int) -> Int64s:
    return reduce(lambda a, b: np.add.outer(a, b).reshape(-1), vectors, np.array([wrapped(start)]))
