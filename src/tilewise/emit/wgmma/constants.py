"""Bare constants, for a kernel that exists: descriptors, what each step adds, and the asm statement."""

from __future__ import annotations

from tilewise.emit.wgmma.chain import multiply
from tilewise.emit.wgmma.kernel import facts
from tilewise.emit.wgmma.operands import Operand
from tilewise.emit.wgmma.plan import Plan


def constants_source(plan: Plan) -> str:
    """The constants as C++.

    >>> from tilewise.emit.wgmma.plan import planned
    >>> text = constants_source(planned((64, 64, 64), "bf16"))
    >>> "constexpr unsigned B_STEP[] = {0, 2, 4, 6};" in text
    True
    """
    lines = [f"// {plan.instruction}", "//", *(f"// {line}" for line in facts(plan)), ""]
    for own in plan.in_shared:
        lines += [*_of(own), ""]
    return "\n".join([*lines, multiply(plan)])


def _of(own: Operand) -> list[str]:
    descriptor = own.descriptor
    ignored = " (ignored)" if own.major == "k" and own.mode.bits else ""
    lines = [
        f"// {own.name}: lbo {descriptor.lbo}{ignored}, sbo {descriptor.sbo} bytes, mode {own.mode}. "
        f"The tile begins at a multiple of {own.mode.period} bytes.",
        f"// The descriptor of step k is constant + (address >> 4) + {own.name}_STEP[k], of 16 bytes each.",
        f"constexpr unsigned long long {own.name}_DESCRIPTOR = {descriptor.value:#018x};",
        f"constexpr unsigned {own.name}_STEP[] = {{{', '.join(map(str, own.along_k))}}};",
    ]
    if len(own.along_rows) > 1:
        lines += [
            "// What each 64 rows add to that.",
            f"constexpr unsigned {own.name}_ROWS[] = {{{', '.join(map(str, own.along_rows))}}};",
        ]
    return lines
