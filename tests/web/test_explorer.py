"""The explorer in a real browser: presets, errors in place, addresses, copies, keys, names, widths."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator

import pytest
from tests.web import golden_layouts
from tests.web.chromium import Page
from tests.web.kept import load
from tests.web.test_cuda_text import codes

from tilewise import LayoutError, parse
from tilewise.hardware.catalog import find
from tilewise.notation.paper import to_markdown
from tilewise.pictures.address import fragment
from tilewise.pictures.server import Server

PRESETS = {
    "tiles": 2,
    "lanes": 2,
    "mesh.fully_sharded": 2,
    "mesh.shard_+_replica": 2,
    "mesh.shard_+_offset": 2,
    "scales.packing": 2,
    "scales.broadcast": 2,
    "conflict": 4,
    "swizzle.swizzled": 2,
    "swizzle.plain": 2,
    "atoms.128_B.bf16": 2,
    "atoms.64_B.f32": 2,
    "atoms.32_B.e4m3": 2,
    "atoms.16_B_interleaved.f64": 2,
    "accumulator": 2,
    "tmem.D": 2,
    "tmem.F": 2,
    "tmem.B": 2,
    "operand": 2,
    "descriptor.wgmma": 2,
    "descriptor.tcgen05": 2,
    "boxes": 2,
    "mma.A": 2,
    "mma.B": 2,
    "mma.D": 2,
    "ldmatrix.swizzled": 2,
    "ldmatrix.plain": 2,
    "transpose": 4,
    "pitch": 4,
}
"""{name: at least so many panels}."""

FIELD = "#expression"
PANELS = """[...document.querySelector('.picture > div').shadowRoot.querySelectorAll('.panel')]"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = Server(0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.address
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shown(page: Page, address: str) -> Page:
    page.open(address)
    page.wait("document.querySelector('.picture > div') !== null")
    return page


def opened(page: Page, address: str, asked: str) -> Page:
    page.open("about:blank")
    page.open(address + asked)
    page.wait("document.querySelector('.picture > div') !== null")
    page.settle()
    return page


def typed(page: Page, text: str) -> None:
    """The field's text is replaced as a person would."""
    page.evaluate("document.querySelector('#expression').select()")
    page.click(FIELD)
    page.evaluate("document.querySelector('#expression').select()")
    page.type(text)
    page.settle()


def fragment_of(page: Page, holding: str) -> str:
    """The address once it says this."""
    page.wait("part => decodeURIComponent(location.hash).includes(part)", holding)
    return str(page.evaluate("location.hash"))


# -- presets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_shows_its_panels_and_no_error(page: Page, address: str, name: str):
    opened(page, address, f"#1&p={name}")
    assert page.evaluate(f"{PANELS}.length") >= PRESETS[name]
    assert not page.evaluate("document.querySelector('.stale, .wrong')")
    assert page.evaluate("[...document.querySelectorAll('.fault')].every(one => one.textContent === '')")
    assert len(page.text(".story p")) > 40
    assert page.evaluate("location.hash") == f"#1&p={name}"
    assert page.evaluate("document.title") == page.evaluate("document.querySelector('#expression').value")


def test_the_list_has_every_preset(shown: Page):
    listed = shown.evaluate("[...document.querySelectorAll('[data-preset]')].map(one => one.dataset.preset)")
    assert listed == [*dict.fromkeys(name.partition(".")[0] for name in PRESETS)]
    own = shown.evaluate("import('./explorer.js').then(({PRESETS}) => PRESETS.map(one => one.id))")
    assert own == listed


def test_choices_of_a_preset(shown: Page):
    shown.click("[data-preset=mesh]")
    assert "gpuid_x" in shown.text(".story")
    shown.click("[data-option='shard + replica']")
    assert shown.evaluate("document.title").endswith("+ R[2 : 1@gpuid_x]")
    assert shown.evaluate("location.hash") == "#1&p=mesh.shard_+_replica"
    assert shown.evaluate("document.activeElement.dataset.option") == "shard + replica"


