"""The canonical form is the same map, and its own canonical form."""

from random import Random

import pytest
from hypothesis import given

from tilewise import O, R, S, Swizzle, laneid, m, warpid
from tilewise.testing import naive_difference
from tilewise.testing.generate import random_layout, rewritten
from tilewise.testing.strategies import layouts


@given(layouts())
def test_the_canonical_form_is_the_same_map(layout):
    form = layout.canonical()
    assert naive_difference(form, layout) is None
    assert form.canonical() == form


def test_generated_canonical_forms():
    rng = Random(7)
    shorter = 0
    for _ in range(400):
        layout = random_layout(rng, max_size=64)
        form = layout.canonical()
        assert naive_difference(form, layout) is None, layout
        assert form.canonical() == form, layout
        assert len(form.shard) <= len(layout.shard)
        assert len(form.replica) <= len(layout.replica)
        assert form.unit == layout.unit
        shorter += len(form.shard) < len(layout.shard)
    assert shorter > 40


def test_a_split_shard_has_one_canonical_form():
    rng = Random(17)
    for _ in range(300):
        layout = random_layout(rng, max_size=64)
        other = rewritten(rng, layout).canonical()
        assert (other.shape, other.strides) == (layout.canonical().shape, layout.canonical().strides)


@pytest.mark.parametrize(
    ("layout", "form"),
    [
        (S[(2, 1, 4) : (4, 9, 1)], S[8:1]),
        (S[(4, 1) : (0, 3)], S[4:0]),
        (S[(3, 2) : (-2, -1)], S[6:-1]),
        (S[(2, 2) : (2 @ laneid + 2 @ m, 1 @ m + 1 @ laneid)], S[4 : 1 @ laneid + 1 @ m]),
        (S[1:5] + R[(1, 3) : (4, 0)], S[()]),
        (S[2:1] + R[(2, 2) : (4, -8)], S[2:1] + R[4:4] - 8),
        (S[2:1] + R[(3, 2) : (2, 4)], S[2:1] + R[5:2]),
        (S[2:1] + R[2:4] + R[2:4], S[2:1] + R[3:4]),
        (S[2:1] + R[(2, 2) : (1 @ warpid, 1 @ laneid)], S[2:1] + R[(2, 2) : (1 @ laneid, 1 @ warpid)]),
        (Swizzle(0, 2, 1) @ S[4:3], S[4:3]),
        (Swizzle(1, 2, 1) @ Swizzle(1, 2, 1) @ S[32:1], S[32:1]),
        (Swizzle(3, 3, 3) @ S[64:1], S[64:1]),
        (Swizzle(3, 3, 3) @ (S[64:1] - 1), Swizzle(3, 3, 3) @ (S[64:1] - 1)),
        (S[4 : 1 @ laneid] + 0 @ m, S[4 : 1 @ laneid]),
    ],
    ids=str,
)
def test_each_rule_by_hand(layout, form):
    assert layout.canonical() == form


def test_rules_that_enable_each_other_are_followed_to_the_end():
    """Once B B has gone, the shorter period lets P inside, and then A reads only zeros."""
    a, b = Swizzle(1, 0, 1), Swizzle(1, 3, 1)
    assert (O[4 @ m] @ a @ b @ b @ (S[2:1] - 4)).canonical() == S[2:1]
    moved = O[-5 @ m] @ Swizzle(2, 2, 3) @ Swizzle(2, 3, -2) @ (S[(5, 32) : (1 @ m, 1 @ laneid)] + 129 @ m)
    assert moved.canonical().canonical() == moved.canonical()
    assert naive_difference(moved, moved.canonical()) is None
