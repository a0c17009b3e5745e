"""A tile of shared memory as a warp's registers see it: the address of every byte that a lane holds.

With T the tile's layout in bytes and F the fragment of one instruction, T o F^-1 places what a lane holds.
Both are made of bits: F permutes those of (row, column, byte) into those of (laneid, byte of the lane's
registers), and T steps by one stride a bit before its swizzle. So T o F^-1 is one stride a bit of laneid and
of the byte, and one a digit of which instruction it is, inside T's own swizzle. They are all that is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.operand import Blocks, Operand
from tilewise.core.axes import Axis, m
from tilewise.core.bits import Bits, affine
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import apply_chain
from tilewise.core.vectors import ZERO, Vector, along
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.swizzles import Swizzle

LANE, BYTE = Axis("laneid"), Axis("reg")


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of an address: how often it steps, by how many bytes before the swizzle, what it counts."""

    extent: int
    stride: int
    counts: str
    """lane, byte (of a lane's registers in one instruction), row or column (which instruction), or whose.

    `warp row` and `warp column` count the warps that share the rows, or the columns."""
    weight: int = 1
    """What one step of it adds to what it counts."""


def packed(layout: Layout, size: int) -> Layout:
    """A layout over laneid and reg with a last mode of bytes: the place is laneid + 32 * byte, on one axis.

    >>> from tilewise import S, laneid, reg
    >>> print(packed(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], 2))
    S[(8, 4, 2, 2) : (4, 1, 64, 32)]
    """
    strides = [along(m, stride[LANE] + LANES * size * stride[BYTE]) for stride in layout.strides]
    offset = along(m, layout.offset[LANE] + LANES * size * layout.offset[BYTE])
    return Layout((*layout.shape, size), (*strides, along(m, LANES)), offset=offset)


@dataclass(frozen=True)
class Fragment:
    """What the lanes hold of one instruction's operand, over laneid and reg, in cells of whole bytes."""

    layout: Layout
    size: int
    """Bytes of a cell."""

    @property
    def rows(self) -> int:
        """Rows of one instruction."""
        return extents_of(self.layout.shape)[0]

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return extents_of(self.layout.shape)[1]

    @cached_property
    def index(self) -> Bits:
        """The flat index of the (row, column, byte) at laneid + 32 * byte: the inverse of the fragment."""
        return affine(packed(self.layout, self.size)).quasi_inverse()


