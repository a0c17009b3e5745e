"""The search for a layout without conflicts, held to all linear layouts of a few bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.check.naive_swizzling import bijections, cost, least, least_of_odd, tabulated

from tilewise.check.swizzling.kernels import Demand, least_kernel
from tilewise.check.swizzling.linear import layout_of, linear
from tilewise.check.swizzling.points import Digits, Points, groups_of
from tilewise.tables import table

Phases = list[tuple[int, tuple[int, ...]]]


def span(vectors: Sequence[int]) -> tuple[int, ...]:
    points = {0}
    for vector in vectors:
        points |= {point ^ vector for point in points}
    return tuple(sorted(points))


@st.composite
def questions(draw: st.DrawFn) -> tuple[int, int, int, Phases]:
    """Draw (bits of the index, bits in a word, bits of the bank, phases): spaces, and other sets."""
    bits = draw(st.integers(2, 4))
    inside = draw(st.integers(0, min(2, bits - 1)))
    banks = draw(st.integers(1, bits - inside))
    points = st.integers(0, (1 << bits) - 1)
    spaces = st.lists(points, min_size=1, max_size=3).map(span)
    sets = st.sets(points, min_size=1, max_size=6).map(lambda own: tuple(sorted(own)))
    phase = st.tuples(st.integers(1, 3), st.one_of(spaces, spaces, sets))
    return bits, inside, banks, draw(st.lists(phase, min_size=1, max_size=5))


def points_for(bits: int, inside: int, banks: int, phases: Phases, kept: tuple[int, ...] = ()) -> Points:
    """The question as `Points`, of a machine whose words have 2^inside elements, and 2^banks banks."""
    demands = tuple(Demand(count, groups_of(phase, 1, kept, inside)) for count, phase in phases)
    return Points(Digits((1 << bits,)), kept, inside, banks, demands)


@given(questions())
@settings(max_examples=60, deadline=None)
def test_no_linear_layout_costs_less(question: tuple[int, int, int, Phases]) -> None:
    bits, inside, banks, phases = question
    found = linear(points_for(*question))
    assert found is not None
    assert found.least
    listed = [int(place) for place in table(found.layout).array.reshape(-1)]
    assert sorted(listed) == list(range(1 << bits))
    assert cost(listed, phases, inside, banks) == found.cost == least(bits, phases, inside, banks)


@st.composite
def odd_questions(draw: st.DrawFn) -> tuple[int, int, int, int, Phases]:
    """(bits of a run, runs, bits inside a word, bits of the bank, phases) of a tile of 3 or 5 runs."""
    inner, runs = draw(st.integers(1, 2)), draw(st.sampled_from([3, 5]))
    inside = draw(st.integers(0, inner - 1))
    points = st.integers(0, (runs << inner) - 1)
    sets = st.sets(points, min_size=2, max_size=6).map(lambda own: tuple(sorted(own)))
    phases = draw(st.lists(st.tuples(st.integers(1, 3), sets), min_size=1, max_size=5))
    return inner, runs, inside, draw(st.integers(1, inner - inside)), phases


@given(odd_questions())
@example((1, 3, 0, 1, [(1, (2, 5)), (1, (0, 2, 5)), (3, (0, 3, 4)), (3, (2, 4))]))
@settings(max_examples=60, deadline=None)
def test_no_linear_layout_of_an_odd_tile_costs_less(question: tuple[int, int, int, int, Phases]) -> None:
    """A run keeps all its banks, also where fewer of them would cost less, as in the example."""
    inner, runs, inside, banks, phases = question
    extent = runs << inner
    demands = tuple(Demand(count, groups_of(phase, 1, (), inside)) for count, phase in phases)
    found = linear(Points(Digits((extent,)), (), inside, banks, demands))
    assert found is not None
    assert found.least
    listed = [int(place) for place in table(found.layout).array.reshape(-1)]
    assert sorted(listed) == list(range(extent))
    assert cost(listed, phases, inside, banks) == found.cost
    assert found.cost == least_of_odd(inner, extent, phases, inside, banks)


@given(questions(), st.data())
@settings(max_examples=60, deadline=None)
def test_vectors_stay_together(question: tuple[int, int, int, Phases], data: st.DataObject) -> None:
    bits, inside, banks, phases = question
    order = data.draw(st.permutations(range(bits)))
    kept = tuple(order[: data.draw(st.integers(1, min(bits - 1, inside + banks)))])
    points = points_for(bits, inside, banks, phases, kept)
    found = linear(points)
    assert found is not None
    listed = [int(place) for place in table(found.layout).array.reshape(-1)]
    assert [listed[1 << digit] for digit in kept] == [1 << bit for bit in range(len(kept))]
    starts = [place for index, place in enumerate(listed) if not any(index >> digit & 1 for digit in kept)]
    assert all(place % (1 << len(kept)) == 0 for place in starts)
    assert cost(listed, phases, inside, banks) == found.cost == least(bits, phases, inside, banks, kept)


@given(questions())
@settings(max_examples=60, deadline=None)
def test_what_a_map_costs_is_counted(question: tuple[int, int, int, Phases]) -> None:
    bits, inside, banks, phases = question
    points = points_for(*question)
    for columns in bijections(bits)[:: max(1, len(bijections(bits)) // 20)]:
        counted = cost(tabulated(columns), phases, inside, banks)
        assert points.cost(columns) == counted
        assert points.bound <= counted


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_bound_is_below_every_permutation(data: st.DataObject) -> None:
    """Layouts that are not linear are not below it either."""
    bits, inside, banks, phases = data.draw(questions())
    listed = data.draw(st.permutations(range(1 << bits)))
    assert points_for(bits, inside, banks, phases).bound <= cost(listed, phases, inside, banks)


def test_three_planes_leave_no_kernel() -> None:
    """In 4 digits, x0 = 0, x1 = 0 and x0 = x1 cover all points: no 8 banks tell each of them apart."""
    planes = [span(vectors) for vectors in ((2, 4, 8), (1, 4, 8), (3, 4, 8))]
    found = least_kernel([Demand(1, (plane,)) for plane in planes], range(4), 3)
    assert found is not None
    assert found.least
    assert found.cost == 4 == least(4, [(1, plane) for plane in planes], 0, 3)


@pytest.mark.parametrize(
    ("banks", "spaces", "cheapest"),
    [
        (1, [(0, 3, 4, 7, 8, 11, 12, 15), (0, 4, 9, 13)], 3),
        (2, [(0, 7, 11, 12), (0, 2, 5, 7, 9, 11, 12, 14), (0, 3, 4, 7, 9, 10, 13, 14)], 3),
    ],
    ids=["another-digit", "a-sum-of-digits"],
)
def test_what_shares_a_word_is_searched_too(banks: int, spaces: list[tuple[int, ...]], cheapest: int) -> None:
    """Of pairs of elements in a word: the lowest digit costs more here, and then any digit does."""
    phases = [(1, space) for space in spaces]
    found = linear(points_for(4, 1, banks, phases))
    assert found is not None
    assert found.cost == cheapest == least(4, phases, 1, banks)


def test_what_is_tried_first_is_not_taken_for_the_best() -> None:
    """Here the cheapest column at every step leads to 8, and another way to 7."""
    spaces = [(0, 5), (0, 8), (0, 3, 8, 11), (0, 4, 9, 13), (0, 8), (0, 15), (0, 7, 10, 13)]
    found = least_kernel([Demand(1, (space,)) for space in spaces], range(4), 2)
    assert found is not None
    assert found.cost == 7 == least(4, [(1, space) for space in spaces], 0, 2)


def test_a_search_that_runs_out_says_so() -> None:
    planes = [span(vectors) for vectors in ((2, 4, 8), (1, 4, 8), (3, 4, 8))]
    found = least_kernel([Demand(1, (plane,)) for plane in planes], range(4), 3, budget=3)
    assert found is not None
    assert not found.least


@pytest.mark.parametrize("extents", [(8, 16), (4, 48), (24, 16), (2, 2, 16)])
def test_layouts_of_kernels_fill_their_bytes(extents: tuple[int, ...]) -> None:
    digits = Digits(extents)
    inner = [digit for digit in range(digits.count) if digit not in digits.outer]
    columns = {digit: (digit * 5 + 1) % 8 for digit in range(2, digits.count)}
    columns |= {inner[2]: 1, inner[3]: 2, inner[4]: 4}
    layout = layout_of(digits, inner[:2], (), columns, 3)
    places = table(layout).array.reshape(-1)
    assert sorted(places.tolist()) == list(range(len(places)))
    points = digits.packed(np.arange(len(places)))
    by_bank: dict[int, set[int]] = {}
    for point, place in zip(points.tolist(), places.tolist(), strict=True):
        flips = 0
        for digit, column in columns.items():
            flips ^= column if point >> digit & 1 else 0
        by_bank.setdefault(flips, set()).add(place >> 2 & 7)
    assert all(len(banks) == 1 for banks in by_bank.values())
