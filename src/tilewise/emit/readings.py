"""From digits to an expression: the sum of steps that the digits of some values make.

A reading is a value and how it is read in digits, slowest first. What is written for it is the
cheapest of a few forms, each exact for every digit:

    digits   (x >> 3) * 9 + (x & 7)       a mask and a shift for each distance that bits move
    runs     x + (x >> 3)                 no mask: a step too much is taken back by the next digit
    bits     ((x & 7) << 3) ^ ...         a swizzle folded into the fields whose bits it reads
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.swizzles import period_of
from tilewise.emit.bits import Bits, union
from tilewise.emit.expressions import (
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.swizzles import Swizzle

MOST_DIGITS_IN_RUNS = 16


@dataclass(frozen=True, slots=True)
class Reading:
    """A value and its digits, slowest first: (extent, what one step of it adds to each result)."""

    value: Bits
    digits: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Digit:
    """(value // weight) % extent, times step."""

    extent: int
    weight: int
    step: int


Term = tuple[int, Bits]
"""factor * value."""


def candidates(
    readings: Sequence[Reading],
    position: int,
    added: int,
    chain: Sequence[Swizzle] = (),
    outer: int = 0,
) -> list[Expr]:
    """Ways to write outer + chain(added + the steps of all digits), for the result at `position`."""
    read = [(reading.value, _digits_of(reading, position)) for reading in readings]
    below_period = added % period_of(chain) if chain else added
    found = []
    for inside in dict.fromkeys((below_period, added)):  # whole periods may stand outside
        within = _swizzled_sums(read, inside, chain)
        found += [linear([(1, expression)], outer + added - inside) for expression in within]
    return list(dict.fromkeys(found))


def _swizzled_sums(
    read: Sequence[tuple[Bits, list[Digit]]], added: int, chain: Sequence[Swizzle]
) -> list[Expr]:
    """Ways to write chain(added + the steps of all digits)."""
    sums = [_swizzled(total, chain) for total in _sums(read, added)]
    if not chain and all(len(value.diagonals) < 2 for value, _ in read):
        return sums
    terms = [term for value, digits in read for term in _terms(value, digits)]
    folded = _without_carries(terms, added).swizzled(chain).expression
    return [folded, *sums] if chain else [*sums, folded]


def cheapest_together(ways: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    """One of the candidates for each result: what results share is paid once.

    Each result in turn takes what suits the others' choice, until none changes.
    """
    chosen = [min(own, key=lambda expression: cost([expression])) for own in ways]
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


def _digits_of(reading: Reading, position: int) -> list[Digit]:
    """The digits for one result, merged, slowest first; those that do not move it included."""
    digits: list[Digit] = []
    weight = 1
    for extent, steps in reversed(reading.digits):
        step = steps[position]
        if digits and extent > 1 and step == digits[-1].step * digits[-1].extent:
            last = digits[-1]
            digits[-1] = Digit(last.extent * extent, last.weight, last.step)
        elif extent > 1:
            digits.append(Digit(extent, weight, step))
        weight *= extent
    return digits[::-1]


def _swizzled(total: Expr, chain: Sequence[Swizzle]) -> Expr:
    """The chain after a value: at once, or one swizzle after the other."""
    if not chain:
        return total
    at_once = Bits.of(total).swizzled(chain).expression
    in_turn = total
    for swizzle in reversed(chain):
        in_turn = Bits.of(in_turn).swizzled([swizzle]).expression
    return min(at_once, in_turn, key=lambda expression: cost([expression]))


# -- digits ----------------------------------------------------------------------------------------


def _terms(value: Bits, digits: Sequence[Digit]) -> list[Term]:
    """One term for all digits whose bits move by one distance, and one for each of the others."""
    masks: dict[tuple[int, int], int] = {}
    terms: list[Term] = []
    for i, digit in enumerate(digits):
        if not digit.step:
            continue
        above = lowest_bit(digit.step)
        if is_power(digit.weight) and (i == 0 or is_power(digit.extent)):
            first = lowest_bit(digit.weight)
            mask = (-1 if i == 0 else digit.extent - 1) << first
            key = digit.step >> above, above - first
            masks[key] = masks.get(key, 0) | mask
        else:
            field = _field(value.expression, digit.weight, digit.extent, i == 0)
            terms.append((digit.step >> above, Bits.of(field).moved(above)))
    together = [(factor, value.kept(mask).moved(by)) for (factor, by), mask in masks.items()]
    return together + terms


def _field(value: Expr, weight: int, extent: int, is_slowest: bool) -> Expr:
    field = quotient(value, weight)
    return field if is_slowest else remainder(field, extent)


# -- runs ------------------------------------------------------------------------------------------


def _sums(read: Sequence[tuple[Bits, list[Digit]]], added: int) -> list[Expr]:
    """The plain sum: each value in its cheaper form, and all by digits."""
    low = high = added
    by_digits, cheaper = [], []
    for value, digits in read:
        terms = _terms(value, digits)
        ends = _ends(digits)
        low, high = low + ends[0], high + ends[1]
        one = linear([(factor, field.expression) for factor, field in terms], 0, ends)
        other = _in_runs(value.expression, digits)
        by_digits.append((1, one))
        cheaper.append((1, min(one, other, key=lambda expression: cost([expression]))))
    ways = [linear(parts, added, (low, high)) for parts in (cheaper, by_digits)]
    return list(dict.fromkeys(ways))


def _ends(digits: Iterable[Digit]) -> tuple[int, int]:
    """The smallest and the largest sum of steps."""
    reaches = [(digit.extent - 1) * digit.step for digit in digits]
    return sum(min(0, reach) for reach in reaches), sum(max(0, reach) for reach in reaches)


def _in_runs(value: Expr, digits: Sequence[Digit]) -> Expr:
    """The sum over the cheapest way to cut the digits into runs."""
    if len(digits) > MOST_DIGITS_IN_RUNS:
        return _run(value, digits, True)
    shared = cost([value])
    best: list[tuple[int, list[Expr]]] = [(0, [])]
    for end in range(1, len(digits) + 1):
        ways = []
        for start in range(end):
            run = _run(value, digits[start:end], start == 0)
            price = cost([run]) - shared if run != constant(0) else -OPERATION
            before, runs = best[start]
            ways.append((before + price + OPERATION, [*runs, run]))
        best.append(min(ways, key=lambda way: way[0]))
    return linear([(1, run) for run in best[-1][1]], 0, _ends(digits))


def _run(value: Expr, digits: Sequence[Digit], is_slowest: bool) -> Expr:
    """Neighbouring digits without a mask between them.

    Every quotient counts all slower digits too, so each step is lessened by what they add already.
    """
    if all(not digit.step for digit in digits):
        return constant(0)
    base = digits[-1].weight
    field = _field(value, base, prod(digit.extent for digit in digits), is_slowest)
    terms, taken = [], 0
    for digit in reversed(digits):
        terms.append((digit.step - taken, quotient(field, digit.weight // base)))
        taken = digit.step * digit.extent
    ends = _ends(digits)
    if _is_wider(terms, ends):
        return _sum_of_fields(value, digits, is_slowest)
    return linear(terms, 0, ends)


def _is_wider(terms: Sequence[tuple[int, Expr]], ends: tuple[int, int]) -> bool:
    """Whether what is taken and given back needs wider integers than the sum and the value do."""
    reach = max(-ends[0], ends[1], *(term.high for _, term in terms))
    steps = sum(abs(factor) * term.high for factor, term in terms)
    return any(reach < 1 << bits <= steps for bits in (31, 63))


def _sum_of_fields(value: Expr, digits: Sequence[Digit], is_slowest: bool) -> Expr:
    fields = [
        (digit.step, _field(value, digit.weight, digit.extent, is_slowest and i == 0))
        for i, digit in enumerate(digits)
    ]
    return linear(fields, 0, _ends(digits))


# -- bits ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """added + the sum of factor * expression, which has no other bits than `bits`."""

    bits: Bits
    terms: tuple[tuple[int, Expr], ...]
    added: int = 0

    def __add__(self, other: _Part | int) -> _Part:
        if isinstance(other, int):
            terms, added = self.terms, self.added + other
        else:
            terms, added = self.terms + other.terms, self.added + other.added
        return _Part(Bits.of(linear(terms, added)), terms, added)


def _without_carries(terms: Iterable[Term], added: int) -> Bits:
    """The sum as a XOR: parts that share bits are added first, until no two of them do."""
    parts: list[_Part] = []
    for term in terms:
        part = _upward(term)
        added -= part.added
        parts.append(part)
    while True:
        parts = _apart(parts)
        i = next((i for i, part in enumerate(parts) if added & part.bits.possible), None)
        if i is None:
            return union(part.bits for part in parts) ^ Bits({}, added)
        own = added & parts[i].bits.possible
        if added < 0:  # its bits have no end, so a carry would meet them again and again
            own = added & moved(-1, lowest_bit(own))
        parts[i] += own
        added -= own


def _upward(term: Term) -> _Part:
    """A term that is never negative: one with a negative factor counts down from its largest value."""
    factor, value = term
    expression = value.expression
    if factor == 1:
        return _Part(value, ((1, expression),))
    if factor == -1:
        largest = value.possible
        return _Part(value ^ Bits({}, largest), ((-1, expression),), largest)
    return _Part(Bits({}), ((factor, expression),)) + max(0, -factor * expression.high)


def _apart(parts: Iterable[_Part]) -> list[_Part]:
    """Parts that share a bit as one."""
    found: list[_Part] = []
    for part in parts:
        i = 0
        while i < len(found):
            if found[i].bits.possible & part.bits.possible:
                part = found.pop(i) + part
                i = 0
            else:
                i += 1
        found.append(part)
    return found
