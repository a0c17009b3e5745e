"""Facts about all elements of a scene, in sentences: counted one by one, as every evaluator can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tilewise.core.axes import KNOWN, STORAGE
from tilewise.core.integers import counted
from tilewise.pictures.scene.cells import EXACT, Numbers, numbered
from tilewise.pictures.scene.lines import extent
from tilewise.pictures.scene.logical import Logical
from tilewise.pictures.scene.model import Axis, Note
from tilewise.pictures.scene.words import size_words, taken_words

Places = dict[str, Numbers]

Shared = tuple[int, int, int]
"""Positions of two elements in one place, and the entry at which the second meets the first."""


def notes_of(
    part: Logical, axes: Sequence[Axis], copies: int, places: Places, bits: int | None, unit: str
) -> Iterator[Note]:
    """Yield the facts of a scene; of a window only which one it is."""
    if not part.whole:
        (top, bottom), (left, right) = part.window
        rows = f"rows {top}..{bottom - 1} of {prod(part.rows)}"
        columns = f"columns {left}..{right - 1} of {part.broad}"
        yield Note("fact", f"{rows}, {columns}; the layout has {counted(part.size, 'element')}")
        return
    in_bytes = len(axes) == 1 and axes[0].kind == STORAGE and bits is not None and unit == "element"
    room = f"{-(-extent(axes[0]) * (bits or 0) // 8)} B" if in_bytes else ""
    yield Note("fact", size_words(part.size, {axis.name: (axis.low, axis.high) for axis in axes}, room))
    if copies > 1:
        yield Note("fact", f"every element has {copies} copies")
    yield Note("fact", _one_to_one(axes, copies, places))
    for axis in axes:
        if axis.name in KNOWN and (said := KNOWN[axis.name].beyond(axis.name, axis.low, axis.high)):
            yield Note("hint", said)


def _one_to_one(axes: Sequence[Axis], copies: int, places: Places) -> str:
    many, shared = taken(axes, copies, places)
    room = prod(map(extent, axes))
    said = ""
    if shared is not None:
        first, second, at = shared
        place = " + ".join(f"{places[axis.name][at]}@{axis.name}" for axis in axes)
        said = f"elements {first} and {second} share {place}"
    return taken_words(said, room - many if room <= EXACT else None)


def taken(axes: Sequence[Axis], copies: int, places: Places) -> tuple[int, Shared | None]:
    """Return how many places are taken, and the first element that meets one before it.

    >>> import numpy as np
    >>> taken([Axis("m", "storage", 0, 2)], 1, {"m": np.array([0, 2, 0])})
    (2, (0, 2, 2))
    """
    keys = numbered([places[axis.name] for axis in axes])
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    before = first[which] // copies
    own = np.arange(len(keys)) // copies
    meets = np.flatnonzero(before != own)
    if not len(meets):
        return len(first), None
    at = int(meets[0])
    return len(first), (int(before[at]), int(own[at]), at)
