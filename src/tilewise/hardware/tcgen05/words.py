"""Every field of a descriptor in words, for the operand at hand; what it shares with other engines' is in
`tilewise.hardware.operands.sentences`.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.majors import MAJORS, check_major_word
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
from tilewise.hardware.sources import ptx
from tilewise.hardware.tcgen05.descriptor import (
    FIELDS,
    VERSION,
    Descriptor,
    check_absolute,
    reserved_bits,
)
from tilewise.hardware.tcgen05.operand import Operand
from tilewise.hardware.tcgen05.reads import DEEP_BYTES, SHARED_END, extremes, pieces, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOURCE = ptx("Major-ness supported by Strides (tcgen05)", "tcgen05-majorness-supported-by-strides")

MN_BITS = 16
"""Bits of the elements that are spoken of where no type is named."""


def words(descriptor: Descriptor, major: str = "k", operand: Operand | None = None) -> tuple[Said, ...]:
    """Every field, the lowest first; an operand says more: which are not read for so few rows.

    >>> for said in words(Descriptor(lbo=16, sbo=1024, mode="128B")):
    ...     print(said.name, said.bytes, said.encoded, said.says)
    start 0 0 the first byte of the operand
    lbo 16 1 not read in this mode and major; 1 is written by custom
    sbo 1024 64 from the first 8 rows to the next 8
    version None 1 the constant of Blackwell's descriptors
    base_offset None 0 the swizzle pattern begins at a multiple of 1024
    lbo_mode None 0 relative: LBO is an offset
    mode None 2 128B: Swizzle<3,4,3> on byte addresses
    """
    major = check_major_word(major) if operand is None else operand.major
    mode, encoded = descriptor.mode, descriptor.encoded
    silent = _silent(descriptor, major, operand)
    says = {
        "start": START_IS,
        "lbo": silent.get("lbo") or _lbo(descriptor, major, operand),
        "sbo": silent.get("sbo") or sbo_is(mode, major),
        "version": _version(descriptor.version),
        "base_offset": silent.get("base_offset") or base_offset_is(descriptor),
        "lbo_mode": _lbo_mode(descriptor),
        "mode": _mode(mode),
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


def majors_of(descriptor: Descriptor) -> tuple[str, ...]:
    """The majors of operands that such a descriptor is for: absolute mode is K-major alone.

    >>> majors_of(Descriptor(mode="128B")), majors_of(Descriptor(mode="128B", lbo_mode="absolute"))
    (('k', 'mn'), ('k',))
    """
    return MAJORS[:1] if descriptor.absolute else MAJORS


def masked(descriptor: Descriptor, major: str = "k", operand: Operand | None = None) -> Descriptor:
    """The descriptor with 0 in every field that is not read: two that read alike are then equal.

    >>> hex(masked(Descriptor(lbo=16, sbo=1024, mode="128B")).value)
    '0x4000404000000000'
    """
    silent: dict[str, Any] = dict.fromkeys(ignored(descriptor, major, operand), 0)
    return replace(descriptor, **silent)


def remarks(
    descriptor: Descriptor, major: str = "k", operand: Operand | None = None, value: int | None = None
) -> tuple[str, ...]:
    """What a reader should know besides the fields: broken restrictions, overlaps, bits that nothing has.

    >>> for remark in remarks(Descriptor(lbo=1024, mode="64B", lbo_mode="absolute", base_offset=2)):
    ...     print(remark)
    8 rows take 512 bytes and the next 8 begin after 0: they overlap
    absolute LBO mode is of 128B in 16-byte atoms alone, and the mode is 64B
    the pattern begins 256 past a multiple of 512, and the start is elsewhere: right for a step inside a tile
    """
    if operand is not None:
        major = operand.major
    silent = ignored(descriptor, major, operand)
    told = [
        *_fixed(descriptor, value),
        *overlapping_groups(descriptor, major, silent),
        *_absolute(descriptor, major, operand),
        *unaligned(descriptor),
        *([] if "lbo" in silent else _unaligned_second(descriptor)),
    ]
    return tuple(told + (_about_the_operand(descriptor, operand) if operand is not None else []))


# -- sentences -------------------------------------------------------------------------------------


def _silent(descriptor: Descriptor, major: str, operand: Operand | None) -> dict[str, str]:
    """{field: why it is not read}."""
    silent = never_read(descriptor.mode, major)
    if descriptor.absolute:
        silent.pop("lbo", None)
    found = _unread(descriptor, operand)
    if operand is None or found is None:
        return silent
    return {name: silent.get(name) or f"not read: {_few(name, descriptor, operand)}" for name in found}


def _unread(descriptor: Descriptor, operand: Operand | None) -> tuple[str, ...] | None:
    """The fields that the operand does not read; None where the documents say of nothing that it is."""
    try:
        return None if operand is None else unread(descriptor, operand)
    except Refused:
        return None


def _few(name: str, descriptor: Descriptor, operand: Operand) -> str:
    """Why the operand does not read a field that others read."""
    mode = descriptor.mode
    if name == "lbo" and descriptor.absolute:
        return f"K of {operand.bytes} bytes ends in the row of {mode.width} where it begins"
    if operand.major == "k":
        return "there are no more than 8 rows"
    if mode.bits:
        return f"all {operand.rows} rows lie in one atom of {_long(mode, operand)}"
    return "there are no more rows than 16 bytes hold"


def _lbo(descriptor: Descriptor, major: str, operand: Operand | None) -> str:
    if descriptor.absolute:
        if descriptor.mode.name != "128B":
            return "the address of a second chunk, which mode 128B alone has"
        return f"the address of the second chunk: K past the end of a row of {descriptor.mode.width} bytes"
    in_chunk = operand.in_chunk if operand else None
    return lbo_is(descriptor.mode, major, in_chunk, _long(descriptor.mode, operand))


def _version(version: int) -> str:
    if version == VERSION:
        return "the constant of Blackwell's descriptors"
    return f"Blackwell's descriptors have {VERSION} here" + ("; Hopper's have 0" if version == 0 else "")


def _lbo_mode(descriptor: Descriptor) -> str:
    return "absolute: LBO is an address" if descriptor.absolute else "relative: LBO is an offset"


def _mode(mode: Mode) -> str:
    return mode_is(mode) + ("" if mode.keeps == CHUNK or not mode.bits else ", in atoms of 32 bytes")


def _long(mode: Mode, operand: Operand | None) -> int:
    return mode.width * 8 // (operand.stored_bits if operand else MN_BITS)


# -- remarks ---------------------------------------------------------------------------------------


def _fixed(descriptor: Descriptor, value: int | None) -> list[str]:
    """Bits that are constants in every descriptor of Blackwell."""
    told = []
    if descriptor.version != VERSION:
        hopper = ": it is one of Hopper's, which --engine wgmma reads" if not descriptor.version else ""
        told.append(
            f"bits 48-46 are {descriptor.version:#05b}, and {VERSION:#05b} in Blackwell's descriptors{hopper}"
        )
    bits = [] if value is None else reserved_bits(value)
    if bits:
        named, _ = bits_set(bits)
        told.append(f"{named}, and 0 in Blackwell's descriptors")
    return told


def _absolute(descriptor: Descriptor, major: str, operand: Operand | None) -> list[str]:
    """The restriction of absolute mode that is broken, or what it is for."""
    if not descriptor.absolute:
        return []
    try:
        check_absolute(descriptor, major)
    except Refused as broken:
        return [broken.reason]
    if operand is None:
        return [f"absolute LBO mode is of sm_103a, for a K of {DEEP_BYTES} bytes"]
    if operand.bytes == DEEP_BYTES:
        return ["absolute LBO mode is of sm_103a"]
    return [
        f"the document has absolute LBO mode for a K of {DEEP_BYTES} bytes, and this one has {operand.bytes}"
    ]


def _unaligned_second(descriptor: Descriptor) -> list[str]:
    """A second chunk that is elsewhere than its pattern, which begins at a multiple of the period."""
    mode = descriptor.mode
    past = descriptor.lbo % mode.period
    if not descriptor.absolute or mode.name != "128B" or descriptor.base_offset or not past:
        return []
    return [
        f"the second chunk begins {past} past a multiple of {mode.period}, where its pattern begins: "
        "of a tile that begins at one, LBO is one too"
    ]


def _about_the_operand(descriptor: Descriptor, operand: Operand) -> list[str]:
    try:
        found = pieces(descriptor, operand)
    except Refused as refused:
        return [] if refused.code == "TW604" else [refused.reason]
    told = []
    rows = [piece for piece in found if piece.box[1][0] == 0]
    if len(rows) > 1:
        atom = _long(descriptor.mode, operand)
        told.append(f"{operand.rows} rows end inside an atom of {atom}: what is read is {len(rows)} layouts")
    if len(found) > len(rows):
        first, last = found[-1].box[1]
        told.append(f"k {first} to {last - 1} are read from the second chunk: what is read is 2 layouts")
    _, last = extremes(descriptor, operand)
    return [*told, *past_the_end(last, SHARED_END), *shared_bytes(found, DType.of(operand.dtype))]
