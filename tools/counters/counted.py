"""The counts as a record, and the record held against the model.

A record keeps the addresses themselves, so that it stays true whatever becomes of the patterns.

    counters.shared  wavefronts of loads, stores, ldmatrix and stmatrix
    counters.other   wavefronts of atomics and of asynchronous copies
    counters.ideal   the profiler's own count and ideal, an instruction at a time
    counters.global  sectors and requests of global memory
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewise.check import banks, coalesce
from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import counted
from tilewise.gpu.verify.part import Findings
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import Operation
from tools.counters.kinds import Kind
from tools.counters.patterns import Pattern

GROUPS: Mapping[str, tuple[str, ...]] = {
    "shared": ("wavefronts",),
    "other": ("wavefronts", "all"),
    "ideal": ("wavefronts", "ideal"),
    "global": ("sectors", "requests"),
}
"""{group: the counts of each of its patterns}."""

NOBODY = -1

COPIED_FROM = np.arange(0, 16 * LANES, 16)
"""The sources of the lanes of an asynchronous copy, in bytes from a line, in `tools.counters.kernels`."""

Answers = Sequence[tuple[Pattern, Mapping[str, int]]]


def truth_of(group: str, answers: Answers, device: Mapping[str, Any]) -> Truth:
    """Return what a profiler counted, as a record."""
    cases = [{"kind": pattern.kind.name, "family": pattern.family, "length": LANES} for pattern, _ in answers]
    asked = [[NOBODY if a is None else a for a in pattern.addresses] for pattern, _ in answers]
    arrays = {name: np.array([counts[name] for _, counts in answers], np.int64) for name in GROUPS[group]}
    addresses = np.array(asked, np.int64).reshape(-1)
    return Truth(f"counters.{group}", cases, {"addresses": addresses, **arrays}, device)


def recorded(truth: Truth) -> Iterator[tuple[Pattern, dict[str, int]]]:
    """Yield the patterns of a record, and what was counted of each."""
    names = [name for name in truth.arrays if name != "addresses"]
    for number, (case, row) in enumerate(zip(truth.cases, truth.parted("addresses"), strict=True)):
        addresses = tuple(None if a == NOBODY else int(a) for a in row)
        pattern = Pattern(Kind.of(case["kind"]), case["family"], addresses)
        yield pattern, {name: int(truth.arrays[name][number]) for name in names}


def compare(truth: Truth) -> Findings:
    """Hold every count that the model predicts against it."""
    found = Findings()
    group = truth.part.partition(".")[2]
    for number, (pattern, counts) in enumerate(recorded(truth)):
        want = predicted(pattern, group)
        for name, count in counts.items():
            if count != want.get(name, count):
                found.differs(
                    f"{pattern.kind.name}, {pattern.family}, pattern {number}",
                    f"{count} {name}, not {want[name]}",
                    found=count,
                    expected=want[name],
                    addresses=list(pattern.addresses),
                )
                break
        found.count(len(counts.keys() & want), kind=pattern.kind.name, family=pattern.family)
    return found


def predicted(pattern: Pattern, group: str) -> dict[str, int]:
    """Return what the model says of a pattern, by what is counted of its group.

    >>> predicted(Pattern(Kind.of("ld.4"), "one word", (0,) * 32), "shared")
    {'wavefronts': 1}
    >>> predicted(Pattern(Kind.of("global.ld.4"), "run", tuple(range(0, 128, 4))), "global")
    {'sectors': 4, 'requests': 1}

    Of a copy the unit's counter is predicted. That of its instruction is another, where lanes meet.
    """
    kind = pattern.kind
    if kind.operation == "cp.async":
        asked = np.array([[INACTIVE if a is None else a for a in pattern.addresses]])
        sources = np.where(asked == INACTIVE, INACTIVE, COPIED_FROM)
        return {"all": int(banks.count(kind.operation, kind.bytes, asked, sources)["wavefronts"][0])}
    if group == "global":
        transfer = coalesce.counted(kind.operation, kind.bytes, pattern.addresses)
        return {"sectors": transfer.sectors, "requests": 1}
    request = counted(kind.operation, kind.bytes, pattern.addresses)
    if group == "ideal":
        return {"wavefronts": on_the_page(pattern), "ideal": request.ideal}
    return {"wavefronts": request.wavefronts}


def on_the_page(pattern: Pattern) -> int:
    """Return the wavefronts that the profiler's source page says, by a model of its own.

    It puts two phases together only where one wavefront is enough for both, the hardware wherever lanes pair.

    >>> lanes = [256 * (lane // 2 % 4) + 2048 * (lane // 16) for lane in range(32)]
    >>> conflicting = Pattern(Kind.of("ld.16"), "pairs", tuple(lanes))
    >>> on_the_page(conflicting), predicted(conflicting, "shared")["wavefronts"]
    (16, 8)
    """
    kind = pattern.kind
    together = counted(kind.operation, kind.bytes, pattern.addresses)
    if not together.merged:
        return together.wavefronts
    apart = counted(replace(Operation.of(kind.operation), pairs=()), kind.bytes, pattern.addresses)
    halves = [phase.wavefronts for phase in apart.phases]
    return sum(
        phase.wavefronts if phase.wavefronts <= 1 else left + right
        for phase, left, right in zip(together.phases, halves[::2], halves[1::2], strict=True)
    )
