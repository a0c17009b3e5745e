"""Every example in the help of every command is understood, and answered."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from tests.compiled.sass_texts import text_of
from tests.docs.examples import piped

from tilewise.cli.arguments import parser_for, read
from tilewise.questions import SUMMARIES

EXAMPLE = re.compile(r"^ *(?:\$ |eval \"\$\()?(tilewise .*?)(?:\)\" .*| > ~.*)?$")
WAITS = ("verify", "mcp")
"""Commands that ask a GPU, or serve an assistant, unless they list."""


def examples(command: str) -> list[str]:
    """The lines of a command's help that are commands."""
    lines = parser_for(command).format_help().partition("\n\n")[2].splitlines()
    return [found[1] for line in lines if (found := EXAMPLE.match(line))]


EXAMPLES = [example for command in SUMMARIES for example in examples(command)]


def test_every_command_has_an_example() -> None:
    assert {shlex.split(example)[1] for example in EXAMPLES} >= set(SUMMARIES)


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry transpose(.param .u64 to, .param .u32 M)
{
    ret;
}
"""
TTGIR = """module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @transpose(%to: !tt.ptr<f32>, %M: i32) {
    tt.return
  }
}
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples of `read` name: texts, whatever their names end in."""
    cache = tmp_path / ".triton/cache/ABCDEF"
    cache.mkdir(parents=True)
    for name in ("kernel.cubin", "old.cubin", "new.cubin", ".triton/cache/ABCDEF/transpose.sass"):
        (tmp_path / name).write_text(text_of("EXIT", name="transpose"))
    (tmp_path / "kernel.ptx").write_text(PTX)
    (tmp_path / "kernel.ttgir").write_text(TTGIR)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_understood(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A no is an answer; a command that needs a GPU or an assistant is read and not run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    words = shlex.split(example)[1:]
    if words[0] in WAITS and "--list" not in words:
        assert callable(read(words))
        return
    out, code = piped(example)
    assert code in (0, 1), out
    assert out.strip()