def test_a_preset_goes_on_working_when_edited(shown: Page):
    typed(shown, "S[(4, 2, 2, 4) : (32, 8, 4, 1)]")
    assert not shown.evaluate("document.querySelector('.stale')")
    assert "s=8,8" in fragment_of(shown, "32,8,4,1")
    assert not shown.evaluate("document.querySelector('[aria-current]')")


def test_another_size_is_drawn_without_the_preset_s_shape(shown: Page):
    typed(shown, "S[(4, 4) : (4, 1)]")
    assert shown.text("#controls-fault") == shown.evaluate("document.querySelector('#control-s').value") == ""
    assert not shown.evaluate("document.querySelector('.stale')")
    assert shown.evaluate("document.title") == "S[(4, 4) : (4, 1)]"


def test_a_shape_that_does_not_fit_is_said_and_left_out(page: Page, address: str):
    opened(page, address, "#1&e=S[(4,4):(4,1)]&s=8,8")
    assert "64" in page.text("#controls-fault")
    assert "16" in page.text("#controls-fault")
    assert not page.evaluate("document.querySelector('.stale')")
    assert "s=8,8" in page.evaluate("location.hash")


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("S[(8, 8) : (8, q)]", "TW007", "q"),
        ("S[(8, 8) : (8, 1, 2)]", None, None),
        ("S[(8, 0) : (8, 1)]", None, None),
        ("S[(8, 8) : (8, 1)", None, None),
        ("wgmma.X(f32)", "TW601", "wgmma.X"),
        ("wgmma.D(f32, n=7)", "TW601", "wgmma.D(f32, n=7)"),
        ("wgmma.D(f32, n=8) + q", "TW007", "q"),
        ("", None, None),
    ],
    ids=["name", "strides", "extent", "bracket", "entry", "value", "behind", "nothing"],
)
def test_an_error_keeps_the_picture_and_says_where(
    shown: Page, text: str, code: str | None, marked: str | None
):
    panels = shown.evaluate(f"{PANELS}.length")
    typed(shown, text or " ")
    said = shown.text("#expression-fault")
    if code is None:  # as the command line has it
        with pytest.raises(LayoutError) as caught:
            parse(text)
        code = caught.value.code
        assert str(caught.value.message) in said
        span = caught.value.span
        marked = text[slice(*span)] or None if span else None
    assert code in said
    if marked is not None:
        assert shown.text(".field mark") == marked
    assert shown.evaluate("document.querySelector('.stale') !== null")
    assert shown.evaluate(f"{PANELS}.length") == panels
    assert shown.evaluate("document.querySelector('#expression').getAttribute('aria-invalid')") == "true"
    typed(shown, "S[8]")
    assert not shown.evaluate("document.querySelector('.stale, .wrong')")
    assert shown.text("#expression-fault") == ""


# -- names of the catalogue that are none yet, or none at all ----------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wgmm", "go on: wgmma.A, wgmma.D, wgmma.smem, wgmma.atom"),
        ("wgmma.", "go on: wgmma.A, wgmma.D, wgmma.smem, wgmma.atom"),
        ("mov", "go on: movmatrix()"),
        ("wgmma.D", "go on: wgmma.D(f16, n=8), wgmma.D(f16, n=16), wgmma.D(f16, n=24), wgmma.D(f16, n=32)"),
        ("wgmma.D(f32, n=6", "go on: wgmma.D(f32, n=64)"),
    ],
    ids=["name", "dot", "one", "entry", "call"],
)
def test_a_name_that_is_half_typed_is_no_error(shown: Page, text: str, said: str):
    panels = shown.evaluate(f"{PANELS}.length")
    typed(shown, text)
    assert shown.text("#expression-fault") == said
    assert shown.evaluate("document.querySelector('#expression').getAttribute('aria-invalid')") == "false"
    assert not shown.evaluate("document.querySelector('.wrong, .field mark, #expression-fault code')")
    assert shown.evaluate(f"{PANELS}.length") == panels
    typed(shown, text + "!")
    assert shown.evaluate("document.querySelector('#expression').getAttribute('aria-invalid')") == "true"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("WGMMA.D", "wgmma.D"),
        ("WGMMA.D(f32, n=64)", "wgmma.D"),
        ("wgmma.d(f32, n=64)", "wgmma.D"),
        ("wgma.atom(128B, k, bf16)", "wgmma.atom"),
        ("ldmatrx(x4)", "ldmatrix"),
        ("Ldmatrix", "ldmatrix"),
    ],
)
def test_the_entry_that_is_meant_is_named(shown: Page, text: str, meant: str):
    typed(shown, text)
    assert f"the catalogue has no entry {text.partition('(')[0]}" in shown.text("#expression-fault")
    assert shown.text("#expression-fault .hint") == f"did you mean {meant}?"
    assert shown.text(".field mark") == text.partition("(")[0]


