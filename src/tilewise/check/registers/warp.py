"""The question of one warp as a table of 32 lanes by positions: the elements that each lane has to get.

A position is an element of one lane, `reg` in the layouts. The table has for every position of every lane the
(lane, position) of the source that hold its element: one, several where the source has copies, no entry where
the target has nothing there. It is the same for all warps; otherwise no single program serves all of them.

Three lower bounds hold for the exchanges of every move, at one register an exchange:

received   an exchange brings a lane one register: one for each that it needs and does not hold
sent       a shuffle takes one register of a lane: one for each that it alone holds and others need
gathered   a lane's registers come from 1 lane at first, and from twice as many after every shuffle: if it
           needs those of n other lanes, n + 1 <= 2^shuffles

Most tables are affine maps over GF(2). A place is packed in one number, lane + 32 position. The lane of the
source is lane' = A lane + B position + a.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewise.core.axes import Axis
from tilewise.core.bits import Basis, combined, independent, rank, sums, through
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.vectors import point
from tilewise.hardware.limits import LANE_BITS, LANES, REGISTER_BITS, THREAD_REGISTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Unit: TypeAlias = tuple[int, int]
    Sources: TypeAlias = frozenset[Unit]
    Place: TypeAlias = tuple[tuple[object, ...], int, int]

WEIGHTS = {
    "laneid": 1,
    "tid_in_wg": 1,
    "tx": 1,
    "wid_in_wg": LANES,
    "warpid": LANES,
    "wgid": 4 * LANES,
}
"""Threads that a step on an axis goes on."""

MOST_THREADS = 1024
"""Threads of a block."""

_LIMITS = {"laneid": LANES, "wid_in_wg": 4, "tid_in_wg": 4 * LANES}

_FURTHER = {
    "laneid": "warpid beside it counts further warps, or tx in its place the threads of a block",
    "wid_in_wg": "wgid beside it counts further warpgroups, or warpid in its place the warps of a block",
    "tid_in_wg": "wgid beside it counts further warpgroups, or tx in its place the threads of a block",
    "reg": "reg counts elements of one thread",
}
"""{an axis: the axis that continues it}."""

MOST_LISTED = 1 << 17
"""The most places of elements and copies that are listed."""


@dataclass(frozen=True, slots=True)
class WarpTable:
    """Units of `bits` bits: `wanted[lane][position]` are the (lane, position) that hold the wanted unit.

    A unit is an element, several small ones that always go together, or a half of a 64-bit one.
    """

    bits: int
    wanted: tuple[tuple[Sources, ...], ...]
    held: int
    """Positions of a lane in the source, from 0 on."""

    @property
    def per_register(self) -> int:
        """Return the units of a 32-bit register."""
        return REGISTER_BITS // self.bits

    @property
    def positions(self) -> int:
        """Return the positions of a lane in the target, from 0 on."""
        return len(self.wanted[0])

    @property
    def registers_held(self) -> int:
        """Return the 32-bit registers of a lane in the source."""
        return -(-self.held // self.per_register)

    @property
    def registers(self) -> int:
        """Return the 32-bit registers of a lane in the target."""
        return -(-self.positions // self.per_register)

    def at(self) -> Iterator[tuple[int, int, Sources]]:
        """Yield (lane, position, sources) wherever an element is wanted."""
        for lane, row in enumerate(self.wanted):
            for position, sources in enumerate(row):
                if sources:
                    yield lane, position, sources

    def coarser(self) -> WarpTable:
        """Return the same in the largest units that always go together, of a register at most."""
        if self.bits == REGISTER_BITS:
            return self
        rows = []
        for row in self.wanted:
            pairs = zip(row[::2], (*row[1::2], frozenset()), strict=False)
            units = [_pair(even, odd) for even, odd in pairs]
            if None in units:
                return self
            rows.append(tuple([unit for unit in units if unit is not None]))
        return WarpTable(2 * self.bits, tuple(rows), -(-self.held // 2)).coarser()


def _pair(even: Sources, odd: Sources) -> Sources | None:
    """Return the units that hold both, in order; None where there is no such unit."""
    low = {(lane, position // 2) for lane, position in even if position % 2 == 0}
    high = {(lane, position // 2) for lane, position in odd if position % 2}
    both = low & high if even and odd else low | high
    return frozenset(both) if both or not (even or odd) else None


def nearest(lane: int, sources: Sources) -> Unit:
    """Return the source that a lane takes: the lane itself, or the one whose number differs in the fewest
    bits.

    >>> nearest(5, frozenset({(4, 0), (6, 0), (13, 2)}))
    (4, 0)
    """
    return min(sources, key=lambda unit: ((unit[0] ^ lane).bit_count(), unit[0] ^ lane, unit[1]))


# -- from two layouts ------------------------------------------------------------------------------


def transfer(source: Layout, target: Layout, dtype: DType) -> WarpTable:
    """Return the table of a move, in units of an element, or of a register where elements are wider.

    requires  one size; both over laneid and reg, and over warps if need be
    refused   TW609 where an element has to go to another warp, where warps have different things to do, or
              where elements are not in registers
    """
    check_width(dtype)
    here, there = places_of(source, dtype, "FROM"), places_of(target, dtype, "TO")
    each = max(1, dtype.bits // REGISTER_BITS)
    found: dict[Unit, Sources] = {}
    for (_, *unit), sources in _by_warp(here, there, source, target).items():
        lane, position = unit
        both = found.setdefault((lane, position), sources) & sources
        if not both:
            raise _not_alike(lane, position, found[lane, position], sources)
        found[lane, position] = both
    last = max(position for _, position in found)
    rows = tuple(
        tuple(
            frozenset((its, each * at + part) for its, at in found.get((lane, position), ()))
            for position in range(last + 1)
            for part in range(each)
        )
        for lane in range(LANES)
    )
    held = 1 + max(position for places in here for _, _, position in places)
    return WarpTable(dtype.bits // each, rows, each * held)


def _by_warp(
    here: list[list[Place]], there: list[list[Place]], source: Layout, target: Layout
) -> dict[Place, Sources]:
    """Return the sources in the same warp for every place of the target."""
    found: dict[Place, Sources] = {}
    for index, (ours, theirs) in enumerate(zip(here, there, strict=True)):
        for place in theirs:
            sources = frozenset((its, at) for warp, its, at in ours if warp == place[0])
            if not sources:
                raise _leaves(source, target, index)
            both = found.setdefault(place, sources) & sources
            if not both:
                raise _two_at_once(target, index, *place[1:])
            found[place] = both
    return found


def places_of(layout: Layout, dtype: DType, side: str) -> list[list[Place]]:
    """Return (warp, lane, position) of all copies of every element."""
    layout = in_elements(layout, dtype, side, MOST_LISTED)
    for axis in layout.axes:
        if axis.storage and axis.name != "reg" and axis.name in layout.moving:
            raise Refused(
                "TW609",
                f"{side} has elements at {axis}, and a warp moves what its registers hold",
                witness={"axis": axis.name},
                hint="relation says what such a move is; match, what loads from shared memory",
            )
    names = [axis.name for axis in layout.axes]
    points = [layout.points(index) for index in range(layout.size)]
    for at, name in enumerate(names):
        if name in ("laneid", "reg"):
            reached = [place[at] for places in points for place in places]
            low, high = min(reached), max(reached)
            if name == "laneid" and not 0 <= low <= high < LANES:
                lane = low if low < 0 else high
                raise LayoutError("TW203", f"{side} has lane {lane}, and a warp has lanes 0 to {LANES - 1}")
            check_reach(name, low, high, side, dtype)
    return [[_place(names, place) for place in places] for places in points]


def _place(names: list[str], place: tuple[int, ...]) -> Place:
    """Return (warp, lane, position) of a place; axes that count no threads are a part of the warp."""
    thread = position = 0
    warp: list[object] = []
    for name, steps in zip(names, place, strict=True):
        if name in WEIGHTS:
            thread += steps * WEIGHTS[name]
        elif name == "reg":
            position = steps
        elif steps:
            warp.append((name, steps))
    return (thread // LANES, *sorted(warp, key=str)), thread % LANES, position


# -- bounds on exchanges ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExchangeBound:
    """The bound: no move has fewer exchanges than `count`; lane `lane` is the witness."""

    count: int
    reason: str
    lane: int | None = None


def bound(table: WarpTable, by_shuffles: bool) -> ExchangeBound:
    """Return the largest bound; the bound on gathering counts only where all exchanges are shuffles."""
    size = table.per_register
    received = [
        {sources for sources in row if sources and all(its != lane for its, _ in sources)}
        for lane, row in enumerate(table.wanted)
    ]
    lane = max(range(LANES), key=lambda lane: len(received[lane]))
    most = len(received[lane])
    if not most:
        return ExchangeBound(0, "every lane holds all that it needs")
    bounds = [
        ExchangeBound(-(-most // size), f"lane {lane} needs {_units(most, size)} from other lanes", lane)
    ]
    sent: dict[frozenset[int], set[Sources]] = {}
    for needed in received:
        for sources in needed:
            sent.setdefault(frozenset(its for its, _ in sources), set()).add(sources)
    for holders, units in sent.items():
        count = -(-len(units) // (size * len(holders)))
        *others, last = map(str, sorted(holders))
        who = f"lanes {', '.join(others)} and {last} alone hold" if others else f"lane {last} alone holds"
        bounds.append(
            ExchangeBound(count, f"{who} {_units(len(units), size)} that others need", min(holders))
        )
    if by_shuffles:
        gathered = [_others([{its for its, _ in sources} for sources in needed]) for needed in received]
        count = max(gathered)
        reason = f"lane {gathered.index(count)} needs what {count} other lanes hold, and a shuffle doubles "
        reason += "those it has heard of"
        bounds.append(ExchangeBound(count.bit_length(), reason, gathered.index(count)))
    return max(bounds, key=lambda bound: bound.count)


def _others(holders: Sequence[set[int]]) -> int:
    """Return the fewest lanes that hold it all: the sole holders of something, or else two."""
    alone = len({min(own) for own in holders if len(own) == 1})
    together = set.intersection(*holders) if holders else set()
    return max(alone, 0 if not holders else 1 if together else 2)


def _units(units: int, size: int) -> str:
    return counted(units, "register") if size == 1 else f"{counted(units, 'unit')}, {size} to a register,"


# -- the affine map --------------------------------------------------------------------------------


LANE = LANES - 1
"""The bits of a packed place that hold the lane."""


@dataclass(frozen=True)
class LabelMap:
    """label(thread, position) = origin XOR the columns of the bits of both.

    >>> swap = LabelMap(0, positions=(1,), threads=(32, 2, 4, 8, 16))
    >>> swap.label(1, 0), swap.label(0, 1), swap.label(1, 1), swap.crossing
    (32, 1, 33, 1)
    """

    origin: int
    positions: tuple[int, ...]
    threads: tuple[int, ...]

    @classmethod
    def of_lanes(cls, columns: Sequence[int], origin: int = 0) -> LabelMap:
        """Return the map of one warp by the columns of a packed place: those of the lane, then the others."""
        return cls(origin, tuple(columns[LANE_BITS:]), tuple(columns[:LANE_BITS]))

    @property
    def lanes(self) -> tuple[int, ...]:
        """Return the columns of the bits of the lane."""
        return self.threads[:LANE_BITS]

    @property
    def warps(self) -> tuple[int, ...]:
        """Return the columns of the bits of the warp."""
        return self.threads[LANE_BITS:]

    @property
    def columns(self) -> tuple[int, ...]:
        """Return the columns of positions, then those of threads."""
        return (*self.positions, *self.threads)

    @property
    def crossing(self) -> int:
        """Return the rank of B: the number of bits of the source's lane that come from the position."""
        return rank(column & LANE for column in self.positions)

    @property
    def one_to_one(self) -> bool:
        """Return True if no two places of the target come from one place of the source."""
        return rank(self.columns) == len(self.columns)

    @property
    def settled(self) -> int:
        """Return the number of bits of a packed place that the map leaves unchanged."""
        return sum(column == 1 << bit for bit, column in enumerate((*self.threads, *self.positions)))

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        return sums(self.threads), sums(self.positions, self.origin)

    def label(self, thread: int, position: int) -> int:
        """Return the place in the source of the unit wanted in a position of a thread."""
        threads, positions = self._sums
        return threads[thread] ^ positions[position]

    def through(self, columns: Sequence[int]) -> LabelMap:
        """Return the map with a linear map of the labels after it."""
        origin, *own = (combined(columns, label) for label in (self.origin, *self.columns))
        bits = len(self.positions)
        return LabelMap(origin, tuple(own[:bits]), tuple(own[bits:]))


