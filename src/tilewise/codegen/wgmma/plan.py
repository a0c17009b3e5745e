"""A tile that wgmma multiplies, before its text: its operands, their places, the chain of instructions.

M of a tile is a number of warpgroups, 64 rows each, N that of one instruction, K a number of instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tilewise.codegen.parts.copies import BYTE, Staged
from tilewise.codegen.parts.plan import (
    SPARE_REGISTERS,
    GemmPlan,
    as_tile,
    check_bytes,
    check_multiple,
    check_partner,
    check_registers,
    check_shared,
    check_word,
    not_read,
    refused,
    sum_type,
)
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.stepping import Step
from tilewise.hardware.operands.tiles import ORDERS, tile
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import ENGINE
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input, M

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.match import Match

WARPGROUP = 128
"""Threads that issue one wgmma together."""

PLACES = ("smem", "reg")


@dataclass(frozen=True)
class DescribedOperand(Staged):
    """A or B of wgmma, which reads it through descriptors; or A in registers, `tile` its fragment."""

    in_registers: bool = False
    """True if the core reads it from registers."""
    mode: Mode = MODES["none"]
    order: str | None = "mn"
    """The order of the atoms; None for a given layout."""
    found: Match | None = None
    """The match of a given layout."""

    @property
    def input(self) -> Input:
        """Return wgmma's facts about its type."""
        return Input.of(self.dtype)

    @property
    def bytes(self) -> int:
        """Return the bytes of the elements."""
        return self.rows * self.k * self.dtype.bits // BYTE

    @cached_property
    def steps(self) -> tuple[Step[Descriptor], ...]:
        """Return the step of each instruction in a tile that begins at address 0, K fastest."""
        if self.found is not None:
            return self.found.steps
        asked = self.mode, self.major, self.dtype, self.rows, self.k, self.order or "mn"
        return ENGINE.feeding(*asked, operand=self.name, n=M if self.name == "A" else self.rows).steps

    @property
    def descriptor(self) -> Descriptor:
        """Return the descriptor of the first step."""
        return self.steps[0].descriptor

    @property
    def along_k(self) -> tuple[int, ...]:
        """Return the number that each instruction along K adds to the descriptor, in 16 bytes."""
        return tuple(step.encoded for step in self.steps if step.mn == 0)

    @property
    def along_rows(self) -> tuple[int, ...]:
        """Return the number that each 64 rows of A add to it; a single 0 for B."""
        return tuple(step.encoded for step in self.steps if step.k == 0)


@dataclass(frozen=True)
class WgmmaPlan(GemmPlan):
    """A kernel around wgmma."""

    a: DescribedOperand
    b: DescribedOperand

    @property
    def operands(self) -> tuple[DescribedOperand, ...]:
        """Return A and B."""
        return self.a, self.b

    @property
    def k_steps(self) -> int:
        """Return the instructions along K."""
        return self.k // self.a.input.k

    @property
    def threads(self) -> int:
        """Return the threads of a block: a warpgroup for each 64 rows."""
        return self.m // M * WARPGROUP

    @property
    def fragment(self) -> Layout:
        """Return the layout of a warpgroup's 64 rows of D: the thread of each element [row, column]."""
        return d_fragment(self.accumulator, self.n)

    @property
    def registers(self) -> int:
        """Return the 32-bit registers of a thread that hold D."""
        return self.n * self.accumulator.bits // 64

    @property
    def in_shared(self) -> tuple[DescribedOperand, ...]:
        """Return the operands that pass through shared memory."""
        return tuple(own for own in self.operands if not own.in_registers)

    @property
    def instruction(self) -> str:
        """Return the instruction's name in PTX."""
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
    a_from: str = "smem",
) -> WgmmaPlan:
    """Return the plan of a tile M x N x K; the widest mode that fits is the default.

    An operand's layout may be given instead of its mode and order: any that wgmma reads.

        requires  M a multiple of 64, N legal for the types, K a multiple of the instruction's
        refused   TW602 a shape or types that wgmma does not have, or too large for a multiprocessor;
                  TW603 a tile that is not a whole number of atoms; TW605 a layout that wgmma does not read

    >>> plan = planned((128, 128, 64), "bf16")
    >>> plan.instruction
    'wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16'
    >>> plan.b.mode.name, plan.threads, plan.shared_bytes, hex(plan.b.descriptor.value)
    ('128B', 256, 32768, '0x4000004000010000')
    """
    first = Input.of(dtype_a)
    types = first, Input.of(dtype_b) if dtype_b is not None else first
    check_partner(first.name, types[1].name, first.partners, "wgmma")
    into = sum_type(first.name, accumulator, first.accumulators)
    m, n, k = (as_int(extent, "an extent of the tile") for extent in shape)
    check_multiple("M", m, M, "a warpgroup", {"m": m})
    first.check_n(n)
    check_multiple("K", k, first.k, f"one instruction on {first.name}", {"dtype": first.name, "k": k})
    check_word(a_from, PLACES, "place of A")
    for order in filter(None, orders):
        check_word(order, ORDERS, "order of atoms")
    held = a_from == "reg", False
    a, b = (
        operand_of(*each, k=k)
        for each in zip("AB", types, (m, n), held, majors, modes, orders, layouts, strict=True)
    )
    plan = WgmmaPlan(a, b, into, into, 1, "")
    check_shared(plan, Architecture.of("sm_90a"))
    in_registers = 4 * plan.k_steps * a.in_registers
    shorter = " or a shorter K: all of A's fragments are held" if a.in_registers else ""
    check_registers(
        plan.threads, plan.registers + in_registers, SPARE_REGISTERS, f"take fewer rows, a smaller N{shorter}"
    )
    return plan


