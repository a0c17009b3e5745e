"""One mma.sync as a function."""

from __future__ import annotations

from tilewise.emit.mma.operands import Operand
from tilewise.emit.mma.plan import Plan
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import REGISTER, wrapped

MULTIPLY = """\
// d += A B^T, $shape, by the 32 lanes of a warp.
__device__ __forceinline__ void multiply(
    $accumulator (&d)[$d_count], const $a_type (&a)[$a_count], const $b_type (&b)[$b_count])
{
    asm volatile(
        "$instruction\\n"
        "{$d},\\n"
        "{$a}, {$b},\\n"
        "{$d};"
        : $outputs
        : $inputs);
}"""


def declared(own: Operand) -> str:
    """The type of a register of A or of B, in C++."""
    return "double" if own.dtype.bits == 64 else "unsigned"


def multiply(plan: Plan) -> str:
    """The function around one instruction."""
    register = REGISTER[plan.accumulator.name]
    counts = plan.registers, plan.a.registers, plan.b.registers
    first = (0, counts[0], counts[0] + counts[1])
    d, a, b = (
        wrapped([f"%{start + i}" for i in range(count)], '\\n"\n        "')
        for start, count in zip(first, counts, strict=True)
    )
    constraint = "d" if plan.a.dtype.bits == 64 else "r"
    inputs = [f'"{constraint}"(a[{i}])' for i in range(counts[1])]
    inputs += [f'"{constraint}"(b[{i}])' for i in range(counts[2])]
    shape = plan.shape
    slots = {
        "shape": f"{shape.m} x {shape.n} x {shape.k}",
        "accumulator": register.declared,
        "instruction": plan.instruction,
        "a_type": declared(plan.a),
        "b_type": declared(plan.b),
        "d_count": counts[0],
        "a_count": counts[1],
        "b_count": counts[2],
        "d": d,
        "a": a,
        "b": b,
        "outputs": ", ".join(f'"+{register.constraint}"(d[{i}])' for i in range(counts[0])),
        "inputs": ", ".join(inputs),
    }
    return filled(MULTIPLY, slots)
