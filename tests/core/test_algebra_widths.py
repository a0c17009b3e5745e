"""Packing, unpacking and recasting against their definition listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import gcd
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
    TCol,
    TLane,
    laneid,
    m,
    reg,
)
from tilewise.core.algebra.widths import pack, recast, unpack
from tilewise.core.dtypes import DTYPES
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.vectors import ZERO
from tilewise.testing import Map, Place, as_place, naive_map
from tilewise.testing.generate import random_layout

ANSWERED, REFUSED, UNDECIDED, SKIPPED = "answered", "refused", "undecided", "skipped"

STORAGE = {"m", "reg", "TCol", "buf"}

# -- the naive definition --------------------------------------------------------------------------


def moved(place: Place, factor: int, axis: str, steps: int) -> Place:
    """Storage times a factor, then some steps further along an axis."""
    scaled = {name: s * factor if name in STORAGE else s for name, s in place}
    return as_place(scaled | {axis: scaled.get(axis, 0) + steps})


def naive_unpack(places: Map, count: int, axis: str, factor: int, step: int = 1) -> Map:
    return [
        frozenset(moved(place, factor, axis, j * step) for place in held)
        for held in places
        for j in range(count)
    ]


def naive_pack(places: Map, count: int, axis: str, divisor: int) -> Map | None:
    """Every `count` neighbours as one, places divided; None where they are no neighbours or do not divide."""
    packed = []
    for start in range(0, len(places), count):
        first = places[start]
        if any(steps % divisor for place in first for name, steps in place if name in STORAGE):
            return None
        if any(places[start + j] != {moved(p, 1, axis, j) for p in first} for j in range(count)):
            return None
        packed.append(
            frozenset(as_place({n: s // divisor if n in STORAGE else s for n, s in p}) for p in first)
        )
    return packed


def asked(make: Callable[[], Layout]) -> Layout | Refused | NotDecided:
    """Return the answer of an operation, refusals as values."""
    try:
        return make()
    except (Refused, NotDecided) as no:
        return no


# -- one random case an operation ------------------------------------------------------------------


def draw(rng: Random) -> Layout:
    layout = random_layout(rng, 24)
    if rng.random() < 0.3:
        layout = replace(layout, swizzles=(), outer=ZERO)
    return replace(layout, unit="element")


def storage_of(layout: Layout) -> list[Axis]:
    """The storage axes that a layout moves on, or else names, or else m."""
    named = [axis for axis in layout.axes if axis.name in STORAGE]
    moving = [
        axis for axis in named if any(dict(p).get(axis.name) for held in naive_map(layout) for p in held)
    ]
    return moving or named or [m]


def check_unpack(rng: Random) -> str:
    layout, count = draw(rng), rng.choice((1, 2, 2, 2, 3, 4, 8))
    axis = rng.choice(storage_of(layout))
    made = asked(lambda: unpack(layout, count, axis))
    if isinstance(made, Refused):
        assert made.code == "TW504"
        assert count & (count - 1)
        return REFUSED
    assert naive_map(made) == naive_unpack(naive_map(layout), count, axis.name, count)
    *others, last = extents_of(layout.shape) or (1,)
    assert extents_of(made.shape) == (*others, last * count) or (count == 1 and made == layout)
    assert pack(made, count, axis).same(layout)
    return ANSWERED


def check_pack(rng: Random) -> str:
    count = rng.choice((1, 2, 2, 2, 3, 4))
    layout = packable(rng, count) if rng.random() < 0.6 else draw(rng)
    axis = rng.choice(storage_of(layout))
    expected = None
    if not (extents_of(layout.shape) or (1,))[-1] % count:
        expected = naive_pack(naive_map(layout), count, axis.name, count)
    made = asked(lambda: pack(layout, count, axis))
    if isinstance(made, NotDecided):
        return UNDECIDED
    if isinstance(made, Refused):
        assert made.code == "TW508"
        assert expected is None, (layout, count, axis, made)
        check_witness(layout, count, axis, made)
        return REFUSED
    assert naive_map(made) == expected
    return ANSWERED


def test_copies_under_a_swizzle_are_packed_all_or_none():
    """Every copy of element 0 is even, and those of element 1 are not all one further."""
    layout = Swizzle(3, 0, 3) @ (S[2:1] + R[(2, 2) : (7, 7)] + 2)
    assert sorted(place["m"] for place in layout.places(0)) == [2, 8, 18]
    assert sorted(place["m"] for place in layout.places(1)) == [3, 11, 19]
    with pytest.raises(Refused) as no:
        pack(layout, 2)
    assert no.value.witness == 1
    check_witness(layout, 2, m, no.value)


def packable(rng: Random, count: int) -> Layout:
    """A layout whose last digit is a run, unpacked or written by hand, at times not aligned."""
    layout = draw(rng)
    axis = rng.choice(storage_of(layout))
    try:
        layout = unpack(layout, count, axis)
    except Refused:
        return layout
    if rng.random() < 0.2:
        layout = layout + rng.choice((1, 2, -count)) @ axis
    if rng.random() < 0.2 and len(list(leaves(layout.shape))) > 1:
        mode = tuple(leaves(layout.shape))
        layout = replace(layout, shape=(mode,))
    return layout


def check_witness(layout: Layout, count: int, axis: Axis, no: Refused) -> None:
    """The witness alone shows that there is no pack."""
    if isinstance(no.witness, tuple):
        assert no.witness[0] % no.witness[1]
        return
    places = naive_map(layout)
    flat = no.witness
    first = places[flat - flat % count]
    if flat % count:
        assert places[flat] != {moved(p, 1, axis.name, flat % count) for p in first}
    else:
        assert any(steps % count for place in first for name, steps in place if name in STORAGE)


def check_recast(rng: Random) -> str:
    old, new = rng.choices([d for d in DTYPES.values() if d.bits > 1], k=2)
    layout = replace(draw(rng), unit=rng.choice(("element", "element", "byte", "bit")))
    piece = gcd(old.bits, new.bits)
    if rng.random() < 0.7 and layout.unit == "element":
        layout = packable(rng, new.bits // piece)
    axis = rng.choice(storage_of(layout))
    made = asked(lambda: recast(layout, old, new, axis))
    if isinstance(made, NotDecided):
        return UNDECIDED
    divisor = {"element": new.bits, "byte": 8, "bit": 1}[layout.unit]
    expected = None
    if not (extents_of(layout.shape) or (1,))[-1] * old.bits % new.bits:
        expected = naive_pack(bits_held(layout, old.bits, axis), new.bits, axis.name, divisor)
    if isinstance(made, Refused):
        assert made.code in ("TW504", "TW508")
        assert expected is None or made.code == "TW504", (layout, old, new, axis, made)
        return REFUSED
    assert made.unit == layout.unit
    assert naive_map(made) == expected
    return ANSWERED


def bits_held(layout: Layout, width: int, axis: Axis) -> Map:
    """The places of every bit of every element, in order."""
    unit = {"element": width, "byte": 8, "bit": 1}[layout.unit]
    return naive_unpack(naive_map(layout), width, axis.name, unit)


CHECKS = [check_unpack, check_pack, check_recast]


@pytest.mark.parametrize("check", CHECKS)
def test_random_cases(check, times):
    tally = Counter(check(Random(f"{check.__name__} {number}")) for number in range(times(300)))
    assert tally[ANSWERED] > times(120)
    assert tally[REFUSED] > times(3)
    assert tally[UNDECIDED] <= times(3)


# -- worked values ---------------------------------------------------------------------------------

UNPACKED = [
    # lanes and lanes of tensor memory are owners: never scaled; copies and offsets of storage are
    (S[(8, 4) : (4 @ laneid, 1 @ m)], 2, S[(8, (4, 2)) : (4 @ laneid, (2 @ m, 1 @ m))]),
    (S[32 : 1 @ laneid] + 3 @ reg, 4, S[((32, 4),) : ((1 @ laneid, 1 @ reg),)] + 12 @ reg),
    (
        S[(32, 4) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane] + R[2 : 8 @ TCol],
        4,
        S[(32, (4, 4)) : (1 @ TLane, (4 @ TCol, 1 @ TCol))] + R[4 : 32 @ TLane] + R[2 : 32 @ TCol],
    ),
    (Swizzle(3, 3, 3) @ S[64:1], 2, Swizzle(3, 4, 3) @ S[((64, 2),) : ((2, 1),)]),
    (
        O[1 @ m] @ Swizzle(1, 0, 1) @ (S[4:1] + 2),
        2,
        O[2 @ m] @ Swizzle(1, 1, 1) @ (S[((4, 2),) : ((2, 1),)] + 4),
    ),
    # elements that share a place, or run backwards
    (S[(2, 3) : (0, -1)], 2, S[(2, (3, 2)) : (0, (-2, 1))]),
    (S[()], 3, S[3:1]),
    (S[4:2], 1, S[4:2]),
]


@pytest.mark.parametrize(("layout", "count", "unpacked"), UNPACKED)
def test_unpacked_and_packed_again(layout, count, unpacked):
    assert unpack(layout, count) == unpacked
    assert layout.unpack(count) == unpacked
    assert pack(unpacked, count).same(layout)
    assert unpacked.pack(count).same(layout)


PACKED = [
    (S[(8, 8) : (8, 1)], 2, S[(8, 4) : (4, 1)]),
    (S[(4, (2, 4)) : (8, (4, 1))], 8, S[(4, 1) : (1, 0)]),
    (S[((2, 2), (3, 4)) : ((12, 24), (4, 1))], 2, S[((2, 2), (3, 2)) : ((6, 12), (2, 1))]),
    (S[(2, 3, 2) : (0, 2, 1)] + 4, 2, S[(2, 3, 1) : (0, 1, 0)] + 2),
    # an extent of 1 has a step that means nothing
    (S[(1, 4) : (3, 1)], 2, S[(1, 2) : (0, 1)]),
    # copies that merge to a coarser set, and a start that they share with the offset
    (S[4:1] + R[2:-4] + 4, 2, S[2:1] + R[2:2]),
    (Swizzle(1, 0, 4) @ S[8:1], 2, S[4:1]),
]


@pytest.mark.parametrize(("layout", "count", "packed"), PACKED)
def test_packed(layout, count, packed):
    assert pack(layout, count) == packed
    assert unpack(packed, count).same(layout)


def test_the_axis_is_the_one_that_there_is_or_that_is_named():
    both = S[(4, 2) : (2 @ reg, 2 @ TCol)]
    with pytest.raises(Refused) as no:
        unpack(both, 2)
    assert (no.value.code, no.value.witness) == ("TW509", ("reg", "TCol"))
    # all storage counts elements, which are now half as wide; their halves lie along the axis
    assert unpack(both, 2, "reg") == S[(4, (2, 2)) : (4 @ reg, (4 @ TCol, 1 @ reg))]
    assert unpack(S[4 : 1 @ laneid], 2) == S[((4, 2),) : ((1 @ laneid, 1 @ m),)]
    assert unpack(S[4 : 1 @ laneid], 2, "reg") == S[((4, 2),) : ((1 @ laneid, 1 @ reg),)]
    assert unpack(S[4 : 0 @ reg] + 0 @ TCol + 1 @ laneid, 2, axis=TCol).axes[-1] != m
    own = Axis("own", storage=True)
    assert unpack(S[4 : 1 @ own], 2, "own") == S[((4, 2),) : ((2 @ own, 1 @ own),)]
    for axis in ("laneid", "TLane", "nobody"):
        with pytest.raises(Refused) as no:
            pack(S[4:1], 2, axis)
        assert (no.value.code, no.value.witness) == ("TW509", axis)


REFUSED_PACKS = [
    (S[6:1], 4, (6, 4)),
    (S[(2, 3) : (3, 1)], 2, (3, 2)),
    (S[4:2], 2, 1),
    (S[(2, 2) : (1, 2)], 2, 1),
    (S[(2, 2) : (3, 1)], 2, 2),
    (S[4:1] + 1, 2, 0),
    (S[4:1] + R[2:1], 2, 0),
    (S[4 : 1 @ laneid], 2, 1),
    (S[(2, 2) : (1 @ m + 1 @ laneid, 1 @ m)], 2, 2),
    # the swizzle moves elements within a pack
    (Swizzle(1, 0, 1) @ S[4:1], 2, 2),
]


@pytest.mark.parametrize(("layout", "count", "witness"), REFUSED_PACKS)
def test_packs_refused(layout, count, witness):
    with pytest.raises(Refused) as no:
        pack(layout, count)
    assert (no.value.code, no.value.witness) == ("TW508", witness)
    assert no.value.hint


def test_a_swizzle_scales_by_powers_of_two():
    with pytest.raises(Refused) as no:
        unpack(Swizzle(1, 0, 1) @ S[4:1], 3)
    assert (no.value.code, no.value.witness) == ("TW504", 3)
    assert unpack(Swizzle(1, 0, 1) @ S[2:1], 3) == S[((2, 3),) : ((3, 1),)]


RECASTS = [
    ("bf16", "f32", Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], Swizzle(3, 2, 3) @ S[(8, 32) : (32, 1)]),
    ("f32", "e4m3", S[(8, 4) : (4 @ laneid, 1 @ reg)], S[(8, (4, 4)) : (4 @ laneid, (4 @ reg, 1 @ reg))]),
    ("e2m1", "s32", S[(2, 16) : (16, 1)] + 8, S[(2, 2) : (2, 1)] + 1),
    ("e2m3", "e4m3", S[(4, 4) : (4, 1)], S[(4, 3) : (3, 1)]),
    ("e4m3", "e2m3", S[(4, 3) : (3, 1)], S[(4, 4) : (4, 1)]),
    ("bf16", "f16", S[8:3], S[8:3]),
    # bytes stay bytes: nothing is scaled, and nothing need be aligned to the wider element
    ("bf16", "f32", S[(2, 4) : (6, 2)].counted("byte") + 2, S[(2, 2) : (6, 4)].counted("byte") + 2),
    ("f32", "bf16", S[4:4].counted("byte"), S[((4, 2),) : ((4, 2),)].counted("byte")),
    (
        "bf16",
        "f32",
        (Swizzle(3, 4, 3) @ S[(8, 64) : (128, 2)]).counted("byte"),
        (Swizzle(3, 4, 3) @ S[(8, 32) : (128, 4)]).counted("byte"),
    ),
    ("e2m1", "e4m3", S[8:4].counted("bit"), S[4:8].counted("bit")),
]


@pytest.mark.parametrize(("old", "new", "layout", "expected"), RECASTS)
def test_recasts(old, new, layout, expected):
    made = recast(layout, old, new)
    assert made.same(expected)
    assert made.unit == expected.unit
    assert extents_of(made.shape) == extents_of(expected.shape)
    assert layout.recast(old, new) == made


def test_sub_byte_elements_get_no_fractional_byte():
    with pytest.raises(Refused) as no:
        recast(S[4:1].counted("byte"), "e4m3", "e2m1")
    assert (no.value.code, no.value.witness) == ("TW508", 4)
    with pytest.raises(Refused) as no:
        recast(S[4:1] + 1, "e2m1", "e4m3")
    assert (no.value.code, no.value.witness) == ("TW508", 0)
    assert "no multiple of 2" in no.value.reason


def test_what_is_no_question():
    for count, code in ((0, "TW102"), (-2, "TW102"), (True, "TW101"), (2.0, "TW101")):
        with pytest.raises(LayoutError) as error:
            unpack(S[4:1], count)
        assert error.value.code == code
    with pytest.raises(LayoutError) as error:
        pack(S[4:2].counted("byte"), 2)
    assert error.value.code == "TW106"
    with pytest.raises(LayoutError) as error:
        recast(S[4:1], "bf16", "f15")
    assert error.value.code == "TW105"


def test_digits_are_counted_not_elements():
    huge = Swizzle(3, 4, 3) @ S[(2**20, 2**20, 2**20) : (2**40, 2**20, 1)]
    assert pack(huge, 8) == Swizzle(3, 1, 3) @ S[(2**20, 2**20, 2**17) : (2**37, 2**17, 1)]
    assert unpack(huge, 8).size == 2**63
    with pytest.raises(Refused) as no:
        pack(huge, 32)
    assert no.value.witness == 128
