"""A part of a panel by what stands at its heads: lanes and columns of tensor memory, lanes and registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.pictures.scene.lines import Line
from tilewise.pictures.scene.model import Panel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BY_HEADS = ("registers", "tensor memory")
"""Panels whose rows and columns are numbered one by one; memory goes on in the next row."""


def cut(panel: Panel, window: Sequence[Any]) -> Panel:
    """The rows and columns of a panel whose numbers are in a window ((from, to), (from, to)), of each block.

    `None` for an end, or for a pair, is all.

        requires  panel.kind in BY_HEADS

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.pictures.scene.build import scene_of
    >>> _, panel = scene_of(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]).panels
    >>> part = cut(panel, ((4, 8), (1, None)))
    >>> part.cells, [part.row_heads[0](row) for row in range(4)], part.row[0](4)
    ((4, 1), [4, 5, 6, 7], 0)
    >>> cut(panel, ((30, 34),))
    Traceback (most recent call last):
    tilewise.LayoutError: TW201: laneid 30:34 is not within 0:32
      hint: a window of this panel counts laneid and reg
    """
    if len(window) > 2:
        raise LayoutError("TW201", f"a window of {len(window)} ranges", hint="a panel has rows and columns")
    down, across = (*window, None, None)[:2]
    counts = " and ".join(name for name in (panel.row_name, panel.column_name) if name)
    rows = _part(Line(panel.row, panel.cells[0], panel.row_heads), panel.row_name or "rows", down, counts)
    columns = _part(
        Line(panel.column, panel.cells[1], panel.column_heads), panel.column_name or "columns", across, counts
    )
    return replace(
        panel,
        cells=(rows.extent, columns.extent),
        row=rows.rule,
        column=columns.rule,
        row_heads=rows.heads,
        column_heads=columns.heads,
    )


def _part(line: Line, name: str, given: Any, counts: str) -> Line:
    """Return the rows or columns of a line that are in a range; each is one more than the one before."""
    start = line.heads[0](0) if line.heads else 0
    end = start + line.extent
    first, last = given or (None, None)
    first = start if first is None else as_int(first, "a window's end")
    last = end if last is None else as_int(last, "a window's end")
    if not start <= first < last <= end:
        raise LayoutError(
            "TW201",
            f"{name} {first}:{last} is not within {start}:{end}",
            hint=f"a window of this panel counts {counts}",
        )
    past = first - start
    rule = tuple(replace(term, subtract=term.subtract + past * term.divide) for term in line.rule)
    heads = tuple(replace(head, start=head.start + past) for head in line.heads)
    return Line(rule, last - first, heads)
