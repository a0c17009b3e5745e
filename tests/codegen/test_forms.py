"""The code of typical layouts: the text itself, for that is what users paste."""

from __future__ import annotations

import re

import pytest

from tilewise import LayoutError, Refused, parse
from tilewise.codegen import source_of
from tilewise.codegen.expressions import linear, variable
from tilewise.codegen.names import FreeNames
from tilewise.codegen.text import spelled

ROW_MAJOR = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
EIGHT_ROWS = "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"
TILED = "S[((4, 2), (2, 4)) : ((16, 4), (8, 1))]"
PADDED = "S[(48, 48) : (49, 1)]"
FRAGMENT = "S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"


def body(text: str, **form: object) -> str:
    """The statements of the function in C."""
    code = source_of(parse(text), "c", **form).code  # type: ignore[arg-type]
    return re.sub(r"\s+", " ", code.partition("\n{\n")[2].rpartition("\n}")[0]).strip()


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        (ROW_MAJOR, {}, "return ((i << 6) + j) ^ ((i & 7) << 3);"),
        (ROW_MAJOR, {"flat": True}, "return x ^ ((x >> 3) & 0x38);"),
        (ROW_MAJOR, {"inverse": True}, "return m ^ ((m >> 3) & 0x38);"),
        (EIGHT_ROWS, {}, "return (i * 72) ^ j;"),
        (TILED, {"flat": True}, "return (x & 0x33) + ((x >> 1) & 4) + (x & 4) * 2;"),
        (PADDED, {}, "return i * 49 + j;"),
        (PADDED, {"flat": True}, "return x + x / 48;"),
        (PADDED, {"inverse": True}, "return m - m / 49;"),
        (
            PADDED,
            {"inverse": True, "flat": False},
            "const uint32_t q = m / 49; return (index_of_t){q, m - q * 49};",
        ),
        ("S[(8, 8) : (9, 1)]", {"flat": True}, "return x + (x >> 3);"),
        ("S[(8, 8) : (-8, 1)] + 56", {}, "return j - (i << 3) + 56;"),
        ("S[8 : 1] - 8", {}, "return (int32_t)(i - 8);"),
        ("S[8 : -1]", {}, "return (int32_t)(-i);"),
        ("S[(2, 4) : (0, 1)]", {}, "(void)i; return j;"),
        ("S[()]", {}, "return 0;"),
        ("S[8 : 1] + R[2 : 8]", {}, "return i + (copy << 3);"),
        ("S[8 : 1] + R[2 : 8]", {"inverse": True}, "return m & 7;"),
        (
            FRAGMENT,
            {},
            "return (place_of_t){i >> 4, ((i >> 2) & 2) + (j >> 3) * 4 + (j & 1), "
            "(i & 7) * 4 + ((j >> 1) & 3)};",
        ),
        (
            FRAGMENT,
            {"inverse": True, "flat": False},
            "return (index_of_t){(wid_in_wg << 4) + (reg & 2) * 4 + (laneid >> 2), "
            "(reg >> 2) * 8 + (reg & 1) + (laneid & 3) * 2};",
        ),
        (
            "Swizzle<3,3,3> o (S[(16, 64) : (64, 1)] + 512)",
            {},
            "return (((i << 6) + j) ^ ((i & 7) << 3)) + 512;",
        ),
        (
            "Swizzle<3,3,3> o (S[(8, 64) : (64, 1)] + 8)",
            {"flat": True},
            "const uint32_t t = x + 8; return t ^ ((t >> 3) & 0x38);",
        ),
    ],
)
def test_the_form(text: str, form: dict[str, bool], expected: str) -> None:
    assert body(text, **form) == expected


@pytest.mark.parametrize("form", [{}, {"flat": True}, {"inverse": True}, {"inverse": True, "flat": False}])
@pytest.mark.parametrize("text", [ROW_MAJOR, EIGHT_ROWS, TILED, FRAGMENT])
def test_powers_of_two_need_no_division(text: str, form: dict[str, bool]) -> None:
    assert not set("/%") & set(body(text, **form))


