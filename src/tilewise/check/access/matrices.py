"""Accesses of ldmatrix and stmatrix: 8 x 8 matrices of 16-byte rows, a lane for the address of each row.

The tile is cut into blocks of one instruction, row-major. Matrix 1 is below matrix 0, and of four the other
two are to their right; a row of a matrix runs along the mode that is contiguous in memory.
"""

from __future__ import annotations

from tilewise.check.access.stored import Stored
from tilewise.check.access.vectors import in_rows
from tilewise.core.builders import S
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.matrices.forms import Form
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import WAVEFRONT
from tilewise.hardware.modes import CHUNK

BELOW = {1: 1, 2: 2, 4: 2}
"""{matrices of an instruction: how many of them are one below the other}."""
ROW_BITS = 8 * ROW_BYTES
TOGETHER = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that TMA writes in one wavefront of 128 bytes."""


def in_matrices(stored: Stored, form: Form) -> Layout:
    """[request, lane, element of a row] to the tile.

        refused  TW610 a tile without contiguous rows of 16 bytes, or of no whole number of instructions

    >>> from tilewise import S
    >>> print(in_matrices(Stored.of(S[(32, 32) : (32, 1)], "f16"), Form("ldmatrix", 4)))
    S[((2, 2), (2, 2, 8), 8) : ((512, 16), (8, 256, 32), 1)]
    >>> print(in_matrices(Stored.of(S[(16, 8) : (1, 16)], "f16"), Form("ldmatrix", 2, trans=True)))
    S[((1, 1), (1, 2, 8), 8) : ((128, 8), (8, 64, 1), 8)]
    """
    rows, columns = stored.matrix("matrices are blocks")
    held = ROW_BITS // stored.dtype.bits if ROW_BITS % stored.dtype.bits == 0 else 0
    down = _contiguous_down(stored, rows, columns, held)
    tall, wide = (held, form.rows) if down else (form.rows, held)
    below = BELOW[form.count]
    right = form.count // below
    high, broad = tall * below, wide * right
    if rows % high or columns % broad:
        raise Refused(
            "TW610",
            f"one {form.instruction} of {form.count} matrices takes {high} x {broad} elements of "
            f"{stored.dtype}, and the tile has {rows} x {columns}",
            witness={"block": [high, broad], "tile": [rows, columns]},
            hint="fewer matrices, such as x1, take smaller blocks" if form.count > 1 else "",
        )
    along, across = (columns, 1) if down else (1, columns)
    blocks = (rows // high, columns // broad), (high * columns, broad)
    lanes = (right, below, form.rows), (wide, tall * columns, across)
    return S[(blocks[0], lanes[0], held) : (blocks[1], lanes[1], along)]


def in_chunks(stored: Stored, elements: int) -> Layout:
    """[request, chunk, element]: chunks of 16 bytes in the order of memory, as TMA fills boxes; 8 at once.

        refused  TW610 runs of memory that eight chunks neither fill nor divide

    >>> from tilewise import S
    >>> print(in_chunks(Stored.of(S[(8, 64) : (64, 1)], "f16"), 8))
    S[(8, 8, 8) : (64, 8, 1)]
    >>> print(in_chunks(Stored.of(S[(64, 8) : (1, 64)], "f16"), 8))
    S[(8, 8, 8) : (1, 64, 8)]
    >>> print(in_chunks(Stored.of(S[(8, (4, 16)) : (16, (128, 1))], "f16"), 8))
    S[((4, 2), (4, 2), 8) : ((16, 256), (64, 8), 1)]
    """
    lines = in_rows(stored.size, elements, TOGETHER)
    memory = _in_order_of_memory(stored)
    if memory is None:
        return lines
    try:
        return memory.compose(lines)
    except (Refused, NotDecided):
        raise _uneven(stored, memory) from None


def _in_order_of_memory(stored: Stored) -> Layout | None:
    """Places of memory, before any swizzle, to the elements that lie there; None where they are row-major."""
    (axis,) = stored.layout.axes
    digits, weight = [], stored.size
    for extent, stride in stored.layout.digits:
        weight //= extent
        if extent > 1:
            digits.append((stride[axis], extent, weight))
    order = sorted(digits, key=lambda digit: -digit[0])
    if order == digits or any(stride < 1 for stride, _, _ in digits):
        return None
    _, extents, weights = zip(*order, strict=True)
    return S[extents:weights]


def _uneven(stored: Stored, memory: Layout) -> Refused:
    run = memory.digits[-1][0] * stored.dtype.bits // 8
    swapped = len(stored.layout.digits) == len(stored.layout.shape) == 2
    return Refused(
        "TW610",
        f"the tile lies in memory in runs of {run} bytes, and eight chunks of 16 bytes end inside them",
        witness={"run": run},
        hint="ask about the tile with its modes swapped" if swapped else "ask about one box of it",
    )


def _contiguous_down(stored: Stored, rows: int, columns: int, held: int) -> bool:
    """Whether the first mode is the contiguous one: its first elements follow one another.

    Those at powers of two tell; that all do is proven when the addresses are.
    """
    powers = [1 << bit for bit in range((held - 1).bit_length())]
    for down, extent, step in ((False, columns, 1), (True, rows, columns)):
        if held and extent >= held:
            first = stored.at(0)
            if all(stored.at(step * i) == first + stored.step * i for i in powers):
                return down
    row = [stored.at(0), stored.at(1) if columns > 1 else None]
    raise Refused(
        "TW610",
        f"no mode of the tile has 16 contiguous bytes: a row of a matrix is {held or 'no whole number of'} "
        f"elements of {stored.dtype} that follow one another",
        witness={"elements": [0, 1], "addresses": row},
        hint="tilewise match --engine mma finds what moves it",
    )
