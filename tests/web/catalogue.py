"""The catalogue as the explorer has it: calls, and the layouts that they are, as one table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.entry import Entry
from tilewise.hardware.catalog.instances import instances_of

TABLE = Path(__file__).parents[2] / "web" / "src" / "app" / "catalogue.json"
LEFT_OUT = ("wgmma.canonical", "wgmma.figure")
"""The manual's tables and figures are looked up, not drawn."""


def table() -> dict[str, Any]:
    """{"entries": [[name, summary, parameters]], "rows": [[call, dtype, layout]]}, as JSON has it.

    A parameter is its name, with `=default` where it may be left out, and `?` where it is a flag.
    """
    kept, rows = [], []
    for entry in entries().values():
        own = [*_rows(entry)] if entry.name not in LEFT_OUT else []
        if own:
            kept.append([entry.name, entry.summary, [*map(_parameter, entry.parameters)]])
            rows += own
    return {"entries": kept, "rows": rows}


def text() -> str:
    """The table as the file keeps it, a row a line."""
    lists = (
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in table().items()
    )
    return "{\n" + ",\n".join(lists) + "\n}\n"


def _rows(entry: Entry) -> Iterator[list[str]]:
    for values in _values(entry):
        built = entry(**{name: value for name, value in values.items() if value is not None})
        if built.layout is not None:
            yield [entry.spelled(values), str(built.facts.get("dtype", "")), str(built.layout)]


def _values(entry: Entry) -> Iterator[dict[str, Any]]:
    if entry.name != "wgmma.smem":
        yield from instances_of(entry).values()
        return
    modes, dtypes, rows = ("128B", "64B", "32B", "none"), ("bf16", "e4m3"), (64, 128, 256)
    for operand, major, mode, dtype, height, k in product(
        "AB", ("k", "mn"), modes, dtypes, rows, (32, 64, 128)
    ):
        try:
            values = entry.bind((operand, major, mode, dtype, height, k))
            entry(**values)
        except LayoutError:  # no such tile
            continue
        yield values


def _parameter(parameter: Any) -> str:
    if parameter.flag:
        return f"{parameter.name}?"
    if parameter.needed:
        return str(parameter.name)
    return f"{parameter.name}={'' if parameter.default is None else parameter.default}"
