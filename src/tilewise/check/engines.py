"""The engines that take a tile of shared memory, wgmma, tcgen05, mma.sync and TMA, or the first reason
against each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from tilewise.check.feeding import Feed
from tilewise.check.feeding.forms import named
from tilewise.check.match import Match, Mismatch, match
from tilewise.check.operand import major_name, mode_name
from tilewise.check.tma import plan_copy
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.mma.instructions import shapes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.check.operand import Near

WITH_DESCRIPTORS = ("wgmma", "tcgen05")
"""The engines that read tiles through descriptors, in the order in which they are tried."""

PACKED: dict[str, dict[str, Any]] = {"e2m1": {"kind": "mxf4"}}
"""{type: further options for tcgen05}: the kind whose elements have no padding."""

TILES = 64
"""Tiles along every mode of the tensor from which TMA would copy the tile."""


@dataclass(frozen=True)
class Taken:
    """The answer of one engine about a tile, in words."""

    engine: str
    """The engine and its operand: `wgmma A`, `tcgen05 A`, `mma m16n8k16 A`, `TMA`."""
    legal: bool | None
    """None where that was not decided."""
    said: str
    """The way in which the engine takes the tile, or the first reason against it."""
    hint: str = ""
    descriptor: int | None = None
    """The 64 bits of the first descriptor, of wgmma and tcgen05."""
    boxes: int | None = None
    """The boxes with which TMA fills it."""
    rows: bool = False
    """True if TMA writes it row by row: one box of two dimensions."""
    found: Mismatch | Feed | None = field(default=None, repr=False)
    """The result of `match`, where the engine does not take it."""

    @cached_property
    def near(self) -> Near | None:
        """Return the nearest layout that the engine takes, or None if it takes this one."""
        return None if self.found is None else next(iter(self.found.nearest), None)


def engines_of(layout: Layout, dtype: DType, base: int = 0) -> Iterator[Taken]:
    """Yield the answers about a tile: every engine that multiplies its type, as operand A and as B, and TMA.

        requires  two modes, and storage alone

    >>> from tilewise import S, Swizzle
    >>> for one in engines_of(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], DType.of("bf16")):
    ...     print(f"{one.engine}: {one.said}")
    wgmma A: K-major, 128B mode, SBO 1024 B: 8 steps of m64nNk16
    wgmma B: K-major, 128B mode, SBO 1024 B: 4 steps of m64n128k16
    tcgen05 A: K-major, 128B mode, SBO 1024 B: 4 steps of m128nNk16
    tcgen05 B: K-major, 128B mode, SBO 1024 B: 4 steps of mMn128k16
    mma m16n8k16 A: ldmatrix.x4, 32 of them
    mma m16n8k16 B: ldmatrix.x4, 32 of them
    TMA: 1 box of 128 x 64, SWIZZLE_128B
    """
    reading = [name for name in WITH_DESCRIPTORS if _multiplied(name, dtype)]
    for name in reading:
        for operand in "AB":
            yield described(name, layout, dtype, operand, base)
    shapes = shapes_of(dtype)
    if not shapes and not reading:
        yield _asked("wgmma", lambda: engine_of("wgmma").intake(dtype, "A"))
    for shape in shapes[-1:]:
        for operand in "AB":
            ask = partial(match, layout, engine="mma", operand=operand, dtype=dtype, base=base)
            yield _asked(f"mma {shape} {operand}", partial(ask, shape=str(shape)))
    yield tma(layout, dtype)


def described(engine: str, layout: Layout, dtype: DType, operand: str, base: int = 0) -> Taken:
    """Return the answer of an engine with descriptors about a tile [rows, K], as operand A or B.

    >>> from tilewise import S, Swizzle
    >>> columns = Swizzle(3, 4, 3) @ S[(128, 64) : (1, 128)]
    >>> [described(engine, columns, DType.of("e4m3"), "A").legal for engine in ("wgmma", "tcgen05")]
    [False, True]
    """
    ask = partial(match, layout, engine=engine, operand=operand, dtype=dtype, base=base)
    return _asked(f"{engine} {operand}", partial(ask, **_packed(engine, dtype)))


def _packed(engine: str, dtype: DType) -> dict[str, Any]:
    return PACKED.get(dtype.name, {}) if engine == "tcgen05" else {}


def _multiplied(engine: str, dtype: DType) -> bool:
    """Return True if an engine multiplies elements of a type without padding."""
    of = engine_of(engine)
    return dtype.name in of.types and of.intake(dtype, "A", **_packed(engine, dtype)).dtype.bits == dtype.bits


def tma(layout: Layout, dtype: DType) -> Taken:
    """Return the answer of TMA: from a row-major tensor or, of two modes, from a column-major one.

    >>> from tilewise import S
    >>> tma(S[(128, 64) : (64, 1)], DType.of("bf16")).boxes
    1
    """
    return _asked("TMA", lambda: _copied(layout, dtype))


def _asked(engine: str, question: Callable[[], object]) -> Taken:
    """Return the answer of one engine in words; a refused question counts as a no."""
    try:
        found = question()
    except NotDecided as open_question:
        return Taken(engine, None, open_question.message)
    except LayoutError as no:
        return Taken(engine, False, no.message, no.hint)
    if isinstance(found, Mismatch):
        first = found.reasons[0]
        return Taken(engine, False, first.message, first.hint, found=found)
    if isinstance(found, Match):
        return Taken(engine, True, _descriptor(found), descriptor=found.value)
    if isinstance(found, Taken):
        return found
    assert isinstance(found, Feed)
    said = f"{named(found.form)}, {len(found.steps)} of them"
    if not found.reasons:
        return Taken(engine, True, said)
    return Taken(engine, True, f"{said}: no form of ldmatrix moves it", found.reasons[0].message, found=found)


def _descriptor(found: Match) -> str:
    m, n, k = found.instruction
    fields = [f"{name.upper()} {value} B" for name in ("lbo", "sbo") if (value := getattr(found, name))]
    words = ", ".join([major_name(found.major), mode_name(found.mode), *fields])
    return f"{words}: {counted(len(found.steps), 'step')} of m{m or 'M'}n{n or 'N'}k{k}"


def _copied(layout: Layout, dtype: DType) -> Taken:
    shape = [extent * TILES for extent in extents_of(layout.shape)]
    try:
        plan, whence = plan_copy(shape, layout, dtype=dtype), ""
    except Refused as no:
        if len(shape) != 2:
            raise
        try:
            plan = plan_copy(shape, layout, dtype=dtype, strides=(1, shape[0]))
        except LayoutError:
            raise no from None
        whence = ", from a column-major tensor"
    box = " x ".join(map(str, plan.tensor_map.box))
    mode = plan.tensor_map.mode.tma_name.removeprefix("CU_TENSOR_MAP_")
    said = f"{plan.count} box{'es' if plan.count > 1 else ''} of {box}, {mode}{whence}"
    row_by_row = plan.count == 1 and plan.tensor_map.rank == 2
    return Taken("TMA", True, said, boxes=plan.count, rows=row_by_row)
