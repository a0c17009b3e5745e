"""Hints are spelled for the command line, and say what to call instead."""

from __future__ import annotations

import re
import shlex

import pytest

from tilewise.questions import SUMMARIES
from tilewise.questions.hints import ALIASES, in_a_shell
from tilewise.questions.operations import OPERATIONS


def hint_of(run) -> str:
    data = run.json
    return data["error"]["hint"] if "error" in data else data["hint"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["reshape", "S[(6, 6) : (1, 6)]", "4,9"], "tilewise at ... --shape 4,9"),
        (["complement", "S[(2, 2) : (3, 1)]", "12"], "--weak gives"),
        (["slice", "S[(2, 2) : (3, 1)]", "0,0,0"], "--shape slices"),
        (["compose", "S[(4, 4) : (4, 1)]", "S[(2, 2) : (1@reg, 1@laneid)]"], "--modes laneid,reg"),
        (["permute", "S[(4, 4) : (4, 1)]", "1"], "1,0 swaps two"),
        (["regroup", "S[(4, 4) : (4, 1)]", "1,0"], "regroup 0,1 2"),
        (["coalesce", "S[(N, 4) : (4, 1)]"], "give it one: --let N=64"),
        (["split_axis", "S[8 : 1@row]", "row"], "HIGH,N,LOW"),
        (["fuse_axes", "S[8 : 1@row]", "row,column"], "HIGH,N,LOW and the AXIS"),
        (["fuse_axes", "S[8 : 1@row]", "row,2,column"], "such as row,2,column tx"),
        (["pack", "S[(8, 4) : (4@TCol, 1@m)]", "2"], "--axis "),
        (["pack", "S[(8, 4) : (4, 1)]", "2", "--axis", "buf"], "--storage buf"),
    ],
)
def test_hints_are_spelled_for_a_shell(tilewise, words, hint):
    given = hint_of(tilewise("algebra", *words, "--json"))
    assert hint in given
    run = tilewise("algebra", *words)
    assert given in run.out + run.err
    assert not re.search(r"=True|=\(|\bparse\(|\"", given), given


def test_a_hint_of_no_surface_stays():
    assert (
        in_a_shell("the next multiples are (8, 16), and n, m") == "the next multiples are (8, 16), and n, m"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["compose", "S[(4, 4) : (4, 1)]", "S[12 : 1] + 8"],
            "  witness: index 11, asked 19, size 16",
        ),
        (["reshape", "S[(6, 6) : (1, 6)]", "4,9"], "  witness: (6, 9)"),
        (["left_inverse", "S[(4, 2) : (1, 3)]"], "  witness: (1, 6, 3@m)"),
    ],
)
def test_witnesses_are_in_words(tilewise, words, line):
    assert line in tilewise("algebra", *words).out.splitlines()


@pytest.mark.parametrize("alias", ALIASES)
def test_names_of_others_are_known(tilewise, alias):
    assert alias not in OPERATIONS
    assert ALIASES[alias] in hint_of(tilewise("algebra", alias, "(4,8):(1,4)", "2", "--json"))
    named = [name for name in re.findall(r"[a-z_]{4,}", ALIASES[alias]) if "_" in name]
    assert set(named) <= set(OPERATIONS)


@pytest.mark.parametrize(
    "command", [name for name in SUMMARIES if name not in ("same", "algebra", "coalesce")]
)
def test_commands_are_no_operations(tilewise, command):
    run = tilewise("algebra", command, "S[4]", "S[4]", "--json")
    assert hint_of(run) == f"tilewise {command} is a command of its own"


