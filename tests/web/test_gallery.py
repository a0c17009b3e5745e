"""The gallery of the docs shows what the explorer's presets show, and its links lead there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.web.chromium import Page

from tilewise import parse

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

from pictures import address_of, document_for, figure  # noqa: E402 - Sphinx has its extensions there

FIELDS = {"with": "e2", "dtype": "d", "access": "a", "shape": "s", "window": "w"}
BLOCK = re.compile(r"^```\{picture\} (.*)\n((?::.*\n)*)```$", re.MULTILINE)

PRESETS = """import("/explorer.js").then(({PRESETS}) => {
    const found = {};
    for (const preset of PRESETS) {
        let all = [[]];
        for (const {options} of preset.choices) all = all.flatMap(some => options.map(one => [...some, one]));
        for (const chosen of all) {
            const name = [preset.id, ...chosen.map(one => one.replace(/[ .]/g, "_"))].join(".");
            found[name] = preset.setting(chosen);
        }
    }
    return found;
})"""


def pictures() -> Iterator[tuple[str, dict[str, str]]]:
    for block in BLOCK.finditer((DOCS / "gallery.md").read_text(encoding="utf-8")):
        yield block[1], dict(re.findall(r"^:(\w+): (.*)$", block[2], re.MULTILINE))


@pytest.fixture(scope="module")
def shown() -> dict[str, tuple[str, dict[str, str]]]:
    """{preset: expression and options} of the gallery's pictures; one that has none is itself in its link."""
    return {
        options["preset"]: (expression, options) for expression, options in pictures() if "preset" in options
    }


def test_each_picture_is_what_its_preset_shows(shown, explorer: Page):
    presets = explorer.evaluate(PRESETS)
    for name, (expression, options) in shown.items():
        setting = {field: value for field, value in presets[name].items() if value}
        own = {"e": expression} | {field: options[name] for name, field in FIELDS.items() if name in options}
        for field in ("e", "e2"):
            if field in own:
                assert parse(own.pop(field)) == parse(setting.pop(field)), name
        assert own == setting, name


def test_every_preset_has_a_picture(shown, explorer: Page):
    presets = {name.split(".")[0] for name in explorer.evaluate(PRESETS)}
    assert {name.split(".")[0] for name in shown} == presets
    assert {
        name for name in explorer.evaluate(PRESETS) if name.startswith(("mesh", "scales"))
    } <= shown.keys()


def test_links_lead_to_the_preset(shown, explorer: Page, served: str):
    for name in ("conflict", "swizzle.swizzled", "mesh.shard_+_replica"):
        expression, options = shown[name]
        explorer.open(served + address_of(parse(expression), options))
        explorer.settle()
        typed = explorer.evaluate("document.querySelector('#expression').value")
        assert parse(typed) == parse(expression)


def test_links_without_a_preset_say_everything(explorer: Page, served: str):
    options = {
        "with": "Swizzle<3,0,3> o S[(8, 8) : (8, 1)]",
        "dtype": "b128",
        "access": "col:16B",
        "step": "2",
    }
    address = address_of(parse("S[(8, 8) : (8, 1)]"), options)
    explorer.open(served + address)
    explorer.wait("document.querySelector('#beside').value != ''")
    assert explorer.evaluate("document.querySelector('#beside').value") == options["with"]
    explorer.wait("location.hash.includes('d=b128&a=col:16B&c=2')")


def test_figures_are_sound():
    for number, (expression, options) in enumerate(pictures()):
        html = figure(expression, options, number)
        root = ElementTree.fromstring(html)
        assert [element.attrib["href"][:10] for element in root.iter("a")] == ["try.html#1"]
        assert options["caption"] in "".join(root.itertext())


@pytest.mark.parametrize("width", [350, 800])
def test_no_figure_scrolls_sideways(page: Page, width: int):
    """On a narrow page another drawing is seen, one of the two in any case."""
    styles = (DOCS / "static/tilewise.css").read_text(encoding="utf-8")
    figures = "".join(figure(*picture, number) for number, picture in enumerate(pictures()))
    page.resize(width, 800)
    page.evaluate(
        "html => { document.documentElement.innerHTML = html; }",
        f"<style>{styles} body, figure {{ margin: 0 }}</style>{figures}",
    )
    seen = """[...document.querySelectorAll(".scene")].map(one => [
        one.scrollWidth <= one.clientWidth,
        [...one.querySelectorAll("svg")].map(svg => svg.checkVisibility())])"""
    wide = width > 700
    found = page.evaluate(seen)
    assert len(found) > 12
    assert all(one == [True, [wide, not wide]] for one in found)


def test_a_picture_alone_is_its_index():
    (scene,) = document_for(parse("S[(8, 8) : (8, 1)]"), {}).scenes
    assert [panel.kind for panel in scene.panels] == ["index"]


def test_hostile_captions_are_text():
    html = figure("S[4 : 1]", {"caption": "<script>alert(1)</script> & more"})
    assert "<script" not in html
    ElementTree.fromstring(html)
