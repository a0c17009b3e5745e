"""Tiles and sums: two layouts side by side in every mode.

    tile(outer, inner)   (x, y) -> outer(x) .* span(inner) + inner(y)
    direct_sum(a, b)     (x, y) -> a(x) + b(y)

Mode i of the result is (mode i of the first, mode i of the second), the first slow. Digits, copies and
offsets of a sum simply stand side by side. A swizzle acts on whole addresses, so a chain Sw may stand before
the sum only if Sw(v + w) is Sw(v) + w there. It is so where

    high   w is a multiple of the period
    low    v is a multiple of 2^k, no bit below k is read or flipped, and 0 <= w < 2^k

A constant part of w may always stand outside (P). Sums that these rules leave open are listed up to a bound;
a no carries the first index at which the two readings differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.modes import as_tilers, modes_of
from tilewise.core.axes import STORAGE, Axis, m
from tilewise.core.builders import row_major
from tilewise.core.canonical import canonical
from tilewise.core.compare import places_of
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Iter, Layout, as_layout
from tilewise.core.shapes import Mode, as_shape, counted, mirrored, spell
from tilewise.core.swizzles import Swizzle, apply_chain, one_permutation, period_of
from tilewise.core.vectors import ZERO, Vector, along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.shapes import Shape

MAX_LISTED = 1 << 14

Chain = tuple[Swizzle, ...]

SLOW, FAST = 0, 1


def tile(outer: Any, inner: Layout) -> Layout:
    """Return `inner` laid out by `outer`: (x, y) -> outer(x) .* span(inner) + inner(y).

    On every axis the span is 1 + max - min of inner, copies counted, the offset not; it scales outer's
    strides, copies and offset. An outer that is an extent or a shape is a grid on the storage axis that
    inner moves on, its tiles counted as inner counts; where its rank is not inner's, the smaller has
    extents of 1 as its slowest modes.

        requires       as many modes in both
        postcondition  mode i is (outer's, inner's); copies of both, offsets added
        refused        TW504 where "swizzle each tile" is not "swizzle absolute addresses", or where
                       outer's swizzle does not scale by the span; TW509 a grid on several storage axes

    >>> from tilewise import R, S
    >>> tile(S[(8, 8) : (8, 1)], S[(2, 3) : (3, 1)])
    S[((8, 2), (8, 3)) : ((48, 3), (6, 1))]
    >>> tile(S[2 : 1] + R[2 : 2] + 5, S[4 : 1] + 3)
    S[((2, 4),) : ((4, 1),)] + R[2 : 8] + 23
    """
    if isinstance(inner, Layout) and not isinstance(outer, Layout):
        if inner.order != "row":
            return orders.turned(tile(mirrored(outer), orders.turned(inner)))
        outer, inner = _as_grid(outer, inner)
    return _tiled(outer, inner)


def tiled_by(inner: Layout, outer: Any, *more: Any) -> Layout:
    """Return `tile` with the tile first: inner laid out again and again by outer, or by a grid of extents.

    >>> from tilewise import S
    >>> tiled_by(S[(2, 3) : (3, 1)], 8, 8)
    S[((8, 2), (8, 3)) : ((48, 3), (6, 1))]
    """
    return tile(as_tilers(outer, more), inner)


@orders.by_mode
def _tiled(outer: Layout, inner: Layout) -> Layout:
    _check(outer, inner)
    return _side_by_side(_stretched(outer, {axis.name: inner.span(axis) for axis in outer.axes}), inner)


def direct_sum(a: Layout, b: Layout) -> Layout:
    """Return both layouts side by side in every mode, steps as they are: (x, y) -> a(x) + b(y).

        requires       as many modes in both
        postcondition  mode i is (a's, b's); copies of both, offsets added
        refused        TW504 where swizzling the sum is not summing the swizzled

    >>> from tilewise import S
    >>> direct_sum(S[(2, 2) : (8, 2)], S[(2, 2) : (4, 1)])
    S[((2, 2), (2, 2)) : ((8, 4), (2, 1))]
    """
    return _direct_sum(a, b)


@orders.by_mode
def _direct_sum(a: Layout, b: Layout) -> Layout:
    _check(a, b)
    return _side_by_side(a, b)


def _check(a: Any, b: Any) -> None:
    for layout in (a, b):
        as_layout(layout)
    if a.unit != b.unit:
        raise LayoutError(
            "TW106",
            f"one layout counts {a.unit}s, the other {b.unit}s",
            hint="convert one of them: in_elements(dtype), in_bytes(dtype), in_bits(dtype)",
        )
    if len(a.shape) != len(b.shape):
        raise LayoutError(
            "TW503",
            f"{len(a.shape)} modes, {spell(a.shape)}, beside {len(b.shape)}, {spell(b.shape)}",
            hint="give both as many modes; broadcast(1) inserts one of extent 1",
        )


def _side_by_side(a: Layout, b: Layout) -> Layout:
    shape: list[Mode] = []
    digits: list[tuple[int, Iter]] = []
    for (slow, slow_digits), (fast, fast_digits) in zip(modes_of(a), modes_of(b), strict=True):
        shape.append((slow, fast))
        digits += [(SLOW, it) for it in slow_digits] + [(FAST, it) for it in fast_digits]
    return summed(tuple(shape), digits, a, b)


def _as_grid(shape: Any, inner: Layout) -> tuple[Layout, Layout]:
    """Return a row-major grid of tiles on inner's storage axis, and the tile, both of one rank."""
    grid = as_shape(shape)
    axis = storage_axis(inner, "a grid of tiles lies")
    outer = Layout(grid, tuple(step["m"] @ axis for step in row_major(grid)), unit=inner.unit)
    rank = max(len(grid), len(inner.shape))
    return _padded(outer, rank), _padded(inner, rank)


