"""What every lane of a warp has to get: the question of a move, as a table of 32 lanes by positions.

A position is an element of one lane, `reg` in the layouts. The table says for every position of every lane
which (lane, position) of the source hold its element: one, several where the source has copies, none where
the target has nothing there. It is the same for all warps, or there is no one program that all of them run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewise.core.axes import SPLITS, Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, point
from tilewise.hardware.limits import LANES, REGISTER_BITS, THREAD_REGISTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Unit: TypeAlias = tuple[int, int]
    Sources: TypeAlias = frozenset[Unit]

MAX_PLACES = 1 << 17
"""Places of all elements and copies that are listed."""

_NOTHING: Sources = frozenset()


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
        """(lane, position, sources) wherever something belongs."""
        for lane, row in enumerate(self.wanted):
            for position, sources in enumerate(row):
                if sources:
                    yield lane, position, sources

    def coarser(self) -> Transfer:
        """The same in the largest units that always go together, of a register at most."""
        found = self
        while found.bits < REGISTER_BITS and (wider := found._paired()) is not None:
            found = wider
        return found

    def _paired(self) -> Transfer | None:
        """Neighbours as one unit, if they are neighbours on both sides; None where some part."""
        rows = []
        for row in self.wanted:
            even, odd = row[::2], row[1::2] + (_NOTHING,) * (len(row) % 2)
            pairs = [_pair(*both) for both in zip(even, odd, strict=True)]
            if None in pairs:
                return None
            rows.append(tuple(pair for pair in pairs if pair is not None))
        return Transfer(2 * self.bits, tuple(rows), -(-self.held // 2))


def _pair(even: Sources, odd: Sources) -> Sources | None:
    """Who holds both, in order; None where nobody does."""
    low = {(lane, position // 2) for lane, position in even if position % 2 == 0}
    high = {(lane, position // 2) for lane, position in odd if position % 2}
    both = low & high if even and odd else low | high
    return frozenset(both) if both or not (even or odd) else None


# -- from two layouts ------------------------------------------------------------------------------


def transfer(source: Layout, target: Layout, dtype: DType) -> Transfer:
    """The table of a move, in units of an element, or of a register where elements are wider.

    requires  one size; both over laneid and reg, and over warps if need be
    refused   TW609 where an element has to go to another warp, where warps have different things to do, or
              where elements are not in registers
    """
    if REGISTER_BITS % dtype.bits and dtype.bits % REGISTER_BITS:
        raise LayoutError(
            "TW106",
            f"{dtype} has {dtype.bits} bits, and a register of {REGISTER_BITS} holds no whole number of them",
            hint="in registers such elements stand in containers of 8 bits: take b8",
        )
    here, there = places_of(source, target, dtype)
    wanted, held = _wanted(here, there)
    return _in_registers(Transfer(dtype.bits, wanted, held))


def places_of(source: Layout, target: Layout, dtype: DType) -> tuple[Places, Places]:
    """The places of both, by the same axes: warpid is split where either side names its parts."""
    quarters = _named(source, target) & {"wgid", "wid_in_wg"} != set()
    return Places(source, dtype, quarters, "FROM"), Places(target, dtype, quarters, "TO")


def _named(*layouts: Layout) -> set[str]:
    return {axis.name for layout in layouts for axis in layout.axes}


class Places:
    """The places of a layout as (warp, lane, position), element by element."""

    def __init__(self, layout: Layout, dtype: DType, quarters: bool, side: str) -> None:
        self.layout, self.side, self.dtype = layout, side, dtype
        self.splits = {name: ways[0] for name, ways in SPLITS.items() if quarters or name != "warpid"}
        if layout.unit != "element":
            layout = self.layout = layout.in_elements(dtype)
        self.axes = tuple(axis.name for axis in layout.axes)
        if layout.size * layout.copies > MAX_PLACES:
            raise LayoutError(
                "TW301",
                f"{side} has {layout.size * layout.copies} places, and {MAX_PLACES} are listed at most",
                hint="ask about one warp: all of them run one program",
            )
        self._refuse_other_storage()

    def _refuse_other_storage(self) -> None:
        for axis in self.layout.axes:
            if axis.storage and axis.name != "reg" and axis.name in self.layout.moving:
                raise Refused(
                    "TW609",
                    f"{self.side} has elements at {axis}, and a warp moves what its registers hold",
                    witness={"axis": axis.name},
                    hint="relation says what such a move is; match, what loads from shared memory",
                )

    def of(self, index: int) -> list[tuple[tuple[tuple[str, int], ...], int, int]]:
        """(warp, lane, position) of every copy of an element; the warp by the names of its axes."""
        return [self._split(dict(zip(self.axes, place, strict=True))) for place in self.layout.points(index)]

    def _split(self, place: dict[str, int]) -> tuple[tuple[tuple[str, int], ...], int, int]:
        for name, (high, count, low) in self.splits.items():
            if name in place:
                above, below = divmod(place.pop(name), count)
                place[high] = place.get(high, 0) + above
                place[low] = place.get(low, 0) + below
        lane, position = place.pop("laneid", 0), place.pop("reg", 0)
        self._check(lane, position)
        warp = tuple(sorted((name, steps) for name, steps in place.items() if steps))
        return warp, lane, position

    def _check(self, lane: int, position: int) -> None:
        if not 0 <= lane < LANES:
            raise LayoutError("TW203", f"{self.side} has lane {lane}, and a warp has lanes 0 to {LANES - 1}")
        last = THREAD_REGISTERS * REGISTER_BITS // self.dtype.bits
        if not 0 <= position < last:
            raise LayoutError(
                "TW203",
                f"{self.side} has {self.dtype} at reg {position}, and a thread holds 0 to {last - 1}",
                hint="reg counts elements of one thread",
            )

    def spelled(self, index: int) -> Vector:
        """The first place of an element, as it is written."""
        return point(self.layout.axes, self.layout.points(index)[0])

    def coordinates(self, index: int) -> tuple[int, ...]:
        """The index of an element, one number a mode."""
        return self.layout.coordinates(index)


def _wanted(here: Places, there: Places) -> tuple[tuple[tuple[Sources, ...], ...], int]:
    """Who holds what belongs where; the sources that serve every warp alike."""
    found: dict[Unit, Sources] = {}
    by_warp: dict[tuple[object, int, int], Sources] = {}
    held = last = 0
    for index in range(there.layout.size):
        ours = here.of(index)
        held = max(held, *(position + 1 for _, _, position in ours))
        for warp, lane, position in there.of(index):
            last = max(last, position + 1)
            sources = frozenset((its, at) for other, its, at in ours if other == warp)
            if not sources:
                raise _leaves(here, there, index)
            before = by_warp.get((warp, lane, position), sources)
            if not before & sources:
                raise _two_at_once(there, index, lane, position)
            by_warp[warp, lane, position] = before & sources
    for (_, lane, position), sources in by_warp.items():
        both = found.get((lane, position), sources) & sources
        if not both:
            raise _not_alike(lane, position, found[lane, position], sources)
        found[lane, position] = both
    rows = (tuple(found.get((lane, at), _NOTHING) for at in range(last)) for lane in range(LANES))
    return tuple(rows), held


def _leaves(here: Places, there: Places, index: int) -> Refused:
    place, target = here.spelled(index), there.spelled(index)
    return Refused(
        "TW609",
        f"element {there.coordinates(index)} is at {place} and belongs to {target}: it changes its warp",
        witness={"index": there.coordinates(index), "from": place, "to": target},
        hint="warps exchange elements through shared memory: relation counts them",
    )


def _two_at_once(there: Places, index: int, lane: int, position: int) -> Refused:
    place = point((Axis("laneid"), Axis("reg")), (lane, position))
    return Refused(
        "TW505",
        f"TO has two elements at {place}, {there.coordinates(index)} and another",
        witness={"index": there.coordinates(index), "place": place},
        hint="in TO no two elements that differ share a place: stride 0 in FROM alone",
    )


def _not_alike(lane: int, position: int, one: Sources, other: Sources) -> Refused:
    first, second = min(one), min(other)
    axes = (Axis("laneid"), Axis("reg"))
    return Refused(
        "TW609",
        f"warps have different things to do: at {point(axes, (lane, position))} one needs what is at "
        f"{point(axes, first)}, another what is at {point(axes, second)}",
        witness={"to": point(axes, (lane, position)), "from": [point(axes, first), point(axes, second)]},
        hint="ask about one warp at a time, and branch on the warp",
    )


def _in_registers(table: Transfer) -> Transfer:
    """Elements that are wider than a register as their registers."""
    each = table.bits // REGISTER_BITS
    if each < 2:
        return table
    rows = tuple(
        tuple(
            frozenset((lane, at * each + part) for lane, at in sources)
            for sources in row
            for part in range(each)
        )
        for row in table.wanted
    )
    return replace(table, bits=REGISTER_BITS, wanted=rows, held=table.held * each)
