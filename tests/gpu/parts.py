"""Parts of a verification that need no device: the answers are made here, right or with a fault."""

from __future__ import annotations

import numpy as np

from tilewise.gpu.probes.tensor_copy import Box, Landed
from tilewise.gpu.verify import boxes, rules
from tilewise.gpu.verify.part import Findings, Part
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.tma.rules import DRIVER, RULES, violations
from tilewise.hardware.tma.types import nan_fill

DEVICE = {"name": "NVIDIA H200", "driver": "580.00, CUDA 13.0", "date": "2026-01-01"}


class Squares:
    """A device that squares numbers, and a catalogue that says it does."""

    def __init__(self, name: str = "toy.squares", count: int = 10, wrong: tuple[int, ...] = ()) -> None:
        self.count, self.wrong, self.asked = count, set(wrong), 0
        self.part = Part(name, "squares", ("wgmma.D",), lambda: count, self.measure, self.compare)

    def measure(self, told) -> Truth:
        self.asked += 1
        answers = [x * x + (x in self.wrong) for x in range(self.count)]
        for done in range(self.count):
            told(done + 1, self.count)
        cases = [{"x": x, "length": 1} for x in range(self.count)]
        return Truth(self.part.name, cases, {"answers": np.array(answers)})

    def compare(self, truth: Truth) -> Findings:
        found = Findings()
        for case, (answer,) in zip(truth.cases, truth.parted("answers"), strict=True):
            found.count(1, parity=("even", "odd")[case["x"] % 2])
            if answer != case["x"] ** 2:
                found.differs(f"x = {case['x']}", f"{answer}", x=case["x"], found=int(answer))
        return found


def broken_part(name: str = "toy.broken") -> Part:
    """A part whose device ends."""

    def measure(told) -> Truth:
        raise RuntimeError("an illegal address")

    return Part(name, "broken", ("wgmma.A",), lambda: 1, measure, Squares().compare)


def loaded(box: Box) -> Landed | int:
    """What a device that follows the tables does with a box, element after element."""
    if any(RULES[found.rule].kind == DRIVER for found in violations(box.tensor_map)):
        return 1
    others = (nan_fill(8 * box.bytes_each),) if box.fill == "nan" else ()
    return Landed(boxes.expected(box), box.bytes, others)


def boxes_truth(every: list[Box]) -> Truth:
    """The record of a device that follows the tables."""
    answers = [loaded(box) for box in every]
    rows = [boxes.row(box, landed) for box, landed in zip(every, answers, strict=True)]
    return boxes.truth_of(rows, [landed.slots for landed in answers if isinstance(landed, Landed)])


def rules_truth() -> Truth:
    """The record of a driver that follows our rules."""
    every = list(rules.cases())
    return rules.truth_of(every, [int(case.broken is None or bool(case.broken)) for case in every])
