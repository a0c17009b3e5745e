"""Every dialect: its looks tell its examples, which are read, and bad texts are refused at their fault."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tilewise import LayoutError
from tilewise.notation.dialects import DIALECTS, Given, dialect_of, read

GOLDENS = Path(__file__).with_name("goldens")
MALFORMED = Path(__file__).with_name("malformed")
"""A file a dialect, a text a line. A text without a shape of its own is read as 64 x 32."""
READ = [name for name, dialect in DIALECTS.items() if dialect.reads]


@pytest.mark.parametrize("name", READ)
def test_examples_are_told_by_their_looks_and_read(name):
    examples = DIALECTS[name].module.EXAMPLES
    assert examples
    for given in examples:
        found = dialect_of(given.text)
        assert found is None or found.name == name
        assert found is not None or not DIALECTS[name].looks
        assert read(DIALECTS[name], given).layout.size > 0


@pytest.mark.parametrize("name", READ)
def test_malformed_texts_are_refused_where_the_fault_is(name, golden):
    reports = []
    lines = (MALFORMED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 10
    for line in lines:
        given = Given(line.replace("\\n", "\n"), (64, 32))
        with pytest.raises(LayoutError) as error:
            read(DIALECTS[name], given)
        start, end = error.value.span
        assert 0 <= start <= end <= len(given.text)
        reports.append(f"{line}\n{error.value}\n")
    golden(GOLDENS / f"{name}.txt", "\n".join(reports))


@pytest.mark.parametrize("name", READ)
def test_a_text_without_a_shape_asks_for_one(name):
    for given in DIALECTS[name].module.EXAMPLES:
        if given.shape is not None:
            with pytest.raises(LayoutError) as error:
                read(DIALECTS[name], Given(given.text, None, given.part, given.triton))
            assert error.value.code == "TW202"
            assert "shape=" in error.value.hint


@pytest.mark.parametrize("name", READ)
def test_mutated_examples_are_read_or_refused(name, times):
    rng = Random(name)
    examples = DIALECTS[name].module.EXAMPLES
    for _ in range(times(300)):
        given = rng.choice(examples)
        text = mutated(rng, given.text)
        with suppress(LayoutError):
            read(DIALECTS[name], Given(text, given.shape, given.part, given.triton))


def mutated(rng: Random, text: str) -> str:
    """A text with a few pieces taken away, doubled, or exchanged for others."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 1, 3, 9)))
        piece = rng.choice(
            ("", text[start:end] * 2, rng.choice("()[]{}<>,:=#@x-0123456789ab \n"), "0", "-1", "99")
        )
        text = text[:start] + piece + text[end:]
    return text
