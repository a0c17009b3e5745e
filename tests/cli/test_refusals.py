"""Bad words: what, why and what to do, exit code 2, and never a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from tilewise.core.errors import CODES
from tilewise.questions import SUMMARIES

FRAGMENT = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["att", FRAGMENT, "1"], "TW401", "did you mean at?"),
        (["at"], "TW401", "LAYOUT, INDEX"),
        (["at", FRAGMENT, "1", "--bogus"], "TW401", "--bogus"),
        (["--bogus"], "TW401", "--bogus"),
        (["at", FRAGMENT, "-1"], "TW201", "outside 0..63"),
        (["at", FRAGMENT, "-1,2,3"], "TW201", "index[0] -1"),
        (["at", FRAGMENT, "8,0,0"], "TW201", "outside 0..7"),
        (["at", FRAGMENT, "1,2"], "TW201", "2 numbers for a shape of 3 modes"),
        (["at", FRAGMENT, "x"], "TW007", "'x' has no value"),
        (["at", FRAGMENT, ""], "TW004", "found nothing"),
        (["at", FRAGMENT, "1", "--shape", "5,5"], "TW202", "25 elements"),
        (["at", FRAGMENT, "1", "--unit", "word"], "TW401", "invalid choice"),
        (["at", FRAGMENT, "1", "--dtype", "fp12"], "TW105", "unknown dtype"),
        (["at", FRAGMENT, "1", "--let", "M"], "TW401", "NAME=N"),
        (["at", "S[(8, 4) : (4)]", "1"], "TW003", "^"),
        (["at", '{"schema": 2}', "1"], "TW108", "schema 2"),
        (["at", '{"schema": 1', "1"], "TW108", "not a JSON document"),
        (["who", FRAGMENT], "TW401", "one question at a time"),
        (["who", FRAGMENT, "laneid=5", "--holes"], "TW401", "one question at a time"),
        (["who", FRAGMENT, "laneid=5,laneid=6"], "TW203", "twice"),
        (["who", FRAGMENT, "--byte", "3"], "TW401", "--dtype"),
        (["at", FRAGMENT, "1", "2"], "TW201", "an index of 2 numbers"),
        (["at", __file__, "1"], "TW002", "quotes"),
        (["at", "SWIZZLE_128B(bf16) o S[8 : 1]", "1", "--unit", "byte"], "TW106", "drop (bf16)"),
        (["at", "S[8 : 1@laneid]", "3", "--bytes", "--dtype", "f16"], "TW203", "no axis m"),
        (["who", "S[8 : 1@laneid]", "--byte", "3", "--dtype", "f16"], "TW203", "no axis m"),
        (["table", FRAGMENT, "--npy", "-"], "TW401", "places.npy"),
        (["who", FRAGMENT, "--byte", "zz", "--dtype", "u8"], "TW401", "no address"),
        (["who", FRAGMENT, "--byte", "8", "--base", "1", "--dtype", "f32"], "TW106", "no multiple"),
        (["who", FRAGMENT, "laneid=5", "--limit", "0"], "TW401", "asks for nothing"),
        (["who", "S[1048576 : 0]", "0"], "TW301", "limit"),
        (["table", FRAGMENT, "--window", "0:9,0:1,0:1"], "TW201", "9"),
        (["table", FRAGMENT, "--window", "0:1"], "TW201", "1"),
        (["table", FRAGMENT, "--npy", "/nonexistent/file"], "TW402", "No such file"),
        (["table", "S[4 : 9223372036854775808]"], "TW302", "64-bit"),
        (["same", "-", "-"], "TW401", "only one"),
        (["show", FRAGMENT, "--window", "0:99"], "TW201", "rows 0:99"),
        (["show", FRAGMENT, "--window", "0:1,0:1,0:1"], "TW201", "rows and columns"),
        (["say", FRAGMENT, "--as", "halide"], "TW401", "no notation"),
        (["completion", "tcsh"], "TW401", "invalid choice"),
    ],
)
def test_a_refusal_says_what_why_and_what_to_do(tilewise, words, code, said):
    text = tilewise(*words)
    assert (text.code, text.out) == (2, "")
    assert text.err.startswith(f"tilewise: {code}: ")
    assert said in text.err
    document = tilewise(*words, "--json")
    assert (document.code, document.err) == (2, "")
    error = document.json["error"]
    assert error["code"] == code
    assert code in CODES
    assert set(error) == {"code", "message", "span", "hint"}


def test_a_span_points_into_the_text(tilewise):
    source = "S[(8, 4) : (4, x)]"
    error = tilewise("at", source, "0", "--json").json["error"]
    assert source[slice(*error["span"])] == "x"


@pytest.mark.parametrize(
    "words", [("info", "S[8]"), ("at", "(4,8):(1,4)", "0"), ("info", "wgmma.D(f32,n=8)")]
)
def test_a_text_that_parses_is_read_whatever_files_there_are(tilewise, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    there = tilewise(*words)
    (tmp_path / words[1]).touch()
    assert tilewise(*words) == there
    assert there.code == 0


@pytest.mark.parametrize("name", ["layout", "layout.txt", "wgmma.E", "tile(2)", "x y", "8", "S[8"])
def test_a_file_that_does_not_parse_as_text_is_read(tilewise, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("S[(8, 4) : (1, 8)]\n")
    assert tilewise("at", name, "3,1").out == tilewise("at", "S[(8, 4) : (1, 8)]", "3,1").out
    (tmp_path / name).write_text("S[8 : 1")
    error = tilewise("info", name, "--json").json["error"]
    assert (error["code"], error["message"]) == ("TW004", f"{name}: '[' is never closed")
    (tmp_path / name).write_bytes(b"\xff")
    assert tilewise("info", name, "--json").json["error"]["code"] == "TW402"


@pytest.mark.parametrize(
    "words", [("show", "S[8]", "--svg", "a\0"), ("table", "S[8]", "--npy", "a\0"), ("\0",)]
)
def test_a_word_with_a_nul_is_refused(tilewise, words):
    assert tilewise(*words, "--json").json["error"]["code"] == "TW401"


def test_standard_input_that_is_no_text(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "tilewise", "at", "-", "0"],
        input=b"\xff\xfe",
        capture_output=True,
        check=False,
    )
    assert run.returncode == 2
    assert b"TW402" in run.stderr


def test_no_words_whatever_bring_a_traceback(tilewise, times):
    """Random words from the vocabulary of the command line: an exit code, and nothing else."""
    rng = random.Random(2)
    vocabulary = [
        *SUMMARIES,
        *(
            FRAGMENT,
            "(8,4):(4,1)",
            "S[8 : 1] + R[2 : 1@x]",
            "Swizzle<3,0,3> o S[64 : 1]",
            "S[()]",
            "S[M : 1]",
        ),
        *"-1 0 5,3,1 laneid=5 m=3 8,8 0:2 : bf16 0x10 byte 3 M=4 cute json bash buf {} [] -- é".split(),
        *"--json --shape --window --dtype --byte --unit --limit --let --ascii --as --storage".split(),
        *("--no-pause", "--dialect", "\x00"),
    ]
    codes = set()
    for _ in range(times(600)):
        words = [rng.choice([*SUMMARIES]), *rng.choices(vocabulary, k=rng.randrange(6))]
        run = tilewise(*words, stdin="")
        assert run.code in (0, 1, 2, 3), words
        assert "Traceback" not in run.err
        codes.add(run.code)
    assert codes >= {0, 2}


@pytest.mark.parametrize(
    ("package", "words"),
    [("numpy", ["table", "S[4 : 1]"]), ("rich", ["show", "S[(4, 4) : (4, 1)]"])],
)
def test_a_package_that_is_missing_is_named(package, words):
    without = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from tilewise.cli.main import main; sys.exit(main({words}))"
    )
    coloured = {**os.environ, "FORCE_COLOR": "1"}
    run = subprocess.run(
        [sys.executable, "-c", without], capture_output=True, text=True, check=False, env=coloured
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"tilewise: TW403: this answer needs the package {package}")


def test_a_module_of_our_own_that_is_missing_is_a_fault(tilewise, monkeypatch):
    monkeypatch.setitem(sys.modules, "tilewise.questions.at", None)
    with pytest.raises(ModuleNotFoundError):
        tilewise("at", FRAGMENT, "1,2,1")
