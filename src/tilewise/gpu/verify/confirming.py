"""Which instances of the catalogue's entries a part asks about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of


def confirming(entry: str, asked: Callable[[Mapping[str, Any]], bool]) -> tuple[str, ...]:
    """The words for `Part.confirms`: the instances of an entry for whose values `asked` holds.

    >>> confirming("mma.A", lambda values: values["dtype"] == "f64" and values["shape"].endswith("k4"))
    ('mma.A m8n8k4 f64', 'mma.A m16n8k4 f64')
    """
    every = instances_of(find(entry)).items()
    return tuple(f"{entry} {name}".strip() for name, values in every if asked(values))


def having(entry: str, known: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """The instances of an entry of fragments that have one of those shapes with its type."""
    return confirming(entry, lambda values: (values["shape"], values["dtype"]) in known)
