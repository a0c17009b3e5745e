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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CTA, WARP = Axis("cbx"), Axis("wid_in_wg")
ROW = Axis("row")
"""A lane of tensor memory, of the 32 that its warp reaches."""
COLUMN, PART = Axis("column", storage=True), Axis("part", storage=True)
"""A word of 32 bits, and the part of it that an element has."""

_KNOWN = ("TLane", "TCol", "cbx")


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
        """Of a layout over TLane, TCol, and cbx of a pair; a refusal where elements are no parts of words."""
        element = DType.of(dtype)
        each = taken or element.bits
        _check_axes(layout)
        if COLUMN_BITS % each:
            raise Refused(
                "TW610",
                f"elements of {each} bits are no parts of columns, which have {COLUMN_BITS}",
                witness={"dtype": element.name, "bits": each},
                hint="ask for the words that hold them, such as b32",
            )
        per = COLUMN_BITS // each
        _check_range(layout, "TLane", LANES, 1)
        _check_range(layout, "TCol", COLUMNS * per, per)
        return cls(layout, element, each, _split(layout, per))

    def among(self, fragment: Layout, lanes: int) -> Words:
        """As the warpgroups of a fragment share them, by instructions of so many lanes."""
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
        if axis not in {str(own) for own in self.places.axes}:
            return range(1)
        first, last = self.places.extremes(axis)
        return range(first, last + 1)


def _check_axes(layout: Layout) -> None:
    strange = [str(axis) for axis in layout.axes if str(axis) not in _KNOWN]
    if strange:
        raise LayoutError(
            "TW203",
            f"{layout} has the axis {strange[0]}, and tensor memory has TLane and TCol, of a pair cbx too",
            hint="such as tcgen05.D(f32, m=128, n=64)",
        )
    if any(swizzle.bits for swizzle in layout.swizzles):
        raise Refused(
            "TW610",
            f"{layout} is swizzled, and no load of tensor memory is",
            witness={"swizzles": len(layout.swizzles)},
            hint="ask for it without the swizzle",
        )


def _check_range(layout: Layout, axis: str, many: int, per: int) -> None:
    if axis not in {str(own) for own in layout.axes}:
        return
    low, high = layout.extremes(axis)
    if low < 0 or high >= many:
        outside = low if low < 0 else high
        words = {"TLane": f"lane {outside}", "TCol": f"column {outside // per}"}[axis]
        raise LayoutError(
            "TW203",
            f"{layout} reaches {words}",
            hint=f"tensor memory has lanes 0 to {LANES - 1} and columns 0 to {COLUMNS - 1} of 32 bits",
        )


def _split(layout: Layout, per: int) -> Layout:
    """TLane as warp and row, TCol as column and part."""
    splits: dict[str, Any] = {"TLane": (WARP, WARP_LANES, ROW), "TCol": (COLUMN, per, PART)}
    for name in [str(axis) for axis in layout.axes]:
        if name in splits:
            try:
                layout = layout.split_axis(name, splits[name])
            except Refused as no:
                whole = "a warp's 32 lanes" if name == "TLane" else "words of 32 bits"
                raise Refused(
                    "TW610",
                    f"{layout} is cut by {whole} as no layout says: {no.reason}",
                    witness=no.witness,
                    hint="ask for a part of it that begins and ends with them",
                ) from None
    return layout