@pytest.mark.parametrize("text", ["S", "Swizzle", "Layout", "T.S", "q"])
def test_words_of_the_notation_are_not_taken_for_names(shown: Page, text: str):
    typed(shown, text)
    with pytest.raises(LayoutError) as caught:
        parse(text)
    if caught.value.code != "TW601":  # of the catalogue, which Python asks last
        assert caught.value.message in shown.text("#expression-fault")
    assert "did you mean" not in shown.text("#expression-fault")


PAST = "mma.A(m8n8k4, f16, product=1)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PAST, "this page has no mma.A with product=1"),
        (PAST, f"tilewise explore '{PAST}' opens it on any other, tilewise show draws it"),
        ("wgmma.D(F32, n=7)", "this page has no wgmma.D with n=7"),
        ("wgmma.D(f32, n=64, colour=1)", "wgmma.D has no parameter colour"),
        ("wgmma.D(f32)", "wgmma.D needs n"),
        ("wgmma.D(f32, n='; echo 1;')", "tilewise explore 'wgmma.D(f16, n=64)' opens it"),
    ],
    ids=["limit", "elsewhere", "value", "parameter", "missing", "quotes"],
)
def test_what_the_page_s_table_has_not_is_said_with_who_has_it(shown: Page, text: str, said: str):
    typed(shown, text)
    assert said in shown.text("#expression-fault")
    assert shown.text(".field mark") == text


ELSEWHERE = r'--[a-z]|\bLAYOUT\b|storage=|parse\(|tilewise\.parse|dtype="'
"""Words of the command line's options, and of Python's arguments."""
HINTS = """texts => texts.map(text => {
    const field = document.querySelector('#expression');
    field.value = text;
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    return document.querySelector('#expression-fault .hint')?.textContent ?? '';
})"""


def test_hints_of_texts_that_are_none_name_what_the_page_has(shown: Page):
    texts = [case["text"] for case in load(golden_layouts.GOLDEN)["faulty"]]
    there = [case["hint"] for case in load(golden_layouts.GOLDEN)["faulty"]]
    asked = [text for text, hint in zip(texts, there, strict=True) if re.search(ELSEWHERE, hint)]
    assert len(asked) > 20
    hints = shown.evaluate(HINTS, [text for text in texts if len(text) < 10_000])
    assert sum(map(bool, hints)) > 300
    assert [hint for hint in hints if re.search(ELSEWHERE, hint)] == []


@pytest.mark.parametrize(
    ("e", "fields", "hint"),
    [
        ("S[(8, 8)]", {"a": "row:16B"}, "say it in the field dtype, such as bf16"),
        ("S[(8, 8) : (1@laneid, 1@reg)]", {"a": "row", "d": "f32"}, "goes into the field access"),
        ("S[64]", {"a": "col", "d": "f32"}, "write the expression with two modes"),
    ],
    ids=["dtype", "tile", "modes"],
)
def test_hints_of_an_access_name_what_the_page_has(
    page: Page, address: str, e: str, fields: dict[str, str], hint: str
):
    opened(page, address, "#1&e=" + e.replace(" ", "") + "".join(f"&{k}={v}" for k, v in fields.items()))
    assert hint in page.text("#controls-fault .hint")


