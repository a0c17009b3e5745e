"""Which element of TO each element of FROM is: they are layouts of one tensor, or FROM is read as one.

Layouts of one size are compared by their flat index, which says something where the modes of one are
those of the other, or several of the one make up one of the other. Of 16 x 8 and 8 x 16 it would cut the
rows of one into pieces and join them to rows of the other, which nobody means who says nothing: there,
FROM is to be transposed or reshaped in so many words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, permutations
from math import prod
from operator import mul

from tilewise.core.algebra.modes import permute as permuted
from tilewise.core.algebra.modes import reshape as reshaped
from tilewise.core.algebra.tiles import tile
from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, spell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Told = Callable[[Layout, Layout], str]

_MODES = 6
"""Modes whose orders are looked through."""


def read_as(source: Layout, target: Layout, reshape: Any, permute: Any, told: Told) -> Layout:
    """FROM as a layout of TO's tensor: in another shape, its modes in another order, or as it is.

        requires       one size, and modes that fit; `told` says of two layouts what turns one into the other
        postcondition  the element of a flat index is the same one in both

    >>> from tilewise import S, laneid, reg
    >>> d, b = S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))], S[(8, 8) : (1@laneid, 1@reg)]
    >>> read_as(d, b, None, (1, 0), lambda *_: "")
    S[((4, 2), 8) : ((1@laneid, 1@reg), 4@laneid)]
    """
    if source.size != target.size:
        raise _of_another_size(source, target, told)
    if reshape is not None:
        shape = extents_of(source.asked_in(reshape))
        source = _in_shape(source, shape, target, permute is None)
        if permute is None and fit(shape, extents_of(target.shape)):
            return source
    if permute is not None:
        source = permuted(source, permute)
    if not fit(extents_of(source.shape), extents_of(target.shape)):
        raise _of_another_shape(source, target, told)
    return source


def _in_shape(source: Layout, shape: Sequence[int], target: Layout, alone: bool) -> Layout:
    """FROM in another shape; where no digits of it are the map, as it is, for its flat index is the same."""
    try:
        return reshaped(source, *shape)
    except Refused:
        if alone and fit(shape, extents_of(target.shape)):
            return source
        raise


def fit(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether modes can be cut, or joined, on one side or the other, each to be those of the other.

    >>> fit((8, 8), (8, 4, 2)), fit((4, 2, 8), (8, 4, 2)), fit((16, 8), (8, 16)), fit((128,), (8, 16))
    (True, True, False, True)
    """
    ends, others = ({*accumulate((e for e in extents if e > 1), mul)} for extents in (one, other))
    whole = sorted({1} | (ends & others))
    return all(
        not ({end for end in ends - others if low < end < high} and
             {end for end in others - ends if low < end < high})
        for low, high in pairwise(whole)
    )  # fmt: skip


def _of_another_shape(source: Layout, target: Layout, told: Told) -> LayoutError:
    theirs, ours = extents_of(target.shape), extents_of(source.shape)
    hints = []
    for order in orders(ours, theirs):
        plan = told(permuted(source, order), target)
        hints.append(f"permute={spell(order)} takes its modes in that order{plan and f': {plan}'}")
    hints.append(f"reshape={spell(theirs)} its elements row by row, as they are counted")
    return LayoutError(
        "TW202",
        f"FROM is {_times(ours)} and TO {_times(theirs)}: which element of one is which of the other?",
        hint="; ".join(hints),
    )


def orders(ours: Sequence[int], theirs: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The first order of some modes in which they fit the others, if there is one.

    >>> [*orders((4, 16, 32, 4), (128, 64))]
    [(0, 2, 1, 3)]
    """
    if len(ours) <= _MODES:
        fitting = (order for order in permutations(range(len(ours))) if fit([ours[i] for i in order], theirs))
        yield from [*fitting][:1]


def _of_another_size(source: Layout, target: Layout, told: Told) -> LayoutError:
    return LayoutError(
        "TW202",
        f"FROM has {source.size} elements and TO {target.size}: they are not layouts of one tensor",
        hint=_several(source, target, "FROM", lambda tiles: told(tiles, target))
        or _several(target, source, "TO", lambda tiles: told(source, tiles))
        or "give layouts of one size, such as two tiles of D for one of A",
    )


def _several(one: Layout, other: Layout, side: str, told: Callable[[Layout], str]) -> str:
    """How several tiles of a layout, one after another in the registers, are as large as the other."""
    ours, theirs = extents_of(one.shape), extents_of(other.shape)
    if one.unit != "element" or len(ours) != len(theirs):
        return ""
    if any(large % small for small, large in zip(ours, theirs, strict=True)):
        return ""
    counts = tuple(large // small for small, large in zip(ours, theirs, strict=True))
    try:
        tiles = reshaped(tile(_one_after_another(counts), one), *theirs)
    except LayoutError:
        return ""  # no registers, or no digits of that shape
    said = told(tiles)
    return f"{_times(counts)} tiles of {side}, in registers one after another, are '{tiles}'" + (
        f": {said}" if said else ""
    )


def _one_after_another(counts: Sequence[int]) -> Layout:
    """A grid of tiles, row by row, in the registers."""
    return Layout(tuple(counts), tuple(prod(counts[at + 1 :]) @ Axis("reg") for at in range(len(counts))))


def _times(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))
