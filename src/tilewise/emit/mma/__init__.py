"""Kernels around mma.sync, written out of layouts: any tile of shared memory that a warp can read.

from tilewise.emit.mma import planned, kernel_source

plan                what a kernel does: tile, warps, operands, stages
warps               how warps share the tile, and how many there are if it is not asked
instruction         which mma.sync it is around
operands            A and B: tiles of shared memory, as asked or as is usual
tiles               what is usual: swizzled, so that banks do not conflict
moves               what a warp loads and stores, and from where: check.feeding as lines of a kernel
kernel              the program in CUDA C++
loads, fragments    its parts: tiles into shared memory, fragments out of it
chain, store        the instructions, D out of registers
results             D on its way out
host                the launch, in C++
"""

from __future__ import annotations

from tilewise.emit.mma.kernel import kernel_source
from tilewise.emit.mma.operands import Operand
from tilewise.emit.mma.plan import LOADS, Plan, planned

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
