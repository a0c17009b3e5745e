"""The elements at a place, full or partial, taken or not, against the definition."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import (
    LayoutError,
    NotDecided,
    R,
    S,
    Swizzle,
    laneid,
    m,
    parse,
    reg,
    tid_in_wg,
    warpid,
    wgid,
    wid_in_wg,
)
from tilewise.core.shapes import coordinates
from tilewise.testing import as_place, naive_map, who_in
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts


@given(layouts(), st.data())
def test_who_lives_at_a_taken_place(layout, data):
    places = naive_map(layout)
    flat = data.draw(st.integers(0, layout.size - 1))
    place = data.draw(st.sampled_from(layout.places(flat))).as_dict()
    for axis in data.draw(st.sets(st.sampled_from(sorted(place)), max_size=len(place) - 1)):
        del place[axis]
    who = layout.who(place)
    assert coordinates(flat, layout.shape) in who
    assert list(who) == [coordinates(x, layout.shape) for x in who_in(places, place)]


@given(layouts(), st.data())
def test_who_lives_at_any_place(layout, data):
    steps = st.integers(-400, 400) | st.integers(-3, 10)
    place = data.draw(st.dictionaries(st.sampled_from([a.name for a in layout.axes]), steps, min_size=1))
    expected = [(x,) for x in who_in(naive_map(layout), place)]
    assert list(layout.who(place, shape=layout.size)) == expected


@given(layouts(max_size=32), st.data())
def test_matches_are_the_indices_with_their_places(layout, data):
    axis = data.draw(st.sampled_from(layout.axes))
    steps = data.draw(st.sampled_from([place[axis] for place in layout.places(0)]))
    expected = [
        ((x,), held)
        for x, places in enumerate(naive_map(layout))
        for held in places
        if dict(held).get(axis.name, 0) == steps
    ]
    found = [(index, as_place(place)) for index, place in layout.matches({axis: steps}, shape=layout.size)]
    assert sorted(found) == sorted(expected)
    assert len(found) == len(set(found))


def test_every_place_of_the_box_and_around_it():
    """Also the places that nothing holds: who must say so, not guess."""
    rng = Random(5)
    asked = empty = 0
    for _ in range(200):
        layout = random_layout(rng, max_size=32)
        places = naive_map(layout)
        axis = rng.choice(layout.axes).name
        low, high = layout.extremes(axis)
        for steps in {low - 1, high + 1, *(rng.randint(low, high) for _ in range(12))}:
            expected = [(x,) for x in who_in(places, {axis: steps})]
            assert list(layout.who({axis: steps}, shape=layout.size)) == expected, (layout, axis, steps)
            asked += 1
            empty += not expected
    assert asked / 10 < empty < asked * 0.9


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ((5,), {}),
        ((), {"m": 5}),
        ((5 @ m,), {}),
        (({"m": 5},), {}),
        (({m: 5},), {}),
        ((5 @ m + 0 @ reg,), {}),
    ],
)
def test_a_place_is_written_in_many_ways(asked, named):
    assert S[(4, 4)].who(*asked, **named) == ((1, 1),)


def test_an_axis_that_the_layout_does_not_name_counts_0():
    assert S[4:2].who(m=2, laneid=0) == ((1,),)
    assert S[4:2].who(m=2, laneid=1) == ()
    assert S[4 : 1 @ reg].who(laneid=0) == ((0,), (1,), (2,), (3,))


def test_a_limit_gives_some_of_many():
    broadcast = S[(2**20, 4) : (0, 1)]
    with pytest.raises(LayoutError) as error:
        broadcast.who(3)
    assert error.value.code == "TW301"
    some = broadcast.who(3, limit=10)
    assert len(set(some)) == 10
    assert all(broadcast.place(index) == 3 @ m for index in some)


@pytest.mark.parametrize(("limit", "code"), [(-1, "TW401"), (0, "TW401"), (True, "TW101"), (1.5, "TW101")])
def test_a_limit_is_a_positive_integer(limit, code):
    with pytest.raises(LayoutError) as error:
        S[4].who(0, limit=limit)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("place", "code"),
    [({}, "TW203"), ({"m": 1.0}, "TW101"), ({"m": True}, "TW101"), ({"laneid": "x"}, "TW101")],
)
def test_bad_places_are_refused(place, code):
    with pytest.raises(LayoutError) as error:
        S[4:1].who(place)
    assert error.value.code == code


def test_hard_questions_are_not_guessed():
    """A subset sum over many unrelated steps: an answer, or a clear "not decided"."""
    rng = Random(1)
    hard = S[(2,) * 60 : tuple(rng.randrange(10**29, 10**30) for _ in range(60))]
    place = hard.place(rng.randrange(hard.size))
    with pytest.raises(NotDecided) as error:
        hard.who(place + 1)
    assert error.value.code == "TW303"


def test_who_of_a_swizzled_fragment_with_copies():
    layout = Swizzle(2, 1, 2) @ (S[(8, 4) : (1 @ laneid, 3 @ m)] + R[2 : 32 @ m] - 5 @ m)
    for flat in range(layout.size):
        for place in layout.places(flat):
            assert layout.coordinates(flat) in layout.who(place)


PARTED = S[(2, 4, 2, 8) : (1 @ wgid, 1 @ wid_in_wg, 2 @ reg, 4 @ laneid)] + R[2 : 1 @ laneid]


@pytest.mark.parametrize("axis", ["tid_in_wg", "warpid", "tx"])
def test_a_place_on_an_axis_that_the_layout_has_in_parts(axis):
    parts = {"tid_in_wg": ("wid_in_wg", "laneid"), "warpid": ("wgid", "wid_in_wg")}
    fused = PARTED.fuse_axes(parts.get(axis, ("wgid", "wid_in_wg", "laneid")), axis)
    answers = set()
    for steps in range(-1, 260):
        answers.add(PARTED.who({axis: steps}))
        assert PARTED.who({axis: steps}) == fused.who({axis: steps})
        assert PARTED.who({axis: steps, "reg": 2}) == fused.who({axis: steps, "reg": 2})
    assert len(answers) > 8


def test_a_thread_of_the_block_where_the_layout_has_one_warpgroup():
    fragment = parse("wgmma.D(f32, n=16)")
    assert fragment.who(tx=45, reg=5) == fragment.who(tid_in_wg=45, reg=5) == ((19, 11),)
    assert fragment.who(tx=45 + 128, reg=5) == ()


def test_a_place_that_names_an_axis_and_its_parts():
    fragment = parse("wgmma.D(f32, n=16)")
    assert fragment.who(tid_in_wg=45, laneid=13, reg=5) == ((19, 11),)
    assert fragment.who(tid_in_wg=45, laneid=12, reg=5) == ()


def test_threads_of_waves_of_64_lanes():
    """A layout that has lane 32 is of CDNA's waves: thread 100 is lane 36 of the second."""
    wave, waves = parse("mfma.D(32x32x8, f32)"), S[(4, 64) : (1 @ warpid, 1 @ laneid)]
    assert wave.who(tx=45, reg=3) == wave.who(laneid=45, reg=3) == ((7, 13),)
    assert wave.who(tx=64, reg=3) == ()
    assert waves.who(tx=100) == ((1, 36),)
    fused = waves.fuse_axes(("warpid", 64, "laneid"), "tx")
    assert all(waves.who(tx=thread) == fused.who(tx=thread) for thread in range(256))
    assert S[(4, 32) : (1 @ warpid, 1 @ laneid)].who(tx=100) == ((3, 4),)


def test_a_place_on_an_axis_that_the_layout_has_is_not_split():
    both = S[(2, 4, 4) : (32 @ tid_in_wg, 1 @ laneid, 1 @ reg)]
    assert both.who(tid_in_wg=32, laneid=3, reg=1) == ((1, 3, 1),)
    assert both.who(tid_in_wg=35, reg=1) == ()


def test_a_lane_past_every_warp_is_no_thread():
    wide = S[96 : 1 @ laneid]
    assert (wide.who(laneid=37), wide.who(tx=37), wide.who(tx=5)) == (((37,),), (), ((5,),))
