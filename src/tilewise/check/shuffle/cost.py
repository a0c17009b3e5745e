"""What a plan costs a multiprocessor, and what the same move through shared memory would.

In cycles for one warp, where many run and nothing but throughput counts. A multiprocessor of Hopper has 32
lanes for what goes from lane to lane or to shared memory, and 64 for selects, byte permutes and shifts; the
two work at once, so a plan takes as long as the busier of them. An H200 took that, and a cycle or three more.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.shuffle.linear import nearest
from tilewise.check.shuffle.steps import Program
from tilewise.check.shuffle.transfer import Transfer
from tilewise.hardware.limits import LANES

STEP = 0.5
"""Cycles of a step that a lane does alone."""

EXCHANGE = 1.0
"""Cycles of a shuffle, a movmatrix or a vote."""

ACCESS = 1.0
"""Cycles of a load or a store of shared memory, where no two lanes want one bank."""

_BYTE = 8


@dataclass(frozen=True, slots=True)
class Shared:
    """The same move through shared memory: every register is stored, and loaded in pieces."""

    stores: int
    loads: int
    """Of registers, or of the parts that one lane has of one: several make a register."""
    steps: int
    """What puts the parts together."""

    @property
    def cycles(self) -> float:
        """Cycles of a multiprocessor for one warp."""
        return max(ACCESS * (self.stores + self.loads), STEP * self.steps)


def cycles(program: Program) -> float:
    """Cycles of a multiprocessor for one warp.

    >>> from tilewise.check.shuffle.steps import Step
    >>> cycles(Program(1, (Step("shfl", (0,), (0,) * 32), *[Step("rotate", (1,), (8,) * 32)] * 6), (1,)))
    3.0
    """
    others = len(program.steps) - program.exchanges
    return max(EXCHANGE * program.exchanges, STEP * others)


def through_shared(table: Transfer) -> Shared:
    """The stores and loads that make a transfer."""
    size = table.per_register
    loads = steps = 0
    for register in range(table.registers):
        parts = max(
            _parts(table, lane, range(register * size, (register + 1) * size)) for lane in range(LANES)
        )
        loads += parts
        steps += max(0, parts - 1) if table.bits >= _BYTE else 2 * size
    return Shared(table.registers_held, loads, steps)


def _parts(table: Transfer, lane: int, positions: range) -> int:
    """How many registers of other lanes one register of a lane is made of."""
    row = table.wanted[lane]
    taken = [nearest(lane, row[at]) for at in positions if at < len(row) and row[at]]
    return len({(its, at // table.per_register) for its, at in taken})
