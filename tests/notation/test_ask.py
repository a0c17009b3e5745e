"""Indices, places, shapes and windows as users write them."""

import pytest

from tilewise import LayoutError
from tilewise.notation import parse_index, parse_place, parse_region, parse_shape, parse_window


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("37", 37),
        (" 37 ", 37),
        ("(37)", 37),
        ("37,", (37,)),
        ("(37,)", (37,)),
        ("-1", -1),
        ("0x10", 16),
        ("2*8", 16),
        ("5,3,1", (5, 3, 1)),
        ("(5, 3, 1)", (5, 3, 1)),
        ("(1,0),(2,3)", ((1, 0), (2, 3))),
        ("((1,0),(2,3))", ((1, 0), (2, 3))),
        ("()", ()),
    ],
)
def test_indices(text, index):
    assert parse_index(text) == index


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("8", (8,)),
        ("8,", (8,)),
        ("8,8", (8, 8)),
        ("(8, 8)", (8, 8)),
        ("((4,2),8)", ((4, 2), 8)),
        ("(4,2),8", ((4, 2), 8)),
        ("()", ()),
        ("K,K//8", (64, 8)),
    ],
)
def test_shapes(text, shape):
    assert parse_shape(text, let={"K": 64}) == shape


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("27", {"m": 27}),
        ("0", {"m": 0}),
        ("-3", {"m": -3}),
        ("laneid=5", {"laneid": 5}),
        ("laneid=5,reg=1", {"laneid": 5, "reg": 1}),
        (" laneid = -5 , reg = 0x10 ", {"laneid": -5, "reg": 16}),
        ("5@laneid + 1@reg", {"laneid": 5, "reg": 1}),
        ("5@laneid - 1@reg", {"laneid": 5, "reg": -1}),
        ("5@laneid,reg=1", {"laneid": 5, "reg": 1}),
        ("0@laneid", {"laneid": 0}),
        ("laneid=0", {"laneid": 0}),
        ("S=5,o=1", {"S": 5, "o": 1}),
    ],
)
def test_places(text, place):
    assert parse_place(text) == place
    assert list(parse_place(text)) == list(place)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("0:16", ((0, 16),)),
        ("0:16,8:24", ((0, 16), (8, 24))),
        (" 0 : 16 , 8 : 24 ", ((0, 16), (8, 24))),
        (":,3", ((None, None), (3, 4))),
        ("4:,:4", ((4, None), (None, 4))),
        (":", ((None, None),)),
        ("3", ((3, 4),)),
    ],
)
def test_windows(text, window):
    assert parse_window(text) == window


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("0:4,3:6", (slice(0, 4), slice(3, 6))),
        ("2,0:4", (2, slice(0, 4))),
        (" : , 3 ", (slice(None), 3)),
        ("4:,:0x10", (slice(4, None), slice(None, 16))),
        ("7", (7,)),
    ],
)
def test_regions(text, region):
    assert parse_region(text) == region


@pytest.mark.parametrize(
    ("ask", "text", "code", "span"),
    [
        (parse_index, "", "TW004", (0, 0)),
        (parse_index, "  ", "TW004", (2, 2)),
        (parse_index, "x", "TW007", (0, 1)),
        (parse_index, "1.5", "TW101", (0, 3)),
        (parse_index, "5 3", "TW004", (2, 3)),
        (parse_index, "5,,3", "TW004", (2, 3)),
        (parse_index, "(5,3", "TW004", (0, 1)),
        (parse_index, "5,3)", "TW004", (3, 4)),
        (parse_index, "1@m", "TW004", (1, 2)),
        (parse_index, "5;3", "TW002", (1, 2)),
        (parse_index, "9" * 1_001, "TW005", (0, 1_001)),
        (parse_index, "(" * 100, "TW005", (64, 65)),
        (parse_index, "7//2", "TW101", (0, 4)),
        (parse_shape, "", "TW004", (0, 0)),
        (parse_shape, "0", "TW102", (0, 1)),
        (parse_shape, "8,-8", "TW102", (2, 4)),
        (parse_shape, "8,(),2", "TW102", (2, 4)),
        (parse_shape, "8x8", "TW002", (0, 2)),
        (parse_shape, "8,8:1", "TW004", (3, 4)),
        (parse_shape, "M,8", "TW007", (0, 1)),
        (parse_place, "", "TW004", (0, 0)),
        (parse_place, "laneid", "TW004", (6, 6)),
        (parse_place, "laneid=", "TW004", (7, 7)),
        (parse_place, "laneid=5,", "TW004", (9, 9)),
        (parse_place, "laneid=1.5", "TW101", (7, 10)),
        (parse_place, "laneid=5,laneid=6", "TW203", (9, 17)),
        (parse_place, "2,m=1", "TW203", (2, 5)),
        (parse_place, "laneid=5 reg=1", "TW004", (9, 12)),
        (parse_place, "laneid:5", "TW004", (6, 7)),
        (parse_place, "1@laneid@reg", "TW004", (8, 9)),
        (parse_place, "½=5", "TW103", (0, 1)),
        (parse_place, "T.laneid=5", "TW002", (0, 2)),
        (parse_place, "5@", "TW103", (2, 2)),
        (parse_window, "", "TW004", (0, 0)),
        (parse_region, "", "TW004", (0, 0)),
        (parse_region, "0:16,,", "TW004", (5, 6)),
        (parse_region, "0:16:2", "TW004", (4, 5)),
        (parse_window, ",", "TW004", (0, 1)),
        (parse_window, "0:16,", "TW004", (5, 5)),
        (parse_window, "0:16:2", "TW004", (4, 5)),
        (parse_window, "0:16 8:24", "TW004", (5, 6)),
        (parse_window, "a:3", "TW007", (0, 1)),
        (parse_window, "(0:16)", "TW004", (0, 1)),
    ],
)
def test_what_is_refused(ask, text, code, span):
    with pytest.raises(LayoutError) as error:
        ask(text)
    assert (error.value.code, error.value.span, error.value.source) == (code, span, text)


def test_no_value_is_promised_where_none_can_be_given():
    with pytest.raises(LayoutError) as error:
        parse_index("x")
    assert "--let" not in str(error.value)
    with pytest.raises(LayoutError) as error:
        parse_shape("x")
    assert "--let x=64" in str(error.value)
