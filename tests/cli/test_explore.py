"""`tilewise explore`: the address it prints, the end by a signal, a port that is taken."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import pytest

SWIZZLED = "Swizzle<3,0,3> o S[(8, 8) : (8, 1)]"


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which no failure of a test leaves behind."""
    with subprocess.Popen(
        [sys.executable, "-m", "tilewise", "explore", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        preexec_fn=heeding_interrupts,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heeding_interrupts() -> None:
    """A shell starts what runs in the background without them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_it_serves_until_it_is_ended_and_ends_in_one_line(ending):
    with started(SWIZZLED, "--dtype", "bf16", "--port", "0") as process:
        assert process.stdout is not None
        head = process.stdout.readline(), process.stdout.readline()
        url = head[0].removeprefix("the explorer: ").strip()
        assert url.endswith("/#1&e=Swizzle{3,0,3}~o~S[(8,~8)~:~(8,~1)]&d=bf16")
        assert head[1] == "Ctrl-C ends it\n"
        with urlopen(url.partition("#")[0] + "explorer.js") as answer:
            assert answer.status == 200
        process.send_signal(ending)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "\nthe explorer has ended\n", "")


def test_json_says_the_address_at_the_start_and_nothing_after():
    with started("--port", "0", "--json") as process:
        assert process.stdout is not None
        data = json.loads(process.stdout.readline())
        with urlopen(data["url"] + "explorer.js") as answer:
            assert answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert data.keys() == {"schema", "url"}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", data["url"])
    assert (process.returncode, out, err) == (0, "", "")


def test_a_taken_port_is_refused_where_it_was_asked_for(tilewise):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = tilewise("explore", "--port", str(port), "--json")
    assert run.code == 2
    error = run.json["error"]
    assert error["code"] == "TW402"
    assert error["message"] == f"port {port} of 127.0.0.1 cannot be had: Address already in use"
    assert error["hint"] == "name another, or none: the first free one is taken"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dtype", "bf16"], "--dtype says how to read LAYOUT"),
        (["--let", "n=8"], "--let says how to read LAYOUT"),
        (["S[(8, 8) : (1@q, 1)]", "--storage", "q"], "no room for --storage"),
    ],
    ids=["dtype", "let", "storage"],
)
def test_what_no_address_can_say_is_refused(tilewise, words, why):
    run = tilewise("explore", *words)
    assert run.code == 2
    assert why in run.err


@pytest.mark.parametrize("port", ["65536", "-1", "http", "", "8e3", "9" * 5_000])
def test_what_is_no_port(tilewise, port):
    run = tilewise("explore", f"--port={port}")
    assert run.code == 2
    assert "is not a port" in run.err


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        (("S[(8,8):(8,1)]",), "S[(8,~8)~:~(8,~1)]"),
        (("(8,4):(4,1)",), "(8,4):(4,1)"),
        (("(8,4):(16,2)", "--unit", "byte", "--dtype", "bf16"), "(8,4):(8,1)&d=bf16"),
        (("wgmma.D(f32, n=64)",), "wgmma.D(f32,~n=64)"),
        (("wgmma.D(f32, n=64) + 1@wgid",), "wgmma.D(f32,~n=64)~+~1@wgid"),
        (("wgmma.A(tf32)", "--dtype", "f32"), "wgmma.A(tf32)&d=f32"),
        (("wgmma.A(tf32)", "--unit", "element"), "wgmma.A(tf32)"),
        (("S[M : 1]", "--let", "M=4"), "S[4~:~1]"),
    ],
    ids=["own", "CuTe's", "CuTe's bytes", "catalogue", "catalogue moved", "other type", "elements", "names"],
)
def test_what_is_shown_first(tilewise, words, expression):
    assert tilewise("explore", *words, "--json").json["url"].partition("#1&e=")[2] == expression


@pytest.mark.parametrize(
    ("words", "dtype"),
    [
        (("mma.A(m8n8k4, f16, product=1)",), "f16"),
        (("mma.A(m8n8k4, f16, product=1) + 1@warpid",), "f16"),
        (("mma.A(m8n8k4, f16, product=1)", "--dtype", "bf16"), "bf16"),
        (("wgmma.D(f32, n=N)", "--let", "N=64"), "f32"),
    ],
    ids=["alone", "moved", "other type", "names"],
)
def test_a_call_that_the_page_has_not_is_its_layout_with_its_type(tilewise, words, dtype):
    url = tilewise("explore", *words, "--json").json["url"]
    expression, _, said = url.partition("#1&e=")[2].partition("&")
    assert expression.startswith("S[")
    assert said == f"d={dtype}"


def test_a_type_that_is_none_of_elements_is_not_said(tilewise):
    assert "&d=" not in tilewise("explore", "mma.E(m16n8k32, f16, selector=1)", "--json").json["url"]


def test_what_the_page_could_not_read_is_refused_here(tilewise):
    assert tilewise("explore", "S[(8, 8) : (8, 1").code == 2
    run = tilewise("explore", "S[64 : 1]", "--unit", "byte", "--json")
    assert (run.code, run.json["error"]["code"]) == (2, "TW106")


def test_a_browser_is_opened_where_it_is_asked_for(tilewise, opened):
    tilewise("explore", "--port", "0")
    assert opened == []
    url = tilewise("explore", "S[4]", "--open", "--json").json["url"]
    assert opened == [url]
