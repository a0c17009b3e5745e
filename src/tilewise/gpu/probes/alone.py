"""Questions that may end in a fault of the device: it takes the process with it, so each has its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

TOGETHER = 4
"""Processes at a time."""

MISALIGNED = 716
FAULTS = {
    700: "ILLEGAL_ADDRESS",
    715: "ILLEGAL_INSTRUCTION",
    MISALIGNED: "MISALIGNED_ADDRESS",
    717: "INVALID_ADDRESS_SPACE",
    719: "LAUNCH_FAILED",
}
"""What the driver calls the errors of a kernel, by their CUresult."""

NAMES = {0: "done"} | {result: name.lower().replace("_", " ") for result, name in FAULTS.items()}
"""Values of CUresult in words."""

One = TypeVar("One")
Answer = TypeVar("Answer")


def alone(
    ask: Callable[[One], Answer], every: Sequence[One], told: Callable[[int, int], None]
) -> list[Answer]:
    """What `ask` says of each, in their order; `told` hears how many are answered, and of how many."""
    workers = ProcessPoolExecutor(TOGETHER, get_context("spawn"), initializer=_quiet, max_tasks_per_child=1)
    with workers as pool:
        futures = [pool.submit(ask, one) for one in every]
        for done, _ in enumerate(as_completed(futures)):
            told(done + 1, len(every))
        return [future.result() for future in futures]


def fault_of(error: Exception) -> int:
    """The CUresult of a fault; RuntimeError with the error's own words where it is none.

    The bindings raise kinds of their own, of which the name is all that is of use.
    """
    for result, name in FAULTS.items():
        if name in str(error):
            return result
    raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _quiet() -> None:
    """A context that is lost says so for each of its buffers, to no one's use."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
