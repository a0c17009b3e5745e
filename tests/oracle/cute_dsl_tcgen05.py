"""The layouts of CuTe's Python DSL for tcgen05, as JSON lines by a process of its own.

Its layouts are printed as it writes them. Those of tensor memory count elements: a lane is 65,536 columns
of 32 bits. Those of a load and of a copy are from (thread, value) to the elements of the block that is moved.
No GPU is needed.

    CUTE_DSL_ARCH=sm_100a python tests/oracle/cute_dsl_tcgen05.py
"""

from __future__ import annotations

import json
import warnings
from itertools import product

warnings.simplefilter("ignore")

import cutlass  # noqa: E402 - it warns when it is imported
from cutlass import cute  # noqa: E402
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05  # noqa: E402
from cutlass.cute.nvgpu.warp.mma import SparseMetadataFormat  # noqa: E402
from cutlass.utils import blackwell_helpers, blockscaled_layout  # noqa: E402

N = 64
K_MAJOR = OperandMajorMode.K
GROUPS = {1: tcgen05.CtaGroup.ONE, 2: tcgen05.CtaGroup.TWO}
TYPES = {
    "f16": cutlass.Float16,
    "bf16": cutlass.BFloat16,
    "tf32": cutlass.TFloat32,
    "e4m3": cutlass.Float8E4M3FN,
    "e5m2": cutlass.Float8E5M2,
    "s8": cutlass.Int8,
    "u8": cutlass.Uint8,
    "e2m1": cutlass.Float4E2M1FN,
    "f32": cutlass.Float32,
    "s32": cutlass.Int32,
    "ue8m0": cutlass.Float8E8M0FNU,
    "ue4m3": cutlass.Float8E4M3FN,
}
DENSE = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "e4m3": ("f16", "f32"),
    "e5m2": ("f16", "f32"),
    "s8": ("s32",),
    "u8": ("s32",),
}
"""{type of A and B: types of D}."""

SHAPES = ((64, 1), (128, 1), (128, 2), (256, 2))
FORMS = ("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2")
COPIES = {
    "128x256b": "Cp128x256bOp",
    "4x256b": "Cp4x256bOp",
    "128x128b": "Cp128x128bOp",
    "64x128b.warpx2::02_13": "Cp2x64x128b0213Op",
    "64x128b.warpx2::01_23": "Cp2x64x128b0123Op",
    "32x128b.warpx4": "Cp4x32x128bOp",
}
SCALED = (
    ("mxf8f6f4", "e4m3", "ue8m0", 32),
    ("mxf4", "e2m1", "ue8m0", 32),
    ("mxf4nvf4", "e2m1", "ue8m0", 16),
    ("mxf4nvf4", "e2m1", "ue4m3", 16),
)
"""(kind, type of A and B, type of the factors, elements that share one)."""


def said(what: str, **of: object) -> None:
    print(json.dumps({"what": what} | {name: _plain(value) for name, value in of.items()}))


def _plain(value: object) -> object:
    return value if isinstance(value, int | str | list) else str(value)


def accumulators() -> None:
    """D of dense products, and A of tensor memory."""
    for (dtype, results), (m, group) in product(DENSE.items(), SHAPES):
        for result in results:
            such = (TYPES[dtype], TYPES[dtype], K_MAJOR, K_MAJOR, TYPES[result], GROUPS[group], (m, N))
            tiled = blackwell_helpers.make_trivial_tiled_mma(*such)
            d = tiled.make_fragment_C(tiled.partition_shape_C((m, N)))
            said("D", m=m, cta_group=group, dtype=result, layout=d.layout)
        tiled = blackwell_helpers.make_trivial_tiled_mma(*such, tcgen05.OperandSource.TMEM)
        k = cute.size(tiled.shape_mnk, mode=[2])
        a = tiled.make_fragment_A(tiled.partition_shape_A((m, k)))
        said("A", m=m, cta_group=group, dtype=dtype, k=k, layout=a.layout)
    for (kind, dtype, scale, block), (m, group) in product(SCALED, SHAPES[1:]):
        such = (TYPES[dtype], TYPES[dtype], K_MAJOR, K_MAJOR, TYPES[scale], block, GROUPS[group], (m, N))
        tiled = blackwell_helpers.make_blockscaled_trivial_tiled_mma(*such, tcgen05.OperandSource.TMEM)
        k = cute.size(tiled.shape_mnk, mode=[2])
        a = tiled.make_fragment_A(tiled.partition_shape_A((m, k)))
        said("A", m=m, cta_group=group, dtype=dtype, kind=kind, k=k, layout=a.layout)


