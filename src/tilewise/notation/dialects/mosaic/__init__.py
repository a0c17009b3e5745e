"""Mosaic GPU's layouts of fragmented arrays and of shared memory, read and written.

    TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))),
                warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)

Sources, all in https://github.com/jax-ml/jax under jax/experimental/mosaic/gpu: fragmented_array.py for
register layouts, layouts.py and the dialect mosaic_gpu for the attributes of MLIR, launch_context.py for the
transforms of shared memory.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.dialects.mosaic.arguments import kind_of
from tilewise.notation.dialects.mosaic.registers import NAMED, frag, over_threads, tiled_layout
from tilewise.notation.dialects.mosaic.shared import TRANSFORMS, transformed
from tilewise.notation.dialects.mosaic.writing import write

__all__ = ["EXAMPLES", "read", "write"]

EXAMPLES = (
    Given(
        "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), "
        "lane_dims=(-3, -2), vector_dim=-1)",
        shape=(128, 64),
    ),
    Given(
        "#mosaic_gpu.TiledLayout<[[64], [16], [8], [1]], warp_dims = [-4], "
        "lane_dims = [-2, #mosaic_gpu.Replicated<times = 4>], vector_dim = -1>",
        shape=(128,),
    ),
    Given("WGMMA_LAYOUT", shape=(64, 64)),
    Given("WGStridedFragLayout(shape=(64, 128), vec_size=8)"),
    Given("#mosaic_gpu.WGStridedFragLayout<[64, 128], 8>"),
    Given("WGSplatFragLayout(shape=(2, 3))"),
    Given("#mosaic_gpu.WGSplatFragLayout<[]>"),
    Given("TileTransform(tiling=(8, 64), rounding=None)", shape=(64, 128)),
    Given(
        "[#mosaic_gpu.tile<[8, 64]>, #mosaic_gpu.swizzle<128 : i32>]", shape=(64, 128), dtype=DType.of("f16")
    ),
)

_SAYS_NOTHING = r",\s*(?:rounding\s*=\s*)?None(?=\s*\))|:\s*i32"
_KINDS = "TiledLayout, WGStridedFragLayout, WGSplatFragLayout, TileTransform, SwizzleTransform"


def read(given: Given) -> Reading:
    """Return the layout of an array in registers or in shared memory."""
    cursor = given.cursor(_SAYS_NOTHING)
    start = cursor.next
    kind = kind_of(start)
    if start.text in ("[", "(") or kind in TRANSFORMS:
        return transformed(cursor, given)
    cursor.take()
    if kind in ("WGStridedFragLayout", "WGSplatFragLayout"):
        return frag(cursor, given)
    if kind == "TiledLayout":
        said = tiled_layout(cursor)
    elif kind in NAMED:
        said = NAMED[kind]
    else:
        raise cursor.error("TW002", f"{start} is no layout of Mosaic", start.span, hint=f"known: {_KINDS}")
    cursor.expect_end("the layout")
    with cursor.blame(start):
        return Reading(over_threads(said, given.needs_shape("a TiledLayout")))
