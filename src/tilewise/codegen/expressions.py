"""Integer expressions, each with the known range of its value, and the bits that may be set.

A set of bits is a Python integer. A negative one, such as -64, has all bits from some bit on, like a negative
value. The functions here make expressions, and leave out all without effect: a mask that hides nothing, a
quotient that is 0, a sum with 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import gcd
from operator import or_

OPERATION, PRODUCT, DIVISION = 2, 3, 10
"""Cost of an operation: a product is one instruction or two shifts, a division a long product and more."""


class Expr:
    """A value between `low` and `high` that has no other bits than `bits`.

    `of` are its parts, `numbers` the numbers. Two expressions are equal if they are made alike, whatever is
    known of them.
    """

    __slots__ = ("_hash", "bits", "high", "low", "name", "numbers", "of")

    def __init__(
        self, of: tuple[Expr, ...], numbers: tuple[int, ...], known: tuple[int, int, int], name: str = ""
    ) -> None:
        self.of, self.numbers, self.name = of, numbers, name
        self.low, self.high, self.bits = known
        self._hash = hash((type(self), of, numbers, name))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Expr):
            return self is other
        if self._hash != other._hash or type(self) is not type(other):
            return False
        return self.of == other.of and self.numbers == other.numbers and self.name == other.name

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}{(*self.of, *self.numbers, self.name)}"

    @property
    def number(self) -> int:
        """Return the constant of a sum or a XOR, a mask, or a divisor."""
        return self.numbers[0]

    @property
    def known(self) -> tuple[int, int, int]:
        """Return (low, high, bits)."""
        return self.low, self.high, self.bits


class Variable(Expr):
    """An argument."""

    __slots__ = ()


class Sum(Expr):
    """The first number + the sum of each other number times its expression."""

    __slots__ = ()

    @property
    def terms(self) -> tuple[tuple[int, Expr], ...]:
        """Return (factor, expression) for each term."""
        return tuple(zip(self.numbers[1:], self.of, strict=True))


class Xor(Expr):
    """The expressions and the number, XORed."""

    __slots__ = ()


class Masked(Expr):
    """of & number."""

    __slots__ = ()


class Quotient(Expr):
    """of / number, of a value that is not negative, by a number that is no power of two."""

    __slots__ = ()


class Shifted(Expr):
    """of / number, of a value that is not negative, by a power of two."""

    __slots__ = ()


class Remainder(Expr):
    """of % number, of a value that is not negative, by a number that is no power of two."""

    __slots__ = ()


# -- numbers ---------------------------------------------------------------------------------------


def is_power(number: int) -> bool:
    """Return True if a positive number is a power of two."""
    return number & (number - 1) == 0


def lowest_bit(bits: int) -> int:
    """Return the position of the lowest bit of a number other than 0.

    >>> lowest_bit(-64), lowest_bit(40)
    (6, 3)
    """
    return (bits & -bits).bit_length() - 1


def bits_between(low: int, high: int) -> int:
    """Return the bits that a number in [low, high] can have.

    >>> bin(bits_between(8, 11)), bits_between(0, 9), bits_between(-8, -5), bits_between(-1, 1)
    ('0b1011', 15, -5, -1)
    """
    if low < 0 <= high:
        return -1
    return low | ((1 << (low ^ high).bit_length()) - 1)


def moved(bits: int, by: int) -> int:
    """Return bits shifted up, or down where `by` is negative."""
    return bits << by if by >= 0 else bits >> -by


# -- making ----------------------------------------------------------------------------------------


def variable(name: str, low: int, high: int, bits: int = -1) -> Expr:
    """Return an argument in [low, high] without bits outside `bits`, or a number if there is only one."""
    if low == high:
        return constant(low)
    return Variable((), (), (low, high, bits & bits_between(low, high)), name)


def constant(number: int) -> Expr:
    """Return a number as an expression."""
    return Sum((), (number,), (number, number, number))


def linear(
    terms: Iterable[tuple[int, Expr]],
    added: int = 0,
    within: tuple[int, int] | None = None,
    inline: bool = True,
) -> Expr:
    """Return added + the sum of factor * expression, known to lie `within`.

    Terms that are sums are taken apart, unless `inline` is False because they are used elsewhere too.

    >>> x = variable("x", 0, 7)
    >>> linear([(8, x), (-8, x)], 5) == constant(5), linear([(1, x)]) is x
    (True, True)
    >>> total = linear([(1, x), (64, x)], 512)
    >>> total.terms[0][0], total.low, total.high
    (65, 512, 967)
    """
    given = list(terms)
    known = known_of_sum(given, added, within)
    factors: dict[Expr, int] = {}
    for factor, term in given:
        taken: Sequence[tuple[int, Expr]] = [(1, term)]
        if isinstance(term, Sum):
            is_single = len(term.of) + bool(term.number) < 2
            if is_single or (inline and factor in (1, -1)):
                taken, added = term.terms, added + factor * term.number
        for inner, expression in taken:
            factors[expression] = factors.get(expression, 0) + factor * inner
    kept = {term: factor for term, factor in factors.items() if factor}
    if not added and list(kept.values()) == [1]:
        return next(iter(kept))
    if not kept:
        return constant(added)
    return _factored(Sum(tuple(kept), (added, *kept.values()), known))


def _factored(total: Sum) -> Expr:
    """Return `(a + b) << 6` instead of `(a << 6) + (b << 6)`, where that is cheaper."""
    common = gcd(*total.numbers)
    if common == 1 or len(total.of) == 1:
        return total
    low, high = total.low // common, total.high // common
    bits = total.bits >> lowest_bit(common) if is_power(common) else bits_between(low, high)
    inner = Sum(total.of, tuple(number // common for number in total.numbers), (low, high, bits))
    outer = Sum((inner,), (0, common), total.known)
    return outer if cost([outer]) < cost([total]) else total


def known_of_sum(
    terms: Iterable[tuple[int, Expr]], added: int = 0, within: tuple[int, int] | None = None
) -> tuple[int, int, int]:
    """Return (low, high, bits) of a sum: without carries the bits are those of its terms."""
    low = high = bits = lowest = added
    carries = False
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
    """Return `of >> by`.

    >>> x = variable("x", 0, 63)
    >>> shifted(shifted(x, 1), 2) == shifted(x, 3), shifted(x, 6) == constant(0)
    (True, True)
    """
    return quotient(of, 1 << by)


def quotient(of: Expr, by: int) -> Expr:
    """Return `of // by`, of a value that is not negative.

    >>> x = variable("x", 0, 100)
    >>> quotient(x, 4) == shifted(x, 2), quotient(quotient(x, 3), 5) == quotient(x, 15)
    (True, True)
    """
    assert of.low >= 0
    if by == 1:
        return of
    low, high = of.low // by, of.high // by
    if low == high:
        return constant(low)
    if isinstance(of, Quotient | Shifted):
        return quotient(of.of[0], of.number * by)
    if not is_power(by):
        return Quotient((of,), (by,), (low, high, bits_between(low, high)))
    shift = lowest_bit(by)
    if isinstance(of, Masked) and of.of[0].low >= 0:
        return masked(quotient(of.of[0], by), of.number >> shift)
    return Shifted((of,), (by,), (low, high, of.bits >> shift))


def remainder(of: Expr, by: int) -> Expr:
    """Return `of % by`, of a value that is not negative."""
    if is_power(by):
        return masked(of, by - 1)
    if of.low // by == of.high // by:
        return linear([(1, of)], -(of.low // by * by))
    return Remainder((of,), (by,), (0, by - 1, bits_between(0, by - 1)))


def masked(of: Expr, mask: int) -> Expr:
    """Return `of & mask`.

    >>> x = variable("x", 0, 63)
    >>> masked(x, 127) is x, masked(masked(x, 24), 15) == masked(x, 8)
    (True, True)
    """
    mask &= of.bits
    if mask == of.bits:
        return of
    alike = moved(-1, (of.low ^ of.high).bit_length()) if (of.low < 0) == (of.high < 0) else 0
    if not mask & ~alike:  # bits that are the same in all values
        return constant(of.low & mask)
    if isinstance(of, Masked):
        return masked(of.of[0], of.number & mask)
    low, high = (of.low & mask, of.high) if mask < 0 else (0, mask if of.low < 0 else min(mask, of.high))
    return Masked((of,), (mask,), (low, high, mask))


def xored(parts: Iterable[Expr], flipped: int = 0) -> Expr:
    """Return the XOR of the parts and the number `flipped`."""
    of = []
    for part in parts:
        if isinstance(part, Sum) and not part.of:
            flipped ^= part.number
        else:
            of.append(part)
    if not of:
        return constant(flipped)
    if len(of) == 1 and not flipped:
        return of[0]
    bits = reduce(or_, (part.bits for part in of), flipped)
    low, high = 0, bits
    if bits < 0:
        ends = [flipped, *(end for part in of for end in (part.low, part.high))]
        reach = 1 << max((end if end >= 0 else ~end).bit_length() for end in ends)
        low, high = -reach, reach - 1
    return Xor(tuple(of), (flipped,), (low, high, bits))


# -- reading ---------------------------------------------------------------------------------------


def parts_of(expressions: Iterable[Expr]) -> list[Expr]:
    """Return every distinct expression in some, each after its parts."""
    done: dict[Expr, None] = {}

    def visit(expression: Expr) -> None:
        if expression not in done:
            for inner in expression.of:
                visit(inner)
            done[expression] = None

    for expression in expressions:
        visit(expression)
    return list(done)


def cost(expressions: Iterable[Expr]) -> int:
    """Return the cost of some expressions together; shared parts count once.

    >>> x = variable("x", 0, 63)
    >>> cost([linear([(9, shifted(x, 3)), (1, masked(x, 7))])]), cost([linear([(1, x), (1, shifted(x, 3))])])
    (9, 4)
    """
    parts = parts_of(expressions)
    quotients = {part for part in parts if isinstance(part, Quotient)}
    return sum(_own_cost(part, quotients) for part in parts)


def _own_cost(expression: Expr, quotients: set[Quotient]) -> int:
    if isinstance(expression, Sum):
        return _cost_of_sum(expression)
    if isinstance(expression, Xor):
        return OPERATION * (len(expression.of) + (expression.number != 0) - 1)
    if isinstance(expression, Remainder):
        shared = quotient(expression.of[0], expression.number) in quotients
        return PRODUCT + OPERATION + (0 if shared else DIVISION)
    if isinstance(expression, Variable):
        return 0
    return DIVISION if isinstance(expression, Quotient) else OPERATION


def _cost_of_sum(total: Sum) -> int:
    """Return the cost of a sum; a GPU and a CPU add a product by a power of two in one instruction."""
    added, *factors = total.numbers
    sums = len(factors) + (added != 0) - 1 + (not added and all(factor < 0 for factor in factors))
    shifts = sum(abs(factor) > 1 and is_power(abs(factor)) for factor in factors)
    products = sum(not is_power(abs(factor)) for factor in factors)
    return PRODUCT * products + OPERATION * max(sums, shifts)
