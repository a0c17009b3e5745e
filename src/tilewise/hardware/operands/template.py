"""The steps of a tensor core through an operand [rows, K], mode by mode: the documents' table as data.

It reads core matrices of 8 rows of 16 bytes. Along the contiguous direction it counts chunks of 16 bytes;
across it, rows (K-major) or columns of K (MN-major). A step is a number of bytes, or the field that holds it:

                     along, in chunks                        across
    K-major,  none   LBO                                     8 of 16 bytes, then SBO
    K-major,  W      16 bytes                                8 of W bytes, then SBO
    MN-major, none   SBO                                     8 of 16 bytes, then LBO
    MN-major, W      W / 16 of 16 bytes, then LBO            R of W bytes, then SBO

with R the rows of the mode's atom, 8 or 4. The bytes that a descriptor reads, the fields that it does not
read, and the match of a tile all follow from this table.

The fields of every descriptor, which count 16 bytes:

    13-0     start          bits 17-4 of the address
    29-16    lbo            leading dimension byte offset / 16
    45-32    sbo            stride dimension byte offset / 16
    51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period

A tile is whole atoms, one after another, down one direction first, `order`. The atom of a mode is `mode.rows`
deep across the major direction, 8 or 4, and `mode.elements` long along it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, number_text
from tilewise.hardware.fields import WORD_BITS, Field
from tilewise.hardware.modes import CHUNK, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeVar

    T = TypeVar("T")

    Digits = list[tuple[int, int]]
    """(extent, bytes), slowest first."""

    Steps = list[tuple[int, int | str]]
    """(extent, bytes or the name of a field), slowest first."""

ORDERS = ("mn", "k")
MAJORS = ("k", "mn")
OPERANDS = ("A", "B")

FIELD_BITS = 14
LIMIT = CHUNK << FIELD_BITS
"""Byte offsets and addresses are below 2^18."""

BASE_UNIT = 128
"""Bytes that one unit of the base offset moves the pattern by."""

BASE_OFFSETS = 8
"""The number of base offsets."""

START = Field("start", 0, FIELD_BITS, CHUNK, "matrix start address")
LBO = Field("lbo", 16, FIELD_BITS, CHUNK, "leading dimension byte offset")
SBO = Field("sbo", 32, FIELD_BITS, CHUNK, "stride dimension byte offset")
BASE_OFFSET = Field("base_offset", 49, 3, 1, "matrix base offset")

SWIZZLED_K_MAJOR_LBO = CHUNK
"""The number written where LBO is not read: the document assumes 1 of 16 bytes, and CUTLASS writes it."""


@dataclass(frozen=True, slots=True)
class Template:
    """One row of the table, for a number of rows or columns and of chunks of 16 bytes.

    >>> found = template(Mode.of("64B"), "mn", across=16, chunks=8)
    >>> found.along, found.across
    ([(2, 'lbo'), (4, 16)], [(2, 'sbo'), (8, 64)])
    >>> found.unread
    ()
    """

    mode: Mode
    major: str
    along: Steps
    """In chunks of 16 bytes. Rows may end inside the last atom."""
    across: Steps

    @property
    def firsts(self) -> Iterator[tuple[str, int, int, int | str]]:
        """Yield (direction, index of the first step, extent, step) of every digit, the fastest first."""
        for direction, digits in (("along", self.along), ("across", self.across)):
            index = 1
            for extent, step in reversed(digits):
                yield direction, index, extent, step
                index *= extent

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the fields of which any other value reads the same bytes."""
        read = {step for extent, step in (*self.along, *self.across) if extent > 1}
        read |= {"base_offset"} if self.mode.bits else set()
        return tuple(name for name in ("lbo", "sbo", "base_offset") if name not in read)

    def numbers(self, fields: Mapping[str, int]) -> tuple[Digits, Digits]:
        """Return the digits along and across with the bytes that the fields hold."""
        along, across = (
            [(extent, fields[step] if isinstance(step, str) else step) for extent, step in digits]
            for digits in (self.along, self.across)
        )
        return along, across


