"""Inverses: from places back to indices, as layouts.

Every digit of an index is a step on an axis, so an inverse reads the digits off the places:

    left inverse    G(p) is the index whose place is p                   right at every place that is taken
    quasi-inverse   G(p) is the smallest index that has a place p        the same, digits of stride 0 are 0
    right inverse   L(G(p)) is p                                         for all p of a box from 0 on

The domain of an inverse has one mode an axis, places counted from 0. The modes are in the order in which
the layout first names its axes, `L.axes`, or in that of `axes`. Its values are indices: elements on `m`.
Copies are further digits, of which the index does not depend.

Along one axis a place is p = start + d_1 x_1 + ... + d_k x_k, steps d_i > 0, every x_i with a weight W_i.
Wanted is a layout G of p with G(p) == W_1 x_1 + ... + W_k x_k for all these places. In its floor form

    G(p) = c + sum of w_P * (p // P),   P in a chain in which each divides the next

a level P reads d_i x_i // P where P divides d_i, and nothing where all digits that it does not divide
stay below it together with the start: start % P + sum of (e_i - 1) d_i < P. Levels chosen among the steps
make the weights a triangular system, solved from the smallest step up. That is the rule. It reads every
layout whose steps divide one another without overlap, padding, copies and offsets that fit included.

Behind a swizzle the low bits of a place are XORs of bits of the digits: a linear map over GF(2), whose
inverse is a layout that picks one bit of the place for every bit of the index, then XORs of index bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice, product
from math import prod

from tilewise.core.algebra.levels import Form, digits_of, floors, value_at
from tilewise.core.axes import m
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.chains import as_swizzles
from tilewise.core.digits import Digit, merged
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import landing
from tilewise.core.integers import bits_of
from tilewise.core.layout import Layout
from tilewise.core.orders import mirrored, turned
from tilewise.core.polynomials import is_named
from tilewise.core.shapes import all_extents
from tilewise.core.solve import BudgetSpent
from tilewise.core.swizzles import Swizzle, apply_chain, period_of, undo_chain
from tilewise.core.vectors import ZERO, Term, Vector, along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.shapes import Mode
    from tilewise.core.swizzles import Swizzle


# -- digits read off a place -----------------------------------------------------------------------

Reading = tuple[int, int, int, int]
"""(step, extent, weight, whole): `whole` is the extent that the digit has in the index, 0 for the slowest,
1 where it runs so that none of its bits is a bit of the index."""


class Unread(Exception):
    """The digits cannot be read back by the rule; the reason is the message."""


def levels_of(digits: Iterable[Reading], start: int) -> tuple[Form, int]:
    """Return the levels of G for digits sorted by step, and their reach; raise `Unread` where the rule ends.

        postcondition  value_at(G, p) - value_at(G, start) == sum of weight * digit

    >>> levels_of([(1, 4, 1, 4), (8, 4, 4, 0)], 2)
    ({1: 1, 8: -4}, 27)
    """
    form: Form = {}
    place, stride, reach = 1, 0, 0
    for step, extent, weight, _ in digits:
        if step % place:
            raise Unread(f"step {step} is no multiple of step {place}")
        so_far = step // place * stride
        if so_far != weight:
            if start % step + reach >= step:
                if reach >= step:
                    raise Unread(f"step {step} is shorter than what the smaller steps reach, {reach}")
                raise Unread(
                    f"with an offset of {start % step} the smaller steps, which reach {reach}, "
                    f"carry over step {step}"
                )
            form[step] = weight - so_far
            place, stride = step, weight
        reach += step * (extent - 1)
    return form, reach


# -- behind a swizzle ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The reading of an axis: the digits of its places, a constant, and XORs of the index after them."""

    digits: list[Digit]
    constant: int = 0
    swizzles: tuple[Swizzle, ...] = ()


