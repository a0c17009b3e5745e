"""Measurements as a Markdown page."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One measurement beside what it is compared with; `aim` is the largest ratio that was aimed at."""

    what: str
    ours: float
    other: str = ""
    theirs: float | None = None
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def missed(self) -> bool:
        """Return whether the ratio is above the aim."""
        return self.aim is not None and self.ratio is not None and self.ratio > self.aim


@dataclass(frozen=True)
class Section:
    """Rows under a heading, and what a reader has to know of them."""

    title: str
    note: str
    rows: list[Row]
    unit: str = "s"

    def markdown(self) -> str:
        """Return the section as a table."""
        head = ["| what | tilewise | beside | theirs | ratio | aim |", "|---|--:|---|--:|--:|--:|"]
        return "\n".join([f"## {self.title}", "", self.note, "", *head, *map(self._line, self.rows), ""])

    def _line(self, row: Row) -> str:
        theirs = "" if row.theirs is None else self._spelled(row.theirs)
        ratio = "" if row.ratio is None else spelled_ratio(row.ratio)
        aim = "" if row.aim is None else f"≤ {spelled_ratio(row.aim)}"
        return f"| {row.what} | {self._spelled(row.ours)} | {row.other} | {theirs} | {ratio} | {aim} |"

    def _spelled(self, value: float) -> str:
        return f"{value / 2**20:.1f} MiB" if self.unit == "B" else spelled_seconds(value)


@dataclass(frozen=True)
class Answers:
    """The answers of several to the same cases, under a heading: a table of words."""

    title: str
    note: str
    heads: tuple[str, ...]
    lines: list[tuple[str, ...]]
    rows: tuple[Row, ...] = ()
    """The rows that have an aim, if any; only those that fall short of it are printed."""

    def markdown(self) -> str:
        """Return the answers as a table."""
        table = [self.heads, ("---",) * len(self.heads), *self.lines]
        return "\n".join([f"## {self.title}", "", self.note, "", *map(_line, table), ""])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def spelled_seconds(seconds: float) -> str:
    """Three digits in a unit that fits.

    >>> spelled_seconds(0.00123), spelled_seconds(4.2e-7), spelled_seconds(25)
    ('1.23 ms', '420 ns', '25.0 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds / size < 10 else f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def spelled_ratio(ratio: float) -> str:
    """Return a ratio, or its inverse where it is small.

    >>> spelled_ratio(1.071), spelled_ratio(0.002), spelled_ratio(0.5)
    ('1.07', '1/500', '0.50')
    """
    return f"1/{1 / ratio:.0f}" if ratio < 0.1 else f"{ratio:.2f}"


def page(sections: Iterable[Section | Answers], neighbours: Iterable[str]) -> str:
    """Return the whole page."""
    sections = list(sections)
    missed = [
        f"- {row.what}: {spelled_ratio(row.ratio)} times {row.other}, aimed at {spelled_ratio(row.aim)}."
        for section in sections
        for row in section.rows
        if row.missed and row.ratio is not None and row.aim is not None
    ]
    return "\n".join(
        [
            "# Figures",
            "",
            "Written by `make bench`, or, with the neighbours installed, `python bench/run.py`. Every",
            "number is the median of repetitions that take turns in one run, except pycute's",
            "enumerations, which run once. A ratio is tilewise over what stands beside it: below 1,",
            "tilewise needs less.",
            "",
            f"Machine: {machine()}.",
            "",
            f"Beside: {', '.join(neighbours)}.",
            "",
            *(section.markdown() for section in sections),
            "## Short of the aim",
            "",
            *(missed or ["Nothing in this run."]),
            "",
        ]
    )


def machine() -> str:
    """Return the machine in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_cpu_model()}, {cores} cores, {platform.system()}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}"
    )


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
