"""Elements of tensor memory as the loads of warps see them: words of 32 bits and their parts.

Warp w of every warpgroup reaches the same 32 lanes. So several warpgroups share elements by columns, or by
the halves of those lanes. Each warpgroup executes the same instructions, from its own address on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from tilewise.core.algebra.modes import group, refinement
from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS, COLUMNS, LANES, WARP_LANES
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
    """Lanes from the beginning of one warpgroup to that of the next."""
    column: int = 0


@dataclass(frozen=True, slots=True)
class Warpgroups:
    """The numbers of the warpgroups in their CTA, and their beginnings.

    >>> two = Warpgroups((0, 1), (Turn(2, 1, column=128),))
    >>> two.begin(0), two.begin(1)
    ((0, 0), (0, 128))
    """

    numbers: tuple[int, ...] = (0,)
    turns: tuple[Turn, ...] = ()

    @property
    def named(self) -> bool:
        """Return True if a fragment names the warpgroups: any but the first."""
        return self.numbers != (0,)

    @property
    def apart(self) -> bool:
        """Return True if some warpgroups begin elsewhere than the first."""
        return any(turn.lane or turn.column for turn in self.turns)

    def begin(self, number: int) -> tuple[int, int]:
        """Return (lane, column) that are added to those of the first warpgroup's instructions."""
        lane = column = 0
        for turn in self.turns:
            value = (number - self.numbers[0]) // turn.stride % turn.extent
            lane, column = lane + value * turn.lane, column + value * turn.column
        return lane, column


def shared(held: Layout, fragment: Layout, per: int, lanes: int) -> tuple[Layout, Warpgroups]:
    """Return the elements as each warpgroup counts them, from its own beginning, and the warpgroups.

    `fragment` gives the warpgroup of each element, on wgid; `per` elements fill a column, and instructions
    move `lanes` lanes. Every warpgroup gets a shared column, or a lane at which no instruction begins, whole.
    The fragment decides later whether that is right.

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
    """Return a stride without a warpgroup's beginning, and the beginning as a turn."""
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
    """Return all numbers of warpgroups, if each is one value of every turn."""
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


# -- words --------------------------------------------------------------------------------------------


CTA, WARP = Axis("cbx"), Axis("wid_in_wg")
ROW = Axis("row")
"""A lane of tensor memory, of the 32 that its warp reaches."""
COLUMN, PART = Axis("column", storage=True), Axis("part", storage=True)
"""A part of a word of 32 bits: the one that an element has."""


