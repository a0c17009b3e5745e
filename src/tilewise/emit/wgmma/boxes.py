"""The tensor map of an operand whose extents are not known yet: sizes and coordinates as C++.

`check.tma` plans the copy of a tile. Here its numbers become expressions: of M, N and K of the problem, and
of where the block's tile begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.check.boxes import Dimension
from tilewise.check.tma import Plan as Copy
from tilewise.check.tma import plan_copy
from tilewise.hardware.tma.tensor_map import TensorMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.emit.wgmma.operands import Operand


@dataclass(frozen=True, slots=True)
class Fetch:
    """One box of a tile: the byte of the tile at which it lands, and its coordinates, fastest first."""

    start: int
    coordinates: tuple[str, ...]


def copy_of(operand: Operand, rows: int, k: int) -> Copy:
    """The copy of a tile of a whole operand [rows, K].

    >>> from tilewise.emit.wgmma.plan import planned
    >>> made = copy_of(planned((128, 128, 128), "bf16").a, 4096, 8192).tensor_map
    >>> made.global_shape, made.global_strides_bytes, made.box
    ((128, 4096, 64), (128, 16384), (2, 128, 64))
    """
    strides = (k, 1) if operand.major == "k" else (1, rows)
    return plan_copy((rows, k), operand.tile, dtype=operand.input.dtype, strides=strides)


def tensor_map(operand: Operand, rows: int, k: int) -> TensorMap:
    """The tensor map of a whole operand [rows, K], of which a box is a tile or a part of one."""
    return copy_of(operand, rows, k).tensor_map


class Symbolic:
    """The tensor map of an operand, its extents M, N and K not known.

    >>> from tilewise.emit.wgmma.plan import planned
    >>> made = Symbolic(planned((128, 128, 128), "bf16").a)
    >>> made.sizes, made.strides, made.box
    (('64', 'M', 'K / 64'), ('K * 2', '128'), (64, 128, 2))
    >>> [fetch.coordinates for fetch in made.fetches("row", "t")]
    [('0', 'row', 't * 2')]
    """

    def __init__(self, operand: Operand) -> None:
        self._operand = operand
        self._copy = copy_of(operand, 2 * operand.rows, 2 * operand.k)  # no extent of the tile is the whole
        self._packed = self._copy.elements
        self._bytes = operand.input.dtype.bits * self._packed // 8
        self.map = self._copy.tensor_map
        self._dimensions = self._copy.fold.dimensions

    @property
    def box(self) -> tuple[int, ...]:
        """Elements of the box, fastest dimension first."""
        return self.map.box[::-1]

    @property
    def sizes(self) -> tuple[str, ...]:
        """Elements of the tensor along every dimension."""
        return tuple(self._size(own) for own in self._dimensions)

    @property
    def strides(self) -> tuple[str, ...]:
        """Bytes from one element to the next, of all dimensions but the first."""
        return tuple(self._stride(own) for own in self._dimensions[1:])

    def fetches(self, start: str, tile: str) -> Iterator[Fetch]:
        """The boxes of the tile that begins at row `start`, and is number `tile` along K."""
        for box in self._copy.boxes:
            yield Fetch(
                box.start, tuple(self._coordinate(own, box.index, start, tile) for own in self._dimensions)
            )

    def _size(self, own: Dimension) -> str:
        if not own.last:
            return str(own.extent)
        return _quotient(self._whole(own.dim), own.step)

    def _stride(self, own: Dimension) -> str:
        line = 0 if self._operand.major == "mn" else 1
        if own.dim == line:
            return str(own.step * self._bytes)
        return _product(self._whole(line), own.step * self._bytes)

    def _whole(self, dim: int) -> str:
        if dim == 0:
            return "M" if self._operand.name == "A" else "N"
        return _quotient("K", self._packed)

    def _coordinate(self, own: Dimension, index: tuple[int, ...], start: str, tile: str) -> str:
        inside = index[own.dim]
        if not own.last:
            return str(inside // own.step % own.extent)
        first = (
            _quotient(start, own.step)
            if own.dim == 0
            else _product(tile, self._operand.k // self._packed // own.step)
        )
        return f"{first} + {inside // own.step}" if inside // own.step else first


def _quotient(word: str, by: int) -> str:
    return f"{word} / {by}" if by > 1 else word


def _product(word: str, by: int) -> str:
    return f"{word} * {by}" if by > 1 else word
