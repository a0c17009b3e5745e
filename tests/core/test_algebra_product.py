"""Products against the definition: A(a) moved by the translates that fill its axis, in B's order."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from random import Random

import pytest
from tests.core.test_algebra_complement import image, of_one_axis

from tilewise import Layout, LayoutError, NotDecided, R, Refused, S, Swizzle, laneid, reg
from tilewise.core.algebra.tilings import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from tilewise.core.shapes import extents_of
from tilewise.testing import Place, as_place, naive_map
from tilewise.testing.generate import nested

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"


def numbering(rng: Random) -> Layout:
    """Numbers of repetitions: dense in any order, with gaps, turned, repeated."""
    extents = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.choice((1, 1, 2, 2)))]
    strides, step = [0] * len(extents), 1
    start = 0
    for i in rng.sample(range(len(extents)), len(extents)):
        strides[i], step = step, step * extents[i] * rng.choice((1, 1, 1, 2))
        if rng.random() < 0.15:
            start += strides[i] * (extents[i] - 1)
            strides[i] = -strides[i]
        elif rng.random() < 0.1:
            strides[i] = 0
    start += rng.choice((0, 0, 0, 0, 1))
    return Layout(nested(rng, extents), S[tuple(extents) : tuple(strides)].strides) + start


def tiling(places: set[int], count: int) -> list[int] | None:
    """The first `count` translates of the only tiling, or None if it ends before twice the set's span."""
    filled: set[int] = set()
    starts: list[int] = []
    place = 0
    while len(starts) < count or place <= 2 * max(places):
        if place not in filled:
            moved = {place + p for p in places}
            if moved & filled:
                return None
            filled |= moved
            starts.append(place)
        place += 1
    return starts


def moved(place: Place, axis: str, steps: int) -> Place:
    found = dict(place)
    return as_place(found | {axis: found.get(axis, 0) + steps})


def numbers(other: Layout) -> list[int]:
    return [dict(place).get("m", 0) for (place,) in naive_map(other)]


def moves_of(block: Layout, other: Layout) -> tuple[str, list[int] | None]:
    """(axis, how far each repetition moves), from the tiling that the block's plain places have."""
    plain = Layout(block.shape, block.strides, block.replica, block.offset)
    axis, places = image(plain)
    if len(places) == 1:
        axis = block.axes[0].name
    starts = tiling(places, max(numbers(other)) + 1)
    return axis, None if starts is None else [starts[number] for number in numbers(other)]


def check_logical_product(rng: Random) -> str:
    block, other = of_one_axis(rng), numbering(rng)
    axis, moves = moves_of(block, other)
    try:
        made = logical_product(block, other)
    except NotDecided:
        return UNDECIDED
    except Refused as no:
        check_why(no, block, moves)
        return REFUSED
    assert moves is not None
    expected = [
        frozenset(moved(place, axis, steps) for place in held) for held in naive_map(block) for steps in moves
    ]
    assert naive_map(made) == expected, (block, other)
    assert extents_of(made.shape) == (block.size, other.size)
    for same in (zipped_product, tiled_product, flat_product):
        assert naive_map(same(block, other)) == expected
    return ANSWERED


def check_why(refused: Refused, block: Layout, moves: list[int] | None) -> None:
    if refused.code == "TW506":
        assert moves is None, block
    elif refused.code == "TW504":
        assert block.swizzles
    else:
        assert refused.code == "TW501"


def check_interleaved_product(rng: Random) -> str:
    """blocked and raked: mode i is (b_i, a_i) or (a_i, b_i)."""
    block, other = of_one_axis(rng), numbering(rng)
    try:
        whole = logical_product(block, other)
    except LayoutError:
        with pytest.raises(LayoutError):
            blocked_product(block, other)
        return REFUSED
    held = naive_map(whole)
    rank = max(len(block.shape), len(other.shape))
    inner = (*extents_of(block.shape), *[1] * (rank - len(block.shape)))
    outer = (*extents_of(other.shape), *[1] * (rank - len(other.shape)))
    blocked, raked = blocked_product(block, other), raked_product(block, other)
    assert extents_of(blocked.shape) == extents_of(raked.shape)
    assert extents_of(raked.shape) == tuple(a * b for a, b in zip(inner, outer, strict=True))
    one, two = naive_map(blocked), naive_map(raked)
    for a in product(*map(range, inner)):
        for b in product(*map(range, outer)):
            place = held[flat(a, inner) * prod(outer) + flat(b, outer)]
            digits = [*zip(a, inner, b, outer, strict=True)]
            in_blocks = flat([y * e + x for x, e, y, _ in digits], extents_of(blocked.shape))
            dealt_out = flat([x * f + y for x, _, y, f in digits], extents_of(raked.shape))
            assert one[in_blocks] == place
            assert two[dealt_out] == place
    return ANSWERED


