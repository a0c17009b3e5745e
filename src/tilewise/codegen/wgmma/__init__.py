"""Kernels around Hopper's wgmma, written out of layouts: where tiles lie decides each line that moves them.

from tilewise.codegen.wgmma import planned, kernel_source

plan     what a kernel does: tile, operands, stages
kernel   the program in CUDA C++, and its launch
boxes    tensor maps of problems whose extents are not known yet
styles   the same as bare constants, or in CuTe's words
"""

from __future__ import annotations

from tilewise.codegen.wgmma.kernel import kernel_source
from tilewise.codegen.wgmma.plan import LOADS, planned
from tilewise.codegen.wgmma.plan import DescribedOperand as Operand
from tilewise.codegen.wgmma.plan import WgmmaPlan as Plan

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
