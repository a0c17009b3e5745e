"""Axes renamed, split, fused and dropped, and modes that stand still, against their definition listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tilewise import (
    Axis,
    Layout,
    LayoutError,
    NotDecided,
    O,
    R,
    Refused,
    S,
    Swizzle,
    TLane,
    laneid,
    m,
    reg,
    warpid,
)
from tilewise.core.algebra.places import broadcast, footprint, fuse_axes, relabel, split_axis
from tilewise.core.axes import KNOWN, SPLITS
from tilewise.core.layout import Iter
from tilewise.core.shapes import coordinates, extents_of, flat_index, leaves
from tilewise.core.vectors import Vector
from tilewise.testing import Map, Place, as_place, naive_digits, naive_facts, naive_map
from tilewise.testing.generate import BUFFER, nested, random_layout

ANSWERED, REFUSED, UNDECIDED = "answered", "refused", "undecided"

tx, wgid, tid_in_wg, wid_in_wg, bx = map(Axis, ("tx", "wgid", "tid_in_wg", "wid_in_wg", "bx"))

# -- the naive definition --------------------------------------------------------------------------


def each(places: Map, change: Callable[[dict[str, int]], dict[str, int]]) -> Map:
    return [frozenset(as_place(change(dict(place))) for place in held) for held in places]


def naive_split(places: Map, axis: str, high: str, count: int, low: str) -> Map:
    def change(steps: dict[str, int]) -> dict[str, int]:
        at = steps.pop(axis, 0)
        return steps | {high: at // count, low: at % count}

    return each(places, change)


def naive_fuse(places: Map, axis: str, high: str, count: int, low: str) -> Map:
    def change(steps: dict[str, int]) -> dict[str, int]:
        at = count * steps.pop(high, 0) + steps.pop(low, 0)
        return steps | {axis: at}

    return each(places, change)


def held_by_owners(places: Map, dropped: set[str]) -> dict[Place, set[Place]]:
    """{owner: what it holds}."""
    held: dict[Place, set[Place]] = {}
    for place in {place for of_one in places for place in of_one}:
        owner = tuple(term for term in place if term[0] in dropped)
        held.setdefault(owner, set()).add(tuple(term for term in place if term[0] not in dropped))
    return held


def is_layout(values: list[Place]) -> bool:
    """Return whether a map of one digit is a layout of its extent: by trying every list of factors."""
    points = [dict(place) for place in values]
    axes = sorted({name for point in points for name in point})
    vectors = [tuple(point.get(name, 0) for name in axes) for point in points]
    return any(_fits(vectors, extents) for extents in _factorisations(len(values)))


def _fits(vectors: list[tuple[int, ...]], extents: tuple[int, ...]) -> bool:
    places, place = [], 1
    for extent in reversed(extents):
        places.append(place)
        place *= extent
    strides = [tuple(b - a for a, b in zip(vectors[0], vectors[p], strict=True)) for p in reversed(places)]
    for x, vector in enumerate(vectors):
        digits = naive_digits(x, extents)
        total = [
            a + sum(d * s[i] for d, s in zip(digits, strides, strict=True)) for i, a in enumerate(vectors[0])
        ]
        if tuple(total) != vector:
            return False
    return True


def _factorisations(number: int) -> list[tuple[int, ...]]:
    if number == 1:
        return [()]
    firsts = [first for first in range(2, number + 1) if number % first == 0]
    return [(first, *rest) for first in firsts for rest in _factorisations(number // first)]


def exists_over_digits(places: Map, extents: tuple[int, ...]) -> bool:
    """Return whether a map without copies is a sum of layouts of its digits."""
    points = [dict(next(iter(held))) for held in places]
    axes = sorted({name for point in points for name in point})
    first = points[0]
    alone = []
    for i in range(len(extents)):
        values = []
        for x in range(extents[i]):
            digits = [0] * len(extents)
            digits[i] = x
            values.append(points[flat_index(tuple(digits), extents)])
        if not is_layout([as_place(v) for v in values]):
            return False
        alone.append(values)
    for flat, point in enumerate(points):
        for name in axes:
            moved = sum(
                alone[i][d].get(name, 0) - first.get(name, 0)
                for i, d in enumerate(naive_digits(flat, extents))
            )
            if point.get(name, 0) - first.get(name, 0) != moved:
                return False
    return True


def asked(make: Callable[[], Layout]) -> Layout | Refused | NotDecided:
    """Return the answer of an operation, refusals as values."""
    try:
        return make()
    except (Refused, NotDecided) as no:
        return no


# -- drawing ---------------------------------------------------------------------------------------

STEPS = (0, 1, 1, 1, 2, 3, 4, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, -1, -2, -4, -8)


def on_axes(rng: Random, axes: list[Axis], copies: bool = True, max_size: int = 96) -> Layout:
    """Steps of threads and elements, mostly powers of two, on some axes."""
    extents: list[int] = []
    size = 1
    for _ in range(rng.randint(0, 4)):
        extent = rng.choice((1, 2, 2, 3, 4, 4, 6, 8, 12, 16, 32))
        if size * extent <= max_size:
            extents.append(extent)
            size *= extent

    def step() -> Vector:
        terms = [(rng.choice(axes), rng.choice(STEPS)) for _ in range(rng.choice((1, 1, 1, 2)))]
        return Vector(tuple(terms))

    layout = Layout(nested(rng, extents), tuple(step() for _ in extents))
    if copies and rng.random() < 0.3:
        layout = replace(
            layout,
            replica=tuple(Iter(rng.choice((2, 2, 3, 4)), step()) for _ in range(rng.choice((1, 1, 2)))),
        )
    for axis in axes:
        if rng.random() < 0.4:
            layout = layout + rng.choice((1, 3, 4, 16, 32, 40, -1, -32)) @ axis
    storage = [axis for axis in axes if axis.kind == "storage"]
    if storage and rng.random() < 0.4:
        bits, axis = rng.choice((1, 1, 2, 3)), rng.choice(storage)
        swizzle = Swizzle(bits, rng.choice((0, 1, 2, 3)), rng.choice((bits, bits + 1, -bits)), axis)
        layout = layout.swizzled((swizzle,), rng.choice((0, 0, 1, 8, 32)) @ axis)
    return layout


# -- one random case an operation ------------------------------------------------------------------


def check_split_axis(rng: Random) -> str:
    axis = rng.choice((tx, tx, tx, Axis("warpid"), tid_in_wg, m, BUFFER))
    layout = on_axes(rng, rng.choice(([axis], [axis, axis, reg], [axis, reg, bx])), rng.random() < 0.5)
    if axis not in layout.axes:
        layout = layout + 5 @ axis
    into = None
    high, count, low = rng.choice(
        SPLITS.get(axis.name, ()) or (("high", rng.choice((2, 4, 6, 8, 16, 64)), "low"),)
    )
    if rng.random() < 0.3 or axis.name not in SPLITS:
        count = rng.choice((count, 2, 3, 4, 8, 16, 64))
        into = (high, count, low)
    elif (high, count, low) != SPLITS[axis.name][0] or rng.random() < 0.5:
        into = (high, low)
    expected = naive_split(naive_map(layout), axis.name, high, count, low)
    made = asked(lambda: split_axis(layout, axis.name, into))
    if isinstance(made, NotDecided):
        return UNDECIDED
    if isinstance(made, Refused):
        assert made.code in ("TW501", "TW504")
        flat = tuple(leaves(layout.shape)) == layout.shape
        if made.code == "TW501" and flat and not layout.replica and not layout.swizzles:
            assert not exists_over_digits(expected, extents_of(layout.shape)), (layout, axis, into)
        return REFUSED
    assert naive_map(made) == expected
    if len(layout.shape) != 1:
        assert extents_of(made.shape) == extents_of(layout.shape)
    assert fuse_axes(made, (high, count, low), axis).same(layout)
    return ANSWERED


def check_fuse_axes(rng: Random) -> str:
    pairs = [(axis, *fact) for axis, facts in SPLITS.items() for fact in facts]
    into, high, count, low = rng.choice([*pairs, ("buf", "m", rng.choice((4, 6, 16, 64)), "reg")])
    known = (into, high, count, low) in pairs
    axes = [Axis(high), Axis(low), *rng.choice(([], [bx], [reg] if known else [bx]))]
    layout = on_axes(rng, axes)
    if not {high, low} & {axis.name for axis in layout.offset.axes}:
        layout = layout + 3 @ Axis(low)
    facts = naive_facts(layout).extremes.get(low, (0, 0))
    names = (high, low) if known else (high, count, low)
    to = into if rng.random() < 0.5 or not known else None
    made = asked(lambda: fuse_axes(layout, names, to))
    if isinstance(made, NotDecided):
        return UNDECIDED
    if isinstance(made, Refused):
        if made.code == "TW502":
            assert facts[1] - facts[0] >= count
            ends = [{dict(p).get(low, 0) for p in naive_map(layout)[flat]} for flat in made.witness]
            assert facts[0] in ends[0]
            assert facts[1] in ends[1]
        else:
            assert made.code == "TW504"
            assert layout.swizzled_axis
        return REFUSED
    assert naive_map(made) == naive_fuse(naive_map(layout), into, high, count, low)
    if facts[0] >= 0 and facts[1] < count and not layout.swizzles:
        assert split_axis(made, into, (high, count, low)).same(layout)
    return ANSWERED


def check_footprint(rng: Random) -> str:
    layout = (
        random_layout(rng, 48)
        if rng.random() < 0.5
        else on_axes(rng, rng.choice(([tx, m], [laneid, bx, reg], [laneid, m, Axis("gpuid_x")])))
    )
    named = [axis.name for axis in layout.axes if rng.random() < 0.5] if rng.random() < 0.3 else []
    dropped = set(named) or {axis.name for axis in layout.axes if axis.kind != "storage"}
    held = held_by_owners(naive_map(layout), dropped)
    made = asked(lambda: footprint(layout, *named))
    if isinstance(made, Refused):
        assert made.code == "TW509"
        assert len(set(map(frozenset, held.values()))) > 1
        assert all(0 <= flat < layout.size for flat in made.witness)
        return REFUSED
    image = {place for of_one in naive_map(made) for place in of_one}
    assert all(of_owner == image for of_owner in held.values())
    assert len(made.shape) == len(layout.shape)
    return ANSWERED


def check_relabel(rng: Random) -> str:
    layout = random_layout(rng, 48)
    some = rng.sample(layout.axes, rng.randint(1, len(layout.axes)))
    new = ["tx", "reg", "m", "buf", "own", "other", "gpuid_y", "laneid"]
    names = {axis.name: rng.choice([*new, axis.name]) for axis in some}
    made = asked(lambda: relabel(layout, names))
    if isinstance(made, Refused):
        assert made.code == "TW509"
        after = [names.get(axis.name, axis.name) for axis in layout.axes]
        storage = {axis.name: axis.kind == "storage" for axis in layout.axes}
        changed = any(
            (old in KNOWN or Axis(old).kind == "device" or storage[old])
            and storage[old]
            != (Axis(to).kind == "storage" or (Axis(to).kind == "owner" and to not in KNOWN and storage[old]))
            for old, to in names.items()
        )
        assert changed or len(set(after)) < len(after)
        return REFUSED
    assert naive_map(made) == each(
        naive_map(layout), lambda steps: {names.get(n, n): s for n, s in steps.items()}
    )
    return ANSWERED


def check_broadcast(rng: Random) -> str:
    layout = random_layout(rng, 48)
    extent, rank = rng.randint(1, 4), len(layout.shape)
    position = rng.randint(0, rank)
    made = broadcast(layout, extent, position)
    before = naive_map(layout)
    for flat, held in enumerate(naive_map(made)):
        index = coordinates(flat, made.shape)
        assert held == before[flat_index((*index[:position], *index[position + 1 :]), layout.shape)]
    return ANSWERED


CHECKS = [check_split_axis, check_fuse_axes, check_footprint, check_relabel, check_broadcast]


@pytest.mark.parametrize("check", CHECKS)
def test_random_cases(check, times):
    tally = Counter(check(Random(f"{check.__name__} {number}")) for number in range(times(300)))
    assert tally[ANSWERED] > times(150)
    assert tally[REFUSED] > times(20) or check is check_broadcast
    assert tally[UNDECIDED] <= times(3)


# -- worked values ---------------------------------------------------------------------------------

SPLIT = [
    (S[128 : 1 @ tx], "tx", None, S[(4, 32) : (1 @ warpid, 1 @ laneid)]),
    (S[256 : 1 @ tx], "tx", ("wgid", "tid_in_wg"), S[(2, 128) : (1 @ wgid, 1 @ tid_in_wg)]),
    (S[(2, 4) : (4 @ warpid, 1 @ warpid)], "warpid", None, S[(2, 4) : (1 @ wgid, 1 @ wid_in_wg)]),
    (S[(8, 4) : (4 @ tid_in_wg, 1 @ reg)], "tid_in_wg", None, S[(8, 4) : (4 @ laneid, 1 @ reg)]),
    # waves of 64 lanes, which is no fact of the default target
    (S[128 : 1 @ tx], "tx", ("warpid", 64, "laneid"), S[(2, 64) : (1 @ warpid, 1 @ laneid)]),
    # offsets and copies split as digits do, and places before 0 have a remainder as well
    (
        S[32 : 1 @ tx] + R[2 : 32 @ tx] + 96 @ tx,
        "tx",
        None,
        S[32 : 1 @ laneid] + R[2 : 1 @ warpid] + 3 @ warpid,
    ),
    (S[32 : -1 @ tx] - 1 @ tx, "tx", None, S[32 : -1 @ laneid] - 1 @ warpid + 31 @ laneid),
    (S[8 : 1 @ tx + 2 @ reg] + 8 @ tx, "tx", None, S[8 : 1 @ laneid + 2 @ reg] + 8 @ laneid),
    # from the middle of a warp to the middle of the next
    (S[32 : 1 @ tx] + 16 @ tx, "tx", None, S[(2, 16) : (1 @ warpid - 16 @ laneid, 1 @ laneid)] + 16 @ laneid),
    # addresses to rows and columns: the swizzle stays with the bits that it moves
    (Swizzle(1, 3, 1) @ S[32:1], "m", ("row", 8, "column"), "rows"),
    (Swizzle(1, 0, 1) @ S[32:1], "m", ("row", 8, "column"), "columns"),
]

row, column = Axis("row", storage=True), Axis("column", storage=True)
SWIZZLED = {
    "rows": Swizzle(1, 0, 1, row) @ S[(4, 8) : (1 @ row, 1 @ column)],
    "columns": Swizzle(1, 0, 1, column) @ S[(4, 8) : (1 @ row, 1 @ column)],
}


@pytest.mark.parametrize(("layout", "axis", "into", "expected"), SPLIT)
def test_splits(layout, axis, into, expected):
    made = split_axis(layout, axis, into)
    assert layout.split_axis(axis, into) == made
    assert made.same(SWIZZLED[expected] if isinstance(expected, str) else expected)


NO_DIGIT = {"digit": 0, "extent": 40, "unit": 1, "positions": (24, 40)}

REFUSED_SPLITS = [
    # 40 threads from lane 8 on: no digits of 40 carry at 24
    (S[40 : 1 @ tx] + 8 @ tx, "tx", None, "TW501", NO_DIGIT),
    (S[(4, 4) : (20 @ tx, 4 @ tx)], "tx", None, "TW501", None),
    (Swizzle(1, 2, 2) @ S[32:1], "m", ("row", 8, "column"), "TW504", 8),
    (S[(2, 2) : (32 @ tx, 1 @ laneid)], "tx", None, "TW509", "laneid"),
]


@pytest.mark.parametrize(("layout", "axis", "into", "code", "witness"), REFUSED_SPLITS)
def test_splits_refused(layout, axis, into, code, witness):
    with pytest.raises(Refused) as no:
        split_axis(layout, axis, into)
    assert no.value.code == code
    assert witness is None or no.value.witness == witness
    assert no.value.hint


FUSED = [
    # an offset on both axes: both count
    (
        S[(4, 32) : (1 @ warpid, 1 @ laneid)] + 2 @ warpid + 3 @ laneid,
        "warpid laneid",
        None,
        S[128 : 1 @ tx] + 67 @ tx,
    ),
    (S[(2, 4) : (1 @ wgid, 1 @ wid_in_wg)], "wgid wid_in_wg", None, S[(2, 4) : (4 @ warpid, 1 @ warpid)]),
    (
        S[(2, 4, 32) : (1 @ wgid, 1 @ wid_in_wg, 1 @ laneid)] + R[2 : 2 @ wgid],
        "wgid wid_in_wg laneid",
        None,
        S[256 : 1 @ tx] + R[2 : 256 @ tx],
    ),
    (S[(2, 128) : (1 @ wgid, 1 @ tid_in_wg)], "wgid tid_in_wg", "tx", S[256 : 1 @ tx]),
    (S[8 : 1 @ laneid] + 3 @ reg, "warpid laneid", None, S[8 : 1 @ tx] + 3 @ reg),
    (S[4 : 1 @ warpid], "warpid laneid", "thread", S[4 : 32 @ Axis("thread")]),
    (S[4 : 1 @ warpid + 1 @ laneid], "warpid laneid", None, S[4 : 33 @ tx]),
    # the grid stands beside it, and nothing hangs
    (S[(3, 4, 32) : (1 @ bx, 1 @ warpid, 1 @ laneid)], "warpid laneid", None, S[(3, 128) : (1 @ bx, 1 @ tx)]),
    (S[(3, 128) : (1 @ bx, 1 @ tx)], ("bx", 128, "tx"), "thread", S[384 : 1 @ Axis("thread")]),
    (
        Swizzle(1, 0, 1, row) @ S[(4, 8) : (1 @ row, 1 @ column)] + 3 @ column,
        ("row", 8, "column"),
        m,
        O[3 @ m] @ Swizzle(1, 3, 1) @ S[32:1],
    ),
    (
        Swizzle(1, 0, 1, column) @ S[(4, 8) : (1 @ row, 1 @ column)] + 8 @ row,
        ("row", 8, "column"),
        m,
        Swizzle(1, 0, 1) @ (S[32:1] + 64),
    ),
]


@pytest.mark.parametrize(("layout", "axes", "into", "expected"), FUSED)
def test_fusions(layout, axes, into, expected):
    names = tuple(axes.split()) if isinstance(axes, str) else axes
    made = fuse_axes(layout, names, into)
    assert made.same(expected)
    assert layout.fuse_axes(names, into) == made


REFUSED_FUSIONS = [
    (S[64 : 1 @ laneid], ("warpid", "laneid"), None, "TW502", (0, 63)),
    (S[8 : -8 @ laneid] + R[2 : 1 @ laneid], ("warpid", "laneid"), None, "TW502", (7, 0)),
    (S[(2, 2) : (1 @ laneid, 1 @ tx)], ("warpid", "laneid"), None, "TW509", "tx"),
    (S[(2, 2) : (1 @ laneid, 1 @ reg)], ("reg", 32, "laneid"), "m", "TW509", ("m", "reg", "laneid")),
    (Swizzle(1, 0, 1, row) @ S[(4, 6) : (1 @ row, 1 @ column)], ("row", 6, "column"), m, "TW504", 6),
    (Swizzle(1, 0, 1, column) @ S[(4, 6) : (1 @ row, 1 @ column)], ("row", 10, "column"), m, "TW504", 10),
]


@pytest.mark.parametrize(("layout", "axes", "into", "code", "witness"), REFUSED_FUSIONS)
def test_fusions_refused(layout, axes, into, code, witness):
    with pytest.raises(Refused) as no:
        fuse_axes(layout, axes, into)
    assert (no.value.code, no.value.witness) == (code, witness)
    assert no.value.hint


def test_the_facts_of_splitting_agree_with_the_extents_of_axes():
    for axis, facts in SPLITS.items():
        for high, count, low in facts:
            assert {axis, high, low} <= KNOWN.keys()
            assert KNOWN[low].extent == count
            whole, parts = KNOWN[axis].extent, KNOWN[high].extent
            assert whole is None or whole == parts * count


FOOTPRINTS = [
    (S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)], (), S[(1, 1, 2) : (0, 0, 1 @ reg)]),
    (
        S[(8, (4, 2)) : (4 @ laneid, (1 @ laneid, 1 @ reg))] + R[2 : 4 @ warpid] + 5 @ warpid,
        (),
        S[(1, 2) : (0, 1 @ reg)],
    ),
    (
        S[(2, 4, 8) : (1 @ Axis("gpuid_y"), 8 @ m, 1 @ m)] + R[2 : 1 @ Axis("gpuid_x")] + R[2 : 64 @ m] + 5,
        (),
        S[(1, 4, 8) : (0, 8, 1)] + R[2:64] + 5,
    ),
    # copies of one element in other places of one owner stay; elements that share a place as well
    (S[(4, 2) : (1 @ laneid, 0)] + 3 @ reg, (), S[(1, 2) : (0, 0)] + 3 @ reg),
    # the owners that are kept are named in the places
    (S[(2, 32, 4) : (1 @ warpid, 1 @ laneid, 1 @ reg)], ("laneid",), S[(2, 1, 4) : (1 @ warpid, 0, 1 @ reg)]),
    (Swizzle(1, 0, 1) @ S[(4, 4) : (1 @ laneid, 1 @ m)], (), Swizzle(1, 0, 1) @ S[(1, 4) : (0, 1)]),
    (Swizzle(1, 0, 1) @ S[(4, 4) : (1 @ laneid, 1 @ m)], ("m",), S[(4, 1) : (1 @ laneid, 0)]),
    # axes of one's own are owners, and so are the CTAs of the grid
    (S[(3, 128, 4) : (1 @ bx, 1 @ tx, 1 @ m)], (), S[(1, 1, 4) : (0, 0, 1)]),
    (S[((2, 2), 2) : ((1 @ Axis("own"), 2), 1)], (), S[(2, 2) : (2, 1)]),
    (S[8:1], ("laneid",), S[8:1]),
    (S[(128, 8) : (1 @ TLane, 1 @ Axis("TCol"))], (), S[(1, 8) : (0, 1 @ Axis("TCol"))]),
]


@pytest.mark.parametrize(("layout", "axes", "expected"), FOOTPRINTS)
def test_footprints(layout, axes, expected):
    assert footprint(layout, *axes) == expected
    assert layout.footprint(*axes) == expected


def test_a_diagonal_has_no_footprint():
    for layout, witness in (
        (S[(2, 4) : (2 @ laneid + 1 @ m, 4 @ m)], (0, 4)),
        (S[4:1] + R[2 : 1 @ laneid + 4 @ m], (0, 0)),
    ):
        with pytest.raises(Refused) as no:
            footprint(layout)
        assert (no.value.code, no.value.witness) == ("TW509", witness)
    assert footprint(S[(1, 4) : (2 @ laneid + 1 @ m, 4 @ m)]) == S[(1, 4) : (1, 4)]


def test_names():
    swizzled = Swizzle(1, 0, 1, reg) @ S[(2, 2) : (1 @ laneid, 1 @ reg)]
    assert relabel(swizzled, {reg: "m"}) == Swizzle(1, 0, 1) @ S[(2, 2) : (1 @ laneid, 1 @ m)]
    assert relabel(swizzled, {"reg": "buf"}).axes == (laneid, Axis("buf", storage=True))
    assert relabel(swizzled, {"reg": "buf"}).swizzled_axis.kind == "storage"
    swapped = relabel(S[(2, 2) : (1 @ laneid, 2 @ warpid)], {"laneid": "warpid", "warpid": "laneid"})
    assert swapped == S[(2, 2) : (1 @ warpid, 2 @ laneid)]
    assert relabel(S[4 : 1 @ Axis("e1")], {"e1": "TCol"}) == S[4 : 1 @ Axis("TCol")]
    assert relabel(S[4 : 1 @ Axis("gpuid_x")], {"gpuid_x": "gpuid_z"}).span("gpuid_z") == 4


REFUSED_NAMES = [
    (S[(2, 2) : (1 @ laneid, 1 @ tx)], {"laneid": "tx"}, ("laneid", "tx")),
    (S[(2, 2) : (1 @ laneid, 1 @ tx)], {"laneid": "own", "tx": "own"}, ("laneid", "tx")),
    (S[2:1], {"m": "laneid"}, ("m", "laneid")),
    (S[2 : 1 @ laneid], {"laneid": "reg"}, ("laneid", "reg")),
    (S[2 : 1 @ BUFFER], {"buf": Axis("other")}, ("buf", "other")),
]


@pytest.mark.parametrize(("layout", "names", "witness"), REFUSED_NAMES)
def test_names_refused(layout, names, witness):
    with pytest.raises(Refused) as no:
        relabel(layout, names)
    assert (no.value.code, no.value.witness) == ("TW509", witness)


NO_QUESTIONS = [
    (lambda: relabel(S[4:1], {"reg": "m"}), "TW203"),
    (lambda: split_axis(S[4:1], "tx"), "TW203"),
    (lambda: split_axis(S[4:1], "m"), "TW103"),
    (lambda: split_axis(S[4 : 1 @ tx], "tx", ("warpid", "tid_in_wg")), "TW103"),
    (lambda: split_axis(S[4 : 1 @ tx], "tx", ("a", 4, "a")), "TW103"),
    (lambda: split_axis(S[4 : 1 @ tx], "tx", ("a", 0, "b")), "TW102"),
    (lambda: fuse_axes(S[4:1], ("warpid", "laneid")), "TW203"),
    (lambda: fuse_axes(S[4 : 1 @ laneid], ("laneid", "warpid")), "TW103"),
    (lambda: fuse_axes(S[4 : 1 @ laneid], ("wgid", "laneid")), "TW103"),
    (lambda: fuse_axes(S[4 : 1 @ laneid], ("warpid", "laneid"), "tid_in_wg"), "TW103"),
    (lambda: fuse_axes(S[4 : 1 @ laneid], ("a", 4, "laneid")), "TW103"),
    (lambda: footprint(S[4:1], "lanid"), "TW203"),
    (lambda: broadcast(S[4:1], 0), "TW102"),
    (lambda: broadcast(S[4:1], 2, 2), "TW201"),
    (lambda: broadcast(S[4:1], 2, -1), "TW201"),
]


@pytest.mark.parametrize(("question", "code"), NO_QUESTIONS)
def test_what_is_no_question(question, code):
    with pytest.raises(LayoutError) as error:
        question()
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


def test_modes_that_stand_still():
    assert broadcast(S[((2, 2), 4) : ((8, 4), 1)], 3, 1) == S[((2, 2), 3, 4) : ((8, 4), 0, 1)]
    assert S[4:1].broadcast(2, 1) == S[(4, 2) : (1, 0)]
    assert S[()].broadcast(2) == S[2:0]


def test_digits_are_counted_not_elements():
    huge = S[(2**30, 2**20) : (2**20 @ tx, 1 @ tx)]
    split = split_axis(huge, "tx")
    assert split.place(2**50 - 1) == (2**45 - 1) @ warpid + 31 @ laneid
    assert fuse_axes(split, ("warpid", "laneid")).same(huge)
    assert footprint(split).size == 1


def test_split_axis_keeps_the_flat_index_of_one_mode_in_cutes_order():
    layout = S[64 : 1 @ tx].ordered("cute")
    split = layout.split_axis("tx")
    assert [split.place(flat).as_dict() for flat in (1, 32)] == [
        {"laneid": 1, "warpid": 0},
        {"laneid": 0, "warpid": 1},
    ]
