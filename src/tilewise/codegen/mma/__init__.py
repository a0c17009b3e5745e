"""Kernels around mma.sync, written from layouts: any tile of shared memory that a warp can read.

from tilewise.codegen.mma import planned, kernel_source

plan        the parts of a kernel: tile, warps, operands, stages
choice      the instruction and the grid of warps, where the caller leaves them open
operands    tiles of A, B and D in shared memory, as given or usual
moves       the loads and stores of a warp: check.feeding as lines of a kernel
kernel      the program in CUDA C++, and its launch
fragments   its loads out of shared memory and its stores of D
"""

from __future__ import annotations

from tilewise.codegen.mma.kernel import kernel_source
from tilewise.codegen.mma.operands import WarpTile as Operand
from tilewise.codegen.mma.plan import LOADS, planned
from tilewise.codegen.mma.plan import MmaPlan as Plan

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
