"""Tiles and direct sums against their definition listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from tilewise import (
    Layout,
    LayoutError,
    NotDecided,
    O,
    R,
    Refused,
    S,
    Swizzle,
    TCol,
    TLane,
    laneid,
    m,
    reg,
)
from tilewise.core.algebra.tiles import direct_sum, tile
from tilewise.core.shapes import Mode, coordinates, extents_of, flat_index, leaves, size_of
from tilewise.core.vectors import ZERO, Vector
from tilewise.testing import Map, Place, as_place, naive_facts, naive_map
from tilewise.testing.generate import random_layout

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"

# -- the naive definition --------------------------------------------------------------------------


def spans(layout: Layout) -> dict[str, int]:
    return {name: 1 + high - low for name, (low, high) in naive_facts(layout).extremes.items()}


def plus(one: Place, other: Place, scale: dict[str, int]) -> Place:
    """one .* scale + other."""
    total = {name: steps * scale.get(name, 1) for name, steps in one}
    for name, steps in other:
        total[name] = total.get(name, 0) + steps
    return as_place(total)


def naive_sum(slow: Layout, fast: Layout, scale: dict[str, int]) -> Map:
    """The places of every flat index of the modes (slow_i, fast_i)."""
    a, b = naive_map(slow), naive_map(fast)
    sizes = extents_of(slow.shape), extents_of(fast.shape)
    whole = tuple(x * y for x, y in zip(*sizes, strict=True))
    result = []
    for flat in range(slow.size * fast.size):
        pairs = [divmod(z, extent) for z, extent in zip(coordinates(flat, whole), sizes[1], strict=True)]
        x = flat_index(tuple(p[0] for p in pairs), sizes[0])
        y = flat_index(tuple(p[1] for p in pairs), sizes[1])
        result.append(frozenset(plus(p, q, scale) for p in a[x] for q in b[y]))
    return result


def first_difference(one: Map, other: Map) -> int | None:
    return next((flat for flat, (p, q) in enumerate(zip(one, other, strict=True)) if p != q), None)


def asked(make: Callable[[], Layout]) -> Layout | Refused | NotDecided:
    """Return the answer of an operation, refusals as values."""
    try:
        return make()
    except (Refused, NotDecided) as no:
        return no


# -- drawing ---------------------------------------------------------------------------------------


def in_modes(rng: Random, layout: Layout, rank: int) -> Layout:
    """Return the layout with its digits in so many modes; a mode without digits has extent 1."""
    extents = list(leaves(layout.shape))
    cuts = sorted(rng.randint(0, len(extents)) for _ in range(rank - 1))
    shape: list[Mode] = []
    strides: list[Vector] = []
    for start, stop in pairwise([0, *cuts, len(extents)]):
        own = extents[start:stop]
        shape.append(tuple(own) if len(own) > 1 else own[0] if own else 1)
        strides += layout.strides[start:stop] if own else [ZERO]
    return replace(layout, shape=tuple(shape), strides=tuple(strides))


def draw(rng: Random, rank: int, size: int = 12) -> Layout:
    layout = random_layout(rng, size)
    if rng.random() < 0.4:
        layout = power_of_two(rng)
    return replace(in_modes(rng, layout, rank), unit="element")


def power_of_two(rng: Random) -> Layout:
    """A dense layout on m or reg, often swizzled: what real tiles look like."""
    axis = rng.choice((m, m, reg))
    extents = [rng.choice((2, 4)) for _ in range(rng.randint(1, 3))]
    order = rng.sample(range(len(extents)), len(extents))
    steps, step = [0] * len(extents), rng.choice((1, 1, 1, 2, 4, 16))
    for position in order:
        steps[position], step = step, step * extents[position]
    layout = Layout(tuple(extents), tuple(Vector(((axis, s),)) for s in steps))
    if rng.random() < 0.3:
        layout = layout + R[2 : rng.choice((1, 2, step)) @ axis]
    if rng.random() < 0.3:
        layout = layout + rng.choice((1, 8, 16, 32, -32)) @ axis
    if rng.random() < 0.6:
        bits = rng.choice((1, 1, 2))
        swizzle = Swizzle(bits, rng.choice((0, 0, 1, 2)), rng.choice((bits, bits + 1, -bits)), axis)
        layout = layout.swizzled((swizzle,), rng.choice((0, 0, 3, 16)) @ axis)
    return layout


def draw_pair(rng: Random) -> tuple[Layout, Layout]:
    rank = rng.choice((1, 1, 2, 2, 3))
    return draw(rng, rank), draw(rng, rank)


# -- one random case an operation ------------------------------------------------------------------


def check_tile(rng: Random) -> str:
    outer, inner = draw_pair(rng)
    scale = spans(inner)
    return _check_together(lambda: tile(outer, inner), outer, inner, scale)


def check_direct_sum(rng: Random) -> str:
    a, b = draw_pair(rng)
    return _check_together(lambda: direct_sum(a, b), a, b, {})


def _check_together(make: Callable[[], Layout], slow: Layout, fast: Layout, scale: dict[str, int]) -> str:
    expected = naive_sum(slow, fast, scale)
    made = asked(make)
    if isinstance(made, NotDecided):
        return UNDECIDED
    if isinstance(made, Refused):
        assert made.code == "TW504"
        if "at index" in made.reason and not (slow.swizzles and fast.swizzles):
            assert made.witness == first_difference(expected, absolute_reading(slow, fast, scale))
        return REFUSED
    modes = [size_of((x, y)) for x, y in zip(slow.shape, fast.shape, strict=True)]
    assert [size_of((mode,)) for mode in made.shape] == modes
    assert naive_map(made) == expected
    return ANSWERED


def absolute_reading(slow: Layout, fast: Layout, scale: dict[str, int]) -> Map:
    """The sum with the one swizzle that there is, or the common one, on whole addresses."""
    plain = [replace(layout, swizzles=(), outer=ZERO) for layout in (slow, fast)]
    chain = slow.swizzles or fast.swizzles
    axis = chain[0].axis
    factor = scale.get(axis.name, 1) if slow.swizzles else 1
    chain = tuple(swizzle.scaled(factor, 1) for swizzle in chain)
    outer = slow.outer[axis] * scale.get(axis.name, 1) + fast.outer[axis]
    result = []
    for held in naive_sum(*plain, scale):
        places = set()
        for place in held:
            steps = dict(place)
            at = steps.get(axis.name, 0)
            for swizzle in reversed(chain):
                at = swizzle(at)
            places.add(as_place(steps | {axis.name: at + outer}))
        result.append(frozenset(places))
    return result


CHECKS = [check_tile, check_direct_sum]


@pytest.mark.parametrize("check", CHECKS)
def test_random_cases(check):
    tally = Counter(check(Random(f"{check.__name__} {number}")) for number in range(200))
    assert tally[ANSWERED] > 100
    assert tally[REFUSED] > 20
    assert tally[UNDECIDED] <= 3


# -- worked values ---------------------------------------------------------------------------------

ATOM = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]

TILES = [
    (S[(8, 8) : (8, 1)], S[(2, 3) : (3, 1)], S[((8, 2), (8, 3)) : ((48, 3), (6, 1))]),
    (
        S[(8, 4) : (4 @ laneid, 1 @ laneid)],
        S[(1, 2) : (2, 1)],
        S[((8, 1), (4, 2)) : ((4 @ laneid, 2 @ m), (1 @ laneid, 1 @ m))],
    ),
    # the tile's copies count in its span, its offset does not, and a step back is a step
    (S[2:1], S[4:1] + 3, S[((2, 4),) : ((4, 1),)] + 3),
    (S[2:1], S[4:-1] + 3, S[((2, 4),) : ((4, -1),)] + 3),
    (S[2:1], S[4:1] + R[2:6], S[((2, 4),) : ((10, 1),)] + R[2:6]),
    # an axis on which the tile has copies alone
    (
        S[2 : 1 @ laneid],
        S[4:1] + R[2 : 4 @ laneid],
        S[((2, 4),) : ((5 @ laneid, 1 @ m),)] + R[2 : 4 @ laneid],
    ),
    # the copies and the offset of the outer layout are steps of whole tiles as well
    (S[2:1] + R[2:2] + 5, S[4:1], S[((2, 4),) : ((4, 1),)] + R[2:8] + 20),
    (S[2 : 1 @ m + 1 @ reg], S[4:1], S[((2, 4),) : ((4 @ m + 1 @ reg, 1 @ m),)]),
    # tensor memory: lanes and columns each by their own span
    (
        S[(2, 2) : (1 @ TLane, 1 @ TCol)],
        S[(32, 8) : (1 @ TLane, 1 @ TCol)],
        S[((2, 32), (2, 8)) : ((32 @ TLane, 1 @ TLane), (8 @ TCol, 1 @ TCol))],
    ),
    # atoms of a period each pass; so does an outer swizzle over steps that leave room for the tile
    (
        S[(8, 4) : (4, 1)],
        ATOM,
        Swizzle(3, 3, 3) @ S[((8, 8), (4, 64)) : ((2048, 64), (512, 1))],
    ),
    (
        Swizzle(1, 0, 1) @ S[4:1],
        S[8:1],
        Swizzle(1, 3, 1) @ S[((4, 8),) : ((8, 1),)],
    ),
    # where the tile starts elsewhere, its start stands outside the outer swizzle
    (
        Swizzle(1, 0, 1) @ S[4:1],
        S[8:1] + 3,
        O[3 @ m] @ Swizzle(1, 3, 1) @ S[((4, 8),) : ((8, 1),)],
    ),
    # an offset of the outer layout moves swizzled tiles about, it does not swizzle them otherwise
    (
        S[2:2] + 3,
        Swizzle(1, 0, 1) @ S[4:1],
        Swizzle(1, 0, 1) @ (S[((2, 4),) : ((8, 1),)] + 12),
    ),
    # two swizzles: that of the tile acts below the one of the grid
    (
        Swizzle(1, 0, 1) @ S[4:1],
        Swizzle(1, 0, 1) @ S[4:1],
        Swizzle(1, 2, 1) @ Swizzle(1, 0, 1) @ S[((4, 4),) : ((4, 1),)],
    ),
    (S[()], S[()], S[()]),
]


@pytest.mark.parametrize(("outer", "inner", "whole"), TILES)
def test_tiles(outer, inner, whole):
    assert tile(outer, inner) == whole
    assert naive_map(whole) == naive_sum(outer, inner, spans(inner))


GRIDS = [
    (2, S[(8, 4) : (4, 1)], S[((1, 8), (2, 4)) : ((0, 4), (32, 1))]),
    ((2, 3), S[4:1], S[((2, 1), (3, 4)) : ((12, 0), (4, 1))]),
    (
        (2, 2),
        S[(4, 4) : (1 @ laneid, 1 @ reg)],
        S[((2, 4), (2, 4)) : ((8 @ reg, 1 @ laneid), (4 @ reg, 1 @ reg))],
    ),
    (2, S[4 : 1 @ laneid], S[((2, 4),) : ((1 @ m, 1 @ laneid),)]),
]


@pytest.mark.parametrize(("grid", "inner", "whole"), GRIDS)
def test_a_grid_is_a_shape(grid, inner, whole):
    assert tile(grid, inner) == whole
    assert inner.tile(grid) == whole


SUMS = [
    (S[(2, 2) : (8, 2)], S[(2, 2) : (4, 1)], S[((2, 2), (2, 2)) : ((8, 4), (2, 1))]),
    (
        S[4 : 4 @ TCol],
        S[(32, 4) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane],
        None,
    ),
    (
        S[(4, 1) : (4 @ TCol, 0)],
        S[(32, 4) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane],
        S[((4, 32), (1, 4)) : ((4 @ TCol, 1 @ TLane), (0, 1 @ TCol))] + R[4 : 32 @ TLane],
    ),
    # the rows and the columns of a swizzled tile, both swizzled: bits that do not meet
    (
        Swizzle(3, 3, 3) @ S[(8, 1) : (64, 0)],
        Swizzle(3, 3, 3) @ S[(1, 8) : (0, 1)],
        Swizzle(3, 3, 3) @ S[((8, 1), (1, 8)) : ((64, 0), (0, 1))],
    ),
]


@pytest.mark.parametrize(("a", "b", "whole"), SUMS)
def test_direct_sums(a, b, whole):
    if whole is None:
        with pytest.raises(LayoutError, match="1 modes, 4, beside 2") as error:
            direct_sum(a, b)
        assert error.value.code == "TW503"
        return
    assert direct_sum(a, b) == whole
    assert a.direct_sum(b) == whole
    assert naive_map(whole) == naive_sum(a, b, {})


REFUSED_TILES = [
    # the tile's span is no multiple of the period: "each tile" and "absolute addresses" differ at 4
    (2, Swizzle(1, 0, 2) @ S[4:1], "TW504", 4),
    # a swizzle that does nothing within the tile would do something beyond it
    (2, Swizzle(1, 0, 1) @ S[2:1], "TW504", 2),
    # three is no power of two, so no swizzle moves tiles of three
    (Swizzle(1, 0, 1) @ S[4:1], S[3:1], "TW504", 3),
    (Swizzle(1, 0, 1) @ S[4:1], Swizzle(1, 0, 1, axis=reg) @ S[4 : 1 @ reg], "TW504", None),
    (2, S[(2, 2) : (1 @ m, 1 @ reg)], "TW509", ("m", "reg")),
]


@pytest.mark.parametrize(("outer", "inner", "code", "witness"), REFUSED_TILES)
def test_tiles_refused(outer, inner, code, witness):
    with pytest.raises(Refused) as no:
        tile(outer, inner)
    assert (no.value.code, no.value.witness) == (code, witness)
    assert no.value.hint


def test_what_is_no_question():
    with pytest.raises(LayoutError) as error:
        tile(S[4:1], S[(2, 2) : (2, 1)])
    assert error.value.code == "TW503"
    with pytest.raises(LayoutError) as error:
        tile(S[4:1].counted("byte"), S[4:1])
    assert error.value.code == "TW106"
    with pytest.raises(LayoutError) as error:
        tile(0, S[4:1])
    assert error.value.code == "TW102"
    with pytest.raises(LayoutError) as error:
        direct_sum(S[4:1], 4)
    assert error.value.code == "TW107"
    with pytest.raises(LayoutError) as error:
        tile(2, 4)
    assert error.value.code == "TW107"


def test_units_are_kept():
    assert tile(2, S[4:2].counted("byte")) == S[((2, 4),) : ((7, 2),)].counted("byte")


def test_digits_are_counted_not_elements():
    huge = S[(2**20, 2**20) : (2**20, 1)]
    whole = tile(S[(2**10, 2**10) : (2**10, 1)], Swizzle(3, 4, 3) @ huge)
    assert whole.size == 2**60
    assert whole.strides[0] == 2**50 @ m
