"""A kernel for a whole product on Hopper, before its text: tiles, who does what, and D's way out.

One warpgroup asks TMA for stages of A and B; the others multiply them. Blocks in a cluster share tiles. Each
block takes tiles of D in turn, and D leaves while the next tile is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.codegen.parts.copies import BYTE, Staged
from tilewise.codegen.parts.pipeline import BARRIER
from tilewise.codegen.parts.plan import (
    check_multiple,
    check_partner,
    check_shared,
    check_stages,
    check_word,
    refused,
    sum_type,
)
from tilewise.codegen.source import Source, source_of
from tilewise.codegen.wgmma.plan import WARPGROUP, DescribedOperand, WgmmaPlan, operand_of
from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.fragments import d_fragment
from tilewise.hardware.wgmma.instructions import Input, M

SPAN = 128
"""Bytes of a row of a tile of A or B: one atom of the widest mode."""
BUFFERS = 2
"""Boxes of D of a warpgroup in shared memory: one is filled when the one before it goes out."""
LOADER_REGISTERS, WORKER_REGISTERS = 40, 232
"""Registers of a thread that loads, and of one that multiplies: with two such warpgroups they are all that a
block of 384 threads begins with, 168 each. A block waits for ever for more."""
SUMS = 192
"""Sums that a thread holds, at most."""
GROUPS = 1 << 15
"""Tiles of a group, at most."""
PAIRED = 16
"""Columns that D's way out takes at once where its elements have 16 bits or fewer."""
MOST_CLUSTERED = 8
"""Blocks of a cluster that every GPU of the architecture takes."""
SCALES = ("none", "tensor", "row")
NARROW = ("e4m3", "e5m2")
"""Types of A and B of whose sums the core keeps about 14 bits."""
WIDENED, WIDE = (*NARROW, "s8", "u8"), ("bf16", "f16")
"""Types of A in memory that may pass through registers, and those of B that they become there."""
FLOATS = ("f32", "f16", "bf16", "e4m3", "e5m2")
"""Types of D after a sum in f32."""


@dataclass(frozen=True)
class Finish:
    """The steps from A B^T to D."""

    alpha: bool = False
    """True if it is multiplied by a number."""
    scales: str = "none"
    """Factors of A and B: one of each tensor, or one of each row."""
    addend: bool = False
    """True if beta C is added."""
    bias: bool = False
    """True if a number is added to each column."""

    @property
    def by_column(self) -> bool:
        """Return True if columns are read in pairs: of C, a bias, or factors of rows of B."""
        return self.scales == "row" or self.addend or self.bias

    @property
    def formula(self) -> str:
        """Return D as a formula.

        >>> Finish(alpha=True, scales="row", bias=True).formula
        'alpha scale_a[m] scale_b[n] A B^T + bias[n]'
        """
        at = {"tensor": ("", ""), "row": ("[m]", "[n]")}.get(self.scales)
        words = ["alpha"] * self.alpha + ([f"scale_a{at[0]}", f"scale_b{at[1]}"] if at else [])
        terms = [" ".join([*words, "A B^T"]), *["beta C"] * self.addend, *["bias[n]"] * self.bias]
        return " + ".join(terms)


