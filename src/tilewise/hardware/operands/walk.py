"""What a descriptor reads, as a walk: bytes that rows add, bytes that K adds, and a swizzle of the sum.

A tensor core reads core matrices of 8 rows of 16 bytes. The descriptor says how far they are apart:

    K-major,  none      row r, chunk c of K     start + (r / 8) SBO + c LBO + (r % 8) 16
    K-major,  W bytes                           start + (r / 8) SBO + c 16  + (r % 8) W
    MN-major, none      chunk c of rows, k      start + c SBO + (k / 8) LBO + (k % 8) 16
    MN-major, W bytes   w = W / 16, R rows      start + (c / w) LBO + (c % w) 16 + (k / R) SBO + (k % R) W

with R the rows of the mode's atom, 8 or 4. The swizzle of the mode acts on the sum, in a pattern that
begins at 128 bytes times the base offset:

    byte = Sw(sum - 128 b) + 128 b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.algebra.slicing import Piece, Slices
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode as Extents
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.operands.strides import BASE_UNIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.operands.strides import Described

Digits = list[tuple[int, int]]
"""(extent, bytes), slowest first."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where the elements of an operand [rows, K] are read; all distances are bytes, or bits.

    >>> from tilewise.hardware.wgmma.descriptor import Descriptor
    >>> found = walk(Descriptor(sbo=1024, mode="128B"), "k", inside_a_chunk(DType.of("bf16")), 64, 2)
    >>> found.depth, found.byte(9, 8), found.table()[9][8]
    (16, 1152, 1152)
    """

    rows: int
    along: Digits
    """What rows add; they may go on past the last one, to the end of its atom."""
    across: Digits
    """What elements of K add."""
    start: int
    moved: int
    """By how much the pattern is moved."""
    swizzle: Swizzle
    unit: str = "byte"

    @property
    def depth(self) -> int:
        """Elements along K."""
        return size(self.across)

    def layout(self) -> Layout:
        """The rows to the end of their last atom, as one layout."""
        digits = (self.along, self.across)
        shape: tuple[Extents, ...] = tuple(tuple(extent for extent, _ in each) for each in digits)
        strides = tuple(as_vector(step) for each in digits for _, step in each)
        layout = Layout(shape, strides, offset=as_vector(self.start - self.moved), unit=self.unit)
        return layout.swizzled((self.swizzle,) if self.swizzle.bits else (), as_vector(self.moved))

    def pieces(self) -> Slices:
        """Exactly the rows, as layouts with their boxes."""
        whole = self.layout()
        if size(self.along) == self.rows:
            return Slices((Piece(((0, self.rows), (0, self.depth)), whole),))
        found = whole.slice((0, self.rows))
        return Slices(Piece(piece.box, piece.layout.coalesce(by_mode=True)) for piece in found)

    def byte(self, row: int, k: int) -> int:
        """The byte in which the element (row, k) begins."""
        total = self.start + steps(row, self.along) + steps(k, self.across)
        return self._in_bytes(self.swizzle(total - self.moved) + self.moved)

    def table(self) -> list[list[int]]:
        """The byte of every element, row by row."""
        source, shift, moved = self.swizzle.source, self.swizzle.shift, self.moved
        columns = [steps(k, self.across) for k in range(self.depth)]
        starts = [self.start + steps(row, self.along) for row in range(self.rows)]
        sums = ([start + column for column in columns] for start in starts)
        return [[self._in_bytes(at ^ ((at - moved & source) >> shift)) for at in row] for row in sums]

    def _in_bytes(self, place: int) -> int:
        return place if self.unit == "byte" else place // 8


def walk(descriptor: Described, major: str, chunk: Digits, rows: int, chunks: int, scale: int = 1) -> Walk:
    """The walk of a descriptor over `rows` rows and as much of K as fills so many chunks of 16 bytes.

    `chunk` has the elements of 16 bytes; those of MN-major lie along the rows. They begin at bytes, or at
    bits where the scale is 8.
    """
    mode = descriptor.mode
    if major == "k":
        along, across = (_scaled(digits, scale) for digits in _k_major(descriptor, rows, chunks))
        across += chunk
    else:
        several, depth = rows // size(chunk), chunks * size(chunk)
        along, across = (_scaled(digits, scale) for digits in _mn_major(descriptor, several, depth))
        along += chunk
    moved = BASE_UNIT * descriptor.base_offset if mode.bits else 0
    unit = "byte" if scale == 1 else "bit"
    swizzle = mode.swizzle.scaled(scale, 1)
    return Walk(rows, along, across, descriptor.start * scale, moved * scale, swizzle, unit)


def _k_major(descriptor: Described, rows: int, chunks: int) -> tuple[Digits, Digits]:
    mode = descriptor.mode
    down, across = (mode.width, CHUNK) if mode.bits else (CHUNK, descriptor.lbo)
    return [(rows // ROWS, descriptor.sbo), (ROWS, down)], [(chunks, across)]


def _mn_major(descriptor: Described, chunks: int, depth: int) -> tuple[Digits, Digits]:
    mode = descriptor.mode
    if not mode.bits:
        return [(chunks, descriptor.sbo)], [(depth // ROWS, descriptor.lbo), (ROWS, CHUNK)]
    together = min(mode.chunks, chunks)
    columns = [(depth // mode.rows, descriptor.sbo), (mode.rows, mode.width)]
    return [(-(-chunks // together), descriptor.lbo), (together, CHUNK)], columns


def _scaled(digits: Digits, scale: int) -> Digits:
    return [(extent, step * scale) for extent, step in digits]


def inside_a_chunk(dtype: DType) -> Digits:
    """The elements of 16 bytes, each at the byte that holds it.

    >>> inside_a_chunk(DType.of("bf16")), inside_a_chunk(DType.of("e2m1"))
    ([(8, 2)], [(16, 1), (2, 0)])
    """
    if dtype.bits >= 8:
        return [(CHUNK * 8 // dtype.bits, dtype.bits // 8)]
    return [(CHUNK, 1), (8 // dtype.bits, 0)]


def unread_fields(descriptor: Described, walked: Walk, major: str) -> tuple[str, ...]:
    """The fields among lbo, sbo and base_offset that say nothing: any other value reads the same bytes."""
    mode, one_step = descriptor.mode, walked.along[0][0] == 1
    silent = {"base_offset"} if not mode.bits else set()
    if major == "k":
        silent |= {"sbo"} if one_step else set()
        silent |= {"lbo"} if mode.bits or walked.across[0][0] == 1 else set()
    else:
        leading, stride = ("lbo", "sbo") if mode.bits else ("sbo", "lbo")
        silent |= {leading} if one_step else set()
        silent |= {stride} if walked.across[0][0] == 1 else set()
    return tuple(name for name in ("lbo", "sbo", "base_offset") if name in silent)


def ends(pieces: Sequence[Piece], dtype: DType) -> tuple[int, int]:
    """The first and the last byte that pieces counted in bytes read of elements of a type."""
    found = [piece.layout.extremes("m") for piece in pieces]
    return min(low for low, _ in found), max(high for _, high in found) + max(dtype.bits // 8, 1) - 1


def steps(index: int, digits: Digits) -> int:
    """What an index adds."""
    total = 0
    for extent, step in reversed(digits):
        index, digit = divmod(index, extent)
        total += digit * step
    return total


def size(digits: Digits) -> int:
    """So many indices the digits have."""
    return prod(extent for extent, _ in digits)
