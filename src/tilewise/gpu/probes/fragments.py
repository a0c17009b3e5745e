"""The instructions whose fragments are asked for: every type, every accumulator, every legal N."""

from __future__ import annotations

from tilewise.gpu.probes.instruction import Instruction
from tilewise.hardware.wgmma.instructions import INPUTS


def instructions() -> list[Instruction]:
    """Every dense wgmma with both operands K-major.

    >>> len(instructions()), len({(i.a, i.b, i.d) for i in instructions()})
    (474, 17)
    """
    return [
        Instruction(a.name, b, d, n)
        for a in INPUTS.values()
        for b in a.partners
        for d in a.accumulators
        for n in a.n
    ]
