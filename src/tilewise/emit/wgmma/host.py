"""The host's part of a kernel, in C++: its tensor maps, its shared memory, its launch."""

from __future__ import annotations

from tilewise.emit.wgmma.boxes import Symbolic
from tilewise.emit.wgmma.kernel import ELEMENT, check_free, kernel_source, name_of
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan
from tilewise.emit.wgmma.template import filled

PROGRAM = """\
$includes

$kernel

// The host's part, for nvcc -gencode arch=compute_90a,code=sm_90a$link. A, B and D are on the device.
cudaError_t launch_$name(const void *A, const void *B, void *D, int M, int N, int K, cudaStream_t stream)
{
    if (M % $m || N % $n || K % $k)
        return cudaErrorInvalidValue;
    $maps
    const cudaError_t allowed =
        cudaFuncSetAttribute($name, cudaFuncAttributeMaxDynamicSharedMemorySize, $shared_bytes);
    if (allowed != cudaSuccess)
        return allowed;
    $name<<<dim3(N / $n, M / $m), $threads, $shared_bytes, stream>>>($arguments, ($element *)D, M, N, K);
    return cudaGetLastError();
}"""

MAP = """\
// $name: dimensions from the fastest, strides in bytes of all but the first.
CUtensorMap map_$letter;
const cuuint64_t sizes_$letter[] = {$sizes};
const cuuint64_t strides_$letter[] = {$strides};
const cuuint32_t box_$letter[] = {$box}, every_$letter[] = {$every};
if (cuTensorMapEncodeTiled(&map_$letter, $dtype, $rank, (void *)$name,
                           sizes_$letter, strides_$letter, box_$letter, every_$letter,
                           $interleave, $swizzle,
                           $promotion,
                           $fill) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
"""


def host_source(plan: Plan) -> str:
    """Kernel and host together, one .cu file.

    >>> from tilewise.emit.wgmma.plan import planned
    >>> "cuTensorMapEncodeTiled(&map_b" in host_source(planned((64, 64, 64), "bf16"))
    True
    """
    by_tma = [own for own in plan.in_shared if own.load == "tma"]
    includes = ["#include <cuda.h>"] * bool(by_tma) + ["#include <cuda_runtime.h>"]
    slots = {
        "includes": "\n".join(includes),
        "kernel": kernel_source(plan),
        "link": " -lcuda" if by_tma else "",
        "name": name_of(plan),
        "m": plan.m,
        "n": plan.n,
        "k": plan.k,
        "maps": "\n".join(_map(own) for own in by_tma),
        "shared_bytes": plan.shared_bytes,
        "threads": plan.threads,
        "arguments": ", ".join(_argument(own) for own in (plan.a, plan.b)),
        "element": ELEMENT[str(plan.accumulator)],
    }
    check_free(plan.name, filled(PROGRAM, slots | {"kernel": "", "name": ""}))
    return filled(PROGRAM, slots)


def _argument(own: Operand) -> str:
    return f"map_{own.name.lower()}" if own.load == "tma" else f"(const unsigned char *){own.name}"


def _map(own: Operand) -> str:
    made = Symbolic(own)
    words = made.map.arguments
    slots = {
        "name": own.name,
        "letter": own.name.lower(),
        "sizes": ", ".join(map(_wide, made.sizes)),
        "strides": ", ".join(map(_wide, made.strides)),
        "box": ", ".join(map(str, made.box)),
        "every": ", ".join("1" for _ in made.box),
        "rank": len(made.box),
        "dtype": words["tensorDataType"],
        "interleave": words["interleave"],
        "swizzle": words["swizzle"],
        "promotion": words["l2Promotion"],
        "fill": words["oobFill"],
    }
    return filled(MAP, slots)


def _wide(size: str) -> str:
    """A size or a stride that is computed in 64 bits."""
    return size if size.isdigit() else f"(cuuint64_t){size}"
