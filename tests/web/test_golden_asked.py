"""The page's accesses, descriptors and boxes are Python's: addresses, turns, words and sentences."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.web import golden_asked
from tests.web import kept as kept_answers
from tests.web.chromium import Page

CHECK = Path(__file__).with_name("golden") / "check.js"


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    return kept_answers.answers(request, golden_asked)


PARTS = 16
"""Python answers for half a minute in all: workers share it."""


def test_python_is_asked_the_same(golden: dict[str, Any]):
    asked = golden_asked.all_questions()
    assert [(one["e"], one["dtype"], one["access"], one.get("base", 0)) for one in golden["cases"]] == asked


@pytest.mark.parts(2)
@pytest.mark.parametrize("part", range(PARTS))
def test_python_says_so(golden: dict[str, Any], part: int):
    cases = golden["cases"][part::PARTS]
    assert len(cases) > 100
    for kept in cases:
        made = golden_asked.answered(kept["e"], kept["dtype"], kept["access"], kept.get("base", 0))
        assert kept == json.loads(json.dumps(made)), "write them anew with --update-goldens"


def test_there_is_something_of_everything(golden: dict[str, Any]):
    yes, no = Counter[str](), Counter[str]()
    for case in golden["cases"]:
        (yes if case.get("steps") else no)[case["access"].split(":")[0]] += 1
    for access in ("descriptor.A", "descriptor.B"):
        assert yes[access] > 50, access
        assert no[access] > 10, access
    read = [case["access"] for case in golden["cases"] if case.get("steps")]
    for access, least in (("A:tcgen05", 30), ("B:tcgen05", 60), ("k96", 5), ("group2", 5), ("sparse", 5)):
        assert sum(access in one for one in read) > least, access
    assert yes["boxes"] > 50
    assert no["boxes"] > 30
    assert yes["tma"] > 50
    assert no["tma"] > 50
    assert all(yes[access] for access in ("wgmma.D", "wgmma.A", "mma.A", "mma.B", "mma.D"))
    said = " ".join(note for case in golden["cases"] if case.get("steps") for note in case["notes"])
    for words in ("no swizzle", "32B mode", "64B mode", "128B mode", "MN-major", "K-major", "SBO not read"):
        assert said.count(words) > 5, words
    for words in ("SWIZZLE_NONE", "SWIZZLE_32B", "SWIZZLE_64B", "SWIZZLE_128B", "1 box of", "2 boxes of"):
        assert said.count(words) > 1, words
    for words in ("128B_ATOM_32B mode", "LBO an address", "kind::mxf4nvf4", "kind::i8", "CTA of the pair"):
        assert said.count(words) > 1, words
    assert "base offset 2 as here" in said
    assert "serves 8 lanes in turn" in " ".join(str(case.get("steps")) for case in golden["cases"])


def test_the_page_says_the_same(page: Page, golden: dict[str, Any]):
    assert _differences(page, golden) == []


def test_a_difference_is_noticed(page: Page, golden: dict[str, Any]):
    told = next(case for case in golden["cases"] if case.get("encoded"))
    first, *others = told["steps"]
    changed = told["encoded"][0] | {"width": 63}
    planted = [
        told | {"all": [told["all"][0], 1]},
        told | {"name": "x"},
        told | {"notes": told["notes"][:1]},
        told | {"steps": others},
        told | {"steps": [[*first[:-1], 1], *others]},
        told | {"steps": [[first[0], first[1] + " ", *first[2:]], *others]},
        told | {"encoded": [changed, *told["encoded"][1:]]},
        told | {"base": 16},
        told | {"dtype": "f32"},
        told | {"refused": ["TW601", "no"]},
    ]
    found = [bool(_differences(page, {"cases": [case]})) for case in planted]
    assert found == [True] * len(planted)


def _differences(page: Page, golden: dict[str, Any]) -> list[str]:
    page.evaluate(CHECK.read_text() + ";0")
    found: list[str] = page.evaluate("asked => golden.askedDifferences(asked)", golden, timeout=120)
    return found
