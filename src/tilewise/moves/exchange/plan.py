"""The plan of a move between registers: what it is, what it costs, how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilewise.check.shuffle.cost import STEP, cycles
from tilewise.check.shuffle.steps import Program
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.moves.exchange.accesses import Accesses
from tilewise.moves.exchange.plain import one_by_one
from tilewise.moves.exchange.question import Question, apart, question, within_warps
from tilewise.moves.exchange.shared import Shared, through_shared
from tilewise.moves.exchange.within import Renamed, by_shuffles, in_threads

MOST_SHARED = 227 << 10
"""Bytes of shared memory that a block of Hopper, and of the data centre's Blackwell, can have."""

LANE_TO_LANE = 1.5
"""What an H200 took for shuffles, of what their cycles say, beside memory: the more where few warps run,
since each waits for the one before (`bench/registers.py`)."""

STMATRIX = 90
"""The first architecture that has stmatrix."""


@dataclass(frozen=True)
class Exchange:
    """How registers that hold a tensor as one layout says come to hold it as another says.

        postcondition  every place of `target` holds what a place of `source` had of its element

    >>> from tilewise import S, reg, tx
    >>> found = exchange(S[(64, 64) : (1@tx, 1@reg)], S[(64, 64) : (1@reg, 1@tx)], "f32")
    >>> found.kind, found.bytes, found.barriers, found.wavefronts
    ('shared', 16384, 1, (128, 128))
    """

    source: Layout
    target: Layout
    dtype: DType
    asked: Question
    """All threads that take part, in the units that go together."""
    way: Renamed | Program | Shared

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
    def bytes(self) -> int:
        """Of shared memory, for all threads that take part."""
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
    def kernel(self) -> str:
        """The device function, CUDA C++."""
        from tilewise.moves.exchange.source import function

        return function(self)

    @property
    def vector(self) -> dict[str, Any] | None:
        """What one instruction stores, and loads: bytes of a lane, or matrices of 8 rows of 16 bytes."""
        if not isinstance(self.way, Shared):
            return None
        return {"write": spelled(self.way.stores), "read": spelled(self.way.loads)}

    @property
    def steps(self) -> list[str]:
        """The plan in sentences."""
        return list(_steps(self))

    def data(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        swizzle = list(self.way.swizzle) if isinstance(self.way, Shared) and self.way.swizzle else None
        return {
            "class": self.kind,
            "kernel": "none" if self.kind == "view" else "device function",
            "vector": self.vector,
            "swizzle": swizzle,
            "bytes": self.bytes,
            "wavefronts": list(self.wavefronts),
            "shuffles": self.shuffles,
            "barriers": self.barriers,
            "cycles": round(self.cycles, 1),
            "threads": self.threads,
            "scope": self.asked.scope,
            "registers": list(self.registers),
            "steps": self.steps,
        }


def exchange(source: Layout, target: Layout, dtype: DType | str, *, sm: int = STMATRIX) -> Exchange:
    """How to turn one layout of registers into another, inside a warp, a warpgroup or a block.

    `sm` is the architecture, 90 for Hopper: those before it have no stmatrix.

        requires       layouts over reg and the axes of threads; see `question`
        postcondition  the plan's, followed value by value for every thread
        refused        TW609 where no way was found, or where memory does not suffice

    >>> from tilewise import parse
    >>> print(exchange(parse("wgmma.D(f32, n=16)"), parse("wgmma.A(f16)"), "f16").kind)
    view
    """
    kind = DType.of(dtype)
    asked = question(source, target, kind)
    found = Exchange(source, target, kind, asked, _way(asked, sm >= STMATRIX))
    if found.bytes > MOST_SHARED:
        raise Refused(
            "TW609",
            f"the exchange takes {found.bytes} bytes of shared memory, and a block has {MOST_SHARED}",
            hint="move the tensor part by part",
        )
    return found


def _way(asked: Question, stmatrix: bool) -> Renamed | Program | Shared:
    inside = in_threads(asked)
    if inside is not None:
        return inside
    one = within_warps(asked)
    if one is not None:
        shared = _shared(one, stmatrix)
        program = by_shuffles(one, None if shared is None else shared.cycles / LANE_TO_LANE)
        found = program or shared
    else:
        parts = [part for part in (asked, apart(asked)) if part is not None]
        ways = [way for part in parts if (way := _shared(part, stmatrix)) is not None]
        found = min(ways, key=lambda way: way.cycles, default=None)
    if found is None:
        raise _no_way(asked)
    return found


def _shared(asked: Question, stmatrix: bool) -> Shared | None:
    return through_shared(asked, stmatrix) or one_by_one(asked)


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


def _steps(plan: Exchange) -> Iterator[str]:
    way = plan.way
    if plan.kind == "view":
        yield "nothing moves: registers are renamed"
    elif isinstance(way, Renamed):
        yield f"{counted(len(way.packer.steps), 'permutation')} of bytes inside each thread"
    elif isinstance(way, Program):
        yield "in every warp " + ", ".join(f"{count} {name}" for name, count in way.counts().items())
    else:
        yield from _steps_of_shared(plan, way)


def _steps_of_shared(plan: Exchange, way: Shared) -> Iterator[str]:
    who = {"warp": "a warp", "warpgroup": "a warpgroup", "block": "the block"}[plan.asked.scope]
    stored, loaded = plan.wavefronts
    packed, unpacked = len(way.before[0].steps), len(way.after[0].steps)
    if packed:
        yield f"{counted(packed, 'permutation')} of bytes make the words that are stored"
    yield f"store {_said(way.stores)}: {counted(stored, 'wavefront')} for {who}"
    if plan.within_warps:
        yield "wait for the warp alone"
    else:
        yield f"wait for {who}, once"
    yield f"load {_said(way.loads)}: {counted(loaded, 'wavefront')} for {who}"
    if unpacked:
        yield f"{counted(unpacked, 'permutation')} of bytes make the registers of the target"


def _said(side: Accesses) -> str:
    own = spelled(side)
    if isinstance(own, str):
        return f"{counted(len(side.each), 'time')} by {own}"
    return f"{counted(len(side.each), 'vector')} of {own} B a thread"
