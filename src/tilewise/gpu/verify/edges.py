"""The part `descriptors.end`: what ends with shared memory is read, what goes past it faults."""

from __future__ import annotations

import numpy as np

from tilewise.gpu.probes.descriptors import Case, expected
from tilewise.gpu.probes.edges import INSIDE, WHOLE, ask, cases, reach
from tilewise.gpu.probes.spelling import END, Integers
from tilewise.gpu.verify.descriptors import CONFIRMS, NOTHING, case_of, named, row_of
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth


def measure(told: Told) -> Truth:
    """Ask for each descriptor in a process of its own."""
    every = cases()
    return truth_of(every, ask(every, lambda done: told(done, len(every))))


def truth_of(every: list[Case], found: list[Integers | None]) -> Truth:
    """The record: the elements that were read, or that the device faulted."""
    rows = [
        row_of(case) | {"faults": read is None, "length": 0 if read is None else read.size}
        for case, read in zip(every, found, strict=True)
    ]
    places = [read.ravel() for read in found if read is not None]
    return Truth("descriptors.end", rows, {"places": np.concatenate([np.zeros(0, np.int64), *places])})


def compare(truth: Truth) -> Findings:
    """Hold what was read, and what faulted, against where the tables say that it is read.

    Where a part of a core matrix is past the end, the device may fault or not: no document says.
    """
    found = Findings()
    for row, places in zip(truth.cases, truth.parted("places"), strict=True):
        case = case_of(row)
        want, far = expected(case), reach(case)
        if (far == INSIDE and row["faults"]) or (far == WHOLE and not row["faults"]):
            last = int(want.max()) * case.instruction.bits // 8
            found.differs(named(case), _WORDS[far], last=last, end=END)
        elif not row["faults"] and not np.array_equal(_held(case, want), places):
            found.differs(named(case), "other elements are read than the catalogue has")
        found.count(
            max(1, len(places)),
            mode=case.descriptor.mode.name,
            reach=f"{far}: {'a fault' if row['faults'] else 'no fault'}",
        )
    return found


def _held(case: Case, want: Integers) -> Integers:
    """The elements that the block has, and nothing for those past its end."""
    return np.where(want * case.instruction.bits // 8 < END, want, NOTHING).ravel()


_WORDS = {
    WHOLE: "it goes past the end of shared memory, and the device did not fault",
    INSIDE: "it stays inside shared memory, and the device faulted",
}

PART = Part(
    "descriptors.end",
    "wgmma: what ends with shared memory is read, what goes past it faults, nothing wraps around",
    CONFIRMS,
    lambda: len(cases()),
    measure,
    compare,
)
