"""Compare a reader of compiled code with the interpreter of the source, access by access.

A compiler may split, merge and reorder accesses. So bytes are counted: by source line, thread, kind and
space, each byte of memory as often. Where that differs, for one vector instruction may serve two lines,
they are counted without the line. Some kernels are held to less, which their outcome names:

- those that are not volatile, where a compiler may load once what the source loads twice, and leave out a
  store before another to the same place: each thread touches the same bytes, none more often, and atomic
  operations are as many; plain ones may load some twice, since compilers fill the gaps of vectors;
- those where loaded values decide: what the reader says to know is among what is touched, unless it says too
  that it has guessed a branch;
- those that a reader refuses, or of which it does not know all addresses and branches.

An assembler lets one lane make an atomic operation for all lanes of a warp where they share the address. Such
a lane stands for the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.compiled.random import interpreter
from tests.compiled.random.tree import Kernel

from tilewise import LayoutError
from tilewise.compiled.lanes import Lanes
from tilewise.compiled.launch import Launch
from tilewise.compiled.lines import Line
from tilewise.compiled.machine import Event
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.texts import programs_of
from tilewise.compiled.trace import traces
from tilewise.hardware.limits import LANES

BASES = (0, 1024)
"""The possible begins of a block's shared arrays: from sm_90 on, the system keeps the first 1024 bytes."""
SHOWN = 6
KINDS = {"ld": "ld", "st": "st", "atom": "atom", "red": "atom"}
MOST_LEFT_OUT = 0.03
"""The largest part of kernels that a reader may refuse or not know whole."""
GOOD = ("by line", "by kernel", "fewer", "hangs on data", "guessed", "refused", "unknown")


class Row(NamedTuple):
    """One access of one thread, numbered through the grid; 0 is the site of what has no line of an access."""

    site: int
    kind: str
    space: str
    thread: int
    address: int
    bytes: int


@dataclass(frozen=True)
class Case:
    """A kernel that was compiled, one launch of it, and what it touches there."""

    name: str
    seed: int
    way: str
    hangs_on_data: bool
    warps: bool
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[int, ...]
    dynamic: int
    lines: dict[int, int]
    """The number of the access on each line."""
    rows: Sequence[Row]


