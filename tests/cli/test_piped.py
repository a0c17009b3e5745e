"""The next command reads the answer of the one before."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from tilewise import parse
from tilewise.notation import to_cute
from tilewise.questions.operations import OPERATIONS
from tilewise.testing.generate import random_layout

GRID = "S[(8, 4) : (4, 1)]"


def piped(tilewise, first, then, *options):
    """The answer of the second command to what the first says in JSON."""
    said = tilewise(*first, "--json")
    assert said.code == 0, said.out
    return tilewise(*then, *options, stdin=said.out)


def test_a_layout_is_read_by_every_command(tilewise):
    divided = ("algebra", "zipped_divide", GRID, "(4,2)")
    text = tilewise(*divided).out.strip()
    for command in (["info"], ["say"], ["at"], ["table"], ["algebra", "coalesce"]):
        rest = ["5"] if command == ["at"] else []
        assert piped(tilewise, divided, [*command, "-", *rest]).out == tilewise(*command, text, *rest).out
    assert piped(tilewise, divided, ["same", "-", text]).code == 0
    assert piped(tilewise, divided, ["relation", text, "-"]).code == 0


def test_a_layout_keeps_its_dialect(tilewise):
    run = piped(tilewise, ("algebra", "permute", "(4,8):(1,4)", "1,0"), ("algebra", "compose", "-", "8:1"))
    assert run.out == "8:4\n"
    nested = piped(tilewise, ("algebra", "logical_divide", "(16,4):(1,16)", "8:1"), ("at", "-", "1,5"))
    assert nested.out == tilewise("at", "(8,8):(1,8)", "1,5").out


def test_a_layout_keeps_its_unit_and_its_storage(tilewise):
    bytes_of = ("algebra", "coalesce", "S[(4, 2) : (4, 2)]", "--unit", "byte")
    assert piped(tilewise, bytes_of, ("say", "-", "--as", "json")).json["unit"] == "byte"
    assert piped(tilewise, bytes_of, ("info", "-"), "--dtype", "bf16", "--json").json["text"]["tilewise"] == (
        "S[8 : 1]"
    )
    own = ("algebra", "coalesce", "S[(4, 2) : (2@buf, 1@buf)]", "--storage", "buf")
    assert piped(tilewise, own, ("algebra", "pack", "-", "2")).out == "S[4 : 1@buf]\n"


@pytest.mark.parametrize("seed", range(5))
def test_any_layout_goes_through(tilewise, seed):
    rng = Random(seed)
    for _ in range(20):
        layout = random_layout(rng, 64)
        told = tilewise("algebra", "canonical", str(layout), "--storage", "buf", "--json")
        assert told.code == 0, told.out
        again = tilewise("say", "-", "--as", "tilewise", stdin=told.out)
        assert tilewise("same", again.out.strip(), str(layout), "--storage", "buf").code == 0, told.out


def test_bases_and_tables_are_read_back(tilewise):
    swizzled = "Swizzle<1,0,2> o S[(2, 4) : (4, 1)]"
    fragment = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"
    for text in (swizzled, fragment):
        bases = ("algebra", "bases", text)
        found = piped(tilewise, bases, ("algebra", "from_bases", "-"))
        assert tilewise("algebra", "same", found.out, text).code == 0
        words = tilewise("algebra", "from_bases", "-", stdin=tilewise(*bases).out)
        assert words.out == found.out
        listed = piped(tilewise, ("table", text), ("algebra", "recognise", "-"))
        assert tilewise("algebra", "same", listed.out, text).code == 0
        assert parse(listed.out).shape == parse(text).shape


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (["algebra", "complement", "S[(2, 2) : (3, 1)]", "12"], "no translates fill"),
        (["algebra", "injective", GRID], "holds no layout"),
        (["algebra", "slice", "S[(4, 4) : (100, 1)]", "3:14", "--shape", "16"], "is 3 layouts"),
        (["algebra", "refinement", "S[(4, 6) : (1, 4)]", "S[(2, 12) : (1, 2)]"], "is 2 layouts"),
        (["table", "S[4 : 1] + R[2 : 4]"], "several places an index"),
        (["at", GRID, "5"], "no key 'index'"),
    ],
)
def test_an_answer_that_is_no_layout_says_so(tilewise, first, said):
    answer = tilewise(*first, "--json").out
    error = tilewise("info", "-", "--json", stdin=answer).json["error"]
    assert error["code"] == "TW108"
    assert said in error["message"]


# -- tables as they are printed ----------------------------------------------------------------------


def test_lines_are_rows(tilewise):
    layout = parse("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]")
    rows = [[layout.place(i, j)["m"] for j in range(8)] for i in range(8)]
    for separator in (" ", ", ", ","):
        dump = "\n".join(separator.join(map(str, row)) for row in rows) + "\n"
        assert tilewise("algebra", "recognise", "-", stdin=dump).out == (
            "Swizzle<3,0,3> o S[(8, 8) : (8, 1)]\n"
        )


@pytest.mark.parametrize("dump", ["0 1 2\n3 4\n5\n", "0\n1\n2\n3\n4\n5\n", "0 1 2 3 4 5", "0,1,2,\n3,4,\n5"])
def test_other_lines_are_one_list(tilewise, dump):
    assert tilewise("algebra", "recognise", "-", stdin=dump).out == "S[6 : 1]\n"


def test_a_table_of_cutes_reads_as_its_rows_do(tilewise):
    assert to_cute(parse("S[(2, 3) : (3, 1)]")) == "(2,3):(3,1)"
    rows = tilewise("algebra", "--dialect", "cute", "recognise", "-", stdin="0 1 2\n3 4 5").out
    assert rows == "(2,3):(3,1)\n"


# -- words in the wrong place, and words of CuTe's ---------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reshape", "8,2", GRID], "word 1 is LAYOUT, and 8,2 is no layout: reshape takes LAYOUT SHAPE"),
        (["pack", "2", GRID], "word 1 is LAYOUT, and 2 is no layout: pack takes LAYOUT COUNT"),
        (["recast", "bf16", "f32", GRID], "word 1 is LAYOUT, and bf16 is no layout"),
        (["compose", GRID], "1 word given"),
        (["coalesce", GRID, GRID], "2 words given"),
    ],
)
def test_what_a_word_should_be_is_said(tilewise, words, said):
    error = tilewise("algebra", *words, "--json").json["error"]
    assert said in error["message"]
    assert "S[1 : 0]" not in tilewise("algebra", *words).err


@pytest.mark.parametrize("operation", ["compose", "logical_divide", "zipped_divide"])
def test_tilers_as_cute_prints_them(tilewise, operation):
    layout = "(24,(4,8)):(59,(13,1))"
    printed = tilewise("algebra", operation, layout, "<3:8,(2,4):(1,8)>")
    assert (printed.code, printed.out) == (
        0,
        tilewise("algebra", operation, layout, "3:8", "(2,4):(1,8)").out,
    )
    kept = tilewise("algebra", operation, layout, "<_,8>")
    assert kept.out == tilewise("algebra", operation, layout, "_", "8").out


# -- tiles and descriptors ---------------------------------------------------------------------------

SUGGESTED = ("suggest", "--operand", "B", "--dtype", "bf16", "--tile", "96x64", "--major", "mn")


def test_match_takes_the_operand_and_the_type_of_an_answer(tilewise):
    run = piped(tilewise, SUGGESTED, ("match", "-", "--json"))
    assert (run.code, run.json["operand"], run.json["dtype"], run.json["mode"]) == (0, "B", "bf16", "64B")
    entry = ("catalog", "wgmma.smem(A, mn, 128B, f16, 128, 64)")
    assert piped(tilewise, entry, ("match", "-", "--json")).json["operand"] == "A"


def test_what_is_said_stands_before_what_an_answer_tells(tilewise):
    run = piped(tilewise, SUGGESTED, ("match", "-", "--operand", "A", "--json"))
    assert (run.code, run.json["operand"]) == (1, "A")  # 96 rows are no A


def test_the_nearest_tile_goes_back_to_match(tilewise):
    padded = tilewise("match", "S[(128, 64) : (72, 1)]", "--operand", "A", "--dtype", "bf16", "--json")
    assert (padded.code, tilewise("match", "-", stdin=padded.out).code) == (1, 0)


@pytest.mark.parametrize("first", [SUGGESTED, (*SUGGESTED, "--stages", "2")])
def test_a_descriptor_is_read_with_its_operand(tilewise, first):
    read = piped(tilewise, first, ("descriptor", "reads", "-", "--json")).json
    asked = ("--operand", "B", "--dtype", "bf16", "--major", "mn", "--n", "96")
    assert read == tilewise("descriptor", "reads", read["value"], *asked, "--json").json
    assert read["shape"] == [96, 16]
    matched = piped(tilewise, first, ("match", "-", "--json")).out
    assert tilewise("descriptor", "reads", "-", "--json", stdin=matched).json == read


def test_a_descriptor_is_read_as_a_number_too(tilewise):
    encoded = tilewise("descriptor", "encode", "--mode", "64B", "--sbo", "512", "--json").out
    assert json.loads(encoded)["value"] == "0x8000002000010000"
    decoded = tilewise("descriptor", "decode", "0x8000002000010000").out
    assert tilewise("descriptor", "decode", "-", stdin="0x8000002000010000\n").out == decoded
    assert tilewise("descriptor", "decode", "-", stdin=encoded).out == decoded


@pytest.mark.parametrize(
    ("text", "code"), [("", "TW401"), ('{"schema": 1, "layout": "S[4 : 1]"}', "TW108"), ("{", "TW108")]
)
def test_what_holds_no_descriptor(tilewise, text, code):
    run = tilewise("descriptor", "decode", "-", "--json", stdin=text)
    assert (run.code, run.json["error"]["code"]) == (2, code)


# -- help --------------------------------------------------------------------------------------------


def test_help_describes_options_for_the_operation_alone(tilewise):
    shown = tilewise("algebra", "pack", "--help").out
    assert re.search(r"--axis AXIS +along this storage axis\n", shown)
    for word in ("--let NAME=N", "--dtype", "--json", "the leftmost digit"):
        assert word in shown
    assert re.search(r"--shape SHAPE +the result's\n", tilewise("algebra", "from_bases", "--help").out)
    assert "OUTER is the first word" in tilewise("algebra", "tile", "--help").out


def test_help_may_come_first(tilewise):
    assert tilewise("algebra", "--help", "compose").out == tilewise("algebra", "compose", "--help").out
    assert tilewise("at", "--help", "x").out == tilewise("at", "--help").out


def test_the_list_of_one_operation(tilewise):
    lines = tilewise("algebra", "--list", "compose").out.splitlines()
    assert [line.split()[0] for line in lines] == ["maps:", "compose"]
    listed = tilewise("algebra", "--list", "compose", "--json").json["operations"]
    assert [each["op"] for each in listed] == ["compose"]
    assert len(tilewise("algebra", "--list", "--json").json["operations"]) == len(OPERATIONS)
    assert json.dumps(listed)