@pytest.mark.parametrize(
    ("control", "text"),
    [
        ("d", "bf17"),
        ("s", "7,7"),
        ("s", "8,,"),
        ("w", "0:99,0:1"),
        ("w", "x"),
        ("a", "row:3B"),
        ("a", "diagonal"),
    ],
    ids=["dtype", "shape", "no-shape", "window", "no-window", "width", "access"],
)
def test_what_is_wrong_with_a_control_is_said_there(shown: Page, control: str, text: str):
    if control == "a":
        shown.evaluate("document.querySelector('#control-d').focus()")
        shown.type("bf16")
    shown.evaluate(
        "s => { const one = document.querySelector(s); one.focus(); one.select(); }", f"#control-{control}"
    )
    shown.type(text)
    shown.settle()
    assert shown.text("#controls-fault").startswith("TW")
    wrong = "[...document.querySelectorAll('.controls [aria-invalid=true]')].map(one => one.id)"
    assert shown.evaluate(wrong) == [f"control-{control}"]
    assert shown.evaluate("document.querySelector('.stale') !== null")
    assert shown.text("#expression-fault") == ""


# -- addresses -------------------------------------------------------------------------------------------

STATES = """
(seed) => import('./explorer.js').then(({toFragment, fromFragment}) => {
    let state = seed;
    const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
    const pick = list => list[Math.floor(random() * list.length)];
    const expressions = ["S[(8, 8) : (8, 1)]", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "",
        "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x] - 5@m", "((8,2),(4,4)):((8,64),(1,4))",
        "Sw<3,4,3> o _0 o (8,8):(8,1)", "wgmma.D(f32, n=64)", "S[8 : 1@x + 1@y]",
        "O[128@m] o Swizzle<3,4,3> o (S[8 : 1] - 128@m)", "<script>alert(1)</script>", "%&#=~{}<>|^\\\\`\\"'",
        "é ∘ 💥 \\u202e"];
    const texts = [undefined, "bf16", "row:16B", "8,8", "a b", "%41~{}<>&#=;", "💥é\\u0000\\n", "=&=&"];
    const letter = () => String.fromCodePoint(random() < 0.7 ? 32 + Math.floor(random() * 96)
        : Math.floor(random() * 0xd7ff));
    const strange = () => Array.from({length: 1 + random() * 12}, letter).join("");
    const bad = [];
    for (let i = 0; i < 3000; i++) {
        const some = {v: 1, e: pick(expressions)};
        for (const name of ["d", "a", "s", "w", "p"]) {
            const text = random() < 0.3 ? strange() : pick(texts);
            if (text !== undefined && random() < 0.5) some[name] = text;
        }
        if (random() < 0.3) some.e2 = pick(expressions.slice(3));
        if (random() < 0.3) some.c = Math.floor(random() * 100);
        if (random() < 0.3) some.t = pick(["light", "dark"]);
        if (random() < 0.4) some.i = [...new Set(Array.from({length: 1 + random() * 9},
            () => Math.floor(random() * 20)))].sort((a, b) => a - b);
        const fragment = toFragment(some);
        const address = new URL("http://127.0.0.1/");
        address.hash = fragment;
        const back = fromFragment(address.hash);
        const once = toFragment(back);
        const tight = one => JSON.stringify([...Object.entries(one)].map(([name, value]) =>
            [name, name.startsWith("e") ? value.replace(/\\s/g, "") : value]).sort());
        const same = once === fragment && address.hash === fragment && tight(back) === tight(some);
        if (back instanceof Error || !same) bad.push([some, fragment, String(back)]);
    }
    return bad.slice(0, 3);
})
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_state_to_address_to_state(shown: Page, seed: int):
    assert shown.evaluate(STATES, seed) == []


def test_spaces_of_expressions_mean_nothing_in_an_address(shown: Page):
    code = """texts => import('./explorer.js').then(({toFragment, fromFragment}) =>
        texts.map(e => fromFragment(toFragment({v: 1, e})).e))"""
    calls = json.loads(
        shown.evaluate(
            "import('./hardware.js').then(({calls}) => JSON.stringify(calls().map(row => row.layout)))"
        )
    )
    for text, back in zip(calls, shown.evaluate(code, calls), strict=True):
        assert back == text
    odd = [
        "S[ ( 8,8 ):( 8 , 1)]+R[2:64 ]",
        "  Sw<3, 4, 3>  o _0 o (8 , 8):(8,1)",
        "S[8:-1]-7@m",
        "S[(8,):(1,)]",
    ]
    for text, back in zip(odd, shown.evaluate(code, odd), strict=True):
        assert parse(back) == parse(text)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("#2&e=S[8]", "version 2"),
        ("#99999999999999999999&e=S[8]", "version"),
        ("#1&e=%", "broken"),
        ("#1&e=%FF", "broken"),
        ("#1&x=1", "does not know"),
        ("#1&__proto__=1", "does not know"),
        ("#1&t=blue", "does not know"),
        ("#1&c=-1", "not a step"),
        ("#1&c=1e9", "not a step"),
        ("#1&i=1..x", "not an element"),
        ("#1&e=S[8]&e=S[9]", "twice"),
        ("#1&e=" + "(" * 30000, "characters"),
        ("#1&p=nope", "no example nope"),
    ],
    ids=[
        "later",
        "huge",
        "percent",
        "bytes",
        "key",
        "proto",
        "theme",
        "step",
        "float",
        "pins",
        "twice",
        "long",
        "example",
    ],
)
def test_addresses_that_are_refused(page: Page, address: str, asked: str, words: str):
    opened(page, address, asked)
    assert words in page.text(".told")
    assert page.evaluate("document.title") == "S[(4, 2, 2, 4) : (16, 4, 8, 1)]"


@pytest.mark.parametrize(
    ("asked", "words", "left"),
    [
        ("#1&p=atoms.77_B.bf16", "atoms has no choice 77_B", "#1&p=atoms.128_B.bf16"),
        ("#1&p=mesh.shard_+_replica.x", "mesh has no choice x", "#1&p=mesh.shard_+_replica"),
        ("#1&p=tiles.x&i=3", "tiles has no choice x", "#1&p=tiles&i=3"),
        ("#1&p=tiles&i=3,64", "element 64 of 64", "#1&p=tiles&i=3"),
        ("#1&e=S[(8,8):(8,1)]&i=7,999", "element 999 of 64", "#1&e=S[(8,8):(8,1)]&i=7"),
        ("#1&e=S[(8,8):(8,1)]&c=3", "step 4 of 0", "#1&e=S[(8,8):(8,1)]"),
        ("#1&p=boxes&i=4096&c=2", "element 4096 of 2048 and step 3 of 2: left out", "#1&p=boxes"),
    ],
    ids=["choice", "another", "none", "pin", "own", "no-step", "both"],
)
def test_what_an_address_says_and_there_is_not_leaves_it(
    page: Page, address: str, asked: str, words: str, left: str
):
    opened(page, address, asked)
    assert words in page.text(".told")
    page.wait("left => location.hash === left", left)
    opened(page, address, left)
    assert page.text(".told") == ""
    assert page.evaluate("location.hash") == left


def test_a_bare_expression_is_an_old_address(page: Page, address: str):
    opened(page, address, "#S[(8,8):(1,8)]")
    assert page.evaluate("document.title") == "S[(8, 8) : (1, 8)]"
    assert fragment_of(page, "e=") == "#1&e=S[(8,8):(1,8)]"


def test_pins_step_and_theme_are_in_the_address(page: Page, address: str):
    asked = "#1&e=Swizzle{3,3,3}o~S[(8,64):(64,1)]&d=bf16&a=col:16B&i=3,8..11&c=2&t=dark"
    opened(page, address, asked)
    assert page.evaluate("document.querySelector('.tilewise').dataset.theme") == "dark"
    page.wait("location.hash.length > 4")
    assert page.evaluate("location.hash") == asked
    page.press("]")
    fragment_of(page, "&c=3")
    page.press("Escape")
    page.wait("!location.hash.includes('&i=')")


LARGE = """text => {
    const field = document.querySelector('#expression');
    field.value = text;
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    return document.querySelector('.desk').ariaBusy;
}"""
"""Something is typed; whether it takes a while."""
PINNED = f"""() => {{
    const grid = {PANELS}[0].querySelector('[role=grid]');
    grid.focus();
    for (const key of ['ArrowRight', 'Enter']) {{
        grid.dispatchEvent(new KeyboardEvent('keydown', {{ key, bubbles: true, composed: true }}));
    }}
}}"""
MILLION = "S[(1024, 1024) : (1024, 1)]"


def test_a_large_layout_says_that_it_takes_a_while_and_what_is_pinned_meanwhile_is_not_of_it(shown: Page):
    assert (
        shown.evaluate(f"text => {{ const busy = ({LARGE})(text); ({PINNED})(); return busy; }}", MILLION)
        == "true"
    )
    shown.wait(
        "document.title.includes('1024') && document.querySelector('.desk').ariaBusy === 'false'", timeout=30
    )
    shown.wait("location.hash.includes('(1024,1024)') && !location.hash.includes('&i=')")


def test_what_is_typed_next_stops_what_takes_a_while(shown: Page):
    """Slices are what waits for no time at all; none comes after the small layout."""
    shown.evaluate("""{
        window.slices = 0;
        const own = window.setTimeout;
        const counted = (act) => () => { window.slices += 1; act(); };
        window.setTimeout = (act, wait) => own(wait === undefined ? counted(act) : act, wait);
    }""")
    assert shown.evaluate(LARGE, MILLION) == "true"
    shown.wait("window.slices > 0")
    assert shown.evaluate(LARGE, "S[(8, 8) : (1, 8)]") == "false"
    before = shown.evaluate("window.slices")
    shown.evaluate("new Promise(done => requestIdleCallback(done))")
    shown.settle()
    assert shown.evaluate("window.slices") == before
    assert shown.evaluate(f"{PANELS}[0].querySelector('[role=grid]').ariaRowCount") == "8"


def test_back_and_forward(shown: Page):
    shown.click("[data-preset=lanes]")
    shown.click("[data-preset=conflict]")
    typed(shown, "S[(8, 8) : (9, 1)]")
    fragment_of(shown, "(9,1)")
    for ways, title in [(-1, "S[(8, 4, 2)"), (-1, "S[(4, 2, 2, 4)"), (2, "S[(8, 8) : (9, 1)]")]:
        shown.evaluate("n => history.go(n)", ways)
        shown.wait("title => document.title.startsWith(title)", title)
        value = shown.evaluate("document.querySelector('#expression').value")
        assert value.startswith(title)
    assert shown.evaluate("!document.querySelector('#beside').closest('.field').hidden")


def test_an_access_that_one_of_two_layouts_cannot_take_says_which(page: Page, address: str):
    opened(page, address, "#1&e=S[(8,64):(64,1)]&e2=S[(8,64):(64,2)]&d=bf16&a=row:16B")
    said = page.evaluate("[...document.querySelectorAll('.fault')].map(one => one.textContent).join(' ')")
    assert "the second layout: lane 0 of request 0 asks for 16 bytes" in said


def test_what_is_typed_beside_is_compared(shown: Page):
    shown.click(".controls .plain")
    shown.evaluate("document.querySelector('#beside').select()")
    shown.type("S[(8, 8) : (1, 8)]")
    shown.settle()
    assert shown.evaluate(f"{PANELS}.length") >= 4
    fragment_of(shown, "e2=S[(8,8):(1,8)]")
    shown.evaluate("document.querySelector('#beside').select()")
    shown.type("S[")
    assert "TW" in shown.text("#beside-fault")
    shown.click(".controls .plain")
    assert not shown.evaluate("document.querySelector('.stale')")
    shown.wait("!location.hash.includes('e2')")


# -- copies, keys, names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
        "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x] + 3@m",
        "((8,2),(4,4)):((8,64),(1,4))",
    ],
)
def test_copies(shown: Page, text: str):
    typed(shown, text)
    layout = parse(text)
    wanted = {"notation": str(layout), "Python": repr(layout), "Markdown": to_markdown(layout)}
    for name, copied in wanted.items():
        shown.click(".menu-of > button")
        shown.click(f"[data-copies='{name}']")
        shown.wait("name => document.querySelector('.told').textContent.includes(name)", name)
        assert shown.evaluate("navigator.clipboard.readText()") == copied
    shown.click(".menu-of > button")
    shown.click("[data-copies=permalink]")
    shown.wait("document.querySelector('.told').textContent.includes('permalink')")
    assert shown.evaluate("navigator.clipboard.readText().then(text => text === location.href)")


def test_what_is_copied_for_cuda_is_what_test_cuda_text_compiles(shown: Page):
    text = "O[3] o Swizzle<2,2,2> o (S[(8, 8) : (8, 1@x)] + R[2 : 1@gpuid_x])"
    typed(shown, text)
    shown.click(".menu-of > button")
    shown.click("[data-copies=CUDA]")
    shown.wait("document.querySelector('.told').textContent.includes('CUDA')")
    [code] = codes(shown, {"let": {}, "storage": [], "layouts": [{"text": text}], "faulty": []})
    assert shown.evaluate("navigator.clipboard.readText()") == code


def test_what_64_bits_do_not_hold_is_not_copied_for_cuda(shown: Page):
    typed(shown, "S[8 : 0x10000000000000000]")
    assert shown.evaluate("document.querySelector('[data-copies=CUDA]')") is None


def test_the_menu_by_keys(shown: Page):
    shown.evaluate("document.querySelector('.menu-of > button').focus()")
    shown.press("Enter")
    assert shown.evaluate("document.activeElement.dataset.copies") == "notation"
    shown.press("ArrowUp")
    assert shown.evaluate("document.activeElement.dataset.copies") == "permalink"
    shown.press("Escape")
    assert shown.evaluate("document.querySelector('.menu').hidden")
    assert shown.evaluate("document.activeElement.textContent") == "Copy"


def test_keys(shown: Page):
    shown.evaluate("document.activeElement.blur()")
    shown.press("/")
    assert shown.evaluate("document.activeElement.id") == "expression"
    shown.press("?")  # is text, in a field
    assert not shown.evaluate("document.querySelector('dialog').open")
    shown.evaluate("document.activeElement.blur()")
    shown.press("?")
    assert shown.evaluate("document.querySelector('dialog').open")
    assert "go to the expression" in shown.text("dialog")
    shown.press("Escape")
    assert not shown.evaluate("document.querySelector('dialog').open")
    shown.settle()  # until the focus is back
    shown.press("d")
    shown.wait("document.querySelector('.tilewise').dataset.theme === 'dark'")
    fragment_of(shown, "t=dark")
    shown.press("d")
    shown.wait("!location.hash.includes('t=')")
    shown.press("t")
    table = "document.querySelector('.picture > div').shadowRoot.querySelector('table')"
    assert shown.evaluate(f"{table} !== null && {table}.offsetHeight > 0")


def test_the_reader_s_theme(page: Page, address: str):
    page.media(dark=True)
    opened(page, address, "")
    assert page.evaluate("document.querySelector('.tilewise').dataset.theme") == "dark"
    assert "t=" not in page.evaluate("location.hash")
    page.media()
    page.wait("document.querySelector('.tilewise').dataset.theme === 'light'")


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("wgmma.D(f32, n=64)", ("wgmma.D", "f32", 64)),
        ("wgmma.D(f32,64)", ("wgmma.D", "f32", 64)),
        ("wgmma.D(n=64, dtype=f32)", ("wgmma.D", "f32", 64)),
        ("mma.A(m16n8k16, f16)", ("mma.A", "m16n8k16", "f16")),
        ("ldmatrix(x4, trans)", ("ldmatrix", "x4", True)),
        ("wgmma.atom(128B, k, bf16)", ("wgmma.atom", "128B", "k", "bf16")),
        ("mfma.D(32x32x8, f32)", ("mfma.D", "32x32x8", "f32")),
        ("tcgen05.D(f32, 64, n=48)", ("tcgen05.D", "f32", 64, 48)),
        ("tcgen05.sfa(mxf8f6f4, rows=128)", ("tcgen05.sfa", "mxf8f6f4", 128)),
        ("tcgen05.ld(16x32bx2, x4)", ("tcgen05.ld", "16x32bx2", "x4")),
        ("tcgen05.cp(64x128b, warpx2::02_13)", ("tcgen05.cp", "64x128b", "warpx2::02_13")),
    ],
    ids=["as-listed", "by-position", "by-name", "mma", "flag", "atom", "mfma", "D", "scales", "load", "copy"],
)
def test_names_of_the_catalogue(shown: Page, call: str, values: tuple[object, ...]):
    name, *given = values
    resolved = shown.evaluate("text => import('./hardware.js').then(({resolve}) => resolve(text).text)", call)
    assert resolved == str(find(str(name))(*given).layout)  # type: ignore[arg-type]
    shown.evaluate("document.querySelector('#control-s').select()")
    shown.press("Backspace")
    typed(shown, call)
    assert not shown.evaluate("document.querySelector('.stale')")


@pytest.mark.parametrize(
    "call", ["wgmma.D(f32, n=64)", "wgmma.D(f32, n=64) + 1@wgid"], ids=["alone", "moved"]
)
def test_a_call_in_an_address_of_python_s_keeps_its_name(page: Page, address: str, call: str):
    opened(page, address, fragment(call))
    assert page.evaluate("document.querySelector('#expression').value") == call
    assert "n=64" in page.evaluate("location.hash")
    assert not page.evaluate("document.querySelector('.stale, .wrong')")


def test_names_are_offered(shown: Page):
    typed(shown, "wgmma.D(f32, n=6")
    offered = (
        "[...document.querySelectorAll('#expression ~ .names code, .names code')].map(one => one.textContent)"
    )
    assert shown.evaluate(offered) == ["wgmma.D(f32, n=64)"]
    shown.evaluate("document.querySelector('#control-s').value = ''")
    shown.press("ArrowDown", "Enter")
    assert shown.evaluate("document.querySelector('#expression').value") == "wgmma.D(f32, n=64)"
    assert shown.evaluate("document.activeElement.id") == "expression"
    assert shown.evaluate("document.querySelector('.names').childElementCount") == 0


# -- sizes, widths, silence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["S[(1048576, 4) : (4, 1)]", "S[1000000000000000]", "S[8 : 99999999999999999999]"]
)
def test_sizes_are_refused_kindly(shown: Page, text: str):
    shown.evaluate("document.querySelector('#control-s').select()")
    shown.press("Backspace")
    typed(shown, text)
    assert "TW3" in shown.text("#expression-fault")


@pytest.mark.parametrize("name", PRESETS)
def test_a_narrow_window_does_not_scroll_sideways(page: Page, address: str, name: str):
    page.resize(390, 844)
    opened(page, address, f"#1&p={name}")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_nothing_that_is_typed_leaves_the_page(shown: Page):
    typed(shown, "S[(8, 8) : (1, 8)]")
    shown.click(".menu-of > button")
    shown.press("Escape")
    names = shown.evaluate(
        "performance.getEntriesByType('resource').map(one => new URL(one.name).pathname).sort()"
    )
    assert set(names) <= {"/explorer.js", "/hardware.js", "/page.js", "/page.css"}
    assert shown.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_an_explorer_is_mounted_with_a_state(page: Page, address: str):
    page.open(address)
    page.evaluate("""import('./explorer.js').then(({mount}) => {
        history.replaceState(null, "", location.pathname);
        const el = document.createElement("div");
        document.body.replaceChildren(el);
        mount(el, "#1&p=transpose");
    })""")
    assert page.evaluate("document.title") == "S[(8, 8) : (8, 1)]"
    assert page.evaluate(f"{PANELS}.length") >= 4


def test_without_the_hardware_layouts_are_read_and_calls_asked_for_kindly(page: Page, address: str):
    page.open(address + "page.css")
    page.evaluate("""import('./explorer.js').then(({mount}) => {
        const el = document.createElement("div");
        document.body.replaceChildren(el);
        mount(el, "#1&e=S[(8,8):(8,1)]&d=bf16&a=row:4B");
    })""")
    assert "row:4B: 1 wavefront, ideal 1" in page.text(".beside")
    page.evaluate("document.querySelector('#control-a').select()")
    page.type("descriptor.A")
    assert page.text("#controls-fault").startswith("TW601")
    typed(page, "wgmma.D(f32, n=64)")
    assert "hardware.js reads calls" in page.text("#expression-fault")
    assert all("favicon.ico" in error for error in page.errors)  # a sheet names no icon
    page.forgive()
