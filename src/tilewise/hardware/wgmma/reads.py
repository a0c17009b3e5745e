"""What any descriptor reads: the byte of every element of an operand, legal or odd.

The tensor core reads core matrices of 8 rows of 16 bytes. The descriptor says how far they are apart:

    K-major,  none      row r, chunk c of K     start + (r / 8) SBO + c LBO + (r % 8) 16
    K-major,  W bytes                           start + (r / 8) SBO + c 16  + (r % 8) W
    MN-major, none      chunk c of rows, k      start + c SBO + (k / 8) LBO + (k % 8) 16
    MN-major, W bytes   w = W / 16              start + (c / w) LBO + (c % w) 16 + (k / 8) SBO + (k % 8) W

and the swizzle of the mode acts on the sum, in a pattern that begins at 128 bytes times the base offset:

    byte = Sw(sum - 128 b) + 128 b

`FINDINGS` names what of this the documents do not say, and the hardware does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.algebra.slicing import Piece, Slices
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode as Extents
from tilewise.core.vectors import as_vector
from tilewise.hardware.limits import SM_SHARED_BYTES
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.wgmma.descriptor import BASE_UNIT, Descriptor
from tilewise.hardware.wgmma.instructions import Input, M, check_operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Asked(TypedDict):
        """What a descriptor is read for: the keywords of `reads`."""

        dtype: str
        major: str
        operand: str
        n: int


Digits = list[tuple[int, int]]
"""(extent, bytes), slowest first."""

SHARED_END = SM_SHARED_BYTES
"""The first byte past the shared memory of an SM: a window that begins with the system's 1 KiB."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the model that no document says: what it says, what asks the hardware, who answered."""

    name: str
    says: str
    asked: str
    confirmed: str = "device: H200"


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
    rows, along, across = _walk(descriptor, dtype, major, operand, n)
    whole = _placed(descriptor, along, across)
    if _size(along) == rows:
        return Slices((Piece(((0, rows), (0, _size(across))), whole),))
    found = whole.slice((0, rows))
    return Slices(Piece(piece.box, piece.layout.coalesce(by_mode=True)) for piece in found)


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
    rows, along, across = _walk(descriptor, dtype, major, operand, n)
    for index, extent, name in ((row, rows, "row"), (k, _size(across), "k")):
        if not 0 <= as_int(index, name) < extent:
            raise LayoutError("TW201", f"{name} {index} is outside 0..{extent - 1} of the operand")
    return _swizzled(descriptor, descriptor.start + _steps(row, along) + _steps(k, across))


def addresses(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> list[list[int]]:
    """The byte of every element, row by row: [rows][K].

    >>> addresses(Descriptor(sbo=1024, mode="128B"), dtype="tf32", n=8)[1]
    [144, 148, 152, 156, 128, 132, 136, 140]
    """
    rows, along, across = _walk(descriptor, dtype, major, operand, n)
    moved, source, shift = _moved(descriptor), descriptor.mode.swizzle.source, descriptor.mode.swizzle.shift
    columns = [_steps(k, across) for k in range(_size(across))]
    starts = [descriptor.start + _steps(row, along) for row in range(rows)]
    sums = ([start + column for column in columns] for start in starts)
    return [[byte ^ ((byte - moved & source) >> shift) for byte in row] for row in sums]


def unread(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> tuple[str, ...]:
    """The fields that say nothing here: any other value of them reads the same bytes.

    >>> unread(Descriptor(sbo=1024, mode="128B"), dtype="f16", n=64)
    ('lbo',)
    >>> unread(Descriptor(), dtype="f16", major="mn", n=8)
    ('sbo', 'base_offset')
    """
    _, along, _ = _walk(descriptor, dtype, major, operand, n)
    mode = descriptor.mode
    one_step = along[0][0] == 1
    silent = {"base_offset"} if not mode.bits else set()
    if major == "k":
        silent |= {"sbo"} if one_step else set()
        silent |= {"lbo"} if mode.bits else set()
    elif one_step:
        silent |= {"lbo"} if mode.bits else {"sbo"}
    return tuple(name for name in ("lbo", "sbo", "base_offset") if name in silent)


def extremes(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> tuple[int, int]:
    """The first and the last byte that is read.

    >>> extremes(Descriptor(start=1024, sbo=1024, mode="128B"), dtype="f16", n=16)
    (1024, 3071)
    """
    element = DType.of(dtype)
    found = pieces(descriptor, dtype=element, major=major, operand=operand, n=n)
    ends = [piece.layout.extremes("m") for piece in found]
    return min(low for low, _ in ends), max(high for _, high in ends) + max(element.bits // 8, 1) - 1


# -- the walk --------------------------------------------------------------------------------------


def _walk(
    descriptor: Descriptor, dtype: DType | str, major: str, operand: str, n: int
) -> tuple[int, Digits, Digits]:
    """(rows, digits of the row, digits of k); the row's may go on to the end of the last atom."""
    of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
    row = Input.of(dtype)
    row.check_major(major)
    row.check_n(n)
    rows = M if check_operand(operand) == "A" else n
    along = _k_major if major == "k" else _mn_major
    return rows, *along(descriptor, row.dtype, rows)


def _k_major(descriptor: Descriptor, dtype: DType, rows: int) -> tuple[Digits, Digits]:
    mode = descriptor.mode
    down, across = (mode.width, CHUNK) if mode.bits else (CHUNK, descriptor.lbo)
    return [(rows // ROWS, descriptor.sbo), (ROWS, down)], [(2, across), *_inside_a_chunk(dtype)]


def _mn_major(descriptor: Descriptor, dtype: DType, rows: int) -> tuple[Digits, Digits]:
    mode, inside = descriptor.mode, _inside_a_chunk(dtype)
    chunks = rows // inside[0][0]
    if not mode.bits:
        return [(chunks, descriptor.sbo), *inside], [(2, descriptor.lbo), (ROWS, CHUNK)]
    together = min(mode.chunks, chunks)
    columns = [(2, descriptor.sbo), (ROWS, mode.width)]
    return [(-(-chunks // together), descriptor.lbo), (together, CHUNK), *inside], columns


def _inside_a_chunk(dtype: DType) -> Digits:
    """The elements of 16 bytes, each at the byte that holds it."""
    if dtype.bits >= 8:
        return [(CHUNK * 8 // dtype.bits, dtype.bits // 8)]
    return [(CHUNK, 1), (8 // dtype.bits, 0)]


def _placed(descriptor: Descriptor, rows: Digits, columns: Digits) -> Layout:
    shape: tuple[Extents, ...] = tuple(tuple(extent for extent, _ in digits) for digits in (rows, columns))
    strides = tuple(as_vector(step) for _, step in (*rows, *columns))
    moved = _moved(descriptor)
    layout = Layout(shape, strides, offset=as_vector(descriptor.start - moved), unit="byte")
    swizzles = (descriptor.mode.swizzle,) if descriptor.mode.bits else ()
    return layout.swizzled(swizzles, as_vector(moved))


def _swizzled(descriptor: Descriptor, address: int) -> int:
    moved = _moved(descriptor)
    return descriptor.mode.swizzle(address - moved) + moved


def _moved(descriptor: Descriptor) -> int:
    """Bytes that the pattern is moved by."""
    return BASE_UNIT * descriptor.base_offset if descriptor.mode.bits else 0


def _steps(index: int, digits: Digits) -> int:
    total = 0
    for extent, step in reversed(digits):
        index, digit = divmod(index, extent)
        total += digit * step
    return total


def _size(digits: Digits) -> int:
    return prod(extent for extent, _ in digits)
