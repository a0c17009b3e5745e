"""Python and Triton: run on integers, on NumPy arrays, and on integers of a GPU's width."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from tests.codegen.definition import check_code, random_calls, run_python
from tests.codegen.scalars import Scalar, run_triton, stand_in

LAYOUTS = 250


def test_python_on_random_layouts(times) -> None:
    said = Counter(check_code(Random(seed)) for seed in range(times(700)))
    assert said["answered"] > times(350)
    assert said["refused"] < times(350)


def test_python_beyond_any_width(times) -> None:
    for calls in random_calls("python", times(LAYOUTS), seed=4):
        run_python(calls)


def test_python_on_numpy_arrays(times) -> None:
    arrays = 0
    for calls in random_calls("python", times(LAYOUTS), seed=5):
        if not calls.source.arguments or max(max(map(abs, row)) for row in calls.rows) >> 62:
            continue
        if any(max(abs(end.low), abs(end.high)) >> 40 for end in calls.source.results if end.low is not None):
            continue
        names: dict[str, object] = {}
        exec(calls.source.code, names)
        columns = [np.array(column, dtype=np.int64) for column in zip(*calls.rows, strict=True)]
        results = names[calls.source.name](*columns)  # type: ignore[operator]
        results = results if isinstance(results, tuple) else (results,)
        lists = [np.broadcast_to(result, len(calls.rows)).tolist() for result in results]
        calls.judge(list(zip(*lists, strict=True)))
        arrays += 1
    assert arrays > 2 * times(LAYOUTS)


# -- Triton ----------------------------------------------------------------------------------------


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)


@pytest.mark.usefixtures("triton")
def test_triton_with_the_widths_of_a_gpu(times) -> None:
    wide = 0
    for calls in random_calls("triton", times(LAYOUTS), seed=6):
        wide += "tl.int64" in calls.source.code
        run_triton(calls)
    assert wide > times(LAYOUTS) / 10


def test_the_stand_in_finds_an_overflow() -> None:
    with pytest.raises(AssertionError, match="overflows 32 bits"):
        Scalar(1 << 20) * (1 << 12)
    assert (Scalar(-7) // 2).value == -3
    assert (Scalar(1) + (1 << 40)).bits == 64
