"""The definition itself, held to numbers worked out by hand; everything else is held to it."""

import pytest

from tilewise import O, R, S, Swizzle, TCol, TLane, gpuid_x, gpuid_y, laneid, m, reg, warpid
from tilewise.testing import (
    naive_difference,
    naive_digits,
    naive_facts,
    naive_map,
    naive_places,
    naive_who,
    naive_xor,
)


def places_on_m(layout):
    return [sorted(dict(place).get("m", 0) for place in held) for held in naive_map(layout)]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (S[(2, 3) : (3, 1)], [[0], [1], [2], [3], [4], [5]]),
        (S[(2, 3) : (1, 2)], [[0], [2], [4], [1], [3], [5]]),
        (S[4:-2] + 5, [[5], [3], [1], [-1]]),
        (S[(2, 1, 2) : (0, 9, 1)], [[0], [1], [0], [1]]),
        (S[2:1] + R[3:10], [[0, 10, 20], [1, 11, 21]]),
        (S[2:1] + R[(2, 2) : (4, 4)], [[0, 4, 8], [1, 5, 9]]),
        (S[()] + 7, [[7]]),
        (Swizzle(1, 0, 1) @ S[4:1], [[0], [1], [3], [2]]),
        (Swizzle(1, 0, -1) @ S[4:1], [[0], [3], [2], [1]]),
        (Swizzle(1, 0, 1) @ (S[4:1] + 1), [[1], [3], [2], [4]]),
        (O[1 @ m] @ Swizzle(1, 0, 1) @ S[4:1], [[1], [2], [4], [3]]),
        (Swizzle(1, 0, 1) @ Swizzle(1, 0, 2) @ S[8:1], [[0], [1], [3], [2], [5], [4], [6], [7]]),
        (Swizzle(1, 0, 1) @ (S[2:1] - 2), [[-1], [-2]]),
    ],
    ids=str,
)
def test_places_by_hand(layout, expected):
    assert places_on_m(layout) == expected


def test_a_fragment_by_hand():
    fragment = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)] + R[2 : 4 @ warpid] + 5 @ warpid
    assert naive_places(fragment, 5 * 8 + 3 * 2 + 1) == {
        (("laneid", 23), ("reg", 1), ("warpid", 5)),
        (("laneid", 23), ("reg", 1), ("warpid", 9)),
    }


def test_a_mesh_by_hand():
    mesh = S[(2, 4, 8) : (1 @ gpuid_y, 8 @ m, 1 @ m)] + R[2 : 1 @ gpuid_x]
    assert naive_places(mesh, 1 * 32 + 2 * 8 + 3) == {
        (("gpuid_y", 1), ("m", 19)),
        (("gpuid_x", 1), ("gpuid_y", 1), ("m", 19)),
    }


def test_a_vector_of_scale_factors_by_hand():
    """Scale r is in lane r % 32 and column r // 32, and in three more lanes, whichever digit stands first."""
    scales = S[(4, 32) : (1 @ TCol, 1 @ TLane)] + R[4 : 32 @ TLane]
    turned = S[(32, 4) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane]
    for r in range(128):
        lane, column = r % 32, r // 32
        held = {(("TCol", column), ("TLane", lane + 32 * copy)) for copy in range(4)}
        found = [{(("TCol", p[TCol]), ("TLane", p[TLane])) for p in scales.places(r)}]
        found += [{(("TCol", p[TCol]), ("TLane", p[TLane])) for p in turned.places(lane, column)}]
        assert found == [held, held]


def test_the_chapter_s_swizzle_by_hand():
    """addr(i, j) = 64 i + 8 ((j // 8) xor i) + j % 8, for 16-bit elements in the 128 B mode."""
    tile = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    for i in range(8):
        for j in range(64):
            (place,) = naive_places(tile, 64 * i + j)
            assert dict(place).get("m", 0) == 64 * i + 8 * ((j // 8) ^ i) + j % 8


def test_digits_run_row_major_at_every_level():
    shape = ((2, 3), 2)
    walked = [naive_digits(flat, shape) for flat in range(12)]
    assert walked == [[i, j, k] for i in range(2) for j in range(3) for k in range(2)]


def test_xor_reads_high_bits_with_a_positive_shift():
    assert [naive_xor(a, 2, 1, 3) for a in (0b010000, 0b100000, 0b000110)] == [0b010010, 0b100100, 0b000110]
    assert [naive_xor(a, 2, 1, -3) for a in (0b010000, 0b000010, 0b000110)] == [0b010000, 0b010010, 0b110110]


def test_who_and_differences():
    assert naive_who(S[(2, 2) : (1 @ laneid, 1 @ reg)], {"laneid": 1}) == [2, 3]
    assert naive_who(S[(2, 2) : (1 @ laneid, 1 @ reg)], {"laneid": 1, "reg": 1, "m": 0}) == [3]
    assert naive_who(S[2:1] + R[2:1], {"m": 1}) == [0, 1]
    assert naive_difference(S[4:1], S[(2, 2) : (2, 2)]) == 1
    assert naive_difference(S[4:1], S[5:2]) == 4
    assert naive_difference(S[4:1], S[(2, 2) : (2, 1)]) is None


def test_facts_by_hand():
    facts = naive_facts(S[(2, 2) : (4, 4)] + R[2:1])
    assert facts.extremes == {"m": (0, 9)}
    assert (facts.copies, facts.disjoint_copies, facts.injective) == (2, True, False)
    assert (len(facts.taken), facts.holes, facts.onto) == (6, 4, False)
    assert naive_facts(S[2:1] + R[(2, 2) : (4, 4)]).disjoint_copies is False


@pytest.mark.parametrize(
    ("layout", "first"),
    [
        (S[(4, 4) : (4, 1)] + 32, None),
        (S[8 : 1 @ reg], None),
        (S[8 : 1 @ laneid], 1),
        (S[(2, 4) : (1 @ laneid, 1)], 4),
        (S[(2, 4) : (1 @ reg, 1)], 4),
        (S[4:1] + R[2:8], 0),
        (S[()] + 3 @ laneid, None),
        (Swizzle(1, 0, 1) @ S[4:1], 2),
    ],
    ids=str,
)
def test_contiguity_by_hand(layout, first):
    assert naive_facts(layout).first_not_contiguous == first
