"""A tile of shared memory as a warp's registers see it, and the instructions that move it.

With T the tile in bytes and F the fragment of one instruction, T o F^-1 places the bytes of a lane. Both are
made of bits: F permutes those of (row, column, byte) into those of (laneid, byte of the lane's registers),
and T steps by one stride a bit before its swizzle. So T o F^-1 is one stride a bit of laneid and of the byte,
and one a digit of the instruction's number, inside T's own swizzle.

With L the layout of a form of ldmatrix or stmatrix, which takes [j, r, byte of a row] to (laneid, byte of the
registers), the form moves the operand iff T o F^-1 o L places [j, r, byte] at a(j, r) + byte, each a(j, r) a
multiple of 16. L permutes bits as well. Its registers may be any of the tile's: of one instruction or of
several, in any order, for the code names them. So the registers are chosen that put 1, 2, 4, 8 on the bits of
a row's byte, and `Tile.follow` proves the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import prod

from tilewise.check.operand import SharedTile
from tilewise.core.axes import Axis, m
from tilewise.core.bits import affine
from tilewise.core.digits import halves
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.swizzles import apply_chain
from tilewise.core.vectors import along
from tilewise.hardware.limits import LANE_BITS, LANES, REGISTER_BITS
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.operand import Digits

LANE, BYTE = Axis("laneid"), Axis("reg")

REGISTER = REGISTER_BITS // 8
"""Bytes of a register."""

WIDEST = 16
"""Bytes of the widest vector that one lane moves."""


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of an address: its extent, its stride in bytes before the swizzle, and the
    thing it counts.
    """

    extent: int
    stride: int
    counts: str
    """The counted thing: lane, byte (of a lane's registers in one instruction), row or column (of
    instructions).

    `warp row` and `warp column` count the warps that share the rows, or the columns."""
    weight: int = 1
    """The amount that one step adds to the number it counts."""


def packed(layout: Layout, size: int) -> Layout:
    """Return a layout over laneid and reg with a last mode of bytes: laneid + 32 * byte, on one axis.

    >>> from tilewise import S, laneid, reg
    >>> print(packed(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], 2))
    S[(8, 4, 2, 2) : (4, 1, 64, 32)]
    """
    strides = [along(m, stride[LANE] + LANES * size * stride[BYTE]) for stride in layout.strides]
    offset = along(m, layout.offset[LANE] + LANES * size * layout.offset[BYTE])
    return Layout((*layout.shape, size), (*strides, along(m, LANES)), offset=offset)


