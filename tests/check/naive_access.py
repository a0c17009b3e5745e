"""Accesses as plain loops: which elements each lane asks for, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.layout import Layout

Elements = list[list[list[int]]]
"""[request][lane] -> the flat indices of its elements in order; none where the lane is inactive."""


def rows(size: int, vector: int) -> Elements:
    """Vectors one after the other, 32 a request; indices past the end are no elements."""
    vectors = [list(range(first, first + vector)) for first in range(0, size, vector)]
    return [vectors[first : first + 32] for first in range(0, len(vectors), 32)]


def columns(down: int, across: int, vector: int) -> Elements:
    """Vectors down each column of vectors; a request has whole columns, or a part of one."""
    line = [
        [[row * across + first + i for i in range(vector)] for row in range(down)]
        for first in range(0, across, vector)
    ]
    if down > 32:
        return [column[first : first + 32] for column in line for first in range(0, down, 32)]
    whole = max(n for n in range(1, 33) if n * down <= 32 and len(line) % n == 0)
    parts = [line[first : first + whole] for first in range(0, len(line), whole)]
    return [[lane for column in part for lane in column] for part in parts]


def matrices(tall: int, wide: int, held: int, count: int, turned: bool) -> Elements:
    """Rows of 8 x 8 matrices, block by block, matrix by matrix; `turned` runs them down the tile."""
    high, broad = (held, 8) if turned else (8, held)
    below, right = {1: (1, 1), 2: (2, 1), 4: (2, 2)}[count]
    requests = []
    for top in range(0, tall, high * below):
        for left in range(0, wide, broad * right):
            lanes = []
            for matrix in range(count):
                at = top + high * (matrix % below), left + broad * (matrix // below)
                for row in range(8):
                    cells = [(i, row) if turned else (row, i) for i in range(held)]
                    lanes.append([(at[0] + i) * wide + at[1] + j for i, j in cells])
            requests.append(lanes)
    return requests


def fragments(part: Layout, tall: int, wide: int, vector: int, warps: Sequence[dict[str, int]]) -> Elements:
    """Return what lanes hold of each part of the tile, warp by warp, so many registers at once."""
    high, broad = _extents(part)
    lanes, registers = part.span("laneid"), part.span("reg")
    held = [
        [[part.who(laneid=lane, reg=first + i, **warp)[0] for i in range(vector)] for lane in range(lanes)]
        for warp in warps
        for first in range(0, registers, vector)
    ]
    return [
        [[(top + i) * wide + left + j for i, j in own] for own in request]
        for top in range(0, tall, high)
        for left in range(0, wide, broad)
        for request in held
    ]


def _extents(part: Layout) -> tuple[int, int]:
    return part.coordinates(part.size - 1)[0] + 1, part.coordinates(part.size - 1)[1] + 1


def addresses(
    layout: Layout, asked: Elements, bits: int, base: int = 0
) -> list[list[int | None]] | tuple[int, int]:
    """The byte address of every lane; or the first request and lane that no instruction serves."""
    scale = {"element": bits, "byte": 8, "bit": 1}[layout.unit]
    found: list[list[int | None]] = []
    for number, request in enumerate(asked):
        found.append([])
        for lane, elements in enumerate(request):
            inside = [index for index in elements if 0 <= index < layout.size]
            if not inside:
                found[-1].append(None)
                continue
            at = [sum(layout.points(index)[0]) * scale + 8 * base for index in inside]
            follows = at == [at[0] + bits * i for i in range(len(elements))]
            if not follows or at[0] < 0 or at[0] % (bits * len(elements)):
                return number, lane
            found[-1].append(at[0] // 8)
    return found
