"""Products of tcgen05 as Gluon compiles them, printed as JSON by a process of its own.

Each case names a product and the layouts of its operands. The kernel has the operands in shared memory, A in
tensor memory where the case says so, and multiplies them; what is printed is its PTX, and the layouts as
Triton understands them: for every bit of an offset in memory the row and the column that it adds. B is K x N
there. A layout without swizzle is given by such bases, for Triton has no other word for it. No GPU is needed.

    echo '[{"kind": "f16", "a": "f16", "b": "f16", "d": "f32", "m": 128, "n": 64, "tile": [128, 64, 64],
            "a_major": "k", "b_major": "k", "swizzle": 128}]' | python tests/oracle/gluon_products.py
"""

from __future__ import annotations

import json
import os
import sys

from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir
from triton.backends.compiler import GPUTarget
from triton.compiler import compile
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    tcgen05_mma,
    tcgen05_mma_scaled,
)

SM_100 = GPUTarget("cuda", 100, 32)
TYPES = {
    "f16": gl.float16,
    "bf16": gl.bfloat16,
    "tf32": gl.float32,
    "f32": gl.float32,
    "e4m3": gl.float8e4nv,
    "e5m2": gl.float8e5,
    "e2m1": gl.uint8,  # two of them
    "s8": gl.int8,
    "u8": gl.uint8,
    "s32": gl.int32,
    "ue8m0": gl.uint8,
    "ue4m3": gl.float8e4nv,
}


@gluon.jit
def product(
    m: gl.constexpr,
    n: gl.constexpr,
    k: gl.constexpr,
    type_a: gl.constexpr,
    type_b: gl.constexpr,
    type_d: gl.constexpr,
    layout_a: gl.constexpr,
    layout_b: gl.constexpr,
    layout_d: gl.constexpr,
    a_in_tensor_memory: gl.constexpr,
):
    if a_in_tensor_memory:
        a = allocate_tensor_memory(type_a, [m, k], layout_a)
    else:
        a = gl.allocate_shared_memory(type_a, [m, k], layout_a)
    b = gl.allocate_shared_memory(type_b, [k, n], layout_b)
    d = allocate_tensor_memory(type_d, [m, n], layout_d)
    tcgen05_mma(a, b, d, use_acc=False)


@gluon.jit
def scaled_product(
    m: gl.constexpr,
    n: gl.constexpr,
    columns_a: gl.constexpr,
    rows_b: gl.constexpr,
    factors: gl.constexpr,
    type_a: gl.constexpr,
    type_b: gl.constexpr,
    type_factors: gl.constexpr,
    format_a: gl.constexpr,
    format_b: gl.constexpr,
    layout_a: gl.constexpr,
    layout_b: gl.constexpr,
    layout_d: gl.constexpr,
    layout_factors: gl.constexpr,
):
    a = gl.allocate_shared_memory(type_a, [m, columns_a], layout_a)
    b = gl.allocate_shared_memory(type_b, [rows_b, n], layout_b)
    sfa = allocate_tensor_memory(type_factors, [m, factors], layout_factors)
    sfb = allocate_tensor_memory(type_factors, [n, factors], layout_factors)
    d = allocate_tensor_memory(gl.float32, [m, n], layout_d)
    tcgen05_mma_scaled(a, b, d, sfa, sfb, format_a, format_b, use_acc=False)


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    json.dump([_compiled(builder, case) for case in json.load(sys.stdin)], sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # the bindings tell of all that is still there at the end


def _compiled(builder, case):
    m, n, k = case["tile"]
    pair = case.get("cta_group", 1) == 2
    depths = {side: k // 2 if case[side] == "e2m1" else k for side in "ab"}
    shapes = {"a": [m, depths["a"]], "b": [depths["b"], n]}
    layouts = {side: _layout(case, side, shapes[side], pair) for side in "ab"}
    if case.get("a_in_tensor_memory"):
        layouts["a"] = TensorMemoryLayout((case["m"], k), 1)
    wide = 2 if case["d"] == "f16" else 1
    block = (case["m"] // (1 + pair), case["n"])
    result = {"cga_layout": [[1, 0]], "two_ctas": True} if pair else {}
    constants = {
        "m": m,
        "n": n,
        "type_a": TYPES[case["a"]],
        "type_b": TYPES[case["b"]],
        "layout_a": layouts["a"],
        "layout_b": layouts["b"],
        "layout_d": TensorMemoryLayout(block, wide, **result),
    }
    if "scale_dtype" in case:
        kernel = scaled_product
        constants |= {"columns_a": depths["a"], "rows_b": depths["b"], "factors": k // case["block"]}
        constants |= {
            "type_factors": TYPES[case["scale_dtype"]],
            "layout_factors": TensorMemoryScalesLayout(),
        }
        constants |= {"format_a": case["a"], "format_b": case["b"]}
    else:
        kernel = product
        constants |= {"k": k, "type_d": TYPES[case["d"]]}
        constants["a_in_tensor_memory"] = bool(case.get("a_in_tensor_memory"))
    source = GluonASTSource(kernel, dict.fromkeys(constants, "constexpr"), constants)
    ptx = compile(source, target=SM_100, options={"num_warps": 4, "num_ctas": 1 + pair}).asm["ptx"]
    declared = {side: _said(builder, layouts[side], shapes[side]) for side in "ab" if _shared(layouts[side])}
    return {"ptx": ptx, **declared}


def _layout(case, side, shape, pair):
    """The widest swizzle that fits, none by bases."""
    bits = TYPES[case[side]].primitive_bitwidth
    transposed = (case[f"{side}_major"] == "mn") == (side == "a")
    if not case["swizzle"]:
        return gl.SharedLinearLayout(_cores(bits, shape, transposed, case["order"] == "k"), alignment=1024)
    padded = case[side] == "e2m1" and case["kind"] == "mxf8f6f4"
    fits = 128 if padded else min(case["swizzle"], shape[0 if transposed else 1] * bits // 8)
    ctas = [[1, 0] if side == "a" else [0, 1]] if pair else []
    return gl.NVMMASharedLayout(fits, bits, 2, transposed, padded, ctas)


def _cores(bits, shape, transposed, along_first):
    """Core matrices of 8 x 16 bytes, those along the contiguous direction first or last."""
    inside = (128 // bits).bit_length() - 1
    rows, columns = ([_unit(d, 1 << i) for i in range(shape[d].bit_length() - 1)] for d in (0, 1))
    along, across = (rows, columns) if transposed else (columns, rows)
    core, more, further = along[:inside] + across[:3], along[inside:], across[3:]
    return core + (more + further if along_first else further + more)


def _unit(dimension, step):
    return [step, 0] if dimension == 0 else [0, step]


def _shared(layout):
    return isinstance(layout, gl.NVMMASharedLayout | gl.SharedLinearLayout)


def _said(builder, layout, shape):
    linear = builder.to_linear_layout(layout._to_ir(builder), shape)
    return {"declared": str(layout), "bases": linear.offset_bases, "shape": shape}


if __name__ == "__main__":
    main()
