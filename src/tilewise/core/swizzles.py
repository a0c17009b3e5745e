"""XOR swizzles: permutations of the addresses on one storage axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.vectors import ZERO, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from tilewise.core.layout import Layout

NAMED_BITS = {"SWIZZLE_NONE": 0, "SWIZZLE_32B": 1, "SWIZZLE_64B": 2, "SWIZZLE_128B": 3}
"""The hardware's modes: all of them are Swizzle<B, 4, 3> on byte addresses."""

_BYTE_BASE, _BYTE_SHIFT = 4, 3
_MAX_BITS = 1_024


@dataclass(frozen=True, slots=True, repr=False)
class Swizzle:
    """`Swizzle<B, M, S>`: bits [M+S, M+S+B) of an address are XORed into bits [M, M+B).

    With S < 0 the low field is XORed into the high one. The argument order is CuTe's.

        requires       B = 0 or |S| >= B, so that the two fields do not meet
        postcondition  sw(sw(a)) == a;  sw(a + k * sw.period) == sw(a) + k * sw.period

    >>> sw = Swizzle(3, 3, 3)
    >>> [sw(64 * row) for row in range(4)], sw.period
    ([0, 72, 144, 216], 512)
    """

    bits: int
    base: int
    shift: int
    axis: Axis = m
    source: int = field(init=False, repr=False, compare=False)
    """The mask of the bits that are read."""

    def __post_init__(self) -> None:
        for name in ("bits", "base", "shift"):
            object.__setattr__(self, name, as_int(getattr(self, name), f"the swizzle's {name}"))
        if self.bits < 0 or self.base < 0:
            raise LayoutError(
                "TW104",
                f"{self}: the number of bits and the base are not negative",
                hint="the order is Swizzle<B, M, S>: bits, base, shift",
            )
        if self.bits and abs(self.shift) < self.bits:
            first, last = self.base + abs(self.shift), self.base + self.bits - 1
            raise LayoutError(
                "TW104",
                f"{self}: its two fields collide on bit"
                + (f" {first}" if first == last else f"s {first}..{last}"),
                hint=f"|S| must be at least B; Swizzle<{self.bits},{self.base},{self.bits}> is one",
            )
        if self.bits + self.base + abs(self.shift) > _MAX_BITS:
            raise LayoutError("TW005", f"{self}: a swizzle of more than {_MAX_BITS} address bits")
        if not isinstance(self.axis, Axis):
            raise LayoutError(
                "TW103", f"a swizzle acts on an Axis, not on {self.axis!r}", hint="such as axis=reg"
            )
        if self.axis.kind != "storage":
            raise LayoutError(
                "TW104",
                f"{self.axis} is no storage axis, so no address on it can be swizzled",
                hint="swizzles act on addresses, such as @m"
                if self.axis.facts
                else f'declare it: Axis("{self.axis}", storage=True), or --storage {self.axis}',
            )
        object.__setattr__(self, "source", ((1 << self.bits) - 1) << (self.base + max(0, self.shift)))

    @classmethod
    def named(cls, mode: str, dtype: DType | str | None = None, axis: Axis = m) -> Swizzle:
        """Return the hardware's mode for elements of `dtype`, by default for bytes.

        >>> Swizzle.named("SWIZZLE_128B", "bf16"), Swizzle.named("SWIZZLE_64B")
        (Swizzle(3, 3, 3), Swizzle(2, 4, 3))
        """
        name = str(mode).upper()
        if name not in NAMED_BITS:
            raise LayoutError(
                "TW104", f"unknown swizzle mode {mode!r}", hint="known: " + " ".join(NAMED_BITS)
            )
        in_bytes = cls(NAMED_BITS[name], _BYTE_BASE, _BYTE_SHIFT, axis)
        if dtype is None or not in_bytes.bits:
            return in_bytes
        return in_bytes.scaled(8, DType.of(dtype).bits)

    def scaled(self, numerator: int, denominator: int) -> Swizzle:
        """Return the same permutation with addresses counted in units `denominator/numerator` as large.

        >>> Swizzle(3, 4, 3).scaled(8, 16)
        Swizzle(3, 3, 3)
        """
        if not self.bits or numerator == denominator:
            return self
        up, down = numerator.bit_length() - 1, denominator.bit_length() - 1
        base = self.base + up - down
        if numerator << down != denominator << up or base < 0:
            raise LayoutError(
                "TW106",
                f"{self} cannot be counted in units of {denominator} bits instead of {numerator}",
                hint="a swizzle moves whole units; the ratio must be a power of two that its base allows",
            )
        return Swizzle(self.bits, base, self.shift, self.axis)

    @property
    def target(self) -> int:
        """Return the mask of the bits that are flipped."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    @property
    def period(self) -> int:
        """Return 2^(B+M+|S|): the pattern repeats after so many units, and bases are multiples of it."""
        return 1 << (self.bits + self.base + abs(self.shift)) if self.bits else 1

    def __call__(self, address: SupportsIndex) -> int:
        if type(address) is not int:
            address = as_int(address, "an address")
        read = address & self.source
        return address ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def __matmul__(self, other: Any) -> Any:
        return Prefix(ZERO, (self,)) @ other

    def __rmatmul__(self, outer: Any) -> Any:
        return Prefix(outer, (self,)) if isinstance(outer, Vector) else NotImplemented

    def __str__(self) -> str:
        return f"Swizzle<{self.bits},{self.base},{self.shift}>" + ("" if self.axis == m else f"@{self.axis}")

    def __repr__(self) -> str:
        known = self.axis.facts is not None
        axis = f"{self.axis}" if known else f'Axis("{self.axis}", storage=True)'
        axis = "" if self.axis == m else f", axis={axis}"
        return f"Swizzle({self.bits}, {self.base}, {self.shift}{axis})"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The part of an expression to the left of a layout: an outer offset and swizzles, waiting for it.

    >>> from tilewise import O, S, m
    >>> O[128@m] @ Swizzle(3, 4, 3) @ (S[8 : 128] - 128@m)
    O[128@m] @ Swizzle(3, 4, 3) @ (S[8 : 128] - 128)
    """

    outer: Vector
    swizzles: tuple[Swizzle, ...]

    def __matmul__(self, other: Layout | Swizzle | Prefix | Vector) -> Any:
        if isinstance(other, Swizzle):
            return Prefix(self.outer, (*self.swizzles, other))
        if isinstance(other, Vector) or (isinstance(other, Prefix) and other.outer):
            raise LayoutError(
                "TW104", "an outer offset to the right of a swizzle", hint="it stands leftmost, once"
            )
        if isinstance(other, Prefix):
            return Prefix(self.outer, self.swizzles + other.swizzles)
        placed = getattr(other, "swizzled", None)
        return placed(self.swizzles, self.outer) if placed else NotImplemented


