"""The cost of every access of a launch, as Nsight Compute counts it.

A warp that issues an instruction counts as one instruction, even where a predicate holds all its lanes back.
Lanes that take part make a request: of shared memory it costs wavefronts, of global memory sectors. Requests
whose addresses differ by a multiple of 128 bytes cost the same, and each kind of them is counted once.

An asynchronous copy has two accesses. Through the L1 its wavefronts hang on what it reads too; past the L1 it
takes no wavefront, and its sectors hang on where it writes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from tilewise.check import banks, coalesce
from tilewise.check.access.access import INACTIVE
from tilewise.compiled.lanes import Lanes
from tilewise.compiled.machine import Event
from tilewise.compiled.moving import begin_of
from tilewise.compiled.program import Instruction, Touch
from tilewise.compiled.sums import ATOMICS
from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import OPERATIONS
from tilewise.hardware.memory.sectors import LINE, SECTOR
from tilewise.hardware.memory.sectors import OPERATIONS as OF_SECTORS

Int64s = NDArray[np.int64]

SHARED = {"red": "atom"}
"""{operation: the one whose rule counts it in shared memory}."""

NOBODY = np.iinfo(np.int64).min
"""The address of a lane that takes no part, beside others that may lie below 0."""

WEIGHTS = np.cumprod(np.full(2 * LANES, 0x9E3779B97F4A7C15, np.uint64))
"""Factors whose sum tells rows of addresses apart, those of both sides of a copy among them."""

MOST_ASKED = 1 << 15
"""The sectors of an instruction that are looked up: the begin of a long loop stands for the rest."""

MOST_ROWS = 1 << 10
"""The requests of turns counted at once that are looked up, for the same reason."""

MOST_PLACES = 1 << 18
"""The most places that are kept apart for one instruction."""


SUMS = ("instructions", "requests", "known", "unknown", "lanes", "cost", "ideal", "lines", "misaligned")
"""The counts of a tally that every event adds to."""


def _same(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    return one is other or np.array_equal(one, other)


def _moved(event: Event, first: Event) -> int | None:
    """Return by how much an event is another one moved, modulo a line; None where it differs in more."""
    bits, begin = event.address.bits, first.address.bits
    if bits.shape != begin.shape or not (
        _same(event.active, first.active) and _same(event.issued, first.issued)
    ):
        return None
    moved = bits - begin
    return int(moved[0]) % LINE if (moved == moved[0]).all() else None


@dataclass(slots=True)
class Tally:
    """The counts of one access of the text, over all that was run."""

    instruction: Instruction
    touch: Touch
    instructions: int = 0
    """Times that a warp issued it."""
    requests: int = 0
    """Those with a lane that takes part; of misaligned addresses too."""
    known: int = 0
    """Those whose addresses are known: the counts below are theirs."""
    unknown: int = 0
    """Those whose addresses, or lanes, hang on loaded data."""
    lanes: int = 0
    """Lanes that took part."""
    cost: int = 0
    """Wavefronts of shared memory, sectors of global memory."""
    ideal: int = 0
    lines: int = 0
    """Lines of 128 bytes that the requests touch: one tag lookup each."""
    worst: tuple[int, int, tuple[int | None, ...]] | None = None
    """(cost, ideal, addresses) of the request that loses most."""
    worst_other: tuple[int | None, ...] | None = None
    """Its addresses on the other side of a copy, where its cost hangs on them."""
    targets: set[int] = field(default_factory=set, repr=False)
    """The different addresses of atomics."""
    asked: int = 0
    """Sectors of global memory that the first block asked for, as often as it did; addresses of atomics."""
    again: int = 0
    """Those of them that some instruction of the block had asked for before."""
    misaligned: int = 0
    """Requests whose addresses are no multiples of their width: they fault on the hardware."""

    first: Event | None = field(default=None, repr=False)
    """An event that others are compared with."""
    by_shift: dict[tuple[int | None, ...], tuple[list[int], int]] = field(default_factory=dict, repr=False)
    """{addresses of each side beyond the first event's, modulo a line: (what one adds, how many came)}."""

    def sums(self) -> list[int]:
        """Return the counts that every event adds to."""
        return [getattr(self, name) for name in SUMS]

    def add(self, counts: Sequence[int], times: int) -> None:
        """Add the counts of an event that comes so many times."""
        for name, count in zip(SUMS, counts, strict=True):
            setattr(self, name, getattr(self, name) + count * times)

    def shift_of(self, event: Event) -> tuple[int | None, ...] | None:
        """Return by how much each side of an event is that of the first one moved, modulo a line.

        It is None where the event is to be counted anyhow. Where it differs in more the first event is
        forgotten: the next ones are compared with this one.
        """
        unknown = event.unsure or any(side.address.unknown is not None for side in event.sides)
        if unknown or event.touch.operation in ATOMICS:
            return None
        if self.first is not None:
            moved = tuple(map(_moved, event.sides, self.first.sides))
            if None not in moved:
                return moved
        self.settle()
        self.first, self.by_shift = event, {}
        return (0,) * len(event.sides)

    def settle(self) -> None:
        """Add the counts of the events that came again."""
        for shift, (counts, times) in self.by_shift.items():
            self.add(counts, times)
            self.by_shift[shift] = counts, 0

    @property
    def worst_side(self) -> tuple[int | None, ...] | None:
        """Return the addresses of the worst request; of a copy those of the side on which more lanes meet."""
        if self.worst is None or self.worst_other is None or self.touch.space == "global":
            return None if self.worst is None else self.worst[2]
        sides = (self.worst[2], self.worst_other)
        return max(sides, key=lambda side: banks.counted("cp.async", self.touch.bytes, side).wavefronts)

    @property
    def excess(self) -> int:
        """Return the wavefronts or sectors beyond the ideal."""
        return self.cost - self.ideal


@dataclass(slots=True)
class Counts:
    """The tallies of a kernel, and the kinds of requests that were counted before."""

    by_touch: dict[tuple[int, int], Tally] = field(default_factory=dict, repr=False)
    """{(row of the text, its access by identity, as a row may have several instructions): its tally}."""
    seen: set[int] = field(default_factory=set, repr=False)
    """The sectors of global memory that the first block asked for."""
    known: dict[tuple[str, str, int, bool], dict[bytes, tuple[int, int, int]]] = field(default_factory=dict)
    work: int = 0
    """The time that the last event took, where a usual instruction takes 1."""

    @property
    def tallies(self) -> list[Tally]:
        """Return the counts of each access."""
        for tally in self.by_touch.values():
            tally.settle()
        return list(self.by_touch.values())

    def add(self, event: Event, lanes: Lanes, remembers: bool = False) -> int:
        """Count one event, and return the time that it takes, where a usual instruction takes 1.

        It `remembers` those of one block, so that what the block asks for again is found.
        """
        self.work = 1
        touch, instruction = event.touch, event.instruction
        key = (instruction.row, id(touch))
        tally = self.by_touch.get(key)
        if tally is None:
            tally = self.by_touch[key] = Tally(instruction, touch)
        if event.turns > 1:
            self._add(tally, event, lanes, remembers)
            return self.work
        shift = tally.shift_of(event)
        listening = remembers and touch.space == "global" and tally.asked <= MOST_ASKED
        if shift in tally.by_shift and not listening:
            counts, times = tally.by_shift[shift]
            tally.by_shift[shift] = counts, times + 1
            return self.work
        before = tally.sums()
        self._add(tally, event, lanes, remembers)
        if shift is not None and shift not in tally.by_shift:
            added = [now - then for now, then in zip(tally.sums(), before, strict=True)]
            tally.by_shift[shift] = added, 0
        return self.work

    def _add(self, tally: Tally, event: Event, lanes: Lanes, remembers: bool) -> None:
        touch, turns = tally.touch, event.turns
        issued, active = warps_of(event.issued), event.active.reshape(-1, LANES)
        tally.instructions += int(issued.sum()) * turns
        if event.unsure:
            tally.unknown += int(issued.sum()) * turns
            return
        if touch.supplied < LANES:
            active = active & (np.arange(LANES) < touch.supplied)
        rows = issued if event.active is event.issued and touch.supplied == LANES else warps_of(active)
        tally.requests += int(rows.sum()) * turns
        masks = [active, *[side.active.reshape(-1, LANES) for side in event.sides[1:]]]
        for side, mask in zip(event.sides, masks, strict=True):
            if side.address.unknown is not None:
                blind = rows & warps_of(lanes.by_warp(side.address.unknown) & mask)
                tally.unknown += int(blind.sum()) * turns
                rows = rows & ~blind
        if not rows.any():
            return
        step = lanes.by_warp(begin_of(event.address.bits)[1])
        every = [lanes.by_warp(begin_of(side.address.bits)[0]).astype(np.int64) for side in event.sides]
        if not rows.all():
            every, masks, step = [one[rows] for one in every], [mask[rows] for mask in masks], step[rows]
        addresses, *others = every
        active = masks[0]
        beside = [np.where(mask, other, NOBODY) for mask, other in zip(masks[1:], others, strict=True)]
        alike = LINE // gcd(LINE, *np.unique(step[active] % LINE).tolist()) if turns > 1 else 1
        for turn in range(min(alike, turns)):  # the turns that come so many later move by whole lines
            self._count(tally, addresses + turn * step, active, -(-(turns - turn) // alike), *beside)
        if touch.operation in ATOMICS or (remembers and touch.space == "global"):
            begin = min(turns, -(-MOST_ROWS // len(active)))
            places = addresses + np.arange(begin)[:, None, None] * step
            self._remember(tally, places.reshape(-1, LANES), np.tile(active, (begin, 1)))

    def _count(
        self,
        tally: Tally,
        addresses: Int64s,
        active: NDArray[np.bool_],
        turns: int,
        other: Int64s | None = None,
    ) -> None:
        """Count some requests, as often as turns make them."""
        touch = tally.touch
        full = bool(active.all())
        odd = addresses & touch.bytes - 1
        if other is not None:
            odd |= np.where(other == NOBODY, 0, other & touch.bytes - 1)
        if odd.any():
            aligned = ((odd == 0) | ~active).all(axis=1)
            tally.misaligned += int((~aligned).sum()) * turns
            addresses, active = addresses[aligned], active[aligned]
            other = None if other is None else other[aligned]
            if not len(addresses):
                return
        tally.known += len(addresses) * turns
        tally.lanes += (active.size if full else int(active.sum())) * turns
        first_lane = addresses[:, 0] if full else addresses[np.arange(len(active)), active.argmax(axis=1)]
        moved = addresses - (first_lane // LINE * LINE)[:, None]
        if not full:
            moved[~active] = NOBODY
        if other is not None:
            moved = np.hstack([moved, _from_zero(other)])
        kinds, first, times = _different(moved)
        known = self.known.setdefault((touch.space, touch.operation, touch.bytes, touch.bypasses), {})
        names = [kind.tobytes() for kind in kinds]
        fresh = [place for place, name in enumerate(names) if name not in known]
        self.work += 4 + len(kinds) // 4
        if fresh:
            self.work += 20 + len(fresh)
            for place, costs in zip(fresh, _costs(touch, kinds[fresh]), strict=True):
                known[names[place]] = costs
        for name, begin, many in zip(names, first.tolist(), times.tolist(), strict=True):
            cost, ideal, lines = known[name]
            tally.cost += cost * many * turns
            tally.ideal += ideal * many * turns
            tally.lines += lines * many * turns
            if tally.worst is None or cost - ideal > tally.worst[0] - tally.worst[1]:
                row = np.where(active[begin], addresses[begin], NOBODY)
                tally.worst = (cost, ideal, _listed(row))
                tally.worst_other = None if other is None else _listed(other[begin])

    def _remember(self, tally: Tally, addresses: Int64s, active: NDArray[np.bool_]) -> None:
        """Note the places of requests, and how many of them were there before."""
        atomic = tally.touch.operation in ATOMICS
        if len(tally.targets) > MOST_PLACES or (tally.asked > MOST_ASKED and not atomic):
            return
        self.work += 2 + len(active) // 16
        places = np.sort(np.where(active, addresses // (1 if atomic else SECTOR), NOBODY), axis=1)
        other = np.ones(places.shape, np.bool_)
        np.not_equal(places[:, 1:], places[:, :-1], out=other[:, 1:])
        asked = places[other & (places != NOBODY)]
        tally.asked += len(asked)
        had = tally.targets if atomic else self.seen
        before = len(had)
        had.update(np.unique(asked).tolist())
        tally.again += len(asked) - (len(had) - before)


def warps_of(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each warp if a mask has one of its lanes."""
    words = np.ascontiguousarray(mask).view(np.uint64).reshape(-1, LANES // 8)
    together: NDArray[np.bool_] = (words[:, 0] | words[:, 1] | words[:, 2] | words[:, 3]) != 0
    return together


def _different(rows: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return the different rows in their order, the first place of each, and how often it stands."""
    if len(rows) == 1 or (rows == rows[0]).all():
        return rows[:1], np.zeros(1, np.int64), np.array([len(rows)])
    sums = (rows.view(np.uint64) * WEIGHTS[: rows.shape[1]]).sum(axis=1)
    _, first, places, times = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    if (rows[first][places] != rows).any():  # two rows with one sum
        _, first, times = np.unique(rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return rows[first[order]], first[order], times[order]


def _from_zero(rows: Int64s) -> Int64s:
    """Return rows of addresses moved by whole lines, so that no address lies below 0."""
    lowest = np.where(rows == NOBODY, np.iinfo(np.int64).max, rows).min(axis=1) // LINE * LINE
    return np.where(rows == NOBODY, INACTIVE, rows - lowest[:, None])


def _listed(row: Int64s) -> tuple[int | None, ...]:
    return tuple(None if one == NOBODY else one for one in row.tolist())


def _costs(touch: Touch, kinds: Int64s) -> Iterable[tuple[int, int, int]]:
    """Return (cost, ideal, lines) of requests: addresses, and those of the other side behind them."""
    rows, other = _from_zero(kinds[:, :LANES]), None if touch.other is None else kinds[:, LANES:]
    none = np.zeros(len(rows), np.int64)
    if touch.space == "shared" and touch.bypasses:
        columns = (none, none, none)
    elif touch.space == "shared":
        operation = SHARED.get(touch.operation, touch.operation)
        width = _nearest(OPERATIONS[operation].widths, touch.bytes)
        counts = banks.count(operation, width, rows[:, : touch.supplied], other)
        columns = (counts["wavefronts"], counts["ideal"], none)
    else:
        operation = touch.operation if touch.operation in OF_SECTORS else "ld"
        counts = coalesce.count(operation, min(touch.bytes, 16), rows, other)
        scale = max(1, touch.bytes // 16)
        columns = (
            counts["sectors"] if scale == 1 else _wide_sectors(rows, touch.bytes),
            counts["ideal"] * scale,
            counts["lines"],
        )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _wide_sectors(rows: Int64s, bytes: int) -> Int64s:
    """Return the sectors of lanes that are whole sectors wide."""
    return np.array([len({a // SECTOR for a in row.tolist() if a != INACTIVE}) for row in rows], np.int64) * (
        bytes // SECTOR
    )


@cache
def _nearest(widths: Sequence[int], bytes: int) -> int:
    return bytes if bytes in widths else min(widths, key=lambda width: abs(width - bytes))