@dataclass(frozen=True)
class Reading:
    """The answer of a reader to a launch: its accesses, if it guessed a branch, and what it does not read."""

    issues: Sequence[Issue]
    guessed: bool = False
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A word of `GOOD`, or "wrong", with what there is to say of it."""

    word: str
    why: str = ""


@dataclass
class Tally:
    """Counts of each outcome, for one form of code."""

    words: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.words[outcome.word] += 1
        if outcome.word in ("refused", "unknown"):
            self.reasons[f"{outcome.word}: {outcome.why}"] += 1

    def total(self) -> int:
        """Return how many outcomes there were."""
        return self.words.total()

    def left_out(self) -> int:
        """Return how many kernels were refused or not known whole."""
        return self.words["refused"] + self.words["unknown"]


def case_of(kernel: Kernel, lines: dict[int, int]) -> Case:
    """Return a kernel with the lines of its accesses, and with what the interpreter says."""
    rows = [
        Row(it.number, it.kind, it.space, block * kernel.threads + thread, it.address, it.bytes)
        for (block, thread), events in interpreter.run(kernel).items()
        for it in events
    ]
    return Case(
        kernel.name,
        kernel.seed,
        kernel.way,
        kernel.hangs_on_data,
        kernel.warps,
        kernel.grid,
        kernel.block,
        tuple(parameter.value for parameter in kernel.parameters),
        kernel.dynamic,
        lines,
        rows,
    )


@dataclass(frozen=True)
class Instruction:
    """An instruction that accesses memory."""

    line: Line | None
    operation: str
    space: str
    bytes: int


@dataclass(frozen=True)
class Issue:
    """One access of one instruction by the lanes that take part."""

    instruction: Instruction
    blocks: NDArray[np.int64]
    threads: NDArray[np.int64]
    addresses: NDArray[np.int64]
    known: NDArray[np.bool_]
    """False for a lane whose address, or part in the access, hangs on loaded data."""


Bytes = Counter[tuple[int, str, str, int, int]]


def bytes_of(rows: Iterable[Row], *, by_line: bool, shift: int = 0) -> Bytes:
    """Return how often each byte is touched; shared addresses lose a shift."""
    counted: Bytes = Counter()
    for site, kind, space, thread, address, size in rows:
        first = address - shift if space == "shared" else address
        for place in range(first, first + size):
            counted[site if by_line else 0, kind, space, thread, place] += 1
    return counted


def found(case: Case, reading: Reading) -> tuple[list[Row], bool]:
    """Return the accesses to global and shared memory that a reader knows, and whether there are others."""
    threads = case.block[0] * case.block[1] * case.block[2]
    rows, unknown = [], False
    for issue in reading.issues:
        made = issue.instruction
        if made.space == "local":
            continue
        line, operation = made.line, made.operation
        site = case.lines.get(line.number, 0) if line is not None else 0
        unknown |= not bool(issue.known.all())
        who = (issue.blocks * threads + issue.threads)[issue.known]
        for thread, address in zip(who.tolist(), issue.addresses[issue.known].tolist(), strict=True):
            rows.append(Row(site, KINDS[operation], made.space, thread, address, made.bytes))
    return rows, unknown


def with_all_lanes(case: Case, rows: Sequence[Row]) -> list[Row]:
    """Return rows of a reader, with those of lanes for which one lane of their warp makes atomic operations.

    That is taken where all lanes of the warp that reach the site have the same addresses there, one by one.
    """
    wanted, had = by_warp(case, case.rows), by_warp(case, rows)
    more: list[Row] = []
    for place, lanes in wanted.items():
        one_for_all = had.get(place, {}).keys() & lanes.keys()
        alike = len({tuple(row.address for row in made) for made in lanes.values()}) == 1
        if alike and len(had.get(place, {})) == len(one_for_all) == 1:
            (leader,) = one_for_all
            others = lanes.keys() - one_for_all
            more += [row._replace(thread=thread) for thread in others for row in had[place][leader]]
    return [*rows, *more]


def by_warp(case: Case, rows: Sequence[Row]) -> dict[tuple[int, int, int], dict[int, list[Row]]]:
    """Return {(site, block, warp): {thread: its atomic operations there, in order}}."""
    threads = case.block[0] * case.block[1] * case.block[2]
    found: dict[tuple[int, int, int], dict[int, list[Row]]] = {}
    for row in rows:
        if row.kind == "atom" and row.site:
            place = (row.site, row.thread // threads, row.thread % threads // LANES)
            found.setdefault(place, {}).setdefault(row.thread, []).append(row)
    return found


def judged(case: Case, rows: Sequence[Row], unknown: bool, reading: Reading) -> Outcome:
    """Return how rows that a reader knows agree with those of the case."""
    rows = with_all_lanes(case, rows)
    unread = f" that {', '.join(reading.unread)} may decide" if reading.unread else ""
    if reading.guessed:
        return Outcome("guessed") if case.hangs_on_data else Outcome("unknown", f"branches{unread}")
    if case.hangs_on_data and unknown:
        return among(case, rows)
    if unknown:
        outcome = among(case, rows)
        return Outcome("unknown", f"addresses{unread}") if outcome.word == "hangs on data" else outcome
    for by_line, word in ((True, "by line"), (False, "by kernel")):
        wanted = bytes_of(case.rows, by_line=by_line)
        if any(bytes_of(rows, by_line=by_line, shift=base) == wanted for base in BASES):
            return Outcome(word)
    if case.way != "volatile" and any(fewer(case, rows, base) for base in BASES):
        return Outcome("fewer")
    return Outcome("wrong", difference(case, rows))


def fewer(case: Case, rows: Sequence[Row], base: int) -> bool:
    """Return whether a compiler may have left out some accesses, of what it has loaded or will store."""
    had, wanted = bytes_of(rows, by_line=False, shift=base), bytes_of(case.rows, by_line=False)
    if {key[2:] for key in had} != {key[2:] for key in wanted}:
        return False
    if any(key[1] == "atom" for key in wanted - had):
        return False
    # A vector load may have a gap, which another load serves.
    surplus = had - wanted
    filled = all(key[1] == "ld" and times <= wanted[key] for key, times in surplus.items())
    return not surplus or (case.way == "plain" and filled)


def among(case: Case, rows: Sequence[Row]) -> Outcome:
    """Return whether all rows are among those of the case."""
    wanted = bytes_of(case.rows, by_line=False)
    if any(not bytes_of(rows, by_line=False, shift=base) - wanted for base in BASES):
        return Outcome("hangs on data")
    return Outcome("wrong", difference(case, rows, missing=False))


def difference(case: Case, rows: Sequence[Row], *, missing: bool = True) -> str:
    """Return the first bytes that only one side has, with the lines that touch them there."""
    answers = []
    for base in BASES:
        had, wanted = bytes_of(rows, by_line=False, shift=base), bytes_of(case.rows, by_line=False)
        sides = [("reader", had - wanted, rows, base)]
        if missing:
            sides.append(("interpreter", wanted - had, case.rows, 0))
        text = [line for side in sides for line in only(case, *side)]
        answers.append((sum(side[1].total() for side in sides), "\n".join(text)))
    return min(answers)[1]


def only(case: Case, side: str, bytes: Bytes, rows: Sequence[Row], shift: int) -> Iterator[str]:
    """Yield lines that tell the first bytes which one side alone has."""
    line_of = {site: line for line, site in case.lines.items()}
    by_line = bytes_of(rows, by_line=True, shift=shift)
    for (_, kind, space, thread, place), times in sorted(bytes.items())[:SHOWN]:
        sites = sorted(key[0] for key in by_line if key[1:] == (kind, space, thread, place))
        lines = " and ".join(str(line_of.get(site, "?")) for site in sites)
        yield f"  {side} alone: line {lines}, {kind} {space}, thread {thread}, byte {place:#x}, {times} times"


Reader = Callable[[str, Case], Reading]


def outcome(read: Reader, text: str, case: Case) -> Outcome:
    """Return how a reader does on a case."""
    try:
        reading = read(text, case)
        rows, unknown = found(case, reading)
    except LayoutError as error:
        return Outcome("refused", kind_of(error))
    except Exception as error:
        return Outcome("wrong", f"  {type(error).__name__}: {error}")
    return judged(case, rows, unknown, reading)


def kind_of(error: Exception) -> str:
    """Return the first line of a refusal, without its numbers."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", str(error).splitlines()[0])


