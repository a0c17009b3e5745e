"""movmatrix: an 8 x 8 matrix of 16-bit elements transposed inside a warp, from one register to another."""

from __future__ import annotations

from tilewise.core.layout import Layout
from tilewise.hardware.architectures import Needs
from tilewise.hardware.matrices.forms import LANE, REG

NEEDS = Needs(75)
"""The architectures that have movmatrix."""
OPCODE = "movmatrix.sync.aligned.m8n8.trans.b16"
PTX = f"{OPCODE} d, a;"
"""The instruction, from register a of every lane to register d."""

BEFORE = Layout((8, (4, 2)), (4 @ LANE, 1 @ LANE, 1 @ REG))
"""The place of element [r, c] of the matrix before, in a: as an ldmatrix gives it."""
AFTER = Layout(((4, 2), 8), (1 @ LANE, 1 @ REG, 4 @ LANE))
"""The place of element [r, c] of the same matrix after, in d: as ldmatrix.trans gives it."""

COMES_FROM = Layout(((4, 2, 4), 2), (1 @ LANE, 1 @ REG, 8 @ LANE, 4 @ LANE))
"""The lane and the half of a that [lane, half] of d comes from.

Lane 4 g + t of d holds elements 2 t and 2 t + 1 of column g. They were in lanes 8 t + g // 2 and
4 further, both in half g % 2.
"""


def comes_from(lane: int, half: int) -> tuple[int, int]:
    """Return the lane and the half of a that a half of d comes from.

    >>> comes_from(lane=5, half=1)
    (12, 1)
    >>> print(COMES_FROM.place(5, 1))
    12@laneid + 1@reg
    """
    steps = COMES_FROM.place(lane, half).as_dict()
    return steps["laneid"], steps["reg"]
