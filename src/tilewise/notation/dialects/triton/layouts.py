"""From an encoding and a shape to a layout over tilewise's axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core.algebra.placebits import PlaceBits, bits_in, place_bits
from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.notation.dialects.triton import memory, registers, tensor_memory
from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.context import Context
from tilewise.notation.dialects.triton.memory import InMemory
from tilewise.notation.dialects.triton.tensor_memory import COPIED_ROWS
from tilewise.notation.dialects.triton.tile import (
    BLOCK,
    COL,
    LANE,
    OFFSET,
    PARTITION,
    REGISTER,
    ROW,
    WARP,
    flattened,
)

REG, LANEID, WARPID, CBX = Axis("reg"), Axis("laneid"), Axis("warpid"), Axis("cbx")
TLANE, TCOL = Axis("TLane"), Axis("TCol")
BUFFER = Axis("buffer")
"""The axis of the buffers of #ttg.partitioned_shared."""
OWNERS = {REGISTER: REG, LANE: LANEID, WARP: WARPID, BLOCK: CBX}
MAX_ELEMENTS = 1 << 48


def layout_of(
    encoding: Encoding,
    shape: Sequence[int],
    allocation: Sequence[int] | None,
    context: Context,
) -> Layout:
    """Return the layout of a tensor, or of a view that begins where its allocation does."""
    try:
        if prod(shape) > MAX_ELEMENTS or prod(allocation or ()) > MAX_ELEMENTS:
            raise LayoutError(
                "TW005", f"a tensor of {spelled(tuple(shape))} is larger than any machine holds"
            )
        if encoding.kind in registers.KINDS:
            return _in_registers(encoding, shape, context)
        if encoding.kind in (*memory.KINDS, *tensor_memory.KINDS):
            return _in_memory(encoding, shape, allocation or shape, context)
    except LayoutError as error:
        if error.span is None:
            error.span, error.source = encoding.span, encoding.source
        raise
    raise encoding.error(
        "TW002", f"{encoding.name} is no layout that is read here", hint=f"known: {_known()}"
    )


def _known() -> str:
    return " ".join([*registers.KINDS, *memory.KINDS, *tensor_memory.KINDS])


def is_layout(encoding: Encoding) -> bool:
    """Return whether an attribute is a layout that is read here."""
    return encoding.kind in (*registers.KINDS, *memory.KINDS, *tensor_memory.KINDS)


def _in_registers(encoding: Encoding, shape: Sequence[int], context: Context) -> Layout:
    bits_in(shape, "the tensor")
    tile = registers.in_registers(encoding, shape, context)
    moved = flattened(tile.bases, shape)
    return place_bits({axis: moved.get(place, []) for place, axis in OWNERS.items()}, shape).layout(shape)


def _in_memory(
    encoding: Encoding, shape: Sequence[int], allocation: Sequence[int], context: Context
) -> Layout:
    """Return the layout of a view; dimensions before those of the encoding are buffers, one by one."""
    rank = 2 if encoding.kind in tensor_memory.KINDS else memory.rank_in_memory(encoding, len(shape))
    if rank > len(shape) or len(allocation) < len(shape):
        raise encoding.error(
            "TW202",
            f"{encoding.name} has {rank} dimensions, and the tensor {len(shape)}",
            hint="--shape 128,64",
        )
    whole, seen = allocation[len(allocation) - rank :], shape[len(shape) - rank :]
    bits_in(whole, "the allocation")
    bits_in(seen, "the tensor")
    if any(extent > most for extent, most in zip(seen, whole, strict=True)):
        raise encoding.error(
            "TW202", f"a view of {spelled(tuple(seen))} is larger than its allocation {spelled(tuple(whole))}"
        )
    if encoding.kind in tensor_memory.KINDS:
        tile = tensor_memory.in_tensor_memory(encoding, whole, context.dtype)
        moved = flattened(tile.bases, whole)
        lanes = [move or (0 if 1 << bit in COPIED_ROWS else None) for bit, move in enumerate(moved[ROW])]
        columns = [move or None for move in moved[COL]]
        solved = place_bits({TLANE: lanes, TCOL: columns, CBX: moved.get(BLOCK, [])}, whole)
        return _with_buffers(solved, shape, whole, seen, TCOL, 1 << len(columns), ())
    found = memory.in_memory(encoding, whole, context)
    context.notes += found.notes
    return _shared(encoding, found, shape, whole, seen)


def _shared(
    encoding: Encoding, found: InMemory, shape: Sequence[int], whole: Sequence[int], seen: Sequence[int]
) -> Layout:
    moved = flattened(found.tile.bases, whole)
    offsets = [move or None for move in moved[OFFSET]]
    solved = place_bits({m: offsets, BUFFER: moved.get(PARTITION, []), CBX: moved.get(BLOCK, [])}, whole)
    if found.paddings:
        if solved.swizzles:
            raise Refused(
                "TW510",
                f"{encoding.name} pads after it has XORed: no swizzle acts on padded addresses so",
                witness=tuple(extent // 2 for extent in whole),
            )
        steps = tuple(
            (axis, _spread(step, found.paddings) if axis == m else step) for axis, step in solved.steps
        )
        solved = replace(solved, steps=steps)
    return _with_buffers(solved, shape, whole, seen, m, 1 << len(offsets), found.paddings)


def _spread(offset: int, paddings: Sequence[tuple[int, int]]) -> int:
    """Return where an offset lies once every interval has its padding.

    >>> _spread(256, [(128, 4), (64, 1)])
    268
    """
    return offset + sum(offset // interval * padding for interval, padding in paddings)


def _with_buffers(
    solved: PlaceBits,
    shape: Sequence[int],
    whole: Sequence[int],
    seen: Sequence[int],
    axis: Axis,
    size: int,
    paddings: Sequence[tuple[int, int]],
) -> Layout:
    """Return the layout of the view, with a mode before it for each dimension of buffers."""
    layout = solved.layout(whole, seen)
    buffers = shape[: len(shape) - len(seen)]
    if not buffers:
        return layout
    if any(size % interval for interval, _ in paddings) and prod(buffers) > 1:
        raise LayoutError(
            "TW202", f"a padding after more than the {size} elements of a buffer is not read here"
        )
    strides = []
    for position in range(len(buffers)):
        step = _spread(size * prod(buffers[position + 1 :]), paddings)
        strides.append(step @ axis)
    return Layout(
        (*buffers, *(layout.shape if isinstance(layout.shape, tuple) else (layout.shape,))),
        (*strides, *layout.strides),
        replica=layout.replica,
        offset=layout.offset,
        swizzles=layout.swizzles,
    )
