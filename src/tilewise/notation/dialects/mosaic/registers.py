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
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import ZERO, Vector, along
from tilewise.notation.dialects.given import Given, Reading, integer, integers, layout_of_modes, listed
from tilewise.notation.dialects.tiling import (
    JOINED,
    MAX_DIMENSIONS,
    MAX_TILES,
    Digits,
    broken_index,
    tiled,
    untiled,
)
from tilewise.notation.tokens import NAME, Cursor, Token

WARPS, LANES = 4, 32
REG, LANE, WARP = Axis("reg"), Axis("laneid"), Axis("wid_in_wg")
"""A warpgroup counts its warps itself, as Mosaic does: `thread_idx // 32 % 4`."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """In the place of a dimension: so many lanes or warps hold the same."""

    times: int


Dimension = int | Replicated
_Spanned = tuple[list[Dimension], tuple[int, int]]
"""Dimensions, and where they stand in the text."""


@dataclass(frozen=True, slots=True)
class TiledLayout:
    """What a TiledLayout says."""

    tiles: tuple[tuple[int, ...], ...]
    warps: tuple[Dimension, ...]
    lanes: tuple[Dimension, ...]
    vector: int


_WGMMA = ((64, 8), (16, 8), (8, 8))
_TCGEN05 = ((128, 8), (32, 8), (8, 8))
_ALL = Replicated(WARPS)
NAMED = {
    "WGMMA_LAYOUT": TiledLayout((*_WGMMA, (2,)), (-7,), (-3, -2), -1),
    "WGMMA_LAYOUT_ACC_32BIT": TiledLayout((*_WGMMA, (2,), (1,)), (-8,), (-4, -3), -1),
    "WGMMA_ROW_LAYOUT": TiledLayout(((64,), (16,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1),
    "WGMMA_COL_LAYOUT": TiledLayout(((8,), (2,)), (_ALL,), (Replicated(8), -2), -1),
    "WGMMA_LAYOUT_8BIT": TiledLayout(((64, 16), (16, 16), (8, 16), (4,)), (-7,), (-3, -2), -1),
    "WGMMA_LAYOUT_UPCAST_2X": TiledLayout(((64, 16), (16, 16), (8, 16), (8,), (4,)), (-8,), (-4, -2, -3), -1),
    "WGMMA_LAYOUT_UPCAST_4X": TiledLayout(((64, 32), (16, 32), (8, 32), (8,)), (-7,), (-3, -2), -1),
    "WGMMA_TRANSPOSED_LAYOUT": TiledLayout((*_WGMMA, (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2),
    "TCGEN05_LAYOUT": TiledLayout((*_TCGEN05, (2,)), (-7,), (-3, -2), -1),
    "TCGEN05_TRANSPOSED_LAYOUT": TiledLayout((*_TCGEN05, (2, 2), (2, 1)), (-10,), (-6, -3, -5), -2),
    "TCGEN05_ROW_LAYOUT": TiledLayout(((128,), (32,), (8,), (1,)), (-4,), (-2, Replicated(4)), -1),
    "TCGEN05_COL_LAYOUT": TiledLayout(((8,), (2,)), (_ALL,), (Replicated(8), -2), -1),
    "TMEM_NATIVE_LAYOUT": TiledLayout(((128, 2), (32, 2)), (-4,), (-2,), -1),
    "TMA_INDICES_LAYOUT": TiledLayout(((16,), (4,)), (-2,), (Replicated(LANES),), -1),
    "TMA_INDICES_4_LAYOUT": TiledLayout(((4,),), (_ALL,), (Replicated(LANES),), -1),
}
"""The layouts to which fragmented_array.py gives names."""

CLOSING = {"(": ")", "[": "]", "<": ">"}


def kind_of(token: Token) -> str:
    """Return the name that a text begins with, without its module."""
    return token.text.rpartition(".")[2] if token.kind == NAME else ""


def tiled_layout(cursor: Cursor) -> TiledLayout:
    """Take what stands in the brackets of a TiledLayout."""
    opened = open_bracket(cursor)
    optional_name(cursor, "tiling")
    word = cursor.accept("Tiling", "fa.Tiling", "mgpu.Tiling")
    inner = open_bracket(cursor) if word is not None else None
    optional_name(cursor, "tiles")
    tiles = _tiles(cursor)
    if inner is not None:
        close_bracket(cursor, inner)
    warps, lanes, vector = _next(cursor, "warp_dims"), _next(cursor, "lane_dims"), _next(cursor, "vector_dim")
    close_bracket(cursor, opened)
    spans = {"warp_dims": warps, "lane_dims": lanes}
    said = TiledLayout(tiles, tuple(warps[0]), tuple(lanes[0]), _one(cursor, vector))
    _check(cursor, said, spans | {"vector_dim": vector})
    return said


def _check(
    cursor: Cursor, said: TiledLayout, spans: dict[str, tuple[list[Dimension], tuple[int, int]]]
) -> None:
    """Refuse dimensions that are not there, or that do not fill the warps and lanes of a warpgroup."""
    shape: tuple[int, ...] = said.tiles[0]
    for tile in said.tiles:
        shape = tiled(shape, tile)
    inner = shape[len(said.tiles[0]) :]
    seen: set[int] = set()
    for name, (dimensions, span) in spans.items():
        for dimension in dimensions:
            if isinstance(dimension, Replicated):
                continue
            if not -len(inner) <= dimension < 0:
                raise cursor.error(
                    "TW201",
                    f"there is no dimension {dimension} for {name}: tiles make {len(inner)}",
                    span,
                    hint=f"they count from the end: -{len(inner)} to -1",
                )
            if dimension in seen:
                raise cursor.error("TW003", f"dimension {dimension} is there twice", span)
            seen.add(dimension)
    for name, many in (("warp_dims", WARPS), ("lane_dims", LANES)):
        dimensions, span = spans[name]
        have = prod(_extent(dimension, inner) for dimension in dimensions)
        if have != many:
            what = "warps in a warpgroup" if many == WARPS else "lanes in a warp"
            raise cursor.error("TW003", f"{name} take {have} of {many} {what}", span)


def _extent(dimension: Dimension, shape: Sequence[int]) -> int:
    return dimension.times if isinstance(dimension, Replicated) else shape[dimension]


def open_bracket(cursor: Cursor) -> Token:
    if cursor.next.text not in CLOSING:
        raise cursor.error("TW004", f"expected '(' or '<', found {cursor.next}")
    return cursor.take()


def close_bracket(cursor: Cursor, opened: Token) -> None:
    cursor.accept(",")
    cursor.expect(CLOSING[opened.text], opened)


def optional_name(cursor: Cursor, name: str) -> None:
    """Take `name=`, where it is there."""
    if cursor.accept(name):
        cursor.expect("=")


def _next(cursor: Cursor, name: str) -> _Spanned:
    """Take `, name=(-4, Replicated(4))` or one number, and return its span as well."""
    if not cursor.accept(","):
        raise cursor.error("TW004", f"expected {name}, found {cursor.next}", hint=f"such as {name}=-1")
    optional_name(cursor, name)
    start = cursor.next
    found: list[Dimension] = []
    if start.text not in ("(", "["):
        return [integer(cursor)], cursor.since(start)
    opened = cursor.take()
    while cursor.next.text != CLOSING[opened.text]:
        if found:
            cursor.expect(",", opened)
            if cursor.next.text == CLOSING[opened.text]:
                break
        found.append(_dimension(cursor))
    cursor.take()
    return found, cursor.since(start)


def _one(cursor: Cursor, spanned: _Spanned) -> int:
    """Return the one number that stands there."""
    found, span = spanned
    if len(found) != 1 or not isinstance(found[0], int):
        raise cursor.error("TW004", "one number belongs here", span)
    return found[0]


def _dimension(cursor: Cursor) -> Dimension:
    """Take `-4`, `Replicated(4)` or `#mosaic_gpu.Replicated<times = 4>`."""
    if kind_of(cursor.next) != "Replicated":
        return integer(cursor)
    word = cursor.take()
    opened = open_bracket(cursor)
    optional_name(cursor, "times")
    times = integer(cursor)
    close_bracket(cursor, opened)
    if times < 1:
        raise cursor.error("TW102", "a count of copies is positive", cursor.since(word))
    return Replicated(times)


def _tiles(cursor: Cursor) -> tuple[tuple[int, ...], ...]:
    """Take `((64, 8), (2,))`: each tile has as many dimensions as the one before it, or fewer."""
    opened = cursor.next
    if opened.text not in ("(", "["):
        raise cursor.error("TW004", f"expected tiles, found {opened}", hint="such as ((64, 8), (16, 8))")
    cursor.take()
    tiles: list[tuple[int, ...]] = []
    while cursor.next.text != CLOSING[opened.text]:
        if tiles:
            cursor.expect(",", opened)
            if cursor.next.text == CLOSING[opened.text]:
                break
        start = cursor.next
        tile = numbers(cursor)
        if not tile or min(tile) < 1:
            raise cursor.error("TW102", "a tile has positive extents", cursor.since(start))
        if tiles and len(tile) > len(tiles[-1]):
            raise cursor.error(
                "TW003", "a tile has more dimensions than the tile before it", cursor.since(start)
            )
        for extent, before in zip(reversed(tile), reversed(tiles[-1] if tiles else ()), strict=False):
            if before % extent:
                raise cursor.error(
                    "TW503", f"{extent} does not divide the {before} before", cursor.since(start)
                )
        tiles.append(tile)
        if len(tiles) > MAX_TILES or sum(map(len, tiles)) > MAX_DIMENSIONS:
            raise cursor.error("TW005", f"more than {MAX_TILES} tiles or {MAX_DIMENSIONS} dimensions")
    cursor.take()
    if not tiles:
        raise cursor.error("TW004", "a tiling has a tile", cursor.since(opened))
    return tuple(tiles)


def numbers(cursor: Cursor) -> tuple[int, ...]:
    """Take `(64, 8)`, `(2,)`, `[64, 8]`, or `array<i64: 64, 8>`."""
    opened = cursor.next
    if opened.text not in ("(", "["):
        raise cursor.error("TW004", f"expected numbers in brackets, found {opened}")
    if cursor.ahead(2).text == "," and cursor.ahead(3).text == ")":
        cursor.take()
        found = (integer(cursor),)
        cursor.take()
        cursor.take()
        return found
    return integers(cursor, opened.text, CLOSING[opened.text])


def over_threads(said: TiledLayout, shape: tuple[int, ...]) -> Layout:
    """Return the layout of an array of a shape."""
    if len(shape) < len(said.tiles[0]):
        raise LayoutError("TW003", f"a tile of {len(said.tiles[0])} dimensions cuts {len(shape)}")
    uneven = [
        (extent, size)
        for extent, size in zip(reversed(said.tiles[0]), reversed(shape), strict=False)
        if size % extent
    ]
    if uneven:
        extent, size = uneven[0]
        raise LayoutError(
            "TW503",
            f"a tile of {extent} does not divide the array's {size}",
            hint=f"the array's last extents are multiples of {listed(said.tiles[0])}",
        )
    stages = [shape]
    for tile in said.tiles:
        stages.append(tiled(stages[-1], tile))
    last = stages[-1]
    digits: list[Digits] = [[] for _ in last]
    copies: Digits = []
    for dimensions, axis in ((said.warps, WARP), (said.lanes, LANE)):
        stride = prod(_extent(dimension, last) for dimension in dimensions)
        for dimension in dimensions:
            extent = _extent(dimension, last)
            stride //= extent
            own = copies if isinstance(dimension, Replicated) else digits[dimension]
            own.append((extent, along(axis, stride)))
    digits[said.vector] = [(last[said.vector], along(REG, 1))]
    stride = last[said.vector]
    for at in reversed(range(len(last))):
        if not digits[at]:
            digits[at] = [(last[at], along(REG, stride))]
            stride *= last[at]
    for stage, tile in zip(reversed(stages[:-1]), reversed(said.tiles), strict=True):
        digits = untiled(digits, stage, tile)
    return of_modes(digits, copies)


def of_modes(digits: Sequence[Digits], copies: Sequence[tuple[int, Vector]] = ()) -> Layout:
    """Return the layout of these digits, without those of one step."""
    return layout_of_modes(
        [[digit for digit in mode if digit[0] > 1] for mode in digits],
        [copy for copy in copies if copy[0] > 1],
    )


def frag(cursor: Cursor, given: Given) -> Reading:
    """Take a layout that has its shape: one vector a thread after another, or the same value everywhere."""
    word = cursor.behind
    kind = kind_of(word)
    opened = open_bracket(cursor)
    shape: tuple[int, ...] = ()
    if cursor.next.text != CLOSING[opened.text]:
        optional_name(cursor, "shape")
        shape = numbers(cursor)
    vector = 1
    if kind == "WGStridedFragLayout":
        vector = _one(cursor, _next(cursor, "vec_size"))
    close_bracket(cursor, opened)
    cursor.expect_end("the layout")
    span = cursor.since(word)
    if any(extent < 1 for extent in shape) or vector < 1:
        raise cursor.error("TW102", "extents are positive", span)
    if given.shape not in (None, shape):
        raise cursor.error(
            "TW202", f"the layout is that of {listed(shape)}, and not of {listed(given.shape or ())}", span
        )
    threads = [(WARPS, along(WARP, 1)), (LANES, along(LANE, 1))]
    if kind == "WGSplatFragLayout":
        return Reading(of_modes([[(extent, ZERO)] for extent in shape], threads))
    size, chunk = prod(shape), WARPS * LANES * vector
    if size % chunk:
        raise cursor.error("TW503", f"{size} elements are no multiple of {chunk}, a vector a thread", span)
    with cursor.blame(word):
        return Reading(_strided(shape, vector))


def _strided(shape: tuple[int, ...], vector: int) -> Layout:
    """Return the layout that gives each thread a vector in turn, row by row."""
    tiles = [(*[JOINED] * (len(shape) - 1), WARPS * LANES * vector), (LANES * vector,), (vector,)]
    stages = [shape]
    for tile in tiles:
        stages.append(tiled(stages[-1], tile))
    rounds = stages[-1][0]
    digits: list[Digits] = [
        [(rounds, along(REG, vector))],
        [(WARPS, along(WARP, 1))],
        [(LANES, along(LANE, 1))],
        [(vector, along(REG, 1))],
    ]
    try:
        for stage, tile in zip(reversed(stages[:-1]), reversed(tiles), strict=True):
            digits = untiled(digits, stage, tile)
    except Refused as no:
        at = broken_index(lambda index: _strided_place(index, shape, vector), shape)
        raise Refused(
            "TW510",
            f"vectors of {vector} run over the rows of {listed(shape)}, and no digits say that",
            witness=no.witness if at is None else {"index": at},
        ) from None
    return of_modes(digits)


def _strided_place(index: tuple[int, ...], shape: tuple[int, ...], vector: int) -> int:
    """Return the thread and the register of an element as one number."""
    element = 0
    for step, extent in zip(index, shape, strict=True):
        element = element * extent + step
    thread, register = element // vector % (WARPS * LANES), element // (WARPS * LANES * vector) * vector
    return thread * prod(shape) + register + element % vector
