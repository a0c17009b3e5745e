"""The claims of an oracle about instances of the catalogue: the same as ours, or else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilewise import Layout, LayoutError
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instance_of
from tilewise.tables import table

Place = tuple[tuple[int, ...], dict[str, int]]
"""An index of ours and the place that it has by the oracle."""


@dataclass(frozen=True)
class Claim:
    """One thing that an oracle says of one instance."""

    entry: str
    instance: str
    of: str
    """The oracle's own thing that says so: an atom, a layout, an instruction."""
    different: str = ""
    """The first place where it says something else."""

    def __str__(self) -> str:
        return f"{self.of}: {self.entry} {self.instance}: {self.different or 'the same'}"


def claim(of: str, entry: str, places: Iterable[Place], **values: object) -> Claim:
    """The oracle's places of the elements of an instance, held against ours: all of them, and no other."""
    found = find(entry)
    given = {name: value for name, value in values.items() if value is not None}
    bound = found.bind(named=given)  # type: ignore[arg-type]
    instance = instance_of(found, bound)
    try:
        layout = found.build(**bound).layout
    except LayoutError as error:
        return Claim(entry, instance, of, f"ours is refused: {error}")
    assert layout is not None
    return Claim(entry, instance, of, difference(layout, places))


def difference(layout: Layout, places: Iterable[Place]) -> str:
    """Return the first element that the oracle has elsewhere, or not at all; nothing where both agree.

    Of an element with several copies the oracle names each.
    """
    ours = _places(layout)
    named: list[list[Moved]] = [[] for _ in ours]
    extents = extents_of(layout.shape)
    for index, place in places:
        flat = _flat(index, extents)
        if flat is None:
            return f"{index} is no element of ours"
        theirs = _moved(place)
        if theirs not in ours[flat]:
            return f"{index} is at {theirs}, and at {ours[flat][0]} by ours"
        named[flat].append(theirs)
    for flat, copies in enumerate(named):
        if not copies:
            return f"{layout.coordinates(flat)} is nowhere"
        for copy in ours[flat]:
            if copy not in copies:
                return f"{layout.coordinates(flat)} is not at {copy}"
    return ""


Moved = dict[str, int]
"""A place without the axes along which it is at 0."""


@lru_cache(maxsize=8)
def _places(layout: Layout) -> list[list[Moved]]:
    """All places of every element, its flat index as that of the list."""
    found = table(layout)
    rows = [column.reshape(layout.size, -1).tolist() for column in found.columns.values()]
    return [
        [_moved(dict(zip(found.axes, steps, strict=True))) for steps in zip(*copies, strict=True)]
        for copies in zip(*rows, strict=True)
    ]


def _flat(index: tuple[int, ...], extents: tuple[int, ...]) -> int | None:
    if len(index) != len(extents):
        return None
    flat = 0
    for position, extent in zip(index, extents, strict=True):
        if not 0 <= position < extent:
            return None
        flat = flat * extent + position
    return flat


def _moved(place: Mapping[str, int]) -> Moved:
    return {axis: steps for axis, steps in place.items() if steps}


def confirmed_in(claims: Iterable[Claim]) -> dict[str, set[str]]:
    """{entry: the instances of which all that the oracle says is the same}."""
    every = [*claims]
    wrong = disputed(every)
    found: dict[str, set[str]] = {}
    for said in every:
        if (said.entry, said.instance) not in wrong:
            found.setdefault(said.entry, set()).add(said.instance)
    return found


def disputed(claims: Iterable[Claim]) -> dict[tuple[str, str], Claim]:
    """{entry and instance: the first thing that the oracle says otherwise}."""
    found: dict[tuple[str, str], Claim] = {}
    for said in claims:
        if said.different:
            found.setdefault((said.entry, said.instance), said)
    return found
