"""Layouts from what the bits of places hold, against the map itself, place by place."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tilewise import LayoutError, R, Refused, S, Swizzle, laneid, m, reg, warpid
from tilewise.core.algebra.linear import held_by, place_bits
from tilewise.core.axes import Axis

cbx = Axis("cbx")


def held_everywhere(held):
    """{element: all of its places}, by trying every place: the definition."""
    bits = [(axis, 1 << k, move) for axis, moves in held.items() for k, move in enumerate(moves)]
    found = {}
    for chosen in product((0, 1), repeat=len(bits)):
        used = [bit for bit, taken in zip(bits, chosen, strict=True) if taken]
        if any(move is None for _, _, move in used):
            continue
        element, place = 0, dict.fromkeys((axis.name for axis in held), 0)
        for axis, step, move in used:
            element ^= move
            place[axis.name] += step
        found.setdefault(element, set()).add(tuple(place.items()))
    return found


def lives_at(layout, element, held):
    places = layout.places(element)
    return {tuple((axis.name, place[axis.name]) for axis in held) for place in places}


def drawn(rng):
    """A map that is a layout: bits, copies and holes dealt out to axes, then XORs on one of them."""
    extents = [1 << rng.randrange(4) for _ in range(rng.randint(1, 3))]
    bits = sum(extent.bit_length() - 1 for extent in extents)
    axes = rng.sample([m, reg, laneid, warpid, cbx], rng.randint(1, 3))
    held = {axis: [] for axis in axes}
    moves = [1 << bit for bit in range(bits)] + [0] * rng.randrange(3)
    rng.shuffle(moves)
    for move in moves:
        held[rng.choice(axes)].append(move)
    storage = [axis for axis in axes if axis.kind == "storage"]
    if storage:
        axis = rng.choice(storage)
        moves = held[axis]
        for _ in range(rng.randrange(8) if len(moves) > 1 else 0):
            target, source = rng.sample(range(len(moves)), 2)
            moves[target] ^= moves[source]
        if rng.random() < 0.3:
            moves.insert(rng.randrange(len(moves) + 1), None)
    return held, tuple(extents)


def test_every_element_lives_where_the_bits_say(times):
    rng = Random("bits of places")
    swizzled = 0
    for _ in range(times(600)):
        held, shape = drawn(rng)
        layout = place_bits(held, shape).layout(shape)
        everywhere = held_everywhere(held)
        assert sorted(everywhere) == [*range(layout.size)]
        for element, places in everywhere.items():
            assert lives_at(layout, element, held) == places, (held, shape)
        swizzled += bool(layout.swizzles)
    assert swizzled > times(600) // 20


def test_the_inverse_is_read_from_the_layout(times):
    rng = Random("bits of layouts")
    for _ in range(times(600)):
        held, shape = drawn(rng)
        layout = place_bits(held, shape).layout(shape)
        try:
            found = held_by(layout)
        except Refused:
            assert None in [move for moves in held.values() for move in moves]
            continue
        assert place_bits(found, shape).layout(shape).same(layout).answer is True
        if not any(None in moves for moves in held.values()):
            assert {axis: tuple(moves) for axis, moves in held.items() if moves} == {
                axis: moves for axis, moves in found.items() if moves
            }


def test_bits_of_owners_that_are_xored_are_refused_with_an_element_that_shows_it(times):
    rng = Random("owners")
    for _ in range(times(200)):
        bits = rng.randint(2, 6)
        moves = [1 << bit for bit in range(bits)]
        one, other = rng.sample(range(bits), 2)
        moves[one] ^= moves[other]
        cut = rng.randrange(bits + 1)
        held = {laneid: moves[:cut], warpid: moves[cut:]}
        with pytest.raises(Refused) as no:
            place_bits(held, (1 << bits,))
        assert no.value.code == "TW510"
        everywhere = held_everywhere(held)
        (element,) = no.value.witness
        parts = [1 << bit for bit in range(bits) if element >> bit & 1]
        homes = [dict(next(iter(everywhere[part]))) for part in (element, *parts)]
        summed = {axis: sum(home[axis] for home in homes[1:]) for axis in homes[0]}
        assert summed != homes[0]


def test_one_move_on_two_owners_is_no_copy():
    with pytest.raises(Refused, match="and not at both") as no:
        place_bits({laneid: (1, 2), warpid: (2,)}, (4,))
    assert no.value.witness == (2,)


def test_an_element_that_no_place_holds_is_named():
    with pytest.raises(Refused) as no:
        place_bits({laneid: (1, 4)}, (2, 4))
    assert (no.value.code, no.value.witness) == ("TW202", (0, 2))


def test_swizzles_come_out_as_they_are_written():
    for layout in (
        Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)],
        Swizzle(2, 4, 3) @ S[(16, 128) : (128, 1)],
        S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)] + R[2 : 1 @ warpid],
    ):
        assert place_bits(held_by(layout), layout.shape).layout(layout.shape) == layout


def test_large_shapes_cost_their_bits():
    layout = Swizzle(3, 4, 3) @ S[(2**20, 2**20) : (2**20, 1)]
    assert place_bits(held_by(layout), layout.shape).layout(layout.shape) == layout


@pytest.mark.parametrize(
    "layout",
    [S[3:1], S[(4, 4) : (5, 1)], S[4:1] + 1, S[(2, 2) : (1, 1)], S[4:0], S[2 : 1 @ laneid + 1 @ warpid]],
)
def test_what_is_no_map_of_bits_is_refused(layout):
    with pytest.raises(LayoutError) as no:
        held_by(layout)
    assert no.value.code == "TW512"
