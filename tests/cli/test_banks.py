"""`tilewise banks`: accesses of a tile, and one request by its addresses."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tilewise import S
from tilewise.check.banks import MARKS, counted
from tilewise.pictures.scene.build import scene_of

ROWS = "S[(64, 64) : (64, 1)]"
FREE = f"Swizzle<3,3,3> o {ROWS}"


def test_accesses_of_a_tile_are_counted_and_added_up(tilewise) -> None:
    words = ("--access", "row:16B", "--access", "ldmatrix.x4", "--json")
    data = tilewise("banks", ROWS, "--dtype", "bf16", *words).json
    row, matrices = data["accesses"]
    assert (row["access"], row["operation"], row["bytes"], row["requests"]) == ("row:16B", "ld", 16, 16)
    assert (row["wavefronts"], row["ideal"], row["excess"], row["ways"]) == (64, 64, 0, 1)
    assert (row["ranks"], matrices["ranks"]) == ({"words": 5, "banks": 5}, {"words": 5, "banks": 2})
    assert row["closed"] is matrices["closed"] is True
    assert (matrices["wavefronts"], matrices["ideal"], matrices["ways"]) == (512, 64, 8)
    assert (data["wavefronts"], data["ideal"], data["excess"]) == (576, 128, 448)
    assert row["metric"] == matrices["metric"] == "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


def test_the_table_is_for_people(tilewise) -> None:
    out = tilewise("banks", ROWS, "--dtype", "bf16", "--access", "row:16B", "--access", "ldmatrix.x4").out
    head, row, matrices, why, who = out.splitlines()
    assert head.split() == ["access", "op", "bytes", "requests", "wavefronts", "ideal", "excess", "ways"]
    assert row.split() == ["row:16B", "ld", "16", "16", "64", "64", "0", "1"]
    assert matrices.split()[-1] == "8"
    assert why == "ldmatrix.x4, request 0 of 16, phase 0: lanes 0..7, 8 wavefronts: bank 0 gives 8 words"
    assert who == "  lane 0 asks it for byte 0, lane 1 for byte 128, lane 2 for byte 256, ..."


def test_what_is_free_needs_no_reason(tilewise) -> None:
    out = tilewise("banks", FREE, "--dtype", "bf16", "--access", "ldmatrix.x4").out
    assert len(out.splitlines()) == 2


def test_stores_by_argument_and_by_suffix(tilewise) -> None:
    by_option = tilewise("banks", FREE, "--dtype", "bf16", "--access", "row:16B", "--op", "st", "--json").json
    by_suffix = tilewise("banks", FREE, "--dtype", "bf16", "--access", "row:16B@st", "--json").json
    assert by_option == by_suffix
    assert by_option["accesses"][0]["operation"] == "st"


def test_a_base_beside_the_pattern_of_the_swizzle_moves_the_whole_tile(tilewise) -> None:
    words = ("banks", FREE, "--dtype", "bf16", "--access", "ldmatrix.x4", "--json")
    here, there = tilewise(*words).json, tilewise(*words, "--base", "0x400").json
    assert here["wavefronts"] == there["wavefronts"] == 64
    assert there["base"] == 1024


def test_strides_in_bytes_are_the_same_tile(tilewise) -> None:
    bytes = ("S[(64, 64) : (128, 2)]", "--unit", "byte")
    one = tilewise("banks", *bytes, "--dtype", "bf16", "--access", "ldmatrix.x4", "--json").json
    other = tilewise("banks", ROWS, "--dtype", "bf16", "--access", "ldmatrix.x4", "--json").json
    assert one["accesses"] == other["accesses"]


def test_what_suggest_says_is_asked_about_through_a_pipe(tilewise) -> None:
    words = ("--operand", "A", "--dtype", "bf16", "--tile", "64x128", "--json")
    suggested = tilewise("suggest", *words).out
    data = tilewise("banks", "-", "--access", "ldmatrix.x4", "--json", stdin=suggested).json
    assert data["dtype"] == "bf16"
    assert data["excess"] == 0


def test_the_chosen_request_is_drawn(tilewise) -> None:
    words = ("banks", "S[(32, 32) : (32, 1)]", "--dtype", "f32", "--access", "col:4B")
    out = tilewise(*words, "--request", "7").out.splitlines()
    assert out[3] == "col:4B, request 7 of 32, phase 0: lanes 0..31, 32 wavefronts: bank 7 gives 32 words"
    lanes = [line for line in out if line.startswith("lane ")]
    assert [line[5:].split()[1:].index(MARKS[n]) for n, line in enumerate(lanes)] == [7] * 32
    data = tilewise(*words, "--request", "7", "--json").json["accesses"][0]["request"]
    assert data["number"] == 7
    assert list(data["phases"][0]["banks"]) == ["7"]
    assert tilewise(*words, "--request", "32").code == 2


def test_phases_are_drawn_lane_by_lane(tilewise) -> None:
    out = tilewise("banks", "--op", "st", "--bytes", "4", "--addresses", "0,4,x,128,128", "--phases").out
    lines = [line for line in out.splitlines() if line.startswith(("lane", "  words"))]
    rows = {line[:7].strip(): line[8:].split() for line in lines}
    assert {name: row[:3] for name, row in rows.items()} == {
        "lane  0": ["1", ".", "."],
        "lane  1": [".", "1", "."],
        "lane  3": ["2", ".", "."],
        "lane  4": ["2", ".", "."],
        "words": ["2", "1", "."],
    }
    assert all(len(row) == 32 for row in rows.values())


def test_phases_have_colours_where_there_are_any(tilewise, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("banks", "--op", "st", "--bytes", "4", "--addresses", "0,128", "--phases")
    plain = tilewise(*words).out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = tilewise_again(words, monkeypatch)
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in bare.splitlines()] == [line.rstrip() for line in plain.splitlines()]


def tilewise_again(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> str:
    """The command with colours."""
    import io
    from contextlib import redirect_stdout

    from tilewise.cli.main import main

    monkeypatch.setenv("TERM", "xterm-256color")
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(words) == 0
    return out.getvalue()


# -- one request -----------------------------------------------------------------------------------


def test_a_request_by_its_addresses(tilewise) -> None:
    asked = "0,64,128,192,256,320,384,448"
    data = tilewise("banks", "--op", "ldmatrix", "--addresses", asked, "--json").json
    assert (data["wavefronts"], data["ideal"], data["excess"], data["bytes"]) == (4, 1, 3, 16)
    (phase,) = data["phases"]
    assert phase["lanes"] == list(range(8))
    assert phase["banks"]["0"] == {"0": [0], "32": [2], "64": [4], "96": [6]}
    assert (phase["wavefronts"], phase["bank"]) == (4, 0)
    assert data == counted("ldmatrix", 16, list(map(int, asked.split(",")))).as_dict()


def test_inactive_lanes_hexadecimal_addresses_and_pairs(tilewise) -> None:
    out = tilewise("banks", "--bytes", "16", "--addresses", "0x0,0,x,16,32,32").out
    assert out.splitlines()[0] == "1 wavefront, ideal 1; lanes n and n^1 ask as one"
    assert "5 lanes of 0..5" in out


def test_a_lone_lane_asks_with_nobody(tilewise) -> None:
    out = tilewise("banks", "--bytes", "16", "--addresses", "x,16").out
    assert out.splitlines()[0] == "1 wavefront, ideal 1"


@pytest.mark.parametrize("addresses", ["0,,4", "", "0,X", "0,4,"])
def test_inactive_lanes_are_told_of_where_an_address_is_missing(tilewise, addresses: str) -> None:
    for command in ("banks", "coalesce"):
        error = tilewise(command, "--bytes", "4", "--addresses", addresses, "--json").json["error"]
        assert "lane" in error["message"]
        assert error["hint"] == "such as 0x1a40 or 6720, and x for a lane that is inactive"


def test_hints_are_about_what_was_refused(tilewise) -> None:
    refused = {
        "S[(32, 8) : (64, 1)] - 1@m": "",
        "ldmatrix.x4": "16-byte rows",
        "row:16B": "tilewise vector says how wide",
    }
    for access, hint in refused.items():
        words = ("banks", "S[(64, 64) : (65, 1)]", "--dtype", "f16", "--access", access, "--json")
        run = tilewise(*words)
        assert run.code == 1
        assert hint in run.json["hint"]
        assert ("tilewise vector" in run.json["hint"]) == (access == "row:16B")


@pytest.mark.parametrize(
    ("op", "bytes", "says"),
    [
        ("atom", 8, "of atom it is not known what 8 bytes cost"),
        (
            "cp.async",
            4,
            "cp.async takes at least so many: its lanes take turns at the banks that they read, too",
        ),
        ("tma", 16, "of tma it is not known in which order its rows go"),
        ("atom", 4, ""),
        ("cp.async", 16, "cp.async.cg, past the L1, takes none"),
        ("st", 4, ""),
        ("ld", 16, ""),
    ],
)
def test_what_is_not_known_is_told(tilewise, op, bytes, says) -> None:
    said = tilewise("banks", "--op", op, "--bytes", str(bytes), "--addresses", "0,0").err
    assert says in said
    assert bool(says) is bool(said)


def test_lanes_that_take_turns_are_told_and_drawn_one_by_one(tilewise) -> None:
    words = ("banks", "--op", "atom", "--bytes", "4", "--addresses", "0,0,128,4,4")
    count, phase, who = tilewise(*words).out.splitlines()
    assert count == "3 wavefronts, ideal 1"
    assert phase == "  phase 0: lanes 0..4, 3 wavefronts: bank 0 serves 3 lanes in turn"
    assert who == "    lane 0 asks it for byte 0, lane 1 for byte 0, lane 2 for byte 128"
    drawn = tilewise(*words, "--phases").out.splitlines()[3:]
    assert [line[:12].split() for line in drawn[1:]] == [
        ["lane", "0", "1", "."],
        ["lane", "1", "2", "."],
        ["lane", "2", "3", "."],
        ["lane", "3", ".", "1"],
        ["lane", "4", ".", "2"],
        ["turns", "3", "2"],
    ]


def test_copies_of_16_bytes_go_8_lanes_at_a_time_each_in_its_turn(tilewise) -> None:
    words = ("banks", "--op", "cp.async", "--bytes", "16", "--addresses", ",".join(["0"] * 9))
    lines = tilewise(*words).out.splitlines()
    assert lines[:2] == [
        "9 wavefronts, ideal 2",
        "  phase 0: lanes 0..7, 8 wavefronts: bank 0 serves 8 lanes in turn",
    ]
    assert lines[3] == "  phase 1: lane 8, 1 wavefront"
    drawn = [line for line in tilewise(*words, "--phases").out.splitlines() if line.startswith("lane")]
    assert [line[8:15].split() for line in drawn] == [[MARKS[n % 8]] * 4 for n in range(9)]


PADDED = "S[(64, 64) : (72, 1)]"


@pytest.mark.parametrize("tile", [FREE, PADDED])
@pytest.mark.parametrize("access", ["row:16B", "ldmatrix.x4.trans", "tma", "S[(32, 8) : (64, 1)]:16B"])
def test_what_ranks_decide_or_few_requests_imports_neither_numpy_nor_rich(tile: str, access: str) -> None:
    program = (
        "import sys; from tilewise.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'rich'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    words = ("banks", tile, "--dtype", "bf16", "--access", access, "--json")
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), "TW401", "--addresses"),
        (("--access", "row"), "TW401", "--addresses"),
        (("--addresses", "0"), "TW401", "bytes of one lane"),
        (("--bytes", "4", "--addresses", "0,y"), "TW401", "--addresses: y is no address"),
        (("--bytes", "four", "--addresses", "0"), "TW401", "no number"),
        (("--bytes", "4", "--addresses", "2"), "TW203", "no multiple of 4"),
        (("--bytes", "4", "--addresses", "0", "--op", "lds"), "TW601", "no access"),
        (("--bytes", "5", "--addresses", "0"), "TW602", "5 bytes"),
        (("--bytes", "4", "--addresses", "0", "--request", "0"), "TW401", "--request"),
        ((ROWS, "--dtype", "bf16"), "TW401", "--access"),
        ((ROWS, "--access", "row"), "TW401", "--dtype"),
        ((ROWS, "--dtype", "bf16", "--access", "row", "--bytes", "4"), "TW401", "--bytes"),
        ((ROWS, "--dtype", "bf16", "--access", "row", "--request", "one"), "TW401", "no number"),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, tuple) else None,
)
def test_what_is_not_understood(tilewise, words: tuple[str, ...], code: str, says: str) -> None:
    run = tilewise("banks", *words, "--json")
    assert run.code == 2
    error = run.json["error"]
    assert error["code"] == code
    assert says in error["message"]


def test_what_would_be_listed_without_end_is_refused(tilewise) -> None:
    run = tilewise(
        "banks", "S[(1000003, 1000) : (1000, 1)]", "--dtype", "bf16", "--access", "col:2B", "--json"
    )
    assert run.code == 2
    assert run.json["error"]["code"] == "TW301"


def test_an_access_that_no_instruction_makes_is_a_no(tilewise) -> None:
    run = tilewise("banks", ROWS, "--dtype", "bf16", "--access", "S[(32, 8) : (1, 64)]:16B", "--json")
    assert run.code == 1
    assert run.json["code"] == "TW610"
    assert run.json["witness"]["lane"] == 0
    out = tilewise("banks", ROWS, "--dtype", "bf16", "--access", "S[(32, 8) : (1, 64)]:16B").out
    assert out.startswith("no: lane 0 of request 0 asks for 16 bytes")


@pytest.mark.parametrize(
    "spelled",
    [
        "0x1000, 0x1080,x, 64",
        "0x1000 0x1080 x 64",
        "{0x1000, 0x1080, x, 64}",
        "[0x1000,0x1080,x,64]",
        "0x1000\n0x1080\nx\n64\n",
    ],
    ids=["commas", "blanks", "an-array-of-a-debugger", "a-list", "lines"],
)
def test_addresses_are_read_as_debuggers_print_them(tilewise, spelled):
    asked = ("banks", "--op", "ld", "--bytes", "4", "--json", "--addresses")
    assert tilewise(*asked, spelled).json == tilewise(*asked, "4096,4224,x,64").json


@pytest.mark.parametrize("spelled", ["0,,4", "0,", ",0", "{0,4", "0 , , 4", ""])
def test_an_address_that_is_missing_is_said(tilewise, spelled):
    run = tilewise("banks", "--op", "ld", "--bytes", "4", f"--addresses={spelled}")
    assert run.code == 2
    assert "--addresses: " in run.err


# -- lanes that ask for nothing ------------------------------------------------------------------------

FEW = ("S[(64, 64) : (64, 1)]", "--dtype", "f16", "--access", "S[(16, 8, 8) : (64, 8, 1)]")
"""Threads of 16 x 8, of which the first mode became requests."""
SAID = "8 of 32 lanes ask, and 24 are idle: of three modes the first counts requests, the second lanes"


@pytest.mark.parametrize("command", ["banks", "coalesce", "vector"])
def test_access_of_few_lanes_counts_those_that_are_idle(tilewise, command) -> None:
    (own,) = tilewise(command, *FEW, "--json").json["accesses"]
    assert (own["requests"], own["lanes"], own["idle"]) == (16, 8, 24)
    text = tilewise(command, *FEW).out
    assert (SAID in text) == (command != "vector")
    assert "requests of 8 lanes" in text or command != "vector"


def test_explain_of_few_lanes_counts_those_that_are_idle(tilewise) -> None:
    (own,) = tilewise("explain", *FEW, "--json").json["accesses"]
    assert (own["lanes"], own["idle"]) == (8, 24)
    assert "no conflicts; 24 of 32 lanes idle" in tilewise("explain", *FEW).out


def test_picture_of_few_lanes_notes_those_that_are_idle() -> None:
    notes = scene_of(S[(64, 64) : (64, 1)], dtype="f16", access=FEW[-1]).notes
    assert [note.text for note in notes if note.kind == "hint"] == [SAID]


@pytest.mark.parametrize(
    ("layout", "access", "idle"),
    [
        ("S[(64, 64) : (64, 1)]", "row:16B", 0),
        ("S[(8, 8) : (8, 1)]", "row:16B", 24),
        ("S[(31, 8) : (8, 1)]", "row:16B", 1),
        ("S[(24, 64) : (64, 1)]", "col:2B", 8),
        ("S[(64, 64) : (64, 1)]", "ldmatrix.x1", 0),
        ("S[(64, 64) : (64, 1)]", "tma", 0),
    ],
)
def test_idle_lanes_are_those_of_a_warp_that_no_request_has(tilewise, layout, access, idle) -> None:
    words = ("banks", layout, "--dtype", "f16", "--access", access)
    (own,) = tilewise(*words, "--json").json["accesses"]
    assert own["idle"] == idle
    text = tilewise(*words).out
    assert (f"{32 - idle} of 32 lanes ask, and {idle} " in text) == bool(idle)
    assert "three modes" not in text
