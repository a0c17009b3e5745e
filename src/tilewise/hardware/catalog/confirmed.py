"""The confirmations of each entry and its instances, from one table beside this module.

`confirmed.json` maps the name of an entry to words: `document` (the source has it), `device: H200` (a kernel
showed it on the hardware), `oracle: NAME` (another implementation agrees). A list of words holds for every
instance of the entry. Where instances differ, each word has its own: `"all"`, or texts that list them,
`m16n8k16: f16 bf16` for `m16n8k16 f16` and `m16n8k16 bf16`.

`tools.record` writes the devices, `make oracle` checks the oracles against the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby

from tilewise.hardware.sources import table_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLE = "confirmed.json"
ALL = "all"
WAYS = re.compile(r"document|(device|oracle): \S.*")

PROJECTS = {"CUTLASS": "CuTe", "vLLM": "vLLM"}
"""{document that is a program: the project whose oracles are that program}."""

Instances = frozenset[str] | None
"""The instances that a way confirms; None for all."""
Ways = Mapping[str, Instances]


@cache
def confirmations() -> dict[str, Ways]:
    """Return {name of an entry: {way of confirmation: its instances}}.

    >>> confirmations()["wgmma.D"]["document"] is None
    True
    """
    return checked(table_beside(__file__, TABLE))


def checked(table: Mapping[str, Any]) -> dict[str, Ways]:
    """Return the table of the file, parsed; refuse unknown words.

    >>> checked({"mma.A": {"document": "all", "device: H200": ["m16n8k16: f16 bf16"]}})["mma.A"]["document"]
    >>> checked({"wgmma.D": ["hearsay"]})
    Traceback (most recent call last):
        ...
    ValueError: wgmma.D is confirmed by 'hearsay', which is not one of document, device: ..., oracle: ...
    """
    for name, ways in table.items():
        for way in ways:
            if not WAYS.fullmatch(way):
                known = "document, device: ..., oracle: ..."
                raise ValueError(f"{name} is confirmed by {way!r}, which is not one of {known}")
    return {name: _read(ways) for name, ways in table.items()}


def _read(ways: list[str] | dict[str, str | list[str]]) -> Ways:
    if not isinstance(ways, dict):
        return dict.fromkeys(ways)
    return {way: None if said == ALL else spelled_out(said) for way, said in ways.items()}


def spelled_out(groups: Iterable[str]) -> frozenset[str]:
    """Return the instances that some texts list.

    >>> sorted(spelled_out(["m8n8k4: f16 f64", "x1 x2"]))
    ['m8n8k4 f16', 'm8n8k4 f64', 'x1', 'x2']
    """
    parted = [group.rpartition(": ") for group in groups]
    return frozenset(f"{first} {last}".strip() for first, _, rest in parted for last in rest.split())


def grouped(instances: Iterable[str]) -> list[str]:
    """Return texts that list the instances; those that differ only in the last word share a text.

    >>> grouped(["m8n8k4 f64", "x1", "m8n8k4 f16", "x2"])
    ['x1 x2', 'm8n8k4: f16 f64']
    """
    parted = sorted(instance.rpartition(" ")[::2] for instance in instances)
    return [
        f"{first}: {' '.join(last for _, last in group)}".removeprefix(": ")
        for first, group in groupby(parted, key=lambda pair: pair[0])
    ]


def project_of(way: str) -> str:
    """Return the project of an oracle: CuTe and CuTe DSL share one. A document or a device has none.

    >>> project_of("oracle: CuTe DSL"), project_of("device: H200")
    ('CuTe', '')
    """
    kind, _, name = way.partition(": ")
    return name.split()[0] if kind == "oracle" else ""


def confirmed_by(name: str, instance: str | None = None) -> tuple[str, ...]:
    """Return the confirmations of an entry: of one instance, or of any.

    >>> confirmed_by("wgmma.figure", "170")
    ('document',)
    """
    ways = confirmations().get(name, {})
    return tuple(way for way, those in ways.items() if instance is None or those is None or instance in those)
