"""Kernels of CuTe's Python DSL. Sizes are fixed at compile time; arguments are pointers and numbers."""

import cutlass
from cutlass import cute, utils
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_ptr

F16, F32 = cutlass.Float16, cutlass.Float32


@cute.kernel
def add_vectors(x: cute.Pointer, y: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):
    """Four elements a thread, where all four are there."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = block * 128 + thread
    if at * 4 < n:
        layout = cute.make_layout((4, 1024), stride=(1, 4))
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F32, num_bits_per_copy=128)
        a, b = cute.make_rmem_tensor(4, F32), cute.make_rmem_tensor(4, F32)
        cute.copy(atom, cute.make_tensor(x, layout)[None, at], a)
        cute.copy(atom, cute.make_tensor(y, layout)[None, at], b)
        a.store(a.load() + b.load())
        cute.copy(atom, a, cute.make_tensor(out, layout)[None, at])


@cute.kernel
def transpose(x: cute.Pointer, out: cute.Pointer, swizzle: cutlass.Constexpr):
    """64 x 64 halves through shared memory, swizzled or with rows of 72."""
    thread, _, _ = cute.arch.thread_idx()
    row, col, _ = cute.arch.block_idx()
    memory = utils.SmemAllocator()
    if cutlass.const_expr(swizzle):
        layout = cute.make_composed_layout(
            cute.make_swizzle(3, 3, 3), 0, cute.make_layout((64, 64), stride=(64, 1))
        )
        tile = memory.allocate_tensor(F16, layout, 128)
    else:
        tile = memory.allocate_tensor(F16, cute.make_layout((64, 64), stride=(72, 1)), 128)
    source = cute.local_tile(
        cute.make_tensor(x, cute.make_layout((128, 256), stride=(256, 1))), (64, 64), (row, col)
    )
    target = cute.local_tile(
        cute.make_tensor(out, cute.make_layout((256, 128), stride=(128, 1))), (64, 64), (col, row)
    )
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F16, num_bits_per_copy=128)
    threads = cute.make_layout((16, 8), stride=(8, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    mine = copy.get_slice(thread)
    cute.copy(copy, mine.partition_S(source), mine.partition_D(tile))
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(32):
        at = i * 128 + thread
        target[at // 64, at % 64] = tile[at % 64, at // 64]


@cute.kernel
def row_softmax(x: cute.Pointer, out: cute.Pointer, cols: cutlass.Int32):
    """A warp has a row, four of them a block."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = block * 4 + thread // 32
    source = cute.make_tensor(x + row * cols, cute.make_layout(1024))
    target = cute.make_tensor(out + row * cols, cute.make_layout(1024))
    best = -cutlass.Float32.inf
    for col in range(lane, cols, 32):
        best = cute.arch.fmax(best, source[col])
    best = cute.arch.warp_reduction_max(best)
    total = F32(0.0)
    for col in range(lane, cols, 32):
        total += cute.math.exp(source[col] - best)
    total = cute.arch.warp_reduction_sum(total)
    for col in range(lane, cols, 32):
        target[col] = cute.math.exp(source[col] - best) / total


