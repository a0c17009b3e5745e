"""Not decided is never a guess: what is known when the search ends at its bound, and what is not."""

from __future__ import annotations

import pytest

from tilewise import Layout, LayoutError, NotDecided, R, S, Swizzle
from tilewise.core import facts
from tilewise.core.facts import Holes
from tilewise.core.solve import BudgetSpent, solutions

UNRELATED = tuple(3**k * 10**9 + 7**k for k in range(24))
HARD = Layout((9,) * 24, UNRELATED)


def test_holes_that_were_not_counted_are_not_called_absent():
    assert HARD.injective.answer is None
    assert HARD.holes.count is None
    assert Holes(None).none.answer is None
    with pytest.raises(NotDecided):
        bool(Holes(None).none)


def test_ends_that_were_not_found_leave_the_holes_open(monkeypatch):
    def spent(*_: object) -> tuple[int, int]:
        raise NotDecided("the ends")

    monkeypatch.setattr(facts, "extremes", spent)
    assert facts.holes(S[4:1]).count is None


def test_the_ends_of_a_long_list_are_not_decided():
    """With S < 0 and 3 in the way of XOR, the places of the last period are listed, up to a bound."""
    layout = Swizzle(3, 3, -16) @ S[(3, 2**19) : (2**20, 2)]
    with pytest.raises(NotDecided, match="ends of the swizzled places"):
        layout.max()


def test_an_end_in_the_corner_of_its_period_is_decided_without_a_list():
    layout = Swizzle(3, 3, -16) @ S[(3, 2**19) : (2**19, 1)]
    assert (layout.min(), layout.max()) == (0, 2**22 - 1)
    assert layout.places(2**19 - 1) == ({"m": 2**22 - 1},)


def test_the_ends_of_a_short_list_are_decided():
    layout = Swizzle(2, 1, -3) @ S[(3, 20) : (20, 1)]
    places = [layout.place(x)["m"] for x in range(60)]
    assert (layout.min(), layout.max()) == (min(places), max(places))


@pytest.mark.parametrize("shift", [4, -4])
def test_the_ends_of_a_linear_map_are_read_off_its_columns(shift):
    layout = Swizzle(3, 1, shift) @ (S[(8, 4, 4) : (256, 2, 64)] + R[2:1] + 16)
    places = [p["m"] for x in range(layout.size) for p in layout.places(x)]
    assert (layout.min(), layout.max()) == (min(places), max(places))


def test_the_hole_of_a_swizzled_layout_is_sought_where_periods_are_not_full():
    layout = Swizzle(3, 3, 3) @ S[100_001:1]
    taken = {layout.place(x)["m"] for x in range(99_000, 100_001)}
    hole = layout.holes.witness
    assert hole is not None
    assert hole["m"] not in taken
    assert layout.who(hole) == ()
    assert layout.holes.count == layout.span() - 100_001


def test_the_budget_is_for_one_solution_and_not_for_all():
    found = list(solutions([(1,), (1,)], [(0, 40), (0, 40)], (40,), (40,), budget=5))
    assert len(found) == 41


def test_a_spent_budget_is_no_answer():
    vectors, ranges = [(1_001,), (999,), (997,)], [(0, 10**6)] * 3
    with pytest.raises(BudgetSpent):
        list(solutions(vectors, ranges, (2_000_003,), (2_000_003,), budget=2))


def test_a_difference_that_may_not_be_the_first_says_so():
    """Copies on the swizzled axis, and beyond the bound: `same` tries only likely indices."""
    copied = S[(3, 2**30) : (2**30, 1)] + R[(3, 3) : (1, 3)]
    answer = copied.same(Swizzle(1, 0, 29) @ copied)
    assert answer.answer is False
    assert answer.first is False
    assert copied.places(answer.witness) != (Swizzle(1, 0, 29) @ copied).places(answer.witness)


def test_a_chain_is_limited():
    assert len((Swizzle(1, 0, 1) @ S[4:1]).swizzled((Swizzle(1, 0, 1),) * 63).swizzles) == 64
    with pytest.raises(LayoutError, match="more than 64"):
        (Swizzle(1, 0, 1) @ S[4:1]).swizzled((Swizzle(1, 0, 1),) * 64)


def test_repeated_answers_end_the_search(monkeypatch):
    layout = S[8:0] + R[(9, 9) : (6, -10)]
    assert len(layout.who(0)) == 8
    monkeypatch.setattr("tilewise.core.inverse.DEFAULT_BUDGET", 3)
    with pytest.raises(NotDecided):
        layout.who(0)


def test_a_limit_gives_as_many_as_it_says():
    layout = S[(1024, 1024) : (0, 1)]
    for limit in (1, 2, 7):
        found = layout.who(7, limit=limit)
        assert len(found) == limit
        assert all(index[1] == 7 for index in found)