def flat(index: tuple[int, ...] | list[int], extents: tuple[int, ...]) -> int:
    found = 0
    for digit, extent in zip(index, extents, strict=True):
        found = found * extent + digit
    return found


def check_tile_to_shape(rng: Random) -> str:
    block = of_one_axis(rng)
    counts = [rng.choice((1, 2, 2, 3)) for _ in block.shape] or [1]
    extents = tuple(e * c for e, c in zip(extents_of(block.shape) or (1,), counts, strict=True))
    if rng.random() < 0.1:
        extents = (extents[0] + 1, *extents[1:])
        counts[0] = -(-extents[0] // (extents_of(block.shape) or (1,))[0])
    order = rng.choice((None, rng.sample(range(len(counts)), len(counts))))
    grid = [0] * len(counts)
    step = 1
    for mode in sorted(range(len(counts)), key=lambda i: -i if order is None else order[i]):
        grid[mode], step = step, step * counts[mode]
    axis, moves = moves_of(block, S[prod(counts) : 1])
    try:
        made = tile_to_shape(block, extents, order)
    except NotDecided:
        return UNDECIDED
    except Refused as no:
        check_why_untiled(no, block, extents, moves)
        return REFUSED
    assert moves is not None
    assert extents_of(made.shape) == extents
    held, parts = naive_map(block), extents_of(block.shape) or (1,)
    for index, found in zip(product(*map(range, extents)), naive_map(made), strict=True):
        number = sum(i // part * g for i, part, g in zip(index, parts, grid, strict=True))
        inside = flat([i % part for i, part in zip(index, parts, strict=True)], parts)
        assert found == {moved(place, axis, moves[number]) for place in held[inside]}, (block, extents, order)
    return ANSWERED


def check_why_untiled(
    refused: Refused, block: Layout, extents: tuple[int, ...], moves: list[int] | None
) -> None:
    if refused.code != "TW503":
        check_why(refused, block, moves)
        return
    mode = refused.witness["mode"]
    assert refused.witness["block"] == (extents_of(block.shape) or (1,))[mode]
    assert extents[mode] % refused.witness["block"]


@pytest.mark.parametrize(
    "check",
    [check_logical_product, check_interleaved_product, check_tile_to_shape],
    ids=["logical", "blocked and raked", "tile_to_shape"],
)
def test_random_layouts(check, times):
    rng = Random(6)
    tally = Counter(check(rng) for _ in range(times(500)))
    print(check.__name__, dict(tally))
    assert tally[ANSWERED] > times(150)
    assert tally[REFUSED] > times(50)
    assert tally[UNDECIDED] < times(10)


# -- worked values ---------------------------------------------------------------------------------

ATOM = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]


@pytest.mark.parametrize(
    ("operation", "block", "other", "expected"),
    [
        # CuTe's own examples: modes stay, the digits inside a mode are mirrored
        (logical_product, S[(2, 2) : (1, 4)], 6, S[((2, 2), (3, 2)) : ((1, 4), (8, 2))]),
        (logical_product, S[(2, 2) : (1, 4)], S[(2, 4) : (1, 2)], S[((2, 2), (2, 4)) : ((1, 4), (2, 8))]),
        (blocked_product, S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)], S[((3, 2), (4, 5)) : ((10, 5), (30, 1))]),
        (raked_product, S[(2, 5) : (5, 1)], S[(3, 4) : (1, 3)], S[((2, 3), (5, 4)) : ((5, 10), (1, 30))]),
        # ranks that differ: the shorter has modes of one element at its end
        (blocked_product, S[4:1], S[(3, 2) : (2, 1)], S[((3, 4), 2) : ((8, 1), 4)]),
        (raked_product, S[(2, 4) : (4, 1)], S[3:1], S[((2, 3), 4) : ((4, 8), 1)]),
        # repetitions in the holes of the block, then beyond it
        (logical_product, S[4:2], 4, S[(4, (2, 2)) : (2, (8, 1))]),
        (logical_product, S[4:2], 3, None),
        (logical_product, S[4:2], S[2:2], S[(4, 2) : (2, 8)]),
        # copies, offset and axes stay; copies take room
        (
            logical_product,
            S[(2, 4) : (1 @ reg, 2 @ reg)] + R[2 : 8 @ reg] + 3 @ reg,
            3,
            S[((2, 4), 3) : ((1 @ reg, 2 @ reg), 16 @ reg)] + R[2 : 8 @ reg] + 3 @ reg,
        ),
        (logical_product, S[4:-1] + 3, 2, S[(4, 2) : (-1, 4)] + 3),
        # repetitions that run down, or stand still
        (logical_product, S[4:1], S[3:-1] + 2, S[(4, 3) : (1, -4)] + 8),
        (logical_product, S[4:1], S[3:0], S[(4, 3) : (1, 0)]),
        # blocks of whole periods, and one of the period's parts that no swizzle reaches
        (
            blocked_product,
            ATOM,
            S[(2, 3) : (3, 1)],
            Swizzle(3, 3, 3) @ S[((2, 8), (3, 64)) : ((1536, 64), (512, 1))],
        ),
        # of a tuple every mode by itself
        (zipped_product, S[(4, 3) : (3, 1)], (2, 5), S[((4, 3), (2, 5)) : ((3, 1), (1, 3))]),
        (logical_product, S[(4, 3) : (3, 1)], (None, 5), S[(4, (3, 5)) : (3, (1, 3))]),
        (logical_product, S[()], 4, S[(1, 4) : (0, 1)]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_worked_values(operation, block, other, expected):
    if expected is None:
        with pytest.raises(Refused, match="digit 0 of B") as refused:
            operation(block, other)
        assert refused.value.code == "TW501"
    else:
        assert operation(block, other) == expected
        assert getattr(block, operation.__name__)(other) == expected


@pytest.mark.parametrize(
    ("block", "shape", "order", "expected"),
    [
        (ATOM, (16, 128), None, Swizzle(3, 3, 3) @ S[((2, 8), (2, 64)) : ((1024, 64), (512, 1))]),
        (ATOM, (16, 128), (0, 1), Swizzle(3, 3, 3) @ S[(16, (2, 64)) : (64, (1024, 1))]),
        (ATOM, (16, 128), (2, 1), Swizzle(3, 3, 3) @ S[((2, 8), (2, 64)) : ((1024, 64), (512, 1))]),
        (ATOM, (8, 64, 3), None, Swizzle(3, 3, 3) @ S[(8, 64, 3) : (64, 1, 512)]),
        (ATOM, ((2, 8), 64), None, Swizzle(3, 3, 3) @ S[(16, 64) : (64, 1)]),
        (S[4:1], 12, None, S[12:1]),
        (S[(2, 4) : (1, 2)], (4, 8), (0, 1), S[((2, 2), (2, 4)) : ((8, 1), (16, 2))]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_tile_to_shape(block, shape, order, expected):
    assert tile_to_shape(block, shape, order) == expected
    assert block.tile_to_shape(shape, order) == expected


@pytest.mark.parametrize(
    ("operation", "arguments", "code", "words", "witness"),
    [
        # CuTe rounds this one up where the shape is dynamic
        (
            tile_to_shape,
            (S[(2, 4) : (4, 1)], (5, 10)),
            "TW503",
            "mode 0: blocks of 2 do not make up 5",
            {"mode": 0, "extent": 5, "block": 2},
        ),
        (logical_product, (S[(2, 2) : (3, 1)], 4), "TW506", "step 3 is no multiple", 2),
        (logical_product, (S[(2, 2) : (1 @ laneid, 1 @ reg)], 4), "TW509", "moves on laneid and reg", None),
        (logical_product, (S[4:1], S[2:1] + R[2:2]), "TW509", "has copies", None),
        (logical_product, (S[4:1], Swizzle(1, 0, 1) @ S[4:1]), "TW504", "has a swizzle", None),
        (logical_product, (S[4:1], S[(2, 2) : (1 @ laneid, 1 @ reg)]), "TW509", "laneid and reg", None),
        (logical_product, (S[4:1], S[2:1] - 1), "TW502", "index -1", None),
        (logical_product, (Swizzle(3, 3, 3) @ S[256:1], 4), "TW504", "every 512 places, .* every 256", 256),
        (logical_product, (Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)], (2,)), "TW504", "no addresses", None),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_refusals(operation, arguments, code, words, witness):
    with pytest.raises(Refused, match=words) as refused:
        operation(*arguments)
    assert refused.value.code == code
    assert refused.value.hint
    assert witness in (None, refused.value.witness)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((S[(2, 4) : (4, 1)], 8), "TW202"),
        ((S[(2, 4) : (4, 1)], (4, 8), (0,)), "TW201"),
        ((S[(2, 4) : (4, 1)], (4, 8), (1, 1)), "TW201"),
        ((S[(2, 4) : (4, 1)], (4, 0)), "TW102"),
        ((S[(2, 4) : (4, 1)], (4, 8), (0.5, 1)), "TW101"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_malformed_shapes_and_orders(arguments, code):
    with pytest.raises(LayoutError) as error:
        tile_to_shape(*arguments)
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


def test_a_swizzle_that_does_nothing_in_the_block_does_nothing_in_the_product():
    assert logical_product(Swizzle(1, 0, 3) @ S[8:1], 4) == S[(8, 4) : (1, 8)]


def test_it_goes_by_digits_and_not_by_elements():
    made = tile_to_shape(ATOM, (1 << 30, 1 << 20))
    assert made.size == 1 << 50
    assert made.holes.count == 0
