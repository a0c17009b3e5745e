"""No text that a reader types, no link and no document runs code in the page, hangs it or breaks it.

A text that runs would set `canary`. Afterwards the page has to answer while a person would still wait;
the page's own complaints fail each test, as everywhere.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any
from urllib.parse import quote

import pytest
from tests.web.chromium import Page

WAITS = 5.0
"""Seconds of work after which a page counts as hung: so long a person waits."""

GIVES_UP = 90.0
"""Seconds after which the test counts it so, on a machine that has much else to do."""

SCRIPTS = [
    "<script>canary=1</script>",
    "<img src=x onerror=canary=1>",
    "<svg onload=canary=1>",
    '"><script>canary=1</script>',
    "' onfocus=canary=1 autofocus x='",
    "javascript:canary=1",
    "${canary=1}",
    "{{constructor.constructor('canary=1')()}}",
    "S[8 : 1@<svg/onload=canary=1>]",
    "S[8 : (() => canary = 1)()]",
    "S[`${canary = 1}`]",
    "];canary=1;//",
    "\\u003cscript>canary=1</script>",
    "</textarea><script>canary=1</script>",
    "</style><script>canary=1</script>",
    "<iframe srcdoc='<script>parent.canary=1</script>'>",
    "data:text/html,<script>canary=1</script>",
    "S[(8, 8) : (8, 1)]<!--",
    "wgmma.D(<img src=x onerror=canary=1>, n=64)",
    '{"__proto__": {"polluted": 1}}',
    '{"constructor": {"prototype": {"polluted": 1}}}',
]

SIZES = [
    "S[1048577]",
    "S[(65536, 65536) : (65536, 1)]",
    "S[(1048576, 1048576, 1048576) : (1, 1, 1)]",
    f"S[{'9' * 1000}]",
    f"S[{'9' * 1001}]",
    f"S[4 : {'9' * 999}]",
    f"S[4 : -{'9' * 999}@laneid]",
    "S[2 : 9007199254740993]",
    "S[(2, 2) : (9007199254740992, 1)]",
    "S[(1024, 1024) : (1024, 1)]",
    "S[(2, 2) : (1000000000, 1)]",
    "S[(1024, 1024) : (999999937, 1000000007@laneid)]",
    "S[(8, 8) : (1000003@laneid, 7@reg)]",
    "S[(8, 8) : (1@gpuid_x, 1000000@gpuid_y)]",
    "S[(4, 4) : (1@a + 1@b + 1@c + 1@d + 1@e + 1@f + 1@g + 1@h, 1@i)]",
    "S[4] + R[1000000000 : 1]",
    "S[1024] + R[1024 : 1] + R[1024 : 1@x]",
    f"S[({', '.join(['2'] * 1024)}) : ({', '.join(['1'] * 1024)})]",
    f"S[({', '.join(['1'] * 1024)}) : ({', '.join(['1'] * 1024)})]",
    "Swizzle<30,0,30> o S[(8, 8) : (8, 1)]",
    "Swizzle<1000000000,0,1000000000> o S[8]",
    "O[999999999999999999999@m] o Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
    "Swizzle<1,0,1> o " * 500 + "S[8]",
    "S[8] + 99999999999999999999999999999999@laneid",
    "wgmma.D(f32, n=99999999999999999999)",
]

DEEP = {
    "(": "(" * 9_000,
    "((1))": "S[" + "(" * 4_000 + "1" + ")" * 4_000 + "]",
    "[": "[" * 9_000,
    "+1": "S[8" + "+1" * 4_000 + "]",
    "-": "S[" + "-" * 9_000 + "1]",
    "1,": "S[" + "1," * 4_500 + "]",
    "digits": "S[" + "7" * 9_000 + "]",
    "spaces": " " * 9_999,
    "Swizzle<": "Swizzle<" * 1_000,
}

ODD = [
    "S[8 : 1@\u202egpu\u202c]",
    "S[8\u0000 : 1]",
    "S[8 : 1@\ud83d\ude00]",
    "S[８ : 1]",
    "S[8 : 1@ä́̂̃̄̅]",
    "\ufeffS[8]",
    "S[8\u2028:\u20291]",
    "S[8 : 1@\u200b]",
    "\ud800",
    "S[8 : 1@\u06f1]",
    "\u202e]1 : 8[S",
    "S[8 : 1@" + "e\u0301" * 2_000 + "]",
    "\x1b[31mS[8]",
]

NAMES = [
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "length",
    "__defineGetter__",
]


BORN = """
    window.canary = 0;
    window.names = () => Object.getOwnPropertyNames(Object.prototype).sort().join();
    window.born = names();
