"""Calls of the catalogue that the explorer's page knows: it has a table of them, and builds none itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Entry
from tilewise.hardware.catalog.instances import instances_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEFT_OUT = ("wgmma.canonical", "wgmma.figure")
"""The manual's tables and figures are looked up, not drawn."""

ENGINES_LEFT_OUT = ("tcgen05",)
"""Engines whose calls the page's table has not."""


def page_knows_call(text: str) -> bool:
    """Whether a text is a call that the page has in its table: one of usual values.

    >>> [page_knows_call(f"mma.A(m8n8k4, f16{more})") for more in ("", ", product=0", ", product=1")]
    [True, True, False]
    >>> page_knows_call("S[8]"), page_knows_call("mfma.A(16x16x4, f32)")
    (False, True)
    """
    from tilewise.hardware.calls import read_call

    try:
        entry, given, named = read_call(text)
        return entry.bind(tuple(given), named) in page_values(entry)
    except LayoutError:
        return False


def page_values(entry: Entry) -> Iterator[dict[str, Any]]:
    """The values of each call of an entry that the page has: numbers that may be left out are.

    >>> from tilewise.hardware.catalog import find
    >>> [values["dtype"] for values in page_values(find("wgmma.A"))][:3]
    ['f16', 'bf16', 'tf32']
    """
    if entry.name in LEFT_OUT or entry.engine in ENGINES_LEFT_OUT:
        return
    if entry.name == "wgmma.smem":
        yield from _tiles(entry)
        return
    numbers = {p.name: p.default for p in entry.parameters if p.number and not p.needed}
    every = instances_of(entry).values()
    yield from (values for values in every if all(values[name] == numbers[name] for name in numbers))


def _tiles(entry: Entry) -> Iterator[dict[str, Any]]:
    """Some of the tiles that wgmma reads, for there are too many."""
    modes, dtypes, rows = ("128B", "64B", "32B", "none"), ("bf16",), (128,)
    for operand, major, mode, dtype, height, k in product("AB", ("k", "mn"), modes, dtypes, rows, (64, 128)):
        try:
            values = entry.bind((operand, major, mode, dtype, height, k))
            entry(**values)
        except LayoutError:  # no such tile
            continue
        yield values
