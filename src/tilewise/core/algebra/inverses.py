"""Inverses: from places back to indices, as layouts.

Every digit of an index is a step on an axis, so an inverse reads the digits off the places (`readback`):

    left inverse    G(p) is the index whose place is p                   right at every place that is taken
    quasi-inverse   G(p) is the smallest index that has a place p        the same, digits of stride 0 are 0
    right inverse   L(G(p)) is p                                         for all p of a box from 0 on

The domain of an inverse has one mode an axis, places counted from 0. The modes are in the order in which
the layout first names its axes, `L.axes`, or in that of `axes`. Its values are indices: elements on `m`.
Copies are further digits, of which the index does not depend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from itertools import islice, product
from math import prod

from tilewise.core.algebra.readback import (
    ReadBack,
    Reading,
    Unread,
    digits_up_to,
    merged,
    plain,
    searched,
    swizzled,
)
from tilewise.core.axes import Axis, m
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import landing
from tilewise.core.layout import Layout
from tilewise.core.orders import mirrored, turned
from tilewise.core.shapes import all_extents
from tilewise.core.solve import BudgetSpent
from tilewise.core.swizzles import undo_chain
from tilewise.core.vectors import ZERO, Term, Vector, along, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.shapes import Mode
    from tilewise.core.swizzles import Swizzle

MAX_CHOICES = 64
"""A diagonal digit may be read on any of its axes; so many ways are tried."""

_INDICES = Layout((), ())
_WHO = "ask place by place: who answers each, and needs no layout"


def _of_its_index(inverse: Callable[..., Layout]) -> Callable[..., Layout]:
    """Return an inverse to flat indices in the layout's own order, which counts places in it as well."""

    @wraps(inverse)
    def asked(layout: Layout, axes: Any = None) -> Layout:
        if layout.order == "row":
            return inverse(layout, axes)
        made = inverse(turned(layout), layout.axes if axes is None else axes)
        return mirrored(made) if len(made.shape) > 1 else turned(made.flatten())

    return asked


@_of_its_index
def left_inverse(layout: Layout, axes: Any = None) -> Layout:
    """G with G(place) == index, for every place of every element.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.

        requires       places from 0 on; no two elements share one; on each axis the steps divide one
                       another: d_i | d_(i+1), and d_(i+1) is more than what the smaller steps reach
        postcondition  G(p) == x for all x and all p in L(x), p as one number an axis
        refused        TW505, where two elements share a place with both and the place as witness

    Places that hold nothing get some index: ask `who` whether a place is taken. Where the rule ends, other
    levels are looked for among up to 1,024 places. Of random small layouts on one axis that share no place
    the rule reads 55 %, with the search 84 %; some layout is an inverse of 95 %. `who` answers for all.

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> left_inverse(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)])
    S[(32, 2) : (2, 1)]
    >>> left_inverse(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], axes=(reg, laneid))
    S[(2, 32) : (1, 2)]
    >>> left_inverse(S[(4, 8) : (1, 8)])
    S[((8, 8),) : ((1, 8),)]
    >>> left_inverse(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)])
    Swizzle(3, 3, 3) @ S[512 : 1]
    """
    return _reading(layout, axes, still=False)


@_of_its_index
def quasi_inverse(layout: Layout, axes: Any = None) -> Layout:
    """G with G(place) == the smallest index that has the place: `left_inverse` where elements share.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.

        requires       what `left_inverse` requires of the layout without its digits of stride 0
        postcondition  G(p) == min of the indices that live at p, for every place p that is taken

    >>> from tilewise import S
    >>> quasi_inverse(S[(4, 2, 8) : (8, 0, 1)])
    S[((4, 8),) : ((16, 1),)]
    """
    return _reading(layout, axes, still=True)


