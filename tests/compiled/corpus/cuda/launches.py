"""The launches of the kernels of this folder: {source: its launches}."""

from __future__ import annotations

from tests.compiled.corpus.launch import Launch, f16, f32, f64, i32, pointer, scalar, u8

DATA = "the data decide which way it goes"
INDICES = "the data are indices"


def transposes() -> list[Launch]:
    """Matrices of whole tiles, and one with edges."""
    tile = "transpose_tile<{}>"
    square = (4, 4), (32, 8)
    return [
        Launch("transpose_naive", "transpose_naive", (8, 16), (16, 8), (f32(16384), f32(16384), 128, 128)),
        Launch("transpose_tile_f32", tile.format("float, 0"), *square, (f32(16384), f32(16384), 128, 128)),
        Launch("transpose_padded_f32", tile.format("float, 1"), *square, (f32(16384), f32(16384), 128, 128)),
        Launch(
            "transpose_edges_f32", tile.format("float, 1"), (3, 4), (32, 8), (f32(7500), f32(7500), 100, 75)
        ),
        Launch("transpose_padded_f16", tile.format("__half, 1"), *square, (f16(16384), f16(16384), 128, 128)),
        Launch(
            "transpose_wider_f16", tile.format("__half, 2"), (3, 4), (32, 8), (f16(9900), f16(9900), 110, 90)
        ),
        Launch(
            "transpose_padded_u8", tile.format("unsigned char, 1"), *square, (u8(16384), u8(16384), 128, 128)
        ),
        Launch(
            "transpose_wider_u8", tile.format("unsigned char, 4"), *square, (u8(16384), u8(16384), 128, 128)
        ),
        Launch("transpose_padded_f64", tile.format("double, 1"), *square, (f64(16384), f64(16384), 128, 128)),
        Launch("transpose_swizzled", "transpose_swizzled", *square, (f32(16384), f32(16384), 128)),
        Launch("transpose_half2", "transpose_half2", (2, 2), (32, 8), (f16(16384), f16(16384), 128)),
    ]


def reductions() -> list[Launch]:
    """Sums of some thousands of elements, not always a multiple of the block."""
    return [
        Launch("reduce_interleaved", "reduce_interleaved", (8,), (256,), (f32(2000), f32(8), 2000), 1024),
        Launch("reduce_strided", "reduce_strided", (8,), (256,), (f32(2048), f32(8), 2048), 1024),
        Launch("reduce_sequential", "reduce_sequential", (6,), (256,), (f32(3000), f32(6), 3000), 1024),
        Launch("reduce_shuffle", "reduce_shuffle", (4,), (128,), (f32(5000), f32(4), 5000)),
        Launch("reduce_float4", "reduce_float4", (4,), (256,), (f32(10003), f32(1), 10003)),
        Launch("reduce_max_rows", "reduce_max_rows", (5,), (32, 4), (f64(18 * 70), f64(18), 18, 70)),
    ]


def stencils() -> list[Launch]:
    """Grids whose edges are masked."""
    return [
        Launch("stencil_1d_global", "stencil_1d_global", (8,), (256,), (f32(2000), f32(2000), 2000)),
        Launch("stencil_1d_shared", "stencil_1d_shared", (8,), (256,), (f32(2000), f32(2000), 2000)),
        Launch("stencil_2d_global", "stencil_2d_global", (3, 9), (32, 8), (f32(6000), f32(6000), 90, 66)),
        Launch("stencil_2d_shared", "stencil_2d_shared", (6, 5), (16, 16), (f32(6000), f32(6000), 90, 66)),
        Launch(
            "stencil_3d",
            "stencil_3d",
            (2, 4, 4),
            (16, 4, 4),
            (f32(30 * 14 * 13), f32(30 * 14 * 13), 30, 14, 13),
        ),
        Launch(
            "stencil_3d_marching",
            "stencil_3d_marching",
            (2, 2),
            (32, 8),
            (f32(66 * 18 * 10), f32(66 * 18 * 10), 66, 18, 10),
        ),
        Launch("blur_bytes", "blur_bytes", (4, 6), (32, 8), (u8(101 * 45), u8(101 * 45), 101, 45)),
    ]


