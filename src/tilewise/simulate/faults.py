"""Faults: steps of a program that memory or registers forbid, with their culprits.

outside      a row that leaves memory, or the part of memory in which it began
misaligned   an address that is not a multiple of the instruction's alignment
unwritten    a read of a byte, or a register, that nothing has written
overlapping  two rows of one step that write different bytes to one address
apart        copies of one element that hold different numbers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.core.errors import Refused

Array = np.ndarray[Any, Any]

FAULTS = ("outside", "misaligned", "unwritten", "overlapping", "apart")
"""Values of `fault` in a witness."""


@dataclass(frozen=True)
class Step:
    """One instruction as a culprit: its name, its warp, and the form of its rows.

    A row is the part with one address: a lane of a warp, a chunk of a copy, an element of an operand.

    >>> Step("ldmatrix.x4", warp=2).culprit(5)
    {'instruction': 'ldmatrix.x4', 'warp': 2, 'lane': 5}
    >>> Step("wgmma, B", rows=("n", "k"), shape=(8, 16)).culprit(35)
    {'instruction': 'wgmma, B', 'n': 2, 'k': 3}
    """

    instruction: str
    warp: int | None = None
    rows: tuple[str, ...] = ("lane",)
    """The names by which a row of an access is counted."""
    shape: tuple[int, ...] = ()
    """The number of values of each name, if there are several names; the last counts fastest."""

    def culprit(self, row: int) -> dict[str, Any]:
        """Return the instruction, and the numbers of a row."""
        whose = {} if self.warp is None else {"warp": self.warp}
        return {"instruction": self.instruction, **whose, **self.counted(row)}

    def counted(self, row: int) -> dict[str, int]:
        """Return the numbers of a row."""
        numbers = np.unravel_index(row, self.shape) if self.shape else (row,)
        return dict(zip(self.rows, map(int, numbers), strict=True))

    def words(self, row: int) -> str:
        """Return the culprit in the words of a message.

        >>> Step("ld", warp=0).words(3)
        'ld, warp 0, lane 3'
        """
        first, *rest = self.culprit(row).items()
        return ", ".join([str(first[1]), *(f"{name} {value}" for name, value in rest)])

    def row_words(self, row: int) -> str:
        """Return the row alone in the words of a message."""
        return ", ".join(f"{name} {value}" for name, value in self.counted(row).items())


HOST = Step("the host", rows=("element",))
"""The step that fills memory before a program, and reads it afterwards."""


def fault(kind: str, message: str, witness: dict[str, Any], hint: str) -> Refused:
    """Return the refusal of a step, with its culprit as the witness."""
    assert kind in FAULTS
    return Refused("TW612", message, witness={"fault": kind} | witness, hint=hint)


def clash(places: Array, values: Array) -> tuple[int, int] | None:
    """Return the positions of two different values, or rows of values, for one place, or None.

    >>> clash(np.array([8, 4, 8, 8]), np.array([1, 2, 1, 3]))
    (2, 3)
    """
    order = np.argsort(places, kind="stable")
    near, beside = places[order], values[order]
    differ = beside[1:] != beside[:-1]
    found = np.flatnonzero((near[1:] == near[:-1]) & (differ if values.ndim == 1 else differ.any(axis=1)))
    return (int(order[found[0]]), int(order[found[0] + 1])) if found.size else None
