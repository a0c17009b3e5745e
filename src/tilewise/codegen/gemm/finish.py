"""The last steps of a product: factors, C, bias, and the type of D."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.codegen.gemm.plan import HopperPlan
from tilewise.codegen.parts.copies import BYTE
from tilewise.codegen.parts.template import call, filled
from tilewise.core.dtypes import DType

PAIR = """\
const auto pair_of = [&](unsigned pair) { // two neighbours of a row, as D has them
    $place
    $accumulator x = d[part][2 * pair], y = d[part][2 * pair + 1];
    $steps
    $result
};"""

PLACE = """\
const auto its = $index; // what is beyond the edge is not stored
const int i = min(row + (int)(part * 64 + its.i), M - 1);
const int j = min(column + (int)(2 * its.j), N - 2);"""

PACKED = {
    "bf16": ("unsigned", "cvt.rn.bf16x2.f32", "r"),
    "f16": ("unsigned", "cvt.rn.f16x2.f32", "r"),
    "e4m3": ("unsigned short", "cvt.rn.satfinite.e4m3x2.f32", "h"),
    "e5m2": ("unsigned short", "cvt.rn.satfinite.e5m2x2.f32", "h"),
}
"""{type: (the type in C++ of two neighbours, the instruction that rounds them, the constraint in asm)}."""


TOTAL = """\
// D: the sums of all parts of K, added up in their order, and finished.
extern "C" __global__ void __launch_bounds__(256) ${name}_total(
    const $accumulator *__restrict__ sums, unsigned char *__restrict__ D,
    $parameters
    int M, int N, int parts, long long pitch)
{
    const size_t pairs = (size_t)M * N / 2;
    for (size_t p = (size_t)blockIdx.x * 256 + threadIdx.x; p < pairs; p += (size_t)gridDim.x * 256) {
        const int i = p / (N / 2), j = p % (N / 2) * 2;
        $accumulator x = 0, y = 0;
        for (int part = 0; part < parts; ++part) {
            const ${accumulator}2 sum = ((const ${accumulator}2 *)sums)[part * pairs + p];
            x += sum.x;
            y += sum.y;
        }
        $steps
        $packed
        *($kind *)(D + i * pitch + (size_t)j * $size) = $value;
    }
}"""


def addend_type(plan: HopperPlan) -> DType:
    """Return the type of C and bias: that of D, and bf16 where D has 8 bits."""
    return plan.out if plan.out.bits > 8 else DType.of("bf16")


def parameters(plan: HopperPlan) -> Iterator[str]:
    """Yield the kernel's parameters that finish D."""
    finish, kind = plan.finish, "float" if addend_type(plan).bits == 32 else "unsigned short"
    if finish.alpha:
        yield "float alpha"
    if finish.scales != "none":
        yield "const float *__restrict__ scale_a, const float *__restrict__ scale_b"
    if finish.addend:
        yield f"float beta, const {kind} *C"
    if finish.bias:
        yield f"const {kind} *__restrict__ bias"


def finished(plan: HopperPlan) -> str:
    """Return the function from the number of a pair of sums to a pair of D."""
    index = call(plan.d_index, warp="warp", lane="lane", reg="pair")
    _, packed, result = _pair(plan)
    slots = {
        "place": filled(PLACE, {"index": index}) if plan.finish.by_column else "",
        "accumulator": _sum_type(plan),
        "steps": "\n".join(_steps(plan)),
        "result": "\n".join([*packed, f"return {result};"]),
    }
    return filled(PAIR, slots)


def total_source(plan: HopperPlan) -> str:
    """Return the kernel that adds up the sums of all parts of K."""
    kind, packed, value = _pair(plan)
    slots = {
        "name": plan.called,
        "accumulator": _sum_type(plan),
        "parameters": "\n".join(f"{word}," for word in parameters(plan)),
        "steps": "\n".join(_steps(plan)),
        "packed": "\n".join(packed),
        "kind": kind,
        "size": plan.out.bits // BYTE,
        "value": value,
    }
    return filled(TOTAL, slots)


def _sum_type(plan: HopperPlan) -> str:
    return "float" if plan.accumulator.name == "f32" else "int"


def _pair(plan: HopperPlan) -> tuple[str, list[str], str]:
    """Return the type of two neighbours of D, the lines that make them of x and y, and their name."""
    if plan.out.name not in PACKED:
        kind = {"f32": "float2", "s32": "int2"}[plan.out.name]
        return kind, [], f"make_{kind}(x, y)"
    kind, instruction, constraint = PACKED[plan.out.name]
    rounded = f'asm("{instruction} %0, %1, %2;" : "={constraint}"(packed) : "f"(y), "f"(x));'
    return kind, [f"{kind} packed;", rounded], "packed"


def _steps(plan: HopperPlan) -> Iterator[str]:
    finish = plan.finish
    factor = ["alpha"] * finish.alpha
    column = "(size_t)tile.batch * N + j" if plan.grouped else "j"
    if finish.scales == "tensor":
        factor += ["*scale_a", "scale_b[tile.batch]" if plan.grouped else "*scale_b"]
    if finish.scales == "row":
        factor.append("scale_a[i]")
        yield f"const float factor = {' * '.join(factor)};"
        yield f"x *= factor * scale_b[{column}];"
        yield f"y *= factor * scale_b[{column} + 1];"
    elif factor:
        yield f"const float factor = {' * '.join(factor)};"
        yield "x *= factor;"
        yield "y *= factor;"
    if finish.addend:
        line = "((size_t)tile.batch * M + i)" if plan.batched else "(size_t)i"
        yield from _added(f"C + {line} * N + j", "beta * ", plan, "c")
    if finish.bias:
        yield from _added(f"bias + {column}", "", plan, "b")


def _added(at: str, factor: str, plan: HopperPlan, name: str) -> Iterator[str]:
    """Yield the lines that add two neighbours from memory."""
    dtype = addend_type(plan)
    if dtype.bits == 32:
        yield f"const float2 {name} = *(const float2 *)({at});"
    elif dtype.name == "bf16":
        yield f"const unsigned {name}_bits = *(const unsigned *)({at});"
        high = f"__uint_as_float({name}_bits & 0xffff0000)"
        yield f"const float2 {name} = {{__uint_as_float({name}_bits << 16), {high}}};"
    else:
        yield f"const ushort2 {name}_bits = *(const ushort2 *)({at});"
        yield f"float2 {name};"
        yield f'asm("cvt.f32.f16 %0, %1;" : "=f"({name}.x) : "h"({name}_bits.x));'
        yield f'asm("cvt.f32.f16 %0, %1;" : "=f"({name}.y) : "h"({name}_bits.y));'
    yield f"x += {factor}{name}.x;"
    yield f"y += {factor}{name}.y;"
