"""`tilewise show --svg`, `--png`, `--html`: which files are written, and what is refused before any is."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tilewise import parse
from tilewise.pictures.address import fragment

TILE = "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"
SMALL = "S[(8, 8) : (8, 1)]"


def test_several_files_at_once(tilewise, tmp_path):
    files = {form: tmp_path / f"a picture.{form}" for form in ("svg", "png", "html")}
    words = [word for form, file in files.items() for word in (f"--{form}", str(file))]
    run = tilewise("show", TILE, "--dtype", "bf16", *words)
    assert (run.code, run.err) == (0, "")
    sizes = [f"{file}: {file.stat().st_size} bytes" for file in files.values()]
    assert run.out.splitlines() == sizes
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.fromstring(files["svg"].read_bytes()).tag.endswith("svg")
    assert files["html"].stat().st_size < 305_000


def test_a_page_has_more_cells_than_paper(tilewise, tmp_path):
    large = "S[(1024, 1024) : (1024, 1)]"
    assert tilewise("show", large, "--svg", str(tmp_path / "x.svg")).code == 2
    run = tilewise("show", large, "--html", str(tmp_path / "x.html"))
    assert (run.code, run.err) == (0, "")
    text = (tmp_path / "x.html").read_text()
    assert 'data-state="#1&amp;e=S[(1024,~1024)~:~(1024,~1)]"' in text
    assert "<svg" in text.partition("<noscript>")[2]


def test_a_file_is_replaced_and_json_tells_which_were_written(tilewise, tmp_path):
    file = tmp_path / "x.svg"
    file.write_text("old")
    run = tilewise("show", SMALL, "--svg", str(file), "--json")
    assert run.json == {"files": [{"form": "svg", "file": str(file), "bytes": file.stat().st_size}]}
    assert file.read_text(encoding="utf-8").startswith("<svg")


def test_standard_output(tilewise, tmp_path):
    run = tilewise("show", SMALL, "--svg", "-", "--png", str(tmp_path / "x.png"))
    assert ElementTree.fromstring(run.out).attrib["role"] == "img"
    assert run.err.strip().endswith(" bytes")


def test_pixels_on_standard_output():
    src = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-m", "tilewise", "show", SMALL, "--png", "-"],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": src},
    )
    assert run.stdout.startswith(b"\x89PNG")
    assert run.stdout.endswith(b"IEND\xaeB`\x82")


def test_two_layouts_a_step_and_a_theme(tilewise):
    words = ("--dtype", "b128", "--access", "col:16B", "--step", "2", "--theme", "dark")
    out = tilewise("show", SMALL, "--with", "Swizzle<3,0,3> o " + SMALL, *words, "--svg", "-").out
    assert "56 of 64 elements move in memory" in out
    assert "Step 3 of 64" in out
    assert "Step 3 of 8" in out
    assert "prefers-color-scheme" not in out


def test_the_page_begins_with_what_was_asked(tilewise):
    words = (
        "--dtype",
        "b128",
        "--access",
        "col:16B",
        "--shape",
        "8,8",
        "--window",
        "0:4,0:8",
        "--theme",
        "dark",
    )
    out = tilewise(
        "show", SMALL, "--with", "Swizzle<3,0,3> o " + SMALL, *words, "--step", "1", "--html", "-"
    ).out
    state = re.search(r'data-state="([^"]*)"', out)[1].replace("&amp;", "&")
    assert state == (
        "#1&e=S[(8,~8)~:~(8,~1)]&e2=Swizzle{3,0,3}~o~S[(8,~8)~:~(8,~1)]"
        "&d=b128&a=col:16B&s=8,8&w=0:4,0:8&c=1&t=dark"
    )


def test_the_page_is_given_numbers_for_names(tilewise):
    words = ("--let", "_a1=2", "--let", "b=0x8", "--shape", "(_a1,4),b", "--window", "0:_a1,:b")
    out = tilewise("show", SMALL, *words, "--html", "-").out
    assert "&amp;s=(2,4),8&amp;w=0:2,:8" in out


def test_what_the_hardware_is_told(tilewise):
    words = ("--dtype", "bf16", "--access", "descriptor.A", "--step", "1")
    out = tilewise("show", TILE, *words, "--svg", "-").out
    assert "matrix descriptor 0x4000004000010002" in out
    assert "start + 32 bytes" in out
    page = tilewise("show", TILE, *words, "--html", "-").out
    assert "&amp;a=descriptor.A&amp;c=1" in page
    scene = tilewise("show", TILE, *words, "--json").json["scenes"][0]
    assert scene["steps"][1]["encoded"]["value"] == "0x4000004000010002"


@pytest.mark.parametrize(
    ("words", "shown", "dtype"),
    [
        (("tcgen05.D(f32, m=128, n=64)",), "tcgen05.D(f32, m=128, n=64)", None),
        (("wgmma.D(f32, n=64) + 1@wgid",), "wgmma.D(f32, n=64) + 1@wgid", None),
        (("tcgen05.D(f32, m=128, n=64)", "--dtype", "f16"), "tcgen05.D(f32, m=128, n=64)", "f16"),
        (("wgmma.D(f32, n=N)", "--let", "N=8"), str(parse("wgmma.D(f32, n=8)")), "f32"),
        (("tcgen05.smem(B, k, 64B, s8, 128, 64)",), str(parse("tcgen05.smem(B, k, 64B, s8, 128, 64)")), "s8"),
        (("tcgen05.E(f16, m=64)",), "tcgen05.E(f16, m=64)", None),
        (("(8,4):(4,1)",), str(parse("(8,4):(4,1)")), None),
    ],
)
def test_the_page_keeps_a_call_that_it_knows(tilewise, words, shown, dtype):
    """As `tilewise explore` does, in its address and in its title."""
    page = tilewise("show", *words, "--html", "-").out
    (state,) = re.findall('data-state="([^"]*)"', page)
    (title,) = re.findall("<title>([^<]*)</title>", page)
    assert html.unescape(state) == fragment(shown, dtype)
    assert html.unescape(title) == shown
    if "N=8" not in words and ":" not in words[0]:
        opened = tilewise("explore", *words, "--json").json["url"]
        assert opened.partition("#")[2] == html.unescape(state)[1:]


def test_two_layouts_of_a_page_are_a_call_and_a_layout(tilewise):
    page = tilewise("show", "wgmma.D(f32, n=8)", "--with", "S[(64, 8)]", "--html", "-").out
    assert "#1&amp;e=wgmma.D(f32,~n=8)&amp;e2=S[(64,~8)~:~(8,~1)]" in page


def test_a_call_from_standard_input_is_kept_too(tilewise):
    page = tilewise("show", "-", "--html", "-", stdin="wgmma.D(f32, n=8)").out
    assert "<title>wgmma.D(f32, n=8)</title>" in page


def test_what_blackwell_is_told(tilewise):
    words = ("--dtype", "bf16", "--access", "descriptor.A:tcgen05:m64", "--step", "1")
    out = tilewise("show", TILE, *words, "--ascii").out
    assert "\ntcgen05.mma 2 of " in out
    assert "shared-memory descriptor 0x4000404000010002" in out
    assert "&amp;a=descriptor.A:tcgen05:m64&amp;c=1" in tilewise("show", TILE, *words, "--html", "-").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--svg", "x.svg", "--access", "boxes"), "TW401", "such as --dtype bf16"),
        (
            ("--svg", "x.svg", "--access", "descriptor.C", "--dtype", "bf16"),
            "TW601",
            "descriptor.A and descriptor.B are wgmma's",
        ),
        (
            ("--svg", "x.svg", "--access", "descriptor.A", "--dtype", "f32", "--step", "0"),
            "TW201",
            "does not mu",
        ),
        (
            ("--html", "x.html", "--access", "ldmatrix.x1.b16", "--dtype", "bf16"),
            "TW401",
            "--svg and --png draw it",
        ),
        (("--theme", "dark"), "TW401", "--theme is of a picture in a file"),
        (("--html", "x.html", "--panel", "memory"), "TW401", "the page has all panels"),
        (("--svg", "x.svg", "--panel", "mesh"), "TW401", "--panel mesh: this layout has no such panel"),
        (("--svg", "x.svg", "--ascii"), "TW401", "--ascii is of the picture in a terminal"),
        (("--svg", "-", "--html", "-"), "TW401", "one picture goes to standard output"),
        (("--svg", "no/such/folder/x.svg"), "TW402", "cannot be written: No such file"),
        (("--svg", "x.svg", "--step", "0"), "TW201", "there is no step 0"),
        (("--svg", "x.svg", "--shape", "512,1024"), "TW202", "has 524288 elements"),
        (("--html", "x.html", "--let", "a=8", "--shape", "b,8"), "TW007", "give it one: --let b=64"),
        (
            ("--html", "x.html", "--with", SMALL, "--with", SMALL),
            "TW401",
            "page shows two layouts, not 3",
        ),
        (("--svg", "x.svg", "--access", "col:16B"), "TW401", "the type of an element is not given"),
        (("--png", "x.png", "--theme", "blue"), "TW401", "invalid choice"),
    ],
)
def test_what_is_refused(tilewise, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    run = tilewise("show", SMALL, *words)
    assert run.code in (1, 2)
    assert code in run.err
    assert message in run.err
    assert not list(tmp_path.iterdir())


def test_a_picture_of_some_panels(tilewise):
    out = tilewise("show", SMALL, "--panel", "memory", "--svg", "-").out
    assert "memory, 8 elements a row" in out
    assert ">index<" not in out
    assert ">index<" in tilewise("show", SMALL, "--svg", "-").out


def test_too_large_a_picture_names_the_option_that_helps(tilewise):
    run = tilewise("show", "S[(512, 1024) : (1024, 1)]", "--svg", "-")
    assert run.code == 2
    assert "--window 0:64,0:64" in run.err
    part = tilewise("show", "S[(512, 512) : (512, 1)]", "--svg", "-", "--window", "0:64,0:64")
    assert "rows 0..63 of 512" in part.out


def test_no_pillow_and_no_file_is_written(tilewise, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    run = tilewise("show", SMALL, "--svg", str(tmp_path / "x.svg"), "--png", str(tmp_path / "x.png"))
    assert "pip install 'tilewise[png]'" in run.err
    assert not list(tmp_path.iterdir())
