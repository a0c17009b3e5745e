"""Thirty tasks, and for each the first line of a reader of `--help`: all of them run.

The tasks were written down before the commands got their names. A reader of the help typed each line first.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tilewise.notation.dialects.cute_block import EXAMPLES
from tilewise.questions import SUMMARIES
from tilewise.questions.operations import OPERATIONS

TASKS = json.loads(Path(__file__).with_name("first_tries.json").read_text(encoding="utf-8"))


def test_the_words_that_answer_are_commands():
    assert len(TASKS) == 30
    for task in TASKS:
        assert {*task["answered_by"]} <= {*SUMMARIES, *OPERATIONS}, task["task"]
        assert shlex.split(task["typed"])[1] in task["answered_by"], task["task"]


FILES = {
    "A.txt": "S[(8, 4) : (4, 1)]",
    "B.txt": "S[(4, 8) : (1, 4)]",
    "mma.txt": EXAMPLES[0].text,
    "dump.ttgir": "#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [4, 1], order = [1, 0]}>\n"
    "#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], "
    "instrShape = [16, 8]}>\n",
}
"""{file that a task names: its text}."""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["task"][:40])
def test_the_first_line_runs(tilewise, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    run = tilewise(*shlex.split(task["typed"])[1:])
    assert run.code in (0, 1), run.err
