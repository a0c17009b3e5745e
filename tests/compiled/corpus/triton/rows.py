# ruff: noqa: N803 - constants of a kernel are written in capitals there

"""Kernels of Triton on matrices: softmax, layer norms, reductions along both axes, scans, sorts."""

import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, x_ptr, x_stride, out_stride, rows, cols, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * x_stride + offsets, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def layer_norm(x_ptr, out_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
        x = tl.where(at < cols, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        w = tl.load(w_ptr + at, mask=mask)
        b = tl.load(b_ptr + at, mask=mask)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_dx(dx_ptr, dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=mask).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    hat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(hat * wdy, axis=0) / cols
    c2 = tl.sum(wdy, axis=0) / cols
    tl.store(dx_ptr + row * stride + at, (wdy - (hat * c1 + c2)) * rstd, mask=mask)


@triton.jit
def layer_norm_dw(
    dy_ptr, x_ptr, mean_ptr, rstd_ptr, dw_ptr, db_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr
):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    dw = tl.zeros((ROWS, COLS), dtype=tl.float32)
    db = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        at = row[:, None] * cols + col[None, :]
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row, mask=row < rows, other=0.0)
        rstd = tl.load(rstd_ptr + row, mask=row < rows, other=0.0)
        dw += dy * (x - mean[:, None]) * rstd[:, None]
        db += dy
    tl.store(dw_ptr + col, tl.sum(dw, axis=0), mask=col < cols)
    tl.store(db_ptr + col, tl.sum(db, axis=0), mask=col < cols)


@triton.jit
def row_sums(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, cols, COLS):
        col = start + tl.arange(0, COLS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        total += tl.sum(tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0), axis=1)
    tl.store(out_ptr + row, total, mask=row < rows)


@triton.jit
def column_best(x_ptr, best_ptr, where_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=-float("inf"))
    best, where = tl.max(x, axis=0, return_indices=True)
    tl.store(best_ptr + col, best, mask=col < cols)
    tl.store(where_ptr + col, where, mask=col < cols)


@triton.jit
def cumsum_rows(x_ptr, out_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    at = row[:, None] * cols + col[None, :]
    x = tl.load(x_ptr + at, mask=col[None, :] < cols, other=0.0)
    tl.store(out_ptr + at, tl.cumsum(x, axis=1), mask=col[None, :] < cols)


@triton.jit
def cumsum_columns(x_ptr, out_ptr, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    at = row[:, None] * cols + col[None, :]
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), axis=0))


@triton.jit
def sorted_rows(x_ptr, out_ptr, COLS: tl.constexpr):
    at = tl.program_id(0) * COLS + tl.arange(0, COLS)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def transpose(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask)
    mask = (col[:, None] < cols) & (row[None, :] < rows)
    tl.store(out_ptr + col[:, None] * rows + row[None, :], tl.trans(x), mask=mask)


@triton.jit
def cross_entropy(logits_ptr, label_ptr, loss_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * cols
    best, total = -float("inf"), 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + at, mask=at < cols, other=-float("inf"))
        peak = tl.maximum(best, tl.max(x, axis=0))
        total = total * tl.exp(best - peak) + tl.sum(tl.exp(x - peak), axis=0)
        best = peak
    label = tl.load(label_ptr + row)
    tl.store(loss_ptr + row, best + tl.log(total) - tl.load(logits_ptr + label))
