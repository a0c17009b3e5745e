"""Tables too large to compare entry by entry: every way of writing, samples, and memory."""

from __future__ import annotations

import tracemalloc
from random import Random
from typing import Any

import numpy as np
import pytest

from tilewise import Layout, O, R, S, Swizzle, laneid, m, reg
from tilewise.tables import table

LARGE: list[tuple[Layout, Any, Any]] = [
    (S[(1024, 1024) : (1024, 1)], None, None),
    (S[(1024, 1024) : (1, 1024)], None, None),
    (S[((32, 32), (32, 32)) : ((32768, 32), (1024, 1))], None, None),
    (S[(1024, 512, 2) : (512 @ m, 1 @ m, 1 @ reg)], None, None),
    (S[(1024, 512) : (512, 1)] + R[2 : 1 @ laneid], None, None),
    (Swizzle(3, 3, 3) @ S[(1024, 1024) : (1024, 1)], None, None),
    (Swizzle(3, 3, 3) @ (S[(1024, 1024) : (1024, 1)] + 1024 * 1024), None, None),
    (Swizzle(3, 3, 3) @ (S[(1024, 1024) : (1032, 1)] + 5), None, None),
    (O[128 @ m] @ Swizzle(3, 4, 3) @ (S[(1024, 1024) : (1024, 1)] - 128 @ m), None, None),
    (S[2**20 : 3], None, None),
    (S[3**12 : 3] - 7, None, None),
    (S[1_000_003:3], None, None),
    (S[(1001, 1003) : (2000, 1)], None, None),
    (S[(1001, 1003) : (2000, 1)], (1003, 1001), None),
    (S[(1001, 1003) : (2000, 1)], (1003, 1001), ((3, 1000), (1, 1000))),
    (S[(2, 500_009) : (1, 7)], (2, 500_009), ((0, 2), (3, 500_000))),
    (S[(1024, 1024) : (1, 1024)], (2**20,), ((5, 2**20 - 9),)),
    (S[(2**25, 2**25) : (2**25, 1)], None, ((2**20, 2**20 + 1024), (7, 1031))),
]


@pytest.mark.parametrize(("layout", "shape", "window"), LARGE)
def test_large_tables_agree_in_samples_and_cost_little_more_than_they_hold(
    layout: Layout, shape: Any, window: Any
) -> None:
    table(S[2:1])  # what is imported late is not counted
    tracemalloc.start()
    found = table(layout, shape=shape, window=window)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.2 * sum(column.nbytes for column in found.columns.values()) + 2**20
    rng = Random(0)
    last = tuple(extent - 1 for extent in found.shape)
    samples = [tuple(rng.randrange(extent) for extent in found.shape) for _ in range(300)]
    for index in [(0,) * len(last), last, *samples]:
        whole = tuple(i + start for i, (start, _) in zip(index, found.window, strict=True))
        flat = layout.flat_index(whole, shape=shape)
        for axis, steps in zip(found.axes, zip(*layout.points(flat), strict=True), strict=True):
            assert tuple(np.atleast_1d(found.columns[axis][index]).tolist()) == steps
