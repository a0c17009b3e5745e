"""Products and normal forms of swizzles, against the permutations and maps that they are."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import pytest

from tilewise import O, R, S, Swizzle, m
from tilewise.core.chains import as_one, normal_form, swizzle_chain, zero_bits
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


def columns(chain):
    """Return the chain's images of addresses of one bit; it is linear, so they define it."""
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
        found = as_one((one, other))
        assert (found is not None) == merges_by_the_rule(one, other), (one, other)
        images = columns([one, other])
        if found is None:
            assert images not in SINGLE
            continue
        assert columns([found]) == images
        merged += 1
    assert len(SMALL) ** 2 == 10000
    assert merged > 100


def test_known_products():
    one = Swizzle(2, 1, 3)
    assert as_one((Swizzle(3, 4, 3), Swizzle(2, 4, 3))) == Swizzle(1, 6, 3)
    assert as_one((one, Swizzle(0, 5, 2))) == as_one((Swizzle(0, 0, 0), one)) == one
    assert as_one((one, one)) == Swizzle(0, 0, 0)


def test_opposite_signs_are_other_permutations():
    assert not one_permutation([Swizzle(1, 0, 5)], [Swizzle(1, 0, -5)])
    assert as_one((Swizzle(1, 0, 5), Swizzle(1, 0, -5))) is None
    assert len(SINGLE) == len(SMALL) + 1  # no two of them are one permutation


# -- chains ----------------------------------------------------------------------------------------


def random_chain(rng):
    pool = rng.sample(SMALL, rng.choice((1, 2, 3, 8)))
    return [rng.choice(pool) for _ in range(rng.randint(0, 6))]


def check_swizzle_chain(rng):
    """The normal form of a chain is the same permutation, shorter, and its own normal form."""
    chain = random_chain(rng)
    form = normal_form(chain)
    assert columns(form) == columns(chain), chain
    assert len(form) <= len(chain)
    assert normal_form(form) == form
    assert normal_form([*chain, Swizzle(0, 1, 2)]) == form
    assert columns([*reversed(chain), *chain]) == columns([])
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
    assert list(normal_form(chain)) == form


def test_a_long_chain_is_quick_to_settle():
    rng = Random(2)
    chain = [rng.choice(SMALL) for _ in range(64)]
    assert columns(normal_form(chain)) == columns(chain)


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
