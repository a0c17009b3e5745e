"""What any descriptor reads: the byte of every element of an operand, legal or odd.

The tensor core reads core matrices of 8 rows of 16 bytes. The descriptor says how far they are apart:

    K-major,  none      row r, chunk c of K     start + (r / 8) SBO + c LBO + (r % 8) 16
    K-major,  W bytes                           start + (r / 8) SBO + c 16  + (r % 8) W
    MN-major, none      chunk c of rows, k      start + c SBO + (k / 8) LBO + (k % 8) 16
    MN-major, W bytes   w = W / 16              start + (c / w) LBO + (c % w) 16 + (k / 8) SBO + (k % 8) W

and the swizzle of the mode acts on the address, moved by 128 bytes for each unit of the base offset.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode as Extents
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import Input, M, check_operand

BASE_UNIT = 128
"""Bytes that one unit of the base offset moves the pattern by."""

Digits = list[tuple[int, int]]
"""(extent, bytes), slowest first."""


def reads(
    descriptor: Descriptor, *, dtype: DType | str, major: str = "k", operand: str = "B", n: int = 8
) -> Layout:
    """The byte of each element of the operand [rows, K] of one instruction; A has 64 rows, B has n.

    Sub-byte elements are in the byte that holds them. The layout counts bytes.

        requires  n is a whole number of MN-major atoms, or no more than one

    >>> from tilewise.hardware.modes import MODES
    >>> d = Descriptor(sbo=1024, mode=MODES["128B"])
    >>> print(reads(d, dtype="bf16", n=64))
    Swizzle<3,4,3> o S[((8, 8), (2, 8)) : ((1024, 128), (16, 2))]
    """
    row = Input.of(dtype)
    row.check_major(major)
    rows = M if check_operand(operand) == "A" else row.check_n(n)
    along = _k_major if major == "k" else _mn_major
    return _placed(descriptor, *along(descriptor, row.dtype, rows))


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
    return [(chunks // together, descriptor.lbo), (together, CHUNK), *inside], columns


def _inside_a_chunk(dtype: DType) -> Digits:
    """The elements of 16 bytes, each at the byte that holds it."""
    if dtype.bits >= 8:
        return [(CHUNK * 8 // dtype.bits, dtype.bits // 8)]
    return [(CHUNK, 1), (8 // dtype.bits, 0)]


def _placed(descriptor: Descriptor, rows: Digits, columns: Digits) -> Layout:
    shape: tuple[Extents, ...] = tuple(tuple(extent for extent, _ in digits) for digits in (rows, columns))
    strides = tuple(as_vector(step) for _, step in (*rows, *columns))
    moved = BASE_UNIT * descriptor.base_offset if descriptor.mode.bits else 0
    layout = Layout(shape, strides, offset=as_vector(descriptor.start - moved), unit="byte")
    swizzles = (descriptor.mode.swizzle,) if descriptor.mode.bits else ()
    return layout.swizzled(swizzles, as_vector(moved))
