# ruff: noqa: N803 - constants of a kernel are written in capitals there

"""Kernels of Triton on vectors: sums, dropout, gathers, histograms, quantisation."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def embedding(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    values = tl.load(table_ptr + index * width + cols, mask=mask)
    tl.store(out_ptr + row * width + cols, values, mask=mask)


@triton.jit
def gather_elements(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + offsets, tl.load(x_ptr + index, mask=mask), mask=mask)


@triton.jit
def histogram(x_ptr, bins_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    counts = tl.histogram(x.to(tl.int32), BINS)
    tl.atomic_add(bins_ptr + tl.arange(0, BINS), counts)


@triton.jit
def swiglu(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < width
        gate = tl.load(x_ptr + row * 2 * width + cols, mask=mask).to(tl.float32)
        up = tl.load(x_ptr + row * 2 * width + width + cols, mask=mask).to(tl.float32)
        tl.store(out_ptr + row * width + cols, (gate * tl.sigmoid(gate) * up).to(tl.float16), mask=mask)


@triton.jit
def quantise_rows(x_ptr, out_ptr, scale_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(x), axis=0) / 127.0
    tl.store(scale_ptr + row, scale)
    tl.store(out_ptr + row * width + cols, (x / scale).to(tl.int8), mask=mask)
