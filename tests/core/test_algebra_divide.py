"""Divides against the definition: A(B(t) + c) for the translates c that fill A's indices."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest
from tests.core.test_algebra_complement import forced

from tilewise import Layout, LayoutError, NotDecided, R, Refused, S, Swizzle, laneid, reg
from tilewise.core.algebra.composition import compose
from tilewise.core.algebra.tilings import flat_divide, logical_divide, tiled_divide, zipped_divide
from tilewise.core.shapes import extents_of
from tilewise.testing import naive_extents, naive_map
from tilewise.testing.generate import nested, random_layout

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"


def divisor(rng: Random, number: int) -> int:
    return rng.choice([d for d in range(1, number + 1) if number % d == 0])


def dividend(rng: Random) -> Layout:
    """Any layout, or a dense one with its digits in any order."""
    if rng.random() < 0.4:
        return random_layout(rng, 72)
    extents = [rng.choice((2, 2, 3, 4, 4, 5, 6, 8)) for _ in range(rng.randint(1, 3))]
    order = rng.sample(range(len(extents)), len(extents))
    strides, step = [0] * len(extents), 1
    for i in order:
        strides[i], step = step, step * extents[i]
    return Layout(nested(rng, extents), S[tuple(extents) : tuple(strides)].strides)


def tiler_of(rng: Random, size: int) -> int | Layout:
    """Draw a likely tiler of [0, size): an extent, or digits, each stride a multiple of the one before."""
    if rng.random() < 0.4:
        return divisor(rng, size) if rng.random() < 0.8 else rng.randint(1, size)
    extents, strides, step, rest = [], [], 1, size
    for _ in range(rng.choice((1, 1, 2, 3))):
        gap = divisor(rng, rest) if rng.random() < 0.5 else 1
        rest //= gap
        step *= gap
        extent = divisor(rng, rest)
        rest //= extent
        extents.append(extent)
        strides.append(step + (rng.random() < 0.03))
        step *= extent
    order = rng.sample(range(len(extents)), len(extents))
    tiler = S[tuple(extents[i] for i in order) : tuple(strides[i] for i in order)]
    chance = rng.random()
    if chance < 0.1:
        tiler = tiler + R[rng.choice((1, 2)) : step]
    elif chance < 0.2:
        turned = -tiler.strides[0]
        tiler = Layout(tiler.shape, (turned, *tiler.strides[1:])) + -turned * (
            naive_extents(tiler.shape)[0] - 1
        )
    elif chance < 0.25:
        tiler = Swizzle(1, 0, 1) @ tiler
    return tiler


def values(tiler: int | Layout) -> list[list[int]]:
    """The indices that each element of a tiler names."""
    if isinstance(tiler, int):
        return [[t] for t in range(tiler)]
    return [sorted(dict(place).get("m", 0) for place in places) for places in naive_map(tiler)]


def starts_of(tiler: int | Layout, size: int) -> list[int] | None:
    """Where the tiles begin that fill [0, size), or None."""
    named = {index for element in values(tiler) for index in element}
    if min(named) or max(named) >= size:
        return None
    starts, end = forced(named, size)
    return starts if end is None else None


def check_divide(rng: Random) -> str:
    layout = dividend(rng)
    tiler = tiler_of(rng, layout.size)
    starts = starts_of(tiler, layout.size)
    try:
        made = logical_divide(layout, tiler)
    except NotDecided:
        return UNDECIDED
    except Refused as no:
        check_why(no, starts, tiler)
        return REFUSED
    assert starts is not None
    places, found = naive_map(layout), naive_map(made)
    assert extents_of(made.shape) == (len(values(tiler)), len(starts))
    for (element, start), held in zip(product(values(tiler), starts), found, strict=True):
        assert held == frozenset().union(*(places[index + start] for index in element)), (layout, tiler)
    check_groups(layout, tiler, made)
    return ANSWERED


def check_why(refused: Refused, starts: list[int] | None, tiler: int | Layout) -> None:
    """Check that no tiling exists where the code says so; a tiler that begins above 0 is out of range."""
    if refused.code in ("TW502", "TW506"):
        assert starts is None, tiler
    else:
        assert refused.code in ("TW501", "TW504")
        assert refused.code == "TW501" or tiler.swizzles


def check_groups(layout: Layout, tiler: object, made: Layout) -> None:
    """The four divides of one tiler have one map; compose is the first mode of the zipped one."""
    zipped = zipped_divide(layout, tiler)
    assert naive_map(zipped) == naive_map(made)
    assert len(zipped.shape) == 2
    for other in (tiled_divide(layout, tiler), flat_divide(layout, tiler)):
        assert naive_map(other) == naive_map(made)
    try:
        inside = compose(layout, tiler)
    except Refused:
        return  # B's own modes may not be kept, where one mode of them is
    count = sum(1 for _ in naive_extents((zipped.shape[0],)))
    first = zipped.with_parts((zipped.shape[0],), zipped.strides[:count], zipped.replica, zipped.offset)
    assert naive_map(first) == naive_map(inside)


def check_divide_by_mode(rng: Random) -> str:
    layout = dividend(rng)
    extents = extents_of(layout.shape)
    if not extents:
        return "none"
    tilers = [
        None if rng.random() < 0.15 else tiler_of(rng, extent)
        for extent in extents[: rng.randint(1, len(extents))]
    ]
    tilers = [t if not isinstance(t, Layout) or not (t.replica or t.swizzles) else 1 for t in tilers]
    pairs = []
    for number, extent in enumerate(extents):
        tiler = tilers[number] if number < len(tilers) else None
        if tiler is None:
            pairs.append(
                ([[t] for t in range(extent)], [0]) if number < len(tilers) else ([[0]], [*range(extent)])
            )
        else:
            pairs.append((values(tiler), starts_of(tiler, extent)))
    try:
        made = logical_divide(layout, tuple(tilers))
    except NotDecided:
        return UNDECIDED
    except Refused as no:
        check_why_not_by_mode(no, pairs)
        return REFUSED
    places = naive_map(layout)

    def at(choice: tuple[tuple[list[int], int], ...]) -> frozenset:
        flat = 0
        for ((index,), start), extent in zip(choice, extents, strict=True):
            flat = flat * extent + index + start
        return places[flat]

    by_mode = [[*product(elements, starts)] for elements, starts in pairs]
    assert naive_map(made) == [at(choice) for choice in product(*by_mode)]
    assert len(made.shape) == len(extents)
    assert extents_of(made.shape) == extents
    in_tile = product(*(elements for elements, _ in pairs))
    zipped = [
        at(tuple(zip(elements, starts, strict=True)))
        for elements in in_tile
        for starts in product(*(starts for _, starts in pairs))
    ]
    for divide, rank in ((zipped_divide, 2), (tiled_divide, 1 + len(extents)), (flat_divide, None)):
        other = divide(layout, tuple(tilers))
        assert naive_map(other) == zipped
        assert len(other.shape) == (rank or len(tilers) + len(extents))
    return ANSWERED


def check_why_not_by_mode(refused: Refused, pairs: list[tuple[list[list[int]], list[int] | None]]) -> None:
    assert refused.message.startswith("mode ")
    if refused.code in ("TW502", "TW506"):
        assert any(starts is None for _, starts in pairs)
    else:
        assert refused.code == "TW501"


@pytest.mark.parametrize("check", [check_divide, check_divide_by_mode], ids=["flat", "by mode"])
def test_random_layouts(check, times):
    rng = Random(12)
    tally = Counter(check(rng) for _ in range(times(700)))
    print(check.__name__, dict(tally))
    assert tally[ANSWERED] > times(300)
    assert tally[REFUSED] > times(20)
    assert tally[UNDECIDED] < times(20)


# -- worked values ---------------------------------------------------------------------------------

NESTED = S[(9, (8, 4)) : (59, (1, 13))]
NESTED_TILER = (S[3:3], S[(4, 2) : (8, 1)])


@pytest.mark.parametrize(
    ("divide", "layout", "tiler", "expected"),
    [
        # CuTe's own examples: modes stay, the digits inside a mode are mirrored
        (logical_divide, S[(3, 2, 4) : (8, 1, 2)], S[4:2], S[((2, 2), (3, 2)) : ((1, 4), (8, 2))]),
        (
            logical_divide,
            NESTED,
            NESTED_TILER,
            S[((3, 3), ((4, 2), (2, 2))) : ((177, 59), ((2, 13), (1, 26)))],
        ),
        (
            zipped_divide,
            NESTED,
            NESTED_TILER,
            S[((3, (4, 2)), (3, (2, 2))) : ((177, (2, 13)), (59, (1, 26)))],
        ),
        (
            tiled_divide,
            NESTED,
            NESTED_TILER,
            S[((3, (4, 2)), 3, (2, 2)) : ((177, (2, 13)), 59, (1, 26))],
        ),
        (
            flat_divide,
            NESTED,
            NESTED_TILER,
            S[(3, (4, 2), 3, (2, 2)) : (177, (2, 13), 59, (1, 26))],
        ),
        # modes without a tiler, and None
        (zipped_divide, S[(8, 6, 5) : (30, 5, 1)], (4,), S[(4, (2, 6, 5)) : (30, (120, 5, 1))]),
        (flat_divide, S[(8, 6, 5) : (30, 5, 1)], (4,), S[(4, 2, 6, 5) : (30, 120, 5, 1)]),
        (zipped_divide, S[(8, 6) : (6, 1)], (None, 3), S[((8, 3), (1, 2)) : ((6, 1), (0, 3))]),
        (logical_divide, S[(8, 6) : (6, 1)], (None, 3), S[(8, (3, 2)) : (6, (1, 3))]),
        # a tuple in a tuple goes into the mode
        (
            logical_divide,
            S[((4, 6), 5) : ((30, 5), 1)],
            ((2, 3), None),
            S[(((2, 2), (3, 2)), 5) : (((30, 60), (5, 15)), 1)],
        ),
        (
            zipped_divide,
            S[((4, 6), 5) : ((30, 5), 1)],
            ((2, 3), None),
            S[(((2, 3), 5), ((2, 2), 1)) : (((30, 5), 1), ((60, 15), 0))],
        ),
        # all of it on the side of the index: copies, offset, swizzle and axes stay
        (
            zipped_divide,
            Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] + 512),
            (8, 16),
            Swizzle(3, 3, 3) @ (S[((8, 16), (1, 4)) : ((64, 1), (0, 16))] + 512),
        ),
        (
            logical_divide,
            S[(4, 8) : (8 @ reg, 1 @ laneid)] + R[2 : 16 @ laneid] + 3 @ reg,
            16,
            S[((2, 8), 2) : ((8 @ reg, 1 @ laneid), 16 @ reg)] + R[2 : 16 @ laneid] + 3 @ reg,
        ),
        # a tiler that runs down, one with copies, one with a swizzle
        (logical_divide, S[12:1], S[4:-1] + 3, S[(4, 3) : (-1, 4)] + 3),
        (logical_divide, S[12:1], S[2:1] + R[2:2], S[(2, 3) : (1, 4)] + R[2:2]),
        (
            logical_divide,
            S[16:1],
            Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)],
            Swizzle(1, 0, 1) @ S[((2, 2), 4) : ((2, 1), 4)],
        ),
        (logical_divide, S[()], 1, S[(1, 1) : (0, 0)]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_worked_values(divide, layout, tiler, expected):
    assert divide(layout, tiler) == expected
    assert getattr(layout, divide.__name__)(tiler) == expected


def test_a_swizzle_that_does_nothing_in_a_tile_does_nothing_beside_it():
    tiler = Swizzle(1, 0, 1) @ S[2:1]
    assert logical_divide(S[8:1], tiler) == S[(2, 4) : (1, 2)]


def test_it_goes_by_digits_and_not_by_elements():
    layout = S[(1 << 40, 3**20) : (1, 1 << 40)]
    assert zipped_divide(layout, (1 << 10, 9)).shape == ((1 << 10, 9), (1 << 30, 3**18))


@pytest.mark.parametrize(
    ("layout", "tiler", "code", "words"),
    [
        # tensors that CuTe rounds up
        (S[10:1], 4, "TW506", "tiles S.4 : 1. do not make up 10 elements"),
        (S[(5, 10) : (10, 1)], (2, 5), "TW506", "mode 0: tiles"),
        (S[24:1], S[(2, 2) : (3, 1)], "TW506", "step 3 is no multiple"),
        # a layout that CuTe's rule divides wrongly
        (S[(4, 3) : (1, 4)], S[6:2], "TW501", "digit 0 of B"),
        (S[8:1], S[2:1] + 2, "TW502", "B names index 9"),
        (S[8:1], S[(2, 2) : (1 @ laneid, 1 @ reg)], "TW509", "laneid and reg"),
        (S[16:1], Swizzle(1, 0, 1) @ (S[2:1] + 2), "TW504", "repeats every 4"),
        (S[(4, 4) : (4, 1)], (Swizzle(1, 0, 1) @ S[4:1],), "TW504", "swizzles one mode"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_refusals(layout, tiler, code, words):
    with pytest.raises(Refused, match=words) as refused:
        logical_divide(layout, tiler)
    assert refused.value.code == code
    assert refused.value.hint


@pytest.mark.parametrize(
    ("tiler", "code"), [((2, 2, 2), "TW503"), ("4", "TW107"), (2.0, "TW107"), (True, "TW107"), (0, "TW102")]
)
def test_malformed_tilers(tiler, code):
    with pytest.raises(LayoutError) as error:
        logical_divide(S[(4, 4) : (4, 1)], tiler)
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


def test_the_first_mode_of_a_zipped_divide_is_the_composition():
    layout = S[(8, 6) : (6, 1)]
    for tiler in (4, S[(2, 3) : (1, 2)], (4, 3), (2,)):
        zipped = zipped_divide(layout, tiler)
        first = compose(layout, tiler) if not isinstance(tiler, tuple) else compose(layout, (*tiler, 1)[:2])
        assert naive_map(first) == naive_map(zipped)[:: zipped.size // first.size]


@pytest.mark.parametrize("operation", [logical_divide, zipped_divide, tiled_divide, flat_divide, compose])
def test_a_mode_may_be_kept_in_words(operation):
    layout = S[(8, 6, 4) : (24, 4, 1)]
    for tilers in [(4, slice(None), 2), (4, ..., 2), [4, None, 2]]:
        assert operation(layout, tilers) == operation(layout, (4, None, 2))
    assert operation(layout, (..., 2)) == operation(layout, (None, None, 2))
    with pytest.raises(LayoutError, match="4 tilers for 3 modes"):
        operation(layout, (1, 1, 1, 1))
    with pytest.raises(LayoutError, match="2 tilers for 1 mode\n"):
        operation(S[4], (1, 1))
    with pytest.raises(LayoutError, match="stands once"):
        operation(layout, (..., 2, ...))
