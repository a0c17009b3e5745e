"""Medians of interleaved repetitions: what is compared is run in turn, so drift hits all alike."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter
from typing import Any

Work = Callable[[], Any]

_SAMPLE_SECONDS = 0.01


def side_by_side(works: Mapping[str, Work], repetitions: int = 9) -> dict[str, float]:
    """{name: median seconds of one call}; each sample lasts long enough for the clock to see."""
    calls = {name: _calls_a_sample(work) for name, work in works.items()}
    samples: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repetitions):
        for name, work in works.items():
            samples[name].append(_seconds(work, calls[name]))
    return {name: median(taken) for name, taken in samples.items()}


def _calls_a_sample(work: Work) -> int:
    work()  # memory is touched and caches are filled before anything counts
    return max(1, round(_SAMPLE_SECONDS / max(_seconds(work, 1), 1e-7)))


def _seconds(work: Work, calls: int) -> float:
    start = perf_counter()
    for _ in range(calls):
        work()
    return (perf_counter() - start) / calls


def once(work: Work) -> float:
    """Seconds of a single call, for what takes long."""
    return _seconds(work, 1)


def processes(commands: Mapping[str, list[str]], repetitions: int = 15) -> dict[str, float]:
    """{name: median seconds of `python ...` as a process of its own}, without those that fail."""
    whole = {name: [sys.executable, *arguments] for name, arguments in commands.items()}
    works = {name: _process(command) for name, command in whole.items() if _runs(command)}
    return side_by_side(works, repetitions)


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _process(command: list[str]) -> Work:
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def peak_bytes(work: Work) -> int:
    """Return the most that was allocated at once during a call."""
    work()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