SPARSE = {
    "f16": (tcgen05.MmaF16BF16SparseOp, 32),
    "bf16": (tcgen05.MmaF16BF16SparseOp, 32),
    "e4m3": (tcgen05.MmaFP8SparseOp, 64),
    "e5m2": (tcgen05.MmaFP8SparseOp, 64),
}
"""{type of A and B: operation, K}."""


def sparse() -> None:
    """Of products whose A is sparse D, A, and metadata, in bits: an element of a row of A has one."""
    tid = SparseMetadataFormat.TID
    for (dtype, (make, k)), (m, group) in product(SPARSE.items(), SHAPES):
        such = (GROUPS[group], tcgen05.OperandSource.TMEM, K_MAJOR, K_MAJOR, tid)
        tiled = cute.make_tiled_mma(cute.make_mma_atom(make(TYPES[dtype], TYPES["f32"], (m, N, k), *such)))
        a = tiled.make_fragment_A(tiled.partition_shape_A((m, k)))
        said("A", m=m, cta_group=group, dtype=dtype, sparse=True, k=k, layout=a.layout)
    for result, (m, group) in product(("f16", "f32"), SHAPES):
        such = (GROUPS[group], tcgen05.OperandSource.SMEM, K_MAJOR, K_MAJOR, tid)
        operation = tcgen05.MmaF16BF16SparseOp(cutlass.Float16, TYPES[result], (m, N, 32), *such)
        tiled = cute.make_tiled_mma(cute.make_mma_atom(operation))
        d = tiled.make_fragment_C(tiled.partition_shape_C((m, N)))
        said("D", m=m, cta_group=group, dtype=result, sparse=True, layout=d.layout)
    for dtype, k in (("f16", 32), ("e4m3", 64)):
        layout = blackwell_helpers.make_sparse_tmem_layout_e(((128, k), 1, 1), TYPES[dtype])
        said("E", dtype=dtype, k=k, layout=layout)


def loads() -> None:
    """The registers of tcgen05.ld and tcgen05.st; 16-bit elements where two are packed."""
    for form, power, packed in product(FORMS, range(8), (False, True)):
        repeat = getattr(tcgen05.Repetition, f"x{1 << power}")
        load, store = (getattr(tcgen05, f"{way}{form}Op") for way in ("Ld", "St"))
        dtype = cutlass.Float16 if packed else cutlass.Float32
        halves = (tcgen05.Pack.PACK_16b_IN_32b,) if packed else ()
        words = (tcgen05.Unpack.UNPACK_32b_IN_16b,) if packed else ()
        such = {"form": form, "repeat": f"x{1 << power}", "packed": packed}
        try:
            registers = cute.make_copy_atom(load(repeat, *halves), dtype).layout_dst_tv
            said("ld", layout=registers, **such)
            registers = cute.make_copy_atom(store(repeat, *words), dtype).layout_src_tv
            said("st", layout=registers, **such)
        except Exception:  # it has several errors for what there is not
            said("none", **such)


def copies() -> None:
    """tcgen05.cp, in bytes."""
    for form, name in COPIES.items():
        atom = cute.make_copy_atom(getattr(tcgen05, name)(GROUPS[1]), cutlass.Uint8)
        said("cp", form=form, source=atom.layout_src_tv, destination=atom.layout_dst_tv)


