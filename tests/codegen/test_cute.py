"""CuTe's source, read back: every constructor as Python, evaluated by CuTe's own rules, leftmost fastest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from tests.codegen.definition import FORMS, Calls, calls_of

from tilewise import LayoutError, Refused, S, parse
from tilewise.codegen import source_of
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.testing import naive_xor
from tilewise.testing.generate import random_layout

Place = Any
"""A number, or {basis: steps}."""


class Basis(dict[int, int]):
    """Steps along basis vectors."""

    def __rmul__(self, factor: int) -> Basis:
        return Basis({mode: factor * steps for mode, steps in self.items()})


def make_layout(shape: Any, stride: Any) -> Callable[..., Place]:
    def layout(*coordinate: int) -> Place:
        return _place(coordinate[0] if len(coordinate) == 1 else coordinate, shape, stride)

    return layout


def _place(coordinate: Any, shape: Any, stride: Any) -> Place:
    if isinstance(shape, int):
        return coordinate * stride
    if isinstance(coordinate, int):
        digits = []
        for mode in shape:
            digits.append(coordinate % _size(mode))
            coordinate //= _size(mode)
        coordinate = tuple(digits)
    return _total([_place(c, s, d) for c, s, d in zip(coordinate, shape, stride, strict=True)])


def _size(mode: Any) -> int:
    size = 1
    for extent in (mode,) if isinstance(mode, int) else mode:
        size *= extent if isinstance(extent, int) else _size(extent)
    return size


def _total(places: Sequence[Place]) -> Place:
    if not any(isinstance(place, Basis) for place in places):
        return sum(places)
    total = Basis()
    for place in places:
        for mode, steps in place.items() if isinstance(place, Basis) else ():
            total[mode] = total.get(mode, 0) + steps
    return total


def make_composed_layout(
    swizzle: tuple[int, int, int], offset: int, inner: Callable[..., int]
) -> Callable[..., int]:
    return lambda *coordinate: naive_xor(offset + inner(*coordinate), *swizzle)


def composition(swizzle: tuple[int, int, int], *rest: Any) -> Callable[..., int]:
    offset, inner = rest if len(rest) == 2 else (0, *rest)
    return make_composed_layout(swizzle, offset, inner)


def evaluated(source: str) -> Callable[..., Place]:
    """The layout that a source defines."""
    text = source.partition("constexpr auto ")[2].partition(" = ")[2].rstrip(";")
    text = re.sub(r"Int<(-?\d+)>\{\}", r"\1", text)
    text = re.sub(r"C<(-?\d+)ll>\{\}", r"\1", text)
    text = re.sub(r"E<(\d+)>\{\}", r"Basis({\1: 1})", text)
    text = re.sub(r"Swizzle<(\d+), (\d+), (-?\d+)>\{\}", r"(\1, \2, \3)", text)
    names = {"make_shape": _tuple, "make_stride": _tuple, "Basis": Basis}
    names |= {f.__name__: f for f in (make_layout, make_composed_layout, composition)}
    return eval(text, names)  # type: ignore[no-any-return]


def _tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


def run_cute(calls: Calls) -> None:
    """Evaluate the source at every row, and judge."""
    layout = evaluated(calls.source.code)
    results = []
    for row in calls.rows:
        place = layout(*row) if row else layout(0)
        names = [result.name for result in calls.source.results]
        basis = isinstance(place, Basis)
        results.append(tuple(place.get(int(name[1:]), 0) if basis else place for name in names))
    calls.judge(results)


def sayable(rng: Random) -> Layout:
    """A random layout on m, or on basis axes, without what CuTe never has."""
    while True:
        layout = random_layout(rng)
        if layout.replica or layout.outer or layout.unit != "element":
            continue
        axes = {axis.name for axis in layout.axes}
        if axes == {"m"}:
            return layout
        if not layout.swizzles and not layout.offset:
            order = {name: f"e{i}" for i, name in enumerate(sorted(axes))}
            return layout.relabel(order)


@pytest.mark.parametrize("form", [form for form in FORMS if not form["inverse"]])
def test_places(form: dict[str, bool], times) -> None:
    rng, said = Random(7), 0
    for _ in range(times(600)):
        try:
            calls = calls_of(sayable(rng), "cute", "f", form, rng)
        except Refused as no:
            if no.code != "TW008":
                raise
            continue
        run_cute(calls)
        said += 1
    assert said > times(400)


@pytest.mark.parametrize("form", [form for form in FORMS if form["inverse"] and form["flat"]])
def test_inverses(form: dict[str, bool], times) -> None:
    rng, said = Random(8), 0
    for _ in range(times(600)):
        try:
            calls = calls_of(sayable(rng), "cute", "f", form, rng)
        except Refused as no:
            if no.code not in ("TW008", "TW505"):
                raise
            continue
        run_cute(calls)
        said += 1
    assert said > times(150)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("S[8 : 1] + R[2 : 8]", "no replicas"),
        ("S[8 : 1@laneid]", "no axis laneid"),
        ("S[8 : 1] + 5", "add 5"),
        ("S[(8, 2) : (1@m, 1@e0)]", "not both"),
        ("S[8 : 1@e0 + 1@e1]", "two axes"),
        ("O[1] o Swizzle<1,0,3> o S[64 : 1]", "outside a swizzle"),
    ],
)
def test_what_cute_has_no_words_for(text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as no:
        source_of(parse(text), "cute")
    assert no.value.code == "TW008"


def test_an_inverse_has_one_number() -> None:
    with pytest.raises(Refused, match="flat index"):
        source_of(S[8, 8], "cute", inverse=True, flat=False)


def test_numbers_beyond_an_int() -> None:
    code = source_of(Layout((2,), (Vector(((S[1:1].axes[0], 1 << 40),)),)), "cute").code
    assert evaluated(code)(1) == 1 << 40
    assert "C<1099511627776ll>{}" in code


def test_bad_requests_are_no_refusals() -> None:
    with pytest.raises(LayoutError, match="unknown language") as error:
        source_of(S[8], "fortran")
    assert not isinstance(error.value, Refused)
