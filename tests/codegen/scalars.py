"""Integers of a GPU's width, and a stand-in for Triton that runs its helpers on them."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from tests.codegen.definition import Calls


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

    def __floordiv__(self, other: Scalar | int) -> Scalar:
        by, bits = self._with(other)
        return Scalar(-(-self.value // by) if self.value < 0 else self.value // by, bits)

    def __mod__(self, other: Scalar | int) -> Scalar:
        return self - (self // other) * other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar | int) and self._with(other)[0] == self.value

    def __ge__(self, other: Scalar | int) -> bool:
        return self.value >= self._with(other)[0]

    def __le__(self, other: Scalar | int) -> bool:
        return self.value <= self._with(other)[0]

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Scalar:
        return Scalar(-self.value, self.bits)

    __radd__ = __add__
    __rmul__ = __mul__
    __rxor__ = __xor__


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in for Triton in place: helpers are plain functions, a cast widens, asserts hold."""

    def holds(condition: object, text: str) -> None:
        assert condition, text

    language = ModuleType("triton.language")
    language.int64 = 64  # type: ignore[attr-defined]
    language.cast = lambda number, bits: Scalar(number.value, bits)  # type: ignore[attr-defined]
    language.device_assert = holds  # type: ignore[attr-defined]
    module = ModuleType("triton")
    module.jit = lambda function: function  # type: ignore[attr-defined]
    module.language = language  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", module)
    monkeypatch.setitem(sys.modules, "triton.language", language)


def run_triton(calls: Calls) -> None:
    """Call the source as Triton, row by row, with integers of 32 bits where they fit; judge the results."""
    names: dict[str, object] = {}
    exec(calls.source.code, names)
    function = names[calls.source.name]
    rows = [
        [Scalar(number, 64 if number >> 31 not in (0, -1) else 32) for number in row] for row in calls.rows
    ]
    results = [function(*row) for row in rows]  # type: ignore[operator]
    lists = [result if isinstance(result, tuple) else (result,) for result in results]
    calls.judge([tuple(r.value if isinstance(r, Scalar) else r for r in row) for row in lists])
