"""The complement against the one tiling that there can be, built place by place."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from math import prod
from random import Random

import pytest

from tilewise import Layout, NotDecided, R, Refused, S, Swizzle, laneid, m, parse, reg
from tilewise.core.algebra.complements import complement
from tilewise.core.vectors import Vector
from tilewise.testing import naive_map
from tilewise.testing.generate import random_layout

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"


def image(layout: Layout) -> tuple[str, set[int]]:
    """(axis, places) of a layout that moves on one axis, moved to begin at 0."""
    taken = set().union(*naive_map(layout))
    names = {name for place in taken for name, _ in place}
    moving = {name for name in names if len({dict(place).get(name, 0) for place in taken}) > 1}
    assert len(moving) <= 1
    axis = next(iter(moving), "m")
    places = {dict(place).get(axis, 0) for place in taken}
    return axis, {place - min(places) for place in places}


def forced(places: set[int], size: int) -> tuple[list[int], int | None]:
    """The translates that must fill [0, size), and the first place at which that ends, or None."""
    filled: set[int] = set()
    starts: list[int] = []
    for place in range(size):
        if place in filled:
            continue
        moved = {place + p for p in places}
        if moved & filled or max(moved) >= size:
            return starts, place
        filled |= moved
        starts.append(place)
    return starts, None


def translates(found: Layout) -> list[int]:
    """The values of a complement, in its own order."""
    assert not found.swizzles
    return [sum(dict(place).values()) for (place,) in naive_map(found)]


def of_one_axis(rng: Random) -> Layout:
    """A layout that moves on one axis: most with a complement, or nearly so."""
    if rng.random() < 0.3:
        layout = random_layout(rng, 48)
        axis = rng.choice(layout.axes)
        strides = tuple(Vector(((axis, v[axis]),)) for v in layout.strides)
        copies = tuple(replace(it, stride=Vector(((axis, it.stride[axis]),))) for it in layout.replica)
        layout = replace(layout, strides=strides, replica=copies)
        return layout if layout.span(axis) < 400 else of_one_axis(rng)
    axis = rng.choice((m, m, m, laneid, reg))
    step, extents, strides = rng.choice((1, 1, 2, 3)), [], []
    for _ in range(rng.choice((1, 2, 2, 3))):
        extent = rng.choice((1, 2, 2, 3, 4))
        extents.append(extent)
        strides.append(step * rng.choice((1, 1, 1, -1)))
        step *= max(1, extent + rng.choice((0, 0, 0, 0, 0, -1))) * rng.choice((1, 1, 2, 3))
        step += rng.random() < 0.05
    order = list(range(len(extents)))
    rng.shuffle(order)
    layout = S[tuple(extents[i] for i in order) : tuple(strides[i] @ axis for i in order)]
    if rng.random() < 0.3:
        layout = layout + R[rng.choice((1, 2, 3)) : rng.choice((step, 1, 2)) @ axis]
    if rng.random() < 0.3:
        layout = layout + rng.choice((-5, 3, 4, 64)) @ axis
    if rng.random() < 0.3 and axis in (m, reg):
        bits = rng.choice((1, 1, 2))
        layout = Swizzle(bits, rng.choice((0, 0, 1)), rng.choice((bits, -bits)), axis) @ layout
    return layout if layout.span(axis) < 400 else of_one_axis(rng)


def check_complement(rng: Random) -> str:
    layout = of_one_axis(rng)
    axis, places = image(layout)
    size = None
    if rng.random() < 0.7:
        size = rng.choice((max(places) + 1, rng.randint(1, 40), len(places) * rng.randint(1, 20)))
        if rng.random() < 0.5:  # a multiple of what the largest step fills
            size *= rng.randint(1, 6)
    try:
        found = complement(layout, size)
    except Refused as no:
        refused = no
    except NotDecided:
        return UNDECIDED
    else:
        starts = translates(found)
        named = {name for place in set().union(*naive_map(found)) for name, _ in place}
        assert named <= ({axis} if len(places) > 1 else {a.name for a in layout.axes})
        assert starts == sorted(starts)
        covered = [start + place for start in starts for place in places]
        assert sorted(covered) == list(range(len(covered))), (layout, size)
        assert size in (None, len(covered))
        assert (starts, None) == forced(places, len(covered))
        return ANSWERED
    if refused.code == "TW504":
        assert layout.swizzles
        return REFUSED
    assert refused.code == "TW506"
    plain = replace(layout, swizzles=(), outer=Vector())
    places = image(plain)[1]
    end = forced(places, 8 * (max(places) + 1) if size is None else size)[1]
    assert end is not None
    assert end <= refused.witness < (size or max(places)), (layout, size)
    return REFUSED


def check_weak_complement(rng: Random) -> str:
    layout = of_one_axis(rng)
    _, places = image(layout)
    size = rng.choice((None, rng.randint(1, 60)))
    try:
        found = complement(layout, size, weak=True)
    except Refused:
        return REFUSED
    except NotDecided:
        return UNDECIDED
    starts = translates(found)
    covered = [start + place for start in starts for place in places]
    assert len(set(covered)) == len(covered), (layout, size)
    with suppress(Refused):
        assert complement(layout, size) == found
    return ANSWERED


@pytest.mark.parametrize(
    ("check", "least"), [(check_complement, 0.2), (check_weak_complement, 0.3)], ids=["perfect", "weak"]
)
def test_random_layouts(check, least, times):
    rng = Random(31)
    tally = Counter(check(rng) for _ in range(times(1500)))
    print(check.__name__, dict(tally))
    assert tally[ANSWERED] >= least * times(1500)
    assert tally[REFUSED] > times(100)
    assert not tally[UNDECIDED]


@pytest.mark.parametrize(
    ("layout", "size", "expected"),
    [
        # CuTe's own examples, mirrored
        (S[(2, 2) : (6, 1)], 24, S[(2, 3) : (12, 2)]),
        (S[4:2], 24, S[(3, 2) : (8, 1)]),
        (S[4:2], None, S[2:1]),
        (S[(8, 4) : (5, 1)], None, None),
        # an overlapping layout that covers [0, 7)
        (S[(2, 4) : (3, 1)], 14, S[2:7]),
        (S[(2, 4) : (3, 1)], 7, S[1:0]),
        (S[(2, 2) : (3, 1)], 12, None),
        # steps downwards, offsets, copies, other axes
        (S[4:-2] + 100, 24, S[(3, 2) : (8, 1)]),
        (S[(2, 2) : (-6 @ reg, 1 @ reg)], 24, S[(2, 3) : (12 @ reg, 2 @ reg)]),
        (S[2 : 8 @ laneid] + R[2 : 2 @ laneid], 32, S[(2, 2, 2) : (16 @ laneid, 4 @ laneid, 1 @ laneid)]),
        (S[(3, 2) : (0, 1)], 6, S[3:2]),
        (S[()], 5, S[5:1]),
        (S[1 : 7 @ reg], None, S[1:0]),
        # swizzled places that are whole periods
        (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], 4096, S[8:512]),
        (Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)] + 4, 16, S[4:4]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_worked_values(layout, size, expected):
    if expected is None:
        with pytest.raises(Refused) as refused:
            complement(layout, size)
        assert refused.value.code == "TW506"
        assert refused.value.hint
    else:
        assert complement(layout, size) == expected
        assert layout.complement(size) == expected


@pytest.mark.parametrize(
    ("layout", "size", "expected"),
    [
        (S[(2, 2) : (3, 1)], 12, S[2:6]),
        (S[4:2], 20, S[(3, 2) : (8, 1)]),
        (S[(2, 4) : (11, 1)], 30, S[(2, 2) : (22, 4)]),
        (S[(2, 4) : (3, 1)], 20, S[3:7]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_weak_complements(layout, size, expected):
    assert complement(layout, size, weak=True) == expected


@pytest.mark.parametrize(
    ("layout", "size", "code", "words", "witness"),
    [
        (S[4:2], 28, "TW506", "they fill 8 places at a time", 24),
        (S[4:2], 4, "TW506", r"no translates fill \[0, 4\)", 0),
        (S[(2, 4) : (11, 1)], None, "TW506", "no translates fill an interval", 8),
        (S[4 : 1 @ laneid + 1 @ reg], None, "TW509", "laneid and reg", ["laneid", "reg"]),
        (Swizzle(1, 0, 1) @ S[2:2], 8, "TW504", "repeats every 4 places, and 1 is", 1),
        (Swizzle(1, 0, 1) @ (S[4:1] + 2), 8, "TW504", "repeats every 4 places, and 2 is", 2),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_refusals(layout, size, code, words, witness):
    with pytest.raises(Refused, match=words) as refused:
        complement(layout, size)
    assert (refused.value.code, refused.value.witness) == (code, witness)
    assert refused.value.hint


def test_places_that_overlap_have_no_weak_complement_either():
    with pytest.raises(Refused, match=r"step 3 begins inside \[0, 4\)") as refused:
        complement(S[(2, 2) : (3, 2)], 12, weak=True)
    assert refused.value.code == "TW506"


def test_the_unit_stays():
    assert complement(S[4:2].counted("byte"), 24).unit == "byte"


def test_it_goes_by_iters_and_not_by_elements():
    layout = S[(1 << 30, 3**10) : (3**10 * 5, 1)]
    assert complement(layout, 7 * 5 * prod(layout.shape)).size == 35


def test_a_size_is_rounded_up_where_it_is_all_that_is_in_the_way(times):
    """To the least number of whole repeats; the refusal without it has the answer."""
    rng, answered = Random(9), 0
    for _ in range(times(400)):
        layout = S[(rng.randint(1, 4), rng.randint(1, 4)) : (rng.randint(1, 8), rng.randint(1, 4))]
        size = rng.randint(1, 60)
        try:
            found = complement(layout, size, round_up=True)
        except Refused:
            with pytest.raises(Refused):
                complement(layout, size)
            continue
        taken = {layout.place(x)["m"] for x in range(layout.size)}
        filled = sorted(t + found.place(x)["m"] for t in taken for x in range(found.size))
        assert filled == [*range(len(filled))]
        least = complement(layout)
        block = len(taken) * least.size
        assert len(filled) == -(-size // block) * block
        answered += 1
        if size % block:
            with pytest.raises(Refused, match="TW506") as no:
                complement(layout, size)
            assert no.value.hint == f"round_up=True fills [0, {len(filled)}), as CuTe does: {found}"
    assert answered


def test_a_rounded_size_is_told_in_the_order_of_the_layout():
    with pytest.raises(Refused) as no:
        complement(parse("(2,2):(1,4)"), 10)
    assert no.value.hint.endswith("(2,2):(2,8)")
    assert complement(parse("4:1"), 10, round_up=True) == parse("3:4")
