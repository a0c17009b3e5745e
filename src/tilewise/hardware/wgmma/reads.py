"""What any descriptor reads: the byte of every element of an operand, legal or odd.

The walk is that of all descriptors: see `tilewise.hardware.operands.walk`.
`FINDINGS` names what of this the documents do not say, and the hardware does.
"""

from __future__ import annotations

from tilewise.core.algebra.slicing import Slices
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.limits import SM_SHARED_BYTES
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.operands.findings import Finding
from tilewise.hardware.operands.walk import Walk, ends, inside_a_chunk, unread_fields, walk
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import K_BITS, Input, M, check_operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Asked(TypedDict):
        """What a descriptor is read for: the keywords of `reads`."""

        dtype: str
        major: str
        operand: str
        n: int


SHARED_END = SM_SHARED_BYTES
"""The first byte past the shared memory of an SM: a window that begins with the system's 1 KiB."""


FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "starts inside the atom: multiples of 16 that are none of the period, in every mode and major",
    ),
    Finding(
        "sum",
        "start and offsets are added with carries before the swizzle: none is or-ed in",
        "starts in the last chunk of a row; strides that are no multiple of the period, or of a row",
    ),
    Finding(
        "base offset",
        "a base offset b subtracts b from address bits 9-7 before they are XORed into bits 6-4",
        "base offsets 1 to 7 in each mode, the start aligned and not aligned to the period",
    ),
    Finding("base offset, none", "mode none does not read the base offset", "mode none, base offsets 1 to 7"),
    Finding(
        "lbo", "K-major with a swizzle does not read LBO", "LBO from 0 to 4112 with each swizzle, K-major"
    ),
    Finding(
        "part of an atom",
        "MN-major: rows that end inside an atom read a part of the last one, LBO after the one before",
        "MN-major N of 8 to 256 in every mode, 24, 40, 72, 96 and 160 among them",
    ),
    Finding(
        "past the end",
        "the sum does not wrap at 18 bits: a core matrix past the end of shared memory is an illegal address",
        "LBO and SBO of 2^18 - 1024, starts near the end and past it",
    ),
    Finding(
        "reserved bits",
        "bits 15-14, 31-30, 48-46 and 61-52 change nothing",
        "each of them set alone in mode none, many of them together in every mode",
    ),
)
"""All that the model adds to the documents, in one place."""


def reads(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> Layout:
    """The byte of each element of the operand [rows, K] of one instruction; A has 64 rows, B has n.

    Sub-byte elements are in the byte that holds them. The layout counts bytes.

        requires  one layout says it: n is a whole number of MN-major atoms, or no more than one, or LBO
                  goes on where the atom ends; `pieces` has the exact list for every other n

    >>> from tilewise.hardware.modes import MODES
    >>> d = Descriptor(sbo=1024, mode=MODES["128B"])
    >>> print(reads(d, dtype="bf16", n=64))
    Swizzle<3,4,3> o S[((8, 8), (2, 8)) : ((1024, 128), (16, 2))]
    """
    found = pieces(descriptor, dtype=dtype, major=major, operand=operand, n=n)
    if len(found) == 1:
        return found[0].layout
    (_, first), (_, last) = found[0].box[0], found[-1].box[0]
    raise Refused(
        "TW501",
        f"{last} rows end inside an atom of {descriptor.mode.elements(dtype)}: what is read is "
        f"{len(found)} layouts, not one",
        witness={"rows": [first, last]},
        hint="pieces(...) has each with its box",
    )


def pieces(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> Slices:
    """What is read as an exact list of layouts, each with its box of (row, k).

        postcondition  the boxes are disjoint and cover [rows, K]; at (r, k) of its box, counted from the
                       box's corner, a piece's layout places the byte that is read
        cost           no more with more rows

    >>> d = Descriptor(lbo=1024, sbo=2048, mode="128B")
    >>> for piece in pieces(d, dtype="f16", major="mn", n=96):
    ...     print(piece.box, piece.layout)
    ((0, 64), (0, 16)) Swizzle<3,4,3> o S[(64, (2, 8)) : (2, (2048, 128))]
    ((64, 96), (0, 16)) Swizzle<3,4,3> o (S[(32, (2, 8)) : (2, (2048, 128))] + 1024)
    """
    return _walk(descriptor, dtype, major, operand, n).pieces()


def byte_of(
    descriptor: Descriptor,
    row: int,
    k: int,
    *,
    dtype: DType | str,
    major: str = "k",
    operand: str = "B",
    n: int = 8,
) -> int:
    """The byte of shared memory that is read for the element (row, k).

    >>> byte_of(Descriptor(sbo=1024, mode="128B"), 9, 8, dtype="f16", n=16)
    1152
    """
    walked = _walk(descriptor, dtype, major, operand, n)
    for index, extent, name in ((row, walked.rows, "row"), (k, walked.depth, "k")):
        if not 0 <= as_int(index, name) < extent:
            raise LayoutError("TW201", f"{name} {index} is outside 0..{extent - 1} of the operand")
    return walked.byte(row, k)


def addresses(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> list[list[int]]:
    """The byte of every element, row by row: [rows][K].

    >>> addresses(Descriptor(sbo=1024, mode="128B"), dtype="tf32", n=8)[1]
    [144, 148, 152, 156, 128, 132, 136, 140]
    """
    return _walk(descriptor, dtype, major, operand, n).table()


def unread(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> tuple[str, ...]:
    """The fields that say nothing here: any other value of them reads the same bytes.

    >>> unread(Descriptor(sbo=1024, mode="128B"), dtype="f16", n=64)
    ('lbo',)
    >>> unread(Descriptor(), dtype="f16", major="mn", n=8)
    ('sbo', 'base_offset')
    """
    return unread_fields(descriptor, _walk(descriptor, dtype, major, operand, n), major)


def extremes(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> tuple[int, int]:
    """The first and the last byte that is read.

    >>> extremes(Descriptor(start=1024, sbo=1024, mode="128B"), dtype="f16", n=16)
    (1024, 3071)
    """
    element = DType.of(dtype)
    found = pieces(descriptor, dtype=element, major=major, operand=operand, n=n)
    return ends(found, element)


# -- the walk --------------------------------------------------------------------------------------


def _walk(descriptor: Descriptor, dtype: DType | str, major: str, operand: str, n: int) -> Walk:
    of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
    row = Input.of(dtype)
    row.check_major(major)
    row.check_n(n)
    rows = M if check_operand(operand) == "A" else n
    return walk(descriptor, major, inside_a_chunk(row.dtype), rows, K_BITS // 8 // CHUNK)
