"""Group the modes of a layout that has more than an operand: taken together as two, [rows, K].

A tile that is kept as blocks has a mode for each digit of its rows and of K, side by side or one among the
other. A layout does not say which of them are rows, so each grouping is tried on the engine.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice, product

from tilewise.core.algebra.modes import permute, regroup
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tilewise.check.operand import Mismatch

    Modes = tuple[int, ...]

_MOST = 5
"""The most modes that are tried: each doubles the number of ways to part them."""
_TOLD = 3
"""The most groupings in a hint: the engine does not know which one the user wants."""


def with_groupings(no: Mismatch, layout: Layout, reads: Callable[[Layout], bool]) -> Mismatch:
    """Return the mismatch of a layout of more than two modes, its hint with the first groupings that are
    read.

    `reads` returns True if the engine reads a grouping. A mismatch whose witness names no modes is returned
    unchanged: the layout is no tile for another reason, and has its hint.
    """
    (reason,) = no.reasons
    if "modes" not in reason.witness:
        return no
    rows, columns = reason.witness["modes"]
    read = ((parts, tile) for parts, tile in groupings(layout) if reads(tile))
    told = [
        f"{spell(of_rows)} as {rows} and {spell(of_k)} as {columns}, {list(extents_of(tile.shape))}: {tile}"
        for (of_rows, of_k), tile in islice(read, _TOLD)
    ]
    hint = f"it takes its modes {'; or '.join(told)}"
    return replace(no, reasons=(replace(reason, hint=hint),)) if told else no


def groupings(layout: Layout) -> Iterator[tuple[tuple[Modes, Modes], Layout]]:
    """Yield ((the modes of rows, those of K), the slowest first; the tile) of each way to take modes as two.

    First are those in which all rows come before all of K. Among these, those with as many modes for both are
    first. Among these, modes in their order are before CuTe's reversed order.

    >>> from tilewise import S
    >>> found = groupings(S[(2, 8, 4, 16) : (512, 16, 128, 1)])
    >>> [next(found)[0] for _ in range(3)]
    [((0, 1), (2, 3)), ((0, 1), (3, 2)), ((1, 0), (2, 3))]
    """
    every = range(len(layout.shape))
    if 3 < len(every) <= _MOST:
        for rows, columns in sorted(_parted(every), key=_order):
            moved = permute(layout, *rows, *columns)
            parts = tuple(every[: len(rows)]), tuple(every[len(rows) :])
            yield (rows, columns), regroup(moved, *parts).coalesce(by_mode=True)


def _parted(every: Sequence[int]) -> Iterator[tuple[Modes, Modes]]:
    """Yield all ways to part modes in two, each part in its order and turned round."""
    for many in every[1:]:
        for rows in combinations(every, many):
            columns = tuple(mode for mode in every if mode not in rows)
            yield from product({rows, rows[::-1]}, {columns, columns[::-1]})


def _order(sides: tuple[Modes, Modes]) -> tuple[bool, int, int, tuple[Modes, Modes]]:
    rows, columns = sides
    turned = sum(part != tuple(sorted(part)) for part in sides)
    return max(rows) > min(columns), abs(len(rows) - len(columns)), turned, sides
