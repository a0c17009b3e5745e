"""Attention on Hopper: O = softmax(scale Q K^T) V, written from layouts and a schedule.

plan     two products, of which the sums of the first are A of the second
kernel   the program in CUDA C++
host     the launch in C++
"""

from __future__ import annotations

from tilewise.codegen.attention.kernel import kernel_source
from tilewise.codegen.attention.plan import AttentionPlan, planned

__all__ = ["AttentionPlan", "kernel_source", "planned"]
