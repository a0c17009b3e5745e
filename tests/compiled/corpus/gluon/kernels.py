# ruff: noqa: N803 - constants of a kernel are written in capitals there

"""Kernels of Gluon: layouts of registers and of shared memory chosen by hand."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_wait,
)


@gluon.jit
def copy_rows(x_ptr, out_ptr, rows, cols, ROWS: gl.constexpr, COLS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    col = gl.program_id(1) * COLS + gl.arange(0, COLS, layout=gl.SliceLayout(0, layout))
    mask = (row < rows)[:, None] & (col < cols)[None, :]
    at = row[:, None] * cols + col[None, :]
    gl.store(out_ptr + at, gl.load(x_ptr + at, mask=mask), mask=mask)


@gluon.jit
def transpose_swizzled(x_ptr, out_ptr, rows, cols, SIZE: gl.constexpr, layout_smem: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row = gl.arange(0, SIZE, layout=gl.SliceLayout(1, layout))
    col = gl.arange(0, SIZE, layout=gl.SliceLayout(0, layout))
    y, x = gl.program_id(0) * SIZE, gl.program_id(1) * SIZE
    tile = gl.allocate_shared_memory(x_ptr.dtype.element_ty, [SIZE, SIZE], layout_smem)
    tile.store(gl.load(x_ptr + (y + row)[:, None] * cols + (x + col)[None, :]))
    gl.barrier()
    turned = tile.permute((1, 0)).load(layout)
    gl.store(out_ptr + (x + row)[:, None] * rows + (y + col)[None, :], turned)


@gluon.jit
def add_pipelined(x_ptr, y_ptr, out_ptr, n, STEPS: gl.constexpr, BLOCK: gl.constexpr, WIDTH: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([WIDTH], [32], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    xs = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    ys = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    at = gl.program_id(0) * STEPS * BLOCK + gl.arange(0, BLOCK, layout=layout)
    async_copy.async_load(xs.index(0), x_ptr + at, mask=at < n)
    async_copy.async_load(ys.index(0), y_ptr + at, mask=at < n)
    async_copy.commit_group()
    for step in range(STEPS):
        ahead = at + BLOCK
        async_copy.async_load(xs.index((step + 1) % 2), x_ptr + ahead, mask=(ahead < n) & (step + 1 < STEPS))
        async_copy.async_load(ys.index((step + 1) % 2), y_ptr + ahead, mask=(ahead < n) & (step + 1 < STEPS))
        async_copy.commit_group()
        async_copy.wait_group(1)
        gl.barrier()
        total = xs.index(step % 2).load(layout) + ys.index(step % 2).load(layout)
        gl.store(out_ptr + at, total, mask=at < n)
        gl.barrier()
        at = ahead


@gluon.jit
def matmul_mma(a_ptr, b_ptr, c_ptr, N, K, M_TILE: gl.constexpr, N_TILE: gl.constexpr, K_TILE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8])
    swizzled: gl.constexpr = gl.SwizzledSharedLayout(8, 2, 4, order=[1, 0])
    wide: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, order=[1, 0])
    left: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    right: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    a_tile = gl.allocate_shared_memory(gl.float16, [M_TILE, K_TILE], swizzled)
    b_tile = gl.allocate_shared_memory(gl.float16, [K_TILE, N_TILE], wide)
    m = gl.program_id(0) * M_TILE + gl.arange(0, M_TILE, layout=gl.SliceLayout(1, layout))
    n = gl.program_id(1) * N_TILE + gl.arange(0, N_TILE, layout=gl.SliceLayout(0, layout))
    k_col = gl.arange(0, K_TILE, layout=gl.SliceLayout(0, layout))
    k_row = gl.arange(0, K_TILE, layout=gl.SliceLayout(1, layout))
    total = gl.zeros([M_TILE, N_TILE], gl.float32, layout=mma)
    for start in range(0, K, K_TILE):
        async_copy.async_load(a_tile, a_ptr + m[:, None] * K + (start + k_col)[None, :])
        async_copy.async_load(b_tile, b_ptr + (start + k_row)[:, None] * N + n[None, :])
        async_copy.commit_group()
        async_copy.wait_group(0)
        gl.barrier()
        total = mma_v2(a_tile.load(left), b_tile.load(right), total)
        gl.barrier()
    out_m = gl.program_id(0) * M_TILE + gl.arange(0, M_TILE, layout=gl.SliceLayout(1, mma))
    out_n = gl.program_id(1) * N_TILE + gl.arange(0, N_TILE, layout=gl.SliceLayout(0, mma))
    gl.store(c_ptr + out_m[:, None] * N + out_n[None, :], total)


@gluon.jit
def matmul_wgmma(a_ptr, b_ptr, c_ptr, N, K, M_TILE: gl.constexpr, N_TILE: gl.constexpr, K_TILE: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout(
        version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16]
    )
    tiled: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    m = gl.program_id(0) * M_TILE + gl.arange(0, M_TILE, layout=gl.SliceLayout(1, layout))
    n = gl.program_id(1) * N_TILE + gl.arange(0, N_TILE, layout=gl.SliceLayout(0, layout))
    k_col = gl.arange(0, K_TILE, layout=gl.SliceLayout(0, layout))
    k_row = gl.arange(0, K_TILE, layout=gl.SliceLayout(1, layout))
    a_tile = gl.allocate_shared_memory(gl.float16, [M_TILE, K_TILE], tiled)
    b_tile = gl.allocate_shared_memory(gl.float16, [K_TILE, N_TILE], tiled)
    total = gl.zeros([M_TILE, N_TILE], gl.float32, layout=mma)
    for start in range(0, K, K_TILE):
        a_tile.store(gl.load(a_ptr + m[:, None] * K + (start + k_col)[None, :]))
        b_tile.store(gl.load(b_ptr + (start + k_row)[:, None] * N + n[None, :]))
        fence_async_shared()
        gl.barrier()
        total = warpgroup_mma(a_tile, b_tile, total, is_async=True)
        total = warpgroup_mma_wait(0, deps=[total])
        gl.barrier()
    out = gl.convert_layout(total, layout)
    gl.store(c_ptr + m[:, None] * N + n[None, :], out)
