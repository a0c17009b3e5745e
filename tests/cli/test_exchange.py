"""`plan` and `emit move` between layouts of registers."""

from __future__ import annotations

import pytest

ROWS = "S[(64, 2, 32) : (1@tid_in_wg, 64@tid_in_wg, 1@reg)]"
KEYS = {"class", "kernel", "vector", "swizzle", "bytes", "shuffles", "barriers", "cycles", "steps"}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("wgmma.D(f32, n=16)", "wgmma.A(f16)", "--dtype", "f16"), "view"),
        (("wgmma.D(f32, n=32)", "wgmma.A(e4m3)", "--dtype", "e4m3"), "shuffles"),
        (("wgmma.D(f32, n=64)", ROWS, "--dtype", "f16"), "shared"),
    ],
)
def test_plans(tilewise, words, kind):
    run = tilewise("plan", *words, "--json")
    assert run.code == 0
    assert run.json.keys() >= KEYS
    assert run.json["class"] == kind
    assert tilewise("plan", *words).out.startswith(f"{kind}: ")


def test_the_function(tilewise):
    run = tilewise(
        "emit", "move", "wgmma.D(f32, n=64)", ROWS, "--dtype", "f16", "--name", "to_rows", "--json"
    )
    assert run.code == 0
    assert "void to_rows(const unsigned (&from)[16], unsigned (&to)[16], void *shared)" in run.json["code"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("plan", "--dtype", "f16", "--fill", "1"), "TW401", "--fill is for moves of memory"),
        (("emit", "move", "--dtype", "f16", "--host"), "TW401", "--host is for kernels"),
        (("plan",), "TW401", "the type of an element"),
    ],
)
def test_what_is_not_understood(tilewise, words, code, said):
    command = words[: 2 if words[0] == "emit" else 1]
    run = tilewise(*command, "wgmma.D(f32, n=64)", ROWS, *words[len(command) :], "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)
    assert said in run.json["error"]["message"]


def test_no(tilewise):
    run = tilewise("plan", "S[32 : 1@laneid]", "S[32 : 0@laneid]", "--dtype", "f32", "--json")
    assert run.code == 1
    assert "two elements have one place" in run.json["reason"]