def scans() -> list[Launch]:
    """Blocks that scan their part."""
    return [
        Launch("scan_hillis_steele", "scan_hillis_steele", (5,), (256,), (i32(1200), i32(1200), 1200), 2048),
        Launch("scan_blelloch", "scan_blelloch<false>", (4,), (256,), (i32(2048), i32(2048), 512), 2048),
        Launch(
            "scan_blelloch_padded", "scan_blelloch<true>", (4,), (256,), (i32(2048), i32(2048), 512), 2112
        ),
        Launch("scan_warps", "scan_warps", (6,), (192,), (i32(1100), i32(1100), i32(6), 1100)),
    ]


def histograms() -> list[Launch]:
    """Counts of bytes and of whole numbers."""
    u32 = pointer("u32", 256)
    return [
        Launch("histogram_shared", "histogram_shared", (4,), (128,), (u8(4000), u32, 4000), note=INDICES),
        Launch(
            "histogram_privatised",
            "histogram_privatised",
            (3,),
            (128,),
            (u8(6000), pointer("u32", 768), 1500),
            note=INDICES,
        ),
        Launch(
            "histogram_global", "histogram_global", (8,), (256,), (i32(2000), i32(64), 2000, 50), note=INDICES
        ),
    ]


def structs() -> list[Launch]:
    """Arrays of structures, by their fields."""
    return [
        Launch("scale_12_bytes", "scale_12_bytes", (8,), (128,), (f32(3000), scalar("f32", 1.5), 1000)),
        Launch("move_16_bytes", "move_16_bytes", (8,), (128,), (f32(4000), scalar("f32", 0.25), 1000)),
        Launch("blend_20_bytes", "blend_20_bytes", (8,), (128,), (f32(5000), f32(5000), 1000)),
        Launch("norms_24_bytes", "norms_24_bytes", (3,), (128,), (f64(3000), f64(1000), 1000)),
        Launch("arrays_of_fields", "arrays_of_fields", (8,), (128,), (*[f32(1000)] * 4, 1000)),
        Launch("forces", "forces", (2,), (128,), (f32(1024), f32(768), 256)),
        Launch("reversed_12_bytes", "reversed_12_bytes", (6,), (96,), (f32(1728), f32(1728))),
    ]


def copies() -> list[Launch]:
    """Copies of a few thousand elements."""
    long = scalar("i64", 3001)
    return [
        Launch("copy_bytes", "copy_bytes", (16,), (256,), (u8(4001), u8(4001), 4001)),
        Launch("copy_doubles", "copy_doubles", (4,), (256,), (f64(3001), f64(3001), long)),
        Launch("copy_float4", "copy_float4", (8,), (128,), (f32(4000), f32(4000), 1000)),
        Launch("copy_strided_2", "copy_strided", (8,), (128,), (f32(2000), f32(2000), 2000, 2)),
        Launch("copy_strided_9", "copy_strided", (8,), (128,), (f32(9000), f32(9000), 9000, 9)),
        Launch("copy_strided_33", "copy_strided", (4,), (128,), (f32(16000), f32(16000), 16000, 33)),
        Launch("copy_offset_1", "copy_offset", (8,), (256,), (f32(2049), f32(2049), 2049, 1)),
        Launch("copy_offset_13", "copy_offset", (8,), (256,), (f32(2040), f32(2040), 2040, 13)),
        Launch(
            "saxpy_grid_stride",
            "saxpy_grid_stride",
            (5,),
            (192,),
            (5000, scalar("f32", 2.5), f32(5000), f32(5000)),
        ),
        Launch(
            "copy_shorts_reversed",
            "copy_shorts_reversed",
            (8,),
            (256,),
            (pointer("i16", 2001), pointer("i16", 2001), 2001),
        ),
        Launch(
            "gather_rows",
            "gather_rows",
            (20,),
            (64,),
            (f32(50 * 100), i32(20, below=50), f32(20 * 100), 100),
            note=INDICES,
        ),
        Launch(
            "gather_elements",
            "gather_elements",
            (8,),
            (256,),
            (f32(10000), i32(2000, below=10000), f32(2000), 2000),
            note=INDICES,
        ),
        Launch(
            "scatter_elements",
            "scatter_elements",
            (8,),
            (128,),
            (f64(1000), i32(1000, below=500), f64(500), 1000),
            note=INDICES,
        ),
        Launch("channels_first", "channels_first", (6,), (256,), (f32(4500), f32(4500), 30, 50, 3)),
    ]


