"""What a program must not do to memory or registers, told with its culprit.

outside      a row that leaves memory, or the part of it that it began in
misaligned   an address that is no multiple of what the instruction asks for
unwritten    a byte, or a register, is read that nothing has been written to
overlapping  two rows of one step write different bytes to one address
apart        copies of one element that hold different numbers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.core.errors import Refused

Array = np.ndarray[Any, Any]

FAULTS = ("outside", "misaligned", "unwritten", "overlapping", "apart")
"""The `fault` of a witness."""


@dataclass(frozen=True)
class Step:
    """One instruction, as a culprit is told: what it is, whose it is, and what its rows are.

    A row is what has one address: a lane of a warp, a chunk of a copy, an element of an operand.

    >>> Step("ldmatrix.x4", warp=2).culprit(5)
    {'instruction': 'ldmatrix.x4', 'warp': 2, 'lane': 5}
    >>> Step("wgmma, B", rows=("n", "k"), shape=(8, 16)).culprit(35)
    {'instruction': 'wgmma, B', 'n': 2, 'k': 3}
    """

    instruction: str
    warp: int | None = None
    rows: tuple[str, ...] = ("lane",)
    """What a row of an access is counted by."""
    shape: tuple[int, ...] = ()
    """How many of each of those there are, where they are several; the last counts fastest."""

    def culprit(self, row: int) -> dict[str, Any]:
        """The instruction, and which of its rows."""
        whose = {} if self.warp is None else {"warp": self.warp}
        return {"instruction": self.instruction, **whose, **self.counted(row)}

    def counted(self, row: int) -> dict[str, int]:
        """Which of its rows."""
        numbers = np.unravel_index(row, self.shape) if self.shape else (row,)
        return dict(zip(self.rows, map(int, numbers), strict=True))

    def words(self, row: int) -> str:
        """The same as a message says it.

        >>> Step("ld", warp=0).words(3)
        'ld, warp 0, lane 3'
        """
        first, *rest = self.culprit(row).items()
        return ", ".join([str(first[1]), *(f"{name} {value}" for name, value in rest)])

    def row_words(self, row: int) -> str:
        """The row alone, as a message says it."""
        return ", ".join(f"{name} {value}" for name, value in self.counted(row).items())


HOST = Step("the host", rows=("element",))
"""Who fills memory before a program, and looks at it afterwards."""


def fault(kind: str, message: str, witness: dict[str, Any], hint: str) -> Refused:
    """The refusal of a step, with its culprit as the witness."""
    assert kind in FAULTS
    return Refused("TW612", message, witness={"fault": kind} | witness, hint=hint)


def clash(places: Array, values: Array) -> tuple[int, int] | None:
    """Return the positions of two different values, or rows of values, for one place; None without such.

    >>> clash(np.array([8, 4, 8, 8]), np.array([1, 2, 1, 3]))
    (2, 3)
    """
    order = np.argsort(places, kind="stable")
    near, beside = places[order], values[order]
    differ = beside[1:] != beside[:-1]
    found = np.flatnonzero((near[1:] == near[:-1]) & (differ if values.ndim == 1 else differ.any(axis=1)))
    return (int(order[found[0]]), int(order[found[0] + 1])) if found.size else None
