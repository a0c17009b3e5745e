"""The functions that a question about registers enters: few enough to be held in one's head."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tilewise
from tilewise import parse
from tilewise.check.shuffle import shuffle

ROOT = str(Path(tilewise.__file__).parent)
COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def entered(call: Callable[[], Any]) -> set[tuple[str, str, int]]:
    """Return (file, name, line) of every function of tilewise that a call enters."""
    found = set()

    def noted(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        own = code.co_filename.startswith(ROOT) and code.co_name not in COMPREHENSIONS
        if event == "call" and own:
            found.add((code.co_filename, code.co_name, code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(noted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    ("first", "second", "permute", "most"),
    [
        (
            ("mma.D(m16n8k16, f32)", "mma.C(m16n8k16, f32)", "f32"),
            ("mma.D(m16n8k8, f32)", "mma.C(m16n8k8, f32)", "f32"),
            None,
            90,
        ),
        (
            ("mma.D(m16n8k16, f16)", "mma.B(m16n8k16, f16)", "f16"),
            ("mma.D(m16n8k16, f32)", "mma.B(m16n8k16, bf16)", "bf16"),
            (1, 0),
            140,
        ),
        (
            ("wgmma.D(f32, n=32)", "wgmma.A(e4m3)", "e4m3"),
            ("wgmma.D(f32, n=32)", "wgmma.A(e5m2)", "e5m2"),
            None,
            140,
        ),
    ],
    ids=["names alone", "a transpose", "scores to A"],
)
def test_a_second_shuffle_enters_few_functions(
    first: tuple[str, str, str], second: tuple[str, str, str], permute: Any, most: int
) -> None:
    shuffle(parse(first[0]), parse(first[1]), first[2], permute=permute)
    source, target = parse(second[0]), parse(second[1])
    found = entered(lambda: shuffle(source, target, second[2], permute=permute))
    assert len(found) <= most, sorted(found)
    assert len({file for file, _, _ in found}) <= 16
