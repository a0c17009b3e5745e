"""A and B of a kernel: their tiles in shared memory, how they get there, how the warps read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.feeding import Feed
from tilewise.check.feeding.forms import Fill, Vector
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.emit.mma.moves import fed
from tilewise.emit.mma.tiles import usual
from tilewise.emit.parts.asked import check_shape, on_m
from tilewise.emit.parts.copies import BYTE, widest
from tilewise.emit.parts.room import room_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.mma.fragments import is_volta
from tilewise.hardware.mma.instructions import Shape

MAJORS = ("k", "mn")
LDMATRIX_SINCE = 75
WIDEST = 16
"""Bytes of the widest load and copy."""


def of_a_warp(shape: Shape, dtype: DType) -> Shape:
    """The product that one instruction of a warp makes: Volta's makes four, two each way.

    >>> print(of_a_warp(Shape.of("m8n8k4"), DType.of("f16")), of_a_warp(Shape.of("m8n8k4"), DType.of("f64")))
    m16n16k4 m8n8k4
    """
    return replace(shape, m=2 * shape.m, n=2 * shape.n) if is_volta(shape, dtype) else shape


@dataclass(frozen=True)
class Operand:
    """A or B: its part [rows, k] of the tile of a block, and what `warps` warps along its rows read of it."""

    name: str
    dtype: DType
    shape: Shape
    rows: int
    k: int
    warps: int
    major: str
    """What is contiguous in global memory: k or mn."""
    tile: Layout
    """Where each element [row, k] lies in shared memory, in elements."""
    arch: Architecture
    """The architecture whose loads there are."""
    form: str | None = None
    """What alone may load it, such as matrices, where it was asked."""

    @property
    def each(self) -> tuple[int, int]:
        """Rows and elements of K of one instruction."""
        whole = of_a_warp(self.shape, self.dtype)
        return (whole.m if self.name == "A" else whole.n), whole.k

    @property
    def blocks(self) -> int:
        """Instructions of a warp along its rows."""
        return self.rows // self.warps // self.each[0]

    @property
    def steps(self) -> int:
        """Instructions along K."""
        return self.k // self.each[1]

    @property
    def fragment(self) -> Layout:
        """Which lane holds each element [row, k] of one instruction."""
        return self.feed.fragment

    @property
    def register_bits(self) -> int:
        """Bits of a register: 64 for f64."""
        return max(REGISTER_BITS, self.dtype.bits)

    @property
    def registers(self) -> int:
        """Registers of a lane for one instruction."""
        return self.fragment.span("reg") * self.dtype.bits // self.register_bits

    @property
    def room(self) -> int:
        """Bytes of shared memory from the start of the tile to its end, with what is left free between."""
        return room_of(self.tile, self.dtype)

    @cached_property
    def width(self) -> int:
        """Bytes that a thread copies at once."""
        found = widest(self)
        if found is None:
            raise Refused(
                "TW605",
                f"threads cannot copy {self.name}: elements of {self.dtype.bits} bits that share a byte in "
                "global memory are apart in shared memory",
                witness={"dtype": self.dtype.name, "major": self.major},
                hint="lay them out along K, and --major k",
            )
        return found

    @cached_property
    def feed(self) -> Feed:
        """What loads its fragments."""
        warps = self.warps, 1
        return fed(self.name, self.tile, self.shape, self.dtype, warps, self.arch, self.form)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What makes it slow, with the reasons: loads that are no matrices, copies of few bytes."""
        return tuple(_notes(self))

    @property
    def fill(self) -> Fill:
        """How they come."""
        fill = self.feed.fill
        assert fill is not None
        return fill


def operand(
    name: str,
    dtype: DType,
    shape: Shape,
    rows: int,
    k: int,
    warps: int,
    arch: Architecture,
    form: str | None = None,
    *,
    major: str | None = None,
    layout: Layout | None = None,
) -> Operand:
    """An operand whose tile lies as asked, or as is usual for what global memory has contiguous.

    Where a layout is asked for and no major, the matrix lies in global memory the way that more bytes can
    be copied at once.

        refused  TW602 another shape, or a type that does not lie so; TW605 a layout that is no tile
    """
    if major is not None and major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: " + " ".join(MAJORS))
    if major == "mn" and dtype.bits < BYTE:
        raise Refused(
            "TW602",
            f"{dtype} that is MN-major does not fill registers along K",
            witness={"dtype": dtype.name, "major": major},
            hint="lay it out with K contiguous",
        )
    if layout is None:
        major = major or "k"
        return Operand(name, dtype, shape, rows, k, warps, major, usual(dtype, major, rows, k), arch, form)
    tile = in_elements(name, dtype, rows, k, layout)
    majors = [major] if major else MAJORS if dtype.bits >= BYTE else ["k"]
    made = [Operand(name, dtype, shape, rows, k, warps, each, tile, arch, form) for each in majors]
    return max(made, key=lambda own: widest(own) or 0)


def _notes(own: Operand) -> Iterator[str]:
    vector = own.fill.form
    if isinstance(vector, Vector) and vector.bits < WIDEST * BYTE and own.feed.reasons and _has_matrices(own):
        why = own.feed.reasons[0]
        yield f"{own.name} by {vector}, not by ldmatrix: {why.message}" + (
            f"; {why.hint}" if why.hint else ""
        )
    if own.width < WIDEST:
        along = "K" if own.major == "k" else "M" if own.name == "A" else "N"
        here = f"{own.width} byte{'s' * (own.width > 1)} at a time"
        yield f"{own.name} is copied {here}: shared memory keeps no more together along {along}"


def _has_matrices(own: Operand) -> bool:
    """Whether ldmatrix moves elements of this size at all."""
    return own.arch.number >= LDMATRIX_SINCE and own.dtype.bits <= REGISTER_BITS


def in_elements(name: str, dtype: DType, rows: int, k: int, layout: Layout) -> Layout:
    """A layout that was asked for, on the axis m and in elements.

    refused  TW602 another shape, TW605 copies
    """
    check_shape(name, layout, rows, k)
    plain = on_m(layout, dtype)
    if plain.copies > 1:
        raise Refused(
            "TW605",
            f"the layout of {name} is no tile of a kernel: it has {plain.copies} copies of every element",
            witness=plain.copies,
            hint="threads write each element once",
        )
    return plain
