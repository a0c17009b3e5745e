"""One instruction of a product as a function: an asm statement around its registers."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.codegen.parts.plan import GemmPlan
from tilewise.codegen.parts.template import REGISTER, each, filled, wrapped

MULTIPLY = """\
// d += A B^T, $shape, by $those.
__device__ __forceinline__ void multiply(${broken}$accumulator (&d)[$count], $a, $b)
{
    asm volatile(
        $guard
        "${plan.instruction}\\n"
        "{$d},\\n"
        "$read;$closed"
        : $outputs
        : $inputs);
}"""


def multiply(plan: GemmPlan, count: int, slots: Mapping[str, object]) -> str:
    """Return the function around one instruction, which adds to `count` registers of D."""
    kind, constraint = REGISTER[plan.accumulator.name]
    outputs = each(f'"+{constraint}"(d[#])', range(count))
    common = {
        "plan": plan,
        "accumulator": kind,
        "count": count,
        "broken": "",
        "guard": "",
        "closed": "",
        "d": in_asm(range(count)),
        "outputs": wrapped(outputs, "\n          "),
    }
    return filled(MULTIPLY, {**common, **slots})


def in_asm(numbers: range) -> str:
    """Return operands of an asm statement as its text names them, in lines."""
    return wrapped(each("%#", numbers), '\\n"\n        "')
