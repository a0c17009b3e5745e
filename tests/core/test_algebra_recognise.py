"""Tables and maps read back as swizzled layouts, and refusals held against every swizzle there is."""

from collections import Counter
from itertools import pairwise, product
from math import gcd, prod
from random import Random

import pytest
from tests.core.maps import form_of

from tilewise import Axis, LayoutError, NotDecided, Refused, S, Swizzle, laneid, m, reg, warpid
from tilewise.core.algebra.recognition import explanations, recognise, recognise_map
from tilewise.core.bits import Bits, affine_map
from tilewise.core.swizzles import apply_chain
from tilewise.tables import table
from tilewise.testing import naive_map, naive_xor

# -- tables and the definition ---------------------------------------------------------------------


def values(layout):
    """A layout in one copy on m, listed by the definition."""
    return [dict(place).get("m", 0) for held in naive_map(layout) for place in held]


def attempt(question, *words):
    """(the answer, None) or (None, the refusal)."""
    try:
        return question(*words), None
    except Refused as no:
        return None, no


def swizzle_of(layout):
    return tuple((s.bits, s.base, s.shift) for s in layout.swizzles)


def some_swizzle(rng, largest=4):
    bits = rng.choice((0, 1, 1, 2, 2, 3))
    shift = rng.choice((1, 1, -1)) * (bits + rng.randrange(largest - bits + 1))
    return Swizzle(bits, rng.randrange(5), shift)


def some_layout(rng):
    """Extents mixed or powers of two, any strides, offsets that need no alignment."""
    odd = rng.random() < 0.5
    extents = [rng.choice((2, 3, 4, 5, 6, 7) if odd else (2, 4, 8, 16)) for _ in range(rng.randint(1, 3))]
    strides = [rng.choice((1, 1, 2, 3, 4, 8, 16, 24, 32, 40, 64, 0, -1, -8, 100)) for _ in extents]
    if rng.random() < 0.5:
        strides, step = [], 1
        for extent in reversed(extents):
            strides.insert(0, step)
            step *= extent
    return S[tuple(extents) : tuple(strides)] + rng.choice((0, 0, 0, 1, 8, 24, 64, 100, 512, -3))


def check_recognise(rng):
    """A swizzled layout is always found again, with as few bits as it was written with, or fewer."""
    written = some_swizzle(rng) @ some_layout(rng)
    listed = values(written)
    shape = tuple(it.extent for it in written.shard)
    asked = nested(listed, shape) if rng.random() < 0.5 else listed
    found = recognise(asked)
    assert values(found) == listed, written
    assert len(found.swizzles) <= 1
    assert sum(sw.bits for sw in found.swizzles) <= written.swizzles[0].bits
    if asked is not listed:
        assert prod(shape) == found.size
        if len(shape) > 1 and [prod(flat(mode)) for mode in found.shape] != list(shape):
            assert swizzle_of(found) != swizzle_of(written)  # its own digits would have divided them
    return "answered"


def nested(listed, shape):
    for extent in reversed(shape[1:]):
        listed = [listed[i : i + extent] for i in range(0, len(listed), extent)]
    return listed


def flat(mode):
    return mode if isinstance(mode, tuple) else (mode,)


EVERY = sorted(
    (bits, shift < 0, abs(shift), base, shift)
    for bits, base, shift in product(range(1, 10), range(10), range(-10, 11))
    if abs(shift) >= bits and bits + base + abs(shift) <= 10
)
"""Every swizzle of ten address bits, in the order of `recognise`."""


def brute_force(listed):
    """The first swizzle of EVERY that explains the table; () for the plain layout; None."""
    if isinstance(form_of(listed), dict):
        return ()
    for bits, _, _, base, shift in EVERY:
        if isinstance(form_of([naive_xor(value, bits, base, shift) for value in listed]), dict):
            return ((bits, base, shift),)
    return None


def begins(listed, size, places=()):
    """Return whether a layout of so many elements, in a shape of these place values, begins like a list."""
    step = [None] + [after - before for before, after in pairwise(listed)]
    positions = range(1, len(listed))
    return (
        all(step[gcd(m, size)] == step[m] for m in positions)
        and all(step[gcd(m, other)] in (step[m], step[other]) for m in positions for other in positions)
        and all(step[gcd(m, place)] == step[m] for m in positions for place in places if m % place)
    )