def axes_in_order(layout: Layout, axes: Any = None) -> tuple[str, ...]:
    """The names of a layout's axes: in the order in which it first names them, or in the one given.

    >>> from tilewise import S, laneid, reg
    >>> axes_in_order(S[(2, 32) : (1@reg, 1@laneid)], (laneid, "reg"))
    ('laneid', 'reg')
    """
    named = tuple(axis.name for axis in layout.axes)
    if axes is None:
        return named
    asked = tuple(map(str, axes if isinstance(axes, Iterable) and not isinstance(axes, str) else (axes,)))
    if sorted(asked) != sorted(named):
        raise LayoutError(
            "TW203",
            f"({', '.join(asked)}) is no order of the layout's axes, {', '.join(named)}",
            hint="axes= names every axis of the layout once, the axis of the first mode first",
        )
    return asked


# -- places to indices -----------------------------------------------------------------------------


class _Places:
    """What moves on every axis: digits with positive steps, and where they start."""

    __slots__ = ("axes", "base", "diagonal", "start", "still")

    def __init__(self) -> None:
        self.axes: dict[str, list[Reading]] = {}
        self.start: dict[str, int] = {}
        self.diagonal: list[tuple[tuple[Term, ...], int, int, int]] = []
        self.still = False
        self.base = 0
        """The index at the start."""

    def add(self, moving: Sequence[Term], extent: int, weight: int, whole: int) -> None:
        """A digit of the index, or one of the copies (weight 0), by its terms that are not 0."""
        if len(moving) == 1:
            ((axis, step),) = moving
            if step < 0:
                self.start[axis.name] += step * (extent - 1)
                self.base += weight * (extent - 1)
                step, weight = -step, -weight
                whole = 1 if extent & (extent - 1) else whole
            self.axes[axis.name].append((step, extent, weight, whole))
        elif moving:
            self.diagonal.append((tuple(moving), extent, weight, whole))
        elif weight:
            self.still = True

    def name(self, vector: Vector) -> None:
        """Have the axes that a vector names."""
        for axis, _ in vector.terms:
            if axis.name not in self.axes:
                self.axes[axis.name], self.start[axis.name] = [], 0

    def sort(self) -> _Places:
        """The digits of every axis by their steps."""
        for digits in self.axes.values():
            digits.sort()
        return self


def _places(layout: Layout) -> _Places:
    """The digits of a layout; the axes in its own order."""
    places = _Places()
    axes, start = places.axes, places.start
    extents = all_extents(layout.shape)
    weight = size = prod(extents)
    for extent, stride in zip(extents, layout.strides, strict=True):
        whole = extent if weight < size else 0
        weight //= extent
        terms = stride.terms
        if len(terms) == 1 and terms[0][1] > 0:
            ((axis, step),) = terms
            name = axis.name
            if name not in axes:
                axes[name], start[name] = [], 0
            if extent > 1:
                axes[name].append((step, extent, weight, whole))
        else:
            places.name(stride)
            if extent > 1:
                places.add([term for term in terms if term[1]], extent, weight, whole)
    for it in layout.replica:
        places.name(it.stride)
        if it.extent > 1:
            places.add(it.stride.nonzero.terms, it.extent, 0, 0)
    if layout.offset.terms:
        places.name(layout.offset)
        for axis, step in layout.offset.terms:
            start[axis.name] += step
    if layout.swizzles:
        places.name(Vector(((layout.swizzles[0].axis, 0),)))
        places.name(layout.outer)
    if not axes:
        axes[m.name], start[m.name] = [], 0
    return places.sort()


def _reading(layout: Layout, axes: Any, still: bool) -> Layout:
    order = axes_in_order(layout, axes)
    _check_outer(layout)
    places = _places(layout)
    if places.still and not still:
        raise _shared(layout)
    reason = ""
    for filled in _spread(layout, places) if places.diagonal else (places,):
        try:
            return _written(filled.base, [_axis(layout, filled, name) for name in order])
        except Unread as unread:
            reason = reason or str(unread)
    if not still and layout.injective.answer is False:
        raise _shared(layout)
    raise Refused("TW505", f"the steps do not read back digit by digit: {reason}", hint=_WHO)


