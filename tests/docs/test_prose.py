"""The repository has no habit of `tools/prose.py`, and the check of it can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools import prose

ROOT = Path(__file__).parents[2]


def test_the_repository_has_no_fault() -> None:
    assert [str(fault) for fault in prose.everywhere()] == []


IS, WHAT = "is", "What"
"""Words of the faults below, apart, so that this file itself has no habit."""

SOURCE = f'''"""A module.

    an indented line

{WHAT} stands below an indented line is read.
"""


def kind(number):
    """The kind of a number."""
    raise ValueError("the number {IS} none of them")
'''


def test_faults_of_a_source_are_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    found = [(fault.where, fault.text) for fault in prose.faults_of_source(path, verbs=True)]
    assert sorted(found) == [
        ("module.py:1", f"{WHAT} stands below an indented line is read."),
        ("module.py:11", f"{IS} none"),
        ("module.py:9", "The"),
    ]
    assert len([*prose.faults_of_source(path, verbs=False)]) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"| a | table |\n\nThere {IS} none.", [f"{IS} none"]),
        (f"```\nNobody {IS} asked.\n```\nNobody {IS} told.", [f"{IS} told"]),
        ("Say `it is said`, and it works.", []),
        ("How to ask\n\nAsk. Which tile? The nearest.", []),
        (f"How to ask\n\n{WHAT} you ask has an answer.", [f"{WHAT} you ask has an answer."]),
        (f">>> it {IS} none\nit {IS} none\n\nIt {IS} meant.", [f"{IS} meant"]),
    ],
)
def test_prose_is_told_from_code_titles_and_questions(text: str, found: list[str]) -> None:
    assert [fault.text for fault in prose.faults(text)] == found


def test_the_check_needs_the_standard_library_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"There {IS} none.\n")
    command = [sys.executable, "-S", "-m", "tools.prose", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith(f"{path}: {IS} none")) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Ask a question", 0),
        (f"Ask a question\n\nIt {IS} asked.\n", 1),
        (f"Ask a question\n\n# It {IS} asked.\n", 0),
    ],
)
def test_the_hook_reads_the_message_of_a_commit(message: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text(message)
    hook = [str(ROOT / ".githooks/commit-msg"), str(path)]
    done = subprocess.run(hook, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
