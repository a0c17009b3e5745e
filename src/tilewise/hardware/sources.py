"""Sources of facts: the document, its section, and the confirmations; tables of facts, read."""

from __future__ import annotations

import os
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def table_beside(module: str, name: str) -> Any:
    """Return the table in a file of JSON that lies beside a module, which is named by its `__file__`."""
    import json

    with open(os.path.join(os.path.dirname(module), name), encoding="utf-8") as file:  # noqa: PTH118, PTH120, PTH123
        return json.load(file)  # pathlib costs a command more time than the table


def cells(table: str) -> list[list[list[str]]]:
    """Return the words of each cell of a table, row by row; bars part its columns.

    >>> cells("m8n8k16 | s8 u8 | 75")
    [[['m8n8k16'], ['s8', 'u8'], ['75']]]
    """
    return [[cell.split() for cell in row.split("|")] for row in table.strip().splitlines()]


@dataclass(frozen=True, slots=True)
class Source:
    """A section of a document.

    >>> print(PTX_SHAPES)
    PTX ISA, Matrix Shape (wgmma)
    """

    document: str
    section: str
    url: str

    def __str__(self) -> str:
        return f"{self.document}, {self.section}"


_PTX = "https://docs.nvidia.com/cuda/parallel-thread-execution/"


def ptx(section: str, anchor: str) -> Source:
    """Return a section of the PTX manual."""
    return Source("PTX ISA", section, f"{_PTX}#{anchor}")


PTX_SHAPES = ptx("Matrix Shape (wgmma)", "asynchronous-warpgroup-level-matrix-shape")
PTX_DESCRIPTOR = ptx(
    "Matrix Descriptor Format (wgmma)",
    "asynchronous-warpgroup-level-matrix-shared-memory-layout-matrix-descriptor",
)
GUIDE_TMA = Source(
    "CUDA C++ Programming Guide",
    "Using the Tensor Memory Accelerator (TMA), Shared-Memory Bank Swizzling",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#tensor-memory-access",
)
GUIDE_BANKS = Source(
    "CUDA C++ Programming Guide",
    "Compute Capability 5.x, Shared Memory; later ones refer to it",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#shared-memory-5-x",
)
FORUM_PAIRS = Source(
    "NVIDIA Developer Forums",
    "Unexpected shared memory bank conflict, answer of NVIDIA (of 7.0 to 7.5)",
    "https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228/2",
)
FORUM_SECTORS = Source(
    "NVIDIA Developer Forums",
    "Pascal L1 cache, answer of NVIDIA (of 7.0)",
    "https://forums.developer.nvidia.com/t/pascal-l1-cache/49571/14",
)
NSIGHT = Source(
    "Nsight Compute",
    "Kernel Profiling Guide, Metrics Reference",
    "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#metrics-reference",
)
DEVICE_COUNTERS = Source(
    "an H200 with driver 580.159",
    "Nsight Compute 2025.3.1: wavefronts of shared memory",
    "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html",
)
AMD_LAB_NOTES = Source(
    "AMD lab notes",
    "matrix-cores, mfma_fp64_4x4x4fp64.cpp",
    "https://github.com/amd/amd-lab-notes/blob/release/matrix-cores/src/mfma_fp64_4x4x4fp64.cpp",
)
HIP_FP8 = Source(
    "HIP",
    "Low precision floating point types, FP8",
    "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/low_fp_types.html",
)
