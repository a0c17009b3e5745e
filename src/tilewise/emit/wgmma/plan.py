"""What a kernel does, before it is written: the tile, its operands, where they lie, the chain of wgmma.

The tile of a thread block is M x N x K: D [M, N] += A [M, K] B [N, K]^T, where M is a number of warpgroups,
64 rows each, N that of one instruction, and K a number of instructions. A problem is a number of tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.emit.parts.room import SPARE_REGISTERS, most_registers, stacked
from tilewise.emit.wgmma.operands import Operand, held, recognised, tiled
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.template import ORDERS
from tilewise.hardware.wgmma.fragments import d_fragment
from tilewise.hardware.wgmma.instructions import Input, M

WARPGROUP = 128
"""Threads that issue one wgmma together."""

COPYING_REGISTERS = 16
"""Registers more for each operand that threads load: four times 16 bytes are on their way."""

LOADS = ("tma", "copy")
PLACES = ("smem", "reg")


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel: both operands, the accumulator, and how many tiles are in flight."""

    a: Operand
    b: Operand
    accumulator: DType
    stages: int = 1
    name: str = ""

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
    def k_steps(self) -> int:
        """Instructions along K."""
        return self.k // self.a.input.k

    @property
    def warpgroups(self) -> int:
        """Each has 64 rows of the tile."""
        return self.m // M

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warpgroups * WARPGROUP

    @property
    def fragment(self) -> Layout:
        """Which thread of the warpgroup holds each element [row, column] of its 64 rows of D."""
        return d_fragment(self.accumulator, self.n)

    @property
    def registers(self) -> int:
        """32-bit registers of a thread that hold D."""
        return self.n * self.accumulator.bits // 64

    @property
    def in_shared(self) -> tuple[Operand, ...]:
        """The operands that pass through shared memory."""
        return tuple(own for own in (self.a, self.b) if not own.in_registers)

    @property
    def offsets(self) -> dict[str, int]:
        """The byte of a stage at which each operand begins."""
        return self._stacked[0]

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage."""
        return self._stacked[1]

    @property
    def _stacked(self) -> tuple[dict[str, int], int]:
        return stacked({own.name: own.room for own in self.in_shared})

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: the stages, then a barrier for each where TMA loads."""
        return self.stages * (self.stage_bytes + 8 * self.has_barriers)

    @property
    def has_barriers(self) -> bool:
        """Whether TMA loads an operand."""
        return any(own.load == "tma" for own in self.in_shared)

    @property
    def overlaps(self) -> bool:
        """Whether the chain of a tile runs while the next tile is waited for.

        A stage is then filled again one tile later. Fragments of A in registers cannot be loaded anew
        before the chain that reads them has ended.
        """
        return self.stages > 1 and not self.a.in_registers

    @property
    def instruction(self) -> str:
        """The instruction's name in PTX."""
        a, b = self.a.input, self.b.input
        popc = ".and.popc" if a.name == "b1" else ""
        shape = f"m{M}n{self.n}k{a.k}"
        return f"wgmma.mma_async.sync.aligned.{shape}.{self.accumulator}.{a.name}.{b.name}{popc}"


def planned(
    shape: tuple[int, int, int],
    dtype_a: DType | str,
    dtype_b: DType | str | None = None,
    *,
    accumulator: DType | str | None = None,
    majors: tuple[str | None, str | None] = (None, None),
    modes: tuple[Mode | str | None, Mode | str | None] = (None, None),
    orders: tuple[str | None, str | None] = (None, None),
    layouts: tuple[Layout | None, Layout | None] = (None, None),
    load: str = "tma",
    a_from: str = "smem",
    stages: int = 1,
    name: str = "",
) -> Plan:
    """The plan of a kernel for tiles M x N x K; what is not said is chosen, the widest mode that fits.

    An operand's layout may be given instead of its mode and order: any that wgmma reads.

        requires  M a multiple of 64, N legal for the types, K a multiple of the instruction's
        refused   TW602 a shape or types that wgmma does not have, or too large for a multiprocessor;
                  TW603 a tile that is no whole number of atoms; TW605 a layout that wgmma does not read

    >>> plan = planned((128, 128, 64), "bf16")
    >>> plan.instruction
    'wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16'
    >>> plan.b.mode.name, plan.threads, plan.shared_bytes, hex(plan.b.descriptor.value)
    ('128B', 256, 32776, '0x4000004000010000')
    """
    a, b = _types(dtype_a, dtype_b)
    into = _accumulator(a, accumulator)
    stages = as_int(stages, "the number of stages")
    m, n, k = (as_int(extent, "an extent of the tile") for extent in shape)
    _check_shape(a, b, m, n, k)
    _check_words(load, a_from, stages, orders)
    loads = ("reg" if a_from == "reg" else load, load)
    operands = [
        _operand(*each)
        for each in zip("AB", (a, b), (m, n), (k, k), loads, majors, modes, orders, layouts, strict=True)
    ]
    plan = Plan(operands[0], operands[1], into, stages, name)
    _check_room(plan)
    return plan


