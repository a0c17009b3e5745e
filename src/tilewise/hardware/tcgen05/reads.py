"""What a descriptor reads: the byte of every element of an operand, as the documents say it.

The walk is that of all descriptors: see `tilewise.hardware.operands.walk`. Its K is 32 bytes, 48 or 64. In
absolute mode it is two: with the first chunk of 16 bytes at byte p of a row of 128,

    chunk c     p + 16 c < 128    start + 16 c
                else              LBO + p + 16 c - 128

and rows go on in both alike, 128 bytes apart within 8 and SBO from 8 to 8.

Nobody who wrote this had a Blackwell to ask. So what no document says is refused, where Hopper's model says
what an H200 did: a K that begins inside a row of the atom and goes on past it. `FINDINGS` names what of the
model is taken over from Hopper.
"""

from __future__ import annotations

from tilewise.core.algebra.slicing import Piece, Slices
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.limits import SM_SHARED_BYTES
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.operands.findings import Finding
from tilewise.hardware.operands.walk import Digits, Walk, ends, inside_a_chunk, unread_fields, walk
from tilewise.hardware.tcgen05.descriptor import Descriptor, check_absolute
from tilewise.hardware.tcgen05.operand import Operand, check_mode

SHARED_END = SM_SHARED_BYTES
"""The first byte past the shared memory of an SM, which Blackwell has as much of as Hopper."""

DEEP_BYTES = 48
"""The K for which the document has absolute mode."""

_HOPPER = "taken over from Hopper; no document says it, and no Blackwell was asked"

FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "base offset",
        "a base offset b subtracts b from address bits 9-7 before they are XORed into bits 6-4",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "part of an atom",
        "MN-major: rows that end inside an atom read a part of the last one, LBO after the one before",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "second chunk",
        "in absolute mode K past byte 127 of a row is read from LBO on, in rows 128 bytes apart and SBO from "
        "8 to 8",
        "no descriptor",
        "as CUTLASS sets the field: to the next buffer's start, for K = 96 on sm_103a",
    ),
)
"""All that the model adds to the documents, in one place."""


def reads(descriptor: Descriptor, of: Operand) -> Layout:
    """The byte of each element of the operand [rows, K] of one instruction.

        requires  one layout says it; `pieces` has the exact list where not: rows that end inside an MN-major
                  atom, and a K of 48 bytes in two chunks

    >>> d = Descriptor(sbo=1024, mode="128B")
    >>> print(reads(d, Operand("bf16", operand="A", m=128)))
    Swizzle<3,4,3> o S[((16, 8), (2, 8)) : ((1024, 128), (16, 2))]
    """
    found = pieces(descriptor, of)
    if len(found) == 1:
        return found[0].layout
    box = found[-1].box
    witness = {"rows": [*box[0]], "k": [*box[1]]}
    raise Refused(
        "TW501",
        f"what is read is {len(found)} layouts, not one",
        witness=witness,
        hint="pieces(...) has each with its box",
    )


def pieces(descriptor: Descriptor, of: Operand) -> Slices:
    """What is read as an exact list of layouts, each with its box of (row, k).

        postcondition  the boxes are disjoint and cover [rows, K]; at (r, k) of its box, counted from the
                       box's corner, a piece's layout places the byte that is read

    >>> d = Descriptor(start=96, lbo=16384, sbo=1024, mode="128B", lbo_mode="absolute")
    >>> for piece in pieces(d, Operand("e2m1", kind="mxf4", n=64, k=96)):
    ...     print(piece.box, piece.layout)
    ((0, 64), (0, 64)) Swizzle<3,4,3> o (S[((8, 8), (2, 16, 2)) : ((1024, 128), (16, 1, 0))] + 96)
    ((0, 64), (64, 96)) Swizzle<3,4,3> o (S[((8, 8), (1, 16, 2)) : ((1024, 128), (16, 1, 0))] + 16384)
    """
    return _joined(walks(descriptor, of))


def byte_of(descriptor: Descriptor, row: int, k: int, of: Operand) -> int:
    """The byte of shared memory in which the element (row, k) begins.

    >>> byte_of(Descriptor(sbo=1024, mode="128B"), 9, 8, Operand("f16", n=16))
    1152
    """
    for index, extent, name in ((row, of.rows, "row"), (k, of.depth, "k")):
        if not 0 <= as_int(index, name) < extent:
            raise LayoutError("TW201", f"{name} {index} is outside 0..{extent - 1} of the operand")
    for walked in walks(descriptor, of):
        if k < walked.depth:
            return walked.byte(row, k)
        k -= walked.depth
    raise AssertionError("K is covered")


def addresses(descriptor: Descriptor, of: Operand) -> list[list[int]]:
    """The byte in which every element begins, row by row: [rows][K].

    >>> addresses(Descriptor(sbo=1024, mode="128B"), Operand("tf32", n=8))[1]
    [144, 148, 152, 156, 128, 132, 136, 140]
    """
    tables = [walked.table() for walked in walks(descriptor, of)]
    return [[byte for part in parts for byte in part] for parts in zip(*tables, strict=True)]


def unread(descriptor: Descriptor, of: Operand) -> tuple[str, ...]:
    """The fields that say nothing here: any other value of them reads the same bytes.

    >>> unread(Descriptor(sbo=1024, mode="128B"), Operand("f16", n=64))
    ('lbo',)
    """
    return unread_by(descriptor, walks(descriptor, of), of.major)


