"""A mode in another order, by which nothing leaves its lane: as the K of a product may be, if both agree.

The columns of FROM are matched to those of TO by the lanes that they need, whichever registers these hold
them in. What is summed over may be summed in any order: then A and B take K in that order, and nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tilewise.check.shuffle.transfer import Places, places_of
from tilewise.core.algebra.recognition import recognise
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Lanes = tuple[frozenset[tuple[object, int]], ...]

MAX_ELEMENTS = 1 << 13


@dataclass(frozen=True, slots=True)
class Reorder:
    """Index k of a mode of TO takes what index `order[k]` of FROM has: then nothing leaves its lane."""

    mode: int
    order: tuple[int, ...]
    layout: Layout
    """The order as a layout from k to the index of FROM."""
    source: Layout
    """FROM with the mode in that order."""


def reorder(source: Layout, target: Layout, dtype: DType) -> Reorder | None:
    """An order of one mode by which nothing leaves its lane; the last mode that has one. None where none has.

    >>> from tilewise import S, laneid, reg
    >>> d = S[(8, (2, 4, 2)) : (4@laneid, (2@reg, 1@laneid, 1@reg))]
    >>> a = S[(8, (4, 4)) : (4@laneid, (1@laneid, 1@reg))]
    >>> print(reorder(d, a, DType.of("e4m3")).layout)
    S[(4, 2, 2) : (2, 8, 1)]
    """
    shape = extents_of(source.shape)
    if shape != extents_of(target.shape) or len(shape) < 2 or source.size > MAX_ELEMENTS:
        return None
    here, there = places_of(source, target, dtype)
    for mode in reversed(range(len(shape))):
        order = _matched(*(list(_lanes(own, shape, mode)) for own in (here, there)))
        if order is None or list(order) == list(range(shape[mode])):
            continue
        try:
            layout = recognise(list(order))
            tilers = tuple(layout if own == mode else None for own in range(len(shape)))
            return Reorder(mode, order, layout, source.compose(tilers))
        except (Refused, LayoutError):
            continue
    return None


def _lanes(places: Places, shape: Sequence[int], mode: int) -> Iterator[Lanes]:
    """For every index of a mode, the lanes of all elements that have it."""
    others = [range(extent) for own, extent in enumerate(shape) if own != mode]
    for k in range(shape[mode]):
        indices = ((*own[:mode], k, *own[mode:]) for own in product(*others))
        flat = (places.layout.flat_index(*index) for index in indices)
        yield tuple(frozenset((warp, lane) for warp, lane, _ in places.of(element)) for element in flat)


def _matched(here: list[Lanes], there: list[Lanes]) -> tuple[int, ...] | None:
    """For every index of TO one of FROM, the first that is free whose elements are in the lanes it needs."""
    free: dict[Lanes, list[int]] = {}
    for k, lanes in enumerate(here):
        free.setdefault(lanes, []).append(k)
    found = []
    for lanes in there:
        known = free.get(lanes) or next(
            (
                own
                for held, own in free.items()
                if own and all(one <= other for one, other in zip(lanes, held, strict=True))
            ),
            None,
        )
        if not known:
            return None
        found.append(known.pop(0))
    return tuple(found)
