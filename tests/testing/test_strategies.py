"""Draws of users' tests: every strategy gives what its arguments say, whatever came before."""

from __future__ import annotations

import pytest
from hypothesis import given

from tilewise import Axis, Layout
from tilewise.core.vectors import Vector
from tilewise.testing.strategies import layouts, vectors

HOLDS, OWNS = Axis("drawn", storage=True), Axis("drawn")


@given(vectors([HOLDS]), vectors([OWNS]))
def test_vectors_are_of_the_axes_that_are_given(stored: Vector, owned: Vector) -> None:
    """Axes of one name are equal: what is kept of the one is not the other's."""
    assert {axis.kind for axis, _ in stored.terms} <= {"storage"}
    assert {axis.kind for axis, _ in owned.terms} <= {"owner"}


@pytest.mark.parametrize("replicas", [True, False])
def test_layouts_are_of_the_axes_that_are_given(replicas: bool) -> None:
    @given(layouts(axes=[HOLDS], replicas=replicas), layouts(axes=[OWNS], replicas=replicas))
    def check(stored: Layout, owned: Layout) -> None:
        assert {axis.kind for axis in stored.axes} <= {"storage"}
        assert {axis.kind for axis in owned.axes if axis == OWNS} <= {"owner"}

    check()
