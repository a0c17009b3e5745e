"""Composition: one layout after another, for layouts of either order, mode by mode, and under swizzles.

`after` composes digit by digit. A swizzle of indices becomes one of places: A o Sw = Sw' o A wherever A
sends every bit that Sw reads or flips to a bit of its own on one storage axis, in order and at one
distance. That is read off the columns of A over GF(2), so all of A's digits but the slowest are powers of
two. Where it is not so, a map small enough to list is recognised by its values; a larger one is not decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.after import MAX_LISTED, after, domain_of, is_basis
from tilewise.core.algebra.modes import as_tilers, mode_layouts
from tilewise.core.axes import m
from tilewise.core.bits import Bits, affine_map
from tilewise.core.canonical import canonical, merged_digits, merged_replica
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import as_extent, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import Mode, leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO, Vector, as_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.axes import Axis
    from tilewise.core.layout import Point
    from tilewise.core.shapes import Shape


def compose(outer: Layout, inner: Any, *more: Any, modes: Sequence[str] | None = None) -> Layout:
    """`outer o inner`: the layout of x -> outer(inner(x)), with inner's modes.

    `inner` places its elements at flat indices of `outer`, on one axis. With `modes`, the axes named
    there are coordinates of outer's modes, one name a mode; CuTe's e0, e1, ... are so without being
    named. A tuple composes mode by mode: a layout, an extent n (for n : 1), or None to keep the mode;
    `...` keeps all that are not named. The result counts as `inner` does; in CuTe's order outer's last mode
    goes on beyond its extent, as CuTe's does.

        requires       every index that inner names is one of outer's
        postcondition  compose(A, B).places(x) == union of A.places(i) over the indices i at B.places(x)
        refused        TW502 an index outside; TW501 no layout over B's digits, with the proof;
                       TW504 a swizzle on B that A does not carry on; TW509 axes that are no index

    >>> from tilewise import S, laneid, reg
    >>> compose(S[(2, 6) : (2, 8)], S[(3, 4) : (1, 3)])
    S[(3, (2, 2)) : (8, (2, 24))]
    >>> compose(S[(8, 8) : (8, 1)], (4, S[2 : 4]))
    S[(4, 2) : (8, 4)]
    >>> compose(S[(16, 8) : (8, 1)], S[(8, 2) : (2@laneid, 1@reg)], modes=("laneid", "reg"))
    S[(8, 2) : (16, 1)]
    """
    inner = as_tilers(inner, more)
    if not isinstance(inner, Layout):
        if isinstance(inner, tuple | list):
            return _by_mode(outer, tuple(inner))
        inner = as_tiler(inner)
    if orders.in_cute((outer, inner)):
        return _in_their_orders(outer, inner, modes)
    if inner.unit != "element":
        raise LayoutError(
            "TW106", f"indices are counted in elements, and the inner layout counts {inner.unit}s"
        )
    if inner.swizzles and any(swizzle.bits for swizzle in inner.swizzles):
        return through_swizzles(outer, inner, modes)
    return after(outer, inner, modes)


def as_tiler(value: Any) -> Layout:
    """A layout from what stands for one: itself, or n for n : 1.

    >>> as_tiler(4)
    S[4 : 1]
    """
    if isinstance(value, Layout):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise LayoutError(
            "TW107",
            f"a layout or an extent belongs here, not the {type(value).__name__} {value!r}",
            hint="parse(text) makes a layout of text",
        )
    return Layout((as_extent(value),), (as_vector(1),))


def _in_their_orders(outer: Layout, inner: Layout, modes: Sequence[str] | None) -> Layout:
    """Return the composition where a layout counts in CuTe's order: each is asked in its own."""
    several = len(inner.shape) > 1  # a result of one mode may have its digits for modes
    rows = orders.by_coordinates(inner) if several else orders.by_flat_index(inner)
    by_name = modes is not None or (inner.moving and all(map(is_basis, inner.moving)))
    if by_name:
        made = compose(orders.by_coordinates(outer), rows, modes=modes)
    else:
        whole = orders.by_flat_index(outer)
        made = compose(_endless(whole, rows) if outer.order == "cute" else whole, rows)
    if inner.order == "row":
        return made
    return orders.mirrored(made) if several else orders.turned(made)


