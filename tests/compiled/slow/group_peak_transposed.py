"""Holds a kernel that reduces groups of 32 neighbours of a transposed matrix.

Thread: https://github.com/pytorch/pytorch/pull/151958
"""

import triton
import triton.language as tl

SIGNATURE = {"out": "*fp32", "matrix": "*fp32", "rows": "i32", "columns": "i32"}
CONSTANTS = {"groups": 64}
DIVISIBLE = ("out", "matrix", "rows", "columns")
WARPS = 4


@triton.jit
def group_peak_transposed(out, matrix, rows, columns, groups: tl.constexpr):
    group = tl.program_id(0) * groups + tl.arange(0, groups)[:, None]
    member = tl.arange(0, 32)[None, :]
    flat = group * 32 + member
    values = tl.load(matrix + flat % rows * columns + flat // rows)
    tl.store(out + group, tl.max(tl.abs(values), axis=1)[:, None])
