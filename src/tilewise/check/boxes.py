"""Fold the elements of a tile, in the order of their addresses, into one box of a tensor.

Every digit of the tile's index steps along one dimension of the tensor and by some bytes of shared memory.
TMA writes a box gaplessly, its first dimension fastest; so the digits that it can write are those that follow
one another without a gap from the lowest address on. Each becomes a dimension of the tensor map. A digit that
steps by several elements needs a dimension of its own: columns of 128 as 2 x 64, say. That is exact at the
edge of the tensor only where the step divides the tensor's extent, so no other split is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.digits import merged
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
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

    def split(self, extent: int) -> tuple[Digit, list[Digit]]:
        """Return the fastest `extent` of a digit, and the rest: one digit, or no digit."""
        rest = Digit(self.dim, self.step * extent, self.extent // extent, self.stride * extent)
        return replace(self, extent=extent), [rest] if rest.extent > 1 else []


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in global memory, strides in bytes; `at` is the tile's first element, if known."""

    dtype: ElementType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    at: tuple[int, ...] | None = None
    contiguous: int = 0
    """The dimension along which the elements follow one another."""
    elements: int = 1
    """Elements of the asked type in an element of the box: those below a byte travel as bytes."""

    @property
    def element(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.bits // 8


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the tensor map: every `step`-th element of a dimension of the tensor."""

    dim: int
    step: int
    extent: int
    stride: int
    box: int
    last: bool
    """True for the slowest of that dimension: a faster one ends at the step of the next."""

    def coordinate(self, index: Sequence[int]) -> int:
        """Return the position of an element of the tensor along this dimension."""
        coordinate = index[self.dim] // self.step
        return coordinate if self.last else coordinate % self.extent


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
        """Return the number of boxes of the tile."""
        return prod(digit.extent for digit in self.rest)

    @property
    def aligned(self) -> bool:
        """Return True if the boxes start where a box may."""
        return _start_well(self.rest)


def digits_of(plain: Layout) -> list[Digit]:
    """Return the digits of a layout without swizzle that counts bytes, by their addresses.

    >>> from tilewise import S
    >>> for digit in digits_of(S[(128, (2, 64)) : (128, (16384, 2))]):
    ...     print(digit)
    Digit(dim=1, step=1, extent=64, stride=2)
    Digit(dim=0, step=1, extent=128, stride=128)
    Digit(dim=1, step=64, extent=2, stride=16384)
    """
    found = []
    for dim, (_, digits) in enumerate(modes_of(plain)):
        step = 1
        for extent, stride in reversed(merged([(it.extent, it.stride["m"]) for it in digits])):
            found.append(Digit(dim, step, extent, stride))
            step *= extent
    return sorted(found, key=lambda digit: (digit.stride, digit.dim))


def fold(digits: Sequence[Digit], tensor: Tensor, mode: Mode, max_rank: int = MAX_RANK) -> Fold:
    """Return the largest box that the digits begin with.

    A row may be cut where that helps: 128 columns are 4 x 32 in a tensor of 4128, which 64 does not divide.

        requires       the first digit runs along the tensor's contiguous dimension, element by element
        postcondition  the box's digits follow one another without a gap, none above 256; the map has at most
                       `max_rank` dimensions, or as many as the tensor where that is more
    """
    most = min(MAX_BOX, mode.width // tensor.element) if mode.bits else MAX_BOX
    rows = [size for size in _divisors(digits[0].extent) if size <= most]
    whole_chunks = [size for size in rows if size * tensor.element % CHUNK == 0]
    folds = (_with_rows(row, digits, tensor, mode, max_rank) for row in whole_chunks or rows[:1])
    return min(folds, key=lambda found: (not found.aligned, found.boxes))


def _with_rows(row: int, digits: Sequence[Digit], tensor: Tensor, mode: Mode, max_rank: int) -> Fold:
    """Return the largest box whose rows have so many elements, and all boxes of which start legally.

    The box takes a part of each digit such that the next one can go on, if there is one. It may end at any
    size of its last digit, and ends as late as the alignment of the others allows, or else after the row.
    """
    first, left = digits[0].split(row)
    box, rest = [first], [*left, *digits[1:]]
    reach = row_pitch(mode, row * tensor.element)
    ends, stopped = [(box, rest)], ""
    while rest and not (stopped := hindrance(rest[0], reach, box, tensor, max_rank)):
        digit, *others = rest
        parts = [digit.split(size) for size in _divisors(digit.extent) if size > 1]
        ends += [([*box, taken], [*left, *others]) for taken, left in reversed(parts)]
        taken, left = next(
            (
                (taken, left)
                for taken, left in parts
                if not left or not hindrance(left[0], reach * taken.extent, [*box, taken], tensor, max_rank)
            ),
            parts[0],
        )
        box, rest = [*box, taken], [*left, *others]
        reach *= taken.extent
    box, rest = next((end for end in reversed(ends) if _start_well(end[1])), ends[0])
    return Fold(tuple(box), tuple(rest), tuple(_dimensions(box, tensor)), stopped)


def _start_well(rest: Sequence[Digit]) -> bool:
    return all(digit.stride % SHARED_ALIGNMENT == 0 for digit in rest)


def _divisors(number: int) -> list[int]:
    """Return the divisors of a number that a box can have, the largest first.

    >>> _divisors(96)
    [96, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
    """
    return [size for size in range(min(number, MAX_BOX), 0, -1) if number % size == 0]


def hindrance(digit: Digit, reach: int, box: Sequence[Digit], tensor: Tensor, max_rank: int) -> str:
    """Return the reason why a digit cannot be part of the box, or "" where it can."""
    if digit.stride != reach:
        return f"the tile goes on at byte {digit.stride}, and the box at {reach}"
    dim, step = digit.dim, digit.step
    extent, far = tensor.shape[dim], tensor.strides[dim] * step
    if extent % step:
        return (
            f"{extent} elements of dimension {dim} are no multiple of {step}, "
            "so a dimension of its own would read past the edge"
        )
    if tensor.at is not None and tensor.at[dim] % step:
        return f"the tile starts at {tensor.at[dim]} of dimension {dim}, no multiple of {step}"
    if step > 1 and far % CHUNK:
        return f"{step} elements of dimension {dim} are no multiple of 16 bytes"
    if far >= MAX_STRIDE:
        return f"{step} elements of dimension {dim} are 2^40 bytes or more"
    if _divisors(digit.extent) == [1]:
        return f"{digit.extent} elements have no divisor up to {MAX_BOX}"
    rank = sum(len(steps) for steps in _steps([*box, digit], tensor))
    if rank > max(max_rank, len(tensor.shape)):
        return f"it would take {counted(rank, 'dimension')}, and a map has {max_rank}"
    return ""


def _steps(box: Sequence[Digit], tensor: Tensor) -> list[list[int]]:
    """Return the steps of the map's dimensions along every dimension of the tensor, ascending."""
    return [
        sorted({1, *(digit.step for digit in box if digit.dim == dim)}) for dim in range(len(tensor.shape))
    ]


def _dimensions(box: Sequence[Digit], tensor: Tensor) -> Iterator[Dimension]:
    """Yield the dimensions of the map: the box's in its order, then those of which it takes one element."""
    taken = {(digit.dim, digit.step): digit.extent for digit in box}
    needed = {
        (dim, step): (end // step, step == steps[-1])
        for dim, steps in enumerate(_steps(box, tensor))
        for step, end in pairwise([*steps, tensor.shape[dim]])
    }
    others = (pair for pair in needed if pair not in taken)
    for dim, step in [*taken, *sorted(others, key=lambda pair: tensor.strides[pair[0]] * pair[1])]:
        extent, last = needed[dim, step]
        yield Dimension(dim, step, extent, tensor.strides[dim] * step, taken.get((dim, step), 1), last)
