"""Part after part on a device or by its record, and the report of all: as text and as JSON.

A run can be resumed, and never repeats a question.
"""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.gpu.device import Gpu, package
from tilewise.gpu.verify.part import Findings, Part
from tilewise.gpu.verify.truth import Truth, load, save

SAME_DEVICE = ("name", "driver")
PACKAGES = ("cuda-core", "cuda-bindings", "numpy")

FEW = 5
"""Differences of a part that the text spells out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a part."""

    part: Part
    truth: Truth | None
    comparison: Findings
    seconds: float
    failed: str = ""
    """The reason why the device gave no answers."""
    resumed: bool = False
    """True if the answers come from an earlier run."""

    @property
    def right(self) -> bool:
        """Return True if the device answered, and agrees with the catalogue."""
        return not self.failed and not self.comparison.different

    def data(self) -> dict[str, Any]:
        """Return the outcome as JSON."""
        findings = self.comparison
        return {
            "name": self.part.name,
            "title": self.part.title,
            "cases": findings.cases,
            "answers": findings.numbers,
            "different": findings.different,
            "differences": [difference.data() for difference in findings.differences],
            "covered": findings.in_order(),
            "seconds": round(self.seconds, 1),
            "resumed": self.resumed,
            "failed": self.failed or None,
        }

    def lines(self, width: int) -> list[str]:
        """Return lines for a terminal, the part's name in `width` columns."""
        findings = self.comparison
        word = "failed" if self.failed else "differs" if findings.different else "ok"
        kept = "; as said before" if self.resumed else f" {self.seconds:>7.1f} s"
        lines = [
            f"{self.part.name:<{width}}  {word:<7} {findings.cases:>7,} cases {findings.numbers:>12,} answers"
            f" {findings.different:>6,} differ{kept}"
        ]
        if self.failed:
            lines.append(f"  {self.failed}")
        for difference in findings.differences[:FEW]:
            lines += [f"  {difference.case}", f"    {difference.message}"]
        if findings.different > FEW:
            lines.append(f"  and {findings.different - FEW:,} more")
        return lines


def run(
    parts: Sequence[Part],
    device: Mapping[str, Any],
    *,
    state: Path,
    resume: bool = False,
    told: Callable[[Part, int, int], None] = lambda part, done, total: None,
) -> Iterator[Outcome]:
    """Yield the outcome of each part, as soon as it is known.

    With `resume`, a part is not repeated if the folder `state` has its answers: of the same device and
    driver, to as many cases. A failure of the device is an outcome too, and the other parts go on.
    """
    state.mkdir(parents=True, exist_ok=True)
    for part in parts:
        begin, file = time.monotonic(), state / f"{part.name}.zip"
        kept = truth = _kept(part, device, file) if resume and file.exists() else None
        comparison, failed = Findings(), ""
        try:
            if truth is None:
                truth = replace(part.measure(partial(told, part)), device=device)
                save(file, [truth])
            comparison = part.compare(truth)
        except Exception as error:  # the bindings raise their own exceptions; the other parts go on
            failed = f"{type(error).__name__}: {error}"
        yield Outcome(part, truth, comparison, time.monotonic() - begin, failed, kept is not None)


def _kept(part: Part, device: Mapping[str, Any], file: Path) -> Truth | None:
    (truth,) = load(file)
    same = all(truth.device.get(key) == device.get(key) for key in SAME_DEVICE)
    return truth if same and len(truth.cases) == len(part.cases()) else None


def recorded(parts: Sequence[Part], folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each part from a record: no device is needed.

    requires       the folder holds a record of every part
    """
    for part in parts:
        begin = time.monotonic()
        truth = recorded_truth(part, folder)
        try:
            findings = part.compare(truth)
        except (KeyError, TypeError, ValueError) as error:
            raise LayoutError("TW402", f"the record of {part.name} is an old one: {error}") from error
        yield Outcome(part, truth, findings, time.monotonic() - begin, resumed=True)


def recorded_truth(part: Part, folder: Path) -> Truth:
    """Return a device's answers to a part, from the record of its family."""
    path = folder / f"{part.family}.zip"
    for truth in load(path, part.name):
        return truth
    raise LayoutError("TW402", f"{path.name} has no answers to {part.name}", hint="--only takes other parts")


# -- the report ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcomes of all parts, and the device that answered."""

    device: Mapping[str, Any]
    outcomes: Sequence[Outcome]

    @property
    def right(self) -> bool:
        """Return True if the device answered every part, and agrees with the catalogue."""
        return all(outcome.right for outcome in self.outcomes)

    @property
    def tally(self) -> dict[str, int]:
        """Return the cases of all parts, the single answers, and the cases that differ from the catalogue."""
        every = [outcome.comparison for outcome in self.outcomes]
        return {
            "cases": sum(findings.cases for findings in every),
            "answers": sum(findings.numbers for findings in every),
            "different": sum(findings.different for findings in every),
        }

    @property
    def verdict(self) -> str:
        """Return the report in a sentence."""
        cases, answers, different = self.tally.values()
        failed = sum(bool(outcome.failed) for outcome in self.outcomes)
        words = f"{_many(different, 'difference')} in {_many(cases, 'case')} and {_many(answers, 'answer')}"
        return words + (f"; {_many(failed, 'part')} without answers" if failed else "")

    @property
    def reason(self) -> str | None:
        """Return the reason why it is not right: the first difference, or the first part without answers."""
        for outcome in self.outcomes:
            if outcome.failed:
                return f"{outcome.part.name}: {outcome.failed}"
            for difference in outcome.comparison.differences:
                return f"{outcome.part.name}: {difference.case}: {difference.message}"
        return None

    def data(self) -> dict[str, Any]:
        """Return the report as JSON."""
        parts = [outcome.data() for outcome in self.outcomes]
        data = {"answer": self.right, "device": dict(self.device), **self.tally, "parts": parts}
        if self.right:
            return data
        witnesses = (d.witness for outcome in self.outcomes for d in outcome.comparison.differences)
        first = next(witnesses, None)
        return data | {"reason": self.reason, "witness": None if first is None else dict(first)}

    def text(self) -> str:
        """Return the report for a terminal."""
        width = max([len(outcome.part.name) for outcome in self.outcomes] or [0])
        head = ", ".join(f"{key} {value}" for key, value in self.device.items())
        lines = [line for outcome in self.outcomes for line in outcome.lines(width)]
        return "\n".join([head, "", *lines, "", self.verdict])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + "s" * (count != 1)


# -- the device ------------------------------------------------------------------------------------


def described(gpu: Gpu) -> dict[str, Any]:
    """Return a device's name and driver, the versions of the packages that reach it, and the day."""
    return {
        "name": gpu.name,
        "capability": ".".join(map(str, gpu.capability)),
        "driver": _driver(),
        "NVRTC": ".".join(map(str, package("cuda.bindings.nvrtc").nvrtcVersion()[1:])),
        **{name: _version(name) for name in PACKAGES},
        "Python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _driver() -> str:
    """Return the kernel's driver, if NVML knows it, and its CUDA version."""
    _, speaks = package("cuda.bindings.driver").cuDriverGetVersion()
    cuda = f"CUDA {speaks // 1000}.{speaks % 1000 // 10}"
    try:
        kernel = package("cuda.core.system").get_kernel_mode_driver_version()
    except Exception:  # no NVML: the binding raises its own exceptions
        return cuda
    return ".".join(f"{number:02}" for number in kernel) + f", {cuda}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
