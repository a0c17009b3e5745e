"""A kernel for attention on Hopper, before its text: two products, who does what, the room in shared memory.

One warpgroup asks TMA for Q once, and for blocks of keys and values in turn. The others have 64 rows of Q
each. The sums of the first product stay in registers: they are A of the second.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.codegen.names import checked
from tilewise.codegen.parts.pipeline import BARRIER
from tilewise.codegen.parts.plan import check_stages, refused
from tilewise.codegen.source import Source, source_of
from tilewise.codegen.wgmma.plan import WARPGROUP, DescribedOperand, WgmmaPlan, operand_of
from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.integers import as_int
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.modes import Mode
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input, M

TYPES = ("bf16", "f16")
CHOICE = {64: (3, 128), 128: (2, 128)}
"""{size of a head: (warpgroups, keys of a block)}, the fastest ones of those measured on an H200."""
REGISTERS = {2: (24, 240), 3: (32, 160)}
"""{warpgroups: registers of a thread that loads, and of one that multiplies}; a block begins with as many."""
SPARE = 32
"""Registers of a thread beyond its scores, P and O."""
PANEL = 64
"""Columns of 16 bits in a row of 128 bytes: an atom of the widest mode, and a box of TMA."""


@dataclass(frozen=True)
class AttentionPlan:
    """A kernel for O = softmax(scale Q K^T) V of any number of rows, keys and heads."""

    scores: WgmmaPlan
    """S = Q K^T, 64 rows and a block of keys."""
    values: WgmmaPlan
    """O += P V; P is read from registers."""
    causal: bool
    """True if a row sees the keys up to its own number alone."""
    workers: int
    """Warpgroups that multiply."""
    stages: int
    """Blocks of keys in flight, and of values."""
    name: str
    """The given name of the kernel; empty if it follows from the tile."""

    @property
    def called(self) -> str:
        """Return the kernel's name: the given one, or one of its type and tile."""
        kind = "causal_attention" if self.causal else "attention"
        return checked(self.name or f"{kind}_{self.dtype}_{self.head}", "a kernel")

    @property
    def dtype(self) -> DType:
        """Return the type of Q, K, V and O."""
        return self.q.dtype

    @property
    def head(self) -> int:
        """Return the columns of Q, K, V and O."""
        return self.scores.k

    @property
    def keys(self) -> int:
        """Return the keys of a block."""
        return self.scores.n

    @property
    def rows(self) -> int:
        """Return the rows of Q that a block of threads has."""
        return M * self.workers

    @property
    def threads(self) -> int:
        """Return the threads of a block."""
        return WARPGROUP * (self.workers + 1)

    @property
    def q(self) -> DescribedOperand:
        """Return the tile of Q that a warpgroup has, which becomes the tile of O."""
        return self.scores.a

    @property
    def k(self) -> DescribedOperand:
        """Return a block of keys, B of the first product."""
        return self.scores.b

    @property
    def v(self) -> DescribedOperand:
        """Return a block of values: the transpose is B of the second product, and so it is MN-major."""
        return self.values.b

    @property
    def panels(self) -> int:
        """Return the boxes of 64 columns in a row."""
        return self.head // PANEL

    @property
    def offsets(self) -> dict[str, int]:
        """Return the bytes at which tiles of K and V in turn begin, behind those of Q, and barriers."""
        tiles = self.workers * self.q.bytes
        return {"tiles": tiles, "barriers": tiles + 2 * self.stages * self.k.bytes}

    @property
    def shared_bytes(self) -> int:
        """Return the dynamic shared memory of a block."""
        return self.offsets["barriers"] + BARRIER * (1 + 4 * self.stages)

    @property
    def index(self) -> Source:
        """Return the function from a register of S, or of O, to its pair of columns, and its row."""
        wider = max(self.scores, self.values, key=lambda product: product.n)
        short = wider.fragment.relabel({Axis("wid_in_wg"): Axis("warp"), Axis("laneid"): Axis("lane")})
        return source_of(short.pack(2, "reg"), inverse=True, flat=False, name="d_index")

    def box_and_mode(self, own: DescribedOperand) -> tuple[tuple[int, int], Mode]:
        """Return the box that TMA moves at once, the contiguous direction first, and its mode.

        >>> planned(128).box_and_mode(planned(128).v)
        ((64, 128), Mode.of('128B'))
        """
        return (PANEL, own.rows if own.major == "k" else own.k), own.mode


def planned(
    head: int,
    dtype: DType | str = "bf16",
    *,
    causal: bool = False,
    keys: int | None = None,
    workers: int | None = None,
    stages: int = 2,
    name: str = "",
) -> AttentionPlan:
    """Return the plan of a kernel for heads of 64 or 128 columns.

        refused   TW602 another type or size of head, keys that the hardware does not take, or no room

    >>> plan = planned(128, causal=True)
    >>> plan.called, plan.rows, plan.keys, plan.threads, plan.shared_bytes
    ('causal_attention_bf16_128', 128, 128, 384, 163912)
    """
    kind = DType.of(dtype).name
    if kind not in TYPES:
        raise refused(f"attention of {kind} has no kernel here", f"take {' or '.join(TYPES)}")
    own = Input.of(kind)
    head = as_int(head, "the columns of a head")
    if head not in CHOICE:
        raise refused(f"heads of {head} columns have no kernel here", "64 or 128 columns", head=head)
    workers = as_int(workers if workers is not None else CHOICE[head][0], "warpgroups")
    if workers not in REGISTERS:
        raise refused(f"{workers} warpgroups do not share a block", "two or three", workers=workers)
    keys = as_int(keys if keys is not None else CHOICE[head][1], "keys of a block")
    if keys < 1 or keys % own.k:
        reason = f"a block of {keys} keys is no number of products with P, which are {own.k} deep"
        raise refused(reason, f"a multiple of {own.k}", keys=keys)
    own.check_n(keys)
    into = DType.of("f32")
    q, k = (
        operand_of(side, own, rows, False, "k", None, "mn", None, k=head)
        for side, rows in (("A", M), ("B", keys))
    )
    p = operand_of("A", own, M, True, "k", None, None, None, k=keys)
    v = operand_of("B", own, head, False, "mn", None, "k", None, k=keys)
    # P is where S was: an instruction's A has the registers that its D has, two elements in each
    assert a_fragment(own.dtype) == d_fragment(into, own.k)
    scores, values = WgmmaPlan(q, k, into, into, 1, ""), WgmmaPlan(p, v, into, own.dtype, 1, "")
    stages = as_int(stages, "the number of stages")
    check_stages(stages, "tma", "")
    plan = AttentionPlan(scores, values, causal, workers, stages, name)
    held = scores.registers + scores.registers // 2 + values.registers + SPARE
    if held > REGISTERS[workers][1]:
        raise refused(
            f"a thread holds {held} registers, and has {REGISTERS[workers][1]}",
            "take fewer keys or fewer warpgroups",
            keys=keys,
        )
    most = shared_bytes(Architecture.of("sm_90a"))
    if plan.shared_bytes > most:
        raise refused(
            f"the blocks take {plan.shared_bytes} bytes of shared memory, and there are {most}",
            "take fewer stages or fewer keys",
            shared_bytes=plan.shared_bytes,
        )
    return plan
