"""Tables equal the definition, entry by entry, whatever way they are written."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables.listing import expect_table, some_shape, some_window

from tilewise import Axis, Layout, O, R, S, Swizzle, laneid, m, reg, tx, warpid
from tilewise.core.shapes import extents_of
from tilewise.tables import column, listing, sums, table
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts

x, y = Axis("x"), Axis("y")

PLAIN = [
    S[()] + 5,
    S[1:0],
    S[8:1],
    S[7:-3],
    S[8:0],
    S[(1, 4, 1, 3) : (9, 2, 9, 1)],
    S[(4, 3) : (4, 1)] - 100,
    S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)],
    S[((4, 2), (2, 4)) : ((16, 4), (8, 1))],
    S[(3, 5, 7) : (1, 3, 15)],
    S[8 : 1 @ x + 1 @ y],
    S[(6, 6) : (6, 1)],
    S[(6, 6) : (1, 6)],
]
COPIED = [
    S[4:1] + R[2:8],
    S[4:1] + R[(2, 2) : (8, 8)],
    S[(4, 2) : (1 @ laneid, 1 @ reg)] + R[2 : 4 @ laneid] + R[3 : 1 @ warpid],
    S[4:1] + R[3:-2] + 7,
    S[4:1] + R[(1, 2) : (5, 0)],
]
SWIZZLED = [
    Swizzle(3, 0, 3) @ S[(8, 8) : (8, 1)],
    Swizzle(3, 0, 3) @ S[(8, 8) : (9, 1)],
    Swizzle(3, 0, 3) @ (S[(8, 8) : (8, 1)] + 5),
    Swizzle(3, 0, 3) @ (S[(8, 8) : (8, 1)] + 64),
    Swizzle(3, 0, 3) @ (S[(8, 8) : (8, 1)] - 3),
    Swizzle(2, 1, -3) @ S[(8, 8) : (8, 1)],
    Swizzle(2, 0, 2) @ Swizzle(2, 1, -3) @ S[(8, 8) : (-7, 1)],
    Swizzle(0, 0, 0) @ S[8:3],
    O[128 @ m] @ Swizzle(3, 4, 3) @ (S[(8, 16) : (128, 8)] - 128 @ m),
    Swizzle(1, 0, 1, axis=reg) @ S[(4, 4) : (1 @ tx, 1 @ reg)],
    Swizzle(2, 0, 2) @ S[(4, 4) : (1 @ reg, 1 @ laneid)],
    Swizzle(3, 0, 3) @ (S[(8, 8) : (8, 1)] + R[3:1]),
    Swizzle(2, 0, 2) @ (S[(4, 4) : (4, 1)] + R[(2, 2) : (3 @ warpid + 1 @ m, 1 @ m)]),
    Swizzle(2, 0, 2) @ (S[(4, 4) : (4, 1)] + R[2 : 3 @ warpid]),
]


@pytest.fixture(
    autouse=True,
    params=[(sums.SMALL, column.CHUNK), (8, column.CHUNK), (8, 3)],
    ids=["as it is", "cut evenly", "in small chunks"],
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables, also written as large ones are."""
    small, chunk = request.param
    monkeypatch.setattr(sums, "SMALL", small)
    for module in (sums, listing, column):
        monkeypatch.setattr(module, "CHUNK", chunk)


@pytest.mark.parametrize("layout", PLAIN + COPIED + SWIZZLED, ids=str)
def test_a_table_is_the_map(layout: Layout) -> None:
    found = expect_table(layout)
    assert found.shape == extents_of(layout.shape)
    assert found.copies == layout.copies
    assert found.axes == tuple(axis.name for axis in layout.axes)


@pytest.mark.parametrize("layout", PLAIN + COPIED + SWIZZLED, ids=str)
def test_windows_and_other_shapes(layout: Layout) -> None:
    rng = Random(str(layout))
    for _ in range(4):
        shape = some_shape(rng, layout.size)
        expect_table(layout, shape)
        expect_table(layout, shape, some_window(rng, shape))
        expect_table(layout, None, some_window(rng, extents_of(layout.shape)))