"""
STATE = """[
    canary,
    names() === born && ({}).polluted === undefined,
    document.querySelectorAll("#explorer :is(script, iframe, img, object)").length,
    document.querySelector("h1").textContent,
]"""


@pytest.fixture
def watched(page: Page, served: str) -> Page:
    """The explorer, with a canary in its cage, and Object as it was born."""
    page.first(BORN)
    page.open(served)
    return page


def unharmed(page: Page) -> None:
    """Nothing ran, nothing was polluted, and the page answers soon."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))", timeout=GIVES_UP)
    assert page.evaluate(STATE, timeout=GIVES_UP) == [0, True, 0, "tilewise"]
    assert page.worked() < WAITS


def wrong(page: Page) -> bool:
    """Return whether the page says that the expression is wrong."""
    return bool(page.evaluate("document.querySelector('.field').classList.contains('wrong')"))


def write(page: Page, text: str, field: str = "#expression") -> None:
    """The text stands in a field as if it had been typed, whatever its length and its signs."""
    page.evaluate(
        """(selector, text) => {
            const field = document.querySelector(selector);
            field.value = text;
            field.dispatchEvent(new Event("input", {bubbles: true}));
        }""",
        field,
        text,
        timeout=GIVES_UP,
    )


GROUPS = {"scripts": SCRIPTS, "sizes": SIZES, "deep": list(DEEP.values()), "odd": ODD}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_typed(watched: Page, group: str):
    for text in GROUPS[group]:
        write(watched, text)
        unharmed(watched)


@pytest.mark.parametrize("text", SCRIPTS[:4], ids=range(4))
def test_what_is_typed_by_keys(watched: Page, text: str):
    watched.click("#expression")
    watched.press("a", modifiers=2)
    watched.type(text)
    unharmed(watched)
    assert watched.evaluate("document.querySelector('#expression').value").endswith(text)


@pytest.mark.parametrize("field", ["#control-d", "#control-a", "#control-s", "#control-w"])
def test_what_is_typed_into_the_other_fields(watched: Page, field: str):
    others = [
        "9" * 200,
        "0:999999999999,0:999999999999",
        "8," * 99,
        "row:999999999B",
        "1:0,0:0",
        "NaN",
        "-1,-1",
    ]
    for text in [*SCRIPTS[:8], *others, *NAMES]:
        write(watched, text, field)
        unharmed(watched)


ENDLESS = {"nesting": "(", "sums": "S[8] + ", "digits": "9", "signs": "\u202e<"}


