"""The same map under another shape: digits merged, split, bracketed and reordered.

All of it happens on the side of the index: copies, offsets, swizzles and the unit stay as they are.

A boundary of a layout is the place value of a digit of its coalesced form: the number of elements that
faster digits count. A shape has the place values of its extents. When is a map of one shape also a map of
another?

    The weights w_P of D(n) = sum of w_P * (n // P) are unique, and not 0 once nothing is left to merge.
    So digits that fit the wanted shape exist iff the boundaries P, together with the shape's place values,
    form one chain in which each divides the next: merging first and splitting then finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tilewise.core import orders
from tilewise.core.canonical import merged_digits
from tilewise.core.digits import clash, in_runs, place_values, refined
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Mode, all_extents, as_shape, leaves, mirrored, refined_mode, size_of, spell
from tilewise.core.vectors import ZERO, Stepped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tilewise.core.shapes import Shape

    Filled: TypeAlias = tuple[Mode, Sequence[Iter]]

_STILL = (1, ZERO)
_ELEMENTS = Layout((), ())


# -- merging ---------------------------------------------------------------------------------------


def coalesce(layout: Layout, by_mode: bool = False) -> Layout:
    """Return the layout with neighbouring digits merged, wherever a step of one is a whole turn of the next.

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
    return _flat(layout, merged_digits(layout.digits))


@orders.by_mode
def _merged_by_mode(layout: Layout) -> Layout:
    modes = [merged_digits(part.digits) or [_STILL] for part in mode_layouts(layout)]
    following = iter(modes)
    shape = tuple([refined_mode(1, following) for _ in modes])
    strides = tuple([stride for digits in modes for _, stride in digits])
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def flatten(layout: Layout) -> Layout:
    """Return the layout with every digit a mode.

        postcondition  flatten(L)(n) == L(n), with the digits as they are written

    >>> from tilewise import S
    >>> flatten(S[((4, 2), 8) : ((16, 8), 1)])
    S[(4, 2, 8) : (16, 8, 1)]
    """
    return replace(layout, shape=tuple(leaves(layout.shape)))


# -- another shape ---------------------------------------------------------------------------------


def reshape(layout: Layout, *shape: Any) -> Layout:
    """Return the same map in another shape of the same size; one extent may be -1.

    Where an extent needs several digits it becomes a mode of them. `reshape` finds an answer whenever some
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
      hint: no digits of that shape are the same map; ask for an index of it with shape=(4, 9)
    """
    asked = _asked(shape, layout.size, "the layout")
    hint = f"no digits of that shape are the same map; ask for an index of it with shape={spell(asked)}"
    return _reshaped(layout, merged_digits(layout.digits), asked, "the map", hint)


def group(layout: Layout, *shape: Any) -> Layout:
    """Return the same map in modes of these sizes: the digits as written, split where they must be.

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
    digits = [digit for digit in layout.digits if digit[0] > 1]
    merging_helps = _clash(merged_digits(digits), asked, layout.order) is None
    hint = "reshape merges digits first, and has an answer"
    hint = hint if merging_helps else "merging digits first does not help either"
    return _reshaped(layout, digits, asked, "a digit", hint)


def split(layout: Layout, mode: int, *extents: Any) -> Layout:
    """Return the layout with one mode as several, the first slowest; one extent may be -1.

    The other modes stay. In CuTe's order the first is the fastest.

        postcondition  split(L, k, a, b)(.., i, j, ..) == L(.., i b + j, ..)
        refused        TW503 where the mode steps at a place that does not fit: with the wanted one it
                       is the witness

    >>> from tilewise import S
    >>> split(S[(64, 32) : (32, 1)], 0, 4, 16)
    S[(4, 16, 32) : (512, 32, 1)]
    """
    position, rank = as_int(mode, "a mode"), len(layout.shape)
    if not 0 <= position < rank:
        raise LayoutError(
            "TW201",
            f"mode {position} of a layout of {rank} modes, {spell(layout.shape)}",
            hint="modes count from 0, the leftmost",
        )
    modes = mode_layouts(layout)
    one = modes[position]
    asked = _asked(extents, one.size, f"mode {position}")
    hint = f"no digits of that shape are the same map along mode {position}"
    parts = _reshaped(one, merged_digits(one.digits), asked, f"mode {position}", hint)
    modes[position] = parts
    shape = (*layout.shape[:position], *parts.shape, *layout.shape[position + 1 :])
    strides = tuple([stride for part in modes for stride in part.strides])
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def refinement(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    """Return both maps over one flat shape: the coarsest that has the digits of both.

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
    ours, theirs = merged_digits(a.digits), merged_digits(b.digits)
    both = refined(ours, theirs)
    if both is not None:
        return _flat(a, both[0]), _flat(b, both[1])
    places, others = (place_values(extent for extent, _ in digits) for digits in (ours, theirs))
    unfit = clash(places, others) or (0, 0)
    raise Refused(
        "TW503",
        f"a steps every {unfit[0]} elements, and b every {unfit[1]}: neither divides the other",
        witness=unfit,
        hint="so no flat shape has the digits of both",
    )


