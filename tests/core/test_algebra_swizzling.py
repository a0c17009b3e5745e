"""Products, normal forms and moved offsets of swizzles, against the permutations and maps that they are."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import pytest

from tilewise import LayoutError, O, R, Refused, S, Swizzle, laneid, m, reg
from tilewise.core.algebra.swizzling import (
    as_one,
    inverse_chain,
    merge_swizzles,
    move_offset,
    swizzle_chain,
    zero_bits,
)
from tilewise.core.swizzles import apply_chain, one_permutation, period_of
from tilewise.core.vectors import Vector
from tilewise.testing import naive_difference, naive_map
from tilewise.testing.generate import random_layout

SMALL = [
    Swizzle(bits, base, shift)
    for bits, base, shift in product(range(1, 5), range(8), range(-7, 8))
    if abs(shift) >= bits and bits + base + abs(shift) <= 8
]
"""Every swizzle with a period of at most 2^8."""


def attempt(question, *words):
    """(the answer, None) or (None, the refusal)."""
    try:
        return question(*words), None
    except Refused as no:
        return None, no


def columns(chain):
    """What the chain does to addresses of one bit; it is linear, so this is all that it does."""
    return tuple(apply_chain(chain, 1 << bit) for bit in range(9))


SINGLE = {columns([swizzle]): swizzle for swizzle in SMALL} | {columns([]): Swizzle(0, 0, 0)}


# -- products --------------------------------------------------------------------------------------


def merges_by_the_rule(one, other):
    """Equal S, masks that XOR to nothing or to one run of at most |S| bits, no bit flipped and then read."""
    if one.shift != other.shift or other.target & one.source:
        return False
    mask = one.source ^ other.source
    run = mask // (mask & -mask) if mask else 0
    return run & (run + 1) == 0 and run.bit_length() <= abs(one.shift)


def test_every_two_small_swizzles():
    """10,000 pairs: merged exactly by the rule, exactly where the product is a swizzle, and to that one."""
    merged = 0
    for one, other in product(SMALL, SMALL):
        found, no = attempt(merge_swizzles, one, other)
        assert (no is None) == merges_by_the_rule(one, other), (one, other)
        images = columns([one, other])
        if no is None:
            assert columns([found]) == images
            merged += 1
            continue
        assert no.code == "TW504"
        assert images not in SINGLE
        shown = {address: apply_chain([one, other], address) ^ address for address in no.witness}
        assert no_swizzle_does(shown), (one, other, shown)
    assert len(SMALL) ** 2 == 10000
    assert merged > 100


def no_swizzle_does(flips):
    """Whether these flips of one-bit addresses are those of no swizzle at all."""
    moved = {address.bit_length(): flip for address, flip in flips.items() if flip}
    if any(flip.bit_count() > 1 for flip in moved.values()):
        return True
    distances = {bit - flip.bit_length() for bit, flip in moved.items()}
    if len(distances) > 1:
        return True
    (distance,) = distances
    if len(moved) < len(flips):
        return True  # one between or beside those that move, as the message says
    return max(moved) - min(moved) >= abs(distance)


def test_identities_merge_with_everything_and_axes_do_not_mix():
    one = Swizzle(2, 1, 3)
    assert merge_swizzles(one, Swizzle(0, 5, 2)) == merge_swizzles(Swizzle(0, 0, 0, reg), one) == one
    assert merge_swizzles(one, one) == Swizzle(0, 0, 0)
    with pytest.raises(Refused) as refused:
        merge_swizzles(one, Swizzle(2, 1, 3, reg))
    assert refused.value.code == "TW504"
    for wrong in (
        lambda: merge_swizzles(one, 5),
        lambda: swizzle_chain([one, "no"]),
        lambda: inverse_chain([5]),
    ):
        with pytest.raises(LayoutError) as error:
            wrong()
        assert error.value.code == "TW107"
    with pytest.raises(LayoutError) as error:
        swizzle_chain([one, Swizzle(1, 1, 3, reg)])
    assert error.value.code == "TW104"


def test_the_known_product():
    assert merge_swizzles(Swizzle(3, 4, 3), Swizzle(2, 4, 3)) == Swizzle(1, 6, 3)


def test_opposite_signs_are_other_permutations():
    assert not one_permutation([Swizzle(1, 0, 5)], [Swizzle(1, 0, -5)])
    with pytest.raises(Refused):
        merge_swizzles(Swizzle(1, 0, 5), Swizzle(1, 0, -5))
    assert len(SINGLE) == len(SMALL) + 1  # no two of them are one permutation


# -- chains ----------------------------------------------------------------------------------------


def random_chain(rng):
    pool = rng.sample(SMALL, rng.choice((1, 2, 3, 8)))
    return [rng.choice(pool) for _ in range(rng.randint(0, 6))]


def check_swizzle_chain(rng):
    """The normal form of a chain is the same permutation, shorter, and its own normal form."""
    chain = random_chain(rng)
    form = swizzle_chain(chain)
    assert columns(form) == columns(chain), chain
    assert len(form) <= len(chain)
    assert swizzle_chain(form) == form
    assert swizzle_chain([*chain, Swizzle(0, 1, 2)]) == form
    assert columns([*inverse_chain(chain), *chain]) == columns([])
    if columns(chain) in SINGLE:
        (single,) = form or (Swizzle(0, 0, 0),)
        assert single == SINGLE[columns(chain)]
    for i, (one, other) in enumerate(pairwise(form)):
        assert as_one((one, other)) is None, (form, i)
    return "answered"


def with_swizzles(rng):
    while not (layout := random_layout(rng, 64)).swizzles:
        pass
    return layout


def check_chain_on_places(rng):
    """On a layout: the same map, by swizzles that are no more and no larger, and stable."""
    layout = with_swizzles(rng)
    form = swizzle_chain(layout)
    assert naive_difference(layout, form) is None, layout
    assert swizzle_chain(form) == form
    assert len(form.swizzles) <= len(layout.swizzles)
    assert sum(sw.bits for sw in form.swizzles) <= sum(sw.bits for sw in layout.swizzles)
    assert (form.shape, form.strides, form.replica, form.unit) == (
        layout.shape,
        layout.strides,
        layout.replica,
        layout.unit,
    )
    return "answered"


def test_generated_chains(times):
    assert Counter(check_swizzle_chain(Random(seed)) for seed in range(times(2000))) == {
        "answered": times(2000)
    }
    assert Counter(check_chain_on_places(Random(seed)) for seed in range(times(400))) == {
        "answered": times(400)
    }


@pytest.mark.parametrize(
    ("layout", "form"),
    [
        (Swizzle(3, 3, 3) @ S[(4, 64) : (64, 1)], Swizzle(2, 3, 3) @ S[(4, 64) : (64, 1)]),
        (Swizzle(3, 3, 3) @ S[(4, 64) : (128, 1)], Swizzle(2, 4, 3) @ S[(4, 64) : (128, 1)]),
        (Swizzle(3, 3, 3) @ S[64:1], S[64:1]),
        (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]),
        (Swizzle(3, 3, 3) @ (S[(2, 64) : (64, 1)] - 1), Swizzle(3, 3, 3) @ (S[(2, 64) : (64, 1)] - 1)),
        # at a base of 256 the third bit is always read as 1
        (Swizzle(3, 3, 3) @ (S[(2, 8) : (64, 1)] + 256), Swizzle(3, 3, 3) @ (S[(2, 8) : (64, 1)] + 256)),
        (Swizzle(3, 3, 3) @ (S[(2, 8) : (64, 1)] + 512), Swizzle(1, 3, 3) @ (S[(2, 8) : (64, 1)] + 512)),
        # copies set bits as well
        (Swizzle(2, 0, 3) @ (S[8:1] + R[2:16]), Swizzle(1, 1, 3) @ (S[8:1] + R[2:16])),
        # apart they are two; where bit 4 is never set they are one
        (
            Swizzle(1, 0, 3) @ Swizzle(2, 1, 3) @ S[(2, 4, 8) : (32, 0, 1)],
            Swizzle(1, 2, 3) @ S[(2, 4, 8) : (32, 0, 1)],
        ),
        (O[8 @ m] @ Swizzle(2, 0, 2) @ S[(2, 4) : (4, 1)], Swizzle(1, 0, 2) @ (S[(2, 4) : (4, 1)] + 8)),
        (O[4 @ m] @ Swizzle(1, 0, 2) @ S[4:1], S[4:1] + 4),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_swizzles_as_small_as_the_places_allow(layout, form):
    assert naive_difference(layout, form) is None
    assert swizzle_chain(layout) == form


@pytest.mark.parametrize(
    ("chain", "form"),
    [
        ([], []),
        ([Swizzle(0, 3, 1)], []),
        ([Swizzle(1, 0, 2), Swizzle(1, 1, 2)], [Swizzle(2, 0, 2)]),
        ([Swizzle(2, 0, 2), Swizzle(1, 1, 2)], [Swizzle(1, 0, 2)]),
        ([Swizzle(1, 0, 1), Swizzle(1, 1, 1), Swizzle(1, 1, 1), Swizzle(1, 0, 1)], []),
        ([Swizzle(1, 0, 1), Swizzle(1, 1, 1)], [Swizzle(1, 0, 1), Swizzle(1, 1, 1)]),
        ([Swizzle(1, 1, 1), Swizzle(1, 0, 1)], [Swizzle(1, 1, 1), Swizzle(1, 0, 1)]),
        # all three together are one
        ([Swizzle(1, 0, 4), Swizzle(1, 1, 5), Swizzle(1, 0, 4)], [Swizzle(1, 1, 5)]),
        # what does not stand beside the other stays
        (
            [Swizzle(1, 0, 3), Swizzle(1, 3, 2), Swizzle(1, 6, 1), Swizzle(1, 1, 3)],
            [Swizzle(1, 0, 3), Swizzle(1, 3, 2), Swizzle(1, 6, 1), Swizzle(1, 1, 3)],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_each_rule_by_hand(chain, form):
    assert columns(form) == columns(chain)
    assert list(swizzle_chain(chain)) == form


def test_a_long_chain_is_quick_to_settle():
    rng = Random(2)
    chain = [rng.choice(SMALL) for _ in range(64)]
    assert columns(swizzle_chain(chain)) == columns(chain)


def test_bits_said_to_be_0_are_and_nearly_all_that_are_are_said(times):
    rng, said, there = Random(5), 0, 0
    for _ in range(times(600)):
        layout = with_swizzles(rng)
        axis = layout.swizzled_axis
        plain = naive_map(replace(layout, swizzles=(), outer=Vector()))
        addresses = {dict(place).get(axis.name, 0) for places in plain for place in places}
        zeros = zero_bits(layout)
        for bit in range(period_of(layout.swizzles).bit_length() - 1):
            zero = not any(address >> bit & 1 for address in addresses)
            assert zero or not zeros >> bit & 1, layout
            there += zero
        said += zeros.bit_count()
    assert said > 0.97 * there > times(500)


def test_same_sees_through_swizzles_that_act_alike_on_the_places():
    """Too many elements to list, no XORs, and copies beside the swizzle."""
    places = S[(128, 96, 64) : (4096, 1, 2)] + R[3:64]
    assert (Swizzle(3, 4, 3) @ places).same(Swizzle(2, 4, 3) @ places)
    rng = Random(8)
    for _ in range(60):
        extents = [rng.choice((64, 100, 96, 7, 3, 512)) for _ in range(3)]
        layout = S[tuple(extents) : tuple(rng.choice((1, 2, 8, 64, 72, 128, 4096)) for _ in extents)]
        layout = layout + R[rng.choice((2, 3)) : rng.choice((1, 8, 64))]
        for swizzle in rng.sample(SMALL, 2):
            layout = swizzle @ layout
        assert layout.same(swizzle_chain(layout)).answer


# -- offsets ---------------------------------------------------------------------------------------


def check_move_offset(rng):
    """Moved exactly where every address is moved alike; the map stays."""
    layout = with_swizzles(rng)
    axis = layout.swizzled_axis
    outside = rng.random() < 0.5
    if rng.random() < 0.3:
        vector = None
        steps = (layout.offset if outside else layout.outer)[axis]
    else:
        steps = rng.choice((1, 2, 3, 4, 8, 16, 32, 64, -4, -8, 128, 1024, 0, 24))
        vector = steps @ axis
    inward = -steps if outside else steps
    chain = layout.swizzles
    plain = naive_map(replace(layout, swizzles=(), outer=Vector()))
    addresses = [[dict(place).get(axis.name, 0) for place in places] for places in plain]
    passes = all(
        apply_chain(chain, a + inward) == apply_chain(chain, a) + inward for at in addresses for a in at
    )
    found, no = attempt(move_offset, layout, vector, outside)
    assert passes == (no is None), (layout, vector, outside)
    if no:
        seen, outer = no.witness, layout.outer[axis]
        assert no.code == "TW504"
        assert seen["address"] in addresses[seen["index"]]
        assert seen["place"] == {axis: apply_chain(chain, seen["address"]) + outer}
        assert seen["moved"] == {axis: apply_chain(chain, seen["address"] + inward) - inward + outer}
        assert seen["place"] != seen["moved"]
        return "refused"
    assert naive_difference(found, layout) is None
    expected = replace(layout, offset=layout.offset + inward @ axis, outer=layout.outer - inward @ axis)
    assert found.offset[axis] == expected.offset[axis]
    assert found.outer[axis] == expected.outer[axis]
    return "answered"


def test_generated_offsets(times):
    outcomes = Counter(check_move_offset(Random(seed)) for seed in range(times(1000)))
    assert outcomes["answered"] > times(300)
    assert outcomes["refused"] > times(300)


def test_a_base_taken_out_of_an_atom_comes_back_in():
    """Hopper's base offset: rows 2 and 3 of an atom, with their base outside and the pattern from row 0."""
    rows = Swizzle(1, 4, 3) @ (S[(2, 128) : (128, 1)] + 512)
    assert move_offset(rows) == rows  # the period is 256: a layout writes it inside
    half = Swizzle(3, 4, 3) @ (S[16:1] + 16)
    outside = move_offset(half)
    assert outside == O[16 @ m] @ Swizzle(3, 4, 3) @ S[16:1]
    assert move_offset(outside, outside=False) == half
    assert swizzle_chain(outside) == S[16:1] + 16


