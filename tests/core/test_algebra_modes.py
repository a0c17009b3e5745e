"""Merging, splitting, bracketing and reordering keep the map; reshape answers whenever an answer exists."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import accumulate, chain, product
from math import prod
from operator import mul
from random import Random
from typing import Any

import pytest

from tilewise import Layout, LayoutError, O, R, Refused, S, Swizzle, laneid, m, reg
from tilewise.core.algebra import modes
from tilewise.core.shapes import Shape, coordinates, extents_of, flat_index, leaves, size_of
from tilewise.testing import naive_difference, naive_digits, naive_map, naive_places
from tilewise.testing.generate import nested, random_layout, rewritten

ANSWERED, REFUSED = "answered", "refused"

# -- the naive definition --------------------------------------------------------------------------


@cache
def factorisations(n: int) -> tuple[tuple[int, ...], ...]:
    """Every list of factors of at least 2 with the product n, in every order."""
    if n == 1:
        return ((),)
    divisors = (first for first in range(2, n + 1) if n % first == 0)
    return tuple((first, *rest) for first in divisors for rest in factorisations(n // first))


def place_values(extents: Any) -> list[int]:
    """The place values of extents, and their product."""
    return list(accumulate(reversed(list(extents)), mul, initial=1))


def steps_of(layout: Layout) -> list[dict[str, int]]:
    """D alone, listed: what stays of the map without all that the operations pass through."""
    bare = replace(layout, replica=(), swizzles=(), offset=0 @ m, outer=0 @ m)
    return [dict(place) for (place,) in naive_map(bare)]


def is_map_of(steps: list[dict[str, int]], extents: tuple[int, ...]) -> bool:
    """Return whether digits of these extents, with the only strides that they can have, make the map."""
    axes = {axis for step in steps for axis in step}
    strides = [steps[place] for place in place_values(extents)[-2::-1]]
    return all(
        all(
            step.get(axis, 0) == sum(d * s.get(axis, 0) for d, s in zip(digits, strides, strict=True))
            for axis in axes
        )
        for step, digits in ((step, naive_digits(n, extents)) for n, step in enumerate(steps))
    )


def some_layout_exists(layout: Layout, shape: Shape) -> bool:
    """Return whether digits that split the shape's extents make the map, by trying every split."""
    steps = steps_of(layout)
    ways = product(*(factorisations(extent) for extent in leaves(shape)))
    return any(is_map_of(steps, tuple(chain.from_iterable(way))) for way in ways)


def has_shape(made: Any, asked: Any) -> bool:
    """Return whether a shape is the wanted one, with its extents split into digits."""
    if isinstance(asked, int):
        return prod(leaves(made)) == asked and (isinstance(made, int) or all(type(e) is int for e in made))
    return len(made) == len(asked) and all(map(has_shape, made, asked))


def untouched(made: Layout, layout: Layout) -> bool:
    """Return whether all that the operations pass through has stayed."""
    fields = ("replica", "offset", "swizzles", "outer", "unit")
    return all(getattr(made, field) == getattr(layout, field) for field in fields)


def same_map(made: Layout, layout: Layout) -> bool:
    return naive_difference(made, layout) is None and untouched(made, layout)


def checked_witness(no: Refused, places: list[int], others: list[int], said: str = "") -> str:
    """One place value of each, of which neither divides the other."""
    own, asked = no.witness
    assert no.code == "TW503"
    assert own in places
    assert asked in others
    assert said in f"{no.reason}; {no.hint}"
    assert own % asked
    assert asked % own
    assert f"every {own} elements" in no.reason
    assert f"every {asked}" in no.reason
    return REFUSED


# -- random cases ----------------------------------------------------------------------------------


def drawn(rng: Random, max_size: int = 64) -> Layout:
    """A layout, now and then with its digits split."""
    layout = random_layout(rng, max_size)
    return rewritten(rng, layout) if rng.random() < 0.5 else layout