# -- brackets and order ----------------------------------------------------------------------------


def regroup(layout: Layout, *parts: Any) -> Layout:
    """Return the modes bracketed: every number names a mode, and the modes of a tuple become one mode.

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
    """Return the modes in another order: the same elements under another index.

        requires       every mode once
        postcondition  permute(L, 1, 0)(j, i) == L(i, j)

    >>> from tilewise import S
    >>> permute(S[(4, 8) : (8, 1)], 1, 0)
    S[(8, 4) : (1, 8)]
    """
    numbers = order[0] if len(order) == 1 and isinstance(order[0], tuple | list) else order
    modes = mode_layouts(layout)
    asked = [as_int(number, "a mode") for number in numbers]
    if sorted(asked) != list(range(len(modes))):
        raise LayoutError(
            "TW201",
            f"{spell(tuple(asked))} does not name every mode of {spell(layout.shape)} once",
            hint="modes count from 0; (1, 0) swaps two",
        )
    shape = tuple([layout.shape[number] for number in asked])
    strides = tuple([stride for number in asked for stride in modes[number].strides])
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def as_tilers(first: Any, more: tuple[Any, ...]) -> Any:
    """Return one tiler as it is, several as a tuple by mode."""
    return (first, *more) if more else first


# -- digits ----------------------------------------------------------------------------------------


def modes_of(layout: Layout) -> list[Filled]:
    """Return (extents, digits) of every top-level mode, as they are written.

    >>> from tilewise import S
    >>> modes_of(S[((2, 3), 4) : ((12, 4), 1)])[0]
    ((2, 3), (Iter(extent=2, stride=12@m), Iter(extent=3, stride=4@m)))
    """
    digits = map(Iter, leaves(layout.shape), layout.strides)
    return [(mode, tuple(islice(digits, sum(1 for _ in leaves(mode))))) for mode in layout.shape]


def mode_layouts(layout: Layout) -> list[Layout]:
    """Return every top-level mode as a layout, without copies, offset and swizzles.

    >>> from tilewise import S
    >>> mode_layouts(S[(8, (2, 4)) : (8, (4, 1))])
    [S[8 : 8], S[(2, 4) : (4, 1)]]
    """
    alone = _ELEMENTS
    if (layout.order, layout.unit) != ("row", "element"):
        alone = Layout((), (), unit=layout.unit, order=layout.order)
    strides = iter(layout.strides)
    parts = []
    for mode in layout.shape:
        shape = mode if isinstance(mode, tuple) else (mode,)
        own = tuple(islice(strides, len(all_extents(shape))))
        parts.append(alone.with_parts(shape, own, (), ZERO))
    return parts


def _flat(layout: Layout, digits: Sequence[Stepped]) -> Layout:
    extents, strides = tuple([extent for extent, _ in digits]), tuple([stride for _, stride in digits])
    return layout.with_parts(extents, strides, layout.replica, layout.offset)


def _reshaped(layout: Layout, digits: Sequence[Stepped], asked: Shape, whose: str, hint: str) -> Layout:
    """Return the layout of these digits, slowest first, in another shape; refuse digits that do not fit."""
    unfit = _clash(digits, asked, layout.order)
    if unfit is not None:
        raise Refused(
            "TW503",
            f"{whose} steps every {unfit[0]} elements, and {spell(asked)} every {unfit[1]}: "
            "neither divides the other",
            witness=unfit,
            hint=hint,
        )
    row = layout.order == "row"
    ordered = asked if row else mirrored(asked)
    runs = [run or [_STILL] for run in in_runs(digits, leaves(ordered))]
    following = iter(runs)
    shape = tuple([refined_mode(mode, following) for mode in ordered])
    strides = tuple([stride for run in runs for _, stride in run])
    if not row:
        shape, strides = mirrored(shape), strides[::-1]
    return layout.with_parts(shape, strides, layout.replica, layout.offset)


def _clash(digits: Sequence[Stepped], asked: Shape, order: str) -> tuple[int, int] | None:
    """Return the place values of a digit and of an extent of the shape that do not fit, or None."""
    extents = list(leaves(asked))
    places = place_values(extents if order == "row" else extents[::-1])
    return clash(place_values(extent for extent, _ in digits), places)


# -- shapes that callers want ----------------------------------------------------------------------


def _asked(given: tuple[Any, ...], size: int, whose: str) -> Shape:
    """Return the wanted shape, of the right size, its -1 replaced."""
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
    """Yield the numbers in nested tuples and lists, from left to right."""
    if not isinstance(part, tuple | list):
        yield part
    else:
        for inner in part:
            yield from _numbers(inner)
