"""Integer expressions, each with what is known of its value: its range, and the bits that may be set.

A set of bits is a Python integer; a negative one, such as -64, has all bits from some bit on, as the
values of an expression that can be negative do. Expressions are made by the functions here, which
leave out what has no effect: a mask that hides nothing, a quotient that is 0, a sum with 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

OPERATION, PRODUCT, DIVISION = 2, 3, 10
"""What an operation costs: a product is one instruction or two shifts, a division a long product and more."""


class Expr:
    """A value between `low` and `high` that has no other bits than `bits`.

    Two expressions are equal where they are made alike; what is known of them does not count.
    """

    __slots__ = ("_hash", "_parts", "bits", "high", "low")

    def __init__(self, parts: tuple[object, ...], low: int, high: int, bits: int) -> None:
        self._parts, self._hash = parts, hash((type(self), parts))
        self.low, self.high, self.bits = low, high, bits

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        alike = type(self) is type(other) and hash(self) == hash(other)
        return alike and isinstance(other, Expr) and self._parts == other._parts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._parts}"


class Variable(Expr):
    """An argument."""

    __slots__ = ("name",)

    def __init__(self, name: str, low: int, high: int, bits: int) -> None:
        super().__init__((name,), low, high, bits)
        self.name = name


class Sum(Expr):
    """constant + the sum of factor * expression."""

    __slots__ = ("constant", "terms")

    def __init__(
        self, terms: tuple[tuple[int, Expr], ...], constant: int, low: int, high: int, bits: int
    ) -> None:
        super().__init__((terms, constant), low, high, bits)
        self.terms, self.constant = terms, constant


class Xor(Expr):
    """The parts and the constant, XORed."""

    __slots__ = ("constant", "parts")

    def __init__(self, parts: tuple[Expr, ...], constant: int, low: int, high: int, bits: int) -> None:
        super().__init__((parts, constant), low, high, bits)
        self.parts, self.constant = parts, constant


class Step(Expr):
    """One operation on an expression and a number."""

    __slots__ = ("by", "of")

    def __init__(self, of: Expr, by: int, low: int, high: int, bits: int) -> None:
        super().__init__((of, by), low, high, bits)
        self.of, self.by = of, by


class Shifted(Step):
    """of >> by, of a value that is not negative."""

    __slots__ = ()


class Masked(Step):
    """of & by."""

    __slots__ = ()


class Quotient(Step):
    """of / by, of a value that is not negative, by a number that is no power of two."""

    __slots__ = ()


class Remainder(Step):
    """of % by, of a value that is not negative, by a number that is no power of two."""

    __slots__ = ()


# -- numbers ---------------------------------------------------------------------------------------


def is_power(number: int) -> bool:
    """Whether a positive number is a power of two."""
    return number & (number - 1) == 0


def lowest_bit(bits: int) -> int:
    """The position of the lowest bit of a number other than 0.

    >>> lowest_bit(-64), lowest_bit(40)
    (6, 3)
    """
    return (bits & -bits).bit_length() - 1


def bits_between(low: int, high: int) -> int:
    """The bits that a number in [low, high] can have.

    >>> bin(bits_between(8, 11)), bits_between(0, 9), bits_between(-8, -5), bits_between(-1, 1)
    ('0b1011', 15, -5, -1)
    """
    if low < 0 <= high:
        return -1
    return low | ((1 << (low ^ high).bit_length()) - 1)


def moved(bits: int, by: int) -> int:
    """Bits shifted up, or down where `by` is negative."""
    return bits << by if by >= 0 else bits >> -by


# -- making ----------------------------------------------------------------------------------------


def variable(name: str, low: int, high: int) -> Expr:
    """An argument in [low, high]; a number where there is only one."""
    return known_variable(name, low, high, -1)


def known_variable(name: str, low: int, high: int, bits: int) -> Expr:
    """An argument that has no other bits than `bits`."""
    if low == high:
        return constant(low)
    return Variable(name, low, high, bits & bits_between(low, high))


def constant(number: int) -> Expr:
    """A number."""
    return Sum((), number, number, number, number)


def linear(
    terms: Iterable[tuple[int, Expr]],
    added: int = 0,
    within: tuple[int, int] | None = None,
    inline: bool = True,
) -> Expr:
    """added + the sum of factor * expression, which is known to lie `within`.

    Terms that are sums themselves are taken apart, unless `inline` is False: they are used elsewhere.

    >>> x = variable("x", 0, 7)
    >>> linear([(8, x), (-8, x)], 5) == constant(5), linear([(1, x)]) is x
    (True, True)
    >>> total = linear([(1, x), (64, x)], 512)
    >>> total.terms[0][0], total.low, total.high
    (65, 512, 967)
    """
    given = list(terms)
    low, high, bits = _known_of_sum(given, added, within)
    factors: dict[Expr, int] = {}
    for factor, term in given:
        added += _collect(factors, factor, term, inline)
    kept = tuple((factor, term) for term, factor in factors.items() if factor)
    if len(kept) == 1 and kept[0][0] == 1 and not added:
        return kept[0][1]
    if not kept:
        return constant(added)
    return _factored(Sum(kept, added, low, high, bits))


def _collect(factors: dict[Expr, int], factor: int, term: Expr, inline: bool) -> int:
    """A term, or those of the sum that it is; what that adds to the constant."""
    single = isinstance(term, Sum) and len(term.terms) + bool(term.constant) < 2
    if isinstance(term, Sum) and (single or (inline and factor in (1, -1))):
        for inner, expression in term.terms:
            factors[expression] = factors.get(expression, 0) + factor * inner
        return factor * term.constant
    factors[term] = factors.get(term, 0) + factor
    return 0


def _factored(total: Sum) -> Expr:
    """`(a + b) << 6` instead of `(a << 6) + (b << 6)`, where that is cheaper."""
    common = gcd(total.constant, *(factor for factor, _ in total.terms))
    if common == 1 or len(total.terms) == 1:
        return total
    low, high = total.low // common, total.high // common
    terms = tuple((factor // common, term) for factor, term in total.terms)
    bits = total.bits >> lowest_bit(common) if is_power(common) else bits_between(low, high)
    inner = Sum(terms, total.constant // common, low, high, bits)
    outer = Sum(((common, inner),), 0, total.low, total.high, total.bits)
    return outer if cost([outer]) < cost([total]) else total


def _known_of_sum(
    terms: Sequence[tuple[int, Expr]], added: int, within: tuple[int, int] | None
) -> tuple[int, int, int]:
    """(low, high, bits) of a sum: without carries the bits are those of its terms."""
    low = high = added
    bits, carries = added, False
    lowest = added
    for factor, term in terms:
        ends = factor * term.low, factor * term.high
        low, high = low + min(ends), high + max(ends)
        own = _bits_of_product(factor, term)
        carries = carries or bool(bits & own)
        bits |= own
        lowest |= own
    if within is not None:
        low, high = max(low, within[0]), min(high, within[1])
    if carries:
        bits = moved(-1, lowest_bit(lowest))
    return low, high, bits & bits_between(low, high)


def _bits_of_product(factor: int, term: Expr) -> int:
    if factor > 0 and is_power(factor):
        return term.bits << lowest_bit(factor)
    ends = factor * term.low, factor * term.high
    product = factor * term.bits
    reach = bits_between(min(ends), max(ends))
    return reach & moved(-1, lowest_bit(product)) if product else 0


def shifted(of: Expr, by: int) -> Expr:
    """of >> by.

    >>> x = variable("x", 0, 63)
    >>> shifted(shifted(x, 1), 2) == shifted(x, 3), shifted(x, 6) == constant(0)
    (True, True)
    """
    assert of.low >= 0
    if not by:
        return of
    if of.high >> by == of.low >> by:
        return constant(of.high >> by)
    if isinstance(of, Shifted):
        return shifted(of.of, of.by + by)
    if isinstance(of, Masked) and of.of.low >= 0:
        return masked(shifted(of.of, by), of.by >> by)
    if isinstance(of, Quotient):
        return quotient(of.of, of.by << by)
    return Shifted(of, by, of.low >> by, of.high >> by, of.bits >> by)


def masked(of: Expr, mask: int) -> Expr:
    """of & mask.

    >>> x = variable("x", 0, 63)
    >>> masked(x, 127) is x, masked(masked(x, 24), 15) == masked(x, 8)
    (True, True)
    """
    mask &= of.bits
    if mask == of.bits:
        return of
    known = moved(-1, (of.low ^ of.high).bit_length()) if (of.low < 0) == (of.high < 0) else 0
    if not mask & ~known:  # bits that are alike in all values
        return constant(of.low & mask)
    if isinstance(of, Masked):
        return masked(of.of, of.by & mask)
    if mask < 0:
        return Masked(of, mask, of.low & mask, of.high, mask)
    return Masked(of, mask, 0, mask if of.low < 0 else min(mask, of.high), mask)


def xored(parts: Iterable[Expr], flipped: int = 0) -> Expr:
    """The parts and the number `flipped`, XORed."""
    found: list[Expr] = []
    for part in parts:
        if isinstance(part, Sum) and not part.terms:
            flipped ^= part.constant
        else:
            found.append(part)
    if not found:
        return constant(flipped)
    if len(found) == 1 and not flipped:
        return found[0]
    bits = flipped
    for part in found:
        bits |= part.bits
    if bits >= 0:
        return Xor(tuple(found), flipped, 0, bits, bits)
    ends = [flipped, *(end for part in found for end in (part.low, part.high))]
    reach = 1 << max(end.bit_length() if end >= 0 else (~end).bit_length() for end in ends)
    return Xor(tuple(found), flipped, -reach, reach - 1, bits)


def quotient(of: Expr, by: int) -> Expr:
    """of // by, of a value that is not negative.

    >>> x = variable("x", 0, 100)
    >>> quotient(x, 4) == shifted(x, 2), quotient(quotient(x, 3), 5) == quotient(x, 15)
    (True, True)
    """
    if is_power(by):
        return shifted(of, lowest_bit(by))
    if of.low // by == of.high // by:
        return constant(of.low // by)
    if isinstance(of, Quotient):
        return quotient(of.of, of.by * by)
    if isinstance(of, Shifted):
        return quotient(of.of, by << of.by)
    assert of.low >= 0
    low, high = of.low // by, of.high // by
    return Quotient(of, by, low, high, bits_between(low, high))


def remainder(of: Expr, by: int) -> Expr:
    """of % by, of a value that is not negative."""
    if is_power(by):
        return masked(of, by - 1)
    if of.low // by == of.high // by:
        return linear([(1, of)], -(of.low // by * by))
    return Remainder(of, by, 0, by - 1, bits_between(0, by - 1))


# -- reading ---------------------------------------------------------------------------------------


def operands(expression: Expr) -> tuple[Expr, ...]:
    """What an expression is made of."""
    if isinstance(expression, Sum):
        return tuple(term for _, term in expression.terms)
    if isinstance(expression, Xor):
        return expression.parts
    if isinstance(expression, Step):
        return (expression.of,)
    return ()


def parts_of(expressions: Iterable[Expr]) -> Iterator[Expr]:
    """Every distinct expression in some, each after what it is made of."""
    done: set[Expr] = set()
    waiting: list[tuple[Expr, bool]] = [(expression, False) for expression in expressions][::-1]
    while waiting:
        expression, ready = waiting.pop()
        if expression in done:
            continue
        if ready:
            done.add(expression)
            yield expression
        else:
            waiting.append((expression, True))
            waiting += [(operand, False) for operand in reversed(operands(expression))]


def cost(expressions: Iterable[Expr]) -> int:
    """What some expressions cost together; what they share counts once.

    >>> x = variable("x", 0, 63)
    >>> cost([linear([(9, shifted(x, 3)), (1, masked(x, 7))])]), cost([linear([(1, x), (1, shifted(x, 3))])])
    (9, 4)
    """
    found = list(parts_of(expressions))
    quotients = {part for part in found if isinstance(part, Quotient)}
    return sum(_own_cost(part, quotients) for part in found)


def _own_cost(expression: Expr, quotients: set[Quotient]) -> int:
    if isinstance(expression, Sum):
        return _cost_of_sum(expression)
    if isinstance(expression, Xor):
        return OPERATION * (len(expression.parts) + (expression.constant != 0) - 1)
    if isinstance(expression, Shifted | Masked):
        return OPERATION
    if isinstance(expression, Remainder):
        shared = quotient(expression.of, expression.by) in quotients
        return PRODUCT + OPERATION + (0 if shared else DIVISION)
    return DIVISION if isinstance(expression, Quotient) else 0


def _cost_of_sum(total: Sum) -> int:
    """A sum takes in one product by a power of two: it is one instruction, on a GPU as on a CPU."""
    factors = [abs(factor) for factor, _ in total.terms]
    sums = len(factors) + (total.constant != 0) - 1
    sums += not total.constant and all(factor < 0 for factor, _ in total.terms)
    shifts = sum(factor > 1 and is_power(factor) for factor in factors)
    products = len(factors) - shifts - factors.count(1)
    return PRODUCT * products + OPERATION * max(sums, shifts)
