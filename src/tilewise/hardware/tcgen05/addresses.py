"""Tensor memory: 128 lanes of 512 columns of 32 bits; its addresses, and its elements in columns.

address        lane << 16 | column
warp w         of a warpgroup reaches lanes 32 w to 32 w + 31, and every column of them
tcgen05.alloc  gives 32, 64, 128, 256 or 512 columns, each with all its lanes

PTX ISA, Tensor Memory; Tensor Memory Addressing; Tensor Memory Allocation; Access restrictions (tcgen05.ld,
.st).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, number_text

LANES = 128
COLUMNS = 512
COLUMN_BITS = 32
"""Bits of a column in one lane: a word."""
WARP_LANES = 32
"""Lanes that one warp of a warpgroup reaches."""
WARPS = LANES // WARP_LANES
ALLOCATIONS = (32, 64, 128, 256, 512)
"""Columns that tcgen05.alloc gives."""

LANE_SHIFT = 16
_WORD = 1 << 32


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A word of tensor memory.

        law    Address.of(address.value) == address

    >>> print(Address(32, 64))
    0x00200040
    >>> Address.of(0x00200040)
    Address(lane=32, column=64)
    """

    lane: int
    column: int

    def __post_init__(self) -> None:
        check_lane(self.lane)
        check_column(self.column)

    @classmethod
    def of(cls, value: Address | int) -> Address:
        """Return the word that a number of 32 bits names.

        >>> Address.of(0x00800000)
        Traceback (most recent call last):
        tilewise.LayoutError: TW203: 0x00800000: tensor memory has no lane 128
          hint: an address is lane << 16 | column
        """
        if isinstance(value, Address):
            return value
        word = as_int(value, "an address of tensor memory")
        hint = "an address is lane << 16 | column"
        if not 0 <= word < _WORD:
            raise LayoutError("TW203", f"{number_text(word)} is no address: it has 32 bits", hint=hint)
        lane, column = word >> LANE_SHIFT, word & ((1 << LANE_SHIFT) - 1)
        try:
            return cls(lane, column)
        except LayoutError as error:
            raise LayoutError(error.code, f"{word:#010x}: {error.message}", hint=hint) from None

    @property
    def value(self) -> int:
        """Return the number of 32 bits."""
        return self.lane << LANE_SHIFT | self.column

    @property
    def warp(self) -> int:
        """Return the warp of a warpgroup that reaches it."""
        return self.lane // WARP_LANES

    def moved(self, lanes: int = 0, columns: int = 0) -> Address:
        """Return the word so many lanes and columns further; the same sum of the numbers names it.

        >>> print(Address(32, 64).moved(lanes=16, columns=8))
        0x00300048
        """
        return Address(self.lane + as_int(lanes, "lanes"), self.column + as_int(columns, "columns"))

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:#010x}"


def check_lane(lane: int) -> int:
    """Return the lane, or raise an error for one that does not exist.

    >>> check_lane(128)
    Traceback (most recent call last):
    tilewise.LayoutError: TW203: tensor memory has no lane 128
      hint: lanes go from 0 to 127
    """
    return _checked("lane", lane, LANES, "lanes go from 0 to 127")


def check_column(column: int) -> int:
    """Return the column of 32 bits, or raise an error for one that does not exist."""
    return _checked("column", column, COLUMNS, "columns go from 0 to 511 and have 32 bits")


def _checked(name: str, number: int, many: int, hint: str) -> int:
    if not 0 <= as_int(number, f"a {name}") < many:
        raise LayoutError("TW203", f"tensor memory has no {name} {number_text(number)}", hint=hint)
    return number


# -- warps -----------------------------------------------------------------------------------------


def lanes_of(warp: int) -> range:
    """Return the lanes that a warp reaches: one quarter, by its number in its warpgroup.

    >>> lanes_of(1), lanes_of(6)
    (range(32, 64), range(64, 96))
    """
    first = as_int(warp, "a warp") % WARPS * WARP_LANES
    return range(first, first + WARP_LANES)


def check_reach(warp: int, lane: int) -> int:
    """Return the lane, or refuse it and name the warps that reach it.

    >>> check_reach(0, 40)
    Traceback (most recent call last):
    tilewise.Refused: TW602: warp 0 does not reach lane 40
      hint: warps 1, 5, 9, ... do; warp 0 reaches lanes 0 to 31
    """
    own, reaching = lanes_of(warp), check_lane(lane) // WARP_LANES
    if lane in own:
        return lane
    doing = ", ".join(str(reaching + WARPS * more) for more in range(3))
    raise Refused(
        "TW602",
        f"warp {warp} does not reach lane {lane}",
        witness={"warp": warp, "lane": lane},
        hint=f"warps {doing}, ... do; warp {warp} reaches lanes {own[0]} to {own[-1]}",
    )


# -- allocation ------------------------------------------------------------------------------------