def _types(dtype_a: DType | str, dtype_b: DType | str | None) -> tuple[Input, Input]:
    a = Input.of(dtype_a)
    b = Input.of(dtype_b) if dtype_b is not None else a
    if b.name not in a.partners:
        raise Refused(
            "TW602",
            f"no wgmma multiplies {a.name} by {b.name}",
            witness={"A": a.name, "B": b.name},
            hint=f"{a.name} is multiplied by {' or '.join(a.partners)}",
        )
    return a, b


def _accumulator(a: Input, wanted: DType | str | None) -> DType:
    if wanted is None:
        return DType.of("f32" if "f32" in a.accumulators else a.accumulators[0])
    into = DType.of(wanted)
    if into.name not in a.accumulators:
        raise Refused(
            "TW602",
            f"{a.name} does not accumulate in {into}",
            witness={"dtype": a.name, "accumulator": into.name},
            hint=f"it accumulates in {' or '.join(a.accumulators)}",
        )
    return into


def _check_shape(a: Input, b: Input, m: int, n: int, k: int) -> None:
    if m < M or m % M:
        raise Refused(
            "TW602",
            f"{m} rows of A are no multiple of {M}",
            witness={"m": m},
            hint=f"a warpgroup has {M} rows of D",
        )
    a.check_n(n)
    if k < a.k or k % a.k:
        raise Refused(
            "TW602",
            f"K = {k} is no multiple of the {a.k} that one instruction on {a.name} multiplies",
            witness={"dtype": a.name, "k": k},
            hint=f"the nearest is {max(1, round(k / a.k)) * a.k}",
        )


def _check_words(load: str, a_from: str, stages: int, orders: tuple[str | None, str | None]) -> None:
    known = [(load, LOADS, "way to load a tile"), (a_from, PLACES, "place of A")]
    known += [(order, ORDERS, "order of atoms") for order in orders if order is not None]
    for word, words, what in known:
        if word not in words:
            raise LayoutError("TW601", f"{word!r} is no {what}", hint="known: " + " ".join(words))
    if stages < 1:
        raise LayoutError("TW401", f"{stages} stages hold no tile", hint="one or more")
    if stages > 1 and load == "copy":
        raise Refused(
            "TW602",
            "copies by threads have one stage",
            witness={"stages": stages},
            hint="threads that copy do not run ahead of themselves; --load tma does",
        )


def _operand(
    name: str,
    own: Input,
    rows: int,
    k: int,
    load: str,
    major: str | None,
    mode: Mode | str | None,
    order: str | None,
    layout: Layout | None,
) -> Operand:
    if layout is not None and (load == "reg" or mode is not None or order is not None):
        what = (
            "a place in registers" if load == "reg" else "a mode" if mode is not None else "an order of atoms"
        )
        raise LayoutError(
            "TW401", f"{name} has a layout and {what}", hint="the layout says how the tile lies, alone"
        )
    if load == "reg":
        return held(name, own, rows, k, major=major, mode=mode)
    if layout is not None:
        return recognised(name, own, rows, k, layout, load=load, major=major)
    return tiled(name, own, rows, k, load=load, major=major, mode=mode, order=order)


def _check_room(plan: Plan) -> None:
    if plan.shared_bytes > SHARED_BYTES:
        raise Refused(
            "TW602",
            f"the tiles take {plan.shared_bytes} bytes of shared memory, and a block has {SHARED_BYTES}",
            witness={"shared_bytes": plan.shared_bytes, "stages": plan.stages},
            hint="take fewer stages or a shorter K" if plan.stages > 1 else "take a shorter K",
        )
    fragments = plan.registers + 4 * plan.k_steps * plan.a.in_registers
    spare = SPARE_REGISTERS + COPYING_REGISTERS * sum(own.load != "tma" for own in (plan.a, plan.b))
    if fragments + spare > most_registers(plan.threads):
        raise Refused(
            "TW602",
            f"{plan.threads} threads with fragments of {fragments} registers are more than a "
            "multiprocessor holds",
            witness={"threads": plan.threads, "registers": fragments},
            hint="take fewer rows, a smaller N"
            + (" or a shorter K: all of A's fragments are held" if plan.a.in_registers else ""),
        )
