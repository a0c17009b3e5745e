"""A layout of more modes than an operand has: its modes taken together as two, [rows, K], as they are read.

A tile that is kept as blocks has a mode for each digit of its rows and of K, side by side or one among the
other. Which of them are rows no layout says, so engines are asked.
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
"""So many modes are tried: the ways to part them are twice as many for each."""
_TOLD = 3
"""So many groupings are told: which is meant, no engine knows."""


def with_groupings(no: Mismatch, layout: Layout, reads: Callable[[Layout], bool]) -> Mismatch:
    """Return the mismatch of a layout of other modes, its hint with the first groupings that are read.

    `reads` asks the engine. What is no tile in itself, and has its hint, stays as it is: the reason's witness
    names no modes then.
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

    First are those in which all rows come before all of K; of these, those that have as many for either; of
    these, those in their order, before what CuTe counts the other way round.

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