def test_generated_layouts() -> None:
    rng = Random(1)
    for _ in range(300):
        layout = random_layout(rng, 100)
        shape = some_shape(rng, layout.size) if rng.random() < 0.5 else None
        extents = extents_of(layout.asked_in(shape))
        expect_table(layout, shape, some_window(rng, extents) if rng.random() < 0.6 else None)


@given(layouts(max_size=48), st.randoms(use_true_random=False))
def test_any_layout(layout: Layout, rng: Random) -> None:
    expect_table(layout)
    shape = some_shape(rng, layout.size)
    expect_table(layout, shape, some_window(rng, shape))


def test_a_shape_that_the_digits_do_not_divide() -> None:
    layout = S[(6, 6) : (7, 1)]
    assert table(layout, shape=(4, 9)).columns["m"].tolist() == [
        [7 * (flat // 6) + flat % 6 for flat in range(9 * row, 9 * row + 9)] for row in range(4)
    ]
    expect_table(layout, ((2, 2), 9), ((1, 3), (2, 5)))
    expect_table(layout, (9, 4), ((1, 8), (1, 2)))


# -- integers beyond 64 bits, of which only a window is asked --------------------------------------


@pytest.mark.parametrize(
    ("layout", "shape", "window"),
    [
        (S[2**200 : 1], None, ((2**62, 2**62 + 5),)),
        (S[(2**40, 2**40) : (2**40, 1)], None, ((2**20, 2**20 + 3), (2**39, 2**39 + 5))),
        (S[(2**80, 3) : (7, 1)], (3 * 2**80,), ((2**40 - 2, 2**40 + 9),)),
        (S[(3, 2**70) : (5, 0)], (3 * 2**70,), ((2**70 - 3, 2**70 + 4),)),
        (S[(2**70, 2**70) : (1, -1)] - 2**40, None, ((2**50, 2**50 + 4), (2**60, 2**60 + 2))),
        (S[2 : 2**64 - 1] - 2**63, None, None),
        (S[(2, 2) : (2**63, -(2**63))], None, ((0, 1), (0, 2))),
        (Swizzle(1, 0, 70) @ (S[4:1] - 2), None, None),
        (Swizzle(2, 62, 3) @ S[8 : 2**59], None, None),
        (Swizzle(3, 4, 3) @ (S[8 : 2**58] - 2**60), None, None),
        (Swizzle(1, 61, -1) @ S[4 : 2**60], None, None),
    ],
)
def test_near_the_ends_of_64_bits(layout: Layout, shape: object, window: object) -> None:
    expect_table(layout, shape, window)


# -- what a table is -------------------------------------------------------------------------------


def test_one_element_has_no_dimension() -> None:
    assert table(S[()] + 5).columns["m"].shape == ()
    assert table(S[()] + R[2:1]).columns["m"].tolist() == [0, 1]


def test_copies_are_the_last_dimension_only_where_there_are_several() -> None:
    assert table(S[(2, 3) : (3, 1)] + R[2:0]).columns["m"].shape == (2, 3)
    assert table(S[(2, 3) : (3, 1)] + R[2:8]).columns["m"].shape == (2, 3, 2)


def test_an_axis_that_only_a_swizzle_names_is_a_column() -> None:
    assert table(Swizzle(1, 0, 1) @ S[2 : 1 @ reg]).columns["m"].tolist() == [0, 0]


def test_arrays_are_read_only_int64() -> None:
    found = table(S[(2, 3) : (3, 1)])
    assert found.columns["m"].dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        found.columns["m"][0, 0] = 1


def test_it_shows_what_was_asked() -> None:
    assert repr(table(S[(2, 3) : (3, 1)], window=(None, (1, 3)))) == (
        "Table(window=((0, 2), (1, 3)), axes=('m',), copies=1)"
    )