def test_names_of_others_are_known_as_commands_too(tilewise):
    assert "zipped_divide" in hint_of(tilewise("local_tile", "S[4]", "--json"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("who", "S[8 : 1@reg]", "thread=45"),
            "a thread is tid_in_wg in its warpgroup, tx in its block",
        ),
        (("who", "S[8 : 1@reg]", "warp=1"), "is wid_in_wg in its warpgroup, warpid in its block"),
        (("who", "wgmma.D(f32, n=8)", "register=1"), "reg counts elements of one thread"),
        (("who", "wgmma.D(f32, n=8)", "lanid=1"), "did you mean laneid?"),
        (("suggest", "--operand", "A", "--tile", "64x64", "--dtype", "fp8"), "fp8 is e4m3 or e5m2"),
        (("at", "S[4 : 1]", "0", "--bse", "0"), "did you mean --base?"),
        (("at", "S[4 : 1]", "0", "--dtpye=f16"), "did you mean --dtype?"),
        (("at", "S[4 : 1]", "0", "--bands"), "tilewise at --help shows how it is called"),
        (("plan", "S[4]", "S[2, 2]", "u8"), "did you mean --dtype u8?"),
        (("plan", "S[4]", "S[2, 2]", "u8", "--dtype", "u8"), "one word: 37,21"),
        (("plan", "S[4]", "S[2, 2]", ""), "one word: 37,21"),
        (("same", "S[4]", "S[4]", "1,2"), "one word: 37,21"),
        (("catalog", "wgmma.D", "--bogus", "1"), "tilewise catalog wgmma.D --help shows how it is called"),
        (("catalog", "wgmma.D(f32, n=8)", "--bogus"), "tilewise catalog wgmma.D --help shows how"),
        (("catalog", "layouts", "--bogus"), "tilewise catalog --help shows how it is called"),
    ],
)
def test_words_of_others_and_words_that_are_near(tilewise, words, said):
    run = tilewise(*words, "--json")
    assert (run.code, said in hint_of(run)) == (2, True), run.out


def test_names_of_others_are_no_axes_and_are_told_ours():
    from tilewise.core.axes import CALLED, KNOWN

    assert not CALLED.keys() & KNOWN.keys()
    for name, said in CALLED.items():
        told = [own for own in KNOWN if own in said.replace(",", "").split()]
        assert len(told) == (1 if name.startswith("reg") else 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("info", "{1,0:T(8,128)(2,1)}"), "a layout of XLA has no shape"),
        (("info", "S[8,8:8,1]"), "S[8,8 : 8,1] is several things to Python"),
        (("info", "S[8,8:8,1]"), "put both sides in parentheses: S[(8,8) : (8,1)]"),
        (("banks", "S[64, 64]", "--dtype", "f16", "--access", "ldmatrix"), "how many matrices"),
        (("banks", "S[64, 64]", "--dtype", "f16", "--access", "ldmatrix"), "such as x1 x2 x4; "),
        (
            ("match", "S[64, 64]", "--operand", "D", "--dtype", "f16", "--engine", "tcgen05"),
            "--engine mma stores a tile of it",
        ),
        (
            "banks S[64,64] --dtype f16 --access row:16B --access ldmatrix.x4 --op cp.async".split(),
            "row:16B@cp.async",
        ),
    ],
)
def test_message_says_what_was_given_and_what_to_write(tilewise, words, said):
    run = tilewise(*words)
    assert (run.code, said in run.err) == (2, True), run.err
    assert "not a JSON document" not in run.err


@pytest.mark.parametrize("access", ["col:16B", "row:16B"])
def test_access_of_a_column_major_tile_says_what_to_ask(tilewise, access):
    no = tilewise("banks", "S[(64, 32) : (1, 64)]", "--dtype", "f16", "--access", access, "--json").json
    turned, asked = re.search(r"swap the modes, (S\[.*\]), and ask for (\S+)", no["hint"]).groups()
    assert (turned, asked[3:]) == ("S[(32, 64) : (64, 1)]", ":16B")
    assert tilewise("banks", turned, "--dtype", "f16", "--access", asked).code == 0


@pytest.mark.parametrize("command", ["match", "descriptor"])
def test_help_of_descriptors_leads_to_agree(tilewise, command):
    said = tilewise(command, "--help").out
    line = next(line for line in said.splitlines() if "'descriptor(0x" in line)
    run = tilewise(*shlex.split(line)[1:])
    assert run.code in (0, 1), run.err


def test_help_of_banks_has_an_operation_behind_an_access(tilewise):
    assert "row:16B@cp.async" in tilewise("banks", "--help").out
    assert (
        tilewise(*"banks S[64,64] --dtype f16 --access row:16B@cp.async --access ldmatrix.x4".split()).code
        == 0
    )


def test_tma_with_narrow_rows_says_why_it_takes_more_memory(tilewise):
    words = "tma --dtype bf16 --shape 4096,4096 --tile 64,48 --mode 128B".split()
    said = "6144 bytes, in 8192 of shared memory: rows of 96 bytes lie 128 apart under 128B"
    assert said in tilewise(*words).out
    checked = "tma check --dtype bf16 --dims 4096,4096 --strides 8192 --box 48,64 --mode 128B".split()
    assert "6144 bytes a copy, in 8192 of shared memory: rows of 96 bytes" in tilewise(*checked).out
    whole = tilewise(*"tma --dtype bf16 --shape 4096,4096 --tile 64,64 --mode 128B".split()).out
    assert "1 box, 8192 bytes\n" in whole
