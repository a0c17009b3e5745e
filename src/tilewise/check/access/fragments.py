"""Accesses of register fragments: each lane moves what it holds, in the order of its registers.

A layout over laneid and reg, and perhaps warps, says who holds which element of one instruction's part; the
tile is cut into such parts, row-major. Every warp executes its own requests.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from tilewise.check.access.stored import Stored
from tilewise.core.builders import S
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO, along

LANE, REG = "laneid", "reg"


def is_fragment(layout: Layout) -> bool:
    """Whether a layout says who holds elements: lanes are among its axes, under one name or another."""
    return any(axis.name in (LANE, "tid_in_wg", "tx") for axis in layout.axes)


def in_fragments(stored: Stored, fragment: Layout) -> Layout:
    """[request, lane, register] to the tile: for each part, and each warp, all that its lanes hold.

        requires  one fragment, over laneid and reg, and axes of warps; of as many elements as the tile it
                  may have more modes, or fewer, that end where the tile's do
        refused   TW610 lanes or registers that hold nothing; a tile of no whole number of parts

    >>> from tilewise import S, laneid, reg
    >>> part = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)].group(8, 8)
    >>> print(in_fragments(Stored.of(S[(16, 16) : (16, 1)], "f32"), part))
    S[((2, 2), (8, 4), 2) : ((128, 8), (16, 2), 1)]
    """
    held = _by_holder(fragment)
    if fragment.size == stored.size and _flat(stored.layout, fragment):
        return _joined(S[1:0], held)
    rows, columns = stored.matrix("a fragment is a part")
    if len(fragment.shape) != 2:
        raise Refused(
            "TW610",
            f"a fragment has rows and columns, and {spell(fragment.shape)} has {len(fragment.shape)} modes",
            hint="tilewise algebra group gives a layout two modes",
        )
    high, wide = extents_of(fragment.shape)
    if rows % high or columns % wide:
        raise Refused(
            "TW610",
            f"one part is {high} x {wide} elements, and the tile has {rows} x {columns}",
            witness={"part": [high, wide], "tile": [rows, columns]},
            hint="" if rows % wide or columns % high else "it has whole parts with its modes swapped",
        )
    parts = S[(rows // high, columns // wide) : (high * columns, wide)]
    return _joined(parts, S[(high, wide) : (columns, 1)].compose(held))


def _flat(tile: Layout, fragment: Layout) -> bool:
    """Whether a fragment of the tile's size is it, index by index: modes of one are parts of the other's."""
    ends = [set(accumulate(extents_of(layout.shape), mul)) for layout in (tile, fragment)]
    return ends[0] <= ends[1] or ends[1] <= ends[0]


def _by_holder(fragment: Layout) -> Layout:
    """[warp, ..., lane, register] to the index in the fragment: its inverse, a mode for each of them."""
    for axis in ("tx", "tid_in_wg"):
        if axis in fragment.moving:
            fragment = fragment.split_axis(axis)
    fragment = _from_the_first_warp(fragment)
    if not fragment.holes.none:
        raise _idle(str(fragment.holes.none.witness))
    names = sorted((axis.name for axis in fragment.axes), key=lambda name: (name == LANE) + 2 * (name == REG))
    found = fragment.quasi_inverse(tuple(names))
    if REG in names:
        return found
    return Layout((*found.shape, 1), (*found.strides, ZERO), offset=found.offset)


def _from_the_first_warp(fragment: Layout) -> Layout:
    """The fragment with its warps counted from 0; lanes and registers are so anyway."""
    for axis in fragment.axes:
        first = fragment.min(axis)
        if first and axis.name in (LANE, REG):
            raise _idle(f"{min(first, 0)}@{axis}")
        fragment = fragment - along(axis, first)
    return fragment


def _idle(place: str) -> Refused:
    return Refused(
        "TW610",
        f"{place} holds nothing, and the lanes of an instruction move alike",
        witness={"place": place},
        hint="say what they move as a layout: [request, lane, element] to the index in the tile",
    )


def _joined(parts: Layout, inside: Layout) -> Layout:
    """[request, lane, register]: parts of the tile and warps count requests."""
    warps, (lanes, registers) = inside.shape[:-2], inside.shape[-2:]
    shape = (*parts.shape, *warps), lanes, registers
    return Layout(shape, (*parts.strides, *inside.strides), offset=inside.offset)
