"""The same map under another shape: digits merged, split, bracketed and reordered.

All of it happens on the side of the index: copies, offsets, swizzles and the unit stay as they are.

A boundary of a layout is the place value of a digit of its coalesced form: how many elements the faster
digits count. A shape has the place values of its extents. When is a map of one shape also one of another?

    The weights w_P of D(n) = sum of w_P * (n // P) are unique, and with nothing left to merge none is 0.
    So digits that fit the asked shape exist iff the boundaries P, together with the shape's place values,
    form one chain in which each divides the next: merging first and splitting then finds them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from math import prod

from tilewise.core import orders
from tilewise.core.canonical import merged_shard
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Mode, as_shape, leaves, mirrored, size_of, spell
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tilewise.core.shapes import Shape
    from tilewise.core.vectors import Vector

    Filled: TypeAlias = tuple[Mode, Sequence[Iter]]

_STILL = Iter(1, ZERO)


# -- merging ---------------------------------------------------------------------------------------


def coalesce(layout: Layout, by_mode: bool = False) -> Layout:
    """Neighbouring digits merged, wherever a step of one is a whole turn of the next.

        postcondition  coalesce(L)(n) == L(n), in the fewest modes; by mode, every mode is merged by
                       itself, and L's coordinates stay

    >>> from tilewise import S
    >>> coalesce(S[(2, 1, 4, 3) : (12, 9, 3, 1)])
    S[24 : 1]
    >>> coalesce(S[((2, 4), (1, 3)) : ((12, 3), (7, 1))], by_mode=True)
    S[(8, 3) : (3, 1)]
    """
    if by_mode:
        return _merged_by_mode(layout)
    merged = _merged(layout)
    return merged if merged.shape or layout.order == "row" else merged.reshape(1)  # CuTe's is 1:0


@orders.by_flat
def _merged(layout: Layout) -> Layout:
    return _made_of(layout, [(it.extent, [it]) for it in merged_shard(layout.shard)])


@orders.by_mode
def _merged_by_mode(layout: Layout) -> Layout:
    merged = [merged_shard(tuple(digits)) or [_STILL] for _, digits in modes_of(layout)]
    return _made_of(layout, [(_joined(digits), digits) for digits in merged])


def flatten(layout: Layout) -> Layout:
    """Every digit a mode of its own.

        postcondition  flatten(L)(n) == L(n), with the digits as they are written

    >>> from tilewise import S
    >>> flatten(S[((4, 2), 8) : ((16, 8), 1)])
    S[(4, 2, 8) : (16, 8, 1)]
    """
    return replace(layout, shape=tuple(leaves(layout.shape)))


# -- another shape ---------------------------------------------------------------------------------


def reshape(layout: Layout, *shape: Any) -> Layout:
    """The same map in another shape of the same size; one extent may be -1.

    Where an extent needs several digits it becomes a mode of them. There is an answer whenever some
    digits of that shape, under L's copies and swizzles, are the same map.

        postcondition  reshape(L, S)(n) == L(n), and its modes have the extents of S
        refused        TW503 where the map and S step at places of which neither divides the other:
                       they are the witness

    >>> from tilewise import S
    >>> reshape(S[(4, 2, 2, 4) : (16, 4, 8, 1)], 8, 8)
    S[((4, 2), (2, 4)) : ((16, 4), (8, 1))]
    >>> reshape(S[(6, 6) : (6, 1)], 4, -1)
    S[(4, 9) : (9, 1)]
    >>> reshape(S[(6, 6) : (1, 6)], 4, 9)
    Traceback (most recent call last):
    tilewise.Refused: TW503: the map steps every 6 elements, and (4, 9) every 9: neither divides the other
      hint: no digits of that shape are the same map; an index of it can be asked with shape=(4, 9)
    """
    asked = _asked(shape, layout.size, "the layout")
    digits = merged_shard(layout.shard)
    clash = _clash(digits, _slowest_first(asked, layout))
    if clash is not None:
        hint = (
            f"no digits of that shape are the same map; an index of it can be asked with shape={spell(asked)}"
        )
        raise _unfit("the map", asked, clash, hint)
    return _reshaped(layout, digits, asked)


def group(layout: Layout, *shape: Any) -> Layout:
    """The same map in modes of these sizes: the digits as written, split where they must be.

    Nothing is merged, so `reshape` finds answers where this refuses. Digits of extent 1 go.

        postcondition  group(L, S)(n) == L(n), and its modes have the extents of S
        refused        TW503 where L's digits and S step at places of which neither divides the other:
                       they are the witness

    >>> from tilewise import S
    >>> group(S[(6, 6) : (6, 1)], 12, 3)
    S[((6, 2), 3) : ((6, 3), 1)]
    >>> group(S[(6, 6) : (6, 1)], 4, 9)
    Traceback (most recent call last):
    tilewise.Refused: TW503: a digit steps every 6 elements, and (4, 9) every 9: neither divides the other
      hint: reshape merges digits first, and has an answer
    """
    asked = _asked(shape, layout.size, "the layout")
    digits = [it for it in layout.shard if it.extent > 1]
    ordered = _slowest_first(asked, layout)
    clash = _clash(digits, ordered)
    if clash is not None:
        merging_helps = _clash(merged_shard(layout.shard), ordered) is None
        hint = "reshape merges digits first, and has an answer" if merging_helps else ""
        raise _unfit("a digit", asked, clash, hint or "merging digits first does not help either")
    return _reshaped(layout, digits, asked)


def split(layout: Layout, mode: int, *extents: Any) -> Layout:
    """One mode as several, the first slowest; one extent may be -1. The other modes stay.

    In CuTe's order the first is the fastest.

        postcondition  split(L, k, a, b)(.., i, j, ..) == L(.., i b + j, ..)
        refused        TW503 where the mode steps at a place that does not fit: with the asked one it
                       is the witness

    >>> from tilewise import S
    >>> split(S[(64, 32) : (32, 1)], 0, 4, 16)
    S[(4, 16, 32) : (512, 32, 1)]
    """
    position = _mode_number(layout, mode)
    whole = modes_of(layout)
    extent, written = whole[position]
    asked = _asked(extents, size_of(extent), f"mode {position}")
    one = Layout(*_parts_of([(extent, written)]), order=layout.order)
    digits = merged_shard(one.shard)
    clash = _clash(digits, _slowest_first(asked, layout))
    if clash is not None:
        hint = f"no digits of that shape are the same map along mode {position}"
        raise _unfit(f"mode {position}", asked, clash, hint)
    parts = modes_of(_reshaped(one, digits, asked))
    return _made_of(layout, [*whole[:position], *parts, *whole[position + 1 :]])


def refinement(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    """Both maps over one flat shape: the coarsest that has the digits of both.

        requires       a and b have one size
        postcondition  a'.shape == b'.shape;  a'(n) == a(n);  b'(n) == b(n)
        refused        TW503 where a and b step at places of which neither divides the other: they are
                       the witness

    >>> from tilewise import S
    >>> refinement(S[(4, 6) : (1, 4)], S[(2, 12) : (1, 2)])
    (S[(2, 2, 6) : (2, 1, 4)], S[(2, 2, 6) : (1, 12, 2)])
    """
    return _refinement(a, b)


@orders.by_flat
def _refinement(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    if a.size != b.size:
        raise LayoutError(
            "TW202",
            f"one layout has {a.size} elements, the other {b.size}",
            hint="a refinement is of two layouts of one size",
        )
    ours, theirs = merged_shard(a.shard), merged_shard(b.shard)
    places, others = _places([it.extent for it in ours]), _places([it.extent for it in theirs])
    clash = _not_a_chain(places, others)
    if clash is not None:
        raise Refused(
            "TW503",
            f"a steps every {clash[0]} elements, and b every {clash[1]}: neither divides the other",
            witness=clash,
            hint="so no flat shape has the digits of both",
        )
    cuts = sorted({*places, *others})
    one, other = (_cut(digits, cuts) for digits in (ours, theirs))
    return (
        _made_of(a, [(it.extent, [it]) for it in one]),
        _made_of(b, [(it.extent, [it]) for it in other]),
    )


# -- brackets and order ----------------------------------------------------------------------------


def regroup(layout: Layout, *parts: Any) -> Layout:
    """Modes bracketed: every number names a mode, and the modes of a tuple become one mode.

        requires       all modes, each once, in their order; `permute` changes the order
        postcondition  regroup(L, ...)(n) == L(n), with the digits as they are written

    >>> from tilewise import S
    >>> regroup(S[(4, 2, 8) : (1, 32, 4)], (0, 1), 2)
    S[((4, 2), 8) : ((1, 32), 4)]
    """
    named = list(_numbers(parts))
    rank = len(layout.shape)
    if [as_int(number, "a mode") for number in named] != list(range(rank)):
        raise LayoutError(
            "TW201",
            f"{spell(parts)} does not name every mode of {spell(layout.shape)} once and in order",
            hint="neighbours are bracketed, such as regroup((0, 1), 2); permute changes the order",
        )

    def bracketed(part: Any) -> Mode:
        if not isinstance(part, tuple | list):
            return layout.shape[as_int(part, "a mode")]
        return tuple(bracketed(inner) for inner in part)

    return replace(layout, shape=tuple(bracketed(part) for part in parts))


def permute(layout: Layout, *order: Any) -> Layout:
    """The modes in another order: the same elements under another index.

        requires       every mode once
        postcondition  permute(L, 1, 0)(j, i) == L(i, j)

    >>> from tilewise import S
    >>> permute(S[(4, 8) : (8, 1)], 1, 0)
    S[(8, 4) : (1, 8)]
    """
    numbers = order[0] if len(order) == 1 and isinstance(order[0], tuple | list) else order
    whole = modes_of(layout)
    asked = [as_int(number, "a mode") for number in numbers]
    if sorted(asked) != list(range(len(whole))):
        raise LayoutError(
            "TW201",
            f"{spell(tuple(asked))} does not name every mode of {spell(layout.shape)} once",
            hint="modes count from 0; (1, 0) swaps two",
        )
    return _made_of(layout, [whole[number] for number in asked])


def as_tilers(first: Any, more: tuple[Any, ...]) -> Any:
    """Return one tiler as it is, several as a tuple by mode."""
    return (first, *more) if more else first


# -- digits ----------------------------------------------------------------------------------------


def modes_of(layout: Layout) -> list[Filled]:
    """(extents, digits) of every top-level mode, as they are written.

    >>> from tilewise import S
    >>> modes_of(S[((2, 3), 4) : ((12, 4), 1)])[0]
    ((2, 3), (Iter(extent=2, stride=12@m), Iter(extent=3, stride=4@m)))
    """
    digits = map(Iter, leaves(layout.shape), layout.strides)
    return [(mode, tuple(islice(digits, sum(1 for _ in leaves(mode))))) for mode in layout.shape]


def _made_of(layout: Layout, modes: Sequence[Filled]) -> Layout:
    return layout.with_parts(*_parts_of(modes), layout.replica, layout.offset)


def _parts_of(modes: Sequence[Filled]) -> tuple[Shape, tuple[Vector, ...]]:
    """Return the shape of modes, and their strides."""
    return as_shape([mode for mode, _ in modes]), tuple([it.stride for _, digits in modes for it in digits])


def _reshaped(layout: Layout, digits: Sequence[Iter], asked: Shape) -> Layout:
    """Return the layout of these digits, slowest first, in a shape that none of them clashes with."""
    shape, strides = _parts_of(_filled(digits, _slowest_first(asked, layout)))
    if layout.order != "row":
        shape, strides = mirrored(shape), strides[::-1]
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def _slowest_first(shape: Shape, layout: Layout) -> Shape:
    """Return a shape in the layout's order with its slowest digit first."""
    return shape if layout.order == "row" else mirrored(shape)


