"""The catalogue as the explorer has it: calls, and the layouts that they are, as one table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.entry import Entry
from tilewise.pictures.address import dtype_of, page_values

TABLE = Path(__file__).parents[2] / "web" / "src" / "hardware" / "catalogue.json"
_BLANK = re.compile(r"\{(\d*)([a-z]+)(?:/(\w))?\}")
TEMPLATES = (
    "S[(({a}, 8), ({b}, 4, {c})) : (({c}@reg, 4@laneid), ({ac}@reg, 1@laneid, 1@reg))]",
    "S[((4, 2, 8), ({n/8}, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
    "S[((4, 2, 8), (2, 4, {a})) : ((1@wid_in_wg, {a}@reg, 4@laneid), ({2a}@reg, 1@laneid, 1@reg))]",
    "S[({a}, 8, (4, {b})) : ({b}@reg, 4@laneid, (1@laneid, 1@reg))]",
    "S[({a}, (4, 2), 8) : (2@reg, (1@laneid, 1@reg), 4@laneid)]",
    "S[({a}, (4, {b}), (2, 8)) : ({2b}@reg, (1@laneid, 1@reg), ({b}@reg, 4@laneid))]",
    "S[((2, 8), {a}) : ((1@laneid, 4@laneid), 1@reg)]",
    "S[(8, {a}) : (4@laneid, 1@reg)]",
    "S[(8, {a}) : ({a}, 1)]",
    "Swizzle<{a},{b},3> o S[(8, {c}) : ({c}, 1)]",
    "Swizzle<{a},3,3> o S[({b}, 8) : (1, {b})]",
    "Swizzle<{a},3,3> o S[((16, 8), ({k/b}, {b})) : (({8b}, {b}), ({128b}, 1))]",
    "Swizzle<{a},3,3> o S[(({rows/b}, {b}), ({k/8}, 8)) : (({8b}, 1), (1024, {b}))]",
    "S[((16, 8), ({k/8}, 8)) : ((64, 8), (1024, 1))]",
    "S[((16, 8), ({k/8}, 8)) : ((64, 1), (1024, 8))]",
    "S[(128, {n/1}) : (1@TLane, {a}@TCol)]",
    "S[(64, (2, {n/2})) : (1@TLane, (64@TLane, {a}@TCol))]",
    "S[(32, (4, {n/4})) : (1@TLane, (32@TLane, {a}@TCol))]",
    "S[((4, 16), {n/1}) : ((32@TLane, 1@TLane), {a}@TCol)]",
    "S[((4, 16), {n/1}) : ((32@TLane, 1@TLane), {a}@TCol)] + 16@TLane",
    "S[((2, 128), {n/1}) : ((1@cbx, 1@TLane), {a}@TCol)]",
    "S[((2, 64), (2, {n/2})) : ((1@cbx, 1@TLane), (64@TLane, {a}@TCol))]",
    "S[((2, 4, 16), {n/1}) : ((1@cbx, 32@TLane, 1@TLane), {a}@TCol)]",
    "S[((2, 4, 16), {n/1}) : ((1@cbx, 32@TLane, 1@TLane), {a}@TCol)] + 16@TLane",
    "S[(128, {a}) : (1@TLane, 1@TCol)]",
    "S[({a}, {b}) : (1@TLane, 1@TCol)] + R[{c} : {a}@TLane]",
    "S[((4, 16), {a}) : ((32@TLane, 1@TLane), 1@TCol)]",
    "S[((4, 16), {a}) : ((32@TLane, 1@TLane), 1@TCol)] + 16@TLane",
    "S[((2, {a}), {b}) : ((1@cbx, 1@TLane), 1@TCol)]",
    "S[((2, 64), {a}) : ((1@cbx, 1@TLane), 1@TCol)] + R[2 : 64@TLane]",
    "S[((2, 4, 16), {a}) : ((1@cbx, 32@TLane, 1@TLane), 1@TCol)]",
    "S[((2, 4, 16), {a}) : ((1@cbx, 32@TLane, 1@TLane), 1@TCol)] + 16@TLane",
    "Swizzle<{a},4,3> o S[((16, 8), ({k/b}, {b})) : (({8b}, {b}), ({128b}, 1))]",
    "Swizzle<{a},4,3> o S[(({rows/b}, {b}), ({k/8}, 8)) : (({8b}, 1), (1024, {b}))]",
    "S[((8, 16), ({k/8}, 8)) : ((128, 1), (1024, 16))]",
    "S[(32, {a}) : (1@laneid, 1@reg)]",
    "S[(32, ({a}, 2)) : (1@laneid, (2@reg, 1@reg))]",
    "S[((2, 8), ({a}, 2)) : ((1@laneid, 4@laneid), (1@reg, 2@laneid))]",
    "S[((2, 8), ({a}, 2, 2)) : ((1@laneid, 4@laneid), (2@reg, 2@laneid, 1@reg))]",
    "S[((2, 8), ({a}, 4)) : ((1@reg, 4@laneid), (2@reg, 1@laneid))]",
    "S[((2, 8), ({a}, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
    "S[((2, 8), ({a}, 4, 2, 2)) : ((4@reg, 4@laneid), (8@reg, 1@laneid, 2@reg, 1@reg))]",
    "S[(16, 2, {a}) : (1@laneid, 16@laneid, 1@reg)]",
    "S[(16, 2, ({a}, 2)) : (1@laneid, 16@laneid, (2@reg, 1@reg))]",
    "S[(({a}, 32), 4) : ((4@TCol, 1@TLane), 1@TCol)] + R[4 : 32@TLane]",
    "S[(({a}, 32), 4) : ((4@TCol, 1@TLane), 1@TCol)] + R[(4, 2) : (32@TLane, 1@cbx)]",
)
"""Layouts that differ in numbers alone: a letter is a number, letters together are their product."""


def table() -> list[list[Any]]:
    """[name, summary, parameters, [[layout, dtype, rows]]] of each entry, as JSON has it.

    A parameter is its name, with `=default` where it may be left out, and `?` where it is a flag. The layout
    is a template: {a} is a number of the row, {2ab} a product, {n/8} an eighth of the argument n.
    Rows have semicolons between them: the template's numbers, then the arguments in order, - where one is
    left out. `f16|f32` is either, 8..256/8 every eighth number; a row is all calls that it spells. Their
    dtype is empty where the arguments say it, and - of what has none, such as indices. An entry whose
    layouts are an earlier one's has its name.
    """
    found: dict[str, list[list[str]]] = {}
    rows = []
    for entry in entries().values():
        if layouts := _layouts(entry):
            same = next((name for name, others in found.items() if others == layouts), None)
            parameters = " ".join(map(_parameter, entry.parameters))
            rows.append([entry.name, entry.summary.partition(":")[0], parameters, same or layouts])
            found[entry.name] = layouts
    return rows


def kept() -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every call that the table has: the entry and its arguments."""
    for entry in entries().values():
        for values in page_values(entry):
            if _built(entry, values).layout is not None:
                yield entry, values


