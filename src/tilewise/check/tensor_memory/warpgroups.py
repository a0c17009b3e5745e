"""Warpgroups that share what lies in tensor memory: which there are, and where each of them begins.

Warp w of every warpgroup reaches the same 32 lanes. So what several share is parted by columns, or by the
halves of those lanes; each warpgroup executes the same instructions, from an address of its own on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tilewise.core.algebra.modes import group, refinement
from tilewise.core.axes import Axis
from tilewise.core.errors import Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.tcgen05.datapaths import SLAB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WARPGROUP = Axis("wgid")
TLANE, TCOL = Axis("TLane"), Axis("TCol")


@dataclass(frozen=True, slots=True)
class Turn:
    """A digit that counts warpgroups: from one of its values to the next, `stride` of them."""

    extent: int
    stride: int
    lane: int = 0
    """Lanes from where the one begins to where the next does."""
    column: int = 0


@dataclass(frozen=True, slots=True)
class Warpgroups:
    """The numbers of the warpgroups in their CTA, and where each begins.

    >>> two = Warpgroups((0, 1), (Turn(2, 1, column=128),))
    >>> two.begin(0), two.begin(1)
    ((0, 0), (0, 128))
    """

    numbers: tuple[int, ...] = (0,)
    turns: tuple[Turn, ...] = ()

    @property
    def named(self) -> bool:
        """Whether a fragment says which they are: any but the first."""
        return self.numbers != (0,)

    @property
    def apart(self) -> bool:
        """Whether some begin elsewhere than the first of them."""
        return any(turn.lane or turn.column for turn in self.turns)

    def begin(self, number: int) -> tuple[int, int]:
        """Return (the lane, the column) that is added to those of the first one's instructions."""
        lane = column = 0
        for turn in self.turns:
            value = (number - self.numbers[0]) // turn.stride % turn.extent
            lane, column = lane + value * turn.lane, column + value * turn.column
        return lane, column


def shared(held: Layout, fragment: Layout, per: int, lanes: int) -> tuple[Layout, Warpgroups]:
    """What lies in tensor memory as each warpgroup counts it, from where it begins; and the warpgroups.

    `fragment` says who has which element, on wgid; `per` elements fill a column, and instructions move
    `lanes` of them. What parts of a column warpgroups shall have, or lanes that no instruction begins at,
    each of them gets, and the fragment tells whether that is wanted.

        postcondition  the element of the layout is where it was, counted from the beginning of its wgid
        refused        TW610 where wgid does not count up, each element once

    >>> from tilewise import parse
    >>> d = parse("S[(128, 256) : (1@TLane, 1@TCol)]")
    >>> halves = parse("S[(128, (2, 128)) : (1@tid_in_wg, (1@wgid, 1@reg))]")
    >>> layout, groups = shared(d, halves, 1, 32)
    >>> print(layout, groups.numbers, groups.begin(1))
    S[(128, (2, 128)) : (1@TLane, (1@wgid, 1@TCol))] (0, 1) (0, 128)
    """
    try:
        own, theirs = refinement(held, fragment)
    except Refused as no:
        raise _unfit(fragment, no.reason) from None
    parted = [_parted(one, other, per, lanes) for one, other in zip(own.shard, theirs.shard, strict=True)]
    copies = [Iter(it.extent, _group(it)) for it in theirs.replica if it.stride[WARPGROUP]]
    turns = [turn for _, turn in parted if turn is not None and turn.extent > 1]
    turns += [Turn(it.extent, it.stride[WARPGROUP]) for it in copies]
    groups = Warpgroups(_numbers(turns, theirs, fragment), tuple(turns))
    layout = own.with_parts(
        own.shape,
        tuple(stride for stride, _ in parted),
        (*own.replica, *copies),
        (own.offset + theirs.offset[WARPGROUP] @ WARPGROUP).nonzero,
    )
    return group(layout, *extents_of(held.shape)), groups


def _parted(one: Iter, other: Iter, per: int, lanes: int) -> tuple[Vector, Turn | None]:
    """A stride without what a warpgroup begins at, and that as a turn."""
    if not other.stride[WARPGROUP]:
        return one.stride, None
    column = 0 if one.stride[TCOL] % per else one.stride[TCOL]
    lane = SLAB if lanes == one.stride[TLANE] == SLAB else 0
    left = one.stride - column @ TCOL - lane @ TLANE
    turn = Turn(one.extent, other.stride[WARPGROUP], lane, column // per)
    return (left + other.stride[WARPGROUP] @ WARPGROUP).nonzero, turn


def _group(it: Iter) -> Vector:
    return as_vector(it.stride[WARPGROUP] @ WARPGROUP)


def _numbers(turns: Sequence[Turn], theirs: Layout, fragment: Layout) -> tuple[int, ...]:
    """All numbers of warpgroups, if each is one value of every turn."""
    ordered = sorted(turns, key=lambda turn: turn.stride)
    if any(turn.stride < 1 for turn in turns):
        raise _unfit(fragment, "they count down")
    if any(after.stride % (turn.stride * turn.extent) for turn, after in pairwise(ordered)):
        raise _unfit(fragment, "one has elements of several parts")
    found = [theirs.offset[WARPGROUP]]
    for turn in ordered:
        found = [number + value * turn.stride for number in found for value in range(turn.extent)]
    return tuple(sorted(found))


def _unfit(fragment: Layout, why: str) -> Refused:
    return Refused(
        "TW610",
        f"the warpgroups of the fragment {fragment} part no columns: {why}",
        witness={"fragment": str(fragment)},
        hint="such as S[(128, (2, 64)) : (1@tid_in_wg, (1@wgid, 1@reg))]: half of the columns each",
    )
