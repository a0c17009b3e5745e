"""From tile to descriptors: the first one, and the amounts that steps along M, N and K add to it.

Many instructions of equal rows and bytes of K read a tile of atoms. They share LBO, SBO, mode and base
offset; the start address alone moves:

    K-major,  none      K: as many atoms as it is deep          rows: R / 8 atoms along the rows
    K-major,  W bytes   K: its bytes inside the atom, an atom   rows: R / 8 atoms along the rows
    MN-major            K: as many atoms as it is deep          rows: R / L atoms, or R elements inside one

with R the rows of an instruction, and L the elements of an atom's row. The pattern does not move, so a step
never changes the base offset, even if it leaves the pattern's alignment.

Where a pattern may start:

    mode none       any multiple of 16
    W bytes         a multiple of its period: base offset 0
                    another multiple of 128: base offset (start >> 7) & 7
                    anything else: no descriptor reads a tile that is swizzled from its own start

A tile that is swizzled by absolute address, as TMA writes it, has its pattern at 0: any multiple of 16
will do, with base offset 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

from tilewise.core.algebra.slicing import Slices
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode as Extents
from tilewise.core.vectors import as_vector
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.template import (
    BASE_UNIT,
    SWIZZLED_K_MAJOR_LBO,
    base_offset_of,
    extents,
    leading_and_stride,
    spacing,
)
from tilewise.hardware.operands.tiles import tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, Self

    from tilewise.hardware.engines import Engine, Intake

    class Movable(Protocol):
        """A descriptor that can stand elsewhere."""

        @property
        def start(self) -> int: ...
        @property
        def base_offset(self) -> int: ...
        def at(self, start: int, base_offset: int) -> Self: ...


D = TypeVar("D", bound="Movable")

Digits = tuple[tuple[int, int], ...]
"""(count, bytes), slowest first."""

PATTERNS = ("tile", "address")
"""The origin of the swizzle: the tile's first byte, or address 0."""


@dataclass(frozen=True, slots=True)
class Step(Generic[D]):
    """One instruction's descriptor: its step along M or N and along K, and its distance from the first."""

    mn: int
    k: int
    bytes: int
    descriptor: D

    @property
    def encoded(self) -> int:
        """Return the amount added to the start of the first descriptor, in the field's unit."""
        return self.bytes // CHUNK

    @property
    def base_offset(self) -> int:
        """Return the base offset, which is that of the first descriptor."""
        return self.descriptor.base_offset


