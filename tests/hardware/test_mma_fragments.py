"""mma.sync's fragments against the formulas of the manual, element by element, for every shape and type."""

from itertools import product

import pytest
from tests.hardware import written_mma as written

from tilewise import LayoutError, Refused
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import FAMILIES, Shape, instructions, shapes_of

ROWS = [
    pytest.param(shape, dtype, *rest, id=f"{shape}-{dtype}")
    for shape, rows in written.WRITTEN.items()
    for types, *rest in rows
    for dtype in types
]


def lanes():
    return [(lane, lane >> 2, lane % 4) for lane in range(32)]


def held(layout, index):
    place = layout.place(*index)
    return place["laneid"], place["reg"]


def check(layout, extents, each, formula, turned=False):
    """Each element that the formula gives is where it says, and there are no others."""
    assert (layout.size, layout.span("reg")) == (extents[0] * extents[1], each)
    seen = set()
    for (lane, group, t), i in product(lanes(), range(each)):
        index = formula(group, t, i)
        index = index[::-1] if turned else index
        assert held(layout, index) == (lane, i)
        seen.add(index)
    assert len(seen) == layout.size == 32 * each


@pytest.mark.parametrize(("shape", "dtype", "a", "a_of", "b", "b_of", "c", "c_of", "results"), ROWS)
def test_fragments_are_as_written(shape, dtype, a, a_of, b, b_of, c, c_of, results):
    of = Shape.of(shape)
    check(a_fragment(shape, dtype), (of.m, of.k), a, a_of)
    check(b_fragment(shape, dtype), (of.n, of.k), b, b_of, turned=True)
    for result in results:
        check(d_fragment(shape, result), (of.m, of.n), c, c_of)


def test_all_that_is_written_is_here_and_nothing_else():
    here = {
        (str(family.shape), name, family.results)
        for family in FAMILIES
        if family.products == 1
        for pair in family.inputs
        for name in pair
    }
    there = {
        (shape, name, row[-1]) for shape, rows in written.WRITTEN.items() for row in rows for name in row[0]
    }
    assert here == there


def test_the_misprint_of_m16n8k256_gives_two_elements_one_place():
    """As printed a column stands for two elements of a row, and others for none."""
    printed = [written.a_168256_as_printed(g, t, i) for (_, g, t), i in product(lanes(), range(128))]
    assert len(printed) == 16 * 256
    assert len(set(printed)) < len(printed)
    with pytest.raises(AssertionError):
        check(a_fragment("m16n8k256", "b1"), (16, 256), 128, written.a_168256_as_printed)


# -- Volta's ---------------------------------------------------------------------------------------

MAJORS = {
    ("A", "row"): written.volta_a_row,
    ("A", "col"): written.volta_a_col,
    ("B", "row"): written.volta_b_row,
    ("B", "col"): written.volta_b_col,
}


@pytest.mark.parametrize(("operand", "major"), MAJORS, ids="-".join)
@pytest.mark.parametrize("which", range(4))
def test_voltas_inputs_are_as_written(operand, major, which):
    fragment = {"A": a_fragment, "B": b_fragment}[operand]("m8n8k4", "f16", major, which)
    seen = set()
    for lane, i in product(written.volta_lanes(which), range(4)):
        index = MAJORS[operand, major](lane, i)
        index = index if operand == "A" else index[::-1]
        assert held(fragment, index) == (lane, i)
        seen.add(index)
    assert len(seen) == fragment.size == 32


@pytest.mark.parametrize(("dtype", "formula"), [("f16", written.volta_c_f16), ("f32", written.volta_c_f32)])
@pytest.mark.parametrize("which", range(4))
def test_voltas_results_are_as_written(dtype, formula, which):
    fragment = d_fragment("m8n8k4", dtype, which)
    seen = {formula(lane, i) for lane, i in product(written.volta_lanes(which), range(8))}
    assert len(seen) == fragment.size == 64
    for lane, i in product(written.volta_lanes(which), range(8)):
        assert held(fragment, formula(lane, i)) == (lane, i)


