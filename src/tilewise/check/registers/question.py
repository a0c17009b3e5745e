"""The question of a block: the values that registers of threads hold, and those that they shall hold.

A value is a label: the first place of the source that holds it, position + (thread << bits of the position).
Units of registers with one label hold the same bits. They are as wide as the bits that always stay together,
32 at most. Where both sides are affine maps over GF(2), memory is a linear map from labels to addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tilewise.check.registers.warp import (
    MOST_THREADS,
    WEIGHTS,
    LabelMap,
    WarpTable,
    check_reach,
    check_width,
    in_elements,
)
from tilewise.core.axes import SPLITS
from tilewise.core.bits import through
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned
from tilewise.core.shapes import spell
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.tables import table

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

MOST_PLACES = 1 << 20
"""The most places of elements and copies that are listed."""

NOBODY = -1
"""The label of a unit that holds nothing, or in which nothing is wanted."""

_OF_A_WARP = {"laneid"}
_OF_A_WARPGROUP = {"laneid", "wid_in_wg", "tid_in_wg"}


@dataclass(frozen=True, eq=False)
class RegisterQuestion:
    """held[thread, position] and wanted[thread, position] are labels, in units of `bits` bits."""

    bits: int
    held: Int64s
    wanted: Int64s
    scope: str
    """Threads that take part: of any one `warp`, of any one `warpgroup`, or those of a `block` from 0."""
    alone: bool = False
    """True if nothing leaves a warp: labels of one warp are wanted in no other."""

    @property
    def threads(self) -> int:
        """Return the threads that take part, whole warps."""
        return len(self.held)

    @property
    def warps(self) -> int:
        """Return the warps that take part."""
        return self.threads // LANES

    @property
    def per_register(self) -> int:
        """Return the units of a 32-bit register."""
        return REGISTER_BITS // self.bits

    @property
    def registers(self) -> tuple[int, int]:
        """Return the 32-bit registers of a thread, before and after."""
        size = self.per_register
        return -(-self.held.shape[1] // size), -(-self.wanted.shape[1] // size)

    def coarser(self) -> RegisterQuestion:
        """Return the same in the largest units that always go together, of a register at most."""
        if self.bits == REGISTER_BITS:
            return self
        sides = []
        for side in (self.held, self.wanted):
            even, odd = side[:, ::2], np.full_like(side[:, ::2], NOBODY)
            odd[:, : side.shape[1] // 2] = side[:, 1::2]
            low, high = even >> 1, odd >> 1
            parted = (low != high) & (low >= 0) & (high >= 0)
            if (parted | even & (even >= 0) | ~odd & 1).any():
                return self
            sides.append(np.maximum(low, high))
        return replace(self, bits=2 * self.bits, held=sides[0], wanted=sides[1]).coarser()

    @cached_property
    def sides(self) -> tuple[LabelMap, LabelMap] | None:
        """Return source and target as affine maps to labels XORed with the first, or None."""
        base = int(self.held[self.held >= 0][0])
        store, load = (_side(np.where(side >= 0, side ^ base, NOBODY)) for side in (self.held, self.wanted))
        return None if store is None or load is None else (store, load)

    def by_warp(self) -> RegisterQuestion | None:
        """Return the question of one warp if all warps have the same to do, or of all, each for itself.

        Return None where a warp wants values that only another holds.
        """
        parts = []
        for warp in range(0, self.threads, LANES):
            part = _labelled(self.held[warp : warp + LANES], self.wanted[warp : warp + LANES])
            if part is None:
                return None
            parts.append(part)
        first, *others = [part for part in parts if (part[1] >= 0).any()]
        if all(all(map(np.array_equal, first, other)) for other in others):
            return replace(self, held=first[0], wanted=first[1], alone=True)
        step = LANES << _label_bits(self.held)
        begin = np.arange(self.threads)[:, None] // LANES * step
        held, wanted = map(np.concatenate, zip(*parts, strict=True))
        held, wanted = (np.where(side < 0, NOBODY, side + begin) for side in (held, wanted))
        return replace(self, held=held, wanted=wanted, alone=True)

    def table(self) -> WarpTable:
        """Return the question of one warp as a table of what each lane has to get."""
        holders: dict[int, list[tuple[int, int]]] = {NOBODY: []}
        for lane, row in enumerate(self.held.tolist()):
            for position, label in enumerate(row):
                if label >= 0:
                    holders.setdefault(label, []).append((lane, position))
        sets = {label: frozenset(places) for label, places in holders.items()}
        wanted = tuple(tuple(sets[label] for label in row) for row in self.wanted.tolist())
        return WarpTable(self.bits, wanted, self.held.shape[1])


# -- from two layouts ------------------------------------------------------------------------------


def of_registers(layout: Layout) -> bool:
    """Return True if elements of a layout are in registers.

    >>> from tilewise import S, laneid, reg
    >>> of_registers(S[(32, 2) : (1@laneid, 1@reg)]), of_registers(S[32, 2])
    (True, False)
    """
    names = {axis.name for axis in layout.axes}
    return "reg" in names or bool(names & WEIGHTS.keys())


def question(source: Layout, target: Layout, dtype: DType | str) -> RegisterQuestion:
    """Return the question of a move between registers, in the widest units.

    requires  one size; layouts over reg and the axes of threads
    refused   TW702 sizes that differ; TW609 elements that are elsewhere, or that no thread of a block
              holds; TW703 a target where two elements meet
    """
    kind = DType.of(dtype)
    check_width(kind)
    if source.size != target.size:
        raise LayoutError(
            "TW702",
            f"the source has {source.size} elements, the target {target.size}",
            hint="give layouts of one tensor, such as two tiles of D for one of A",
        )
    source, target = aligned(source, target)
    here, there = _places(source, "the source", kind), _places(target, "the target", kind)
    names = {axis.name for layout in (source, target) for axis in layout.axes} & WEIGHTS.keys()
    scope = "warp" if names <= _OF_A_WARP else "warpgroup" if names <= _OF_A_WARPGROUP else "block"
    threads = (int(max(here[0].max(), there[0].max())) // LANES + 1) * LANES
    threads = 4 * LANES if scope == "warpgroup" else threads
    if threads > MOST_THREADS:
        raise Refused(
            "TW609",
            f"{threads} threads hold elements, and a block has {MOST_THREADS}",
            hint="move parts of it",
        )
    values = _values(*here)
    held, wanted = (np.full((threads, int(side[1].max()) + 1), NOBODY) for side in (here, there))
    held[here], wanted[there] = values[:, None], values[:, None]
    if (wanted[there] != values[:, None]).any():
        raise _meeting(target, *there, wanted, values)
    each = max(1, kind.bits // REGISTER_BITS)
    if each > 1:
        held, wanted = (
            np.where(side < 0, NOBODY, side * each + np.arange(each)).reshape(threads, -1)
            for side in (held[:, :, None], wanted[:, :, None])
        )
    labels = _labelled(held, wanted)
    assert labels is not None
    return RegisterQuestion(kind.bits // each, *labels, scope).coarser()


def _places(layout: Layout, side: str, dtype: DType) -> tuple[Int64s, Int64s]:
    """Return threads[element, copy] and positions[element, copy] of a layout."""
    layout = in_elements(layout, dtype, side, MOST_PLACES)
    names = {axis.name for axis in layout.axes}
    for axis in layout.axes:
        if axis.name not in WEIGHTS and axis.name != "reg" and axis.name in layout.moving:
            raise Refused(
                "TW609",
                f"{side} has elements along {axis}, and registers move inside a block",
                witness={"axis": axis.name},
                hint=f"the axes of a move between registers are reg {' '.join(WEIGHTS)}",
            )
        for high, _, low in SPLITS.get(axis.name, ()):
            for part in names & {high, low}:
                raise LayoutError(
                    "TW203",
                    f"{side} counts threads by {axis} and by its part {part}",
                    hint="split the one, or fuse the other",
                )
    found = {"reg": np.zeros((layout.size, layout.copies), np.int64)}
    threads = found["reg"]
    for name, column in table(layout).columns.items():
        found[name] = column.reshape(layout.size, layout.copies)
        check_reach(name, int(column.min()), int(column.max()), side, dtype)
        threads = threads + found[name] * WEIGHTS.get(name, 0)
    return threads, found["reg"]


def _values(threads: Int64s, positions: Int64s) -> Int64s:
    """Return the value of every element: elements that share a place of the source are one."""
    places = threads * (positions.max() + 1) + positions
    values = np.arange(len(places))
    while True:
        least = np.full(int(places.max()) + 1, len(places))
        np.minimum.at(least, places, values[:, None])
        found = least[places].min(axis=1)
        if (found == values).all():
            return values
        values = found


def _labelled(held: Int64s, wanted: Int64s) -> tuple[Int64s, Int64s] | None:
    """Return both with values named by their first place; None where a wanted value is not held."""
    bits = _label_bits(held)
    thread, position = np.nonzero(held >= 0)
    first = np.full(int(max(held.max(), wanted.max())) + 2, NOBODY)  # the last entry is NOBODY's
    first[held[thread, position][::-1]] = (thread << bits | position)[::-1]
    return None if (first[wanted[wanted >= 0]] < 0).any() else (first[held], first[wanted])


def _label_bits(held: Int64s) -> int:
    """Return the bits of a label that hold the position: enough for a register of any width."""
    positions: int = held.shape[1]
    return max(positions, REGISTER_BITS).bit_length()


def _meeting(target: Layout, threads: Int64s, positions: Int64s, wanted: Int64s, values: Int64s) -> Refused:
    """Return the refusal of a target where two elements meet."""
    index, copy = map(int, np.argwhere(wanted[threads, positions] != values[:, None])[0])
    there = (threads == threads[index, copy]) & (positions == positions[index, copy])
    other = int(np.flatnonzero(there.any(axis=1) & (values != values[index]))[0])
    place = target.places(*target.coordinates(index))[copy]
    one, two = (spell(target.coordinates(own)) for own in (index, other))
    return Refused(
        "TW703",
        f"two elements have one place in the target: {one} and {two} share {place}",
        witness=(index, other, place),
        hint="a target holds every element in places of its own; copies are written as R[...]",
    )


# -- affine over GF(2) -----------------------------------------------------------------------------


def _side(labels: Int64s) -> LabelMap | None:
    """Return the affine map with labels[thread, position] where those are not negative, if one is.

    An unknown bit moves nothing.
    """
    threads, positions = labels.shape
    low, high = (positions - 1).bit_length(), (threads - 1).bit_length()
    thread, position = np.nonzero(labels >= 0)
    if not len(thread):
        return None
    places, values = thread << low | position, labels[thread, position]
    nearest = np.argsort(_ones(places), kind="stable")
    for count in (low + high + 1, (low + high + 1) ** 2):
        near = nearest[:count]
        points = list(zip(places[near].tolist(), values[near].tolist(), strict=True))
        found = through(points, low + high, [(0, points[0][1])])
        if found is None:
            return None
        side = LabelMap(found.origin[0], found.flips[:low], found.flips[low:])
        expected = spread(side.threads, threads)[:, None] ^ spread(side.positions, positions) ^ side.origin
        if (expected[thread, position] == values).all():
            return side
    return None


def _ones(places: Int64s) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return the number of bits that are set in each number."""
    bits = range(int(places.max()).bit_length())
    return sum(((places >> bit & 1).astype(np.int8) for bit in bits), np.zeros(len(places), np.int8))


@lru_cache(maxsize=256)
def spread(columns: tuple[int, ...], count: int) -> Int64s:
    """Return the XOR of the columns of the bits of 0, 1, ..., count - 1.

    >>> spread((1, 4), 4).tolist()
    [0, 1, 4, 5]
    """
    found = np.zeros(1, np.int64)
    for column in columns:
        found = np.concatenate([found, found ^ column])
    found = found[:count]
    found.flags.writeable = False
    return found