@pytest.mark.parametrize("form", [{}, {"flat": True}, {"inverse": True}, {"inverse": True, "flat": False}])
@pytest.mark.parametrize("text", [ROW_MAJOR, TILED, FRAGMENT])
@pytest.mark.parametrize("lang", ["cuda", "python", "triton"])
def test_powers_of_two_need_no_product_on_a_gpu(lang: str, text: str, form: dict[str, bool]) -> None:
    code = source_of(parse(text), lang, **form).code  # type: ignore[arg-type]
    assert "*" not in code


def test_the_way_back_warns_of_places_that_hold_nothing() -> None:
    warning = "Of a place that holds nothing it says nothing of use."
    code = source_of(parse("S[(5, 3) : (7, 2)]"), "python", inverse=True, flat=False).code
    assert warning in code
    assert code.endswith("q = m // 7\n    return q, (m - q * 7) >> 1")
    assert warning not in source_of(parse(ROW_MAJOR), "python", inverse=True).code


def test_what_may_be_negative_is_not_shifted() -> None:
    x = variable("x", -8, 7)
    body = spelled([linear([(8, x), (1, variable("y", 0, 7))]), linear([(8, x)])], FreeNames("xy"))
    assert body.results == ("x * 8 + y", "x * 8")


def test_each_constant_is_divided_by_once() -> None:
    text = body("S[(2, 3, 5, 7) : (1@a, 1@b, 1@c, 1@d)]", flat=True)
    assert sorted(re.findall(r"/ (\d+)", text)) == ["105", "35", "7"]
    assert "%" not in text


def test_the_comment_says_the_layout_what_and_the_ranges() -> None:
    code = source_of(parse("Swizzle<1,0,1> o S[(4, 2) : (2, 1)] + R[3 : 8]", unit="byte"), "cuda").code
    assert code.splitlines()[:3] == [
        "// Swizzle<1,0,1> o (S[(4, 2) : (2, 1)] + R[3 : 8])",
        "// place_of(i, j, copy): where the element lives, as m, counted in bytes; "
        "copy says which of its copies.",
        "// i in 0..3, j in 0..1, copy in 0..2; m in 0..23",
    ]


def test_integers_are_as_small_as_they_may_be() -> None:
    assert "uint32_t place_of" in source_of(parse("S[(65536, 65536) : (65536, 1)]"), "c").code
    assert "uint64_t place_of" in source_of(parse("S[(65536, 65537) : (65537, 1)]"), "c").code
    assert "int32_t place_of" in source_of(parse("S[8 : 1] - 2147483648"), "c").code
    assert "int64_t place_of" in source_of(parse("S[8 : 1] - 2147483649"), "c").code
    assert "tl.int64" not in source_of(parse("S[(32768, 65536) : (65536, 1)]"), "triton").code
    assert "tl.cast(i, tl.int64)" in source_of(parse("S[(32769, 65536) : (65536, 1)]"), "triton").code


@pytest.mark.parametrize("lang", ["c", "cuda", "triton"])
def test_beyond_64_bits_is_refused_where_integers_end(lang: str) -> None:
    layout = parse("S[(8, 8) : (18446744073709551616, 1)]")
    with pytest.raises(Refused, match="beyond 64-bit") as no:
        source_of(layout, lang)
    assert (no.value.code, no.value.witness >= 1 << 64) == ("TW302", True)
    assert "(i << 64) + j" in source_of(layout, "python").code


def test_a_shared_place_has_no_index() -> None:
    with pytest.raises(Refused, match="share 0@m") as no:
        source_of(parse("S[(2, 2) : (0, 1)]"), "python", inverse=True)
    assert no.value.code == "TW505"
    first, second, _ = no.value.witness
    assert (first, second) == (0, 2)


