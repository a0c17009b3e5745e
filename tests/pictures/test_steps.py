"""Explanations step by step: every equation in them is true, and they end where the definition does."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from tilewise import Layout, S, Swizzle
from tilewise.core.vectors import point
from tilewise.pictures.steps import steps_of
from tilewise.testing import naive_places
from tilewise.testing.strategies import layouts

XOR = re.compile(
    r".*: (?:bits (\d+)\.\.(\d+)|no bits) of (-?\d+) are (\d+); "
    r"(-?\d+) xor \4 << (\d+) = \3 xor (\d+) = (-?\d+)@.*"
)


@given(layouts(max_size=64).filter(lambda layout: layout.copies <= 8), st.data())
@example(Swizzle(2, 1, 3) @ S[(8, 16) : (16, 1)] + 3, None)
@example(Swizzle(2, 1, -3) @ S[(8, 16) : (16, 1)], None)
def test_every_equation_is_true(layout: Layout, data: st.DataObject | None) -> None:
    flat = data.draw(st.integers(0, layout.size - 1)) if data else layout.size - 2
    steps = steps_of(layout, flat)
    for step in steps:
        for line in step.lines:
            if step.name == "digits":
                formula, _, digit = line.partition(" of ")[0].partition("=")
                assert eval(formula) == int(digit), line
            if step.name == "xor" and line.startswith("Swizzle"):
                _expect_xor(line)
    names = [step.name for step in steps]
    assert names.count("xor") == len(layout.swizzles)
    assert names[-1] == ("place" if layout.copies == 1 else "places")
    naive = [
        point(layout.axes, (dict(place).get(axis.name, 0) for axis in layout.axes))
        for place in naive_places(layout, flat)
    ]
    assert sorted(steps[-1].lines) == sorted(map(str, naive))


def _expect_xor(line: str) -> None:
    found = XOR.fullmatch(line)
    assert found, line
    low, high, before, field, _, up, flip, after = (int(number or 0) for number in found.groups())
    bits = high - low + 1 if found[1] else 0
    assert field == before >> low & (1 << bits) - 1, line
    assert field << up == flip, line
    assert before ^ flip == after, line
