"""The GF(2) view against the listed map: where sums are XORs, and what follows from it."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod
from random import Random

import pytest

from tilewise import Axis, LayoutError, NotDecided, O, R, Refused, S, Swizzle, laneid, m, reg
from tilewise.core.algebra.linear import bases, from_bases, kernel, rank
from tilewise.core.bits import Bits, affine, affine_map
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.testing import naive_places
from tilewise.testing.generate import random_layout

BUFFER = Axis("buf", storage=True)


def listed(layout):
    """The places of a layout without copies, as tuples on its axes, by the definition."""
    found = []
    for flat in range(layout.size):
        ((place,),) = [naive_places(layout, flat)]
        steps = dict(place)
        found.append(tuple(steps.get(axis.name, 0) for axis in layout.axes))
    return found


def attempt(question, *words):
    """(the answer, None) or (None, the refusal)."""
    try:
        return question(*words), None
    except Refused as no:
        return None, no


def xor(*places):
    total = places[0]
    for place in places[1:]:
        total = tuple(a ^ b for a, b in zip(total, place, strict=True))
    return total


def xors(columns, x, start):
    return xor(start, *(column for bit, column in enumerate(columns) if x >> bit & 1))


def powers_of_two(rng):
    """A layout whose extents are powers of two: strides of all signs, offsets, swizzles, P, diagonals."""
    extents = [rng.choice((1, 2, 2, 4, 8)) for _ in range(rng.randint(0, 4))]
    axes = rng.sample((m, m, laneid, reg, BUFFER), rng.choice((1, 1, 2)))
    steps = (0, 1, 1, 2, 2, 4, 8, 16, 32, -1, -2, -4, -8, 3, 5, 12, 33)
    strides = []
    for _ in extents:
        terms = [(axis, rng.choice(steps)) for axis in rng.sample(axes, rng.choice((1, 1, 1, len(axes))))]
        strides.append(Vector(tuple(terms)))
    if rng.random() < 0.5:  # digits on bits of their own, in any order
        place = 1
        for i in rng.sample(range(len(extents)), len(extents)):
            strides[i] = (place * rng.choice((1, 1, -1))) @ axes[0]
            place *= extents[i]
    offset = rng.choice((0, 0, 1, 7, 8, 20, 63, 64, -1, -64, 100)) @ axes[0]
    swizzles, outer = (), Vector()
    if axes[0].kind == "storage" and rng.random() < 0.6:
        bits = rng.choice((1, 1, 2, 3))
        shift = rng.choice((1, -1)) * (bits + rng.randrange(2))
        swizzles = (Swizzle(bits, rng.randrange(3), shift, axes[0]),)
        outer = rng.choice((0, 0, 1, 4, 12, 32, -3)) @ axes[0]
    return Layout(tuple(extents), tuple(strides), offset=offset, swizzles=swizzles, outer=outer)


def check_affine(rng):
    layout = powers_of_two(rng) if rng.random() < 0.8 else random_layout(rng, 64)
    layout = replace(layout, replica=())
    places = listed(layout)
    bits = layout.size.bit_length() - 1
    linear = layout.size == 1 << bits
    if linear:
        columns = [xor(places[0], places[1 << bit]) for bit in range(bits)]
        linear = all(xors(columns, x, places[0]) == place for x, place in enumerate(places))
    try:
        found, no = attempt(affine, layout)
    except NotDecided:
        assert layout.outer
        return "undecided"
    if no:
        assert no.code == "TW512"
        assert not linear, layout
        assert affine_map(layout) is None
        if layout.size == 1 << bits:
            a, b = no.witness
            assert a & b == 0
            assert any(xor(places[0], places[a], places[b], places[a + b]))
        else:
            assert no.witness["extent"].bit_count() > 1
        return "refused"
    assert linear, layout
    assert found == Bits(places[0], tuple(columns), layout.axes)
    assert [found(x) for x in range(layout.size)] == places
    natural = all(steps >= 0 for place in (places[0], *columns) for steps in place)
    assert affine_map(layout) == (found if natural else None)
    check_map(found, places)
    return "answered"


def check_map(found, places):
    """Rank, kernel, image and inverses of a map, against its list."""
    distinct = set(places)
    assert 1 << found.rank == len(distinct)
    assert found.injective == (len(distinct) == len(places))
    zero = (0,) * len(found.axes)
    assert {xors(found.image, x, places[0]) for x in range(1 << len(found.image))} == distinct
    assert len(found.image) == found.rank
    spanned = {xors([(d,) for d in found.kernel], x, (0,))[0] for x in range(1 << len(found.kernel))}
    assert spanned == {x for x, place in enumerate(places) if place == places[0]}
    assert all(found(x ^ d) == found(x) for x in (0, len(places) - 1) for d in found.kernel)
    if min(map(min, (*places, zero))) < 0:
        with pytest.raises(Refused) as refused:
            found.quasi_inverse()
        assert refused.value.code == "TW505"
        return
    back = found.quasi_inverse()
    for place in distinct:
        packed = 0
        for steps, width in zip(place, found.widths, strict=True):
            packed = packed << width | steps
        assert back(packed) == (places.index(place),)
    if found.injective:
        assert found.inverse() == back
    else:
        with pytest.raises(Refused) as refused:
            found.inverse()
        one, other, _ = refused.value.witness
        assert one != other
        assert places[one] == places[other]


def check_bases(rng):
    layout = replace(powers_of_two(rng), outer=Vector())
    flips, no = attempt(bases, layout)
    if no:
        return "refused"
    again = from_bases({layout.axis(name): values for name, values in flips.items()}, layout.place(0))
    assert listed(layout) == [
        tuple(naive(again, x).get(a.name, 0) for a in layout.axes) for x in range(layout.size)
    ]
    assert (rank(again), kernel(again)) == (rank(layout), kernel(layout))
    return "answered"


def naive(layout, x):
    ((place,),) = [naive_places(layout, x)]
    return dict(place)


def check_product(rng):
    """Two maps one after the other, and as matrices."""
    bits = rng.randint(0, 4)
    inner = Bits((rng.randrange(16),), tuple((rng.randrange(20),) for _ in range(bits)))
    outer = Bits((3, 1), tuple((rng.randrange(9), rng.randrange(9)) for _ in range(4)), (m, laneid))
    asked = [inner(x)[0] for x in range(1 << bits)]
    both, no = attempt(lambda: outer @ inner)
    if no:
        assert no.code == "TW502"
        assert asked[no.witness["index"]] == no.witness["asked"] >= no.witness["size"] == 16
        return "refused"
    assert max(asked) < 16
    assert [both(x) for x in range(1 << bits)] == [outer(index) for index in asked]
    return "answered"


@pytest.mark.parametrize(
    ("check", "count", "share"),
    [(check_affine, 2000, 0.35), (check_bases, 800, 0.35), (check_product, 400, 0.3)],
)
def test_generated_maps(check, count, share):
    outcomes = Counter(check(Random(seed)) for seed in range(count))
    assert sum(outcomes.values()) == count
    assert outcomes["answered"] > share * count
    assert outcomes["refused"] > 0.03 * count


def test_every_small_sum_is_xors_iff_its_columns_share_no_bit():
    """Offset and two or three steps, all of them: the theorem of the module, both ways."""
    for origin, *steps in product(range(-3, 5), range(-4, 6), range(-4, 6), range(-2, 5)):
        layout = S[(2, 2, 2) : tuple(steps)] + origin
        places = [origin + sum(s for bit, s in enumerate(steps[::-1]) if x >> bit & 1) for x in range(8)]
        columns = [places[1 << bit] ^ origin for bit in range(3)]
        xored = [xors([(c,) for c in columns], x, (origin,))[0] for x in range(8)]
        found, no = attempt(affine, layout)
        assert (no is None) == (xored == places)
        assert no or [column for (column,) in found.columns] == columns


def test_an_outer_offset_is_taken_where_it_carries_nowhere():
    atom = Swizzle(3, 4, 3) @ S[(8, 128) : (128, 1)]
    based = O[2048 @ m] @ Swizzle(3, 4, 4) @ (S[(4, 128) : (128, 1)] - 0)
    assert affine(based).origin == (2048,)
    assert affine(based).columns == affine(Swizzle(3, 4, 4) @ S[(4, 128) : (128, 1)]).columns
    with pytest.raises(Refused) as refused:
        affine(O[16 @ m] @ atom)
    a, b = refused.value.witness
    shifted = O[16 @ m] @ atom
    assert shifted.place(0)["m"] ^ shifted.place(a)["m"] ^ shifted.place(b)["m"] ^ shifted.place(a + b)["m"]


def test_copies_and_odd_extents_are_refused():
    for layout in (S[4:1] + R[2:8], S[(3, 4) : (4, 1)]):
        with pytest.raises(Refused) as refused:
            affine(layout)
        assert refused.value.code == "TW512"
    assert affine(S[4:1] + R[(1, 2) : (8, 0)]) == affine(S[4:1])


def test_a_fragment_of_registers():
    fragment = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
    assert bases(fragment) == {"laneid": (0, 1, 2, 4, 8, 16), "reg": (1, 0, 0, 0, 0, 0)}
    assert from_bases(bases(fragment), shape=(8, 8)) == S[(8, (4, 2)) : (4 @ laneid, (1 @ laneid, 1 @ reg))]
    back = affine(fragment).inverse()
    assert [back(lane << 1 | r)[0] for lane, r in product(range(32), range(2))] == list(range(64))


def test_of_2_to_the_50_elements():
    layout = Swizzle(3, 4, 3) @ S[(2**20, 2**15, 2**15) : (1, 2**35, 2**20)]
    found = affine(layout)
    assert (found.rank, found.kernel) == (50, ())
    back = found.inverse()
    assert all(back(found(x)[0]) == (x,) for x in (0, 1, 2**49 + 12345, 2**50 - 1))
    assert from_bases(bases(layout)).same(layout)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda: from_bases({"reg": (1, 2), "laneid": (1,)}), "TW107"),
        (lambda: from_bases([1, 2.5]), "TW101"),
        (lambda: from_bases({"no axis": (1,)}), "TW103"),
        (lambda: from_bases(5), "TW107"),
        (lambda: from_bases([1, 3, 7]), "TW510"),
        (lambda: from_bases([1, 2], shape=(2, 3)), "TW202"),
        (lambda: Bits((0,), ((1,),)) @ Bits((0, 0), (), (m, laneid)), "TW509"),
    ],
)
def test_what_is_refused(wrong, code):
    with pytest.raises(LayoutError) as error:
        wrong()
    assert error.value.code == code


def test_no_bases_are_one_element():
    assert from_bases({}) == S[()]
    assert from_bases([], origin=5) == S[()] + 5
    assert prod(S[()].shape) == 1
