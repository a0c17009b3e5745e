"""The page's reader, evaluator and printers say what Python says, on 2,000 layouts and 600 faulty texts."""

from __future__ import annotations

import gzip
import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tests.web import golden_layouts
from tests.web import kept as kept_answers
from tests.web.chromium import Page

CHECK = Path(__file__).with_name("golden") / "check.js"
CHUNK = 200


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    return kept_answers.answers(request, golden_layouts)


@pytest.mark.slow
def test_python_says_so(golden: dict[str, Any]):
    for kept in golden["layouts"]:
        flats = [int(flat) for flat in kept["flats"]]
        assert golden_layouts.answers(kept["text"], flats) == kept, "write them anew with --update-goldens"
    for kept in golden["faulty"]:
        assert golden_layouts.refusal(kept["text"]) == kept, "write them anew with --update-goldens"


def test_there_is_something_of_everything(golden: dict[str, Any]):
    layouts, faulty = golden["layouts"], golden["faulty"]
    assert len(layouts) == golden_layouts.LAYOUTS
    assert len(faulty) == golden_layouts.FAULTY
    read = [golden_layouts.read(kept["text"]) for kept in layouts]
    seen = {
        "copies": sum((kept["copies"] or 1) > 1 for kept in layouts),
        "copies that coincide": sum(
            kept["copies"] is not None and kept["copies"] < prod(it.extent for it in layout.replica)
            for kept, layout in zip(layouts, read, strict=True)
        ),
        "swizzles": sum(bool(layout.swizzles) for layout in read),
        "chains": sum(len(layout.swizzles) > 1 for layout in read),
        "outer offsets": sum(bool(layout.outer) for layout in read),
        "several axes": sum(len(layout.axes) > 2 for layout in read),
        "nested": sum(any(isinstance(mode, tuple) for mode in layout.shape) for layout in read),
        "beyond 2^53": sum(isinstance(kept["size"], str) for kept in layouts),
        "said by CuTe": sum(kept["cute"] is not None for kept in layouts),
        "not said by CuTe": sum(kept["cute"] is None for kept in layouts),
        "decided ends": sum(None not in kept["extremes"] for kept in layouts),
    }
    assert {what: count for what, count in seen.items() if count < 50} == {}
    codes = {kept["code"] for kept in faulty}
    assert codes >= {f"TW00{n}" for n in range(1, 9)} | {"TW101", "TW102", "TW103", "TW104", "TW106", "TW107"}


def test_the_file_is_small_and_its_bytes_are_its_contents(golden: dict[str, Any]):
    assert len(golden_layouts.GOLDEN.read_bytes()) < 400_000
    text = json.dumps(golden, separators=(",", ":"))
    assert gzip.decompress(golden_layouts.GOLDEN.read_bytes()) == text.encode()


def test_the_page_says_the_same(page: Page, golden: dict[str, Any]):
    assert _differences(page, golden) == []


def test_a_difference_is_noticed(page: Page, golden: dict[str, Any]):
    layout, fault = golden["layouts"][3], golden["faulty"][3]
    planted: list[dict[str, Any]] = [
        layout | {"canonical": layout["canonical"] + " "},
        layout | {"points": layout["points"][::-1]},
        layout | {"extremes": [[0, 10**6]] * len(layout["axes"])},
        layout | {"copies": 77},
    ]
    faults = [fault | {"code": "TW999"}, fault | {"span": [0, 999]}, fault | {"text": "S[8 : 1]"}]
    found = _differences(page, golden | {"layouts": planted, "faulty": faults})
    assert len({line[-60:] for line in found}) >= len(planted) + len(faults), found


def _differences(page: Page, golden: dict[str, Any]) -> list[str]:
    """Return the answers of the page that differ; it gets the questions in portions."""
    page.evaluate(CHECK.read_text() + ";0")
    found: list[str] = []
    for kind in ("layouts", "faulty"):
        for first in range(0, len(golden[kind]), CHUNK):
            portion = {"layouts": [], "faulty": [], kind: golden[kind][first : first + CHUNK]}
            found += page.evaluate("asked => golden.differences(asked)", golden | portion, timeout=120)
    return found
