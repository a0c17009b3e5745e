"""Products of tcgen05 as CuTe's Python DSL compiles them, printed as JSON by a process of its own.

Each case names a product and the atom of its operands' layouts. The kernel has both operands in shared
memory and multiplies them; what is printed is its PTX, and the layouts as CuTe writes them: a mode of one
instruction, (rows, K), one of instructions along the rows, one along K, and one of stages. No GPU is needed.

    echo '[{"kind": "f16", "a": "f16", "b": "f16", "d": "f32", "m": 128, "n": 64, "tile": [128, 64, 64],
            "a_major": "k", "b_major": "k", "atom": "SW128"}]' | python tests/oracle/cute_products.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

KEPT = tempfile.TemporaryDirectory()
os.environ |= {"CUTE_DSL_ARCH": "sm_100a", "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": KEPT.name}
warnings.simplefilter("ignore")

import cutlass  # noqa: E402 - it reads the environment
from cutlass import cute, utils  # noqa: E402
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05  # noqa: E402
from cutlass.utils import blackwell_helpers, blockscaled_layout  # noqa: E402

MAJORS = {"k": OperandMajorMode.K, "mn": OperandMajorMode.MN}
GROUPS = {1: tcgen05.CtaGroup.ONE, 2: tcgen05.CtaGroup.TWO}
TYPES = {
    "f16": cutlass.Float16,
    "bf16": cutlass.BFloat16,
    "f32": cutlass.Float32,
    "tf32": cutlass.TFloat32,
    "e4m3": cutlass.Float8E4M3FN,
    "e5m2": cutlass.Float8E5M2,
    "e2m1": cutlass.Float4E2M1FN,
    "s8": cutlass.Int8,
    "u8": cutlass.Uint8,
    "s32": cutlass.Int32,
    "ue8m0": cutlass.Float8E8M0FNU,
    "ue4m3": cutlass.Float8E4M3FN,
}
FACTORS = {"sfa": 256, "sfb": 320}
"""The columns of tensor memory where the scale factors begin."""

case: dict = {}
"""The one that is being compiled: what the kernel asks for is no value of the program's."""


@cute.kernel
def product(tiled: cute.TiledMma, layout_a: cute.ComposedLayout, layout_b: cute.ComposedLayout):
    a, b, d = _operands(tiled, layout_a, layout_b)
    for step in cutlass.range_constexpr(cute.size(a, mode=[2])):
        cute.gemm(tiled, d, a[None, None, step, 0], b[None, None, step, 0], d)


@cute.kernel
def scaled_product(
    tiled: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    layout_sfa: cute.Layout,
    layout_sfb: cute.Layout,
):
    a, b, d = _operands(tiled, layout_a, layout_b)
    factors = [
        cute.make_tensor(
            cute.make_ptr(case["sf"], FACTORS[name], cute.AddressSpace.tmem, assumed_align=16), of
        )
        for name, of in (("sfa", layout_sfa), ("sfb", layout_sfb))
    ]
    for step in cutlass.range_constexpr(cute.size(a, mode=[2])):
        tiled.set(tcgen05.Field.SFA, factors[0][None, None, step].iterator)
        tiled.set(tcgen05.Field.SFB, factors[1][None, None, step].iterator)
        cute.gemm(tiled, d, a[None, None, step, 0], b[None, None, step, 0], d)


def _operands(tiled, layout_a, layout_b):
    memory = utils.SmemAllocator()
    a = memory.allocate_tensor(TYPES[case["a"]], layout_a.outer, 1024, layout_a.inner)
    b = memory.allocate_tensor(TYPES[case["b"]], layout_b.outer, 1024, layout_b.inner)
    d = tiled.make_fragment_C(tiled.partition_shape_C((case["m"], case["n"])))
    tiled.set(tcgen05.Field.ACCUMULATE, False)
    return tiled.make_fragment_A(a), tiled.make_fragment_B(b), d


@cute.jit
def launched():
    m, n, k = case["tile"]
    types = (TYPES[case["a"]], TYPES[case["b"]])
    majors = (MAJORS[case["a_major"]], MAJORS[case["b_major"]])
    group, block = GROUPS[case["cta_group"]], (case["m"], case["n"])
    if cutlass.const_expr("scale_dtype" in case):
        case["sf"], vector = TYPES[case["scale_dtype"]], case["block"]
        tiled = blackwell_helpers.make_blockscaled_trivial_tiled_mma(
            *types, *majors, case["sf"], vector, group, block
        )
    else:
        tiled = blackwell_helpers.make_trivial_tiled_mma(*types, *majors, TYPES[case["d"]], group, block)
    layouts = [_tiled(tiled, side, rows, k) for side, rows in (("a", m), ("b", n))]
    case["layouts"] = [str(layout) for layout in layouts]
    grid = {"grid": (1, 1, 1), "block": (128, 1, 1)}
    if cutlass.const_expr("scale_dtype" in case):
        such = (tiled, (m, n, k), vector)
        stored = [
            blockscaled_layout.make_smem_layout_sfa(*such, 1),
            blockscaled_layout.make_smem_layout_sfb(*such, 1),
        ]
        first = [cute.slice_(of, (None, None, None, 0)) for of in stored]
        factors = [
            blockscaled_layout.make_tmem_layout_sfa(*such, first[0]),
            blockscaled_layout.make_tmem_layout_sfb(*such, first[1]),
        ]
        scaled_product(tiled, *layouts, *factors).launch(**grid)
    else:
        product(tiled, *layouts).launch(**grid)


def _tiled(tiled, side, rows, k):
    """The atom, repeated over the operand of all instructions, down the rows first if K is contiguous."""
    major = case[f"{side}_major"]
    kind = getattr(tcgen05.SmemLayoutAtomKind, f"{major.upper()}_{case['atom']}")
    atom = tcgen05.make_smem_layout_atom(kind, TYPES[case[side]])
    shape = tiled.partition_shape_A((rows, k)) if side == "a" else tiled.partition_shape_B((rows, k))
    order = (1, 2, 3) if major == "k" else (2, 1, 3)
    return tcgen05.tile_to_mma_shape(atom, cute.append(shape, 1), order=order)


def compiled(asked: dict) -> dict:
    case.clear()
    case.update(asked)
    for file in Path(KEPT.name).iterdir():
        file.unlink()
    cute.compile(launched)
    (file,) = Path(KEPT.name).glob("*.ptx")
    declared = {side: {"declared": layout} for side, layout in zip("ab", case["layouts"], strict=True)}
    return {"ptx": file.read_text(), **declared}


if __name__ == "__main__":
    json.dump([compiled(asked) for asked in json.load(sys.stdin)], sys.stdout)
