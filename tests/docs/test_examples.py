"""The runner of the pages' examples finds what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from tests.docs.examples import ExampleError, compare, rendered


def page(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```", ""])


def test_a_right_page_stays_as_it_is() -> None:
    text = page("python", ">>> from tilewise import S", ">>> S[8 : 2].place(3)", "6@m")
    text += "prose\n" + page("console", "$ tilewise at 'S[8 : 2]' 3", "3 -> 6@m")
    assert rendered(text) == text


@pytest.mark.parametrize(
    "text",
    [
        page("python", ">>> 1 + 1", "3"),
        page("python", ">>> 1 + 1"),
        page("python", ">>> x = 1", "1"),
        page("python", ">>> print('a'); print('b')", "a"),
        page("console", "$ tilewise at 'S[8 : 2]' 3", "3 -> 7@m"),
        page("console", "$ tilewise at 'S[8 : 2]' 3"),
        page("console", "$ tilewise at 'S[8 : 2]' 3", "3 -> 6@m", "$ echo $?", "0"),
        page("console", "$ tilewise who 'S[8 : 2]' 3", "nothing lives there: the place is a hole"),
    ],
)
def test_what_prints_something_else_is_found(tmp_path: Path, text: str) -> None:
    wrong = tmp_path / "page.md"
    wrong.write_text(text)
    with pytest.raises(AssertionError, match="as run"):
        compare(wrong)
    compare(wrong, update=True)
    assert wrong.read_text() != text
    compare(wrong)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (page("python", "x = 1"), "no `>>>`"),
        (page("console", "tilewise at"), "starts with"),
        (page("console", "$ rm -r /"), "rm is not run"),
        (page("sh", "make tea"), "no target tea"),
    ],
)
def test_what_cannot_be_run_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ExampleError, match=reason):
        rendered("one line\n\n" + text)


def test_errors_are_shown_as_doctest_shows_them() -> None:
    text = page("python", ">>> from tilewise import S", ">>> S[8 : 0.5]")
    assert dedent(
        """\
        Traceback (most recent call last):
            ...
        tilewise.LayoutError: TW101: a stride must be an integer, not the float 0.5
        """
    ) in rendered(text)


def test_exit_codes_and_pipes() -> None:
    text = page(
        "console",
        "$ tilewise say 'S[8 : 2]' --as json | tilewise at - 3",
        "3 -> 6@m",
        "",
        "$ tilewise who 'S[8 : 2]' 3",
        "nothing lives there: the place is a hole",
        "$ echo $?",
        "1",
    )
    assert rendered(text) == text
