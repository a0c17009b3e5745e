"""The bank conflicts that Triton counts, printed as JSON by a process of its own.

Each case is a one-dimensional tensor: which element register 2^i and lane 2^i hold, and which element lies
at offset 2^i of shared memory; or, in place of the offsets, a padding. `gl.bank_conflicts` says how many
wavefronts more than one each phase of such a load or store takes, and chooses the vector by itself. It has an
answer within a kernel that is being compiled, so one kernel asks for all cases. No GPU is needed.

    echo '[{"bits": 16, "registers": [1, 2, 4], "lanes": [8, 16, 32, 64, 128], "offsets": [1, 2, 4, ...]}]' |
        python tests/oracle/triton_banks.py
"""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else it warns on standard error

from triton._filecheck import run_parser
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin

SM_90 = GPUTarget("cuda", 90, 32)
TYPES = {8: gl.int8, 16: gl.int16, 32: gl.int32, 64: gl.int64}

asked: list[tuple[gl.distributed_type, gl.shared_memory_descriptor_type]] = []
said: list[dict[str, float]] = []


@builtin
def count_all(_semantic=None):
    for held, stored in asked:
        start = perf_counter()
        excess = _semantic.bank_conflicts(held, stored)
        said.append({"excess": excess, "seconds": perf_counter() - start})


@gluon.jit
def kernel():
    count_all()


def main() -> None:
    asked.extend(_types(**case) for case in json.load(sys.stdin))
    run_parser(kernel, kwargs={"num_warps": 1}, target=SM_90)
    json.dump(said, sys.stdout)


def _types(bits, registers, lanes, offsets=None, padding=None):
    shape = [1 << len(registers) + sum(map(bool, lanes))]
    held = gl.DistributedLinearLayout(
        reg_bases=[[r] for r in registers],
        lane_bases=[[lane] for lane in lanes],
        warp_bases=[],
        block_bases=[],
        shape=shape,
    )
    if padding is None:
        stored = gl.SharedLinearLayout(offset_bases=[[o] for o in offsets])
    else:
        stored = gl.PaddedSharedLayout.with_identity_for([padding], shape, [0])
    return (
        gl.distributed_type(TYPES[bits], shape, held),
        gl.shared_memory_descriptor_type(TYPES[bits], shape, stored, shape),
    )


if __name__ == "__main__":
    main()
