"""The chain of wgmma instructions: the asm statement, the descriptors and what they move by."""

from __future__ import annotations

from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import REGISTER, wrapped
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan
from tilewise.hardware.modes import CHUNK

_A_REGISTERS = 4

MULTIPLY = """\
// d += A B^T, $shape, by the 128 threads of a warpgroup.
// After the operands: $said.
__device__ __forceinline__ void multiply($accumulator (&d)[$count], $a_type, unsigned long long b)
{
    asm volatile(
        "$instruction\\n"
        "{$into},\\n"
        "$a, %$b, $flags;"
        : $outputs
        : $inputs);
}"""


def multiply(plan: Plan) -> str:
    """The function around one instruction."""
    count, register = plan.registers, REGISTER[str(plan.accumulator)]
    a_count = _A_REGISTERS if plan.a.in_registers else 1
    a = [f"%{count + i}" for i in range(a_count)]
    outputs = [f'"+{register.constraint}"(d[{i}])' for i in range(count)]
    inputs = [f'"r"(a[{i}])' for i in range(_A_REGISTERS)] if plan.a.in_registers else ['"l"(a)']
    slots = {
        "shape": f"64 x {plan.n} x {plan.a.input.k}",
        "accumulator": register.declared,
        "count": count,
        "a_type": f"const unsigned (&a)[{_A_REGISTERS}]" if plan.a.in_registers else "unsigned long long a",
        "instruction": plan.instruction,
        "into": wrapped([f"%{i}" for i in range(count)], '\\n"\n        "'),
        "a": f"{{{', '.join(a)}}}" if plan.a.in_registers else a[0],
        "b": count + a_count,
        "flags": ", ".join(["1", *flags(plan)]),
        "said": ", ".join(flag_words(plan)),
        "outputs": wrapped(outputs, "\n          "),
        "inputs": ", ".join([*inputs, '"l"(b)']),
    }
    return filled(MULTIPLY, slots)


def flags(plan: Plan) -> list[str]:
    """The immediate operands after scale-d: signs for floats, then a transpose bit for 16-bit tiles."""
    if plan.accumulator.name == "s32":
        return []
    return ["1", "1", *(str(int(own.major == "mn")) for own in _transposable(plan))]


def flag_words(plan: Plan) -> list[str]:
    """What scale-d and the immediate operands after it say, one by one."""
    signs = ["nothing is negated (1, 1)"] if plan.accumulator.name != "s32" else []
    turned = [
        f"{own.name} is MN-major (1)" if own.major == "mn" else f"{own.name} is K-major (0)"
        for own in _transposable(plan)
    ]
    return ["d is added to (1)", *signs, *turned]


def _transposable(plan: Plan) -> tuple[Operand, ...]:
    """The operands that have a transpose bit."""
    return plan.in_shared if plan.a.input.dtype.bits == 16 else ()


def descriptors(plan: Plan) -> str:
    """The descriptors of the tiles of a stage, in the loop."""
    at = "base" if plan.stages == 1 else f"base + stage * {plan.stage_bytes}"
    return "\n".join(_descriptor(plan, own, at) for own in plan.in_shared)


def _descriptor(plan: Plan, own: Operand, at: str) -> str:
    letter, offset = own.name.lower(), plan.offsets[own.name]
    start = f"{at}{f' + {offset}' if offset else ''}{_of_warpgroup(own)}"
    start = f"({start})" if " " in start else start
    return f"const unsigned long long {letter} = {own.descriptor.value:#018x} + ({start} >> 4);"


def _of_warpgroup(own: Operand) -> str:
    """What the rows of a warpgroup add to the start of the tile, in bytes."""
    first, *others = own.along_rows
    return f" + warpgroup * {(others[0] - first) * CHUNK}" if others else ""


def calls(plan: Plan) -> str:
    """One instruction a line."""
    return "\n".join(
        f"multiply(d, {_argument(plan.a, k)}, {_argument(plan.b, k)});" for k in range(plan.k_steps)
    )


def _argument(own: Operand, k: int) -> str:
    letter = own.name.lower()
    if own.in_registers:
        return f"{letter}[{k}]"
    added = own.along_k[k]
    return f"{letter} + {added}" if added else letter
