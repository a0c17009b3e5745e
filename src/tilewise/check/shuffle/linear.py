"""A transfer as an affine map over GF(2): from (lane, position) of the target to those of the source.

A place is packed in one number, lane + 32 position, and so are the bits that say it. With A and B what the
bits of the lane and of the position do to the lane of the source, lane' = A lane + B position + a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import xor

from tilewise.check.shuffle.transfer import Transfer
from tilewise.core.bits import Basis
from tilewise.hardware.limits import LANE_BITS, LANES

LANE = LANES - 1
"""The bits of a packed place that say the lane."""


@dataclass(frozen=True)
class Linear:
    """place(x) = origin XOR the columns of the bits of x; x and the place are lane + 32 position.

    >>> swap = Linear(0, (32, 2, 4, 8, 16, 1))
    >>> swap(1), swap(32), swap(33), swap.bits
    (32, 1, 33, 1)
    """

    origin: int
    columns: tuple[int, ...]

    def __call__(self, place: int) -> int:
        return self.places[place]

    @cached_property
    def places(self) -> list[int]:
        """place(x) for every x."""
        found = [self.origin]
        for column in self.columns:
            found += [place ^ column for place in found]
        return found

    def step(self, bits: int) -> int:
        """What flipping bits of the target flips in the source."""
        return reduce(xor, (column for i, column in enumerate(self.columns) if bits >> i & 1), 0)

    @property
    def bits(self) -> int:
        """Bits of a position of the target."""
        return len(self.columns) - LANE_BITS

    @property
    def of_lane(self) -> tuple[int, ...]:
        """The columns of the bits of the lane."""
        return self.columns[:LANE_BITS]

    @property
    def of_position(self) -> tuple[int, ...]:
        """The columns of the bits of the position."""
        return self.columns[LANE_BITS:]

    @property
    def crossing(self) -> int:
        """The rank of B: how many bits of the source's lane come from the position."""
        return len(Basis(column & LANE for column in self.of_position))


def kernel(columns: list[int]) -> list[int]:
    """A basis of the combinations of columns that XOR to 0, as bits.

    >>> kernel([1, 2, 3])
    [7]
    """
    basis, found = Basis(), []
    for i, column in enumerate(columns):
        combination = basis.combination(column)
        basis.add(column)
        if combination is not None:
            found.append(combination ^ 1 << i)
    return found


def combined(vectors: list[int], chosen: int) -> int:
    """The XOR of the vectors whose bits are set."""
    return reduce(xor, (vector for i, vector in enumerate(vectors) if chosen >> i & 1), 0)


def predicted(found: Linear, per_register: int) -> int:
    """How many rounds of shuffles a map takes, each straight from the lane that has it; more where lanes vie.

    Where lanes cannot be matched one to one to those that have what they need, some of these have to be read
    in several rounds.
    """
    distinct, lanes = Basis(found.of_position), Basis(column & LANE for column in found.of_position)
    together = min(per_register.bit_length() - 1, len(distinct) - len(lanes))
    rounds = len(distinct) - together
    own = (column & LANE ^ 1 << bit for bit, column in enumerate(found.of_lane))
    if all(column in lanes for column in (found.origin & LANE, *own)):
        return (1 << rounds) - (1 << rounds - len(lanes))
    read, needed = Basis(column & LANE for column in found.columns), len(Basis(found.columns)) - len(distinct)
    return 1 << rounds + max(0, needed - len(read))


# -- from a transfer -------------------------------------------------------------------------------


def linear(table: Transfer) -> Linear | None:
    """The transfer as an affine map, where it is one wherever something is wanted; else None.

    Where every element has as many copies, on a space that is the same for all, any affine function says
    which copy is taken: one that makes the fewest rounds is. Elsewhere it is the nearest.
    """
    bits = max(table.positions - 1, 0).bit_length() + LANE_BITS
    wanted = {lane | at << LANE_BITS: sources for lane, at, sources in table.at()}
    copies = _copies(list(wanted.values()))
    if copies is None:
        return _fitted({x: _packed(nearest(x & LANE, own)) for x, own in wanted.items()}, bits)
    spaces = Basis(_lane_first(step) for step in copies)
    places = {x: _place(spaces.rest(_lane_first(_packed(min(own))))) for x, own in wanted.items()}
    found = _fitted(places, bits)
    steps = [step for step in copies if step & LANE]
    return found if found is None or not steps else _cheapest_copies(found, steps, table.per_register)


def _packed(unit: tuple[int, int]) -> int:
    return unit[0] | unit[1] << LANE_BITS


def _lane_first(place: int) -> int:
    """A place with the bits of its lane on top, so that they are cleared first."""
    return (place & LANE) << _POSITION_BITS | place >> LANE_BITS


def _place(lane_first: int) -> int:
    return lane_first >> _POSITION_BITS | (lane_first & (1 << _POSITION_BITS) - 1) << LANE_BITS


_POSITION_BITS = 20


def _copies(wanted: list[frozenset[tuple[int, int]]]) -> list[int] | None:
    """A basis of how the copies of every element differ; None where they do not differ alike."""
    alike = {frozenset(_packed(own) ^ _packed(min(sources)) for own in sources) for sources in wanted}
    steps = alike.pop() if len(alike) == 1 else frozenset()
    basis, found = Basis(), list[int]()
    for step in sorted(steps, key=lambda step: (step.bit_count(), step)):
        if basis.add_new(step):
            found.append(step)
    return found if len(steps) == 1 << len(found) else None


def _fitted(places: dict[int, int], bits: int) -> Linear | None:
    """The affine map through what is known; a bit of the lane of which nothing is known stays what it is."""
    basis, values = Basis(), list[int]()
    for x, place in places.items():
        if basis.add_new(1 | x << 1):
            values.append(place)
    for bit in range(bits):
        if basis.add_new(1 | 1 << bit + 1):
            values.append((values[0] if values else 0) ^ (1 << bit & LANE))
    if basis.add_new(1):
        values.append(values[0])
    at = [
        combined(values, basis.combination(1 | x << 1) or 0) for x in (0, *(1 << bit for bit in range(bits)))
    ]
    found = Linear(at[0], tuple(place ^ at[0] for place in at[1:]))
    return found if all(found(x) == place for x, place in places.items()) else None


def _cheapest_copies(found: Linear, steps: list[int], per_register: int) -> Linear:
    """The map with the copies that make the fewest rounds; among them as much in place as can be."""

    def merit(own: Linear) -> tuple[int, int]:
        settled = sum(column == 1 << bit for bit, column in enumerate(own.columns))
        return predicted(own, per_register), -settled

    for _ in range(2):
        for step in steps:
            others = (
                _with_copy(found, step, bit, start)
                for bit in range(-1, len(found.columns))
                for start in (0, 1)
            )
            found = min((found, *others), key=merit)
    return found


def _with_copy(found: Linear, step: int, bit: int, start: int) -> Linear:
    """The map with another copy for a half of all x, that in which a bit is set, or for the other half."""
    columns = tuple(column ^ (step if own == bit else 0) for own, column in enumerate(found.columns))
    return Linear(found.origin ^ (step if start else 0), columns)


def nearest(lane: int, sources: frozenset[tuple[int, int]]) -> tuple[int, int]:
    """The source that a lane takes: its own, or the one whose number differs in the fewest bits.

    >>> nearest(5, frozenset({(4, 0), (6, 0), (13, 2)}))
    (4, 0)
    """
    return min(sources, key=lambda unit: ((unit[0] ^ lane).bit_count(), unit[0] ^ lane, unit[1]))
