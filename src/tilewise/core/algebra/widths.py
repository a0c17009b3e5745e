"""Elements of another width: one as several neighbours, several neighbours as one, dtypes.

    unpack(L, n)    (..., x), j -> n * L(..., x) + j        j < n, neighbours on one storage axis
    pack(L, n)      the layout that unpack(., n) makes this one of

Storage axes count elements, so all of them are scaled: strides, copies, offsets and swizzles together.
Owners and lanes of tensor memory count no elements and are never scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import chain
from math import gcd

from tilewise.core.algebra.modes import mode_layouts, modes_of
from tilewise.core.algebra.tiles import FAST, SLOW, scalable, settled, storage_axis, summed
from tilewise.core.axes import STORAGE, Axis
from tilewise.core.canonical import merged_replica
from tilewise.core.digits import place_values
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Iter, Layout
from tilewise.core.orders import mirrored
from tilewise.core.shapes import leaves, size_of
from tilewise.core.units import storage_scaled, unit_bits
from tilewise.core.vectors import ZERO, Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

FIRST_PROBES, MAX_PROBES = 1 << 8, 1 << 12
"""The numbers of elements tried to show that packs do not lie together: always, and at most."""


def _along_the_fastest(operation: Callable[..., Layout]) -> Callable[..., Layout]:
    """Return an operation on the last mode; in CuTe's order, on the mode whose first step is 1."""

    @wraps(operation)
    def asked(layout: Layout, *given: Any, **named: Any) -> Layout:
        if layout.order == "row":
            return operation(layout, *given, **named)
        rank = len(layout.shape)
        steps = ((mode, it) for mode, (_, digits) in enumerate(modes_of(layout)) for it in digits)
        unit = (mode for mode, it in steps if it.extent > 1 and any(abs(n) == 1 for _, n in it.stride.terms))
        fastest = next(unit, 0)
        order = [*(mode for mode in range(rank) if mode != fastest), *range(fastest, min(rank, fastest + 1))]
        made = operation(mirrored(layout).permute(order), *given, **named)
        if len(made.shape) == rank > 0:
            made = made.split(rank - 1, size_of(made.shape[-1]))
            made = made.permute([order.index(mode) for mode in range(rank)])
        return mirrored(made)

    return asked


@_along_the_fastest
def unpack(layout: Layout, count: SupportsIndex, axis: Axis | str | None = None) -> Layout:
    """Return every element as `count` neighbouring ones, which follow the last mode as its fastest digit.

    They lie on `axis`, or on the one storage axis that the layout has, or on m if it has none.

        requires       storage counts elements
        postcondition  element (..., x * count + j) is at count times the place of (..., x), j further
        refused        TW504 a swizzle, and no power of two; TW509 more than one storage axis, or none there

    >>> from tilewise import S, laneid, reg
    >>> unpack(S[(8, 4) : (4@laneid, 1@laneid)] + 3@reg, 2)
    S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))] + 6@reg
    """
    along = storage_axis(layout, "the parts of an element lie", axis)
    count = _count(layout, count)
    if count == 1:
        return layout
    what = f"the swizzle does not scale by {count}"
    layout = scalable(layout, count, what, "unpack the layout without its swizzle")
    return _unpacked(storage_scaled(layout, count, 1, _uneven), count, 1 @ along)


@_along_the_fastest
def pack(layout: Layout, count: SupportsIndex, axis: Axis | str | None = None) -> Layout:
    """Return every `count` neighbouring elements of the last mode as one.

    They lie on `axis`, or on the one storage axis that the layout has, or on m if it has none.

        requires       storage counts elements
        postcondition  unpack(pack(L, n), n).same(L)
        refused        TW508 where the elements n k, ..., n k + n - 1 are not neighbours in this order, or
                       the first of them is not at a multiple of n; the witness is a flat index;
                       TW509 more than one storage axis, or none there

    >>> from tilewise import S, Swizzle
    >>> pack(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], 4)
    Swizzle(3, 1, 3) @ S[(8, 16) : (16, 1)]
    >>> pack(S[(8, 6) : (7, 1)], 2)
    Traceback (most recent call last):
    tilewise.Refused: TW508: element 6 would start a pack, and its place 7@m is no multiple of 2
      hint: packs are aligned: offsets, copies and all other steps of storage are multiples of 2
    """
    along = storage_axis(layout, "the parts of an element lie", axis)
    count = _count(layout, count)
    if count == 1:
        return layout
    return _packed(layout, count, 1 @ along, count)


