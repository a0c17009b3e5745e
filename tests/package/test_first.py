"""The tests that come first are there: a name that is no more would leave the longest for the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import FIRST, ROOT


def stale(start: str) -> bool:
    """Whether no test's name can begin so."""
    place, _, name = start.partition("::")
    path = ROOT / place
    named = path.suffix != ".py" or f"def {name}(" in path.read_text(encoding="utf-8")
    return not (path.exists() and named)


@pytest.mark.parametrize("start", FIRST)
def test_what_comes_first_is_there(start: str) -> None:
    assert not stale(start)


def test_what_is_no_more_is_noticed() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    assert stale(f"{here}::test_that_was_here")
    assert stale("docs/no-such-page.md::examples")
