"""Parts of a verification that need no device: the answers are made here, right or with a fault."""

from __future__ import annotations

from dataclasses import asdict
from operator import itemgetter

from tilewise.gpu.verify import tma
from tilewise.gpu.verify.part import Part, Questions
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.tma import BoxLoad, Landed
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.tma.types import nan_fill

DEVICE = {"name": "NVIDIA H200", "driver": "580.00, CUDA 13.0", "date": "2026-01-01"}


class Squares:
    """A device that squares numbers, and a catalogue that says it does."""

    def __init__(self, name: str = "toy.squares", count: int = 10, wrong: tuple[int, ...] = ()) -> None:
        self.wrong, self.asked = set(wrong), 0
        questions = Questions(("wgmma.D",), [{"x": x} for x in range(count)])
        self.part = Part(
            name,
            "squares",
            ("answers",),
            itemgetter("x"),
            self.ask,
            self.judge,
            lambda part: questions,
        )

    def ask(self, cases, told):
        self.asked += 1
        for x in cases:
            told(x + 1, len(cases))
            yield {"answers": x * x + (x in self.wrong)}

    def judge(self, findings, x, row, answers):
        findings.count(1, parity=("even", "odd")[x % 2])
        if answers[0] != x**2:
            findings.differs(f"x = {x}", f"{answers[0]}", x=x, found=int(answers[0]))


def broken_part(name: str = "toy.broken") -> Part:
    """A part whose device ends."""

    def ask(cases, told):
        raise RuntimeError("an illegal address")

    questions = Questions(("wgmma.A",), [{"x": 0}])
    return Part(name, "broken", ("answers",), itemgetter("x"), ask, print, lambda part: questions)


def loaded(box: BoxLoad) -> Landed | int:
    """Return what a device that follows the tables does with a box, element after element."""
    if tma.driver_rules(box.tensor_map):
        return 1
    others = (nan_fill(8 * box.bytes_each),) if box.fill == "nan" else ()
    return Landed(tma.expected(box), box.bytes, others)


def boxes_truth(every: list[BoxLoad], answers: list[Landed | int] | None = None) -> Truth:
    """The record of such answers, or of a device that follows the tables."""
    return PARTS["tma.boxes"].truth(map(asdict, every), map(tma.landed, answers or map(loaded, every)))


def rules_truth() -> Truth:
    """The record of a driver that follows our rules."""
    part = PARTS["tma.rules"]
    every = map(part.case, part.cases())
    answers = [{"results": int(case.broken is None or bool(case.broken))} for case in every]
    return part.truth(part.cases(), answers)
