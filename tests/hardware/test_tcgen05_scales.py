"""Scale factors, held to the formulas of the documents, written as such."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import Layout
from tilewise.core.errors import Refused
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.places import asked_place, positions_at, positions_of
from tilewise.hardware.tcgen05.kinds import KINDS
from tilewise.hardware.tcgen05.scales import Factors, blocks, takes

ROWS = st.integers(1, 600)
FACTORS = st.integers(1, 19)


def places(layout: Layout, row: int, factor: int) -> set[tuple[int, int, int]]:
    """(CTA, lane, byte) of every copy."""
    every = (place.as_dict() for place in layout.places(row, factor))
    return {(place.get("cbx", 0), place.get("TLane", 0), place.get("TCol", 0)) for place in every}


def bytes_of(column: int, factor: int) -> int:
    return 4 * column + factor % 4


@given(ROWS, FACTORS)
def test_blocks_in_memory(rows, sf_k):
    """cuBLAS, 1D Block Scaling Factors Layout."""
    layout = blocks(rows, sf_k)
    across = -(-sf_k // 4)
    for row in {0, rows // 2, rows - 1}:
        for factor in {0, sf_k // 2, sf_k - 1}:
            block = row // 128 * across + factor // 4
            inside = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
            assert layout.place(row, factor).as_dict().get("m", 0) == 512 * block + inside
    assert layout.size == layout.span() == 512 * across * -(-rows // 128)


@given(st.sampled_from((("SFA", 128), ("SFB", 256))), st.data(), FACTORS)
def test_one_cta(operand, data, sf_k):
    name, most = operand
    rows = data.draw(st.integers(1, most))
    layout = Factors(name, rows, sf_k).layout
    for row in {0, rows // 3, rows - 1}:
        for factor in {0, sf_k // 2, sf_k - 1}:
            column = row // 32 + factor // 4 * 4 * -(-rows // 128)
            wanted = {(0, row % 32 + 32 * copy, bytes_of(column, factor)) for copy in range(4)}
            assert places(layout, row, factor) == wanted


@pytest.mark.parametrize("n", [16, 48, 128, 256])
def test_a_pair_with_m_256(n):
    sfa, sfb = Factors("SFA", 256, 8, 256, 2).layout, Factors("SFB", n, 8, 256, 2).layout
    for row in range(256):
        column = row % 128 // 32 + 4
        wanted = {(row // 128, row % 32 + 32 * copy, bytes_of(column, 5)) for copy in range(4)}
        assert places(sfa, row, 5) == wanted
    for row in range(n):
        column = row // 32 + 4 * -(-n // 128)
        wanted = {(cta, row % 32 + 32 * copy, bytes_of(column, 5)) for copy in range(4) for cta in (0, 1)}
        assert places(sfb, row, 5) == wanted


def two_by_two(n, row, factor=3):
    """Where a pair with M = 128 has the factors of row `row` of B: two halves and two copies.

    As CUTLASS's tmem_sf_frg has them.
    """
    half, inside = divmod(row, n // 2)
    lanes = (inside % 32 + 64 * half + 32 * copy for copy in (0, 1))
    return {(cta, lane, bytes_of(inside // 32, factor)) for lane in lanes for cta in (0, 1)}


WHOLE = (16, 32, 48, 64, 128, 192, 256)
"""N of which one layout has both halves: halves below 32 rows, or of whole 32."""


def test_a_of_a_pair_with_m_128():
    sfa = Factors("SFA", 128, 4, 128, 2).layout
    for row in range(128):
        wanted = {(row // 64, row % 32 + 32 * copy, bytes_of(row % 64 // 32, 3)) for copy in range(4)}
        assert places(sfa, row, 3) == wanted


@pytest.mark.parametrize("n", range(16, 257, 16))
def test_b_of_a_pair_with_m_128(n):
    if n in WHOLE:
        whole = Factors("SFB", n, 4, 128, 2).layout
        assert all(places(whole, row, 3) == two_by_two(n, row) for row in range(n))
    else:
        with pytest.raises(Refused, match="TW501"):
            Factors("SFB", n, 4, 128, 2)
    for half in (0, 1):
        layout = Factors("SFB", n, 4, 128, 2, half).layout
        for row in range(n // 2):
            assert places(layout, row, 3) == two_by_two(n, half * n // 2 + row)


@pytest.mark.parametrize("n", WHOLE)
def test_the_copy_of_two_halves_is_what_a_pair_reads(n):
    """64x128b.warpx2::01_23 out of the source that is named brings each factor to where products read it."""
    factors = Factors("SFB", n, 4, 128, 2)
    copy = find("tcgen05.cp")("64x128b", "warpx2::01_23").layout
    for row in range(n):
        byte = factors.source.place(row, 3).as_dict()["m"]
        found = {
            (p.as_dict().get("TLane", 0), p.as_dict()["TCol"]) for p in copy.places(byte // 16, byte % 16)
        }
        assert found == {(lane, column) for cta, lane, column in two_by_two(n, row) if not cta}


def test_the_chapters_demo():
    """SFA[m, sf] at lane m % 32, byte 4 (m / 32) + sf, and its four copies."""
    built = find("tcgen05.sfa")("mxf8f6f4", rows=128, sf_k=4)
    for m in range(128):
        for sf in range(4):
            wanted = {(0, m % 32 + 32 * copy, 4 * (m // 32) + sf) for copy in range(4)}
            assert places(built.layout, m, sf) == wanted
    assert str(built.layout) == "S[((4, 32), 4) : ((4@TCol, 1@TLane), 1@TCol)] + R[4 : 32@TLane]"


@pytest.mark.parametrize(
    ("kind", "scale", "k", "wanted"),
    [
        ("mxf8f6f4", "1X", 0, [(0, 0), (0, 1), (0, 2), (0, 3), (4, 0)]),
        ("mxf4", "2X", 0, [(0, 0), (0, 2), (4, 0), (4, 2), (8, 0)]),
        ("mxf4nvf4", "4X", 0, [(0, 0), (4, 0), (8, 0)]),
        ("mxf4", "2X", 96, [(0, 0), (0, 3), (4, 2), (8, 1), (12, 0)]),
        ("mxf4nvf4", "4X", 96, [(0, 0), (4, 2), (12, 0)]),
    ],
)
def test_which_column_and_id_a_product_takes(kind, scale, k, wanted):
    scaling = next(one for one in KINDS[kind].scalings if one.word == scale)
    found = takes(scaling, 20, 4, k)
    assert [(one.column, one.id) for one in found][: len(wanted)] == wanted
    many = len(found)
    assert found[-1].first + found[1].first <= 20 < found[1].first * (many + 1)


@pytest.mark.parametrize("name", ["tcgen05.sfa", "tcgen05.sfb"])
def test_every_instance_builds(name):
    entry = find(name)
    for values in entry.listed():
        built = entry(**values)
        copies = built.facts["copies"]
        assert copies["lanes"] * copies["ctas"] == built.layout.copies
        assert built.facts["products"]["first"][0] == {"k": 0, "column": 0, "id": 0}
        assert built.facts["columns"]["read"] <= built.facts["columns"]["written"]


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"m": 256}, "no product with scales has M = 256 of cta_group 1", "256 is of cta_group 2"),
        ({"cta_group": 2, "rows": 64}, "SFA of 64 rows is not of one product of a pair", "M = 128"),
        ({"rows": 256}, "SFA of 256 rows is not of one product", "or fewer"),
        (
            {"cta_group": 2, "m": 256, "rows": 512},
            "SFA of 512 rows is not of one product of a pair",
            "M = 256",
        ),
        ({"scale": "4X"}, "kind::mxf8f6f4 has no scales 4X", "1X"),
        ({"k": 96}, "kind::mxf8f6f4 has no K = 96", "K is 32, with sparse A 64"),
        ({"kind": "mxf4", "k": 32}, "kind::mxf4 has no K = 32", "or 96"),
        ({"kind": "mxf4", "k": 96, "cta_group": 2}, "K = 96 has no M = 128 of cta_group 2", "M is 256"),
        ({"kind": "mxf4", "k": 128, "cta_group": 2}, "K = 128 has no M = 128 of cta_group 2", "M is 256"),
        ({"kind": "f16"}, "kind::f16 has no scales", "mxf8f6f4 mxf4 mxf4nvf4 have"),
        ({"sf_k": 513}, "take 516 columns", "it has 512"),
    ],
)
def test_what_there_is_not(values, message, hint):
    with pytest.raises(Refused) as no:
        find("tcgen05.sfa")(**({"kind": "mxf8f6f4", "rows": 128} | values))
    assert message in no.value.reason
    assert hint in no.value.hint


@pytest.mark.parametrize(
    ("rows", "sf_k", "such", "read", "written"),
    [
        (192, 8, {}, 14, 16),
        (32, 4, {}, 1, 4),
        (256, 12, {}, 24, 24),
        (128, 8, {"m": 128, "cta_group": 2}, 4, 4),
    ],
)
def test_what_copies_write_is_never_less_than_what_is_read(rows, sf_k, such, read, written):
    facts = find("tcgen05.sfb")("mxf4nvf4", rows, sf_k, **such).facts
    assert facts["columns"] == {"read": read, "written": written}


def test_too_few_factors_are_said():
    built = find("tcgen05.sfa")("mxf4nvf4", 128, 2)
    assert built.facts["products"] == {"count": 0, "factors": 4, "first": []}
    assert "a product takes 4 factors of a row, and there are 2: none is whole" in built.notes
    sparse = find("tcgen05.sfa")("mxf4", 128, k=128).facts
    assert (sparse["block"], sparse["products"]["factors"]) == (64, 2)


def test_padding_is_said():
    built = find("tcgen05.sf")(100, 3)
    assert built.layout.shape == ((1, 4, 32), (1, 4))
    assert built.notes == ("[100, 3] is filled up to [128, 4]: the layout has all of it",)
    assert find("tcgen05.sfb")("mxf4", 40).facts["bytes"] == {"stored": 160, "padded": 256}


@pytest.mark.parametrize(
    ("entry", "given", "stored", "said"),
    [
        ("tcgen05.sf", {"rows": 100, "sf_k": 6}, (100, 6), "rows 0..99, factors 0..5"),
        ("tcgen05.sfa", {"kind": "mxf8f6f4", "rows": 100, "sf_k": 4}, (100, 4), "rows 0..99, factors 0..3"),
        ("tcgen05.sfb", {"kind": "mxf4", "rows": 48, "sf_k": 3}, (48, 3), "rows 0..47, factors 0..2"),
        (
            "tcgen05.sfb",
            {"kind": "mxf4", "rows": 144, "m": 128, "cta_group": 2, "half": 1},
            (72, 4),
            "rows 0..71, factors 0..3",
        ),
        ("tcgen05.sf", {"rows": 256, "sf_k": 8}, (256, 8), ""),
    ],
)
def test_a_place_that_only_fills_up_is_told_from_those_of_factors(entry, given, stored, said):
    built = find(entry)(**given)
    for index in product(*map(range, extents_of(built.layout.shape))):
        padding = any(i >= many for i, many in zip(index, stored, strict=True))
        for one in positions_of(built, index):
            assert one.as_json().get("padding", False) is padding
            assert str(one).partition("; padding: there are ")[2] == (said if padding else "")


def test_who_is_in_a_place_that_only_fills_up():
    (found,) = positions_at(find("tcgen05.sf")(100, sf_k=6), {"byte": 574})
    assert str(found) == "(99, 6) -> byte 574: 574@m; padding: there are rows 0..99, factors 0..5"


def test_where_an_element_is_in_all_its_copies():
    built = find("tcgen05.sfa")("mxf8f6f4", rows=128)
    found = positions_of(built, (70, 2))
    assert [(one.as_json()["lane"], one.column, one.bits) for one in found] == [
        (lane, 2, (16, 23)) for lane in (6, 38, 70, 102)
    ]
    assert [one.as_json()["address"] for one in positions_at(built, {"TLane": 38, "TCol": 10})] == [
        "0x00260002"
    ]


@pytest.mark.parametrize(
    ("call", "place", "found"),
    [
        (("tcgen05.sfa", "mxf4", 128), "lane=38,column=2", [(70, 0), (70, 1), (70, 2), (70, 3)]),
        (("tcgen05.D", "f16", 64, 64), "lane=33,column=5", [(17, 5)]),
        (("tcgen05.sf", 256, 8), "byte=617", [(70, 5)]),
        (("mfma.D", "32x32x8", "f32"), "lane=45,reg=0", [(4, 13)]),
    ],
)
def test_a_place_is_asked_as_it_is_told(call, place, found):
    name, *values = call
    built = find(name)(*values)
    assert [one.index for one in positions_at(built, asked_place(built, place))] == found
