"""Composition against the definition: A(B(x)) index by index, and refusals against brute force."""

from collections import Counter
from itertools import product
from math import gcd, prod
from random import Random

import pytest
from tests.core.maps import form_of

from tilewise import LayoutError, NotDecided, R, Refused, S, Swizzle, laneid, parse, reg
from tilewise.core.algebra.composition import compose
from tilewise.core.orders import by_flat_index
from tilewise.core.shapes import extents_of, leaves
from tilewise.testing import naive_places
from tilewise.testing.generate import random_layout

# -- cases -----------------------------------------------------------------------------------------


def outer_layout(rng, max_size=96):
    """Any layout, or a dense one, whose compositions exist more often."""
    if rng.random() < 0.5:
        return random_layout(rng, max_size)
    extents = [rng.choice((2, 2, 3, 4, 4, 5, 6, 8)) for _ in range(rng.randint(1, 4))]
    order = rng.sample(range(len(extents)), len(extents))
    strides, step = [0] * len(extents), 1
    for i in order:
        strides[i], step = step, step * extents[i]
    return S[tuple(extents) : tuple(strides)]


def inner_layout(rng, size, swizzled=False):
    """Indices in [0, size), with copies now and then; None where none came up."""
    for _ in range(20):
        extents = [rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8)) for _ in range(rng.randint(1, 3))]
        steps = [rng.choice((-8, -4, -3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12, 16)) for _ in extents]
        copies = [(rng.choice((2, 3)), rng.choice((1, 2, 4, 8)))] if rng.random() < 0.15 else []
        reach = [(e - 1) * s for e, s in (*zip(extents, steps, strict=True), *copies)]
        low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
        if high - low >= size:
            continue
        start = rng.randint(-low, size - 1 - high) if rng.random() < 0.5 else -low
        layout = S[tuple(extents) : tuple(steps)] + start
        for extent, step in copies:
            layout = layout + R[extent:step]
        if rng.random() < 0.4:
            layout = layout.regroup(tuple(range(len(extents))))
        if not swizzled:
            return layout
        bits = rng.choice((1, 1, 2))
        sw = Swizzle(bits, rng.randrange(3), rng.choice((1, -1)) * (bits + rng.randrange(2)))
        if (sw @ layout).extremes("m")[0] >= 0 and (sw @ layout).extremes("m")[1] < size:
            return sw @ layout
    return None


def composed_places(outer, inner, flat):
    """A at every index at B's places of a flat index."""
    found = set()
    for place in naive_places(inner, flat):
        found |= naive_places(outer, dict(place).get("m", 0))
    return found


def exists_over_digits(outer, inner):
    """Brute force: the listed map is a sum of layouts of the digits, as they are merged in each mode."""
    extents, values = list(extents_of(inner.shape)), []
    for flat in range(inner.size):
        (place,) = composed_places(outer, inner, flat)
        values.append(dict(place).get("m", 0))
    zero = [0] * len(extents)

    def at(digits):
        flat = 0
        for extent, digit in zip(extents, digits, strict=True):
            flat = flat * extent + digit
        return values[flat] - values[0]

    alone = []
    for j, extent in enumerate(extents):
        alone.append([at([*zero[:j], x, *zero[j + 1 :]]) for x in range(extent)])
        if isinstance(form_of(alone[-1]), tuple):
            return False
    return all(
        at(digits) == sum(g[x] for g, x in zip(alone, digits, strict=True))
        for digits in product(*map(range, extents))
    )


# -- checks that the soak runs too ------------------------------------------------------------------


def check_compose(rng):
    outer = outer_layout(rng)
    inner = inner_layout(rng, outer.size)
    return "none" if inner is None else checked(outer, inner)


def check_compose_swizzled(rng):
    outer = outer_layout(rng)
    inner = inner_layout(rng, outer.size, swizzled=True)
    return "none" if inner is None else checked(outer, inner)


def checked(outer, inner):
    try:
        found = compose(outer, inner)
    except NotDecided:
        return "undecided"
    except Refused as no:
        if no.code == "TW501":
            check_certificate(outer, inner, no.witness)
        elif no.code != "TW504":
            raise
        return "refused"
    assert found.size == inner.size
    for flat in range(inner.size):
        assert naive_places(found, flat) == composed_places(outer, inner, flat), (outer, inner, flat)
    return "answered"


