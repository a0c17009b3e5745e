"""Questions that would take forever, or all memory, get an answer or a refusal at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

BIG = 10**998
LIMIT = 2 << 30
FULL = Path("/dev/full")


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The command in 2 GiB of address space and 20 seconds."""
    return subprocess.run(
        [sys.executable, "-m", "tilewise", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["info", "S[1125899906842624 : 1@x + 1@y]"], 0, "such as 0@x + 1@y"),
        (["info", "Swizzle<3,4,-10> o S[(256, 256) : (256, 1)]"], 0, "0 .. 131071"),
        (["info", f"S[(2,2,2,2,2,2) : ({', '.join(f'{BIG}@a{i}' for i in range(6))})]"], 0, "about 2^"),
        (["who", "S[4 : 1] + R[1000000000 : 0]", "0"], 0, "0 at 0@m"),
        (["who", "S[4 : 1] + R[(1048576, 1048576) : (1, -1)]", "0"], 0, "3 at 0@m"),
        (["who", "S[(2, 2) : (100000000, 1)]", "--holes", "--limit", "1"], 2, "TW301"),
        (
            ["who", "S[(1000, 1000) : (10000, 1)]", "--holes", "--limit", "1"],
            0,
            "1000@m\n... and more",
        ),
        (["who", "S[(2, 100000) : (1, 0)]", "--shared", "--limit", "1"], 0, "(0, 63), ...\n... and more"),
        (["table", "S[(65536, 65536) : (65536, 1)]", "--window", "0:65536,0:6000"], 2, "TW301"),
        (["table", "S[4 : 1] + R[1048576 : 4]"], 2, "TW301"),
        (["show", "S[(64, 64) : (64, 1)] + R[65536 : 1@gpuid_x]", "--window", "0:2,0:2"], 0, "0|1|2|3|..:65"),
        (["at", "S[4 : 1] + R[65537 : 4]", "0"], 2, "TW301"),
    ],
)
def test_large_questions_are_bounded(words, code, said):
    done = run(*words)
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr


def test_a_document_nested_without_end_is_refused():
    document = '{"schema": 1, "strides": [{"m": 1}], "shape": ' + "[" * 900 + "8" + "]" * 900 + "}"
    done = run("at", "-", "0", input=document)
    assert (done.returncode, done.stderr[:15]) == (2, "tilewise: TW005")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full on this machine")
def test_an_answer_that_cannot_be_written():
    with FULL.open("w") as full:
        words = [sys.executable, "-m", "tilewise", "at", "S[8 : 1]", "3"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr[:15]) == (2, "tilewise: TW402")


@pytest.mark.parametrize(("words", "code"), [("at 'S[8 : 1]' 3 >&-", 0), ("at - 3 <&-", 2)])
def test_closed_streams(words, code):
    done = subprocess.run(
        f"exec {sys.executable} -m tilewise {words}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