@dataclass(frozen=True)
class Fragment:
    """One instruction's operand in the lanes, over laneid and reg, in cells of whole bytes."""

    layout: Layout
    size: int
    """Bytes of a cell."""

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Return the rows of one instruction, and the cells of a row."""
        rows, columns = extents_of(self.layout.shape)
        return rows, columns

    @cached_property
    def bits(self) -> list[int]:
        """Return the flat index of the (row, column, byte) that each bit of laneid + 32 * byte adds, the
        lowest first.
        """
        found = [index for (index,) in affine(packed(self.layout, self.size)).quasi_inverse().columns]
        return found + [0] * (LANE_BITS - len(found))


@dataclass(frozen=True)
class Tile:
    """Every byte of a tile by its holder: digits inside the tile's own swizzle."""

    lanes: tuple[Digit, ...]
    """The bits of laneid, the lowest first; a stride of 0 where lanes hold the same."""
    bytes: tuple[Digit, ...]
    """The bits of a byte of a lane's registers in one instruction, the lowest first."""
    steps: tuple[Digit, ...]
    """The digits that select the instruction, of rows and of columns, the fastest of each first."""
    cells: SharedTile
    """The cells of the tile, with its address and its swizzles."""
    group: bool = False
    """True if all threads of a warpgroup give addresses, not the lanes of one warp."""

    @property
    def threads(self) -> tuple[Digit, ...]:
        """Return the digits above laneid of the thread that gives an address."""
        return self.warps if self.group else ()

    @property
    def digits(self) -> tuple[Digit, ...]:
        """Return all digits of the tile."""
        return (*self.lanes, *self.bytes, *self.steps)

    @cached_property
    def own_steps(self) -> tuple[Digit, ...]:
        """Return the digits that count the instructions of one warp."""
        return tuple(digit for digit in self.steps if not digit.counts.startswith("warp"))

    @cached_property
    def warps(self) -> tuple[Digit, ...]:
        """Return the digits that count warps."""
        return tuple(digit for digit in self.steps if digit.counts.startswith("warp"))

    def at(self, inside: int) -> int:
        """Return the address of a byte whose digits step by `inside` together."""
        cells = self.cells
        return apply_chain(cells.chain, cells.start + inside) + cells.outer + cells.base

    def layout(self, digits: Sequence[Digit], inside: int = 0) -> Layout:
        """Return the addresses of some digits, slowest first, in bytes; the others stand at `inside`."""
        cells, outer = self.cells, self.cells.pattern if self.cells.chain else 0
        return Layout(
            tuple([digit.extent for digit in digits]),
            tuple([along(m, digit.stride) for digit in digits]),
            offset=along(m, cells.start + inside + cells.pattern - outer),
            swizzles=cells.chain,
            outer=along(m, outer),
            unit="byte",
        )

    @cached_property
    def steps_of(self) -> dict[Digit, int]:
        """Return the bytes that the first step of each digit adds to the first address."""
        return {digit: self.at(digit.stride) - self.at(0) for digit in self.digits}

    def follow(self, run: Sequence[Digit], width: int) -> bool:
        """Return True if the digits of a run count the bytes inside `width` aligned bytes.

            requires       width is a power of two, and the run writes the numbers below it
            postcondition  true iff whatever the other digits are, the byte of the run's number x is at a + x,
                           for a multiple a of `width`

        If no swizzle changes the bits inside `width`, the strides decide. Otherwise every address is tested.
        """
        cells = self.cells
        others = [digit for digit in self.digits if digit not in run]
        if all(1 << one.base >= width for one in cells.chain):
            starts = (cells.start, cells.outer, cells.base) if cells.chain else (self.at(0),)
            strides = [digit.stride for digit in others if digit.extent > 1]
            counted = [digit.stride for digit in run] == [1 << bit for bit in range(len(run))]
            counted = counted and not any(number % width for number in (*starts, *strides))
            if counted or not cells.chain:
                return counted
        return all(
            start % width == 0 and all(self.at(first + step) == start + x for x, step in enumerate(sums(run)))
            for first, start in ((first, self.at(first)) for first in sums(others))
        )


def sums(digits: Sequence[Digit]) -> list[int]:
    """Return the sums of the digits, for every number that they write, the first digit the fastest.

    >>> sums([Digit(2, 1, "byte"), Digit(2, 64, "byte")])
    [0, 1, 64, 65]
    """
    total = [0]
    for digit in digits:
        total = [digit.stride * step + before for step in range(digit.extent) for before in total]
    return total


WARPGROUP = 4
"""Warps of a warpgroup."""


