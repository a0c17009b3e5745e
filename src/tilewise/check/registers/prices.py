"""How few exchanges a move can have, and what its steps cost a multiprocessor.

No move has fewer exchanges than what a lane has to get, or to send, at one register an exchange:

received   an exchange brings a lane one register. What it needs and holds nowhere takes so many
sent       a shuffle takes one register of a lane. What it alone holds, and others need, takes so many
gathered   what a lane holds comes from 1 lane at first, and from twice as many after every shuffle: so
           if it needs what is in n others, n + 1 <= 2^shuffles

Costs are cycles for one warp, where many run and nothing but throughput counts. A multiprocessor of Hopper
has 32 lanes for what goes from lane to lane or to shared memory, and 64 for selects, byte permutes and
shifts; the two work at once, so a plan takes as long as the busier of them. An H200 took that, and a cycle
or three more.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.registers.steps import Program
from tilewise.check.registers.warp import Transfer, nearest
from tilewise.core.integers import counted
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.check.registers.warp import Sources

STEP = 0.5
"""Cycles of a step that a lane does alone."""

EXCHANGE = 1.0
"""Cycles of a shuffle, a movmatrix or a vote."""

ACCESS = 1.0
"""Cycles of a load or a store of shared memory, where no two lanes want one bank."""

_BYTE = 8


@dataclass(frozen=True, slots=True)
class Bound:
    """No move has fewer exchanges than `count`, and why: lane `lane` is the witness."""

    count: int
    reason: str
    lane: int | None = None


def bound(table: Transfer, by_shuffles: bool) -> Bound:
    """Return the largest bound; what a lane gathers counts only where all exchanges are shuffles."""
    size = table.per_register
    received = [
        {sources for sources in row if sources and all(its != lane for its, _ in sources)}
        for lane, row in enumerate(table.wanted)
    ]
    lane = max(range(LANES), key=lambda lane: len(received[lane]))
    most = len(received[lane])
    if not most:
        return Bound(0, "every lane holds all that it needs")
    bounds = [Bound(-(-most // size), f"lane {lane} needs {_units(most, size)} from other lanes", lane)]
    sent: dict[frozenset[int], set[Sources]] = {}
    for needed in received:
        for sources in needed:
            sent.setdefault(frozenset(its for its, _ in sources), set()).add(sources)
    for holders, units in sent.items():
        count = -(-len(units) // (size * len(holders)))
        *others, last = map(str, sorted(holders))
        who = f"lanes {', '.join(others)} and {last} alone hold" if others else f"lane {last} alone holds"
        bounds.append(Bound(count, f"{who} {_units(len(units), size)} that others need", min(holders)))
    if by_shuffles:
        gathered = [_others([{its for its, _ in sources} for sources in needed]) for needed in received]
        count = max(gathered)
        reason = f"lane {gathered.index(count)} needs what {count} other lanes hold, and a shuffle doubles "
        reason += "those it has heard of"
        bounds.append(Bound(count.bit_length(), reason, gathered.index(count)))
    return max(bounds, key=lambda bound: bound.count)


def _others(holders: Sequence[set[int]]) -> int:
    """Return the fewest lanes that hold it all: those that alone hold something, or two where no one does."""
    alone = len({min(own) for own in holders if len(own) == 1})
    together = set.intersection(*holders) if holders else set()
    return max(alone, 0 if not holders else 1 if together else 2)


def _units(units: int, size: int) -> str:
    return counted(units, "register") if size == 1 else f"{counted(units, 'unit')}, {size} to a register,"


# -- cycles ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByMemory:
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
    """Return the cycles of a multiprocessor for one warp.

    >>> from tilewise.check.registers.steps import Step
    >>> cycles(Program(1, (Step("shfl", (0,), (0,) * 32), *[Step("rotate", (1,), (8,) * 32)] * 6), (1,)))
    3.0
    """
    others = len(program.steps) - program.exchanges
    return max(EXCHANGE * program.exchanges, STEP * others)


def through_shared(table: Transfer) -> ByMemory:
    """Return the stores and loads that make a transfer."""
    size = table.per_register
    loads = steps = 0
    for first in range(0, table.positions, size):
        parts = max(
            len({(its, at // size) for its, at in _taken(lane, row[first : first + size])})
            for lane, row in enumerate(table.wanted)
        )
        loads += parts
        steps += max(0, parts - 1) if table.bits >= _BYTE else 2 * size
    return ByMemory(table.registers_held, loads, steps)


def _taken(lane: int, row: Sequence[Sources]) -> list[tuple[int, int]]:
    return [nearest(lane, sources) for sources in row if sources]
