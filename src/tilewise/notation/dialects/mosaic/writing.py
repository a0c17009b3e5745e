"""A layout over the registers, lanes and warps of a warpgroup, as a TiledLayout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.given import Given
from tilewise.notation.dialects.mosaic.registers import LANES, WARPS
from tilewise.notation.dialects.packed import modes_of
from tilewise.notation.dialects.tiling import merged

_AXES = ("reg", "laneid", "wid_in_wg")


@dataclass(frozen=True, slots=True)
class _Digit:
    """A digit of a dimension, or of copies where the dimension is None."""

    dimension: int | None
    extent: int
    axis: str
    stride: int


def write(layout: Layout, given: Given) -> str:
    """Return the layout as Python prints a TiledLayout; TW008 where it is none.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.core.axes import Axis
    >>> L = S[((4, 8), (4, 2)) : ((1 @ Axis("wid_in_wg"), 4 @ laneid), (1 @ laneid, 1 @ reg))]
    >>> print(write(L, Given()).replace(" warp", "\\n  warp"))
    TiledLayout(tiling=Tiling(tiles=((32, 8), (8, 2))),
      warp_dims=(-4,), lane_dims=(-2, -3), vector_dim=-1)
    """
    if layout.swizzles or layout.offset or layout.outer or layout.unit != "element":
        raise LayoutError("TW008", "a TiledLayout says no swizzles, offsets or other units than elements")
    if _is_splat(layout):
        return f"WGSplatFragLayout(shape={_spelled(extents_of(layout.in_order('row').shape))})"
    digits = [
        _digit(dimension, extent, stride)
        for dimension, mode in enumerate(modes_of(layout))
        for extent, stride in merged(mode)
    ]
    copies = [_digit(None, it.extent, it.stride) for it in layout.replica if it.extent > 1]
    shape = extents_of(layout.in_order("row").shape) if layout.shape else ()
    registers = _counted([*digits, *copies], "reg", None)
    lanes = _counted([*digits, *copies], "laneid", LANES)
    warps = _counted([*digits, *copies], "wid_in_wg", WARPS)
    if any(digit.dimension is None for digit in registers):
        raise LayoutError("TW008", "a TiledLayout has no copies in registers of one thread")
    if not shape:
        raise LayoutError("TW008", "a TiledLayout cuts dimensions, and a scalar has none")
    vector = registers[-1] if registers else None
    tiles = _canonical(_tiles(shape, digits, registers[:-1]))
    if vector is None:
        tiles.append((1,))
    at = _positions(shape, digits, tiles)
    dimensions = [_spelled([_dimension(digit, at) for digit in axis]) for axis in (warps, lanes)]
    return (
        f"TiledLayout(tiling=Tiling(tiles={_spelled([_spelled(tile) for tile in tiles])}), "
        f"warp_dims={dimensions[0]}, lane_dims={dimensions[1]}, vector_dim={at[vector] if vector else -1})"
    )


def _is_splat(layout: Layout) -> bool:
    """Return whether each element is in every thread of a warpgroup, in one register."""
    copies = [(it.extent, it.stride.nonzero.as_dict()) for it in layout.replica if it.extent > 1]
    everywhere = [(WARPS, {"wid_in_wg": 1}), (LANES, {"laneid": 1})]
    return copies in (everywhere, everywhere[::-1]) and not any(
        stride for extent, stride in layout.digits if extent > 1
    )


def _spelled(items: Sequence[object]) -> str:
    """Return a tuple as Python prints it."""
    found = [str(item) for item in items]
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def _dimension(digit: _Digit, at: dict[_Digit, int]) -> str:
    return f"Replicated(times={digit.extent})" if digit.dimension is None else str(at[digit])


def _digit(dimension: int | None, extent: int, stride: Vector) -> _Digit:
    """Return a digit that steps along one axis."""
    terms = stride.nonzero.terms
    if len(terms) != 1:
        raise LayoutError("TW008", f"a TiledLayout has no digit that steps {stride}")
    axis, steps = terms[0]
    if axis.name not in _AXES:
        hint = "the warps of a warpgroup are on wid_in_wg" if axis.name == "warpid" else ""
        raise LayoutError("TW008", f"a TiledLayout is over {', '.join(_AXES)}, not over {axis}", hint=hint)
    return _Digit(dimension, extent, axis.name, steps)


def _counted(digits: Sequence[_Digit], axis: str, many: int | None) -> list[_Digit]:
    """Return the digits on an axis, the slowest first; refuse those that do not count through it once."""
    own = sorted((digit for digit in digits if digit.axis == axis), key=lambda digit: -digit.stride)
    step = prod(digit.extent for digit in own)
    if many is not None and step != many:
        raise LayoutError("TW008", f"a TiledLayout takes all {many} of {axis}, and this layout takes {step}")
    for digit in own:
        step //= digit.extent
        if digit.stride != step:
            raise LayoutError("TW008", f"a TiledLayout counts through {axis} without holes or overlaps")
    return own


def _tiles(
    shape: Sequence[int], digits: Sequence[_Digit], registers: Sequence[_Digit]
) -> list[tuple[int, ...]]:
    """Return tiles that take the digits of each dimension apart, and leave registers in their order.

    Each tile takes the slowest digit off some dimensions. The first takes registers alone, for it is what
    Mosaic repeats over the array; then those dimensions come first that have the most digits left.
    """
    runs = [[digit for digit in digits if digit.dimension == dimension] for dimension in range(len(shape))]
    waiting = list(registers)
    tiles: list[tuple[int, ...]] = []
    while not tiles or any(runs):
        longest = max(map(len, runs), default=0)
        taken = _take(runs, waiting, 0 if not tiles else longest, free=bool(tiles))
        taken = taken or (_take(runs, waiting, 0, free=True) if tiles else 0)
        if tiles and not taken:
            raise LayoutError(
                "TW008", "a TiledLayout counts registers along a dimension, the slow digits first"
            )
        tiles.append(tuple(prod(digit.extent for digit in run) for run in runs))
    return tiles[:-1] if len(tiles) > 1 else tiles


def _take(runs: list[list[_Digit]], waiting: list[_Digit], length: int, *, free: bool) -> int:
    """Take the slowest digits off dimensions that have so many or more; return how many were taken.

    A register goes when all slower ones are gone. Others go where they are free to.
    """
    taken = 0
    for run in runs:
        if len(run) < max(length, 1):
            continue
        is_next = bool(waiting) and run[0] == waiting[0]
        if is_next or (free and run[0] not in waiting):
            waiting.remove(run.pop(0)) if is_next else run.pop(0)
            taken += 1
    return taken


def _canonical(tiles: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the tiles as Mosaic wants them: none but the first begins with 1."""
    found = [tiles[0]]
    for tile in tiles[1:]:
        leading = next((at for at, extent in enumerate(tile) if extent != 1), len(tile) - 1)
        found.append(tile[leading:])
    return found


def _positions(
    shape: Sequence[int], digits: Sequence[_Digit], tiles: Sequence[tuple[int, ...]]
) -> dict[_Digit, int]:
    """Return where each digit is in the tiled array, counted from the end."""
    runs = [[digit for digit in digits if digit.dimension == dimension] for dimension in range(len(shape))]
    for tile in tiles:
        kept = len(runs) - len(tile)
        outer: list[list[_Digit]] = []
        inner: list[list[_Digit]] = []
        for run, extent in zip(runs[kept:], tile, strict=True):
            cut = next(at for at in range(len(run) + 1) if prod(digit.extent for digit in run[at:]) == extent)
            outer.append(run[:cut])
            inner.append(run[cut:])
        runs = [*runs[:kept], *outer, *inner]
    return {digit: at - len(runs) for at, run in enumerate(runs) for digit in run}