def _endless(outer: Layout, inner: Layout) -> Layout:
    """Return the layout with its slowest digit as long as `inner` asks: so CuTe's last mode goes on."""
    last = inner.max() if inner.moving == (m.name,) else 0
    if last < outer.size or not outer.shape:
        return outer
    first, *others = leaves(outer.shape)
    extents = -(-(last + 1) // (outer.size // first)), *others
    return outer.with_parts(extents, outer.strides, outer.replica, outer.offset)


# -- mode by mode ----------------------------------------------------------------------------------


def _by_mode(outer: Layout, tilers: tuple[Any, ...]) -> Layout:
    parts = mode_layouts(outer)
    tilers = tilers_of(tilers, len(parts))
    shape: list[Mode] = []
    strides: list[Vector] = []
    replica, offset = list(outer.replica), outer.offset
    for part, tiler in zip(parts, tilers + (None,) * (len(parts) - len(tilers)), strict=True):
        tiled = part if tiler is None else compose(part, tiler)
        if tiled.order != outer.order:
            tiled = orders.turned(tiled)
        if tiled.swizzles:
            raise Refused(
                "TW504",
                f"the tiler {tiler} swizzles one mode, and a swizzle acts on the whole address",
                hint="compose the whole layout with one swizzled layout instead",
            )
        shape.append(tiled.shape[0] if len(tiled.shape) == 1 else tiled.shape or 1)
        strides += tiled.strides if tiled.shape else (Vector(),)
        replica += tiled.replica
        offset = offset + tiled.offset
    return replace(outer, shape=tuple(shape), strides=tuple(strides), replica=tuple(replica), offset=offset)


def tilers_of(given: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """The tilers of the first modes, None where a mode is kept."""
    tilers = by_mode(given, rank)
    if len(tilers) > rank:
        raise LayoutError(
            "TW503",
            f"{counted(len(tilers), 'tiler')} for {counted(rank, 'mode')}",
            hint="give at most one a mode; modes without one are kept",
        )
    return tilers


def by_mode(given: Sequence[Any], rank: int) -> tuple[Any, ...]:
    """What is asked of the modes, one by one: None where one is kept, which `slice(None)` says as well.

    One `...` stands for all modes that are not named.

    >>> by_mode((8, slice(None)), 3), by_mode((..., 8), 3)
    ((8, None), (None, None, 8))
    """
    parts = [None if isinstance(part, slice) and part == slice(None) else part for part in given]
    open_at = [number for number, part in enumerate(parts) if part is Ellipsis]
    if len(open_at) > 1:
        raise LayoutError(
            "TW201", "'...' stands once: for all modes that are not named", hint="or write None"
        )
    if open_at:
        parts[open_at[0] : open_at[0] + 1] = [None] * (rank - len(parts) + 1)
    return tuple(parts)


# -- inner layouts with swizzles -------------------------------------------------------------------


def through_swizzles(outer: Layout, inner: Layout, modes: Sequence[str] | None = None) -> Layout:
    """`outer o inner` for an inner layout with swizzles, on its flat index.

    >>> from tilewise import S
    >>> through_swizzles(S[64 : 4], Swizzle(1, 0, 3) @ S[(4, 8) : (8, 1)])
    Swizzle(1, 2, 3) @ S[(4, 8) : (32, 4)]
    """
    form = canonical(inner)
    plain = replace(inner, swizzles=(), outer=ZERO, replica=form.replica, offset=form.offset)
    if not form.swizzles:
        return compose(outer, plain, modes=modes)
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
    found = _columns(outer)
    if found is None:
        return None
    columns = found.columns
    low = swizzle.base + max(swizzle.shift, 0)
    bits = min(swizzle.bits, len(columns) - low)  # an index of `outer` has no higher bits
    if bits <= 0:
        return Swizzle(0, 0, 0, swizzle.axis)
    if low - swizzle.shift + bits > len(columns):
        return None
    read = [_one_bit(found.axes, columns[low + bit]) for bit in range(bits)]
    flipped = [_one_bit(found.axes, columns[low + bit - swizzle.shift]) for bit in range(bits)]
    axes = {bit and bit[0] for bit in (*read, *flipped)}
    if None in axes or len(axes) > 1:
        return None
    (axis,), sources = axes, [bit[1] for bit in read if bit]
    distances = {r[1] - f[1] for r, f in zip(read, flipped, strict=True) if r and f}
    first, distance = sources[0], next(iter(distances))
    if len(distances) > 1 or sources != [*range(first, first + bits)] or abs(distance) < bits:
        return None
    placed = Swizzle(bits, first - max(distance, 0), distance, axis or swizzle.axis)
    return placed if _passes_copies(outer, placed) else None


def _columns(outer: Layout) -> Bits | None:
    """Return what every bit of the index moves, the slowest digit taken to the next power of two."""
    digits = merged_digits(outer.digits)
    shape, strides = tuple(extent for extent, _ in digits), tuple(stride for _, stride in digits)
    if shape:
        shape = (1 << (shape[0] - 1).bit_length(), *shape[1:])
    return affine_map(replace(outer.with_parts(shape, strides, (), ZERO), swizzles=(), outer=ZERO))


def _one_bit(axes: tuple[Axis, ...], column: Point) -> tuple[Axis, int] | None:
    """(axis, bit) of a column that is one bit of one storage axis."""
    moved = [(axis, steps) for axis, steps in zip(axes, column, strict=True) if steps]
    if len(moved) != 1 or moved[0][0].kind != "storage" or moved[0][1].bit_count() != 1:
        return None
    return moved[0][0], moved[0][1].bit_length() - 1


def _passes_copies(outer: Layout, placed: Swizzle) -> bool:
    """Return whether offset and copies may be added before the swizzle as well as after it."""
    steps = [outer.offset[placed.axis], *(it.stride[placed.axis] for it in outer.replica)]
    return all(step % placed.period == 0 for step in steps)


def _check_range(outer: Layout, inner: Layout) -> None:
    low, high = inner.extremes(inner.swizzled_axis or "m")
    if low < 0 or high >= outer.size:
        found = high if high >= outer.size else low
        raise Refused(
            "TW502",
            f"B names index {found}, and A has {outer.size} elements",
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
    from tilewise.core.algebra.recognition import recognise

    try:
        found = recognise(dict(zip(outer.axes, map(list, columns), strict=True)))
        return replace(found, unit=outer.unit).reshape(shape)
    except Refused as no:
        raise Refused(
            "TW504",
            f"A does not carry the swizzle of B on: {no.reason}",
            witness=no.witness,
            hint="list the map (table)",
        ) from None


def _passes(outer: Layout, swizzles: tuple[Swizzle, ...]) -> bool:
    """Return whether A's copies, which stand outside its own map, may be added inside the swizzles found."""
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
