"""Rows, columns and blocks: what of a place they are, how many there are, and what stands at their heads.

`cut` has a part of a panel by its heads: lanes and columns of tensor memory, lanes and registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.pictures.scene.model import Axis, Head, Heads, Panel, Rule, Term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One direction of a panel."""

    rule: Rule = ()
    extent: int = 1
    heads: Heads = ()
    slot: Rule = ()
    """Where in its cell an element lies, of `slots`."""
    slots: int = 1
    width: int = 1
    """Cells that an element takes."""

    @property
    def name(self) -> str:
        """Return what the numbers of its heads are."""
        return ", ".join(head.name for head in self.heads if head.name)


def along(axes: Sequence[Axis]) -> Line:
    """Return all places of some axes, the last axis fastest.

    >>> line = along([Axis("wgid", "owner", 0, 1), Axis("wid_in_wg", "owner", 0, 3)])
    >>> line.extent, [head(5) for head in line.heads]
    (8, [1, 1])
    """
    if len(axes) == 1:
        (axis,) = axes
        return Line((Term(axis.name, axis.low),), extent(axis), (Head(axis.name, low=axis.low),))
    extents = [extent(axis) for axis in axes]
    terms, heads = [], []
    for i, axis in enumerate(axes):
        below = prod(extents[i + 1 :])
        terms.append(Term(axis.name, axis.low, multiply=below))
        heads.append(Head(axis.name, divide=below, modulo=extents[i], low=axis.low))
    return Line(tuple(terms), prod(extents), tuple(heads))


def of_index(axis: str, extents: Sequence[int], first: int, last: int) -> Line:
    """Return the rows or columns of the logical grid, headed by their coordinates.

    >>> [tuple(head(row) for head in of_index("@row", (4, 2), 2, 8).heads) for row in (0, 1)]
    [(1, 0), (1, 1)]
    """
    heads = []
    for i, own in enumerate(extents):
        below = prod(extents[i + 1 :])
        heads.append(Head("", start=first, divide=below, modulo=own if i else 0))
    return Line((Term(axis, first),), last - first, tuple(heads))


def wrapped(axis: Axis, wide: int) -> tuple[Line, Line]:
    """Rows and columns of an axis that goes on in the next row after `wide` places.

    >>> rows, columns = wrapped(Axis("m", "storage", 5, 21), 8)
    >>> rows.extent, columns.extent, [head(1) for head in rows.heads]
    (3, 8, [8])
    """
    first = axis.low // wide
    rows = Line(
        (Term(axis.name, first * wide, divide=wide),),
        axis.high // wide - first + 1,
        (Head(axis.name, start=first, multiply=wide),),
    )
    return rows, Line((Term(axis.name, modulo=wide),), wide, (Head("+"),))


def filling(bits: int | None) -> int:
    """Return the bits of elements that fill words of 32 bits, or of which each fills words; 0 of others."""
    return bits if bits and (32 % bits == 0 or bits % 32 == 0) else 0


def packed(axis: Axis, bits: int, base: int = 0) -> Line:
    """Elements of so many bits in words of 32, counted from address 0, each a cell; `base` is in bits.

    >>> found = packed(Axis("TCol", "storage", 0, 7), 8)
    >>> found.extent, found.slots, [found.slot[0](x) for x in (0, 3, 4)]
    (2, 4, [0, 3, 0])
    """
    slots, width = max(1, 32 // bits), max(1, bits // 32)
    first, last = (axis.low * bits + base) // 32, (axis.high * bits + base) // 32 + width - 1
    slot = (Term(axis.name, -base, scale=bits, divide=bits, modulo=slots),) if slots > 1 else ()
    word = Term(axis.name, 32 * first - base, scale=bits, divide=32)
    return Line((word,), last - first + 1, (Head("column", start=first),), slot, slots, width)


def banked(axis: Axis, bits: int, base: int) -> tuple[Line, Line]:
    """Memory as rows of 32 banks of 4 bytes; `base` is in bits.

    >>> rows, words = banked(Axis("m", "storage", 0, 255), 16, 0)
    >>> rows.extent, words.extent, words.slots
    (4, 32, 2)
    """
    first, last = (axis.low * bits + base) // 1024, (axis.high * bits + base) // 1024
    rows = Line(
        (Term(axis.name, 1024 * first - base, scale=bits, divide=1024),),
        last - first + 1,
        (Head("byte", start=first, multiply=128),),
    )
    bank = Term(axis.name, -base, scale=bits, divide=32, modulo=32)
    return rows, replace(packed(axis, bits, base), rule=(bank,), extent=32, heads=(Head("bank"),))


def extent(axis: Axis) -> int:
    """Return how many places lie between an axis's ends."""
    return axis.high - axis.low + 1


BY_HEADS = ("registers", "tensor memory")
"""Panels whose rows and columns are numbered one by one; memory goes on in the next row."""


def cut(panel: Panel, window: Sequence[Any]) -> Panel:
    """Return the rows and columns of a panel whose numbers are in a window ((from, to), (from, to)), of each
    block.

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