def text() -> str:
    """The table as the file keeps it, a template a line."""
    return "[\n" + ",\n".join(_entry_text(*row) for row in table()) + "\n]\n"


def _entry_text(name: str, summary: str, parameters: str, layouts: list[list[str]] | str) -> str:
    if isinstance(layouts, str):
        return json.dumps([name, summary, parameters, layouts])
    lines = ",\n".join(json.dumps(row) for row in layouts)
    return f"[{json.dumps(name)}, {json.dumps(summary)}, {json.dumps(parameters)}, [\n{lines}\n]]"


Arguments = tuple[tuple[str, ...], ...]
"""For each parameter the words that it may be."""


def _layouts(entry: Entry) -> list[list[str]]:
    calls: dict[tuple[str, str], dict[tuple[str, ...], list[Arguments]]] = {}
    for values in page_values(entry):
        built = _built(entry, values)
        if built.layout is None:
            continue
        dtype, words = dtype_of(built), _words(entry, values)
        spelled = dict(zip((parameter.name for parameter in entry.parameters), words, strict=True))
        said = "" if dtype is not None and dtype == spelled.get("dtype") else dtype or "-"
        template, numbers = _template(str(built.layout), values)
        group = calls.setdefault((template, said), {})
        group.setdefault(numbers, []).append(tuple((word,) for word in words))
    return [
        [
            template,
            said,
            ";".join(_row(numbers, row) for numbers, rows in group.items() for row in _joined(rows)),
        ]
        for (template, said), group in calls.items()
    ]


