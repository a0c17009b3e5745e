"""Match the elements of FROM and TO: they are layouts of one tensor, or FROM is read as one.

Layouts of one size are compared by their flat index. That is right where the modes of one are those of the
other, or several modes of one make up a mode of the other. For 16 x 8 and 8 x 16 it would cut the rows of one
into pieces and join them to rows of the other. Nobody wants that by default: the user has to transpose or
reshape FROM. Where the larger one is a whole number of tiles of the smaller one, as A is of D, the smaller
one is repeated, its tiles in registers one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, permutations
from math import lcm, prod
from operator import mul
from typing import NamedTuple

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
"""The most modes whose orders are searched."""


class OneTensor(NamedTuple):
    """FROM and TO as layouts of one tensor, and the tiles of each that make it up, mode by mode."""

    source: Layout
    target: Layout
    tiles: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Numbers of tiles of FROM and of TO, in registers one after another; None where neither is repeated."""


def read_as(source: Layout, target: Layout, reshape: Any, permute: Any, told: Told) -> OneTensor:
    """Return FROM, in another shape or order or as it is, and TO as layouts of one tensor, with their tiles.

        requires       modes that fit, or one layout that is a whole number of tiles of the other;
                       `told` gives the words for the change of one layout into the other
        postcondition  the element of a flat index is the same one in both

    >>> from tilewise import S, laneid, reg
    >>> d, b = S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))], S[(8, 8) : (1@laneid, 1@reg)]
    >>> read_as(d, b, None, (1, 0), lambda *_: "").source
    S[((4, 2), 8) : ((1@laneid, 1@reg), 4@laneid)]
    >>> read_as(d, S[(8, 16) : (1@laneid, 1@reg)], None, None, lambda *_: "").tiles
    ((1, 2), (1, 1))
    """
    one_size = source.size == target.size
    if reshape is not None:
        shape = extents_of(source.asked_in(reshape))
        source = _in_shape(source, shape, target, permute is None and one_size)
        if permute is None and one_size and fit(shape, extents_of(target.shape)):
            return OneTensor(source, target)
    if permute is not None:
        source = permuted(source, permute)
    if not one_size:
        return _repeated(source, target, in_any_mode=permute is not None)
    if not fit(extents_of(source.shape), extents_of(target.shape)):
        raise _of_another_shape(source, target, told)
    return OneTensor(source, target)


def _in_shape(source: Layout, shape: Sequence[int], target: Layout, alone: bool) -> Layout:
    """Return FROM in another shape; as given where its digits do not divide: the flat index is the same."""
    try:
        return reshaped(source, *shape)
    except Refused:
        if alone and fit(shape, extents_of(target.shape)):
            return source
        raise


def fit(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return True if modes can be cut, or joined, on either side, to be those of the other.

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
    """Yield the first order of some modes in which they fit the others, if any.

    >>> [*orders((4, 16, 32, 4), (128, 64))]
    [(0, 2, 1, 3)]
    """
    if len(ours) <= _MODES:
        fitting = (order for order in permutations(range(len(ours))) if fit([ours[i] for i in order], theirs))
        yield from [*fitting][:1]


def _repeated(source: Layout, target: Layout, in_any_mode: bool) -> OneTensor:
    """Return FROM and TO, the smaller one repeated to be as large as the other.

    Where each is smaller in another mode, the user may have forgotten to transpose FROM. Both are repeated
    only `in_any_mode`, if the order of FROM's modes was given.
    """
    ours, theirs = extents_of(source.shape), extents_of(target.shape)
    error = LayoutError(
        "TW202",
        f"FROM has {source.size} elements and TO {target.size}: they are not layouts of one tensor",
        hint="give layouts of one size, or of which one is a whole number of tiles of the other",
    )
    if {source.unit, target.unit} != {"element"} or len(ours) != len(theirs):
        raise error
    whole = tuple(map(lcm, ours, theirs))
    if any(both not in pair for both, *pair in zip(whole, ours, theirs, strict=True)):
        raise error
    if not in_any_mode and whole not in (ours, theirs):
        order = ",".join(map(str, range(len(ours))))
        error.hint = f"permute=({order}) repeats both to {_times(whole)}, in the order that their modes have"
        raise error
    try:
        (source, of_source), (target, of_target) = (_tiled(layout, whole) for layout in (source, target))
    except LayoutError:
        raise error from None
    return OneTensor(source, target, (of_source, of_target))


def _tiled(layout: Layout, whole: Sequence[int]) -> tuple[Layout, tuple[int, ...]]:
    """Return tiles of a layout that make up a whole, row by row in the registers, and their numbers."""
    counts = tuple(large // small for small, large in zip(extents_of(layout.shape), whole, strict=True))
    if prod(counts) == 1:
        return layout, counts
    strides = tuple(prod(counts[at + 1 :]) @ Axis("reg") for at in range(len(counts)))
    return reshaped(tile(Layout(counts, strides), layout), *whole), counts


def in_words(tiles: tuple[tuple[int, ...], tuple[int, ...]] | None) -> str:
    """Return the tiles that FROM and TO are made of; nothing where neither is repeated.

    >>> in_words(((1, 1), (1, 8)))
    '1 x 8 tiles of TO, registers one after another'
    """
    sides = zip(tiles or (), ("FROM", "TO"), strict=False)
    said = [f"{_times(counts)} tiles of {side}" for counts, side in sides if max(counts) > 1]
    return f"{' and '.join(said)}, registers one after another" if said else ""


def _times(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))
