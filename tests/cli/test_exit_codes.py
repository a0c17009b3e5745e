"""The exit code is the answer's, also where the reader has closed the pipe."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tilewise.cli.main import main
from tilewise.questions import SUMMARIES

FULL = Path("/dev/full")

KERNEL = Path(__file__).parents[2] / "docs/read/transpose.sass"

NO = {
    "who": "who|S[8 : 2]|m=3",
    "same": "same|S[8 : 1]|S[8 : 2]",
    "relation": "relation|S[(2, 3) : (1, 10)]|S[6 : 1]|--reshape|3,2|--permute|1,0",
    "algebra": "algebra|injective|S[8 : 0]",
    "say": "say|mma.D(m16n8k16, f32)|--as|cute",
    "code": "code|S[(2, 2) : (0, 1)]|--inverse",
    "catalog": "catalog|mma.D(m16n8k16, f32)|--who|laneid=32",
    "suggest": "suggest|--engine|tcgen05|--operand|B|--tile|128x768|--dtype|e2m1|--k|96",
    "match": "match|S[(128, 64) : (64, 1)]|--operand|A|--dtype|bf16",
    "descriptor": "descriptor|decode|0x6000404000010000",
    "idesc": "idesc|decode|0",
    "tma": "tma|check|--dtype|bf16|--dims|64,100|--strides|128|--box|64,8|--at|0,-4|--store",
    "tmem": "tmem|tcgen05.D(f32, m=64, n=64)|--to|S[((4, 8, 2), (4, 16)) : "
    "((1@wid_in_wg, 1@laneid, 1@reg), (8@laneid, 2@reg))]",
    "shuffle": "shuffle|S[(32, 2) : (1@laneid, 1@reg)]|S[(32, 2) : (1@laneid, 1@warpid)]|--dtype|f16",
    "agree": "agree|S[(64, 64) : (64, 1)]|S[(64, 64) : (1, 64)]|--dtype|bf16",
    "emit": "emit|wgmma|--tile|64x100x64|--dtype|bf16",
    "verify": "verify",
    "banks": "banks|S[(64, 64) : (65, 1)]|--dtype|f16|--access|row:16B",
    "read": f"read|{KERNEL}|--block|32,8|--fail-on|conflicts",
    "coalesce": "coalesce|S[(8, 8) : (9, 1)]|--dtype|bf16|--access|row:16B",
    "vector": "vector|S[(8, 8) : (9, 1)]|--dtype|bf16|--access|row:16B",
    "plan": "plan|S[4, 2]|S[(4, 2) : (1, 1)]|--dtype|u8",
    "swizzle": "swizzle|128x64|--dtype|bf16|--access|row:16B@st|--access|col:2B|--ideal",
}
"""One question of every command whose answer can be no, and its words."""

NEVER_NO = {"at", "table", "info", "explain", "show", "explore", "tour", "completion", "mcp"}

OTHERS = (
    ("match|S[(128, 63) : (63, 1)]|--engine|mma|--operand|A|--shape|m16n8k16|--dtype|bf16|--code", 1),
    ("emit|move|S[4, 2]|S[(4, 2) : (1, 1)]|--dtype|u8", 1),
    ("at|S[8 : 1]|9", 2),
    ("at|S[8 : 1]", 2),
    ("same|S[8 : 1]", 2),
    (
        "same|Swizzle<1,0,5> o Swizzle<1,0,5> o Swizzle<1,0,2> o S[(1048577, 3) : (24, 8)] + "
        "R[(3, 3) : (1, 3)]|S[(1048577, 3) : (24, 8)] + R[(3, 3) : (1, 3)]",
        3,
    ),
    ("at|S[8 : 1]|3", 0),
    ("same|S[8 : 1]|S[8 : 1]", 0),
    ("banks|S[(8, 8) : (8, 1)]|--dtype|bf16|--access|row:16B|--phases", 0),
    ("explain|S[(8, 8) : (8, 1)]|--width|20", 2),
    ("table|S[(64, 64) : (64, 1)]", 0),
    ("catalog|mma.D(m16n8k16, f32)|--show", 0),
    ("show|S[(8, 8) : (8, 1)]", 0),
    ("show|S[(8, 8) : (8, 1)]|--svg|-", 0),
    ("tour", 0),
    ("--help", 0),
    ("at|--help", 0),
    ("--version", 0),
)
"""Questions with other answers, among them those that print as they go; and their exit codes."""

ASKED = [*((words, 1) for words in NO.values()), *OTHERS]


class Closed(io.StringIO):
    """A stream whose reader has gone: it fails as it is written to, or only as it is flushed."""

    def __init__(self, buffered: bool) -> None:
        super().__init__()
        self.buffered = buffered

    def write(self, text: str) -> int:
        """Refuse the text, unless there is a buffer."""
        if not self.buffered:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)

    def flush(self) -> None:
        """Refuse what the buffer holds."""
        if self.getvalue():
            raise BrokenPipeError(32, "Broken pipe")


def ended(words: list[str]) -> int | str | None:
    try:
        return main(words)
    except SystemExit as stop:  # argparse ends --help and --version so
        return stop.code


def test_every_command_can_say_no_or_never_does():
    assert NO.keys() | NEVER_NO == SUMMARIES.keys()
    assert not NO.keys() & NEVER_NO


@pytest.mark.parametrize(("words", "code"), ASKED, ids=[words[:40] for words, _ in ASKED])
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_exit_code_with_closed_pipes_is_the_answers(toys, monkeypatch, words, code, as_json):
    asked = [*words.split("|"), *["--json"] * as_json]
    if as_json and words.endswith("--svg|-"):
        code = 2
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert ended(asked) == code, "the words of this case are another question"
    for out in (True, False):
        for err in (True, False):
            monkeypatch.setattr("sys.stdout", Closed(buffered=out))
            monkeypatch.setattr("sys.stderr", Closed(buffered=err))
            assert ended(asked) == code, (out, err)


def test_note_with_a_closed_standard_output_is_printed(monkeypatch):
    monkeypatch.setattr("sys.stdout", Closed(buffered=True))
    monkeypatch.setattr("sys.stderr", io.StringIO())
    words = ["emit", "mma", "--tile", "64x64x32", "--dtype", "f16", "--layout-a", "S[(64, 32) : (33, 1)]"]
    assert main(words) == 0
    assert sys.stderr.getvalue().startswith("note: A by ld.shared.b16")  # type: ignore[attr-defined]


def test_explore_with_a_closed_pipe_serves(monkeypatch, opened):
    monkeypatch.setattr("sys.stdout", Closed(buffered=True))
    assert main(["explore", "--port", "0", "--open"]) == 0
    assert len(opened) == 1


# -- processes -------------------------------------------------------------------------------------


def process(words: str, **streams: object) -> subprocess.CompletedProcess[str]:
    """A process of its own, with the buffers that it has by itself."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    asked = [sys.executable, "-m", "tilewise", *words.split("|")]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment |= {"FORCE_COLOR": "1"}
    return subprocess.run(asked, text=True, check=False, env=environment, timeout=60, **streams)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (NO["same"], 1),
        ("same|S[8 : 1]|S[8 : 1]", 0),
        ("same|S[8 : 1]|--json", 2),
        ("show|S[(8, 8) : (8, 1)]", 0),
        ("table|S[(256, 256) : (256, 1)]", 0),
        ("show|S[(8, 8) : (8, 1)]|--svg|-", 0),
        ("--help", 0),
    ],
)
def test_process_with_a_closed_pipe_has_the_answers_code(words, code):
    read, write = os.pipe()
    os.close(read)
    try:
        done = process(words, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (code, "")


def test_process_in_a_pipeline_has_the_answers_code():
    """The reader ends before, while or after the answer is written."""
    script = 'for wait in 0 0.1 0.2 0.3; do "$@" | sleep $wait; echo ${PIPESTATUS[0]}; done'
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = [sys.executable, "-m", "tilewise", *NO["same"].split("|")]
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.stdout.split(), done.stderr) == (["1"] * 4, "")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full on this machine")
@pytest.mark.parametrize(
    "words", [NO["same"], "at|S[8 : 1]|3|--json", "--help", "table|S[(64, 64) : (64, 1)]"]
)
def test_answer_on_a_full_disk_is_an_error(words):
    with FULL.open("w") as full:
        done = process(words, stdout=full)
        assert done.returncode == 2
        assert done.stderr == "tilewise: TW402: the answer cannot be written: No space left on device\n"
        assert process(words, stdout=full, stderr=full).returncode == 2


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full on this machine")
@pytest.mark.parametrize(("words", "code"), [("at|S[8 : 1]|9", 2), ("at|S[8 : 1]", 2)])
def test_error_that_cannot_be_written_stays_an_error(words, code):
    with FULL.open("w") as full:
        assert process(words, stderr=full).returncode == code


def test_input_that_cannot_be_read_is_an_error(monkeypatch, tilewise):
    class Unreadable(io.StringIO):
        def read(self, _size: int | None = -1) -> str:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stdin", Unreadable())
    error = json.loads(tilewise("at", "-", "3", "--json").out)["error"]
    assert (error["code"], error["message"]) == ("TW402", "standard input cannot be read: Input/output error")


def test_a_command_that_is_interrupted_ends_as_by_the_signal(tilewise, monkeypatch: pytest.MonkeyPatch):
    """128 and the number of SIGINT, as shells say it; no traceback."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewise.cli.main._answer", interrupted)
    run = tilewise("at", "S[8 : 1]", "3")
    assert (run.code, run.out, run.err) == (128 + signal.SIGINT, "", "")
