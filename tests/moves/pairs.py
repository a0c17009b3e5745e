"""Pairs of layouts of every kind that a move takes, drawn from a seed, and the naive move of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tilewise import DType, Layout, O, R, S, Swizzle

WORDS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}


@dataclass(frozen=True)
class Case:
    """A move: its layouts, type, box and fill."""

    source: Layout
    target: Layout
    dtype: DType
    shape: tuple[int, ...] | None
    fill: int

    def __str__(self) -> str:
        box = f" shape={self.shape}" if self.shape else ""
        return f"{self.source} -> {self.target} {self.dtype}{box}"


def case(seed: int, elements: int = 4000) -> Case:
    """The case of a seed: at most about that many elements."""
    draw = random.Random(seed)
    dtype = DType.of(draw.choice(["u4", "u8", "u8", "bf16", "bf16", "f32", "f64", "b128"]))
    shape = _shape(draw, elements)
    if draw.random() < 0.25:
        source, target, box = _boxed(draw, shape)
    elif draw.random() < 0.15:
        source, target, box = _apart(draw, shape), draw.choice([_apart, _compact])(draw, shape), None
    else:
        source, target, box = _strided(draw, shape, broadcasts=True), _strided(draw, shape), None
    if draw.random() < 0.2:
        target = target + R[draw.randint(2, 3) : target.max("m") + 1 + draw.choice([0, 0, 3, 16])]
    source, target = (_dressed(draw, layout) for layout in (source, target))
    return Case(source, target, dtype, box, draw.randint(0, 13))


def of_4_bits(seed: int, elements: int = 8000) -> Case:
    """The case of a seed, of 4 bits that part: extents, strides and offsets that are whole bytes, mostly."""
    draw = random.Random(seed)
    order = list(range(draw.choice([2, 2, 2, 3, 3, 4, 5])))
    while order[-1] == len(order) - 1:
        draw.shuffle(order)
    shape = _even_shape(draw, order, elements)
    even = draw.random() < 0.8
    larger = tuple(extent + 2 * draw.choice([0, 1, 4]) for extent in shape)
    box = shape if draw.random() < 0.3 and larger != shape else None
    ends = [larger if box and draw.random() < 0.7 else shape for _ in range(2)]
    source = _in_order(draw, ends[0], range(len(shape)), even=even)
    target = _in_order(draw, ends[1], order, even=even)
    if box and draw.random() < 0.3:
        source, target = draw.choice([(_blocked(draw, larger), target), (source, _blocked(draw, larger))])
    if draw.random() < 0.1:
        target = target + R[2 : (target.max("m") + 2) // 2 * 2 + 2 * draw.randint(0, 9)]
    if draw.random() < 0.1:
        swizzle = Swizzle(draw.randint(1, 3), draw.choice([1, 5, 5, 5]), draw.choice([3, 4]))
        source, target = (swizzle @ source, target) if draw.random() < 0.5 else (source, swizzle @ target)
    return Case(source, target, DType.of(draw.choice(["u4", "e2m1"])), box, draw.randint(0, 13))


def _even_shape(draw: random.Random, order: list[int], elements: int) -> tuple[int, ...]:
    """Extents of which one or two are long; the fastest of both sides are even, mostly."""
    shape = [draw.choice([1, 2, 2, 3, 4, 5, 6, 10]) for _ in order]
    fastest = len(order) - 1, order[-1]
    for i in fastest:
        shape[i] += shape[i] % 2
    for i in draw.sample([*fastest, *order[:-1]], draw.choice([1, 2, 2, 2])):
        left = max(2, elements // (prod(shape) // shape[i]))
        extent = draw.randint(1, left // 2) if draw.random() < 0.5 else round((left // 2) ** 0.5)
        whole = draw.choice([1, 1, 1, 2, 16])
        shape[i] = 2 * max(extent // whole * whole, 1) - (draw.random() < 0.05)
    return tuple(shape)


def _in_order(draw: random.Random, shape: tuple[int, ...], order: Sequence[int], *, even: bool) -> Layout:
    """Strides in that order of the modes, the fastest last, some with gaps, some downwards; perhaps later."""
    strides, step, offset = [0] * len(shape), 1, 0
    for i in reversed(order):
        strides[i] = step
        step *= shape[i]
        if draw.random() < 0.2:
            step += draw.choice([2, 6, 16, 32]) if even else draw.choice([1, 2, 3])
        if step > shape[i] and draw.random() < 0.05 and strides[i] > 1:
            offset += (shape[i] - 1) * strides[i]
            strides[i] = -strides[i]
    later = draw.choice([2, 8, 32, 34]) if even else draw.randint(1, 40)
    return S[shape : tuple(strides)] + offset + draw.choice([0, 0, 0, later])


def _shape(draw: random.Random, elements: int) -> tuple[int, ...]:
    """Extents of one to six modes, some of them odd, some powers of two."""
    shape: list[int] = []
    for _ in range(draw.randint(1, 6)):
        left = elements // max(1, prod(shape))
        if left < 2:
            break
        kind = draw.random()
        extent = draw.choice([2, 4, 8, 16, 32, 64]) if kind < 0.5 else draw.randint(1, 67)
        shape.append(min(extent, left))
    return tuple(shape)


def _strided(draw: random.Random, shape: tuple[int, ...], *, broadcasts: bool = False) -> Layout:
    """Return strides in some order of the modes, some with gaps, some downwards, and 0 with `broadcasts`."""
    order = list(range(len(shape)))
    draw.shuffle(order)
    strides, step, offset = [0] * len(shape), 1, 0
    if draw.random() < 0.1:
        step = draw.randint(2, 3)
    for i in reversed(order):
        if broadcasts and draw.random() < 0.1:
            continue
        strides[i] = step
        step *= shape[i]
        if draw.random() < 0.25:
            step += draw.choice([1, 3, 8, 16])
    for i in range(len(shape)):
        if draw.random() < 0.1:
            offset += (shape[i] - 1) * strides[i]
            strides[i] = -strides[i]
    return S[shape : tuple(strides)] + offset


def _compact(draw: random.Random, shape: tuple[int, ...]) -> Layout:
    return S[(prod(shape),) : (1,)] + draw.choice([0, 0, 4])


def _apart(draw: random.Random, shape: tuple[int, ...]) -> Layout:
    """The same number of elements in a shape whose digits do not divide the other's."""
    total = prod(shape)
    factors = [n for n in range(2, min(total, 97)) if total % n == 0] or [1]
    inner = draw.choice(factors)
    return S[(total // inner, inner) : (inner + draw.randint(1, 5), 1)]


def _boxed(draw: random.Random, shape: tuple[int, ...]) -> tuple[Layout, Layout, tuple[int, ...]]:
    """Two layouts, one or both of them larger than the box, the larger one perhaps in blocks."""
    box = shape[:3]
    larger = tuple(extent + draw.choice([0, 0, 1, 5]) for extent in box)
    blocked = _blocked(draw, larger) if draw.random() < 0.5 else _strided(draw, larger)
    plain = _strided(draw, box)
    return (plain, blocked, box) if draw.random() < 0.6 else (blocked, plain, box)


def _blocked(draw: random.Random, shape: tuple[int, ...]) -> Layout:
    """Blocks of two to eight along each mode, one after another."""
    blocks = [draw.choice([2, 4, 8]) for _ in shape]
    counts = [-(-extent // block) for extent, block in zip(shape, blocks, strict=True)]
    strides, step = [], 1
    for block in reversed(blocks):
        strides.append(step)
        step *= block
    outer = []
    for count in reversed(counts):
        outer.append(step)
        step *= count
    inner, outer = strides[::-1], outer[::-1]
    modes = tuple(zip(counts, blocks, strict=True))
    return S[modes : tuple(zip(outer, inner, strict=True))]


def _dressed(draw: random.Random, layout: Layout) -> Layout:
    """The layout with an offset, or swizzled, now and then, and then with one behind the swizzle as well."""
    if draw.random() < 0.15:
        layout = layout + draw.randint(1, 40)
    if draw.random() < 0.15:
        layout = Swizzle(draw.randint(1, 3), draw.randint(0, 4), draw.choice([3, 3, 4, -3])) @ layout
        if draw.random() < 0.4:
            layout = O[draw.choice([1, 2, 3, 8, 16, 24])] @ layout
    return layout


def naive(case: Case, source: np.ndarray, target: np.ndarray) -> None:
    """Move element by element; both are arrays of elements, a byte each where they are narrower."""
    box = case.shape
    if box is None:
        pairs = ((flat, flat) for flat in range(case.target.size))
    else:
        sides = case.source, case.target
        pairs = (tuple(side.flat_index(*index) for side in sides) for index in product(*map(range, box)))
    for ours, theirs in pairs:
        value = source[_address(case.source.points(ours)[0])]
        for place in case.target.points(theirs):
            target[_address(place)] = value


def _address(point: tuple[int, ...]) -> int:
    return point[0] if point else 0