@dataclass(frozen=True)
class Feeding(Generic[D]):
    """A tile in shared memory, and the descriptors that feed it to an engine.

        postcondition  reads(step.descriptor) == part(step), for every step

    >>> from tilewise.hardware.engines import engine
    >>> whole = engine("wgmma").feeding("128B", "k", "bf16", 128, 64, operand="A")
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
    """Rows of one instruction."""
    depth: int
    """K of one instruction, in elements."""
    base: int
    pattern: str
    descriptor: D
    along_mn: Digits
    """The bytes that steps along M or N add."""
    along_k: Digits
    """The bytes that steps along K add."""

    @property
    def bytes(self) -> int:
        """Return the bytes of the tile."""
        return self.rows * self.k * self.dtype.bits // 8

    @property
    def start_alone(self) -> bool:
        """Return True if steps differ only in the start."""
        return True

    @cached_property
    def advance(self) -> Layout:
        """Return the bytes to add to the start for (step along M or N, step along K)."""
        shape = tuple(_extents(digits) for digits in (self.along_mn, self.along_k))
        steps = tuple(as_vector(step) for _, step in (*self.along_mn, *self.along_k))
        return Layout(shape, steps, unit="byte")

    @cached_property
    def steps(self) -> tuple[Step[D], ...]:
        """Return every step, K fastest."""
        return tuple(
            self.step(mn, k) for mn in range(self.rows // self.n) for k in range(self.k // self.depth)
        )

    def step(self, mn: int, k: int) -> Step[D]:
        """Return the step at these places along M or N and along K."""
        delta = self.advance.place(mn, k).as_dict().get("m", 0)
        first = self.descriptor
        return Step(mn, k, delta, first.at(first.start + delta, first.base_offset))

    @cached_property
    def tile(self) -> Layout:
        """Return the whole tile, [rows, K], in bytes of shared memory."""
        layout = _tile_bytes(self.mode, self.major, self.dtype, self.rows, self.k, self.order)
        if self.pattern == "address":
            return replace(layout, offset=layout.offset + self.base)
        return replace(layout, outer=layout.outer + self.base)

    def parts(self, step: Step[D]) -> Slices:
        """Return the part of the tile that one step has to read."""
        first, deep = step.mn * self.n, step.k * self.depth
        return self.tile.slice((first, first + self.n), (deep, deep + self.depth))

    def part(self, step: Step[D]) -> Layout:
        """Return the part of the tile that one step has to read, where it is one layout."""
        return self.parts(step).layout

    def moved(self, base: int, base_offset: int) -> Self:
        """Return the same tile elsewhere."""
        return replace(self, base=base, descriptor=self.descriptor.at(base, base_offset))


# -- a whole tile ----------------------------------------------------------------------------------


def fed(
    engine: Engine,
    intake: Intake,
    mode: Mode,
    major: str,
    rows: int,
    k: int,
    order: str = "mn",
    one: int | None = None,
    *,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding[Any]:
    """Return the descriptors of a whole tile, for instructions of `one` rows or of the most that feed it.

        requires       whole atoms, whole instructions; no instruction begins in one MN-major atom and
                       ends in another; a base that the pattern allows

    >>> from tilewise.hardware.engines import engine
    >>> of = engine("wgmma")
    >>> of.feed(of.intake("bf16", "B"), Mode.of("128B"), "k", 96, 64, "mn").n
    96
    """
    rows, k, base = as_extent(rows), as_extent(k), as_int(base, "the base")
    tile(mode, major, intake.dtype, rows, k, order)
    if pattern not in PATTERNS:
        raise LayoutError("TW601", f"{pattern!r} is no origin of a pattern", hint="known: tile address")
    if k % intake.k:
        raise Refused(
            "TW603",
            f"K = {k} is no whole number of instructions, which are {intake.k} {intake.name} deep",
            witness={"k": k, "instruction": intake.k},
            hint=f"take a multiple of {intake.k}",
        )
    several = rows_of_one(intake, engine.usual, mode, major, rows, one)
    far = spacing(mode, major, intake.dtype, rows, k, order)
    lbo, sbo = leading_and_stride(mode, major, *far)
    base_offset = base_offset_of(base, mode) if pattern == "tile" else 0
    return Feeding(
        mode=mode,
        major=major,
        dtype=intake.dtype,
        rows=rows,
        k=k,
        order=order,
        operand=intake.operand,
        n=several,
        depth=intake.k,
        base=base,
        pattern=pattern,
        descriptor=engine.descriptors(
            base, SWIZZLED_K_MAJOR_LBO if lbo is None else lbo, sbo, mode, base_offset
        ),
        along_mn=_along_mn(mode, major, intake, rows, several, far[0]),
        along_k=_along_k(mode, major, intake, k // intake.k, far[1]),
    )


def rows_of_one(intake: Intake, usual: int, mode: Mode, major: str, rows: int, one: int | None) -> int:
    """Return the rows of one instruction: the given ones, else the most that feed the tile."""
    deep, _ = extents(mode, major, intake.dtype)

    def fits(several: int) -> bool:
        return rows % several == 0 and (several % deep == 0 or deep % several == 0 or several == rows)

    if one is None and len(intake.rows) == 1:
        one = intake.rows[0]
    found = max(filter(fits, intake.rows), default=0) if one is None else one
    if found and fits(found):
        return found
    good = [str(other) for other in intake.rows if fits(other)]
    what = f"of {found} rows" if found else f"of any legal {'M' if intake.operand == 'A' else 'N'}"
    inside = found and rows % found == 0
    raise Refused(
        "TW603",
        f"a tile of {rows} rows is not fed by instructions {what}"
        + (f": one begins inside an atom of {deep} rows and goes on past it" if inside else ""),
        witness={"rows": rows, "instruction": found, "atom": deep},
        hint=f"rows of one instruction may be {', '.join(good)}"
        if good
        else f"take a multiple of {usual} rows",
    )


# -- stages ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stages(Generic[D]):
    """The same tile several times, one stage of a pipeline after another.

        requires       stages do not overlap
        postcondition  stage(s) feeds the tile at base + s * stride

    >>> from tilewise.hardware.engines import engine
    >>> ring = Stages(engine("wgmma").feeding("128B", "k", "bf16", 128, 64, operand="A", base=1024), 4)
    >>> ring.stride, ring.bytes, [hex(stage.descriptor.start) for stage in ring]
    (16384, 65536, ['0x400', '0x4400', '0x8400', '0xc400'])
    """

    first: Feeding[D]
    count: int
    stride: int = 0
    """Bytes from stage to stage; 0 for the tile's, rounded up to a multiple that keeps the base offset."""

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
        """Return the number that divides the stride iff all stages have the first's base offset."""
        return self.first.mode.period if self.first.pattern == "tile" else CHUNK

    @property
    def bytes(self) -> int:
        """Return the bytes from the first stage to the end of the last."""
        return self.stride * (self.count - 1) + self.first.bytes

    @property
    def one_step(self) -> bool:
        """Return True if stages differ only by adding `stride / 16` to the low word."""
        return self.count == 1 or (self.first.start_alone and self.stride % self.alignment == 0)

    def stage(self, number: int) -> Feeding[D]:
        """Return the tile of one stage."""
        if not 0 <= as_int(number, "a stage") < self.count:
            raise LayoutError("TW201", f"stage {number} is outside 0..{self.count - 1}")
        first = self.first
        base = first.base + number * self.stride
        base_offset = base_offset_of(base, first.mode) if first.pattern == "tile" else 0
        return first.moved(base, base_offset)

    def __iter__(self) -> Iterator[Feeding[D]]:
        return map(self.stage, range(self.count))


