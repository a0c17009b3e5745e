"""A whole product on Hopper: D = A B^T of any extents, written from layouts and a schedule.

plan     tiles, who does what, D's way out
choice   the tile and the cluster of a problem
kernel   the program in CUDA C++
finish   factors, C, bias and the type of D
host     the launch in C++
"""

from __future__ import annotations

from tilewise.codegen.gemm.choice import GemmProblem, TileChoice, chosen
from tilewise.codegen.gemm.kernel import kernel_source
from tilewise.codegen.gemm.plan import Finish, HopperPlan, planned

__all__ = ["Finish", "GemmProblem", "HopperPlan", "TileChoice", "chosen", "kernel_source", "planned"]
