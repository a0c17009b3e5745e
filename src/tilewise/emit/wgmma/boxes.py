"""A tile as one box of a tensor map: its dimensions are the digits of the layout, fastest in memory first.

A box is written into shared memory one dimension after another. So a digit of the tile's layout is a
dimension of the tensor map, and a direction of the matrix that has two digits is seen as two dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import m
from tilewise.core.shapes import leaves
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ElementType
from tilewise.hardware.wgmma.tiles import tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.emit.wgmma.plan import Operand

LONGEST = 256
"""Elements of a box along one dimension."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a box: every `step`-th element along one direction of the matrix."""

    extent: int
    """Elements of the box."""
    direction: str
    """mn or k."""
    step: int
    """Elements of the matrix from one to the next."""
    until: int | None
    """Elements of the matrix that the dimension covers; None where that is the whole of it."""

    def size(self, whole: int) -> int:
        """Elements of the tensor along it, where the matrix has `whole` along the direction."""
        return (whole if self.until is None else self.until) // self.step

    def coordinate(self, start: int) -> int:
        """Where the box begins, for a tile that begins at `start` along the direction."""
        return start // self.step if self.until is None else 0


@dataclass(frozen=True, slots=True)
class Box:
    """The tensor map of an operand: its element type and its dimensions, fastest first."""

    dtype: str
    bytes: int
    """Bytes of an element."""
    dimensions: tuple[Dimension, ...]
    contiguous: str
    """The direction in which the matrix is contiguous."""


def box_of(operand: Operand) -> Box:
    """The box that lands as the operand's tile does.

        postcondition  its elements, in order, land where the layout has them before the swizzle

    >>> from tilewise.emit.wgmma.plan import planned
    >>> box = box_of(planned((128, 128, 128), "bf16").a)
    >>> [(own.extent, own.direction, own.step) for own in box.dimensions]
    [(64, 'k', 1), (128, 'mn', 1), (2, 'k', 64)]
    """
    bits, name = operand.input.dtype.bits, operand.input.name
    shrunk = max(1, 8 // bits)  # elements below a byte travel as bytes
    carrier = operand.input.dtype if shrunk == 1 else "u8"
    layout = tile(operand.mode, operand.major, carrier, operand.rows, operand.k // shrunk, operand.order)
    digits = []
    strides = iter(layout.strides)
    for direction, mode in zip(("mn", "k"), layout.shape, strict=True):
        step = operand.rows if direction == "mn" else operand.k // shrunk
        for extent in leaves(mode):
            step //= extent
            digits.append((next(strides)[m], extent, direction, step))
    merged: list[tuple[int, str, int]] = []
    for _, extent, direction, step in sorted(digit for digit in digits if digit[1] > 1):
        if merged and _continues(merged[-1], extent, direction, step):
            merged[-1] = merged[-1][0] * extent, direction, merged[-1][2]
        else:
            merged.append((extent, direction, step))
    dimensions = []
    for i, (extent, direction, step) in enumerate(merged):
        later = [own for _, where, own in merged[i + 1 :] if where == direction]
        dimensions.append(Dimension(extent, direction, step, min(later) if later else None))
    return Box("u8" if shrunk > 1 else name, max(8, bits) // 8, tuple(dimensions), operand.major)


def _continues(before: tuple[int, str, int], extent: int, direction: str, step: int) -> bool:
    together, where, first = before
    return where == direction and first * together == step and together * extent <= LONGEST


def tensor_map(operand: Operand, rows: int, k: int) -> TensorMap:
    """The tensor map of a whole operand [rows, K], of which a box is a tile.

    >>> from tilewise.emit.wgmma.plan import planned
    >>> made = tensor_map(planned((128, 128, 128), "bf16").a, 4096, 8192)
    >>> made.global_shape, made.global_strides_bytes, made.box
    ((128, 4096, 64), (128, 16384), (2, 128, 64))
    """
    box = box_of(operand)
    whole = {"mn": rows, "k": k * operand.input.dtype.bits // (8 * box.bytes)}
    line = whole[box.contiguous] * box.bytes
    slowest_first = box.dimensions[::-1]
    strides = [own.step * (box.bytes if own.direction == box.contiguous else line) for own in slowest_first]
    return TensorMap(
        ElementType.of(box.dtype),
        tuple(own.size(whole[own.direction]) for own in slowest_first),
        tuple(strides[:-1]),
        tuple(own.extent for own in slowest_first),
        mode=operand.mode,
    )
