"""The question of one warp: what each of its lanes has to get, as a table of 32 lanes by positions.

A position is an element of one lane, `reg` in the layouts. The table says for every position of every lane
which (lane, position) of the source hold its element: one, several where the source has copies, none where
the target has nothing there. It is the same for all warps, or there is no one program that all of them run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import point
from tilewise.hardware.limits import LANES, REGISTER_BITS, THREAD_REGISTERS

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
"""{an axis: what goes on where it ends}."""

MOST_LISTED = 1 << 17
"""Places of all elements and copies that are listed."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Units of `bits` bits: `wanted[lane][position]` are the (lane, position) that hold what belongs there.

    A unit is an element, or what always goes together: several small ones, or a half of a 64-bit one.
    """

    bits: int
    wanted: tuple[tuple[Sources, ...], ...]
    held: int
    """Positions of a lane in the source, from 0 on."""

    @property
    def per_register(self) -> int:
        """Units of a 32-bit register."""
        return REGISTER_BITS // self.bits

    @property
    def positions(self) -> int:
        """Positions of a lane in the target, from 0 on."""
        return len(self.wanted[0])

    @property
    def registers_held(self) -> int:
        """32-bit registers of a lane in the source."""
        return -(-self.held // self.per_register)

    @property
    def registers(self) -> int:
        """32-bit registers of a lane in the target."""
        return -(-self.positions // self.per_register)

    def at(self) -> Iterator[tuple[int, int, Sources]]:
        """Yield (lane, position, sources) wherever something belongs."""
        for lane, row in enumerate(self.wanted):
            for position, sources in enumerate(row):
                if sources:
                    yield lane, position, sources

    def coarser(self) -> Transfer:
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
        return Transfer(2 * self.bits, tuple(rows), -(-self.held // 2)).coarser()


def _pair(even: Sources, odd: Sources) -> Sources | None:
    """Return the units that hold both, in order; None where no unit does."""
    low = {(lane, position // 2) for lane, position in even if position % 2 == 0}
    high = {(lane, position // 2) for lane, position in odd if position % 2}
    both = low & high if even and odd else low | high
    return frozenset(both) if both or not (even or odd) else None


def nearest(lane: int, sources: Sources) -> Unit:
    """Return the source that a lane takes: its own, or the one whose number differs in the fewest bits.

    >>> nearest(5, frozenset({(4, 0), (6, 0), (13, 2)}))
    (4, 0)
    """
    return min(sources, key=lambda unit: ((unit[0] ^ lane).bit_count(), unit[0] ^ lane, unit[1]))


# -- from two layouts ------------------------------------------------------------------------------


def transfer(source: Layout, target: Layout, dtype: DType) -> Transfer:
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
    return Transfer(dtype.bits // each, rows, each * held)


def _by_warp(
    here: list[list[Place]], there: list[list[Place]], source: Layout, target: Layout
) -> dict[Place, Sources]:
    """Return the sources in its own warp for every place of the target."""
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
        low, high = layout.extremes(axis) if axis.name in ("laneid", "reg") else (0, 0)
        if axis.name == "laneid" and not 0 <= low <= high < LANES:
            lane = low if low < 0 else high
            raise LayoutError("TW203", f"{side} has lane {lane}, and a warp has lanes 0 to {LANES - 1}")
        check_reach(axis.name, low, high, side, dtype)
    names = [axis.name for axis in layout.axes]
    return [[_place(names, place) for place in layout.points(index)] for index in range(layout.size)]


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


# -- refusals --------------------------------------------------------------------------------------


def check_width(dtype: DType) -> None:
    """Refuse elements of which a register holds no whole number, and that are no whole registers."""
    if REGISTER_BITS % dtype.bits and dtype.bits % REGISTER_BITS:
        raise LayoutError(
            "TW106",
            f"{dtype} has {dtype.bits} bits, and a register of {REGISTER_BITS} holds no whole number of them",
            hint="in registers such elements stand in containers of 8 bits: take b8",
        )


def in_elements(layout: Layout, dtype: DType, side: str, most: int) -> Layout:
    """Return a layout that counts elements; refuse one of more places than are listed."""
    if layout.unit != "element":
        layout = layout.in_elements(dtype)
    if layout.size * layout.copies > most:
        raise LayoutError(
            "TW301",
            f"{side} has {layout.size * layout.copies} places, and {most} are listed at most",
            hint="ask about one warp, or about a part of the tensor",
        )
    return layout


def check_reach(name: str, low: int, high: int, side: str, dtype: DType) -> None:
    """Refuse threads, lanes and registers that there are not."""
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
