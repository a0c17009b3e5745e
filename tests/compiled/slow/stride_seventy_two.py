"""Holds a kernel that reads rows whose stride is a multiple of eight but not of sixteen.

Thread: https://github.com/triton-lang/triton/pull/10389
"""

import triton
import triton.language as tl

SIGNATURE = {"out": "*fp16", "rows": "*fp16", "stride": "i32"}
CONSTANTS = {"height": 64, "width": 128}
DIVISIBLE = ("out", "rows")
WARPS = 4


@triton.jit
def stride_seventy_two(out, rows, stride, height: tl.constexpr, width: tl.constexpr):
    row = tl.program_id(0) * height + tl.arange(0, height)[:, None]
    column = tl.arange(0, width)[None, :]
    values = tl.load(rows + row * stride + column, mask=column < 72, other=0.0)
    tl.store(out + row * stride + column, values * 2.0, mask=column < 72)
