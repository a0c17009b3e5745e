"""axe-core finds no fault in the explorer, in each of its states."""

from __future__ import annotations

import pytest
from tests.web.axe import axe
from tests.web.chromium import Page


def test_a_fault_is_noticed(page: Page):
    page.open("data:text/html,<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'><input></main>")
    assert {line.split(" ")[0] for line in axe(page)} == {"image-alt", "label"}


PARTS = 4
"""Every preset takes a second: workers share them."""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_preset(explorer: Page, dark: bool, part: int):
    """In the dark the colours alone are others."""
    explorer.media(dark=dark, still=True)
    presets = explorer.evaluate(
        "[...document.querySelectorAll('[data-preset]')].map(one => one.dataset.preset)"
    )
    assert len(presets) >= 12
    found = {}
    for preset in presets[part::PARTS]:
        explorer.click(f"[data-preset={preset}]")
        explorer.settle()
        found[preset] = axe(explorer, "color-contrast" if dark else "")
    assert {preset: faults for preset, faults in found.items() if faults} == {}


STATES = {
    "start": [],
    "narrow": ["narrow"],
    "help": ["?"],
    "copy": ["copy"],
    "table": ["t"],
    "wrong": ["type", "S[(8, 8) : (8, 1"],
    "wrong size": ["type", "S[(65536, 65536) : (65536, 1)]"],
    "names offered": ["type", "wgm"],
    "beside": ["beside"],
    "under the keys": ["panel", "ArrowRight"],
    "pinned": ["panel", "ArrowRight", "Enter"],
    "dark table": ["d", "t"],
    "dark help": ["d", "?"],
    "word": ["[data-preset=descriptor]", "]", "]"],
    "narrow word in the dark": ["narrow", "[data-preset=descriptor]", "d", "]"],
    "dark and wrong": ["d", "type", "S[(8, 8) : (8, 1"],
}


@pytest.mark.parametrize("acts", STATES.values(), ids=STATES)
def test_every_state(explorer: Page, acts: list[str]):
    explorer.media(still=True)
    explorer.evaluate("document.activeElement.blur()")
    for act in acts:
        do(explorer, act)
        explorer.settle()
    assert axe(explorer) == []


def do(page: Page, act: str) -> None:
    """A word for what a person does, a key, or a text for the field."""
    if act == "narrow":
        page.resize(390, 800, mobile=True)
    elif act == "copy":
        page.click("[aria-haspopup=menu]")
    elif act == "beside":
        page.click(".controls button")
    elif act == "panel":
        page.evaluate("document.querySelector('.picture > div').shadowRoot.querySelector('.grid').focus()")
    elif act == "type":
        page.press("/")
    elif act.startswith("[data"):
        page.click(act)
    elif act in ("?", "t", "d", "Enter", "]") or act.startswith("Arrow"):
        page.press(act)
    else:
        page.type(act)