@dataclass(frozen=True)
class HopperPlan(WgmmaPlan):
    """A kernel for D = A B^T of any extents."""

    workers: int = 2
    """Warpgroups that multiply."""
    cluster: tuple[int, int] = (2, 1)
    """Blocks that share tiles: neighbours down M share B, neighbours along N share A."""
    group: int = 8
    """Tiles of a cluster down M before the next ones along N: those under way share A and B in the cache."""
    finish: Finish = Finish()
    batched: bool = False
    """True if A, B and D are many matrices each."""
    grouped: bool = False
    """True if B is many matrices, one for each group of rows of A and D."""
    promotes: bool = False
    """True if the sums of each stage are added up in f32, of types of which the core keeps fewer bits."""
    splits: bool = False
    """True if each block has a part of K; a second kernel adds up the sums of all parts, in their order."""
    widened: DescribedOperand | None = None
    """A as the core reads it, from registers, where it has fewer bits in memory than B."""

    @property
    def core(self) -> WgmmaPlan:
        """Return the product as the core sees it."""
        return WgmmaPlan(self.widened or self.a, self.b, self.accumulator, self.out, 1, "")

    @property
    def instruction(self) -> str:
        """Return the instruction's name in PTX."""
        return self.core.instruction

    @property
    def first(self) -> HopperPlan:
        """Return the plan of the kernel that multiplies: of parts of K it leaves the sums as they are."""
        return replace(self, out=self.accumulator, finish=Finish()) if self.splits else self

    @property
    def turns(self) -> bool:
        """Return True if tiles have a number beside their place in D: of a batch, or of a part of K."""
        return self.batched or self.splits

    def is_many(self, own: Staged) -> bool:
        """Return True if an operand, or D, is many matrices."""
        return self.batched or (self.grouped and own.name == "B") or (self.splits and own.name == "D")

    @property
    def blocks(self) -> int:
        """Return the blocks of a cluster."""
        return self.cluster[0] * self.cluster[1]

    @property
    def threads(self) -> int:
        """Return the threads of a block."""
        return WARPGROUP * (self.workers + 1)

    @property
    def parts(self) -> int:
        """Return the instructions by which a warpgroup covers its rows of a tile."""
        return self.m // self.workers // M

    def shared_by(self, own: Staged) -> int:
        """Return the blocks that have the same tile of an operand: each loads a slice of it for all."""
        return self.cluster[1] if own.name == "A" else self.cluster[0]

    def box_of(self, own: DescribedOperand) -> DescribedOperand:
        """Return the part of a tile that one request of TMA loads: rows of K, or atoms side by side.

        >>> plan = planned((128, 256), "bf16", majors=("mn", "k"))
        >>> [plan.box_of(own).rows for own in plan.operands]
        [64, 128]
        """
        rows = own.rows // self.shared_by(own)
        if own.major == "mn":
            rows = own.mode.elements(own.dtype)
        assert own.order is not None
        return replace(own, rows=rows, tile=tile(own.mode, own.major, own.dtype, rows, own.k, own.order))

    @property
    def d_index(self) -> Source:
        """Return the function from a register to its pair of columns of A B^T, and its row."""
        short = self.fragment.relabel({Axis("wid_in_wg"): Axis("warp"), Axis("laneid"): Axis("lane")})
        return source_of(short.pack(2, "reg"), inverse=True, flat=False, name="d_index")

    @cached_property
    def d_mode(self) -> Mode:
        """Return the widest mode whose atoms fill a row of D's tile."""
        return [mode for mode in MODES.values() if self.n % mode.elements(self.out) == 0][-1]

    @cached_property
    def d(self) -> Staged:
        """Return a box of D in shared memory: 64 rows of an atom."""
        columns = self.d_mode.elements(self.out)
        return Staged("D", self.out, M, columns, "k", tile(self.d_mode, "k", self.out, M, columns))

    def box_and_mode(self, own: Staged) -> tuple[tuple[int, int], Mode]:
        """Return the box that TMA moves at once, the contiguous direction first, and its mode.

        >>> planned((128, 256), "bf16", out="bf16").box_and_mode(planned((128, 256), "bf16").b)
        ((64, 128), Mode.of('128B'))
        """
        if not isinstance(own, DescribedOperand):
            return (own.k, own.rows), self.d_mode
        box = self.box_of(own)
        return (box.k, box.rows) if own.major == "k" else (box.rows, box.k), own.mode

    @property
    def box_bytes(self) -> int:
        """Return the bytes of a box of D."""
        return M * self.d.k * self.out.bits // BYTE

    @property
    def shared_bytes(self) -> int:
        """Return the dynamic shared memory of a block: stages, boxes of D, two barriers for each stage."""
        return self.stages * (self.stage_bytes + 2 * BARRIER) + self.workers * BUFFERS * self.box_bytes

    @property
    def readers(self) -> int:
        """Return the warpgroups that read what a block loads: its own, and those with which it shares."""
        return self.workers * (sum(self.cluster) - 1)


