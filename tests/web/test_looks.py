"""The page on narrow screens, in large letters, on paper, in the system's colours: nothing is lost."""

from __future__ import annotations

import pytest
from tests.web.chromium import Page

from tilewise.pictures.address import fragment

HELD = ("tiles", "conflict", "ldmatrix.swizzled")
"""One layout, two, and one with steps."""
SIDEWAYS = "width => document.documentElement.scrollWidth - width"
CUT = """width => [...document.querySelectorAll(".tools button, input, .gallery, .story p, .notes li")]
    .filter(one => one.getBoundingClientRect().right > width + 1)
    .map(one => one.outerHTML.slice(0, 60))"""


def look(page: Page, served: str, preset: str) -> None:
    page.open(f"{served}#1&p={preset}")
    page.settle()


@pytest.mark.parametrize("size", [16, 32], ids=["letters as they are", "twice as large"])
@pytest.mark.parametrize("width", [320, 390, 844])
def test_nothing_is_cut(explorer: Page, served: str, width: int, size: int):
    explorer.call("Page.setFontSizes", fontSizes={"standard": size})
    explorer.resize(width, 390, mobile=True)
    try:
        for preset in HELD:
            look(explorer, served, preset)
            found = explorer.evaluate(SIDEWAYS, width), explorer.evaluate(CUT, width)
            assert (preset, *found) == (preset, 0, [])
        letters = "parseFloat(getComputedStyle(document.querySelector('.story p')).fontSize)"
        assert explorer.evaluate(letters) == 15 * size / 16
    finally:
        explorer.call("Page.setFontSizes", fontSizes={"standard": 16})


@pytest.mark.parametrize("width", [390, 844, 1280])
@pytest.mark.parametrize("access", ["descriptor.B:tcgen05:k96", "S[(32, 8) : (1@e0, 1@e1)]"])
def test_an_access_is_seen_as_a_whole(explorer: Page, served: str, access: str, width: int):
    explorer.resize(width, 800, mobile=width < 800)
    tile, dtype = "Swizzle<3,5,3> o S[(64, (3, 256)) : (256, (16384, 1))]", "e2m1"
    explorer.open(served + fragment(tile, dtype, a=access))
    explorer.settle()
    hidden = (
        "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('#control-a'))"
    )
    assert explorer.evaluate(hidden) == 0
    assert explorer.evaluate(SIDEWAYS, width) == 0


def test_paper_is_light_and_has_no_tools(explorer: Page, served: str):
    """The print of a dark page is light, too."""
    explorer.media(dark=True, printed=True)
    look(explorer, served, "tiles")
    colours = """["html", ".tilewise", ".paper"]
        .map(one => getComputedStyle(document.querySelector(one)).backgroundColor)"""
    assert explorer.evaluate(colours) == ["rgb(255, 255, 255)"] * 3
    hidden = "one => !document.querySelector(one).checkVisibility()"
    assert all(explorer.evaluate(hidden, one) for one in (".tools", ".gallery", ".controls"))


def test_what_is_chosen_is_seen_in_the_colours_of_the_system(explorer: Page, served: str):
    explorer.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    look(explorer, served, "mma.B")
    colours = """(() => {
        const probe = document.createElement("p");
        probe.style = "forced-color-adjust: none; color: HighlightText; background: Highlight";
        document.body.append(probe);
        return [...document.querySelectorAll("[aria-pressed=true], [aria-current]"), probe]
            .map(one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor].join(" on "));
    })()"""
    chosen = explorer.evaluate(colours)
    assert len(chosen) == 3
    assert len(set(chosen)) == 1


def test_the_help_begins_at_its_title(explorer: Page):
    """Its button, which has the focus, is beside the title: a small screen shows the start of the list."""
    explorer.resize(390, 500, mobile=True)
    explorer.evaluate("document.activeElement.blur()")
    explorer.press("?")
    explorer.settle()
    assert explorer.evaluate("document.querySelector('.help').scrollTop") == 0
    assert explorer.evaluate("document.querySelector('.help').scrollHeight > innerHeight")
