"""Parts of all texts around wgmma: the places of the operands, and the function around the instruction."""

from __future__ import annotations

from tilewise.codegen.parts.instruction import multiply
from tilewise.codegen.parts.template import each, listed
from tilewise.codegen.wgmma.plan import DescribedOperand, WgmmaPlan
from tilewise.hardware.wgmma.instructions import M

A_REGISTERS = 4
"""Registers of a thread that hold A of one instruction."""


def facts(plan: WgmmaPlan) -> list[str]:
    """Return the places of the operands, line by line."""
    lines = []
    for own in plan.operands:
        held = f"in registers [{M}, {own.input.k}]"
        where = held if own.in_registers else f"mode {own.mode} in shared memory"
        lines += [f"{own.heading}, {where}:", f"    {own.tile}"]
    return lines


def multiplied(plan: WgmmaPlan, *, begins: bool = False) -> str:
    """Return the function around one instruction. One that `begins` does not add where `adds` is 0."""
    count, held = plan.registers, plan.a.in_registers
    a_count = A_REGISTERS if held else 1
    a = listed("%#", range(count, count + a_count))
    adds = count + a_count + 1
    immediates, said = (["p"], []) if begins else (["1"], ["d is added to (1)"])
    if plan.accumulator.name != "s32":  # signs for floats, then a transpose bit for 16-bit tiles
        immediates += ["1", "1"]
        said.append("nothing is negated (1, 1)")
    for own in plan.in_shared if plan.a.dtype.bits == 16 else ():
        turned = int(own.major == "mn")
        immediates.append(str(turned))
        said.append(f"{own.name} is {own.major.upper()}-major ({turned})")
    after = f"\n// After the operands: {', '.join(said)}" if said else ""
    slots = {
        "shape": f"{M} x {plan.n} x {plan.a.input.k}",
        "those": f"the 128 threads of a warpgroup{', or d = A B^T where adds is 0' * begins}.{after}".rstrip(
            "."
        ),
        "a": f"const unsigned (&a)[{A_REGISTERS}]" if held else "unsigned long long a",
        "b": "unsigned long long b" + ", int adds" * begins,
        "broken": "\n    " * begins,
        "guard": f'"{{.reg .pred p; setp.ne.b32 p, %{adds}, 0;\\n"' if begins else "",
        "closed": "}" * begins,
        "read": f"{f'{{{a}}}' if held else a}, %{count + a_count}, {', '.join(immediates)}",
        "inputs": ", ".join(
            [*(each('"r"(a[#])', range(a_count)) if held else ['"l"(a)']), '"l"(b)', *['"r"(adds)'] * begins]
        ),
    }
    return multiply(plan, count, slots)


def descriptor_at(letter: str, own: DescribedOperand, start: str) -> str:
    """Return the line that makes an operand's descriptor of the address at which it begins."""
    start = f"({start})" if " " in start else start
    return f"const unsigned long long {letter} = {own.descriptor.value:#018x} + ({start} >> 4);"


def step_of(own: DescribedOperand) -> str:
    """Return the number that step `step` along K adds to a descriptor, in C++.

    >>> from tilewise.codegen.wgmma import planned
    >>> step_of(planned((64, 64, 64), "bf16").b), step_of(planned((64, 64, 128), "bf16").b)
    ('2 * step', 'step / 4 * 512 + step % 4 * 2')
    """
    along = own.along_k
    if len(along) == 1:
        return "0"
    each = own.mode.elements(own.dtype) // own.input.k
    if own.major == "mn" or len(along) <= each:
        found, wanted = f"{along[1]} * step", [along[1] * step for step in range(len(along))]
    else:
        found = f"step / {each} * {along[each]} + step % {each} * {along[1]}"
        wanted = [step // each * along[each] + step % each * along[1] for step in range(len(along))]
    assert list(along) == wanted
    return found
