"""`tilewise algebra`: answers, refusals, errors, CuTe's order, and an example of every operation."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from tests.interpreter import said

from tilewise import parse
from tilewise.core import algebra
from tilewise.core.errors import NotDecided
from tilewise.questions.operations import FAMILIES, OPERATIONS, OPTIONS, kind_of
from tilewise.questions.words import words_of
from tilewise.testing.generate import random_layout

SIXES = "S[(6, 6) : (1, 6)]"


# -- every operation -------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_has_an_example_that_runs(tilewise, operation):
    run = tilewise("algebra", operation.name, *operation.example, "--json")
    assert run.code == 0, run.out
    assert run.json["op"] == operation.name
    assert run.json["result"] is not None
    text = tilewise("algebra", operation.name, *operation.example)
    assert (text.code, text.err) == (0, "")
    assert text.out.strip()


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_tells_its_law_and_shows_its_example(tilewise, operation):
    run = tilewise("algebra", operation.name, "--help")
    assert run.code == 0
    assert run.out.startswith(f"usage: tilewise algebra {operation.name} {operation.words}")
    assert ">>>" not in run.out
    lines = run.out.splitlines()
    shown = next(i for i, line in enumerate(lines) if line.startswith("$ "))
    assert lines[shown].startswith(f"$ tilewise algebra {operation.name} ")
    answer = tilewise("algebra", operation.name, *operation.example).out.splitlines()
    assert lines[shown + 1 : shown + 1 + len(answer)] == answer
    assert operation.law.splitlines()[0] in lines


def test_every_operation_of_the_algebra_is_on_the_command_line():
    here = {"slices": "slice"}
    assert {here.get(name, name) for name in algebra.__all__} <= set(OPERATIONS)
    facts = "canonical same injective disjoint_copies onto holes contiguous inverse"
    assert set(facts.split()) <= set(OPERATIONS)


def test_every_option_belongs_to_an_operation():
    assert {name for operation in OPERATIONS.values() for name in operation.options} == set(OPTIONS)


def test_the_list_names_every_operation_with_its_words(tilewise):
    text = tilewise("algebra", "--list").out
    data = tilewise("algebra", "--list", "--json").json["operations"]
    assert [each["op"] for each in data] == list(OPERATIONS)
    assert {each["family"] for each in data} == set(FAMILIES)
    for operation in OPERATIONS.values():
        assert f"  {operation.name} {operation.words}" in text
        assert operation.summary in text


def test_words_are_as_usage_spells_them():
    for operation in OPERATIONS.values():
        words = words_of(operation.words)
        assert all(not word.repeated for word in words[:-1])
        assert [word.optional for word in words] == sorted(word.optional for word in words)


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["coalesce", "S[((2, 4), (1, 3)) : ((12, 3), (7, 1))]", "--by-mode"], "S[(8, 3) : (3, 1)]"),
        (["coalesce", "S[()]"], "S[()]"),
        (["reshape", SIXES, "-1,6"], SIXES),
        (["reshape", SIXES, "12,3"], "S[((6, 2), 3) : ((1, 18), 6)]"),
        (["split", "S[64 : 2]", "0", "4", "(2,8)"], "S[(4, (2, 8)) : (32, (16, 2))]"),
        (["regroup", "S[(4, 2, 8) : (1, 32, 4)]", "0", "(1,2)"], "S[(4, (2, 8)) : (1, (32, 4))]"),
        (["permute", "S[(4, 2, 8) : (1, 32, 4)]", "2,0,1"], "S[(8, 4, 2) : (4, 1, 32)]"),
        (["compose", "S[(8, 8) : (8, 1)]", "S[16 : 4]"], "S[16 : 4]"),
        (["compose", "S[(8, 8) : (8, 1)]", "16"], "S[16 : 1]"),
        (["compose", "S[(8, 8) : (8, 1)]", "4", "S[2 : 4]"], "S[(4, 2) : (8, 4)]"),
        (["compose", "S[(8, 8) : (8, 1)]", "_", "S[2 : 4]"], "S[(8, 2) : (8, 4)]"),
        (["compose", "S[(8, 8) : (8, 1)]", "(4,2)"], "S[(4, 2) : (8, 1)]"),
        (
            ["compose", "S[(16, 8) : (8, 1)]", "S[(8, 2) : (2@laneid, 1@reg)]", "--modes", "laneid,reg"],
            "S[(8, 2) : (16, 1)]",
        ),
        (["slice", "S[(8, 8) : (8, 1)]", "2:6,3"], "S[4 : 8] + 19"),
        (["slice", "S[(8, 8) : (8, 1)]", ":,3:4"], "S[(8, 1) : (8, 0)] + 3"),
        (["slice", "S[(2, 2, 4) : (100, 10, 1)]", "6:10", "--shape", "16"], "S[((2, 2),) : ((88, 1),)] + 12"),
        (["complement", "S[(2, 2) : (6, 1)]", "--size", "24"], "S[(2, 3) : (12, 2)]"),
        (["complement", "S[(2, 2) : (3, 1)]", "12", "--weak"], "S[2 : 6]"),
        (["complement", "4:1", "10", "--round-up"], "3:4"),
        (["tile", "8,8", "S[(2, 3) : (3, 1)]"], "S[((8, 2), (8, 3)) : ((48, 3), (6, 1))]"),
        (["pack", "S[(8, 4) : (4@reg, 1@reg)]", "2"], "S[(8, 2) : (2@reg, 1@reg)]"),
        (["relabel", "S[8 : 1@laneid]", "laneid = tx"], "S[8 : 1@tx]"),
        (["split_axis", "S[48 : 1@tx]", "tx", "row,12,column"], "S[(4, 12) : (1@row, 1@column)]"),
        (["same", "S[(4, 4) : (4, 1)]", "S[16 : 1]"], True),
        (["injective", "S[(4, 4) : (4, 1)]"], True),
        (["holes", "S[(4, 3) : (4, 1)]"], 3),
        (["holes", "S[(4, 4) : (4, 1)]"], 0),
    ],
)
def test_results(tilewise, words, result):
    run = tilewise("algebra", *words, "--json")
    assert (run.code, run.json["op"], run.json["result"]) == (0, words[0], result)
    if isinstance(result, str):
        assert tilewise("algebra", *words).out == result + "\n"
        parse(result)


def test_several_results_are_a_list(tilewise):
    run = tilewise("algebra", "refinement", "S[(4, 6) : (1, 4)]", "S[(2, 12) : (1, 2)]", "--json")
    assert run.json["result"] == ["S[(2, 2, 6) : (2, 1, 4)]", "S[(2, 2, 6) : (1, 12, 2)]"]


def test_a_slice_is_one_layout_or_boxes_with_theirs(tilewise):
    run = tilewise("algebra", "slice", "S[(4, 4) : (100, 1)]", "3:6", "--shape", "16", "--json")
    assert run.json["result"] == [
        {"box": [[3, 4]], "layout": "S[1 : 0] + 3"},
        {"box": [[4, 6]], "layout": "S[2 : 1] + 100"},
    ]
    text = tilewise("algebra", "slice", "S[(4, 4) : (100, 1)]", "3:6", "--shape", "16").out
    assert text == "3:4  S[1 : 0] + 3\n4:6  S[2 : 1] + 100\n"
    one = tilewise("algebra", "slice", "S[(4, 4) : (100, 1)]", "3,1:3", "--json").json
    assert (one["result"], one["box"]) == ("S[2 : 1] + 301", [[3, 4], [1, 3]])


def test_options_stand_anywhere(tilewise):
    words = ["S[(2, 2, 4) : (100, 10, 1)]", "6:10"]
    for placed in (
        ["--shape", "16", "slice", *words],
        ["slice", "--shape", "16", *words],
        ["slice", words[0], "--shape", "16", words[1]],
        ["slice", *words, "--shape=16"],
    ):
        assert tilewise("algebra", *placed).out == "S[((2, 2),) : ((88, 1),)] + 12\n"


def test_layouts_are_read_as_by_every_command(tilewise):
    named = tilewise("algebra", "coalesce", "S[(M, K) : (K, 1)]", "--let", "M=4", "--let", "K=8")
    assert named.out == "S[32 : 1]\n"
    streamed = tilewise("algebra", "compose", "-", "4", stdin="S[8 : 2]\n")
    assert streamed.out == "S[4 : 2]\n"
    document = tilewise("say", "S[(4, 2) : (2, 1)]", "--as", "json").out
    assert tilewise("algebra", "coalesce", "-", stdin=document).out == "S[8 : 1]\n"
    counted = tilewise("algebra", "coalesce", "S[(4, 2) : (4, 2)]", "--unit", "byte", "--json").json
    assert (counted["result"], counted["unit"]) == ("S[8 : 2]", "byte")
    hyphened = tilewise("algebra", "left-inverse", "S[8 : 1]", "--json").json
    assert hyphened["op"] == "left_inverse"


# -- CuTe's order ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "result"),
    [
        # values that CuTe's documents and the papers work out
        (["compose", "(6,2):(8,2)", "(4,3):(3,1)"], "((2,2),3):((24,2),8)"),
        (["compose", "20:2", "(5,4):(4,1)"], "(5,4):(8,2)"),
        (["compose", "(10,2):(16,4)", "(5,4):(1,5)"], "(5,(2,2)):(16,(80,4))"),
        (["compose", "(4,6,8,10):(2,3,5,7)", "6:12"], "(2,3):(9,5)"),
        (["compose", "(4,2,8):(3,12,97)", "3:3"], "3:9"),
        (["complement", "(2,2):(1,6)", "24"], "(3,2):(2,12)"),
        (["complement", "4:2", "24"], "(2,3):(1,8)"),
        (["left_inverse", "(4,8):(1,5)"], "(5,8):(1,4)"),
        (["right_inverse", "(4,8):(1,5)"], "4:1"),
        (["right_inverse", "(2,4):(0,1)"], "4:2"),
        # the last mode runs on
        (["compose", "(4,8):(1,5)", "64:1"], "(4,16):(1,5)"),
        (["compose", "(4,8):(1,5)", "2:4", "3"], "(2,3):(4,5)"),
        # by coordinates
        (["compose", "(4,8):(1,5)", "(2,2):(1@1,2@0)"], "(2,2):(5,2)"),
        (["compose", "(4,8):(1,5)", "_", "(2,2):(1,4)"], "(4,(2,2)):(1,(5,20))"),
        (["compose", "(4,8):(1,5)", "(_2,_4)"], "(2,4):(1,5)"),
        (["permute", "(4,8):(1,5)", "1,0"], "(8,4):(5,1)"),
        (["coalesce", "(2,1,6):(1,7,2)"], "12:1"),
        (["coalesce", "1:7"], "1:0"),
        (["coalesce", "((2,4),(3,5)):((1,2),(5,15))", "--by-mode"], "(8,15):(1,5)"),
        (["flatten", "((4,2),(3,5)):((1,4),(40,8))"], "(4,2,3,5):(1,4,40,8)"),
        (["reshape", "(6,6):(1,6)", "(4,9)"], "(4,9):(1,4)"),
        (["reshape", "(6,6):(6,1)", "(3,12)"], "(3,(2,6)):(6,(18,1))"),
        (["group", "(6,6):(6,1)", "(3,12)"], "(3,(2,6)):(6,(18,1))"),
        (["split", "(6,4):(4,1)", "0", "2", "3"], "(2,3,4):(4,8,1)"),
        (["regroup", "(6,4,2):(8,2,1)", "0,1", "2"], "((6,4),2):((8,2),1)"),
        (["refinement", "(4,6):(6,1)", "(8,3):(3,1)"], ["(4,2,3):(6,1,2)", "(4,2,3):(3,12,1)"]),
        (["slice", "(4,8):(1,5)", "1,2:4"], "11 o 2:5"),
        (["slice", "(4,8):(1,5)", ":,0:4"], "(4,4):(1,5)"),
        (["slice", "(4,(2,3)):(1,(40,8))", "0,:"], "((2,3)):((40,8))"),
        (["tile", "2,3", "(4,4):(1,4)"], "((4,2),(4,3)):((1,16),(4,32))"),
        (["unpack", "(8,64):(64,1)", "2"], "(8,128):(128,1)"),
        (["recast", "(64,8):(1,64)", "bf16", "f32"], "(32,8):(1,32)"),
        (["canonical", "(4,8):(1,4)"], "32:1"),
        (["same", "(4,8):(1,4)", "32:1"], True),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_cutes_dialect(tilewise, words, result):
    run = tilewise("algebra", *words, "--json")
    assert (run.code, run.json["result"]) == (0, result)
    forced = tilewise("algebra", "--dialect", "cute", *words, "--json")
    assert forced.json["result"] == result


def test_each_text_of_a_question_counts_in_its_own_order(tilewise):
    assert tilewise("algebra", "same", "(4,8):(8,1)", "S[32 : 1]").code == 1
    assert tilewise("algebra", "same", "(4,8):(1,4)", "S[32 : 1]").out == "yes\n"
    assert tilewise("algebra", "same", "(4,8):(8,1)", "S[(4, 8) : (8, 1)]").out == "yes\n"
    assert tilewise("algebra", "compose", "(4,8):(8,1)", "S[32 : 1]").out == "S[(8, 4) : (1, 8)]\n"


def test_an_offset_of_a_cute_layout_is_written_before_it(tilewise):
    run = tilewise("algebra", "slice", "((2,2),4):((1,8),2)", "1:3,1", "--json")
    assert (run.json["result"], run.json["order"]) == ("3 o 2:7", "cute")
    assert tilewise("at", run.json["result"], "1").out == "1 -> 10@m\n"


@pytest.mark.parametrize(
    ("words", "code", "witness"),
    [
        (["compose", "(4,6,8):(2,3,5)", "6:3"], "TW501", {"positions": [2, 3]}),
        (["compose", "(4,2,8):(3,12,97)", "4:3"], "TW501", None),
        (["compose", "(4,2,8):(3,15,97)", "3:3"], "TW501", None),
        (["reshape", "(6,6):(6,1)", "(4,9)"], "TW503", [6, 4]),
        (["complement", "(2,2):(1,3)", "12"], "TW506", None),
        (["left_inverse", "(4,2):(1,3)"], "TW505", None),
    ],
)
def test_what_cute_gets_wrong_or_refuses_is_refused_with_a_witness(tilewise, words, code, witness):
    run = tilewise("algebra", *words, "--json")
    assert (run.code, run.json["result"], run.json["code"]) == (1, None, code)
    assert run.json["reason"]
    if witness is not None:
        shown = run.json["witness"]
        assert (
            {key: shown[key] for key in witness} == witness if isinstance(witness, dict) else shown == witness
        )


# -- no, not decided, and errors -------------------------------------------------------------------


def test_a_refusal_is_an_answer_with_reason_witness_and_hint(tilewise):
    run = tilewise("algebra", "reshape", SIXES, "4,9", "--json")
    assert run.code == 1
    assert run.json == {
        "op": "reshape",
        "result": None,
        "code": "TW503",
        "reason": "the map steps every 6 elements, and (4, 9) every 9: neither divides the other",
        "witness": [6, 9],
        "hint": "no digits of that shape are the same map; tilewise at ... --shape 4,9 asks an index of it",
    }
    text = tilewise("algebra", "reshape", SIXES, "4,9")
    assert (text.code, text.err) == (1, "")
    assert text.out.splitlines()[:2] == [
        "no: the map steps every 6 elements, and (4, 9) every 9: neither divides the other",
        "  witness: (6, 9)",
    ]


@pytest.mark.parametrize(
    ("words", "witness"),
    [
        (["same", "S[(4, 4) : (4, 1)]", "S[(4, 4) : (1, 4)]"], 1),
        (["injective", "S[(4, 4) : (2, 1)]"], None),
        (["onto", "S[(4, 3) : (4, 1)]"], {"m": 3}),
        (["contiguous", "S[(4, 3) : (4, 1)]"], 3),
    ],
)
def test_a_fact_that_is_not_so_is_a_no_with_a_witness(tilewise, words, witness):
    run = tilewise("algebra", *words, "--json")
    assert (run.code, run.json["op"], run.json["result"]) == (1, words[0], False)
    assert run.json["reason"]
    assert run.json["witness"] == witness if witness is not None else run.json["witness"]
    assert tilewise("algebra", *words).out.startswith("no: ")


def test_what_is_not_decided_is_exit_code_3(tilewise):
    words = ["same", "Swizzle<1,0,1> o S[(99991, 2) : (4, 2)]", "S[(99991, 2) : (4, 3)]"]
    run = tilewise("algebra", *words, "--json")
    assert (run.code, run.json["op"], run.json["result"]) == (3, "same", None)
    assert "not decided" in run.json["reason"]
    assert "not decided" in tilewise("algebra", *words).out


def test_a_search_that_ends_is_not_decided(tilewise, monkeypatch):
    def endless(layout):
        raise NotDecided("the search ended")

    monkeypatch.setattr(algebra, "coalesce", endless, raising=False)
    run = tilewise("algebra", "coalesce", "S[4 : 1]", "--json")
    assert (run.code, run.json) == (3, {"op": "coalesce", "result": None, "reason": "the search ended"})


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], "TW401", "no operation was named"),
        (["compsoe", "S[4]", "S[2]"], "TW401", "did you mean compose?"),
        (["zzz"], "TW401", "--list"),
        (["compose", "S[4]"], "TW401", "compose takes A TILER...; 1 word given"),
        (["coalesce"], "TW401", "coalesce takes LAYOUT"),
        (["coalesce", "S[4]", "S[4]"], "TW401", "2 words given"),
        (["coalesce", "S[4]", "--weak"], "TW401", "coalesce has no option --weak"),
        (["coalesce", "S[4]", "--bogus"], "TW401", "--bogus"),
        (["complement", "S[4]", "4", "5"], "TW401", "3 words given"),
        (["same", "-", "-"], "TW401", "only one"),
        (["coalesce", "S[(8, 4) : (4)]"], "TW003", "^"),
        (["reshape", SIXES, "5,7"], "TW202", "35 elements"),
        (["reshape", SIXES, "x"], "TW007", "'x' has no value"),
        (["split", SIXES, "0,1", "2"], "TW401", "several numbers"),
        (["permute", SIXES, "0,0"], "TW201", "once"),
        (["compose", SIXES, "4", "4", "4"], "TW503", "3 tilers for 2 modes"),
        (["compose", SIXES, "4", "4", "--modes", "m"], "TW401", "--modes"),
        (["slice", SIXES, "0:7"], "TW201", "0:6"),
        (["slice", SIXES, "0:3,,"], "TW004", "expected a number"),
        (["relabel", SIXES, "m"], "TW401", "laneid=tx"),
        (["recast", SIXES, "bf16", "fp12"], "TW105", "unknown dtype"),
    ],
)
def test_what_is_not_understood_is_exit_code_2(tilewise, words, code, said):
    run = tilewise("algebra", *words, "--json")
    assert run.code == 2
    error = run.json["error"]
    assert error["code"] == code
    assert said in str(error) or said in tilewise("algebra", *words).err
    assert tilewise("algebra", *words).code == 2


def test_nothing_heavy_is_loaded():
    code = (
        "import sys; from tilewise.cli.main import main; main(['algebra', 'compose', '(6,2):(8,2)', '3:1'])\n"
        "print(*[name for name in ('numpy', 'rich', 'torch', 'tilewise.tables') if name in sys.modules])"
    )
    assert said(code) == "3:8\n\n"


SAMPLES = {
    "TILER": ["4", "(2,2)", "_", "S[4 : 1]", "2:1"],
    "SHAPE": ["4,4", "8", "2,-1", "-1"],
    "MODE": ["0", "1", "9"],
    "POSITION": ["0", "1", "9"],
    "EXTENT": ["2", "4", "-1", "(2,2)"],
    "COUNT": ["2", "3", "0"],
    "SIZE": ["24", "64", "7"],
    "ORIGIN": ["0", "5"],
    "MODES": ["0", "1", "0,1"],
    "ORDER": ["1,0", "0", "2,0,1"],
    "REGION": ["0:2", "1", "0:2,1", ":,0:1"],
    "AXIS": ["m", "laneid", "nowhere"],
    "AXES": ["warpid,laneid", "row,4,col", "m"],
    "INTO": ["warpid,laneid", "row,4,col", "4"],
    "OLD": ["bf16", "e2m1"],
    "NEW": ["f32", "e2m3"],
    "NAMES": ["m=reg", "laneid=tx,reg=m"],
    "SWIZZLE": ["Swizzle<1,0,1>", "Sw<2,1,-3>", "Swizzle<1,0,1> o Swizzle<1,1,2>"],
    "OFFSET": ["4", "-8", "1@reg"],
    "TABLE": ["0 1 2 3", "[[0,1],[2,3]]", "[[0],[1,2]]", "[]", '{"m":[0,1]}', "{"],
    "BASES": ["1,2,5", '{"m":[1,2,5]}', "[[1]]", "5"],
}


PYTHON = re.compile(r"True|None|__|[\w=]\(|\"|\w= ")
"""Text of Python, which no hint on the command line may have."""


def test_any_words_end_in_an_answer_or_an_error(tilewise, times):
    """Any words for any operation: no traceback, and a refusal always has its reason."""
    rng = Random(11)
    codes = Counter()
    for _ in range(times(800)):
        layouts = [str(random_layout(rng, 64)) for _ in range(2)]
        operation = rng.choice(list(OPERATIONS.values()))
        words = []
        for word in words_of(operation.words):
            for _ in range(rng.choice((1, 2)) if word.repeated else 1):
                samples = SAMPLES.get(word.name, layouts)
                words.append(rng.choice(layouts if rng.random() < 0.1 else samples))
        for name in operation.options:
            kind = kind_of(name)
            if rng.random() < 0.3:
                words += [
                    f"--{name.replace('_', '-')}",
                    *([rng.choice(SAMPLES[kind])] if kind else []),
                ]
        run = tilewise("algebra", operation.name, *words, "--storage", "buf", "--json")
        assert run.code in (0, 1, 2, 3), words
        codes[run.code] += 1
        if run.code == 1:
            assert run.json["reason"], words
            assert not PYTHON.search(run.json.get("hint", "")), words
        elif run.code == 2:
            assert run.json["error"]["message"], words
            assert not PYTHON.search(run.json["error"]["hint"]), words
    assert min(codes[code] for code in (0, 1, 2)) > times(100), codes


def test_laws_in_json(tilewise):
    (data,) = tilewise("algebra", "split", "--list", "--json").json["operations"]
    assert data["takes"] == "LAYOUT MODE EXTENT..."
    assert "postcondition" in data["law"]
