"""The page's scenes are Python's, number for number and word for word."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.web import golden_scenes
from tests.web import kept as kept_answers
from tests.web.chromium import Page

CHECK = Path(__file__).with_name("golden") / "check.js"


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    return kept_answers.answers(request, golden_scenes)


def test_python_says_so(golden: dict[str, Any]):
    fresh = json.loads(json.dumps(golden_scenes.golden()))
    for kept, made in zip(golden["cases"], fresh["cases"], strict=True):
        assert kept == made, "write them anew with --update-goldens"


def test_there_is_something_of_everything(golden: dict[str, Any]):
    scenes = [scene for case in golden["cases"] for scene in case.get("document", {}).get("scenes", [])]
    kinds = [panel["kind"] for scene in scenes for panel in scene["panels"]]
    wanted = {"index": 150, "memory": 100, "registers": 20, "tensor memory": 5, "mesh": 10, "places": 5}
    assert {kind: kinds.count(kind) for kind in wanted if kinds.count(kind) < wanted[kind]} == {}
    seen = {
        "copies": sum(scene["copies"] > 1 for scene in scenes),
        "slots": sum(panel["slots"] > 1 for scene in scenes for panel in scene["panels"]),
        "wide elements": sum(panel["width"] > 1 for scene in scenes for panel in scene["panels"]),
        "blocks": sum(panel["blocks"] != [1, 1] for scene in scenes for panel in scene["panels"]),
        "wavefronts": sum(any(step["lanes"] for step in scene["steps"]) for scene in scenes),
        "hints": sum(any(note["kind"] == "hint" for note in scene["notes"]) for scene in scenes),
        "words": sum(bool(case.get("document", {}).get("words")) for case in golden["cases"]),
        "refusals": sum("refused" in case for case in golden["cases"]),
    }
    assert {what: count for what, count in seen.items() if count < 10} == {}


def test_the_file_is_small_and_its_bytes_are_its_contents(golden: dict[str, Any]):
    assert len(golden_scenes.GOLDEN.read_bytes()) < 300_000
    text = json.dumps(golden, separators=(",", ":"))
    assert gzip.decompress(golden_scenes.GOLDEN.read_bytes()) == text.encode()


def test_the_page_draws_the_same(page: Page, golden: dict[str, Any]):
    assert _differences(page, golden) == []


def test_a_difference_is_noticed(page: Page, golden: dict[str, Any]):
    drawn = [case for case in golden["cases"] if "document" in case][1]
    no = next(case for case in golden["cases"] if "refused" in case)
    scene = drawn["document"]["scenes"][0]

    def with_scene(**changed: Any) -> dict[str, Any]:
        return drawn | {"document": drawn["document"] | {"scenes": [scene | changed]}}

    moved = {axis: [*places[:-1], places[-1] + 1] for axis, places in scene["places"].items()}
    planted = [
        with_scene(places=moved),
        with_scene(panels=scene["panels"][:-1]),
        with_scene(title=scene["title"] + " "),
        with_scene(notes=[]),
        drawn | {"why": {"0": []}},
        drawn | {"e": no["e"]},
        no | {"access": "row"},
        {name: value for name, value in drawn.items() if name != "document"} | {"refused": ["TW001", "", ""]},
    ]
    found = [bool(_differences(page, golden | {"cases": [case]})) for case in planted]
    assert found == [True] * len(planted)


def _differences(page: Page, golden: dict[str, Any]) -> list[str]:
    page.evaluate(CHECK.read_text() + ";0")
    found: list[str] = page.evaluate("asked => golden.sceneDifferences(asked)", golden, timeout=120)
    return found
