"""A part of the verification: what a device is asked, and how its answers are held against the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tilewise.gpu.verify.truth import Truth

Told = Callable[[int, int], None]
"""How far a part is: cases done, and all of them."""

One = TypeVar("One")
Device = TypeVar("Device")
Answer = TypeVar("Answer")

MOST_SHOWN = 100
"""Differences that a report spells out, a part."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in which the device does not do what the catalogue says."""

    case: str
    message: str
    witness: Mapping[str, Any] = field(default_factory=dict)
    """The first place where they differ."""

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"case": self.case, "message": self.message, "witness": dict(self.witness)}


@dataclass(slots=True)
class Findings:
    """A part's truth held against the catalogue: counts of what was covered, and every difference."""

    cases: int = 0
    numbers: int = 0
    """Single answers: bytes, registers, verdicts."""
    different: int = 0
    """Cases that differ, those beyond the list as well."""
    differences: list[Difference] = field(default_factory=list)
    covered: dict[str, dict[str, int]] = field(default_factory=dict)
    """Aspect: value: how many cases."""

    def count(self, numbers: int, **aspects: object) -> None:
        """One more case, with so many answers, and what it is an example of."""
        self.cases += 1
        self.numbers += numbers
        for aspect, value in aspects.items():
            tally = self.covered.setdefault(aspect.replace("_", " "), {})
            tally[str(value)] = tally.get(str(value), 0) + 1

    def in_order(self) -> dict[str, dict[str, int]]:
        """`covered`, numbers in their order."""
        return {aspect: dict(sorted(tally.items(), key=_place)) for aspect, tally in self.covered.items()}

    def differs(self, case: str, message: str, **witness: object) -> None:
        """One more difference."""
        self.different += 1
        if len(self.differences) < MOST_SHOWN:
            self.differences.append(Difference(case, message, witness))


def measured(
    every: Sequence[One], ready: Callable[[Told], Device], ask: Callable[[Device, One], Answer], told: Told
) -> list[Answer]:
    """What a device says of each, once it is ready: compiling is most of the work, and is told of as such.

    >>> measured("ab", lambda told: told(1, 1) or "abc", str.index, lambda done, total: print(done, total))
    1 3
    2 3
    3 3
    [0, 1]
    """
    programs = 0

    def compiled(done: int, total: int) -> None:
        nonlocal programs
        programs = total
        told(done, total + len(every))

    device = ready(compiled)
    found: list[Answer] = []
    for one in every:
        found.append(ask(device, one))
        told(programs + len(found), programs + len(every))
    return found


def _place(pair: tuple[str, int]) -> tuple[int, str]:
    value = pair[0]
    return (int(value), "") if value.isdecimal() else (-1, value)


@dataclass(frozen=True, slots=True)
class Part:
    """What a device is asked in a few minutes, and what it confirms.

    requires       `measure` needs the device, `compare` nothing but the truth
    postcondition  the same truth always compares alike
    """

    name: str
    """FAMILY.WORD: parts of one family are recorded in one file."""
    title: str
    confirms: tuple[str, ...]
    """Entries of the catalogue, instances of one (`mma.A m16n8k16 f16`), or tables beside it."""
    size: Callable[[], int]
    """How many cases there are."""
    measure: Callable[[Told], Truth]
    compare: Callable[[Truth], Findings]

    @property
    def family(self) -> str:
        """The first word of the name."""
        return self.name.partition(".")[0]
