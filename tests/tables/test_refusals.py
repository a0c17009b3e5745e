"""The refusals of tables, before they allocate anything."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from tilewise import Layout, LayoutError, O, R, S, Swizzle, laneid, m
from tilewise.tables import coverage, inverse, table


def refusal(ask: Callable[[], Any]) -> LayoutError:
    """The error of a question that has to be refused at next to no cost."""
    with pytest.raises(LayoutError):
        ask()  # what is imported late is not counted
    tracemalloc.start()
    try:
        with pytest.raises(LayoutError) as caught:
            ask()
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    return caught.value


@pytest.mark.parametrize(
    "layout",
    [
        S[2**50 : 1],
        S[(2**25, 2**25) : (2**25, 1)],
        S[2**30 : 1] + R[2**10 : 2**30],
        S[2**31 : 1 @ laneid + 1 @ m] + R[4 : 2**31],
        S[4:1] + R[2**20 : 8],
    ],
    ids=str,
)
def test_too_large_to_list(layout: Layout) -> None:
    assert refusal(lambda: table(layout)).code == "TW301"


def test_a_window_of_what_is_too_large_is_listed() -> None:
    layout = S[(2**25, 2**25) : (2**25, 1)]
    assert "window" in refusal(lambda: table(layout)).hint
    assert table(layout, window=((3, 5), (0, 2))).columns["m"].tolist() == [
        [3 * 2**25, 3 * 2**25 + 1],
        [4 * 2**25, 4 * 2**25 + 1],
    ]


def test_overflow_names_the_axis_and_its_extremes() -> None:
    error = refusal(lambda: table(S[(2, 8) : (1 @ laneid, 2**61 @ m)]))
    assert error.code == "TW302"
    assert f"on m run from 0 to {7 * 2**61}" in error.message


@pytest.mark.parametrize(
    "layout",
    [
        S[2 : 2**63],
        S[2:-1] - 2**63,
        S[2:1] + R[2 : 2**63 - 1],
        Swizzle(2, 62, 2) @ S[8:-1],
        Swizzle(2, 61, -2) @ S[2 : 2**61],
        Swizzle(2, 61, -2) @ Swizzle(2, 61, -2) @ S[2 : 2**61],
        O[2**62 @ m] @ Swizzle(1, 62, 1) @ S[2 : 2**62],
    ],
    ids=str,
)
def test_beyond_64_bits(layout: Layout) -> None:
    assert refusal(lambda: table(layout)).code == "TW302"


def test_overflow_is_that_of_the_window() -> None:
    layout = S[(2**20, 4) : (2**50, 1)]
    assert refusal(lambda: table(layout)).code == "TW302"
    assert table(layout, window=((0, 2), None)).columns["m"].tolist()[1] == [2**50 + i for i in range(4)]


def test_flat_indices_too_far_apart() -> None:
    layout = S[(2**80, 3) : (7, 1)]
    error = refusal(lambda: table(layout, shape=(3, 2**80), window=(None, (0, 2))))
    assert error.code == "TW302"


@pytest.mark.parametrize(
    ("window", "code"),
    [
        (((0, 1),), "TW201"),
        (((0, 1), (0, 1), (0, 1)), "TW201"),
        ((0, 1), "TW201"),
        (((0, 9), None), "TW201"),
        (((3, 3), None), "TW201"),
        (((5, 3), None), "TW201"),
        (((-1, 3), None), "TW201"),
        (((0, 1, 2), None), "TW201"),
        (((0, True), None), "TW101"),
        (((0, 1.0), None), "TW101"),
        (7, "TW201"),
    ],
)
def test_windows_that_are_none(window: Any, code: str) -> None:
    assert refusal(lambda: table(S[(8, 4) : (4, 1)], window=window)).code == code


def test_shapes_of_another_size() -> None:
    assert refusal(lambda: table(S[(8, 4) : (4, 1)], shape=(4, 4))).code == "TW202"


def test_boxes_too_large() -> None:
    assert refusal(lambda: inverse(S[2 : 2**40])).code == "TW301"
    assert refusal(lambda: coverage(S[(2, 2) : (2**30 @ m, 2**30 @ laneid)])).code == "TW301"
    assert refusal(lambda: coverage(S[2**50 : 0])).code == "TW301"
