"""Affine maps over GF(2) from threads and positions of the target to places of the source.

In a warp a place is packed in one number, lane + 32 position. With A and B what the bits of the lane and of
the position do to the lane of the source, lane' = A lane + B position + a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilewise.check.registers.warp import Transfer, nearest
from tilewise.core.bits import Basis, combined, independent, rank, sums, through
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LANE = LANES - 1
"""The bits of a packed place that say the lane."""


@dataclass(frozen=True)
class Side:
    """label(thread, position) = origin XOR the columns of the bits of both.

    >>> swap = Side(0, positions=(1,), threads=(32, 2, 4, 8, 16))
    >>> swap.label(1, 0), swap.label(0, 1), swap.label(1, 1), swap.crossing
    (32, 1, 33, 1)
    """

    origin: int
    positions: tuple[int, ...]
    threads: tuple[int, ...]

    @property
    def lanes(self) -> tuple[int, ...]:
        """The columns of the bits of the lane."""
        return self.threads[:LANE_BITS]

    @property
    def warps(self) -> tuple[int, ...]:
        """The columns of the bits of the warp."""
        return self.threads[LANE_BITS:]

    @property
    def columns(self) -> tuple[int, ...]:
        """Those of positions, then those of threads."""
        return (*self.positions, *self.threads)

    @property
    def crossing(self) -> int:
        """The rank of B: how many bits of the source's lane come from the position."""
        return rank(column & LANE for column in self.positions)

    @property
    def one_to_one(self) -> bool:
        """Whether no two places of the target are made of one of the source."""
        return rank(self.columns) == len(self.columns)

    @property
    def settled(self) -> int:
        """How many bits of a packed place stay what they are."""
        return sum(column == 1 << bit for bit, column in enumerate((*self.threads, *self.positions)))

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        return sums(self.threads), sums(self.positions, self.origin)

    def label(self, thread: int, position: int) -> int:
        """Return the place of the source of what is wanted in a position of a thread."""
        threads, positions = self._sums
        return threads[thread] ^ positions[position]

    def through(self, columns: Sequence[int]) -> Side:
        """Return the map with a linear map of the labels after it."""
        origin, *own = (combined(columns, label) for label in (self.origin, *self.columns))
        bits = len(self.positions)
        return Side(origin, tuple(own[:bits]), tuple(own[bits:]))


def predicted(found: Side, per_register: int) -> int:
    """Return how many rounds of shuffles a map takes, each straight from the lane that has it.

    Where lanes cannot be matched one to one to those that have what they need, some of these have to be read
    in several rounds: then it may be more.
    """
    distinct, lanes = rank(found.positions), Basis(column & LANE for column in found.positions)
    rounds = distinct - min(per_register.bit_length() - 1, distinct - len(lanes))
    own = (column & LANE ^ 1 << bit for bit, column in enumerate(found.threads))
    if all(column in lanes for column in (found.origin & LANE, *own)):
        return (1 << rounds) - (1 << rounds - len(lanes))
    read, needed = rank(column & LANE for column in found.columns), rank(found.columns) - distinct
    return 1 << rounds + max(0, needed - read)


def fitted(table: Transfer) -> Side | None:
    """Return the affine map that says all that is wanted, or None where no such map does.

    Where every element has as many copies, on a space that is the same for all, any affine function says
    which copy is taken: one that makes the fewest rounds is. Elsewhere it is the nearest.
    """
    wanted = {lane | at << LANE_BITS: sources for lane, at, sources in table.at()}
    copies = _copies(list(wanted.values()))
    if copies is None:
        places = {x: _packed(nearest(x & LANE, sources)) for x, sources in wanted.items()}
    else:
        space = Basis(map(_lane_first, copies))
        places = {x: _place(space.rest(_lane_first(_packed(min(own))))) for x, own in wanted.items()}
    bits = max(table.positions - 1, 0).bit_length() + LANE_BITS
    first = next(iter(places.values()))
    stay = [(1 << bit, first ^ (1 << bit & LANE)) for bit in range(bits)]
    found = through(places.items(), bits, [*stay, (0, first)])
    if found is None:
        return None
    side = Side(found.origin[0], found.flips[LANE_BITS:], found.flips[:LANE_BITS])
    steps = [step for step in copies or () if step & LANE]
    return _cheapest_copies(side, steps, table.per_register) if steps else side


def _packed(unit: tuple[int, int]) -> int:
    return unit[0] | unit[1] << LANE_BITS


_POSITION_BITS = 20


def _lane_first(place: int) -> int:
    """Return a place with the bits of its lane on top, so that they are cleared first."""
    return (place & LANE) << _POSITION_BITS | place >> LANE_BITS


def _place(lane_first: int) -> int:
    return lane_first >> _POSITION_BITS | (lane_first & (1 << _POSITION_BITS) - 1) << LANE_BITS


def _copies(wanted: list[frozenset[tuple[int, int]]]) -> list[int] | None:
    """Return a basis of how the copies of every element differ; None where they do not differ alike."""
    alike = {frozenset(_packed(own) ^ _packed(min(sources)) for own in sources) for sources in wanted}
    steps = alike.pop() if len(alike) == 1 else frozenset()
    found = independent(sorted(steps, key=lambda step: (step.bit_count(), step)))
    return found if len(steps) == 1 << len(found) else None


def _cheapest_copies(found: Side, steps: list[int], per_register: int) -> Side:
    """Return the map with the copies that make the fewest rounds; among them as much in place as can be.

    Tried is another copy for all places, and for those in which one bit is set, or is not.
    """

    def merit(side: Side) -> tuple[int, int]:
        return predicted(side, per_register), -side.settled

    for _ in range(2):
        for step in steps:
            others = [found]
            for bit in range(-1, len(found.columns)):
                flips = [c ^ step * (at == bit) for at, c in enumerate((*found.threads, *found.positions))]
                for origin in (found.origin, found.origin ^ step):
                    others.append(Side(origin, tuple(flips[LANE_BITS:]), tuple(flips[:LANE_BITS])))
            found = min(others, key=merit)
    return found