def extremes(descriptor: Descriptor, of: Operand) -> tuple[int, int]:
    """The first and the last byte that is read.

    >>> extremes(Descriptor(start=1024, sbo=1024, mode="128B"), Operand("f16", n=16))
    (1024, 3071)
    """
    found = pieces(descriptor, of)
    if found[0].layout.unit == "byte":
        return ends(found, DType.of(of.dtype))
    places = [piece.layout.extremes("m") for piece in found]
    last = max(high for _, high in places) + DType.of(of.dtype).bits - 1
    return min(low for low, _ in places) // 8, last // 8


# -- the walks -------------------------------------------------------------------------------------


def walks(descriptor: Descriptor, of: Operand) -> list[Walk]:
    """One walk, or two where K is read in two chunks."""
    of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
    of_kind(of, Operand, "an operand", 'such as Operand("bf16", operand="A", m=128)')
    check_mode(of.dtype, of.major, descriptor.mode)
    chunk, unit = of.chunk
    return walks_of(descriptor, of.major, chunk, of.rows, of.bytes // CHUNK, unit)


def walks_of(
    descriptor: Descriptor, major: str, chunk: Digits, rows: int, chunks: int, unit: str = "byte"
) -> list[Walk]:
    """The walks over so many rows and chunks of 16 bytes, whose elements `chunk` has."""
    check_absolute(descriptor, major)
    scale = 1 if unit == "byte" else 8
    if major == "k" and not descriptor.mode.bits and chunks % 2:
        raise Refused(
            "TW605",
            f"K of {chunks * CHUNK} bytes is no whole number of pairs of 16 bytes, which mode none has",
            witness={"k_bytes": chunks * CHUNK},
            hint="take mode 128B",
        )
    if major == "mn" or not descriptor.mode.bits:
        return [walk(descriptor, major, chunk, rows, chunks, scale)]
    here = min(chunks, (descriptor.mode.width - descriptor.start % descriptor.mode.width) // CHUNK)
    if here < chunks:
        _check_two_chunks(descriptor, chunks)
    found = [walk(descriptor, major, chunk, rows, here, scale)]
    if here < chunks:
        _check_second_chunk(descriptor, CHUNK * (chunks - here))
        second = descriptor.at(descriptor.lbo, 0)
        found.append(walk(second, major, chunk, rows, chunks - here, scale))
    return found


def _check_two_chunks(descriptor: Descriptor, chunks: int) -> None:
    """Refuse a K that goes on past a row of the atom, except as absolute mode has it."""
    mode, start = descriptor.mode, descriptor.start
    if descriptor.absolute and chunks * CHUNK == DEEP_BYTES:
        return
    inside, several = start % mode.width, chunks * CHUNK
    deep = several == DEEP_BYTES
    if deep and mode.name == "128B":
        hint = "put the rest of K elsewhere, and its address into LBO: lbo_mode absolute"
    elif deep:
        hint = "take mode 128B, and where K goes on past a row lbo_mode absolute"
    elif several > mode.width:
        hint = "take mode 64B or 128B"
    else:
        hint = f"let K begin at a multiple of {several} bytes"
    raise Refused(
        "TW605",
        f"K of {several} bytes from byte {inside} of a row of {mode.width} goes on past it, and no document "
        "says what is read there",
        witness={"start": start, "inside": inside, "k_bytes": several, "row": mode.width},
        hint=hint,
    )


def _check_second_chunk(descriptor: Descriptor, several: int) -> None:
    """Refuse a second chunk that does not lie within one row either."""
    width, lbo = descriptor.mode.width, descriptor.lbo
    if lbo % width + several <= width:
        return
    raise Refused(
        "TW605",
        f"the second chunk, of {several} bytes from byte {lbo % width} of a row of {width}, goes on past it",
        witness={"lbo": lbo, "inside": lbo % width, "bytes": several, "row": width},
        hint=f"let LBO be a multiple of {width}, where a row of the next atom begins",
    )


def unread_by(descriptor: Descriptor, walked: list[Walk], major: str) -> tuple[str, ...]:
    """The fields among lbo, sbo and base_offset that some walks do not follow."""
    silent = unread_fields(descriptor, walked[0], major)
    return tuple(name for name in silent if name != "lbo" or len(walked) == 1)


def _joined(walked: list[Walk]) -> Slices:
    """The pieces of all walks, side by side along K."""
    found, first = [], 0
    for one in walked:
        for piece in one.pieces():
            rows, (low, high) = piece.box
            found.append(Piece((rows, (first + low, first + high)), piece.layout))
        first += one.depth
    return Slices(found)


def pieces_of(descriptor: Descriptor, *, dtype: DType | str, major: str, rows: int, k: int) -> Slices:
    """What is read of rows x k elements that lie in memory as `dtype`: no question of instructions.

    >>> pieces_of(Descriptor(sbo=1024, mode="128B"), dtype="b8", major="k", rows=64, k=32)[0].box
    ((0, 64), (0, 32))
    """
    return _joined(_walks_as(descriptor, DType.of(dtype), major, rows, k))


def unread_of(
    descriptor: Descriptor, *, dtype: DType | str, major: str, rows: int, k: int
) -> tuple[str, ...]:
    """The fields of which any other value reads the same bytes, likewise.

    >>> unread_of(Descriptor(sbo=1024, mode="128B"), dtype="b8", major="k", rows=8, k=32)
    ('lbo', 'sbo')
    """
    return unread_by(descriptor, _walks_as(descriptor, DType.of(dtype), major, rows, k), major)


def _walks_as(descriptor: Descriptor, element: DType, major: str, rows: int, k: int) -> list[Walk]:
    return walks_of(descriptor, major, inside_a_chunk(element), rows, k * element.bits // 8 // CHUNK)
