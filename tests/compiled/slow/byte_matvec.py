"""Holds a kernel that multiplies a matrix of bytes by a vector of bfloat16.

Thread: https://github.com/triton-lang/triton/issues/2269
"""

import triton
import triton.language as tl

SIGNATURE = {"out": "*fp32", "matrix": "*i8", "vector": "*bf16", "columns": "i32"}
CONSTANTS = {"height": 16, "width": 512}
DIVISIBLE = ("out", "matrix", "vector", "columns")
WARPS = 4


@triton.jit
def byte_matvec(out, matrix, vector, columns, height: tl.constexpr, width: tl.constexpr):
    row = tl.program_id(0) * height + tl.arange(0, height)[:, None]
    total = tl.zeros((height, width), tl.float32)
    for start in range(0, columns, width):
        column = start + tl.arange(0, width)[None, :]
        weight = tl.load(matrix + row * columns + column)
        factor = tl.load(vector + column)
        total += weight.to(tl.float32) * factor.to(tl.float32)
    tl.store(out + row, tl.sum(total, axis=1)[:, None])
