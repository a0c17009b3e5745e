"""`tilewise show --panel`, `--access`, `--step`, `--with`: scenes in the terminal, and as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tilewise import parse
from tilewise.show.scene.build import document_of
from tilewise.show.scene.read import document_from

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
        ((TILE, "--panel", "mesh"), "TW401", "this layout has none\n  hint: it has index, memory; or all"),
        ((TILE, "--panel", "banks"), "TW401", "there is none\n  hint: it has index, memory; or all"),
        ((TILE, "--panel", ""), "TW401", "--panel : there is none"),
        ((TILE, "--access", "row:16B"), "TW401", "the type of an element is not given"),
        ((TILE, "--step", "0"), "TW201", "there is no step 0"),
        ((TILE, "--dtype", "bf16", "--access", "boxes", "--step", "1"), "TW201", "there is no step 1"),
        ((TILE, "--panel", "memory", "--colour", "laneid"), "TW203", "laneid"),
        ((TILE, "--panel", "memory", "--window", "0:999"), "TW201", "rows 0:999 are not within 0:128"),
        (("S[(4096, 4096)]", "--panel", "memory"), "TW301", "--window 0:64,0:64"),
        (
            ("S[8 : 1000000000]", "--panel", "memory"),
            "TW301",
            "would have 875000001 x 8 cells, and 1048576 are the most: the elements are too far apart, "
            "at m = 0..7000000000\n  hint: a --window of elements",
        ),
        (
            ("S[(2, 64) : (70000000, 1)]", "--panel", "index,memory", "--dtype", "u8"),
            "TW301",
            "would have 546876 x 32 cells, and 1048576 are the most",
        ),
        (
            ("S[(2, 64) : (5000000, 1)]", "--panel", "memory", "--dtype", "e2m1"),
            "TW301",
            "would have 19532 x 32 cells with room for 5000192 elements, and 4194304 are the most",
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
    """Beside the index as beside a panel: those of the terminal, and 120 where there is none."""
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
