"""Options of the whole test run, and what README, docs and docstrings show as tests.

A page is one test, for its examples build on each other and must stay in one process.
"""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
SLOW_PAGES = ("confirmed.md",)
"""Pages whose examples take more than three seconds."""
sys.path.insert(0, str(ROOT))  # for tests.docs.examples, before tests/conftest.py is read
pytest_plugins = ["tests.runs"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="count every skipped test as a failure")
    parser.addoption("--update-goldens", action="store_true", help="write recorded outputs anew")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    place = file_path.relative_to(ROOT).parts if file_path.is_relative_to(ROOT) else ()
    if file_path.suffix == ".md" and place[0] in ("README.md", "CONTRIBUTING.md", "docs"):
        return None if "_build" in place else PageFile.from_parent(parent, path=file_path)
    if file_path.suffix == ".py" and place[:1] in (("src",), ("tools",)):
        return ModuleFile.from_parent(parent, path=file_path)
    return None


class PageFile(pytest.File):
    """A page in Markdown."""

    def collect(self) -> Iterator[pytest.Item]:
        page = PageItem.from_parent(self, name="examples")
        if self.path.name in SLOW_PAGES:
            page.add_marker("slow")
        yield page


class PageItem(pytest.Item):
    """All examples of a page, in order."""

    def runtest(self) -> None:
        from tests.docs.examples import compare

        compare(self.path, update=self.config.getoption("--update-goldens"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        return str(excinfo.value) if excinfo.errisinstance(AssertionError) else str(excinfo.getrepr())

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: examples"


class ModuleFile(pytest.File):
    """A module with doctests."""

    def collect(self) -> Iterator[pytest.Item]:
        place = self.path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(place[1:] if place[0] == "src" else place).removesuffix(".__init__")
        if name.endswith("__main__"):
            return
        for found in doctest.DocTestFinder(exclude_empty=True).find(import_module(name)):
            if found.examples:
                yield DocstringItem.from_parent(self, name=found.name, found=found)


class DocstringItem(pytest.Item):
    """The examples of one docstring."""

    def __init__(self, *, found: doctest.DocTest, **keywords: object) -> None:
        super().__init__(**keywords)  # type: ignore[arg-type]
        self.found = found

    def runtest(self) -> None:
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF)
        assert runner.run(self.found, out=report.append).failed == 0, "".join(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.found.lineno or 0, self.found.name


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and --no-skips was given: {report.longrepr[-1]}"
