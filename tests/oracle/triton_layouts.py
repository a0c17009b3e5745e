"""The layouts of a warp's operands in Triton's compiler, printed as JSON by a process of its own.

Triton keeps a layout as bases over GF(2): the place of register 2^i, and of lane 2^i, in the tensor. Those of
mma's operands come from its builder. Those of block scales come from a product that it compiles for sm_120,
as does the instruction that reads them. No GPU is needed.

    python tests/oracle/triton_layouts.py
"""

from __future__ import annotations

import json
import re
import sys

import triton
import triton.language as tl
from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.experimental.gluon import language

DENSE = {
    "m16n8k16": {"f16": 16, "bf16": 16},
    "m16n8k8": {"tf32": 32},
    "m16n8k32": {"s8": 8, "e4m3": 8, "e5m2": 8},
}
"""{shape of mma.sync that its products become: {type: bits}}."""

SCALED = (
    ("e4m3", "*fp8e4nv", 32, "*u8", 1),
    ("e2m1", "*u8", 32, "*u8", 2),
    ("e2m1", "*u8", 32, "*fp8e4nv", 4),
)
"""(type of A and B, what it is stored as, columns of that, type of the scales, scales of a row)."""

SM_120 = GPUTarget("cuda", 120, 32)


@triton.jit
def scaled_product(a, sa, b, sb, d, columns: tl.constexpr, vector: tl.constexpr, kind: tl.constexpr):
    m, n, k, s = tl.arange(0, 16), tl.arange(0, 8), tl.arange(0, columns), tl.arange(0, vector)
    tile_a = tl.load(a + m[:, None] * columns + k[None, :])
    tile_b = tl.load(b + k[:, None] + n[None, :] * columns)
    scales_a = tl.load(sa + m[:, None] * vector + s[None, :])
    scales_b = tl.load(sb + n[:, None] * vector + s[None, :])
    product = tl.dot_scaled(tile_a, scales_a, kind, tile_b, scales_b, kind)
    tl.store(d + m[:, None] * 8 + n[None, :], product)


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    json.dump([*_fragments(gluon_ir.GluonOpBuilder(context)), *_scales()], sys.stdout)


def _fragments(builder):
    mma = language.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[1, 1], instr_shape=[16, 8])

    def bases(layout, shape):
        linear = builder.to_linear_layout(layout._to_ir(builder), shape)
        return {"reg": linear.reg_bases, "lane": linear.lane_bases}

    def operand(what, bits, k):
        dot = language.DotOperandLayout(operand_index="AB".index(what), parent=mma, k_width=32 // bits)
        return {"what": what, **bases(dot, [16, k] if what == "A" else [k, 8])}

    for what in "AB":
        for shape, dtypes in DENSE.items():
            for dtype, bits in dtypes.items():
                k = int(shape.rpartition("k")[2])
                yield {"shape": shape, "dtype": dtype, **operand(what, bits, k)}
        # a byte has two elements of 4 bits, columns 2 k and 2 k + 1
        yield {"shape": "m16n8k64", "dtype": "e2m1", "packed": 2, **operand(what, 8, 32)}
    yield {"what": "C", **bases(mma, [16, 8])}


def _scales():
    for dtype, stored, k, scale, vector in SCALED:
        types = {"a": stored, "sa": scale, "b": stored, "sb": scale, "d": "*fp32"}
        constants = {"columns": k, "vector": vector, "kind": dtype}
        names = types | dict.fromkeys(constants, "constexpr")
        source = ASTSource(scaled_product, signature=names, constexprs=constants)
        made = compile(source, target=SM_120, options={"num_warps": 1}).asm
        (instruction,) = re.findall(r"mma\.sync\S+", made["ptx"])
        (selectors,) = re.findall(r"mma\.sync[^;]*?, %r\d+, ({[^}]*}), %r\d+, ({[^}]*});", made["ptx"])
        for what, linear in zip(("SFA", "SFB"), _read(made["ttgir"]), strict=True):
            yield {"what": what, "instruction": instruction, "selectors": selectors, **linear}


def _read(module):
    """The layouts of the scales of A and of B in what the product became."""
    named = dict(re.findall(r"^(#\w+) = #ttg\.linear<(\{.*\})>$", module, re.MULTILINE))
    (line,) = re.findall(r"tt\.dot_scaled .*", module)
    for name in re.findall(r"tensor<[^<>]*?, (#linear\d*)>", line):
        said = dict(re.findall(r"(\w+) = (\[.*?\])(?=, \w+ =|\})", named[name]))
        yield {"reg": json.loads(said["register"]), "lane": json.loads(said["lane"])}


if __name__ == "__main__":
    main()
