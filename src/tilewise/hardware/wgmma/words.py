"""Every field of a descriptor in words, for the layout at hand; what they share with other engines' is in
`tilewise.hardware.operands.sentences`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.core.dtypes import DType
from tilewise.hardware.engines import VERSION, VERSIONS
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.sentences import (
    START_IS,
    Said,
    base_offset_is,
    bits_set,
    lbo_is,
    mode_is,
    never_read,
    overlapping_groups,
    past_the_end,
    said,
    sbo_is,
    shared_bytes,
    unaligned,
)
from tilewise.hardware.sources import PTX_STRIDES
from tilewise.hardware.wgmma.descriptor import FIELDS, Descriptor, reserved_bits
from tilewise.hardware.wgmma.instructions import M, check_major_word
from tilewise.hardware.wgmma.reads import SHARED_END, extremes, pieces, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tilewise.hardware.wgmma.reads import Asked

__all__ = ["SOURCE", "Operand", "Said", "ignored", "masked", "remarks", "words"]

SOURCE = PTX_STRIDES

MN_BITS = 16
"""Bits of the types that may be MN-major: f16 and bf16."""


@dataclass(frozen=True, slots=True)
class Operand:
    """Which operand of which instruction a descriptor is for."""

    dtype: str
    major: str = "k"
    operand: str = "B"
    n: int = 8

    @property
    def asked(self) -> Asked:
        """The keywords of `reads`."""
        return {"dtype": self.dtype, "major": self.major, "operand": self.operand, "n": self.n}

    @property
    def rows(self) -> int:
        """Rows that one instruction reads."""
        return M if self.operand == "A" else self.n


def words(descriptor: Descriptor, major: str = "k", operand: Operand | None = None) -> tuple[Said, ...]:
    """Every field, the lowest first; an operand says more: which are not read for so few rows.

    >>> for said in words(Descriptor(lbo=16, sbo=1024, mode="128B")):
    ...     print(said.name, said.bytes, said.encoded, said.says)
    start 0 0 the first byte of the operand
    lbo 16 1 not read in this mode and major; 1 is written by custom
    sbo 1024 64 from the first 8 rows to the next 8
    base_offset None 0 the swizzle pattern begins at a multiple of 1024
    mode None 1 128B: Swizzle<3,4,3> on byte addresses
    """
    if operand is not None:
        major = operand.major
    check_major_word(major)
    mode, encoded = descriptor.mode, descriptor.encoded
    silent = _silent(descriptor, major, operand)
    says = {
        "start": START_IS,
        "lbo": silent.get("lbo") or lbo_is(mode, major, _in_chunk(operand), _long(mode, operand)),
        "sbo": silent.get("sbo") or sbo_is(mode, major),
        "base_offset": silent.get("base_offset") or base_offset_is(descriptor),
        "mode": mode_is(mode),
    }
    return tuple(
        said(field, encoded[field.name], field.name not in silent, says[field.name]) for field in FIELDS
    )


def ignored(descriptor: Descriptor, major: str = "k", operand: Operand | None = None) -> tuple[str, ...]:
    """The fields that are not read.

    >>> ignored(Descriptor(mode="none"), "mn"), ignored(Descriptor(sbo=1024, mode="64B"), "k")
    (('base_offset',), ('lbo',))
    """
    return tuple(said.name for said in words(descriptor, major, operand) if not said.read)


def masked(descriptor: Descriptor, major: str = "k", operand: Operand | None = None) -> Descriptor:
    """The descriptor with 0 in every field that is not read: two that read alike are then equal.

    >>> hex(masked(Descriptor(lbo=16, sbo=1024, mode="128B")).value)
    '0x4000004000000000'
    """
    silent: dict[str, Any] = dict.fromkeys(ignored(descriptor, major, operand), 0)
    return replace(descriptor, **silent)


def remarks(
    descriptor: Descriptor, major: str = "k", operand: Operand | None = None, value: int | None = None
) -> tuple[str, ...]:
    """What a reader should know besides the fields: overlaps, an unaligned start, bits that nothing has.

    >>> for remark in remarks(Descriptor(sbo=64, mode="128B")):
    ...     print(remark)
    8 rows take 1024 bytes and the next 8 begin after 64: they overlap; 64 as the field counts is 1024 bytes
    """
    if operand is not None:
        major = operand.major
    silent = ignored(descriptor, major, operand)
    told = [*_bits(value), *overlapping_groups(descriptor, major, silent), *unaligned(descriptor)]
    return tuple(told + (_about_the_operand(descriptor, operand) if operand is not None else []))


# -- sentences -------------------------------------------------------------------------------------


def _silent(descriptor: Descriptor, major: str, operand: Operand | None) -> dict[str, str]:
    """{field: why it is not read}."""
    mode = descriptor.mode
    silent = never_read(mode, major)
    if operand is None:
        return silent
    rows = "there are no more than 8 rows"
    if major == "mn" and mode.bits:
        rows = f"all {operand.rows} rows lie in one atom of {_long(mode, operand)}"
    found = unread(descriptor, **operand.asked)
    return {name: silent.get(name, f"not read: {rows}") for name in found}


def _in_chunk(operand: Operand | None) -> int | None:
    return CHUNK * 8 // DType.of(operand.dtype).bits if operand else None


def _long(mode: Mode, operand: Operand | None) -> int:
    return mode.elements(operand.dtype) if operand else mode.width * 8 // MN_BITS


# -- remarks ---------------------------------------------------------------------------------------


def _bits(value: int | None) -> list[str]:
    bits = [] if value is None else reserved_bits(value)
    if not bits:
        return []
    named, it = bits_set(bits)
    return [f"{named}: Hopper passes {it} over{_of_blackwell(value or 0, bits)}"]


def _of_blackwell(value: int, bits: Sequence[int]) -> str:
    """What Blackwell has in bits that Hopper passes over."""
    version = VERSION.of(value)
    if VERSIONS.get(version) == "tcgen05":
        return "; bits 48-46 are the version of Blackwell's descriptors, which --engine tcgen05 reads"
    if version:
        return (
            f"; bits 48-46, the version of Blackwell's descriptors, are {version:#05b}, and theirs is 0b001"
        )
    held = [what for bit, what in _BLACKWELLS.items() if bit in bits]
    return f"; Blackwell's have {' and '.join(held)}, with 0b001 in bits 48-46" if held else ""


_BLACKWELLS = {52: "the mode of LBO in bit 52", 61: "the swizzle mode from bit 61 on"}


def _about_the_operand(descriptor: Descriptor, operand: Operand) -> list[str]:
    told = []
    found = pieces(descriptor, **operand.asked)
    if len(found) > 1:
        atom = _long(descriptor.mode, operand)
        told.append(f"{operand.rows} rows end inside an atom of {atom}: what is read is {len(found)} layouts")
    _, last = extremes(descriptor, **operand.asked)
    return [*told, *past_the_end(last, SHARED_END), *shared_bytes(found, DType.of(operand.dtype))]
