"""Run the integers of a kernel for all lanes at once, and give each access as it is issued.

Lanes that stand at one instruction go together. A warp whose lanes part goes on in parts, the one that is
least far first; the parts meet where the program closes the barrier that it opened, as on the hardware, or at
the same instruction, where a text has no barriers.

A loaded value is not known. A branch that hangs on one is passed once and taken the next time: its body runs
once. The trace says so by `Trace.guessed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tilewise.compiled.lanes import Bools, Lanes, Taking, Value
from tilewise.compiled.launch import MOST_STEPS
from tilewise.compiled.moving import NotAlike, Turns
from tilewise.compiled.program import (
    WARP,
    Close,
    Compute,
    Copy,
    EngineCall,
    Forget,
    Instruction,
    Jump,
    JumpTo,
    KernelProgram,
    Leave,
    Open,
    Touch,
    UnreadStep,
)
from tilewise.compiled.turns import TRY, Loop, jump
from tilewise.hardware.limits import LANES

FEW = 16
"""Parts of warps that are found in the time of a usual instruction."""

PATIENCE = 16
"""Times that lanes pass a branch that goes back, before they take it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One instruction that warps issue: who takes part, and the addresses."""

    instruction: Instruction
    touch: Touch
    issued: Bools
    """The lanes that stand at the instruction, those that a predicate holds back among them."""
    active: Bools
    """The lanes that access memory."""
    address: Value
    unsure: bool
    """True if loaded data decide which lanes take part."""
    other: Event | None = None
    """The other side of a copy, where the cost hangs on it too."""
    turns: int = 1
    """Turns of a loop that issue it alike; their addresses may be moving."""

    @property
    def alone(self) -> bool:
        """Return whether turns of a loop may issue it at once: it has one side."""
        return self.other is None

    @property
    def sides(self) -> tuple[Event, ...]:
        """Return what the cost hangs on: itself, and the other side if there is one."""
        return (self,) if self.other is None else (self, self.other)


@dataclass(frozen=True, slots=True)
class Called:
    """One instruction by which warps call an engine: who takes part, and the numbers handed over."""

    instruction: Instruction
    call: EngineCall
    issued: Bools
    active: Bools
    given: Mapping[str, Value]
    unsure: bool

    @property
    def alone(self) -> bool:
        """Return that turns of a loop may not issue it at once: engines are handed each turn's numbers."""
        return False


@dataclass(slots=True)
class Front:
    """Lanes that stand at one instruction: of a warp all, or a part."""

    at: int
    mask: Bools


