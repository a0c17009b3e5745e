"""The layouts of tcgen05 in Triton's compiler, printed as JSON by a process of its own.

A layout of tensor memory is there one base for each bit of a lane and of a column: the element that it adds,
as XORs. Columns count elements. A base of zeros moves nothing: lanes that have copies, or none. The registers
that a load fills have bases of registers, lanes and warps. A layout of shared memory has bases of offsets. No
GPU is needed.

    python tests/oracle/triton_tcgen05.py
"""

from __future__ import annotations

import json
import os
import sys

from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._semantic import _compute_tmem_reg_layout
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
)

N = 64
BITS = (8, 16, 32)
WIDTHS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8}
"""{form of tcgen05.ld: columns of one repeat}; 16x32bx2 it takes by itself."""


def main() -> None:
    context = ir.context()
    ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    json.dump([*_tensor_memory(builder), *_loads(), *_shared(builder)], sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # the bindings tell of all that is still there at the end


def _tensor_memory(builder):
    def said(layout, shape, **of):
        linear = builder.to_linear_layout(layout._to_ir(builder), shape)
        return {**of, "rows": linear.rows, "cols": linear.cols}

    for rows, wide in ((64, 1), (128, 1), (64, 2), (128, 2)):
        such = {"what": "D", "wide": wide}
        plain = TensorMemoryLayout((rows, N), wide)
        yield said(plain, [rows, N], m=rows, cta_group=1, slabs=1, **such)
        if rows == 64:
            yield said(plain, [2 * rows, N], m=rows, cta_group=1, slabs=2, **such)
        pair = TensorMemoryLayout((rows, N), wide, cga_layout=[[1, 0]], two_ctas=True)
        yield said(pair, [2 * rows, N], m=2 * rows, cta_group=2, slabs=1, **such)
    for rows, bits in ((rows, bits) for rows in (64, 128) for bits in BITS):
        k = 256 // bits
        plain = TensorMemoryLayout((rows, k), 1)
        yield said(plain, [rows, k], what="A", m=rows, bits=bits, slabs=1)
        if rows == 64:
            yield said(plain, [2 * rows, k], what="A", m=rows, bits=bits, slabs=2)
    for rows in (128, 256):
        yield said(TensorMemoryScalesLayout(), [rows, 4], what="scales", extent=rows)


def _loads():
    """Of 16 lanes or of 32, by one instruction: other widths are loaded by several."""
    for form, width in WIDTHS.items():
        rows = 128 if form == "32x32b" else 64
        for repeat in (1 << i for i in range(8)):
            columns = width * repeat
            if 8 <= columns <= 256:
                memory = TensorMemoryLayout((rows, columns), 1)
                extents = [rows, columns]
                regs = _compute_tmem_reg_layout(gl.float32, extents, extents, memory, 4, form)
                said = {"what": "ld", "form": form, "repeat": f"x{repeat}"}
                yield {**said, "reg": regs.reg_bases, "lane": regs.lane_bases}


def _shared(builder):
    for bits in BITS:
        for width in (32, 64, 128):
            for transposed in (False, True):
                shape = [64, max(64, 2 * width * 8 // bits)]
                layout = gl.NVMMASharedLayout(width, bits, 2, transposed)
                extents = shape[::-1] if transposed else shape
                linear = builder.to_linear_layout(layout._to_ir(builder), extents)
                said = {
                    "what": "smem",
                    "bits": bits,
                    "mode": f"{width}B",
                    "major": "mn" if transposed else "k",
                }
                yield {**said, "rows": extents[0], "k": extents[1], "offset": linear.offset_bases}


if __name__ == "__main__":
    main()
