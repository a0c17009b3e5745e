"""Part after part on a device: resumable, so that no answer is asked for twice, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.gpu.verify.part import Findings, Part
from tilewise.gpu.verify.truth import Truth, load, save
from tilewise.hardware.catalog.confirmed import Instances, Ways, confirmations, table_text

SAME_DEVICE = ("name", "driver")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part went."""

    part: Part
    truth: Truth | None
    comparison: Findings
    seconds: float
    failed: str = ""
    """Why the device gave no answers."""
    resumed: bool = False
    """Whether the answers are those of an earlier run."""

    @property
    def right(self) -> bool:
        """Whether the device answered, and as the catalogue says."""
        return not self.failed and not self.comparison.different

    def data(self) -> dict[str, Any]:
        """As JSON."""
        found = self.comparison
        return {
            "name": self.part.name,
            "title": self.part.title,
            "cases": found.cases,
            "answers": found.numbers,
            "different": found.different,
            "differences": [difference.data() for difference in found.differences],
            "covered": found.in_order(),
            "seconds": round(self.seconds, 1),
            "resumed": self.resumed,
            "failed": self.failed or None,
        }


def run(
    parts: Sequence[Part],
    device: Mapping[str, Any],
    *,
    state: Path,
    resume: bool = False,
    told: Callable[[Part, int, int], None] = lambda part, done, total: None,
) -> Iterator[Outcome]:
    """The outcome of each part, as soon as there is one.

    With `resume`, a part that has its answers in the folder `state`, of the same device and driver and to
    as many cases, is not asked again. What a device cannot answer is an outcome too, and the other parts
    go on.
    """
    state.mkdir(parents=True, exist_ok=True)
    for part in parts:
        begin = time.monotonic()
        kept = _kept(part, device, state) if resume else None
        truth, comparison, failed = kept, Findings(), ""
        try:
            if truth is None:
                truth = replace(part.measure(partial(told, part)), device=device)
                save(_file(part, state), [truth])
            comparison = part.compare(truth)
        except Exception as error:  # the bindings raise kinds of their own, and the other parts go on
            failed = f"{type(error).__name__}: {error}"
        yield Outcome(part, truth, comparison, time.monotonic() - begin, failed, kept is not None)


def recorded(parts: Sequence[Part], folder: Path) -> Iterator[Outcome]:
    """The outcome of each part by what a device has said before: no device is needed.

    requires       the folder holds a record of every part
    """
    for part in parts:
        begin = time.monotonic()
        truth = recorded_truth(part, folder)
        try:
            findings = part.compare(truth)
        except (KeyError, TypeError, ValueError) as error:
            hint = "tilewise verify --record writes a new one, on a GPU"
            raise LayoutError(
                "TW402", f"the record of {part.name} is an old one: {error}", hint=hint
            ) from error
        yield Outcome(part, truth, findings, time.monotonic() - begin, resumed=True)


def recorded_truth(part: Part, folder: Path) -> Truth:
    """What a device said to a part, out of the record of its family."""
    path = folder / f"{part.family}.zip"
    for truth in load(path, part.name):
        return truth
    raise LayoutError("TW402", f"{path.name} has no answers to {part.name}", hint="tilewise verify --record")


def _kept(part: Part, device: Mapping[str, Any], state: Path) -> Truth | None:
    path = _file(part, state)
    if not path.exists():
        return None
    (truth,) = load(path)
    same = all(truth.device.get(key) == device.get(key) for key in SAME_DEVICE)
    return truth if same and len(truth.cases) == part.size() else None


def _file(part: Part, state: Path) -> Path:
    return state / f"{part.name}.zip"


# -- the record ------------------------------------------------------------------------------------


def record(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write what the device said, one file a family, and the table of what it confirmed.

    Parts of an earlier record stay where no newer one has taken their place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    answered = sorted((o for o in outcomes if o.truth is not None), key=lambda o: o.part.name)
    written = []
    for family, group in groupby(answered, key=lambda outcome: outcome.part.family):
        path = folder / f"{family}.zip"
        truths = {truth.part: truth for truth in (load(path) if path.exists() else [])}
        truths |= {outcome.part.name: outcome.truth for outcome in group if outcome.truth is not None}
        save(path, [truths[name] for name in sorted(truths)])
        written.append(path)
    table = folder / "confirmed.json"
    table.write_text(table_text(confirmed(outcomes, confirmations())), encoding="utf-8")
    return [*written, table]


def confirmed(outcomes: Sequence[Outcome], table: Mapping[str, Ways]) -> dict[str, Ways]:
    """The catalogue's table with the device at each instance of which every part was right.

    A part confirms instances (`mma.A m16n8k16 f16`), or all of an entry at once (`mma.A`).
    """
    judged: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        for word in outcome.part.confirms:
            entry, _, instance = word.partition(" ")
            judged.setdefault(entry, {}).setdefault(instance, []).append(outcome)
    return {name: _ways(ways, judged.get(name, {})) for name, ways in table.items()}


def _ways(ways: Ways, judged: Mapping[str, Sequence[Outcome]]) -> Ways:
    right = {name for name, outcomes in judged.items() if all(outcome.right for outcome in outcomes)}
    found = dict(ways)
    for device in sorted({device for outcomes in judged.values() for device in _devices(outcomes)}):
        if "" in judged:
            those: Instances = None if "" in right else frozenset()
        else:
            those = (ways.get(device) or frozenset()) - judged.keys() | right
        if those is None or those:
            found[device] = those
        else:
            found.pop(device, None)
    return found


def _devices(outcomes: Sequence[Outcome]) -> set[str]:
    names = (str(outcome.truth.device["name"]) for outcome in outcomes if outcome.truth is not None)
    return {"device: " + name.removeprefix("NVIDIA ") for name in names}
