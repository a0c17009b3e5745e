"""A part of the verification: its cases, a device's answers, and the judgement of the answers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.verify.kernels import Progress
from tilewise.gpu.verify.truth import Truth

AskedCase = TypeVar("AskedCase")
Answered = Mapping[str, Any]
"""An answer: its arrays of numbers, and further values of the record, by name."""

MOST_SHOWN = 100
"""Differences of a part that a report spells out."""


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A case in which the device differs from the catalogue."""

    case: str
    message: str
    witness: Mapping[str, Any] = field(default_factory=dict)
    """The first place where they differ."""

    def data(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return {"case": self.case, "message": self.message, "witness": dict(self.witness)}


@dataclass(slots=True)
class Findings:
    """A part's truth compared with the catalogue: counts of the covered cases, and every difference."""

    cases: int = 0
    numbers: int = 0
    """Single answers: bytes, registers, verdicts."""
    different: int = 0
    """Cases that differ, also beyond the list."""
    differences: list[PartDifference] = field(default_factory=list)
    covered: dict[str, dict[str, int]] = field(default_factory=dict)
    """Aspect: value: number of cases."""

    def count(self, numbers: int, **aspects: object) -> None:
        """Add one more case, with its number of answers, and the aspects that it covers."""
        self.cases += 1
        self.numbers += numbers
        for aspect, value in aspects.items():
            for each in value if isinstance(value, list) else [value]:
                tally = self.covered.setdefault(aspect.replace("_", " "), {})
                tally[str(each)] = tally.get(str(each), 0) + 1

    def in_order(self) -> dict[str, dict[str, int]]:
        """Return `covered` with numbers in order."""

        def rank(pair: tuple[str, int]) -> tuple[int, str]:
            return (int(pair[0]), "") if pair[0].isdecimal() else (-1, pair[0])

        return {aspect: dict(sorted(tally.items(), key=rank)) for aspect, tally in self.covered.items()}

    def differs(self, case: object, message: str, **witness: object) -> None:
        """Add one more difference."""
        self.different += 1
        if len(self.differences) < MOST_SHOWN:
            self.differences.append(PartDifference(str(case), message, witness))

    def hold(
        self,
        case: object,
        want: Array,
        seen: Array,
        where: Callable[[int], Mapping[str, Any]],
        what: str,
        value: Callable[[Any], Any] = int,
    ) -> None:
        """Add a difference if arrays of answers differ: the first place, and the number of places.

        `where` names a place by its number, `what` and `value` an answer; None is an answer without meaning.
        """
        if (wrong := np.flatnonzero((want != seen).reshape(len(want), -1).any(axis=1))).size:
            first = int(wrong[0])
            place, found, expected = where(first), value(seen[first]), value(want[first])
            self.differs(
                case,
                f"{', '.join(f'{name} {number}' for name, number in place.items())}:"
                f" {what} {'unknown' if found is None else found}, not {expected};"
                f" {wrong.size} of {len(want)} differ",
                **place,
                found=found,
                expected=expected,
            )


@dataclass(frozen=True, slots=True)
class Questions:
    """The cases of a part as JSON, and the catalogue's entries that right answers to all of them confirm."""

    confirms: Sequence[str]
    """Entries of the catalogue, instances of one (`mma.A m16n8k16 f16`), or tables beside it."""
    cases: Sequence[Mapping[str, Any]]


QUESTIONS = "questions.zip"
"""The questions of every part, beside this file; `tools.questions` draws them."""


@cache
def kept_questions(part: str) -> Questions:
    """Return the questions of a part by its name."""
    with zipfile.ZipFile(Path(__file__).with_name(QUESTIONS)) as kept:
        return Questions(**json.loads(kept.read(f"{part}.json")))


@dataclass(frozen=True, slots=True)
class Part:
    """A few minutes of questions to a device, and the entries that they confirm.

    requires       `measure` needs the device, `compare` nothing but the truth
    postcondition  the same truth always compares alike
    """

    name: str
    """FAMILY.WORD: parts of one family are recorded in one file."""
    title: str
    arrays: tuple[str, ...]
    """The names of an answer's arrays, all as long as the first."""
    case: Callable[[Mapping[str, Any]], Any]
    """A function from the JSON of a case to the case."""
    ask: Callable[[Sequence[Any], Progress], Iterable[Answered]]
    """A function that yields the device's answers to cases, in their order."""
    judge: Callable[..., None]
    """A function that adds the judgement of a case, its recorded row, and its arrays to findings."""
    questions: Callable[[str], Questions] = kept_questions

    @property
    def family(self) -> str:
        """Return the first word of the name."""
        return self.name.partition(".")[0]

    @property
    def confirms(self) -> Sequence[str]:
        """Return the entries of the catalogue, or instances of them, that the part is about."""
        return self.questions(self.name).confirms

    def cases(self) -> Sequence[Mapping[str, Any]]:
        """Return every case as JSON."""
        return self.questions(self.name).cases

    def measure(self, told: Progress) -> Truth:
        """Return the device's answers to every case."""
        return self.truth(self.cases(), self.ask([self.case(row) for row in self.cases()], told))

    def truth(self, cases: Iterable[Mapping[str, Any]], answers: Iterable[Answered]) -> Truth:
        """Return the record of answers to cases."""
        rows: list[Mapping[str, Any]] = []
        numbers: dict[str, list[Any]] = {name: [np.zeros(0, np.int64)] for name in self.arrays}
        for case, answer in zip(cases, answers, strict=True):
            notes = {name: value for name, value in answer.items() if name not in numbers}
            rows.append({**case, **notes, "length": np.size(answer[self.arrays[0]])})
            for name, kept in numbers.items():
                kept.append(np.asarray(answer[name], np.int64).ravel())
        return Truth(self.name, rows, {name: np.concatenate(kept) for name, kept in numbers.items()})

    def compare(self, truth: Truth) -> Findings:
        """Return the findings: every answer compared with the catalogue."""
        findings = Findings()
        arrays = [truth.parted(name) for name in self.arrays]
        for row, *numbers in zip(truth.cases, *arrays, strict=True):
            self.judge(findings, self.case(row), row, *numbers)
        return findings


def measured(
    cases: Sequence[AskedCase],
    told: Progress,
    *,
    device: type[Any],
    probe: Callable[[AskedCase], Hashable],
    ask: Callable[[Any, list[AskedCase]], Iterable[Answered]],
) -> list[Answered]:
    """Return a device's answers to cases in their order; it gets the cases of one probe together.

    `device` is a class, such as one of `Kernels`, whose `of` makes it ready for some probes. Compiling is
    most of the work, and counts as progress.

    >>> class Lengths:
    ...     @classmethod
    ...     def of(cls, wanted, *, told):
    ...         told(1, 1)
    ...         return cls()
    >>> def lengths(device, words): return [{"length": len(word)} for word in words]
    >>> measured(["a", "bb"], print, device=Lengths, probe=len, ask=lengths)
    1 3
    2 3
    3 3
    [{'length': 1}, {'length': 2}]
    """
    programs = 0

    def compiled(done: int, total: int) -> None:
        nonlocal programs
        programs = total
        told(done, total + len(cases))

    groups: dict[Hashable, list[int]] = {}
    for number, case in enumerate(cases):
        groups.setdefault(probe(case), []).append(number)
    ready = device.of(groups, told=compiled)
    answers: dict[int, Answered] = {}
    for numbers in groups.values():
        replies = ask(ready, [cases[number] for number in numbers])
        for number, reply in zip(numbers, replies, strict=True):
            answers[number] = reply
            told(programs + len(answers), programs + len(cases))
    return [answers[number] for number in range(len(cases))]


def of_row(kind: type[AskedCase], row: Mapping[str, Any]) -> AskedCase:
    """Return a dataclass with the fields that a row has, its lists as tuples."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    values = {name: value for name, value in row.items() if name in names}
    return kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )
