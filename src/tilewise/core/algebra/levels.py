"""Floor forms: the arithmetic under composition, slices and the splitting of axes.

Digits (e_k, s_k), ..., (e_1, s_1) with nothing left to merge are, for every integer n,

    A(n) = sum of w_P * (n // P)        P = 1, e_1, e_1 e_2, ...: each divides the next

A level is one such P. Along one digit x of another layout, n = c + t x, a level is (c + t x) // P, and
`along` says when that is a layout of x: only if it wraps with one period that divides the extent. Over
several digits it separates iff their remainders never carry together, which `separate` decides from
their least and greatest values. The gcd law turns every no into two positions that show it:

    f: [0, b) -> Z^axes is a layout of extent b iff its steps D(m) = f(m) - f(m - 1) fulfil
    D(gcd(m, b)) == D(m) and D(gcd(m, m')) in {D(m), D(m')} for all 0 < m, m' < b

Values are integers here; vectors on several axes become integers by `Code`, which adds and compares
them as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import gcd
from operator import ne, sub

from tilewise.core.axes import Axis
from tilewise.core.digits import Digit
from tilewise.core.polynomials import is_named
from tilewise.core.vectors import Vector
from tilewise.core.vectors import along as vector_along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Form = dict[int, int]
"""{P: w}: the map x -> sum of w * (x // P)."""


# -- vectors as integers ---------------------------------------------------------------------------


class Code:
    """Vectors on some axes as single integers, with a field for each axis.

        requires       every coordinate that comes up is below 2^(bits - 1) in absolute value
        postcondition  encoding is linear and one to one, so sums, multiples and == carry over

    >>> from tilewise import laneid, reg
    >>> code = Code((laneid, reg), 16)
    >>> code.vector(3 * code.number(2@laneid + -1@reg))
    6@laneid - 3@reg
    """

    def __init__(self, axes: tuple[Axis, ...], bits: int) -> None:
        self.axes = axes
        self.bits = bits if len(axes) > 1 else 0
        self.field = (
            {axis.name: i * self.bits for i, axis in enumerate(axes)} if self.bits else {axes[0].name: 0}
        )

    def number(self, vector: Vector) -> int:
        """Return the integer that stands for a vector."""
        field, terms = self.field, vector.terms
        if len(terms) == 1:
            axis, steps = terms[0]
            return steps << field[axis.name]
        return sum([steps << field[axis.name] for axis, steps in terms])

    def vector(self, number: Any) -> Vector:
        """Return the vector that an integer stands for."""
        if not self.bits:
            return vector_along(self.axes[0], number)
        if is_named(number):  # each coefficient has the fields
            return sum((self.vector(c) * part for part, c in number.parts), Vector())
        terms, half, mask = [], 1 << (self.bits - 1), (1 << self.bits) - 1
        for axis in self.axes:
            steps = ((number + half) & mask) - half
            number = (number - steps) >> self.bits
            if steps:
                terms.append((axis, steps))
        return Vector(tuple(terms))


NAMED_BITS = 4096
"""Bits of a field where numbers have names in them: more than any product of their values takes."""


def bits_of(number: int) -> int:
    """Return the bits that a field needs for a number."""
    return NAMED_BITS if is_named(number) else number.bit_length()


# -- floor forms -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Floors:
    """A map in its floor form: `places` ascend and divide one another, a stride and a weight each."""

    places: list[int]
    strides: list[int]
    weights: list[int]
    size: int

    def __call__(self, n: int) -> int:
        """Return the value at any integer; the slowest digit has no end."""
        total = 0
        for place, stride in zip(reversed(self.places), reversed(self.strides), strict=True):
            digit, n = divmod(n, place)
            total += digit * stride
        return total


def floors(digits: Sequence[Digit]) -> Floors:
    """Return the floor form of digits, slowest first, neighbours merged.

    >>> floors([(2, 12), (3, 4), (4, 1)]) == floors([(24, 1)])
    True
    >>> floors([(2, 100), (4, 1)])
    Floors(places=[1, 4], strides=[1, 100], weights=[1, 96], size=8)
    """
    places: list[int] = []
    strides: list[int] = []
    weights: list[int] = []
    size, carry = 1, 0
    for extent, stride in reversed(digits):
        if extent == 1:
            continue
        if stride != carry or not places:
            places.append(size)
            strides.append(stride)
            weights.append(stride - carry)
        size *= extent
        carry = stride * extent
    return Floors(places or [1], strides or [0], weights or [0], size)


def digits_of(form: Form, extent: int) -> list[Digit]:
    """Return the digits of a form, slowest first.

        requires  the places of the form divide one another, and the last of them the extent

    >>> digits_of({1: 3, 2: 10}, 6)
    [(3, 16), (2, 3)]
    """
    place, stride = 1, form.get(1, 0)
    digits: list[Digit] = []
    if len(form) < 2 and stride:
        return [(extent, stride)]
    for following in sorted(form):
        if following > 1:
            digits.append((following // place, stride))
            stride = stride * (following // place) + form[following]
            place = following
    digits.append((extent // place, stride))
    return digits[::-1]


def value_at(form: Form, x: int) -> int:
    """Return the value of a form at an integer.

    >>> value_at({1: 1, 8: -4}, 19)
    11
    """
    return sum([weight * (x // place) for place, weight in form.items()])


def is_chain(form: Iterable[int], extent: int) -> bool:
    """Return True if the places divide one another, and the last of them the extent.

    >>> is_chain({1: 5, 2: 1, 6: 1}, 12), is_chain({2: 1, 3: 1}, 12)
    (True, False)
    """
    place = 1
    for following in sorted(form):
        if following % place:
            return False
        place = following
    return extent % place == 0


# -- one level along one digit ---------------------------------------------------------------------


@dataclass(slots=True)
class Along:
    """A level (rho + t x) // P along a digit x, less its value at 0: slope * x + sum of sign * (x // place).

    `rest` is the remainder, t x - P * that, as digits (slowest first); `least` and `most` bound it.
    """

    slope: int
    floors: tuple[Digit, ...]
    rest: tuple[Digit, ...]

    @property
    def least(self) -> int:
        """Return the least remainder."""
        return sum([(e - 1) * s for e, s in self.rest if s < 0])

    @property
    def most(self) -> int:
        """Return the largest remainder."""
        return sum([(e - 1) * s for e, s in self.rest if s > 0])


def along(place: int, t: int, rho: int, extent: int) -> Along | None:
    """Return the level `place` along one digit, or None if it is no layout of that extent.

    Every step brings t // P, and one more where the remainder wraps. Gaps between wraps take two
    neighbouring values, so they are regular iff the first gap and the last wrap are. It is a layout iff
    it never wraps, or wraps every e with e | extent, or from e on every 2e with 2e | extent.

        requires       0 <= rho < place, t no multiple of place
        postcondition  (rho + t x) // place == slope x + sum sign * (x // p) for 0 <= x < extent

    >>> along(8, 4, 0, 6)
    Along(slope=0, floors=((2, 1),), rest=((3, 0), (2, 4)))
    >>> along(8, 4, 4, 3) is None
    True
    """
    slope, tau = divmod(t, place)
    sign = 1
    if rho + tau >= place:  # the first step wraps: count the steps that do not
        sign, slope, rho, tau = -1, slope + 1, place - 1 - rho, place - tau
    wraps = (rho + tau * (extent - 1)) // place
    if not wraps:
        return Along(slope, (), ((extent, sign * tau),))
    e = -((rho - place) // tau)
    second, last = -((rho - 2 * place) // tau), -((rho - wraps * place) // tau)
    low = sign * tau
    high = e * low - sign * place
    if extent == e * (wraps + 1) and last == wraps * e and (wraps == 1 or second == 2 * e):
        return Along(slope, ((e, sign),), ((extent // e, high), (e, low)))
    if wraps > 1 and second == 3 * e and last == e * (2 * wraps - 1) and extent == 2 * e * wraps:
        top = 2 * high + sign * place
        return Along(slope, ((e, sign), (2 * e, -sign)), ((extent // (2 * e), top), (2, high), (e, low)))
    return None


def wraps(place: int, t: int, rho: int, extent: int) -> set[int]:
    """Return the first three and the last two positions at which a level takes an extra step, if any.

    >>> sorted(wraps(8, 3, 0, 20))
    [3, 6, 8, 16, 19]
    """
    tau = t % place
    if rho + tau >= place:
        rho, tau = place - 1 - rho, place - tau
    count = (rho + tau * (extent - 1)) // place
    return {-((rho - i * place) // tau) for i in (1, 2, 3, count - 1, count) if 1 <= i <= count}


# -- all levels over all digits --------------------------------------------------------------------


@dataclass(slots=True)
class Failure:
    """The end of a closed form: a digit that is no layout at a level, or (digit None) a carry."""

    place: int
    digit: int | None = None


def separate(outer: Floors, base: int, digits: Sequence[Digit], forms: Sequence[Form]) -> list[Failure]:
    """Add to `forms` the share of each digit in outer(base + sum of step * digit); return the failures.

    For one digit, levels that divide its step are linear, with the stride of the largest; levels that
    it never reaches bring nothing, and all its reach is left over. Both are ends of the chain of places.

        postcondition  no failure: outer(base + sum t_j x_j) == outer(base) + sum forms[j](x_j)

    >>> forms = [{}, {}]
    >>> separate(floors([(4, 10), (8, 1)]), 0, [(4, 8), (2, 4)], forms), forms
    ([], [{1: 10}, {1: 4}])
    """
    places, strides, weights = outer.places, outer.strides, outer.weights
    count = len(places)
    least, most, least_above, most_above = [0] * count, [0] * count, [0] * count, [0] * count
    failures: list[Failure] = []
    for j, (extent, t) in enumerate(digits):
        if not t or extent == 1:
            continue
        level = 1
        while level < count and not t % places[level]:
            level += 1
        slope = t // places[level - 1] * strides[level - 1]
        reach = t * (extent - 1)
        while level < count:
            place = places[level]
            rho = base % place
            if 0 <= rho + reach < place:
                (most_above if t > 0 else least_above)[level] += reach
                break
            found = along(place, t, rho, extent)
            if found is None:
                failures.append(Failure(place, j))
            else:
                slope += weights[level] * found.slope
                for p, sign in found.floors:
                    forms[j][p] = forms[j].get(p, 0) + sign * weights[level]
                least[level] += found.least
                most[level] += found.most
            level += 1
        forms[j][1] = forms[j].get(1, 0) + slope
    low = high = 0
    for level in range(1, count):
        place = places[level]
        low += least_above[level]
        high += most_above[level]
        rho = base % place
        carries = rho + low + least[level] < 0 or rho + high + most[level] >= place
        if carries and all(failure.place != place for failure in failures):
            failures.append(Failure(place))
    return failures


def carrying(outer: Floors, base: int, digits: Sequence[Digit], place: int) -> list[list[int]]:
    """Return the digits at which the remainders of a level are least, and those at which they are most."""
    corners: list[list[int]] = [[], []]
    for extent, t in digits:
        found = along(place, t, base % place, extent) if t % place and extent > 1 else None
        rest = found.rest if found else ((extent, 0),)
        for corner, upward in zip(corners, (False, True), strict=True):
            digit = 0
            for e, s in rest:
                digit = digit * e + (e - 1 if (s > 0) == upward and s else 0)
            corner.append(digit)
    return corners


# -- the gcd law -----------------------------------------------------------------------------------


def broken(values: Callable[[int], int], extent: int, positions: Iterable[int]) -> tuple[int, int] | None:
    """Return two of the positions at which the gcd law fails, or None; m' = extent where m alone will do.

    >>> broken([0, 1, 2, 4, 6, 8].__getitem__, 6, [1, 2, 3, 4, 5])
    (4, 6)
    """

    @cache
    def step(m: int) -> int:
        return values(m) - values(m - 1)

    near = sorted({m for m in positions if 0 < m < extent})
    for m in near:
        if step(gcd(m, extent)) != step(m):
            return m, extent
    for i, m in enumerate(near):
        for other in near[:i]:
            if step(gcd(m, other)) not in (step(m), step(other)):
                return other, m
    return None


def beginning(values: Sequence[int], places: Sequence[int] = ()) -> tuple[int, tuple[int, ...], Form]:
    """Return the number of values with which some layout begins, the witness positions, and its form so far.

    Steps of a layout into a position are those into the largest place value of its digits that divides it.
    So a step that differs makes the position a place value: all others divide it, and it divides the extent.
    The place values of a shape, `places`, divide those of digits or are divided by them.

    The witness positions ascend to the one reached. A layout steps into the first as into one of the others.

    >>> beginning([5, 6, 15, 16]), beginning([0, 1, 3, 4, 7, 7])
    ((4, (), {1: 1, 2: 8}), (4, (2, 4), {1: 1, 2: 1}))
    """
    form: Form = {}
    steps, carry, reached = list(map(sub, islice(values, 1, None), values)), 0, 0
    while reached < len(steps):
        position, step = reached + 1, steps[reached]
        for place in form:
            if position % place:
                return position, (gcd(position, place), place, position), form
        for place in (len(values), *places):
            if place % position and position % place:
                return position, (gcd(position, place), position), form
        form[position], carry = step - carry, step
        block = [step, *steps[:reached]]
        while following := steps[reached : reached + len(block)]:
            if following != block[: len(following)]:
                differ = map(ne, following, block)
                reached += next(i for i, other in enumerate(differ) if other)
                break
            reached += len(following)
            block += following
    return len(values), (), form
