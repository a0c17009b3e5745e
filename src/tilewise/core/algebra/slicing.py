"""Slices: any box of the index space as one layout, or as an exact list of them.

A box acts on every mode by itself, and the map is a sum over the modes, so the box is one layout iff
every interval is one. An interval [lo, hi) of a mode is the composition with hi - lo : 1 + lo, one
digit that steps by 1. An interval that is not one layout is cut where digits begin: blocks aligned to
digits are layouts, so at most 2k - 1 pieces do for k digits; the shortest path over the cuts finds few.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tilewise.core.algebra.composition import by_mode
from tilewise.core.algebra.levels import Code, Floors, Form, bits_of, digits_of, floors, is_chain, separate
from tilewise.core.algebra.modes import mode_layouts
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode, extents_of, spell
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Interval = tuple[int, int]
"""[first, past the last)."""

MAX_MIRRORED = 16
"""The most cuts that are mirrored in one another for a shorter list: the cost is by the fourth power."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of the sliced layout's index space, an interval a mode, and the layout of its elements."""

    box: tuple[Interval, ...]
    layout: Layout


class Slices(tuple[Piece, ...]):
    """The pieces of a slice, disjoint, covering, in row-major order of their corners."""

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        """Return the one layout of the slice; refuse a slice that takes several.

        >>> from tilewise import S
        >>> S[(8, 8) : (8, 1)].slice((2, 6), 3).layout
        S[4 : 8] + 19
        """
        if len(self) == 1:
            return self[0].layout
        raise Refused(
            "TW501",
            f"the region is {len(self)} layouts, not one",
            witness=self[1].box,
            hint="take them piece by piece: each has its box and its layout",
        )


def slices(layout: Layout, *region: Any, shape: Any = None) -> Slices:
    """Return the layout over a region: an interval (first, past the last), a slice or an index a mode.

    A mode that an index picks is gone from the pieces' layouts. Modes that are not named are kept whole,
    as are those of None and slice(None); `...` stands for all that are not named.
    With `shape` the region is one of the layout read in that shape.

        postcondition  the boxes are disjoint and cover the region; at x of its box, counted from the
                       box's corner, a piece's layout places what the layout places there; every mode
                       that is kept is one mode of it
        cost           by digits, at most 2k - 1 pieces for a mode of k digits

    >>> from tilewise import S
    >>> slices(S[(2, 2, 4) : (100, 10, 1)], (6, 10), shape=16).layout
    S[((2, 2),) : ((88, 1),)] + 12
    >>> for piece in slices(S[(4, 4) : (100, 1)], (3, 6), shape=16):
    ...     print(piece.box, piece.layout)
    ((3, 4),) S[1 : 0] + 3
    ((4, 6),) S[2 : 1] + 100
    """
    if shape is not None:
        layout = layout.reshape(shape)
    if layout.order != "row":
        pieces_in_row = slices(layout.in_order("row"), *region)
        return Slices([Piece(piece.box, piece.layout.in_order(layout.order)) for piece in pieces_in_row])
    intervals, picked = _region(layout, region)
    reach = sum(extent * abs(steps) for extent, stride in layout.digits for _, steps in stride.terms)
    code = Code(layout.axes, 2 * bits_of(reach) + 2 * bits_of(layout.size) + 8)
    modes = [_Mode(part, code) for part in mode_layouts(layout)]
    by_mode = [mode.pieces(*interval) for mode, interval in zip(modes, intervals, strict=True)]
    pieces = []
    for parts in product(*by_mode):
        shape_of: list[Mode] = []
        strides: list[Vector] = []
        offset = layout.offset
        for i, part in enumerate(parts):
            offset = offset + part.start
            if i not in picked:
                shape_of.append(part.mode)
                strides += part.strides
        made = layout.with_parts(tuple(shape_of), tuple(strides), layout.replica, offset)
        pieces.append(Piece(tuple(part.interval for part in parts), made))
    return Slices(pieces)


def _region(layout: Layout, region: tuple[Any, ...]) -> tuple[list[Interval], set[int]]:
    """Return an interval a mode, and the modes that are picked by a single index."""
    extents = extents_of(layout.shape)
    region = by_mode(region, len(extents))
    if len(region) > len(extents):
        raise LayoutError(
            "TW201",
            f"a region of {len(region)} modes in a layout of {len(extents)}, {spell(layout.shape)}",
            hint="name at most one interval a mode; shape= slices in another shape",
        )
    asked = [*region, *(None for _ in extents[len(region) :])]
    picked = {i for i, part in enumerate(region) if hasattr(part, "__index__")}
    return [
        _interval(part, extent, i) for i, (part, extent) in enumerate(zip(asked, extents, strict=True))
    ], picked


