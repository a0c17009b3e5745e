"""The plan of a move between registers: what it is, what it costs, how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from tilewise.check.registers.prices import STEP, cycles
from tilewise.check.registers.steps import Program
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.hardware.architectures import NUMBERS, Architecture, Needs
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.matrices import moves
from tilewise.hardware.matrices.kinds import KINDS
from tilewise.moves.exchange.accesses import Accesses
from tilewise.moves.exchange.plain import one_by_one
from tilewise.moves.exchange.question import Question, apart, question, within_warps
from tilewise.moves.exchange.search import through_shared
from tilewise.moves.exchange.shared import Shared
from tilewise.moves.exchange.within import Renamed, by_shuffles, in_threads

LANE_TO_LANE = 1.5
"""What an H200 took for shuffles, of what their cycles say, beside memory: the more where few warps run,
since each waits for the one before (`bench/registers.py`)."""

ARCH = "sm_90"
"""The architecture that a plan is for where none is said: times are those of an H200."""

FIRST = Needs(NUMBERS[0])
"""What all instructions need that not one of `NEEDS` is."""

NEEDS = {"movmatrix": moves.NEEDS} | {
    kind.instruction: kind.needs for kind in KINDS if (kind.shape, kind.type) == ("m8n8", "b16")
}
"""{instruction: the architectures that have it} of those that not all have."""

_SCOPES = {"warp": "a warp", "warpgroup": "a warpgroup", "block": "the block"}


@dataclass(frozen=True, repr=False)
class Exchange:
    """How registers that hold a tensor as one layout says come to hold it as another says.

        postcondition  every place of `target` holds what a place of `source` had of its element

    >>> from tilewise import S, reg, tx
    >>> found = exchange(S[(64, 64) : (1@tx, 1@reg)], S[(64, 64) : (1@reg, 1@tx)], "f32")
    >>> found.kind, found.shared_bytes, found.barriers, found.wavefronts
    ('shared', 16384, 1, (128, 128))
    >>> print(found)
    shared: through shared memory, about 147 cycles for a warp, for sm_75 and later
      shared memory  16384 bytes, address bits 4, 5, 6 swizzled, 1 barrier
      1  store 16 vectors of 16 B a thread: 128 wavefronts for the block
      2  wait for the block, once
      3  load 16 times by ldmatrix.x4: 128 wavefronts for the block
    """

    source: Layout
    target: Layout
    dtype: DType
    asked: Question
    """All threads that take part, in the units that go together."""
    way: Renamed | Program | Shared
    arch: Architecture
    """For which it was planned."""

    @property
    def kind(self) -> str:
        """`view`: registers change their names; `registers`: inside threads; `shuffles`: inside warps;
        `shared`: through shared memory."""
        if isinstance(self.way, Shared):
            return "shared"
        if isinstance(self.way, Renamed):
            return "registers" if self.way.packer.steps else "view"
        return "shuffles" if self.way.exchanges else "registers" if self.way.steps else "view"

    @property
    def registers(self) -> tuple[int, int]:
        """32-bit registers of a thread, before and after."""
        return self.asked.registers

    @property
    def threads(self) -> int:
        """Threads that call the function together."""
        return self.asked.threads

    @property
    def slots(self) -> int:
        """Warps that have shared memory of their own; 1 where all share it."""
        return self.threads // self.way.asked.threads if isinstance(self.way, Shared) else 1

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory, for all threads that take part."""
        return self.way.bytes * self.slots if isinstance(self.way, Shared) else 0

    @property
    def shuffles(self) -> int:
        """Steps by which lanes of a warp exchange registers."""
        return self.way.exchanges if isinstance(self.way, Program) else 0

    @property
    def within_warps(self) -> bool:
        """Whether nothing leaves a warp."""
        return not isinstance(self.way, Shared) or self.way.asked.alone

    @property
    def barriers(self) -> int:
        """Barriers of more than a warp."""
        return 0 if self.within_warps else 1

    @cached_property
    def wavefronts(self) -> tuple[int, int]:
        """Of shared memory, stored and loaded, of all warps."""
        if not isinstance(self.way, Shared):
            return 0, 0
        stored, loaded = self.way.wavefronts
        return stored * self.slots, loaded * self.slots

    @cached_property
    def cycles(self) -> float:
        """Of a multiprocessor for one warp, where many run."""
        if isinstance(self.way, Program):
            return cycles(self.way)
        if isinstance(self.way, Renamed):
            return STEP * len(self.way.packer.steps)
        return self.way.cycles

    @property
    def needs(self) -> Needs:
        """Which architectures have its instructions."""
        used = {FIRST, *(NEEDS[name] for name in _instructions(self.way) & NEEDS.keys())}
        return max(used, key=lambda need: need.first)

    @property
    def kernel(self) -> str:
        """The device function, CUDA C++."""
        return self.code()

    def code(self, name: str = "exchange") -> str:
        """The device function under that name."""
        from tilewise.moves.exchange.source import function

        return function(self, name)

    def bind(self) -> NoReturn:
        """Refused: a plan in memory is bound, and called with arrays."""
        raise _in_no_array()

    def tuned(self, index: int = 0) -> NoReturn:
        """Refused: what is measured are moves of arrays."""
        raise _in_no_array()

    @property
    def vector(self) -> dict[str, Any] | None:
        """What one instruction stores, and loads: bytes of a lane, or matrices of 8 rows of 16 bytes."""
        if not isinstance(self.way, Shared):
            return None
        return {"write": spelled(self.way.stores), "read": spelled(self.way.loads)}

    @property
    def swizzle(self) -> list[int] | None:
        """Bits of the addresses in shared memory that are XORs; None where there are none."""
        return (list(self.way.swizzle) or None) if isinstance(self.way, Shared) else None

    @property
    def steps(self) -> list[str]:
        """The plan in sentences."""
        return list(_steps(self))

    def data(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {
            "class": self.kind,
            "kernel": "none" if self.kind == "view" else "device function",
            "vector": self.vector,
            "swizzle": self.swizzle,
            "shared_bytes": self.shared_bytes,
            "rounds": int(isinstance(self.way, Shared)),
            "wavefronts": list(self.wavefronts),
            "shuffles": self.shuffles,
            "barriers": self.barriers,
            "cycles": round(self.cycles, 1),
            "threads": self.threads,
            "scope": self.asked.scope,
            "registers": list(self.registers),
            "needs": str(self.needs),
            "steps": self.steps,
            "source": str(self.source),
            "target": str(self.target),
            "dtype": str(self.dtype),
            "arch": str(self.arch),
        }

    def __str__(self) -> str:
        from tilewise.moves.lines import lines_of_registers

        return "\n".join(lines_of_registers(self))

    def __repr__(self) -> str:
        return f"<Exchange {self.kind}: {self.dtype} from {self.source} to {self.target}>"


def exchange(
    source: Layout,
    target: Layout,
    dtype: DType | str,
    *,
    arch: Architecture | str | int = ARCH,
) -> Exchange:
    """How to turn one layout of registers into another, inside a warp, a warpgroup or a block.

    `arch` is the architecture: those before sm_90 have no stmatrix, and most have less shared memory.

        requires       layouts over reg and the axes of threads; see `question`
        postcondition  the plan's, followed value by value for every thread
        refused        TW609 where no way was found, or where a block has too little shared memory

    >>> from tilewise import parse
    >>> print(exchange(parse("wgmma.D(f32, n=16)"), parse("wgmma.A(f16)"), "f16").kind)
    view
    """
    kind, known = DType.of(dtype), Architecture.of(arch)
    asked = question(source, target, kind)
    without = frozenset(name for name, need in NEEDS.items() if not need.met(known))
    limit = shared_bytes(known)
    found = Exchange(source, target, kind, asked, _way(asked, without, limit), known)
    if found.shared_bytes > limit:
        raise Refused(
            "TW609",
            f"the exchange takes {found.shared_bytes} bytes of shared memory, and a block of {known} "
            f"has {limit}",
            hint="move the tensor part by part",
        )
    return found


def _way(asked: Question, without: frozenset[str], limit: int) -> Renamed | Program | Shared:
    inside = in_threads(asked)
    if inside is not None:
        return inside
    one = within_warps(asked)
    found: Program | Shared | None
    if one is not None:
        most = limit // asked.warps
        shared = _through_memory([one], without, most)
        bound = None if shared is None or shared.bytes > most else shared.cycles / LANE_TO_LANE
        found = by_shuffles(one, bound, without) or shared
    else:
        found = _through_memory([part for part in (asked, apart(asked)) if part is not None], without, limit)
    if found is None:
        raise _no_way(asked)
    return found


def _through_memory(parts: list[Question], without: frozenset[str], limit: int) -> Shared | None:
    """The best way for one of several questions that say the same, of `limit` bytes if there is one."""
    best: Shared | None = None
    for part in parts:
        best = through_shared(part, without, best)
    plain = [own for part in parts if best is None and (own := one_by_one(part, limit)) is not None]
    return min(plain, key=lambda way: (way.bytes > limit, way.cycles), default=best)


def _instructions(way: Renamed | Program | Shared) -> set[str]:
    """The names of those that move something to another thread."""
    if isinstance(way, Shared):
        return {way.stores.operation, way.loads.operation}
    return {step.operation for step in way.steps} if isinstance(way, Program) else set()


def _no_way(asked: Question) -> Refused:
    if asked.bits < 8:
        return Refused(
            "TW609",
            f"units of {counted(asked.bits, 'bit')} change their warp, and memory has bytes",
            hint="move them inside a warp, or whole bytes of them",
        )
    return Refused(
        "TW609",
        "memory in which all addresses are sums, or XORs, of digits of a thread's number was not found",
        hint="extents that divide each other, or powers of two, have one",
    )


def spelled(side: Accesses) -> Any:
    """Bytes of a vector, or the matrices of an instruction."""
    if not side.each:
        return 0
    access = side.each[0]
    if not access.way.matrix:
        return access.way.bytes
    return f"{side.operation}.x{len(access.words)}{'.trans' if access.way.trans else ''}"


def _in_no_array() -> LayoutError:
    return LayoutError(
        "TW701",
        "both layouts are of registers, and registers are in no array",
        hint="code() is the function that a kernel calls",
    )


def _steps(plan: Exchange) -> Iterator[str]:
    way = plan.way
    if plan.kind == "view":
        yield "nothing moves, registers are renamed"
    elif isinstance(way, Renamed):
        yield f"{counted(len(way.packer.steps), 'permutation')} of bytes inside each thread"
    elif isinstance(way, Program):
        yield "in every warp " + ", ".join(f"{count} {name}" for name, count in way.counts().items())
    else:
        yield from _steps_of_shared(plan, way)


def _who(plan: Exchange) -> str:
    if plan.within_warps:
        return "the warp alone"
    return _SCOPES[plan.asked.scope]


def _steps_of_shared(plan: Exchange, way: Shared) -> Iterator[str]:
    who = _SCOPES[plan.asked.scope]
    stored, loaded = (count * plan.slots for count in way.wavefronts)
    packed, unpacked = len(way.before[0].steps), len(way.after[0].steps)
    if packed:
        yield f"{counted(packed, 'permutation')} of bytes make the words that are stored"
    yield f"store {_said(way.stores)}: {counted(stored, 'wavefront')} for {who}"
    yield f"wait for {_who(plan)}{_often(plan, way)}"
    yield f"load {_said(way.loads)}: {counted(loaded, 'wavefront')} for {who}"
    if unpacked:
        own = ", which lanes pick," if way.loads.picked.columns else ""
        yield f"{counted(unpacked, 'permutation')} of bytes{own} make the registers of the target"


def _often(plan: Exchange, way: Shared) -> str:
    if way.turns:
        return f", {2 * len(way.turns) - 1} times: stores and loads take {len(way.turns)} turns"
    return "" if plan.within_warps else ", once"


def _said(side: Accesses) -> str:
    own = spelled(side)
    if isinstance(own, str):
        return f"{counted(len(side.each), 'time')} by {own}"
    together = ", each of them loaded by two lanes" if side.picked.columns else ""
    return f"{counted(len(side.each), 'vector')} of {own} B a thread{together}"
