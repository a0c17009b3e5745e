"""Mosaic GPU's layouts of fragmented arrays and of shared memory, read and written.

    TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))),
                warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)

Tiles upon tiles cut the array as in XLA. Of the dimensions that they leave, counted from the end, some go
over the warps of a warpgroup and some over the lanes of a warp, the first of them the slowest. One is the
vector in a register, and all others number the registers, row by row. WGStridedFragLayout has one vector a
thread after another; of WGSplatFragLayout each thread has all.

In shared memory tiles lie one after another. The swizzles are those of TMA and wgmma: groups of 16 bytes
change their places inside lines of so many bytes.

Calls of Python and attributes of MLIR have one meaning in different brackets: `Replicated(times=4)`,
`#mosaic_gpu.Replicated<times = 4>`.

Sources, all in https://github.com/jax-ml/jax under jax/experimental/mosaic/gpu: fragmented_array.py for
register layouts, layouts.py and the dialect mosaic_gpu for the attributes of MLIR, launch_context.py for the
transforms of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import prod

from tilewise.core.axes import Axis, m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO, Vector, along
from tilewise.notation.dialects.given import Extents, Given, Reading, layout_of_modes, listed
from tilewise.notation.dialects.tiling import (
    JOINED,
    MAX_DIMENSIONS,
    MAX_TILES,
    Digit,
    digits_of,
    layout_in_tiles,
    parts_in_tiles,
    row_major,
    tiled,
)
from tilewise.notation.dialects.values import Item, Value, Written, values

EXAMPLES = (
    Given(
        "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), "
        "lane_dims=(-3, -2), vector_dim=-1)",
        shape=(128, 64),
    ),
    Given(
        "#mosaic_gpu.TiledLayout<[[64], [16], [8], [1]], warp_dims = [-4], "
        "lane_dims = [-2, #mosaic_gpu.Replicated<times = 4>], vector_dim = -1>",
        shape=(128,),
    ),
    Given("WGMMA_LAYOUT", shape=(64, 64)),
    Given("WGStridedFragLayout(shape=(64, 128), vec_size=8)"),
    Given("#mosaic_gpu.WGStridedFragLayout<[64, 128], 8>"),
    Given("WGSplatFragLayout(shape=(2, 3))"),
    Given("#mosaic_gpu.WGSplatFragLayout<[]>"),
    Given("TileTransform(tiling=(8, 64), rounding=None)", shape=(64, 128)),
    Given(
        "[#mosaic_gpu.tile<[8, 64]>, #mosaic_gpu.swizzle<128 : i32>]", shape=(64, 128), dtype=DType.of("f16")
    ),
)

_SAYS_NOTHING = r",\s*(?:rounding\s*=\s*)?None(?=\s*\))|:\s*i32"
_KINDS = "TiledLayout, WGStridedFragLayout, WGSplatFragLayout, TileTransform, SwizzleTransform"
_TILING = ("TileTransform", "TilingTransform", "tile")
_SWIZZLING = ("SwizzleTransform", "swizzle")
_SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
"""Bytes of a swizzle, and the bits that it exchanges."""
_WARPS, _LANES = 4, 32
_REG, _LANE, _WARP = Axis("reg"), Axis("laneid"), Axis("wid_in_wg")
"""A warpgroup counts its warps itself, as Mosaic does: `thread_idx // 32 % 4`."""
_AXES = (_REG, _LANE, _WARP)


@dataclass(frozen=True, slots=True)
class Replicated:
    """In the place of a dimension: the number of lanes or warps that hold the same."""

    times: int


Dimension = int | Replicated
Tiles = tuple[Extents, ...]


@dataclass(frozen=True, slots=True)
class TiledLayout:
    """The fields of a TiledLayout."""

    tiles: Tiles
    warps: tuple[Dimension, ...]
    lanes: tuple[Dimension, ...]
    vector: int

    def __str__(self) -> str:
        """Return it as Python prints Mosaic's class."""
        dimensions = f"warp_dims={self.warps}, lane_dims={self.lanes}, vector_dim={self.vector}"
        return f"TiledLayout(tiling=Tiling(tiles={self.tiles}), {dimensions})"


# -- reading ---------------------------------------------------------------------------------------