def predicted(found: LabelMap, per_register: int) -> int:
    """Return the rounds of shuffles that a map takes, each straight from the lane that has the elements.

    A plan may take more: where the match of lanes to their sources is not one to one, some sources are read
    in several rounds.
    """
    distinct, lanes = rank(found.positions), Basis(column & LANE for column in found.positions)
    rounds = distinct - min(per_register.bit_length() - 1, distinct - len(lanes))
    own = (column & LANE ^ 1 << bit for bit, column in enumerate(found.threads))
    if all(column in lanes for column in (found.origin & LANE, *own)):
        return (1 << rounds) - (1 << rounds - len(lanes))
    read, needed = rank(column & LANE for column in found.columns), rank(found.columns) - distinct
    return 1 << rounds + max(0, needed - read)


def fitted(table: WarpTable) -> LabelMap | None:
    """Return the affine map that matches the whole table, or None where no such map does.

    Where every element has as many copies, on one space for all, any affine function can choose the copy. The
    chosen one makes the fewest rounds. Elsewhere the nearest copy is taken.
    """
    wanted = {lane | at << LANE_BITS: sources for lane, at, sources in table.at()}
    copies = _copies(list(wanted.values()))
    if copies is None:
        places = {x: _packed(nearest(x & LANE, sources)) for x, sources in wanted.items()}
    else:
        space = Basis(map(_lane_first, copies))
        places = {x: _lane_last(space.rest(_lane_first(_packed(min(own))))) for x, own in wanted.items()}
    bits = max(table.positions - 1, 0).bit_length() + LANE_BITS
    first = next(iter(places.values()))
    stay = [(1 << bit, first ^ (1 << bit & LANE)) for bit in range(bits)]
    found = through(places.items(), bits, [*stay, (0, first)])
    if found is None:
        return None
    side = LabelMap.of_lanes(found.flips, found.origin[0])
    steps = [step for step in copies or () if step & LANE]
    return _cheapest_copies(side, steps, table.per_register) if steps else side


