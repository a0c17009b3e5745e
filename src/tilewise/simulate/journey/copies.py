"""The copies of a journey: a tile of a tensor as boxes of TMA, there and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import WAVEFRONT
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType
from tilewise.simulate.journey.rooms import box_columns
from tilewise.simulate.journey.stops import Issue, Stop
from tilewise.simulate.tma import Copy

Array = np.ndarray[Any, Any]

TOGETHER = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that are written together, as far as is known."""


def map_of(tensor: Stop, shape: tuple[int, int], mode: Mode) -> TensorMap:
    """The tensor map whose boxes are as wide as the swizzle, and as high as the tile."""
    inner = box_columns(shape[1], tensor.dtype, mode)
    pitch = tensor.layout.strides[0][m]
    row = ElementType.of(tensor.dtype)
    return TensorMap(row, tensor.shape, (pitch,), (shape[0], inner), mode=mode)


def address_of(tensor: Stop) -> int:
    """The first byte of a tensor."""
    return tensor.layout.offset[m]


def corners(
    tensor_map: TensorMap, shape: tuple[int, int], corner: tuple[int, int], at: int, step: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """Where each box of a tile begins, in the tensor and in shared memory."""
    inner = tensor_map.box[1]
    for number in range(shape[1] // inner):
        yield (corner[0], corner[1] + number * inner), at + number * step


def copies_of(tensor_map: TensorMap, every: Sequence[tuple[tuple[int, int], int]]) -> list[dict[str, Any]]:
    """The copies of a tile as plain data; `bytes` is what the mbarrier of a load counts."""
    return [{"corner": list(first), "shared": address, "bytes": tensor_map.bytes} for first, address in every]


def issues_of(copy: Copy) -> Iterator[Issue]:
    """The chunks of 16 bytes that a load writes, row after row, so many together."""
    each = CHUNK * 8 // copy.tensor_map.dtype.bits
    chunks = copy.shared.reshape(-1, each)[:, 0] // CHUNK * CHUNK
    for first in range(0, len(chunks), TOGETHER):
        yield Issue("tma", 0, CHUNK, tuple(map(int, chunks[first : first + TOGETHER])))


def part_of(numbers: Array, corner: tuple[int, int], shape: tuple[int, int]) -> Array:
    """A window of a tensor, zeros outside of it.

    >>> part_of(np.arange(6).reshape(2, 3), (1, -1), (2, 3)).tolist()
    [[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]]
    """
    window = np.zeros(shape)
    (top, below), (left, right) = inside(numbers.shape, corner, shape)
    row, column = corner
    window[top - row : below - row, left - column : right - column] = numbers[top:below, left:right]
    return window


def inside(
    tensor: tuple[int, ...], corner: tuple[int, int], shape: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows and the columns of a tensor that a window meets; none of them is an error."""
    found = [
        (max(0, first), min(extent, first + many))
        for first, many, extent in zip(corner, shape, tensor, strict=True)
    ]
    (top, below), (left, right) = found
    if top >= below or left >= right:
        raise LayoutError(
            "TW201",
            f"a tile {shape[0]} x {shape[1]} at {corner} has nothing of a tensor {tensor[0]} x {tensor[1]}",
        )
    return (top, below), (left, right)


def rows_of(tensor: Stop, ends: tuple[tuple[int, int], tuple[int, int]]) -> Layout:
    """The part of a tensor that a window meets."""
    return tensor.layout.slice(*ends).layout
