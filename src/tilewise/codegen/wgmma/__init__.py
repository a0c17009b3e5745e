"""Kernels around Hopper's wgmma, written from layouts: a tile's place decides each line that moves it.

from tilewise.codegen.wgmma import planned, kernel_source

plan     the parts of a kernel: tile, operands, stages
kernel   the program in CUDA C++, and its launch
boxes    tensor maps of problems whose extents are not known yet
styles   the same tiles as bare constants, or in CuTe's words
"""

from __future__ import annotations

from tilewise.codegen.wgmma.kernel import kernel_source
from tilewise.codegen.wgmma.plan import LOADS, planned
from tilewise.codegen.wgmma.plan import DescribedOperand as Operand
from tilewise.codegen.wgmma.plan import WgmmaPlan as Plan

__all__ = ["LOADS", "Operand", "Plan", "kernel_source", "planned"]
