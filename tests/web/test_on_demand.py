"""The page loads `hardware.js` when it needs something that only that knows, and not before."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread

import pytest
from tests.web.chromium import Page

from tilewise.pictures.server import File, Server, files

HARDWARE = "/hardware.js"
PATIENCE = 20.0
"""Seconds that the server keeps `hardware.js` back at most."""


class Told(dict[str, File]):
    """The files of a server, with all requests; `hardware.js` waits for `let_go`, or is not there."""

    def __init__(self) -> None:
        super().__init__(files())
        self.asked: list[str] = []
        self.let_go = Event()
        self.let_go.set()
        self.is_missing = False

    def get(self, path: str, default: File | None = None) -> File | None:  # type: ignore[override]
        self.asked.append(path)
        if path != HARDWARE:
            return super().get(path, default)
        self.let_go.wait(PATIENCE)
        return None if self.is_missing else self[path]

    @property
    def times(self) -> int:
        """Return the number of requests for `hardware.js`."""
        return self.asked.count(HARDWARE)


class Served(Server):
    """An explorer that keeps the paths of its requests."""

    pages: Told

    def __init__(self) -> None:
        super().__init__(0)
        self.pages = Told()


@pytest.fixture
def serving() -> Iterator[Served]:
    with Served() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.pages.let_go.set()
        server.shutdown()


def at(page: Page, serving: Served, asked: str = "") -> Page:
    page.open(serving.address + asked)
    page.settle()
    return page


def typed(page: Page, text: str, field: str = "#expression") -> None:
    """A key at a time, over what stood there."""
    page.evaluate("s => { const one = document.querySelector(s); one.focus(); one.select(); }", field)
    for letter in text:
        page.type(letter)


def pasted(page: Page, text: str, field: str = "#expression") -> None:
    page.evaluate("s => { const one = document.querySelector(s); one.focus(); one.select(); }", field)
    page.type(text)


def test_it_is_not_part_of_the_page_s_start(page: Page, serving: Served):
    at(page, serving)
    assert {"/", "/page.css", "/page.js", "/explorer.js"} <= set(serving.pages.asked)
    assert serving.pages.times == 0


@pytest.mark.parametrize(
    "text",
    [
        "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
        "SWIZZLE_128B(bf16) o S[(8, 64) : (64, 1)]",
        "S[8 : 8] + R[2 : 4@laneid] - 1@m",
        "R[2 : 8] + S[8]",
        "O[3] o Sw<1,1,1> o S[8]",
        "Sw<3,4,3> o _0 o ((8,2),8):((8,64),1)",
        "(_8,_8):(_8,_1)",
        " S [8]",
        "Swizzle(1, 1, 1) o S[8]",
    ],
)
def test_a_plain_layout_never_loads_it(page: Page, serving: Served, text: str):
    at(page, serving)
    typed(page, text)
    page.settle()
    assert serving.pages.times == 0


@pytest.mark.parametrize(
    "access",
    [
        "row:16B",
        "col:4B@st",
        "ldmatrix.x2.trans",
        "stmatrix.x1",
        "S[(8, 8) : (8, 1)]",
        "Swizzle<1,1,1> o S[8]",
        "(8,4):(4,1)",
    ],
)
def test_neither_does_what_lanes_ask_of_a_tile(page: Page, serving: Served, access: str):
    at(page, serving, "#1&e=S[(16,16):(16,1)]&d=f16")
    typed(page, access, "#control-a")
    page.settle()
    assert "wavefront" in page.text(".beside") or page.text("#controls-fault")
    assert serving.pages.times == 0


PLAIN = ("tiles", "mesh", "scales", "conflict", "swizzle", "atoms", "ldmatrix", "transpose", "pitch")


def test_neither_do_presets_of_layouts(page: Page, serving: Served):
    at(page, serving)
    for name in PLAIN:
        page.click(f"[data-preset={name}]")
        page.settle()
        assert not page.evaluate("document.querySelector('.stale')")
    assert serving.pages.times == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("w", "go on: wgmma.A, wgmma.D"),
        ("mma.", "go on: mma.A"),
        ("movm", "go on: movmatrix()"),
        ("wgmma.D(f32, n=6", "go on: wgmma.D(f32, n=64)"),
        ("WGMMA.D(f32, n=64)", "did you mean wgmma.D?"),
        ("ldmatrx(x4)", "did you mean ldmatrix?"),
        ("Ldmatrix", "did you mean ldmatrix?"),
        ("  wgmma.D(f32, n=64) + 1@wgid", ""),
        ("q", "TW0"),
    ],
)
def test_what_may_be_a_call_loads_it_once(page: Page, serving: Served, text: str, said: str):
    at(page, serving, "#1&e=S[8]")
    typed(page, text)
    page.settle()
    assert said in page.text("#expression-fault")
    assert bool(said) == bool(page.text("#expression-fault"))
    assert serving.pages.times == 1
    pasted(page, "wgmma.D(f32, n=8)")
    page.settle()
    assert not page.evaluate("document.querySelector('.stale')")
    assert serving.pages.times == 1


@pytest.mark.parametrize(
    ("e", "dtype", "access", "said"),
    [
        ("Swizzle<3,3,3>~o~S[(64,64):(64,1)]", "bf16", "descriptor.A", "descriptor.A: 128B mode"),
        ("Swizzle<3,3,3>~o~S[(64,64):(64,1)]", "bf16", "descriptor.B:tcgen05", "4 tcgen05.mma of kind::f16"),
        ("Swizzle<3,3,3>~o~S[(64,64):(64,1)]", "bf16", "boxes", "SWIZZLE_128B, 1 box of 8192 bytes"),
        ("Swizzle<3,3,3>~o~S[(64,64):(64,1)]", "bf16", "tma", "tma: 64 wavefronts, ideal 64"),
        ("S[(16,16):(16,1)]", "f16", "mma.A:m16n8k16", "mma.A:m16n8k16:4B"),
        ("S[(8,8):(8,1)]", "f32", "S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]", ":8B: 2 wavefronts"),
        ("S[(16,16):(16,1)]", "f16", "ldmatrix(x4)", "a fragment has rows and columns"),
    ],
)
def test_what_engines_ask_loads_it(page: Page, serving: Served, e: str, dtype: str, access: str, said: str):
    at(page, serving, f"#1&e={e}&d={dtype}")
    assert serving.pages.times == 0
    pasted(page, access, "#control-a")
    page.settle()
    assert said in page.text(".beside") + page.text("#controls-fault")
    assert serving.pages.times == 1


@pytest.mark.parametrize("asked", ["#1&p=descriptor", "#1&e=wgmma.D(f32,n=64)", "#1&e=S[8]&e2=movmatrix()"])
def test_an_address_loads_it_where_it_says_so(page: Page, serving: Served, asked: str):
    at(page, serving, asked)
    assert not page.evaluate("document.querySelector('.stale, .wrong')")
    assert page.evaluate("document.querySelectorAll('.picture > div').length") == 1
    assert serving.pages.times == 1


WATCHED = """window.changes = 0;
new MutationObserver(list => { window.changes += list.length; })
    .observe(document.querySelector(".picture > div").shadowRoot,
             { subtree: true, childList: true, attributes: true, characterData: true });"""
"""Counts the changes of the picture."""


def test_while_it_comes_the_picture_stays_and_nothing_is_wrong(page: Page, serving: Served):
    at(page, serving)
    page.evaluate(WATCHED)
    shown = page.evaluate("document.title")
    serving.pages.let_go.clear()
    typed(page, "wgmma.D(f32, n=64")
    page.wait("document.querySelector('.told').textContent === 'loading hardware.js'")
    assert page.evaluate("document.querySelector('.desk').ariaBusy") == "true"
    assert not page.evaluate("document.querySelector('.stale, .wrong, .field mark')")
    assert page.text("#expression-fault") == ""
    assert page.evaluate("document.title") == shown
    assert page.evaluate("window.changes") == 0
    assert page.evaluate("document.activeElement.id") == "expression"
    serving.pages.let_go.set()
    page.settle()
    assert page.text(".told") == ""
    assert page.evaluate("window.changes") == 0
    assert page.text("#expression-fault") == "go on: wgmma.D(f32, n=64)"
    assert page.text(".names code") == "wgmma.D(f32, n=64)"
    assert page.evaluate("document.activeElement.id") == "expression"
    page.type(")")
    page.settle()
    assert page.evaluate("document.title") == "wgmma.D(f32, n=64)"
    assert page.evaluate("window.changes") > 0
    assert serving.pages.times == 1


def test_what_is_typed_meanwhile_goes_first(page: Page, serving: Served):
    at(page, serving)
    serving.pages.let_go.clear()
    pasted(page, "wgmma.D(f32, n=64)")
    pasted(page, "S[(8, 8) : (1, 8)]")
    page.wait("document.title === 'S[(8, 8) : (1, 8)]'")
    assert page.evaluate("document.querySelector('.desk').ariaBusy") == "false"
    serving.pages.let_go.set()
    page.wait("import('./hardware.js')")
    page.settle()
    assert page.evaluate("document.title") == "S[(8, 8) : (1, 8)]"
    assert page.evaluate("document.querySelector('.names').childElementCount") == 0


def test_nothing_is_offered_to_who_has_left_the_field(page: Page, serving: Served):
    at(page, serving)
    serving.pages.let_go.clear()
    pasted(page, "wgmma")
    page.evaluate("document.querySelector('#control-d').focus()")
    serving.pages.let_go.set()
    page.settle()
    assert page.text("#expression-fault").startswith("go on: ")
    assert page.evaluate("document.querySelector('.names').childElementCount") == 0
    assert page.evaluate("document.activeElement.id") == "control-d"


def test_where_it_cannot_be_had_the_page_says_so_and_asks_again(page: Page, serving: Served):
    serving.pages.is_missing = True
    at(page, serving)
    pasted(page, "wgmma.D(f32, n=64)")
    page.settle()
    said = page.text("#expression-fault")
    assert "TW402 hardware.js could not be loaded, and wgmma.D may be of it" in said
    assert "is tilewise explore still running?" in said
    assert page.text(".field mark") == "wgmma.D"
    assert page.evaluate("document.querySelector('.stale') !== null")
    pasted(page, "S[(8, 8) : (1, 8)]")
    page.settle()
    assert not page.evaluate("document.querySelector('.stale, .wrong')")
    serving.pages.is_missing = False
    pasted(page, "wgmma.D(f32, n=64)")
    page.settle()
    assert page.evaluate("document.title") == "wgmma.D(f32, n=64)"
    assert not page.evaluate("document.querySelector('.stale, .wrong')")
    assert all("404" in error for error in page.forgive())


def test_an_access_that_needs_it_is_left_out_and_said_where_it_cannot_be_had(page: Page, serving: Served):
    serving.pages.is_missing = True
    at(page, serving, "#1&p=descriptor")
    assert "hardware.js could not be loaded, and 'descriptor.B' may be of it" in page.text("#controls-fault")
    assert page.evaluate("document.querySelectorAll('.picture > div').length") == 1
    assert page.evaluate("document.querySelector('#control-a').value") == "descriptor.B"
    assert all("404" in error for error in page.forgive())