def check_witness(listed, flat, places=()):
    """A layout, swizzled or not, has what comes before the witness, and none has the witness as well."""
    moved = [listed] + [[naive_xor(v, b, base, s) for v in listed] for b, _, _, base, s in EVERY]
    assert any(begins(values[:flat], len(listed), places) for values in moved)
    assert not any(begins(values[: flat + 1], len(listed), places) for values in moved)


def check_small_table(rng):
    """Tables of few bits, most of them no layout's: the answer is that of asking every swizzle."""
    bits = rng.choice((2, 3))
    size = rng.choice((1, 2, 3, 4, 4, 5, 6, 8, 8, 9, 12))
    low = -(1 << bits) if rng.random() < 0.3 else 0
    if rng.random() < 0.6:
        listed = [rng.randrange(low, 1 << bits) for _ in range(size)]
    else:
        inner = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        one, two, sw = rng.randint(-3, 8), rng.randint(-3, 8), some_swizzle(rng, 3)
        listed = [sw(x // inner * one + x % inner * two) for x in range(size)]
        listed = [value % (1 << bits) for value in listed] if rng.random() < 0.4 else listed
    if max(map(abs, listed)) >= 32:
        return "answered"
    expected = brute_force(listed)
    found, no = attempt(recognise, listed)
    if no:
        assert no.code == "TW510"
        assert expected is None, listed
        check_witness(listed, no.witness)
        return "refused"
    assert swizzle_of(found) == expected, listed
    assert values(found) == listed
    return "answered"


def check_recognise_map(rng):
    """Check XORs of columns: the answer is their table's, which brute force compares with every swizzle."""
    bits = rng.randint(1, 4)
    columns = [rng.choice((1, 2, 4, 8, 3, 5, 6, 9, 12, 0, 16, 17)) for _ in range(bits)]
    if rng.random() < 0.5:
        columns = [apply_chain([some_swizzle(rng, 3)], 1 << b) for b in rng.sample(range(5), bits)]
    xors = Bits((rng.choice((0, 0, 5, 16)),), tuple((c,) for c in columns))
    listed = [xors(x)[0] for x in range(1 << bits)]
    expected = brute_force(listed)
    found, no = attempt(recognise_map, xors)
    if no:
        assert no.code == "TW510"
        assert expected is None, xors
        a, b = no.witness
        assert listed[a + b] - listed[b] != listed[a] - listed[0]
        return "refused"
    assert max(columns) >= 128 or swizzle_of(found) == expected, xors
    assert values(found) == listed
    assert recognise(listed) == found
    return "answered"


def test_every_swizzled_layout_is_found_again(times):
    assert Counter(check_recognise(Random(seed)) for seed in range(times(1416))) == {"answered": times(1416)}


@pytest.mark.parametrize(("check", "count"), [(check_small_table, 800), (check_recognise_map, 600)])
def test_any_table_has_the_answer_of_asking_every_swizzle(check, count):
    outcomes = Counter(check(Random(seed)) for seed in range(count))
    assert outcomes["refused"] > 0.1 * count
    assert outcomes["answered"] > 0.25 * count


# -- which swizzle it is ---------------------------------------------------------------------------


def test_on_a_whole_window_the_swizzle_is_the_one_that_was_written():
    """All of them with a period of at most 2^7, over every order of bits in turn: there is no other."""
    written = [(b, base, s) for b, _, d, base, s in EVERY if b + base + d <= 7]
    assert len(written) == 68
    rng = Random(3)
    for bits, base, shift in written:
        order = rng.sample(range(7), 7)
        window = S[(2,) * 7 : tuple(1 << bit for bit in order)]
        listed = values(Swizzle(bits, base, shift) @ window)
        assert [swizzle_of(found.layout) for found in explanations(listed)] == [((bits, base, shift),)]
        assert swizzle_of(recognise(listed)) == ((bits, base, shift),)


def test_on_part_of_one_the_fewest_bits_are_taken_and_the_others_named():
    quarter = values(Swizzle(3, 3, 3) @ S[(2, 64) : (64, 1)])
    assert [one.swizzle for one in explanations(quarter)] == [Swizzle(1, 3, 3)]
    assert recognise(quarter) == Swizzle(1, 3, 3) @ S[128:1]
    steps = values(Swizzle(1, 0, 3) @ S[(2, 4) : (5, 9)])
    found = [str(one.layout) for one in explanations([0, 9, 18, 27, 5, 12, 23, 30])]
    assert found == [
        "Swizzle<1,0,2> o S[(2, 4) : (4, 9)]",
        "Swizzle<1,0,3> o S[(2, 2, 2) : (5, 18, 8)]",
        "Swizzle<2,0,3> o S[(2, 4) : (5, 8)]",
    ]
    assert all(values(one.layout) == steps for one in explanations(steps))
    assert next(explanations([0, 1, 2, 3])).swizzle is None


def test_explanations_are_all_there_are(times):
    rng = Random(11)
    for _ in range(times(150)):
        listed = [rng.randrange(8) for _ in range(rng.choice((3, 4, 5)))]
        acting = set()
        for bits, _, _, base, shift in EVERY:
            moved = [naive_xor(value, bits, base, shift) for value in listed]
            if bits + base + abs(shift) <= max(listed).bit_length() and isinstance(form_of(moved), dict):
                acting.add(tuple(moved))
        if isinstance(form_of(listed), dict):
            acting.add(tuple(listed))
        found, no = attempt(lambda table: [one.layout for one in explanations(table)], listed)
        if no:
            assert not acting
            continue
        assert all(values(layout) == listed for layout in found)
        undone = {tuple(layout.swizzles[0](v) if layout.swizzles else v for v in listed) for layout in found}
        assert acting <= undone
        assert acting == undone or not acting


def test_numbers_below_0():
    written = Swizzle(2, 1, 3) @ (S[(8, 4, 2) : (-8, 2, 1)] - 5)
    assert values(recognise(values(written))) == values(written)
    assert recognise([-1, -2, -3]) == S[3:-1] - 1


# -- shapes, axes, what a table may be -------------------------------------------------------------


def test_the_shape_of_the_table_is_the_shape_of_the_layout():
    written = Swizzle(2, 3, 3) @ (S[(4, 3, 8) : (48, 8, 1)] + 16)
    assert recognise(nested(values(written), (4, 3, 8))).shape == (4, 3, 8)
    (only,) = {one.note for one in explanations(nested(values(written), (4, 3, 8)))}
    assert only == ""


def test_digits_that_do_not_divide_it_leave_it_flat_and_say_so():
    found = next(explanations([[0, 1, 2], [10, 11, 12], [20, 21, 22], [30, 31, 32]]))
    assert found.layout == S[(4, 3) : (10, 1)]
    across = next(explanations([[0, 1, 2, 10], [11, 12, 20, 21], [22, 30, 31, 32]]))
    assert across.layout == S[(4, 3) : (10, 1)]
    assert "neither divides the other" in across.note


def test_several_axes_and_places():
    written = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
    assert recognise(table(written).columns).same(written)
    swizzled = Swizzle(2, 0, 2) @ (S[(4, 2, 4) : (4 @ m, 1 @ warpid, 1 @ m)] + 3 @ warpid)
    assert recognise(table(swizzled).columns).same(swizzled)
    assert recognise([swizzled.place(x) for x in range(swizzled.size)]).same(swizzled)
    buffer = Axis("buf", storage=True)
    on_buffer = Swizzle(1, 0, 2, buffer) @ S[(4, 4) : (4 @ buffer, 1 @ buffer)]
    assert recognise(table(on_buffer).array, axis=buffer) == on_buffer
    with pytest.raises(Refused) as refused:
        recognise(table(swizzled).columns["m"].tolist(), axis=laneid)
    assert "swizzle" not in refused.value.reason


def check_axes(rng):
    """Two axes, one of them swizzled: on a common refinement, or no layout of both."""
    extents = [rng.choice((2, 3, 4)) for _ in range(rng.randint(1, 4))]
    steps = [(rng.choice((0, 1, 2, 4, 8)), rng.choice((0, 0, 1, 4))) for _ in extents]
    sw = some_swizzle(rng, 3)
    written = sw @ S[tuple(extents) : tuple(a @ m + b @ laneid for a, b in steps)]
    columns = {"m": [], "laneid": []}
    for (place,) in naive_map(written):
        for name, column in columns.items():
            column.append(dict(place).get(name, 0))
    if rng.random() < 0.3:
        columns["laneid"] = [x // rng.choice((2, 3)) for x in range(written.size)]
    pairs = list(zip(columns["m"], columns["laneid"], strict=True))
    exists = any(
        isinstance(form_of([(sw(a) << 20) + b for a, b in pairs]), dict)
        for sw in (Swizzle(0, 0, 0), *(Swizzle(b, base, s) for b, _, _, base, s in EVERY))
    )
    found, no = attempt(recognise, columns)
    assert exists == (no is None), columns
    if no:
        return "refused"
    assert [(p["m"], p["laneid"]) for p in map(found.place, range(found.size))] == pairs
    return "answered"


def test_generated_tables_on_two_axes(times):
    outcomes = Counter(check_axes(Random(seed)) for seed in range(times(150)))
    assert outcomes["answered"] > times(60)
    assert outcomes["refused"] > 5


def test_what_a_table_may_be():
    np = pytest.importorskip("numpy")
    written = Swizzle(2, 0, 2) @ S[(4, 4) : (4, 1)]
    array = np.array(values(written)).reshape(4, 4)
    assert recognise(array) == recognise(array.tolist()) == recognise(list(array)) == written
    assert recognise(range(4)) == recognise((0, 1, 2, 3)) == recognise(iter(range(4))) == S[4:1]
    assert recognise(7) == recognise([7]) == S[()] + 7


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ([], "TW102"),
        ([[], []], "TW102"),
        ([[1, 2], [3]], "TW107"),
        ([[1, 2], 3], "TW107"),
        ([1, 2.5], "TW101"),
        (["1"], "TW101"),
        ({}, "TW107"),
        ({"m": [1, 2], "reg": [1]}, "TW107"),
        ({"not one": [1]}, "TW103"),
    ],
)
def test_what_it_may_not_be(wrong, code):
    with pytest.raises(LayoutError) as error:
        recognise(wrong)
    assert error.value.code == code


# -- maps of XORs ----------------------------------------------------------------------------------


def test_any_affine_map_of_a_swizzled_layout_is_found_again(times):
    """Digits of one bit each in any order over two axes, offsets that the swizzle does not divide."""
    rng = Random(23)
    for _ in range(times(700)):
        bits = rng.randint(1, 9)
        strides = [(1 << b) @ m for b in rng.sample(range(10), bits)]
        for i in range(bits):
            if rng.random() < 0.2:
                strides[i] = (1 << i) @ reg
        written = some_swizzle(rng) @ (S[(2,) * bits : tuple(strides)] + rng.choice((0, 0, 3, 512, 1 << 12)))
        xors = affine_map(written)
        if xors is None:
            continue
        found = recognise_map(xors)
        assert affine_map(found.same(written) and found) is not None
        assert sum(s.bits for s in found.swizzles) <= written.swizzles[0].bits


def test_two_axes_that_are_both_mixed_have_no_swizzle():
    with pytest.raises(Refused) as refused:
        recognise_map(Bits((0, 0), ((1, 1), (3, 0), (0, 3)), (m, reg)))
    assert "both m and reg" in refused.value.reason
    with pytest.raises(Refused) as refused:
        recognise_map(Bits((0,), ((1,), (3,)), (laneid,)))
    assert refused.value.witness == (1, 2)


def test_of_2_to_the_40_elements():
    written = Swizzle(3, 4, 3) @ S[(2**20, 2**20) : (1, 2**20)]
    assert recognise_map(affine_map(written)) == Swizzle(3, 4, 3) @ S[(2**20, 2**20) : (1, 2**20)]


# -- time ------------------------------------------------------------------------------------------

TILES = [
    S[(128, 64) : (64, 1)],
    Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)],
    Swizzle(3, 4, 3) @ (S[(128, 64) : (72, 1)] + 40),
    Swizzle(2, 3, 3) @ (S[(128, 64) : (65, 1)] + 7),
    Swizzle(3, 3, 3) @ (S[((16, 8), (8, 8)) : ((512, 8), (64, 1))] + 24),
]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_tile_of_128_x_64_is_recognised(tile):
    """`make bench` says how fast."""
    assert recognise(table(tile).array.tolist()) == tile


def test_numbers_beyond_all_addresses_are_not_decided():
    rng = Random(5)
    listed = [rng.getrandbits(200) for _ in range(11)]
    with pytest.raises(NotDecided):
        recognise(listed)
    assert recognise([2**400 * x for x in range(11)]) == S[11 : 2**400]
