"""Composition with a swizzled inner layout: the swizzle of indices becomes one of places.

A o Sw = Sw' o A wherever A sends every bit that Sw reads or flips to a bit of its own on one storage
axis, in order and at one distance. That is read off the columns of A over GF(2), so all of A's digits
but the slowest are powers of two. Where it is not so, a map small enough to list is recognised by its
values; a larger one is not decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core.algebra.composition import MAX_LISTED, compose, domain_of
from tilewise.core.algebra.modes import reshape
from tilewise.core.algebra.recognition import recognise
from tilewise.core.bits import affine_map
from tilewise.core.canonical import canonical, merged_replica, merged_shard
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis
    from tilewise.core.layout import Point
    from tilewise.core.shapes import Shape


def through_swizzles(outer: Layout, inner: Layout, modes: Sequence[str] | None = None) -> Layout:
    """`outer o inner` for an inner layout with swizzles, on its flat index.

    >>> from tilewise import S
    >>> through_swizzles(S[64 : 4], Swizzle(1, 0, 3) @ S[(4, 8) : (8, 1)])
    Swizzle(1, 2, 3) @ S[(4, 8) : (32, 4)]
    """
    form = canonical(inner)
    plain = replace(inner, swizzles=(), outer=ZERO, replica=form.replica, offset=form.offset)
    if not form.swizzles:
        return compose(outer, plain, modes)
    if not domain_of(outer, plain, modes).flat:
        raise Refused(
            "TW504", "coordinates that are swizzled are no flat index", hint="swizzle one flat index"
        )
    _check_range(outer, form)
    carried = [carried_by(outer, swizzle) for swizzle in form.swizzles] if not form.outer else []
    chain = tuple(swizzle for swizzle in carried if swizzle is not None)
    if chain and len(chain) == len(form.swizzles) and len({s.axis for s in (*outer.swizzles, *chain)}) == 1:
        try:
            around = compose(replace(outer, swizzles=(), outer=ZERO), plain)
        except Refused:
            pass  # true of the indices before the swizzle, and no word about those after it
        else:
            return replace(around, swizzles=outer.swizzles + chain, outer=outer.outer)
    return _recognised(outer, inner)


def carried_by(outer: Layout, swizzle: Swizzle) -> Swizzle | None:
    """The swizzle Sw' of places with outer o swizzle == Sw' o outer on outer's indices, or None.

    >>> from tilewise import S, laneid
    >>> carried_by(S[(3, 16, 8) : (512, 4, 64)], Swizzle(2, 0, 4))
    Swizzle(2, 3, -3)
    >>> carried_by(S[(4, 8) : (1@laneid, 1)], Swizzle(2, 0, 3)) is None
    True
    """
    columns = _columns(outer)
    if columns is None:
        return None
    low = swizzle.base + max(swizzle.shift, 0)
    bits = min(swizzle.bits, len(columns) - low)  # an index of `outer` has no higher bits
    if bits <= 0:
        return Swizzle(0, 0, 0, swizzle.axis)
    if low - swizzle.shift + bits > len(columns):
        return None
    read = [_one_bit(outer, columns[low + bit]) for bit in range(bits)]
    flipped = [_one_bit(outer, columns[low + bit - swizzle.shift]) for bit in range(bits)]
    axes = {found and found[0] for found in (*read, *flipped)}
    if None in axes or len(axes) > 1:
        return None
    (axis,), sources = axes, [found[1] for found in read if found]
    distances = {r[1] - f[1] for r, f in zip(read, flipped, strict=True) if r and f}
    first, distance = sources[0], next(iter(distances))
    if len(distances) > 1 or sources != [*range(first, first + bits)] or abs(distance) < bits:
        return None
    placed = Swizzle(bits, first - max(distance, 0), distance, axis or swizzle.axis)
    return placed if _passes_copies(outer, placed) else None


def _columns(outer: Layout) -> tuple[Point, ...] | None:
    """What every bit of the index moves, the slowest digit taken to the next power of two."""
    digits = merged_shard(outer.shard)
    if digits:
        extent = digits[0].extent
        digits[0] = replace(digits[0], extent=1 << (extent - 1).bit_length())
    shape = tuple(it.extent for it in digits)
    strides = tuple(it.stride for it in digits)
    alone = outer.with_parts(shape, strides, (), ZERO)
    found = affine_map(replace(alone, swizzles=(), outer=ZERO))
    if found is None:
        return None
    names = [axis.name for axis in replace(alone, swizzles=(), outer=ZERO).axes]
    places = [dict(zip(names, column, strict=True)) for column in found.columns]
    return tuple(tuple(place.get(axis.name, 0) for axis in outer.axes) for place in places)


def _one_bit(outer: Layout, column: Point) -> tuple[Axis, int] | None:
    """(axis, bit) of a column that is one bit of one storage axis."""
    moved = [(axis, steps) for axis, steps in zip(outer.axes, column, strict=True) if steps]
    if len(moved) != 1 or moved[0][0].kind != "storage" or moved[0][1].bit_count() != 1:
        return None
    return moved[0][0], moved[0][1].bit_length() - 1


def _passes_copies(outer: Layout, placed: Swizzle) -> bool:
    """Whether offset and copies may be added before the swizzle as well as after it."""
    steps = [outer.offset[placed.axis], *(it.stride[placed.axis] for it in outer.replica)]
    return all(step % placed.period == 0 for step in steps)


def _check_range(outer: Layout, inner: Layout) -> None:
    low, high = inner.extremes(inner.swizzled_axis or "m")
    if low < 0 or high >= outer.size:
        found = high if high >= outer.size else low
        raise Refused(
            "TW502",
            f"index {found} is asked for, and A has {outer.size} elements",
            witness={"asked": found, "size": outer.size},
            hint="every place of the inner layout is an index of the outer one",
        )


def _recognised(outer: Layout, inner: Layout) -> Layout:
    """The composition found again in its listed values: copies of B as slow digits, copies of A added."""
    copies, least = merged_replica(inner.replica)
    count = prod(it.extent for it in copies)
    if inner.size * count > MAX_LISTED:
        raise _undecided()
    shard = (*copies, *inner.shard)
    listed = inner.with_parts(
        tuple(it.extent for it in shard), tuple(it.stride for it in shard), (), inner.offset + least
    )
    found = _read_back(replace(outer, replica=()), listed, (count, *inner.shape) if copies else inner.shape)
    if not _passes(outer, found.swizzles):
        raise _undecided()
    if not copies:
        return found.with_parts(found.shape, found.strides, outer.replica, found.offset)
    first = sum(1 for _ in leaves(found.shape[0]))
    replica = tuple(it for it in found.shard[:first] if it.extent > 1)
    return found.with_parts(found.shape[1:], found.strides[first:], outer.replica + replica, found.offset)


def _read_back(outer: Layout, inner: Layout, shape: Shape) -> Layout:
    """The layout that outer o inner lists, both in one copy, in a shape."""
    indices = [sum(inner.points(flat)[0]) for flat in range(inner.size)]
    columns = zip(*[outer.points(index)[0] for index in indices], strict=True)
    try:
        found = recognise(dict(zip(outer.axes, map(list, columns), strict=True)))
        return reshape(replace(found, unit=outer.unit), shape)
    except Refused as no:
        raise Refused(
            "TW504",
            f"A does not carry the swizzle of B on: {no.reason}",
            witness=no.witness,
            hint="list the map (table)",
        ) from None


def _passes(outer: Layout, swizzles: tuple[Swizzle, ...]) -> bool:
    """Whether A's copies, which stand outside its own map, may be added inside the swizzles found."""
    if not outer.replica:
        return True
    if outer.swizzles or not swizzles:
        return not outer.swizzles and not swizzles
    period = max(swizzle.period for swizzle in swizzles)
    return all(it.stride[swizzles[0].axis] % period == 0 for it in outer.replica)


def _undecided() -> NotDecided:
    return NotDecided(
        "whether the swizzle of the indices is one of the places was not decided within the bound",
        hint="compose without the swizzle, or list the map (table)",
    )
