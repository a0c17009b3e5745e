"""Docstrings are written to be read as text; here their columns and indented formulas stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

_COLUMNS = re.compile(r"\S {2,}\S")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}


def _process(app: Any, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    lines[:] = literal_columns(lines)


def literal_columns(lines: list[str]) -> list[str]:
    """Return the lines with every indented or aligned paragraph as a literal block.

    >>> literal_columns(["A map.", "", "    L(x) = D(x)", "", "m    memory"])
    ['A map.', '', '::', '', '    L(x) = D(x)', '', '::', '', '    m    memory', '']
    """
    return list(_literal(lines))


def _literal(lines: list[str]) -> Iterator[str]:
    for blank, paragraph in groupby(lines, key=lambda line: not line.strip()):
        if blank:
            yield ""
            continue
        text = list(paragraph)
        aligned = not text[0].startswith(">>>") and all(
            line.startswith("    ") or _COLUMNS.search(line) for line in text
        )
        if not aligned:
            yield from text
            continue
        indent = min(len(line) - len(line.lstrip()) for line in text)
        yield from ("::", "", *(f"    {line[indent:]}" for line in text), "")
