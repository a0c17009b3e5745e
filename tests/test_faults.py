"""Faults planted in a toy project are found by its tests, and nothing is found where nothing was planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tools.faults import FOUND, SURVIVED, draw, hunt
from tools.mutations import faults_of, planted

SOURCE = '''
def lower(first: int, second: int) -> int:
    """Return the lower of two numbers; 0 says nothing here."""
    assert first != 7, "no seven"
    return min(first, second)
'''
TEST = """
from tilewise.toy import lower

def test_lower():
    assert lower(1, 2) == 1
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Return the folder of a project with one function and one test."""
    for name, text in {
        "src/tilewise/__init__.py": "",
        "src/tilewise/toy.py": SOURCE,
        "tests/contract/test_toy.py": TEST,
        "conftest.py": 'def pytest_addoption(parser): parser.addoption("--quick", action="store_true")',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_planted_fault_is_found_and_nothing_is_not(toy: Path):
    (fault,) = faults_of(SOURCE, "src/tilewise/toy.py")
    assert (fault.before, fault.after) == ("min(first, second)", "max(first, second)")
    assert hunt(toy, fault, limit=30) == (FOUND, "tests/contract/test_toy.py::test_lower")
    assert (toy / "src/tilewise/toy.py").read_text() == SOURCE
    assert hunt(toy, None, limit=30) == (SURVIVED, "")


def test_a_change_that_changes_nothing_is_refused():
    (fault,) = faults_of(SOURCE, "src/tilewise/toy.py")
    with pytest.raises(ValueError, match="nothing changes"):
        planted(SOURCE, replace(fault, after=fault.before))


def test_a_seed_names_its_faults(toy: Path):
    steps = "\n".join(f"def step{at}(i):\n    return i < {at} + i" for at in range(20))
    (toy / "src/tilewise/toy.py").write_text(steps)
    assert draw(toy, 1, 5) == draw(toy, 1, 5) != draw(toy, 2, 5)
    assert len({fault.line for fault in draw(toy, 1, 5)}) == 5
