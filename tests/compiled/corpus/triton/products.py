# ruff: noqa: N803 - constants of a kernel are written in capitals there

"""Kernels of Triton that multiply: matrices in tiles, in groups, in a persistent loop, and attention."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = pid // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - first, GROUP)
    pid_m = first + pid % (GROUP * tiles_n) % height
    pid_n = pid % (GROUP * tiles_n) // height
    row = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    col = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a_at = a_ptr + row[:, None] * stride_am + k[None, :]
    b_at = b_ptr + k[:, None] * stride_bk + col[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_at, mask=k[None, :] < K - start * BLOCK_K, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - start * BLOCK_K, other=0.0)
        total = tl.dot(a, b, total)
        a_at += BLOCK_K
        b_at += BLOCK_K * stride_bk
    row = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    col = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (row[:, None] < M) & (col[None, :] < N)
    tl.store(c_ptr + row[:, None] * stride_cm + col[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def grouped_matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    rows_ptr,
    groups,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Each group has its own matrix B, and as many rows of A as rows_ptr says: its end less its start.
    tile, last = tl.program_id(0), 0
    for group in range(groups):
        begin, end = tl.load(rows_ptr + group), tl.load(rows_ptr + group + 1)
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(end - begin, BLOCK_M) * tiles_n
        while tile >= last and tile < last + tiles:
            row = begin + (tile - last) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            col = (tile - last) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, K, BLOCK_K):
                k = start + tl.arange(0, BLOCK_K)
                a = tl.load(a_ptr + row[:, None] * K + k[None, :], mask=row[:, None] < end, other=0.0)
                b = tl.load(b_ptr + (group * K + k[:, None]) * N + col[None, :])
                total = tl.dot(a, b, total)
            tl.store(c_ptr + row[:, None] * N + col[None, :], total.to(tl.float16), mask=row[:, None] < end)
            tile += tl.num_programs(0)
        last += tiles


@triton.jit
def persistent_matmul(
    a_ptr,
    b_ptr,
    bias_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        row = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
        col = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            k = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + row[:, None] * K + k[None, :], mask=row[:, None] < M, other=0.0)
            b = tl.load(b_ptr + col[:, None] * K + k[None, :], mask=col[:, None] < N, other=0.0)
            total = tl.dot(a, b.T, total)
        bias = tl.load(bias_ptr + col, mask=col < N)
        out = tl.maximum(total + bias[None, :], 0.0)
        mask = (row[:, None] < M) & (col[None, :] < N)
        tl.store(c_ptr + row[:, None] * N + col[None, :], out, mask=mask)


@triton.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    length,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WIDTH: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + head + row[:, None] * WIDTH + d[None, :], mask=row[:, None] < length, other=0.0)
    best = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((BLOCK_M,), dtype=tl.float32)
    total = tl.zeros((BLOCK_M, WIDTH), dtype=tl.float32)
    end = min((tl.program_id(0) + 1) * BLOCK_M, length) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        col = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + head + col[None, :] * WIDTH + d[:, None], mask=col[None, :] < length, other=0.0)
        scores = tl.dot(q, k) * scale
        allowed = col[None, :] < length
        if CAUSAL:
            allowed = allowed & (row[:, None] >= col[None, :])
        scores = tl.where(allowed, scores, -1e30)
        peak = tl.maximum(best, tl.max(scores, axis=1))
        p = tl.exp2(scores - peak[:, None])
        shrink = tl.exp2(best - peak)
        weight = weight * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + head + col[:, None] * WIDTH + d[None, :], mask=col[:, None] < length, other=0.0)
        total = tl.dot(p.to(tl.float16), v, total * shrink[:, None])
        best = peak
    out = (total / weight[:, None]).to(tl.float16)
    tl.store(out_ptr + head + row[:, None] * WIDTH + d[None, :], out, mask=row[:, None] < length)


@triton.jit
def matvec(a_ptr, x_ptr, y_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, cols, COLS):
        col = start + tl.arange(0, COLS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        a = tl.load(a_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0)
        total += tl.sum(a * tl.load(x_ptr + col, mask=col < cols, other=0.0)[None, :], axis=1)
    tl.store(y_ptr + row, total, mask=row < rows)
