"""Mixed-radix numbers: the digits that a window takes, and what they add up to.

Digits are listed fastest first. With P the place of a digit (the product of the extents before it),
the sum of a layout's digits has the floor form

    D(x) = sum of w_P * (x // P)      w_P = the digit's step - (extent * step) of the digit before

which asks for no remainders, and has one term for digits that continue each other. All arithmetic on
arrays is modulo 2^64, and exact where the result is known to fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewise.core.canonical import merged_digits
from tilewise.core.layout import Layout, Point

Int64s: TypeAlias = NDArray[np.int64]

INT64_LOW, INT64_HIGH = -(1 << 63), (1 << 63) - 1


class Digit(NamedTuple):
    """(extent, steps on every axis): the digit d moves a place by d * steps."""

    extent: int
    steps: Point


class Term(NamedTuple):
    """weight * ((residue + i) // place), the part of a floor form that varies with i."""

    place: int
    residue: int
    weight: Point


class FloorForm(NamedTuple):
    """D(start + i) = constant + the sum of the terms, for 0 <= i < length."""

    length: int
    constant: Point
    terms: tuple[Term, ...]

    def add_to(self, out: Int64s, i: Int64s, axis: int, scratch: Int64s) -> None:
        """Add the terms on one axis; the constant is left to the caller."""
        for term in self.terms:
            if weight := wrapped(term.weight[axis]):
                part = self._quotient(term, i, scratch)
                out += part if weight == 1 else np.multiply(part, weight, out=scratch)

    def _quotient(self, term: Term, i: Int64s, scratch: Int64s) -> Int64s:
        if term.place == 1:
            return i
        if term.place >= self.length:  # it carries once at most, and may be beyond 64 bits
            return np.greater_equal(i, term.place - term.residue, out=scratch, casting="unsafe")
        return np.floor_divide(np.add(i, term.residue, out=scratch), term.place, out=scratch)


class Run(NamedTuple):
    """The consecutive numbers start..stop - 1, written in the digits."""

    digits: tuple[Digit, ...]
    start: int
    stop: int


def wrapped(number: int) -> int:
    """The signed 64-bit integer that is congruent modulo 2^64.

    >>> wrapped(2**64 - 1), wrapped(5)
    (-1, 5)
    """
    return (number - INT64_LOW) % (1 << 64) + INT64_LOW


def digits_of(layout: Layout) -> tuple[Digit, ...]:
    """The digits of the flat index, fastest first; digits that continue each other are one.

    >>> from tilewise import S
    >>> digits_of(S[(4, 2, 8) : (1, 8, 1)])
    (Digit(extent=16, steps=(1,)), Digit(extent=4, steps=(1,)))
    """
    merged = merged_digits(layout.digits)
    return tuple([Digit(extent, layout.on_axes(stride)) for extent, stride in reversed(merged)])


def scaled(steps: Point, factor: int) -> Point:
    """The steps, each times the factor."""
    return tuple(step * factor for step in steps)


def dealt(digits: Sequence[Digit], extents: Sequence[int]) -> list[tuple[Digit, ...]] | None:
    """The digits of each mode, where every mode ends between two digits or divides one; else None.

        postcondition  mode i's digits have the product extents[i]; in order they are the digits

    >>> dealt([Digit(16, (1,)), Digit(4, (1,))], (8, 8))
    [(Digit(extent=2, steps=(8,)), Digit(extent=4, steps=(1,))), (Digit(extent=8, steps=(1,)),)]
    >>> dealt([Digit(6, (1,)), Digit(6, (7,))], (9, 4)) is None
    True
    """
    remaining = list(reversed(digits))
    modes: list[tuple[Digit, ...]] = []
    for extent in reversed(extents):
        mode: list[Digit] = []
        while extent > 1:
            digit = remaining.pop()
            taken = min(extent, digit.extent)
            rest, odd = divmod(digit.extent, taken)
            if odd or extent % taken:
                return None
            mode.append(Digit(taken, digit.steps))
            if rest > 1:
                remaining.append(Digit(rest, scaled(digit.steps, taken)))
            extent //= taken
        modes.append(tuple(mode))
    return modes[::-1]


def floor_form(digits: Iterable[Digit], start: int, count: int, axes: int) -> FloorForm:
    """The floor form of the digits over start..start + count - 1.

    >>> form = floor_form([Digit(4, (1,)), Digit(8, (16,))], 6, 4, 1)
    >>> form.constant, form.terms
    ((18,), (Term(place=1, residue=0, weight=(1,)), Term(place=4, residue=2, weight=(12,))))
    """
    constant, carry = (0,) * axes, (0,) * axes
    terms = []
    place = 1
    for extent, steps in digits:
        weight = tuple(step - c for step, c in zip(steps, carry, strict=True))
        whole, residue = divmod(start, place)
        constant = tuple(c + whole * w for c, w in zip(constant, weight, strict=True))
        if residue + count > place and any(weight):
            terms.append(Term(place, residue, weight))
        place, carry = place * extent, scaled(steps, extent)
    return FloorForm(count, constant, tuple(terms))


def reach(run: Run, axis: int) -> tuple[int, int]:
    """(min, max) of D over the run on one axis, by the number of digits.

    >>> reach(Run((Digit(4, (1,)), Digit(8, (-16,))), 6, 10), 0)
    (-32, -13)
    """
    first, last = run.start, run.stop - 1
    # (min, max) over the digits so far: all their values; those from first's on; those up to last's;
    # and those between the two, None where last's digits are below first's
    full = upper = lower = (0, 0)
    between: tuple[int, int] | None = (0, 0)
    for extent, steps in run.digits:
        step = steps[axis]
        (first, a), (last, b) = divmod(first, extent), divmod(last, extent)
        between = (
            _shifted(between, a * step)
            if a == b and between
            else _joined(
                _shifted(upper, a * step), _shifted(lower, b * step), _spread(full, step, a + 1, b - 1)
            )
            if a < b
            else None
        )
        upper = _joined(_shifted(upper, a * step), _spread(full, step, a + 1, extent - 1))
        lower = _joined(_shifted(lower, b * step), _spread(full, step, 0, b - 1))
        full = _joined(_spread(full, step, 0, extent - 1))
    assert between is not None  # a run is not empty
    return between


def _shifted(ends: tuple[int, int], by: int) -> tuple[int, int]:
    return ends[0] + by, ends[1] + by


def _spread(ends: tuple[int, int], step: int, first: int, last: int) -> tuple[int, int] | None:
    """The ends moved by every digit first..last."""
    if first > last:
        return None
    return ends[0] + min(first * step, last * step), ends[1] + max(first * step, last * step)


def _joined(*parts: tuple[int, int] | None) -> tuple[int, int]:
    present = [part for part in parts if part is not None]
    return min(low for low, _ in present), max(high for _, high in present)
