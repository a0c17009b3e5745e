"""The comparison of two layouts as maps, by flat index, without listing them.

With equal swizzles the maps inside decide. Two facts settle them:

    floor form   D(n) = sum over the places P of the digits of w_P * (n // P), the w_P unique, so two
                 shards are equal iff their w are, and first differ at the smallest P whose w differ
    start        a set of copies moves with its lexicographic minimum, so L1 = L2 iff D + O + min R
                 agree and the sets R - min R are equal
    signature    where no copies coincide, sum z^r over r in R is the product of (z^(e s) - 1) / (z^s - 1)
                 over its iters, and the z^v - 1 are multiplicatively independent: two such sets are
                 equal iff their multisets of e s less those of s are

Other swizzles may be the same on the bits that the places set. Where they are not, the GF(2) view compares
columns, modulo those of the copies. Listing compares the rest up to a bound. Beyond it, likely indices may
still show a difference, never sameness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from math import prod

from tilewise.core.bits import Basis, affine_map
from tilewise.core.canonical import MAX_COPIES, canonical, merged_replica
from tilewise.core.chains import swizzle_chain
from tilewise.core.facts import Verdict, disjoint_steps
from tilewise.core.orders import aligned_by_flat_index, alike_in_modes
from tilewise.core.polynomials import is_named
from tilewise.core.shapes import all_extents
from tilewise.core.swizzles import one_permutation
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Iter, Layout

MAX_LISTED = 1 << 14
MAX_PROBES = 1 << 12

Columns = tuple[int, list[int], list[int]]
"""The place of index 0, the column of every bit of the index, and those of the copies."""


@dataclass(frozen=True, slots=True)
class Comparison(Verdict):
    """The answer of `same`. A no carries the first flat index that differs, and both its places.

    `first` is False in the rare case that an earlier index may differ as well.
    """

    a: tuple[Vector, ...] = ()
    b: tuple[Vector, ...] = ()
    first: bool = True


_SAME = Comparison(True)
_OPEN = Comparison(None, "not decided within the bound: other swizzles or copies, and no difference found")


def same(a: Layout, b: Layout) -> Comparison:
    """Return the comparison of two layouts as maps: true if they place every element alike.

    Elements are paired by flat index, each layout's in its order. Two layouts that count in
    different orders, with modes of the same extents, are paired by coordinates.

        witness  the smallest flat index whose places differ; of other sizes, the first that only
                 one layout has. Where coordinates are paired it is the index of a, and row-major first

    >>> from tilewise import S, Swizzle
    >>> same(S[(2**25, 2**25) : (2**25, 1)], S[2**50 : 1]).answer
    True
    >>> same(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], S[512 : 1]).witness
    64
    """
    if a.unit != b.unit:
        return Comparison(False, f"one counts {a.unit}s, the other {b.unit}s")
    if a.size != b.size:
        first = min(a.size, b.size)
        reason = f"{a.size} elements and {b.size}: index {first} is in one of them alone"
        return Comparison(False, reason, first, _shown(a, first), _shown(b, first))
    if a == b:
        return _SAME
    one, other = aligned_by_flat_index(a, b)
    found = _compare(canonical(one), canonical(other))
    if found.witness is None:
        return found
    flats = (found.witness, found.witness)
    if a.order != b.order and alike_in_modes(a, b):
        index = one.coordinates(found.witness)
        flats = (a.flat_index(index), b.flat_index(index))
    reason = f"they differ at flat index {flats[0]}"
    return Comparison(False, reason, flats[0], _shown(a, flats[0]), _shown(b, flats[1]), found.first)


def agree(one: Layout, other: Layout) -> bool | None:
    """Return the answer of `same` alone, for layouts of one size and unit that are in canonical form.

    >>> from tilewise import S
    >>> agree(S[16 : 1], S[(4, 4) : (1, 4)])
    False
    """
    return _compare(one, other, anywhere=True).answer


def _compare(one: Layout, other: Layout, anywhere: bool = False) -> Comparison:
    """Return the comparison of two canonical layouts; its witness is the first difference, or any."""
    if (one.swizzles, one.outer) != (other.swizzles, other.outer):
        one, other = _with_least_swizzles(one), _with_least_swizzles(other)
    if one == other:
        return _SAME
    if one.outer == other.outer and one_permutation(one.swizzles, other.swizzles):
        found = _compare_inside(one, other)
    else:
        found = _compare_affine(one, other)
    return found if found.answer is not None else _compare_listed(one, other, anywhere)


def _with_least_swizzles(layout: Layout) -> Layout:
    """Return the canonical form with swizzles that read only bits that its places set."""
    return canonical(swizzle_chain(layout)) if layout.swizzles else layout


def _shown(layout: Layout, flat: int) -> tuple[Vector, ...]:
    """Return the places of an index; () if it is past the end, or has too many to list."""
    listable = flat < layout.size and _most_copies(layout) <= MAX_COPIES
    return layout.places(flat) if listable else ()


def _most_copies(layout: Layout) -> int:
    return prod(it.extent for it in merged_replica(layout.replica)[0])


# -- inside equal swizzles -------------------------------------------------------------------------


def _compare_inside(a: Layout, b: Layout) -> Comparison:
    replicas = _same_sets(a.replica, b.replica)
    if replicas is False or (a.offset - b.offset).nonzero:  # canonical replicas start at 0
        return Comparison(False, witness=0, first=replicas is not None)
    # {P: w} with D_a(n) - D_b(n) = sum w * (n // P), for n below the size: the least P is the first n
    form: dict[int, Vector] = {}
    for layout, sign in ((a, 1), (b, -1)):
        place, carry = 1, Vector()
        for extent, stride in reversed(layout.digits):
            form[place] = form.get(place, Vector()) + (stride - carry) * sign
            place, carry = place * extent, stride * extent
    differing = [place for place, weight in form.items() if weight]
    if differing:
        return Comparison(False, witness=min(differing), first=replicas is not None)
    return _SAME if replicas else _OPEN


def _same_sets(a: tuple[Iter, ...], b: tuple[Iter, ...]) -> bool | None:
    """Return True if two lists of canonical replica iters reach the same steps, None if not decided."""
    one, other = merged_replica(a)[0], merged_replica(b)[0]
    if one == other:
        return True
    reach = [sum([it.stride * (it.extent - 1) for it in iters], Vector()) for iters in (one, other)]
    if (reach[0] - reach[1]).nonzero:
        return False
    if all(disjoint_steps(iters).answer is True for iters in (one, other)):
        return _signature(one) == _signature(other)
    if prod(it.extent for it in (*one, *other)) <= MAX_LISTED:
        steps = ([[it.stride * d for d in range(it.extent)] for it in iters] for iters in (one, other))
        sums = [{frozenset(sum(r, Vector()).nonzero.terms) for r in product(*moves)} for moves in steps]
        return sums[0] == sums[1]
    return None


def _signature(iters: list[Iter]) -> Counter[Vector]:
    """Return the exponent of each z^v - 1 in the generating function of the copies, below 0 for divisors."""
    counts = Counter(it.stride * it.extent for it in iters)
    counts.subtract(it.stride for it in iters)
    return counts


# -- across different swizzles ---------------------------------------------------------------------


def _compare_affine(a: Layout, b: Layout) -> Comparison:
    """Compare XORs of columns: the copies of an element are one coset of the XORs of the copies' columns."""
    both = columns_of(a, b)
    if both is None:
        return _OPEN
    (origin, columns, own), (other, others, theirs) = both
    copies = Basis(own)
    if len(own) != len(theirs) or any(map(copies.rest, theirs)):
        return Comparison(False, witness=0)
    pairs = zip((origin, *columns), (other, *others), strict=True)
    differing = [copies.rest(x ^ y) != 0 for x, y in pairs]
    return Comparison(False, witness=1 << differing.index(True) >> 1) if True in differing else _SAME


