"""Slices against the definition: every region of every layout, whole, disjoint, in order, and short."""

from collections import Counter
from itertools import product
from random import Random

import pytest
from tests.core.maps import form_of

from tilewise import LayoutError, R, Refused, S, Swizzle, laneid, m
from tilewise.core.algebra.slicing import slices
from tilewise.core.shapes import extents_of
from tilewise.testing import naive_places
from tilewise.testing.generate import random_layout


def indices_in(layout, box):
    """The flat indices of a box, row-major."""
    for digits in product(*(range(first, last) for first, last in box)):
        flat = 0
        for extent, digit in zip(extents_of(layout.shape), digits, strict=True):
            flat = flat * extent + digit
        yield flat


def random_region(rng, extents):
    region = []
    for extent in extents:
        first = rng.randrange(extent)
        region.append((first, rng.randint(first + 1, extent)))
    return region


def check_slice(rng):
    layout = random_layout(rng, max_size=rng.choice((16, 64, 64, 256)))
    region = random_region(rng, extents_of(layout.shape))
    pieces = slices(layout, *region)
    covered = []
    for piece in pieces:
        inside = list(indices_in(layout, piece.box))
        covered += inside
        assert extents_of(piece.layout.shape) == tuple(last - first for first, last in piece.box)
        for position, flat in enumerate(inside):
            assert naive_places(piece.layout, position) == naive_places(layout, flat), (layout, region, piece)
    assert sorted(covered) == list(indices_in(layout, region)), (layout, region)
    corners = [tuple(first for first, _ in piece.box) for piece in pieces]
    assert corners == sorted(corners)
    return "answered"


def test_random_regions_are_all_answered_exactly(times):
    assert Counter(check_slice(Random(seed)) for seed in range(times(1500))) == {"answered": times(1500)}


def fewest_pieces(values):
    """Brute force: the fewest runs of consecutive values that are layouts."""
    best = [0]
    for last in range(1, len(values) + 1):
        first_ones = (x for x in range(last) if isinstance(form_of(values[x:last]), dict))
        best.append(1 + min(best[x] for x in first_ones))
    return best[-1]


def excess(rng):
    """Return the number of pieces beyond the fewest."""
    extents = [rng.choice((2, 2, 3, 4, 5)) for _ in range(rng.randint(1, 4))]
    steps = [rng.choice((-7, -3, -1, 0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 100)) for _ in extents]
    layout = S[tuple(extents) : tuple(steps)]
    ((first, last),) = random_region(rng, [layout.size])
    pieces = slices(layout, (first, last), shape=layout.size)
    return len(pieces) - fewest_pieces([layout.place(x)[m] for x in range(first, last)])


def test_lists_are_as_short_as_possible_but_for_one_piece_now_and_then(times):
    counts = Counter(excess(Random(seed)) for seed in range(times(800)))
    assert set(counts) <= {0, 1}
    assert counts[1] <= 0.03 * counts[0]


@pytest.mark.parametrize(
    ("layout", "first", "last", "places"),
    [
        (S[(2, 2, 4) : (100, 10, 1)], 6, 10, [12, 13, 100, 101]),
        (S[(4, 4) : (100, 1)], 3, 6, [3, 100, 101]),
        (S[(2, 4) : (100, 1)], 2, 6, [2, 3, 100, 101]),
    ],
)
def test_where_a_carry_ripples(layout, first, last, places):
    pieces = slices(layout, (first, last), shape=layout.size)
    assert [p.layout.place(x)[m] for p in pieces for x in range(p.layout.size)] == places


def test_a_half_turn_is_one_layout():
    pieces = S[(4, 4) : (100, 1)].slice((2, 6), shape=16)
    assert pieces.layout == S[((2, 2),) : ((98, 1),)] + 2


def test_at_most_twice_the_digits_less_one():
    layout = S[(4,) * 12].permute(*reversed(range(12)))
    pieces = layout.slice((1, layout.size - 1), shape=layout.size)
    assert 1 < len(pieces) <= 2 * 12 - 1
    assert sum(piece.layout.size for piece in pieces) == layout.size - 2


def test_indices_drop_their_mode_and_the_rest_is_kept():
    tile = Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] + R[2 : 1 @ laneid] + 512)
    row = tile.slice(5)
    assert row.layout.shape == (64,)
    assert row[0].box == ((5, 6), (0, 64))
    assert naive_places(row.layout, 7) == naive_places(tile, 5 * 64 + 7)
    assert naive_places(tile.slice(2, 3).layout, 0) == naive_places(tile, 2 * 64 + 3)


def test_the_forms_of_a_region():
    layout = S[(8, 8) : (8, 1)]
    same = [layout.slice((2, 4), (0, 8)), layout.slice(slice(2, 4)), layout.slice([2, 4], slice(None))]
    assert len({pieces.layout for pieces in same}) == 1


@pytest.mark.parametrize(
    ("region", "said"),
    [
        (((6, 20),), "mode 0: 6:20 is no region of 0:8"),
        (((4, 4),), "mode 0: 4:4 is no region"),
        ((-1,), "index -1 is outside 0..7 of mode 0"),
        ((8,), "index 8 is outside 0..7 of mode 0"),
        (((3, (0, 2)),), "looks inside"),
        ((..., 0, ...), "stands once"),
        ((slice(0, 8, 2),), "a region has no step"),
        ((1, 2, 3), "a region of 3 modes in a layout of 2"),
        (("x",), "'x' is no region"),
        (((1.5, 3),), "must be an integer"),
    ],
)
def test_what_is_no_region_is_said(region, said):
    with pytest.raises(LayoutError, match=said):
        S[(8, 8) : (8, 1)].slice(*region)


def test_several_pieces_are_not_one_layout():
    with pytest.raises(Refused, match="2 layouts, not one"):
        _ = S[(4, 4) : (100, 1)].slice((3, 6), shape=16).layout


def test_a_huge_layout_costs_by_its_digits():
    layout = S[(2**20, 2**30) : (1, 2**20)]
    pieces = layout.slice((1, 2**50 - 1), shape=2**50)
    assert sum(piece.layout.size for piece in pieces) == 2**50 - 2
    assert len(pieces) == 3


@pytest.mark.parametrize("kept", [None, slice(None), (0, 6)])
def test_a_mode_may_be_kept_in_words(kept):
    layout = S[(8, 6, 4) : (24, 4, 1)]
    assert slices(layout, 3, kept, (0, 2)) == slices(layout, 3, (0, 6), (0, 2))
    assert slices(layout, ..., (0, 2)) == slices(layout, (0, 8), (0, 6), (0, 2))
    assert slices(layout, 3, ..., 1) == slices(layout, 3, kept, 1)
    assert slices(layout, 3, 0, 1, ...) == slices(layout, 3, 0, 1)
