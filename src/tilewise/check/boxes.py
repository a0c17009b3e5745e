"""How the elements of a tile, in the order of their addresses, fold into one box of a tensor.

Every digit of the tile's index steps along one dimension of the tensor and by some bytes of shared memory.
TMA writes a box gaplessly, its first dimension fastest; so the digits that it can write are those that follow
one another without a gap from the lowest address on. Each becomes a dimension of the tensor map. A digit that
steps by several elements needs a dimension of its own: columns of 128 as 2 x 64, say. That is exact at the
edge of the tensor only where the step divides the tensor's extent, so no other split is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.canonical import merged_shard
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import size_of
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.tma.landing import row_pitch
from tilewise.hardware.tma.rules import MAX_BOX, MAX_RANK, MAX_STRIDE, SHARED_ALIGNMENT
from tilewise.hardware.tma.types import ElementType


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of the tile: `extent` steps of `step` elements along `dim`, each `stride` bytes further."""

    dim: int
    step: int
    extent: int
    stride: int

    def split(self, extent: int) -> tuple[Digit, Digit | None]:
        """The fastest `extent` of it, and what is left."""
        if extent == self.extent:
            return self, None
        rest = Digit(self.dim, self.step * extent, self.extent // extent, self.stride * extent)
        return replace(self, extent=extent), rest


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in global memory, strides in bytes; `at` is where the tile begins, if that is known."""

    dtype: ElementType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    at: tuple[int, ...] | None = None

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return self.dtype.bits // 8


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the tensor map: every `step`-th element of a dimension of the tensor."""

    dim: int
    step: int
    extent: int
    stride: int
    box: int

    def coordinate(self, index: int, last: bool) -> int:
        """Where an element of the tensor is along it."""
        return index // self.step if last else index // self.step % self.extent


@dataclass(frozen=True, slots=True)
class Fold:
    """The digits that make the box, those that need a box each, the map's dimensions; fastest first."""

    box: tuple[Digit, ...]
    rest: tuple[Digit, ...]
    dimensions: tuple[Dimension, ...]
    stopped: str = ""
    """Why the box takes no more."""

    @property
    def boxes(self) -> int:
        """How many boxes the tile takes."""
        return prod(digit.extent for digit in self.rest)

    @property
    def aligned(self) -> bool:
        """Whether the boxes start where a box may."""
        return all(map(_starts_well, self.rest))

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """The coordinates of an element of the tensor, in the order of the driver."""
        top = {dimension.dim: dimension.step for dimension in self._by_step}
        return tuple(d.coordinate(index[d.dim], d.step == top[d.dim]) for d in self.dimensions)

    @property
    def _by_step(self) -> list[Dimension]:
        return sorted(self.dimensions, key=lambda dimension: dimension.step)


def digits_of(plain: Layout) -> list[Digit]:
    """The digits of a layout without swizzle that counts bytes, by their addresses.

    >>> from tilewise import S
    >>> for digit in digits_of(S[(128, (2, 64)) : (128, (16384, 2))]):
    ...     print(digit)
    Digit(dim=1, step=1, extent=64, stride=2)
    Digit(dim=0, step=1, extent=128, stride=128)
    Digit(dim=1, step=64, extent=2, stride=16384)
    """
    found = []
    shard = list(plain.shard)
    for dim, mode in enumerate(plain.shape):
        count = _digits_in(mode)
        step = 1
        for it in reversed(merged_shard(tuple(shard[:count]))):
            found.append(Digit(dim, step, it.extent, it.stride["m"]))
            step *= it.extent
        assert step == size_of((mode,))
        del shard[:count]
    return sorted(found, key=lambda digit: (digit.stride, digit.dim))


def _digits_in(mode: object) -> int:
    return sum(map(_digits_in, mode)) if isinstance(mode, tuple) else 1


def fold(digits: Sequence[Digit], tensor: Tensor, mode: Mode, max_rank: int = MAX_RANK) -> Fold:
    """The largest box that the digits begin with.

    A row may be cut where that helps: 128 columns are 4 x 32 in a tensor of 4128, which 64 does not divide.

        requires       the first digit runs along the tensor's contiguous dimension, element by element
        postcondition  the box's digits follow one another without a gap, none above 256; the map has at most
                       `max_rank` dimensions, or as many as the tensor where that is more
    """
    rows = _rows(digits[0], tensor, mode)
    folds = (_with_rows(row, digits, tensor, mode, max_rank) for row in rows)
    return min(folds, key=lambda found: (not found.aligned, found.boxes))


def _rows(first: Digit, tensor: Tensor, mode: Mode) -> list[int]:
    """Elements that a row of the box can have, most first: in whole chunks where that can be."""
    most = min(MAX_BOX, mode.width // tensor.element) if mode.bits else MAX_BOX
    sizes = _divisors(first.extent, most)
    return [size for size in sizes if size * tensor.element % CHUNK == 0] or sizes[:1]


def _with_rows(row: int, digits: Sequence[Digit], tensor: Tensor, mode: Mode, max_rank: int) -> Fold:
    first, left = digits[0].split(row)
    box, rest = [first], [*([left] if left else []), *digits[1:]]
    reach = row_pitch(mode, row * tensor.element)
    stopped = ""
    while rest and not (stopped := hindrance(rest[0], reach, box, tensor, max_rank)):
        taken, left = _part(rest[0], reach, box, tensor, max_rank)
        box.append(taken)
        rest[:1] = [left] if left else []
        reach *= taken.extent
    _back_to_alignment(box, rest)
    return Fold(tuple(box), tuple(rest), tuple(_dimensions(box, tensor)), stopped)


def _back_to_alignment(box: list[Digit], rest: list[Digit]) -> None:
    """Give back the least that makes every box start where a box may; all but the row, if nothing does."""
    while len(box) > 1 and not all(_starts_well(digit) for digit in rest):
        last = _joined(box.pop(), rest)
        for size in _divisors(last.extent, min(MAX_BOX, last.extent - 1)):
            taken, left = last.split(size)
            assert left is not None
            if _starts_well(left) and all(map(_starts_well, rest)):
                box += [taken] if size > 1 else []
                rest.insert(0, left)
                break
        else:
            rest.insert(0, last)


def _joined(digit: Digit, rest: list[Digit]) -> Digit:
    """A digit with the first of the rest, where that is what was cut from it."""
    many = digit.extent
    if rest and rest[0] == Digit(digit.dim, digit.step * many, rest[0].extent, digit.stride * many):
        return replace(digit, extent=many * rest.pop(0).extent)
    return digit


def _starts_well(digit: Digit) -> bool:
    return digit.stride % SHARED_ALIGNMENT == 0


def _part(
    digit: Digit, reach: int, box: Sequence[Digit], tensor: Tensor, max_rank: int
) -> tuple[Digit, Digit | None]:
    """What one dimension takes of a digit, and what is left: such that the next can go on, if possible."""
    sizes = _divisors(digit.extent, MAX_BOX)
    parts = [digit.split(size) for size in sizes if size > 1]
    for taken, left in parts:
        if left is None or not hindrance(left, reach * taken.extent, [*box, taken], tensor, max_rank):
            return taken, left
    return parts[0]


def _divisors(number: int, most: int) -> list[int]:
    """The divisors of a number that are not above `most`, the largest first.

    >>> _divisors(96, 64)
    [48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
    """
    return [size for size in range(min(number, most), 0, -1) if number % size == 0]


def hindrance(digit: Digit, reach: int, box: Sequence[Digit], tensor: Tensor, max_rank: int) -> str:
    """Why a digit cannot be part of the box; nothing where it can."""
    if digit.stride != reach:
        return f"the tile goes on at byte {digit.stride}, and the box at {reach}"
    extent = tensor.shape[digit.dim]
    if digit.step > 1 and extent % digit.step:
        return (
            f"{extent} elements of dimension {digit.dim} are no multiple of {digit.step}, "
            "so a dimension of its own would read past the edge"
        )
    if digit.step > 1 and tensor.at is not None and tensor.at[digit.dim] % digit.step:
        return (
            f"the tile starts at {tensor.at[digit.dim]} of dimension {digit.dim}, no multiple of {digit.step}"
        )
    if digit.step > 1 and tensor.strides[digit.dim] * digit.step % CHUNK:
        return f"{digit.step} elements of dimension {digit.dim} are no multiple of 16 bytes"
    if tensor.strides[digit.dim] * digit.step >= MAX_STRIDE:
        return f"{digit.step} elements of dimension {digit.dim} are 2^40 bytes or more"
    if _divisors(digit.extent, MAX_BOX) == [1]:
        return f"{digit.extent} elements have no divisor up to {MAX_BOX}"
    rank = len(list(_steps([*box, digit], tensor)))
    if rank > max(max_rank, len(tensor.shape)):
        return f"it would take {counted(rank, 'dimension')}, and a map has {max_rank}"
    return ""


def _steps(box: Sequence[Digit], tensor: Tensor) -> Iterator[tuple[int, int]]:
    """(dim, step) of every dimension that the map needs."""
    for dim in range(len(tensor.shape)):
        for step in sorted({1} | {digit.step for digit in box if digit.dim == dim}):
            yield dim, step


def _dimensions(box: Sequence[Digit], tensor: Tensor) -> Iterator[Dimension]:
    """The dimensions of the map: the box's in its order, then those of which it takes one element."""
    needed = list(_steps(box, tensor))
    taken = {(digit.dim, digit.step): digit.extent for digit in box}
    others = sorted(
        (pair for pair in needed if pair not in taken), key=lambda pair: tensor.strides[pair[0]] * pair[1]
    )
    for dim, step in [*taken, *others]:
        above = min((other for own, other in needed if own == dim and other > step), default=None)
        extent = tensor.shape[dim] // step if above is None else above // step
        yield Dimension(dim, step, extent, tensor.strides[dim] * step, taken.get((dim, step), 1))