@cute.kernel
def sums_in_shared(x: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):
    """A tree of sums of a block in shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = utils.SmemAllocator().allocate_tensor(F32, cute.make_layout(256), 16)
    source = cute.make_tensor(x, cute.make_layout(65536))
    at = block * 256 + thread
    value = F32(0.0)
    if at < n:
        value = source[at]
    tile[thread] = value
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(8):
        half = 128 >> step
        if thread < half:
            tile[thread] = tile[thread] + tile[thread + half]
        cute.arch.sync_threads()
    if thread == 0:
        cute.make_tensor(out, cute.make_layout(256))[block] = tile[0]


@cute.kernel
def matmul_mma(
    a: cute.Pointer,
    b: cute.Pointer,
    c: cute.Pointer,
    tiled: cute.TiledMma,
    steps: cutlass.Int32,
    sizes: cutlass.Constexpr,
):
    """64 x 64 of C by four warps: cp.async, ldmatrix of swizzled tiles, mma.sync. K is contiguous."""
    m, n, k = sizes
    thread, _, _ = cute.arch.thread_idx()
    row, col, _ = cute.arch.block_idx()
    all_a = cute.make_tensor(a, cute.make_layout((m, k), stride=(k, 1)))
    all_b = cute.make_tensor(b, cute.make_layout((n, k), stride=(k, 1)))
    all_c = cute.make_tensor(c, cute.make_layout((m, n), stride=(n, 1)))
    from_a = cute.local_tile(all_a, (64, 32), (row, None))
    from_b = cute.local_tile(all_b, (64, 32), (col, None))
    to_c = cute.local_tile(all_c, (64, 64), (row, col))
    memory = utils.SmemAllocator()
    plain = cute.make_layout((64, 32), stride=(32, 1))
    tile_a = memory.allocate_tensor(F16, plain, 128, cute.make_swizzle(2, 4, 3))
    tile_b = memory.allocate_tensor(F16, plain, 128, cute.make_swizzle(2, 4, 3))
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), F16, num_bits_per_copy=128
    )
    load = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    mine = load.get_slice(thread)
    to_a, to_b = mine.partition_D(tile_a), mine.partition_D(tile_b)
    of_a, of_b = mine.partition_S(from_a), mine.partition_S(from_b)
    part = tiled.get_slice(thread)
    reg_a = tiled.make_fragment_A(part.partition_A(tile_a))
    reg_b = tiled.make_fragment_B(part.partition_B(tile_b))
    shared_to_c = part.partition_C(to_c)
    reg_c = tiled.make_fragment_C(shared_to_c)
    reg_c.fill(0.0)
    read = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), F16)
    read_a, read_b = cute.make_tiled_copy_A(read, tiled), cute.make_tiled_copy_B(read, tiled)
    ld_a, ld_b = read_a.get_slice(thread), read_b.get_slice(thread)
    for step in range(steps):
        cute.copy(load, of_a[None, None, None, step], to_a)
        cute.copy(load, of_b[None, None, None, step], to_b)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        cute.copy(read_a, ld_a.partition_S(tile_a), ld_a.retile(reg_a))
        cute.copy(read_b, ld_b.partition_S(tile_b), ld_b.retile(reg_b))
        cute.gemm(tiled, reg_c, reg_a, reg_b, reg_c)
        cute.arch.sync_threads()
    cute.autovec_copy(reg_c, shared_to_c)


@cute.jit
def add(x: cute.Pointer, y: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):
    add_vectors(x, y, out, n).launch(grid=(6, 1, 1), block=(128, 1, 1))


@cute.jit
def transposed(x: cute.Pointer, out: cute.Pointer, swizzle: cutlass.Constexpr):
    transpose(x, out, swizzle).launch(grid=(2, 4, 1), block=(128, 1, 1))


@cute.jit
def softmax(x: cute.Pointer, out: cute.Pointer, cols: cutlass.Int32):
    row_softmax(x, out, cols).launch(grid=(5, 1, 1), block=(128, 1, 1))


@cute.jit
def sums(x: cute.Pointer, out: cute.Pointer, n: cutlass.Int32):
    sums_in_shared(x, out, n).launch(grid=(5, 1, 1), block=(256, 1, 1))


@cute.jit
def product(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, steps: cutlass.Int32):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    tiled = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    matmul_mma(a, b, c, tiled, steps, (128, 128, 64)).launch(grid=(2, 2, 1), block=(128, 1, 1))


def compiled():
    """Return what compiles each kernel, by its name."""
    half, single = pointer(F16), pointer(F32)
    return {
        "add_vectors": lambda: cute.compile(add, single, single, single, 0),
        "transpose_swizzled": lambda: cute.compile(transposed, half, half, True),
        "transpose_padded": lambda: cute.compile(transposed, half, half, False),
        "row_softmax": lambda: cute.compile(softmax, single, single, 0),
        "sums_in_shared": lambda: cute.compile(sums, single, single, 0),
        "matmul_mma": lambda: cute.compile(product, half, half, single, 0),
    }


def pointer(dtype):
    """Return a pointer to compile for: its address is not looked at."""
    return make_ptr(dtype, 0, cute.AddressSpace.gmem, assumed_align=16)