def drawn_shape(rng: Random, size: int) -> Shape:
    """A nested shape of the size, some extents of 1 among it."""
    extents = list(rng.choice(factorisations(size)))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        extents.insert(rng.randint(0, len(extents)), 1)
    return nested(rng, extents)


def check_coalesce(rng: Random) -> str:
    layout = drawn(rng)
    made = modes.coalesce(layout)
    assert same_map(made, layout)
    assert all(type(extent) is int and extent > 1 for extent in made.shape)
    fewer = [extents for extents in factorisations(layout.size) if len(extents) < len(made.shape)]
    assert not any(is_map_of(steps_of(layout), extents) for extents in fewer)
    by_mode = modes.coalesce(layout, by_mode=True)
    assert same_map(by_mode, layout)
    assert extents_of(by_mode.shape) == extents_of(layout.shape)
    assert has_shape(by_mode.shape, extents_of(layout.shape))
    assert len(made.shard) <= sum(it.extent > 1 for it in by_mode.shard) <= len(layout.shard)
    return ANSWERED


def check_flatten(rng: Random) -> str:
    layout = drawn(rng)
    made = modes.flatten(layout)
    assert same_map(made, layout)
    assert made.shape == tuple(leaves(layout.shape))
    return ANSWERED


def check_reshape(rng: Random) -> str:
    layout = drawn(rng)
    shape = drawn_shape(rng, layout.size)
    try:
        made = modes.reshape(layout, shape)
    except Refused as no:
        assert not some_layout_exists(layout, shape)
        digits = next(
            e for e in sorted(factorisations(layout.size), key=len) if is_map_of(steps_of(layout), e)
        )
        return checked_witness(no, place_values(digits), place_values(leaves(shape)))
    assert same_map(made, layout)
    assert has_shape(made.shape, shape)
    return ANSWERED


def check_group(rng: Random) -> str:
    layout = drawn(rng)
    shape = drawn_shape(rng, layout.size)
    written, asked = place_values(leaves(layout.shape)), place_values(leaves(shape))
    try:
        made = modes.group(layout, shape)
    except Refused as no:
        helps = "and has an answer" if some_layout_exists(layout, shape) else "does not help"
        return checked_witness(no, written, asked, helps)
    assert same_map(made, layout)
    assert has_shape(made.shape, shape)
    assert set(place_values(leaves(made.shape))) == {*written, *asked}, "digits are split, none is merged"
    return ANSWERED


def check_split(rng: Random) -> str:
    layout = drawn(rng)
    layout = layout if layout.shape else modes.reshape(layout, 1)
    rank = len(layout.shape)
    position = rng.randrange(rank)
    inside = drawn_shape(rng, size_of(layout.shape[position]))
    try:
        made = modes.split(layout, position, inside)
    except Refused as no:
        first = modes.permute(layout, position, *(k for k in range(rank) if k != position))
        assert not some_layout_exists(first, (*inside, *first.shape[1:]))
        written = place_values(leaves(layout.shape[position]))
        return checked_witness(no, written, place_values(leaves(inside)), f"mode {position}")
    assert same_map(made, layout)
    assert made.shape[:position] == layout.shape[:position]
    assert made.shape[position + len(inside) :] == layout.shape[position + 1 :]
    assert has_shape(made.shape[position : position + len(inside)], inside)
    return ANSWERED


def check_regroup(rng: Random) -> str:
    layout = drawn(rng)
    parts = nested(rng, list(range(len(layout.shape))))
    made = modes.regroup(layout, *parts)
    assert same_map(made, layout)
    assert made.strides == layout.strides
    assert len(made.shape) == len(parts)
    assert list(leaves(made.shape)) == list(leaves(layout.shape))
    return ANSWERED


