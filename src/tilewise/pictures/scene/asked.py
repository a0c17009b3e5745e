"""What an access adds to a scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tilewise.pictures.scene.model import Note, Step

MOST_STEPS = 128
"""So many wavefronts, instructions or boxes are steps."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An access by its name, with its steps, and what is true of all of it."""

    name: str
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, name: str, steps: Iterable[Step], total: int, noun: str, notes: Iterable[Note]) -> Asked:
        """The first steps of so many; where they are not all, a hint says so.

        >>> Asked.of("row", (Step(f"wavefront {i}", ()) for i in range(200)), 200, "wavefronts", ()).notes
        (Note(kind='hint', text='the first 128 of 200 wavefronts are steps'),)
        """
        first = tuple(islice(steps, MOST_STEPS))
        cut = f"the first {len(first)} of {total} {noun} are steps"
        return cls(name, first, (*notes, *((Note("hint", cut),) if len(first) < total else ())))

    @classmethod
    def refused(cls, name: str, why: str, *hints: str) -> Asked:
        """No step, why there is none, and what to do."""
        return cls(name, (), (Note("no", f"{name}: {why}"), Note("hint", "; ".join(filter(None, hints)))))
