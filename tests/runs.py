"""Plugin of pytest: the cases of a test function are one test, and a quick run takes a sample of them.

A function with several cases is a grid. A grid is one item, which reports each case that fails under the
case's own name. `--quick` takes a sample of every grid, fewer examples of every property, and no slow test.
`--rest` takes what `--quick` leaves out or takes in part. Without either option everything runs.
"""

from __future__ import annotations

import os
import time
from random import Random, SystemRandom

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

WHOLE = 2
"""Up to so many cases of a grid run in a quick run in any case."""
SHARE = 8
"""Of a large grid one case in so many runs in any case."""
SPARE = float(os.environ.get("TILEWISE_SPARE", 0.01))
"""Seconds for which a quick run goes on with the other cases of a grid."""
QUICK, FULL, LONG = 24, 88, 3_000
"""Examples of a property: in a quick run, otherwise, and under `--hypothesis-profile long`."""
SEED = "TILEWISE_SEED"
"""The variable that names the samples of a quick run. Worker processes inherit it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a sample of every grid, and no slow test")
    parser.addoption("--rest", action="store_true", help="run what --quick leaves out or takes in part")


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its options, of which one is a profile
def pytest_configure(config: pytest.Config) -> None:
    # The same examples on every run; slow machines are no failure.
    quick = config.getoption("--quick")
    settings.register_profile("long", deadline=None, max_examples=LONG)
    settings.register_profile(
        "tilewise", deadline=None, derandomize=True, database=None, max_examples=QUICK if quick else FULL
    )
    settings.load_profile("tilewise")
    if quick:
        os.environ[SEED] = os.environ.get(SEED) or str(SystemRandom().randrange(10_000))


def pytest_sessionstart(session: pytest.Session) -> None:
    tell(session.config, "a quick run with seed {seed}: samples of grids, few examples, no slow test")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    told = [report for reports in terminalreporter.stats.values() for report in reports]
    counts = [report.cases for report in told if hasattr(report, "cases")]
    ran, of = (sum(column) for column in zip((0, 0), *counts, strict=True))
    tell(config, f"{ran} of {of} cases of grids ran; make test SEED={{seed}} runs the same samples")


def tell(config: pytest.Config, line: str) -> None:
    """Print a line of a quick run, in the process that has a terminal."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and config.getoption("--quick"):
        reporter.write_line(line.format(seed=os.environ[SEED]))


@pytest.hookimpl(trylast=True)  # what -k, -m and names leave out is no case
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    functions: dict[tuple[pytest.Collector | None, str], list[pytest.Item]] = {}
    for item in items:
        functions.setdefault((item.parent, getattr(item, "originalname", item.name)), []).append(item)
    # Workers get equal parts of the list, and take from the ends of others: a long test comes early.
    quick, rest = config.getoption("--quick"), config.getoption("--rest")
    taken: list[pytest.Item] = []
    for cases in sorted(functions.values(), key=lambda cases: not is_slow(cases[0])):
        swift = [case for case in cases if not is_slow(case)]
        if quick:
            cases = swift
        elif rest and len(swift) <= WHOLE and not is_property(cases[0]):
            cases = [case for case in cases if case not in swift]
        taken += grids(cases, int(os.environ[SEED]) if quick else None)
    items[:] = taken


def is_slow(item: pytest.Item) -> bool:
    """Return whether a test is marked so, or takes a browser."""
    return item.get_closest_marker("slow") is not None or "browser" in getattr(item, "fixturenames", ())


def is_property(item: pytest.Item) -> bool:
    """Return whether a test draws examples, of which a quick run draws fewer."""
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return drawn or "times" in getattr(item, "fixturenames", ())


def grids(cases: list[pytest.Item], seed: int | None) -> list[pytest.Item]:
    """Return the items that run the cases of one function: all of them, or the sample of a seed."""
    if len(cases) <= 1:
        return cases
    first = cases[0]
    name = getattr(first, "originalname", first.name)
    if seed is not None:
        chosen = sample([case.nodeid for case in cases], seed)
        sure = [case for case in cases if case.nodeid in chosen]
        spare = [case for case in cases if case.nodeid not in chosen]
        return [Grid.from_parent(first.parent, name=name, sure=sure, spare=spare)]
    mark = first.get_closest_marker("parts")
    parts = [cases[part :: mark.args[0]] for part in range(mark.args[0])] if mark else [cases]
    names = [f"{name} part {at}" for at in range(len(parts))] if mark else [name]
    return [
        Grid.from_parent(first.parent, name=name, sure=part, spare=[])
        for name, part in zip(names, parts, strict=True)
        if part
    ]


def sample(cases: list[str], seed: int) -> set[str]:
    """Return the cases that a seed runs in any case. Seeds one after the other run all cases."""
    size = min(max(WHOLE, -(-len(cases) // SHARE)), len(cases))
    shuffled = Random(cases[0]).sample(cases, len(cases))
    return {shuffled[(seed * size + at) % len(cases)] for at in range(size)}


class Grid(pytest.Item):
    """The cases of one test function: those that run in any case, and those that run if there is time."""

    def __init__(self, *, sure: list[pytest.Item], spare: list[pytest.Item], **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]
        self.sure, self.spare = sure, spare
        self.own_markers = list(sure[0].own_markers)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        path, line, _ = self.sure[0].reportinfo()
        return path, line, self.name

    def runtest(self) -> None:
        raise NotImplementedError("pytest_runtest_protocol runs the cases")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run the cases of a grid. Report each that fails or is skipped, and the grid if none fails."""
    if not isinstance(item, Grid):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    cases, began = [*item.sure, *item.spare], time.time()
    told: list[pytest.TestReport] = []
    ran = passed = failed = 0
    more = True
    while more:
        case, ran = cases[ran], ran + 1
        more = ran < len(item.sure) or (ran < len(cases) and time.time() < began + SPARE)
        reports = runtestprotocol(case, log=False, nextitem=cases[ran] if more else nextitem)
        passed += all(report.passed for report in reports)
        failed += any(report.failed for report in reports)
        for report in reports:
            if not report.passed:
                report.case, report.nodeid = report.nodeid, item.nodeid
                told.append(report)
    if passed and not failed:
        ended = time.time()
        span = {"duration": ended - began, "start": began, "stop": ended}
        told.append(pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "call", **span))
    told[-1].cases = ran, len(cases)
    for report in told:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Give the report of a case its own name, where it is shown: xdist wants that of the item in a worker."""
    if hasattr(report, "case") and "PYTEST_XDIST_WORKER" not in os.environ:
        report.nodeid = report.case
