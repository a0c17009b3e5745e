"""Banks as colours: the corner of a tile of shared memory, and the phases of a request.

The banks of shared memory are coloured four by four: a chunk of 16 bytes lies in banks 4 c to 4 c + 3, and c
is its colour. A column of one colour is a column of conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewise.check.banks import MARKS, NOTHING, Phase, drawing_of
from tilewise.core.axes import STORAGE
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.core.units import unit_bits
from tilewise.hardware.memory.banks import WAVEFRONT
from tilewise.hardware.modes import CHUNK
from tilewise.pictures.grid import Cell, Grid, grid_of
from tilewise.pictures.scene.model import Colour, Term
from tilewise.pictures.terminal import PALETTE, Line, Piece

ROWS = COLUMNS = 8
CHUNKS = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that one wavefront moves, each in four banks of its own."""

_BITS = 8 * CHUNK
_WIDE = 1 << 30
"""The drawing cuts the corner to the room that it has."""


def corner_of(layout: Layout, dtype: DType | None = None, base: int = 0) -> Grid:
    """Return the first eight rows and columns of a layout; of a tile of shared memory coloured by banks.

    >>> from tilewise import S
    >>> corner = corner_of(S[(16, 64) : (64, 1)], DType.of("f32"))
    >>> [cell.text for cell in corner.cells[1]], [cell.colour for cell in corner.cells[1]]
    (['64', '65', '66', '67', '68', '69', '70', '71'], [0, 0, 0, 0, 1, 1, 1, 1])
    """
    tile = dtype is not None and _is_in_memory(layout)
    colour = Colour(_chunk(layout, dtype, base), "by bank") if tile and dtype is not None else None
    grid = grid_of(layout, width=_WIDE, colour=colour, most=(ROWS, COLUMNS))
    return replace(grid, key=f"{layout.axes[0]}, coloured by bank" if tile else grid.key, note="")


def _is_in_memory(layout: Layout) -> bool:
    """Return whether a layout is a tile [rows, columns] of memory in one copy."""
    one_axis = len(layout.axes) == 1 and layout.axes[0].kind == STORAGE
    return one_axis and not layout.replica and len(extents_of(layout.shape)) == 2


def _chunk(layout: Layout, dtype: DType, base: int) -> Term:
    """Return the four banks in which an element begins, of eight such groups, out of its place."""
    bits = unit_bits(layout.unit, dtype)
    return Term(layout.axes[0].name, -8 * base, scale=bits, divide=_BITS, modulo=CHUNKS)


def chunks_of(layout: Layout, dtype: DType, base: int = 0) -> Grid | None:
    """Return eight rows of a tile, a cell for each 16 bytes: n where they lie in banks 4 n to 4 n + 3.

    Rows run along the mode that is contiguous; None where neither keeps 16 bytes together.

    >>> from tilewise import S, Swizzle
    >>> grid = chunks_of(Swizzle(3, 3, 3) @ S[(16, 64) : (64, 1)], DType.of("bf16"))
    >>> for row in grid.cells[:3]:
    ...     print(*(cell.text for cell in row))
    0 1 2 3 4 5 6 7
    1 0 3 2 5 4 7 6
    2 3 0 1 6 7 4 5
    """
    layout = by_coordinates(layout)
    if not _is_in_memory(layout):
        return None
    bits, rule = unit_bits(layout.unit, dtype), _chunk(layout, dtype, base)
    (many, wide), each = extents_of(layout.shape), _BITS // dtype.bits

    def cell(first: int, step: int) -> Cell | None:
        """Return the cell of 16 bytes of elements, `step` apart; None where they are no chunk of memory."""
        start, *places = (layout.points(first + step * i)[0][0] for i in range(each))
        runs = all(at * bits == start * bits + dtype.bits * i for i, at in enumerate(places, 1))
        chunk = rule(start)
        return Cell(str(chunk), chunk) if runs and (8 * base + start * bits) % _BITS == 0 else None

    for name, rows, down, extent, step in (("row", many, wide, wide, 1), ("column", wide, 1, many, wide)):
        starts = range(0, min(extent, CHUNKS * each), each) if extent % each == 0 else range(0)
        lines = [[cell(row * down + at * step, step) for at in starts] for row in range(min(rows, ROWS))]
        cells = tuple(tuple(found for found in line if found is not None) for line in lines)
        if starts and all(len(line) == len(starts) for line in cells):
            return Grid(
                title=str(layout.in_bits(dtype)),
                key=f"16 B of a {name} a cell, n: banks 4n..4n+3",
                row_labels=tuple(map(str, range(len(cells)))),
                column_labels=tuple(map(str, starts)),
                cells=cells,
                note="",
            )
    return None


def phase_lines(phase: Phase) -> Iterator[Line]:
    """Return lines with a row for each lane and a column for each bank; a colour is a wavefront.

        postcondition  without colours they are the lines of `drawing_of`

    >>> from tilewise.check.banks import counted
    >>> _, line, _, _ = phase_lines(counted("ld", 4, [0, 128]).phases[0])
    >>> line[:3]
    (Piece(text='lane  0 ', role='dim'), Piece(text='1 ', role='c0'), Piece(text='. ', role='dim'))
    """
    drawing = drawing_of(phase)
    head, *_, foot = drawing.lines()
    yield (Piece(head, "dim"),)
    for lane, row in zip(drawing.lanes, drawing.cells, strict=True):
        yield (Piece(f"lane {lane:>2} ", "dim"), *map(_cell, row))
    yield (Piece(foot, "dim"),)


def _cell(wavefront: int | None) -> Piece:
    if wavefront is None:
        return Piece(f"{NOTHING} ", "dim")
    return Piece(f"{MARKS[wavefront]} ", f"c{wavefront % len(PALETTE)}")
