"""The layouts of CuTe's Python DSL for matrices and products with scales, as JSON by a process of its own.

Its atoms of ldmatrix and stmatrix carry two layouts, from (thread, value) to the element of the block of
rows: one on the side of memory, one on that of registers. They come from a compiled library, not from the
C++ headers, and know the forms that those leave out: m16n16 that unpacks 6 and 4 bits. Its products have
kind::mxf4, which the headers leave out too. No GPU is needed.

    CUTE_DSL_ARCH=sm_100a python tests/oracle/cute_dsl_layouts.py matrices
    CUTE_DSL_ARCH=sm_120a python tests/oracle/cute_dsl_layouts.py products
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp
from cutlass.utils.blackwell_helpers import get_layoutSFA_TV, get_layoutSFB_TV

UNPACKED = {4: "b4x16_p64", 6: "b6x16_p32"}


def atoms() -> Iterator[tuple[str, str, bool, Any, Any]]:
    """(instruction, form, transposed, operation, type) of each."""
    for count, trans in product((1, 2, 4), (False, True)):
        yield "ldmatrix", f"x{count}", trans, warp.LdMatrix8x8x16bOp(trans, count), cutlass.Float16
        yield "stmatrix", f"x{count}", trans, warp.StMatrix8x8x16bOp(trans, count), cutlass.Float16
    for count, (bits, word) in product((1, 2, 4), UNPACKED.items()):
        plain = warp.LdMatrix8x16x8bOp(num_matrices=count, unpack_bits=bits)
        yield "ldmatrix", f"m8n16.x{count}.{word}", False, plain, cutlass.Uint8
    for count, (bits, word) in product((1, 2), ({None: "b8"} | UNPACKED).items()):
        square = warp.LdMatrix16x16x8bOp(transpose=True, num_matrices=count, unpack_bits=bits)
        yield "ldmatrix", f"m16n16.x{count}.{word}", True, square, cutlass.Uint8
    for count in (1, 2, 4):
        stored = warp.StMatrix16x8x8bOp(transpose=True, num_matrices=count)
        yield "stmatrix", f"m16n8.x{count}.b8", True, stored, cutlass.Uint8


def tabulated() -> None:
    """Prints every atom, both of its maps as tables: [thread][value] -> element."""
    for instruction, form, trans, operation, dtype in atoms():
        atom = cute.make_copy_atom(operation, dtype)
        maps = {"source": table(atom.layout_src_tv), "destination": table(atom.layout_dst_tv)}
        name = type(operation).__name__
        print(json.dumps({"name": name, "instruction": instruction, "form": form, "trans": trans, **maps}))


def products() -> Iterator[tuple[str, str, str, str, Any]]:
    """(type of A, of B, of the scales, kind, operation) of each."""
    types = {"e2m1": cutlass.Float4E2M1FN, "e4m3": cutlass.Float8E4M3FN, "e5m2": cutlass.Float8E5M2}
    fp4, f32, ue8m0 = cutlass.Float4E2M1FN, cutlass.Float32, cutlass.Float8E8M0FNU
    yield "e2m1", "e2m1", "2X ue8m0", "mxf4", warp.MmaMXF4Op(fp4, f32, ue8m0)
    yield "e2m1", "e2m1", "4X ue4m3", "mxf4nvf4", warp.MmaMXF4NVF4Op(fp4, f32, cutlass.Float8E4M3FN)
    for name in ("e4m3", "e5m2"):
        yield name, name, "1X ue8m0", "mxf8f6f4", warp.MmaMXF8Op(types[name], f32, ue8m0)
        for a, b in ((name, "e2m1"), ("e2m1", name)):
            yield a, b, "1X ue8m0", "mxf8f6f4", warp.MmaMXF8F6F4Op(types[a], types[b], f32, ue8m0)


def multiplied() -> None:
    """Prints every product with scales, each operand as a table: [thread][value] -> index."""
    for a, b, scales, kind, operation in products():
        atom = cute.make_mma_atom(operation)
        tiled = cute.make_tiled_mma(atom, permutation_mnk=atom.shape_mnk)
        maps = {"A": atom.tv_layout_A, "B": atom.tv_layout_B, "C": atom.tv_layout_C}
        maps |= {"SFA": get_layoutSFA_TV(tiled), "SFB": get_layoutSFB_TV(tiled)}
        words = {"name": type(operation).__name__, "a": a, "b": b, "scales": scales, "kind": kind}
        tables = {operand: table(layout) for operand, layout in maps.items()}
        print(json.dumps({**words, "shape": list(atom.shape_mnk), "tables": tables}))


def table(layout: Any) -> list[list[int]]:
    values = cute.size(layout, mode=[1])
    return [[int(cute.crd2idx((thread, value), layout)) for value in range(values)] for thread in range(32)]


@cute.jit
def main() -> None:
    multiplied() if "products" in sys.argv else tabulated()


main()
