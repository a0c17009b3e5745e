"""Where elements of tensor memory lie, as the loads of warps see them: words of 32 bits and their parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.check.tensor_memory.warpgroups import WARPGROUP, Warpgroups, shared
from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS, COLUMNS, LANES, WARP_LANES
from tilewise.hardware.tcgen05.datapaths import SLAB

CTA, WARP = Axis("cbx"), Axis("wid_in_wg")
ROW = Axis("row")
"""A lane of tensor memory, of the 32 that its warp reaches."""
COLUMN, PART = Axis("column", storage=True), Axis("part", storage=True)
"""A word of 32 bits, and the part of it that an element has."""


@dataclass(frozen=True)
class Words:
    """Elements in tensor memory, of which 1@TCol is `taken` bits.

        postcondition  `places` has each element's CTA, warp, row, column and part; and where warpgroups
                       share them its warpgroup, from whose beginning they count

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
        """Return those of a layout over TLane, TCol, and cbx of a pair.

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
        """Return them as the warpgroups of a fragment share them, by instructions of so many lanes."""
        if WARPGROUP not in fragment.axes or fragment.extremes(WARPGROUP) == (0, 0):
            return self
        layout, groups = shared(self.layout, fragment, self.parts, lanes)
        return replace(self, places=_split(layout, self.parts), groups=groups)

    @property
    def parts(self) -> int:
        """Parts of a word."""
        return COLUMN_BITS // self.taken

    @property
    def counted(self) -> str:
        """The type that 1@TCol is: that of the elements, or as many bits as they take."""
        return self.dtype.name if self.dtype.bits == self.taken else f"b{self.taken}"

    @cached_property
    def warps(self) -> range:
        """The warps of a warpgroup that reach elements."""
        return self._reach("wid_in_wg")

    @cached_property
    def columns(self) -> range:
        """The columns from the first that has elements to the last."""
        return self._reach("column")

    @cached_property
    def ctas(self) -> int:
        """The CTAs of a pair that have elements."""
        return len(self._reach("cbx"))

    @cached_property
    def slabs(self) -> tuple[int, ...]:
        """Which halves of each warp's lanes have elements: 0 is lanes 0 to 15, 1 is lanes 16 to 31."""
        rows = self._reach("row")
        return tuple(range(rows[0] // SLAB, rows[-1] // SLAB + 1))

    @property
    def low_half(self) -> bool:
        """Whether elements lie in the lower halves of their words alone: then two words fill a register."""
        return (self._reach("part")[-1] + 1) * self.taken * 2 <= COLUMN_BITS

    @cached_property
    def filled(self) -> int:
        """How many words of one CTA have elements, of those that share them of one warpgroup."""
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