@dataclass(slots=True)
class Trace:
    """A run of some blocks: iterate over it for its issues, then read what it noted."""

    program: KernelProgram
    lanes: Lanes
    most_steps: int = MOST_STEPS
    at_once: bool = False
    """True if turns of a loop that are alike are one event."""
    steps: int = 0
    guessed: dict[int, int] = field(default_factory=dict)
    """{instruction: times} of branches that hang on what nobody knows."""
    cut: Instruction | None = None
    """The instruction at which the run was cut off."""
    fronts: list[Front] = field(default_factory=list)
    noted: dict[str, Bools] = field(default_factory=dict)
    waiting: dict[str, dict[int, Bools]] = field(default_factory=dict)
    """{barrier: {instruction after its close: the lanes that wait}}."""
    passed: dict[int, Bools] = field(default_factory=dict)
    loops: dict[int, Loop] = field(default_factory=dict)
    """{instruction to which lanes jump back: the loop that begins there}."""
    turns: Turns | None = None
    """The turns that are tried at the moment."""
    tried: int = 0
    """Steps of all tries."""
    counted: int = 0
    """Instructions of a lane in turns that were counted at once."""
    endless: bool = False
    """True if a loop was cut off that does not end."""

    def __iter__(self) -> Iterator[Event | Called]:
        self.fronts, self.noted[WARP] = [Front(0, self.lanes.live.copy())], self.lanes.live.copy()
        while self.fronts or self._released(stuck=True):
            yield from self.advance()
            if self.cut is not None:
                return

    def advance(self) -> Iterator[Event | Called]:
        """Run the lanes that are least far, until they part, wait, end, come up to others, or jump back."""
        self.steps += 2 + len(self.fronts) // FEW
        front = self._least()
        loop = self.loops.get(front.at) if self.turns is None else None
        if loop is not None and loop.arrive(self):
            yield from jump(self, loop, front)
            if self.cut is not None:
                return
        others = min((other.at for other in self.fronts), default=len(self.program.instructions))
        mask = front.mask
        whole = not self.fronts and not self.waiting and np.array_equal(mask, self.lanes.live)
        everyone = Taking(mask, whole)
        at = front.at
        instructions = self.program.instructions
        while at < len(instructions):
            if self.steps >= self.most_steps:
                self.cut = instructions[at]
                return
            instruction = instructions[at]
            self.steps += instruction.work if self.turns is None else instruction.work * TRY
            where, unsure = everyone, False
            if instruction.guard is not None:
                truth = self.lanes.truth(instruction.guard.register)
                if instruction.guard.negated:
                    truth = Value(~truth.bits, truth.unknown)
                where = everyone.under(truth)
                unsure = not truth.known_in(mask)
            onwards = at + 1
            for step in instruction.steps:
                if type(step) is Compute:
                    step.run(self.lanes, where)
                    if unsure:
                        self._blur(step, truth)
                elif type(step) is Touch:
                    issue = self._issue(instruction, step, everyone, where, unsure)
                    if not step.apart or issue.issued.any():
                        yield issue
                elif type(step) is EngineCall:
                    given = {name: read(self.lanes) for name, read in step.given.items()}
                    yield Called(instruction, step, everyone.mask, where.mask, given, unsure)
                    self.lanes.forget(step.writes, everyone if unsure else where)
                elif type(step) is UnreadStep:
                    self.lanes.forget(step.writes, everyone if unsure else where)
                elif (
                    type(step) is Jump
                    and step.target > at
                    and where is everyone
                    and step.when is None
                    and not unsure
                ):
                    onwards = step.target
                elif self._turn(at, step, everyone, where, truth.unknown if unsure else None):
                    return
            at = onwards
            if at >= others:
                self.fronts.append(Front(at, mask))
                return

    def _least(self) -> Front:
        """Take the lanes that are least far, with those of other warps that stand there too."""
        front = min(self.fronts, key=lambda one: one.at)
        together = [one for one in self.fronts if one.at == front.at]
        self.fronts = [one for one in self.fronts if one.at != front.at]
        mask = together[0].mask
        for other in together[1:]:
            mask = mask | other.mask
        return Front(front.at, mask)

    def _issue(
        self, instruction: Instruction, step: Touch, everyone: Taking, where: Taking, unsure: bool
    ) -> Event:
        if step.when is not None:
            truth = step.when(self.lanes)
            unsure = unsure or not truth.known_in(where.mask)
            where = where.under(truth)
        address, other = step.address(self.lanes), None
        if step.other is not None:
            other = self._issue(instruction, step.other, everyone, where, unsure)
            unsure = other.unsure
        issued = where.mask if step.apart else everyone.mask
        issue = Event(instruction, step, issued, where.mask, address, unsure, other)
        self.lanes.forget(step.writes, everyone if unsure else where)
        return issue

    def _blur(self, step: Compute, truth: Value) -> None:
        """Forget the registers that a step wrote, or did not, for lanes whose predicate nobody knows."""
        if truth.unknown is not None:
            self.lanes.forget(step.writes, Taking(self.lanes.spread(truth.unknown) & self.lanes.live, False))

    # -- where lanes go ----------------------------------------------------------------------------------

    def _turn(self, at: int, step: object, everyone: Taking, where: Taking, unknown: Bools | None) -> bool:
        """Take a step of the control flow; return True if the lanes do not go on together."""
        match step:
            case Jump(target, when):
                if when is not None:
                    truth = when(self.lanes)
                    where, unknown = where.under(truth), truth.unknown if unknown is None else unknown
                return self._jump(at, target, everyone.mask, where.mask, unknown)
            case JumpTo(target):
                return self._jump_to(at, target(self.lanes), everyone.mask, where.mask, unknown)
            case Leave():
                return self._leave(at, everyone.mask, where.mask, unknown)
            case Open(barrier):
                noted = self.noted.get(barrier)
                warps = np.repeat(everyone.mask.reshape(-1, LANES).any(axis=1), LANES)
                fresh = np.zeros_like(everyone.mask) if noted is None else noted & ~warps
                self.noted[barrier] = fresh | where.mask
            case Close(barrier):
                waiting = self.waiting.setdefault(barrier, {})
                held = waiting.get(at + 1)
                waiting[at + 1] = where.mask if held is None else held | where.mask
                self._part(at + 1, everyone.mask & ~where.mask)
                self._released()
                return True
            case Copy(source, target):
                if source in self.noted:
                    self.noted[target] = self.noted[source]
            case Forget(barrier):
                if barrier in self.noted:
                    self.noted[barrier] = self.noted[barrier] & ~where.mask
                    self._released()
        return False

    def _part(self, at: int, mask: Bools) -> None:
        if mask.any():
            self.fronts.append(Front(at, mask))

    def _jump(self, at: int, target: int, mask: Bools, taken: Bools, unknown: Bools | None) -> bool:
        doubtful = self._doubtful(mask, unknown)
        if doubtful.any():
            taken = self._guess(at, target, taken & ~doubtful, doubtful)
        if not taken.any():
            return False
        if self.at_once and self.turns is None and target <= at:
            loop = self.loops.setdefault(target, Loop(at))
            loop.back = max(loop.back, at)
        self._part(target, taken)
        self._part(at + 1, mask & ~taken)
        return True

    def _doubtful(self, mask: Bools, unknown: Bools | None) -> Bools:
        """Return the lanes of a mask of which nobody knows where they go."""
        return np.zeros_like(mask) if unknown is None else self.lanes.spread(unknown) & mask

    def _guess(self, at: int, target: int, taken: Bools, doubtful: Bools) -> Bools:
        """Let lanes pass a branch on the first time and take it afterwards.

        One that goes back is passed but for every 16th time: it may lead out of a loop that stands behind.
        """
        self.guessed[at] = self.guessed.get(at, 0) + 1
        if target <= at:
            if self.turns is not None:
                raise NotAlike
            return taken | doubtful if self.guessed[at] % PATIENCE == 0 else taken
        before = self.passed.get(at, np.zeros_like(doubtful))
        self.passed[at] = before | doubtful
        return taken | (doubtful & before)

    def _jump_to(self, at: int, target: Value, mask: Bools, taken: Bools, unknown: Bools | None) -> bool:
        """Let lanes go where each one's number says; those whose number nobody knows end here."""
        self.steps += 4
        doubtful = self._doubtful(mask, unknown)
        taken = taken & ~doubtful
        lost = self._doubtful(taken, target.unknown)
        if doubtful.any() or lost.any():
            self.guessed[at] = self.guessed.get(at, 0) + 1
        self.lanes.live = self.lanes.live & ~lost
        taken, mask = taken & ~lost, mask & ~lost
        targets = self.lanes.spread(target.bits)
        for number in np.unique(targets[taken]).tolist():
            self._part(number, taken & (targets == number))
        self._part(at + 1, mask & ~taken)
        self._released()
        return True

    def _leave(self, at: int, mask: Bools, leaving: Bools, unknown: Bools | None) -> bool:
        doubtful = self._doubtful(mask, unknown)
        if doubtful.any():
            leaving = leaving & ~doubtful
            self.guessed[at] = self.guessed.get(at, 0) + 1
        if not leaving.any():
            return False
        self.lanes.live = self.lanes.live & ~leaving
        self._part(at + 1, mask & ~leaving)
        self._released()
        return True

    def _released(self, stuck: bool = False) -> bool:
        """Let lanes go on whose barrier waits for no other; if the run is stuck, those that are least far."""
        released = False
        least = min((at for places in self.waiting.values() for at in places), default=0)
        for barrier, places in list(self.waiting.items()):
            waiting = np.zeros_like(self.lanes.live)
            for mask in places.values():
                waiting = waiting | mask
            expected = self.noted.get(barrier, waiting) & self.lanes.live
            late = (expected & ~waiting).reshape(-1, LANES).any(axis=1)
            for at, mask in list(places.items()):
                free = np.ones_like(late) if stuck and at == least else ~late
                lanes = np.repeat(free, LANES)
                going = mask & lanes & self.lanes.live
                self._part(at, going)
                released = released or bool(going.any())
                rest = mask & ~lanes
                if rest.any():
                    places[at] = rest
                else:
                    del places[at]
            if not places:
                del self.waiting[barrier]
        return released