def read(given: Given) -> Reading:
    """Return the layout of an array in registers or in shared memory."""
    words = values(given.cursor(_SAYS_NOTHING))
    if words[0].text in ("[", "("):
        _check_end(words, 1)
        return _transformed([item.values for item in words[0].items], given)
    word, kind = words[0], words[0].name
    _check_end(words, 1 if kind in NAMED else 2)
    if kind in _TILING + _SWIZZLING:
        return _transformed([words], given)
    with word.blame():
        if kind == "WGSplatFragLayout":
            (shape,) = _arguments(words, "shape")
            return Reading(_splat(_own(shape.single.numbers(1), given)))
        if kind == "WGStridedFragLayout":
            shape, vector = _arguments(words, "shape", "vec_size")
            return Reading(_strided(_own(shape.single.numbers(1), given), vector.as_number(1)))
        if kind not in (*NAMED, "TiledLayout"):
            raise word.error("TW002", f"{word} is no layout of Mosaic", f"known: {_KINDS}")
        said = NAMED[kind] if kind in NAMED else tiled_layout(words)
        return Reading(over_threads(said, given.needs_shape("a TiledLayout")))


def _check_end(words: Sequence[Value], count: int) -> None:
    if len(words) > count:
        raise words[count].error("TW004", f"the layout ends before {words[count]}")


def _arguments(words: Sequence[Value], *names: str) -> list[Item]:
    """Return the arguments of a call or an attribute, in this order, each with its name or without.

    >>> words = values(Given("F([8, 4], vec_size=2)").cursor())
    >>> [item.spelled for item in _arguments(words, "shape", "vec_size")]
    ['[8, 4]', 'vec_size=2']
    """
    if len(words) != 2 or words[1].text not in ("(", "<"):
        raise words[-1].error("TW004", f"expected '(' or '<' after {words[0]}", f"such as {words[0]}(...)")
    found: list[Item] = []
    for name, item in zip_longest(names, words[1].items):
        if item is None:
            raise words[1].error("TW004", f"expected {name} in {words[1]}", f"such as {name}=-1")
        if name is None or item.name not in ("", name):
            raise item.error(
                "TW004", f"{item} does not belong here", f"what is read here: {', '.join(names)}"
            )
        found.append(item.without_key)
    return found


def _bracketed(item: Item) -> tuple[Item, ...]:
    """Return the items in brackets of either kind."""
    if item.text not in ("(", "["):
        raise item.unexpected("numbers in brackets, such as (64, 8),")
    return item.single.items


def tiled_layout(words: Sequence[Value]) -> TiledLayout:
    """Return the layout of `TiledLayout(...)`."""
    tiling, *items = _arguments(words, "tiling", "warp_dims", "lane_dims", "vector_dim")
    if tiling.values[0].name == "Tiling":
        (tiling,) = _arguments(tiling.values, "tiles")
    tiles = tuple(item.single.numbers(1) for item in _bracketed(tiling))
    warps, lanes = (tuple(map(_dimension, _bracketed(item))) for item in items[:2])
    vector = items[2].as_number()
    inner = _inner_shape(tiling, tiles)
    seen: set[int] = set()
    for item, taken, many, what in (
        (items[0], warps, _WARPS, "warps in a warpgroup"),
        (items[1], lanes, _LANES, "lanes in a warp"),
        (items[2], (vector,), 0, ""),
    ):
        for dimension in taken:
            if isinstance(dimension, Replicated):
                continue
            if not -len(inner) <= dimension < 0:
                message = f"there is no dimension {dimension}: tiles make {len(inner)}"
                raise item.error("TW201", message, f"they count from the end: -{len(inner)} to -1")
            if dimension in seen:
                raise item.error("TW003", f"dimension {dimension} is there twice")
            seen.add(dimension)
        have = prod(_extent(dimension, inner) for dimension in taken)
        if many and have != many:
            raise item.error("TW003", f"these take {have} of {many} {what}")
    return TiledLayout(tiles, warps, lanes, vector)


def _inner_shape(where: Written, tiles: Tiles) -> Extents:
    """Return the dimensions that the tiles make of one of the first kind; each fills the one before it."""
    if not tiles:
        raise where.error("TW004", "a tiling has a tile")
    if len(tiles) > MAX_TILES or sum(map(len, tiles)) > MAX_DIMENSIONS:
        raise where.error("TW005", f"more than {MAX_TILES} tiles or {MAX_DIMENSIONS} dimensions")
    for before, tile in pairwise(tiles):
        if len(tile) > len(before) or prod(tiled(before, [tile])) != prod(before):
            message = f"a tile of {listed(tile)} does not divide the tile of {listed(before)} before it"
            raise where.error("TW503", message)
    return tiled(tiles[0], tiles)[len(tiles[0]) :]


