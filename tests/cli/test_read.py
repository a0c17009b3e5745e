"""`tilewise read`: what it prints, what it refuses, how it ends; the texts are recorded, and no tool runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.compiled.sass_texts import text_of
from tests.compiled.test_slow import CAUSES, HERE, texts

import tilewise as tw
from tilewise.core.errors import LayoutError
from tilewise.testing import assert_reads

LAUNCH = ("--grid", "4,4", "--block", "16,16", "--args", ",,64,64")
CLEAN = text_of("S2R R0, SR_TID.X", "SHF.L.U32 R0, R0, 0x2, RZ", "LDS R1, [R0]", "STS [R0+0x80], R1", "EXIT")


@pytest.fixture
def at(tmp_path: Path):
    """A function that writes one of the recorded texts, with its source beside it, and returns its path."""

    def written(name: str) -> str:
        path = tmp_path / name
        path.write_text(texts()[name])
        for source in HERE.glob(f"{path.stem}.*"):
            (tmp_path / source.name).write_text(source.read_text())
        return str(path)

    return written


@pytest.fixture
def transpose(at) -> str:
    return at("transpose_unused_pad.sass")


# -- answers ---------------------------------------------------------------------------------------------


def test_the_screen_of_a_kernel(tilewise, transpose, monkeypatch):
    monkeypatch.setenv("COLUMNS", "96")
    run = tilewise("read", transpose, *LAUNCH)
    assert run.code == 0
    assert run.out.splitlines() == [
        "transpose_unused_pad  machine code, sm_90; grid 4,4, block 16,16",
        "",
        "                  instructions  requests   cost              ideal",
        "    shared load            128       128  1,024  wavefronts    128  8.0x",
        "    shared store           128       128    128  wavefronts    128",
        "    global load            128       128    512  sectors       512",
        "    global store           128       128    512  sectors       512",
        "",
        "  1. conflicts  transpose_unused_pad.cu:12  float value = tile[threadIdx.x * kSide + threadId...",
        "     A load of 4 bytes a lane takes 8 wavefronts where 1 would do: most neighbouring lanes, 64",
        "     bytes apart, meet in the same banks",
        "     cost    1,024 wavefronts where 128 would do, in 128 requests",
        "     repair  pad the buffer by 8 bytes after every 64: the request takes 1 wavefront. Or swizzle",
        "             it: tilewise swizzle says how",
        run.out.splitlines()[14],
        "     open    tilewise explore 'S[(2, 16) : (1, 16)]' --dtype b32",
        "",
        "  2. narrow  transpose_unused_pad.cu:8  tile[threadIdx.y * kSide + threadIdx.x] = in[row * co...",
        "     A store of 4 bytes a lane, where 16 are possible",
        "     cost    128 requests where 32 would do",
        "     repair  give each lane 4 neighbouring elements, aligned to 16 bytes, and move them as one",
        "             vector",
        "     open    tilewise explore 'S[32 : 1]' --dtype b32",
        "",
        "  accesses by line of transpose_unused_pad.cu",
        "    line                a lane  requests   cost  ideal",
        "       8  global load      4 B       128    512    512        tile[threadIdx.y * kSide + thre...",
        "          shared store     4 B       128    128    128",
        "      12  shared load      4 B       128  1,024    128  8.0x  float value = tile[threadIdx.x ...",
        "      13  global store     4 B       128    512    512        out[outRow * rows + outColumn] ...",
    ]
    assert run.out.splitlines()[14].startswith("     see     tilewise banks --op ld --bytes 4 --addresses ")


@pytest.mark.parametrize("columns", [48, 56, 72, 96, 120])
def test_lines_fit_a_terminal_but_those_that_are_copied(tilewise, transpose, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = tilewise("read", transpose, *LAUNCH).out.splitlines()
    assert max(len(line) for line in lines[1:] if not line.startswith(("     see", "     open"))) <= columns
    assert len(lines) < 50


def test_colours_where_they_are_wanted(tilewise, transpose, monkeypatch):
    plain = tilewise("read", transpose).out
    assert "\x1b" not in plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = tilewise("read", transpose).out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == plain.split()


def test_json_is_the_report(tilewise, transpose):
    data = tilewise("read", transpose, *LAUNCH, "--json").json
    (kernel,) = data["kernels"]
    assert kernel["totals"]["shared"]["load"]["wavefronts"] == 1024
    assert [one["kind"] for one in kernel["findings"]] == ["conflicts", "narrow"]
    assert kernel["findings"][0]["line"] == {"file": "transpose_unused_pad.cu", "number": 12}
    assert set(kernel["findings"][0]) == {"kind", "line", "cause", "cost", "repair", "command", "explore"}
    python = tw.read(Path(transpose), grid=(4, 4), block=(16, 16), args=[None, None, 64, 64])
    assert json.loads(json.dumps(python.data())) == {"schema": 1, **data}


def test_help_names_every_option(tilewise):
    run = tilewise("read", "--help")
    assert run.code == 0
    for option in ("kernel", "grid", "block", "args", "let", "shared", "arch", "against", "fail-on", "html"):
        assert f"--{option}" in run.out


def test_ttgir_adds_layouts_and_conversions(tilewise, at):
    run = tilewise("read", at("byte_matvec.sass"), at("byte_matvec.ttgir"), "--let", "columns=512")
    assert run.code == 0
    assert "  1. conversion  byte_matvec.py:23" in run.out
    assert re.search(
        r"^    byte_matvec\.py:23 +warps +32,768 B +#blocked1 -> #blocked$", run.out, re.MULTILINE
    )
    named = [line.split()[0] for line in run.out.partition("  layouts")[2].splitlines() if "S[" in line]
    assert named == ["#blocked", "#blocked1"]


def test_a_kernel_without_findings(tilewise):
    run = tilewise("read", "-", "--block", "32", stdin=CLEAN.replace("LDS R1", "LDS.128 R4"))
    assert run.code == 0
    assert "narrow" in run.out  # the store of 4 bytes
    clean = text_of("S2R R0, SR_TID.X", "LEA R0, R0, RZ, 0x4", "LDS.128 R4, [R0]", "EXIT")
    assert "  no findings" in tilewise("read", "-", "--block", "32", stdin=clean).out


def test_several_files_and_one_kernel_of_them(tilewise, at):
    files = [at("fft_exchange.sass"), at("column_threads.sass")]
    assert [one["name"] for one in tilewise("read", *files, "--json").json["kernels"]] == [
        "fft_exchange",
        "column_threads",
    ]
    one = tilewise("read", *files, "--kernel", "fft", "--json").json["kernels"]
    assert [kernel["name"] for kernel in one] == ["fft_exchange"]


def test_a_folder_and_what_is_left_out(tilewise, at, tmp_path):
    at("transpose_unused_pad.sass")
    run = tilewise("read", str(tmp_path))
    assert "note: arguments 2, 3 are not given" in run.out
    assert "left out of the sums" in run.out
    assert "4 LDG.E at transpose_unused_pad.cu:8" in run.out


def test_two_versions(tilewise, at):
    new, old = at("fft_exchange.sass"), at("column_threads.sass")
    same = tilewise("read", new, "--against", new)
    assert same.out.splitlines()[0] == "nothing that is counted has changed"
    run = tilewise("read", new, "--against", old, "--json")
    verdicts = {row["what"]: row["verdict"] for row in run.json["against"]}
    assert verdicts["shared load wavefronts"] == "worse"
    assert verdicts["shared store requests"] == "better"
    assert verdicts["shared store wavefronts"] == "same"


def test_some_kinds_of_findings_are_a_no(tilewise, transpose):
    run = tilewise("read", transpose, *LAUNCH, "--fail-on", "conflicts,local")
    assert run.code == 1
    assert run.out.splitlines()[-1] == "no: 1 finding that --fail-on names: conflicts"
    assert tilewise("read", transpose, *LAUNCH, "--fail-on", "local").code == 0
    every = tilewise("read", transpose, *LAUNCH, "--fail-on", "any", "--json")
    assert every.code == 1
    assert every.json["reason"] == "2 findings that --fail-on names: conflicts, narrow"


COMMANDS = ("conflicts", "uncoalesced")


@pytest.mark.parametrize("name", sorted(name for name in texts() if name.endswith(".sass")))
def test_the_command_of_a_finding_counts_the_worst_request(tilewise, at, name):
    launch = next(case["launch"] for case in CAUSES if f"{case['name']}.sass" == name)
    block = ",".join(map(str, launch["block"]))
    (kernel,) = tilewise("read", at(name), "--block", block, "--json").json["kernels"]
    for finding in kernel["findings"]:
        if finding["kind"] not in COMMANDS or not finding["command"]:
            continue
        rows = [row for row in kernel["accesses"] if row["line"] == finding["line"] and row["worst"]]
        program, *words = shlex.split(finding["command"])
        assert program == "tilewise"
        counted = tilewise(*words, "--json").json
        request = counted["accesses"][0] if "accesses" in counted else counted
        name_of_cost = "wavefronts" if finding["kind"] == "conflicts" else "sectors"
        found = (request[name_of_cost], request["ideal"])
        assert found in [(row["worst"].get(name_of_cost), row["worst"]["ideal"]) for row in rows]


# -- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("{}", "--grid", "a"), "TW801", "--grid a is not one to three numbers"),
        (("{}", "--block", "1,2,3,4"), "TW801", "--block 1,2,3,4 is not one to three numbers"),
        (("{}", "--block", "2048"), "TW801", "the block 2048,1,1 has 2048 threads"),
        (("{}", "--grid", "0"), "TW801", "the grid 0,1,1 has no threads"),
        (("{}", "--args", "one"), "TW801", "--args one are not all integers"),
        (("{}", "--args", "1,2,3,4,5"), "TW801", "takes 4 arguments, and 5 are given"),
        (("{}", "--let", "M"), "TW801", "--let M gives no number to a name"),
        (("{}", "--let", "M=3"), "TW801", "has no argument M"),
        (("{}", "--kernel", "other"), "TW802", "no kernel is called other"),
        (("nowhere.cubin",), "TW804", "nowhere.cubin cannot be read: No such file or directory"),
        (("{}", "--against", "nowhere.cubin"), "TW804", "nowhere.cubin cannot be read"),
        (("{}", "--fail-on", "slow"), "TW401", "--fail-on slow is no kind of finding"),
        (("{}", "--html", "no/such/page.html"), "TW402", "no/such/page.html cannot be written"),
    ],
)
def test_what_is_refused(tilewise, transpose, words, code, says):
    run = tilewise("read", *(word.replace("{}", transpose) for word in words))
    assert run.code == 2
    assert run.err.startswith(f"tilewise: {code}: ")
    assert says in run.err
    assert run.out == ""


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (b"garbage", "TW804", "is no kernel that is read here"),
        (b"", "TW804", "is no kernel that is read here"),
        (b"\x00\xff" * 99, "TW804", "is no kernel that is read here"),
        (b"\x50\xed\x55\xba" + bytes(60), "TW804", "is a fat binary"),
        (b".version 8.0\n.target sm_90\n.address_size 64\n", "TW802", "no kernel"),
    ],
)
def test_files_that_are_no_kernel(tilewise, tmp_path, content, code, says):
    path = tmp_path / "file.bin"
    path.write_bytes(content)
    run = tilewise("read", str(path), "--json")
    assert run.code == 2
    assert run.json["error"]["code"] == code
    assert says in run.json["error"]["message"]


def test_a_folder_without_kernels(tilewise, tmp_path):
    (tmp_path / "readme.txt").write_text("nothing")
    run = tilewise("read", str(tmp_path))
    assert run.code == 2
    assert "TW804: there is nothing to read" in run.err


def test_a_cubin_without_its_tool(tilewise, tmp_path, monkeypatch):
    monkeypatch.setattr("tilewise.compiled.files.found", lambda tool: None)
    path = tmp_path / "kernel.cubin"
    path.write_bytes(b"\x7fELF" + bytes(60))
    run = tilewise("read", str(path))
    assert run.code == 2
    assert "TW805: nvdisasm, which reads machine code, is not on this machine" in run.err
    assert "pip install 'tilewise[sass]'" in run.err


# -- from Python -----------------------------------------------------------------------------------------


def test_what_python_gives(tmp_path):
    text = texts()["fft_exchange.sass"]
    ttgir, sass = texts()["byte_matvec.ttgir"], texts()["byte_matvec.sass"]
    of_text = tw.read(text).data()
    assert tw.read(text.encode()).data() == of_text
    assert tw.read({"sass": text}).data() == of_text
    assert tw.read([text]).data() == of_text
    compiled = SimpleNamespace(asm={"ttgir": ttgir, "sass": sass})
    (kernel,) = tw.read(compiled, let={"columns": 512}).kernels
    assert kernel["source"] == "machine code"
    assert kernel["conversions"]
    with pytest.raises(LayoutError, match="3 is no kernel"):
        tw.read(3)


def test_a_report_in_python():
    report = tw.read(texts()["transpose_unused_pad.sass"], grid=(4, 4), block=16, fail_on=["conflicts"])
    assert not report
    assert str(report).splitlines()[-1] == "no: 1 finding that fail_on= names: conflicts"
    assert report.kernels[0]["launch"] == {"grid": (4, 4, 1), "block": (16, 1, 1), "shared": 0}


def test_completion_knows_it(tilewise):
    script = tilewise("completion", "bash").out
    assert "read" in script
    assert "--fail-on" in script


# -- claims for tests ------------------------------------------------------------------------------------


def test_a_claim_that_holds_gives_the_report():
    text = texts()["transpose_unused_pad.sass"]
    assert assert_reads(text, no="local", block=(16, 16), args=",,64,64").kernels[0]["totals"]


def test_a_claim_that_fails_shows_the_findings():
    text = texts()["transpose_unused_pad.sass"]
    with pytest.raises(AssertionError) as caught:
        assert_reads(text, block=(16, 16), args=[None, None, 64, 64])
    lines = str(caught.value).splitlines()
    assert lines[0] == "transpose_unused_pad has conflicts"
    assert lines[1].startswith("  transpose_unused_pad.cu:12: a load of 4 bytes a lane takes 8 wavefronts")
    assert lines[2] == "    64 wavefronts where 8 would do, in 8 requests"
    assert lines[3].startswith("    repair: ")
    assert lines[4].startswith("    tilewise banks ")
    assert len(lines) == 5


def test_a_claim_of_nothing_that_could_be_counted_does_not_pass():
    blind = text_of("MOV R1, c[0x0][0x210]", "LDS R2, [R1]", "EXIT")
    with pytest.raises(tw.NotDecided, match="no access of kernel could be counted"):
        assert_reads(blind, block=32)
    with pytest.raises(LayoutError, match="no kind of finding"):
        assert_reads(blind, no="slow")
