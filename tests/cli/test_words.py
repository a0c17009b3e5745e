"""The reading of a question's words: CuTe's nesting and order, lists, words in the wrong place."""

from __future__ import annotations

from random import Random

import pytest

from tilewise import parse
from tilewise.testing.generate import random_layout

# -- a nested index of a text in CuTe's dialect ------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "index", "place"),
    [
        ("((8,16),64):((64,512),1)", "(1,2),3", 1091),
        ("((8,16),64):((64,512),1)", "17,3", 1091),
        ("((8,2),(4,4)):((8,64),(1,4))", "(1,1),(2,1)", 78),
        ("((2,(3,4)),5):((1,(2,6)),24)", "(1,(2,3)),4", 1 + 2 * 2 + 3 * 6 + 4 * 24),
        ("S[((16, 8), 64) : ((512, 64), 1)]", "(2,1),3", 1091),
    ],
)
def test_a_nested_index_counts_as_its_text_is_written(tilewise, layout, index, place):
    assert tilewise("at", layout, index, "--json").json["places"] == [{"m": place}]
    assert tilewise("explain", layout, index, "--json").json["places"] == [{"m": place}]
    if not layout.startswith("S"):
        assert tilewise("at", "-", index, "--json", stdin=layout).json["places"] == [{"m": place}]


@pytest.mark.parametrize("command", ["at", "explain"])
def test_options_may_stand_before_the_index(tilewise, command):
    layout = "S[(8, 4) : (4, 1)]"
    assert tilewise(command, layout, "--shape", "4,8", "3,1") == tilewise(
        command, layout, "3,1", "--shape", "4,8"
    )


def test_options_may_stand_before_the_place(tilewise):
    assert tilewise("who", "S[8 : 1]", "--limit", "1", "5") == tilewise(
        "who", "S[8 : 1]", "5", "--limit", "1"
    )


def test_a_nested_index_under_a_shape_counts_as_the_text_does(tilewise):
    run = tilewise("at", "(128,64):(64,1)", "(1,2),3", "--shape", "(8,16),64", "--json")
    assert run.json["places"] == [{"m": (1 + 2 * 8) * 64 + 3}]


def test_every_nested_index_of_cutes_is_the_sum_of_its_strides(tilewise):
    """CuTe's definition: the inner product of the coordinate and the strides, as both are written."""
    rng, nested = Random(3), 0
    while nested < 40:
        shape = random_layout(rng, 200).shape
        if len(shape) < 2 or all(isinstance(mode, int) for mode in shape):
            continue
        strides = tuple(_numbered(rng, mode) for mode in shape)
        text = f"{_written(shape)}:{_written(strides)}"
        index = tuple(_drawn(rng, mode) for mode in shape)
        asked = ",".join(map(_written, index))
        assert tilewise("at", text, asked, "--json").json["places"] == [{"m": _inner(index, strides)}], text
        nested += 1


def _written(mode):
    return f"({','.join(map(_written, mode))})" if isinstance(mode, tuple) else str(mode)


def _numbered(rng, mode):
    return tuple(_numbered(rng, part) for part in mode) if isinstance(mode, tuple) else rng.randrange(-9, 99)


def _drawn(rng, extents):
    if isinstance(extents, tuple):
        return tuple(_drawn(rng, part) for part in extents)
    return rng.randrange(extents)


def _inner(index, strides):
    if isinstance(index, tuple):
        return sum(_inner(*pair) for pair in zip(index, strides, strict=True))
    return index * strides


# -- texts of both dialects --------------------------------------------------------------------------


def test_layouts_of_both_kinds_are_noted_with_the_order(tilewise):
    run = tilewise("algebra", "compose", "(4,8):(1,4)", "S[8:1]")
    assert run.out == "S[8 : 1]\n"
    assert run.err == (
        "note: a layout in CuTe's notation counts the leftmost digit fastest, the other one row-major; "
        "the answer counts row-major\n"
    )
    data = tilewise("algebra", "compose", "(4,8):(1,4)", "S[8:1]", "--json")
    assert data.json["note"] == run.err.removeprefix("note: ").strip()
    assert data.err == ""


@pytest.mark.parametrize(
    "words",
    [
        ["compose", "(4,8):(1,4)", "8:1"],
        ["compose", "S[(4, 8) : (1, 4)]", "S[8 : 1]"],
        ["blocked_product", "(4,8):(1,4)", "(2,2):(2,1)"],
    ],
)
def test_no_note_where_all_layouts_count_alike(tilewise, words):
    run = tilewise("algebra", *words, "--json")
    assert "note" not in run.json
    assert tilewise("algebra", *words).err == ""


