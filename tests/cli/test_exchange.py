"""`plan` and `emit move` between layouts of registers."""

from __future__ import annotations

import pytest

ROWS = "S[(64, 2, 32) : (1@tid_in_wg, 64@tid_in_wg, 1@reg)]"
KEYS = {
    "class",
    "kernel",
    "vector",
    "swizzle",
    "shared_bytes",
    "rounds",
    "shuffles",
    "barriers",
    "cycles",
    "steps",
}


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
        (("plan", "--dtype", "f16", "--fill", "1"), "TW401", "leave out --fill"),
        (("plan", "--dtype", "f16", "--shape", "64,64"), "TW401", "leave out --shape"),
        (("plan", "--dtype", "f16", "--aligned", "16"), "TW401", "leave out --aligned"),
        (("plan", "--dtype", "f16", "--device", "a100"), "TW401", "--arch says which GPUs it is for"),
        (("plan", "--dtype", "f16", "--arch", "a100"), "TW601", "such as sm_80; "),
        (("plan", "--dtype", "f16", "--tune"), "TW401", "leave out --tune"),
        (("emit", "move", "--dtype", "f16", "--host"), "TW401", "leave out --host"),
        (("emit", "move", "--dtype", "f16", "--checked"), "TW401", "leave out --checked"),
        (("plan",), "TW401", "such as --dtype bf16"),
    ],
)
def test_what_is_not_understood(tilewise, words, code, said):
    command = words[: 2 if words[0] == "emit" else 1]
    run = tilewise(*command, "wgmma.D(f32, n=64)", ROWS, *words[len(command) :], "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)
    assert run.json["error"]["hint"].startswith(said)


def test_an_architecture(tilewise):
    asked = "wgmma.D(f32, n=64)", ROWS, "--dtype", "f16"
    for command in (("plan",), ("emit", "move")):
        usual, old = (tilewise(*command, *asked, *more) for more in ((), ("--arch", "sm_80")))
        assert "stmatrix" in usual.out
        assert "sm_90 and later" in usual.out
        assert old.code == 0
        assert "stmatrix" not in old.out
    run = tilewise("plan", *asked, "--arch", "sm_80", "--json").json
    assert (run["arch"], run["needs"]) == ("sm_80", "sm_70 and later")
    memory = tilewise("plan", "S[4]", "S[4]", "--dtype", "u8", "--arch", "sm_80", "--json")
    assert (memory.code, memory.json["error"]["hint"]) == (2, "leave out --arch")


def test_no(tilewise):
    run = tilewise("plan", "S[32 : 1@laneid]", "S[32 : 0@laneid]", "--dtype", "f32", "--json")
    assert run.code == 1
    assert run.json["reason"] == "two elements have one place in the target: 0 and 1 share 0@laneid"
    assert run.json["witness"] == [0, 1, {"laneid": 0}]
