"""Every field of a descriptor in words, for the layout at hand.

LBO and SBO mean other things in each major and mode. This is the document's table, with bytes for its
elements of 128 bits, and rows for what it draws as columns of B:

                     LBO                                      SBO
    K-major,  none   from 16 bytes of K to the next 16        from 8 rows to the next 8
    K-major,  W      not read, assumed to be 1                from 8 rows to the next 8
    MN-major, none   from 8 of K to the next 8                from 16 bytes of rows to the next 16
    MN-major, W      from W bytes of rows to the next W       from 8 of K to the next 8
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.core.dtypes import DType
from tilewise.hardware.modes import CHUNK, ROWS, Mode
from tilewise.hardware.sources import PTX_STRIDES
from tilewise.hardware.wgmma.descriptor import BASE_UNIT, FIELDS, Descriptor, reserved_bits
from tilewise.hardware.wgmma.instructions import M, check_major_word
from tilewise.hardware.wgmma.reads import SHARED_END, extremes, pieces, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.wgmma.reads import Asked

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


@dataclass(frozen=True, slots=True)
class Said:
    """One field in words."""

    name: str
    where: str
    bytes: int | None
    """Its bytes; None where it counts none."""
    encoded: int
    read: bool
    says: str


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
        "start": "the first byte of the operand",
        "lbo": silent.get("lbo") or _lbo(mode, major, operand),
        "sbo": silent.get("sbo") or _sbo(mode, major),
        "base_offset": silent.get("base_offset") or _base_offset(descriptor),
        "mode": f"{mode}: {mode.swizzle} on byte addresses" if mode.bits else "none: nothing is swizzled",
    }
    counts_bytes = {field.name for field in FIELDS if field.unit == CHUNK}
    return tuple(
        Said(
            field.name,
            field.where,
            encoded[field.name] * CHUNK if field.name in counts_bytes else None,
            encoded[field.name],
            field.name not in silent,
            says[field.name],
        )
        for field in FIELDS
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
    silent = ignored(descriptor, major, operand)
    return replace(
        descriptor,
        lbo=0 if "lbo" in silent else descriptor.lbo,
        sbo=0 if "sbo" in silent else descriptor.sbo,
        base_offset=0 if "base_offset" in silent else descriptor.base_offset,
    )


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
    said = [*_bits(value), *_short_sbo(descriptor, major, operand), *_unaligned(descriptor)]
    return tuple(said + (_about_the_operand(descriptor, operand) if operand is not None else []))


# -- sentences -------------------------------------------------------------------------------------


def _silent(descriptor: Descriptor, major: str, operand: Operand | None) -> dict[str, str]:
    """{field: why it is not read}."""
    mode = descriptor.mode
    silent = {}
    if not mode.bits:
        silent["base_offset"] = "not read: nothing is swizzled"
    elif major == "k":
        silent["lbo"] = "not read in this mode and major; 1 is written by custom"
    if operand is None:
        return silent
    rows = "there are no more than 8 rows"
    if major == "mn" and mode.bits:
        rows = f"all {operand.rows} rows lie in one atom of {_long(mode, operand)}"
    found = unread(descriptor, **operand.asked)
    return {name: silent.get(name, f"not read: {rows}") for name in found}


def _lbo(mode: Mode, major: str, operand: Operand | None) -> str:
    if major == "k":
        elements = f" ({CHUNK * 8 // DType.of(operand.dtype).bits} elements)" if operand else ""
        return f"from the first 16 bytes of K{elements} to the next 16"
    if not mode.bits:
        return "from the first 8 of K to the next 8"
    long = _long(mode, operand)
    return f"from the first {long} rows ({mode.width} bytes) to the next {long}"


def _sbo(mode: Mode, major: str) -> str:
    if major == "mn" and mode.bits:
        return "from the first 8 of K to the next 8"
    return "from the first 8 rows" + (" (16 bytes)" if major == "mn" else "") + " to the next 8"


def _base_offset(descriptor: Descriptor) -> str:
    period = descriptor.mode.period
    rest = descriptor.base_offset * BASE_UNIT % period
    beyond = f" {rest} bytes past" if rest else ""
    return f"the swizzle pattern begins{beyond or ' at'} a multiple of {period}"


def _long(mode: Mode, operand: Operand | None) -> int:
    return mode.elements(operand.dtype) if operand else mode.width * 8 // MN_BITS


# -- remarks ---------------------------------------------------------------------------------------


def _bits(value: int | None) -> list[str]:
    bits = [] if value is None else reserved_bits(value)
    if not bits:
        return []
    named, it = (
        (f"reserved bit {bits[0]} is set", "it")
        if len(bits) == 1
        else (f"reserved bits {bits} are set", "them")
    )
    blackwell = "; bits 47-46 are the version in Blackwell's descriptors" if {46, 47} & {*bits} else ""
    return [f"{named}: Hopper passes {it} over{blackwell}"]


def _short_sbo(descriptor: Descriptor, major: str, operand: Operand | None) -> list[str]:
    """K-major rows whose groups of 8 overlap, most often because the field's count was given for bytes."""
    mode, sbo = descriptor.mode, descriptor.sbo
    group = ROWS * mode.width
    if major != "k" or not mode.bits or sbo >= group or "sbo" in ignored(descriptor, major, operand):
        return []
    said = f"{ROWS} rows take {group} bytes and the next {ROWS} begin after {sbo}: they overlap"
    return [said + (f"; {sbo} as the field counts is {group} bytes" if sbo * CHUNK == group else "")]


def _unaligned(descriptor: Descriptor) -> list[str]:
    mode, start = descriptor.mode, descriptor.start
    if not mode.bits or start % mode.period == descriptor.base_offset * BASE_UNIT % mode.period:
        return []
    if descriptor.base_offset:
        begins = descriptor.base_offset * BASE_UNIT % mode.period
        return [
            f"the pattern begins {begins} past a multiple of {mode.period}, and the start is elsewhere: "
            "right for a step inside a tile"
        ]
    own = f"has base offset {start // BASE_UNIT % 8}" if start % BASE_UNIT == 0 else "is not read at all"
    return [
        f"the start is {start % mode.period} past a multiple of {mode.period}: right for a step inside a "
        f"tile that begins at one; a tile that begins here {own}"
    ]


def _about_the_operand(descriptor: Descriptor, operand: Operand) -> list[str]:
    said = []
    found = pieces(descriptor, **operand.asked)
    if len(found) > 1:
        atom = _long(descriptor.mode, operand)
        said.append(f"{operand.rows} rows end inside an atom of {atom}: what is read is {len(found)} layouts")
    _, last = extremes(descriptor, **operand.asked)
    if last >= SHARED_END:
        said.append(
            f"the last byte is {last}, and shared memory ends at {SHARED_END}: it faults, an illegal address"
        )
    if DType.of(operand.dtype).bits >= 8 and len(found) == 1:
        layout = found[0].layout
        verdict = layout.injective
        if verdict.answer is False:
            one, other, place = verdict.witness
            pair = f"{layout.coordinates(one)} and {layout.coordinates(other)}"
            said.append(f"elements (row, k) {pair} share byte {place.as_dict().get('m', 0)}")
    return said
