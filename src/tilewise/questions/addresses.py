"""Byte addresses: a buffer that begins at a base, and the layout as it is seen from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.units import unit_bits
from tilewise.questions.texts import misused, number_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.questions.asking import Number, Type


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where the buffer begins, in bytes, and how many bits one unit of the layout has."""

    base: int
    bits: int

    def seen(self, layout: Layout) -> Layout:
        """Return the layout with its swizzle acting on the addresses that the base leads to.

        >>> from tilewise import S, Swizzle
        >>> swizzled = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
        >>> Buffer(0x400, 16).seen(swizzled).same(swizzled).answer
        True
        >>> Buffer(0x80, 16).seen(swizzled).place(0)
        8@m
        """
        layout.axis("m")  # what lives on other axes alone has no byte address
        units = self.base * 8 // self.bits
        return replace(layout, offset=layout.offset + units, outer=layout.outer - units)

    def units_at(self, byte: int) -> range:
        """Return the units of which a byte is part."""
        first = (byte - self.base) * 8
        return range(first // self.bits, (first + 7) // self.bits + 1)

    def byte_of(self, unit: int) -> int:
        """Return the address of the first byte of a unit, or of the byte that holds it."""
        return self.base + unit * self.bits // 8


def buffer_from(layout: Layout, dtype: Type | None, base: Number | None) -> Buffer:
    """Return the buffer of a layout that begins at a byte address."""
    if layout.unit == "element" and dtype is None:
        raise misused("byte addresses need the type of an element", "such as --dtype bf16")
    address, bits = address_in(base), unit_bits(layout.unit, DType.of(dtype or "u8"))
    if address * 8 % bits:
        raise LayoutError(
            "TW106",
            f"the base {address:#x} is no multiple of an element of {bits} bits",
            hint="align the buffer",
        )
    return Buffer(address, bits)


def address_in(given: Number | None, option: str = "--base") -> int:
    """Return a byte address; a text may be decimal or hexadecimal, and 0 stands for none."""
    return number_in(given or 0, option, "address", "0x1a40 or 6720")


OF_BASE = "A: the byte address where the buffer begins (0); the swizzle acts on it"
"""The help of --base."""