def _packed(unit: tuple[int, int]) -> int:
    return unit[0] | unit[1] << LANE_BITS


_POSITION_BITS = 20


def _lane_first(place: int) -> int:
    """Return a place with the bits of its lane on top, so that these are cleared first."""
    return (place & LANE) << _POSITION_BITS | place >> LANE_BITS


def _lane_last(lane_first: int) -> int:
    return lane_first >> _POSITION_BITS | (lane_first & (1 << _POSITION_BITS) - 1) << LANE_BITS


def _copies(wanted: list[frozenset[tuple[int, int]]]) -> list[int] | None:
    """Return a basis of the differences between copies of an element; None where elements differ in them."""
    alike = {frozenset(_packed(own) ^ _packed(min(sources)) for own in sources) for sources in wanted}
    steps = alike.pop() if len(alike) == 1 else frozenset()
    found = independent(sorted(steps, key=lambda step: (step.bit_count(), step)))
    return found if len(steps) == 1 << len(found) else None


def _cheapest_copies(found: LabelMap, steps: list[int], per_register: int) -> LabelMap:
    """Return the map with the copies that make the fewest rounds; among them as much in place as can be.

    Each trial takes another copy for all places in which one bit is set.
    """

    def merit(side: LabelMap) -> tuple[int, int]:
        return predicted(side, per_register), -side.settled

    for step in steps:
        others = [found]
        for bit in range(len(found.columns)):
            flips = [c ^ step * (at == bit) for at, c in enumerate((*found.threads, *found.positions))]
            others.append(LabelMap.of_lanes(flips, found.origin))
        found = min(others, key=merit)
    return found


