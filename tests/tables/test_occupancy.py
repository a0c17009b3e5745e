"""The bulk inverse and the coverage, against the definition."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given

from tilewise import Layout, LayoutError, R, S, Swizzle, laneid, reg
from tilewise.tables import Box, coverage, inverse, occupancy
from tilewise.testing import as_place, naive_map
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts


def expect_occupancy(layout: Layout) -> None:
    """Both boxes, place by place, and that an inverse exists where no place is shared."""
    held: dict[object, list[int]] = {}
    for flat, places in enumerate(naive_map(layout)):
        for place in places:
            held.setdefault(place, []).append(flat)
    count, first = coverage(layout), inverse(layout, smallest=True)
    for index in np.ndindex(count.array.shape):
        who = held.get(_place(count, index), [])
        assert count.array[index] == len(who)
        assert first.array[index] == min(who, default=-1)
    assert count.start == first.start == tuple(layout.min(axis) for axis in layout.axes)
    assert count.array.shape == tuple(layout.span(axis) for axis in layout.axes)
    if all(len(who) == 1 for who in held.values()):
        assert np.array_equal(inverse(layout).array, first.array)
    else:
        with pytest.raises(LayoutError, match="holds two elements") as caught:
            inverse(layout)
        assert caught.value.code == "TW204"


def _place(box: Box, index: tuple[int, ...]) -> object:
    return as_place({axis: low + i for axis, low, i in zip(box.axes, box.start, index, strict=True)})


@pytest.mark.parametrize(
    "layout",
    [
        S[()],
        S[(4, 3) : (4, 1)],
        S[(4, 3) : (2, 1)],
        S[8:0],
        S[(2, 3) : (-3, 1)] - 5,
        S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)],
        S[4:1] + R[2:2],
        S[4:1] + R[2:4],
        S[4 : 1 @ laneid + 1 @ reg],
        Swizzle(2, 0, 2) @ (S[(4, 4) : (4, 1)] + R[2:16]),
        Swizzle(2, 0, 2) @ (S[(4, 4) : (4, 1)] - 5),
    ],
    ids=str,
)
def test_the_table_of_layouts(layout: Layout) -> None:
    expect_occupancy(layout)


def test_block_after_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "_BLOCK", 5)
    rng = Random(2)
    checked = 0
    while checked < 60:
        layout = random_layout(rng, 64)
        if np.prod([layout.span(axis) for axis in layout.axes]) < 4000:
            expect_occupancy(layout)
            checked += 1


@given(layouts(max_size=24, max_iters=3))
def test_any_layout(layout: Layout) -> None:
    if np.prod([float(layout.span(axis)) for axis in layout.axes]) < 4000:
        expect_occupancy(layout)


def test_a_refusal_names_two_that_share_a_place() -> None:
    with pytest.raises(LayoutError, match=r"\(0, 2\) and \(1, 0\) share 2@m"):
        inverse(S[(2, 3) : (2, 1)])
