"""The host's part of a kernel, in C++: its tensor maps, its shared memory, its launch."""

from __future__ import annotations

from tilewise.emit.parts.host import Launch, host_program
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import ELEMENT
from tilewise.emit.wgmma.boxes import Symbolic
from tilewise.emit.wgmma.kernel import kernel_source, name_of
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan

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
    launch = Launch(
        name_of(plan),
        plan.name,
        (plan.m, plan.n, plan.k),
        plan.threads,
        plan.shared_bytes,
        ELEMENT[str(plan.accumulator)],
        "-gencode arch=compute_90a,code=sm_90a" + (" -lcuda" if by_tma else ""),
        tuple(_argument(own) for own in (plan.a, plan.b)),
        "\n".join(_map(own) for own in by_tma),
        ("#include <cuda.h>",) if by_tma else (),
    )
    return host_program(kernel_source(plan), launch)


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