def _padded(layout: Layout, rank: int) -> Layout:
    missing = rank - len(layout.shape)
    return replace(layout, shape=(1,) * missing + layout.shape, strides=(ZERO,) * missing + layout.strides)


def _stretched(outer: Layout, scale: Mapping[str, int]) -> Layout:
    """Return the layout with every place multiplied, axis by axis, its swizzle with it."""
    axis = outer.swizzled_axis
    factor = scale.get(axis.name, 1) if axis else 1
    what = f"outer's swizzle does not scale by {factor}, the tile's span on {axis}"
    outer = scalable(outer, factor, what, "tile with the plain layout and swizzle the result")

    def stretched(vector: Vector) -> Vector:
        return Vector(tuple((axis, steps * scale.get(axis.name, 1)) for axis, steps in vector.terms))

    return outer.with_vectors(stretched, [swizzle.scaled(factor, 1) for swizzle in outer.swizzles])


def scalable(layout: Layout, factor: int, what: str, hint: str) -> Layout:
    """Return the layout, its idle swizzle dropped if scaling would break it; refuse a swizzle that acts."""
    if factor & (factor - 1):
        layout = settled(layout)
        if layout.swizzles:
            message = f"{what}: swizzles move bits, and it is no power of two"
            raise Refused("TW504", message, witness=factor, hint=hint)
    return layout


def storage_axis(layout: Layout, what: str, axis: Axis | str | None = None) -> Axis:
    """Return the storage axis of that name, or the only one of the layout; `m` where it has no storage axis.

    >>> from tilewise import S, laneid, reg
    >>> storage_axis(S[(8, 2) : (1@laneid, 1@reg)], "a grid lies")
    reg
    """
    if axis is not None:
        own = next((own for own in layout.axes if own.name == str(axis)), None)
        named = own or (axis if isinstance(axis, Axis) else Axis(axis))
        if named.kind != STORAGE:
            raise Refused(
                "TW509",
                f"{what} on a storage axis, and {named} is an axis of kind {named.kind}",
                witness=named.name,
                hint=f'an axis of your own counts elements where it says so: Axis("{named}", storage=True)'
                if named.facts is None
                else "storage axes count elements, such as m, reg and TCol",
            )
        return named
    named_ones = [own for own in layout.axes if own.kind == STORAGE]
    moving = [
        own
        for own in named_ones
        if len(named_ones) == 1 or own.name in layout.moving or own == layout.swizzled_axis
    ]
    if len(moving) > 1:
        raise Refused(
            "TW509",
            f"{what} on one storage axis, and the layout has {' and '.join(map(str, moving))}",
            witness=tuple(own.name for own in moving),
            hint=f'say which, such as axis="{moving[0]}"',
        )
    return (moving or named_ones or [m])[0]