@_along_the_fastest
def recast(layout: Layout, old: DType | str, new: DType | str, axis: Axis | str | None = None) -> Layout:
    """Return the same bytes as elements of another width.

    A layout that counts bytes or bits keeps its places; one that counts elements counts the new ones.

        postcondition  the bits of element x are those of the elements that overlap it, in this order
        refused        TW508 where the new elements are no whole runs of the old ones, or share a byte
                       where bytes are counted; TW504, TW509 as pack and unpack

    >>> from tilewise import S, Swizzle
    >>> recast(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], "bf16", "f32")
    Swizzle(3, 2, 3) @ S[(8, 32) : (32, 1)]
    >>> recast(S[(4, 4) : (4, 1)], "e2m3", "e4m3")
    S[(4, 3) : (3, 1)]
    """
    before, after = DType.of(old), DType.of(new)
    along = storage_axis(layout, "the parts of an element lie", axis)
    piece = gcd(before.bits, after.bits)
    parts, count = before.bits // piece, after.bits // piece
    if layout.unit == "element":
        return pack(unpack(layout, parts, along), count, along)
    bits = unit_bits(layout.unit, before)
    step = piece @ along
    in_bits = storage_scaled(layout, bits, 1, _uneven)
    if parts > 1:
        in_bits = _unpacked(in_bits, parts, step)
    if count > 1:
        in_bits = _packed(in_bits, count, step, 1)

    def in_a_byte(axis: Axis, steps: int) -> Refused:
        return Refused(
            "TW508",
            f"an element of {after} would start {steps} bits along {axis}, within a byte",
            witness=steps,
            hint="sub-byte elements are counted in elements or in bits",
        )

    return storage_scaled(in_bits, 1, bits, in_a_byte)


def _uneven(axis: Axis, steps: int) -> LayoutError:
    return LayoutError("TW508", f"{steps}@{axis} does not divide into packs")


def _count(layout: Layout, count: SupportsIndex) -> int:
    number = as_int(count, "how many elements make one")
    if number < 1:
        raise LayoutError("TW102", f"one element is made of {number}", hint="give a positive number")
    if layout.unit != "element":
        raise LayoutError(
            "TW106",
            f"the layout counts {layout.unit}s, which do not say how wide an element is",
            hint="recast(old, new) takes the dtypes; in_elements(dtype) counts elements",
        )
    return number


def _unpacked(layout: Layout, count: int, step: Vector) -> Layout:
    """Return every element as `count`, each `step` from the last."""
    shape = (*layout.shape[:-1], (layout.shape[-1], count)) if layout.shape else (count,)
    parts = Iter(count, step)
    digits = [(SLOW, it) for it in layout.shard] + [(FAST, parts)]
    return summed(shape, digits, layout, Layout((count,), (step,), unit=layout.unit))


def _packed(layout: Layout, count: int, step: Vector, factor: int) -> Layout:
    """Return every `count` elements, each `step` from the last, as one, and storage divided by the factor."""
    last = size_of(layout.shape[-1:])
    if last % count:
        raise Refused(
            "TW508",
            f"{count} elements make one, and the last mode of {layout.shape or 1} has {last}",
            witness=(last, count),
            hint="a pack lies within the last mode; permute the modes, or group another shape first",
        )
    plain = replace(layout, swizzles=(), offset=layout.offset + layout.outer, outer=ZERO)
    for spelled in dict.fromkeys((plain, layout, settled(layout))):
        try:
            packed = storage_scaled(_every(spelled, count), 1, factor, _uneven)
            if _unpacked(storage_scaled(packed, factor, 1, _uneven), count, step).same(layout):
                return packed
        except LayoutError:  # it does not divide, or it was not decided
            continue
    misplaced = _misplaced(layout, count, step, factor)
    if misplaced is None:
        raise NotDecided("whether the elements make packs was not decided within the bound")
    raise _no_pack(layout, count, misplaced)


