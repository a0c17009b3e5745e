"""A kernel around mma.sync, before its text: the tile, its warps, its operands, D's way out.

Warps share the tile as a grid, each with a whole number of instructions down M and along N.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.feeding.fragments import Instruction as Warp
from tilewise.check.feeding.fragments import held
from tilewise.codegen.mma.choice import checked_grid, grids, instruction_of, stored_as
from tilewise.codegen.mma.moves import Moves, span_of
from tilewise.codegen.mma.operands import WarpTile, check_store, of_a_warp, tile_of
from tilewise.codegen.parts.plan import (
    SPARE_REGISTERS,
    GemmPlan,
    Unshared,
    check_multiple,
    check_registers,
    check_shared,
    check_stages,
    check_word,
    most_registers,
    refused,
)
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.architectures import NUMBERS, Architecture
from tilewise.hardware.limits import LANES, REGISTER_BITS, THREAD_REGISTERS, shared_bytes
from tilewise.hardware.mma.instructions import Instruction, Shape

ASYNC_SINCE = 80
ASYNC_BYTES = 4
"""The least bytes of a cp.async."""

STAGES = 3
"""Tiles in flight if the caller leaves them open, and there is room for them."""

LOADS = ("cp.async", "copy")


@dataclass(frozen=True)
class MmaPlan(GemmPlan):
    """A kernel around mma.sync."""

    a: WarpTile
    b: WarpTile
    instruction: Instruction
    load: str
    since: int
    """The first compute capability, times ten, with all its instructions."""
    asked: Architecture | None = None
    """The given architecture, or None."""
    result: WarpTile | None = None
    """The tile through which D leaves; None if it leaves directly."""

    @property
    def arch(self) -> Architecture:
        """Return the architecture of the text: the given one, or the first with all its instructions."""
        return self.asked or Architecture.of(self.since)

    @property
    def operands(self) -> tuple[WarpTile, ...]:
        """Return A and B."""
        return self.a, self.b

    @property
    def tiles(self) -> tuple[WarpTile, ...]:
        """Return all tiles that warps move: A, B, and D if it leaves through shared memory."""
        return self.operands + ((self.result,) if self.result else ())

    @property
    def shape(self) -> Shape:
        """Return the shape that one instruction of a warp multiplies: Volta's is four products."""
        return of_a_warp(self.instruction.shape, self.a.dtype)

    @property
    def warps(self) -> tuple[int, int]:
        """Return the warps down M and along N."""
        return self.a.warps[0], self.b.warps[0]

    @property
    def threads(self) -> int:
        """Return the threads of a block."""
        return self.a.warps[0] * self.b.warps[0] * LANES

    @property
    def fragment(self) -> Layout:
        """Return the layout of D of one instruction: the lane of each element [row, column]."""
        (found,) = held("D", Warp(self.instruction.shape), self.accumulator, None)
        return found.layout

    @property
    def registers(self) -> int:
        """Return the registers of a lane that hold D of one instruction: of 32 bits, of 64 for f64."""
        return self.fragment.span("reg") * self.accumulator.bits // max(REGISTER_BITS, self.accumulator.bits)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on slow moves, with the reasons."""
        return self.a.notes + self.b.notes

    @property
    def shared_bytes(self) -> int:
        """Return the dynamic shared memory of a block."""
        return max(self.stages * self.stage_bytes, self.result.room if self.result else 0)

    @property
    def held(self) -> int:
        """Return the 32-bit registers of a lane that hold fragments."""
        d, inputs = self._held
        return d + inputs * (2 if self.ahead else 1)

    @property
    def _held(self) -> tuple[int, int]:
        """Return the 32-bit registers of D's fragments, and of the fragments of one turn."""
        a, b = (own.blocks * own.registers * own.register_bits // REGISTER_BITS for own in self.operands)
        return self.a.blocks * self.b.blocks * self.registers * self._words, (a + b) * self.span

    @property
    def _words(self) -> int:
        """Return the 32-bit registers of a sum, at least one."""
        return max(1, self.accumulator.bits // REGISTER_BITS)

    @property
    def turns(self) -> int:
        """Return the turns of the loop along K of a tile."""
        return self.a.steps // self.span

    @cached_property
    def ahead(self) -> bool:
        """Return True if the fragments of a turn are loaded while those before them are multiplied.

        Two sets of them alternate, so that a tile needs an even number of turns. Sets that are put together
        from parts of registers are not worth it.
        """
        d, inputs = self._held
        fit = d + 2 * inputs + SPARE_REGISTERS * self._words <= most_registers(self.threads)
        whole = all(own.fill.part * 8 >= REGISTER_BITS for own in self.operands)
        return self.stages > 1 and self.turns % 2 == 0 and whole and fit

    @cached_property
    def span(self) -> int:
        """Return the instructions along K in a turn of the loop: one, unless one load serves several."""
        return span_of([own.fill for own in self.operands], self.a.steps)

    @cached_property
    def _moves(self) -> dict[str, Moves]:
        spans = {"D": self.n}
        return {own.name: Moves(own, spans.get(own.name, self.span)) for own in self.tiles}

    def moves(self, own: WarpTile) -> Moves:
        """Return the loads of one turn, or the stores of D."""
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
) -> MmaPlan:
    """Return the plan of a kernel for tiles M x N x K; arguments left out are chosen.

        requires  M, N and K multiples of the instruction's, M and N of the warps' as well
        refused   TW602 an instruction that does not exist, or tiles too large for a multiprocessor;
                  TW605 a layout that no lane can read, or cannot read by the given `form`

    >>> plan = planned((128, 128, 32), "bf16")
    >>> print(plan.instruction)
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    >>> plan.warps, plan.threads, plan.stages, plan.shared_bytes, plan.arch
    ((2, 2), 128, 3, 49152, sm_80)
    """
    m, n, k = (as_int(extent, "an extent of the tile") for extent in tile)
    target = None if arch is None else Architecture.of(arch)
    family, instruction = instruction_of(dtype_a, dtype_b, shape, accumulator, op, target)
    types = DType.of(instruction.a), DType.of(instruction.b)
    whole = of_a_warp(instruction.shape, types[0])
    for axis, extent, each in (("M", m, whole.m), ("N", n, whole.n), ("K", k, whole.k)):
        check_multiple(axis, extent, each, str(whole), {axis: extent, "shape": str(whole)})
    stages = None if stages is None else as_int(stages, "the number of stages")
    first = target or Architecture.of(family.since)
    into, sums = stored_as(instruction, out), DType.of(instruction.d)

    def with_warps(grid: tuple[int, int]) -> MmaPlan:
        a, b = (
            tile_of(own, dtype, (rows, k), major, layout, instruction.shape, (many, 1), first, form)
            for own, dtype, rows, major, layout, many in zip(
                "AB", types, (m, n), majors, layouts, grid, strict=True
            )
        )
        way = _load(load, stages, target, first, (a, b))
        since = max(family.since, ASYNC_SINCE if way == "cp.async" else 0)
        least = check_store(store, into, layout_d, target, target or Architecture.of(since))
        since = since if target else least.number
        leaving = None
        if store != "direct":
            wanted = "matrices" if store == "stmatrix" else None
            leaving = tile_of("D", into, (m, n), "k", layout_d, instruction.shape, grid, least, wanted)
        full = replace(instruction, majors=(a.feed.major or "row", b.feed.major or "col"))
        plan = MmaPlan(a, b, sums, into, stages or 1, name, full, way, since, target, leaving)
        if stages is None and way != "copy":
            later = [number for number in NUMBERS if number >= since]
            most = min(map(shared_bytes, later if target is None else [target.number])) // plan.stage_bytes
            plan = replace(plan, stages=max(1, min(STAGES, most)))
        assert plan.span  # refused if no warp can load an operand
        assert leaving is None or leaving.fill  # or store D
        larger = max(NUMBERS, key=lambda number: (shared_bytes(number), -number))
        fits = target is None and plan.shared_bytes <= shared_bytes(larger)
        check_shared(plan, plan.arch, f"; --arch sm_{larger} has {shared_bytes(larger)}" * fits)
        few = most_registers(plan.threads) == THREAD_REGISTERS
        hint = "take more warps, or a smaller tile" if few else "take a smaller tile, or other warps"
        check_registers(plan.threads, plan.held, SPARE_REGISTERS, hint)
        return plan

    if warps is not None:
        return with_warps(checked_grid(whole, m, n, warps))
    refusals = []
    for grid in grids(whole, sums.bits, m, n):
        try:
            return with_warps(grid)
        except Unshared as no:  # other warps may succeed
            refusals.append(no)
    best = next((no for no in refusals if no.code == "TW602"), refusals[0])
    hint = "take a smaller tile" if best.code == "TW602" else "take another tile, or another layout"
    raise Refused(best.code, best.reason, witness=best.witness, hint=f"{hint}: no other warps hold it")


def _load(
    wanted: str | None,
    asked: int | None,
    target: Architecture | None,
    first: Architecture,
    operands: tuple[WarpTile, WarpTile],
) -> str:
    """Return the way in which tiles come: as wanted, or by cp.async if it is needed or possible."""
    stages = 1 if asked is None else asked
    narrow = next((own for own in operands if own.width < ASYNC_BYTES), None)
    if wanted is None:
        wanted = "cp.async" if stages > 1 or (first.number >= ASYNC_SINCE and narrow is None) else "copy"
    check_word(wanted, LOADS, "way to load a tile")
    check_stages(stages, wanted, "cp.async")
    if wanted == "cp.async" and target and target.number < ASYNC_SINCE:
        raise refused(
            f"{target} has no cp.async",
            "--load copy, with one stage",
            arch=str(target),
            since=f"sm_{ASYNC_SINCE}",
        )
    if wanted == "cp.async" and narrow is not None:
        raise refused(
            f"cp.async brings {ASYNC_BYTES} bytes or more, and {narrow.name} keeps {narrow.width} together",
            "--load copy, or a layout that is contiguous along what global memory has contiguous",
            operand=narrow.name,
            bytes=narrow.width,
        )
    return wanted
