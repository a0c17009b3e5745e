"""The record of an H200's answers: every machine without a GPU holds the code to it, case after case.

`truth/` is written by `tools.record`, of the answers to `tilewise verify` on a Hopper GPU; `confirmed.json`,
written beside it, belongs to the catalogue. A record that is missing is a failure: without it nothing here
is known to be so.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import recorded_truth
from tilewise.gpu.verify.truth import load
from tilewise.hardware.catalog.confirmed import confirmations

TRUTH = Path(__file__).with_name("truth")
MOST_BYTES = 8 << 20

LEAST = {"fragments.d": 256, "fragments.a": 8, "tma.boxes": 500, "tma.rules": 1000}
LEAST |= {"mma.dense": 70, "mma.sparse": 900, "matrices.ldmatrix": 300, "matrices.stmatrix": 300}
"""Cases that a part has at least."""

LEAST_DESCRIPTORS = 5000


@pytest.fixture(scope="module", params=list(PARTS))
def truth(request):
    return recorded_truth(PARTS[request.param], TRUTH)


def test_the_device_did_what_the_catalogue_says(truth):
    found = PARTS[truth.part].compare(truth)
    assert found.different == 0, [difference.data() for difference in found.differences[:5]]
    assert found.cases == len(truth.cases) >= LEAST.get(truth.part, 1)


def test_a_record_with_one_other_answer_is_noticed(truth):
    """The comparison looks at every number: one that is changed anywhere is a difference."""
    rng = np.random.default_rng(len(truth.cases))
    few = _first_cases(truth, 200)
    for name, array in few.arrays.items():
        changed = array.copy()
        at = int(rng.integers(len(changed)))
        changed[at] = 0 if changed[at] else 1
        other = replace(few, arrays={**few.arrays, name: changed})
        assert PARTS[truth.part].compare(other).different == 1


def _first_cases(truth, count):
    cases = truth.cases[:count]
    length = sum(case["length"] for case in cases)
    return replace(truth, cases=cases, arrays={name: array[:length] for name, array in truth.arrays.items()})


def test_the_record_was_made_on_hopper(truth):
    assert truth.device["capability"] == "9.0"
    assert truth.device["name"]
    assert truth.device["driver"]
    assert truth.device["date"]


def test_the_cases_are_those_that_would_be_asked_today(truth):
    asked = PARTS[truth.part].cases()
    told = [{name: case[name] for name in row} for case, row in zip(truth.cases, asked, strict=True)]
    assert sorted(map(repr_of, told)) == sorted(map(repr_of, asked))


def repr_of(row):
    """A case as text; 1 and true are one number."""
    return repr([int(value) if isinstance(value, bool) else value for value in row.values()])


def test_enough_descriptors_were_asked():
    truths = [recorded_truth(part, TRUTH) for part in PARTS.values() if part.family == "descriptors"]
    assert sum(len(truth.cases) for truth in truths) >= LEAST_DESCRIPTORS


def test_the_record_is_small():
    assert sum(path.stat().st_size for path in TRUTH.iterdir()) <= MOST_BYTES


def test_nothing_is_recorded_that_no_part_compares():
    recorded = {truth.part for path in TRUTH.glob("*.zip") for truth in load(path)}
    assert recorded == set(PARTS)


def test_what_the_catalogue_says_a_device_confirmed_is_in_the_record():
    table, devices = confirmations(), {}
    for part in PARTS.values():
        name = recorded_truth(part, TRUTH).device["name"].removeprefix("NVIDIA ")
        for word in part.confirms:
            entry, _, instance = word.partition(" ")
            devices.setdefault(entry, {}).setdefault(f"device: {name}", set()).add(instance)
    for entry, ways in table.items():
        said = {way: {""} if those is None else those for way, those in ways.items() if "device: " in way}
        assert said == devices.get(entry, {}), entry
