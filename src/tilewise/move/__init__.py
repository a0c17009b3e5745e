"""From one layout to another: the plan, its kernel, and the move itself, at the speed of a copy.

pair           two layouts of memory as one list of digits
digits         as few of them as can be, of elements as wide as can be
tile, tiling   the box that a block of threads moves, and which one to take
conflicts      where a tile lies in shared memory
tile_kernel, gather_kernel   CUDA C++ of the two kernels
plan           the plan, and what it costs
storage        arrays of NumPy, torch and CuPy
host, device   the move on the CPU; kernels on a GPU
run            `move`, and plans that are ready to run
"""

from __future__ import annotations

from tilewise.move.plan import Plan, plan
from tilewise.move.run import Bound, move

__all__ = ["Bound", "Plan", "move", "plan"]