def _read_back(form: Form, end: int, constant: int = 0, swizzles: tuple[Swizzle, ...] = ()) -> ReadBack:
    """Return a form for the places 0..end as digits, the slowest as long as it takes to come to the end."""
    last = max(form, default=1)
    return ReadBack(digits_of(form, (end // last + 1) * last), constant, swizzles)


def plain(digits: list[Reading], start: int, end: int | None = None) -> ReadBack:
    """Return the reading of an axis without a swizzle, up to an end or as far as the digits reach.

        requires  digits sorted by step, start >= 0

    >>> plain([(1, 4, 2, 4), (5, 2, 1, 2)], 0)
    ReadBack(digits=[(2, 1), (5, 2)], constant=0, swizzles=())
    """
    form, reach = levels_of(digits, start)
    return _read_back(form, start + reach if end is None else end, -value_at(form, start) if start else 0)


def swizzled(
    digits: list[Reading], start: int, swizzles: Sequence[Swizzle], end: int | None = None
) -> ReadBack:
    """Return the reading of an axis whose places are swizzled: p = Sw(start + sum of step * digit).

        requires       digits sorted by step, start >= 0
        postcondition  Sw'(value of the digits at p, and the constant) == sum of weight * digit

    >>> swizzled([(1, 8, 1, 8), (8, 8, 8, 0)], 0, [Swizzle(3, 0, 3)])
    ReadBack(digits=[(64, 1)], constant=0, swizzles=(Swizzle(3, 0, 3),))
    """
    reach = sum([step * (extent - 1) for step, extent, _, _ in digits])
    if all(start + reach < (swizzle.source & -swizzle.source or start + reach + 1) for swizzle in swizzles):
        return plain(digits, start, end)  # every swizzle reads zeros alone
    period = period_of(swizzles)
    bits, above = _bits_below(period, digits, start % period)
    fixed = apply_chain(swizzles, start % period)
    forms = [0] * (period.bit_length() - 1)  # each bit of a place as the bits of digits whose XOR it is
    for number, bit in enumerate(bits):
        for position in bits_of(apply_chain(swizzles, bit.column)):
            forms[position] |= 1 << number
    positions, moves = _solved(bits, forms)
    constant, strides = sum(bit.weight for bit in bits if bit.turned), [0] * len(forms)
    for number, position in positions.items():
        weight = -bits[number].weight if bits[number].turned else bits[number].weight
        turned = sum(bit.turned for n, bit in enumerate(bits) if forms[position] >> n & 1)
        if (turned + (fixed >> position)) & 1:
            constant, weight = constant + weight, -weight
        strides[position] = weight
    lowest = floors([(2, 0), *((2, stride) for stride in reversed(strides))])  # they end at the period
    base = start - start % period
    high, reach = levels_of(sorted(above), base)
    if end is None:
        taken = [position for position, form in enumerate(forms) if form or fixed >> position & 1]
        end = base + reach + period - 1 if base + reach else (2 << max(taken, default=-1)) - 1
    form = dict(high)
    for place, weight in zip(lowest.places, lowest.weights, strict=True):
        form[place] = form.get(place, 0) + weight
    form = {place: weight for place, weight in form.items() if weight and place <= end}
    return _read_back(form, end, constant - value_at(high, base), _xors(bits, moves))


@dataclass(frozen=True, slots=True)
class _Bit:
    """A bit of a digit: the bits of a place that it sets, and its weight in the index; 0 for a copy.

    `turned`: the digit of the index runs the other way. `bound`: the bit does not stand alone in the index,
    so nothing can be XORed with it there.
    """

    column: int
    weight: int
    turned: bool
    bound: bool


def _bits_below(period: int, digits: Iterable[Reading], start: int) -> tuple[list[_Bit], list[Reading]]:
    """Return the bits of digits that lie below the period, and the digits above it."""
    used = start
    bits: list[_Bit] = []
    above: list[Reading] = []
    for step, extent, weight, whole in digits:
        column, rest = step, extent
        turned = weight < 0 and whole != 1
        while rest > 1 and column % period:
            if column & used or column >= period:
                raise Unread(f"step {step} carries among the bits that the swizzle permutes")
            used |= column
            alone = not whole % (column // step * 2) and weight.bit_count() == 1
            bits.append(_Bit(column, weight, turned, not alone or (weight < 0 and not turned)))
            column, weight, rest = 2 * column, 2 * weight, (rest + 1) // 2
        if rest > 1:
            above.append((column, rest, weight, whole))
    return bits, above


def _solved(bits: Sequence[_Bit], forms: Sequence[int]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Return, by Gauss, {number of a bit: its position in a place}, then XORs (flipped, read)."""
    copies = sum(1 << number for number, bit in enumerate(bits) if not bit.weight)
    rows = {position: form for position, form in enumerate(forms) if form and not form & copies}
    positions: dict[int, int] = {}
    moves: list[tuple[int, int]] = []
    for number, bit in enumerate(bits):
        if not bit.weight:
            continue
        holding = [position for position, form in rows.items() if form >> number & 1]
        candidates = [position for position in holding if position not in positions.values()]
        if not candidates:
            raise Unread("the swizzle mixes a copy into a bit of the index")
        home = (bit.column & -bit.column).bit_length() - 1
        pivot = positions[number] = home if home in candidates else candidates[0]
        for position in holding:
            if position != pivot:
                rows[position] ^= rows[pivot]
                moves.append((position, pivot))
    numbers = {position: number for number, position in positions.items()}
    return positions, [(numbers[a], numbers[b]) for a, b in moves if a in numbers]


def _xors(bits: Sequence[_Bit], moves: Iterable[tuple[int, int]]) -> tuple[Swizzle, ...]:
    """Return the XORs between bits as swizzles of the index, the last of the chain first to act."""
    pairs = []
    for flipped, read in ((bits[a], bits[b]) for a, b in moves):
        if flipped.bound or read.bound:
            raise Unread("the swizzle mixes bits of the index that are not bits of their own")
        pairs.append((read.weight.bit_length() - 1, flipped.weight.bit_length() - 1))
    return tuple(reversed(as_swizzles(pairs)))


# -- places to indices -----------------------------------------------------------------------------

MAX_CHOICES = 64
"""The most ways that are tried to read diagonal digits, each on any of its axes."""

_INDICES = Layout((), ())
_WHO = "ask place by place: who answers each, and needs no layout"


def _of_its_index(inverse: Callable[..., Layout]) -> Callable[..., Layout]:
    """Return an inverse to flat indices in the layout's order, which counts places in that order too."""

    @wraps(inverse)
    def asked(layout: Layout, axes: Any = None) -> Layout:
        if layout.order == "row":
            return inverse(layout, axes)
        made = inverse(turned(layout), layout.axes if axes is None else axes)
        return mirrored(made) if len(made.shape) > 1 else turned(made.flatten())

    return asked


@_of_its_index
def left_inverse(layout: Layout, axes: Any = None) -> Layout:
    """Return the G with G(place) == index, for every place of every element.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.

        requires       places from 0 on; no two elements share one; on each axis the steps divide one
                       another: d_i | d_(i+1), and d_(i+1) is more than what the smaller steps reach
        postcondition  G(p) == x for all x and all p in L(x), p as one number an axis
        refused        TW505, where two elements share a place with both and the place as witness

    Places that hold nothing get some index: `who` tells whether a place is taken. Of random small layouts on
    one axis that share no place the rule reads 55 %; `who` answers for all.

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
    """Return the G with G(place) == the smallest index at the place: `left_inverse` where elements share.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.

        requires       what `left_inverse` requires of the layout without its digits of stride 0
        postcondition  G(p) == min of the indices that live at p, for every place p that is taken

    >>> from tilewise import S
    >>> quasi_inverse(S[(4, 2, 8) : (8, 0, 1)])
    S[((4, 8),) : ((16, 1),)]
    """
    return _reading(layout, axes, still=True)


def axes_in_order(layout: Layout, axes: Any = None) -> tuple[str, ...]:
    """Return the names of a layout's axes: in the order in which it first names them, or in the given order.

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
    """The moves on every axis: digits with positive steps, and their start."""

    def __init__(self, layout: Layout) -> None:
        self.axes: dict[str, list[Reading]] = {axis.name: [] for axis in layout.axes}
        self.start = dict.fromkeys(self.axes, 0)
        for axis, steps in layout.offset.terms:
            self.start[axis.name] = steps
        self.diagonal: list[tuple[tuple[Term, ...], int, int, int]] = []
        self.still = False
        self.base = 0
        """The index at the start."""

    def add(self, moving: Sequence[Term], extent: int, weight: int, whole: int) -> None:
        """Add a digit of the index, or of the copies (weight 0), by its terms that are not 0."""
        if len(moving) == 1:
            ((axis, step),) = moving
            if step < 0:
                self.start[axis.name] += step * (extent - 1)
                self.base += weight * (extent - 1)
                step, weight = -step, -weight
                whole = 1 if is_named(extent) or extent & (extent - 1) else whole
            self.axes[axis.name].append((step, extent, weight, whole))
        elif moving:
            self.diagonal.append((tuple(moving), extent, weight, whole))
        elif weight:
            self.still = True

    def sort(self) -> _Places:
        """Return the places with the digits of every axis by their steps."""
        for digits in self.axes.values():
            digits.sort()
        return self


def _places(layout: Layout) -> _Places:
    """Return the digits of a layout; the axes are in the layout's order."""
    places = _Places(layout)
    extents = all_extents(layout.shape)
    weight = size = prod(extents)
    for extent, stride in zip(extents, layout.strides, strict=True):
        whole = extent if weight < size else 0
        weight //= extent
        terms = stride.terms
        if extent > 1 and len(terms) == 1 and terms[0][1] > 0:  # most digits need no more than this
            places.axes[terms[0][0].name].append((terms[0][1], extent, weight, whole))
        elif extent > 1:
            places.add(stride.nonzero.terms, extent, weight, whole)
    for it in layout.replica:
        if it.extent > 1:
            places.add(it.stride.nonzero.terms, it.extent, 0, 0)
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
    if layout.outer.terms:  # steps of 0, or of whole periods, stand inside
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
    """Yield the diagonal digits put on their axes: each is read on one axis, and is noise on the others."""
    ways = [moving if weight else moving[:1] for moving, _, weight, _ in places.diagonal]
    for read in islice(product(*ways), MAX_CHOICES):
        filled = _places(layout)
        for (moving, extent, weight, whole), chosen in zip(filled.diagonal, read, strict=True):
            for term in moving:
                filled.add([term], extent, weight if term == chosen else 0, whole)
        yield filled.sort()


def _axis(layout: Layout, places: _Places, name: str) -> ReadBack:
    """Return the reading of one axis."""
    digits, start = places.axes[name], places.start[name]
    if start < 0:
        raise Refused(
            "TW505",
            f"places on {name} begin at {start}, and a layout of places counts them from 0",
            witness={name: start},
            hint=f"move the places up first: {-start}@{name} more",
        )
    if layout.swizzles and layout.swizzles[0].axis.name == name:
        return swizzled(digits, start, layout.swizzles)
    return plain(digits, start)


def _written(base: int, reads: Sequence[ReadBack]) -> Layout:
    """Return the inverse, from the readings of all axes."""
    shape: list[Mode] = []
    strides: list[Vector] = []
    swizzles: tuple[Swizzle, ...] = ()
    for read in reads:
        shape.append(
            read.digits[0][0] if len(read.digits) == 1 else tuple([extent for extent, _ in read.digits])
        )
        strides += [along(m, stride) for _, stride in read.digits]
        base += read.constant
        swizzles += read.swizzles
    made = _INDICES.with_parts(tuple(shape), tuple(strides), (), along(m, base))
    return made.swizzled(swizzles) if swizzles else made


# -- indices of a box of places --------------------------------------------------------------------


@_of_its_index
def right_inverse(layout: Layout, axes: Any = None) -> Layout:
    """Return the G with L(G(place)) == place, for all places of a box from 0 on.

    One mode an axis: in the order in which the layout first names them, or in that of `axes`.
    On each axis the box is the largest that one chain of digits fills: steps 1 = d_1 | d_2 | ..., each
    within reach of the one before, d_(i+1) <= e_i d_i. For layouts that share no place there is no
    larger one on that axis. A swizzle gives back whole periods, or a power of two below one.

        requires       place 0 is taken
        postcondition  p in L(G(p)); of an element with copies, one of them is at p
        refused        TW505 no element lives at place 0; TW504 an offset outside a swizzle

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
        if layout.swizzles and layout.swizzles[0].axis.name == name:
            reads.append(_unswizzled(layout, chain, count))
        else:
            digits = merged([(extent, weight) for _, extent, weight, _ in reversed(chain)])
            reads.append(ReadBack(digits or [(1, 0)]))
    return _written(places.base, reads)


def _filling(digits: Sequence[Reading]) -> tuple[list[Reading], int]:
    """Return the chain of digits, slowest last, that fills the most places from 0 on, and their number."""
    end = 1
    nodes: list[tuple[Reading, int]] = [((1, 1, 0, 0), -1)]
    best = 0
    for digit in digits:
        step, extent = digit[0], digit[1]
        if step > end:
            break
        previous: int | None = best
        if step < end:
            within = (i for i, ((p, e, *_), _) in enumerate(nodes) if step % p == 0 and step <= p * e)
            previous = next(within, None)
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


def _unswizzled(layout: Layout, chain: Sequence[Reading], count: int) -> ReadBack:
    """Return the chain behind the swizzle, for the most places that it permutes among themselves."""
    for end in _closed(layout, count):
        cut = [(p, min(e, -(-end // p)), weight, whole) for p, e, weight, whole in chain if p < end]
        with suppress(Unread):
            return swizzled(cut, 0, layout.swizzles, end - 1)
    raise AssertionError("one place is always closed")


def _closed(layout: Layout, count: int) -> Iterator[int]:
    """Yield counts up to `count`, descending, of places from 0 on that the swizzle permutes."""
    untouched = min([s.source & -s.source or count for s in layout.swizzles])
    if count <= untouched:
        yield count
    if count >= layout.period:
        yield count - count % layout.period
    for bits in reversed(range(count.bit_length())):
        if all(undo_chain(layout.swizzles, 1 << bit) >> bits == 0 for bit in range(bits)):
            yield 1 << bits


def _from_place_0(layout: Layout) -> _Places:
    """Return the digits as they run on from an index that lives at place 0."""
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
    places = _Places(layout)
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
    return places.sort()