def _interval(part: Any, extent: int, mode: int) -> Interval:
    if part is None:
        return 0, extent
    if isinstance(part, slice):
        if part.step not in (None, 1):
            raise LayoutError(
                "TW201",
                f"mode {mode}: a region has no step, and {part.step} is one",
                hint="every n-th element is a composition: compose with S[extent : n]",
            )
        first = 0 if part.start is None else as_int(part.start, "where a region starts")
        last = extent if part.stop is None else as_int(part.stop, "where a region ends")
    elif isinstance(part, tuple | list) and any(isinstance(end, tuple | list | slice) for end in part):
        raise LayoutError(
            "TW201",
            f"mode {mode}: a region has one interval a mode, and {part!r} looks inside",
            hint="slice in a shape that has the inner modes for modes, such as shape=(8, 16, 64)",
        )
    elif isinstance(part, tuple | list) and len(part) == 2:
        first, last = (as_int(end, "an end of a region") for end in part)
    elif hasattr(part, "__index__"):
        first = as_int(part, "an index")
        last = first + 1
        if not 0 <= first < extent:
            raise LayoutError(
                "TW201",
                f"index {first} is outside 0..{extent - 1} of mode {mode}",
                hint="an index counts from 0; negative ones do not count from the back",
            )
    else:
        raise LayoutError(
            "TW201", f"mode {mode}: {part!r} is no region", hint="write (first, past the last), or one index"
        )
    if not 0 <= first < last <= extent:
        raise LayoutError(
            "TW201",
            f"mode {mode}: {first}:{last} is no region of 0:{extent}",
            hint="a region holds something and stays inside; negative ends do not count from the back",
        )
    return first, last


@dataclass(frozen=True, slots=True)
class _Part:
    """One interval of a mode as one layout: its mode and strides, and where it starts."""

    interval: Interval
    mode: Mode
    strides: tuple[Vector, ...]
    start: Vector


class _Mode:
    """One mode in its floor form, and its intervals."""

    def __init__(self, part: Layout, code: Code) -> None:
        self.part, self.code = part, code
        self.floors: Floors = floors([(e, code.number(stride)) for e, stride in part.digits])

    def pieces(self, first: int, last: int) -> list[_Part]:
        """Return the interval in as few pieces as the cuts allow."""
        if last - first == self.floors.size:
            mode = self.part.shape[0] if len(self.part.shape) == 1 else self.part.shape
            return [_Part((first, last), mode, self.part.strides, Vector())]
        whole = self.form(first, last)
        if whole is not None:
            return [self.written(first, last, whole)]
        cuts = self.cuts(first, last)
        path = self.shortest(cuts)
        if len(path) > 2 and len(cuts) <= MAX_MIRRORED:
            # a piece may turn at a place where a digit begins
            mirrored = {2 * middle - end for middle in cuts for end in cuts}
            path = self.shortest(sorted(cut for cut in mirrored if first <= cut <= last))
        return path

    def form(self, first: int, last: int) -> Form | None:
        """Return the interval as one digit that steps by 1, or None if some level allows no such digit."""
        extent = last - first
        if extent == 1:  # one element steps nowhere
            return {1: 0}
        form: Form = {}
        if separate(self.floors, first, [(extent, 1)], [form]):
            return None
        if first % extent == 0:  # a digit that ends with the interval stays written
            written = zip(self.floors.places, self.floors.weights, strict=True)
            form |= {place: weight for place, weight in written if place == extent}
        form = {place: weight for place, weight in form.items() if weight or place == 1}
        return form if is_chain(form, extent) else None

    def cuts(self, first: int, last: int) -> list[int]:
        """Return the ends, and the first and last places of digits inside."""
        found = {first, last}
        for place in self.floors.places[1:]:
            up, down = -(-first // place) * place, last // place * place
            found |= {up, up + place, down, down - place}
        return sorted(cut for cut in found if first <= cut <= last)

    def shortest(self, cuts: list[int]) -> list[_Part]:
        """Return the fewest intervals between cuts that are layouts, found from the front."""
        fewest: dict[int, tuple[int, int, Form]] = {cuts[0]: (0, cuts[0], {})}
        for last in cuts[1:]:
            for first in sorted(fewest, key=lambda cut: fewest[cut][0]):
                form = self.form(first, last)
                if form is not None:
                    fewest[last] = (fewest[first][0] + 1, first, form)
                    break
        path, last = [], cuts[-1]
        while last != cuts[0]:
            _, first, form = fewest[last]
            path.append(self.written(first, last, form))
            last = first
        return path[::-1]

    def written(self, first: int, last: int, form: Form) -> _Part:
        """Return the part of an interval whose form is known."""
        digits = digits_of(form, last - first)
        extents = tuple(extent for extent, _ in digits)
        strides = tuple(self.code.vector(stride) for _, stride in digits)
        start = self.code.vector(self.floors(first))
        return _Part((first, last), extents[0] if len(extents) == 1 else extents, strides, start)
