"""Scenes and colours that the page makes in pieces are Python's too, also where pieces end."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from tests.pictures.documents import document_from
from tests.web.chromium import Page
from tests.web.golden_scenes import STORAGE, Asked, answered
from tests.web.test_component import DRAWN, address, blank
from tests.web.test_golden_scenes import CHECK

from tilewise import S, Swizzle
from tilewise.pictures.paper.svg import LIGHT
from tilewise.pictures.scene.build import scene_of
from tilewise.pictures.scene.cells import Elements, located
from tilewise.pictures.scene.model import Document, Scene

__all__ = ["address", "blank"]

LARGE: dict[str, Asked] = {
    "columns": {"e": "S[(320, 300) : (1, 320)]"},
    "copies that meet": {"e": "S[(200, 250) : (250, 1)] + R[3 : 25000]"},
    "a window": {"e": "S[(1000, 1000) : (1000, 1)]", "window": [[100, 400], [50, 350]]},
    "many holes": {"e": "S[(300, 300) : (100003, 7)]"},
    "far apart on two axes": {"e": "S[(300, 300) : (100000000@m, 100000000@buf)]"},
    "far apart, and shared": {"e": "S[(300, 2, 150) : (100003000, 0, 7)]"},
    "far below": {"e": "S[(300, 300) : (-4294967296, 3)]"},
    "far apart on two axes, and shared": {"e": "S[(300, 150, 2) : (100000000@m, 100000000@buf, 0@m)]"},
    "swizzled": {"e": "Swizzle<3,4,3> o S[(512, 192) : (192, 1)]", "dtype": "u8"},
    "swizzled copies": {"e": "Swizzle<3,3,3> o (S[(512, 100) : (100, 1)] + R[3 : 8])"},
    "swizzled copies of an odd window": {
        "e": "Swizzle<3,3,3> o (S[(1000, 1000) : (1000, 1)] + R[2 : 8])",
        "window": [[7, 300], [11, 200]],
    },
    "swizzled copies on two axes": {
        "e": "Swizzle<3,3,3> o (S[(512, 100) : (100, 1)] + R[3 : 8@m + 1@gpuid_x])"
    },
    "swizzled far away": {"e": "Swizzle<3,3,3> o (S[(512, 192) : (192, 1)] + 4294967301)"},
    "swizzled far below": {"e": "Swizzle<4,2,-5> o (S[(512, 192) : (192, 1)] + -4294967301)"},
    "a far swizzle": {"e": "Swizzle<3,0,33> o Swizzle<2,1,4> o S[(512, 192) : (4294967296, 1)]"},
    "counted": {"e": "S[(512, 192) : (192, 1)]", "dtype": "u8", "access": "row:16B"},
}
"""Each has more places than a piece, 65,536, and no multiple of it."""
PAINTED = (("columns", 0), ("columns", 1), ("copies that meet", 0), ("a window", 0))
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


TAKEN = """e => Math.min(...Array.from({ length: 3 }, () => {
    const start = performance.now();
    golden.sceneDifferences({ storage: [], cases: [{ e }] });
    return performance.now() - start;
}))"""
"""Milliseconds in which a scene is made."""


def test_places_far_apart_are_soon_told_from_one_another(page: Page):
    """A map of all of them, which grew at once, took twenty times as long as near ones take."""
    page.evaluate(CHECK.read_text() + ";0")
    near, far = (page.evaluate(TAKEN, f"S[(1024, 1024) : (1, {step})]") for step in (1024, 1 << 32))
    assert far < 10 * near


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


CROWDED = {
    "rows share a pixel": Swizzle(2, 0, 3) @ S[(5000, 60) : (60, 1)],
    "columns share a pixel": Swizzle(3, 3, 3) @ S[(40, 5000) : (5000, 1)],
    "both do": Swizzle(3, 3, 3) @ S[(1000, 1000) : (1000, 1)],
}
"""Elements of all colours are smaller than a pixel."""
ALL_PIXELS = """() => {
    const { width, height } = grids()[0].children[0];
    const { data } = grids()[0].children[0].getContext("2d").getImageData(0, 0, width, height);
    return [width, height, btoa(Array.from(data, byte => String.fromCharCode(byte)).join(""))];
}"""


@pytest.mark.parametrize("name", CROWDED)
def test_cells_that_share_a_pixel_give_it_their_mean_colour(blank: Page, name: str):
    scene = scene_of(CROWDED[name])
    document = Document((scene,)).as_dict()
    blank.evaluate("given => show({ document: given })", document, timeout=60)
    blank.wait(DRAWN, timeout=30)
    width, height, data = blank.evaluate(f"({ALL_PIXELS})()")
    seen = np.frombuffer(b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3]
    rows, columns = scene.panels[0].cells
    fills = np.array([[int(fill[at : at + 2], 16) for at in (1, 3, 5)] for fill in LIGHT.fills])
    cells = fills[Elements(scene).colours.reshape(rows, columns)]
    wanted = shared(shared(cells, height, 0), width, 1)
    means = np.floor(wanted[..., :3] / wanted[..., 3:] + 0.5)
    assert np.array_equal(seen, means.astype(np.uint8))


def shared(cells: Any, pixels: int, direction: int) -> Any:
    """Sums over the cells of each pixel, and how many they are; a cell may have several pixels."""
    if cells.shape[2] == 3:
        cells = np.concatenate([cells, np.ones((*cells.shape[:2], 1), np.int64)], 2)
    many = cells.shape[direction]
    if many <= pixels:
        nearest = ((np.arange(pixels) + 0.5) * many / pixels).astype(int)
        return np.take(cells, nearest, direction)
    sums = np.zeros([pixels if at == direction else size for at, size in enumerate(cells.shape)], np.int64)
    owners = ((np.arange(many) + 0.5) * pixels / many).astype(int)
    np.add.at(sums, (slice(None),) * direction + (owners,), cells)
    return sums


def sampled(scene: Scene, at: int) -> tuple[list[Any], list[str]]:
    """The middles of cells, in parts of the panel, and their colours: those of the first elements in them."""
    panel, places = scene.panels[at], Elements(scene)
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
