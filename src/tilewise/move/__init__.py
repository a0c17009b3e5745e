"""From one layout to another: the plan, its kernel, and the move itself, at the speed of a copy.

pair           two layouts of memory as one list of digits
digits         as few of them as can be, of elements as wide as can be
tile, tiling   the box that a block of threads moves, and which one to take
conflicts      where a tile lies in shared memory
tile_kernel, gather_kernel   CUDA C++ of the two kernels
plan           the plan, and what it costs
named, source  moves that have names; a kernel as a file, with its launch
fills          numbers as the bytes of an element
storage, exchanged   arrays of NumPy, torch and CuPy; of all that speak DLPack
host           the move on the CPU: parts of a pair that are strided, and blocks of them
parts, blocks  which parts those are; one strided copy, block by block and in threads
device         kernels on a GPU
run            `move`, and plans that are ready to run
traced         `move` as an operator of torch, where torch.compile traces
"""

from __future__ import annotations

import sys
from types import ModuleType

from tilewise.move.plan import Plan, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.move.run import Bound, move

__all__ = ["Bound", "Plan", "move", "plan"]


def __getattr__(name: str) -> Any:
    """What runs a plan takes NumPy, and is imported when it is asked for."""
    if name not in ("Bound", "move"):
        raise AttributeError(f"module 'tilewise.move' has no attribute {name!r}")
    from tilewise.move import run

    found = globals()[name] = getattr(run, name)
    return found


class _Called(ModuleType):
    """The module is what it is named for: `tilewise.move(x, source, target)` is `tilewise.move.run.move`."""

    def __call__(self, *words: Any, **options: Any) -> Any:
        return self.move(*words, **options)


sys.modules[__name__].__class__ = _Called
