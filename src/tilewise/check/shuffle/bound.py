"""How few exchanges there can be: what a lane has to get, or to send, at one register an exchange.

received   an exchange brings a lane one register. What it needs and holds nowhere takes so many
sent       a shuffle takes one register of a lane. What it alone holds, and others need, takes so many
gathered   what a lane holds comes from 1 lane at first, and from twice as many after every shuffle: so
           if it needs what is in n others, n + 1 <= 2^shuffles
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.shuffle.transfer import Transfer
from tilewise.hardware.limits import LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Bound:
    """No move has fewer exchanges than `count`, and why: lane `lane` is the witness."""

    count: int
    reason: str
    lane: int | None = None


def bound(table: Transfer, by_shuffles: bool) -> Bound:
    """The largest of the bounds; what a lane gathers counts only where all exchanges are shuffles."""
    size = table.per_register
    received = [_distinct(table.wanted[lane], lane) for lane in range(LANES)]
    found = [_of_received(received, size), _of_sent(table, size)]
    if by_shuffles:
        found.append(_of_gathered(received))
    return max(found, key=lambda own: own.count)


def _distinct(row: Sequence[frozenset[tuple[int, int]]], lane: int) -> set[frozenset[tuple[int, int]]]:
    """What a lane needs and does not hold; what is held by the same is the same."""
    return {sources for sources in row if sources and all(its != lane for its, _ in sources)}


def _of_received(received: Sequence[set[frozenset[tuple[int, int]]]], size: int) -> Bound:
    lane = max(range(LANES), key=lambda own: len(received[own]))
    units = len(received[lane])
    if not units:
        return Bound(0, "every lane holds all that it needs")
    return Bound(-(-units // size), f"lane {lane} needs {_units(units, size)} from other lanes", lane)


def _of_sent(table: Transfer, size: int) -> Bound:
    """What is held by some lanes alone, and needed elsewhere, is sent by them."""
    sent: dict[frozenset[int], set[frozenset[tuple[int, int]]]] = {}
    for lane, _, sources in table.at():
        holders = frozenset(its for its, _ in sources)
        if lane not in holders:
            sent.setdefault(holders, set()).add(sources)
    found = Bound(0, "every lane holds all that it needs")
    for holders, units in sent.items():
        count = -(-len(units) // (size * len(holders)))
        if count > found.count:
            one = len(holders) == 1
            who = f"lane {min(holders)} alone holds" if one else f"lanes {_listed(holders)} alone hold"
            found = Bound(count, f"{who} {_units(len(units), size)} that others need", min(holders))
    return found


def _listed(lanes: frozenset[int]) -> str:
    words = list(map(str, sorted(lanes)))
    return ", ".join(words[:-1]) + f" and {words[-1]}"


def _of_gathered(received: Sequence[set[frozenset[tuple[int, int]]]]) -> Bound:
    """At least the lanes that alone hold something; two where no one lane holds it all."""
    others = [_others([{its for its, _ in own} for own in needed]) for needed in received]
    lane = max(range(LANES), key=lambda own: others[own])
    count = others[lane]
    reason = f"lane {lane} needs what {count} other lanes hold, and a shuffle doubles those it has heard of"
    return Bound(count.bit_length(), reason, lane)


def _others(holders: Sequence[set[int]]) -> int:
    alone = len({min(own) for own in holders if len(own) == 1})
    together = set.intersection(*holders) if holders else set()
    return max(alone, 0 if not holders else 1 if together else 2)


def _units(units: int, size: int) -> str:
    if size == 1:
        return f"{units} register{'s' * (units != 1)}"
    return f"{units} unit{'s' * (units != 1)}, {size} to a register,"
