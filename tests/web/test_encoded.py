"""The word of a step: its bits, by a plain loop, in a strip and a table; and texts that are no words."""

from __future__ import annotations

from typing import Any

from tests.web.chromium import Page
from tests.web.test_component import address, blank, show  # noqa: F401  the host page of a component

from tilewise import parse
from tilewise.pictures.scene.build import document_of

TILE = parse("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]")
DOCUMENT = document_of(TILE, dtype="bf16", access="descriptor.A").as_dict()

TABLE = """(() => {
    const word = shadow().querySelector("table.word");
    if (!word) return null;
    const strip = word.querySelector(".strip").getBoundingClientRect();
    return {
        caption: word.caption.textContent,
        rows: [...word.rows].map(({cells}) => [...cells].map(cell => cell.textContent)),
        heads: [...word.querySelectorAll("tbody th")].map(head => head.scope),
        pieces: [...word.querySelectorAll(".strip span")].map(span => {
            const {left, right} = span.getBoundingClientRect();
            const at = edge => Math.round(64 * (edge - strip.left) / strip.width);
            return [64 - at(right), 63 - at(left), span.textContent, getComputedStyle(span).backgroundColor];
        }),
        colours: [...word.querySelectorAll("b")].map(own => getComputedStyle(own).backgroundColor),
        wide: document.documentElement.scrollWidth <= innerWidth,
    };
})()"""


def test_the_bits_of_each_step(blank: Page):  # noqa: F811
    page = show(blank, DOCUMENT, step=2)
    steps = DOCUMENT["scenes"][0]["steps"]
    for number in (2, 3):
        page.evaluate("number => model.set('step', number)", number)
        word = steps[number]["encoded"]
        found = page.evaluate(TABLE)
        value = int(word["value"], 16)
        assert found["caption"].startswith(f"matrix descriptor {word['value']}")
        told = {
            field["name"]: (
                field["low"],
                field["high"],
                value >> field["low"] & (2 << field["high"] - field["low"]) - 1,
            )
            for field in word["fields"]
        }
        for row, field in zip(found["rows"], reversed(word["fields"]), strict=True):
            low, high, held = told[field["name"]]
            assert row == [f"{high}–{low}{field['name']}", str(held), field["words"]]
        held = [(low, high, text) for low, high, text, _ in found["pieces"] if text]
        assert held == [(low, high, str(it)) for low, high, it in reversed(told.values())]
        covered = sorted((low, high) for low, high, *_ in found["pieces"])
        assert [low for low, _ in covered] == [0, *(high + 1 for _, high in covered[:-1])]
        assert covered[-1][1] == 63
        assert [colour for _, _, text, colour in found["pieces"] if text] == found["colours"]
        assert len(set(found["colours"])) == len(word["fields"])
        assert set(found["heads"]) == {"row"}
    page.evaluate("model.set('step', -1)")
    assert page.evaluate(TABLE) is None


def test_a_narrow_page_has_a_list(blank: Page):  # noqa: F811
    blank.resize(390, 800, mobile=True)
    page = show(blank, DOCUMENT, step=0, theme="dark")
    assert page.evaluate(TABLE)["wide"]
    below = """(() => {
        const [head, held, words] = [...shadow().querySelector(".word tbody tr").cells]
            .map(cell => cell.getBoundingClientRect());
        return [held.top < head.bottom, words.top >= held.bottom - 8];
    })()"""
    assert page.evaluate(below) == [True, True]


def test_data_never_becomes_markup(blank: Page):  # noqa: F811
    document = changed(name="<img src=x>", value="<b>1</b>")
    document["scenes"][0]["steps"][0]["encoded"]["fields"][0] |= {
        "name": "<i>start</i>",
        "words": "<a href=x>",
    }
    page = show(blank, document, step=0)
    assert page.evaluate("shadow().querySelectorAll('img, i, a').length") == 0
    assert page.evaluate(TABLE)["rows"][-1][0].endswith("<i>start</i>")


FIELD = {"name": "x", "low": 0, "high": 3, "held": 1, "words": "x"}
FAULTS: dict[str, dict[str, Any]] = {
    "too wide": {"width": 1 << 20},
    "no width": {"width": None},
    "no fields": {"fields": None},
    "a field of nothing": {"fields": [None]},
    "fields that overlap": {"fields": [FIELD, FIELD]},
    "past the end": {"fields": [FIELD | {"high": 64}]},
    "backwards": {"fields": [FIELD | {"low": 4}]},
    "no number held": {"fields": [FIELD | {"held": "1"}]},
    "more held than it has room for": {"fields": [FIELD | {"held": 16}]},
    "less than nothing held": {"fields": [FIELD | {"held": -1}]},
    "a width of text": {"width": "64"},
    "no whole bit": {"fields": [FIELD | {"low": 0.5}]},
}


def test_words_that_are_none(blank: Page):  # noqa: F811
    page = show(blank, DOCUMENT, step=0)
    for name, fault in FAULTS.items():
        page.evaluate("given => model.set('document', given)", changed(**fault))
        said = page.evaluate("shadow().querySelector('.fault')?.textContent ?? null")
        assert said in ("The document lacks fields of a word.", "The document lacks parts."), name
    page.evaluate("given => model.set('document', given)", DOCUMENT)
    assert page.evaluate(TABLE) is not None


def bits(value: int, low: int, high: int) -> int:
    """The number that some neighbouring bits hold."""
    return sum((value >> bit & 1) << bit - low for bit in range(low, high + 1))


def changed(**parts: Any) -> dict[str, Any]:
    """The document with another first word."""
    scene = DOCUMENT["scenes"][0]
    first, *others = scene["steps"]
    steps = [first | {"encoded": first["encoded"] | parts}, *others]
    if "fields" not in parts:
        steps[0]["encoded"]["fields"] = [dict(field) for field in first["encoded"]["fields"]]
    return DOCUMENT | {"scenes": [scene | {"steps": steps}]}
