"""What a kernel does, before it is written: the tile, its warps, its operands, how D leaves.

The tile of a thread block is M x N x K: D [M, N] += A [M, K] B [N, K]^T. Warps share it as a grid, each with
a whole number of instructions down M and along N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.feeding.fragments import Instruction as Warp
from tilewise.check.feeding.fragments import held
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.emit.mma.instruction import chosen, stored_as
from tilewise.emit.mma.moves import Moves, span_of
from tilewise.emit.mma.operands import Operand, of_a_warp, operand
from tilewise.emit.mma.results import Result, result
from tilewise.emit.mma.warps import (
    WARP,
    Unshared,
    check_registers,
    checked_grid,
    known_grids,
)
from tilewise.emit.parts.room import SPARE_REGISTERS, most_registers, stacked
from tilewise.hardware.architectures import NUMBERS, Architecture
from tilewise.hardware.limits import REGISTER_BITS, shared_bytes
from tilewise.hardware.mma.instructions import Instruction, Shape

ASYNC_SINCE = 80
ASYNC_BYTES = 4
"""What cp.async brings at least."""

STAGES = 3
"""Tiles in flight where it is not asked, and there is room for them."""

LOADS = ("cp.async", "copy")


@dataclass(frozen=True)
class Plan:
    """A kernel: the instruction, both operands, the grid of warps, how tiles come and D leaves."""

    instruction: Instruction
    a: Operand
    b: Operand
    load: str
    stages: int
    out: DType
    """The type of D in memory."""
    since: int
    """The first compute capability, times ten, that has all it takes."""
    asked: Architecture | None = None
    """The architecture that was asked for, where one was."""
    result: Result | None = None
    """The tile through which D leaves; None where it leaves directly."""
    name: str = ""

    @property
    def arch(self) -> Architecture:
        """The architecture that it is written for: as asked, or the first that has all it takes."""
        return self.asked or Architecture.of(self.since)

    @property
    def lacking(self) -> tuple[Architecture, ...]:
        """Later architectures whose blocks have not so much shared memory, where none was asked."""
        later = () if self.asked else (number for number in NUMBERS if number >= self.since)
        short = (number for number in later if shared_bytes(number) < self.shared_bytes)
        return tuple(map(Architecture.of, short))

    @property
    def m(self) -> int:
        """Rows of D in the tile."""
        return self.a.rows

    @property
    def n(self) -> int:
        """Columns of D in the tile."""
        return self.b.rows

    @property
    def k(self) -> int:
        """Elements along K in the tile."""
        return self.a.k

    @property
    def shape(self) -> Shape:
        """What one instruction of a warp multiplies: Volta's is four products."""
        return of_a_warp(self.instruction.shape, self.a.dtype)

    @property
    def warps(self) -> tuple[int, int]:
        """Warps down M and along N."""
        return self.a.warps, self.b.warps

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.a.warps * self.b.warps * WARP

    @property
    def accumulator(self) -> DType:
        """The type that products are summed in."""
        return DType.of(self.instruction.d)

    @property
    def fragment(self) -> Layout:
        """Which lane holds each element [row, column] of D of one instruction."""
        (found,) = held("D", Warp(self.instruction.shape), self.accumulator, None)
        return found.layout

    @property
    def registers(self) -> int:
        """Registers of a lane that hold D of one instruction: of 32 bits, of 64 for f64."""
        return self.fragment.span("reg") * self.accumulator.bits // max(REGISTER_BITS, self.accumulator.bits)

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes it slow, with the reasons."""
        return self.a.notes + self.b.notes

    @cached_property
    def _stacked(self) -> tuple[dict[str, int], int]:
        return stacked({own.name: own.room for own in (self.a, self.b)})

    @property
    def offsets(self) -> dict[str, int]:
        """The byte of a stage at which each operand begins."""
        return self._stacked[0]

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage."""
        return self._stacked[1]

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return max(self.stages * self.stage_bytes, self.result.room if self.result else 0)

    @property
    def held(self) -> int:
        """32-bit registers of a lane that hold fragments."""
        d, inputs = self._held
        return d + inputs * (2 if self.ahead else 1)

    @property
    def _held(self) -> tuple[int, int]:
        """32-bit registers of D's fragments, and of those of one turn."""
        d = self.a.blocks * self.b.blocks * self.registers * max(1, self.accumulator.bits // REGISTER_BITS)
        inputs = sum(
            own.blocks * own.registers * max(1, own.dtype.bits // REGISTER_BITS) for own in (self.a, self.b)
        )
        return d, inputs * self.span

    @property
    def turns(self) -> int:
        """Turns of the loop along K of a tile."""
        return self.a.steps // self.span

    @cached_property
    def ahead(self) -> bool:
        """Whether the fragments of a turn are loaded while those before them are multiplied.

        Two sets of them take turns, so that a tile has an even number of turns; sets that are put together
        from parts of registers are not worth it.
        """
        parts = [part for own in (self.a, self.b) for part in next(self.moves(own).all()).parts]
        whole = all(part.bytes * 8 >= REGISTER_BITS for part in parts)
        return self.stages > 1 and self.turns % 2 == 0 and whole and self._two_sets_fit

    @property
    def _two_sets_fit(self) -> bool:
        d, inputs = self._held
        spare = SPARE_REGISTERS * max(1, self.accumulator.bits // REGISTER_BITS)
        return d + 2 * inputs + spare <= most_registers(self.threads)

    @cached_property
    def span(self) -> int:
        """Instructions along K in one turn of the loop: one, unless a load brings parts of several."""
        return span_of((self.a.fill, self.b.fill), self.a.steps)

    @cached_property
    def _moves(self) -> dict[str, Moves]:
        ways = {"A": ("down", ""), "B": ("along", "")}
        return {own.name: Moves(own.fill, self.span, ways[own.name]) for own in (self.a, self.b)}

    def moves(self, own: Operand) -> Moves:
        """The loads of one turn."""
        return self._moves[own.name]


def planned(
    tile: tuple[int, int, int],
    dtype_a: DType | str,
    dtype_b: DType | str | None = None,
    *,
    shape: Shape | str | None = None,
    accumulator: DType | str | None = None,
    out: DType | str | None = None,
    warps: tuple[int, int] | None = None,
    majors: tuple[str | None, str | None] = (None, None),
    layouts: tuple[Layout | None, Layout | None] = (None, None),
    load: str | None = None,
    stages: int | None = None,
    store: str = "direct",
    layout_d: Layout | None = None,
    form: str | None = None,
    op: str | None = None,
    arch: Architecture | str | None = None,
    name: str = "",
) -> Plan:
    """The plan of a kernel for tiles M x N x K; what is not said is chosen.

        requires  M, N and K multiples of the instruction's, M and N of the warps' as well
        refused   TW602 an instruction that there is not, or tiles too large for a multiprocessor;
                  TW605 a layout that no lane can read, or, with `form`, not by what was asked

    >>> plan = planned((128, 128, 32), "bf16")
    >>> print(plan.instruction)
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    >>> plan.warps, plan.threads, plan.stages, plan.shared_bytes, plan.arch
    ((2, 2), 128, 3, 49152, sm_80)
    """
    m, n, k = (as_int(extent, "an extent of the tile") for extent in tile)
    target = None if arch is None else Architecture.of(arch)
    family, instruction = chosen(dtype_a, dtype_b, shape, accumulator, op, target)
    whole = of_a_warp(instruction.shape, DType.of(instruction.a))
    _check_extents(whole, m, n, k)
    stages = None if stages is None else as_int(stages, "the number of stages")
    types = DType.of(instruction.a), DType.of(instruction.b)
    first = target or Architecture.of(family.since)
    into = stored_as(instruction, out)

    def with_warps(grid: tuple[int, int]) -> Plan:
        a, b = (
            operand(own, dtype, instruction.shape, rows, k, many, first, form, major=major, layout=layout)
            for own, dtype, rows, many, major, layout in zip(
                "AB", types, (m, n), grid, majors, layouts, strict=True
            )
        )
        way = _load(load, stages, first, target is not None, (a, b))
        since = max(family.since, ASYNC_SINCE if way == "cp.async" else 0)
        least = target or Architecture.of(since)
        leaving = result(store, into, instruction.shape, (m, n), grid, least, target is not None, layout_d)
        since = max(since, leaving.arch.number if leaving and target is None else 0)
        least = target or Architecture.of(since)
        each = stacked({own.name: own.room for own in (a, b)})[1]
        many_stages = _stages(stages, way, each, least, target is not None)
        full = replace(instruction, majors=(a.feed.major or "row", b.feed.major or "col"))
        plan = Plan(full, a, b, way, many_stages, into, since, target, leaving, name)
        assert plan.span  # refused where no warp can load an operand
        assert leaving is None or leaving.fill  # or store D
        _check_room(plan)
        return plan

    if warps is not None:
        return with_warps(checked_grid(whole, m, n, warps))
    bits = DType.of(instruction.d).bits
    return _first(with_warps, known_grids(whole, bits, m, n))


def _first(made: Callable[[tuple[int, int]], Plan], candidates: Iterable[tuple[int, int]]) -> Plan:
    """The plan of the first grid that can be: where warps are why not, others are tried.

    refused  what the best of them was refused for that could be shared at all
    """
    refusals = []
    for grid in candidates:
        try:
            return made(grid)
        except Unshared as no:
            refusals.append(no)
    best = next((one for one in refusals if one.code == "TW602"), refusals[0])
    hint = "take a smaller tile" if best.code == "TW602" else "take another tile, or another layout"
    raise Refused(best.code, best.reason, witness=best.witness, hint=f"{hint}: no other warps hold it")


# -- the tile ----------------------------------------------------------------------------------------


def _check_extents(shape: Shape, m: int, n: int, k: int) -> None:
    for name, extent, each in (("M", m, shape.m), ("N", n, shape.n), ("K", k, shape.k)):
        if extent < each or extent % each:
            raise Refused(
                "TW602",
                f"{name} = {extent} is no multiple of the {each} of {shape}",
                witness={name: extent, "shape": str(shape)},
                hint=f"the nearest is {max(1, round(extent / each)) * each}",
            )


# -- what fits ---------------------------------------------------------------------------------------


def _load(
    wanted: str | None,
    asked: int | None,
    arch: Architecture,
    is_asked: bool,
    operands: tuple[Operand, Operand],
) -> str:
    stages = 1 if asked is None else asked
    if stages < 1:
        raise LayoutError("TW401", f"{stages} stages hold no tile", hint="one or more")
    if wanted is not None and wanted not in LOADS:
        raise LayoutError("TW601", f"{wanted!r} is no way to load a tile", hint="known: " + " ".join(LOADS))
    narrow = next((own for own in operands if own.width < ASYNC_BYTES), None)
    if wanted is None:
        wanted = "cp.async" if stages > 1 or (arch.number >= ASYNC_SINCE and narrow is None) else "copy"
    if wanted == "copy" and stages > 1:
        raise Refused(
            "TW602",
            "copies by threads have one stage",
            witness={"stages": stages},
            hint="threads that copy do not run ahead of themselves; --load cp.async does",
        )
    if wanted == "cp.async" and is_asked and arch.number < ASYNC_SINCE:
        raise Refused(
            "TW602",
            f"{arch} has no cp.async",
            witness={"arch": str(arch), "since": f"sm_{ASYNC_SINCE}"},
            hint="--load copy, with one stage",
        )
    if wanted == "cp.async" and narrow is not None:
        raise Refused(
            "TW602",
            f"cp.async brings {ASYNC_BYTES} bytes or more, and {narrow.name} keeps {narrow.width} together",
            witness={"operand": narrow.name, "bytes": narrow.width},
            hint="--load copy, or a layout that is contiguous along what global memory has contiguous",
        )
    return wanted


def _stages(wanted: int | None, load: str, each: int, arch: Architecture, is_asked: bool) -> int:
    """The tiles in flight: as asked, or as many as all architectures have room for that the kernel is for."""
    if wanted is not None or load == "copy":
        return wanted or 1
    numbers = [arch.number] if is_asked else [number for number in NUMBERS if number >= arch.number]
    return max(1, min(STAGES, min(map(shared_bytes, numbers)) // each))


def _check_room(plan: Plan) -> None:
    most_bytes = shared_bytes(plan.arch)
    if plan.shared_bytes > most_bytes:
        hint = "take fewer stages or a shorter K" if plan.stages > 1 else "take a shorter K"
        larger = max(NUMBERS, key=lambda number: (shared_bytes(number), -number))
        if plan.asked is None and plan.shared_bytes <= shared_bytes(larger):
            hint += f"; --arch sm_{larger} has {shared_bytes(larger)}"
        raise Refused(
            "TW602",
            f"the tiles take {plan.shared_bytes} bytes of shared memory, "
            f"and a block of {plan.arch} has {most_bytes}",
            witness={"shared_bytes": plan.shared_bytes, "stages": plan.stages},
            hint=hint,
        )
    check_registers(plan.threads, plan.held)