def check_permute(rng: Random) -> str:
    layout = drawn(rng)
    order = list(range(len(layout.shape)))
    rng.shuffle(order)
    made = modes.permute(layout, *order)
    assert untouched(made, layout)
    assert made.shape == tuple(layout.shape[k] for k in order)
    for n in range(layout.size):
        index = coordinates(n, layout.shape)
        moved = flat_index(tuple(index[k] for k in order), made.shape) if order else 0
        assert naive_places(made, moved) == naive_places(layout, n)
    return ANSWERED


def check_refinement(rng: Random) -> str:
    a = drawn(rng)
    b = reordered(rng, a)
    digits = [modes.coalesce(layout).shape for layout in (a, b)]
    places = [place_values(extents) for extents in digits]
    try:
        one, other = modes.refinement(a, b)
    except Refused as no:
        assert not any(
            all(is_map_of(steps_of(layout), extents) for layout in (a, b))
            for extents in factorisations(a.size)
        )
        return checked_witness(no, *places)
    assert same_map(one, a)
    assert same_map(other, b)
    assert one.shape == other.shape
    assert set(place_values(one.shape)) == {*places[0], *places[1]}, "the coarsest"
    return ANSWERED


def reordered(rng: Random, layout: Layout) -> Layout:
    """Another map of the same size."""
    order = list(range(len(layout.shape)))
    rng.shuffle(order)
    return replace(modes.permute(layout, *order), swizzles=(), outer=0 @ m)


