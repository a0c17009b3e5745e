"""Operations on places alone: axes renamed, split, fused and dropped, and a mode that stands still.

Known axes split and fuse by facts of the target (`axes.SPLITS`): tx = 32 warpid + laneid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tilewise.core import orders
from tilewise.core.algebra.modes import modes_of
from tilewise.core.axes import OWNER, SPLITS, STORAGE, Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_extent, as_int
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Mode, flat_index, leaves
from tilewise.core.swizzles import Swizzle, period_of
from tilewise.core.vectors import ZERO, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

Names = Mapping[str, tuple[Axis, int]]
"""{axis name: (the axis that stands for it, the number of its steps in one step)}."""


# -- a mode that stands still ----------------------------------------------------------------------


def broadcast(layout: Layout, extent: SupportsIndex, position: SupportsIndex = 0) -> Layout:
    """Return the layout with a mode along which nothing moves, before the mode at `position`, or last.

        postcondition  the places of (.., i, ..) are those of (.., ..), for every i

    >>> from tilewise import S
    >>> broadcast(S[(4, 2) : (2, 1)], 3, 1)
    S[(4, 3, 2) : (2, 0, 1)]
    """
    extent, at, rank = as_extent(extent), as_int(position, "a position"), len(layout.shape)
    if not 0 <= at <= rank:
        raise LayoutError(
            "TW201",
            f"position {at} is outside 0..{rank}",
            hint="0 is before the first mode, the rank after the last",
        )
    digits = sum(1 for _ in leaves(layout.shape[:at]))
    return replace(
        layout,
        shape=(*layout.shape[:at], extent, *layout.shape[at:]),
        strides=(*layout.strides[:digits], ZERO, *layout.strides[digits:]),
    )


# -- other names -----------------------------------------------------------------------------------


def relabel(layout: Layout, names: Mapping[Any, Any]) -> Layout:
    """Return the same map with axes renamed, all at once: {old: new}, each an axis or a name.

        requires       every old axis is the layout's; an axis renamed by a name is storage as before
        postcondition  v@old is v@new in every place; the swizzle follows its axis
        refused        TW509 two axes onto one, or storage renamed to an owner, or a known owner to storage

    >>> from tilewise import S, laneid, reg
    >>> relabel(S[(8, 4) : (4@laneid, 1@reg)], {"laneid": "tx", "reg": "m"})
    S[(8, 4) : (4@tx, 1@m)]
    """
    new: dict[str, Axis] = {}
    for old, name in names.items():
        own = layout.axis(str(old))
        made = new[own.name] = _like(own, name)
        free = own.facts is None and own.kind == OWNER
        if not free and (own.kind == STORAGE) != (made.kind == STORAGE):
            raise Refused(
                "TW509",
                f"{own} is an axis of kind {own.kind}, and {made} of kind {made.kind}",
                witness=(own.name, made.name),
                hint="elements stay elements, and owners owners"
                + ("" if made.facts else f': a name alone keeps the kind, or Axis("{made}", storage=...)'),
            )
    taken: dict[str, str] = {}
    for axis in layout.axes:
        name = new.get(axis.name, axis).name
        if name in taken:
            raise Refused(
                "TW509",
                f"{taken[name]} and {axis} would both be {name}",
                witness=(taken[name], axis.name),
                hint="fuse_axes joins two axes to one; canonical() drops the names of axes that stand still",
            )
        taken[name] = axis.name
    return _substituted(layout, {name: (axis, 1) for name, axis in new.items()})


def _substituted(layout: Layout, names: Names) -> Layout:
    """Return the layout with every axis replaced by multiples of another.

    Two axes of one vector may become one and add up.
    """

    def put(vector: Vector) -> Vector:
        terms = []
        for axis, steps in vector.terms:
            new, factor = names.get(axis.name, (axis, 1))
            terms.append((new, steps * factor))
        return Vector(tuple(terms))

    swizzles = []
    for swizzle in layout.swizzles:
        axis, factor = names.get(swizzle.axis.name, (swizzle.axis, 1))
        swizzles.append(replace(swizzle, axis=axis).scaled(factor, 1))
    return layout.with_vectors(put, swizzles)


# -- one axis as two, two as one -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Split:
    """axis = count * high + low."""

    axis: Axis
    high: Axis
    count: int
    low: Axis

    def __str__(self) -> str:
        return f"{self.axis} = {self.count} {self.high} + {self.low}"


def split_axis(layout: Layout, axis: Axis | str, into: Sequence[Any] | None = None) -> Layout:
    """Return the layout with one axis as two: t becomes (t // n) on the high axis and t % n on the low one.

    `into` names a pair of `axes.SPLITS`, by default the first one, or is (high, n, low).

        requires       the layout has the axis, and moves on neither of the new ones otherwise
        postcondition  n * high + low == t, and 0 <= low < n, for every place
        refused        TW501 where the new digits depend on several of the layout's (a carry), with the
                       proof; TW504 a swizzle across the border; TW509 a new axis that is taken

    >>> from tilewise import R, S, tx
    >>> split_axis(S[(2, 64) : (64@tx, 1@tx)] + R[2 : 128@tx], "tx")
    S[(2, (2, 32)) : (2@warpid, (1@warpid, 1@laneid))] + R[2 : 4@warpid]
    >>> split_axis(S[48 : 1@tx], "tx", ("row", 12, "column"))
    S[(4, 12) : (1@row, 1@column)]
    """
    in_order = orders.by_flat if len(layout.shape) == 1 else orders.by_mode
    return in_order(_split_axis)(layout, axis, into)  # digits of one mode become modes


def _split_axis(layout: Layout, axis: Axis | str, into: Sequence[Any] | None) -> Layout:
    split = _split_of(layout.axis(axis), into)
    for new in (split.high, split.low):
        _check_free(layout, new, split.axis)
    swizzles, outer = _swizzle_after(layout, split)
    plain = replace(layout, swizzles=(), outer=ZERO)
    return replace(_split_plain(plain, split), swizzles=swizzles, outer=outer)


def fuse_axes(layout: Layout, axes: Sequence[Any], into: Axis | str | None = None) -> Layout:
    """Return the layout with axes fused: h on the high one and l on the low one become n h + l.

    `axes` are two or more that fuse by `axes.SPLITS`, high first, such as (wgid, wid_in_wg, laneid) to
    tx, or (high, n, low) with `into` an axis of any name. Offsets and copies fuse like steps.

        requires       the layout has one of the axes; an axis that it lacks counts 0
        postcondition  n h + l on `into`, one to one: where l starts elsewhere than at 0, it carries
        refused        TW502 a low axis that spans more than n, with two elements that show it;
                       TW504 a swizzle that does not fit; TW509 axes of two kinds, or `into` is taken

    >>> from tilewise import S, laneid, warpid
    >>> fuse_axes(S[(4, 32) : (1@warpid, 1@laneid)] + 2@warpid + 3@laneid, ("warpid", "laneid"))
    S[(4, 32) : (32@tx, 1@tx)] + 67@tx
    """
    return _fuse_axes(layout, axes, into)


@orders.by_mode
def _fuse_axes(layout: Layout, axes: Sequence[Any], into: Axis | str | None) -> Layout:
    if isinstance(axes, Axis | str):
        raise LayoutError(
            "TW103",
            f"{axes} is one axis, and several fuse to one",
            hint='give them as a tuple, high first: ("warpid", "laneid")',
        )
    for split in _fusions(layout, tuple(axes), into):
        layout = _fused(layout, split)
    return layout


def _fused(layout: Layout, split: _Split) -> Layout:
    high, low, count = split.high, split.low, split.count
    _check_free(layout, split.axis, high, low)
    if (high.kind == STORAGE) != (low.kind == STORAGE) or (high.kind == STORAGE) != (
        split.axis.kind == STORAGE
    ):
        raise Refused(
            "TW509",
            f"{split}: {', '.join(f'{a} is an axis of kind {a.kind}' for a in (split.axis, high, low))}",
            witness=(split.axis.name, high.name, low.name),
            hint="storage fuses with storage, owners with owners",
        )
    first, last = layout.extremes(low)
    if last - first >= count:
        raise Refused(
            "TW502",
            f"{split} is one to one where {low} spans {count}, and here it runs from {first} to {last}",
            witness=tuple(
                flat_index(layout.who({low.name: at}, limit=1)[0], layout.shape) for at in (first, last)
            ),
            hint=f"say how many {low} one {high} has: ({high}, n, {low})",
        )
    # a swizzle of the low axis passes steps of its period; one of the high axis, scaled by n, passes parts
    # below n, so the start of the low axis stands outside of it
    on, period = layout.swizzled_axis, layout.period
    if period > 1 and ((on == low and count % period) or (on == high and count & (count - 1))):
        raise Refused(
            "TW504",
            f"{split}: the swizzle on {on} does not fit {count}",
            witness=count,
            hint="on the low axis n must be a multiple of its period, on the high axis a power of two",
        )
    fused = _substituted(layout, {high.name: (split.axis, count), low.name: (split.axis, 1)})
    if on != high or not first:
        return fused
    start = first @ split.axis
    return replace(fused, offset=fused.offset - start, outer=fused.outer + start)


def _check_free(layout: Layout, new: Axis, *going: Axis) -> None:
    """Refuse an axis that the layout moves on already, other than those that go."""
    if new in going or new not in layout.axes:
        return
    if new.name in layout.moving or layout.swizzled_axis == new:
        raise Refused(
            "TW509",
            f"the layout has places on {new} already",
            witness=new.name,
            hint="relabel the one or the other first",
        )


def _split_of(axis: Axis, into: Sequence[Any] | None) -> _Split:
    """Return the split of an axis, by facts or from (high, n, low)."""
    known = SPLITS.get(axis.name, ())
    if into is None and known:
        into = known[0]
    names = (into,) if isinstance(into, Axis | str) else tuple(into or ())
    if len(names) == 2:
        names = next((fact for fact in known if (str(names[0]), str(names[1])) == (fact[0], fact[2])), ())
    if len(names) != 3:
        pairs = " or ".join(f"({high}, {low})" for high, _, low in known)
        raise LayoutError(
            "TW103",
            f"{axis} splits into {pairs}" if known else f"nothing is known of how {axis} splits",
            hint='say it in full, high first: ("high", n, "low")',
        )
    high, low = (_like(axis, name) for name in (names[0], names[2]))
    if high == low:
        raise LayoutError("TW103", f"{axis} splits into two axes, not twice {high}")
    return _Split(axis, high, as_extent(names[1]), low)


def _like(axis: Axis, name: Axis | str) -> Axis:
    """Return the axis of a name; an unknown one is storage where the other axis is."""
    if isinstance(name, Axis):
        return name
    made = Axis(name)
    unknown = made.facts is None and made.kind == OWNER
    return Axis(name, storage=True) if unknown and axis.kind == STORAGE else made


def _fusions(layout: Layout, axes: tuple[Any, ...], into: Axis | str | None) -> Iterator[_Split]:
    """Yield the pairs to fuse, in order."""
    if len(axes) == 3 and not isinstance(axes[1], Axis | str):
        steps = [(str(into), axes[0], as_extent(axes[1]), axes[2])] if into is not None else []
    else:
        steps = _by_facts(tuple(map(str, axes))) or []
        if steps and into is not None and (Axis(str(into)).facts is None or str(into) == steps[-1][0]):
            steps[-1] = (str(into), *steps[-1][1:])
        elif into is not None:
            steps = []
    if not steps:
        raise LayoutError(
            "TW103",
            f"nothing is known of how ({', '.join(map(str, axes))}) fuse" + (f" to {into}" if into else ""),
            hint='say it in full, high first: ("high", n, "low"), into="axis"',
        )
    own = {axis.name: axis for axis in layout.axes}
    if not any(str(name) in own for name in axes):
        layout.axis(str(axes[0]))
    for name, *parts in steps:
        like = own.get(str(parts[0])) or own.get(str(parts[2])) or Axis(str(parts[0]))
        high, low = (own.get(str(part)) or _like(like, part) for part in (parts[0], parts[2]))
        fused = _like(high, into if isinstance(into, Axis) and into.name == name else name)
        own[name] = fused
        yield _Split(fused, high, parts[1], low)


def _by_facts(names: tuple[str, ...]) -> list[tuple[str, str, int, str]] | None:
    """Return (axis, high, n, low) of neighbours that fuse, until one is left; None if they do not."""
    if len(names) == 1:
        return []
    for i, pair in enumerate(pairwise(names)):
        for axis, facts in SPLITS.items():
            for high, count, low in facts:
                if (high, low) == pair:
                    rest = _by_facts((*names[:i], axis, *names[i + 2 :]))
                    if rest is not None:
                        return [(axis, high, count, low), *rest]
    return None


# -- splitting, digit by digit ---------------------------------------------------------------------


def _split_plain(layout: Layout, split: _Split) -> Layout:
    """Return the split as a composition: after the layout, one whose mode for the axis has two digits."""
    from tilewise.core.algebra.composition import compose

    shape: list[Mode] = []
    strides: list[Vector] = []
    starts, back = [], []
    for axis in layout.axes:
        first, last = layout.extremes(axis)
        if axis == split.axis:
            below = first // split.count
            first = below * split.count
            back.append((split.high, below))
            shape.append(((last - first) // split.count + 1, split.count))
            strides += [1 @ split.high, 1 @ split.low]
        else:
            back.append((axis, first))
            shape.append(last - first + 1)
            strides.append(1 @ axis)
        starts.append((axis, first))
    by_axis = Layout(tuple(shape), tuple(strides))
    from_zero = replace(layout, offset=layout.offset - Vector(tuple(starts)), unit="element")
    try:
        made = compose(by_axis, from_zero, modes=[axis.name for axis in layout.axes])
    except Refused as no:
        raise Refused(
            no.code,
            f"{split} makes no layout of these digits (B is the layout, A its axes, split): {no.reason}",
            witness=no.witness,
            hint="split where the steps are multiples of n, or stay below it",
        ) from None
    made = replace(made, offset=(made.offset + Vector(tuple(back))).nonzero, unit=layout.unit)
    # where nothing moves on the axis, a place still shows that it is there
    return made if {split.high, split.low} & set(made.axes) else made + 0 @ split.low


def _swizzle_after(layout: Layout, split: _Split) -> tuple[tuple[Swizzle, ...], Vector]:
    """Return the swizzles and P of the split layout: all of them on one half of the axis."""
    if layout.swizzled_axis != split.axis:
        return layout.swizzles, layout.outer
    acting = [swizzle for swizzle in layout.swizzles if swizzle.bits]
    outside, count = layout.outer[split.axis], split.count
    if not acting:
        return (), ZERO
    if count % period_of(acting) == 0 and not outside:
        return tuple(replace(swizzle, axis=split.low) for swizzle in acting), ZERO
    above = count & (count - 1) == 0 and min(swizzle.base for swizzle in acting) >= count.bit_length() - 1
    if above and outside % count == 0:
        scaled = tuple(replace(swizzle.scaled(1, count), axis=split.high) for swizzle in acting)
        return scaled, (outside // count @ split.high).nonzero
    raise Refused(
        "TW504",
        f"{split}: the swizzles on {split.axis} read or flip bits on both sides of {count}",
        witness=count,
        hint=f"split by a multiple of the period {period_of(acting)}, or by a power of two below their bits",
    )


# -- the part of one owner -------------------------------------------------------------------------


def footprint(layout: Layout, *axes: Axis | str) -> Layout:
    """Return the part of one owner: the layout without the axes that tell owners apart.

    Those are its owner and device axes, or the named axes. Digits and copies that move on them
    go, and so do offsets on them; a mode of which nothing is left has extent 1.

        postcondition  for every owner that holds anything, the places of the footprint are exactly
                       the owner's: {p less those axes : p a place of the layout with that owner}
        refused        TW509 a digit or copy that moves on a dropped and on a kept axis at once: then
                       neighbouring owners never hold the same places

    >>> from tilewise import S, laneid, reg
    >>> footprint(S[(16, (4, 2)) : (4@laneid, (1@laneid, 1@reg))])
    S[(1, 2) : (0, 1@reg)]
    """
    return _footprint(layout, *axes)


@orders.by_mode
def _footprint(layout: Layout, *axes: Axis | str) -> Layout:
    for axis in axes:
        if not layout.knows(str(axis)):
            layout.axis(axis)
    dropped = {str(axis) for axis in axes} or {axis.name for axis in layout.axes if axis.kind != STORAGE}

    def kept(vector: Vector) -> Vector:
        return Vector(tuple([term for term in vector.terms if term[0].name not in dropped]))

    shape: list[Mode] = []
    strides: list[Vector] = []
    weight = layout.size
    for mode, digits in modes_of(layout):
        extents = []
        for it in digits:
            weight //= it.extent
            gone = it.extent > 1 and _goes(it, dropped, kept(it.stride), weight)
            extents.append(0 if gone else it.extent)
            strides += [] if gone else [it.stride]
        shape.append(_pruned(mode, iter(extents)) or 1)
        strides += [] if any(extents) else [ZERO]
    copies = [it for it in layout.replica if it.extent == 1 or not _goes(it, dropped, kept(it.stride), 0)]
    left = replace(layout, shape=tuple(shape), strides=tuple(strides), replica=tuple(copies))
    swizzled = layout.swizzled_axis
    return left.with_vectors(kept, () if swizzled and swizzled.name in dropped else None)


def _goes(it: Iter, dropped: set[str], kept: Vector, place: int) -> bool:
    """Return True if an iter moves on dropped axes alone; refuse one that moves on others as well."""
    if not any(it.stride[name] for name in dropped):
        return False
    if not kept:
        return True
    raise Refused(
        "TW509",
        f"{'a digit' if place else 'a copy'} steps {it.stride}, "
        "from owner to owner and from place to place at once",
        witness=(0, place),
        hint="so owners hold different places, and there is no footprint of them all",
    )


def _pruned(mode: Mode, extents: Iterator[int]) -> Mode:
    """Return a mode with other extents, without those that are 0; 0 for one of which nothing is left."""
    if not isinstance(mode, tuple):
        return next(extents)
    parts = [part for inner in mode if (part := _pruned(inner, extents))]
    return tuple(parts) if len(parts) > 1 else parts[0] if parts else 0
