"""The search for combinations in a box, held to all combinations; and what it decides without a try."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.solve import BudgetSpent, reaches, solutions

Box = tuple[list[tuple[int, ...]], list[tuple[int, int]], tuple[int, ...], tuple[int, ...]]


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Up to three vectors of one or two coordinates, their digits, and both corners of a box."""
    dimension = draw(st.integers(1, 2))
    vectors = draw(st.lists(st.tuples(*[st.integers(-6, 6)] * dimension), max_size=3))
    ranges = [(low, low + draw(st.integers(0, 4))) for low in (draw(st.integers(-3, 3)) for _ in vectors)]
    low = draw(st.tuples(*[st.integers(-9, 9)] * dimension))
    sides = draw(st.tuples(*[st.sampled_from([0, 0, 1, 4])] * dimension))
    return vectors, ranges, low, tuple(corner + side for corner, side in zip(low, sides, strict=True))


@given(boxes())
def test_all_combinations_in_the_box_are_found_once(box: Box) -> None:
    vectors, ranges, low, high = box
    found = []
    for digits in product(*(range(first, last + 1) for first, last in ranges)):
        sums = [sum(d * v[at] for d, v in zip(digits, vectors, strict=True)) for at in range(len(low))]
        if all(a <= s <= b for a, s, b in zip(low, sums, high, strict=True)):
            found.append(digits)
    assert sorted(solutions(*box)) == found
    assert reaches(*box) == bool(found)


@pytest.mark.parametrize("factor", [2, 3, 4, 6])
def test_no_multiple_of_the_common_factor_is_refused_without_a_try(factor: int) -> None:
    vectors, ranges = [(factor,), (2 * factor,)], [(0, 1000), (0, 1000)]
    for rest in range(1, factor):
        place = (500 * factor + rest,)
        assert not reaches(vectors, ranges, place, place, budget=0)
    with pytest.raises(BudgetSpent):
        reaches(vectors, ranges, (500 * factor,), (500 * factor,), budget=0)


@pytest.mark.parametrize("factor", [2, 3, 4, 6])
def test_digits_that_leave_no_multiple_are_not_tried(factor: int) -> None:
    """Only each factor-th value of the odd digit leaves a rest that the others can add up to."""
    vectors, ranges = [(12 * factor + 1,), (factor,)], [(0, factor - 1), (0, 10_000)]
    for digit in range(factor):
        place = (digit * vectors[0][0] + 50 * factor * factor,)
        assert next(solutions(vectors, ranges, place, place, budget=2))[0] == digit