CHECKS = [
    check_coalesce,
    check_flatten,
    check_reshape,
    check_group,
    check_split,
    check_regroup,
    check_permute,
    check_refinement,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_random_cases(check, times):
    rng = Random(check.__name__)
    outcomes = Counter(check(rng) for _ in range(times(400)))
    always = check in (check_coalesce, check_flatten, check_regroup, check_permute)
    assert outcomes[ANSWERED] >= (times(400) if always else times(120)), outcomes
    assert always or outcomes[REFUSED] >= times(10), outcomes


# -- by hand ---------------------------------------------------------------------------------------

SIXES = S[(6, 6) : (6, 1)]
TURNED = S[(6, 6) : (1, 6)]


@pytest.mark.parametrize(
    ("made", "form"),
    [
        (modes.coalesce(S[(2, 1, 6) : (1, 7, 2)]), S[(2, 6) : (1, 2)]),
        (modes.coalesce(S[()]), S[()]),
        (modes.coalesce(S[(1, 1) : (3, 4)]), S[()]),
        (modes.coalesce(S[(1, 1) : (3, 4)], by_mode=True), S[(1, 1) : (0, 0)]),
        (modes.coalesce(S[(4, 2) : (-2, -1)]), S[8:-1]),
        (modes.coalesce(S[(4, 2) : (0, 0)]), S[8:0]),
        (modes.coalesce(S[(2, 2) : (0 @ laneid, 0 @ reg)]), S[4:0]),
        (
            modes.coalesce(S[(2, 2) : (2 @ laneid + 2 @ m, 1 @ m + 1 @ laneid)]),
            S[4 : 1 @ laneid + 1 @ m],
        ),
        (modes.coalesce(S[((2, 2), (2, 2)) : ((8, 4), (2, 1))], by_mode=True), S[(4, 4) : (4, 1)]),
        (modes.coalesce(S[((2, 2), 2) : ((1, 4), 2)], by_mode=True), S[((2, 2), 2) : ((1, 4), 2)]),
        (modes.flatten(S[((4, 2), (1, 8)) : ((16, 8), (5, 1))]), S[(4, 2, 1, 8) : (16, 8, 5, 1)]),
        (modes.reshape(S[(4, 2, 2, 4) : (16, 4, 8, 1)], 8, 8), S[((4, 2), (2, 4)) : ((16, 4), (8, 1))]),
        (modes.reshape(SIXES, 4, 9), S[(4, 9) : (9, 1)]),
        (modes.reshape(TURNED, (12, 3)), S[((6, 2), 3) : ((1, 18), 6)]),
        (modes.reshape(TURNED, 2, (3, 6)), S[(2, (3, 6)) : (3, (1, 6))]),
        (modes.reshape(TURNED, 36), S[((6, 6),) : ((1, 6),)]),
        (modes.reshape(TURNED, [-1, 6]), TURNED),
        (modes.reshape(TURNED, -1, 1), S[((6, 6), 1) : ((1, 6), 0)]),
        (modes.reshape(S[4:3], (1, (2, -1)), 1), S[((1, (2, 2)), 1) : ((0, (6, 3)), 0)]),
        (modes.reshape(S[()]), S[()]),
        (modes.reshape(S[()], 1, (1, 1)), S[(1, (1, 1)) : (0, (0, 0))]),
        (modes.reshape(S[(1, 1) : (5, 5)], ()), S[()]),
        (modes.group(SIXES, 12, 3), S[((6, 2), 3) : ((6, 3), 1)]),
        (modes.group(SIXES, 18, 2), S[((6, 3), 2) : ((6, 2), 1)]),
        (modes.group(SIXES, 36), S[((6, 6),) : ((6, 1),)]),
        (modes.group(S[(2, 1, 2) : (2, 9, 1)], (2, 1, 2)), S[(2, 1, 2) : (2, 0, 1)]),
        (modes.split(S[(64, 32) : (32, 1)], 1, 4, -1), S[(64, 4, 8) : (32, 8, 1)]),
        (modes.split(S[(1, 4) : (9, 1)], 0), S[4:1]),
        (modes.split(S[((2, 2), 4) : ((8, 4), 1)], 0, (4,)), S[(4, 4) : (4, 1)]),
        (modes.split(S[((2, 3), (1, 4)) : ((12, 4), (9, 1))], 0, 6), S[(6, (1, 4)) : (4, (9, 1))]),
        (modes.regroup(S[(4, 2, 8) : (1, 32, 4)], (0, 1), 2), S[((4, 2), 8) : ((1, 32), 4)]),
        (modes.regroup(S[(4, (2, 8)) : (1, (32, 4))], ((0, 1),)), S[((4, (2, 8)),) : ((1, (32, 4)),)]),
        (modes.regroup(S[()]), S[()]),
        (modes.permute(S[(4, (2, 3)) : (6, (3, 1))], 1, 0), S[((2, 3), 4) : ((3, 1), 6)]),
        (modes.permute(S[(4, 2, 8) : (16, 8, 1)], (2, 0, 1)), S[(8, 4, 2) : (1, 16, 8)]),
        (modes.permute(S[()]), S[()]),
    ],
    ids=str,
)
def test_results(made, form):
    assert made == form


def test_all_else_passes_through():
    layout = O[5 @ m] @ Swizzle(1, 0, 2) @ (S[(6, 6) : (6, 1)] + R[2 : 100 @ m + 1 @ laneid] + 3)
    layout = layout.counted("byte")
    for made in (
        layout.coalesce(),
        layout.flatten(),
        layout.reshape(4, 9),
        layout.group((12, 3)),
        layout.split(0, 2, 3),
        layout.regroup((0, 1)),
        layout.permute(1, 0),
        *modes.refinement(layout, layout),
    ):
        assert untouched(made, layout)
        assert made.swizzles


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        (S[(4, 6) : (1, 4)], S[(2, 12) : (1, 2)], (2, 2, 6)),
        (S[(4, 6) : (1, 4)], S[24:1], (4, 6)),
        (S[(4, 6) : (1, 4)], S[(2, 2, 3, 2) : (1, 2, 4, 12)], (2, 2, 3, 2)),
        (S[24:1], S[(2, 12) : (12, 1)], (24,)),
        (S[()], S[1:3], ()),
    ],
)
def test_a_refinement_is_the_coarsest(a, b, shape):
    one, other = modes.refinement(a, b)
    assert one.shape == other.shape == shape
    assert same_map(one, a)
    assert same_map(other, b)