@dataclass(frozen=True)
class Tile:
    """Every byte of a tile by who holds it: digits inside the tile's own swizzle."""

    lanes: tuple[Digit, ...]
    """The bits of laneid, the lowest first; a stride of 0 where lanes hold the same."""
    bytes: tuple[Digit, ...]
    """The bits of a byte of a lane's registers in one instruction, the lowest first."""
    steps: tuple[Digit, ...]
    """Which instruction: digits of rows and columns, the fastest of each first."""
    size: int
    """Bytes of a cell."""
    offset: int
    swizzles: tuple[Swizzle, ...]
    outer: int
    base: int
    """Where the tile is; the swizzle does not see it."""

    @property
    def digits(self) -> tuple[Digit, ...]:
        """All of them."""
        return (*self.lanes, *self.bytes, *self.steps)

    def shared_by(self, warps: tuple[int, int], counts: tuple[int, int]) -> Tile | None:
        """The same tile with the slowest digits of its rows and columns counting warps, so many each way.

        Each warp has neighbouring instructions. None where no digit begins with the second warp.
        """
        steps = []
        for digit in self.steps:
            way = digit.counts != "row"
            own = counts[way] // warps[way]
            if digit.weight >= own:
                digit = replace(digit, counts=f"warp {digit.counts}", weight=digit.weight // own)
            elif digit.weight * digit.extent > own:
                return None
            steps.append(digit)
        return replace(self, steps=tuple(steps))

    @cached_property
    def own_steps(self) -> tuple[Digit, ...]:
        """The digits that count the instructions of one warp."""
        return tuple(digit for digit in self.steps if not digit.counts.startswith("warp"))

    @cached_property
    def warps(self) -> tuple[Digit, ...]:
        """The digits that count warps."""
        return tuple(digit for digit in self.steps if digit.counts.startswith("warp"))

    def at(self, inside: int) -> int:
        """The address of a byte whose digits step by `inside` together."""
        return apply_chain(self.swizzles, inside + self.offset) + self.outer + self.base

    def layout(self, digits: Sequence[Digit], inside: int = 0) -> Layout:
        """The addresses of some digits, slowest first, as a layout in bytes; the others stand at `inside`."""
        swizzles, outer = self.swizzles, self.outer + self.base
        return Layout(
            tuple(digit.extent for digit in digits),
            tuple(along(m, digit.stride) for digit in digits),
            offset=along(m, self.offset + inside),
            swizzles=swizzles,
            outer=along(m, outer) if swizzles else ZERO,
            unit="byte",
        ) + (0 if swizzles else outer)

    @cached_property
    def steps_of(self) -> dict[Digit, int]:
        """What the first step of each digit adds to the first address."""
        return {digit: self.at(digit.stride) - self.at(0) for digit in self.digits}

    def follow(self, run: Sequence[Digit], width: int) -> bool:
        """Whether the digits of a run count the bytes inside `width` bytes that are aligned to it.

            requires       width is a power of two, and the run writes the numbers below it
            postcondition  true iff whatever the other digits are, the byte of the run's number x is at a + x,
                           for a multiple a of `width`

        Without swizzle all strides show it. Under one that leaves the bits inside `width` alone they do as
        well, and where not, all addresses are looked at.
        """
        others = [digit for digit in self.digits if digit not in run]
        counted = [digit.stride for digit in run] == [1 << bit for bit in range(len(run))]
        aligned = not any(digit.stride % width for digit in others if digit.extent > 1)
        if not self.swizzles:
            return counted and aligned and (self.offset + self.outer + self.base) % width == 0
        free = width.bit_length() - 1
        if all(one.base >= free for one in self.swizzles if one.bits):
            inside = not (self.offset % width or self.outer % width)
            if inside and counted and aligned:
                return self.base % width == 0
        return all(
            start % width == 0 and all(self.at(first + step) == start + x for x, step in enumerate(sums(run)))
            for first, start in ((first, self.at(first)) for first in sums(others))
        )


def sums(digits: Sequence[Digit]) -> list[int]:
    """What the digits add, for every number that they write, the first digit the fastest.

    >>> sums([Digit(2, 1, "byte"), Digit(2, 64, "byte")])
    [0, 1, 64, 65]
    """
    total = [0]
    for digit in digits:
        total = [digit.stride * step + before for step in range(digit.extent) for before in total]
    return total


# -- from an operand ------------------------------------------------------------------------------------


def tile_of(operand: Operand, fragment: Fragment, blocks: Blocks, own: tuple[int, int] | None = None) -> Tile:
    """The tile that an operand is, cut into instructions of a fragment.

    With `own` instructions of a warp, down and along, a digit ends where the next warp's begin, where it can.
    """
    which_rows, rows, which_columns, columns = blocks.digits
    within = [1 << bit for bit in range(fragment.size.bit_length() - 1)] + _bits(columns) + _bits(rows)
    held = [within[index.bit_length() - 1] if index else 0 for (index,) in fragment.index.columns]
    held += [0] * (LANE_BITS - len(held))
    layout = operand.layout
    return Tile(
        tuple(Digit(2, stride, "lane", 1 << bit) for bit, stride in enumerate(held[:LANE_BITS])),
        tuple(Digit(2, stride, "byte", 1 << bit) for bit, stride in enumerate(held[LANE_BITS:])),
        (
            *_halved(which_rows, "row", own[0] if own else 0),
            *_halved(which_columns, "column", own[1] if own else 0),
        ),
        fragment.size,
        layout.offset[m],
        operand.chain,
        layout.outer[m],
        operand.base,
    )


def _bits(digits: Iterable[tuple[int, Vector]]) -> list[int]:
    """The strides of the bits of a number that digits of powers of two write, the lowest first."""
    found = []
    for extent, stride in reversed(list(digits)):
        found += [stride[m] << bit for bit in range(extent.bit_length() - 1)]
    return found


def _halved(digits: Iterable[tuple[int, Vector]], counts: str, own: int) -> Iterator[Digit]:
    """The digits of a number, the fastest first, those below `own` of their own, as twos where they are."""
    weight = 1
    for extent, stride in reversed(list(digits)):
        first, odd = divmod(own, weight)
        ends = not odd and 1 < first < extent and extent % first == 0
        step = stride[m]
        for part in (first, extent // first) if ends else (extent,):
            yield from _twos(part, step, counts, weight)
            step, weight = step * part, weight * part


def _twos(extent: int, step: int, counts: str, weight: int) -> Iterator[Digit]:
    """A digit as its twos, and what is left."""
    while extent % 2 == 0:
        yield Digit(2, step, counts, weight)
        extent, step, weight = extent // 2, 2 * step, 2 * weight
    if extent > 1:
        yield Digit(extent, step, counts, weight)
