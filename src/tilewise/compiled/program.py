"""A kernel as a list of instructions, each with the step that the machine takes for it.

Machine code and PTX are two texts for one machine. Their readers turn every instruction into one of the steps
below. A step that computes is a function over the registers of all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewise.compiled.lines import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.lanes import LaneReader, Lanes, Taking

    Run = Callable[[Lanes, Taking], None]


# -- steps -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compute:
    """Write registers."""

    run: Run
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnreadStep:
    """Do something that is not read here: the registers that it may write become unknown."""

    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on at another instruction; only the lanes of `when`, if it is there."""

    target: int
    when: LaneReader | None = None


@dataclass(frozen=True, slots=True)
class JumpTo:
    """Go on at the instruction whose number each lane has: a return, or one branch of a switch."""

    target: LaneReader


@dataclass(frozen=True, slots=True)
class Leave:
    """End the lanes."""


@dataclass(frozen=True, slots=True)
class Open:
    """Note the lanes that will meet again at the `Close` of a barrier."""

    barrier: str


WARP = "the warp"
"""The barrier that notes all lanes of a warp."""


@dataclass(frozen=True, slots=True)
class Close:
    """Wait for the lanes of a warp that a barrier notes."""

    barrier: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Take lanes off a barrier: they will not come."""

    barrier: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the lanes that a barrier notes to another, or to a register that keeps them."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Touch:
    """Access memory."""

    space: str
    """`shared`, `global` or `local`."""
    operation: str
    """As `hardware.memory.banks` calls it; `red` is an atomic without an answer."""
    bytes: int
    """Bytes at the address of one lane."""
    address: LaneReader
    writes: tuple[str, ...] = ()
    """The registers that become unknown."""
    supplied: int = 32
    """The lanes of a warp whose addresses are used."""
    when: LaneReader | None = None
    """The lanes that take part; all without it."""
    apart: bool = False
    """True if only those lanes issue it: for the others the instruction is another access."""
    bypasses: bool = False
    """True for a copy that bypasses the L1."""
    other: Touch | None = None
    """The other side of a copy, where the cost hangs on it too."""


def copied(shared: Touch, beyond: Touch) -> tuple[Touch, Touch]:
    """Return both sides of an asynchronous copy, each with the other one if its cost hangs on it.

    One through the L1 takes wavefronts by its source too, one that bypasses it sectors by its target.
    """
    if beyond.bypasses:
        return shared, replace(beyond, other=shared)
    return replace(shared, other=beyond), beyond


@dataclass(frozen=True, slots=True)
class ProductWords:
    """The words of an instruction that multiplies matrices."""

    engine: str
    """`mma`, whose operands are in registers, `wgmma` or `tcgen05`."""
    shape: tuple[int, int, int] | None = None
    """M, N and K; None where the instruction descriptor has them."""
    types: tuple[str, str, str] | None = None
    """Those of A, B and D, likewise."""
    majors: Mapping[str, str] = field(default_factory=dict)
    """{operand: `k` or `mn`}, of wgmma."""
    a_from: str = "shared"
    """`shared`, or where A is else: `registers`, `tensor memory`."""
    kinds: tuple[str, ...] = ()
    """Those of tcgen05 that the words leave open."""
    cta_group: int = 1
    ws: bool = False
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class CopyWords:
    """The words of a bulk copy."""

    source: str
    target: str
    """`shared`, `global`, or `L2` of a prefetch."""
    dimensions: int | None = None
    """Those of the tensor; None for a copy of bytes that lie together."""


@dataclass(frozen=True, slots=True)
class EngineCall:
    """Hand work to an engine: a product, a bulk copy, or the bytes that a barrier waits for."""

    words: ProductWords | CopyWords | None
    """None for a barrier."""
    given: Mapping[str, LaneReader]
    """{name: the number that is handed over}.

    A product has the descriptors `A` and `B`, and `idesc`. A copy has `shared`, `barrier`, `bytes`, and
    coordinates `x0`, `x1`.
    """
    lanes: int = 1
    """The lanes that make one call together."""
    writes: tuple[str, ...] = ()
    """The registers that become unknown."""


Step = Compute | UnreadStep | Jump | JumpTo | Leave | Open | Close | Forget | Copy | Touch | EngineCall


HEAVY = dict.fromkeys("PRMT LDC SHFL P2R R2P POPC FLO prmt ld shfl bfe bfi bfind clz popc".split(), 4)
HEAVY |= {"MATCH": 16, "match": 16}
"""{instruction, by its base, that takes the machine longer than others: so many times}."""


def work_of(base: str) -> int:
    """Return the time that the machine takes for an instruction, where a usual one takes 1."""
    return HEAVY.get(base, 1)


# -- the program -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate that an instruction stands under."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a kernel."""

    name: str
    """Its first word: `LDG.E.128`, `ld.global.v4.f32`."""
    text: str = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    guard: Guard | None = None
    line: Line | None = None
    row: int = 0
    """The line of the text that has it, from 1."""
    work: int = 1
    """The time that the machine takes for it, where a usual one takes 1."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One argument of a kernel: its bytes in the block of parameters."""

    offset: int
    size: int
    name: str = ""
    pointer: bool = False
    """True if the text says that it is an address."""


@dataclass(frozen=True)
class KernelProgram:
    """One kernel of a text."""

    name: str
    target: str
    """`sm_90`; empty where the text does not say."""
    instructions: Sequence[Instruction] = field(repr=False)
    parameters: Sequence[KernelParameter] = ()
    threads: tuple[int, int, int] | None = None
    """The block that the kernel requires, where the text says it."""
    most_threads: int | None = None
    """The most threads of a block, where the text says it."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """{instruction that is not read here: times that it stands in the text}."""
    constants: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    """Banks of constants that the text holds, by number."""
    source: str = "machine code"