def allocation_for(columns: int) -> int:
    """Return the columns to allocate for so many.

    >>> allocation_for(33), allocation_for(8)
    (64, 32)
    >>> allocation_for(576)
    Traceback (most recent call last):
    tilewise.Refused: TW602: tensor memory has no 576 columns
      hint: it has 512, in each lane, of 32 bits
    """
    wanted = as_int(columns, "columns")
    if wanted < 1:
        raise LayoutError(
            "TW102",
            f"{wanted} is no number of columns",
            hint=f"the fewest are {ALLOCATIONS[0]}: ask for one or more",
        )
    if wanted > COLUMNS:
        raise Refused(
            "TW602",
            f"tensor memory has no {number_text(wanted)} columns",
            witness={"columns": wanted},
            hint=f"it has {COLUMNS}, in each lane, of {COLUMN_BITS} bits",
        )
    return next(size for size in ALLOCATIONS if size >= wanted)


def check_allocation(columns: int) -> int:
    """Return the columns if tcgen05.alloc gives so many, or refuse and list the legal numbers.

    >>> check_allocation(96)
    Traceback (most recent call last):
    tilewise.Refused: TW602: tcgen05.alloc gives no 96 columns
      hint: it gives 32, 64, 128, 256 or 512: ask for 128
    """
    fitting = allocation_for(columns)
    if fitting == columns:
        return columns
    *some, last = map(str, ALLOCATIONS)
    raise Refused(
        "TW602",
        f"tcgen05.alloc gives no {columns} columns",
        witness={"columns": columns},
        hint=f"it gives {', '.join(some)} or {last}: ask for {fitting}",
    )


# -- elements --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """The elements of a type in the columns of a lane, one after the other.

    TCol counts elements wherever it can: hardware column = TCol * counted // 32.

        f16, packed                     2 in a column    1@TCol is the next one
        f16 of an accumulator           1 in a column    2@TCol: the upper half of each column is free
        e2m1 and e3m2 of kind::f8f6f4   4 in a column    1@TCol is the next byte, which holds one
        e2m1 of kind::mxf4              8 in a column    1@TCol is the next one

        law    element_at(*at(i)[:2]) == i

    >>> Cells.of("f16").at(3), Cells.of("f16", 32).at(3)
    ((1, 16, 31), (3, 0, 15))
    >>> Cells.of("f16", 32).step, Cells.of("e2m1", 8, 2).step
    (2, 1)
    """

    dtype: DType
    taken: int
    """Bits from one element to the next."""
    lowest: int = 0
    """The lowest of them that is the element's own."""

    @classmethod
    def of(cls, dtype: DType | str, taken: int | None = None, lowest: int = 0) -> Cells:
        """Return elements that take so many bits each, by default those that they have.

        >>> Cells.of("e3m2")
        Traceback (most recent call last):
        tilewise.Refused: TW602: elements of 6 bits fill no columns of 32
          hint: an element takes 1, 2, 4, 8, 16, 32, 64 or 128 bits; types of 6 bits lie in bytes
        """
        element = DType.of(dtype)
        each = element.bits if taken is None else as_int(taken, "the bits that an element takes")
        if each < 1 or each & (each - 1) or each > 128:
            raise Refused(
                "TW602",
                f"elements of {each} bits fill no columns of {COLUMN_BITS}",
                witness={"dtype": element.name, "bits": each},
                hint="an element takes 1, 2, 4, 8, 16, 32, 64 or 128 bits; types of 6 bits lie in bytes",
            )
        if not 0 <= as_int(lowest, "the lowest bit") <= each - element.bits:
            raise LayoutError(
                "TW508",
                f"{element} has {element.bits} bits, and does not lie from bit {lowest} of {each}",
                hint=f"{each} bits hold it from bit 0 to {each - element.bits}"
                if each >= element.bits
                else f"it takes {element.bits} bits or more",
            )
        return cls(element, each, lowest)

    @property
    def counted(self) -> int:
        """Return the bits that 1@TCol counts: those of an element, or those that it takes."""
        whole = self.lowest == 0 and self.taken % self.dtype.bits == 0
        return self.dtype.bits if whole else self.taken

    @property
    def step(self) -> int:
        """Return the steps of TCol from one element to the next."""
        return self.taken // self.counted

    @property
    def held(self) -> tuple[int, int] | None:
        """Return (bits that TCol counts, the lowest that is the element's), or None where they are the
        element's own.
        """
        return None if self.counted == self.dtype.bits else (self.counted, self.lowest)

    def columns(self, count: int) -> int:
        """Return the columns that hold so many elements of a lane.

        >>> Cells.of("bf16").columns(5), Cells.of("f16", 32).columns(5), Cells.of("b64").columns(5)
        (3, 5, 10)
        """
        return -(-as_int(count, "how many elements") * self.taken // COLUMN_BITS)

    def at(self, number: int) -> tuple[int, int, int]:
        """Return (column, lowest bit, highest bit) of an element; bits 32 to 63 are in the next column.

        >>> Cells.of("e2m1", 8, 2).at(5)
        (1, 10, 13)
        """
        bit = as_int(number, "an element") * self.taken
        column, low = divmod(bit, COLUMN_BITS)
        return column, low + self.lowest, low + self.lowest + self.dtype.bits - 1

    def element_at(self, column: int, bit: int = 0) -> int | None:
        """Return the element that a bit of a column belongs to, or None where the bit is free.

        >>> [Cells.of("f16", 32).element_at(3, bit) for bit in (0, 15, 16)]
        [3, 3, None]
        """
        number, inside = divmod(as_int(column, "a column") * COLUMN_BITS + as_int(bit, "a bit"), self.taken)
        return number if self.lowest <= inside < self.lowest + self.dtype.bits else None
