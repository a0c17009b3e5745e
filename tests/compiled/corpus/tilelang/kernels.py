# ruff: noqa: N803, N812 - sizes are written in capitals there
"""Kernels of TileLang, and their CUDA C++, printed as JSON by a process of its own.

    python tests/compiled/corpus/tilelang/kernels.py

It takes TileLang in the Python that runs it, and no GPU.
"""

import json
import sys
from pathlib import Path

import tilelang
import tilelang.language as T

F16, F32 = "float16", "float32"


def matmul(M, N, K, BM, BN, BK):
    @T.prim_func
    def main(A: T.Tensor((M, K), F16), B: T.Tensor((K, N), F16), C: T.Tensor((M, N), F16)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), F16)
            b = T.alloc_shared((BK, BN), F16)
            c = T.alloc_fragment((BM, BN), F32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], a)
                T.copy(B[k * BK, bx * BN], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * BM, bx * BN])

    return main


def transpose(M, N, TILE):
    @T.prim_func
    def main(A: T.Tensor((M, N), F32), B: T.Tensor((N, M), F32)):
        with T.Kernel(T.ceildiv(N, TILE), T.ceildiv(M, TILE), threads=128) as (bx, by):
            tile = T.alloc_shared((TILE, TILE), F32)
            T.copy(A[by * TILE, bx * TILE], tile)
            for i, j in T.Parallel(TILE, TILE):
                B[bx * TILE + i, by * TILE + j] = tile[j, i]

    return main


def softmax_rows(M, N, ROWS):
    @T.prim_func
    def main(A: T.Tensor((M, N), F32), B: T.Tensor((M, N), F32)):
        with T.Kernel(T.ceildiv(M, ROWS), threads=128) as bx:
            x = T.alloc_fragment((ROWS, N), F32)
            best = T.alloc_fragment((ROWS,), F32)
            total = T.alloc_fragment((ROWS,), F32)
            T.copy(A[bx * ROWS, 0], x)
            T.reduce_max(x, best, dim=1)
            for i, j in T.Parallel(ROWS, N):
                x[i, j] = T.exp(x[i, j] - best[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(ROWS, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, B[bx * ROWS, 0])

    return main


def add_relu(M, N, BM, BN):
    @T.prim_func
    def main(A: T.Tensor((M, N), F32), B: T.Tensor((M, N), F32), C: T.Tensor((M, N), F32)):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            for i, j in T.Parallel(BM, BN):
                y = by * BM + i
                x = bx * BN + j
                C[y, x] = T.max(A[y, x] + B[y, x], 0.0)

    return main


def column_sums(M, N, BM, BN):
    @T.prim_func
    def main(A: T.Tensor((M, N), F32), B: T.Tensor((N,), F32)):
        with T.Kernel(T.ceildiv(N, BN), threads=128) as bx:
            tile = T.alloc_shared((BM, BN), F32)
            part = T.alloc_fragment((BM, BN), F32)
            sums = T.alloc_fragment((BN,), F32)
            total = T.alloc_fragment((BN,), F32)
            T.clear(total)
            for k in T.serial(T.ceildiv(M, BM)):
                T.copy(A[k * BM, bx * BN], tile)
                T.copy(tile, part)
                T.reduce_sum(part, sums, dim=0)
                for j in T.Parallel(BN):
                    total[j] += sums[j]
            T.copy(total, B[bx * BN])

    return main


KERNELS = {
    "matmul_wgmma": ("sm_90", lambda: matmul(128, 128, 96, 64, 64, 32)),
    "matmul_mma": ("sm_80", lambda: matmul(128, 128, 96, 64, 64, 32)),
    "transpose": ("sm_90", lambda: transpose(128, 192, 64)),
    "softmax_rows": ("sm_90", lambda: softmax_rows(20, 256, 4)),
    "add_relu": ("sm_90", lambda: add_relu(100, 120, 32, 64)),
    "column_sums": ("sm_90", lambda: column_sums(90, 128, 32, 64)),
}
"""{name: the architecture that TileLang writes for, the program}."""

WITHOUT_TMA = {"tl.disable_tma_lower": True, "tl.disable_warp_specialized": True}


def main():
    """Print the CUDA C++ of each kernel, its grid and block, and its bytes of dynamic shared memory."""
    found = {}
    for name, (arch, make) in KERNELS.items():
        target = {"kind": "cuda", "arch": arch}
        with tilelang.tvm.target.Target(target), tilelang.tvm.transform.PassContext(config=WITHOUT_TMA):
            made = tilelang.lower(make(), target=target)
        (function,) = made.device_mod.functions.values()
        extents = {str(axis): int(extent) for axis, extent in function.attrs["thread_extent"].items()}
        sizes = [[extents.get(f"{of}.{axis}", 1) for axis in "xyz"] for of in ("blockIdx", "threadIdx")]
        shared = int(function.attrs.get("dyn_shared_memory_buf", 0))
        found[name] = {"text": made.kernel_source, "grid": sizes[0], "block": sizes[1], "shared": shared}
    home = Path(tilelang.__file__).parent
    headers = [str(home / folder) for folder in ("src", "3rdparty/cutlass/include")]
    json.dump({"version": tilelang.__version__, "headers": headers, "kernels": found}, sys.stdout)


if __name__ == "__main__":
    main()
