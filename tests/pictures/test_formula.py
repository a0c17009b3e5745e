"""The arithmetic and the sentences that are shown of a layout, held to what the layout maps."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given

from tilewise import Layout, NotDecided, R, S, Swizzle, parse
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of
from tilewise.pictures.prose import facts_of, formulas_of, index_names, prose_of
from tilewise.testing import naive_map
from tilewise.testing.strategies import layouts


def indices(layout):
    """Every index, one number a mode, slowest first."""
    return product(*map(range, extents_of(layout.shape)))


def places_said(layout, index) -> dict[str, int]:
    """The places of one element, by Python's own reading of the formulas."""
    named = dict(zip(index_names(layout), index, strict=True))
    found = {}
    for formula in formulas_of(layout):
        axis, _, said = formula.partition(" = ")
        text, _, inner = said.partition(", x = ")
        if inner:
            named["x"] = eval(inner, {}, dict(named))
        text = re.sub(r"Swizzle<([-\d,]+)>", r"Swizzle(\1)", text)
        found[axis] = eval(text, {"Swizzle": Swizzle}, named)
    return found


@given(layouts(max_size=48, replicas=False))
def test_formulas_are_the_map(layout):
    for index, (place,) in zip(indices(layout), naive_map(layout), strict=True):
        assert {axis: steps for axis, steps in places_said(layout, index).items() if steps} == dict(place)


def test_the_reading_of_formulas_is_pythons():
    """As a formula without its brackets would be read, an outer offset would move the XOR."""
    layout = parse("O[1] o Swizzle<1,0,1> o (S[4 : 1] + 1)")
    assert [places_said(layout, (x,))["m"] for x in range(4)] == [2, 4, 3, 5]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("S[(128, 64) : (64, 1)]", ["m = 64*i + j"]),
        ("Swizzle<3,3,3> o S[(128, 64) : (64, 1)]", ["m = x ^ (x>>3 & 56), x = 64*i + j"]),
        ("Swizzle<2,0,-2> o S[(4, 4) : (4, 1)]", ["m = x ^ (x<<2 & 12), x = 4*i + j"]),
        ("O[128] o Swizzle<3,4,3> o (S[8 : 128] - 128)", ["m = (x ^ (x>>3 & 112)) + 128, x = 128*i - 128"]),
        ("Swizzle<1,3,3> o Swizzle<1,4,3> o S[64 : 8]", ["m = Swizzle<1,3,3>(Swizzle<1,4,3>(x)), x = 8*i"]),
        ("S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]", ["m = 64*i + 8192*(j//64) + j%64"]),
        ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", ["laneid = 4*i + j", "reg = k"]),
        ("S[(2, 4) : (-4, -1)] + 7", ["m = -4*i - j + 7"]),
        ("S[(4, 4) : (0, 1)]", ["m = j"]),
        ("S[()]", []),
    ],
)
def test_formulas_as_a_person_would_write_them(text, formulas):
    assert [*formulas_of(parse(text))] == formulas


def test_many_modes_are_numbered():
    names = index_names(parse("S[(2, 2, 2, 2, 2, 2, 2, 2, 2) : (256, 128, 64, 32, 16, 8, 4, 2, 1)]"))
    assert names == tuple(f"i{mode}" for mode in range(9))