# -- sums under swizzles ---------------------------------------------------------------------------


def summed(shape: Shape, digits: Sequence[tuple[int, Iter]], a: Layout, b: Layout) -> Layout:
    """Return the layout with a's digits and b's in a given order, that places (x, y) at a(x) + b(y).

        requires  every digit of a comes once, as (SLOW, digit), and every one of b, as (FAST, digit)
        refused   TW504 where swizzling the sum is not summing the swizzled

    >>> from tilewise import S, Swizzle
    >>> rows, columns = Swizzle(3, 3, 3) @ S[4 : 512], S[2 : 4] + 1
    >>> summed((4, 2), [(SLOW, rows.shard[0]), (FAST, columns.shard[0])], rows, columns)
    Swizzle(3, 3, 3) @ (S[(4, 2) : (512, 4)] + 1)
    """
    plain = Layout(
        shape,
        tuple(it.stride for _, it in digits),
        a.replica + b.replica,
        a.offset + b.offset,
        outer=a.outer + b.outer,
        unit=a.unit,
    )
    chains = [tuple(sw for sw in layout.swizzles if sw.bits) for layout in (a, b)]
    axes = {chain[0].axis for chain in chains if chain}
    if not axes:
        return plain
    if all(chains) and any(settled(layout).swizzles != layout.swizzles for layout in (a, b)):
        return summed(shape, digits, settled(a), settled(b))
    if len(axes) > 1:
        names = " and on ".join(sorted(axis.name for axis in axes))
        raise Refused(
            "TW504",
            f"one part is swizzled on {names}, and a layout has swizzles on one axis",
            hint="leave one of the swizzles off",
        )
    (axis,) = axes
    one, other = sides = [_Side.of(layout, chain, axis) for layout, chain in zip((a, b), chains, strict=True)]
    by_rule = None
    if not all(chains):
        by_rule = _beside_plain(one, other) if one.chain else _beside_plain(other, one)
    if by_rule is not None:
        return _with_chain(plain, axis, *by_rule)
    return _by_trial(plain, axis, digits, sides)


def settled(layout: Layout) -> Layout:
    """Return the same layout without swizzles that have no effect, or that turn one constant into another.

    >>> from tilewise import S, Swizzle, laneid
    >>> settled(Swizzle(1, 0, 1) @ (S[8 : 1@laneid] + 2))
    S[8 : 1@laneid] + 3@m
    """
    axis = layout.swizzled_axis
    if axis and not any(it.stride[axis] for it in (*layout.shard, *layout.replica) if it.extent > 1):
        at = apply_chain(layout.swizzles, layout.offset[axis]) + layout.outer[axis]
        return replace(layout, swizzles=(), outer=Vector(), offset=_with_steps(layout.offset, axis, at))
    form = canonical(layout)
    if form.swizzles == layout.swizzles:
        return layout
    offset = layout.offset + (layout.outer - form.outer)
    return replace(layout, swizzles=form.swizzles, outer=form.outer, offset=offset)


@dataclass(frozen=True, slots=True)
class _Side:
    """One summand on the swizzled axis: its digits and copies that move there, O, chain and P."""

    moves: tuple[tuple[int, int], ...]
    offset: int
    chain: Chain
    outer: int
    layout: Layout

    @classmethod
    def of(cls, layout: Layout, chain: Chain, axis: Axis) -> _Side:
        iters = (*layout.shard, *layout.replica)
        moves = tuple((it.extent, it.stride[axis]) for it in iters if it.extent > 1 and it.stride[axis])
        return cls(moves, layout.offset[axis], chain, layout.outer[axis], layout)

    @property
    def granule(self) -> int:
        """Return the largest power of two that divides all steps and lies below every bit of the chain."""
        together = 1 << min((sw.base for sw in self.chain), default=0)
        for _, step in self.moves:
            together = min(together, step & -step)
        return together


def _with_chain(plain: Layout, axis: Axis, chain: Chain, inside: int, outside: int) -> Layout:
    """Return the plain sum, its offsets on the swizzled axis set apart."""
    return replace(
        plain,
        swizzles=chain,
        offset=_with_steps(plain.offset, axis, inside),
        outer=along(axis, outside),
    )