def planned(
    shape: Sequence[int],
    dtype_a: DType | str,
    dtype_b: DType | str | None = None,
    *,
    out: DType | str | None = None,
    accumulator: DType | str | None = None,
    majors: tuple[str | None, str | None] = (None, None),
    cluster: Sequence[int] = (2, 1),
    stages: int | None = None,
    workers: int | None = None,
    group: int = 8,
    finish: Finish = Finish(),
    batched: bool = False,
    grouped: bool = False,
    promotes: bool = False,
    splits: bool = False,
    name: str = "",
) -> HopperPlan:
    """Return the plan of a kernel for tiles M x N of D.

        requires  M a multiple of 64 for each warpgroup, N legal for the types
        refused   TW602 a tile, types or a cluster that the hardware does not have, or no room for them

    >>> plan = planned((128, 256), "bf16")
    >>> plan.instruction, plan.stages, plan.threads, plan.shared_bytes
    ('wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16', 4, 384, 229440)
    """
    first = Input.of(dtype_a)
    types = first, Input.of(dtype_b) if dtype_b is not None else first
    widens = first.name in WIDENED and types[1].name in WIDE
    if widens:
        first = types[1]
    check_partner(first.name, types[1].name, first.partners, "wgmma")
    into = sum_type(first.name, accumulator, [kind for kind in first.accumulators if kind != "f16"])
    m, n = (as_int(extent, "an extent of the tile") for extent in shape)
    check_multiple("M", m, M, "a warpgroup", {"m": m})
    first.check_n(n)
    if first.dtype.bits < BYTE:
        raise refused("a product of single bits is no kernel here", "tilewise emit wgmma has its instruction")
    workers = as_int(workers if workers is not None else 2 if m % (2 * M) == 0 else 1, "warpgroups")
    if workers not in (1, 2) or m // M not in (workers, 2 * workers):
        raise refused(
            f"{workers} warpgroups do not share {m} rows",
            "one or two of them take 64 or 128 rows each",
            m=m,
            workers=workers,
        )
    span = SPAN * BYTE // first.dtype.bits
    a, b = (
        operand_of(name, own, rows, False, major, None, "k" if major == "mn" else "mn", None, k=span)
        for name, own, rows, major in zip("AB", types, (m, n), majors, strict=True)
    )
    widened = operand_of("A", first, m, True, "k", None, None, None, k=span) if widens else None
    # an instruction's A has the registers that its D has, two elements in each
    assert widened is None or widened.tile == d_fragment(into, first.k)
    plan = HopperPlan(
        a,
        b,
        into,
        _type_of_d(into, out),
        1,
        name,
        workers,
        _checked_cluster(cluster, a, b),
        as_int(group, "tiles of a group"),
        finish,
        batched,
        grouped,
        promotes,
        splits,
        widened,
    )
    _check_finish(plan)
    held = plan.registers * plan.parts * (2 if promotes else 1)
    if grouped and plan.a.major == "mn":
        raise refused(
            "groups begin at any row, and TMA takes boxes of an MN-major A at multiples of 16 bytes",
            "a K-major A",
        )
    if widens and plan.parts > 1:
        raise refused("a warpgroup has the registers to widen 64 rows", "take fewer rows", m=m)
    if held > SUMS:
        raise refused(
            f"a thread holds {held} sums, and has registers for {SUMS}",
            "take fewer rows or a smaller N",
        )
    if plan.first.out.bits <= PAIRED and n % PAIRED:
        raise refused(
            f"a tile of {n} columns has no way out as {plan.out}", f"take a multiple of {PAIRED}", n=n
        )
    if not 1 <= plan.group <= GROUPS:
        raise LayoutError("TW401", f"a group of {plan.group} tiles", hint=f"1 to {GROUPS}")
    check_shared(plan.first, Architecture.of("sm_90a"))
    if stages is None:
        room = shared_bytes(Architecture.of("sm_90a")) - plan.first.shared_bytes
        stages = 1 + min(7, room // (plan.stage_bytes + 2 * BARRIER))
    plan = replace(plan, stages=as_int(stages, "the number of stages"))
    check_stages(plan.stages, "tma", "")
    if plan.stages < 2:
        raise refused("one stage is read while the next comes", "two or more", stages=plan.stages)
    check_shared(plan.first, Architecture.of("sm_90a"))
    return plan


def _type_of_d(into: DType, out: DType | str | None) -> DType:
    known = FLOATS if into.name == "f32" else (into.name,)
    found = DType.of(out if out is not None else into)
    if found.name not in known:
        raise refused(
            f"sums in {into} do not leave as {found}", "D takes " + " or ".join(known), out=found.name
        )
    return found


def _checked_cluster(cluster: Sequence[int], a: DescribedOperand, b: DescribedOperand) -> tuple[int, int]:
    """Return a cluster whose blocks each load whole boxes."""
    down, along = (as_int(extent, "an extent of the cluster") for extent in cluster)
    if min(down, along) < 1 or down * along > MOST_CLUSTERED:
        raise refused(
            f"a cluster of {down} x {along} blocks", f"up to {MOST_CLUSTERED} blocks", cluster=[down, along]
        )
    for own, parts in ((a, along), (b, down)):
        least = own.mode.elements(own.dtype) if own.major == "mn" else 8
        if parts > 1 and own.rows % (parts * least):
            raise refused(
                f"{parts} blocks do not share the {own.rows} rows of {own.name}",
                f"each loads {least} or a multiple: take a smaller cluster",
                rows=own.rows,
                blocks=parts,
            )
    return down, along


def _check_finish(plan: HopperPlan) -> None:
    if plan.promotes and plan.core.a.dtype.name not in NARROW:
        hint = f"{' and '.join(NARROW)} have sums of fewer bits"
        raise LayoutError("TW401", f"the core sums {plan.core.a.dtype} in {plan.accumulator}", hint=hint)
    if plan.batched + plan.grouped + plan.splits > 1:
        raise LayoutError(
            "TW401", "batches, groups and parts of K exclude one another", hint="take one of them"
        )
    if plan.widened and (plan.grouped or plan.splits):
        hint = "take one of them, or A of as many bits as B"
        raise LayoutError("TW401", "a wider A and groups or parts of K exclude one another", hint=hint)
    check_word(plan.finish.scales, SCALES, "kind of scales")
    if plan.finish != Finish() and plan.accumulator.name != "f32":
        raise LayoutError(
            "TW401",
            f"sums in {plan.accumulator} are D as they are",
            hint="alpha, scales, C and bias go with f32",
        )