def factors() -> None:
    """Scale factors in tensor memory and in memory."""
    for (kind, dtype, scale, block), (m, group) in product(SCALED, ((128, 1), (128, 2), (256, 2))):
        such = (TYPES[dtype], TYPES[dtype], K_MAJOR, K_MAJOR, TYPES[scale], block, GROUPS[group])
        n = 256
        tiled = blackwell_helpers.make_blockscaled_trivial_tiled_mma(*such, (m, n))
        tile = (m, n, 4 * block)
        of = {"kind": kind, "dtype": scale, "vector": block, "m": m, "cta_group": group}
        for side, smem, tmem in (
            ("sfa", blockscaled_layout.make_smem_layout_sfa, blockscaled_layout.make_tmem_layout_sfa),
            ("sfb", blockscaled_layout.make_smem_layout_sfb, blockscaled_layout.make_tmem_layout_sfb),
        ):
            stored = cute.slice_(smem(tiled, tile, block, 1), (None, None, None, 0))
            said(side, layout=tmem(tiled, tile, block, stored), **of)
    for rows, k in ((128, 4), (256, 8)):
        said("sf", rows=rows, sf_k=k, layout=blockscaled_layout.tile_atom_to_shape_SF((rows, 16 * k, 1), 16))


def tiles() -> None:
    """Several atoms of every mode and major, those along the rows first.

    Its atom that keeps 32 bytes together is 8 columns of K deep, two of the pattern: there K is first.
    """
    names = [kind for kind in tcgen05.SmemLayoutAtomKind if "INTER" in kind.name or "SW" in kind.name]
    for dtype, kind in product((*DENSE, "e2m1"), names):
        major, _, mode = kind.name.partition("_")
        atom = tcgen05.make_smem_layout_atom(kind, TYPES[dtype])
        rows, k = (max(least, 2 * cute.size(atom, mode=[at])) for at, least in ((0, 64), (1, 64)))
        layout = cute.tile_to_shape(atom, (rows, k), (1, 0) if mode == "SW128_32B" else (0, 1))
        said("smem", dtype=dtype, major=major.lower(), mode=mode, rows=rows, k=k, layout=layout)


def shapes() -> None:
    """M and N of dense products that its operations take, K-major."""
    memory, f32, ue8m0 = tcgen05.OperandSource.SMEM, cutlass.Float32, cutlass.Float8E8M0FNU
    f16, e4m3, s8 = cutlass.Float16, cutlass.Float8E4M3FN, cutlass.Int8
    majors = (K_MAJOR, K_MAJOR)
    operations = {
        "f16": lambda m, n, of: tcgen05.MmaF16BF16Op(f16, f32, (m, n, 16), of, memory, *majors),
        "tf32": lambda m, n, of: tcgen05.MmaTF32Op((m, n, 8), of, memory, *majors),
        "f8f6f4": lambda m, n, of: tcgen05.MmaF8F6F4Op(e4m3, e4m3, f32, (m, n, 32), of, memory, *majors),
        "i8": lambda m, n, of: tcgen05.MmaI8Op(s8, (m, n, 32), of, memory, *majors),
        "mxf8f6f4": lambda m, n, of: tcgen05.MmaMXF8F6F4Op(e4m3, e4m3, (m, n, 32), of, memory, *majors),
        "mxf4": lambda m, n, of: tcgen05.MmaMXF4Op((m, n, 64), of, memory),
        "mxf4nvf4": lambda m, n, of: tcgen05.MmaMXF4NVF4Op(ue8m0, (m, n, 64), of, memory),
    }
    for (kind, make), (group, of) in product(operations.items(), GROUPS.items()):
        taken = [
            [m, n] for m, n in product((32, 64, 128, 256), range(8, 264, 8)) if _is_taken(make, m, n, of)
        ]
        said("shapes", kind=kind, cta_group=group, taken=taken)


def _is_taken(make, m, n, of) -> bool:
    try:
        make(m, n, of)
    except Exception:  # it has several errors for what there is not
        return False
    return True


@cute.jit
def main() -> None:
    accumulators()
    sparse()
    loads()
    copies()
    factors()
    tiles()
    shapes()


main()
