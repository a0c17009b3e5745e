"""Seeded layouts from a plain `random.Random`: small enough to list, full of hard cases.

Extents of 1, odd extents, nested modes, strides of any sign, 0 and diagonals, several axes, copies
that alias, negative offsets, chains of swizzles of both signs, outer offsets that do not fold.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tilewise.core.axes import Axis, m
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Shape, leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector

BUFFER = Axis("buf", storage=True)
"""An unknown storage axis, which a text must declare to be read back."""

AXES = (m, m, m, Axis("laneid"), Axis("reg"), Axis("TLane"), Axis("gpuid_x"), Axis("own"), BUFFER)

_EXTENTS = (1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 16, 32)
_STEPS = (*range(-9, 10), 0, 1, 2, 4, 8, 16, 32, 64, -16, 100)


def random_layout(rng: Random, max_size: int = 256) -> Layout:
    """Return a layout of at most `max_size` elements.

    >>> random_layout(Random(3)) == random_layout(Random(3))
    True
    """
    extents = _extents(rng, max_size)
    axes = rng.sample(AXES, rng.choice((1, 1, 2, 3)))
    swizzles = _swizzles(rng, axes)
    return Layout(
        shape=nested(rng, extents),
        strides=_strides(rng, extents, axes),
        replica=_replica(rng, axes),
        offset=_offset(rng, axes) if rng.random() < 0.5 else Vector(),
        swizzles=swizzles,
        outer=_outer(rng, axes, swizzles),
        unit=rng.choice(("byte", "bit")) if rng.random() < 0.05 else "element",
    )


def nested(rng: Random, extents: list[int]) -> Shape:
    """Return the extents as a shape with some neighbours joined in modes, at several levels."""
    modes: list[Any] = list(extents)
    while len(modes) > 1 and rng.random() < 0.4:
        first = rng.randrange(len(modes) - 1)
        last = rng.randint(first + 2, len(modes))
        modes[first:last] = [tuple(modes[first:last])]
    return tuple(modes)


def _extents(rng: Random, max_size: int) -> list[int]:
    extents: list[int] = []
    size = 1
    for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4, 5))):
        extent = rng.choice(_EXTENTS)
        if size * extent <= max_size:
            extents.append(extent)
            size *= extent
    return extents


def _strides(rng: Random, extents: list[int], axes: list[Axis]) -> tuple[Vector, ...]:
    strides = _compact(rng, extents, axes) if rng.random() < 0.5 else [_step(rng, axes) for _ in extents]
    if strides and rng.random() < 0.3:
        position = rng.randrange(len(strides))
        strides[position] = strides[position] + _step(rng, axes)  # a perturbed or a diagonal one
    return tuple(strides)


def _compact(rng: Random, extents: list[int], axes: list[Axis]) -> list[Vector]:
    """Return digits in any order over the axes, with no gap on any: the layouts of real programs."""
    strides = [Vector()] * len(extents)
    next_step = dict.fromkeys(axes, 1)
    order = list(range(len(extents)))[::-1]
    if rng.random() < 0.5:
        rng.shuffle(order)
    for position in order:
        axis = rng.choice(axes)
        strides[position] = Vector(((axis, next_step[axis]),))
        next_step[axis] *= extents[position] + (rng.random() < 0.1)
    return strides


def _step(rng: Random, axes: list[Axis]) -> Vector:
    terms = [(rng.choice(axes), rng.choice(_STEPS)) for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 2)))]
    return Vector(tuple(terms))


def _replica(rng: Random, axes: list[Axis]) -> tuple[Iter, ...]:
    count = rng.choice((0, 0, 0, 1, 1, 2))
    return tuple(Iter(rng.choice((1, 2, 2, 3, 4)), _step(rng, axes)) for _ in range(count))


def _offset(rng: Random, axes: list[Axis]) -> Vector:
    return Vector(((rng.choice(axes), rng.choice((-300, -7, -1, 0, 1, 2, 5, 32, 64, 129, 1024))),))


def _swizzles(rng: Random, axes: list[Axis]) -> tuple[Swizzle, ...]:
    storage = [axis for axis in axes if axis.kind == "storage"]
    if not storage or rng.random() < 0.5:
        return ()
    axis = rng.choice(storage)
    return tuple(_swizzle(rng, axis) for _ in range(rng.choice((1, 1, 2))))


def _swizzle(rng: Random, axis: Axis) -> Swizzle:
    bits = rng.choice((0, 1, 1, 2, 2, 3))
    shift = rng.choice((1, 1, -1)) * (bits + rng.choice((0, 0, 1, 2)))
    return Swizzle(bits, rng.randrange(4), shift, axis)


def _outer(rng: Random, axes: list[Axis], swizzles: tuple[Swizzle, ...]) -> Vector:
    if not swizzles or rng.random() < 0.6:
        return Vector()
    steps = rng.choice((-5, 1, 3, 8, 64, 128, -128, 1024))
    return Vector(((rng.choice([swizzles[0].axis, *axes]), steps),))


# -- the same map, and nearly the same one ---------------------------------------------------------


def rewritten(rng: Random, layout: Layout) -> Layout:
    """Return another spelling of the same map: split digits, turned copies, terms without effect.

    >>> from tilewise.testing import naive_difference
    >>> layout = random_layout(Random(8))
    >>> naive_difference(rewritten(Random(1), layout), layout) is None
    True
    """
    shard = [half for it in layout.shard for half in _split(rng, it)]
    if rng.random() < 0.5:
        shard.insert(rng.randint(0, len(shard)), Iter(1, _step(rng, list(layout.axes))))
    replica, offset = list(layout.replica), layout.offset
    if replica:
        turned = replica.pop(rng.randrange(len(replica)))
        offset = offset + turned.stride * (turned.extent - 1)
        replica.insert(0, Iter(turned.extent, -turned.stride))
    if rng.random() < 0.5:
        replica.append(Iter(rng.randint(1, 3), Vector()))
    swizzles = layout.swizzles
    if swizzles and rng.random() < 0.5:
        swizzles = (*swizzles, swizzles[0], swizzles[0])
    return replace(
        layout,
        shape=tuple(it.extent for it in shard),
        strides=tuple(it.stride for it in shard),
        replica=tuple(replica),
        offset=offset,
        swizzles=swizzles,
    )


def _split(rng: Random, it: Iter) -> list[Iter]:
    divisors = [d for d in range(2, it.extent) if it.extent % d == 0]
    if not divisors or rng.random() < 0.4:
        return [it]
    inner = rng.choice(divisors)
    return [Iter(it.extent // inner, it.stride * inner), Iter(inner, it.stride)]


def perturbed(rng: Random, layout: Layout) -> Layout:
    """Return the layout with one part of it changed a little; now and then still the same map."""
    axes = list(layout.axes)
    part = rng.randrange(4)
    if part == 0 and layout.strides:
        strides = list(layout.strides)
        strides[rng.randrange(len(strides))] = _step(rng, axes)
        return replace(layout, strides=tuple(strides))
    if part == 1:
        return replace(layout, replica=_replica(rng, axes))
    if part == 2:
        swizzles = _swizzles(rng, axes)
        return replace(layout, swizzles=swizzles, outer=layout.outer if swizzles else Vector())
    if part == 3:
        extents = list(leaves(layout.shape))
        rng.shuffle(extents)
        return replace(layout, shape=tuple(extents))
    return layout + _offset(rng, axes)
