"""Write what a device said to `tilewise verify` as the record that the tests hold the catalogue to.

    tilewise verify --state answers
    python -m tools.record answers tests/hardware/truth

Of each family of parts one file, and `confirmed.json`: the catalogue's own table of what a device has
confirmed, for src/tilewise/hardware/catalog.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import Outcome
from tilewise.gpu.verify.truth import load, save
from tilewise.hardware.catalog.confirmed import ALL, Instances, Ways, confirmations, grouped


def main(words: Sequence[str] | None = None) -> int:
    """Record the answers that a run has left in its state folder; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("state", type=Path, help="the folder of `tilewise verify --state`")
    parser.add_argument("folder", type=Path, help="where the record is written")
    args = parser.parse_args(words)
    truths = [truth for path in sorted(args.state.glob("*.zip")) for truth in load(path)]
    pairs = [(PARTS[truth.part], truth) for truth in truths]
    outcomes = [Outcome(part, truth, part.compare(truth), 0.0) for part, truth in pairs]
    for path in record(outcomes, args.folder):
        print(path)
    return int(not outcomes)


def record(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write what the device said, one file a family, and the table of what it confirmed; return the files.

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
    """Return the catalogue's table with the device at each instance of which every part was right.

    A part confirms instances (`mma.A m16n8k16 f16`), or all of an entry at once (`mma.A`).
    """
    judged: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        for word in outcome.part.confirms:
            entry, _, instance = word.partition(" ")
            judged.setdefault(entry, {}).setdefault(instance, []).append(outcome)
    return {name: _ways(ways, judged.get(name, {})) for name, ways in table.items()}


def _ways(ways: Ways, judged: Mapping[str, Sequence[Outcome]]) -> Ways:
    """Return how an entry is confirmed, by the outcomes of each of its instances."""
    right = {name for name, outcomes in judged.items() if all(outcome.right for outcome in outcomes)}
    known = dict(ways)
    for device in sorted({device for outcomes in judged.values() for device in _devices(outcomes)}):
        those: Instances = (ways.get(device) or frozenset()) - judged.keys() | right
        if "" in judged:
            those = None if "" in right else frozenset()
        if those is None or those:
            known[device] = those
        else:
            known.pop(device, None)
    return known


def _devices(outcomes: Sequence[Outcome]) -> set[str]:
    """Return the devices that answered, as the table names them."""
    names = (str(outcome.truth.device["name"]) for outcome in outcomes if outcome.truth is not None)
    return {"device: " + name.removeprefix("NVIDIA ") for name in names}


def table_text(table: Mapping[str, Ways]) -> str:
    """Return the table as the file keeps it: an entry a line, or a line a text that lists instances."""
    rows = [f"  {json.dumps(name)}: {_ways_text(table[name])}" for name in sorted(table)]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _ways_text(ways: Ways) -> str:
    if all(instances is None for instances in ways.values()):
        return json.dumps([*ways])
    rows = [f"    {json.dumps(way)}: {_listed(instances)}" for way, instances in ways.items()]
    return "{\n" + ",\n".join(rows) + "\n  }"


def _listed(instances: Instances) -> str:
    if instances is None:
        return json.dumps(ALL)
    return "[\n" + ",\n".join(f"      {json.dumps(text)}" for text in grouped(instances)) + "\n    ]"


if __name__ == "__main__":
    raise SystemExit(main())
