"""The fields of a descriptor in words, for all engines that have them.

LBO and SBO mean other things in each major and mode. This is the documents' table, with bytes for its
elements of 128 bits, and rows for its columns of B:

                     LBO                                      SBO
    K-major,  none   from 16 bytes of K to the next 16        from 8 rows to the next 8
    K-major,  W      not read, assumed to be 1                from 8 rows to the next 8
    MN-major, none   from 8 of K to the next 8                from 16 bytes of rows to the next 16
    MN-major, W      from W bytes of rows to the next W       from 8 of K to the next 8
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.hardware.modes import CHUNK, ROWS, Mode
from tilewise.hardware.operands.template import BASE_OFFSETS, BASE_UNIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.algebra.slicing import Piece
    from tilewise.hardware.engines import MatrixDescriptor
    from tilewise.hardware.operands.walk import Multiplicand


@dataclass(frozen=True, slots=True)
class Said:
    """One field in words."""

    name: str
    where: str
    bytes: int | None
    """The field's bytes; None where it does not count bytes."""
    encoded: int
    read: bool
    says: str


START_IS = "the first byte of the operand"


def lbo_is(mode: Mode, major: str, in_chunk: int | None, long: int) -> str:
    """Return LBO in words; `in_chunk` elements are 16 bytes, `long` a row of the atom."""
    if major == "k":
        elements = f" ({in_chunk} elements)" if in_chunk else ""
        return f"from the first 16 bytes of K{elements} to the next 16"
    if not mode.bits:
        return "from the first 8 of K to the next 8"
    return f"from the first {long} rows ({mode.width} bytes) to the next {long}"


def sbo_is(mode: Mode, major: str) -> str:
    """Return SBO in words."""
    if major == "mn" and mode.bits:
        return f"from the first {mode.rows} of K to the next {mode.rows}"
    return "from the first 8 rows" + (" (16 bytes)" if major == "mn" else "") + " to the next 8"


def base_offset_is(descriptor: MatrixDescriptor) -> str:
    """Return the base offset in words."""
    period = descriptor.mode.period
    rest = descriptor.base_offset * BASE_UNIT % period
    beyond = f" {rest} bytes past" if rest else ""
    return f"the swizzle pattern begins{beyond or ' at'} a multiple of {period}"


def mode_is(mode: Mode) -> str:
    """Return the mode in words."""
    return f"{mode}: {mode.swizzle} on byte addresses" if mode.bits else "none: nothing is swizzled"


def never_read(mode: Mode, major: str) -> dict[str, str]:
    """Return {field: why no operand of this mode and major reads it}."""
    if not mode.bits:
        return {"base_offset": "not read: nothing is swizzled"}
    if major == "k":
        return {"lbo": "not read in this mode and major; 1 is written by custom"}
    return {}


def few(descriptor: MatrixDescriptor, operand: Multiplicand, long: int, *, of_16_bits: bool) -> str:
    """Return the reason why an operand does not read a field that others read; 16 bytes hold 8 elements of 16
    bits.
    """
    if operand.major == "k" or (of_16_bits and not descriptor.mode.bits):
        return "there are no more than 8 rows"
    if descriptor.mode.bits:
        return f"all {operand.rows} rows lie in one atom of {long}"
    return "there are no more rows than 16 bytes hold"


# -- remarks ---------------------------------------------------------------------------------------


def bits_set(bits: Sequence[int]) -> tuple[str, str]:
    """Return the reserved bits that are set, in words, and the pronoun for them."""
    if len(bits) == 1:
        return f"reserved bit {bits[0]} is set", "it"
    return f"reserved bits {[*bits]} are set", "them"


def overlapping_groups(descriptor: MatrixDescriptor, major: str, silent: Sequence[str]) -> list[str]:
    """Return a note on overlapping K-major groups of 8 rows: often the field's count, taken for bytes."""
    mode, sbo = descriptor.mode, descriptor.sbo
    group = ROWS * mode.width
    if major != "k" or not mode.bits or sbo >= group or "sbo" in silent:
        return []
    told = f"{ROWS} rows take {group} bytes and the next {ROWS} begin after {sbo}: they overlap"
    return [told + (f"; {sbo} as the field counts is {group} bytes" if sbo * CHUNK == group else "")]


def unaligned(descriptor: MatrixDescriptor) -> list[str]:
    """Return a note on a start that is elsewhere than the pattern's."""
    mode, start = descriptor.mode, descriptor.start
    if not mode.bits or start % mode.period == descriptor.base_offset * BASE_UNIT % mode.period:
        return []
    if descriptor.base_offset:
        begins = descriptor.base_offset * BASE_UNIT % mode.period
        return [
            f"the pattern begins {begins} past a multiple of {mode.period}, and the start is elsewhere: "
            "right for a step inside a tile"
        ]
    own = "is not read at all"
    if start % BASE_UNIT == 0:
        own = f"has base offset {start // BASE_UNIT % BASE_OFFSETS}"
    return [
        f"the start is {start % mode.period} past a multiple of {mode.period}: right for a step inside a "
        f"tile that begins at one; a tile that begins here {own}"
    ]


def past_the_end(last: int, end: int) -> list[str]:
    """Return a note on a last byte outside of shared memory."""
    if last < end:
        return []
    return [f"the last byte is {last}, and shared memory ends at {end}: it faults, an illegal address"]


def shared_bytes(pieces: Sequence[Piece], dtype: DType) -> list[str]:
    """Return a note on two elements that are read from one byte, where the operand is one layout."""
    if dtype.bits < 8 or len(pieces) > 1:
        return []
    layout = pieces[0].layout
    verdict = layout.injective
    if verdict.answer is not False:
        return []
    one, other, place = verdict.witness
    pair = f"{layout.coordinates(one)} and {layout.coordinates(other)}"
    return [f"elements (row, k) {pair} share byte {place.as_dict().get('m', 0)}"]
