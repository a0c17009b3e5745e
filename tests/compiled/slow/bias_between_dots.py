"""Holds a kernel of two products with a bias between them.

Thread: https://github.com/triton-lang/triton/issues/10342
"""

import triton
import triton.language as tl

SIGNATURE = {"out": "*fp32", "a": "*fp16", "b": "*fp16", "c": "*fp16", "bias": "*fp32"}
CONSTANTS = {"size": 64}
DIVISIBLE = ("out", "a", "b", "c", "bias")
WARPS = 4


@triton.jit
def bias_between_dots(out, a, b, c, bias, size: tl.constexpr):
    program = tl.program_id(0)
    rows = tl.arange(0, size)[:, None]
    columns = tl.arange(0, size)[None, :]
    tile = rows * size + columns
    first = tl.dot(tl.load(a + program * size * size + tile), tl.load(b + tile))
    added = tl.load(bias + program * size * size + tile)
    biased = first * 2.0 + added
    second = tl.dot(biased.to(tl.float16), tl.load(c + tile))
    tl.store(out + program * size + tl.arange(0, size), tl.sum(second, axis=1))