def test_digits_that_cannot_be_read_one_by_one() -> None:
    with pytest.raises(Refused, match="step by 6@m and 5@m cannot be read off m") as no:
        source_of(parse("S[(32, 4) : (5, 6)]"), "python", inverse=True)
    assert no.value.witness == [[4, 6], [32, 5]]


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["c", "cuda", "python", "triton"])
def test_names_of_axes_are_made_identifiers(lang: str) -> None:
    layout = parse("S[(2, 2, 2, 2, 2) : (1@int, 1@lambda, 1@ä, 1@__x, 1@x_)]")
    code = source_of(layout, lang, inverse=True).code
    assert "index_of(" in code
    for name in ("int_", "lambda_", "ue4", "x_", "x__"):
        assert re.search(rf"\b{name}\b", code), name


def test_names_can_be_chosen() -> None:
    code = source_of(parse(EIGHT_ROWS), "python", name="offset", arguments=["row", "chunk"]).code
    assert "def offset(row, chunk):" in code
    assert "return (row * 72) ^ chunk" in code


@pytest.mark.parametrize("name", ["2f", "a b", "int", "class", "f;", "__x", "ä"])
def test_names_that_are_none_are_no_names(name: str) -> None:
    for options in ({"name": name}, {"arguments": [name, "j"]}):
        with pytest.raises(LayoutError, match="cannot name") as error:
            source_of(parse(EIGHT_ROWS), "c", **options)  # type: ignore[arg-type]
        assert error.value.code == "TW401"


def test_as_many_names_as_arguments() -> None:
    with pytest.raises(LayoutError, match="3 names for 2 arguments"):
        source_of(parse(EIGHT_ROWS), "c", arguments=["a", "b", "c"])
    with pytest.raises(LayoutError, match="1 name for 2 arguments: ab"):
        source_of(parse(EIGHT_ROWS), "c", arguments="ab")
    with pytest.raises(LayoutError, match="the name a is repeated: a, b, a"):
        source_of(parse(EIGHT_ROWS), "c", arguments=["a", "b", "a"])
    with pytest.raises(LayoutError, match="1 name for 0 arguments: a") as error:
        source_of(parse("S[()]"), "c", arguments=["a"])
    assert error.value.hint == "it takes no arguments"
    assert "place_of(row)" in source_of(parse("S[2 : 1]"), "c", arguments="row").code
    assert "place_of(a, which)" in source_of(parse("S[2 : 1] + R[2 : 2]"), "c", arguments=["a", "which"]).code


def test_a_source_prints_as_its_code() -> None:
    source = source_of(parse(EIGHT_ROWS), "c")
    assert str(source) == f"{source}" == source.code
    assert repr(source).startswith("Source(lang='c', name='place_of'")


@pytest.mark.parametrize("layout", ["S[4:1]", "(4,8):(1,4)", 8, None])
def test_what_is_no_layout_is_refused(layout: object) -> None:
    with pytest.raises(LayoutError, match="written of a layout, not of") as error:
        source_of(layout, "c")  # type: ignore[arg-type]
    assert isinstance(layout, str) == ("parse(text) makes one of text" in (error.value.hint or ""))


def test_temporaries_stay_clear_of_arguments() -> None:
    code = source_of(parse("S[(5, 7) : (1@a, 1@b)]"), "python", flat=True, arguments=["q"]).code
    assert "q_ = q // 7" in code


@pytest.mark.parametrize(
    ("text", "holes"),
    [
        ("S[(8, 64) : (64, 1)]", False),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", False),
        ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", False),
        ("S[(8, 64) : (72, 1)]", True),
        ("S[8 : 1@laneid] + R[2 : 8@laneid]", True),
    ],
)
def test_a_place_that_holds_nothing_is_spoken_of_where_there_may_be_one(text: str, holes: bool) -> None:
    assert ("holds nothing" in source_of(parse(text), inverse=True).code) == holes