# -- refusals --------------------------------------------------------------------------------------


def check_width(dtype: DType) -> None:
    """Refuse elements that are no whole registers, and of which no whole number fills one."""
    if REGISTER_BITS % dtype.bits and dtype.bits % REGISTER_BITS:
        raise LayoutError(
            "TW106",
            f"{dtype} has {dtype.bits} bits, and a register of {REGISTER_BITS} holds no whole number of them",
            hint="in registers such elements stand in containers of 8 bits: take b8",
        )


def in_elements(layout: Layout, dtype: DType, side: str, most: int) -> Layout:
    """Return a layout that counts elements; refuse one of more places than can be listed."""
    if layout.unit != "element":
        layout = layout.in_elements(dtype)
    places = layout.size * len(layout.copy_steps)
    if places > most:
        raise LayoutError(
            "TW301",
            f"{side} has {places} places, and {most} are listed at most",
            hint="ask about one warp, or about a part of the tensor",
        )
    return layout


def check_reach(name: str, low: int, high: int, side: str, dtype: DType) -> None:
    """Refuse threads, lanes and registers that do not exist."""
    of_reg = THREAD_REGISTERS * REGISTER_BITS // dtype.bits
    most = of_reg if name == "reg" else _LIMITS.get(name, MOST_THREADS)
    if low < 0 or high >= most:
        raise LayoutError(
            "TW203",
            f"{side} has an element at {low if low < 0 else high}@{name}, and {name} is 0 to {most - 1}",
            hint="places count from 0"
            if low < 0
            else _FURTHER.get(name, f"a block has {MOST_THREADS} threads at most"),
        )


def _leaves(source: Layout, target: Layout, index: int) -> Refused:
    element = target.coordinates(index)
    place, belongs = (point(layout.axes, layout.points(index)[0]) for layout in (source, target))
    return Refused(
        "TW609",
        f"element {element} is at {place} and belongs to {belongs}: it changes its warp",
        witness={"index": element, "from": place, "to": belongs},
        hint="warps exchange elements through shared memory: relation counts them",
    )


_AXES = Axis("laneid"), Axis("reg")


def _two_at_once(target: Layout, index: int, lane: int, position: int) -> Refused:
    element, place = target.coordinates(index), point(_AXES, (lane, position))
    return Refused(
        "TW505",
        f"TO has two elements at {place}, {element} and another",
        witness={"index": element, "place": place},
        hint="in TO no two elements that differ share a place: stride 0 in FROM alone",
    )


def _not_alike(lane: int, position: int, one: Sources, other: Sources) -> Refused:
    to, first, second = (point(_AXES, place) for place in ((lane, position), min(one), min(other)))
    return Refused(
        "TW609",
        f"warps have different things to do: at {to} one needs what is at {first}, another what is at "
        f"{second}",
        witness={"to": to, "from": [first, second]},
        hint="ask about one warp at a time, and branch on the warp",
    )