def test_a_result_counts_as_its_first_layout_does(tilewise):
    run = tilewise("algebra", "blocked_product", "(4,8):(1,4)", "S[(2, 2) : (2, 1)]", "--json")
    assert (run.json["order"], run.json["result"]) == ("cute", "((4,2),(8,2)):((1,32),(4,64))")
    assert run.json["note"].endswith("the answer counts as CuTe does")


# -- lists: commas or spaces -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commas", "spaces"),
    [
        (["split", "S[(64, 32) : (32, 1)]", "0", "4,16"], ["split", "S[(64, 32) : (32, 1)]", "0", "4", "16"]),
        (["split", "(64,32):(1,64)", "0", "4,16"], ["split", "(64,32):(1,64)", "0", "4", "16"]),
        (
            ["regroup", "S[(4, 2, 8) : (1, 32, 4)]", "(0,1),2"],
            ["regroup", "S[(4, 2, 8) : (1, 32, 4)]", "0,1", "2"],
        ),
        (
            ["regroup", "S[(4, 2, 8) : (1, 32, 4)]", "0,(1,2)"],
            ["regroup", "S[(4, 2, 8) : (1, 32, 4)]", "0", "(1,2)"],
        ),
        (["regroup", "(6,4,2):(8,2,1)", "(0,1),2"], ["regroup", "(6,4,2):(8,2,1)", "0,1", "2"]),
        (
            ["footprint", "S[(8, 4, 2) : (4@laneid, 1@warpid, 1@reg)]", "laneid,warpid"],
            ["footprint", "S[(8, 4, 2) : (4@laneid, 1@warpid, 1@reg)]", "laneid", "warpid"],
        ),
    ],
)
def test_lists_have_commas_or_spaces(tilewise, commas, spaces):
    one, other = (tilewise("algebra", *words) for words in (commas, spaces))
    assert (one.code, one.out) == (0, other.out)


@pytest.mark.parametrize(
    ("word", "result"),
    [("0,1,2", "S[((4, 2, 8),) : ((1, 32, 4),)]"), ("((0,1),2)", "S[(((4, 2), 8),) : (((1, 32), 4),)]")],
)
def test_one_bracket_around_everything_is_still_one(tilewise, word, result):
    assert parse(result) == parse(tilewise("algebra", "regroup", "S[(4, 2, 8) : (1, 32, 4)]", word).out)


# -- modes that are kept -----------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["_", ":"])
def test_a_mode_is_kept_by_either_word(tilewise, kept):
    layout = "S[(8, 6, 4) : (24, 4, 1)]"
    sliced = tilewise("algebra", "slice", layout, f"3,{kept},0:2")
    assert sliced.out == "S[(6, 2) : (4, 1)] + 72\n"
    for operation in ("compose", "logical_divide", "zipped_divide"):
        by_word = tilewise("algebra", operation, layout, kept, "3", kept)
        assert by_word.code == 0
        assert by_word.out == tilewise("algebra", operation, layout, "_", "3", "_").out


@pytest.mark.parametrize(
    ("region", "said", "hint"),
    [
        ("(3,_),_", "none inside a mode", "--shape 8,16,64"),
        (":,32:48:2", "a range has no step", "compose with S[extent : n]"),
        ("2..4", "not an integer", "such as 2:4,0,:"),
        ("2-4,0", "the region ends before '-'", "such as 2:4,0,:"),
        ("16,:", "index 16 is outside 0..15 of mode 0", "counts from 0"),
    ],
)
def test_a_region_that_is_none_is_told_how_to_be_one(tilewise, region, said, hint):
    error = tilewise("algebra", "slice", "S[(16, 64) : (64, 1)]", region, "--json").json["error"]
    assert said in error["message"]
    assert hint in error["hint"]


# -- a comma for a colon -----------------------------------------------------------------------------


def test_a_comma_where_a_colon_may_be_meant_is_noted(tilewise):
    assert tilewise("info", "S[(4,4),(1,4)]", "--json").json["notes"] == [
        "no strides were given, so it is row-major; did you mean S[(4, 4) : (1, 4)]?"
    ]
    assert "did you mean S[((2, 2), 4) : ((1, 2), 4)]?" in tilewise("info", "S[((2,2),4),((1,2),4)]").out


@pytest.mark.parametrize(
    "text", ["S[(4,4):(1,4)]", "S[4,4]", "S[(4,4),(1,4,2)]", "S[(4,4),8]", "S[((4,4),(1,4)):((1,2),(3,4))]"]
)
def test_no_colon_is_missed_where_none_may_be_meant(tilewise, text):
    assert "notes" not in tilewise("info", text, "--json").json
