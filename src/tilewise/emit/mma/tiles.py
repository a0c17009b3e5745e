"""The tiles that a kernel takes where none is asked for: swizzled, so that banks do not conflict.

Lines of the operand, as they are contiguous in global memory, are cut into rows of up to 128 bytes. What the
swizzle keeps together is what four neighbouring lanes move of a row: 16 bytes where matrices are moved, 32
where each lane has 8 bytes of its own, or 8 rows of 4 bytes lie side by side, 64 where it has 16. Where lanes
load single bytes it is 16 bytes again, exchanged by every fourth line.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, as_vector

BYTE = 8
ROWS = (128, 64, 32, 16)
"""Bytes of a row, the widest first."""


def usual(dtype: DType, major: str, rows: int, k: int) -> Layout:
    """The tile [rows, K] of an operand that is K-major or MN-major.

    >>> print(usual(DType.of("f16"), "k", 128, 32))
    Swizzle<2,3,3> o S[(128, (1, 32)) : (32, (4096, 1))]
    >>> print(usual(DType.of("f64"), "mn", 64, 8))
    Swizzle<2,2,2> o S[((4, 16), 8) : ((128, 1), 16)]
    """
    if dtype.bits == BYTE and major == "mn":
        return _tile(dtype, major, rows, k, 16, 4)
    return _tile(dtype, major, rows, k, 32 if dtype.bits == 64 or (dtype.bits, major) == (32, "mn") else 16)


def usual_result(dtype: DType, m: int, n: int) -> Layout:
    """The tile [M, N] of D, of which each lane has pairs of neighbours of a row.

    >>> print(usual_result(DType.of("f32"), 64, 64))
    Swizzle<2,3,2> o S[(64, (2, 32)) : (32, (2048, 1))]
    """
    return _tile(dtype, "k", m, n, dtype.bits)


def _tile(dtype: DType, major: str, rows: int, k: int, together: int, every: int = 1) -> Layout:
    """Rows of `every` so many lines are exchanged by what keeps `together` bytes."""
    line, lines = (k, rows) if major == "k" else (rows, k)
    width = next((width for width in ROWS if line * dtype.bits % (width * BYTE) == 0), 0)
    row = width * BYTE // dtype.bits or line
    extents, strides = (line // row, row), (lines * row, 1)
    shape = (lines, extents) if major == "k" else (extents, lines)
    steps = (row, *strides) if major == "k" else (*strides, row)
    layout = Layout(shape, tuple(map(as_vector, steps)))
    keeps = together.bit_length() - 1
    bits = min((width // together).bit_length() - 1, 2 if every > 1 else 3)
    if bits <= 0:
        return layout
    by = (max(128, width * every) if every > 1 else 128).bit_length() - 1 - keeps
    return layout.swizzled((Swizzle(bits, keeps, by).scaled(BYTE, dtype.bits),), Vector(()))
