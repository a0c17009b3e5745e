"""`tilewise relation`: the class, how, what moves; in words, in JSON, in either dialect."""

from __future__ import annotations

import pytest

FRAGMENT = "S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]"
NOTHING = {"added": 0, "dropped": 0}


@pytest.mark.parametrize(
    ("words", "kind", "via", "moves"),
    [
        (("S[(3, 4) : (4, 1)]", "S[(4, 3) : (1, 4)]"), "view", {"permute": [1, 0]}, {}),
        (("S[(3, 4) : (4, 1)]", "S[(4, 3) : (1, 4)]", "--permute", "1,0"), "view", {"permute": [1, 0]}, {}),
        (("S[(3, 4) : (4, 1)]", "S[(4, 3) : (1, 4)]", "--permute", "0,1"), "memory", {}, {"m": 10}),
        (("S[(8, 8) : (8, 1)]", "S[64 : 1]", "--reshape", "64"), "view", {"reshape": [64]}, {}),
        (("S[64 : 1]", "S[(8, 8) : (1, 8)]", "--reshape", "8,8"), "view",
         {"reshape": [8, 8], "permute": [1, 0]}, {}),
        (("S[8 : 1]", "S[8 : 1]"), "same", {}, {}),
        (("S[8 : 1]", "S[8 : 1] + 5"), "shift", {"shift": {"m": 5}}, {"m": 8}),
        (("S[8 : 1@laneid]", "S[8 : 1@tx]"), "relabel", {"relabel": {"laneid": "tx"}}, {}),
        ((FRAGMENT, "S[(8, (2, 4)) : (4@laneid, (1@reg, 1@laneid))]"), "lane", {}, {"laneid": 48, "reg": 32}),
        ((FRAGMENT, FRAGMENT, "--dtype-a", "f32", "--dtype-b", "bf16"), "register",
         {"convert": ["f32", "bf16"]}, {"reg": 32}),
        (("S[(8, 8) : (8, 1)]", "S[(8, 16) : (16, 1)]", "--dtype-a", "f32", "--dtype-b", "bf16"), "view",
         {"recast": ["f32", "bf16"]}, {}),
        (("S[(8, 64) : (64, 1)]", "SWIZZLE_128B o S[(8, 64) : (64, 1)]", "--dtype", "bf16"), "memory",
         {}, {"m": 448}),
    ],
)  # fmt: skip
def test_classes(tilewise, words, kind, via, moves):
    run = tilewise("relation", *words, "--json")
    answer = run.json
    assert run.code == 0
    assert (answer["class"], answer["via"], answer["moves"]) == (kind, via, moves)
    assert answer["copies"] == NOTHING
    text = tilewise("relation", *words)
    assert text.code == 0
    assert text.out.splitlines()[0] == answer["sentence"]


def test_the_whole_answer(tilewise):
    run = tilewise("relation", "S[(4, 2, 2, 4) : (16, 4, 8, 1)]", "S[(8, 8) : (8, 1)]", "--json")
    assert run.json == {
        "class": "memory",
        "via": {},
        "moves": {"m": 32},
        "copies": {"added": 0, "dropped": 0},
        "elements": 64,
        "reading": {"reshape": [4, 2, 2, 4], "permute": [0, 2, 1, 3]},
        "sentence": "elements move to other addresses: m changes for 32 of 64",
    }


def test_words_for_people(tilewise):
    view = tilewise("relation", "S[(8, 4) : (4, 1)]", "S[(4, 8) : (1, 4)]").out
    assert view == (
        "a view: permute the modes of a by (1, 0) and it is b; nothing moves\n"
        "  --permute 0,1 asks what moves index by index\n"
    )
    copy = tilewise("relation", "S[8 : 1]", "S[8 : 1] + R[2 : 1@gpuid_x]").out
    assert copy == (
        "elements move to other devices: gpuid_x changes for 8 of 8\n  1 copy of every element added\n"
    )
    drop = tilewise("relation", "S[8 : 1] + R[4 : 1@gpuid_x]", "S[8 : 1] + 2@gpuid_x")
    assert drop.out == "b keeps 1 of 4 copies of every element; nothing moves\n"
    rows = tilewise("relation", "S[64 : 1]", "S[(8, 8) : (1, 8)]").out.splitlines()
    assert rows[1] == "  under another index it is a view: --reshape 8,8 --permute 1,0"
    given = tilewise("relation", "S[64 : 1]", "S[(8, 8) : (1, 8)]", *rows[1].split("view: ")[1].split())
    assert given.out.startswith("a view: read a in shape (8, 8), permute the modes by (1, 0) and it is b")