def operand_of(
    name: str,
    own: Input,
    rows: int,
    held: bool,
    major: str | None,
    mode: Mode | str | None,
    order: str | None,
    layout: Layout | None,
    *,
    k: int,
) -> DescribedOperand:
    """Return the given operand, or a tile of atoms of the widest mode that fits.

    refused  TW602 a major that the type does not have, TW603 no whole number of atoms
    """
    if layout is not None:
        for given, what in (
            (held, "a place in registers"),
            (mode, "a mode"),
            (order, "an order of atoms"),
        ):
            if given:
                raise LayoutError(
                    "TW401",
                    f"{name} has a layout and {what}",
                    hint="the layout says how the tile lies, alone",
                )
        return recognised(name, own, rows, k, layout, major=major)
    major, dtype = major or "k", own.dtype
    if held:
        if mode is not None:
            raise refused(
                f"{name} in registers has no swizzle mode",
                "modes are for tiles in shared memory",
                mode=Mode.of(mode).name,
            )
        check_bytes(dtype, major)
        return DescribedOperand(name, dtype, rows, k, major, a_fragment(dtype), in_registers=True)
    own.check_major(major)
    order = order or "mn"
    # the widest mode whose atoms fill the tile, and for A the 64 rows of an instruction
    each = M if name == "A" else rows
    fits = [fit for fit in MODES.values() if (k if major == "k" else each) % fit.elements(dtype) == 0]
    mode = Mode.of(mode if mode is not None else fits[-1] if fits else "none")
    atoms = tile(mode, major, dtype, rows, k, order)
    return DescribedOperand(name, dtype, rows, k, major, atoms, mode=mode, order=order)


def recognised(
    name: str, own: Input, rows: int, k: int, layout: Layout, *, major: str | None = None
) -> DescribedOperand:
    """Return an operand with any layout that wgmma reads.

        refused  TW605 a layout that it does not read, or whose blocks of 64 rows differ; TW602 another shape

    >>> from tilewise import S
    >>> padded = S[((8, 8), (8, 8)) : ((72, 8), (576, 1))]
    >>> made = recognised("A", Input.of("bf16"), 64, 64, padded)
    >>> made.mode.name, made.descriptor.lbo, made.descriptor.sbo, made.along_k, made.room
    ('none', 1152, 144, (0, 144, 288, 432), 9200)
    """
    from tilewise.check.match import Match, Mismatch, match

    plain = as_tile(name, own.dtype, rows, k, layout)
    found = match(layout, operand=name, dtype=own.name, major=major, n=rows if name == "B" else None)
    if isinstance(found, Mismatch):
        raise not_read(found, f"wgmma does not read this layout of {name}")
    assert isinstance(found, Match)
    made = DescribedOperand(
        name, own.dtype, rows, k, found.major, plain, mode=found.mode, order=None, found=found
    )
    starts = made.along_rows
    if found.instruction[1] not in (None, rows) or len(starts) != (rows // M if name == "A" else 1):
        raise _uneven(name, f"no one instruction reads all {rows} rows", rows)
    if len({after - before for before, after in pairwise(starts)}) > 1:
        raise _uneven(name, "its blocks of 64 rows are not evenly apart", list(starts))
    return made


def _uneven(name: str, what: str, witness: object) -> Refused:
    return Refused(
        "TW605",
        f"the layout of {name} is no tile of a kernel: {what}",
        witness=witness,
        hint="tilewise match shows how it is read",
    )