@pytest.mark.parametrize("piece", ENDLESS.values(), ids=ENDLESS)
def test_what_is_pasted_without_end(watched: Page, piece: str):
    """10 MB from the clipboard, of which the field takes so much as it may; and 100,000 past that limit."""
    watched.click("#expression")
    watched.type(piece * (10_000_000 // len(piece)))
    unharmed(watched)
    write(watched, piece * (100_000 // len(piece)))
    unharmed(watched)
    assert wrong(watched)
    write(watched, "S[(8, 8) : (8, 1)]")
    unharmed(watched)
    assert not wrong(watched)


@pytest.mark.parametrize("group", GROUPS)
def test_what_a_link_says(watched: Page, served: str, group: str):
    for text in GROUPS[group]:
        watched.open(f"{served}#1&e={quote(text, safe='', errors='replace')}", timeout=GIVES_UP)
        unharmed(watched)


BROKEN = [
    "#1&e=%",
    "#1&e=%ff%fe",
    "#1&e=%00",
    "#999&e=S[8]",
    "#-1&e=S[8]",
    "#1&__proto__=1&constructor=2",
    "#1&e=S[8]&e=S[9]",
    "#1&e=S[8]&i=0..999999999",
    "#1&e=S[8]&i=-5,1e9,,..",
    "#1&e=S[8]&c=999999999",
    "#1&e=S[8]&c=-1",
    "#1&e=S[8]&t=javascript:canary=1",
    "#1&p=__proto__",
    "#1&p=mesh.__proto__",
    "#1&p=constructor.constructor",
    "#1&e=S[8]&d=__proto__",
    "#1&e=S[8]&a=__proto__",
    "#1&e=S[8]&s=0",
    "#1&e=S[8]&w=0:0,0:0",
    "#1&e=S[(1024,1024)]&w=0:1024,0:1024",
    "#1&e=S[8]&e2=" + "(" * 5_000,
    "#" + "&" * 15_000,
    "#" + "1&e=S[8]" * 2_000,
    "#1&e=" + "a" * 200_000,
    "#<script>canary=1</script>",
    "#javascript:canary=1",
]


def test_what_broken_links_say(watched: Page, served: str):
    for link in BROKEN:
        watched.open(served + link, timeout=GIVES_UP)
        unharmed(watched)


def test_a_page_that_begins_with_a_broken_link(page: Page, served: str):
    page.first(BORN)
    for link in (*BROKEN[:6], BROKEN[-2], "#1&e=%3Cimg%20src%3Dx%20onerror%3Dcanary%3D1%3E"):
        page.open("about:blank")
        page.open(served + link, timeout=GIVES_UP)
        unharmed(page)


def test_axes_may_have_any_name(watched: Page):
    for name in NAMES:
        write(watched, f"S[(2, 4) : (1@{name}, 1@reg)]")
        unharmed(watched)
        assert not wrong(watched), name


# -- documents -------------------------------------------------------------------------------------

DRAW = """async text => {
    const { render } = await import("/explorer.js");
    const values = { document: JSON.parse(text), selection: [0], step: 0, theme: "auto", options: {} };
    const model = { get: name => values[name], set() {}, on() {}, off() {}, save_changes() {} };
    const el = document.createElement("div");
    document.body.append(el);
    const end = render({ model, el });
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const shown = el.firstElementChild?.shadowRoot?.querySelector(".scene, .fault")?.className ?? "";
    end();
    el.remove();
    return shown;
}"""


def document(**changes: Any) -> dict[str, Any]:
    """A small scene as JSON has it, with some of its parts replaced."""
    from tilewise import S
    from tilewise.pictures.scene.build import scene_of
    from tilewise.pictures.scene.model import Document

    whole = Document((scene_of(S[(2, 2) : (2, 1)]),)).as_dict()
    found: dict[str, Any] = json.loads(json.dumps(whole))
    found["scenes"][0] |= changes
    return found


def drawn(page: Page, value: Any) -> str:
    """The class of what the component shows for a document: a scene, or a fault."""
    text = value if isinstance(value, str) else json.dumps(value)
    return str(page.evaluate(DRAW, text, timeout=GIVES_UP))


def test_a_sound_document_is_drawn(watched: Page):
    assert drawn(watched, document()) == "scene"


def test_documents_that_are_none(watched: Page):
    deep = "[" * 5_000 + "]" * 5_000
    for text in ("null", "0", '"x"', "[]", "{}", '{"schema": 1}', deep, '{"__proto__": {"polluted": 1}}'):
        assert drawn(watched, text) == "fault"
        unharmed(watched)


@pytest.mark.parametrize("script", SCRIPTS[:6], ids=range(6))
def test_texts_of_documents_are_texts(watched: Page, script: str):
    value = document(title=script, expression=script, notes=[{"kind": script, "text": script}])
    value |= {"title": script, "words": script}
    scene = value["scenes"][0]
    scene["colour"]["words"] = script
    for panel in scene["panels"]:
        panel |= {"id": script, "kind": script, "title": script, "row_name": script, "column_name": script}
    assert drawn(watched, value) in ("scene", "fault")
    unharmed(watched)


def test_documents_with_faults_planted(watched: Page):
    """Some part of a sound document is replaced by what does not belong there."""
    rng = random.Random(7)
    odd = [
        None,
        -1,
        0,
        1e300,
        10**9,
        1 << 53,
        0.5,
        True,
        "",
        "x" * 1_000,
        [],
        {},
        [None] * 3,
        {"__proto__": 1},
    ]
    for _ in range(150):
        value = document()
        holder, key = rng.choice(list(parts(value)))
        holder[key] = rng.choice(odd)
        assert drawn(watched, value) in ("scene", "fault"), (key, holder[key])
    unharmed(watched)


def test_parts_that_are_nothing_are_lacking(watched: Page):
    for key, value in {
        "window": {},
        "axes": [None],
        "colour": None,
        "panels": [None],
        "steps": [None],
    }.items():
        whole = document()
        whole["scenes"][0][key] = value
        assert drawn(watched, whole) == "fault", key
    unharmed(watched)


def parts(value: Any) -> Any:
    """(holder, key) of everything in a document."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from parts(value[key])


# -- the policy ------------------------------------------------------------------------------------

PLANTS = {
    "inline": "const script = document.createElement('script'); script.append('canary = 1');"
    "document.body.append(script)",
    "data": "const script = document.createElement('script'); script.src = 'data:,canary=1';"
    "document.body.append(script)",
    "handler": "document.body.setAttribute('onclick', 'canary = 1'); document.body.click()",
    "markup": "document.body.innerHTML = '<img src=x onerror=canary=1>'",
    "link": "location.href = 'javascript:canary=1'",
    "network": "fetch('/explorer.js').then(() => { canary = 1 }).catch(() => 0)",
    "frame": "const frame = document.createElement('iframe'); frame.src = '/'; document.body.append(frame)",
    "timer": "setTimeout('canary = 1')",
    "eval": "(0, eval)('canary = 1')",
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_the_policy_blocks_what_is_planted(watched: Page, plant: str):
    """As if there were a hole in the page: the browser refuses, and says so."""
    thrown = watched.evaluate(f"(() => {{ try {{ {plant} }} catch (error) {{ return String(error) }} }})()")
    watched.evaluate("new Promise(done => setTimeout(() => done(), 50))")
    assert watched.evaluate("canary") == 0
    refusals = [*watched.forgive(), thrown or ""]
    assert any(re.search("Content Security Policy|Trusted(HTML|Script)", said) for said in refusals), refusals
