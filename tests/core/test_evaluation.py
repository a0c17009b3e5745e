"""Where an element lives, asked in every form, against the definition."""

from itertools import product
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.maps import listed

from tilewise import Layout, LayoutError, O, R, S, Swizzle, laneid, m, reg
from tilewise.core.shapes import extents_of
from tilewise.testing import as_place, naive_map
from tilewise.testing.generate import nested, random_layout
from tilewise.testing.strategies import layouts, shapes, swizzles, vectors


@given(layouts())
def test_places_are_the_definition(layout):
    assert listed(layout) == naive_map(layout)


def test_generated_places_are_the_definition(times):
    rng = Random(11)
    for _ in range(times(300)):
        layout = random_layout(rng)
        assert listed(layout) == naive_map(layout), layout


@given(layouts(replicas=True))
def test_copies_are_listed_once_and_sorted(layout):
    points = layout.points(layout.size - 1)
    assert points == sorted(set(points))
    assert [tuple(p[a] for a in layout.axes) for p in layout.places(layout.size - 1)] == points


@given(layouts(max_size=48))
def test_flat_mode_and_nested_indices_are_one(layout):
    leaf_indices = product(*(range(it.extent) for it in layout.shard))
    for flat, (digits, expected) in enumerate(zip(leaf_indices, naive_map(layout), strict=True)):
        for index in (flat, layout.coordinates(flat), nest(digits, layout.shape)):
            assert frozenset(map(as_place, layout.places(index))) == expected


def nest(digits, shape):
    """The digits in the nesting of the shape: the third form of an index."""
    left = iter(digits)

    def filled(mode):
        return next(left) if isinstance(mode, int) else tuple(filled(inner) for inner in mode)

    return filled(shape)


@given(layouts(max_size=48), st.randoms(use_true_random=False))
def test_any_shape_of_the_same_size_may_be_asked_in(layout, rng):
    asked = refactored(rng, layout.size)
    for flat, index in enumerate(product(*map(range, extents_of(asked)))):
        assert layout.flat_index(*index, shape=asked) == flat
        assert layout.coordinates(flat, shape=asked) == index
        assert layout.places(*index, shape=asked) == layout.places(flat)


def refactored(rng, size):
    extents = [1] if rng.random() < 0.3 else []
    while size > 1:
        extent = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        extents.append(extent)
        size //= extent
    return nested(rng, extents or [1])


@given(
    shapes(), vectors([m]), st.lists(swizzles(), min_size=1, max_size=2), vectors([m, laneid], max_step=300)
)
def test_an_outer_offset_means_the_same_folded_or_not(shape, stride, chain, outer):
    """Before `Layout` has folded what it may: the same fields, as written."""
    plain = Layout(shape, tuple(stride for _ in S[shape].strides))
    written = SimpleNamespace(
        shape=plain.shape,
        strides=plain.strides,
        replica=(),
        offset=plain.offset,
        swizzles=tuple(chain),
        outer=outer,
        order="row",
    )
    layout = Layout(plain.shape, plain.strides, swizzles=tuple(chain), outer=outer)
    assert listed(layout) == naive_map(written)


def test_what_passes_through_a_swizzle_is_folded_inside():
    tile = S[64:1]
    folded = O[512 @ m + 3 @ laneid] @ Swizzle(3, 3, 3) @ tile
    assert folded == Swizzle(3, 3, 3) @ (tile + 512 @ m + 3 @ laneid)
    kept = O[128 @ m] @ Swizzle(3, 3, 3) @ tile
    assert (kept.offset, kept.outer) == (tile.offset, 128 @ m)


def test_an_offset_after_a_swizzled_layout_goes_inside():
    swizzled = Swizzle(1, 0, 1) @ S[4:1]
    assert swizzled + 2 == Swizzle(1, 0, 1) @ (S[4:1] + 2)
    assert [swizzled.place(i)["m"] for i in range(4)] == [0, 1, 3, 2]
    assert [(swizzled + 2).place(i)["m"] for i in range(4)] == [3, 2, 4, 5]


@pytest.mark.parametrize(
    "index",
    [-1, 32, (8, 0), (0, -1), (0, 4), (1, 1, 1), ((1, 0), 0), (0, (1, 1, 1)), (0, (2, 0)), ()],
    ids=str,
)
def test_indices_outside_the_shape_are_refused(index):
    with pytest.raises(LayoutError) as error:
        S[(8, (2, 2)) : (4, (2, 1))].places(index)
    assert error.value.code == "TW201"


@pytest.mark.parametrize("index", [True, 1.0, "1", None, (0, 1.5), (False, 0)], ids=repr)
def test_indices_are_integers(index):
    with pytest.raises(LayoutError) as error:
        S[(8, 4)].places(index)
    assert error.value.code == "TW101"


@pytest.mark.parametrize("shape", [(8, 5), 31, (2, 2, 2, 2), (64,)], ids=str)
def test_an_asked_shape_of_another_size_is_refused(shape):
    with pytest.raises(LayoutError) as error:
        S[(8, 4)].places(0, shape=shape)
    assert error.value.code == "TW202"


def test_a_lone_nested_mode_is_asked_with_and_without_its_parentheses():
    layout = S[((4, 2),) : ((1, 4),)]
    for flat in range(8):
        profile = divmod(flat, 2)
        assert layout.place(flat) == layout.place(profile) == layout.place((profile,))


def test_place_wants_one_place_and_places_shows_all():
    doubled = S[4 : 1 @ reg] + R[2 : 1 @ laneid]
    with pytest.raises(LayoutError) as error:
        doubled.place(1)
    assert error.value.code == "TW204"
    assert doubled.places(1) == (1 @ reg + 0 @ laneid, 1 @ reg + 1 @ laneid)
    assert (S[4 : 1 @ reg] + R[2 : 0 @ laneid]).place(1) == 1 @ reg + 0 @ laneid


def test_more_copies_than_can_be_listed_are_refused():
    with pytest.raises(LayoutError) as error:
        (S[4:1] + R[2**20 : 4]).places(0)
    assert error.value.code == "TW301"


def test_the_single_element():
    assert S[()].places() == S[()].places(0) == (0 @ m,)
    assert (S[()].size, S[()].shape) == (1, ())
