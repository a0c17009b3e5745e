"""The questions of `docs/how`: each on the list, short, and with one example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.examples import FENCE

HOW = Path(__file__).parents[2] / "docs/how"
PAGES = sorted(page for page in HOW.glob("*.md") if page.stem != "index")
WORDS = 175


def questions(page: str) -> dict[str, str]:
    """Return {question: its answer, the example included}."""
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))


def anchor(heading: str) -> str:
    """Return the anchor that MyST gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def faults(answer: str) -> list[str]:
    """Return how an answer differs from the form that all of them have."""
    found = {
        "too long": len(answer.split()) > WORDS,
        "not one example": len(FENCE.findall(answer)) != 1,
        "no page with the rest": not re.search(r"\]\(\.\./[\w/-]+\.md\)", answer),
    }
    return [fault for fault, holds in found.items() if holds]


def test_the_list_has_every_question_in_order() -> None:
    index = (HOW / "index.md").read_text()
    listed = re.findall(r"^- \[(.+)\]\(([\w-]+)\.md#([^)]+)\)$", index, re.MULTILINE)
    pages = re.findall(r"^([\w-]+)$", index.partition("{toctree}")[2], re.MULTILINE)
    assert sorted(pages) == [page.stem for page in PAGES]
    asked = [(text, page) for page in pages for text in questions((HOW / f"{page}.md").read_text())]
    assert listed == [(text, page, anchor(text)) for text, page in asked]
    assert len(listed) == 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_answer_is_short_and_has_one_example(page: Path) -> None:
    found = {text: faults(answer) for text, answer in questions(page.read_text()).items()}
    assert {text: those for text, those in found.items() if those} == {}


def test_a_fault_is_found() -> None:
    example = "```console\n$ tilewise tour\n```\n"
    assert faults(f"{example}[more](../read.md)") == []
    assert faults("word " * WORDS + f"\n{example}[more](../read.md)") == ["too long"]
    assert faults(example * 2) == ["not one example", "no page with the rest"]