# -- starts of a pattern ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Placement:
    """A base that is a multiple of `multiple`, and its requirement for the descriptor."""

    multiple: int
    base_offset: str
    says: str


def placements(mode: Mode | str) -> tuple[Placement, ...]:
    """Return the placements of a tile that is swizzled from its own start, the best first.

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


def _along_k(mode: Mode, major: str, intake: Intake, count: int, far_k: int) -> Digits:
    inside = mode.width // intake.bytes if major == "k" else 0
    if not inside:  # an instruction takes whole atoms
        _, deep = extents(mode, major, intake.dtype)
        return ((count, intake.k // deep * far_k),)
    return _trimmed((count // inside, far_k), (inside, intake.bytes))


def _along_mn(mode: Mode, major: str, intake: Intake, rows: int, one: int, far_rows: int) -> Digits:
    deep, _ = extents(mode, major, intake.dtype)
    if one % deep == 0 or one == rows:
        return ((rows // one, one // deep * far_rows),)
    return _trimmed((rows // deep, far_rows), (deep // one, one * intake.dtype.bits // 8))


def _trimmed(*digits: tuple[int, int]) -> Digits:
    """Return the digits without those of extent 1; at least one digit."""
    return tuple(digit for digit in digits if digit[0] > 1) or digits[-1:]


def _tile_bytes(mode: Mode, major: str, element: DType, rows: int, k: int, order: str) -> Layout:
    """Return the tile in bytes; elements of less than a byte at the byte that holds them."""
    if element.bits >= 8:
        return tile(mode, major, element, rows, k, order).in_bytes(element)
    together = 8 // element.bits
    whole = tile(mode, major, "u8", rows, k // together, order).in_bytes("u8")
    down, across = whole.shape
    return replace(whole, shape=(down, (across, together)), strides=(*whole.strides, as_vector(0)))


def _extents(digits: Digits) -> Extents:
    extents = tuple(count for count, _ in digits)
    return extents[0] if len(extents) == 1 else extents
