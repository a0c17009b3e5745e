"""How each entry is known to be right, from one small table beside this module.

`confirmed.json` maps the name of an entry to a list of words: `document` (it is what the source says),
`device: H200` (a kernel had the hardware say so), `oracle: NAME` (another implementation says the same).
`tilewise verify --record` adds the devices.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

TABLE = "confirmed.json"
WAYS = re.compile(r"document|(device|oracle): \S.*")


@cache
def confirmations() -> dict[str, tuple[str, ...]]:
    """{name of an entry: how it is confirmed}.

    >>> "document" in confirmations()["wgmma.D"]
    True
    """
    return checked(json.loads(Path(__file__).with_name(TABLE).read_text(encoding="utf-8")))


def checked(table: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """The table, every way of it known; words of no meaning are refused.

    >>> checked({"wgmma.D": ["hearsay"]})
    Traceback (most recent call last):
        ...
    ValueError: wgmma.D is confirmed by 'hearsay', which is none of document, device: ..., oracle: ...
    """
    for name, ways in table.items():
        for way in ways:
            if not WAYS.fullmatch(way):
                known = "document, device: ..., oracle: ..."
                raise ValueError(f"{name} is confirmed by {way!r}, which is none of {known}")
    return {name: tuple(ways) for name, ways in table.items()}


def confirmed_by(name: str) -> tuple[str, ...]:
    """How the entry of that name is confirmed."""
    return confirmations().get(name, ())