def tile_of(
    cells: SharedTile, fragment: Fragment, warps: tuple[int, int] = (1, 1), group: bool = False
) -> Tile | None:
    """Return the tile that an operand is, cut into instructions of a fragment, for warps that share them.

    Each warp has neighbouring instructions; of a warpgroup it has one of four that follow down the rows. None
    where digits do not divide into instructions, or no digit begins with the second warp.
    """
    whole = [halves(digits, one) for digits, one in zip(cells.digits, fragment.shape, strict=True)]
    if None in whole:
        return None
    (which_rows, rows), (which_columns, columns) = [parts for parts in whole if parts]
    within = [1 << bit for bit in range(fragment.size.bit_length() - 1)]
    within += [digit.stride for digits in (columns, rows) for digit in _twos(digits, "")]
    held = [within[index.bit_length() - 1] if index else 0 for index in fragment.bits]
    steps: list[Digit] = []
    for counts, digits, shared in zip(("row", "column"), (which_rows, which_columns), warps, strict=True):
        many = prod(extent for extent, _ in digits)
        in_group = group and counts == "row"
        parts = halves(digits, WARPGROUP if in_group else many // shared)
        if many % shared or parts is None:
            return None
        own, others = parts if in_group else parts[::-1]
        steps += [*_twos(own, counts), *_twos(others, f"warp {counts}")]
    return Tile(
        tuple([Digit(2, stride, "lane", 1 << bit) for bit, stride in enumerate(held[:LANE_BITS])]),
        tuple([Digit(2, stride, "byte", 1 << bit) for bit, stride in enumerate(held[LANE_BITS:])]),
        tuple(steps),
        cells,
        group,
    )


def _twos(digits: Digits, counts: str) -> Iterator[Digit]:
    """Yield the digits of a number, the fastest first, as factors of two and the rest."""
    weight = 1
    for extent, step in reversed(digits):
        while extent % 2 == 0:
            yield Digit(2, step, counts, weight)
            extent, step, weight = extent // 2, 2 * step, 2 * weight
        if extent > 1:
            yield Digit(extent, step, counts, weight)
            weight *= extent


# -- instructions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vector:
    """A plain load or store of some neighbouring bytes by each lane.

    >>> print(Vector("ld", 128), Vector("st", 64, 64), Vector("ld", 16))
    ld.shared.v4.b32 st.shared.b64 ld.shared.b16
    """

    instruction: str
    """ld or st."""
    bits: int
    unit: int = REGISTER_BITS
    """Bits of a register: 64 for f64."""
    trans = False

    @property
    def registers(self) -> int:
        """Return the number of registers moved, or 1 where a part of one register is moved."""
        return max(1, self.bits // self.unit)

    def __str__(self) -> str:
        vector = f".v{self.registers}" if self.registers > 1 else ""
        return f"{self.instruction}.shared{vector}.b{min(self.bits, self.unit)}"


def named(form: Form | Vector) -> str:
    """Return a form without the words that its whole kind has.

    >>> named(Form("ldmatrix", 4, trans=True)), named(Vector("st", 64))
    ('ldmatrix.x4.trans', 'st.shared.v2.b32')
    """
    return str(form) if isinstance(form, Vector) else f"{form.instruction}.{short(form)}"


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a lane's registers: their instruction, and their place among its bytes there."""

    row: int
    column: int
    byte: int
    bytes: int

    @property
    def register(self) -> int:
        """Return the 32-bit register of the instruction in which the bytes begin."""
        return self.byte // REGISTER


@dataclass(frozen=True, slots=True)
class Step:
    """One load or store of a tile: the parts that it moves, and its addresses."""

    parts: tuple[Part, ...]
    """The parts moved, register by register of the form, or in the order of memory."""
    add: int | None
    """The number that every lane adds to its first address; None where lanes differ."""
    xor: int | None
    """The number that every lane XORs with its first address, counted from the swizzle's origin; None where
    lanes differ.
    """
    addresses: Layout
    """The address of each lane, in bytes."""

    @property
    def row(self) -> int:
        """Return the first instruction that the step feeds, down the rows."""
        return self.parts[0].row

    @property
    def column(self) -> int:
        """Return the first instruction that the step feeds, along the columns."""
        return self.parts[0].column


@dataclass(frozen=True)
class Fill:
    """A form that moves all of a tile, with the digits that it moves."""

    tile: Tile
    form: Form | Vector
    lanes: tuple[Digit, ...]
    """The digits of the lane that gives an address, the lowest first; of a warpgroup those of the thread."""
    moved: tuple[Digit, ...]
    """The digits that one instruction moves, the lowest first: its registers, or the bytes of a vector."""
    part: int
    """Bytes that stay together in a register."""

    @cached_property
    def left(self) -> tuple[Digit, ...]:
        """Return the digits that count instructions: the columns inside the rows."""
        taken = {*self.lanes, *self.moved, *self.tile.bytes[: self.part.bit_length() - 1]}
        left = [digit for digit in (*self.tile.bytes, *self.tile.own_steps) if digit not in taken]
        return tuple(sorted(left, key=lambda digit: ("byte", "column", "row").index(digit.counts)))

    @property
    def count(self) -> int:
        """Return the number of instructions."""
        return len(sums(self.left))

    @cached_property
    def addresses(self) -> Layout:
        """Return the address of each lane for the first instruction, in bytes."""
        return self.tile.layout(self.lanes[::-1]).coalesce()

    @cached_property
    def table(self) -> list[list[int]]:
        """Return the address that each lane gives, instruction by instruction."""
        lanes = sums(self.lanes)
        return [[self.tile.at(lane + inside) for lane in lanes] for inside in sums(self.left)]

    def steps(self) -> Iterator[Step]:
        """Yield all instructions of the tile."""
        base, moved = self.tile.cells.base, places(self.moved)
        first = [at - base for at in self.table[0]]
        for inside, (row, column, byte), there in zip(
            sums(self.left), places(self.left), self.table, strict=True
        ):
            pairs = [(at - base, start) for at, start in zip(there, first, strict=True)]
            added, flipped = {at - start for at, start in pairs}, {at ^ start for at, start in pairs}
            yield Step(
                tuple([Part(row + r, column + c, byte + b, self.part) for r, c, b in moved]),
                added.pop() if len(added) == 1 else None,
                flipped.pop() if len(flipped) == 1 else None,
                self.tile.layout(self.lanes[::-1], inside).coalesce(),
            )


def places(digits: Sequence[Digit]) -> list[tuple[int, int, int]]:
    """Return (row, column, byte) of every number that the digits write.

    >>> places([Digit(2, 64, "row"), Digit(2, 8, "column", 2)])
    [(0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 2, 0)]
    """
    row, column, byte = (
        sums([Digit(digit.extent, digit.weight * (digit.counts == counts), counts) for digit in digits])
        for counts in ("row", "column", "byte")
    )
    return list(zip(row, column, byte, strict=True))


def bits_of(form: Form) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the bits of laneid + 32 * byte that are those of a row's byte, and of [matrix, row], lowest
    first.

    >>> bits_of(Form("ldmatrix", 4))
    ((5, 6, 0, 1), (2, 3, 4, 7, 8))
    >>> bits_of(Form("ldmatrix", 2, trans=True))
    ((5, 2, 3, 4), (6, 0, 1, 7))
    """
    size = form.bits // 8
    bits = tuple([place.bit_length() - 1 for (place,) in affine(packed(form.layout, size)).columns])
    in_row = (form.columns * size).bit_length() - 1
    return bits[:in_row], bits[in_row:]


def filled_by(tile: Tile, form: Form, nearer: str = "row") -> Fill | None:
    """Return the move of the tile by a form, or None; `nearer` are the steps that it takes first."""
    in_row, of_row = bits_of(form)
    low = REGISTER.bit_length() - 1
    if len(tile.bytes) < low:
        return None
    steps = sorted((d for d in tile.own_steps if d.extent == 2), key=lambda digit: digit.counts != nearer)
    refused: set[tuple[Digit, ...]] = set()
    for chosen in permutations((*tile.bytes[low:], *steps), form.registers.bit_length() - 1):
        held = (*tile.lanes, *tile.bytes[:low], *chosen)
        run = tuple([held[bit] for bit in in_row])
        if run in refused or [tile.steps_of[d] for d in run] != [1 << bit for bit in range(len(run))]:
            continue
        if tile.follow(run, CHUNK):
            lanes = [held[bit] for bit in of_row]
            lanes += [Digit(2, 0, "lane")] * (LANE_BITS - len(lanes))
            return Fill(tile, form, (*lanes, *tile.threads), chosen, REGISTER)
        refused.add(run)
    return None


def filled_plainly(tile: Tile, instruction: str, unit: int = REGISTER_BITS) -> Fill:
    """Return the move of the tile by the widest vectors: single bytes always work."""
    width, run = WIDEST, _run(tile, WIDEST)
    while run is None or not tile.follow(run, width):
        width //= 2
        run = _run(tile, width)
    together = 0
    most = min(len(run), (unit // 8).bit_length() - 1)
    while together < most and run[together] == tile.bytes[together]:
        together += 1
    form = Vector(instruction, 8 * width, unit)
    return Fill(tile, form, (*tile.lanes, *tile.threads), run[together:], 1 << together)


def _run(tile: Tile, width: int) -> tuple[Digit, ...] | None:
    """Return the digits that step by 1, 2, 4, ... inside a vector, or None where a digit is missing."""
    held = [*tile.bytes, *(digit for digit in tile.own_steps if digit.extent == 2)]
    found: list[Digit] = []
    for bit in range(width.bit_length() - 1):
        step = next((d for d in held if tile.steps_of[d] == 1 << bit and d not in found), None)
        if step is None:
            return None
        found.append(step)
    return tuple(found)
