"""A layout that shows itself in a notebook: small, kind to large ones, and nothing is loaded before."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from tests.interpreter import said

from tilewise import Layout, R, S, Swizzle, parse
from tilewise.core import layout as core_layout
from tilewise.pictures.paper.compose import glance
from tilewise.testing.strategies import layouts


def test_a_layout_shows_itself():
    layout = S[(8, 8) : (8, 1)]
    root = ElementTree.fromstring(layout._repr_svg_())
    assert root.find("{http://www.w3.org/2000/svg}title").text == str(layout)
    html = layout._repr_html_()
    assert html.startswith("<div ")
    assert "<script" not in html
    assert ElementTree.fromstring(html) is not None


@pytest.mark.parametrize(
    "layout",
    [
        S[(4096, 4096)],
        S[1 << 40 : 1],
        S[(1 << 20, 1 << 20) : (1, 1 << 20)],
        Swizzle(3, 3, 3) @ S[(128, 64)],
        S[4:1] + R[4096:4],
        S[(64, 64) : (1 << 30, 1)],
        parse("wgmma.D(f32, n=256)"),
    ],
    ids=["square", "line", "2^40", "tile", "copies", "far apart", "accumulator"],
)
def test_large_ones_stay_small(layout):
    svg = layout._repr_svg_()
    assert svg is not None
    assert len(svg) < 200_000
    ElementTree.fromstring(svg)


@pytest.mark.parametrize(
    "layout",
    [S[4:1] + R[1 << 30 : 4], S[(2, 2)] + (1 << 60), S[1 << 60 : 1 << 60]],
    ids=["copies", "far", "farther"],
)
def test_what_cannot_be_drawn_is_text(layout):
    assert layout._repr_svg_() is None
    assert layout._repr_html_() is None


@settings(max_examples=30)
@given(layouts(max_size=64))
def test_it_never_throws(layout):
    assert isinstance(glance(layout, "svg"), str | None)


def test_pictures_in_one_page_have_ids_of_their_own():
    first, second = S[(2, 4)]._repr_html_(), S[(4, 2)]._repr_html_()
    ids = [
        element.attrib["id"]
        for html in (first, second)
        for element in ElementTree.fromstring(html).iter()
        if "id" in element.attrib
    ]
    assert len(ids) == len(set(ids)) == 4


def test_nothing_is_loaded_before_it_is_asked_for():
    code = (
        "import sys; from tilewise import S; L = S[4]; repr(L)\n"
        "early = [name for name in sys.modules if name.startswith(('tilewise.pictures', 'numpy'))]\n"
        "assert not early, early\n"
        "assert L._repr_svg_().startswith('<svg')\n"
    )
    assert said(code) == ""


def test_without_a_drawer_there_is_no_picture(monkeypatch):
    monkeypatch.setattr(core_layout, "drawer", None)
    assert Layout._repr_svg_(S[4]) is None
