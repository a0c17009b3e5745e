"""A, B and D of a kernel as warps see them: their tiles in shared memory, and their loads and stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.feeding import Feed, feed
from tilewise.check.feeding.forms import Fill, Vector
from tilewise.check.match import Mismatch
from tilewise.codegen.mma.choice import CONVERTED
from tilewise.codegen.parts.copies import BYTE, Staged, widest
from tilewise.codegen.parts.plan import (
    Unshared,
    as_tile,
    check_bytes,
    check_word,
    not_read,
    refused,
)
from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.mma.fragments import is_volta
from tilewise.hardware.mma.instructions import Shape
from tilewise.hardware.operands.template import MAJORS

LDMATRIX_SINCE = 75
STMATRIX_SINCE = 90
STMATRIX_BITS = 16
WIDEST = 16
"""Bytes of the widest load and copy."""

STORES = ("direct", "shared", "stmatrix")

ROWS = (128, 64, 32, 16)
"""Bytes of a row of a usual tile, the widest first."""


def of_a_warp(shape: Shape, dtype: DType) -> Shape:
    """Return the product that one instruction of a warp makes: Volta's makes four, two each way.

    >>> print(of_a_warp(Shape.of("m8n8k4"), DType.of("f16")), of_a_warp(Shape.of("m8n8k4"), DType.of("f64")))
    m16n16k4 m8n8k4
    """
    return replace(shape, m=2 * shape.m, n=2 * shape.n) if is_volta(shape, dtype) else shape


@dataclass(frozen=True)
class WarpTile(Staged):
    """A, B or D, which warps load from shared memory or store there."""

    shape: Shape
    warps: tuple[int, int]
    """Warps that share its rows, and warps that share its columns."""
    arch: Architecture
    """The architecture whose instructions are used."""
    form: str | None = None
    """The only form that may move it, such as matrices, if the caller gave one."""

    @property
    def each(self) -> tuple[int, int]:
        """Return the rows and columns of one instruction."""
        whole = of_a_warp(self.shape, self.dtype)
        return whole.n if self.name == "B" else whole.m, whole.n if self.name == "D" else whole.k

    @property
    def blocks(self) -> int:
        """Return the instructions of a warp along its rows."""
        return self.rows // self.warps[0] // self.each[0]

    @property
    def steps(self) -> int:
        """Return the instructions along K."""
        return self.k // self.each[1]

    @property
    def fragment(self) -> Layout:
        """Return the layout of one instruction: the lane of each element [row, k]."""
        return self.feed.fragment

    @property
    def register_bits(self) -> int:
        """Return the bits of a register: 64 for f64."""
        return max(REGISTER_BITS, self.dtype.bits)

    @property
    def registers(self) -> int:
        """Return the registers of a lane for one instruction."""
        return self.fragment.span("reg") * self.dtype.bits // self.register_bits

    @property
    def declared(self) -> str:
        """Return the type of such a register of A or B in C++."""
        return "double" if self.dtype.bits == 64 else "unsigned"

    @cached_property
    def width(self) -> int:
        """Return the bytes that a thread copies at once; refuse elements that threads cannot copy."""
        most = widest(self)
        if most is None:
            raise refused(
                f"threads cannot copy {self.name}: elements of {self.dtype.bits} bits that share a byte in "
                "global memory are apart in shared memory",
                "lay them out along K, and --major k",
                code="TW605",
                dtype=self.dtype.name,
                major=self.major,
            )
        return most

    @cached_property
    def feed(self) -> Feed:
        """Return the instructions that move its fragments, or refuse with the reason why warps cannot."""
        answer = feed(
            self.tile,
            operand=self.name,
            shape=self.shape,
            dtype=self.dtype,
            arch=self.arch,
            form=self.form,
            warps=self.warps,
        )
        if isinstance(answer, Mismatch):
            if answer.reasons[0].rule == "warps":
                raise not_read(answer, f"the layout of {self.name}", Unshared)
            raise not_read(answer, f"no warp moves this layout of {self.name}")
        return answer

    @property
    def fill(self) -> Fill:
        """Return the instructions that move it."""
        return self.feed.fill

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return notes on slow moves, with the reasons: loads without matrices, copies of few bytes."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        vector = self.fill.form
        narrow = isinstance(vector, Vector) and vector.bits < WIDEST * BYTE
        has_matrices = self.arch.number >= LDMATRIX_SINCE and self.dtype.bits <= REGISTER_BITS
        if narrow and has_matrices and self.feed.reasons:
            why = self.feed.reasons[0]
            hint = f"; {why.hint}" if why.hint else ""
            yield f"{self.name} by {vector}, not by ldmatrix: {why.message}{hint}"
        if self.width < WIDEST:
            here = f"{self.width} byte{'s' * (self.width > 1)} at a time"
            kept = f"shared memory keeps no more together along {self.along}"
            yield f"{self.name} is copied {here}: {kept}"


def tile_of(
    name: str,
    dtype: DType,
    extents: tuple[int, int],
    major: str | None,
    layout: Layout | None,
    shape: Shape,
    warps: tuple[int, int],
    arch: Architecture,
    form: str | None,
) -> WarpTile:
    """Return a tile with the given layout, or the usual one for its contiguous direction in global memory.

    With a layout and no major, the matrix lies in global memory in the way that lets threads copy more bytes
    at once.

        refused  TW602 another shape, or a type that cannot lie so; TW605 a layout that is no tile
    """
    check_bytes(dtype, major or "k")
    if layout is None:
        majors, tile = [major or "k"], usual(name, dtype, major or "k", *extents)
    else:
        majors = [major] if major else [*MAJORS] if dtype.bits >= BYTE else ["k"]
        tile = as_tile(name, dtype, *extents, layout)
        if tile.copies > 1:
            raise Refused(
                "TW605",
                f"the layout of {name} is no tile of a kernel: it has {tile.copies} copies of every element",
                witness=tile.copies,
                hint="threads write each element once",
            )
    ways = [WarpTile(name, dtype, *extents, each, tile, shape, warps, arch, form) for each in majors]
    return ways[0] if len(ways) == 1 else max(ways, key=lambda own: widest(own) or 0)


def check_store(
    store: str, dtype: DType, layout: Layout | None, asked: Architecture | None, least: Architecture
) -> Architecture:
    """Return the least architecture for D's way out.

    refused  TW602 an architecture without stmatrix; TW605 a type that it does not store
    """
    check_word(store, STORES, "way to store D")
    if store == "direct" and layout is not None:
        raise LayoutError(
            "TW401", "D has a layout and is stored directly", hint="--store shared takes it there"
        )
    if store != "stmatrix":
        return least
    without = "--store shared does without"
    if asked and asked.number < STMATRIX_SINCE:
        raise refused(f"{asked} has no stmatrix", without, arch=str(asked), since=f"sm_{STMATRIX_SINCE}")
    if dtype.bits != STMATRIX_BITS:
        rounded = " or ".join(f"--out {word}" for word in CONVERTED.get(dtype.name, ()))
        raise refused(
            f"stmatrix stores elements of {STMATRIX_BITS} bits, and D is {dtype}",
            f"{rounded} rounds it; " * bool(rounded) + without,
            "TW605",
            dtype=dtype.name,
            bits=dtype.bits,
        )
    return least if least.number >= STMATRIX_SINCE else Architecture.of(STMATRIX_SINCE)


def usual(name: str, dtype: DType, major: str, rows: int, k: int) -> Layout:
    """Return the usual tile [rows, K] of an operand: swizzled against bank conflicts.

    Lines of the operand, as they are contiguous in global memory, are cut into rows of up to 128 bytes. The
    swizzle keeps together as many bytes as four neighbouring lanes move of a row: 16 where matrices are
    moved, 32 where each lane has 8 bytes, or 8 rows of 4 bytes lie side by side; of D pairs of
    neighbours. Where lanes load single bytes it is 16 bytes again, exchanged by every fourth line.

    >>> print(usual("A", DType.of("f16"), "k", 128, 32))
    Swizzle<2,3,3> o S[(128, (1, 32)) : (32, (4096, 1))]
    >>> print(usual("A", DType.of("f64"), "mn", 64, 8))
    Swizzle<2,2,2> o S[((4, 16), 8) : ((128, 1), 16)]
    >>> print(usual("D", DType.of("f32"), "k", 64, 64))
    Swizzle<2,3,2> o S[(64, (2, 32)) : (32, (2048, 1))]
    """
    bits = dtype.bits
    single = bits == BYTE and major == "mn"
    together = bits if name == "D" else 32 if bits == 64 or (bits, major) == (32, "mn") else 16
    line, lines = (k, rows) if major == "k" else (rows, k)
    width = next((width for width in ROWS if line * bits % (width * BYTE) == 0), 0)
    row = width * BYTE // bits or line
    modes = [(lines, row), ((line // row, row), (lines * row, 1))]
    shape, steps = zip(*(modes if major == "k" else modes[::-1]), strict=True)
    tile = S[shape:steps]
    reach = min((width // together).bit_length() - 1, 2 if single else 3)
    if reach <= 0:
        return tile
    keeps = together.bit_length() - 1
    by = max(ROWS[0], width * (4 if single else 1)).bit_length() - 1 - keeps
    swizzled: Layout = Swizzle(reach, keeps, by).scaled(BYTE, bits) @ tile
    return swizzled
