"""Byte addresses: a buffer that begins at a base, and the layout as it is seen from there."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

from tilewise.cli.answer import misused
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.units import unit_bits


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where the buffer begins, in bytes, and how many bits one unit of the layout has."""

    base: int
    bits: int

    def seen(self, layout: Layout) -> Layout:
        """The layout with its swizzle acting on the addresses that the base leads to.

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
        """The units of which a byte is part."""
        first = (byte - self.base) * 8
        return range(first // self.bits, (first + 7) // self.bits + 1)

    def byte_of(self, unit: int) -> int:
        """The address of the first byte of a unit, or of the byte that holds it."""
        return self.base + unit * self.bits // 8


def buffer_from(layout: Layout, args: argparse.Namespace) -> Buffer:
    """The buffer of --base and --dtype."""
    if layout.unit == "element" and args.dtype is None:
        raise misused("byte addresses need the type of an element", "such as --dtype bf16")
    base, bits = (
        address_from(args.base or "0", "--base"),
        unit_bits(layout.unit, DType.of(args.dtype or "u8")),
    )
    if base * 8 % bits:
        raise LayoutError(
            "TW106",
            f"the base {base:#x} is no multiple of an element of {bits} bits",
            hint="align the buffer",
        )
    return Buffer(base, bits)


def address_from(spelled: str, option: str) -> int:
    """Return a byte address, decimal or hexadecimal."""
    return integer_from(spelled, option, "address", "0x1a40 or 6720")


def integer_from(spelled: str, option: str, noun: str, such: str) -> int:
    """Return the value of an option that is a number, decimal or hexadecimal."""
    try:
        return int(spelled, 0)
    except ValueError:
        raise misused(f"{option} {spelled} is no {noun}", f"such as {such}") from None


OF_BASE = ("A", "the byte address where the buffer begins (0); the swizzle acts on it")
"""The value of --base, and its help."""
