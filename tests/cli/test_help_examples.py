"""Every example in the help of every command is understood, and answered."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from tests.docs.examples import piped

from tilewise.cli.arguments import parser_for, read
from tilewise.questions import SUMMARIES

EXAMPLE = re.compile(r"^ *(?:\$ |eval \"\$\()?(tilewise .*?)(?:\)\" .*| > ~.*)?$")
ASKS_A_GPU = ("verify",)
LISTS = "tilewise verify --list"


def examples(command: str) -> list[str]:
    """The lines of a command's help that are commands."""
    lines = parser_for(command).format_help().partition("\n\n")[2].splitlines()
    return [found[1] for line in lines if (found := EXAMPLE.match(line))]


EXAMPLES = [example for command in SUMMARIES for example in examples(command)]


def test_every_command_has_an_example() -> None:
    assert {shlex.split(example)[1] for example in EXAMPLES} >= set(SUMMARIES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_understood(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A no is an answer; what needs a GPU is read and not run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    words = shlex.split(example)[1:]
    if words[0] in ASKS_A_GPU and example != LISTS:
        assert callable(read(words))
        return
    out, code = piped(example)
    assert code in (0, 1), out
    assert out.strip()
