"""`tilewise show --panel`, `--access`, `--step`, `--with`: scenes in the terminal, and as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from tests.pictures.documents import document_from

from tilewise import parse
from tilewise.notation import parse_window
from tilewise.pictures.scene.build import document_of
from tilewise.pictures.scene.cells import Elements, placed_of

TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
MESH = "S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]"
TENSOR = "S[(128, 8) : (1@TLane, 1@TCol)]"


@pytest.mark.parametrize(
    ("text", "panel", "titles"),
    [
        (TILE, "memory", ["memory, 128 bytes a row"]),
        ("wgmma.D(f32, n=8)", "registers", ["laneid by reg"]),
        ("wgmma.D(f32, n=8)", "index,registers", ["index", "laneid by reg"]),
        (MESH, "Mesh", ["mesh gpuid_y by gpuid_x, memory inside"]),
        (TENSOR, "tensor memory", ["tensor memory, columns of 32 bits"]),
        (TENSOR, "tensor-memory", ["tensor memory, columns of 32 bits"]),
        (TENSOR, "all", ["index", "tensor memory, columns of 32 bits"]),
        ("S[(3, 4) : (1@warpid, 1@blockid)]", "places", ["warpid by blockid"]),
    ],
)
def test_the_panels_that_are_asked_for(tilewise, text, panel, titles):
    run = tilewise("show", text, "--dtype", "bf16", "--panel", panel)
    assert (run.code, run.err) == (0, "")
    heads = [part.splitlines()[0] for part in run.out.split("\n\n")[1:]]
    assert [head for head in heads if not re.match(r"\w+ \d", head)] == titles


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            (TILE, "--panel", "mesh"),
            "TW401",
            "this layout has no such panel\n  hint: it has index, memory (mem); or all",
        ),
        (
            (TILE, "--panel", "banks"),
            "TW401",
            "there is no such panel\n  hint: it has index, memory (mem); or all",
        ),
        ((TILE, "--panel", ""), "TW401", "--panel : there is no such panel"),
        ((TILE, "--access", "row:16B"), "TW401", "the type of an element is not given"),
        ((TILE, "--step", "0"), "TW201", "there is no step 0"),
        ((TILE, "--dtype", "bf16", "--access", "boxes", "--step", "1"), "TW201", "there is no step 1"),
        ((TILE, "--panel", "memory", "--colour", "laneid"), "TW203", "laneid"),
        ((TILE, "--panel", "memory", "--window", "0:999"), "TW201", "rows 0:999 are not within 0:128"),
        (("S[(4096, 4096)]", "--panel", "memory"), "TW301", "--window 0:64,0:64"),
        (
            ("S[8 : 1000000000]", "--panel", "memory"),
            "TW301",
            "memory is not drawn: it has more than 1048576 cells; a window may have fewer: "
            "the elements are too far apart, "
            "at m = 0..7000000000\n  hint: a --window of elements",
        ),
        (
            ("S[(2, 64) : (70000000, 1)]", "--panel", "index,memory", "--dtype", "u8"),
            "TW301",
            "memory is not drawn: it has more than 1048576 cells",
        ),
        (
            ("S[(2, 64) : (5000000, 1)]", "--panel", "memory", "--dtype", "e2m1"),
            "TW301",
            "memory is not drawn: it has more than room for 4194304 elements",
        ),
        ((TILE, *["--with", TILE] * 4), "TW301", "5 layouts side by side\n  hint: 4 are the most"),
        (("-", "--with", "-"), "TW401", "only one layout can come from standard input"),
    ],
)
def test_what_is_refused(tilewise, words, code, said):
    run = tilewise("show", *words, stdin=TILE)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"tilewise: {code}")
    assert said in run.err


def test_json_is_the_document_that_views_read(tilewise):
    out = tilewise("show", TILE, "--dtype", "bf16", "--access", "col:16B", "--panel", "all", "--json").out
    assert document_from(json.loads(out)) == document_of(parse(TILE), dtype="bf16", access="col:16B")
    some = json.loads(tilewise("show", TILE, "--panel", "memory", "--json").out)
    assert [panel["kind"] for panel in some["scenes"][0]["panels"]] == ["memory"]
    assert (some["schema"], some["kind"]) == (1, "tilewise.scene")
    assert len(json.loads(tilewise("show", TILE, "--with", TILE, "--json").out)["scenes"]) == 2
    assert "row_labels" in tilewise("show", TILE, "--json").json


PAIR = "tcgen05.D(f32, m=256, n=64, cta_group=2)"


@pytest.mark.parametrize(
    ("layout", "more", "window"),
    [
        (PAIR, (), "126:128,0:2"),
        (PAIR, (), "40:,:3"),
        ("tcgen05.D(f32, m=64, n=64)", (), "14:33,62:64"),
        ("tcgen05.D(f32, m=64, n=64) + 64@TCol", (), "0:9,64:70"),
        ("tcgen05.A(e4m3, m=128)", ("--dtype", "e4m3"), "5:6,1:3"),
        ("wgmma.D(f32, n=8)", (), "30:32,2:4"),
    ],
)
def test_a_window_of_a_panel_is_of_what_stands_at_its_heads(tilewise, layout, more, window):
    """The places of the layout that are in the window are drawn, and no other."""
    panel = "regs" if "wgmma" in layout else "tmem"
    run = tilewise("show", layout, "--panel", panel, "--window", window, *more, "--json")
    scene = document_from(json.loads(run.out)).scenes[0]
    (drawn,) = scene.panels
    lane, column = drawn.row[0].axis, drawn.column[0].axis
    (top, bottom), (left, right) = parse_window(window)
    inside = [
        (top or 0) <= x < (bottom or 128) and (left or 0) <= y // drawn.slots < right
        for x, y in zip(scene.places[lane], scene.places[column], strict=True)
    ]
    placed = placed_of(drawn, Elements(scene)).first
    assert (placed >= 0).sum() == sum(inside) > 0
    assert drawn.cells == ((bottom or 128) - (top or 0), right - (left or 0))
    assert [head(0) for head in (*drawn.row_heads, *drawn.column_heads)] == [top or 0, left or 0]


def test_a_window_of_a_pair_has_the_lanes_of_both(tilewise):
    out = tilewise("show", PAIR, "--panel", "tmem", "--window", "126:128,0:2").out
    assert [line.split() for line in out.splitlines()[-4:]] == [
        ["cbx", "0", "cbx", "1"],
        ["0", "1", "0", "1"],
        ["126", "126,0", "126,1", "126", "254,0", "254,1"],
        ["127", "127,0", "127,1", "127", "255,0", "255,1"],
    ]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--window", "126:130"), "TLane 126:130 is not within 0:128", "counts TLane and TCol"),
        (("--window", "0:4,60:70"), "TCol 60:70 is not within 0:64", "counts TLane and TCol"),
        (("--window", "4:4"), "TLane 4:4 is not within 0:128", "counts TLane and TCol"),
        (("--window", "0:1,0:1,0:1"), "a window of 3 ranges", "rows and columns"),
    ],
)
def test_a_window_that_a_panel_has_not(tilewise, words, message, hint):
    run = tilewise("show", PAIR, "--panel", "tmem", *words)
    assert run.code == 2
    assert message in run.err
    assert hint in run.err


def test_a_window_with_the_index_is_of_the_layout(tilewise):
    out = tilewise("show", PAIR, "--panel", "index,tmem", "--window", "126:130,0:2").out
    assert "rows 126..129 of 256, columns 0..1 of 64" in out


def test_what_is_left_out_of_a_part_is_said_by_its_heads(tilewise):
    out = tilewise("show", PAIR, "--panel", "tmem", "--window", "20:120,8:12").out
    assert re.search(r"^rows 20\.\.\d+ of 20\.\.119; see others", out, re.MULTILINE)


def test_a_part_of_a_panel_in_a_file(tilewise, tmp_path):
    whole, part = tmp_path / "whole.svg", tmp_path / "part.svg"
    asked = ("show", PAIR, "--panel", "tmem")
    assert tilewise(*asked, "--svg", str(whole)).code == 0
    assert tilewise(*asked, "--window", "126:128,0:4", "--svg", str(part)).code == 0
    assert ">254,0<" in part.read_text()
    assert ">0,0<" not in part.read_text()
    assert len(part.read_text()) < len(whole.read_text())


def test_short_words_of_panels(tilewise):
    for long, short in (("tensor memory", "tmem"), ("registers", "regs"), ("memory", "mem")):
        layout = {"tmem": PAIR, "regs": "wgmma.D(f32, n=8)", "mem": "S[(8, 8)]"}[short]
        runs = [tilewise("show", layout, "--panel", word).out for word in (long, short, short.upper())]
        assert runs[0] == runs[1] == runs[2] != ""
    run = tilewise("show", PAIR, "--panel", "lanes")
    assert "--panel lanes: there is no such panel" in run.err
    assert "it has index, tensor memory (tmem); or all" in run.err


def test_a_window_has_the_panel_that_the_whole_has_not(tilewise):
    run = tilewise("show", "S[8 : 1000000000]", "--panel", "memory", "--window", "0:1,0:1")
    assert (run.code, run.err) == (0, "")
    assert "memory, 8 elements a row" in run.out


@pytest.mark.parametrize("many", [2, 3, 4])
def test_several_layouts_beside_the_first(tilewise, monkeypatch, many):
    monkeypatch.setenv("COLUMNS", "160")
    others = [f"S[(4, 4) : (4, 1)] + {offset}" for offset in range(1, many)]
    words = [word for text in others for word in ("--with", text)]
    run = tilewise("show", "S[(4, 4) : (4, 1)]", *words, "--panel", "memory")
    assert (run.code, run.err) == (0, "")
    assert re.search(" +".join(map(re.escape, ["S[(4, 4) : (4, 1)]", *others])), run.out)
    for offset in range(1, many):
        assert f"very element moves by {offset}@m." in run.out
    svg = tilewise("show", "S[(4, 4) : (4, 1)]", *words, "--svg", "-").out
    assert all(f">{text}</text>" in svg for text in others)
    document = tilewise("show", "S[(4, 4) : (4, 1)]", *words, "--json").out
    assert len(document_from(json.loads(document)).scenes) == many


def test_a_part_of_a_layout_that_is_too_large(tilewise):
    out = tilewise(
        "show", "S[(4096, 4096)]", "--dtype", "f32", "--panel", "memory", "--window", "8:10,0:32"
    ).out
    assert "131072  8,0  8,4" in re.sub(" +", "  ", out)
    assert "the layout has 16777216 elements" in out


@pytest.mark.parametrize("lines", [10, 24, 60])
def test_the_height_is_the_terminals(tilewise, monkeypatch, lines):
    monkeypatch.setenv("LINES", str(lines))
    out = tilewise("show", TILE, "--dtype", "bf16", "--panel", "memory").out
    rows = re.findall(r"^ *\d+  +\d+,\d+ ", out, re.MULTILINE)
    assert len(rows) == max(8, lines - 8)
    assert f"rows 0..{len(rows) - 1} of 128; see others with --window" in out


def test_colours_are_those_of_the_elements_and_what_is_pale_is_dim():
    words = ["show", "S[(8, 8) : (8, 1)]", "--dtype", "b128", "--access", "col:16B", "--step", "2"]
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    coloured = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"}

    def printed(**more: str) -> str:
        run = [sys.executable, "-m", "tilewise", *words]
        return subprocess.run(run, capture_output=True, text=True, check=True, env=environment | more).stdout

    colours = printed(**coloured)
    lit = re.findall(r"\x1b\[38;2;[\d;]+m +(\S+) \x1b\[0m", colours)
    assert lit == ["L2", "L2"]
    assert re.sub(r"\x1b\[[\d;]*m", "", colours).split() == printed().split()
    assert printed().isascii()


def test_ascii_has_rules_and_no_colours(tilewise, monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = tilewise("show", TILE, "--dtype", "bf16", "--panel", "memory", "--ascii").out
    assert "-----+---" in out
    assert "\x1b" not in out
    assert out.isascii()


@pytest.mark.parametrize("columns", [None, 50, 200])
@pytest.mark.parametrize("ruled", [(), ("--ascii",)], ids=["colours", "ascii"])
def test_words_have_as_many_columns_as_the_cells(tilewise, monkeypatch, columns, ruled):
    """Beside the index as beside a panel: those of the terminal, and 120 without a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", str(columns))
    run = tilewise("show", "S[(4096, 4096) : (4096, 1)]", "--window", "1000:1002", *ruled)
    *_, note = run.out.rstrip().split("\n\n")
    assert re.sub(r"\s+", " ", note).endswith("of 4096; see others with --window 0:16,0:16")
    words = len(re.sub(r"\s+", " ", note))
    assert 80 < words < 120
    assert max(map(len, note.splitlines())) <= (columns or 120)
    assert (len(note.splitlines()) == 1) == (columns != 50)
