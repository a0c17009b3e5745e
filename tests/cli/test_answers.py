"""Every command's answers as JSON, its exit codes, and its texts."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex

import numpy as np
import pytest

from tilewise import __version__
from tilewise.questions import SUMMARIES

FRAGMENT = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"
MESH = "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]"
TILED = "S[(4, 2, 2, 4) : (16, 4, 8, 1)]"
SWIZZLED = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
HUGE = "S[(33554432, 33554432) : (33554432, 1)]"


# -- at --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["5,3,1", "47", "(5,3,1)", " 5 , 3, 1 "])
def test_at(tilewise, index):
    run = tilewise("at", FRAGMENT, index, "--json")
    assert (run.code, run.json) == (0, {"index": [5, 3, 1], "places": [{"laneid": 23, "reg": 1}]})


def test_at_lists_the_distinct_copies_sorted_by_the_axes_in_order_of_appearance(tilewise):
    places = tilewise("at", MESH, "1,2,3", "--json").json["places"]
    assert places == [{"gpuid_y": 1, "m": 19, "gpuid_x": 0}, {"gpuid_y": 1, "m": 19, "gpuid_x": 1}]
    assert [list(place) for place in places] == [["gpuid_y", "m", "gpuid_x"]] * 2
    aliased = tilewise("at", "S[4 : 1] + R[(2, 2) : (8, 8)]", "1", "--json").json["places"]
    assert aliased == [{"m": 1}, {"m": 9}, {"m": 17}]


def test_at_in_another_shape(tilewise):
    run = tilewise("at", TILED, "2,7", "--shape", "8,8", "--json")
    assert run.json == {"index": [2, 7], "places": [{"m": 27}]}


def test_at_in_cutes_dialect_counts_coordinates_as_cute_does(tilewise):
    assert tilewise("at", "((8,2),(4,4)):((8,64),(1,4))", "9,6", "--json").json["places"] == [{"m": 78}]


@pytest.mark.parametrize("position", range(4))
def test_json_may_stand_anywhere(tilewise, position):
    words = ["at", FRAGMENT, "47"]
    words.insert(position, "--json")
    assert tilewise(*words).json["places"] == [{"laneid": 23, "reg": 1}]


def test_at_reads_names_units_and_modes(tilewise):
    named = tilewise("at", "S[(M, K) : (K, 1)]", "1,1", "--let", "M=4", "--let", "K=0x10", "--json")
    assert named.json["places"] == [{"m": 17}]
    in_bytes = tilewise(
        "at", "SWIZZLE_128B o S[(8, 64) : (128, 2)]", "1,8", "--unit", "byte", "--dtype", "bf16", "--json"
    )
    in_elements = tilewise("at", "SWIZZLE_128B o S[(8, 64) : (64, 1)]", "1,8", "--dtype", "bf16", "--json")
    assert in_bytes.json == in_elements.json == {"index": [1, 8], "places": [{"m": 64}]}


def test_a_layout_comes_from_standard_input_as_text_or_document(tilewise):
    assert tilewise("at", "-", "47", "--json", stdin=FRAGMENT + "\n").json["index"] == [5, 3, 1]
    document = tilewise("say", FRAGMENT, "--as", "json").out
    assert tilewise("at", "-", "47", "--json", stdin=document).json["places"] == [{"laneid": 23, "reg": 1}]
    said = tilewise("say", FRAGMENT, "--as", "json", "--json").json["text"]
    assert json.loads(said)["shape"] == [8, 4, 2]


def test_at_says_at_which_byte(tilewise):
    """Element (i, j) lies at byte 2 * Sw(base / 2 + 64 i + j)."""
    layout = "SWIZZLE_128B o S[(64, 64) : (64, 1)]"
    for base in (0, 0x80, 0x1080):
        address = base // 2 + 64 * 37 + 21
        byte = 2 * (address ^ ((address >> 6 & 7) << 3))
        run = tilewise("at", layout, "37,21", "--dtype", "bf16", "--base", hex(base), "--json")
        assert run.json["bytes"] == [byte]
        assert run.json["places"] == [{"m": (byte - base) // 2}]
        words = ("--byte", str(byte + 1), "--base", str(base), "--dtype", "bf16")
        found = tilewise("who", layout, *words).out
        assert found.startswith("(37, 21) at ")
        assert found.endswith(", byte 1 of its 2\n")
    assert tilewise("at", "S[16 : 1]", "7", "--bytes", "--dtype", "e2m1", "--json").json["bytes"] == [3]
    assert tilewise("at", "S[16 : 1]", "7", "--bytes", "--json").json["error"]["code"] == "TW401"


# -- who -------------------------------------------------------------------------------------------


def test_who_at_a_full_place(tilewise):
    run = tilewise("who", FRAGMENT, "laneid=5,reg=1", "--json")
    assert (run.code, run.json) == (0, {"place": {"laneid": 5, "reg": 1}, "indices": [[1, 1, 1]]})


def test_who_at_a_partial_place_says_where_each_lives(tilewise):
    run = tilewise("who", FRAGMENT, "laneid=5", "--json")
    assert run.json == {
        "place": {"laneid": 5},
        "matches": [
            {"index": [1, 1, 0], "place": {"laneid": 5, "reg": 0}},
            {"index": [1, 1, 1], "place": {"laneid": 5, "reg": 1}},
        ],
    }


def test_a_bare_integer_is_m(tilewise):
    assert tilewise("who", TILED, "27", "--shape", "8,8", "--json").json == {
        "place": {"m": 27},
        "indices": [[2, 7]],
    }


@pytest.mark.parametrize(
    ("layout", "place", "reason"),
    [
        ("S[(8, 4) : (5, 1)]", "4", "the place is a hole"),
        ("S[(8, 4) : (5, 1)]", "400", "m goes from 0 to 38"),
        ("S[8 : 1]", "laneid=3", "the layout has no axis laneid, so all is at laneid=0; it has m"),
    ],
)
def test_nobody_is_a_no_with_a_reason(tilewise, layout, place, reason):
    run = tilewise("who", layout, place, "--json")
    assert run.code == 1
    assert run.json["reason"] == reason
    assert reason in tilewise("who", layout, place).out


def test_a_known_axis_that_the_layout_does_not_name_is_0_and_a_misspelt_one_is_refused(tilewise):
    assert len(tilewise("who", "S[8 : 1]", "laneid=0", "--json").json["matches"]) == 8
    error = tilewise("who", FRAGMENT, "lan=5", "--json").json["error"]
    assert (error["code"], error["message"]) == ("TW203", "the layout has no axis lan")
    assert "did you mean laneid?" in error["hint"]


def test_words_of_everyday_are_axes(tilewise):
    asked = tilewise("who", FRAGMENT, "lane=5,reg=1", "--json").json
    assert asked["indices"] == tilewise("who", FRAGMENT, "laneid=5,reg=1", "--json").json["indices"] != []
    assert tilewise("who", "S[8 : 1@lane]", "lane=5", "--json").json["indices"] == [[5]]


def test_a_shared_place_names_all_who_share_it(tilewise):
    assert tilewise("who", "S[(4, 4) : (1, 1)]", "2", "--json").json["indices"] == [[0, 2], [1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("call", "name", "element"),
    [
        ("mma.A(m16n8k16, f16)", "a3", 3),
        ("mma.D(m16n8k16, f32)", "d2", 2),
        ("wgmma.D(f32, n=64)", "d9", 9),
        ("wgmma.D(f32, n=N)", "d9", 9),
    ],
)
def test_who_of_an_entry_takes_the_manuals_names(tilewise, call, name, element):
    options = ("--let", "N=64") if "=N" in call else ()
    for place in (name, f"laneid=5,{name}", f"{name}, laneid=5"):
        by_name = tilewise("who", call, place, *options)
        assert by_name.code == 0
        assert by_name == tilewise("who", call, place.replace(name, f"reg={element}"), *options)
    assert tilewise("who", "-", name, *options, stdin=call).code == 0


def test_who_of_other_layouts_takes_no_names_of_elements(tilewise):
    for layout, place in (("S[8 : 1@reg]", "a3"), ("mma.A(m16n8k16, f16)", "d3")):
        assert tilewise("who", layout, place).code == 2


def test_who_by_byte_behind_an_aligned_base(tilewise):
    words = ("--byte", "0x1a40", "--base", "0x400", "--dtype", "bf16", "--json")
    assert tilewise("who", SWIZZLED, *words).json == {
        "byte": 0x1A40,
        "base": 0x400,
        "place": {"m": 2848},
        "indices": [[44, 0]],
    }


@pytest.mark.parametrize("base", [0, 0x80, 0x280, 0x400])
def test_who_by_byte_lets_the_swizzle_act_on_the_address_itself(tilewise, base):
    """Read off the definition: element (i, j) lies at byte 2 * Sw(base / 2 + 64 i + j)."""

    def byte_of(i: int, j: int) -> int:
        address = base // 2 + 64 * i + j
        return 2 * (address ^ ((address >> 6 & 7) << 3))

    for i, j in [(0, 0), (1, 8), (7, 63), (44, 0)]:
        words = ("--byte", hex(byte_of(i, j) + 1), "--base", hex(base), "--dtype", "f16", "--json")
        assert tilewise("who", SWIZZLED, *words).json["indices"] == [[i, j]]


def test_a_byte_of_narrow_elements_holds_several(tilewise):
    found = tilewise("who", "S[16 : 1]", "--byte", "3", "--dtype", "e2m1", "--json").json["matches"]
    assert [match["index"] for match in found] == [[6], [7]]


def test_who_lists_the_holes_and_the_shared_places(tilewise):
    holes = tilewise("who", "S[(4, 3) : (4, 1)]", "--holes", "--json")
    assert holes.json == {"count": 3, "more": False, "holes": [{"m": 3}, {"m": 7}, {"m": 11}]}
    shared = tilewise("who", "S[(2, 3) : (2, 1)]", "--shared", "--json")
    assert shared.json["shared"] == [{"place": {"m": 2}, "indices": [[0, 2], [1, 0]]}]
    assert tilewise("who", "S[(2, 3) : (2, 1)]", "--shared").out == "2@m holds (0, 2), (1, 0)\n"
    for question in ("--holes", "--shared"):
        run = tilewise("who", "S[(4, 4) : (4, 1)]", question, "--json")
        assert (run.code, run.json["count"]) == (1, 0)
    assert tilewise("who", HUGE, "--holes", "--json").json["error"]["code"] == "TW301"


def test_who_with_a_limit_says_that_there_is_more(tilewise):
    run = tilewise("who", MESH, "gpuid_x=1", "--limit", "3", "--json")
    assert run.json["more"] is True
    assert len(run.json["matches"]) == 3
    assert tilewise("who", MESH, "gpuid_x=1", "--limit", "64", "--json").json["more"] is False


# -- table -----------------------------------------------------------------------------------------


def test_table(tilewise):
    run = tilewise("table", "S[(2, 2) : (1@laneid, 1@reg)] + R[2 : 4@laneid]", "--json")
    assert run.json == {
        "shape": [2, 2],
        "axes": ["laneid", "reg"],
        "places": [[[0, 0], [4, 0]], [[0, 1], [4, 1]], [[1, 0], [5, 0]], [[1, 1], [5, 1]]],
    }


def test_table_of_a_window(tilewise):
    run = tilewise("table", HUGE, "--window", "3:5,33554430:", "--json")
    assert run.json["shape"] == [2, 2]
    assert run.json["window"] == [[3, 5], [33554430, 33554432]]
    assert run.json["places"][0] == [[3 * 33554432 + 33554430]]


def test_table_refuses_what_nobody_would_read(tilewise):
    run = tilewise("table", HUGE, "--json")
    assert run.code == 2
    assert run.json["error"]["code"] == "TW301"
    assert "--window" in run.json["error"]["hint"]


def test_table_as_csv(tilewise):
    rows = list(csv.reader(io.StringIO(tilewise("table", FRAGMENT, "--window", "5,3,:", "--csv").out)))
    assert rows == [
        ["i0", "i1", "i2", "laneid", "reg"],
        ["5", "3", "0", "23", "0"],
        ["5", "3", "1", "23", "1"],
    ]


def test_table_as_npy(tilewise, tmp_path):
    file = tmp_path / "places"
    run = tilewise("table", "S[(4, 4) : (1, 4)]", "--npy", str(file), "--json")
    assert run.json == {"file": str(file), "shape": [4, 4], "axes": ["m"], "dtype": "int64"}
    assert np.array_equal(np.load(file), np.arange(16).reshape(4, 4).T)
    tilewise("table", FRAGMENT, "--npy", str(file))
    assert np.load(file)[5, 3, 1].tolist() == [23, 1]


# -- info ------------------------------------------------------------------------------------------


def test_info(tilewise):
    data = tilewise("info", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "--json").json
    assert data == {
        "shape": [8, 64],
        "size": 512,
        "axes": {"m": {"min": 0, "max": 511, "span": 512}},
        "copies": 1,
        "injective": True,
        "onto": True,
        "holes": {"count": 0, "witness": None},
        "contiguous": False,
        "canonical": "Swizzle<3,3,3> o S[512 : 1]",
        "swizzle": {"B": 3, "M": 3, "S": 3, "axis": "m", "period": 512, "align": 512},
        "text": {
            "tilewise": "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]",
            "cute": "Sw<3,3,3> o 0 o (8,64):(64,1)",
            "latex": data["text"]["latex"],
        },
        "witnesses": {"contiguous": "element 64 does not live at base + 64"},
    }


def test_info_shows_a_hole_and_who_shares_a_place(tilewise):
    data = tilewise("info", "S[(4, 3) : (4, 1)]", "--json").json
    assert data["holes"] == {"count": 3, "witness": {"m": 3}}
    shared = tilewise("info", "S[(4, 4) : (1, 1)]", "--json").json
    assert (shared["injective"], shared["onto"]) == (False, True)
    assert shared["witnesses"]["injective"] == "(0, 1) and (1, 0) share 1@m"


def test_info_on_two_to_the_fifty_elements(tilewise):
    data = tilewise("info", f"Swizzle<3,4,3> o {HUGE}", "--json").json
    assert data["size"] == 2**50
    assert data["axes"]["m"] == {"min": 0, "max": 2**50 - 1, "span": 2**50}
    assert (data["injective"], data["onto"], data["contiguous"]) == (True, True, False)


def test_info_notes_that_a_known_axis_ends(tilewise):
    notes = tilewise("info", "S[64 : 1@laneid]", "--json").json["notes"]
    assert notes == ["laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31"]
    notes = tilewise("info", "S[65 : 1@laneid]", "--json").json["notes"]
    assert notes == ["laneid reaches 64, and goes from 0 to 31: lane of the warp (64 on CDNA)"]
    assert "notes" not in tilewise("info", "S[32 : 1@laneid]", "--json").json


def test_info_says_which_facts_were_not_decided(tilewise):
    strides = ", ".join(str(3**k * 10**9 + 7**k) for k in range(24))
    run = tilewise("info", f"S[({', '.join(['9'] * 24)}) : ({strides})]", "--json")
    assert run.code == 3
    assert "holes" in run.json["undecided"]
    assert run.json["holes"]["count"] is None


# -- same ------------------------------------------------------------------------------------------


def test_same(tilewise):
    yes = tilewise("same", "S[(4, 4) : (4, 1)]", "S[16 : 1]", "--json")
    assert (yes.code, yes.json) == (0, {"same": True})
    no = tilewise("same", "S[(4, 4) : (4, 1)]", "S[(4, 4) : (1, 4)]", "--json")
    assert no.code == 1
    assert no.json["same"] is False
    assert (no.json["witness"], no.json["a"], no.json["b"]) == ([0, 1], [{"m": 1}], [{"m": 4}])


def test_same_of_other_sizes_shows_the_first_index_that_one_alone_has(tilewise):
    data = tilewise("same", "S[(4, 4) : (4, 1)]", "S[(4, 5) : (5, 1)]", "--json").json
    assert (data["same"], data["flat"], data["a"], data["b"]) == (False, 16, [], [{"m": 16}])
    assert "16 elements and 20" in data["reason"]


def test_same_of_two_cute_texts_counts_from_the_left(tilewise):
    assert tilewise("same", "(4,4):(1,4)", "16:1").code == 0
    no = tilewise("same", "(4,4):(4,1)", "16:1", "--json")
    assert (no.code, no.json["flat"], no.json["witness"]) == (1, 1, [1, 0])
    assert no.json["order"] == "cute"


def test_same_asks_texts_of_both_kinds_in_their_own_order(tilewise):
    assert tilewise("same", "(4,4):(4,1)", "S[16 : 1]").code == 1
    by_flat = tilewise("same", "S[32 : 1]", "(4,8):(1,4)", "--json")
    assert (by_flat.code, by_flat.json["note"][:33]) == (0, "elements are paired by flat index")
    by_mode = tilewise("same", "(4,8):(8,1)", "S[(4, 8) : (8, 1)]", "--json")
    assert (by_mode.code, by_mode.json["note"][:34]) == (0, "elements are paired by coordinates")
    no = tilewise("same", "(4,8):(8,1)", "S[(4, 8) : (8, 2)]", "--json").json
    assert (no["witness"], no["flat"], no["a"], no["b"]) == ([0, 1], 4, [{"m": 1}], [{"m": 2}])
    assert "note" not in tilewise("same", "32:2", "(4,8):(1,4)", "--json").json


def test_same_says_when_it_does_not_know(tilewise):
    """Two ways to write one map: with a swizzle, and with the copies that it leaves in place."""
    plain = "S[(1048577, 3) : (24, 8)] + R[(3, 3) : (1, 3)]"
    run = tilewise("same", f"Swizzle<1,0,5> o Swizzle<1,0,5> o Swizzle<1,0,2> o {plain}", plain, "--json")
    assert run.code == 3
    assert run.json["same"] is None
    assert "not decided" in run.json["reason"]


# -- explain, show, say, tour ----------------------------------------------------------------------


def test_explain(tilewise):
    run = tilewise("explain", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "1,8", "--json")
    assert run.json["places"] == [{"m": 64}]
    assert [step["step"] for step in run.json["steps"]] == [
        "index",
        "digits",
        "strides",
        "sum",
        "xor",
        "place",
    ]
    assert "72 xor 8 = 64@m" in tilewise("explain", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", "1,8").out


def test_explain_shows_every_term(tilewise):
    text = "O[128] o Swizzle<3,4,3> o (S[(8, 128) : (128, 1)] + R[2 : 1024] - 128)"
    names = [step["step"] for step in tilewise("explain", text, "3,40", "--json").json["steps"]]
    assert names == ["index", "digits", "strides", "sum", "offset", "copies", "xor", "outer", "places"]


def test_show(tilewise):
    out = tilewise("show", "S[(2, 4) : (1, 2)]", "--ascii").out
    assert "0 | 0 2 4 6\n1 | 1 3 5 7" in out
    assert out.isascii()
    assert "1|3" in tilewise("show", "S[1 : 0] + 1 + R[2 : 2]").out


@pytest.mark.parametrize("width", [40, 80, 100, 231])
def test_show_is_never_wider_than_the_terminal(tilewise, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (("S[(64, 64) : (64, 1)]",), ("S[(64, 64) : (64, 1)]", "--ascii"), ("S[4096 : 3]",)):
        _, grid, *_ = tilewise("show", *words).out.split("\n\n")
        lines = grid.splitlines()
        assert width // 3 < max(map(len, lines)) <= width
        assert lines == [line.rstrip() for line in lines]


@pytest.mark.parametrize("words", [(), ("--panel", "all"), ("--ascii",)], ids=["index", "panels", "ascii"])
@pytest.mark.parametrize("layout", ["wgmma.D(f32, n=64)", "Swizzle<3,3,3> o S[(8, 128) : (128, 1)]"])
def test_titles_are_never_wider_than_the_terminal(tilewise, monkeypatch, layout, words):
    monkeypatch.setenv("COLUMNS", "20")
    out = tilewise("show", layout, *words).out
    said = tilewise("say", layout, "--as", "tilewise").out.strip()
    assert said in re.sub(r"\s+", " ", out)
    assert max(map(len, out.splitlines())) <= 20


def test_show_colours_by_the_owner_of_most_values_or_as_told(tilewise):
    assert "colour by laneid mod 8" in tilewise("show", "S[(4, 32) : (1@wid_in_wg, 1@laneid)]").out
    layout = "S[(4, 32, 2) : (1@wid_in_wg, 1@laneid, 1@reg)]"
    assert "cells wid_in_wg:laneid:reg; colour by reg" in tilewise("show", layout, "--colour", "reg").out
    assert tilewise("show", layout, "--colour", "register", "--json").json["error"]["code"] == "TW203"
    assert "copies between |" in tilewise("show", MESH).out


def test_show_names_every_axis_that_the_layout_names(tilewise):
    assert "cells x:m" in tilewise("show", "S[4 : 1] + R[2 : 0@x]").out


def test_show_says_that_it_shows_a_part(tilewise):
    out = tilewise("show", "S[(4096, 4096) : (4096, 1)]", "--window", "8:10,100:103", "--ascii").out
    assert "rows 8..9 of 4096, columns 100..102 of 4096" in out
    assert "8 | 32868 32869 32870" in out


def test_say(tilewise):
    assert tilewise("say", "((8,2),(4,4)):((8,64),(1,4))", "--as", "tilewise").out.strip() == (
        "S[((2, 8), (4, 4)) : ((64, 8), (4, 1))]"
    )
    refused = tilewise("say", MESH, "--as", "cute", "--json")
    assert (refused.code, refused.json["text"]) == (1, None)
    assert "replicas" in refused.json["reason"]
    assert set(tilewise("say", MESH, "--json").json["text"]) >= {
        "tilewise",
        "python",
        "latex",
        "markdown",
        "json",
    }


def test_tour(tilewise):
    run = tilewise("tour", "--no-pause")
    assert run.code == 0
    assert run.err == ""
    stops = tilewise("tour", "--json").json["stops"]
    assert f"{len(stops)}/{len(stops)}" in run.out
    for stop in stops:
        words = shlex.split(stop["command"])
        said = tilewise(*words[1:])
        assert (said.code, words[0], said.out in run.out) == (0, "tilewise", True)


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_json_without_a_command_names_the_commands(tilewise, words):
    for asked in (["--json", *words], [*words, "--json"]):
        run = tilewise(*asked)
        assert (run.code, run.json) == (0, {"commands": SUMMARIES})


def test_json_has_the_version(tilewise):
    for asked in (("--json", "--version"), ("--version", "--json")):
        run = tilewise(*asked)
        assert (run.code, run.json) == (0, {"version": __version__})
