"""Kernels around Hopper's wgmma, written out of layouts: where tiles lie decides each line that moves them.

from tilewise.emit.wgmma import planned, kernel_source

plan                what a kernel does: tile, operands, loads, stages
operands            A and B: tiles of atoms, any layout that wgmma reads, or registers
boxes               tensor maps of problems whose extents are not known yet
kernel              the program in CUDA C++
loads, chain        its parts: tiles into shared memory or registers, the instructions
host                the tensor maps and the launch, in C++
constants, cute     the same as bare constants, or in CuTe's words
"""

from __future__ import annotations

from tilewise.emit.wgmma.kernel import kernel_source
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import LOADS, Plan, planned

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