def _check_outer(layout: Layout) -> None:
    if layout.outer:
        raise Refused(
            "TW504",
            f"the places are moved by {layout.outer}, less than a period, after they are swizzled",
            hint=_WHO,
        )


def _shared(layout: Layout) -> Refused:
    verdict = layout.injective
    still = any(it.extent > 1 and not it.stride for it in layout.shard)
    return Refused(
        "TW505",
        f"elements {verdict.reason}, and an inverse has one index for it",
        witness=verdict.witness,
        hint="quasi_inverse gives the smallest of them; who lists all" if still else _WHO,
    )


def _spread(layout: Layout, places: _Places) -> Iterator[_Places]:
    """The diagonal digits put on their axes: each is read on one of them, and is noise on the others."""
    ways = [moving if weight else moving[:1] for moving, _, weight, _ in places.diagonal]
    for read in islice(product(*ways), MAX_CHOICES):
        filled = _places(layout)
        for (moving, extent, weight, whole), chosen in zip(filled.diagonal, read, strict=True):
            for term in moving:
                filled.add([term], extent, weight if term == chosen else 0, whole)
        yield filled.sort()


def _axis(layout: Layout, places: _Places, name: str) -> ReadBack:
    """Return how one axis is read."""
    digits, start = places.axes[name], places.start[name]
    if start < 0:
        raise Refused(
            "TW505",
            f"places on {name} begin at {start}, and a layout of places counts them from 0",
            witness={name: start},
            hint=f"move the places up first: {-start}@{name} more",
        )
    if not layout.swizzles or layout.swizzled_axis != Axis(name):
        try:
            return plain(digits, start)
        except Unread:
            found = searched(digits, start)
            if found is None:
                raise
            return found
    return swizzled(digits, start, layout.swizzles)


def _written(base: int, reads: Sequence[ReadBack]) -> Layout:
    """The inverse from how every axis is read."""
    shape: list[Mode] = []
    strides: list[Vector] = []
    swizzles: tuple[Swizzle, ...] = ()
    for read in reads:
        digits = digits_up_to(read.levels, read.end)
        shape.append(digits[0][0] if len(digits) == 1 else tuple([extent for extent, _ in digits]))
        strides += [along(m, stride) for _, stride in digits]
        base += read.constant
        swizzles += read.swizzles
    made = _INDICES.with_parts(tuple(shape), tuple(strides), (), along(m, base))
    return made.swizzled(swizzles) if swizzles else made


# -- indices of a box of places --------------------------------------------------------------------


@_of_its_index
def right_inverse(layout: Layout, axes: Any = None) -> Layout:
    """G with L(G(place)) == place, for all places of a box from 0 on.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.
    On each axis it is the largest box that one chain of digits fills: steps 1 = d_1 | d_2 | ..., each
    within reach of the one before, d_(i+1) <= e_i d_i. For layouts that share no place there is no
    larger one on that axis. A swizzle gives back whole periods, or a power of two below one.

        requires       place 0 is taken
        postcondition  p in L(G(p)); of an element with copies, one of them is at p
        refused        TW505 nothing lives at place 0; TW504 an offset outside a swizzle

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> right_inverse(S[(4, 8) : (8, 1)]), right_inverse(S[(8, 4) : (1, 3)])
    (S[32 : 1], S[((4, 3),) : ((1, 4),)])
    >>> right_inverse(S[(4, 2, 8) : (1@laneid, 1@reg, 4@laneid)])
    S[((8, 4), 2) : ((1, 16), 8)]
    >>> right_inverse(Swizzle(3, 3, 3) @ S[(64, 8) : (1, 64)])
    Swizzle(3, 0, -6) @ S[((8, 64),) : ((1, 8),)]
    """
    order = axes_in_order(layout, axes)
    _check_outer(layout)
    places = _places(layout)
    if places.diagonal or any(places.start.values()):
        places = _from_place_0(layout)
    reads = []
    for name in order:
        chain, count = _filling(places.axes[name])
        if layout.swizzles and layout.swizzled_axis == Axis(name):
            reads.append(_unswizzled(layout, chain, count))
        else:
            levels = [(place, weight) for place, _, weight, _ in chain]
            reads.append(ReadBack(merged(levels), count - 1, 0))
    return _written(places.base, reads)


