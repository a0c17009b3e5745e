"""The answers of `same`: one map, or the first index where two layouts differ."""

from itertools import pairwise
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.maps import Tally

from tilewise import R, S, Swizzle, laneid, m, reg, warpid
from tilewise.core.canonical import MAX_COPIES
from tilewise.testing import naive_difference
from tilewise.testing.generate import perturbed, random_layout, rewritten
from tilewise.testing.strategies import layouts


def agrees_with_the_definition(one, other, tally):
    found = one.same(other)
    if not tally.decided(found.answer):
        return
    first = naive_difference(one, other)
    assert found.answer is (first is None), (one, other)
    assert found.witness == first, (one, other)
    if first is not None and one.size == other.size:
        assert set(found.a) == set(one.places(first))
        assert set(found.b) == set(other.places(first))


def test_other_spellings_are_the_same_map():
    rng, tally = Random(31), Tally()
    for _ in range(400):
        layout = random_layout(rng, max_size=64)
        other = rewritten(rng, layout)
        if tally.decided(layout.same(other).answer):
            assert layout.same(other), (layout, other)
            assert other.same(layout)
    tally.expect_rare()


def test_perturbed_layouts_differ_where_the_definition_says(times):
    rng, tally = Random(37), Tally()
    for _ in range(times(400)):
        layout = random_layout(rng, max_size=64)
        agrees_with_the_definition(layout, perturbed(rng, layout), tally)
    tally.expect_rare()


def test_same_is_the_definition():
    tally = Tally()

    @given(layouts(), layouts(), st.randoms(use_true_random=False))
    def property_holds(layout, other, rng):
        for changed in (other, rewritten(rng, layout), perturbed(rng, layout)):
            if changed.unit == layout.unit:
                agrees_with_the_definition(layout, changed, tally)

    property_holds()
    tally.expect_rare()


def test_small_layouts_pairwise():
    """Two iters over three strides, with and without a swizzle or a copy: every pair."""
    tally = Tally()
    family = [
        Swizzle(bits, 0, 1) @ (S[(2, 2) : (a, b)] + R[copies:1])
        for bits in (0, 1)
        for a in (-1, 1, 2)
        for b in (0, 1, 2)
        for copies in (1, 2)
    ]
    for one in family:
        for other in family:
            agrees_with_the_definition(one, other, tally)
    assert tally.undecided == 0


@given(layouts(), st.randoms(use_true_random=False))
def test_same_is_an_equivalence(a, rng):
    b, other = rewritten(rng, a), perturbed(rng, a)
    c = rewritten(rng, b)
    assert a.same(a)
    assert a.same(c).answer in (True, None)
    assert a.same(other).answer == other.same(a).answer == c.same(other).answer


def test_other_sizes_differ_at_the_first_index_that_one_lacks():
    found = S[4:1].same(S[6:1])
    assert (found.answer, found.witness, found.a, found.b) == (False, 4, (), (4 @ m,))


def test_the_shape_is_not_part_of_the_map():
    assert S[(4, 4) : (4, 1)].same(S[16:1])
    assert S[((2, 2), 4) : ((8, 4), 1)].same(S[(2, 8) : (8, 1)])


def test_other_units_are_other_maps():
    assert not S[8:1].same(S[8:1].in_bytes("s8"))


def test_swizzles_are_compared_by_what_they_do():
    assert (Swizzle(3, 3, 3) @ S[64:1]).same(S[64:1])
    assert (Swizzle(2, 0, 2) @ S[(4, 4) : (4, 1)]).same(Swizzle(1, 0, 2) @ Swizzle(1, 1, 2) @ S[16:1])
    tile = S[(2**20, 64) : (64, 1)]
    assert (Swizzle(3, 3, 3) @ tile).same(tile).witness == 64


def test_replicas_are_sets():
    assert (S[2:8] + R[(2, 2) : (1, 2)]).same(S[2:8] + R[4:1])
    assert (S[2:8] + R[(3, 3) : (1, 2)]).same(S[2:8] + R[7:1])
    assert (S[2:8] + R[2:-4]).same(S[2:8] + R[2:4] - 4)
    assert (S[2:8] + R[2:4]).same(S[2:8] + R[3:2]).witness == 0


def test_sets_of_copies_that_no_normal_form_joins_are_equal():
    """{0, 2..11, 13}: neither list can be merged further, and their signatures agree."""
    one, other = R[3:2] + R[4:3], R[6:2] + R[2:3]
    assert (S[()] + one).same(S[()] + other)
    assert not (S[()] + one).same(S[()] + R[6:2] + R[2:5])


def test_so_are_sets_far_beyond_listing_and_on_diagonals():
    far = 2**60
    one = R[(3, 4) : (2 * far, 3 * far)] + R[2**40 : 1]
    other = R[2**40 : 1] + R[(6, 2) : (2 * far, 3 * far)]
    assert (S[4 : 1 @ reg] + one).same(S[4 : 1 @ reg] + other)
    diagonal = 1 @ laneid + 5 @ m
    one, other = R[(3, 4) : (diagonal * 2, diagonal * 3)], R[(6, 2) : (diagonal * 2, diagonal * 3)]
    assert (S[4 : 1 @ reg] + one).same(S[4 : 1 @ reg] + other)


def test_more_copies_than_can_be_listed_are_compared_all_the_same():
    many = R[2 * MAX_COPIES : 8 @ warpid]
    found = (S[4:1] + many).same(S[4:2] + many)
    assert (found.answer, found.witness) == (False, 1)
    assert (Swizzle(1, 0, 1) @ (S[4:1] + many)).same(S[4:1] + many).answer in (False, None)


def test_long_sets_of_copies_are_compared_in_few_steps():
    """Nearly the same reach, other sets: by doubling, not by one step a copy."""
    long = 2**20
    one = S[2 : 1 @ reg] + R[(long, 3) : (7 @ m, 2 @ m)]
    other = S[2 : 1 @ reg] + R[(long, 2) : (7 @ m, 4 @ m)]
    started = process_time()
    assert one.same(other).answer is False
    assert process_time() - started < 5


@pytest.mark.parametrize("axis", [laneid, m])
def test_the_first_difference_is_found_deep_inside(axis):
    """Digits of many sizes: only the slowest one of two chains differs."""
    extents = (3, 4, 5, 2, 7, 64)
    steps = [1]
    for extent in reversed(extents[1:]):
        steps.append(steps[-1] * extent)
    strides = tuple(step @ axis for step in reversed(steps))
    for position, place in enumerate(reversed(steps)):
        changed = (*strides[:position], strides[position] + 1 @ axis, *strides[position + 1 :])
        assert S[extents:strides].same(S[extents:changed]).witness == place
    assert all(a > b for a, b in pairwise(reversed(steps)))


def test_swizzled_copies_on_other_axes_are_another_map():
    one = Swizzle(1, 0, 1, reg) @ (S[()] + R[2 : 2 @ reg])
    other = Swizzle(1, 0, 1) @ (S[()] + R[2:2])
    assert one.same(other).witness == 0
    one = Swizzle(1, 0, 1, reg) @ (S[4 : 1 @ reg] + R[2 : 4 @ reg])
    other = Swizzle(1, 0, 1) @ (S[4:1] + R[2:4])
    assert one.same(other).witness == 0
