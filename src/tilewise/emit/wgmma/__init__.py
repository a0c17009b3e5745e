"""Kernels around Hopper's wgmma, written out of layouts: where tiles lie decides each line that moves them.

from tilewise.emit.wgmma import planned, kernel_source

plan     what a kernel does: tile, operands, stages
kernel   the program in CUDA C++, and its launch
boxes    tensor maps of problems whose extents are not known yet
styles   the same as bare constants, or in CuTe's words
"""

from __future__ import annotations

from tilewise.emit.wgmma.kernel import kernel_source
from tilewise.emit.wgmma.plan import LOADS, planned
from tilewise.emit.wgmma.plan import DescribedOperand as Operand
from tilewise.emit.wgmma.plan import WgmmaPlan as Plan

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
