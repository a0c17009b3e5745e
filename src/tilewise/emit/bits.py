"""Values as XORs of bit fields that move: the GF(2) view of an expression.

A `Bits` is a XOR of diagonals. A diagonal takes the bits of `mask` of an expression and moves all of
them by one distance, `(x & mask) << 3`: bits that move by one distance cost one mask and one shift,
however many they are. A swizzle, being linear, only adds diagonals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewise.core.swizzles import apply_chain, period_of
from tilewise.emit.expressions import (
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
    shifted,
    xored,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.swizzles import Swizzle

Diagonal = tuple[Expr, int]
"""(an expression, how far its bits move)."""


@dataclass(frozen=True, slots=True)
class Bits:
    """flipped XOR the diagonals: for each, the bits of `mask` of an expression, moved."""

    diagonals: Mapping[Diagonal, int]
    flipped: int = 0

    @classmethod
    def of(cls, expression: Expr) -> Bits:
        """An expression as bits that stay where they are."""
        if isinstance(expression, Sum) and not expression.terms:
            return cls({}, expression.constant)
        if isinstance(expression, Masked):
            return cls.of(expression.of).kept(expression.by)
        if isinstance(expression, Shifted):
            return cls.of(expression.of).moved(-expression.by)
        if isinstance(expression, Sum) and len(expression.terms) == 1 and not expression.constant:
            (factor, term), *_ = expression.terms
            if factor > 0 and is_power(factor):
                return cls.of(term).moved(lowest_bit(factor))
        return cls({(expression, 0): expression.bits})

    @property
    def possible(self) -> int:
        """The bits that may be set."""
        bits = self.flipped
        for (_, distance), mask in self.diagonals.items():
            bits |= moved(mask, distance)
        return bits

    def moved(self, by: int) -> Bits:
        """Shifted up, or down where `by` is negative."""
        diagonals = {}
        for (expression, distance), mask in self.diagonals.items():
            seen = moved(-1, max(0, -(distance + by)))
            if mask & seen:
                diagonals[expression, distance + by] = mask & seen
        return Bits(diagonals, moved(self.flipped, by))

    def kept(self, bits: int) -> Bits:
        """Without the bits that are not in `bits`."""
        diagonals = {}
        for (expression, distance), mask in self.diagonals.items():
            kept = mask & moved(bits, -distance)
            if kept:
                diagonals[expression, distance] = kept
        return Bits(diagonals, self.flipped & bits)

    def __xor__(self, other: Bits) -> Bits:
        diagonals = dict(self.diagonals)
        for diagonal, mask in other.diagonals.items():
            both = diagonals.pop(diagonal, 0) ^ mask
            if both:
                diagonals[diagonal] = both
        return Bits(diagonals, self.flipped ^ other.flipped)

    def swizzled(self, chain: Sequence[Swizzle]) -> Bits:
        """The chain after this value.

        >>> from tilewise import Swizzle
        >>> from tilewise.emit.expressions import variable
        >>> x = variable("x", 0, 511)
        >>> swizzled = Bits.of(x).swizzled([Swizzle(3, 3, 3)])
        >>> {distance: bin(mask) for (_, distance), mask in swizzled.diagonals.items()}
        {0: '0b111111111', -3: '0b111000000'}
        """
        result = Bits({}, apply_chain(chain, self.flipped))
        for distance, read in _distances(chain).items():
            result ^= Bits(self.kept(read).moved(distance).diagonals)
        return result

    @property
    def expression(self) -> Expr:
        """The cheapest of the expressions for it that are tried."""
        plain = _joined(self._fields(), self.flipped)
        gathered = _joined(_gathered(self._fields()), self.flipped)
        return gathered if cost([gathered]) < cost([plain]) else plain

    def _fields(self) -> list[Field]:
        return [
            Field(*_taken(expression, distance, mask), moved(mask, distance))
            for (expression, distance), mask in self.diagonals.items()
        ]


@dataclass(frozen=True, slots=True)
class Field:
    """factor * expression, which has no other bits than `bits`."""

    factor: int
    expression: Expr
    bits: int


def _distances(chain: Sequence[Swizzle]) -> dict[int, int]:
    """{how far bits move: which do} of a chain as a linear map."""
    bits = period_of(chain).bit_length() - 1
    distances = {0: moved(-1, bits)}
    for bit in range(bits):
        image = apply_chain(chain, 1 << bit)
        while image:
            target = lowest_bit(image)
            image ^= 1 << target
            distances[target - bit] = distances.get(target - bit, 0) | 1 << bit
    return distances


def image_of(bits: int, chain: Sequence[Swizzle]) -> int:
    """The bits that a value without other bits than `bits` can have after the chain."""
    image = 0
    for distance, read in _distances(chain).items():
        image |= moved(bits & read, distance)
    return image


def _taken(expression: Expr, distance: int, mask: int) -> tuple[int, Expr]:
    """(factor, expression) of one diagonal."""
    below = lowest_bit(mask)
    is_top = mask == expression.bits & moved(-1, below) != expression.bits
    if is_top and expression.low >= 0 and distance + below >= 0:
        return 1 << distance + below, shifted(expression, below)  # the product is part of a sum, and free
    if distance >= 0:
        return 1 << distance, masked(expression, mask)
    if expression.low < 0:  # the mask first: what is shifted is then not negative
        return 1, shifted(masked(expression, mask), -distance)
    return 1, masked(shifted(expression, -distance), mask >> -distance)


def _gathered(fields: Iterable[Field]) -> list[Field]:
    """Copies of one field that do not meet, as one product: `x * 72` for `(x << 6) + (x << 3)`."""
    found: dict[Expr, Field] = {}
    apart: list[Field] = []
    for field in fields:
        other = found.get(field.expression)
        if other is not None and not other.bits & field.bits:
            field = Field(other.factor + field.factor, field.expression, other.bits | field.bits)
            found[field.expression] = field
        elif other is None:
            found[field.expression] = field
        else:
            apart.append(field)
    return [*found.values(), *apart]


def _joined(fields: Sequence[Field], flipped: int) -> Expr:
    """Fields that do not meet are added, in layers; the layers are XORed."""
    taken = 0
    for field in fields:
        taken |= field.bits
    added = 0 if taken & flipped else flipped
    waiting = sorted(fields, key=_width, reverse=True)
    layers: list[Expr] = []
    while waiting:
        layer, waiting = _layer(waiting)
        layer.sort(key=lambda field: field.bits, reverse=True)
        terms = [(field.factor, field.expression) for field in layer]
        layers.append(linear(terms, 0 if layers else added, inline=False))
    if not layers:
        return constant(flipped)
    return xored(layers, flipped - added)


def _layer(fields: Iterable[Field]) -> tuple[list[Field], list[Field]]:
    taken, layer, rest = 0, [], []
    for field in fields:
        if taken & field.bits:
            rest.append(field)
        else:
            taken |= field.bits
            layer.append(field)
    return layer, rest


def _width(field: Field) -> tuple[bool, int]:
    return field.bits < 0, field.bits.bit_count()


def union(parts: Iterator[Bits]) -> Bits:
    """Values of which no two share a bit, as one."""
    result = Bits({})
    for part in parts:
        result ^= part
    return result
