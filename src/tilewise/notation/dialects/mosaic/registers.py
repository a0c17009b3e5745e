"""Arrays in the registers of a warpgroup: TiledLayout, WGStridedFragLayout and WGSplatFragLayout.

    TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))),
                warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)

Tiles upon tiles cut the array as in XLA. Of the dimensions that they leave, counted from the end, some go
over the warps of a warpgroup and some over the lanes of a warp, the first of them the slowest. One is the
vector in a register, and all others number the registers, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.vectors import ZERO, Vector, along
from tilewise.notation.dialects.given import Given, Reading, integer, layout_of_modes, listed, positive
from tilewise.notation.dialects.mosaic.arguments import arguments, bracketed, kind_of, numbers
from tilewise.notation.dialects.tiling import JOINED, MAX_DIMENSIONS, MAX_TILES, layout_in_tiles, tiled
from tilewise.notation.tokens import Cursor

WARPS, LANES = 4, 32
REG, LANE, WARP = Axis("reg"), Axis("laneid"), Axis("wid_in_wg")
"""A warpgroup counts its warps itself, as Mosaic does: `thread_idx // 32 % 4`."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """In the place of a dimension: so many lanes or warps hold the same."""

    times: int


Dimension = int | Replicated


@dataclass(frozen=True, slots=True)
class TiledLayout:
    """The fields of a TiledLayout."""

    tiles: tuple[tuple[int, ...], ...]
    warps: tuple[Dimension, ...]
    lanes: tuple[Dimension, ...]
    vector: int

    def __str__(self) -> str:
        """Return it as Python prints Mosaic's own."""
        dimensions = f"warp_dims={self.warps}, lane_dims={self.lanes}, vector_dim={self.vector}"
        return f"TiledLayout(tiling=Tiling(tiles={self.tiles}), {dimensions})"


def tiled_layout(cursor: Cursor) -> TiledLayout:
    """Take what stands in the brackets of a TiledLayout."""
    values, (tiling, *spans) = arguments(
        cursor, tiling=_tiling, warp_dims=_dimensions, lane_dims=_dimensions, vector_dim=integer
    )
    said = TiledLayout(*values)
    inner = _inner_shape(cursor, said.tiles, tiling)
    seen: set[int] = set()
    for dimensions, span in zip((said.warps, said.lanes, (said.vector,)), spans, strict=True):
        for dimension in dimensions:
            if isinstance(dimension, Replicated):
                continue
            if not -len(inner) <= dimension < 0:
                message = f"there is no dimension {dimension}: tiles make {len(inner)}"
                hint = f"they count from the end: -{len(inner)} to -1"
                raise cursor.error("TW201", message, span, hint)
            if dimension in seen:
                raise cursor.error("TW003", f"dimension {dimension} is there twice", span)
            seen.add(dimension)
    for dimensions, span, many, what in (
        (said.warps, spans[0], WARPS, "warps in a warpgroup"),
        (said.lanes, spans[1], LANES, "lanes in a warp"),
    ):
        have = prod(_extent(dimension, inner) for dimension in dimensions)
        if have != many:
            raise cursor.error("TW003", f"these take {have} of {many} {what}", span)
    return said


def _inner_shape(
    cursor: Cursor, tiles: tuple[tuple[int, ...], ...], span: tuple[int, int]
) -> tuple[int, ...]:
    """Return the dimensions that the tiles make of one of the first kind; each fills the one before it."""
    if not tiles:
        raise cursor.error("TW004", "a tiling has a tile", span)
    if len(tiles) > MAX_TILES or sum(map(len, tiles)) > MAX_DIMENSIONS:
        raise cursor.error("TW005", f"more than {MAX_TILES} tiles or {MAX_DIMENSIONS} dimensions", span)
    for before, tile in pairwise(tiles):
        if len(tile) > len(before) or prod(tiled(before, [tile])) != prod(before):
            message = f"a tile of {listed(tile)} does not divide the tile of {listed(before)} before it"
            raise cursor.error("TW503", message, span)
    return tiled(tiles[0], tiles)[len(tiles[0]) :]


def _extent(dimension: Dimension, shape: Sequence[int]) -> int:
    return dimension.times if isinstance(dimension, Replicated) else shape[dimension]


def _tiling(cursor: Cursor) -> tuple[tuple[int, ...], ...]:
    """Take `Tiling(tiles=((64, 8), (2,)))`, or the tiles alone."""
    if kind_of(cursor.next) == "Tiling":
        cursor.take()
        (tiles,), _ = arguments(cursor, tiles=_tiles)
        return tiles  # type: ignore[no-any-return]
    return _tiles(cursor)


def _tiles(cursor: Cursor) -> tuple[tuple[int, ...], ...]:
    return bracketed(cursor, numbers)


def _dimensions(cursor: Cursor) -> tuple[Dimension, ...]:
    return bracketed(cursor, _dimension)