def _filling(digits: Sequence[Reading]) -> tuple[list[Reading], int]:
    """The chain of digits, slowest last, that fills the most places from 0 on, and how many."""
    end = 1
    nodes: list[tuple[Reading, int]] = [((1, 1, 0, 0), -1)]
    best = 0
    for digit in digits:
        step, extent = digit[0], digit[1]
        if step > end:
            break
        previous = best if step == end else _within_reach(nodes, step)
        if previous is not None:
            nodes.append((digit, previous))
            if step * extent > end:
                end, best = step * extent, len(nodes) - 1
    chain: list[Reading] = []
    node, following = best, end
    while node > 0:
        (step, _, weight, whole), node = nodes[node]
        if following > step:
            chain.append((step, following // step, weight, whole))
            following = step
    return chain[::-1], end


def _within_reach(nodes: Sequence[tuple[Reading, int]], step: int) -> int | None:
    for i, ((place, extent, _, _), _) in enumerate(nodes):
        if step % place == 0 and step <= place * extent:
            return i
    return None


def _unswizzled(layout: Layout, chain: Sequence[Reading], count: int) -> ReadBack:
    """The chain behind the swizzle, for the most places that it permutes among themselves."""
    for end in _closed(layout, count):
        cut = [(p, min(e, -(-end // p)), weight, whole) for p, e, weight, whole in chain if p < end]
        try:
            read = swizzled(cut, 0, layout.swizzles)
        except Unread:
            continue
        return ReadBack([lv for lv in read.levels if lv[0] < end], end - 1, read.constant, read.swizzles)
    raise AssertionError("one place is always closed")


def _closed(layout: Layout, count: int) -> Iterator[int]:
    """Counts up to `count`, descending, of places from 0 on that the swizzle permutes."""
    untouched = min([s.source & -s.source or count for s in layout.swizzles])
    if count <= untouched:
        yield count
    if count >= layout.period:
        yield count - count % layout.period
    for bits in reversed(range(count.bit_length())):
        if all(undo_chain(layout.swizzles, 1 << bit) >> bits == 0 for bit in range(bits)):
            yield 1 << bits


def _from_place_0(layout: Layout) -> _Places:
    """The digits as they run on from an index that lives at place 0."""
    shard = merged_shard(layout.shard)
    copies, start = merged_replica(layout.replica)
    iters = (*shard, *copies)
    plain = replace(layout, swizzles=(), outer=ZERO)
    try:
        at = next(landing(plain, iters, layout.offset + start, layout.axes, [0] * len(layout.axes)), None)
    except BudgetSpent:
        raise NotDecided("whether anything lives at place 0 was not decided within the bound") from None
    if at is None:
        raise Refused(
            "TW505",
            "nothing lives at place 0, where a right inverse begins",
            witness={axis.name: 0 for axis in layout.axes},
            hint="subtract the offset first",
        )
    places = _Places()
    places.name(point(layout.axes, [0] * len(layout.axes)))
    weight = size = layout.size
    for i, (it, digit) in enumerate(zip(iters, at, strict=True)):
        whole = it.extent if weight < size else 0
        weight = weight // it.extent if i < len(shard) else 0
        moving = it.stride.nonzero.terms
        downwards = len(moving) == 1 and moving[0][1] < 0
        room = digit + 1 if downwards else it.extent - digit
        places.base += 0 if downwards else weight * digit  # `add` counts a digit that runs down
        if room > 1:
            places.add(moving, room, weight, whole if room == it.extent else 1)
    places.start = dict.fromkeys(places.start, 0)
    return places.sort()
