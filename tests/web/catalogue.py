"""The catalogue as the explorer has it: calls, and the layouts that they are, as one table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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


def table() -> list[list[Any]]:
    """[name, summary, parameters, [[layout, dtype, arguments]]] of each entry, as JSON has it.

    A parameter is its name, with `=default` where it may be left out, and `?` where it is a flag. The
    arguments of calls that are the same layout stand together, between bars; their dtype is empty where the
    arguments say it; {n/8} in a layout is an eighth of the argument n. Numbers that may be left out, such
    as which byte, are.
    """
    kept = [entry for entry in entries().values() if entry.name not in LEFT_OUT]
    rows = ((entry, _layouts(entry)) for entry in kept)
    return [
        [entry.name, entry.summary.partition(":")[0], [*map(_parameter, entry.parameters)], layouts]
        for entry, layouts in rows
        if layouts
    ]


def text() -> str:
    """The table as the file keeps it, a layout a line."""
    return "[\n" + ",\n".join(_entry_text(*row) for row in table()) + "\n]\n"


def _entry_text(name: str, summary: str, parameters: list[str], layouts: list[list[str]]) -> str:
    lines = ",\n".join(json.dumps(row) for row in layouts)
    return f"[{json.dumps(name)}, {json.dumps(summary)}, {json.dumps(parameters)}, [\n{lines}\n]]"


def _layouts(entry: Entry) -> list[list[str]]:
    calls: dict[tuple[str, str], list[str]] = {}
    for values in _values(entry):
        built = entry(**{name: value for name, value in values.items() if value is not None})
        if built.layout is None:
            continue
        dtype = str(built.facts.get("dtype", ""))
        said = dtype if dtype != values.get("dtype") else ""
        arguments = entry.spelled(values).removeprefix(f"{entry.name}(").removesuffix(")")
        calls.setdefault((_template(entry, built.layout, values), said), []).append(arguments)
    return [[layout, dtype, "|".join(same)] for (layout, dtype), same in calls.items()]


def _template(entry: Entry, layout: Any, values: Mapping[str, Any]) -> str:
    """The layout's text; of wgmma.D, whose layouts differ in one extent alone, with {n/8} in its place."""
    text = str(layout)
    if entry.name != "wgmma.D":
        return text
    start, blocks, rest = text.partition(f", ({values['n'] // 8}, ")
    assert blocks, text
    return f"{start}, ({{n/8}}, {rest}"


def _values(entry: Entry) -> Iterator[dict[str, Any]]:
    if entry.name != "wgmma.smem":
        numbers = {p.name: p.default for p in entry.parameters if p.number and not p.needed}
        every = instances_of(entry).values()
        yield from (values for values in every if all(values[name] == numbers[name] for name in numbers))
        return
    modes, dtypes, rows = ("128B", "64B", "32B", "none"), ("bf16",), (128,)
    for operand, major, mode, dtype, height, k in product("AB", ("k", "mn"), modes, dtypes, rows, (64, 128)):
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