def control() -> list[Launch]:
    """Branches and loops whose counts come from arguments, from thread indices and from data."""
    return [
        Launch("branches", "branches", (4,), (256,), (f32(1000), f32(1000), 1000)),
        Launch("nested_loops", "nested_loops", (2,), (64,), (f32(5 * 7 * 3), f32(128), 5, 7, 3)),
        Launch("triangle", "triangle", (2,), (64,), (f32(100 * 100), f32(100), 100)),
        Launch("collatz", "collatz", (4,), (128,), (i32(500), 500)),
        Launch(
            "binary_search",
            "binary_search",
            (3,),
            (128,),
            (i32(777, below=4000, sorted=True), i32(300, below=4000), i32(300), 777, 300),
            note=DATA,
        ),
        Launch("operations", "operations", (3,), (128,), (f32(1000), f32(1000), f32(1000), 1000, 2)),
        Launch("divided", "divided", (5,), (256,), (i32(28 * 50), i32(28 * 50), 1200, 43, 50, 7)),
        Launch(
            "divided_long",
            "divided_long",
            (5,),
            (256,),
            (f32(1200), f32(1200), scalar("i64", 1200), scalar("i64", 40)),
        ),
        Launch("local_array", "local_array", (3,), (128,), (i32(300), i32(300), 300, 20)),
        Launch("calls", "calls", (4,), (128,), (f32(512 * 9), f32(512), 9)),
        Launch("odd_block", "odd_block", (4, 5), (10, 6), (f32(37 * 28), f32(37 * 28), 37, 28)),
        Launch("cubes", "cubes", (2, 3, 2), (8, 4, 4), (i32(14 * 11 * 8), i32(14 * 11 * 8), 14, 11, 8)),
    ]


def products() -> list[Launch]:
    """Small matrices."""
    mma = (2, 2), (128,), (f16(128 * 64), f16(64 * 128), f32(128 * 128), 128, 64)
    return [
        Launch(
            "matmul_tiled",
            "matmul_tiled",
            (4, 4),
            (16, 16),
            (f32(50 * 40), f32(40 * 60), f32(50 * 60), 50, 60, 40),
        ),
        Launch(
            "matmul_float4",
            "matmul_float4",
            (2, 2),
            (256,),
            (f32(128 * 64), f32(64 * 128), f32(128 * 128), 128, 128, 64),
        ),
        Launch("matmul_mma_padded", "matmul_mma<false>", *mma),
        Launch("matmul_mma_swizzled", "matmul_mma<true>", *mma),
        Launch(
            "epilogue_stmatrix", "epilogue_stmatrix", (4,), (32,), (f16(64 * 32), f16(16 * 32), f16(1024), 32)
        ),
        Launch(
            "matmul_wmma",
            "matmul_wmma",
            (2, 2),
            (128,),
            (f16(64 * 48), f16(48 * 64), f32(60 * 56), 60, 56, 48),
        ),
        Launch("matvec_rows", "matvec_rows", (5,), (256,), (f32(37 * 200), f32(200), f32(37), 37, 200)),
        Launch(
            "matvec_threads", "matvec_threads", (2,), (64,), (f32(100 * 90), f32(90), f32(100), 100, 90), 256
        ),
        Launch(
            "spmv_csr",
            "spmv_csr",
            (2,),
            (64,),
            (i32(101, below=600, sorted=True), i32(600, below=80), f32(600), f32(80), f32(100), 100),
            note=DATA,
        ),
    ]


