"""From digits to an expression: the sum of the digits' steps.

A reading is a value with its digits, slowest first. Its text is the cheapest of a few forms, each exact for
every digit:

    digits   (x >> 3) * 9 + (x & 7)       a mask and a shift for each distance that bits move
    runs     x + (x >> 3)                 no mask: the next digit takes back a step too much
    bits     ((x & 7) << 3) ^ ...         a swizzle folded into the fields whose bits it reads
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.codegen.bits import Diagonals, union
from tilewise.codegen.expressions import (
    OPERATION,
    Expr,
    constant,
    cost,
    is_power,
    linear,
    lowest_bit,
    moved,
    quotient,
    remainder,
)
from tilewise.core.digits import merged, place_values
from tilewise.core.swizzles import period_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.swizzles import Swizzle

MOST_DIGITS_IN_RUNS = 16


@dataclass(frozen=True, slots=True)
class DigitReading:
    """A value and its digits, slowest first: (extent, the number that one step adds to each result)."""

    value: Diagonals
    digits: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """(value // weight) % extent, times step; without the remainder if no digit is slower."""

    extent: int
    weight: int
    step: int
    is_slowest: bool

    def field(self, value: Expr) -> Expr:
        """Return the digit of a value."""
        digit = quotient(value, self.weight)
        return digit if self.is_slowest else remainder(digit, self.extent)


def candidates(
    readings: Sequence[DigitReading],
    position: int,
    added: int,
    chain: Sequence[Swizzle] = (),
    outer: int = 0,
) -> list[Expr]:
    """Return ways to write outer + chain(added + the steps of all digits), for the result at `position`."""
    read = [(reading.value, _digits_of(reading, position)) for reading in readings]
    below_period = added % period_of(chain) if chain else added
    ways = []
    for inside in dict.fromkeys((below_period, added)):  # whole periods may stand outside
        within = _swizzled_sums(read, inside, chain)
        ways += [linear([(1, expression)], outer + added - inside) for expression in within]
    return list(dict.fromkeys(ways))


def _swizzled_sums(
    read: Sequence[tuple[Diagonals, list[_Read]]], added: int, chain: Sequence[Swizzle]
) -> list[Expr]:
    """Return ways to write chain(added + the steps of all digits)."""
    sums = [_swizzled(total, chain) for total in _sums(read, added)]
    if not chain and all(len(value.diagonals) < 2 for value, _ in read):
        return sums
    terms = [term for value, digits in read for term in _terms(value, digits)]
    folded = _without_carries(terms, added).swizzled(chain).expression
    return [folded, *sums] if chain else [*sums, folded]


def cheapest(ways: Iterable[Expr]) -> Expr:
    """Return the cheapest expression, the first of several."""
    return min(ways, key=lambda expression: cost([expression]))


def cheapest_together(ways: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    """Return one of the candidates for each result; a part that results share costs once.

    Each result in turn takes the candidate that suits the others' choice, until none changes.
    """
    chosen = [*map(cheapest, ways)]
    price = cost(chosen)
    for _ in range(len(ways) if len(ways) > 1 else 0):
        before = price
        for i, own in enumerate(ways):
            for other in own:
                tried = [*chosen[:i], other, *chosen[i + 1 :]]
                if cost(tried) < price:
                    chosen, price = tried, cost(tried)
        if price == before:
            break
    return tuple(chosen)


def _digits_of(reading: DigitReading, position: int) -> list[_Read]:
    """Return the digits for one result, merged, slowest first, with digits that do not move it."""
    digits = merged((extent, steps[position]) for extent, steps in reading.digits)
    weights = place_values(extent for extent, _ in digits)[::-1]
    read = zip(digits, weights, strict=True)
    return [_Read(extent, weight, step, not i) for i, ((extent, step), weight) in enumerate(read)]


def _swizzled(total: Expr, chain: Sequence[Swizzle]) -> Expr:
    """Return the value after a chain of swizzles: at once, or one swizzle after the other."""
    if not chain:
        return total
    in_turn = total
    for swizzle in reversed(chain):
        in_turn = Diagonals.of(in_turn).swizzled([swizzle]).expression
    return cheapest([Diagonals.of(total).swizzled(chain).expression, in_turn])


# -- digits ----------------------------------------------------------------------------------------


def _terms(value: Diagonals, digits: Iterable[_Read]) -> list[tuple[int, Diagonals]]:
    """Return (factor, bits): one for all digits whose bits move by one distance, one for each other digit."""
    masks: dict[tuple[int, int], int] = {}
    apart: list[tuple[int, Diagonals]] = []
    for digit in digits:
        if not digit.step:
            continue
        above = lowest_bit(digit.step)
        if is_power(digit.weight) and (digit.is_slowest or is_power(digit.extent)):
            first = lowest_bit(digit.weight)
            mask = (-1 if digit.is_slowest else digit.extent - 1) << first
            key = digit.step >> above, above - first
            masks[key] = masks.get(key, 0) | mask
        else:
            apart.append((digit.step >> above, Diagonals.of(digit.field(value.expression)).moved(above)))
    return [*((factor, value.kept(mask).moved(by)) for (factor, by), mask in masks.items()), *apart]


# -- runs ------------------------------------------------------------------------------------------


def _sums(read: Sequence[tuple[Diagonals, list[_Read]]], added: int) -> list[Expr]:
    """Return the plain sum: each value in its cheaper form, and all by digits."""
    low = high = added
    by_digits, cheaper = [], []
    for value, digits in read:
        ends = _ends(digits)
        low, high = low + ends[0], high + ends[1]
        terms = [(factor, field.expression) for factor, field in _terms(value, digits)]
        by_digits.append((1, linear(terms, 0, ends)))
        cheaper.append((1, cheapest([by_digits[-1][1], _in_runs(value.expression, digits)])))
    return list(dict.fromkeys(linear(parts, added, (low, high)) for parts in (cheaper, by_digits)))


def _ends(digits: Iterable[_Read]) -> tuple[int, int]:
    """Return the smallest and the largest sum of steps."""
    reaches = [(digit.extent - 1) * digit.step for digit in digits]
    return sum(min(0, reach) for reach in reaches), sum(max(0, reach) for reach in reaches)


def _in_runs(value: Expr, digits: Sequence[_Read]) -> Expr:
    """Return the sum over the cheapest way to cut the digits into runs."""
    if len(digits) > MOST_DIGITS_IN_RUNS:
        return _run(value, digits)
    shared = cost([value])
    best: list[tuple[int, list[Expr]]] = [(0, [])]
    for end in range(1, len(digits) + 1):
        ways = []
        for start in range(end):
            run = _run(value, digits[start:end])
            price = cost([run]) - shared if run != constant(0) else -OPERATION
            before, runs = best[start]
            ways.append((before + price + OPERATION, [*runs, run]))
        best.append(min(ways, key=lambda way: way[0]))
    return linear([(1, run) for run in best[-1][1]], 0, _ends(digits))


def _run(value: Expr, digits: Sequence[_Read]) -> Expr:
    """Return the sum of neighbouring digits without a mask between them.

    Every quotient counts all slower digits too, so each step is reduced by their part. If the
    intermediate terms need wider integers than the sum and the value do, each digit stands alone.
    """
    if not any(digit.step for digit in digits):
        return constant(0)
    base, ends = digits[-1].weight, _ends(digits)
    extent = prod(digit.extent for digit in digits)
    field = _Read(extent, base, 1, digits[0].is_slowest).field(value)
    terms, taken = [], 0
    for digit in reversed(digits):
        terms.append((digit.step - taken, quotient(field, digit.weight // base)))
        taken = digit.step * digit.extent
    reach = max(-ends[0], ends[1], *(term.high for _, term in terms))
    steps = sum(abs(factor) * term.high for factor, term in terms)
    if any(reach < 1 << bits <= steps for bits in (31, 63)):
        terms = [(digit.step, digit.field(value)) for digit in digits]
    return linear(terms, 0, ends)


# -- bits ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """added + the sum of factor * expression, which has no other bits than `bits`."""

    bits: Diagonals
    terms: tuple[tuple[int, Expr], ...]
    added: int = 0

    def plus(self, terms: tuple[tuple[int, Expr], ...], added: int) -> _Part:
        """Return the part with more terms added to it."""
        terms, added = self.terms + terms, self.added + added
        return _Part(Diagonals.of(linear(terms, added)), terms, added)


def _without_carries(terms: Iterable[tuple[int, Diagonals]], added: int) -> Diagonals:
    """Return the sum as a XOR: parts that share bits are added first, until no two do."""
    parts = [_upward(factor, value) for factor, value in terms]
    added -= sum(part.added for part in parts)
    while True:
        parts = _apart(parts)
        i = next((i for i, part in enumerate(parts) if added & part.bits.possible), None)
        if i is None:
            return union(part.bits for part in parts) ^ Diagonals({}, added)
        own = added & parts[i].bits.possible
        if added < 0:  # its bits have no end: a carry would meet them again and again
            own = added & moved(-1, lowest_bit(own))
        parts[i] = parts[i].plus((), own)
        added -= own


def _upward(factor: int, value: Diagonals) -> _Part:
    """Return a term that is never negative: with a negative factor it counts down from its largest value."""
    expression = value.expression
    if factor == 1:
        return _Part(value, ((1, expression),))
    if factor == -1:
        largest = value.possible
        return _Part(value ^ Diagonals({}, largest), ((-1, expression),), largest)
    return _Part(Diagonals({}), ()).plus(((factor, expression),), max(0, -factor * expression.high))


def _apart(parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts; parts that share a bit are joined."""
    separate: list[_Part] = []
    for part in parts:
        while met := [other for other in separate if other.bits.possible & part.bits.possible]:
            separate.remove(met[0])
            part = met[0].plus(part.terms, part.added)
        separate.append(part)
    return separate
