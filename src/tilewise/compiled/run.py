"""A launch, run block by block: its counts, and what they do not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tilewise.compiled.counts import Counts, Tally
from tilewise.compiled.engines import Calls, CallTally, ProductRow, TransferRow, products_of, transfers_of
from tilewise.compiled.kernel import left_out
from tilewise.compiled.launch import MOST_COUNTED, MOST_STEPS, Launch
from tilewise.compiled.lines import Line
from tilewise.compiled.machine import Event, Trace
from tilewise.compiled.program import Instruction, KernelProgram
from tilewise.compiled.trace import traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_WORK = 1 << 29
"""Lanes times instructions that are run; of a larger launch a sample of its blocks is."""

LOADED = "its address, or its lanes, hang on loaded data or on an argument that is not given"
GUESSED = "a branch that hangs on loaded data, or on an argument that is not given: each side was run once"
ENDLESS = f"a loop without an end, or of more than {MOST_COUNTED:,} instructions: the run was cut off here"
MISALIGNED = "its addresses are no multiples of its width"


@dataclass(frozen=True)
class Run:
    """The counts of a launch, over all its blocks or a sample."""

    launch: Launch
    program: KernelProgram = field(repr=False)
    tallies: Sequence[Tally] = field(repr=False)
    sampled: int
    """The blocks that were run; the sums are of all blocks."""
    guessed: Mapping[int, int] = field(default_factory=dict)
    """{instruction: times} of branches that hang on loaded data."""
    cut: Instruction | None = None
    """The instruction at which the run was cut off."""
    steps: int = MOST_STEPS
    calls: Sequence[CallTally] = field(default=(), repr=False)
    """The calls of engines."""
    endless: bool = False
    """True if it was cut off in a loop that does not end."""

    def _long(self) -> str:
        return f"the run takes more than {self.steps:,} instructions: it was cut off here (--steps)"

    @property
    def weight(self) -> float:
        """Return the blocks for which each one that was run stands."""
        return self.launch.blocks / self.sampled

    def left_out(self) -> list[dict[str, Any]]:
        """Return what the counts do not have, and why."""
        found = [
            left_out(tally.instruction.line, tally.instruction.text, times, why)
            for tally in self.tallies
            for times, why in ((tally.unknown, LOADED), (tally.misaligned, MISALIGNED))
            if times
        ]
        for number, times in self.guessed.items():
            instruction = self.program.instructions[number]
            found.append(left_out(instruction.line, instruction.text, times, GUESSED))
        if self.cut:
            found.append(left_out(self.cut.line, self.cut.text, 1, ENDLESS if self.endless else self._long()))
        return found

    def products(self, known: Sequence[Line], exact: bool) -> list[ProductRow]:
        """Return the products of matrices by line of the source."""
        return products_of(self.calls, self.weight, known, exact)

    def transfers(self) -> list[TransferRow]:
        """Return the bulk copies by line of the source."""
        return transfers_of(self.calls, self.weight)


def counted(
    program: KernelProgram,
    launch: Launch,
    told: Callable[[int, int], None] | None = None,
    steps: int = MOST_STEPS,
) -> Run:
    """Return the counts of a launch."""
    counts, calls = Counts(), Calls()
    guessed: Counter[int] = Counter()
    cut, endless, done = None, False, 0
    blocks: Sequence[int] = range(launch.blocks)

    def add(trace: Trace, remembers: bool = False) -> int:
        """Count the events of a run, and return the time that it takes, where a usual instruction takes 1."""
        spent = 0
        for event in trace:
            if isinstance(event, Event):
                work = counts.add(event, trace.lanes, remembers)
            else:
                work = calls.add(event, trace.lanes)
            trace.steps, spent = trace.steps + work, spent + work
        return spent

    first = next(traces(program, launch, blocks[:1], steps, at_once=True))
    counting = add(first, remembers=True)
    most = max(1, MOST_WORK // max(1, (first.steps - counting) * launch.threads))
    rest = blocks[1:] if len(blocks) <= most else _sample(launch, most)
    for trace in chain((first,), traces(program, launch, rest, steps, at_once=True)):
        if trace is not first:
            add(trace)
        done += len(trace.lanes.numbers)
        guessed.update(trace.guessed)
        cut, endless = trace.cut, trace.endless
        if cut is not None:
            break
        if told is not None:
            told(done, len(rest) + 1)
    called = list(calls.tallies.values())
    return Run(launch, program, counts.tallies, done, guessed, cut, steps, called, endless)


def _sample(launch: Launch, most: int) -> list[int]:
    """Return blocks that lie evenly in the grid; its first is run anyhow."""
    step = launch.blocks / most
    return sorted({int(step * number) for number in range(1, most)} - {0})
