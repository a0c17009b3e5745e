"""Accesses of register fragments: each lane moves the elements that it holds, in the order of its registers.

A layout over laneid and reg, and perhaps warps, says who holds which element of one instruction's part; the
tile is cut into such parts, row-major. Every warp executes its own requests.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from tilewise.check.access.access import Stored
from tilewise.core.builders import S
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO, along

LANE, REG = "laneid", "reg"


def in_fragments(stored: Stored, fragment: Layout) -> Layout:
    """Return [request, lane, register] to the tile: for each part, and each warp, all that its lanes hold.

        requires  one fragment, over laneid and reg, and axes of warps; of as many elements as the tile it
                  may have more modes, or fewer, that end where the tile's do
        refused   TW610 lanes or registers that hold nothing; a tile of no whole number of parts

    >>> from tilewise import S, laneid, reg
    >>> part = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)].group(8, 8)
    >>> print(in_fragments(Stored.of(S[(16, 16) : (16, 1)], "f32"), part))
    S[((2, 2), (8, 4), 2) : ((128, 8), (16, 2), 1)]
    """
    held, parts = _by_holder(fragment), S[1:0]
    ends, others = (set(accumulate(extents_of(own.shape), mul)) for own in (stored.layout, fragment))
    if fragment.size != stored.size or not (ends <= others or others <= ends):
        rows, columns = stored.matrix("a fragment is a part")
        if len(fragment.shape) != 2:
            raise Refused(
                "TW610",
                f"a fragment has rows and columns, and {spell(fragment.shape)} "
                f"has {len(fragment.shape)} modes",
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
        held = S[(high, wide) : (columns, 1)].compose(held)
    *warps, lanes, registers = held.shape
    shape = (*parts.shape, *warps), lanes, registers
    return Layout(shape, (*parts.strides, *held.strides), offset=held.offset)


def _by_holder(fragment: Layout) -> Layout:
    """Return [warp, ..., lane, register] to the index in the fragment: its inverse, a mode for each axis."""
    for name in ("tx", "tid_in_wg"):
        if name in fragment.moving:
            fragment = fragment.split_axis(name)
    for axis in fragment.axes:  # warps count from 0; lanes and registers do so anyway
        first = fragment.min(axis)
        if first and axis.name in (LANE, REG):
            raise _idle(f"{min(first, 0)}@{axis}")
        fragment = fragment - along(axis, first)
    if not fragment.holes.none:
        raise _idle(str(fragment.holes.none.witness))
    names = sorted((axis.name for axis in fragment.axes), key=lambda name: (name == LANE) + 2 * (name == REG))
    held = fragment.quasi_inverse(tuple(names))
    if REG in names:
        return held
    return Layout((*held.shape, 1), (*held.strides, ZERO), offset=held.offset)


def _idle(place: str) -> Refused:
    return Refused(
        "TW610",
        f"{place} holds nothing, and the lanes of an instruction move alike",
        witness={"place": place},
        hint="say what they move as a layout: [request, lane, element] to the index in the tile",
    )
