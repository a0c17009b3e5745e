"""The driver itself: what it says of a page is what the page does, and what goes wrong is noticed."""

from __future__ import annotations

import pytest
from tests.web.chromium import SHIFT, Browser, Hung, Page, PageError, _is_elsewhere, found

BLANK = "data:text/html,"
HEARING = """
    window.heard = [];
    for (const kind of ["mousemove", "mousedown", "mouseup", "click", "wheel", "keydown", "keyup"])
        addEventListener(kind, event => heard.push([kind, event.isTrusted, event.shiftKey, event.key ?? ""]));
"""


def test_what_is_evaluated(page: Page):
    page.open(BLANK + "<title>a page</title>")
    assert page.evaluate("document.title") == "a page"
    assert page.evaluate("(a, b) => [a, b]", {"__proto__": 1}, "\u2028\u202e\0") == [
        {"__proto__": 1},
        "\u2028\u202e\0",
    ]
    assert page.evaluate("new Promise(done => setTimeout(() => done(7), 1))") == 7
    with pytest.raises(PageError, match="ReferenceError: nothing is not defined"):
        page.evaluate("nothing")
    with pytest.raises(PageError, match="too late"):
        page.evaluate("Promise.reject(new Error('too late'))")


def test_a_page_that_hangs_is_left_and_the_browser_goes_on(browser: Browser, page: Page):
    with browser.page() as stuck, pytest.raises(Hung):
        stuck.evaluate("for (;;);", timeout=0.5)
    assert page.evaluate("1 + 1") == 2


def test_keys_and_buttons_are_those_of_a_person(page: Page):
    page.open(BLANK + "<body style='height:400px'><input autofocus>")
    page.evaluate(HEARING)
    page.click_at(200, 200, modifiers=SHIFT)
    page.wheel(200, 200, 100)
    page.press("?", "ArrowLeft", "Escape")
    page.wait("heard.some(([kind]) => kind == 'wheel')")
    heard = page.evaluate("heard")
    assert {kind for kind, *_ in heard} >= {"mousemove", "mousedown", "mouseup", "click", "wheel"}
    assert ["click", True, True, ""] in heard
    assert [key for kind, _, _, key in heard if kind == "keydown"] == ["?", "ArrowLeft", "Escape"]
    assert all(trusted for _, trusted, _, _ in heard)


def test_text_is_typed_and_pasted(page: Page):
    page.open(BLANK + "<input>")
    page.click("input")
    page.press("a", "b", "Backspace")
    page.type("Swizzle<3,3,3> ∘ é")
    assert page.evaluate("document.querySelector('input').value") == "aSwizzle<3,3,3> ∘ é"


def test_parts_in_a_shadow_are_found(page: Page):
    page.open(BLANK + "<div id=a></div>")
    page.evaluate(
        """document.querySelector("#a").attachShadow({mode: "open"})
            .append(document.createElement("button"));
        const button = document.querySelector("#a").shadowRoot.querySelector("button");
        button.onclick = () => { button.textContent = "y"; };"""
    )
    page.click("#a >>> button")
    assert page.text("#a >>> button") == "y"
    with pytest.raises(PageError, match="there is no i"):
        page.text("#a >>> i")


def test_how_it_looks(page: Page):
    page.open(BLANK + "<div style='height:3000px'>")
    page.resize(390, 700, scale=2)
    page.media(dark=True, still=True, printed=True)
    matching = "q => matchMedia(q).matches"
    assert page.evaluate("[innerWidth, devicePixelRatio]") == [390, 2]
    for query in ("(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)", "print"):
        assert page.evaluate(matching, query)
    page.media()
    assert page.evaluate(matching, "(prefers-color-scheme: light)")
    assert not page.evaluate(matching, "print")
    window, whole = page.screenshot(), page.screenshot(whole=True)
    sizes = [(int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) for png in (window, whole)]
    assert sizes[0] == (780, 1400)
    assert sizes[1][1] >= 6000


def test_what_a_page_says_is_kept(page: Page):
    page.evaluate("console.log('one', 2)")
    assert page.console == ["one 2"]


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("setTimeout(() => { throw new Error('planted') })", "planted"),
        ("Promise.reject(new Error('planted')), 1", "planted"),
        ("setTimeout(() => alert('planted')), 1", "a dialog: planted"),
        ("fetch('http://planted.example/').catch(String)", "asked for http://planted.example/"),
        ("new Image().src = 'http://192.0.2.1/'", "asked for http://192.0.2.1/"),
    ],
    ids=["exception", "promise", "dialog", "name", "address"],
)
def test_complaints_are_noticed(page: Page, code: str, complaint: str):
    page.open(BLANK)
    page.evaluate(code)
    page.settle()
    page.wait("new Promise(done => setTimeout(() => done(true), 50))")
    assert any(complaint in error for error in page.forgive())


def test_work_is_told_from_waiting(page: Page):
    page.worked()
    page.evaluate("new Promise(done => setTimeout(() => done(), 300))")
    waited = page.worked()
    page.evaluate("for (let i = 0; i < 3e8; i++);", timeout=120)
    assert page.worked() > 5 * waited


def test_pages_share_nothing(browser: Browser, page: Page):
    with browser.page() as other:
        other.evaluate("window.mine = 1")
        assert page.evaluate("typeof mine") == "undefined"


def test_what_is_elsewhere():
    here = ("http://127.0.0.1:8000/x", "http://localhost/", "http://[::1]:1/", "data:,x", "blob:http://a/b")
    assert not [url for url in here if _is_elsewhere(url)]
    assert all(map(_is_elsewhere, ("https://example.org/", "http://127.0.0.2/", "ws://192.0.2.1/")))


def test_the_browser_that_is_named_is_taken(monkeypatch):
    monkeypatch.setenv("TILEWISE_CHROMIUM", "/no/such/browser")
    assert found() is None
