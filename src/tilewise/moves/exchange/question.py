"""What is asked: which value every register of every thread holds, and which one it shall hold.

A value is a number; units of registers that hold one number hold the same bits. Units are as wide as what
always stays together, 32 bits at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewise.core.axes import SPLITS
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned
from tilewise.core.shapes import spell
from tilewise.hardware.limits import LANES, REGISTER_BITS, THREAD_REGISTERS
from tilewise.moves.pairs.pair import how_many
from tilewise.tables import table

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

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
MOST_PLACES = 1 << 20
"""Places of all elements and copies that are listed."""

NOBODY = -1
"""The value of a unit that holds nothing, or that nothing is wanted in."""

_FURTHER = {
    "laneid": "warpid beside it counts further warps, or tx in its place the threads of a block",
    "wid_in_wg": "wgid beside it counts further warpgroups, or warpid in its place the warps of a block",
    "tid_in_wg": "wgid beside it counts further warpgroups, or tx in its place the threads of a block",
    "reg": "reg counts elements of one thread",
}
"""{an axis: what goes on where it ends}."""

_OF_A_WARP = {"laneid"}
_OF_A_WARPGROUP = {"laneid", "wid_in_wg", "tid_in_wg"}


@dataclass(frozen=True, eq=False)
class Question:
    """held[thread, position] and wanted[thread, position] are values, in units of `bits` bits."""

    bits: int
    held: Int64s
    wanted: Int64s
    scope: str
    """Who takes part: `warp`, any one; `warpgroup`, any one; `block`, threads 0 and up of it."""
    alone: bool = False
    """Whether nothing leaves a warp: values of one warp are wanted in no other."""

    @property
    def threads(self) -> int:
        """Threads that take part, whole warps."""
        return len(self.held)

    @property
    def warps(self) -> int:
        """Warps that take part."""
        return self.threads // LANES

    @property
    def per_register(self) -> int:
        """Units of a 32-bit register."""
        return REGISTER_BITS // self.bits

    @property
    def registers(self) -> tuple[int, int]:
        """32-bit registers of a thread, before and after."""
        size = self.per_register
        return -(-self.held.shape[1] // size), -(-self.wanted.shape[1] // size)

    def coarser(self) -> Question:
        """The same in the largest units that always go together."""
        found = self
        while found.bits < REGISTER_BITS and (wider := found._paired()) is not None:
            found = wider
        return found

    def _paired(self) -> Question | None:
        """Neighbours as one unit, if they are neighbours on both sides; None where some part."""
        held, wanted = _even(self.held), _even(self.wanted)
        count = int(max(held.max(initial=0), wanted.max(initial=0))) + 1
        below = np.full(count, NOBODY)
        above = np.full(count, NOBODY)
        low, high = held[:, ::2], held[:, 1::2]
        below[high[high >= 0]] = low[high >= 0]
        above[low[low >= 0]] = high[low >= 0]
        is_low, is_high = (np.zeros(count, bool) for _ in range(2))
        is_low[low[low >= 0]] = True
        is_high[high[high >= 0]] = True
        if (is_low & is_high).any():
            return None
        alike = (above[low[low >= 0]] == high[low >= 0]).all() and (
            below[high[high >= 0]] == low[high >= 0]
        ).all()
        first, second = wanted[:, ::2], wanted[:, 1::2]
        both = (first >= 0) & (second >= 0)
        placed = (
            is_low[first[first >= 0]].all()
            and is_high[second[second >= 0]].all()
            and (above[first[both]] == second[both]).all()
        )
        if not (alike and placed):
            return None
        names = np.arange(count)
        names[is_high] = np.where(below[is_high] >= 0, below[is_high], names[is_high])

        def named(low: Int64s, high: Int64s) -> Int64s:
            return np.where(low >= 0, low, np.where(high >= 0, names[high], NOBODY))

        return replace(self, bits=2 * self.bits, held=named(low, high), wanted=named(first, second))


def _even(values: Int64s) -> Int64s:
    return np.pad(values, ((0, 0), (0, values.shape[1] % 2)), constant_values=NOBODY)


# -- from two layouts ------------------------------------------------------------------------------


def of_registers(layout: Layout) -> bool:
    """Whether elements of a layout are in registers.

    >>> from tilewise import S, laneid, reg
    >>> of_registers(S[(32, 2) : (1@laneid, 1@reg)]), of_registers(S[32, 2])
    (True, False)
    """
    names = {axis.name for axis in layout.axes}
    return "reg" in names or bool(names & WEIGHTS.keys())


def question(source: Layout, target: Layout, dtype: DType | str) -> Question:
    """What a move between registers has to do, in the widest units.

    requires  one size; layouts over reg and the axes of threads
    refused   TW702 sizes that differ; TW609 elements that are elsewhere, or that no thread of a block
              holds; TW703 a target where two elements meet
    """
    kind = DType.of(dtype)
    if REGISTER_BITS % kind.bits and kind.bits % REGISTER_BITS:
        raise LayoutError(
            "TW106",
            f"{kind} has {kind.bits} bits, and a register of {REGISTER_BITS} holds no whole number of them",
            hint="in registers such elements stand in containers of 8 bits: take b8",
        )
    if source.size != target.size:
        raise LayoutError(
            "TW702",
            f"the source has {how_many(source)}, the target {how_many(target)}",
            hint="give layouts of one tensor, such as two tiles of D for one of A",
        )
    source, target = aligned(source, target)
    sides = [_Places.of(*side, kind) for side in ((source, "source"), (target, "target"))]
    names = set[str]().union(*(axes_of(layout) for layout in (source, target)))
    scope = "warp" if names <= _OF_A_WARP else "warpgroup" if names <= _OF_A_WARPGROUP else "block"
    threads = max(int(side.threads.max()) for side in sides) // LANES * LANES + LANES
    threads = 4 * LANES if scope == "warpgroup" else threads
    if threads > MOST_THREADS:
        raise Refused(
            "TW609",
            f"{threads} threads hold elements, and a block has {MOST_THREADS}",
            hint="move parts of it",
        )
    values = _values(sides[0])
    held, wanted = (_filled(side, threads, values) for side in sides)
    _refuse_meeting(sides[1], wanted, values, target)
    each = max(1, kind.bits // REGISTER_BITS)
    if each > 1:
        held, wanted = _in_registers(held, each), _in_registers(wanted, each)
    return Question(kind.bits // each, held, wanted, scope).coarser()


def axes_of(layout: Layout) -> set[str]:
    """The axes of threads on which a layout steps, or stands."""
    return {axis.name for axis in layout.axes if axis.name in WEIGHTS}


@dataclass(frozen=True, eq=False)
class _Places:
    """threads[element, copy] and positions[element, copy] of a layout."""

    threads: Int64s
    positions: Int64s

    @classmethod
    def of(cls, layout: Layout, side: str, dtype: DType) -> _Places:
        if layout.unit != "element":
            layout = layout.in_elements(dtype)
        if layout.size * layout.copies > MOST_PLACES:
            raise LayoutError(
                "TW301",
                f"the {side} has {layout.size * layout.copies} places, and {MOST_PLACES} are listed at most",
                hint="ask about a part of the tensor",
            )
        _refuse_others(layout, side)
        columns = {
            name: column.reshape(layout.size, layout.copies) for name, column in table(layout).columns.items()
        }
        nothing = np.zeros((layout.size, layout.copies), np.int64)
        _check(columns, side, dtype)
        threads = nothing
        for name in columns.keys() & WEIGHTS.keys():
            threads = threads + columns[name] * WEIGHTS[name]
        return cls(threads, columns.get("reg", nothing))


def _refuse_others(layout: Layout, side: str) -> None:
    names = {axis.name for axis in layout.axes}
    for axis in layout.axes:
        if axis.name not in WEIGHTS and axis.name != "reg" and axis.name in layout.moving:
            raise Refused(
                "TW609",
                f"the {side} has elements along {axis}, and registers move inside a block",
                witness={"axis": axis.name},
                hint=f"the axes of a move between registers are reg {' '.join(WEIGHTS)}",
            )
    both = [(whole, part) for whole, ways in SPLITS.items() for way in ways for part in (way[0], way[2])]
    for whole, part in both:
        if whole in names and part in names:
            raise LayoutError(
                "TW203",
                f"the {side} counts threads by {whole} and by its part {part}",
                hint="split the one, or fuse the other",
            )


def _check(columns: dict[str, Int64s], side: str, dtype: DType) -> None:
    last = THREAD_REGISTERS * REGISTER_BITS // dtype.bits
    limits = {"laneid": LANES, "wid_in_wg": 4, "tid_in_wg": 4 * LANES, "reg": last}
    for name, column in columns.items():
        low, high = int(column.min()), int(column.max())
        if low < 0 or high >= limits.get(name, MOST_THREADS):
            outside = low if low < 0 else high
            raise LayoutError(
                "TW203",
                f"the {side} has an element at {outside}@{name}, and {name} is 0 to "
                f"{limits.get(name, MOST_THREADS) - 1}",
                hint="places count from 0"
                if low < 0
                else _FURTHER.get(name, "a block has 1024 threads at most"),
            )


def _values(source: _Places) -> Int64s:
    """The value of every element: elements that share a place of the source are one."""
    places = source.threads * (source.positions.max() + 1) + source.positions
    values = np.arange(len(places))
    while True:
        least = np.full(int(places.max()) + 1, len(places))
        np.minimum.at(least, places, values[:, None])
        found = least[places].min(axis=1)
        if (found == values).all():
            return values
        values = found


def _filled(side: _Places, threads: int, values: Int64s) -> Int64s:
    found = np.full((threads, int(side.positions.max()) + 1), NOBODY)
    found[side.threads, side.positions] = values[:, None]
    return found


def _refuse_meeting(side: _Places, wanted: Int64s, values: Int64s, target: Layout) -> None:
    wrong = wanted[side.threads, side.positions] != values[:, None]
    if not wrong.any():
        return
    index, copy = (int(own[0]) for own in np.nonzero(wrong))
    there = (side.threads == side.threads[index, copy]) & (side.positions == side.positions[index, copy])
    other = int(np.flatnonzero(there.any(axis=1) & (values != values[index]))[0])
    place = target.places(*target.coordinates(index))[copy]
    one, two = (spell(target.coordinates(own)) for own in (index, other))
    raise Refused(
        "TW703",
        f"two elements have one place in the target: {one} and {two} share {place}",
        witness=(index, other, place),
        hint="a target holds every element in places of its own; copies are written as R[...]",
    )


def _in_registers(values: Int64s, each: int) -> Int64s:
    """Elements that are wider than a register as their registers."""
    parts = values[:, :, None] * each + np.arange(each)
    return np.where(values[:, :, None] >= 0, parts, NOBODY).reshape(len(values), -1)


# -- one warp for all ------------------------------------------------------------------------------


def within_warps(asked: Question) -> Question | None:
    """The question of one warp, where all warps have the same to do and nothing leaves any; else None."""
    held = asked.held.reshape(asked.warps, LANES, -1)
    wanted = asked.wanted.reshape(asked.warps, LANES, -1)
    found: tuple[Int64s, Int64s] | None = None
    for ours, theirs in zip(held, wanted, strict=True):
        if (theirs < 0).all():
            continue
        both = _renamed(ours, theirs)
        if both is None or (found is not None and not all(map(np.array_equal, both, found))):
            return None
        found = both
    assert found is not None
    return replace(asked, held=found[0], wanted=found[1], alone=True)


def _renamed(held: Int64s, wanted: Int64s) -> tuple[Int64s, Int64s] | None:
    """Both with values by their first place in the warp; None where one is not in it."""
    flat = held.ravel()
    values, first = np.unique(flat, return_index=True)
    at = np.searchsorted(values, wanted).clip(max=len(values) - 1)
    if ((values[at] != wanted) & (wanted >= 0)).any():
        return None
    return (
        np.where(held >= 0, first[np.searchsorted(values, held)], NOBODY),
        np.where(wanted >= 0, first[at], NOBODY),
    )


def apart(asked: Question) -> Question | None:
    """The question with the values of every warp for themselves; None where one wants what another holds."""
    count = int(asked.held.max()) + 1
    warp = np.arange(asked.threads)[:, None] // LANES * count
    held = np.where(asked.held >= 0, asked.held + warp, NOBODY)
    wanted = np.where(asked.wanted >= 0, asked.wanted + warp, NOBODY)
    known = np.zeros(asked.warps * count, bool)
    known[held[held >= 0]] = True
    return replace(asked, held=held, wanted=wanted, alone=True) if known[wanted[wanted >= 0]].all() else None
