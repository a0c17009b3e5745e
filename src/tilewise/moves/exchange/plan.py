"""The plan of a move between registers: its steps, its cost, its lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from tilewise.check.registers.accesses import Accesses
from tilewise.check.registers.inside import by_shuffles, in_threads
from tilewise.check.registers.question import RegisterQuestion, question
from tilewise.check.registers.search import one_by_one, through_shared
from tilewise.check.registers.shared import ThroughMemory
from tilewise.check.registers.steps import Program, cycles
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.hardware.architectures import NUMBERS, Architecture, Needs
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.matrices import moves
from tilewise.hardware.matrices.kinds import KINDS

LANE_TO_LANE = 1.5
"""Factor by which shuffles took longer on an H200 than their cycles, beside memory: more if few warps run,
since each waits for the one before (`bench/registers.py`)."""

ARCH = "sm_90"
"""The architecture of a plan when none is given: times are those of an H200."""

FIRST = Needs(NUMBERS[0])
"""The needs of all instructions that are not in `NEEDS`."""

NEEDS = {"movmatrix": moves.NEEDS} | {
    kind.instruction: kind.needs for kind in KINDS if (kind.shape, kind.type) == ("m8n8", "b16")
}
"""{instruction: its needs}, for instructions that some architectures lack."""

_SCOPES = {"warp": "a warp", "warpgroup": "a warpgroup", "block": "the block"}


@dataclass(frozen=True, repr=False)
class Exchange:
    """A move between registers: from those of one layout to those of another.

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
    asked: RegisterQuestion
    """The question of all threads that take part, in the units that go together."""
    way: Program | ThroughMemory
    arch: Architecture
    """The architecture of the plan."""

    @property
    def kind(self) -> str:
        """Return `view`: registers change their names; `registers`: inside threads; `shuffles`: inside warps;
        `shared`: through shared memory."""
        if isinstance(self.way, ThroughMemory):
            return "shared"
        if self.shuffles:
            return "shuffles"
        return "registers" if self.way.steps else "view"

    @property
    def memory(self) -> ThroughMemory | None:
        """Return the way through shared memory, or None."""
        return self.way if isinstance(self.way, ThroughMemory) else None

    @property
    def registers(self) -> tuple[int, int]:
        """Return the 32-bit registers of a thread, before and after."""
        return self.asked.registers

    @property
    def threads(self) -> int:
        """Return the number of threads that call the function together."""
        return self.asked.threads

    @property
    def slots(self) -> int:
        """Return the number of warps with separate shared memory; 1 where all share it."""
        return self.threads // self.memory.asked.threads if self.memory else 1

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory for all threads that take part."""
        return self.memory.bytes * self.slots if self.memory else 0

    @property
    def shuffles(self) -> int:
        """Return the number of steps in which lanes of a warp exchange registers."""
        return self.way.exchanges if isinstance(self.way, Program) else 0

    @property
    def within_warps(self) -> bool:
        """Return True if nothing leaves a warp."""
        return not self.memory or self.memory.asked.alone

    @property
    def barriers(self) -> int:
        """Return the number of barriers of more than a warp."""
        return 0 if self.within_warps else 1

    @cached_property
    def wavefronts(self) -> tuple[int, int]:
        """Return the wavefronts of shared memory of all warps, stored and loaded."""
        stored, loaded = self.memory.wavefronts if self.memory else (0, 0)
        return stored * self.slots, loaded * self.slots

    @cached_property
    def cycles(self) -> float:
        """Return the cycles of a multiprocessor for one warp, where many run."""
        return cycles(self.way) if isinstance(self.way, Program) else self.way.cycles

    @property
    def needs(self) -> Needs:
        """Return the needs of its instructions."""
        used = {step.operation for step in self.way.steps} if isinstance(self.way, Program) else set()
        if self.memory:
            used = {self.memory.stores.operation, self.memory.loads.operation}
        return max([FIRST, *(NEEDS[name] for name in used & NEEDS.keys())], key=lambda need: need.first)

    @property
    def kernel(self) -> str:
        """Return the device function, in CUDA C++."""
        return self.code()

    def code(self, name: str = "exchange") -> str:
        """Return the device function under that name."""
        from tilewise.moves.exchange.source import function

        return function(self, name)

    def bind(self) -> NoReturn:
        """Refuse: only a plan in memory is bound, and called with arrays."""
        raise _in_no_array()

    def tuned(self, index: int = 0) -> NoReturn:
        """Refuse: only moves of arrays are measured."""
        raise _in_no_array()

    @property
    def vector(self) -> dict[str, Any] | None:
        """Return the unit of a store, and of a load: bytes of a lane, or matrices of 8 rows of 16 bytes."""
        way = self.memory
        return {"write": spelled(way.stores), "read": spelled(way.loads)} if way else None

    @property
    def swizzle(self) -> list[int] | None:
        """Return the bits of shared-memory addresses that are XORs, or None if no bit is."""
        return (list(self.memory.swizzle) or None) if self.memory else None

    @property
    def steps(self) -> list[str]:
        """Return the plan in sentences."""
        if isinstance(self.way, ThroughMemory):
            return list(_steps(self, self.way))
        if self.kind == "view":
            return ["nothing moves, registers are renamed"]
        if self.way.counts().keys() <= {"prmt"}:
            return [f"{counted(len(self.way.steps), 'permutation')} of bytes inside each thread"]
        return [f"in every warp {self.way.counted}"]

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON has it."""
        return {
            "class": self.kind,
            "kernel": "none" if self.kind == "view" else "device function",
            "vector": self.vector,
            "swizzle": self.swizzle,
            "shared_bytes": self.shared_bytes,
            "rounds": int(self.kind == "shared"),
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
    source: Layout, target: Layout, dtype: DType | str, *, arch: Architecture | str | int = ARCH
) -> Exchange:
    """Return the plan from one layout of registers to another, inside a warp, a warpgroup or a block.

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


def _way(asked: RegisterQuestion, without: frozenset[str], limit: int) -> Program | ThroughMemory:
    renamed = in_threads(asked)
    if renamed is not None:
        return renamed
    apart = asked.by_warp()
    of_one = apart is not None and apart.warps == 1
    most = limit // asked.warps if of_one else limit
    parts = [part for part in (None if of_one else asked, apart) if part is not None]
    best: ThroughMemory | None = None
    for part in parts:
        best = through_shared(part, without, best)
    if best is None:
        plain = [own for part in parts if (own := one_by_one(part, most)) is not None]
        best = min(plain, key=lambda way: (way.bytes > most, way.cycles), default=None)
    if of_one and apart is not None:
        beside = None if best is None or best.bytes > most else best.cycles / LANE_TO_LANE
        program = by_shuffles(apart, beside, without)
        if program is not None:
            return program
    if best is None:
        raise _no_way(asked)
    return best


def _no_way(asked: RegisterQuestion) -> Refused:
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


def _in_no_array() -> LayoutError:
    return LayoutError(
        "TW701",
        "both layouts are of registers, and registers are in no array",
        hint="code() is the function that a kernel calls",
    )


# -- sentences -------------------------------------------------------------------------------------


def spelled(side: Accesses) -> Any:
    """Return the bytes of a vector, or the matrices of an instruction."""
    access = side.each[0]
    if not access.reach.matrix:
        return access.reach.bytes
    return f"{side.operation}.x{len(access.words)}{'.trans' if access.reach.trans else ''}"


def _steps(plan: Exchange, way: ThroughMemory) -> Iterator[str]:
    who = _SCOPES[plan.asked.scope]
    stored, loaded = plan.wavefronts
    packed, unpacked = len(way.before[0].steps), len(way.after[0].steps)
    if packed:
        yield f"{counted(packed, 'permutation')} of bytes make the words that are stored"
    yield f"store {_times(way.stores)}: {counted(stored, 'wavefront')} for {who}"
    often = "" if plan.within_warps else ", once"
    if way.turns:
        often = f", {2 * len(way.turns) - 1} times: stores and loads take {len(way.turns)} turns"
    yield f"wait for {'the warp alone' if plan.within_warps else who}{often}"
    yield f"load {_times(way.loads)}: {counted(loaded, 'wavefront')} for {who}"
    if unpacked:
        own = ", which lanes pick," if way.loads.picked.columns else ""
        yield f"{counted(unpacked, 'permutation')} of bytes{own} make the registers of the target"


def _times(side: Accesses) -> str:
    own = spelled(side)
    if isinstance(own, str):
        return f"{counted(len(side.each), 'time')} by {own}"
    together = ", each of them loaded by two lanes" if side.picked.columns else ""
    return f"{counted(len(side.each), 'vector')} of {own} B a thread{together}"