@lru_cache(maxsize=2)
def programs(text: str) -> dict[str, KernelProgram]:
    """Return the programs of a text by name."""
    return {program.name: program for program in programs_of(text)}


def reader(text: str, case: Case) -> Reading:
    """Return what tilewise reads of a kernel."""
    program = programs(text)[case.name]
    launch = Launch(grid=case.grid, block=case.block, args=case.arguments, shared=case.dynamic)
    issues: list[Issue] = []
    guessed = False
    for run in traces(program, launch, range(launch.blocks)):
        issues += [issue_of(event, run.lanes) for event in run if isinstance(event, Event)]
        guessed |= bool(run.guessed) or run.cut is not None
    return Reading(issues, guessed, tuple(sorted(program.unread)))


def issue_of(event: Event, lanes: Lanes) -> Issue:
    """Return one access of one instruction, lane by lane."""
    active = np.flatnonzero(event.active)
    known = np.full(lanes.count, not event.unsure)
    if event.address.unknown is not None:
        known &= ~event.address.unknown
    touch = event.touch
    return Issue(
        Instruction(event.instruction.line, touch.operation, touch.space, touch.bytes),
        lanes.blocks[active],
        lanes.threads[active],
        lanes.spread(event.address.bits)[active].astype(np.int64),
        known[active],
    )
