"""Mixed-radix numbers: the digits that a window takes, and their sums.

A table is made axis by axis, so that a digit's step is an integer. Digits are listed fastest first. With P
the place of a digit (the product of the extents before it), the digits have the floor form

    D(x) = sum of w_P * (x // P)      w_P = the digit's step - (extent * step) of the digit before

which asks for no remainders, and has one term for digits that continue each other. All arithmetic on
arrays is modulo 2^64, and exact where the result is known to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewise.core.axes import Axis
from tilewise.core.digits import Digit, clash, merged, place_values, split, value
from tilewise.core.layout import Layout

Int64s: TypeAlias = NDArray[np.int64]

INT64_LOW, INT64_HIGH = -(1 << 63), (1 << 63) - 1


class Term(NamedTuple):
    """weight * ((residue + i) // place), the part of a floor form that varies with i."""

    place: int
    residue: int
    weight: int


class FloorForm(NamedTuple):
    """D(start + i) = constant + the sum of the terms, for 0 <= i < length."""

    length: int
    constant: int
    terms: tuple[Term, ...]

    def add_to(self, out: Int64s, i: Int64s, scratch: Int64s) -> None:
        """Add the terms; the constant is left to the caller."""
        for term in self.terms:
            if weight := wrapped(term.weight):
                part = self._quotient(term, i, scratch)
                out += part if weight == 1 else np.multiply(part, weight, out=scratch)

    def terms_summed(self) -> Int64s:
        """Return the sum of the terms for every i."""
        total, values = np.zeros(self.length, np.int64), np.arange(self.length)
        self.add_to(total, values, np.empty_like(values))
        return total

    def _quotient(self, term: Term, i: Int64s, scratch: Int64s) -> Int64s:
        if term.place == 1:
            return i
        if term.place >= self.length:  # it carries once at most, and may be beyond 64 bits
            return np.greater_equal(i, term.place - term.residue, out=scratch, casting="unsafe")
        return np.floor_divide(np.add(i, term.residue, out=scratch), term.place, out=scratch)


class Run(NamedTuple):
    """The consecutive numbers start..stop - 1, written in the digits."""

    digits: Sequence[Digit]
    start: int
    stop: int


def wrapped(number: int) -> int:
    """Return the signed 64-bit integer that is congruent to a number modulo 2^64.

    >>> wrapped(2**64 - 1), wrapped(5)
    (-1, 5)
    """
    return (number - INT64_LOW) % (1 << 64) + INT64_LOW


def digits_of(layout: Layout, axis: Axis) -> list[Digit]:
    """Return the digits of the flat index on one axis; digits that continue each other are one.

    >>> from tilewise import S, m
    >>> digits_of(S[(4, 2, 8) : (1, 8, 1)], m)
    [(16, 1), (4, 1)]
    """
    return merged([(extent, stride[axis]) for extent, stride in layout.digits])[::-1]


def dealt(digits: Sequence[Digit], extents: Sequence[int]) -> list[list[Digit]] | None:
    """Return the digits of each mode, where every mode ends between two digits or divides one; else None.

        postcondition  mode i's digits have the product extents[i]; in order they are the digits

    >>> dealt([(16, 1), (4, 1)], (8, 8))
    [[(2, 8), (4, 1)], [(8, 1)]]
    >>> dealt([(6, 1), (6, 7)], (9, 4)) is None
    True
    """
    slowest_first, values = digits[::-1], place_values(extents)
    if clash(place_values(extent for extent, _ in slowest_first), values):
        return None
    pieces = split(slowest_first, values)
    modes: list[list[Digit]] = []
    for extent in reversed(extents):
        mode: list[Digit] = []
        while extent > 1:
            mode.append(pieces.pop())
            extent //= mode[-1][0]
        modes.append(mode)
    return modes[::-1]


def floor_form(digits: Sequence[Digit], start: int, count: int) -> FloorForm:
    """Return the floor form of the digits over start..start + count - 1.

    >>> form = floor_form([(4, 1), (8, 16)], 6, 4)
    >>> form.constant, form.terms
    (18, (Term(place=1, residue=0, weight=1), Term(place=4, residue=2, weight=12)))
    """
    constant = carry = 0
    terms = []
    place = 1
    for extent, step in digits:
        weight = step - carry
        whole, residue = divmod(start, place)
        constant += whole * weight
        if residue + count > place and weight:
            terms.append(Term(place, residue, weight))
        place, carry = place * extent, step * extent
    return FloorForm(count, constant, tuple(terms))


def reach(digits: Sequence[Digit], first: int, last: int) -> tuple[int, int]:
    """Return (min, max) of D over first..last, in a time that grows with the number of digits.

    >>> reach([(4, 1), (8, -16)], 6, 9)
    (-32, -13)
    """
    spans = []
    start, stop = first, last + 1
    low = high = 0  # the ends of the faster digits, of which every value is met
    for place, (extent, step) in enumerate(digits):
        begins, ends = -(-start // extent), stop // extent
        for ragged in ((start, min(begins * extent, stop)), (max(ends * extent, start), stop)):
            if ragged[0] < ragged[1]:
                slower = value(digits[:place:-1], ragged[0] // extent, 0)
                steps = [n % extent * step for n in (ragged[0], ragged[1] - 1)]
                spans.append((slower + low + min(steps), slower + high + max(steps)))
        start, stop = begins, ends
        if start >= stop:
            break
        low, high = low + min(0, (extent - 1) * step), high + max(0, (extent - 1) * step)
    else:
        spans.append((low, high))
    return min(least for least, _ in spans), max(most for _, most in spans)
