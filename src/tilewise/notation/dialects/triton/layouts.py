"""From an encoding and a shape to a layout over tilewise's axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core.algebra.linear import place_bits
from tilewise.core.axes import m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.notation.dialects.triton import memory, registers
from tilewise.notation.dialects.triton.encodings import Context, Encoding, spelled
from tilewise.notation.dialects.triton.tile import AXES, COL, OFFSET, ROW, Tile, flattened

KINDS = {**registers.KINDS, **memory.KINDS}
MAX_ELEMENTS = 1 << 48


def layout_of(
    encoding: Encoding, shape: Sequence[int], allocation: Sequence[int] | None, context: Context
) -> Layout:
    """Return the layout of a tensor, or of a view that begins where its allocation does."""
    with encoding.where.blame():
        return _layout_of(*tile_of(encoding, shape, allocation, context), encoding, tuple(shape))


def tile_of(
    encoding: Encoding, shape: Sequence[int], allocation: Sequence[int] | None, context: Context
) -> tuple[Tile, tuple[int, ...]]:
    """Return the linear map of a tensor, or of the allocation of a view, and the shape that it covers.

    Dimensions before those of the encoding are buffers, one by one: the map is that of one buffer.

    refused  TW002 an unknown encoding; TW202 a shape that the encoding does not lay out; TW005 a huge tensor
    """
    if encoding.kind not in KINDS:
        known = " ".join(KINDS)
        raise encoding.error(
            "TW002", f"{encoding.name} is no layout that is read here", hint=f"known: {known}"
        )
    shape, allocation = tuple(shape), tuple(allocation or shape)
    with encoding.where.blame():
        rank, least = len(shape), 0
        if encoding.kind in memory.KINDS:
            rank, least = memory.rank_in_memory(encoding, rank), 1
        if not least <= rank <= len(shape) <= len(allocation):
            message = f"{encoding.name} has {rank} dimensions, and the tensor {len(shape)}"
            raise LayoutError("TW202", message, hint="--shape 128,64")
        seen, whole = shape[len(shape) - rank :], allocation[len(allocation) - rank :]
        if max(prod(shape), prod(allocation)) > MAX_ELEMENTS:
            raise LayoutError("TW005", f"a tensor of {spelled(shape)} is larger than any machine holds")
        for extent in (*whole, *seen):
            if extent.bit_count() != 1:
                raise LayoutError("TW202", f"the tensor has the extent {extent}, which is no power of two")
        if any(map(int.__gt__, seen, whole)):
            raise LayoutError(
                "TW202", f"a view of {spelled(seen)} is larger than its allocation {spelled(whole)}"
            )
        memory.paddings_of(encoding)  # one that pads wrongly is refused for that first
        return KINDS[encoding.kind](encoding, whole, context), whole


def _layout_of(tile: Tile, whole: tuple[int, ...], encoding: Encoding, shape: tuple[int, ...]) -> Layout:
    """Return the layout of a view from the map of its allocation."""
    buffers, seen = shape[: len(shape) - len(whole)], shape[len(shape) - len(whole) :]
    paddings = memory.paddings_of(encoding)
    moved = flattened(tile.bases, whole)
    held = {
        AXES[place]: [move or _still(place, 1 << bit) for bit, move in enumerate(moved[place])]
        for place in AXES
        if place in moved
    }
    solved = place_bits(held, whole)
    if paddings and solved.swizzles:
        raise Refused(
            "TW510",
            f"{encoding.name} pads after it has XORed: no swizzle acts on padded addresses so",
            witness=tuple(extent // 2 for extent in whole),
        )
    steps = tuple((axis, _spread(step, paddings) if axis == m else step) for axis, step in solved.steps)
    layout = replace(solved, steps=steps).layout(whole, seen)
    if not buffers:
        return layout
    axis = AXES[COL if COL in moved else OFFSET]
    size = 1 << len(held[axis])
    if any(size % interval for interval, _ in paddings) and prod(buffers) > 1:
        raise LayoutError(
            "TW202", f"a padding after more than the {size} elements of a buffer is not read here"
        )
    strides = [
        _spread(size * prod(buffers[position + 1 :]), paddings) @ axis for position in range(len(buffers))
    ]
    return Layout(
        (*buffers, *layout.shape),
        (*strides, *layout.strides),
        replica=layout.replica,
        swizzles=layout.swizzles,
    )


def _still(place: str, step: int) -> int | None:
    """Return the column of a bit that moves nothing: 0 for a copy, None for a hole in memory."""
    hole = place in (OFFSET, COL) or (place == ROW and step not in memory.COPIED_ROWS)
    return None if hole else 0


def _spread(offset: int, paddings: Sequence[tuple[int, int]]) -> int:
    """Return an offset once every interval has its padding.

    >>> _spread(256, [(128, 4), (64, 1)])
    268
    """
    return offset + sum(offset // interval * padding for interval, padding in paddings)