def layers() -> list[Launch]:
    """Rows of a few hundred elements."""
    return [
        Launch("softmax_rows", "softmax_rows", (8,), (128,), (f32(8 * 500), f32(8 * 500), 500), 512),
        Launch(
            "layer_norm",
            "layer_norm",
            (8,),
            (128,),
            (f32(8 * 800), f32(800), f32(800), f32(8 * 800), 200, scalar("f32", 1e-5)),
        ),
        Launch("bitonic_sort", "bitonic_sort", (2,), (128,), (pointer("u32", 1024), 512), 2048, note=DATA),
        Launch("rotary", "rotary", (10,), (128,), (f32(10 * 4 * 72), f32(10 * 36), f32(10 * 36), 4, 72)),
        Launch("dequantized", "dequantized", (8,), (128,), (pointer("i8", 4000), f32(125), f32(4000), 1000)),
    ]


def asynchronous() -> list[Launch]:
    """Copies to shared memory of 4, 8 and 16 bytes, and of a run."""
    return [
        Launch("async_16_stages", "async_16_stages", (4,), (128,), (f32(4 * 5 * 512), f32(4 * 5 * 512), 5)),
        Launch("async_16_rows", "async_16_rows", (2, 2), (128,), (f16(16384), f16(16384), 128)),
        Launch("async_8_strided", "async_8_strided", (4,), (256,), (f64(2700), f64(1024), 2700, 3)),
        Launch("async_8_sequential", "async_8_strided", (4,), (256,), (f64(1000), f64(1024), 1000, 1)),
        Launch("async_4_transposed", "async_4_transposed", (3, 3), (32, 8), (f32(9216), f32(9216), 96)),
        Launch("async_4_zfill", "async_4_zfill", (2, 4), (256,), (f32(60 * 30), f32(60 * 30), 60, 30)),
        Launch(
            "async_16_predicated",
            "async_16_predicated",
            (3,),
            (128,),
            (f16(70 * 56), f16(70 * 56), 70, 56),
            4096,
        ),
        Launch("bulk_mbarrier", "bulk_mbarrier", (4,), (128,), (f32(2000), f32(2000), 500), 2048),
    ]


def generic() -> list[Launch]:
    """Pointers without a space."""
    ints = i32(1024)
    return [
        Launch("generic_shared", "generic_shared<1>", (4,), (128,), (f32(512), f32(512))),
        Launch("generic_shared_8", "generic_shared<8>", (4,), (128,), (f32(512), f32(512))),
        Launch("generic_global", "generic_global", (4,), (128,), (f64(1536), f64(512), 3)),
        Launch("generic_lanes", "generic_lanes", (2,), (256,), (f32(512), f32(512), 12)),
        Launch("generic_warps", "generic_warps", (3,), (256,), (f32(1024), f32(768))),
        Launch("generic_spill", "generic_spill", (1,), (256,), (ints, i32(512), 100), 2048),
        Launch("generic_float4", "generic_float4", (3,), (128,), (f32(1536), f32(1536), 75)),
        Launch("generic_bytes", "generic_bytes", (1,), (128,), (u8(128), u8(512))),
        Launch("generic_view", "generic_view", (1,), (64,), (f32(1024), f32(64), 1)),
        Launch("generic_local", "generic_local", (1,), (128,), (ints, i32(128), 3)),
        Launch("generic_found", "generic_found", (1,), (128,), (f32(256), f32(128))),
        Launch("generic_atomics", "generic_atomics", (1,), (128,), (i32(192),)),
        Launch("generic_stages", "generic_stages", (2,), (256,), (f32(1536), f32(512), 6)),
    ]


SOURCES = {
    "transposes": transposes(),
    "reductions": reductions(),
    "stencils": stencils(),
    "scans": scans(),
    "histograms": histograms(),
    "structs": structs(),
    "copies": copies(),
    "control": control(),
    "products": products(),
    "layers": layers(),
    "async": asynchronous(),
    "generic": generic(),
}
