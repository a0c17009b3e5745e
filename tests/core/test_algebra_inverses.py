"""Left, right and quasi-inverses against the definition, listed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod
from random import Random

import pytest

from tilewise import Layout, LayoutError, NotDecided, R, Refused, S, Swizzle, gpuid_x, laneid, m, reg, warpid
from tilewise.core.algebra.inverses import left_inverse, quasi_inverse, right_inverse
from tilewise.core.vectors import Vector
from tilewise.testing import Place, naive_extents, naive_map, naive_places
from tilewise.testing.generate import random_layout

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"


def modes(layout: Layout) -> list[int]:
    return [prod(naive_extents((mode,))) for mode in layout.shape]


def index_at(inverse: Layout, layout: Layout, place: Place) -> int:
    """Return what an inverse gives at a place; the place must be in its domain."""
    steps = dict(place)
    flat = 0
    assert len(inverse.shape) == len(layout.axes)
    for axis, extent in zip(layout.axes, modes(inverse), strict=True):
        count = steps.get(axis.name, 0)
        assert 0 <= count < extent, f"{place} is outside {inverse}"
        flat = flat * extent + count
    (found,) = naive_places(inverse, flat)
    assert dict(found).keys() <= {"m"}
    return dict(found).get("m", 0)


def owners(layout: Layout) -> dict[Place, list[int]]:
    """{place: the indices that live there, ascending}."""
    found: dict[Place, list[int]] = {}
    for flat, places in enumerate(naive_map(layout)):
        for place in places:
            found.setdefault(place, []).append(flat)
    return found


# -- random cases ----------------------------------------------------------------------------------


def readable(rng: Random) -> Layout:
    """A layout that may well have inverses: random, dense or padded, often moved to where places begin."""
    if rng.random() < 0.5:
        layout = random_layout(rng, 96)
        if rng.random() < 0.8:
            for axis in layout.axes:
                if axis != layout.swizzled_axis:
                    layout = layout - Vector(((axis, layout.min(axis)),))
        return layout
    return chained(rng)


def chained(rng: Random) -> Layout:
    """Digits of which each step is a multiple of the one before, in any order, on one or two axes."""
    axes = rng.choice([[m], [m], [m, laneid], [reg, m]])
    powers = rng.random() < 0.5
    count = rng.choice((1, 2, 3, 3, 4))
    extents = [rng.choice((2, 4, 8) if powers else (1, 2, 3, 4, 5, 6)) for _ in range(count)]
    while prod(extents) > 200:
        extents.pop()
    order = list(range(len(extents)))
    rng.shuffle(order)
    steps = {axis: rng.choice((1, 1, 1, 2, 3)) if not powers else rng.choice((1, 1, 2)) for axis in axes}
    strides = [Vector()] * len(extents)
    replica = []
    offset = Vector()
    for position in order:
        axis = rng.choice(axes)
        step = steps[axis]
        steps[axis] *= extents[position] * rng.choice((1, 1, 1, 2) if powers else (1, 1, 1, 2, 3))
        if rng.random() < 0.2:
            offset = offset + Vector(((axis, step * (extents[position] - 1)),))
            step = -step
        strides[position] = Vector(((axis, step),))
    if rng.random() < 0.3:
        axis = rng.choice(axes)
        replica = [(rng.choice((1, 2, 3)), Vector(((axis, steps[axis]),)))]
    layout = Layout(tuple(extents), tuple(strides), offset=offset)
    for extent, step in replica:
        layout = layout + R[extent:step]
    if rng.random() < 0.3:
        layout = layout + rng.choice((1, 2, 8, 24, 64)) @ rng.choice(axes)
    if rng.random() < 0.4:
        bits = rng.choice((1, 1, 2))
        chain = [
            Swizzle(bits, rng.randrange(3), rng.choice((-1, 1, 1)) * (bits + rng.choice((0, 0, 1))))
            for _ in range(rng.choice((1, 1, 2)))
        ]
        layout = replace(layout, swizzles=tuple(chain))
    return layout


def check_left_inverse(rng: Random) -> str:
    layout = readable(rng)
    held = owners(layout)
    try:
        inverse = left_inverse(layout)
    except Refused as refused:
        check_refusal(layout, held, refused)
        return REFUSED
    except NotDecided:
        return UNDECIDED
    for place, indices in held.items():
        assert [index_at(inverse, layout, place)] == indices, layout
    return ANSWERED


def check_refusal(layout: Layout, held: dict[Place, list[int]], refused: Refused) -> None:
    """A witness of a refusal shows what it says: a place that two share, or one below 0."""
    assert refused.code in ("TW504", "TW505")
    if isinstance(refused.witness, tuple):
        one, other, place = refused.witness
        shared = held[tuple(sorted(place.nonzero.as_dict().items()))]
        assert one != other
        assert {one, other} <= set(shared)
    elif refused.witness is not None:
        ((axis, least),) = refused.witness.items()
        assert least < 0
        plain = replace(layout, swizzles=(), outer=Vector())
        assert min(dict(place).get(axis, 0) for place in owners(plain)) == least


def check_quasi_inverse(rng: Random) -> str:
    layout = readable(rng)
    if rng.random() < 0.5:
        still = rng.randrange(len(layout.shape) + 1)
        shape, strides = list(naive_extents(layout.shape)), list(layout.strides)
        still = rng.randrange(len(shape) + 1)
        shape.insert(still, rng.choice((2, 3)))
        strides.insert(still, Vector())
        layout = replace(layout, shape=tuple(shape), strides=tuple(strides))
    try:
        inverse = quasi_inverse(layout)
    except Refused:
        return REFUSED
    except NotDecided:
        return UNDECIDED
    for place, indices in owners(layout).items():
        assert index_at(inverse, layout, place) == indices[0], layout
    return ANSWERED


def check_right_inverse(rng: Random) -> str:
    layout = readable(rng)
    held = owners(layout)
    refused = None
    try:
        inverse = right_inverse(layout)
    except Refused as no:
        refused = no
    except NotDecided:
        return UNDECIDED
    if refused:
        assert layout.outer if refused.code == "TW504" else () not in held, layout
        return REFUSED
    extents = modes(inverse)
    assert len(extents) == len(layout.axes)
    for flat in range(prod(extents)):
        rest, steps = flat, {}
        for axis, extent in zip(reversed(layout.axes), reversed(extents), strict=True):
            rest, steps[axis.name] = divmod(rest, extent)
        place = tuple(sorted((name, count) for name, count in steps.items() if count))
        ((_, index),) = next(iter(naive_places(inverse, flat))) or (("m", 0),)
        assert index in held.get(place, ()), layout
    return ANSWERED


@pytest.mark.parametrize(
    ("check", "least"),
    [(check_left_inverse, 0.3), (check_quasi_inverse, 0.3), (check_right_inverse, 0.5)],
    ids=["left", "quasi", "right"],
)
def test_random_layouts(check, least, times):
    rng = Random(20)
    tally = Counter(check(rng) for _ in range(times(700)))
    print(check.__name__, dict(tally))
    assert tally[ANSWERED] >= least * times(700)
    assert tally[UNDECIDED] <= times(7)


# -- worked values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "layout", "expected"),
    [
        # CuTe's own examples; its modes and digits are mirrored here
        (left_inverse, S[(8, 4) : (5, 1)], S[((8, 5),) : ((4, 1),)]),
        (right_inverse, S[(8, 4) : (5, 1)], S[4:1]),
        (right_inverse, S[(4, 2) : (1, 0)], S[4:2]),
        (right_inverse, S[(4, 2, 2, 2) : (2, 0, 1, 0)], S[((4, 2),) : ((8, 2),)]),
        (quasi_inverse, S[(4, 2, 2, 2) : (2, 0, 1, 0)], S[((4, 2),) : ((8, 2),)]),
        (left_inverse, S[(4, 2, 2) : (1, 72, 12)], S[((2, 6, 12),) : ((2, 1, 4),)]),
        (
            right_inverse,
            Swizzle(3, 3, 3) @ S[(64, 8) : (1, 64)],
            Swizzle(3, 0, -6) @ S[((8, 64),) : ((1, 8),)],
        ),
        # an overlapping layout: a mode used up to where the next one begins
        (right_inverse, S[(2, 4) : (3, 1)], S[((2, 3),) : ((4, 1),)]),
        # several axes, one mode each
        (left_inverse, S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)], S[(32, 2) : (2, 1)]),
        (right_inverse, S[(2, 4, 8) : (1 @ reg, 1 @ laneid, 4 @ laneid)], S[(2, (8, 4)) : (32, (1, 8))]),
        # copies do not count
        (left_inverse, S[(4, 2) : (1 @ m, 8 @ m)] + R[2:4], S[((2, 2, 4),) : ((1, 0, 2),)]),
        (left_inverse, S[4 : 1 @ m] + R[2 : 1 @ gpuid_x], S[(4, 2) : (1, 0)]),
        (right_inverse, S[4:2] + R[2:1], S[((4, 2),) : ((1, 0),)]),
        # steps downwards, and offsets
        (left_inverse, S[8:-1] + 7, S[8:-1] + 7),
        (left_inverse, S[(4, 4) : (8, 1)] + 2, S[((4, 8),) : ((4, 1),)] - 2),
        (left_inverse, S[8:2] + 6, S[((11, 2),) : ((1, 0),)] - 3),
        (right_inverse, S[8:-1] + 3, S[4:-1] + 3),
        (right_inverse, S[(2, 4) : (4, 1)] - 2, S[6:1] + 2),
        # a diagonal digit is read on the axis that lets it be read
        (left_inverse, S[(4, 2) : (1 @ laneid + 2 @ warpid, 1 @ warpid)], S[(4, (4, 2)) : (2, (0, 1))]),
        # nothing moves
        (left_inverse, S[()], S[1:0]),
        (right_inverse, S[()], S[1:0]),
        (left_inverse, S[1 : 5 @ laneid], S[1:0]),
        (right_inverse, S[8:2], S[1:0]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_worked_values(operation, layout, expected):
    assert operation(layout) == expected


def test_the_words_of_a_layout_lead_here():
    layout = S[(4, 8) : (1, 4)]
    assert layout.inverse() == layout.left_inverse() == left_inverse(layout)
    assert layout.right_inverse() == right_inverse(layout)
    assert layout.quasi_inverse() == quasi_inverse(layout)


def test_an_index_is_an_element_whatever_places_count():
    assert left_inverse(S[4:2].counted("byte")).unit == "element"


@pytest.mark.parametrize("extents", [(1 << 20, 1 << 15, 1 << 15), (3**20, 5**10, 7**9)])
def test_cost_does_not_grow_with_the_size(extents):
    a, b, c = extents
    inverse = left_inverse(S[extents : (1, a, a * b)])
    assert inverse == S[((c, b, a),) : ((1, c, b * c),)]
    with pytest.raises(Refused, match="share"):
        left_inverse(S[(a, b) : (1, a - 1)])


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "layout", "code", "words"),
    [
        (left_inverse, S[(4, 2) : (1, 0)], "TW505", r"\(0, 0\) and \(0, 1\) share 0@m"),
        (left_inverse, S[(4, 4) : (4, 2)], "TW505", "share"),
        (left_inverse, S[4:1] + R[2:1], "TW505", "share"),
        (left_inverse, S[4:1] - 1, "TW505", "places on m begin at -1"),
        (left_inverse, S[(3, 3) : (8, 12)], "TW505", "step 12 is no multiple of step 8"),
        (left_inverse, S[(4, 8) : (1, 5)] + 2, "TW505", "do not read back digit by digit"),
        (left_inverse, Swizzle(1, 0, 1) @ S[(2, 3) : (3, 1)], "TW505", "bits that the swizzle permutes"),
        (left_inverse, Swizzle(1, 0, 1) @ S[(2, 3, 2) : (1, 4, 2)], "TW505", "bits of their own"),
        (left_inverse, Swizzle(1, 0, 1) @ S[2:1] + R[2:2], "TW505", "mixes a copy"),
        (quasi_inverse, S[(3, 3) : (8, 12)], "TW505", "no multiple"),
        (left_inverse, S[(2, 2) : (3, 2)], "TW505", "step 3 is no multiple of step 2"),
        (right_inverse, S[4:1] + 1, "TW505", "nothing lives at place 0"),
        (right_inverse, S[4 : 1 @ laneid + 1 @ reg] + 1 @ reg, "TW505", "nothing lives at place 0"),
        (right_inverse, S[4:3] - 1, "TW505", "nothing lives at place 0"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_refusals(operation, layout, code, words):
    with pytest.raises(Refused, match=words) as refused:
        operation(layout)
    assert refused.value.code == code
    assert refused.value.hint


def test_an_outer_offset_is_not_undone():
    layout = (1 @ m) @ (Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)])
    for operation in (left_inverse, quasi_inverse, right_inverse):
        with pytest.raises(Refused, match="after they are swizzled") as refused:
            operation(layout)
        assert refused.value.code == "TW504"


def test_an_undecided_question_is_no_answer(monkeypatch):
    monkeypatch.setattr("tilewise.core.solve.solutions.__defaults__", (5,))
    rng = Random(1)
    steps = tuple(rng.randrange(10**8, 10**9) for _ in range(10))
    with pytest.raises(NotDecided):
        right_inverse(S[(5,) * 10 : steps] - sum(steps) - 1)


# -- the order of the modes ----------------------------------------------------------------------


@pytest.mark.parametrize("inverse", [left_inverse, right_inverse, quasi_inverse])
def test_modes_are_in_the_order_of_the_axes_that_are_given(inverse):
    rng = Random(8)
    seen = 0
    while seen < 100:
        layout = readable(rng)
        if len(layout.axes) < 2:
            continue
        order = list(range(len(layout.axes)))
        rng.shuffle(order)
        try:
            plain = inverse(layout)
        except LayoutError:
            continue
        seen += 1
        assert inverse(layout, axes=layout.axes) == plain
        given = inverse(layout, axes=tuple(layout.axes[i] for i in order))
        assert given.same(plain.permute(*order)), layout


def test_axes_are_given_to_methods_too_by_name_or_as_they_are():
    fragment = S[(2, 4, 8) : (1 @ reg, 1 @ laneid, 4 @ laneid)]
    assert [len(modes(found)) for found in (fragment.inverse(), fragment.inverse(axes=("laneid", reg)))] == [
        2,
        2,
    ]
    assert modes(fragment.inverse()) == [2, 32]
    for name in ("inverse", "left_inverse", "right_inverse", "quasi_inverse"):
        assert modes(getattr(fragment, name)(axes=("laneid", reg))) == [32, 2]
    assert S[8 : 1 @ laneid].inverse(axes="laneid") == S[8:1]


@pytest.mark.parametrize("axes", [(reg,), (reg, reg), (reg, warpid), (), "reg", reg, 5, (reg, laneid, m)])
def test_axes_name_every_axis_once(axes):
    with pytest.raises(LayoutError, match=r"no order of the layout's axes, reg, laneid") as refused:
        left_inverse(S[(2, 32) : (1 @ reg, 1 @ laneid)], axes=axes)
    assert refused.value.code == "TW203"


# -- how much is answered --------------------------------------------------------------------------


def test_the_right_inverse_is_the_largest_there_is(times):
    """For steps from 0 up that share no place: no longer run of places has indices that are a layout."""
    rng = Random(4)
    seen = 0
    while seen < times(300):
        extents = tuple(rng.choice((2, 3, 4)) for _ in range(rng.choice((1, 2, 3))))
        layout = S[extents : tuple(rng.randint(1, 12) for _ in extents)]
        if not layout.injective:
            continue
        seen += 1
        held = owners(layout)
        run: list[int] = []
        while (found := held.get((("m", len(run)),) if run else ())) is not None:
            run += found
        largest = max(n for n in range(1, len(run) + 1) if is_layout(run[:n]))
        assert right_inverse(layout).size == largest, layout


def is_layout(values: list[int]) -> bool:
    """Return whether a list is the values of one mode of digits, by taking digits off one after the other."""
    if len(values) < 2:
        return True
    for extent in range(len(values), 1, -1):
        if len(values) % extent == 0:
            rows = [values[i : i + extent] for i in range(0, len(values), extent)]
            straight = all(
                row[j] - row[0] == j * (values[1] - values[0]) for row in rows for j in range(extent)
            )
            if straight and is_layout([row[0] for row in rows]):
                return True
    return False


def test_share_of_left_inverses_answered():
    """Of small layouts that share no place, the rule answers more than half."""
    rng = Random(9)
    tally: Counter[bool] = Counter()
    while tally.total() < 400:
        extents = tuple(rng.randint(2, 4) for _ in range(rng.choice((1, 2, 3))))
        layout = S[extents : tuple(rng.randint(1, 12) for _ in extents)]
        if not layout.injective:
            continue
        try:
            left_inverse(layout)
            tally[True] += 1
        except LayoutError:
            tally[False] += 1
    print("left inverses", dict(tally))
    assert tally[True] > 0.6 * tally.total()
