"""The Gluon kernels of the corpus, as Triton compiles them without a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from tests.compiled.corpus.gluon import kernels as gluon
from tests.compiled.corpus.launch import f16, f32
from tests.compiled.corpus.triton.compile import Kernel, unit, version
from tests.compiled.corpus.unit import Unit
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

__all__ = ["units", "version"]


def kernels() -> list[Kernel]:
    """Return all of them."""
    padded = gl.PaddedSharedLayout.with_identity_for([[64, 4]], [64, 64], [1, 0])
    swizzled = gl.SwizzledSharedLayout(4, 1, 8, order=[1, 0])
    product = f16(128 * 64), f16(64 * 128), f32(128 * 128), 128, 64
    tiles = {"M_TILE": 64, "N_TILE": 64}
    return [
        Kernel(gluon.copy_rows, (3, 2), (f32(90 * 100), f32(90 * 100), 90, 100), {"ROWS": 32, "COLS": 64}),
        Kernel(
            gluon.transpose_swizzled,
            (2, 2),
            (f32(128 * 128), f32(128 * 128), 128, 128),
            {"SIZE": 64, "layout_smem": swizzled},
        ),
        Kernel(
            gluon.transpose_swizzled,
            (2, 2),
            (f32(128 * 128), f32(128 * 128), 128, 128),
            {"SIZE": 64, "layout_smem": padded},
            name="transpose_padded",
        ),
        Kernel(
            gluon.add_pipelined,
            (3,),
            (*[f32(4096)] * 3, 4000),
            {"STEPS": 3, "BLOCK": 512, "WIDTH": 4},
        ),
        Kernel(
            gluon.add_pipelined,
            (3,),
            (*[f32(4096)] * 3, 4000),
            {"STEPS": 3, "BLOCK": 512, "WIDTH": 1},
            name="add_pipelined_words",
        ),
        Kernel(gluon.matmul_mma, (2, 2), product, {**tiles, "K_TILE": 32}),
        Kernel(gluon.matmul_wgmma, (2, 2), product, {**tiles, "K_TILE": 64}),
    ]


def units() -> Iterator[Unit]:
    """Yield what Triton makes of each kernel."""
    for kernel in kernels():
        yield unit("gluon", kernel, GluonASTSource)
