"""The patterns of accesses as layouts: [request, lane, element] to the tile.

Rows, columns and what lanes hold are cut into vectors; ldmatrix and stmatrix have rows of 8 x 8 matrices, and
TMA has chunks in the order of memory. An index past the end of the tile is nobody's: its lane is inactive.

A register fragment, over laneid and reg, and perhaps warps, says who holds which element of one instruction's
part; the tile is cut into such parts, row-major. Each lane moves the elements that it holds, in the order of
its registers, and every warp executes its own requests.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from tilewise.check.access.access import Stored
from tilewise.core.builders import S
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import WAVEFRONT
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.matrices.forms import Form

BELOW = {1: 1, 2: 2, 4: 2}
"""{matrices of an instruction: how many of them are one below the other}."""
LANE, REG = "laneid", "reg"
TOGETHER = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that TMA writes in one wavefront of 128 bytes."""


def in_rows(size: int, elements: int, most: int = LANES) -> Layout:
    """Return vectors of neighbours in row-major order, `most` a request; the last one may have fewer.

    >>> print(in_rows(1024, 8))
    S[(4, 32, 8) : (256, 8, 1)]
    >>> print(in_rows(64, 8))
    S[(1, 8, 8) : (64, 8, 1)]
    """
    lanes = min(most, -(-size // elements))
    together = lanes * elements
    return S[(-(-size // together), lanes, elements) : (together, elements, 1)]


def in_columns(rows: int, columns: int, elements: int) -> Layout:
    """Return vectors along the rows in column-major order: lanes go down the first mode.

    Where a column has fewer than 32 vectors, a request takes whole columns, as many as fit and divide
    them all; where it has more, the last request of each column may have fewer lanes.

        refused  TW610 rows that are no whole number of vectors

    >>> print(in_columns(64, 32, 1))
    S[((32, 2), 32, 1) : ((1, 1024), 32, 1)]
    >>> print(in_columns(8, 64, 2))
    S[(8, (4, 8), 2) : (8, (2, 64), 1)]
    """
    if columns % elements:
        raise Refused(
            "TW610",
            f"a row of {columns} elements is no whole number of vectors of {elements}",
            witness={"rule": "row", "columns": columns, "elements": elements},
            hint="a vector of a column runs along the row, and ends with it",
        )
    across = columns // elements
    if rows > LANES:
        down = -(-rows // LANES)
        return S[((across, down), LANES, elements) : ((elements, LANES * columns), columns, 1)]
    together = max(count for count in range(1, LANES // rows + 1) if across % count == 0)
    steps = (together * elements, (elements, columns), 1)
    return S[(across // together, (together, rows), elements) : steps]


def in_vectors(index: Layout, elements: int) -> Layout:
    """Return [request, lane, element] with so many elements of a lane at once, a request after the other.

        refused  TW610 a lane whose elements are no whole number of vectors; TW503 digits that do not divide

    >>> from tilewise import S
    >>> print(in_vectors(S[(1, 32, 8) : (0, 64, 1)], 4))
    S[(2, 32, 4) : (4, 64, 1)]
    """
    requests, lanes, held = extents_of(index.shape)
    if held == elements:
        return index
    if held % elements:
        raise Refused(
            "TW610",
            f"a lane has {held} elements, no whole number of vectors of {elements}",
            witness={"rule": "held", "elements": held, "vector": elements},
        )
    cut = index.group(requests, lanes, held // elements, elements).permute(0, 2, 1, 3)
    return cut.group(requests * (held // elements), lanes, elements)


# -- matrices --------------------------------------------------------------------------------------------


def in_matrices(stored: Stored, form: Form) -> Layout:
    """Return [request, lane, element of a row] to the tile, which is cut into blocks of one instruction.

    Blocks go row-major. Matrix 1 is below matrix 0, and of four the other two are to their right; a row of a
    matrix runs along the mode that is contiguous in memory.

        refused  TW610 a tile without contiguous rows of 16 bytes, or of no whole number of instructions

    >>> from tilewise import S
    >>> from tilewise.hardware.matrices.forms import Form
    >>> print(in_matrices(Stored.of(S[(32, 32) : (32, 1)], "f16"), Form("ldmatrix", 4)))
    S[((2, 2), (2, 2, 8), 8) : ((512, 16), (8, 256, 32), 1)]
    >>> print(in_matrices(Stored.of(S[(16, 8) : (1, 16)], "f16"), Form("ldmatrix", 2, trans=True)))
    S[((1, 1), (1, 2, 8), 8) : ((128, 8), (8, 64, 1), 8)]
    """
    rows, columns = stored.matrix("matrices are blocks")
    held, rest = divmod(8 * ROW_BYTES, stored.dtype.bits)
    held = 0 if rest else held
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
    shape = (rows // high, columns // broad), (right, below, form.rows), held
    return S[shape : ((high * columns, broad), (wide, tall * columns, across), along)]


def _contiguous_down(stored: Stored, rows: int, columns: int, held: int) -> bool:
    """Return True if the first mode is the contiguous one: its first elements follow one another.

    Those at powers of two tell; that all do is proven when the addresses are.
    """
    first = stored.at(0)
    powers = [1 << bit for bit in range((held - 1).bit_length())]
    for down, extent, step in ((False, columns, 1), (True, rows, columns)):
        if 0 < held <= extent and all(stored.at(step * i) == first + stored.step * i for i in powers):
            return down
    row = [first, stored.at(1) if columns > 1 else None]
    raise Refused(
        "TW610",
        f"no mode of the tile has 16 contiguous bytes: a row of a matrix is {held or 'no whole number of'} "
        f"elements of {stored.dtype} that follow one another",
        witness={"elements": [0, 1], "addresses": row},
        hint="tilewise match --engine mma finds what moves it",
    )


def in_chunks(stored: Stored, elements: int) -> Layout:
    """Return [request, chunk, element]: chunks of 16 bytes in the order of memory, as TMA fills boxes.

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
    (axis,) = stored.layout.axes
    digits, weight = [], stored.size
    for extent, stride in stored.layout.digits:
        weight //= extent
        if extent > 1:
            digits.append((stride[axis], extent, weight))
    order = sorted(digits, key=lambda digit: -digit[0])
    if order == digits or any(stride < 1 for stride, _, _ in digits):
        return lines
    _, extents, weights = zip(*order, strict=True)
    try:
        return S[extents:weights].compose(lines)  # places of memory, before any swizzle, to elements
    except (Refused, NotDecided):
        run = extents[-1] * stored.dtype.bits // 8
        swapped = len(stored.layout.digits) == len(stored.layout.shape) == 2
        raise Refused(
            "TW610",
            f"the tile lies in memory in runs of {run} bytes, and eight chunks of 16 bytes end inside them",
            witness={"run": run},
            hint="ask about the tile with its modes swapped" if swapped else "ask about one box of it",
        ) from None


# -- register fragments ----------------------------------------------------------------------------------


def in_fragments(stored: Stored, fragment: Layout) -> Layout:
    """Return [request, lane, register] to the tile: for each part, and each warp, all that its lanes hold.

        requires  one fragment, over laneid and reg, and axes of warps; of as many elements as the tile it
                  may have more modes, or fewer, that end where the tile's do
        refused   TW610 lanes or registers that hold nothing; a tile of no whole number of parts

    >>> from tilewise import S, laneid, reg
    >>> part = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)].group(8, 8)
    >>> print(in_fragments(Stored.of(S[(16, 16) : (16, 1)], "f32"), part))
    S[((2, 2), (8, 4), 2) : ((128, 8), (16, 2), 1)]
    """
    held, parts = _by_holder(fragment), S[1:0]
    ends, others = (set(accumulate(extents_of(own.shape), mul)) for own in (stored.layout, fragment))
    if fragment.size != stored.size or not (ends <= others or others <= ends):
        rows, columns = stored.matrix("a fragment is a part")
        if len(fragment.shape) != 2:
            raise Refused(
                "TW610",
                f"a fragment has rows and columns, and {spell(fragment.shape)} "
                f"has {len(fragment.shape)} modes",
                hint="tilewise algebra group gives a layout two modes",
            )
        high, wide = extents_of(fragment.shape)
        if rows % high or columns % wide:
            raise Refused(
                "TW610",
                f"one part is {high} x {wide} elements, and the tile has {rows} x {columns}",
                witness={"part": [high, wide], "tile": [rows, columns]},
                hint="" if rows % wide or columns % high else "it has whole parts with its modes swapped",
            )
        parts = S[(rows // high, columns // wide) : (high * columns, wide)]
        held = S[(high, wide) : (columns, 1)].compose(held)
    *warps, lanes, registers = held.shape
    shape = (*parts.shape, *warps), lanes, registers
    return Layout(shape, (*parts.strides, *held.strides), offset=held.offset)


def _by_holder(fragment: Layout) -> Layout:
    """Return [warp, ..., lane, register] to the index in the fragment: its inverse, a mode for each axis."""
    for name in ("tx", "tid_in_wg"):
        if name in fragment.moving:
            fragment = fragment.split_axis(name)
    for axis in fragment.axes:  # warps count from 0; lanes and registers do so anyway
        first = fragment.min(axis)
        if first and axis.name in (LANE, REG):
            raise _idle(f"{min(first, 0)}@{axis}")
        fragment = fragment - along(axis, first)
    if not fragment.holes.none:
        raise _idle(str(fragment.holes.none.witness))
    names = sorted((axis.name for axis in fragment.axes), key=lambda name: (name == LANE) + 2 * (name == REG))
    held = fragment.quasi_inverse(tuple(names))
    if REG in names:
        return held
    return Layout((*held.shape, 1), (*held.strides, ZERO), offset=held.offset)


def _idle(place: str) -> Refused:
    return Refused(
        "TW610",
        f"{place} holds nothing, and the lanes of an instruction move alike",
        witness={"place": place},
        hint="say what they move as a layout: [request, lane, element] to the index in the tile",
    )