@pytest.mark.parametrize(
    ("text", "dtype", "sentence"),
    [
        ("S[64 : 1]", None, "64 elements"),
        ("S[64 : 2]", None, "64 elements, 2 apart"),
        ("S[()]", None, "1 element"),
        ("S[(64, 32) : (32, 1)]", None, "64 x 32, row-major"),
        ("S[(64, 32) : (1, 64)]", None, "64 x 32, column-major"),
        ("S[(64, 32) : (40, 1)]", None, "64 x 32, row-major, rows 40 apart: 8 of padding"),
        ("S[(64, 32) : (1, 65)]", None, "64 x 32, column-major, columns 65 apart: 1 of padding"),
        ("S[(64, 32) : (0, 1)]", None, "64 x 32, rows on top of each other"),
        ("S[(64, 32) : (-32, 1)]", None, "64 x 32, rows -32 apart, columns 1 apart"),
        (
            "S[((8, 8), (4, 8)) : ((256, 8), (64, 1))]",
            None,
            "64 x 32, in the order of addresses 8 of j, 8 of i, 4 of j, 8 of i",
        ),
        (
            "S[((8, 8), 8) : ((80, 8), 1)]",
            None,
            "64 x 8, in the order of addresses 8 of j 1 apart, 8 of i 8 apart, 8 of i 80 apart",
        ),
        (
            "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
            None,
            "8 x 64, row-major; chunks of 8 elements are permuted in each 512",
        ),
        (
            "Swizzle<2,3,3> o S[(8, 32) : (32, 1)]",
            "f16",
            "8 x 32, row-major; chunks of 16 B are permuted in each 512 B: the hardware's 64B mode",
        ),
        (
            "Swizzle<3,4,3> o S[(8, 64) : (64, 1)]",
            "f16",
            "8 x 64, row-major; chunks of 16 elements are permuted in each 1024",
        ),
        ("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]", None, "8 x 8, row-major; elements are permuted in each 64"),
        ("(64,32):(1,64)", None, "64 x 32, column-major"),
        ("(64,32):(32,1)", None, "64 x 32, row-major"),
        ("S[8 : 1] + R[2 : 8]", None, "8 elements; 2 copies of each"),
        ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", None, "8 x 4 x 2 over 32 lanes, in 2 registers"),
        ("S[(4, 8) : (1@gpuid_x, 1@m)]", None, "4 x 8 over 4 of gpuid_x, in 8 elements of memory"),
        (
            "S[(128, 64) : (1@TLane, 2@TCol)]",
            None,
            "128 x 64 over 128 lanes of tensor memory, in 127 steps of TCol",
        ),
        (
            "S[(128, 64) : (1@TLane, 2@TCol)]",
            "f16",
            "128 x 64 over 128 lanes of tensor memory, in 64 columns",
        ),
        (
            "S[(128, 16) : (1@TLane, 1@TCol)]",
            "e4m3",
            "128 x 16 over 128 lanes of tensor memory, in 4 columns",
        ),
    ],
)
def test_sentences(text, dtype, sentence):
    assert prose_of(parse(text), None if dtype is None else DType.of(dtype)) == sentence


def test_what_was_not_decided_is_called_that(monkeypatch):
    def spent(_: object) -> int:
        raise NotDecided("how many copies are distinct")

    monkeypatch.setattr(Layout, "copies", property(spent))
    assert prose_of(S[8:1] + R[2:8]) == "8 elements; how many copies are distinct was not decided"


@pytest.mark.parametrize(
    ("text", "dtype", "facts"),
    [
        ("S[(8, 8) : (8, 1)]", None, ["64 elements at m = 0..63", "one to one, without holes"]),
        ("S[(8, 8) : (8, 1)]", "f32", ["64 elements at m = 0..63: 256 B", "one to one, without holes"]),
        (
            "S[(8, 8) : (9, 1)]",
            "f16",
            ["64 elements at m = 0..70: 142 B", "one to one; 7 places between hold nothing, such as 8@m"],
        ),
        (
            "S[(4, 4) : (4, 2)]",
            None,
            [
                "16 elements at m = 0..18",
                "not one to one: (0, 2) and (1, 0) share 4@m; 9 places between hold nothing, such as 1@m",
            ],
        ),
        (
            "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
            "bf16",
            [
                "512 elements at m = 0..511: 1024 B",
                "one to one, without holes",
                "its base is a multiple of 1024 B, by which the swizzle repeats",
            ],
        ),
    ],
)
def test_facts(text, dtype, facts):
    assert [*facts_of(parse(text), None if dtype is None else DType.of(dtype))] == facts
