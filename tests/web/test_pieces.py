"""What is made in pieces is Python's as well, where pieces end too: scenes, and their colours."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.web.chromium import Page
from tests.web.golden_scenes import STORAGE, Asked, answered
from tests.web.test_component import DRAWN, address, blank
from tests.web.test_golden_scenes import CHECK

from tilewise.show.paper.palette import LIGHT
from tilewise.show.scene.cells import Places, located
from tilewise.show.scene.model import Scene
from tilewise.show.scene.read import document_from

__all__ = ["address", "blank"]

LARGE: dict[str, Asked] = {
    "columns": {"e": "S[(320, 300) : (1, 320)]"},
    "copies that meet": {"e": "S[(200, 250) : (250, 1)] + R[3 : 25000]"},
    "a window": {"e": "S[(1000, 1000) : (1000, 1)]", "window": [[100, 400], [50, 350]]},
    "many holes": {"e": "S[(300, 300) : (100003, 7)]"},
    "far apart on two axes": {"e": "S[(300, 300) : (100000000@m, 100000000@buf)]"},
    "swizzled": {"e": "Swizzle<3,4,3> o S[(512, 192) : (192, 1)]", "dtype": "u8"},
    "counted": {"e": "S[(512, 192) : (192, 1)]", "dtype": "u8", "access": "row:16B"},
}
"""Each has more places than a piece, 65,536, and no multiple of it."""
PAINTED = (("columns", 0), ("columns", 1), ("copies that meet", 0), ("copies that meet", 1), ("a window", 0))
"""Panels of which every cell has a pixel."""
SAMPLES = 500


@pytest.fixture(scope="module")
def large() -> dict[str, Asked]:
    return {name: answered(asked) for name, asked in LARGE.items()}


def test_scenes_of_several_pieces(page: Page, large: dict[str, Asked]):
    page.evaluate(CHECK.read_text() + ";0")
    for name, case in large.items():
        assert len(next(iter(case["document"]["scenes"][0]["places"].values()))) > 1 << 16
        asked = {"storage": STORAGE, "cases": [case]}
        assert page.evaluate("asked => golden.sceneDifferences(asked)", asked, timeout=60) == [], name
    case = json.loads(json.dumps(large["columns"]))
    case["document"]["scenes"][0]["places"]["m"][70_000] += 1
    asked = {"storage": STORAGE, "cases": [case]}
    assert page.evaluate("asked => golden.sceneDifferences(asked)", asked, timeout=60)


PIXELS = """(at, cells) => {
    const canvas = grids()[at].children[0];
    const context = canvas.getContext("2d");
    return cells.map(([across, down]) => {
        const [x, y] = [Math.floor(across * canvas.width), Math.floor(down * canvas.height)];
        const [red, green, blue] = context.getImageData(x, y, 1, 1).data;
        return `#${[red, green, blue].map(part => part.toString(16).padStart(2, "0")).join("")}`;
    });
}"""


def test_colours_of_several_pieces(blank: Page, large: dict[str, Asked]):
    for name, at in PAINTED:
        document = large[name]["document"]
        blank.evaluate("given => { window.end?.(); show(given); }", {"document": document})
        blank.wait(DRAWN, timeout=30)
        (scene,) = document_from(document).scenes
        middles, wanted = sampled(scene, at)
        assert blank.evaluate(PIXELS, at, middles) == wanted, (name, at)


def sampled(scene: Scene, at: int) -> tuple[list[Any], list[str]]:
    """The middles of cells, in parts of the panel, and their colours: those of the first elements in them."""
    panel, places = scene.panels[at], Places(scene)
    assert panel.blocks == (1, 1)
    rows, columns = panel.cells
    found = located(places, panel)
    colours = np.full((rows, columns), -1)
    entries = np.arange(len(found.row))[::-1]  # the first entry of a cell is written last
    colours[found.row[entries], found.column[entries]] = places.colours[entries // scene.copies]
    rng = np.random.default_rng(at)
    cells = np.stack([rng.integers(0, rows, SAMPLES), rng.integers(0, columns, SAMPLES)], 1)
    middles = [[(int(column) + 0.5) / columns, (int(row) + 0.5) / rows] for row, column in cells]
    fills = [*LIGHT.fills, LIGHT.empty]
    return middles, [fills[colours[row, column]] for row, column in cells]