def test_voltas_four_products_share_the_warp():
    lanes_of = [{held(a_fragment("m8n8k4", "f16", "row", p), (m, 0))[0] for m in range(8)} for p in range(4)]
    assert set.union(*lanes_of) == {*range(32)}
    assert sum(map(len, lanes_of)) == 32


def test_m8n8k4_of_f64_is_not_voltas():
    assert a_fragment("m8n8k4", "f64").place(7, 3)["laneid"] == 31
    assert d_fragment("m8n8k4", "f64").span("reg") == 2


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "said", "hint"),
    [
        (lambda: a_fragment("m16n8k16", "tf32"), "no mma.sync m16n8k16 multiplies tf32", "m16n8k4, m16n8k8"),
        (
            lambda: a_fragment("m16n8k32", "f16"),
            "no mma.sync m16n8k32 multiplies f16",
            "sparse A there is one",
        ),
        (lambda: a_fragment("m16n8k17", "f16"), "no mma.sync m16n8k17 multiplies f16", "m8n8k4, m16n8k8"),
        (lambda: b_fragment("m16n8k8", "f32"), "no mma.sync multiplies f32", "multiplied as tf32"),
        (
            lambda: b_fragment("m16n8k16", "e2m1"),
            "no mma.sync m16n8k16 multiplies e2m1",
            "e2m1 has m16n8k32, m16n8k64",
        ),
        (
            lambda: b_fragment("m16n8k64", "e3m2"),
            "no mma.sync m16n8k64 multiplies e3m2",
            "e3m2 has m16n8k32",
        ),
        (lambda: b_fragment("m16n8k32", "e2m1", "row"), "takes B as col alone", "m8n8k4 of f16 takes both"),
        (lambda: d_fragment("m16n8k16", "bf16"), "no mma.sync accumulates in bf16", "come out as f32"),
        (lambda: d_fragment("m16n8k4", "f16"), "m16n8k4 accumulates in f16", "f16 has m8n8k4, m16n8k8"),
        (lambda: a_fragment("m16n8k8", "f16", "col"), "takes A as row alone", "m8n8k4 of f16 takes both"),
        (lambda: b_fragment("m8n8k4", "f64", "row"), "takes B as col alone", "m8n8k4 of f16 takes both"),
        (lambda: a_fragment("m8n8k4", "f64", product=1), "computes one product", "computes four"),
    ],
    ids=lambda value: "" if callable(value) else None,
)
def test_what_there_is_not_is_refused(ask, said, hint):
    with pytest.raises(Refused) as no:
        ask()
    assert (no.value.code, said in no.value.reason, hint in no.value.hint) == ("TW602", True, True)
    assert no.value.witness


@pytest.mark.parametrize(
    "ask",
    [
        lambda: a_fragment("m16n8", "f16"),
        lambda: a_fragment("16x8x16", "f16"),
        lambda: a_fragment("m8n8k4", "f16", "k"),
        lambda: a_fragment("m8n8k4", "f16", product=4),
        lambda: d_fragment("m8n8k4", "f16", -1),
        lambda: a_fragment("m16n8k16", "f17"),
    ],
)
def test_what_is_no_word_is_an_error(ask):
    with pytest.raises(LayoutError) as error:
        ask()
    assert not isinstance(error.value, Refused)


def test_instructions_are_asked_by_shape_type_and_architecture():
    assert len(set(instructions())) == len(instructions()) == len({str(this) for this in instructions()})
    assert {str(this.shape) for this in instructions(dtype="e5m2", arch="sm_89")} == {"m16n8k16", "m16n8k32"}
    assert instructions(dtype="e5m2", arch="sm_86") == ()
    assert [str(shape) for shape in shapes_of("f64", "sm_80")] == ["m8n8k4"]
    for this in instructions():
        assert this.needs == next(one.needs for one in FAMILIES if this in one.instructions)
