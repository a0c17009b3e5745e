"""From tile to descriptors: the first one, and what every step along M, N and K adds to it.

A tile of atoms is read by many instructions of M or n rows and 32 bytes of K. They share LBO, SBO, mode
and base offset; the start address alone moves:

    K-major,  none      K: two atoms along K                       rows: R / 8 atoms along the rows
    K-major,  W bytes   K: 32 bytes inside the atom, then an atom  rows: R / 8 atoms along the rows
    MN-major            K: two atoms along K                       rows: R / L atoms, or R elements inside one

with L the elements of an atom's row. The pattern stays where it is, so a step never changes the base
offset, also where it leaves the pattern's alignment.

Where a pattern may start:

    mode none       any multiple of 16
    W bytes         a multiple of 8 W: base offset 0
                    another multiple of 128: base offset (start >> 7) & 7
                    anything else: no descriptor reads a tile that is swizzled from its own start

A tile that is swizzled by absolute address, as TMA writes it, has its pattern at 0: any multiple of 16
will do, with base offset 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode as Extents
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.wgmma.descriptor import (
    BASE_UNIT,
    SWIZZLED_K_MAJOR_LBO,
    Descriptor,
    base_offset_of,
    leading_and_stride,
)
from tilewise.hardware.wgmma.instructions import K_BITS, Input, M, check_operand
from tilewise.hardware.wgmma.tiles import extents, spacing, tile

Digits = tuple[tuple[int, int], ...]
"""(count, bytes), slowest first."""

K_BYTES = K_BITS // 8
"""Bytes of K in one instruction."""

PATTERNS = ("tile", "address")
"""Where the swizzle counts from: the tile's first byte, or address 0."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction's descriptor: which step along M or N and along K, and how far from the first."""

    mn: int
    k: int
    bytes: int
    descriptor: Descriptor

    @property
    def encoded(self) -> int:
        """What is added to the low word of the first descriptor."""
        return self.bytes // CHUNK

    @property
    def base_offset(self) -> int:
        """The base offset, which is that of the first descriptor."""
        return self.descriptor.base_offset


@dataclass(frozen=True)
class Feeding:
    """A tile in shared memory, and the descriptors that feed it to wgmma.

        postcondition  reads(step.descriptor) == part(step), for every step

    >>> whole = feeding("128B", "k", "bf16", 128, 64, operand="A")
    >>> hex(whole.descriptor.value), [(step.mn, step.k, step.bytes) for step in whole.steps][3:6]
    ('0x4000004000010000', [(0, 3, 96), (1, 0, 8192), (1, 1, 8224)])
    >>> print(whole.advance)
    S[(2, 4) : (8192, 32)]
    """

    mode: Mode
    major: str
    dtype: DType
    rows: int
    k: int
    order: str
    operand: str
    n: int
    """Rows of one instruction: 64 for A, N for B."""
    base: int
    pattern: str
    descriptor: Descriptor
    along_mn: Digits
    """What steps along M or N add, in bytes."""
    along_k: Digits
    """What steps along K add, in bytes."""

    @property
    def bytes(self) -> int:
        """Bytes of the tile."""
        return self.rows * self.k * self.dtype.bits // 8

    @property
    def depth(self) -> int:
        """K of one instruction, in elements."""
        return Input.of(self.dtype).k

    @cached_property
    def advance(self) -> Layout:
        """The bytes to add to the start for (step along M or N, step along K)."""
        shape = tuple(_extents(digits) for digits in (self.along_mn, self.along_k))
        steps = tuple(as_vector(step) for _, step in (*self.along_mn, *self.along_k))
        return Layout(shape, steps, unit="byte")

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every step, K fastest."""
        return tuple(
            self.step(mn, k)
            for mn in range(self.rows // self.n)
            for k in range(prod(count for count, _ in self.along_k))
        )

    def step(self, mn: int, k: int) -> Step:
        """The step at these places along M or N and along K."""
        delta = self.advance.place(mn, k).as_dict().get("m", 0)
        return Step(mn, k, delta, replace(self.descriptor, start=self.descriptor.start + delta))

    @cached_property
    def tile(self) -> Layout:
        """The whole tile, [rows, K], in bytes of shared memory."""
        layout = _tile_bytes(self.mode, self.major, self.dtype, self.rows, self.k, self.order)
        if self.pattern == "address":
            return replace(layout, offset=layout.offset + self.base)
        return replace(layout, outer=layout.outer + self.base)

    def part(self, step: Step) -> Layout:
        """What one step has to read of the tile."""
        first, deep = step.mn * self.n, step.k * self.depth
        return self.tile.slice((first, first + self.n), (deep, deep + self.depth)).layout


def feeding(
    mode: Mode | str,
    major: str,
    dtype: DType | str,
    rows: int,
    k: int,
    order: str = "mn",
    *,
    operand: str,
    n: int | None = None,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding:
    """The descriptors of a whole tile, as `tiles.tile` makes it, at a base in shared memory.

        requires       whole atoms, whole instructions; no instruction begins in one MN-major atom and
                       ends in another; a base that the pattern allows
        pattern        "tile": the swizzle counts from the base; "address": from address 0, as TMA writes

    >>> first = feeding("64B", "mn", "f16", 128, 64, operand="A").descriptor
    >>> first.lbo, first.sbo, hex(first.value)
    (512, 2048, '0x8000008000200000')
    """
    mode, element = Mode.of(mode), Input.of(dtype)
    element.check_major(major)
    rows, k, base = as_extent(rows), as_extent(k), as_int(base, "the base")
    tile(mode, major, element.dtype, rows, k, order)
    if pattern not in PATTERNS:
        raise LayoutError("TW601", f"{pattern!r} is no origin of a pattern", hint="known: tile address")
    if k % element.k:
        raise Refused(
            "TW603",
            f"K = {k} is no whole number of instructions, which are {element.k} {element.name} deep",
            witness={"k": k, "instruction": element.k},
            hint=f"take a multiple of {element.k}",
        )
    one = _rows_of_one(mode, major, element, rows, check_operand(operand), n)
    far = spacing(mode, major, element.dtype, rows, k, order)
    lbo, sbo = leading_and_stride(mode, major, *far)
    base_offset = base_offset_of(base, mode) if pattern == "tile" else 0
    return Feeding(
        mode=mode,
        major=major,
        dtype=element.dtype,
        rows=rows,
        k=k,
        order=order,
        operand=operand,
        n=one,
        base=base,
        pattern=pattern,
        descriptor=Descriptor(base, SWIZZLED_K_MAJOR_LBO if lbo is None else lbo, sbo, mode, base_offset),
        along_mn=_along_mn(mode, major, element.dtype, rows, one, far[0]),
        along_k=_along_k(mode, major, k // element.k, far[1]),
    )


# -- stages ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stages:
    """The same tile several times, one stage of a pipeline after another.

        requires       stages do not overlap
        postcondition  stage(s) feeds the tile at base + s * stride

    >>> ring = Stages(feeding("128B", "k", "bf16", 128, 64, operand="A", base=1024), 4)
    >>> ring.stride, ring.bytes, [hex(stage.descriptor.start) for stage in ring]
    (16384, 65536, ['0x400', '0x4400', '0x8400', '0xc400'])
    """

    first: Feeding
    count: int
    stride: int = 0
    """Bytes from stage to stage; with 0 the tile's, rounded up to what keeps the base offset."""

    def __post_init__(self) -> None:
        stride = as_int(self.stride, "the stride of the stages") or self._closest
        object.__setattr__(self, "count", as_int(self.count, "the number of stages"))
        object.__setattr__(self, "stride", stride)
        if self.count < 1:
            raise LayoutError("TW102", f"the number of stages must be positive, not {self.count}")
        if stride < self.first.bytes:
            raise Refused(
                "TW605",
                f"stages {stride} bytes apart overlap: a tile has {self.first.bytes}",
                witness={"stride": stride, "bytes": self.first.bytes},
                hint=f"{self._closest} bytes is the least that keeps them aligned",
            )

    @property
    def _closest(self) -> int:
        return -(-self.first.bytes // self.alignment) * self.alignment

    @property
    def alignment(self) -> int:
        """The stride is a multiple of this, and all stages have the base offset of the first."""
        return self.first.mode.period if self.first.pattern == "tile" else CHUNK

    @property
    def bytes(self) -> int:
        """Bytes from the first to the end of the last."""
        return self.stride * (self.count - 1) + self.first.bytes

    @property
    def one_step(self) -> bool:
        """Whether adding `stride / 16` to the low word goes from stage to stage, and nothing else changes."""
        return self.count == 1 or self.stride % self.alignment == 0

    def stage(self, number: int) -> Feeding:
        """The tile of one stage."""
        if not 0 <= as_int(number, "a stage") < self.count:
            raise LayoutError("TW201", f"stage {number} is outside 0..{self.count - 1}")
        first = self.first
        base = first.base + number * self.stride
        base_offset = base_offset_of(base, first.mode) if first.pattern == "tile" else 0
        moved = replace(first.descriptor, start=base, base_offset=base_offset)
        return replace(first, base=base, descriptor=moved)

    def __iter__(self) -> Iterator[Feeding]:
        return map(self.stage, range(self.count))


# -- where a pattern may start ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placement:
    """A base that is a multiple of `multiple`, and what it asks of the descriptor."""

    multiple: int
    base_offset: str
    says: str


def placements(mode: Mode | str) -> tuple[Placement, ...]:
    """How a tile that is swizzled from its own start may be placed, the best first.

    >>> for row in placements("64B"):
    ...     print(row.multiple, row.base_offset, row.says)
    512 0 read with base offset 0
    128 (base >> 7) & 7 read with a base offset
    16 - not read: the pattern would start between two units of the base offset
    1 - not read: addresses count 16 bytes
    """
    mode = Mode.of(mode)
    never = Placement(1, "-", "not read: addresses count 16 bytes")
    if not mode.bits:
        return (Placement(CHUNK, "0", "read: nothing is swizzled"), never)
    return (
        Placement(mode.period, "0", "read with base offset 0"),
        Placement(BASE_UNIT, "(base >> 7) & 7", "read with a base offset"),
        Placement(CHUNK, "-", "not read: the pattern would start between two units of the base offset"),
        never,
    )


# -- the arithmetic --------------------------------------------------------------------------------


def _along_k(mode: Mode, major: str, count: int, far_k: int) -> Digits:
    inside = mode.width // K_BYTES if major == "k" else 0
    if not inside:  # an instruction is two atoms deep
        return ((count, 2 * far_k),)
    return _trimmed((count // inside, far_k), (inside, K_BYTES))


def _along_mn(mode: Mode, major: str, element: DType, rows: int, one: int, far_rows: int) -> Digits:
    deep, _ = extents(mode, major, element)
    if one % deep == 0 or one == rows:
        return ((rows // one, one // deep * far_rows),)
    return _trimmed((rows // deep, far_rows), (deep // one, one * element.bits // 8))


def _trimmed(*digits: tuple[int, int]) -> Digits:
    """The digits without those of extent 1; one of them at least."""
    return tuple(digit for digit in digits if digit[0] > 1) or digits[-1:]


def _rows_of_one(mode: Mode, major: str, element: Input, rows: int, operand: str, n: int | None) -> int:
    """The rows of one instruction; for B the largest legal N that feeds the tile where none is asked."""
    deep, _ = extents(mode, major, element.dtype)

    def fits(one: int) -> bool:
        return rows % one == 0 and (one % deep == 0 or deep % one == 0 or one == rows)

    legal: tuple[int, ...] = (M,) if operand == "A" else element.n
    asked = None if n is None else element.check_n(n)
    one = M if operand == "A" else max(filter(fits, legal), default=0) if asked is None else asked
    if one and fits(one):
        return one
    good = [str(other) for other in legal if fits(other)]
    what = f"of {one} rows" if one else "of any legal N"
    inside = one and rows % one == 0
    raise Refused(
        "TW603",
        f"a tile of {rows} rows is not fed by instructions {what}"
        + (f": one begins inside an atom of {deep} rows and goes on past it" if inside else ""),
        witness={"rows": rows, "instruction": one, "atom": deep},
        hint=f"rows of one instruction may be {', '.join(good)}" if good else f"take a multiple of {M} rows",
    )


def _tile_bytes(mode: Mode, major: str, element: DType, rows: int, k: int, order: str) -> Layout:
    """The tile in bytes; elements of less than a byte at the byte that holds them."""
    if element.bits >= 8:
        return tile(mode, major, element, rows, k, order).in_bytes(element)
    together = 8 // element.bits
    whole = tile(mode, major, "u8", rows, k // together, order).in_bytes("u8")
    down, across = whole.shape
    return replace(whole, shape=(down, (across, together)), strides=(*whole.strides, as_vector(0)))


def _extents(digits: Digits) -> Extents:
    extents = tuple(count for count, _ in digits)
    return extents[0] if len(extents) == 1 else extents