@pytest.mark.parametrize(
    ("a", "b", "options", "via"),
    [
        ("(8,4):(4,1)", "(4,8):(1,4)", (), {"permute": [1, 0]}),
        ("(2,3,4):(12,4,1)", "(3,4,2):(4,1,12)", (), {"permute": [1, 2, 0]}),
        ("(2,3,4):(12,4,1)", "(3,4,2):(4,1,12)", ("--permute", "1,2,0"), {"permute": [1, 2, 0]}),
        ("(8,4):(1,8)", "32:1", (), {"reshape": [32]}),
        ("(8,4):(1,8)", "(2,16):(1,2)", (), {"reshape": [2, 16]}),
        ("24:1", "(4,6):(6,1)", ("--reshape", "6,4"), {"reshape": [6, 4], "permute": [1, 0]}),
        ("24:1", "(4,6):(6,1)", ("--reshape", "6,4", "--permute", "1,0"),
         {"reshape": [6, 4], "permute": [1, 0]}),
    ],
)  # fmt: skip
def test_two_cute_texts_count_as_cute_does(tilewise, a, b, options, via):
    """Modes from the left, and the flat index with the leftmost mode fastest."""
    run = tilewise("relation", a, b, *options, "--json")
    assert (run.json["class"], run.json["via"]) == ("view", via)


def test_a_reading_of_cute_texts(tilewise):
    answer = tilewise("relation", "(8,4):(4,1)", "(8,4):(1,8)", "--json").json
    assert (answer["class"], answer["moves"]) == ("memory", {"m": 30})
    shape, order = (",".join(map(str, answer["reading"][way])) for way in ("reshape", "permute"))
    given = tilewise(
        "relation", "(8,4):(4,1)", "(8,4):(1,8)", "--reshape", shape, "--permute", order, "--json"
    )
    assert answer["reading"] == {"reshape": [8, 4], "permute": [1, 0]}
    assert (given.json["class"], given.json["via"]) == ("view", {"permute": [1, 0]})


def test_not_decided(tilewise):
    words = ("relation", "Swizzle<1,0,1> o S[(99991, 2) : (4, 2)]", "S[(99991, 2) : (4, 3)]")
    run = tilewise(*words, "--json")
    assert (run.code, run.json["class"]) == (3, None)
    assert run.json["reason"].startswith("not decided within the bound")
    assert tilewise(*words).out.startswith("not decided within the bound")


def test_a_view_that_cannot_be_taken(tilewise):
    words = ("relation", "S[(2, 3) : (1, 10)]", "S[6 : 1]", "--reshape", "3,2", "--permute", "1,0")
    run = tilewise(*words, "--json")
    assert (run.code, run.json["class"]) == (1, None)
    assert run.json["witness"] == [3, 2]
    assert tilewise(*words).out.startswith("TW503")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("S[8 : 1]", "S[4 : 1]"), "TW202"),
        (("S[8 : 1]", "S[8 : 1]", "--permute", "1,0"), "TW201"),
        (("S[8 : 1]", "S[8 : 1]", "--permute", "(0,1),2"), "TW401"),
        (("S[8 : 1]", "S[8 : 1]", "--permute", "x"), "TW007"),
        (("S[8 : 1]", "S[8 : 1]", "--reshape", "3,3"), "TW202"),
        (("S[8 : 1]", "S[8 : 1]", "--dtype-a", "f33"), "TW105"),
        (("S[8 : 1]",), "TW401"),
        (("-", "-"), "TW401"),
    ],
)
def test_what_is_not_understood(tilewise, words, code):
    run = tilewise("relation", *words, "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)


def test_layouts_from_elsewhere(tilewise):
    document = tilewise("say", "S[(8, 64) : (128, 2)]", "--unit", "byte", "--as", "json").out
    run = tilewise("relation", "-", "S[(8, 64) : (64, 1)]", "--dtype", "bf16", "--json", stdin=document)
    assert run.json["class"] == "same"
    named = tilewise("relation", "S[(M, 4) : (4, 1)]", "S[(4, M) : (1, 4)]", "--let", "M=8", "--json")
    assert named.json["via"] == {"permute": [1, 0]}
