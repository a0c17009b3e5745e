"""Texts of other systems in the page: its own server converts them; without one the page names a command."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest
from tests.web.chromium import CONTROL, Page

from tilewise.notation.dialects import DIALECTS
from tilewise.pictures.address import fragment
from tilewise.pictures.server import Server
from tilewise.questions.explore import converted

FIELD = "#expression"
TILED = "bf16[16,256]{1,0:T(8,128)(2,1)}"
CELLS = "document.querySelector('.picture > div').shadowRoot.textContent"


@pytest.fixture(scope="module")
def converting() -> Iterator[str]:
    with Server(0, convert=converted) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.address
        server.shutdown()


def says(page: Page, words: str) -> None:
    page.wait("words => document.querySelector('.tilewise').textContent.includes(words)", words, timeout=15)


def test_a_text_that_the_page_cannot_read_is_converted_by_its_server(page, converting):
    page.open(converting + fragment(TILED))
    says(page, "4096 elements")
    assert page.evaluate(f"document.querySelector('{FIELD}').getAttribute('aria-invalid')") == "false"
    assert page.evaluate("document.title") == TILED


@pytest.mark.parametrize("name", [name for name, dialect in DIALECTS.items() if dialect.reads])
def test_a_text_of_each_dialect_is_drawn(page, converting, name):
    given = next(given for given in DIALECTS[name].module.EXAMPLES if given.part is None and not given.let)
    shape = {"s": ",".join(map(str, given.shape))} if given.shape else {}
    page.open(converting + fragment(given.text, **shape))
    says(page, "elements at")
    assert page.evaluate(f"document.querySelector('{FIELD}').getAttribute('aria-invalid')") == "false"


def test_a_shape_comes_from_its_field_and_padding_is_noted(page, converting):
    page.open(converting + fragment("{1,0:T(8,128)}", s="10,130"))
    says(page, "the tensor is 10 x 130, and the layout is padded beyond it")


def test_a_refusal_of_the_server_is_shown_where_the_fault_is(page, converting):
    page.open(converting + fragment("f32[16,16]{1,0:T(8,x)}"))
    says(page, "expected a number, found 'x'")
    assert page.text(".under mark") == "x"


def test_what_is_typed_is_converted_when_the_typing_rests(page, converting):
    page.open(converting)
    page.click(FIELD)
    page.press("a", modifiers=CONTROL)
    page.type("f32[8,16]{0,1}")
    says(page, "128 elements")


def test_a_page_without_such_a_server_says_the_command(page, served):
    page.open(served + fragment(TILED))
    says(page, f"tilewise explore '{TILED}'")


def test_layouts_that_the_page_reads_are_not_sent(page, converting):
    page.open(converting + fragment("S[(8, 8) : (8, 1)]"))
    page.click(FIELD)
    page.type(" + 4")
    page.settle()
    assert (
        page.evaluate("performance.getEntriesByType('resource').filter(e => /convert/.test(e.name)).length")
        == 0
    )