def _extent(dimension: Dimension, shape: Sequence[int]) -> int:
    return dimension.times if isinstance(dimension, Replicated) else shape[dimension]


def _dimension(item: Item) -> Dimension:
    """Return `-4`, `Replicated(4)` or `#mosaic_gpu.Replicated<times = 4>`."""
    if item.values[0].name != "Replicated":
        return item.as_number()
    (times,) = _arguments(item.values, "times")
    return Replicated(times.as_number(1))


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
    name: tiled_layout(values(Given(f"{name}({said})").cursor()))
    for name, said in (line.split(maxsplit=1) for line in _NAMED.strip().splitlines())
}
"""The layouts to which fragmented_array.py gives names."""


def over_threads(said: TiledLayout, shape: Extents) -> Layout:
    """Return the layout of an array of a shape."""
    last = tiled(shape, said.tiles)
    if prod(last) != prod(shape):
        message = f"a tile of {listed(said.tiles[0])} does not divide the array's {listed(shape)}"
        raise LayoutError("TW503", message)
    strides = [ZERO] * len(last)
    taken = {said.vector}
    copies: list[tuple[int, Vector]] = []
    for dimensions, axis in ((said.warps, _WARP), (said.lanes, _LANE)):
        step = prod(_extent(dimension, last) for dimension in dimensions)
        for dimension in dimensions:
            extent = _extent(dimension, last)
            step //= extent
            if isinstance(dimension, int):
                taken.add(dimension)
                strides[dimension] = along(axis, step)
            elif extent > 1:
                copies.append((extent, along(axis, step)))
    strides[said.vector] = along(_REG, 1)
    step = last[said.vector]
    for dimension in range(-1, -len(last) - 1, -1):
        if dimension not in taken:
            strides[dimension] = along(_REG, step)
            step *= last[dimension]
    return layout_in_tiles(shape, said.tiles, strides, copies=copies)


def _own(shape: Extents, given: Given) -> Extents:
    """Return the shape that a text has; refuse another one that is given beside it."""
    if given.shape not in (None, shape):
        asked = listed(given.shape or ())
        raise LayoutError("TW202", f"the layout is that of {listed(shape)}, and not of {asked}")
    return shape


def _strided(shape: Extents, vector: int) -> Layout:
    """Return the layout with one vector a thread after another."""
    size, chunk = prod(shape), _WARPS * _LANES * vector
    if size % chunk:
        raise LayoutError("TW503", f"{size} elements are no multiple of {chunk}, a vector a thread")
    tiles = [(*[JOINED] * (len(shape) - 1), chunk), (_LANES * vector,), (vector,)]
    strides = [along(_REG, vector), along(_WARP, 1), along(_LANE, 1), along(_REG, 1)]
    return layout_in_tiles(shape, tiles, strides)


def _splat(shape: Extents) -> Layout:
    """Return the layout with each element in all threads."""
    threads = [(_WARPS, along(_WARP, 1)), (_LANES, along(_LANE, 1))]
    return layout_of_modes([[(extent, ZERO)] for extent in shape], threads)


