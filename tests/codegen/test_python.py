"""Python and Triton: run on integers, on NumPy arrays, and on integers of a GPU's width."""

from __future__ import annotations

import sys
from collections import Counter
from random import Random
from types import ModuleType

import numpy as np
import pytest
from tests.codegen.definition import check_code, random_calls, run_python

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


class Scalar:
    """An integer of a width, as Triton has them: it must not overflow, and division truncates."""

    def __init__(self, value: int, bits: int = 32) -> None:
        assert -(1 << bits - 1) <= value < 1 << bits - 1, f"{value} overflows {bits} bits"
        self.value, self.bits = value, bits

    def _with(self, other: Scalar | int) -> tuple[int, int]:
        if isinstance(other, Scalar):
            return other.value, max(self.bits, other.bits)
        return other, self.bits if -(1 << 31) <= other < 1 << 31 else 64

    def __add__(self, other: Scalar | int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(self.value + value, bits)

    def __sub__(self, other: Scalar | int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(self.value - value, bits)

    def __rsub__(self, other: int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(value - self.value, bits)

    def __mul__(self, other: Scalar | int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(self.value * value, bits)

    def __xor__(self, other: Scalar | int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(self.value ^ value, bits)

    def __and__(self, other: Scalar | int) -> Scalar:
        value, bits = self._with(other)
        return Scalar(self.value & value, bits)

    def __lshift__(self, other: int) -> Scalar:
        return Scalar(self.value << other, self.bits)

    def __rshift__(self, other: int) -> Scalar:
        return Scalar(self.value >> other, self.bits)

    def __floordiv__(self, other: int) -> Scalar:
        return Scalar(int(self.value / other) if self.value < 0 else self.value // other, self.bits)

    def __mod__(self, other: int) -> Scalar:
        return self - (self // other) * other

    def __neg__(self) -> Scalar:
        return Scalar(-self.value, self.bits)

    __radd__ = __add__
    __rmul__ = __mul__
    __rxor__ = __xor__


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in: a kernel helper is a plain function, and a cast widens."""
    language = ModuleType("triton.language")
    language.int64 = 64  # type: ignore[attr-defined]
    language.cast = lambda number, bits: Scalar(number.value, bits)  # type: ignore[attr-defined]
    module = ModuleType("triton")
    module.jit = lambda function: function  # type: ignore[attr-defined]
    module.language = language  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", module)
    monkeypatch.setitem(sys.modules, "triton.language", language)


@pytest.mark.usefixtures("triton")
def test_triton_with_the_widths_of_a_gpu(times) -> None:
    wide = 0
    for calls in random_calls("triton", times(LAYOUTS), seed=6):
        names: dict[str, object] = {}
        exec(calls.source.code, names)
        function = names[calls.source.name]
        is_wide = "tl.int64" in calls.source.code
        wide += is_wide
        rows = [
            [Scalar(number, 64 if number >> 31 not in (0, -1) else 32) for number in row]
            for row in calls.rows
        ]
        results = [function(*row) for row in rows]  # type: ignore[operator]
        lists = [result if isinstance(result, tuple) else (result,) for result in results]
        calls.judge([tuple(r.value if isinstance(r, Scalar) else r for r in row) for row in lists])
    assert wide > times(LAYOUTS) / 10


def test_the_stand_in_finds_an_overflow() -> None:
    with pytest.raises(AssertionError, match="overflows 32 bits"):
        Scalar(1 << 20) * (1 << 12)
    assert (Scalar(-7) // 2).value == -3
    assert (Scalar(1) + (1 << 40)).bits == 64