def test_a_huge_layout_is_as_cheap():
    huge = S[(2**25, 2**25) : (1, 2**25)]
    assert huge.reshape(2**10, 2**40).shape == (2**10, (2**15, 2**25))
    with pytest.raises(Refused) as no:
        S[(3 * 2**20, 5) : (1, 3 * 2**20)].reshape(5, -1)
    assert no.value.witness == (5, 3 * 2**20)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "witness", "hint"),
    [
        (lambda: modes.reshape(TURNED, 4, 9), (6, 9), "no digits"),
        (lambda: modes.reshape(TURNED, 9, 4), (6, 4), "no digits"),
        (lambda: modes.reshape(TURNED, (2, 2, 3, 3)), (6, 9), "no digits"),
        (lambda: modes.group(SIXES, 4, 9), (6, 9), "reshape merges digits first, and has an answer"),
        (lambda: modes.group(TURNED, 4, 9), (6, 9), "merging digits first does not help"),
        (lambda: modes.split(S[(2, (6, 6)) : (40, (1, 6))], 1, 9, 4), (6, 4), "along mode 1"),
        (lambda: modes.refinement(TURNED, S[(4, 9) : (1, 4)]), (6, 9), "no flat shape"),
        (lambda: modes.refinement(S[(4, 9) : (1, 4)], TURNED), (9, 6), "no flat shape"),
    ],
)
def test_what_does_not_divide_is_refused_with_both_places(operation, witness, hint):
    with pytest.raises(Refused) as no:
        operation()
    assert (no.value.code, no.value.witness) == ("TW503", witness)
    assert hint in no.value.hint
    assert "neither divides the other" in no.value.reason


@pytest.mark.parametrize(
    ("operation", "code", "said"),
    [
        (lambda: SIXES.reshape(5, 7), "TW202", "(5, 7) has 35 elements, and the layout has 36"),
        (lambda: SIXES.reshape(), "TW202", "() has 1 elements"),
        (lambda: SIXES.reshape(-1, 5), "TW202", "no extent for -1"),
        (lambda: SIXES.reshape(-1, 6, -1), "TW102", "2 extents open"),
        (lambda: SIXES.reshape(-2, -18), "TW102", "not -2"),
        (lambda: SIXES.reshape(6.0, 6), "TW101", "float"),
        (lambda: SIXES.reshape("66"), "TW101", "str"),
        (lambda: SIXES.reshape(6, True), "TW101", "bool"),
        (lambda: SIXES.group((6, 7)), "TW202", "(6, 7) has 42 elements"),
        (lambda: SIXES.split(2, 2, 3), "TW201", "mode 2"),
        (lambda: SIXES.split(-1, 2, 3), "TW201", "mode -1"),
        (lambda: SIXES.split("0", 2, 3), "TW101", "a mode"),
        (lambda: SIXES.split(0, 2, 2), "TW202", "mode 0 has 6"),
        (lambda: SIXES.split(0, 4, -1), "TW202", "the 6 elements of mode 0"),
        (lambda: SIXES.regroup(0), "TW201", "every mode of (6, 6)"),
        (lambda: SIXES.regroup(1, 0), "TW201", "in order"),
        (lambda: SIXES.regroup((0, 1), 1), "TW201", "once"),
        (lambda: SIXES.regroup((0, 1), ()), "TW102", "empty mode"),
        (lambda: SIXES.regroup(0, 1.0), "TW101", "float"),
        (lambda: SIXES.permute(0), "TW201", "every mode of (6, 6)"),
        (lambda: SIXES.permute(0, 0), "TW201", "once"),
        (lambda: SIXES.permute(-1, 0), "TW201", "once"),
        (lambda: SIXES.permute(True, 0), "TW101", "bool"),
        (lambda: modes.refinement(SIXES, S[8:1]), "TW202", "36 elements, the other 8"),
    ],
)
def test_what_is_not_a_question_is_an_error(operation, code, said):
    with pytest.raises(LayoutError) as error:
        operation()
    assert not isinstance(error.value, Refused)
    assert error.value.code == code
    assert said in error.value.message
