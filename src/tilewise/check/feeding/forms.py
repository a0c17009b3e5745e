"""Which instructions fill the registers of a warp from a tile, or store them: a form of ldmatrix, or vectors.

With T o F^-1 the tile as the lanes hold it and L the layout of a form, which takes [j, r, byte of a row] to
(laneid, byte of the registers), the form moves the operand iff T o F^-1 o L places [j, r, byte] at
a(j, r) + byte, each a(j, r) a multiple of 16. L permutes bits as well. Its registers may be any of the
tile's: of one instruction or of several, in any order, for the code names them. So the registers are chosen
that put 1, 2, 4, 8 on the bits of a row's byte, and `Tile.follow` proves the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from tilewise.check.feeding.tile import Digit, Tile, packed, sums
from tilewise.core.bits import affine
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANE_BITS, REGISTER_BITS
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.modes import CHUNK

REGISTER = REGISTER_BITS // 8
"""Bytes of a register."""

WIDEST = 16
"""Bytes of the widest vector that one lane moves."""


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

    @property
    def trans(self) -> bool:
        """Vectors move bytes as they lie."""
        return False

    @property
    def registers(self) -> int:
        """Registers that it moves, or 1 where it moves a part of one."""
        return max(1, self.bits // self.unit)

    def __str__(self) -> str:
        vector = f".v{self.registers}" if self.registers > 1 else ""
        return f"{self.instruction}.shared{vector}.b{min(self.bits, self.unit)}"


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a lane's registers: of which instruction, and which of those that it holds there."""

    row: int
    column: int
    byte: int
    bytes: int

    @property
    def register(self) -> int:
        """The 32-bit register of that instruction in which they begin."""
        return self.byte // REGISTER


@dataclass(frozen=True, slots=True)
class Step:
    """One load or store of a tile: what it moves, and where its addresses are."""

    parts: tuple[Part, ...]
    """What it moves, register by register of the form, or in the order of memory."""
    add: int | None
    """What every lane adds to its first address; None where that is no one number."""
    xor: int | None
    """What every lane XORs it with, counted from where the swizzle does; None where that is no one number."""
    addresses: Layout
    """The address of each lane, in bytes."""

    @property
    def row(self) -> int:
        """The first instruction that it feeds, down the rows."""
        return self.parts[0].row

    @property
    def column(self) -> int:
        """The first instruction that it feeds, along the columns."""
        return self.parts[0].column


@dataclass(frozen=True)
class Fill:
    """A form that moves all of a tile, and how its bits are those of the tile."""

    tile: Tile
    form: Form | Vector
    lanes: tuple[Digit, ...]
    """The digits of the lane that gives an address, the lowest first."""
    moved: tuple[Digit, ...]
    """The digits that one instruction moves, the lowest first: its registers, or the bytes of a vector."""
    part: int
    """Bytes that stay together in a register."""

    @cached_property
    def left(self) -> tuple[Digit, ...]:
        """The digits that count instructions: the columns inside the rows."""
        taken = {*self.lanes, *self.moved, *self._inside}
        left = [digit for digit in (*self.tile.bytes, *self.tile.own_steps) if digit not in taken]
        return tuple(sorted(left, key=lambda digit: ("byte", "column", "row").index(digit.counts)))

    @property
    def _inside(self) -> tuple[Digit, ...]:
        return self.tile.bytes[: self.part.bit_length() - 1]

    @property
    def count(self) -> int:
        """How many instructions there are."""
        count = 1
        for digit in self.left:
            count *= digit.extent
        return count

    @cached_property
    def addresses(self) -> Layout:
        """The address of each lane for the first instruction, in bytes."""
        return self._addresses(0)

    def _addresses(self, inside: int) -> Layout:
        return self.tile.layout(tuple(reversed(self.lanes)), inside).coalesce()

    def steps(self) -> Iterator[Step]:
        """All instructions of the tile."""
        lanes, base = sums(self.lanes), self.tile.base
        first = [self.tile.at(lane) - base for lane in lanes]
        moved = _held(self.moved)
        for inside, (row, column, byte) in zip(sums(self.left), _held(self.left), strict=True):
            pairs = [(self.tile.at(lane + inside) - base, at) for lane, at in zip(lanes, first, strict=True)]
            yield Step(
                tuple(Part(row + r, column + c, byte + b, self.part) for r, c, b in moved),
                _one(there - start for there, start in pairs),
                _one(there ^ start for there, start in pairs),
                self._addresses(inside),
            )


