"""The layouts of a wave's operands in Triton's compiler, printed as JSON by a process of its own.

As for mma, a layout is bases over GF(2); here of AMD's mfma of gfx942. Of the shapes with blocks Triton has
one, in which the 16 blocks of 4x4 are side by side in the columns of B and D. No GPU is needed.

    python tests/oracle/triton_mfma.py
"""

from __future__ import annotations

import json
import sys

from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language
from triton.experimental.gluon.language.amd import AMDMFMALayout

CDNA3 = 3
SHAPES = {
    (32, 32, 8): ("f16", "bf16"),
    (16, 16, 16): ("f16", "bf16"),
    (32, 32, 16): ("s8", "e4m3fnuz", "e5m2fnuz"),
    (16, 16, 32): ("s8", "e4m3fnuz", "e5m2fnuz"),
    (32, 32, 2): ("f32",),
    (16, 16, 4): ("f32", "f64"),
    (32, 32, 4): ("xf32",),
    (16, 16, 8): ("xf32",),
    (4, 64, 4): ("f16", "bf16", "s8"),
    (4, 64, 1): ("f32",),
}
"""{instr_shape: types of A and B}."""


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    libtriton.amd.load_dialects(context)
    json.dump([*_fragments(gluon_ir.GluonOpBuilder(context))], sys.stdout)


def _fragments(builder):
    for (m, n, k), dtypes in SHAPES.items():
        for dtype in dtypes:
            bits = 64 if dtype == "f64" else 32
            mfma = AMDMFMALayout(CDNA3, [m, n, k], False, [1, 1], bits)
            said = {"shape": f"{m}x{m}x{k}", "dtype": dtype, "blocks": n // m}
            yield {**said, "what": "D", **_bases(builder, mfma, [m, n])}
            for what, extents in (("A", [m, k]), ("B", [k, n])):
                if what == "A" and n > m:
                    continue  # Triton has all blocks of A be one
                dot = language.DotOperandLayout("AB".index(what), mfma, n * k // 64)
                yield {**said, "what": what, **_bases(builder, dot, extents)}


def _bases(builder, layout, extents):
    linear = builder.to_linear_layout(layout._to_ir(builder), extents)
    own = [basis for basis in linear.reg_bases if any(basis)]  # others repeat what K is too short for
    return {"reg": own, "lane": linear.lane_bases}


if __name__ == "__main__":
    main()