def _transformed(transforms: Sequence[Sequence[Value]], given: Given) -> Reading:
    """Return the layout of an array in shared memory: its tiles one after another, and a swizzle of bytes."""
    tiles: list[Extents] = []
    swizzle = min(_SWIZZLES)
    for words in transforms:
        if words[0].name in _TILING:
            (tile,) = _arguments(words, "tiling")
            tiles.append(tile.single.numbers(1))
        elif words[0].name in _SWIZZLING:
            (item,) = _arguments(words, "swizzle")
            swizzle = item.as_number(1)
            if swizzle not in _SWIZZLES:
                raise item.error("TW104", f"no swizzle of {swizzle} bytes", "known: 16 32 64 128")
        else:
            message = f"{words[0]} is no transform that is read here"
            raise words[0].error("TW002", message, "known: TileTransform, SwizzleTransform")
    shape = given.needs_shape("an array in shared memory")
    if len(tiles) > MAX_TILES:
        raise LayoutError("TW005", f"more than {MAX_TILES} tiles")
    extents = tiled(shape, tiles)
    if prod(extents) != prod(shape):
        said = " and ".join(map(listed, tiles))
        raise LayoutError("TW503", f"a tile of {said} does not divide {listed(shape)}")
    layout = layout_in_tiles(shape, tiles, row_major(extents, m))
    bits = _SWIZZLES[swizzle]
    if not bits:
        return Reading(layout)
    if given.dtype is None:
        hint = "say the type of an element: --dtype f16"
        raise LayoutError("TW105", f"a swizzle of {swizzle} bytes counts bytes", hint=hint)
    chunk = 128 // given.dtype.bits
    return Reading(layout.swizzled((Swizzle(bits, chunk.bit_length() - 1, 3),)), given.dtype)


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return the layout as Python prints a TiledLayout; TW008 where no TiledLayout is this layout.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.core.axes import Axis
    >>> L = S[((4, 8), (4, 2)) : ((1 @ Axis("wid_in_wg"), 4 @ laneid), (1 @ laneid, 1 @ reg))]
    >>> print(write(L, Given()).replace(" warp", "\\n  warp"))
    TiledLayout(tiling=Tiling(tiles=((32, 8), (8, 2))),
      warp_dims=(-4,), lane_dims=(-2, -3), vector_dim=-1)
    """
    if layout.swizzles or layout.offset or layout.outer or layout.unit != "element":
        raise LayoutError("TW008", "a TiledLayout says no swizzles, offsets or other units than elements")
    shape = extents_of(layout.in_order("row").shape)
    if _splat(shape).same(layout).answer:
        return f"WGSplatFragLayout(shape={shape})"
    if not shape:
        raise LayoutError("TW008", "a TiledLayout cuts dimensions, and a scalar has none")
    said = _tiled_layout(layout, shape)
    try:
        again = tiled_layout(values(Given(str(said)).cursor()))
        is_said = over_threads(again, shape).same(layout).answer
    except LayoutError as no:
        raise LayoutError("TW008", f"no TiledLayout is this layout: {no.message}") from None
    if not is_said:
        axes = ", ".join(map(str, _AXES))
        message = f"a TiledLayout counts through {axes} without holes or overlaps, and nothing else"
        raise LayoutError("TW008", message, hint="the warps of a warpgroup are on wid_in_wg")
    return str(said)


def _tiled_layout(layout: Layout, shape: Sequence[int]) -> TiledLayout:
    """Return the TiledLayout that is the layout, if its digits count through the axes in order."""
    runs = digits_of(layout)
    copies = [Digit(-1, it.extent, it.stride) for it in layout.replica if it.extent > 1]
    digits = [digit for run in (*runs, copies) for digit in run]
    registers, lanes, warps = (
        sorted((digit for digit in digits if digit.stride[axis]), key=lambda digit: -digit.stride[axis])
        for axis in _AXES
    )
    tiles = _tiles(runs, registers[:-1])
    if not registers:
        tiles.append((1,))
    parts = parts_in_tiles(shape, tiles)
    at = {(part.dimension, part.weight): i - len(parts) for i, run in enumerate(parts) for part in run[:1]}

    def dimensions(digits: Sequence[Digit]) -> tuple[Dimension, ...]:
        return tuple(
            Replicated(digit.extent) if digit.dimension < 0 else at[digit.dimension, digit.weight]
            for digit in digits
        )

    (vector,) = dimensions(registers[-1:]) or (-1,)
    if isinstance(vector, Replicated):
        raise LayoutError("TW008", "a TiledLayout has no copies in registers of one thread")
    return TiledLayout(tuple(tiles), dimensions(warps), dimensions(lanes), vector)


def _tiles(runs: list[list[Digit]], waiting: list[Digit]) -> list[Extents]:
    """Return tiles that take the digits of each dimension apart, and leave the waiting registers in order.

    Each tile takes the slowest digit off some dimensions, a register when all slower ones are gone. The first
    takes registers alone, since Mosaic repeats it over the array; then come the dimensions with the most
    digits left.
    """
    tiles: list[Extents] = []
    while not tiles or any(runs):
        is_taken = not tiles
        for least in (max(map(len, runs)), 1):
            for run in runs:
                if len(run) >= least > 0 and (run[0] in waiting[:1] or (tiles and run[0] not in waiting)):
                    waiting = [digit for digit in waiting if digit != run[0]]
                    run.pop(0)
                    is_taken = True
            if is_taken:
                break
        if not is_taken:
            message = "a TiledLayout counts registers along a dimension, the slow digits first"
            raise LayoutError("TW008", message)
        tile = [prod(digit.extent for digit in run) for run in runs]
        # only the first may begin with 1
        leading = next((at for at, extent in enumerate(tile) if extent != 1), len(tile) - 1) if tiles else 0
        tiles.append(tuple(tile[leading:]))
    return tiles[:-1] or tiles
