"""A layout over the registers, lanes and warps of a warpgroup, as a TiledLayout."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Given
from tilewise.notation.dialects.mosaic.registers import (
    Dimension,
    Replicated,
    TiledLayout,
    over_threads,
    splat,
    tiled_layout,
)
from tilewise.notation.dialects.packed import Digit, digits_of
from tilewise.notation.dialects.tiling import parts_in_tiles

_AXES = ("reg", "laneid", "wid_in_wg")


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
    if splat(shape).same(layout).answer:
        return f"WGSplatFragLayout(shape={shape})"
    if not shape:
        raise LayoutError("TW008", "a TiledLayout cuts dimensions, and a scalar has none")
    said = _tiled_layout(layout, shape)
    try:
        again = tiled_layout(Given(str(said).removeprefix("TiledLayout")).cursor())
        is_said = over_threads(again, shape).same(layout).answer
    except LayoutError as no:
        raise LayoutError("TW008", f"no TiledLayout is this layout: {no.message}") from None
    if not is_said:
        message = (
            f"a TiledLayout counts through {', '.join(_AXES)} without holes or overlaps, and nothing else"
        )
        raise LayoutError("TW008", message, hint="the warps of a warpgroup are on wid_in_wg")
    return str(said)


def _tiled_layout(layout: Layout, shape: Sequence[int]) -> TiledLayout:
    """Return what would be the layout if its digits count through the axes as they have to."""
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


def _tiles(runs: list[list[Digit]], waiting: list[Digit]) -> list[tuple[int, ...]]:
    """Return tiles that take the digits of each dimension apart, and leave the waiting registers in order.

    Each tile takes the slowest digit off some dimensions, a register when all slower ones are gone. The first
    takes registers alone, for it is what Mosaic repeats over the array; then those dimensions come first that
    have the most digits left.
    """
    tiles: list[tuple[int, ...]] = []
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
        # none but the first begins with 1
        leading = next((at for at, extent in enumerate(tile) if extent != 1), len(tile) - 1) if tiles else 0
        tiles.append(tuple(tile[leading:]))
    return tiles[:-1] or tiles