@dataclass(frozen=True)
class Words:
    """Elements in tensor memory, of which 1@TCol is `taken` bits.

        postcondition  `places` has each element's CTA, warp, row, column and part; where
                       warpgroups share them, also its warpgroup, and the others count from its beginning


    >>> from tilewise.hardware.tcgen05.datapaths import DataPath
    >>> d = Words.of(DataPath.of(64).accumulator(128, slab=1), "f32")
    >>> d.warps, d.slabs, d.columns, d.parts
    (range(0, 4), (1,), range(0, 128), 1)
    """

    layout: Layout
    dtype: DType
    taken: int
    places: Layout
    groups: Warpgroups = Warpgroups()

    @classmethod
    def of(cls, layout: Layout, dtype: DType | str, taken: int = 0) -> Words:
        """Return the words of a layout over TLane, TCol, and cbx of a pair.

        refused  TW610 where elements are no parts of words
        """
        element = DType.of(dtype)
        each = taken or element.bits
        names = axes_of(layout)
        for strange in [axis for axis in layout.axes if axis.name not in ("TLane", "TCol", "cbx")]:
            raise LayoutError(
                "TW203",
                f"{layout} has the axis {strange}, and tensor memory has TLane and TCol, of a pair cbx too",
                hint="such as tcgen05.D(f32, m=128, n=64)",
            )
        refuse_swizzled(layout, f"{layout}", "ask for it without the swizzle")
        if COLUMN_BITS % each:
            raise Refused(
                "TW610",
                f"elements of {each} bits are no parts of columns, which have {COLUMN_BITS}",
                witness={"dtype": element.name, "bits": each},
                hint="ask for the words that hold them, such as b32",
            )
        per = COLUMN_BITS // each
        for name, many, unit, noun in (("TLane", LANES, 1, "lane"), ("TCol", COLUMNS, per, "column")):
            low, high = layout.extremes(name) if name in names else (0, 0)
            if low < 0 or high >= many * unit:
                raise LayoutError(
                    "TW203",
                    f"{layout} reaches {noun} {(low if low < 0 else high) // unit}",
                    hint=f"tensor memory has lanes 0 to {LANES - 1} and columns 0 to {COLUMNS - 1} of 32 "
                    "bits",
                )
        return cls(layout, element, each, _split(layout, per))

    def among(self, fragment: Layout, lanes: int) -> Words:
        """Return the words as the warpgroups of a fragment share them, by instructions of so many lanes."""
        if WARPGROUP not in fragment.axes or fragment.extremes(WARPGROUP) == (0, 0):
            return self
        layout, groups = shared(self.layout, fragment, self.parts, lanes)
        return replace(self, places=_split(layout, self.parts), groups=groups)

    @property
    def parts(self) -> int:
        """Return the number of parts of a word."""
        return COLUMN_BITS // self.taken

    @property
    def counted(self) -> str:
        """Return the name of the type that 1@TCol counts: the elements', or as many bits as they take."""
        return self.dtype.name if self.dtype.bits == self.taken else f"b{self.taken}"

    @cached_property
    def warps(self) -> range:
        """Return the warps of a warpgroup that reach elements."""
        return self._reach("wid_in_wg")

    @cached_property
    def columns(self) -> range:
        """Return the columns from the first that has elements to the last."""
        return self._reach("column")

    @cached_property
    def ctas(self) -> int:
        """Return the number of CTAs of a pair that have elements."""
        return len(self._reach("cbx"))

    @cached_property
    def slabs(self) -> tuple[int, ...]:
        """Return the halves of each warp's lanes that have elements: 0 is lanes 0 to 15, 1 is 16 to 31."""
        rows = self._reach("row")
        return tuple(range(rows[0] // SLAB, rows[-1] // SLAB + 1))

    @property
    def low_half(self) -> bool:
        """Return True if elements lie in the lower halves of their words alone: two words then fill a
        register.
        """
        return (self._reach("part")[-1] + 1) * self.taken * 2 <= COLUMN_BITS

    @cached_property
    def filled(self) -> int:
        """Return the number of words of one CTA that have elements; of one warpgroup, where warpgroups share
        them.
        """
        if not self.places.injective:
            one, other, place = self.places.injective.witness
            both = " and ".join(str(self.layout.coordinates(flat)) for flat in (one, other))
            raise Refused(
                "TW610",
                f"elements {both} lie in one place",
                witness={"elements": [one, other], "place": place},
                hint="what is stored there is one element of the two",
            )
        count = 1
        for it in (*self.places.shard, *self.places.replica):
            moves = any(it.stride[axis] for axis in ("wid_in_wg", "row", "column"))
            if moves and not it.stride[WARPGROUP]:
                count *= it.extent
        return count

    def _reach(self, axis: str) -> range:
        first, last = self.places.extremes(axis) if axis in axes_of(self.places) else (0, 0)
        return range(first, last + 1)


def axes_of(layout: Layout) -> set[str]:
    """Return the names of a layout's axes."""
    return {axis.name for axis in layout.axes}


def refuse_swizzled(layout: Layout, what: str, hint: str) -> None:
    """Refuse a layout with a swizzle."""
    if any(swizzle.bits for swizzle in layout.swizzles):
        raise Refused(
            "TW610",
            f"{what} is swizzled, and no load of tensor memory is",
            witness={"swizzles": len(layout.swizzles)},
            hint=hint,
        )


def _split(layout: Layout, per: int) -> Layout:
    """Return TLane as warp and row, TCol as column and part."""
    for name, into, whole in (
        ("TLane", (WARP, WARP_LANES, ROW), "a warp's 32 lanes"),
        ("TCol", (COLUMN, per, PART), "words of 32 bits"),
    ):
        try:
            layout = layout.split_axis(name, into) if name in axes_of(layout) else layout
        except Refused as no:
            raise Refused(
                "TW610",
                f"{layout} is cut by {whole} as no layout says: {no.reason}",
                witness=no.witness,
                hint="ask for a part of it that begins and ends with them",
            ) from None
    return layout
