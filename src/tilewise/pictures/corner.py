"""Banks as colours: the corner of a tile of shared memory, and the phases of a request.

The banks of shared memory are coloured four by four: a chunk of 16 bytes lies in banks 4 c to 4 c + 3, and c
is its colour. A column of one colour is a column of conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewise.check.banks import MARKS, NOTHING, Phase, drawing_of
from tilewise.core.axes import STORAGE
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.core.units import converted
from tilewise.hardware.memory.banks import WAVEFRONT
from tilewise.hardware.modes import CHUNK
from tilewise.pictures.grid import Cell, Grid, grid_of
from tilewise.pictures.terminal import PALETTE, Line, Piece

ROWS = COLUMNS = 8
CHUNKS = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that one wavefront moves, each in four banks of its own."""

_BITS = 8 * CHUNK
_WIDE = 1 << 30
"""Who draws the corner cuts it to the room that there is."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The bit of shared memory where each element of a tile begins."""

    bits: Layout
    dtype: DType
    base: int = 0

    @classmethod
    def of(cls, layout: Layout, dtype: DType, base: int = 0) -> Memory | None:
        """The tile at a byte address; None of what is no tile [rows, columns] of memory in one copy."""
        one_axis = len(layout.axes) == 1 and layout.axes[0].kind == STORAGE
        if not one_axis or layout.replica or len(extents_of(layout.shape)) != 2:
            return None
        try:
            return cls(converted(layout, "bit", dtype), dtype, base)
        except LayoutError:
            return None

    def at(self, flat: int) -> int:
        """The bit address of an element."""
        return self.base * 8 + self.bits.points(flat)[0][0]

    def chunk(self, flat: int) -> int:
        """The four banks in which an element begins, of eight such groups."""
        return self.at(flat) // _BITS % CHUNKS

    def together(self, first: int, step: int) -> bool:
        """Whether 16 bytes of elements, `step` apart, are a chunk of 16 bytes from the first one on."""
        start, size = self.at(first), self.dtype.bits
        many = _BITS // size
        return start % _BITS == 0 and all(self.at(first + step * i) == start + size * i for i in range(many))


def corner_of(layout: Layout, dtype: DType | None = None, base: int = 0) -> Grid:
    """The first eight rows and columns of a layout; of a tile of shared memory coloured by banks.

    >>> from tilewise import S
    >>> corner = corner_of(S[(16, 64) : (64, 1)], DType.of("f32"))
    >>> [cell.text for cell in corner.cells[1]], [cell.colour for cell in corner.cells[1]]
    (['64', '65', '66', '67', '68', '69', '70', '71'], [0, 0, 0, 0, 1, 1, 1, 1])
    """
    grid = replace(grid_of(layout, width=_WIDE, most=(ROWS, COLUMNS)), note="")
    layout = by_coordinates(layout)
    memory = None if dtype is None else Memory.of(layout, dtype, base)
    if memory is None:
        return grid
    columns = extents_of(layout.shape)[1]
    cells = tuple(
        tuple(replace(cell, colour=memory.chunk(row * columns + j)) for j, cell in enumerate(line))
        for row, line in enumerate(grid.cells)
    )
    return replace(grid, key=f"{memory.bits.axes[0]}, coloured by bank", cells=cells)


def chunks_of(layout: Layout, dtype: DType, base: int = 0) -> Grid | None:
    """Eight rows of a tile, a cell for each 16 bytes: n where they lie in banks 4 n to 4 n + 3.

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
    memory = Memory.of(layout, dtype, base)
    if memory is None:
        return None
    (many, wide), each = extents_of(layout.shape), _BITS // dtype.bits
    for name, rows, down, extent, step in (("row", many, wide, wide, 1), ("column", wide, 1, many, wide)):
        if extent % each:
            continue
        firsts = [
            [row * down + chunk * each * step for chunk in range(min(extent // each, CHUNKS))]
            for row in range(min(rows, ROWS))
        ]
        if all(memory.together(first, step) for line in firsts for first in line):
            return _grid_of_chunks(memory, name, each, firsts)
    return None


def _grid_of_chunks(memory: Memory, name: str, each: int, firsts: list[list[int]]) -> Grid:
    chunks = [[memory.chunk(first) for first in line] for line in firsts]
    return Grid(
        title=str(memory.bits),
        key=f"16 B of a {name} a cell, n: banks 4n..4n+3",
        row_labels=tuple(map(str, range(len(firsts)))),
        column_labels=tuple(str(i * each) for i in range(len(firsts[0]))),
        cells=tuple(tuple(Cell(str(chunk), chunk) for chunk in line) for line in chunks),
        note="",
    )


def phase_lines(phase: Phase) -> Iterator[Line]:
    """A row a lane, a column a bank; a colour is a wavefront.

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