def _every(layout: Layout, count: int) -> Layout:
    """Return the elements 0, count, 2 count, ... of the last mode, its digits as written if they fit."""
    *others, last = mode_layouts(layout)
    shape = (last.size // count, count)
    try:
        packs = last.group(*shape)
    except Refused:
        packs = last.reshape(*shape)
    mode = packs.shape[0]
    digits = [digit for part in others for digit in part.digits]
    digits += packs.digits[: sum(1 for _ in leaves(mode))]
    copies, start = merged_replica(layout.replica)
    return replace(
        layout,
        shape=(*layout.shape[:-1], mode),
        strides=tuple(stride if extent > 1 else ZERO for extent, stride in digits),
        replica=tuple(copies),
        offset=(layout.offset + start).nonzero,
    )


def _misplaced(layout: Layout, count: int, step: Vector, factor: int) -> int | None:
    """Return an index that lies elsewhere than its pack puts it, or starts a pack at no multiple; or None."""
    copies, least = merged_replica(layout.replica)
    terms = [term for it in copies for term in it.stride.terms]
    apart = any(axis.kind == STORAGE and steps % factor for axis, steps in terms)
    if not layout.swizzles:
        layout = replace(layout, replica=(), offset=layout.offset + least)
    layout += step * 0  # it names the axis of packs
    steps = layout.on_axes(step)
    stored = [i for i, axis in enumerate(layout.axes) if axis.kind == STORAGE]
    places = place_values(it.extent for it in layout.shard)
    turns = [turn for place in places for turn in (place, place - place % count, place + count)]
    likely = {flat for turn in turns for flat in (turn, turn - 1) if 0 <= flat < layout.size}
    likely |= set(range(min(layout.size, FIRST_PROBES)))
    for flat in chain(sorted(likely), range(FIRST_PROBES, min(layout.size, MAX_PROBES))):
        position = flat % count
        firsts = layout.points(flat - position)
        expected = {
            tuple([at + position * s for at, s in zip(first, steps, strict=True)]) for first in firsts
        }
        if {*layout.points(flat)} != expected:
            return flat
        if any(first[i] % factor for first in firsts for i in stored):
            return flat - position
    return 0 if apart and not layout.swizzles else None


def _a_place(layout: Layout, flat: int) -> Vector:
    """Return one place of an element, however many it has."""
    return point(layout.axes, layout.after_swizzle(layout.before_swizzle(flat)))


def _no_pack(layout: Layout, count: int, flat: int) -> Refused:
    position = flat % count
    if layout.swizzles and layout.copies > 1:
        after = (
            f"are not {position} after those of element {flat - position}"
            if position
            else "would start packs"
        )
        why = "" if position else f", and not all are multiples of {count}"
        return Refused(
            "TW508",
            f"the copies of element {flat} {after}{why}",
            witness=flat,
            hint="a swizzle moves each copy by itself: pack the layout without it, or one copy",
        )
    if position:
        here, first = (_a_place(layout, x) for x in (flat, flat - position))
        owners = [axis.name for axis in (here - first).nonzero.axes if axis.kind != STORAGE]
        if owners:
            return Refused(
                "TW508",
                f"elements {flat - position} and {flat} are apart along {' and '.join(owners)}, "
                "and a pack lies on storage",
                witness=flat,
                hint="permute or group the modes first, so that the last one moves on storage alone",
            )
        return Refused(
            "TW508",
            f"element {flat} is at {here}, which is not {position} after {first}, where its pack starts",
            witness=flat,
            hint=f"the last mode must hold {count} neighbours in their order, copies alike",
        )
    at = _a_place(layout, flat)
    return Refused(
        "TW508",
        f"element {flat} would start a pack, and its place {at} is no multiple of {count}",
        witness=flat,
        hint=f"packs are aligned: offsets, copies and all other steps of storage are multiples of {count}",
    )
