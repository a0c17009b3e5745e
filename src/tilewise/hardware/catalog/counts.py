"""The number of confirmed instances of each entry, by way of confirmation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tilewise.hardware.catalog.confirmed import grouped, project_of
from tilewise.hardware.catalog.entry import Entry
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.catalog.registry import entries

KINDS = {
    "device": "a GPU said so",
    "two_oracles": "two or more other implementations say the same as the document",
    "one_oracle": "one other implementation does",
    "document_alone": "the document alone says so",
}
"""The ways to confirm an instance, the strongest first; each instance is counted once."""


@dataclass(frozen=True, slots=True)
class Count:
    """The instances of an entry, and the number that each kind confirms.

    >>> counted = count_of(entries().find("wgmma.A"))
    >>> counted.instances, counted.kinds["device"], counted.alone
    (8, 8, ())
    """

    name: str
    kinds: Counter[str]
    alone: tuple[str, ...]
    """Those that the document alone confirms."""

    @property
    def instances(self) -> int:
        """Return the number of instances."""
        return self.kinds.total()

    def data(self) -> dict[str, object]:
        """Return the counts as JSON."""
        numbers = {kind: self.kinds[kind] for kind in KINDS}
        return {"entry": self.name, "instances": self.instances, **numbers, "alone": grouped(self.alone)}


def kind_of(ways: tuple[str, ...]) -> str:
    """Return the strongest confirmation; two oracles of one project, CuTe and CuTe DSL, are one.

    >>> kind_of(("document", "oracle: CuTe", "oracle: Triton"))
    'two_oracles'
    """
    if any(way.startswith("device: ") for way in ways):
        return "device"
    projects = {project for way in ways if (project := project_of(way))}
    return "two_oracles" if len(projects) > 1 else "one_oracle" if projects else "document_alone"


def count_of(entry: Entry) -> Count:
    """Return the count of one entry."""
    kinds = {name: kind_of(ways) for name, ways in _ways(entry).items()}
    alone = tuple(name for name, kind in kinds.items() if kind == "document_alone")
    return Count(entry.name, Counter(kinds.values()), alone)


def ways_of(entry: Entry) -> dict[str, int]:
    """Return {way of confirmation: the number of the entry's instances}.

    >>> ways_of(entries().find("wgmma.D"))
    {'document': 82, 'oracle: tensor-layouts': 82, 'device: H200': 82}
    """
    numbers = Counter(way for ways in _ways(entry).values() for way in ways)
    return {way: numbers[way] for way in entry.confirmed}


def _ways(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Return {instance: its ways of confirmation}."""
    every = instances_of(entry).items()
    return {name: entry.confirmed_for(entry.build(**values), name) for name, values in every}


@cache
def counts() -> tuple[Count, ...]:
    """Return the count of every entry, in the order of the catalogue."""
    return tuple(count_of(entry) for entry in entries().values())


def total(some: Sequence[Count]) -> Count:
    """Return the sum of some counts."""
    kinds = sum((count.kinds for count in some), Counter[str]())
    return Count("all", kinds, tuple(f"{count.name} {name}" for count in some for name in count.alone))


def rows_of(some: Sequence[Count]) -> list[tuple[str, ...]]:
    """Return a table: the head, a row an entry, their sum."""
    head = ("entry", "instances", *(kind.replace("_", " ") for kind in KINDS))
    rows = [tuple(str(value) for value in count.data().values())[:-1] for count in (*some, total(some))]
    return [head, *rows]
