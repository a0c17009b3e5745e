"""`tilewise explain` without an index: the screen, its data, and what is not asked of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewise import parse
from tilewise.pictures.screen import screen_of

TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"


def test_the_screen_is_printed_without_colours_where_there_are_none(tilewise):
    run = tilewise("explain", TILE, "--dtype", "bf16")
    assert run.code == 0
    assert "\x1b" not in run.out
    names = [line.split()[0] for line in run.out.splitlines() if line and not line.startswith(" ")]
    assert names[1:] == ["is", "map", "facts", "CuTe", "canonical", "corner", "banks", "engines", "change"]
    assert "ldmatrix.x4         128    128  no conflicts" in run.out
    assert "wgmma B           yes  K-major, 128B mode" in run.out


def test_its_data_is_the_screens(tilewise):
    data = tilewise("explain", TILE, "--dtype", "bf16", "--json").json
    expected = screen_of(parse(TILE), "bf16").as_dict()
    assert data["accesses"] == expected["accesses"]
    assert data["engines"] == expected["engines"]
    assert data["engines"][1]["descriptor"] == "0x4000004000010000"
    assert data["formulas"] == ["m = x ^ (x>>3 & 56), x = 64*i + j"]
    assert [cell["colour"] for cell in data["corner"]["cells"][3]] == [3] * 8
    assert data["chunks"]["cells"][1][0] == {"text": "1", "colour": 1}


def test_accesses_are_asked_instead_of_the_natural_ones(tilewise):
    data = tilewise("explain", TILE, "--dtype", "bf16", "--access", "col:2B", "--json").json
    assert [(cost["access"], cost["wavefronts"], cost["ideal"]) for cost in data["accesses"]] == [
        ("col:2B", 1024, 256)
    ]


def test_a_base_moves_banks(tilewise):
    cells = tilewise("explain", TILE, "--dtype", "bf16", "--base", "0x10", "--json").json["chunks"]["cells"]
    assert [cell["colour"] for cell in cells[0]] == [1, 2, 3, 4, 5, 6, 7, 0]


def test_a_suggestion_is_explained_with_its_own_type(tilewise):
    suggested = tilewise("suggest", "--operand", "A", "--tile", "128x64", "--dtype", "bf16", "--json").out
    run = tilewise("explain", "-", "--json", stdin=suggested)
    assert run.json["dtype"] == "bf16"
    assert all(taken["legal"] for taken in run.json["engines"])


def test_cutes_notation_and_calls_are_read(tilewise):
    assert tilewise("explain", "(8,4):(4,1)", "--json").json["formulas"] == ["m = 4*i + j"]
    assert "wgmma.D(f32, n=64)" in tilewise("explain", "wgmma.D(f32, n=64)", "--json").json["entries"]


def test_without_a_type_it_is_said_what_a_type_adds(tilewise):
    assert "--dtype bf16, or another, asks the banks and the engines" in tilewise("explain", TILE).out
    assert "--dtype" not in tilewise("explain", "S[(8, 4) : (4@laneid, 1@reg)]").out


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_is_as_wide_as_is_asked(tilewise, width):
    out = tilewise("explain", "S[(64, 64) : (68, 1)]", "--dtype", "bf16", "--width", str(width)).out
    assert max(map(len, out.splitlines())) <= width


def test_the_terminals_width_is_taken_up_to_100(tilewise, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert max(map(len, tilewise("explain", TILE, "--dtype", "bf16").out.splitlines())) <= 70
    monkeypatch.setenv("COLUMNS", "300")
    assert max(map(len, tilewise("explain", TILE, "--dtype", "bf16").out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((TILE, "5", "--access", "row:16B"), "--access is an option of the screen, without INDEX"),
        ((TILE, "5", "--base", "16"), "--base is an option of the screen, without INDEX"),
        ((TILE, "--shape", "8192"), "--shape 8192 is not the shape of this tensor"),
        ((TILE, "--width", "ten"), "--width ten"),
        ((TILE, "--dtype", "bf17"), "bf17"),
        ((TILE, "--dtype", "bf16", "--access", "diagonal"), "diagonal"),
        ((TILE, "--access", "row:16B"), "--access needs --dtype"),
        (("S[4096 : 1]", "--dtype", "f16", "--access", "row:16B"), "--access is of a tile of shared memory"),
    ],
)
def test_what_does_not_fit_is_an_error(tilewise, words, message):
    run = tilewise("explain", *words)
    assert run.code == 2
    assert message in run.err


@pytest.mark.parametrize(
    ("tile", "more"),
    [
        (TILE, ()),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", ()),
        ("S[(64, 64) : (64, 1)]", ()),
        ("S[(64, 64) : (72, 1)]", ("--access", "row:16B", "--access", "ldmatrix.x4")),
        ("mma.D(m16n8k16, f32)", ()),
    ],
)
def test_what_closed_forms_decide_imports_no_numpy(tile, more):
    program = (
        "import sys; from tilewise.cli.main import main; main(sys.argv[1:]);"
        "sys.exit('imported numpy' if 'numpy' in sys.modules else 0)"
    )
    command = [sys.executable, "-c", program, "explain", tile, "--dtype", "bf16", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
