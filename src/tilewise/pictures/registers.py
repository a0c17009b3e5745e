"""The elements that the first owners of registers hold, and the catalogue's name of the layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tilewise.core.axes import STORAGE
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of

SHOWN = 4
"""The most owners in the list."""

ELEMENTS = 8
"""The most elements of each in the list."""

MOST = 1 << 16
"""The most elements of a layout whose holders are searched."""

_FRAGMENTS = ("wgmma.D", "wgmma.A", "mma.A", "mma.B", "mma.D")


@dataclass(frozen=True, slots=True)
class Holder:
    """An owner and its elements, in the order of its storage."""

    owner: dict[str, int]
    elements: tuple[tuple[int, ...], ...]
    more: int


def holders_of(layout: Layout) -> Iterator[Holder]:
    """Yield what the first owners hold; nothing where nobody owns anything.

    >>> from tilewise import S, laneid, reg
    >>> for holder in holders_of(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]):
    ...     print(holder.owner, *holder.elements)
    {'laneid': 0} (0, 0, 0) (0, 0, 1)
    {'laneid': 1} (0, 1, 0) (0, 1, 1)
    {'laneid': 2} (0, 2, 0) (0, 2, 1)
    {'laneid': 3} (0, 3, 0) (0, 3, 1)
    """
    owners = [axis for axis in layout.axes if axis.kind != STORAGE]
    if not owners or layout.size > MOST:
        return
    counted = max(owners, key=layout.span)
    low, high = layout.extremes(counted)
    for number in range(low, min(high + 1, low + SHOWN)):
        owner = {axis.name: number if axis == counted else layout.min(axis) for axis in owners}
        held = _held(layout, owner)
        if held:
            yield Holder(owner, tuple(held[:ELEMENTS]), max(0, len(held) - ELEMENTS))


def _held(layout: Layout, owner: dict[str, int]) -> list[tuple[int, ...]]:
    """Return the elements of an owner, in the order of its storage."""
    storage = [axis for axis in layout.axes if axis.kind == STORAGE]

    def place(index: tuple[int, ...]) -> list[int]:
        at = next(p for p in layout.places(*index) if all(p[name] == n for name, n in owner.items()))
        return [at[axis.name] for axis in storage]

    return sorted((layout.coordinates(layout.flat_index(*index)) for index in layout.who(**owner)), key=place)


def known_as(layout: Layout) -> tuple[str, ...]:
    """Return the calls of the catalogue whose fragment this is, map for map.

    >>> from tilewise.hardware.calls import parse
    >>> known_as(parse("S[((8, 2), 4, 2) : ((4@laneid, 2@reg), 1@laneid, 1@reg)]"))
    ()
    >>> known_as(parse("S[(16, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]"))
    ()
    >>> known_as(parse("S[((4, 2, 8), (4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (1@laneid, 1@reg))]"))
    ('wgmma.D(f16, n=8)', 'wgmma.D(f32, n=8)', 'wgmma.D(s32, n=8)')
    """
    if not {"laneid", "reg"} <= {axis.name for axis in layout.axes}:
        return ()
    extents = extents_of(layout.shape)
    return tuple(call for call, known in _fragments(extents) if known.same(layout).answer)


@cache
def _fragments(extents: tuple[int, ...]) -> tuple[tuple[str, Layout], ...]:
    """Return the fragments of the catalogue that have a shape, by the call that asks for one of them."""
    from tilewise.hardware.catalog.instances import instances_of
    from tilewise.hardware.catalog.registry import find

    found: list[tuple[str, Layout]] = []
    for name in _FRAGMENTS:
        entry = find(name)
        for values in instances_of(entry).values():
            try:
                layout = entry.build(**values).layout
            except LayoutError:
                continue
            if layout is not None and extents_of(layout.shape) == extents:
                found.append((entry.spelled(values), layout))
    return tuple(found)
