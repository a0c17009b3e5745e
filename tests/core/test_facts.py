"""Extremes, copies, injectivity, holes, contiguity: closed forms against the listed map."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from tests.core.maps import Tally

from tilewise import Axis, Layout, NotDecided, R, S, Swizzle, laneid, m, reg
from tilewise.testing import NaiveFacts, as_place, naive_facts, naive_places
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts


def extremes(layout: Layout, naive: NaiveFacts) -> bool | None:
    """Each check answers True, fails, or returns None where the layout was not decided."""
    try:
        found = {axis.name: layout.extremes(axis) for axis in layout.axes}
    except NotDecided:
        return None
    assert found == naive.extremes
    assert {axis.name: (layout.min(axis), layout.max(axis)) for axis in layout.axes} == found
    assert all(layout.span(axis) == 1 + high - low for axis, (low, high) in found.items())
    return True


def copies(layout: Layout, naive: NaiveFacts) -> bool | None:
    assert layout.copies == naive.copies
    return True


def injective(layout: Layout, naive: NaiveFacts) -> bool | None:
    verdict = layout.injective
    if verdict.answer is None:
        return None
    assert verdict.answer is naive.injective
    if not verdict:
        one, other, place = verdict.witness
        assert one != other
        assert as_place(place) in naive_places(layout, one) & naive_places(layout, other)
    return True


def disjoint_copies(layout: Layout, naive: NaiveFacts) -> bool | None:
    verdict = layout.disjoint_copies
    if verdict.answer is None:
        return None
    assert verdict.answer is naive.disjoint_copies
    if not verdict:
        one, other = verdict.witness
        assert one != other
        for digits in (one, other):
            assert all(0 <= d < it.extent for d, it in zip(digits, layout.replica, strict=True))
        assert replica_step(layout, one) == replica_step(layout, other)
    return True


def replica_step(layout, digits):
    total = sum((it.stride * d for d, it in zip(digits, layout.replica, strict=True)), 0 @ m)
    return as_place(total)


def holes(layout: Layout, naive: NaiveFacts) -> bool | None:
    found = layout.holes
    if found.count is None:
        return None
    assert found.count == naive.holes
    assert layout.onto.answer is naive.onto
    if found.count:
        assert found.witness is not None
        assert as_place(found.witness) not in naive.taken
        assert all(low <= found.witness[axis] <= high for axis, (low, high) in naive.extremes.items())
    else:
        assert found.witness is None
    return True


def contiguous(layout: Layout, naive: NaiveFacts) -> bool | None:
    verdict = layout.contiguous
    if verdict.answer is None:
        return None
    assert verdict.answer is naive.contiguous
    assert verdict.witness == naive.first_not_contiguous
    return True


CHECKS: list[Callable[[Layout, NaiveFacts], bool | None]] = [
    extremes,
    copies,
    injective,
    disjoint_copies,
    holes,
    contiguous,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_facts_are_those_of_the_listed_map(check):
    tally = Tally()

    @given(layouts())
    def property_holds(layout):
        tally.decided(check(layout, naive_facts(layout)))

    property_holds()
    tally.expect_rare()


def test_generated_facts_are_those_of_the_listed_map(times):
    rng, tally = Random(23), Tally()
    for _ in range(times(300)):
        layout = random_layout(rng, max_size=100)
        naive = naive_facts(layout)
        for check in CHECKS:
            tally.decided(check(layout, naive))
    tally.expect_rare()


EDGES = [
    S[()],
    S[1:7] + 3,
    S[(1, 4) : (8 @ laneid, 16 @ m)],
    S[(4, 4) : (1, -1)],
    S[(3, 5, 2) : (0, -2, 9)],
    S[(2, 2) : (1 @ laneid + 1 @ reg, 1 @ laneid - 1 @ reg)],
    S[(4, 4) : (1 @ laneid + 4 @ reg, 1 @ reg)],
    S[(2, 3) : (2, 3)] + R[(2, 3) : (3, -2)],
    S[4:4] + R[4:1] - 17,
    Swizzle(2, 0, 2) @ (S[(3, 4) : (4, 1)] + 5),
    Swizzle(1, 0, -1) @ (S[(3, 3) : (3, 1)] - 4),
    Swizzle(1, 0, 2) @ Swizzle(2, 1, -3) @ (S[(5, 3) : (7, 2)] + R[2:1]),
    Swizzle(1, 0, 1, axis=Axis("buf", storage=True))
    @ S[(4, 2) : (1 @ Axis("buf", storage=True), 1 @ Axis("own"))],
]


@pytest.mark.parametrize("layout", EDGES, ids=str)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_facts_at_the_edges(layout, check):
    assert check(layout, naive_facts(layout))


def test_span_counts_copies_and_not_the_offset():
    assert (S[8:-1] + 5).span() == 8
    assert ((S[8:-1] + 5).min(), (S[8:-1] + 5).max()) == (-2, 5)
    assert (S[8:1] + R[2:100]).span() == 108
    assert S[8 : 1 @ reg].span(laneid) == 1


def test_a_witness_beyond_the_search_leaves_the_count():
    """Nothing about a diagonal group is scanned twice, and what is known is not lost."""
    wide = S[(2**20, 2**20) : (1 @ laneid + 1 @ reg, 1 @ laneid)]
    assert wide.holes.count == (2**21 - 1) * 2**20 - 2**40
    assert wide.onto.answer is False


def test_a_hole_that_was_found_answers_although_their_number_is_unknown():
    rng = Random(2)
    steps = tuple(2 * rng.randrange(2**28, 2**29) for _ in range(40))
    spread = S[(3,) * 40 : steps] + 1
    assert spread.holes.count is None or spread.holes.count > 0
    assert spread.holes.witness is not None
    assert spread.onto.answer is False


def test_copies_that_overlap_in_great_number_are_counted():
    assert (S[2 : 1 @ laneid] + R[(2**30, 2**20) : (1, 3)]).copies == 2**30 + 3 * (2**20 - 1)
    assert (S[(2**30, 3) : (1, 1)]).holes.count == 0


def test_great_many_copies_are_not_contiguous():
    rng = Random(3)
    many = S[4:1] + R[(3,) * 40 : tuple(rng.randrange(2**40) for _ in range(40))]
    assert many.contiguous.answer is False