def check_certificate(outer, inner, witness):
    """The reader's check: four evaluations along a digit, or one corner against its digits."""
    if inner.replica or outer.replica or outer.swizzles or len(outer.axes) > 1:
        return

    def at(flat):
        (place,) = composed_places(outer, inner, flat)
        return dict(place).get(outer.axes[0].name, 0)

    if "positions" in witness:
        unit, extent = witness["unit"], witness["extent"]

        def step(position):
            return at(unit * position) - at(unit * (position - 1))

        position, other = witness["positions"]
        common = gcd(position, other)
        assert step(common) != step(position)
        assert other == extent or step(common) != step(other)


def test_random_compositions_are_exact_or_refused_with_proof(times):
    counts = Counter(check_compose(Random(seed)) for seed in range(times(2500)))
    assert counts["answered"] > times(700)
    assert counts["refused"] > times(700)
    assert not counts["undecided"]


def test_random_swizzled_indices_are_exact_or_refused(times):
    counts = Counter(check_compose_swizzled(Random(seed)) for seed in range(times(1500)))
    assert counts["answered"] > times(300)
    assert counts["undecided"] < 0.3 * counts["answered"]


def check_compose_against_brute_force(rng):
    """Over B's digits there is a layout iff one is given: signs, zeros, overlaps, offsets."""
    extents = [rng.choice((1, 2, 3, 4, 5, 6, 8)) for _ in range(rng.randint(1, 4))]
    outer = S[tuple(extents) : tuple(rng.randint(-6, 24) for _ in extents)]
    inner = inner_layout(rng, outer.size)
    if inner is None or inner.replica:
        return "none"
    inner = inner.flatten()
    try:
        compose(outer, inner)
    except NotDecided:
        return "undecided"
    except Refused:
        assert not exists_over_digits(outer, inner), (outer, inner)
        return "refused"
    assert exists_over_digits(outer, inner), (outer, inner)
    return "answered"


def test_the_answers_are_those_that_brute_force_finds(times):
    counts = Counter(check_compose_against_brute_force(Random(seed)) for seed in range(times(1500)))
    assert counts["answered"] > times(300)
    assert counts["refused"] > times(300)
    assert not counts["undecided"]


# -- worked values ---------------------------------------------------------------------------------

WORKED = [
    # CUTLASS media/docs/cpp/cute/02_layout_algebra.md, and arXiv 2603.02298, section 3.3.3
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
    ("(4,6,8,10):(2,3,5,7)", "6:12", "(2,3):(9,5)"),
    ("(4,2,8):(3,12,97)", "3:3", "3:9"),
]


@pytest.mark.parametrize(("a", "b", "result"), WORKED)
def test_worked_values_in_the_order_of_cute(a, b, result):
    assert str(compose(parse(a), parse(b))) == result


NO_LAYOUT = [
    # published as answers or accepted by an implementation, and wrong there
    ("(4,6,8):(2,3,5)", "6:3"),
    ("(4,2,8):(3,12,97)", "4:3"),
    ("(4,2,8):(3,15,97)", "3:3"),
    ("(16,5):(5,1)", "(16,2):(4,6)"),
    ("(6,8):(8,1)", "12:4"),
    ("((6),8):((16),1)", "(4,12):(1,4)"),
]


@pytest.mark.parametrize(("a", "b"), NO_LAYOUT)
def test_what_others_get_wrong_is_refused_with_its_positions(a, b):
    outer, inner = by_flat_index(parse(a)), by_flat_index(parse(b))
    with pytest.raises(Refused) as no:
        compose(outer, inner)
    assert no.value.code == "TW501"
    assert no.value.witness
    assert not exists_over_digits(outer.flatten(), inner.flatten())


def test_the_carry_that_left_distributivity_forgets():
    with pytest.raises(Refused) as no:
        compose(parse("(16,5):(5,1)"), parse("(16,2):(4,6)"))
    assert "carry" in no.value.reason
    assert no.value.witness["digits"] in ((3, 1), (15, 1))


# -- shapes, modes, axes ---------------------------------------------------------------------------


def test_a_mode_keeps_its_nesting_where_the_digits_allow_it():
    found = compose(S[(4, 4) : (1, 4)], S[((2, 2), 4) : ((8, 4), 1)])
    assert found == S[((2, 2), 4) : ((2, 1), 4)]
    crossing = compose(S[(2, 6) : (100, 1)], S[((3, 4),) : ((4, 1),)])
    assert [crossing.place(x)["m"] for x in range(12)] == [*range(6), *range(100, 106)]


