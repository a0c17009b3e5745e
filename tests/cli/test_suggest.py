"""`tilewise suggest`: the options of tcgen05 alone, and their answers."""

from __future__ import annotations

import shlex

import pytest

from tilewise import parse
from tilewise.check.banks import conflicts

DEEP = "suggest --engine tcgen05 --operand B --tile 128x768 --dtype e2m1 --kind mxf4"


def test_k_is_that_of_the_product(tilewise):
    deep = tilewise(*DEEP.split(), "--k", "96", "--json").json
    assert (deep["instruction"]["k"], deep["lbo_mode"], len(deep["steps"])) == (96, "absolute", 8)
    assert deep == tilewise(*DEEP.split(), "--lbo-mode", "absolute", "--json").json
    usual = tilewise(*DEEP.split(), "--json").json
    assert usual == tilewise(*DEEP.split(), "--k", "64", "--json").json
    assert (usual["instruction"]["k"], usual.get("lbo_mode"), usual["shape"]) == (64, None, [128, 768])


def test_what_it_answers_for_a_k_is_matched_and_read_with_that_k(tilewise):
    found = tilewise(*DEEP.split(), "--k", "96", "--json").out
    assert tilewise("match", "-", "--json", stdin=found).json["steps"][1]["k"] == 1
    assert "mMn128k96" in tilewise("match", "-", stdin=found).out
    assert tilewise("descriptor", "reads", "-", "--n", "128", "--json", stdin=found).json["shape"] == [
        128,
        96,
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--k 32", 1, "K is 64 or 96"),
        ("--k 96 --lbo-mode relative", 1, "K = 96 is not in LBO mode relative"),
        ("--k deep", 2, "--k"),
    ],
)
def test_a_k_that_there_is_not(tilewise, words, code, said):
    run = tilewise(*DEEP.split(), *words.split())
    assert (run.code, said in run.out + run.err) == (code, True)


def test_the_kinds_of_the_type_that_have_a_k_are_told(tilewise):
    """Without --kind it is the first with the type, which has bytes."""
    run = tilewise(*"suggest --engine tcgen05 --operand B --tile 128x768 --dtype e2m1 --k 96".split())
    assert run.code == 1
    assert "hint: K is 32, with sparse A 64; kind::mxf4 and kind::mxf4nvf4 have K = 96" in run.out


def test_wgmma_has_one_k(tilewise):
    run = tilewise(*"suggest --operand B --tile 128x64 --dtype bf16 --k 16".split())
    assert (run.code, "wgmma takes no k" in run.err) == (2, True)


def test_the_command_of_the_code_keeps_k(tilewise):
    out = tilewise(*DEEP.split(), "--k", "64").out
    command = out.splitlines()[-1].partition("the code: ")[2].partition(", or")[0]
    assert " --k 64 " in command
    assert tilewise(*shlex.split(command)[1:]).code == 0


@pytest.mark.parametrize(
    ("operand", "words", "view"),
    [
        ("B", "--dtype tf32 --major mn", "[K, N]"),
        ("A", "--dtype bf16 --major mn", "[K, M]"),
        ("B", "--dtype e4m3 --major mn --mode none", "[K, N]"),
        ("B", "--dtype bf16", None),
        ("A", "--dtype e2m1", None),
    ],
)
def test_banks_of_tcgen05_are_those_of_who_writes_along_what_is_contiguous(tilewise, operand, words, view):
    asked = f"suggest --engine tcgen05 --operand {operand} --tile 128x128 {words}"
    (found,) = (data := tilewise(*asked.split(), "--json").json)["banks"]
    dtype = words.split()[1]
    tile = parse(data["tile"])
    stored = "e4m3" if dtype == "e2m1" else dtype  # f8f6f4 has a byte for each
    cost = conflicts(tile if view is None else tile.permute(1, 0), "row:16B@st", dtype=stored)
    assert found["access"] == "row:16B@st"
    assert found.get("view") == view
    assert (found["wavefronts"], found["ideal"]) == (cost.wavefronts, cost.ideal)
    out = tilewise(*asked.split()).out
    assert "ldmatrix" not in out
    assert f"banks       {f'of {view}, ' if view else ''}row:16B@st: {cost.wavefronts} wavefronts" in out


def test_banks_of_wgmma_are_those_of_who_loads_it_too(tilewise):
    found = tilewise(*"suggest --operand A --tile 128x64 --dtype bf16 --json".split()).json["banks"]
    assert [one["access"] for one in found] == ["row:16B@st", "ldmatrix.x4"]
