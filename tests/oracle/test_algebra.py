"""The algebra held against pycute, tensor-layouts and TIRx: who is right decides the listed map.

Where a neighbour's answer is right, there is one here too, and it is the same map. Where it is wrong, it
belongs to a defect that is known and counted below; ours is right, or refused with its proof.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from random import Random

import pytest

from tilewise import NotDecided, R, Refused, S, algebra, laneid, m, warpid

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

CASES = 1500


@pytest.fixture(scope="module", params=["pycute", "tensor_layouts"])
def peer(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


# -- both sides ------------------------------------------------------------------------------------


def random_modes(rng, rank, extents=(2, 3, 4, 5, 6, 8)):
    """A dense layout's modes in CuTe's order, in any order of their digits, now and then with gaps."""
    sizes = [rng.choice(extents) for _ in range(rank)]
    strides, step = [0] * rank, rng.choice((1, 1, 1, 2))
    for i in rng.sample(range(rank), rank):
        strides[i] = step
        step *= sizes[i] + (rng.random() < 0.1)
    return list(zip(sizes, strides, strict=True))


def ours(modes):
    return S[tuple(e for e, _ in reversed(modes)) : tuple(s for _, s in reversed(modes))]


def theirs(peer, modes):
    return peer.Layout(tuple(e for e, _ in modes), tuple(s for _, s in modes))


def listed(layout):
    """Our map, on m."""
    return [layout.place(x)[m] for x in range(layout.size)]


def enumerated(peer, layout):
    """Return their map in CuTe's order, or None for an object that is no map."""
    try:
        return [int(layout(i)) for i in range(int(peer.size(layout)))]
    except Exception:
        return None


def asked(operation, *arguments):
    """The answer, or None where it is refused."""
    try:
        return operation(*arguments)
    except (Refused, NotDecided):
        return None


def tried(function, *arguments):
    """A neighbour's answer, or None where it has none."""
    try:
        return function(*arguments)
    except Exception:
        return None


# -- operations ------------------------------------------------------------------------------------


def composed(peer, rng):
    a = random_modes(rng, rng.choice((2, 3)))
    b = [
        (rng.choice((2, 3, 4, 6, 8)), rng.choice((1, 2, 3, 4, 5, 6, 8, 12)))
        for _ in range(rng.choice((1, 2)))
    ]
    outer, indices = listed(ours(a)), listed(ours(b))
    if max(indices) >= len(outer) or len(set(indices)) < len(indices):
        return "none"
    wanted = [outer[i] for i in indices]
    own = asked(algebra.compose, ours(a), ours(b))
    if own is not None:
        assert listed(own) == wanted, (a, b)
    function = getattr(peer, "composition", None) or peer.compose
    other = tried(function, theirs(peer, a), theirs(peer, b))
    right = other is not None and enumerated(peer, other) == wanted
    return verdict(own, other, right, (a, b))


def complemented(peer, rng):
    a = random_modes(rng, rng.choice((1, 2)))
    size = rng.choice((24, 48, 60, 64, 96, 120))
    taken = listed(ours(a))
    if max(taken) >= size:
        return "none"

    def tiles(places):
        return sorted(t + p for t in taken for p in places) == list(range(size))

    own = asked(algebra.complement, ours(a), size)
    if own is not None:
        assert tiles(listed(own)), (a, size)
    other = tried(peer.complement, theirs(peer, a), size)
    places = None if other is None else enumerated(peer, other)
    return verdict(own, other, places is not None and tiles(places), (a, size))


def left_inverted(peer, rng):
    a = random_modes(rng, rng.choice((1, 2, 3)))
    taken = listed(ours(a))

    def inverts(value):
        return all(value(place) == x for x, place in enumerate(taken))

    own = asked(algebra.left_inverse, ours(a))
    if own is not None:
        assert inverts(lambda place: own.place(place)[m]), a
    other = tried(peer.left_inverse, theirs(peer, a))
    right = other is not None and tried(inverts, lambda place: int(other(place)))
    return verdict(own, other, bool(right), a)


def right_inverted(peer, rng):
    a = random_modes(rng, rng.choice((1, 2, 3)))
    taken = listed(ours(a))
    own = asked(algebra.right_inverse, ours(a))
    if own is not None:
        assert [taken[i] for i in listed(own)] == list(range(own.size)), a
    other = tried(peer.right_inverse, theirs(peer, a))
    indices = None if other is None else enumerated(peer, other)
    right = indices is not None and [taken[i] for i in indices] == list(range(len(indices)))
    if right and own is not None:
        assert own.size >= len(indices), a
    return verdict(own, other, right, a)


def divided(peer, rng):
    a = random_modes(rng, rng.choice((1, 2, 3)))
    tile = [(rng.choice((2, 3, 4)), rng.choice((1, 2, 3, 4, 6))) for _ in range(rng.choice((1, 1, 2)))]
    outer, indices = listed(ours(a)), listed(ours(tile))
    if max(indices) >= len(outer) or len(set(indices)) < len(indices):
        return "none"
    own = asked(algebra.logical_divide, ours(a), ours(tile))

    def divides(value, rest):
        inside = all(value(t, 0) == outer[i] for t, i in enumerate(indices))
        whole = [value(t, r) for t in range(len(indices)) for r in range(rest)]
        return inside and sorted(whole) == sorted(outer)

    count = len(outer) // len(indices)
    if own is not None:
        assert divides(lambda t, r: own.place(t, r)[m], count), (a, tile)
    other = tried(peer.logical_divide, theirs(peer, a), theirs(peer, tile))
    right = (
        other is not None
        and int(peer.size(other)) == len(outer)
        and tried(divides, lambda t, r: int(other(t, r)), count)
    )
    return verdict(own, other, bool(right), (a, tile))


