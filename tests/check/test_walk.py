"""The number of functions of the package that one question enters, and that its reader has to hold in the
head."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tilewise
from tilewise import S, Swizzle
from tilewise.check.match import match

PACKAGE = str(Path(tilewise.__file__).parent)
COMPREHENSIONS = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"}


def entered(question):
    """The code objects of the package that a question enters, comprehensions aside."""
    found = set()

    def note(frame, event, argument):
        code = frame.f_code
        inside = code.co_filename.startswith(PACKAGE) and code.co_name not in COMPREHENSIONS
        if event == "call" and inside:
            found.add(code)

    sys.setprofile(note)
    try:
        question()
    finally:
        sys.setprofile(None)
    return found


def asked(tile, engine):
    """Return the answer; a no comes with the nearest tiles."""
    answer = match(tile, operand="B", dtype="bf16", engine=engine)
    return answer if answer.legal else (answer, answer.nearest)


@pytest.mark.parametrize(
    ("first", "second", "engine", "functions", "files"),
    [
        (S[(128, 64) : (72, 1)], S[(64, 128) : (136, 1)], "wgmma", 140, 16),
        (
            Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)],
            Swizzle(3, 3, 3) @ S[(64, (2, 64)) : (64, (4096, 1))],
            "wgmma",
            90,
            16,
        ),
        (S[(128, 64) : (72, 1)], S[(64, 128) : (136, 1)], "tcgen05", 180, 22),
    ],
    ids=["padded", "legal", "padded-tcgen05"],
)
def test_a_question_enters_few_functions(first, second, engine, functions, files):
    asked(first, engine)
    found = entered(lambda: asked(second, engine))
    by_file = {code.co_filename for code in found}
    names = sorted(f"{Path(code.co_filename).name}:{code.co_name}" for code in found)
    assert len(found) <= functions, names
    assert len(by_file) <= files, sorted(by_file)
