"""Copies through shared memory as Triton compiles them, printed as JSON by a process of its own.

Each case names a layout of registers by its bases. The kernel copies a tensor from x to y; on the way it is
in shared memory, row after row, and in registers of that layout, to which or from which Triton brings
it with ldmatrix or stmatrix where it can.

    echo '[{"way": "ldmatrix", "target": 90, "type": "i16", "shape": [8, 8], "reg": [...], "lane": [...]}]' |
        python tests/oracle/triton_copies.py
"""

from __future__ import annotations

import json
import sys

from triton.backends.compiler import GPUTarget
from triton.compiler import compile
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource


@gluon.jit
def copy(
    x,
    y,
    rows: gl.constexpr,
    columns: gl.constexpr,
    before: gl.constexpr,
    after: gl.constexpr,
    memory: gl.constexpr,
):
    r = gl.arange(0, rows, layout=gl.SliceLayout(1, before))
    c = gl.arange(0, columns, layout=gl.SliceLayout(0, before))
    value = gl.load(x + r[:, None] * columns + c[None, :])
    shared = gl.allocate_shared_memory(value.dtype, [rows, columns], memory)
    shared.store(value)
    moved = shared.load(after)
    r = gl.arange(0, rows, layout=gl.SliceLayout(1, after))
    c = gl.arange(0, columns, layout=gl.SliceLayout(0, after))
    gl.store(y + r[:, None] * columns + c[None, :], moved)


def main() -> None:
    json.dump([_compiled(**case) for case in json.load(sys.stdin)], sys.stdout)


def _compiled(way, target, type, shape, reg, lane):
    plain = gl.BlockedLayout([1, 1], [4, 8], [1, 1], [1, 0])
    bases = gl.DistributedLinearLayout(
        reg_bases=reg, lane_bases=lane, warp_bases=[], block_bases=[], shape=shape
    )
    before, after = (plain, bases) if way == "ldmatrix" else (bases, plain)
    constants = {
        "rows": shape[0],
        "columns": shape[1],
        "before": before,
        "after": after,
        "memory": gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0]),
    }
    names = {"x": f"*{type}", "y": f"*{type}"} | dict.fromkeys(constants, "constexpr")
    source = GluonASTSource(copy, signature=names, constexprs=constants)
    return compile(source, target=GPUTarget("cuda", target, 32), options={"num_warps": 1}).asm["ptx"]


if __name__ == "__main__":
    main()
