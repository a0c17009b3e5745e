"""Questions that neighbours do not answer, each beside what comes nearest to it, if anything does."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from clock import Work, side_by_side
from page import Row, Section

ROWS, K = 128, 64
"""The tile of all questions."""


def section(
    title: str, note: str, works: Mapping[str, Work], theirs: Mapping[str, tuple[str, Work | None]]
) -> Section:
    """Return the works, all measured in turn; `theirs` are what a neighbour is called and does, by our
    work.
    """
    beside = {what: (name, work) for what, (name, work) in theirs.items() if work is not None}
    seconds = side_by_side({**works, **{f"theirs: {what}": work for what, (_, work) in beside.items()}})
    rows = []
    for what in works:
        name = beside[what][0] if what in beside else ""
        rows.append(Row(what, seconds[what], name, seconds.get(f"theirs: {what}")))
    return Section(title, note, rows)


def every_place(peers: Mapping[str, ModuleType]) -> tuple[str, Work | None]:
    """Return the least that anyone must do who checks the tile element by element."""
    pycute = peers.get("pycute")
    if pycute is None:
        return "", None
    layout, swizzle = pycute.Layout((ROWS, K), (K, 1)), pycute.Swizzle(3, 3, 3)
    indices = range(ROWS * K)
    return "pycute, every element", lambda: [swizzle(layout(i)) for i in indices]
