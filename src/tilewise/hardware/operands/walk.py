"""The reads of a descriptor as a walk: bytes that rows add, bytes that K adds, a swizzle of the sum.

The steps are those of the template of its mode and major, with the numbers that its fields hold. The swizzle
of the mode acts on the sum, in a pattern that begins at 128 bytes times the base offset:

    byte = Sw(sum - 128 b) + 128 b
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.algebra.slicing import Piece, Slices
from tilewise.core.digits import value
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.operands.template import BASE_UNIT, Template, template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.hardware.engines import MatrixDescriptor
    from tilewise.hardware.operands.template import Digits


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the model that is in no document: its text, the test on the hardware, the device."""

    name: str
    says: str
    asked: str
    confirmed: str = "device: H200"


@dataclass(frozen=True, slots=True)
class Walk:
    """The addresses at which the elements of an operand [rows, K] are read; all distances are bytes, or bits.

    >>> from tilewise.hardware.wgmma.descriptor import Descriptor
    >>> found = walk(Descriptor(sbo=1024, mode="128B"), "k", inside_a_chunk(DType.of("bf16")), 64, 2)
    >>> found.depth, found.byte(9, 8), found.table()[9][8]
    (16, 1152, 1152)
    """

    rows: int
    down: Digits
    """The amounts that rows add; they may go on past the last one, to the end of its atom."""
    right: Digits
    """The amounts that elements of K add."""
    start: int
    moved: int
    """The distance by which the pattern is moved."""
    swizzle: Swizzle
    unit: str
    template: Template

    @property
    def depth(self) -> int:
        """Return the elements along K."""
        return prod(extent for extent, _ in self.right)

    def pieces(self) -> Slices:
        """Return exactly the rows, as layouts with their boxes."""
        shape = tuple([tuple([extent for extent, _ in digits]) for digits in (self.down, self.right)])
        strides = tuple([as_vector(step) for digits in (self.down, self.right) for _, step in digits])
        layout = Layout(shape, strides, offset=as_vector(self.start - self.moved), unit=self.unit)
        whole = layout.swizzled((self.swizzle,) if self.swizzle.bits else (), as_vector(self.moved))
        if prod(shape[0]) == self.rows:
            return Slices((Piece(((0, self.rows), (0, self.depth)), whole),))
        found = whole.slice((0, self.rows))
        return Slices(Piece(piece.box, piece.layout.coalesce(by_mode=True)) for piece in found)

    def byte(self, row: int, k: int) -> int:
        """Return the byte in which the element (row, k) begins."""
        total = value(self.down, row, value(self.right, k, self.start))
        place = self.swizzle(total - self.moved) + self.moved
        return place if self.unit == "byte" else place // 8

    def table(self) -> list[list[int]]:
        """Return the byte of every element, row by row."""
        columns = [value(self.right, k, self.start - self.moved) for k in range(self.depth)]
        rows = [value(self.down, row, 0) for row in range(self.rows)]
        bits = 1 if self.unit == "byte" else 8
        return [[(self.swizzle(row + column) + self.moved) // bits for column in columns] for row in rows]


def walk(
    descriptor: MatrixDescriptor, major: str, chunk: Digits, rows: int, chunks: int, scale: int = 1
) -> Walk:
    """Return the walk of a descriptor over `rows` rows and as much of K as fills a number of chunks of 16
    bytes.

    `chunk` has the elements of 16 bytes; those of MN-major lie along the rows. They begin at bytes, or at
    bits where the scale is 8.
    """
    mode, together = descriptor.mode, prod(extent for extent, _ in chunk)
    across, several = (rows, chunks) if major == "k" else (chunks * together, rows // together)
    form = template(mode, major, across, several)
    numbers = form.numbers({"lbo": descriptor.lbo, "sbo": descriptor.sbo})
    along, beside = ([(extent, step * scale) for extent, step in digits] for digits in numbers)
    along += chunk
    return Walk(
        rows,
        *((beside, along) if major == "k" else (along, beside)),
        descriptor.start * scale,
        BASE_UNIT * descriptor.base_offset * scale if mode.bits else 0,
        mode.swizzle.scaled(scale, 1),
        "byte" if scale == 1 else "bit",
        form,
    )


def inside_a_chunk(dtype: DType) -> Digits:
    """Return the elements of 16 bytes, each at the byte that holds it.

    >>> inside_a_chunk(DType.of("bf16")), inside_a_chunk(DType.of("e2m1"))
    ([(8, 2)], [(16, 1), (2, 0)])
    """
    if dtype.bits >= 8:
        return [(CHUNK * 8 // dtype.bits, dtype.bits // 8)]
    return [(CHUNK, 1), (8 // dtype.bits, 0)]


def unread_fields(walks: Sequence[Walk]) -> tuple[str, ...]:
    """Return those of lbo, sbo and base_offset of which any other value reads the same bytes.

    Where two walks lie side by side along K, LBO has the start of the second.
    """
    return tuple([name for name in walks[0].template.unread if name != "lbo" or len(walks) == 1])


def joined(walks: Iterable[Walk]) -> Slices:
    """Return the pieces of all walks, side by side along K."""
    found, first = [], 0
    for one in walks:
        for piece in one.pieces():
            rows, (low, high) = piece.box
            found.append(Piece((rows, (first + low, first + high)), piece.layout))
        first += one.depth
    return Slices(found)


class Multiplicand:
    """The part of A or B that one instruction of an engine reads, and the reads of any descriptor for it."""

    dtype: str
    major: str
    operand: str

    @property
    def rows(self) -> int:
        """Return the rows that one CTA reads."""
        raise NotImplementedError

    @property
    def depth(self) -> int:
        """Return the elements along K that are stored and read."""
        raise NotImplementedError

    @property
    def stored_bits(self) -> int:
        """Return the bits that each element takes in shared memory."""
        return DType.of(self.dtype).bits

    @property
    def in_chunk(self) -> int:
        """Return the elements in 16 bytes."""
        return CHUNK * 8 // self.stored_bits

    def walks(self, descriptor: Any) -> list[Walk]:
        """Return one walk, or two where K is read in two chunks."""
        raise NotImplementedError

    def pieces(self, descriptor: Any) -> Slices:
        """Return the reads as an exact list of layouts, each with its box of (row, k).

            postcondition  the boxes are disjoint and cover [rows, K]; at (r, k) of its box, counted from the
                           box's corner, a piece's layout places the byte that is read
            cost           no more with more rows

        >>> from tilewise.hardware.engines import engine
        >>> of = engine("wgmma")
        >>> for piece in of.operand("f16", "mn", n=96).pieces(of.descriptor(lbo=1024, sbo=2048, mode="128B")):
        ...     print(piece.box, piece.layout)
        ((0, 64), (0, 16)) Swizzle<3,4,3> o S[(64, (2, 8)) : (2, (2048, 128))]
        ((64, 96), (0, 16)) Swizzle<3,4,3> o (S[(32, (2, 8)) : (2, (2048, 128))] + 1024)
        """
        return joined(self.walks(descriptor))

    def reads(self, descriptor: Any) -> Layout:
        """Return the byte of each element of the operand [rows, K], counted in bytes, as one layout.

            requires  one layout is enough; `pieces` has the exact list for every other operand

        >>> from tilewise.hardware.engines import engine
        >>> of = engine("wgmma")
        >>> print(of.operand("bf16", n=64).reads(of.descriptor(sbo=1024, mode="128B")))
        Swizzle<3,4,3> o S[((8, 8), (2, 8)) : ((1024, 128), (16, 2))]
        """
        found = self.pieces(descriptor)
        if len(found) == 1:
            return found[0].layout
        rows, k = found[-1].box
        inside = f"{rows[1]} rows end inside an atom of {descriptor.mode.width * 8 // self.stored_bits}: "
        raise Refused(
            "TW501",
            f"{inside * (rows[0] > 0)}what is read is {len(found)} layouts, not one",
            witness={"rows": [*rows]} | ({"k": [*k]} if k[0] else {}),
            hint="pieces(...) has each with its box",
        )

    def byte_of(self, descriptor: Any, row: int, k: int) -> int:
        """Return the byte of shared memory in which the element (row, k) begins."""
        for index, extent, name in ((row, self.rows, "row"), (k, self.depth, "k")):
            if not 0 <= as_int(index, name) < extent:
                raise LayoutError("TW201", f"{name} {index} is outside 0..{extent - 1} of the operand")
        first, *second = self.walks(descriptor)
        return first.byte(row, k) if k < first.depth else second[0].byte(row, k - first.depth)

    def addresses(self, descriptor: Any) -> list[list[int]]:
        """Return the byte in which every element begins, row by row: [rows][K]."""
        tables = [walked.table() for walked in self.walks(descriptor)]
        return [[byte for part in parts for byte in part] for parts in zip(*tables, strict=True)]

    def unread(self, descriptor: Any) -> tuple[str, ...]:
        """Return the fields without effect here: any other value of them reads the same bytes.

        >>> from tilewise.hardware.engines import engine
        >>> of = engine("wgmma")
        >>> of.operand("f16", "mn", n=8).unread(of.descriptor())
        ('sbo', 'base_offset')
        """
        return unread_fields(self.walks(descriptor))

    def extremes(self, descriptor: Any) -> tuple[int, int]:
        """Return the first and the last byte that is read."""
        found = self.pieces(descriptor)
        places = [piece.layout.extremes("m") for piece in found]
        bits = DType.of(self.dtype).bits
        unit, last = (1, max(1, bits // 8)) if found[0].layout.unit == "byte" else (8, bits)
        return min(low for low, _ in places) // unit, (max(high for _, high in places) + last - 1) // unit