def test_an_offset_that_does_not_pass_is_seen_at_its_first_element():
    with pytest.raises(Refused) as refused:
        move_offset(Swizzle(3, 4, 3) @ (S[(8, 128) : (128, 1)] + 64))
    seen = refused.value.witness
    assert (seen["index"], seen["address"]) == (64, 128)
    assert seen["place"] == {"m": 144}


def test_of_2_to_the_50_elements_with_copies():
    large = Swizzle(3, 4, 3) @ (S[(2**30, 2**20) : (2**20, 1)] + R[2 : 2**60])
    assert move_offset(large + 2**55).offset == {"m": 2**55}
    with pytest.raises(Refused) as refused:
        move_offset(large + 8)
    assert refused.value.witness["index"] == 120
    coarse = Swizzle(3, 4, 3) @ (S[(2**30, 2**20) : (2**30, 2**10)] + 12)
    assert move_offset(coarse) == O[12 @ m] @ Swizzle(3, 4, 3) @ S[(2**30, 2**20) : (2**30, 2**10)]


def test_a_layout_without_swizzles_has_one_offset():
    assert move_offset(S[8:1] + 5) == S[8:1] + 5
    tile = Swizzle(1, 0, 1) @ (S[(2, 2) : (1 @ laneid, 1 @ m)] + 3 @ laneid)
    assert move_offset(tile, 3 @ laneid) == tile
