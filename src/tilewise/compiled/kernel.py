"""A kernel with all that was read of it: the sums of its accesses, each of them, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from tilewise.compiled.counts import SUMMED, Counts, Tally, totals
from tilewise.compiled.launch import Launch
from tilewise.compiled.machine import MOST_STEPS
from tilewise.compiled.program import Line, Program
from tilewise.compiled.trace import traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Told = Callable[[int, int], None]

MOST_WORK = 1 << 32
"""Lanes times instructions that are run; of a larger launch a sample of its blocks is."""

LOADED = "its address hangs on loaded data"
GUESSED = "a branch that hangs on loaded data: each side was run once"
UNREAD = "this instruction is not read here; what hangs on it is unknown"
MISALIGNED = "its addresses are no multiples of its width"


@dataclass(frozen=True)
class Row:
    """The accesses of one line of the source that are alike."""

    line: Line | None
    space: str
    operation: str
    bytes: int
    tallies: Sequence[Tally] = field(repr=False)

    def sum(self, name: str) -> int:
        """Return one count of all of them."""
        return sum(getattr(tally, name) for tally in self.tallies)

    @property
    def cost(self) -> int:
        """Return the wavefronts or sectors."""
        return self.sum("cost")

    @property
    def ideal(self) -> int:
        """Return the fewest that their bytes need."""
        return self.sum("ideal")

    @property
    def requests(self) -> int:
        """Return the requests that were counted."""
        return self.sum("requests")

    @property
    def kind(self) -> str:
        """Return `load`, `store`, `copy` or `atomic`."""
        return SUMMED[self.space, self.operation]

    @property
    def counted(self) -> str:
        """Return the name of the cost."""
        return "wavefronts" if self.space == "shared" else "sectors"

    @cached_property
    def worst(self) -> Tally:
        """Return the instruction that loses most."""
        return max(self.tallies, key=lambda tally: (tally.excess, tally.cost))

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        worst = self.worst.worst
        return {
            "line": line_data(self.line),
            "space": self.space,
            "operation": self.operation,
            "bytes": self.bytes,
            "text": [tally.instruction.text for tally in self.tallies],
            "instructions": self.sum("instructions"),
            "requests": self.requests,
            self.counted: self.cost,
            "ideal": self.ideal,
            "unknown": self.sum("unknown"),
            "worst": None if worst is None else {self.counted: worst[0], "ideal": worst[1], "addresses": list(worst[2])},
        }


def line_data(line: Line | None) -> dict[str, Any] | None:
    """Return a line of the source as plain data."""
    return None if line is None else {"file": line.file, "number": line.number}


@dataclass(frozen=True)
class Kernel:
    """A kernel that was run block by block, or a sample of its blocks."""

    program: Program
    launch: Launch
    tallies: Sequence[Tally] = field(repr=False)
    sampled: int
    """The blocks that were run; the sums are of all blocks."""
    guessed: Mapping[int, int] = field(default_factory=dict)
    """{instruction: times} of branches that hang on loaded data."""
    cut: str = ""
    """The instruction at which the run was cut off."""

    @property
    def name(self) -> str:
        """Return the kernel's name."""
        return self.program.name

    @property
    def weight(self) -> float:
        """Return the blocks for which each one that was run stands."""
        return self.launch.blocks / self.sampled

    @cached_property
    def totals(self) -> dict[str, dict[str, Mapping[str, int]]]:
        """Return the sums of the launch."""
        return totals(self.tallies, self.weight)

    @cached_property
    def rows(self) -> list[Row]:
        """Return the accesses by line of the source, in its order."""

        def key(tally: Tally) -> tuple[Any, ...]:
            line = tally.instruction.line
            touch = tally.touch
            return (line is None, line or Line("", 0), touch.space, touch.operation, touch.bytes)

        grouped = groupby(sorted(self.tallies, key=key), key)
        return [
            Row(None if no_line else line, space, operation, bytes, list(tallies))
            for (no_line, line, space, operation, bytes), tallies in grouped
        ]

    @cached_property
    def left_out(self) -> list[dict[str, Any]]:
        """Return what the sums do not have, and why."""
        found = [
            {"line": line_data(tally.instruction.line), "instruction": tally.instruction.text, "times": times, "reason": why}
            for tally in self.tallies
            for times, why in ((tally.unknown, LOADED), (tally.misaligned, MISALIGNED))
            if times
        ]
        for number, times in self.guessed.items():
            instruction = self.program.instructions[number]
            found.append(
                {"line": line_data(instruction.line), "instruction": instruction.text, "times": times, "reason": GUESSED}
            )
        found += [
            {"line": None, "instruction": name, "times": times, "reason": UNREAD}
            for name, times in self.program.unread.items()
        ]
        if self.cut:
            reason = f"a lane runs more than {MOST_STEPS:,} instructions: the run was cut off here"
            found.append({"line": None, "instruction": self.cut, "times": 1, "reason": reason})
        return found

    @property
    def notes(self) -> list[str]:
        """Return what a reader has to know of the sums."""
        notes = []
        if self.program.source == "PTX":
            notes.append("counted as written, before ptxas, which merges, moves and drops accesses")
        if self.sampled < self.launch.blocks:
            notes.append(f"{self.sampled:,} of {self.launch.blocks:,} blocks were run; the sums stand for all")
        return notes


def run(program: Program, launch: Launch, told: Told | None = None) -> Kernel:
    """Return a kernel with the counts of a launch."""
    counts = Counts()
    guessed: dict[int, int] = {}
    cut = ""
    done = 0
    blocks: Sequence[int] = range(launch.blocks)
    first = [*traces(program, launch, blocks[:1])][0]
    for event in first:
        counts.add(event, first.lanes, remembers=True)
    most = max(1, MOST_WORK // max(1, first.steps * launch.threads))
    rest = blocks[1:] if len(blocks) <= most else _sample(launch, most)
    for trace in _all(first, traces(program, launch, rest)):
        if trace is not first:
            for event in trace:
                counts.add(event, trace.lanes)
        done += len(trace.lanes.numbers)
        for number, times in trace.guessed.items():
            guessed[number] = guessed.get(number, 0) + times
        if trace.cut is not None:
            cut = trace.cut.text
            break
        if told is not None:
            told(done, len(rest) + 1)
    return Kernel(program, launch, list(counts.tallies.values()), done, guessed, cut)


def _all(first: Any, rest: Iterable[Any]) -> Iterable[Any]:
    yield first
    yield from rest


def _sample(launch: Launch, most: int) -> list[int]:
    """Return blocks that lie evenly in the grid; its first is run anyhow."""
    step = launch.blocks / most
    return sorted({int(step * number) for number in range(1, most)} - {0})
