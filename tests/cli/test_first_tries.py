"""Thirty tasks, a first line for each, from `tilewise --help` alone: those that run keep on running.

The tasks were written down before the commands got their names. `runs` is false where the line names what a
reader cannot know, such as a file, or an option that there is not.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tilewise.questions import SUMMARIES
from tilewise.questions.operations import OPERATIONS

TASKS = json.loads(Path(__file__).with_name("first_tries.json").read_text(encoding="utf-8"))


def test_the_words_that_answer_are_commands():
    assert len(TASKS) == 30
    for task in TASKS:
        assert {*task["answered_by"]} <= {*SUMMARIES, *OPERATIONS}, task["task"]
        assert shlex.split(task["typed"])[1] in task["answered_by"], task["task"]


@pytest.mark.parametrize("task", [task for task in TASKS if task["runs"]], ids=lambda task: task["task"][:40])
def test_the_first_line_runs(tilewise, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("A.txt").write_text("S[(8, 4) : (4, 1)]")
    Path("B.txt").write_text("S[(4, 8) : (1, 4)]")
    run = tilewise(*shlex.split(task["typed"])[1:])
    assert run.code in (0, 1), run.err
