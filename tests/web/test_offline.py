"""The explorer in one file, opened from the disk: it works, asks for nothing, and its policy holds."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.web.chromium import Page

from tilewise import parse
from tilewise.core.errors import LayoutError
from tilewise.pictures.address import fragment
from tilewise.pictures.paper import html
from tilewise.pictures.paper.compose import drawing_of
from tilewise.pictures.paper.html import html_of
from tilewise.pictures.scene.build import document_of

TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"


def page_of(expression: str, dtype: str | None = None, **fields: str) -> str:
    drawing = drawing_of(document_of(parse(expression), dtype=dtype))
    return html_of(fragment(expression, dtype, **fields), drawing)


class Parts(HTMLParser):
    """The elements of a page, and the texts of its scripts and sheets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in self.texts and data.strip():
            self.texts[self.tags[-1][0]].append(data)


def test_the_policy_names_each_script_and_sheet():
    parts = Parts(page_of(TILE, "bf16"))
    policies = [attributes["content"] for tag, attributes in parts.tags if "http-equiv" in attributes]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; ")
    assert "unsafe" not in policies[0]
    named = set(re.findall(r"'(sha256-[^']+)'", policies[0]))
    own = [text for texts in parts.texts.values() for text in texts]
    assert named == {f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}" for text in own}


def test_it_refers_to_no_other_file():
    parts = Parts(page_of(TILE, "bf16"))
    links = [
        value
        for _, attributes in parts.tags
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action")
    ]
    assert links == ["data:,"]


def test_it_is_small_and_the_same_every_time():
    page = page_of(TILE, "bf16")
    assert len(page.encode()) < 305_000
    assert page == page_of(TILE, "bf16")


EXPLORER = "var a=1,b=2;export{a as mount,b};"
HARDWARE = 'import{b as c}from"./explorer.js";var a=c;export{a as calls};'


@pytest.fixture
def bundles(monkeypatch, tmp_path) -> Callable[[str, str], None]:
    """Puts two bundles in the place of the package's."""

    def put(explorer: str, hardware: str) -> None:
        (tmp_path / "web").mkdir(exist_ok=True)
        (tmp_path / "web/explorer.js").write_text(explorer)
        (tmp_path / "web/hardware.js").write_text(hardware)
        monkeypatch.setattr(html, "files", lambda package: tmp_path)

    return put


def test_two_bundles_are_one_script(bundles):
    bundles(EXPLORER, HARDWARE)
    joined = html.ending_with_hardware("mount", "{}();")
    assert joined == "var a=1,b=2;((c)=>{var a=c;})(b);a();"


@pytest.mark.parametrize(
    ("explorer", "hardware"),
    [
        ("var a=1,b=2;export{a as render,b};", HARDWARE),
        ("var a=1,b=2;export{a as mount};", HARDWARE),
        ("var a=1,b=2;", HARDWARE),
        ("var a=1,b=2;export{a as mount,b as};", HARDWARE),
        (EXPLORER, "var a=1;export{a as calls};"),
        (EXPLORER, HARDWARE.replace("./explorer.js", "./other.js")),
        (EXPLORER, HARDWARE.replace("b as c", "*as c")),
        (EXPLORER, HARDWARE.replace(";var", ";import{b as d}from'./explorer.js';var")),
        (EXPLORER, 'import{b as c}from"./explorer.js";var a=c;'),
    ],
    ids=["mount", "import", "exports", "names", "imports", "file", "star", "two", "end"],
)
def test_bundles_that_do_not_fit_are_refused(bundles, explorer: str, hardware: str):
    bundles(explorer, hardware)
    with pytest.raises(LayoutError, match=r"TW402: .* in this package"):
        page_of(TILE)


def test_calls_are_read_from_the_disk(page: Page, tmp_path: Path):
    file = tmp_path / "x.html"
    file.write_text(page_of("S[(8, 8) : (8, 1)]"), encoding="utf-8")
    page.open(file.as_uri() + "#1&p=descriptor")
    page.settle()
    assert "descriptor.B: 128B mode" in page.text(".beside")
    page.open(file.as_uri() + "#1&e=wgmma.D(f32,n=64)")
    page.wait("document.title == 'wgmma.D(f32, n=64)'")
    page.settle()
    assert not page.evaluate("document.querySelector('.stale')")


def test_it_works_from_the_disk(page: Page, tmp_path: Path):
    file = tmp_path / "a tile.html"
    file.write_text(page_of(TILE, "bf16"), encoding="utf-8")
    page.open(file.as_uri())
    page.settle()
    assert page.evaluate("document.querySelector('#expression').value") == TILE
    assert page.evaluate("document.title") == TILE
    assert page.evaluate("document.querySelectorAll('.picture *').length") > 0
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_what_it_shows_can_be_edited_and_its_address_followed(page: Page, tmp_path: Path):
    file = tmp_path / "x.html"
    file.write_text(page_of("S[(8, 8) : (8, 1)]"), encoding="utf-8")
    page.open(file.as_uri() + "#1&e=S[(4,4):(1,4)]")
    page.wait("document.title == 'S[(4, 4) : (1, 4)]'")
    page.evaluate("document.querySelector('#expression').select()")
    page.type("S[(2, 2) : (2, 1)]")
    page.wait("document.title == 'S[(2, 2) : (2, 1)]'")


def test_the_policy_holds(page: Page, tmp_path: Path):
    file = tmp_path / "x.html"
    file.write_text(page_of("S[(8, 8) : (8, 1)]"), encoding="utf-8")
    page.open(file.as_uri())
    blocked = page.evaluate(
        """new Promise(done => {
            const found = [];
            addEventListener("securitypolicyviolation", event => found.push(event.effectiveDirective));
            const script = document.createElement("script");
            try { script.textContent = "window.planted = 1"; document.body.append(script); } catch { }
            fetch("http://127.0.0.1:9/").catch(() => {});
            setTimeout(() => done([found, typeof planted]), 200);
        })"""
    )
    assert blocked[1] == "undefined"
    assert {"connect-src"} <= set(blocked[0])
    assert page.forgive()


def test_hostile_states_stay_text(page: Page, tmp_path: Path):
    file = tmp_path / "x.html"
    drawing = drawing_of(document_of(parse("S[4 : 1]"), title='"></title><script>planted = 1</script>'))
    state = '#1&e="><img src=x onerror=planted=1></script><script>planted=1</script>'
    file.write_text(html_of(state, drawing), encoding="utf-8")
    page.open(file.as_uri())
    page.settle()
    assert page.evaluate("typeof planted") == "undefined"


def test_without_scripts_the_picture_is_there(page: Page, tmp_path: Path):
    file = tmp_path / "x.html"
    file.write_text(page_of("S[(8, 8) : (8, 1)]"), encoding="utf-8")
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(file.as_uri())
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert page.evaluate("document.querySelector('svg title').textContent") == "S[(8, 8) : (8, 1)]"
    fill = page.evaluate("getComputedStyle(document.querySelector('svg .c0')).fill")
    assert fill == "rgb(251, 194, 103)"