def apply_chain(swizzles: Sequence[Swizzle], address: int) -> int:
    """Return Sw1(Sw2(... address)): the last of the chain acts first."""
    for swizzle in reversed(swizzles):
        address = swizzle(address)
    return address


def undo_chain(swizzles: Iterable[Swizzle], address: int) -> int:
    """Return the address that the chain sends to `address`."""
    for swizzle in swizzles:
        address = swizzle(address)
    return address


def one_permutation(one: Sequence[Swizzle], other: Sequence[Swizzle]) -> bool:
    """Return True if two chains permute all addresses alike: they do iff they do so bit by bit.

    >>> one_permutation([Swizzle(1, 0, 5), Swizzle(1, 1, 5)], [Swizzle(2, 0, 5)])
    True
    """
    axes = {swizzle.axis for swizzle in (*one, *other) if swizzle.bits}
    bits = max(period_of(one), period_of(other)).bit_length() - 1
    same = (apply_chain(one, 1 << bit) == apply_chain(other, 1 << bit) for bit in range(bits))
    return len(axes) < 2 and all(same)


def period_of(swizzles: Iterable[Swizzle]) -> int:
    """Return the period of the whole chain.

    >>> period_of([Swizzle(3, 4, 3), Swizzle(1, 0, 1)]), period_of([])
    (1024, 1)
    """
    return max((swizzle.period for swizzle in swizzles), default=1)