def _with_steps(vector: Vector, axis: Axis, steps: int) -> Vector:
    moved = vector + (steps - vector[axis]) @ axis
    return Vector(tuple(term for term in moved.terms if term[0] != axis or term[1]))


# -- by the rules ----------------------------------------------------------------------------------


def _beside_plain(swizzled: _Side, plain: _Side) -> tuple[Chain, int, int] | None:
    """Apply rules high and low: steps of the plain side below the granule go inside, its constant too."""
    chain, period = swizzled.chain, period_of(swizzled.chain)
    low = [(extent, step) for extent, step in plain.moves if step % period]
    if not low:
        return chain, swizzled.offset, swizzled.outer + plain.offset
    granule = swizzled.granule
    least = sum((e - 1) * s for e, s in low if s < 0)
    most = sum((e - 1) * s for e, s in low if s > 0)
    start = swizzled.offset % granule
    inside = plain.offset % period
    for constant in (inside, inside - period):
        if start + constant + least >= 0 and start + constant + most < granule:
            return chain, swizzled.offset + plain.offset, swizzled.outer
    for constant in (-least, -least - start):
        if start + constant + most < granule:
            return chain, swizzled.offset + constant, swizzled.outer + plain.offset - constant
    return None


# -- by trial --------------------------------------------------------------------------------------


def _by_trial(
    plain: Layout, axis: Axis, digits: Sequence[tuple[int, Iter]], sides: Sequence[_Side]
) -> Layout:
    """Return the sum behind one of the chains that might do, each settled by listing."""
    a, b = sides
    chains = [a.chain + b.chain, b.chain + a.chain] if a.chain and b.chain else [a.chain or b.chain]
    if a.chain and one_permutation(a.chain, b.chain):
        chains.insert(0, a.chain)
    witness = None
    for chain in chains:
        made = _with_chain(plain, axis, chain, a.offset + b.offset, a.outer + b.outer)
        differs = _first_difference(made, axis, digits, sides)
        if differs is None:
            return made
        witness = differs if witness is None else witness
    named = " o ".join(str(swizzle) for swizzle in chains[0])
    raise Refused(
        "TW504",
        f"{named} on whole addresses is not the sum of the parts: they differ at index {witness}",
        witness=witness,
        hint=f"they agree where the plain part moves by multiples of the period {period_of(chains[0])}; "
        "to swizzle whole addresses, leave the swizzle off and put it before the result",
    )


def _first_difference(
    made: Layout, axis: Axis, digits: Sequence[tuple[int, Iter]], sides: Sequence[_Side]
) -> int | None:
    """Return the first index at which the sum misses the place of its parts, or None if they agree.

    Digits that do not move on the swizzled axis make no difference, and stay 0.
    """
    moving: list[tuple[int, int]] = []  # (extent, weight in the index) of a digit
    weight = 1
    for _, it in reversed(digits):
        if it.extent > 1 and it.stride[axis]:
            moving.append((it.extent, weight))
        weight *= it.extent
    copies = prod([it.extent for it in made.replica if it.stride[axis]])
    for tried, chosen in enumerate(counted([extent for extent, _ in reversed(moving)])):
        if tried * copies >= MAX_LISTED:
            raise NotDecided("whether the swizzle passes through the sum was not decided within the bound")
        flat = sum([digit * place for digit, (_, place) in zip(chosen, reversed(moving), strict=True)])
        if places_of(made, flat) != _apart(digits, sides, flat):
            return flat
    return None


def _apart(
    digits: Sequence[tuple[int, Iter]], sides: Sequence[_Side], flat: int
) -> set[frozenset[tuple[str, int]]]:
    """Return the places of an index, part by part."""
    index, weights = [0, 0], [1, 1]
    for side, it in reversed(digits):
        flat, digit = divmod(flat, it.extent)
        index[side] += digit * weights[side]
        weights[side] *= it.extent
    parts = [side.layout.places(i) for side, i in zip(sides, index, strict=True)]
    return {frozenset((v + w).nonzero.as_dict().items()) for v, w in product(*parts)}
