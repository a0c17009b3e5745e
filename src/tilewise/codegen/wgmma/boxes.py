"""The tensor map of an operand whose extents are not known yet: sizes and coordinates as C++.

`check.tma` plans the copy of a tile. Here its numbers become expressions in M, N and K of the problem, and
in the begin of the block's tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.check.boxes import Dimension
from tilewise.check.tma import Plan as Copy
from tilewise.check.tma import plan_copy
from tilewise.codegen.parts.template import plus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.codegen.parts.copies import Staged


@dataclass(frozen=True, slots=True)
class Fetch:
    """One box of a tile: the byte of the tile at which it lands, and its coordinates, fastest first."""

    start: int
    coordinates: tuple[str, ...]


def copy_of(operand: Staged, rows: int, k: int) -> Copy:
    """Return the copy of a tile of a whole operand [rows, K].

    >>> from tilewise.codegen.wgmma import planned
    >>> made = copy_of(planned((128, 128, 128), "bf16").a, 4096, 8192).tensor_map
    >>> made.global_shape, made.global_strides_bytes, made.box
    ((128, 4096, 64), (128, 16384), (2, 128, 64))
    """
    strides = (k, 1) if operand.major == "k" else (1, rows)
    return plan_copy((rows, k), operand.tile, dtype=operand.dtype, strides=strides)


class Symbolic:
    """The tensor map of an operand with unknown extents M, N and K.

    >>> from tilewise.codegen.wgmma import planned
    >>> made = Symbolic(planned((128, 128, 128), "bf16").a)
    >>> made.sizes, made.strides, made.box
    (('64', 'M', 'K / 64'), ('K * 2', '128'), (64, 128, 2))
    >>> [fetch.coordinates for fetch in made.fetches("row", "t")]
    [('0', 'row', 't * 2')]
    """

    def __init__(self, operand: Staged) -> None:
        self._copy = copy_of(operand, 2 * operand.rows, 2 * operand.k)  # no extent of the tile is the whole
        self.map = self._copy.tensor_map
        packed, self._dimensions = self._copy.elements, self._copy.fold.dimensions
        self._whole = ["M" if operand.name == "A" else "N", _scaled("K", 1, packed)]
        self._tile_k = operand.k // packed
        line, width = int(operand.major == "k"), operand.dtype.bits * packed // 8
        self.box = self.map.box[::-1]
        """Elements of the box, fastest dimension first."""
        self.sizes = tuple(
            _scaled(self._whole[own.dim], 1, own.step) if own.last else str(own.extent)
            for own in self._dimensions
        )
        """Elements of the tensor along every dimension."""
        self.strides = tuple(
            str(own.step * width) if own.dim == line else _scaled(self._whole[line], own.step * width)
            for own in self._dimensions[1:]
        )
        """Bytes from one element to the next, of all dimensions but the first."""

    def fetches(self, start: str, tile: str) -> Iterator[Fetch]:
        """Yield the boxes of the tile that begins at row `start`, and is number `tile` along K."""
        for box in self._copy.boxes:
            coordinates = (self._at(own, own.coordinate(box.index), start, tile) for own in self._dimensions)
            yield Fetch(box.start, tuple(coordinates))

    def _at(self, own: Dimension, inside: int, start: str, tile: str) -> str:
        if not own.last:
            return str(inside)
        first = _scaled(start, 1, own.step) if own.dim == 0 else _scaled(tile, self._tile_k // own.step)
        return plus(first, inside)


def _scaled(word: str, times: int, by: int = 1) -> str:
    """Return a word in C++, multiplied and divided."""
    return word + f" * {times}" * (times > 1) + f" / {by}" * (by > 1)
