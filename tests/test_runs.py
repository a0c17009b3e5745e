"""The share of grids, properties and slow tests that a run takes, on a file with a planted fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache

import pytest
from tests.runs import SEED, SHARE, WHOLE, sample

from conftest import ROOT, SLOW_PAGES

PLANTED = """
import time
import pytest
from hypothesis import given, strategies as st

@pytest.mark.parametrize("case", range(40))
def test_grid(case):
    time.sleep(0.03)
    assert case not in (7, 23)

@pytest.mark.parts(3)
@pytest.mark.parametrize("case", range(8))
def test_cheap(case):
    pass

@pytest.mark.parametrize("case", ["a", "b"])
def test_small(case):
    if case == "b":
        pytest.skip("nothing here")

@pytest.mark.slow
def test_slow():
    print("slow ran")

def test_single():
    print("single ran")

def test_count(times):
    print("times", times(110))

@given(st.integers())
def test_property(number):
    pass
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory):
    """A function that runs the planted file, and returns what pytest prints."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "test_planted.py").write_text(PLANTED)
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.runs", "tests.conftest"]')
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    found = os.pathsep.join((str(ROOT), inherited.get("PYTHONPATH", "")))

    @cache
    def ran(*words: str, seed: int | str = "", spare: str = "0.01") -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--color=no", *words]
        environment = inherited | {"PYTHONPATH": found, SEED: str(seed), "TILEWISE_SPARE": spare}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout

    return ran


def named(out: str, outcome: str) -> list[str]:
    """Return the tests that the summary names after an outcome."""
    return re.findall(rf"^{outcome} test_planted\.py::(\S+(?: part \d)?)", out, re.MULTILINE)


def test_grid_reports_every_case_that_fails(run) -> None:
    out = run()
    assert named(out, "FAILED") == ["test_grid[7]", "test_grid[23]"]
    assert "test_grid" not in named(out, "PASSED")
    assert "assert 7 not in (7, 23)" in out


def test_grid_in_a_worker_reports_the_same_cases(run) -> None:
    assert named(run("-n", "1"), "FAILED") == ["test_grid[7]", "test_grid[23]"]


def test_full_run_takes_everything(run) -> None:
    out = run()
    assert set(named(out, "PASSED")) >= {"test_slow", "test_single", "test_small", "test_cheap part 2"}
    assert "times 110" in out
    assert "[1] test_planted.py" in out, "the case that is skipped is counted"


@pytest.mark.parametrize("count", [1, 4, 5, 13, 40, 539])
def test_seeds_in_a_row_take_every_case(count: int) -> None:
    cases = [f"test_grid[{at}]" for at in range(count)]
    samples = [sample(cases, seed) for seed in range(100, 100 + SHARE)]
    assert set.union(*samples) == set(cases)
    assert {len(chosen) for chosen in samples} == {max(min(count, WHOLE), -(-count // SHARE))}


def test_quick_run_finds_a_fault_by_the_right_seed(run) -> None:
    cases = [f"test_planted.py::test_grid[{at}]" for at in range(40)]
    having = [seed for seed in range(SHARE) if cases[7] in sample(cases, seed)]
    lacking = [seed for seed in range(SHARE) if not {cases[7], cases[23]} & sample(cases, seed)]
    assert "test_grid[7]" in named(run("--quick", seed=having[0]), "FAILED")
    passing = run("--quick", seed=lacking[0])
    assert "test_grid" in named(passing, "PASSED")
    assert f"make test SEED={lacking[0]} runs the same" in passing


def test_quick_run_without_a_seed_says_which_it_took(run) -> None:
    out = run("--quick", "-k", "single")
    assert re.search(r"a quick run with seed \d+:", out)


def test_quick_run_leaves_slow_tests_and_most_examples(run) -> None:
    out = run("--quick", "--hypothesis-show-statistics", seed=1)
    assert "test_slow" not in named(out, "PASSED")
    assert {"test_single", "test_small"} <= set(named(out, "PASSED"))
    assert "times 30" in out
    assert "max_examples=24" in out


def test_cheap_grid_in_a_quick_run_runs_whole(run) -> None:
    assert "8 of 8 cases of grids ran" in run("--quick", "-k", "cheap", seed=1, spare="60")


def test_rest_is_what_the_quick_run_left_out(run) -> None:
    out = run("--rest", "--hypothesis-show-statistics")
    parts = {f"test_cheap part {at}" for at in range(3)}
    assert set(named(out, "PASSED")) == {"test_slow", "test_count", "test_property"} | parts
    assert named(out, "FAILED") == ["test_grid[7]", "test_grid[23]"]
    assert "max_examples=88" in out


def test_case_by_its_name_runs_alone(run) -> None:
    assert named(run("--quick", "test_planted.py::test_grid[7]"), "FAILED") == ["test_grid[7]"]


@pytest.mark.parametrize("page", SLOW_PAGES)
def test_slow_page_is_there(page: str) -> None:
    assert (ROOT / "docs" / page).exists()
