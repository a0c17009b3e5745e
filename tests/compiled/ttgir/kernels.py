"""Kernels of eight shapes for the record of dumps (record.py).

They are a product in f16 and one in fp8, the forward pass of a layer norm, softmax, attention, a
transposition, sums along both dimensions, and running sums.
"""

# ruff: noqa: N803 - constants of kernels are capitals

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    m, n, k = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        inside = k < K - first
        one = tl.load(pa, mask=inside[None, :], other=0.0)
        other = tl.load(pb, mask=inside[:, None], other=0.0)
        total = tl.dot(one, other, total)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def scaled(row, weight, N):
    return row * weight / N


@triton.jit
def layernorm(x, y, w, N, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside, start = at < N, tl.program_id(0) * N
    row = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(row, axis=0) / N
    row = tl.where(inside, row - mean, 0.0)
    spread = tl.sqrt(tl.sum(row * row, axis=0) / N + eps)
    tl.store(y + start + at, scaled(row, tl.load(w + at, mask=inside), spread), mask=inside)


@triton.jit
def softmax(x, y, N, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    where, inside = row[:, None] * stride + at[None, :], (at < N)[None, :]
    values = tl.load(x + where, mask=inside, other=-float("inf"))
    power = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(y + where, power / tl.sum(power, axis=1)[:, None], mask=inside)


@triton.jit
def attention(q, k, v, o, L, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :])
    most, norm = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for first in range(0, L, BN):
        at = (first + n)[:, None] * D + d[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at)))
        highest = tl.maximum(most, tl.max(scores, axis=1))
        weights = tl.exp(scores - highest[:, None])
        fade = tl.exp(most - highest)
        norm = norm * fade + tl.sum(weights, axis=1)
        total = tl.dot(weights.to(tl.float16), tl.load(v + at), total * fade[:, None])
        most = highest
    tl.store(o + m[:, None] * D + d[None, :], (total / norm[:, None]).to(tl.float16))


@triton.jit
def transpose(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(tile))


@triton.jit
def sums(x, rows, columns, N, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(rows + m, tl.sum(tile, axis=1))
    tl.store(columns + n, tl.sum(tile, axis=0))


@triton.jit
def cumsum(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), axis=0))


KERNELS = {
    "matmul": (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16"}, {"BM": 128, "BN": 64, "BK": 32}),
    "matmul fp8": (matmul, {"a": "*fp8e5", "b": "*fp8e5", "c": "*fp16"}, {"BM": 64, "BN": 128, "BK": 64}),
    "layernorm": (layernorm, {"x": "*fp16", "y": "*fp16", "w": "*fp32", "eps": "fp32"}, {"BLOCK": 2048}),
    "softmax": (softmax, {"x": "*fp32", "y": "*fp32"}, {"ROWS": 4, "BLOCK": 512}),
    "attention": (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp16"},
        {"D": 64, "BM": 128, "BN": 64},
    ),
    "transpose": (transpose, {"x": "*fp16", "y": "*fp16"}, {"BM": 64, "BN": 64}),
    "sums": (sums, {"x": "*fp32", "rows": "*fp32", "columns": "*fp32"}, {"BM": 64, "BN": 128}),
    "cumsum": (cumsum, {"x": "*fp32", "y": "*fp32"}, {"BM": 128, "BN": 64}),
}
"""{name: (kernel, types of its arguments that are no i32, its constants)}."""
ODD = {"softmax": ("stride",), "cumsum": ("N",)}
"""Arguments of which nothing is promised; 16 divides the others."""
