"""Checks of what a caller wants, before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.shapes import Shape, extents_of, spell

Window: TypeAlias = tuple[tuple[int, int], ...]

MAX_ENTRIES = 1 << 32
"""No more 64-bit entries are listed, all axes and copies counted, nor more than half the memory holds."""


def as_window(window: Any, shape: Shape) -> Window:
    """Return one (start, stop) a top-level mode of the shape; None stands for an end, a mode, or for all.

    >>> as_window(((2, None), None), ((4, 2), 8))
    ((2, 8), (0, 8))
    """
    extents = extents_of(shape)
    if window is None:
        return tuple((0, extent) for extent in extents)
    if not isinstance(window, Sequence) or len(window) != len(extents):
        raise LayoutError(
            "TW201",
            f"the window {window!r} is not one (start, stop) for each of the {len(extents)} modes of "
            f"{spell(shape)}",
            hint="write None for a mode that is wanted whole",
        )
    return tuple(_ends(pair, i, extent) for i, (pair, extent) in enumerate(zip(window, extents, strict=True)))


def _ends(pair: Any, mode: int, extent: int) -> tuple[int, int]:
    if pair is None:
        return 0, extent
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise LayoutError("TW201", f"the window of mode {mode} is a pair (start, stop), not {pair!r}")
    start, stop = (
        whole if end is None else as_int(end, "an end of a window")
        for end, whole in zip(pair, (0, extent), strict=True)
    )
    if not 0 <= start < stop <= extent:
        raise LayoutError(
            "TW201",
            f"the window of mode {mode}, {start}..{stop}, is not inside 0..{extent}",
            hint="a window has at least one index; it starts at start and ends before stop",
        )
    return start, stop


def refuse_too_many(entries: int, what: str, hint: str) -> None:
    """Refuse more entries than are listed here."""
    limit = min(MAX_ENTRIES, _memory() // 2 // 8)
    if entries > limit:
        raise LayoutError("TW301", f"{what} has {entries} entries, and {limit} is the most", hint=hint)


def _memory() -> int:
    """Return the bytes of the machine's memory, or of the most entries where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return MAX_ENTRIES * 8
