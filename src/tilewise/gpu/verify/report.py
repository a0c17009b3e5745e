"""What a verification found, as text and as JSON; `page` has it as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewise.gpu.verify.run import Outcome

FEW = 5
"""Differences that the text spells out, a part."""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of all parts, and the device that was asked."""

    device: Mapping[str, Any]
    outcomes: Sequence[Outcome]

    @property
    def different(self) -> int:
        """Cases in which the device does not do what the catalogue says."""
        return sum(outcome.comparison.different for outcome in self.outcomes)

    @property
    def failed(self) -> int:
        """Parts that the device did not answer."""
        return sum(bool(outcome.failed) for outcome in self.outcomes)

    @property
    def right(self) -> bool:
        """Whether every part was answered, and as the catalogue says."""
        return not self.different and not self.failed

    @property
    def cases(self) -> int:
        """Cases of all parts."""
        return sum(outcome.comparison.cases for outcome in self.outcomes)

    @property
    def answers(self) -> int:
        """Single answers of the device: bytes, registers, verdicts."""
        return sum(outcome.comparison.numbers for outcome in self.outcomes)

    @property
    def verdict(self) -> str:
        """The report in a sentence."""
        words = f"{_many(self.different, 'difference')} in {_many(self.cases, 'case')}"
        words += f" and {_many(self.answers, 'answer')}"
        return words + (f"; {_many(self.failed, 'part')} without answers" if self.failed else "")

    @property
    def reason(self) -> str | None:
        """Why it is not right: the first difference, or the first part without answers."""
        for outcome in self.outcomes:
            if outcome.failed:
                return f"{outcome.part.name}: {outcome.failed}"
            for difference in outcome.comparison.differences:
                return f"{outcome.part.name}: {difference.case}: {difference.message}"
        return None

    def data(self) -> dict[str, Any]:
        """As JSON."""
        data = {
            "answer": self.right,
            "device": dict(self.device),
            "cases": self.cases,
            "answers": self.answers,
            "different": self.different,
            "parts": [outcome.data() for outcome in self.outcomes],
        }
        if self.right:
            return data
        firsts = [d for outcome in self.outcomes for d in outcome.comparison.differences]
        return data | {"reason": self.reason, "witness": dict(firsts[0].witness) if firsts else None}

    def text(self) -> str:
        """For a terminal."""
        width = max([len(outcome.part.name) for outcome in self.outcomes] or [0])
        lines = [", ".join(f"{key} {value}" for key, value in self.device.items()), ""]
        for outcome in self.outcomes:
            lines += _lines(outcome, width)
        return "\n".join([*lines, "", self.verdict])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + "s" * (count != 1)


def _lines(outcome: Outcome, width: int) -> list[str]:
    found = outcome.comparison
    word = "failed" if outcome.failed else "differs" if found.different else "ok"
    kept = "; as said before" if outcome.resumed else ""
    head = (
        f"{outcome.part.name:<{width}}  {word:<7} {found.cases:>7,} cases {found.numbers:>12,} answers"
        f" {found.different:>6,} differ{kept or f' {outcome.seconds:>7.1f} s'}"
    )
    lines = [head] + [f"  {outcome.failed}"] * bool(outcome.failed)
    for difference in found.differences[:FEW]:
        lines += [f"  {difference.case}", f"    {difference.message}"]
    if found.different > FEW:
        lines.append(f"  and {found.different - min(FEW, len(found.differences)):,} more")
    return lines
