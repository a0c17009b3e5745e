"""A launch: the grid, the block, the bytes of dynamic shared memory, the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.errors import LayoutError

MOST_THREADS = 1024
MOST_BLOCKS = 1 << 40
MOST_STEPS = 100_000
"""The work of a run at most, where a usual instruction is 1: a loop that needs more is cut off."""

MOST_COUNTED = 1 << 34
"""Instructions of a lane that are counted at once at most: a loop with more of them does not end."""

POINTER_STEP = 1 << 36
"""Distance between the arguments that nobody gave, where they are addresses: a multiple of 256."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel.

    >>> Launch((16, 1, 1), (256, 1, 1)).blocks
    16
    """

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    args: Sequence[int | None] = ()
    """The arguments in order; None where one is not known."""
    shared: int = 0

    def __post_init__(self) -> None:
        for name, extents in (("grid", self.grid), ("block", self.block)):
            if any(extent < 1 for extent in extents):
                raise LayoutError(
                    "TW801", f"the {name} {_spelled(extents)} has no threads", hint="--grid 16,1,1"
                )
        if self.threads > MOST_THREADS:
            message = f"the block {_spelled(self.block)} has {self.threads} threads"
            raise LayoutError("TW801", message, hint=f"a block has at most {MOST_THREADS}")
        if self.blocks > MOST_BLOCKS:
            raise LayoutError("TW801", f"the grid {_spelled(self.grid)} has more than 2^40 blocks")

    @property
    def threads(self) -> int:
        """Return the threads of a block."""
        return prod(self.block)

    @property
    def blocks(self) -> int:
        """Return the blocks of the grid."""
        return prod(self.grid)


def _spelled(extents: Sequence[int]) -> str:
    return ",".join(map(str, extents))
