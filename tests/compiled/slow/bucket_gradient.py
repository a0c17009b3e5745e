"""Holds a kernel that adds every score to the bucket of its distance.

Thread: https://github.com/meta-recsys/generative-recommenders/issues/43
"""

import triton
import triton.language as tl

SIGNATURE = {"gradient": "*fp32", "scores": "*fp32", "length": "i32"}
CONSTANTS = {"height": 64, "width": 64}
DIVISIBLE = ("gradient", "scores", "length")
WARPS = 4


@triton.jit
def bucket_gradient(gradient, scores, length, height: tl.constexpr, width: tl.constexpr):
    row = tl.program_id(0) * height + tl.arange(0, height)[:, None]
    column = tl.program_id(1) * width + tl.arange(0, width)[None, :]
    values = tl.load(scores + row * length + column)
    bucket = (row - column + length) // 64
    tl.atomic_add(gradient + bucket, values)