def test_steps_on_two_axes_at_once_are_vectors():
    found = compose(S[(2, 3) : (1 @ laneid, 1 @ reg)], S[2:4])
    assert found == S[2 : 1 @ laneid + 1 @ reg]


def test_several_axes_index_several_modes():
    memory = S[(16, 8) : (8, 1)]
    fragment = S[(8, 2, 2) : (1 @ laneid, 8 @ laneid, 1 @ reg)]
    found = memory.compose(fragment, modes=("laneid", "reg"))
    for x in range(fragment.size):
        place = fragment.place(x)
        assert found.place(x) == memory.place(place["laneid"], place["reg"])


def test_basis_strides_select_modes():
    tensor = S[(4, 6) : (6, 1)]
    assert tensor.compose(parse("(2,3):(1@1,1@0)")) == parse("(2,3):(1,6)")


def test_mode_by_mode():
    tensor = S[(8, 8, 3) : (8, 1, 64)]
    assert tensor.compose((S[(2, 2) : (4, 1)], None)) == S[((2, 2), 8, 3) : ((32, 8), 1, 64)]
    assert tensor.compose((4, 2, 1)) == S[(4, 2, 1) : (8, 1, 0)]
    with pytest.raises(LayoutError, match="4 tilers for 3 modes"):
        tensor.compose((1, 1, 1, 1))


def test_copies_of_both_layouts_are_kept():
    outer, inner = S[8:1] + R[2:100], S[2:1] + R[2:4]
    found = outer.compose(inner)
    assert {p["m"] for p in found.places(1)} == {1, 5, 101, 105}


def test_offset_and_swizzle_of_the_outer_layout_stay_outside():
    outer = Swizzle(2, 0, 3) @ (S[(8, 8) : (8, 1)] + 64)
    inner = S[(4, 2) : (16, 3)] + 1
    found = outer.compose(inner)
    assert found.swizzles == outer.swizzles
    assert [found.place(x) for x in range(8)] == [outer.place(inner.place(x)["m"]) for x in range(8)]


def test_a_swizzle_of_indices_becomes_one_of_places():
    sw = Swizzle(3, 3, 3)
    assert S[512:2].compose(sw @ S[(8, 64) : (64, 1)]) == Swizzle(3, 4, 3) @ S[(8, 64) : (128, 2)]
    column_major = S[(64, 8) : (1, 64)]
    found = column_major.compose(sw @ S[512:1])
    assert [found.place(x) for x in range(512)] == [column_major.place(sw(x)) for x in range(512)]


def test_what_is_refused_before_the_swizzle_is_not_refused_for_it():
    """The indices before the swizzle make no layout; a refusal must be of those after it."""
    outer = S[(8, 2, 4) : (4, 32, 1)]
    inner = Swizzle(1, 2, 1) @ (S[((3, 6, 4),) : ((-2, -1, 0),)] + 9)
    with pytest.raises(Refused) as no:
        outer.compose(inner)
    assert no.value.code == "TW504"


# -- refusals --------------------------------------------------------------------------------------


def test_an_index_outside_is_named_with_the_element_that_asks_for_it():
    with pytest.raises(Refused) as no:
        S[16:1].compose(S[(3, 4) : (-4, 1)] + 6)
    assert no.value.code == "TW502"
    assert no.value.witness == {"index": 8, "asked": -2, "size": 16}


def test_indices_on_two_axes_need_names():
    with pytest.raises(Refused, match="laneid and reg"):
        S[(4, 4) : (4, 1)].compose(S[(2, 2) : (1 @ laneid, 1 @ reg)])
    with pytest.raises(LayoutError, match="1 name for 2 modes of A"):
        S[(4, 4) : (4, 1)].compose(S[2 : 1 @ laneid], modes=("laneid",))


def test_what_is_no_layout_is_refused():
    with pytest.raises(LayoutError, match="a layout or an extent belongs here"):
        S[4:1].compose("4:1")
    with pytest.raises(LayoutError, match="the inner layout counts bytes"):
        S[4:1].compose(S[2:1].counted("byte"))


def test_modes_are_names():
    with pytest.raises(LayoutError, match="modes are a list of names"):
        compose(S[(4, 4) : (4, 1)], S[2:1], modes=S[2:1])


def test_huge_layouts_cost_by_their_digits():
    extents = (4,) * 25
    dense = S[extents]
    turned = dense.permute(*reversed(range(25)))
    found = turned.compose(S[2**50 : 1])
    assert found.size == 2**50
    assert len(list(leaves(found.shape))) <= 25
    assert prod(leaves(found.shape)) == 2**50