def named(form: Form | Vector) -> str:
    """A form without the words that all of its kind have.

    >>> named(Form("ldmatrix", 4, trans=True)), named(Vector("st", 64))
    ('ldmatrix.x4.trans', 'st.shared.v2.b32')
    """
    return str(form) if isinstance(form, Vector) else f"{form.instruction}.{short(form)}"


def weights(digits: Sequence[Digit], counts: str) -> list[int]:
    """What the digits say of one thing that is counted, for every number that they write.

    >>> weights([Digit(2, 64, "row"), Digit(2, 8, "column", 2)], "column")
    [0, 0, 2, 2]
    """
    return sums([Digit(digit.extent, digit.weight * (digit.counts == counts), counts) for digit in digits])


def _held(digits: Sequence[Digit]) -> list[tuple[int, int, int]]:
    """(row, column, byte) of every number that the digits write."""
    return list(zip(*(weights(digits, counts) for counts in ("row", "column", "byte")), strict=True))


def _one(numbers: Iterable[int]) -> int | None:
    distinct = set(numbers)
    return distinct.pop() if len(distinct) == 1 else None


# -- forms ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bits:
    """The bits of a form's index, each as a bit of laneid + 32 * byte, the lowest first."""

    byte: tuple[int, ...]
    row: tuple[int, ...]
    matrix: tuple[int, ...]


def bits_of(form: Form) -> Bits:
    """Which bit of laneid + 32 * byte each bit of [matrix, row, byte of the row] is.

    >>> bits_of(Form("ldmatrix", 4))
    Bits(byte=(5, 6, 0, 1), row=(2, 3, 4), matrix=(7, 8))
    >>> bits_of(Form("ldmatrix", 2, trans=True))
    Bits(byte=(5, 2, 3, 4), row=(6, 0, 1), matrix=(7,))
    """
    size = form.bits // 8
    columns = affine(packed(form.layout, size)).columns
    bits = tuple(place.bit_length() - 1 for (place,) in columns)
    in_row = (form.columns * size).bit_length() - 1
    rows = form.rows.bit_length() - 1
    return Bits(bits[:in_row], bits[in_row : in_row + rows], bits[in_row + rows :])


def filled_by(tile: Tile, form: Form, nearer: str) -> Fill | None:
    """The form moving the tile, or None where it does not; `nearer` are the steps that it takes first."""
    bits = bits_of(form)
    low = REGISTER.bit_length() - 1
    if len(tile.bytes) < low:
        return None
    count = form.registers.bit_length() - 1
    steps = sorted((d for d in tile.own_steps if d.extent == 2), key=lambda digit: digit.counts != nearer)
    refused: set[tuple[Digit, ...]] = set()
    for chosen in permutations((*tile.bytes[low:], *steps), count):
        held = (*tile.lanes, *tile.bytes[:low], *chosen)
        run = tuple(held[bit] for bit in bits.byte)
        if run in refused or [tile.steps_of[d] for d in run] != [1 << bit for bit in range(len(run))]:
            continue
        if tile.follow(run, CHUNK):
            lanes = [held[bit] for bit in (*bits.row, *bits.matrix)]
            lanes += [Digit(2, 0, "lane")] * (LANE_BITS - len(lanes))
            return Fill(tile, form, tuple(lanes), chosen, REGISTER)
        refused.add(run)
    return None


def filled_plainly(tile: Tile, instruction: str, unit: int = REGISTER_BITS) -> Fill:
    """The widest vectors that move the tile: single bytes do so always."""
    width = WIDEST
    while width > 1:
        run = _run(tile, width)
        if run is not None and tile.follow(run, width):
            return _vectors(tile, instruction, width, run, unit)
        width //= 2
    return _vectors(tile, instruction, 1, (), unit)


def _run(tile: Tile, width: int) -> tuple[Digit, ...] | None:
    """The digits that step by 1, 2, 4, ... inside a vector."""
    found: list[Digit] = []
    for bit in range(width.bit_length() - 1):
        held = (*tile.bytes, *(digit for digit in tile.own_steps if digit.extent == 2))
        step = next((d for d in held if tile.steps_of[d] == 1 << bit and d not in found), None)
        if step is None:
            return None
        found.append(step)
    return tuple(found)


def _vectors(tile: Tile, instruction: str, width: int, run: tuple[Digit, ...], unit: int) -> Fill:
    together = 0
    most = min(len(run), (unit // 8).bit_length() - 1)
    while together < most and run[together] == tile.bytes[together]:
        together += 1
    form = Vector(instruction, 8 * width, unit)
    return Fill(tile, form, tile.lanes, run[together:], 1 << together)