def columns_of(a: Layout, b: Layout) -> list[Columns] | None:
    """Return both maps as XORs of columns, or None: the places of all axes are packed into one number.

    >>> from tilewise import S
    >>> columns_of(S[4 : 2] + 1, S[(2, 2) : (1, 2)])
    [(1, [2, 4], []), (0, [2, 1], [])]
    """
    extents = [it.extent for it in (*a.replica, *b.replica)]
    extents += all_extents(a.shape) + all_extents(b.shape)
    if any(map(is_named, extents)) or a.outer != b.outer or any(extent & extent - 1 for extent in extents):
        return None
    axes = tuple(dict.fromkeys((*a.axes, *b.axes)))
    maps = [affine_map(_copies_in_front(layout, axes)) for layout in (a, b)]
    points = [(found.origin, *found.columns) for found in maps if found]
    if len(points) < 2:
        return None
    width = max(steps.bit_length() for at in points for place in at for steps in place)
    last = a.size.bit_length() - 1
    packed = ([sum([s << i * width for i, s in enumerate(place)]) for place in at] for at in points)
    return [(origin, columns[:last], columns[last:]) for origin, *columns in packed]


def _copies_in_front(layout: Layout, axes: Iterable[Axis]) -> Layout:
    """Return the layout with copies as slowest digits, axes in a given order, without the outer offset."""
    order = Vector(tuple([(axis, 0) for axis in axes]))  # terms of 0 steps name them first
    digits = [*((it.extent, it.stride) for it in layout.replica), *layout.digits]
    shape, strides = tuple([extent for extent, _ in digits]), tuple([order + stride for _, stride in digits])
    if not layout.swizzles:
        return layout.with_parts(shape, strides, (), order + layout.offset)
    offset = order + layout.offset
    return replace(layout, shape=shape, strides=strides, replica=(), offset=offset, outer=Vector())


def _compare_listed(a: Layout, b: Layout, anywhere: bool) -> Comparison:
    affordable = MAX_LISTED // max(_most_copies(a), _most_copies(b))
    whole = a.size <= affordable
    listed = a.size if whole else min(affordable // 2, MAX_PROBES)
    parts = [range(listed)] if whole else [range(listed), _likely(a, b)]
    for flat in islice(chain(*(reversed(parts) if anywhere else parts)), affordable):
        if places_of(a, flat) != places_of(b, flat):
            return Comparison(False, witness=flat, first=flat < listed)
    return _SAME if whole else _OPEN


def places_of(layout: Layout, flat: int) -> set[frozenset[tuple[str, int]]]:
    """Return the places of a flat index as a set, whatever the layout calls its axes first."""
    return {frozenset(place.nonzero.as_dict().items()) for place in layout.places(flat)}


def _likely(a: Layout, b: Layout) -> list[int]:
    """Return indices where maps of iters and swizzles differ if they do: starts, then ends."""
    steps = {1}
    for layout in (a, b):
        place = 1
        for it in reversed(layout.shard):
            place *= it.extent
            steps |= {place, place // 2}
    near = {s + d for s in steps for d in (-1, 0, 1)}
    last = a.size - 1
    inside = sorted(n for n in near if 0 <= n <= last)
    return [*inside, *(last - n for n in inside)]
