"""What an oracle says of instances of the catalogue: the same as ours, or else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise import Layout, LayoutError
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instance_of

Place = tuple[tuple[int, ...], dict[str, int]]
"""An index of ours and the place that it has by the oracle."""


@dataclass(frozen=True)
class Claim:
    """One thing that an oracle says of one instance."""

    entry: str
    instance: str
    of: str
    """What of the oracle's says so: an atom, a layout, an instruction."""
    different: str = ""
    """The first place where it says something else."""

    def __str__(self) -> str:
        return f"{self.of}: {self.entry} {self.instance}: {self.different or 'the same'}"


def claim(of: str, entry: str, places: Iterable[Place], **values: object) -> Claim:
    """The oracle's places of the elements of an instance, held against ours: all of them, and no other."""
    found = find(entry)
    bound = found.bind(named=values)  # type: ignore[arg-type]
    instance = instance_of(found, bound)
    try:
        layout = found.build(**bound).layout
    except LayoutError as error:
        return Claim(entry, instance, of, f"ours is refused: {error}")
    assert layout is not None
    return Claim(entry, instance, of, difference(layout, places))


def difference(layout: Layout, places: Iterable[Place]) -> str:
    """The first element that the oracle has elsewhere, or not at all; nothing where there is none."""
    left = set(range(layout.size))
    for index, place in places:
        try:
            flat = layout.flat_index(index)
        except LayoutError:
            return f"{index} is no element of ours"
        ours = {axis: steps for axis, steps in layout.place(flat).as_dict().items() if steps}
        theirs = {axis: steps for axis, steps in place.items() if steps}
        if ours != theirs:
            return f"{index} is at {theirs}, and at {ours} by ours"
        left.discard(flat)
    return f"{layout.coordinates(min(left))} is nowhere" if left else ""


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