def template(mode: Mode, major: str, across: int, chunks: int) -> Template:
    """Return the row of the table of a mode and a major.

    >>> template(Mode.of("none"), "k", across=64, chunks=2).across
    [(8, 'sbo'), (8, 16)]
    """
    if not mode.bits:
        leading, stride = ("lbo", "sbo") if major == "k" else ("sbo", "lbo")
        return Template(mode, major, [(chunks, leading)], [(across // mode.rows, stride), (mode.rows, CHUNK)])
    along: Steps = [(chunks, CHUNK)]
    if major == "mn":
        atom = min(mode.chunks, chunks)
        along = [(-(-chunks // atom), "lbo"), (atom, CHUNK)]
    return Template(mode, major, along, [(across // mode.rows, "sbo"), (mode.rows, mode.width)])


def leading_and_stride(mode: Mode, major: str, down: T, across: T) -> tuple[T | None, T]:
    """Return (LBO, SBO) of patterns `down` apart along the rows and `across` along K; None for no LBO.

    These are the manual's two definitions. Its "pattern" is the atom, or a core matrix without a swizzle.

    >>> [leading_and_stride(Mode.of(mode), "mn", "rows", "K") for mode in ("none", "64B")]
    [('K', 'rows'), ('rows', 'K')]
    >>> [leading_and_stride(Mode.of(mode), "k", "rows", "K") for mode in ("none", "64B")]
    [('K', 'rows'), (None, 'rows')]
    """
    if not mode.bits:
        return across, down
    return (None, down) if major == "k" else (down, across)


# -- words ---------------------------------------------------------------------------------------------


def check_major_word(major: str) -> str:
    """Return `major`, which is k or mn."""
    if major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: " + " ".join(MAJORS))
    return major


def check_operand(operand: str) -> str:
    """Return `operand`, which is A or B."""
    if operand not in OPERANDS:
        known = "known: " + " ".join(OPERANDS)
        of_d = '; D is in registers or in tensor memory: engine="mma" stores a tile of it, tmem loads it'
        hint = known + of_d * (operand in ("C", "D"))
        raise LayoutError("TW601", f"{operand!r} is no operand in shared memory", hint=hint)
    return operand


# -- the numbers in fields -----------------------------------------------------------------------------


def base_offset_of(pattern: int, mode: Mode | str) -> int:
    """Return the base offset for a swizzle pattern that starts at a byte address, by the document's formula.

        requires       the pattern starts at a multiple of 128, or of 16 where nothing is swizzled
        postcondition  0 where the pattern is aligned, else (pattern >> 7) & 7

    Only the pattern's start matters. A descriptor that starts inside a tile, because it steps along K or
    begins at a later row, still reads the tile's pattern, and has the tile's base offset.

    >>> base_offset_of(1024, "128B"), base_offset_of(1280, "128B"), base_offset_of(512, "64B")
    (0, 2, 0)
    """
    mode = Mode.of(mode) if isinstance(mode, str) else mode
    pattern = as_int(pattern, "the start of the pattern")
    unit = BASE_UNIT if mode.bits else CHUNK
    if pattern % unit:
        raise Refused(
            "TW605",
            f"a {mode} pattern that starts at {pattern:#x} has no base offset: it counts {unit} bytes",
            witness={"address": pattern, "rest": pattern % unit},
            hint=f"align the buffer to {mode.period} bytes, and the base offset is 0",
        )
    return 0 if pattern % mode.period == 0 else pattern // BASE_UNIT % BASE_OFFSETS


def check_word(value: int) -> int:
    """Return a number of 64 bits."""
    value = as_int(value, "a descriptor")
    if not 0 <= value < 1 << WORD_BITS:
        spelled = f"{value:#x}" if abs(value) < 1 << 2 * WORD_BITS else number_text(value)
        raise LayoutError("TW604", f"{spelled} is no number of 64 bits", hint="a descriptor has 64")
    return value


def check_base_offset(count: int) -> int:
    """Return a base offset that its 3 bits hold."""
    if not 0 <= count < BASE_OFFSETS:
        raise LayoutError(
            "TW604",
            f"a base offset of {count} does not fit 3 bits",
            hint="it is (address of the pattern >> 7) & 7",
        )
    return count


def check_bytes(name: str, count: int) -> int:
    """Return bytes that a field of 14 bits holds: a multiple of 16 below 2^18."""
    if 0 <= count < LIMIT and count % CHUNK == 0:
        return count
    if 0 <= count < LIMIT:
        below = count // CHUNK * CHUNK
        raise LayoutError(
            "TW604",
            f"the descriptor's {name} of {count} bytes is no multiple of 16",
            hint=f"the field counts 16 bytes; the nearest are {below} and {below + CHUNK}; "
            f"{count} as the field counts is {count * CHUNK} bytes",
        )
    hint = f"it lies in 0..{LIMIT - CHUNK}"
    if name == "start" and count >= LIMIT:
        hint = f"the field keeps bits 17-4, which say {count % LIMIT:#x}: give the shared-memory address"
    raise LayoutError(
        "TW604", f"the descriptor's {name} of {count} bytes does not fit its 14 bits of 16 bytes", hint=hint
    )


# -- tiles ---------------------------------------------------------------------------------------------


def extents(mode: Mode, major: str, element: DType) -> tuple[int, int]:
    """Return the rows of an atom, and its elements along K.

    >>> extents(Mode.of("128B"), "k", DType.of("bf16")), extents(Mode.of("64B"), "mn", DType.of("f16"))
    ((8, 64), (32, 8))
    """
    if element.bits > 128 or 128 % element.bits:
        raise Refused(
            "TW602",
            f"{element} has {element.bits} bits, which do not fill 16 bytes",
            witness={"dtype": element.name},
            hint="the atoms hold elements of 1 to 128 bits that divide 128",
        )
    long = mode.width * 8 // element.bits
    return (mode.rows, long) if check_major_word(major) == "k" else (long, mode.rows)


def spacing(mode: Mode, major: str, element: DType, rows: int, k: int, order: str = "mn") -> tuple[int, int]:
    """Return the bytes from an atom of a tile to the next along the rows, and to the next along K.

    >>> spacing(Mode.of("128B"), "k", DType.of("bf16"), 128, 128)
    (1024, 16384)
    """
    deep_rows, deep_k = extents(mode, major, element)
    size = mode.rows * mode.width
    return (size, size * (rows // deep_rows)) if order == "mn" else (size * (k // deep_k), size)


def tile_digits(
    mode: Mode, major: str, element: DType, rows: int, k: int, order: str = "mn"
) -> tuple[Digits, Digits]:
    """Return the digits of a tile's rows and of its K in bits, before the swizzle: the atom, and inside it.

        requires       the tile is a whole number of atoms both ways

    >>> tile_digits(Mode.of("128B"), "k", DType.of("u8"), 128, 128)
    ([(16, 8192), (8, 1024)], [(1, 131072), (128, 8)])
    """
    deep_rows, deep_k = extents(mode, major, element)
    for extent, deep, name in ((rows, deep_rows, "rows"), (k, deep_k, "elements along K")):
        if as_int(extent, name) < 1 or extent % deep:
            raise Refused(
                "TW603",
                f"{extent} {name} are no whole number of {mode} atoms, which are {deep_rows} x {deep_k}",
                witness={"mode": mode.name, "atom": [deep_rows, deep_k], "tile": [rows, k]},
                hint=f"take a multiple of {deep}, or a narrower mode",
            )
    if order not in ORDERS:
        raise LayoutError("TW601", f"{order!r} is no order of atoms", hint="known: mn k")
    far_rows, far_k = spacing(mode, major, element, rows, k, order)
    row, column = (8 * mode.width, element.bits) if major == "k" else (element.bits, 8 * mode.width)
    return [(rows // deep_rows, 8 * far_rows), (deep_rows, row)], [(k // deep_k, 8 * far_k), (deep_k, column)]