def verdict(own, other, right, case):
    if other is None:
        return "only ours" if own is not None else "neither"
    if right:
        assert own is not None, f"right there and refused here: {case}"
        return "both"
    return "theirs wrong"


OPERATIONS = [composed, complemented, left_inverted, right_inverted, divided]

WRONG_ANSWERS = {
    ("pycute", "composed"),
    ("pycute", "complemented"),
    ("pycute", "left_inverted"),
    ("pycute", "divided"),
    ("tensor_layouts", "composed"),
    ("tensor_layouts", "complemented"),
    ("tensor_layouts", "divided"),
}
"""Where a neighbour answers wrongly: results that round or carry, complements that under-fill, and
pycute's left inverse (of this wheel), which stops where a layout has a gap."""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_they_get_right_is_answered_and_the_rest_is_known(peer, operation):
    counts = Counter(operation(peer, Random(seed)) for seed in range(CASES))
    assert counts["both"] > 50, counts
    known = (peer.__name__, operation.__name__) in WRONG_ANSWERS
    assert (counts["theirs wrong"] > 0) == known, counts


# -- TIRx ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tirx():
    return pytest.importorskip("tvm.tirx.layout", reason="apache-tvm is not installed")


def test_slices_of_tirx_are_ours_or_wrong(tirx):
    counts = Counter(sliced(tirx, Random(seed)) for seed in range(CASES))
    assert counts["both"] > 300, counts
    assert counts["theirs wrong"] > 0, counts
    assert counts["only ours"] > 100, counts


def sliced(tirx, rng):
    modes = random_modes(rng, rng.choice((1, 2, 3)), (2, 3, 4, 6))[::-1]
    size = prod(e for e, _ in modes)
    first = rng.randrange(size)
    last = rng.randint(first + 1, size)
    layout = S[tuple(e for e, _ in modes) : tuple(s for _, s in modes)]
    wanted = listed(layout)[first:last]
    pieces = layout.slice((first, last), shape=size)
    assert [place for piece in pieces for place in listed(piece.layout)] == wanted
    tile = tirx.TileLayout(tirx.S[tuple(e for e, _ in modes) : tuple(s for _, s in modes)])
    other = tried(tile.slice, [size], [(first, last)])
    if other is None:
        return "only ours"
    return "both" if [int(other.apply(x)["m"]) for x in range(last - first)] == wanted else "theirs wrong"


def test_plain_tiles_of_tirx_are_ours(tirx):
    rng = Random(3)
    for _ in range(200):
        inner, outer = random_modes(rng, 2), random_modes(rng, 2)
        shapes = [e for e, _ in inner], [e for e, _ in outer]
        tile = tirx.TileLayout(tirx.S[tuple(shapes[0]) : tuple(s for _, s in inner)])
        grid = tirx.TileLayout(tirx.S[tuple(shapes[1]) : tuple(s for _, s in outer)])
        other = tile.tile(grid, shapes[1], shapes[0])
        own = algebra.tile(
            S[tuple(shapes[1]) : tuple(s for _, s in outer)], S[tuple(shapes[0]) : tuple(s for _, s in inner)]
        )
        assert listed(own) == [int(other.apply(x)["m"]) for x in range(own.size)]


def test_defect_copies_of_the_outer_layout_are_not_scaled(tirx):
    tile = tirx.TileLayout(tirx.S[4:1])
    grid = tirx.TileLayout(tirx.S[2:2] + tirx.R[2:1])
    other = tile.tile(grid, [2], [4])
    assert int(other.replica[0].stride) == 1  # copies one element apart, inside the tile
    own = algebra.tile(S[2:2] + R[2:1], S[4:1])
    assert sorted(place[m] for place in own.places(0)) == [0, 4]


def test_defect_unpacking_multiplies_lanes(tirx):
    lane = tirx.Axis.get("laneid")
    other = tirx.TileLayout(tirx.S[(8, 4) : (4 @ lane, 1)]).unpack(2)
    assert int(other.apply(8)["laneid"]) == 8  # lane 4 is meant
    own = S[(8, 4) : (4 @ laneid, 1)].unpack(2)
    assert own.place(8)[laneid] == 4


def test_defect_a_fused_offset_is_lost(tirx):
    own = (S[(4, 32) : (1 @ warpid, 1 @ laneid)] + 2 @ warpid + 3 @ laneid).fuse_axes(("warpid", "laneid"))
    assert own.place(0)["tx"] == 67


def test_complements_that_round_up_are_pycutes():
    """2,000 of random layouts and sizes: pycute's own map, or one that overlaps or leaves places out."""
    peer = pytest.importorskip("pycute", reason="nvidia-cutlass is not installed")
    counts = Counter(rounded_up(peer, Random(seed)) for seed in range(2000))
    assert counts["the same"] > 150, counts
    assert counts["past the size"] > 1500, counts


def rounded_up(peer, rng):
    modes = random_modes(rng, rng.choice((1, 2, 3)))
    size = rng.randint(1, 200)
    other = tried(peer.complement, theirs(peer, modes), size)
    places = None if other is None else enumerated(peer, other)
    try:
        own = algebra.complement(ours(modes), size, round_up=True)
    except Refused:
        filled = sorted(t + p for t in listed(ours(modes)) for p in places or [])
        assert filled != [*range(len(filled))] or len(filled) < size, (modes, size)
        return "refused"
    assert places is not None
    assert listed(own) == places, (modes, size)
    return "the same" if asked(algebra.complement, ours(modes), size) else "past the size"