def _joined(digits: Sequence[Iter]) -> Mode:
    extents = tuple(it.extent for it in digits)
    return extents if len(extents) > 1 else extents[0]


def _places(extents: Sequence[int]) -> list[int]:
    """The place values of extents, slowest first, that lie below their product; ascending.

    >>> _places([2, 1, 3, 4])
    [1, 4, 12]
    """
    places, place = [], 1
    for extent in reversed(extents):
        if extent > 1:
            places.append(place)
            place *= extent
    return places


def _not_a_chain(places: Sequence[int], others: Sequence[int]) -> tuple[int, int] | None:
    """One of each, of which neither divides the other; each list by itself is a chain."""
    for finer, coarser in pairwise(sorted({*places, *others})):
        if coarser % finer:
            return (finer, coarser) if finer in places else (coarser, finer)
    return None


def _clash(digits: Sequence[Iter], asked: Shape) -> tuple[int, int] | None:
    """The place values of a digit and of an extent of the shape that do not fit, or None."""
    return _not_a_chain(_places([it.extent for it in digits]), _places(list(leaves(asked))))


def _cut(digits: Sequence[Iter], places: Sequence[int]) -> list[Iter]:
    """The digits, split at place values that fit."""
    result = []
    place = 1
    for it in reversed(digits):
        end = place * it.extent
        inside = places[bisect_right(places, place) : bisect_left(places, end)]
        for start, stop in pairwise([place, *inside, end]):
            result.append(Iter(stop // start, it.stride * (start // place)))
        place = end
    return result[::-1]


def _filled(digits: Sequence[Iter], asked: Shape) -> list[Filled]:
    """The modes of a shape with the digits that they hold; no clash is left."""
    cut = iter(_cut(digits, _places(list(leaves(asked)))))

    def filled(mode: Mode) -> Filled:
        if isinstance(mode, tuple):
            parts = [filled(inner) for inner in mode]
            return tuple(shape for shape, _ in parts), [it for _, held in parts for it in held]
        held: list[Iter] = []
        while prod(it.extent for it in held) < mode:
            held.append(next(cut))
        held = held or [_STILL]
        return _joined(held), held

    return [filled(mode) for mode in asked]


def _unfit(whose: str, asked: Shape, clash: tuple[int, int], hint: str) -> Refused:
    own, other = clash
    return Refused(
        "TW503",
        f"{whose} steps every {own} elements, and {spell(asked)} every {other}: neither divides the other",
        witness=clash,
        hint=hint,
    )


# -- what is asked ---------------------------------------------------------------------------------


def _asked(given: tuple[Any, ...], size: int, whose: str) -> Shape:
    """The shape that is asked for, of the right size, its -1 replaced."""
    parts = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given
    known = list(_numbers(parts))
    open_extents = sum(_is_open(number) for number in known)
    if open_extents > 1:
        raise LayoutError("TW102", f"{spell(tuple(parts))} leaves {open_extents} extents open, not one")
    if open_extents:
        rest = size_of(as_shape([number for number in known if not _is_open(number)]))
        if size % rest:
            raise LayoutError(
                "TW202",
                f"no extent for -1 gives {spell(tuple(parts))} the {size} elements of {whose}",
                hint=f"{rest} does not divide {size}",
            )
        parts = _closed(parts, size // rest)
    asked = as_shape(parts)
    if size_of(asked) != size:
        raise LayoutError(
            "TW202",
            f"{spell(asked)} has {size_of(asked)} elements, and {whose} has {size}",
            hint="the product of the extents stays as it is; one of them may be -1",
        )
    return asked


def _is_open(number: Any) -> bool:
    return type(number) is int and number == -1


def _closed(part: Any, extent: int) -> Any:
    if isinstance(part, tuple | list):
        return tuple(_closed(inner, extent) for inner in part)
    return extent if _is_open(part) else part


def _numbers(part: Any) -> Iterator[Any]:
    """The numbers in nested tuples and lists, from left to right."""
    if not isinstance(part, tuple | list):
        yield part
    else:
        for inner in part:
            yield from _numbers(inner)


def _mode_number(layout: Layout, mode: int) -> int:
    number = as_int(mode, "a mode")
    rank = len(layout.shape)
    if not 0 <= number < rank:
        raise LayoutError(
            "TW201",
            f"mode {number} of a layout of {rank} modes, {spell(layout.shape)}",
            hint="modes count from 0, the leftmost",
        )
    return number