def _dimension(cursor: Cursor) -> Dimension:
    """Take `-4`, `Replicated(4)` or `#mosaic_gpu.Replicated<times = 4>`."""
    if kind_of(cursor.next) != "Replicated":
        return integer(cursor)
    cursor.take()
    (times,), _ = arguments(cursor, times=positive)
    return Replicated(times)


_NAMED = """
WGMMA_LAYOUT                ((64, 8), (16, 8), (8, 8), (2,)), (-7,), (-3, -2), -1
WGMMA_LAYOUT_ACC_32BIT      ((64, 8), (16, 8), (8, 8), (2,), (1,)), (-8,), (-4, -3), -1
WGMMA_ROW_LAYOUT            ((64,), (16,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1
WGMMA_COL_LAYOUT            ((8,), (2,)), (Replicated(4),), (Replicated(8), -2), -1
WGMMA_LAYOUT_8BIT           ((64, 16), (16, 16), (8, 16), (4,)), (-7,), (-3, -2), -1
WGMMA_LAYOUT_UPCAST_2X      ((64, 16), (16, 16), (8, 16), (8,), (4,)), (-8,), (-4, -2, -3), -1
WGMMA_LAYOUT_UPCAST_4X      ((64, 32), (16, 32), (8, 32), (8,)), (-7,), (-3, -2), -1
WGMMA_TRANSPOSED_LAYOUT     ((64, 8), (16, 8), (8, 8), (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2
TCGEN05_LAYOUT              ((128, 8), (32, 8), (8, 8), (2,)), (-7,), (-3, -2), -1
TCGEN05_TRANSPOSED_LAYOUT   ((128, 8), (32, 8), (8, 8), (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2
TCGEN05_ROW_LAYOUT          ((128,), (32,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1
TCGEN05_COL_LAYOUT          ((8,), (2,)), (Replicated(4),), (Replicated(8), -2), -1
TMEM_NATIVE_LAYOUT          ((128, 2), (32, 2)), (-4,), (-2,), -1
TMA_INDICES_LAYOUT          ((16,), (4,)), (-2,), (Replicated(32),), -1
TMA_INDICES_4_LAYOUT        ((4,),), (Replicated(4),), (Replicated(32),), -1
"""
NAMED = {
    name: tiled_layout(Given(f"({said})").cursor())
    for name, said in (line.split(maxsplit=1) for line in _NAMED.strip().splitlines())
}
"""The layouts to which fragmented_array.py gives names."""


def over_threads(said: TiledLayout, shape: tuple[int, ...]) -> Layout:
    """Return the layout of an array of a shape."""
    last = tiled(shape, said.tiles)
    if prod(last) != prod(shape):
        message = f"a tile of {listed(said.tiles[0])} does not divide the array's {listed(shape)}"
        raise LayoutError("TW503", message)
    strides = [ZERO] * len(last)
    taken = {said.vector}
    copies: list[tuple[int, Vector]] = []
    for dimensions, axis in ((said.warps, WARP), (said.lanes, LANE)):
        step = prod(_extent(dimension, last) for dimension in dimensions)
        for dimension in dimensions:
            extent = _extent(dimension, last)
            step //= extent
            if isinstance(dimension, int):
                taken.add(dimension)
                strides[dimension] = along(axis, step)
            elif extent > 1:
                copies.append((extent, along(axis, step)))
    strides[said.vector] = along(REG, 1)
    step = last[said.vector]
    for dimension in range(-1, -len(last) - 1, -1):
        if dimension not in taken:
            strides[dimension] = along(REG, step)
            step *= last[dimension]
    return layout_in_tiles(shape, said.tiles, strides, copies=copies)


def frag(cursor: Cursor, given: Given) -> Reading:
    """Take a layout that has its shape: one vector a thread after another, or the same value everywhere."""
    word = cursor.behind
    if kind_of(word) == "WGSplatFragLayout":
        (shape,), _ = arguments(cursor, shape=numbers)
    else:
        (shape, vector), _ = arguments(cursor, shape=numbers, vec_size=positive)
    cursor.expect_end("the layout")
    with cursor.blame(word):
        if given.shape not in (None, shape):
            asked = listed(given.shape or ())
            raise LayoutError("TW202", f"the layout is that of {listed(shape)}, and not of {asked}")
        if kind_of(word) == "WGSplatFragLayout":
            return Reading(splat(shape))
        size, chunk = prod(shape), WARPS * LANES * vector
        if size % chunk:
            raise LayoutError("TW503", f"{size} elements are no multiple of {chunk}, a vector a thread")
        tiles = [(*[JOINED] * (len(shape) - 1), chunk), (LANES * vector,), (vector,)]
        strides = [along(REG, vector), along(WARP, 1), along(LANE, 1), along(REG, 1)]
        return Reading(layout_in_tiles(shape, tiles, strides))


def splat(shape: tuple[int, ...]) -> Layout:
    """Return the layout with each element in all threads."""
    threads = [(WARPS, along(WARP, 1)), (LANES, along(LANE, 1))]
    return layout_of_modes([[(extent, ZERO)] for extent in shape], threads)
