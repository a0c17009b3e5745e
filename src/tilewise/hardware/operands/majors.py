"""The words of an operand: which one it is, and which of its directions is contiguous."""

from __future__ import annotations

from tilewise.core.errors import LayoutError

MAJORS = ("k", "mn")
OPERANDS = ("A", "B")


def check_major_word(major: str) -> str:
    """`major`, which is k or mn."""
    if major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: " + " ".join(MAJORS))
    return major


def check_operand(operand: str) -> str:
    """`operand`, which is A or B."""
    if operand not in OPERANDS:
        known = "known: " + " ".join(OPERANDS)
        of_d = '; D is in registers or in tensor memory: engine="mma" stores a tile of it, tmem loads it'
        hint = known + of_d * (operand in ("C", "D"))
        raise LayoutError("TW601", f"{operand!r} is no operand in shared memory", hint=hint)
    return operand