def _built(entry: Entry, values: Mapping[str, Any]) -> Any:
    return entry(**{name: value for name, value in values.items() if value is not None})


def _words(entry: Entry, values: Mapping[str, Any]) -> list[str]:
    """The arguments in the order of the parameters, `-` for those that a call leaves out."""
    words = []
    for parameter in entry.parameters:
        value = values.get(parameter.name)
        usual = False if parameter.flag else parameter.default
        left_out = value is None or (not parameter.needed and str(value) == str(usual))
        words.append("-" if left_out else "true" if parameter.flag else str(value))
    return words


def _joined(rows: list[Arguments]) -> list[Arguments]:
    """The same calls in fewer rows: those that differ in one argument are one."""
    for place in reversed(range(len(rows[0]))):
        together: dict[Arguments, list[str]] = {}
        for row in rows:
            together.setdefault((*row[:place], *row[place + 1 :]), []).extend(row[place])
        rows = [(*rest[:place], tuple(words), *rest[place:]) for rest, words in together.items()]
    return rows


def _row(numbers: tuple[str, ...], row: Arguments) -> str:
    words = ["|".join(_ranged(words)) for words in row]
    while words and words[-1] == "-":
        words.pop()
    return " ".join((*numbers, *words))


def _ranged(words: tuple[str, ...]) -> Iterator[str]:
    """Words with runs of evenly spaced numbers as ranges.

    >>> list(_ranged(("8", "16", "24", "32", "48", "64", "80")))
    ['8..32/8', '48..80/16']
    """
    left = list(words)
    while left:
        many = max((n for n in range(3, len(left) + 1) if _evenly_spaced(left[:n])), default=1)
        yield left[0] if many == 1 else f"{left[0]}..{left[many - 1]}/{int(left[1]) - int(left[0])}"
        del left[:many]


def _evenly_spaced(words: list[str]) -> bool:
    return all(map(str.isdigit, words)) and len({int(b) - int(a) for a, b in pairwise(words)}) == 1


def filled(template: str, numbers: Sequence[str], arguments: Mapping[str, Any]) -> str:
    """The layout that a template is, with numbers for its letters.

    >>> filled("S[({a}, {n/8}) : ({2ab}, 1)]", ("2", "3"), {"n": 64})
    'S[(2, 8) : (12, 1)]'
    """

    letters = dict(zip("abc", numbers, strict=False))

    def number(match: re.Match[str]) -> str:
        factor, names, divisor = match.groups()
        if divisor:
            return str(int(arguments[names]) // int(divisor if divisor.isdigit() else letters[divisor]))
        return str(int(factor or 1) * prod(int(letters[name]) for name in names))

    return _BLANK.sub(number, template)


def _template(layout: str, values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The template of a layout, and its numbers; a layout of no template is one itself."""
    for template in TEMPLATES:
        needed = {names for _, names, divisor in _BLANK.findall(template) if divisor}
        if not needed <= values.keys():
            continue
        pattern = re.escape(template)
        for name in "abc":
            pattern = pattern.replace(rf"\{{{name}\}}", rf"(?P<{name}>\d+)", 1)
        found = re.fullmatch(re.sub(r"\\\{.*?\\\}", r"\\d+", pattern), layout)
        numbers = found.groups() if found else ()
        if found and filled(template, numbers, values) == layout:
            return template, numbers
    return layout, ()


def _parameter(parameter: Any) -> str:
    if parameter.flag:
        return f"{parameter.name}?"
    if parameter.needed:
        return str(parameter.name)
    return f"{parameter.name}={'' if parameter.default is None else parameter.default}"
