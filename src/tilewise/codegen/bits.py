"""Values as XORs of bit fields that move: the GF(2) view of an expression.

A diagonal takes the bits of a mask of an expression and moves all of them by one distance, `(x & mask) << 3`:
all bits that move by one distance cost one mask and one shift. A swizzle is linear, and so only adds
diagonals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from tilewise.codegen.expressions import (
    Expr,
    Masked,
    Shifted,
    Sum,
    constant,
    cost,
    is_power,
    linear,
    lowest_bit,
    masked,
    moved,
    quotient,
    remainder,
    shifted,
    xored,
)
from tilewise.core.swizzles import apply_chain, period_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.swizzles import Swizzle

BitField = tuple[int, Expr, int]
"""(factor, expression, the bits that their product can have)."""


@dataclass(frozen=True, slots=True)
class Diagonals:
    """flipped XOR the diagonals: {(expression, distance that its bits move): those bits}."""

    diagonals: Mapping[tuple[Expr, int], int]
    flipped: int = 0

    @classmethod
    def of(cls, expression: Expr) -> Diagonals:
        """Return an expression as bits that do not move."""
        if isinstance(expression, Masked):
            return cls.of(expression.of[0]).kept(expression.number)
        if isinstance(expression, Shifted):
            return cls.of(expression.of[0]).moved(-lowest_bit(expression.number))
        if isinstance(expression, Sum) and not expression.of:
            return cls({}, expression.number)
        if isinstance(expression, Sum) and len(expression.of) == 1 and not expression.number:
            factor = expression.numbers[1]
            if factor > 0 and is_power(factor):
                return cls.of(expression.of[0]).moved(lowest_bit(factor))
        return cls({(expression, 0): expression.bits})

    @property
    def possible(self) -> int:
        """Return the bits that may be set."""
        return reduce(or_, (moved(mask, by) for (_, by), mask in self.diagonals.items()), self.flipped)

    def moved(self, by: int) -> Diagonals:
        """Return the value shifted up, or down where `by` is negative."""
        kept = self.kept(moved(-1, max(0, -by)))
        shifted_up = {(of, distance + by): mask for (of, distance), mask in kept.diagonals.items()}
        return Diagonals(shifted_up, moved(kept.flipped, by))

    def kept(self, bits: int) -> Diagonals:
        """Return the value without bits outside `bits`."""
        kept = {(of, by): mask & moved(bits, -by) for (of, by), mask in self.diagonals.items()}
        return Diagonals({key: mask for key, mask in kept.items() if mask}, self.flipped & bits)

    def divided(self, by: int) -> Diagonals:
        """Return the quotient by a number, of a value that is not negative."""
        if is_power(by):
            return self.moved(-lowest_bit(by))
        return Diagonals.of(quotient(self.expression, by))

    def modulo(self, by: int) -> Diagonals:
        """Return the remainder of that division."""
        return self.kept(by - 1) if is_power(by) else Diagonals.of(remainder(self.expression, by))

    def __xor__(self, other: Diagonals) -> Diagonals:
        diagonals = dict(self.diagonals)
        for diagonal, mask in other.diagonals.items():
            both = diagonals.pop(diagonal, 0) ^ mask
            if both:
                diagonals[diagonal] = both
        return Diagonals(diagonals, self.flipped ^ other.flipped)

    def swizzled(self, chain: Sequence[Swizzle]) -> Diagonals:
        """Return the value after a chain of swizzles.

        >>> from tilewise import Swizzle
        >>> from tilewise.codegen.expressions import variable
        >>> x = variable("x", 0, 511)
        >>> swizzled = Diagonals.of(x).swizzled([Swizzle(3, 3, 3)])
        >>> {distance: bin(mask) for (_, distance), mask in swizzled.diagonals.items()}
        {0: '0b111111111', -3: '0b111000000'}
        """
        result = Diagonals({}, apply_chain(chain, self.flipped))
        for distance, read in _distances(chain).items():
            result ^= Diagonals(self.kept(read).moved(distance).diagonals)
        return result

    @property
    def expression(self) -> Expr:
        """Return the cheaper of two expressions for the value."""
        fields = [_field(of, by, mask) for (of, by), mask in self.diagonals.items()]
        plain, gathered = _joined(fields, self.flipped), _joined(_gathered(fields), self.flipped)
        return gathered if cost([gathered]) < cost([plain]) else plain


def _distances(chain: Sequence[Swizzle]) -> dict[int, int]:
    """Return {distance: the bits that move by it} of a chain as a linear map."""
    bits = period_of(chain).bit_length() - 1
    distances = {0: moved(-1, bits)}
    for bit in range(bits):
        image = apply_chain(chain, 1 << bit)
        while image:
            distance = lowest_bit(image) - bit
            image &= image - 1
            distances[distance] = distances.get(distance, 0) | 1 << bit
    return distances


def image_of(bits: int, chain: Sequence[Swizzle]) -> int:
    """Return the bits that a value with no bits outside `bits` can have after the chain."""
    return reduce(or_, (moved(bits & read, distance) for distance, read in _distances(chain).items()))


def _field(expression: Expr, distance: int, mask: int) -> BitField:
    """Return one diagonal as a field."""
    image, below = moved(mask, distance), lowest_bit(mask)
    is_top = mask == expression.bits & moved(-1, below) != expression.bits
    if is_top and expression.low >= 0 and distance + below >= 0:
        # the product is part of a sum, and free
        return 1 << distance + below, shifted(expression, below), image
    if distance >= 0:
        return 1 << distance, masked(expression, mask), image
    if expression.low < 0:  # mask first: the shifted value is then not negative
        return 1, shifted(masked(expression, mask), -distance), image
    return 1, masked(shifted(expression, -distance), mask >> -distance), image


def _gathered(fields: Iterable[BitField]) -> list[BitField]:
    """Return fields with disjoint copies of one joined in a product: `x * 72` for `(x << 6) + (x << 3)`."""
    together: dict[Expr, BitField] = {}
    apart: list[BitField] = []
    for factor, expression, bits in fields:
        before, _, taken = together.get(expression, (0, expression, 0))
        if taken & bits:
            apart.append((factor, expression, bits))
        else:
            together[expression] = before + factor, expression, taken | bits
    return [*together.values(), *apart]


def _joined(fields: Sequence[BitField], flipped: int) -> Expr:
    """Return disjoint fields added, in layers; the layers are XORed."""
    taken = reduce(or_, (bits for _, _, bits in fields), 0)
    added = 0 if taken & flipped else flipped
    waiting = sorted(fields, key=lambda field: (field[2] < 0, field[2].bit_count()), reverse=True)
    layers: list[Expr] = []
    while waiting:
        layer, rest, taken = [], [], 0
        for field in waiting:
            if taken & field[2]:
                rest.append(field)
            else:
                taken |= field[2]
                layer.append(field)
        waiting = rest
        layer.sort(key=lambda field: field[2], reverse=True)
        terms = [(factor, expression) for factor, expression, _ in layer]
        layers.append(linear(terms, 0 if layers else added, inline=False))
    if not layers:
        return constant(flipped)
    return xored(layers, flipped - added)


def union(parts: Iterable[Diagonals]) -> Diagonals:
    """Return the union of values, no two of which share a bit."""
    return reduce(Diagonals.__xor__, parts, Diagonals({}))
