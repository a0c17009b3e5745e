"""The widget without a notebook: what goes to the page, what comes back, and what is refused of it.

The oracle is the layout itself, asked element by element.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interpreter import said
from tests.web.chromium import Page
from tests.web.conftest import browser, page, pages  # noqa: F401 - fixtures

from tilewise import LayoutError, R, S, gpuid_x, laneid, m, reg
from tilewise.notebook import THEMES, Explorer, Selected, explore
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.compare import compared
from tilewise.testing.strategies import layouts

FRAGMENT = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
MESH = S[(2, 4) : (4 @ m, 1 @ m)] + R[2 : 1 @ gpuid_x]


def from_page(widget: Explorer, **state: Any) -> None:
    """Set the state that a page sends, as JSON has it."""
    widget.set_state(json.loads(json.dumps(state)))


# -- what goes to the page -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"dtype": "f32"}, {"shape": (8, 8)}, {"dtype": "bf16", "access": "row:16B"}],
    ids=["plain", "dtype", "shape", "access"],
)
def test_the_document_is_the_scene_of_the_layout(options: dict[str, Any]):
    layout = S[(8, 64) : (64, 1)] if "access" in options else S[(8, 4, 2) : (8, 2, 1)]
    expected = document_of(layout, **options).as_dict()
    state = explore(layout, **options).get_state()
    assert state["document"] == expected
    assert json.loads(json.dumps(state["document"])) == json.loads(json.dumps(expected))
    assert (state["selection"], state["step"], state["theme"]) == ([], -1, "auto")


def test_two_layouts_are_side_by_side():
    other = S[(8, 4, 2) : (2 @ laneid, 16 @ laneid, 1 @ laneid)]
    assert explore(FRAGMENT, beside=other).document == compared(FRAGMENT, other, title="").as_dict()


def test_another_layout_takes_the_place_of_what_is_shown():
    widget = explore(S[(8, 64) : (64, 1)], dtype="bf16", access="col:2B")
    widget.selection, widget.step = [5, 300, FRAGMENT.size, 2], 3
    widget.look(FRAGMENT, shape=(8, 8))
    assert widget.document == document_of(FRAGMENT, shape=(8, 8)).as_dict()
    assert (widget.selection, widget.step) == ([5, 2], -1)
    assert [element.index for element in widget.selected] == [(0, 5), (0, 2)]


def test_what_cannot_be_shown_leaves_what_is_shown():
    widget = explore(FRAGMENT)
    widget.selection = [9]
    for layout, options in [(S[1 << 40], {}), (FRAGMENT, {"shape": (7, 9)}), (FRAGMENT, {"beside": MESH})]:
        with pytest.raises(LayoutError):
            widget.look(layout, **options)
    assert widget.document == document_of(FRAGMENT).as_dict()
    assert widget.selected == (Selected(9, (1, 0, 1), FRAGMENT.places(9)),)


def test_the_script_is_the_component_alone_as_a_default_export(page: Page):  # noqa: F811
    page.open("data:text/html,")
    names = page.evaluate(
        """text => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})))
            .then(it => [Object.keys(it), Object.keys(it.default), typeof it.default.render])""",
        Explorer(FRAGMENT).get_state()["_esm"],
    )
    assert names == [["default"], ["render"], "function"]


# -- what comes back -------------------------------------------------------------------------------


@given(layouts(max_size=64), st.data())
def test_what_is_clicked_is_there_with_index_and_places(layout, data: st.DataObject):
    widget = explore(layout)
    clicked = data.draw(st.lists(st.integers(0, layout.size - 1), max_size=5))
    from_page(widget, selection=clicked)
    once = sorted(set(clicked), key=clicked.index)
    assert widget.selection == once
    assert [element.flat for element in widget.selected] == once
    for element in widget.selected:
        assert layout.flat_index(*element.index) == element.flat
        assert element.places == layout.places(element.flat)
    widget.select(*(element.index for element in widget.selected))
    assert widget.selection == once


def test_copies_and_the_layout_beside():
    widget = explore(MESH, beside=S[(2, 4) : (1 @ laneid, 2 @ laneid)])
    from_page(widget, selection=[5])
    assert widget.selected == (
        Selected(5, (1, 1), (5 @ m + 0 @ gpuid_x, 5 @ m + 1 @ gpuid_x), (3 @ laneid,)),
    )


def test_steps_themes_and_options_come_back():
    widget = explore(S[(8, 64) : (64, 1)], dtype="bf16", access="col:2B")
    heard: list[Any] = []
    widget.observe(lambda change: heard.append((change.name, change.new)), ["step", "theme", "options"])
    from_page(widget, step=0, theme="dark", options={"table": True})
    assert sorted(heard, key=str) == [("options", {"table": True}), ("step", 0), ("theme", "dark")]


# -- what is refused of it -------------------------------------------------------------------------

HOSTILE = {
    "an element beyond": {"selection": [64]},
    "one before": {"selection": [0, -1]},
    "a huge one": {"selection": [10**300]},
    "a fraction": {"selection": [1.5]},
    "a float": {"selection": [1.0]},
    "a truth": {"selection": [True]},
    "a text": {"selection": ["<img src=x onerror=alert(1)>"]},
    "nothing": {"selection": [None]},
    "a list in it": {"selection": [[[[]]]]},
    "no list": {"selection": {"0": 1}},
    "a text for a list": {"selection": "__import__('os')"},
    "a step beyond": {"step": 1 << 40},
    "a step before": {"step": -2},
    "a step in words": {"step": "first"},
    "no such theme": {"theme": "<script>"},
    "a theme of a list": {"theme": ["dark"]},
    "another document": {"document": {"schema": 1, "kind": "tilewise.scene", "scenes": []}},
    "no document": {"document": None},
    "options of a text": {"options": "table"},
    "good and bad": {"theme": "dark", "selection": [3, 64]},
}


@pytest.mark.parametrize("state", HOSTILE.values(), ids=HOSTILE)
def test_what_a_page_must_not_send_changes_nothing(state: dict[str, Any]):
    from traitlets import TraitError

    widget = explore(FRAGMENT)
    widget.selection = [1, 2]
    before = {name: getattr(widget, name) for name in ("document", "selection", "step", "theme", "options")}
    with pytest.raises(TraitError):
        from_page(widget, **state)
    assert {name: getattr(widget, name) for name in before} == before


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("selection", [64], "TW201"),
        ("selection", [0.5], "TW101"),
        ("step", 2, "TW201"),
        ("theme", "blue", "TW401"),
        ("document", {}, "TW401"),
    ],
    ids=["element", "fraction", "step", "theme", "document"],
)
def test_python_is_told_why(name: str, value: Any, code: str):
    with pytest.raises(LayoutError) as caught:
        setattr(explore(FRAGMENT), name, value)
    assert caught.value.code == code
    assert caught.value.hint


def test_names_and_trash_that_a_page_invents_are_not_taken():
    widget = explore(FRAGMENT)
    from_page(widget, _layouts=1, invented=2, selected=3)
    assert not hasattr(widget, "invented")
    assert widget.selected == ()


def test_every_theme_is_taken():
    widget = explore(FRAGMENT)
    for theme in THEMES:
        widget.theme = theme


def test_without_anywidget_it_says_what_to_install():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "from tilewise import LayoutError\n"
        "try:\n    import tilewise.notebook\n"
        "except LayoutError as error:\n    print(error)\n"
    )
    text = said(code)
    assert text.startswith("TW403: the widget needs anywidget, which is not installed\n")
    assert "pip install 'tilewise[notebook]'" in text
