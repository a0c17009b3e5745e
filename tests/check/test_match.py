"""`match`: what it says of legal and illegal tiles, in Python and on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.check.match_cases import ILLEGAL, LEGAL, cases
from tests.check.tcgen05_cases import ILLEGAL as OF_TCGEN05
from tests.hardware.of_wgmma import feeding

from tilewise import S, Swizzle, parse
from tilewise.check.match import match
from tilewise.check.nearest import COSTS
from tilewise.core.errors import CODES, LayoutError
from tilewise.hardware.modes import MODES
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.tma.landing import landing
from tilewise.hardware.wgmma.instructions import Input

GOLDENS = Path(__file__).parent / "goldens"


def words(operand, dtype, spelled):
    """The words of a command for one case."""
    text, _, options = spelled.partition(" --")
    more = f"--{options}".split() if options else []
    return "match", text.strip(), "--operand", operand, "--dtype", dtype, *more


def ids(table):
    return [f"{operand}-{dtype}-{spelled}" for operand, dtype, _, spelled in cases(table)]


@pytest.mark.parametrize("case", [*cases(LEGAL)], ids=ids(LEGAL))
def test_a_legal_tile_is_found(case, tilewise):
    operand, dtype, expected, spelled = case
    run = tilewise(*words(operand, dtype, spelled), "--json")
    assert run.code == 0, run.out
    found = run.json
    fields = ["-" if found[name] is None else str(found[name]) for name in ("lbo", "sbo")]
    assert [found["mode"], found["major"], *fields] == expected
    assert found["legal"] is True
    assert found["ignored"] == [name for name in ("lbo", "sbo") if found[name] is None]
    assert found["trans"] == {"k": 0, "mn": 1}[found["major"]]
    assert found["value"] == found["steps"][0]["value"]
    assert len(found["steps"]) == found["k_steps"] * found["mn_steps"]
    assert found["confirmed"] == ["document", "device: H200"]


@pytest.mark.parametrize("case", [*cases(ILLEGAL)], ids=ids(ILLEGAL))
def test_an_illegal_tile_is_refused_for_the_right_reason(case, tilewise):
    operand, dtype, expected, spelled = case
    run = tilewise(*words(operand, dtype, spelled), "--json")
    assert run.code == 1, run.out
    found = run.json
    assert found["legal"] is False
    rules = [reason["rule"] for reason in found["reasons"]]
    assert rules[0] == expected[0]
    assert set(expected) <= set(rules)
    assert found["reason"] == found["reasons"][0]["message"]
    no_tile = rules[0] in ("type", "axis", "rank", "copies") or (dtype, rules[0]) == ("b1", "chunk")
    beyond_shared_memory = "bytes" in (found["witness"] or {})
    assert bool(found["nearest"]) != (no_tile or beyond_shared_memory)
    costs = [near["cost"] for near in found["nearest"]]
    assert costs == sorted(costs, key=COSTS.index)
    for near in found["nearest"]:
        again = match(parse(near["layout"]), operand=operand, dtype=dtype)
        assert again.legal
        assert (again.mode.name, again.major) == (near["mode"], near["major"])


def test_what_is_said_of_all_of_them(tilewise, golden):
    said = []
    for table in (LEGAL, ILLEGAL):
        for operand, dtype, _, spelled in cases(table):
            run = tilewise(*words(operand, dtype, spelled))
            said.append(f"$ tilewise match {spelled} --operand {operand} --dtype {dtype}\n{run.out}")
    golden(GOLDENS / "match.txt", "\n".join(said))


# -- the documents -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dtype", "lbo", "sbo"),
    [
        ("Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", "tf32", 16, 8),
        ("Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", "bf16", 16, 8),
        ("smem_ptr[16b]", "bf16", 16, 32),
        ("smem_ptr[16b] 64", "bf16", 32, 64),
    ],
)
def test_the_worked_examples_of_the_document(text, dtype, lbo, sbo):
    """Figures 166, 168, 169 and 170; the last two print byte swizzles, which a typed pointer reads."""
    typed = {
        "smem_ptr[16b]": "Sw<1,4,3> o smem_ptr[16b](0) o ((8,2,2),(8,2)):((1,8,128),(16,256))",
        "smem_ptr[16b] 64": "Sw<2,4,3> o smem_ptr[16b](0) o ((8,4,2),(8,2)):((1,8,256),(32,512))",
    }
    found = match(parse(typed.get(text, text)), operand="B", dtype=dtype)
    assert found.legal
    encoded = found.descriptor.encoded
    assert (encoded["lbo"], encoded["sbo"]) == (lbo, sbo)


def test_figure_167_as_it_is_printed():
    printed = parse("Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))")
    found = match(printed, operand="B", dtype="tf32")
    first, second = found.reasons
    assert (first.rule, first.witness["elements"]) == ("overlap", [[0, 8], [1, 0]])
    assert second.rule == "swizzle-unit"
    assert "Swizzle<1,2,3>" in second.hint
    near = found.nearest[0]
    assert (near.mode.name, near.major) == ("32B", "k")
    again = match(near.layout, operand="B", dtype="tf32")
    assert (again.descriptor.encoded["lbo"], again.descriptor.encoded["sbo"]) == (1, 16)


def test_layouts_that_cutlass_accepts_and_should_not():
    """Measured false accepts of make_gmma_desc and make_umma_desc: each is refused, with the reason."""
    for text, operand, dtype, major, rule in (
        ("(64,16):(1,64)", "A", "f16", "k", "major"),
        ("(64,16):(8,1)", "A", "f16", "mn", "overlap"),
        ("(64,32):(8,1)", "A", "f16", "k", "overlap"),
        ("(64,16):(8,1)", "B", "f16", None, "overlap"),
        ("(64,8):(8,1)", "B", "f16", "k", "k"),
        ("((8,8),(8,6)):((8,384),(1,64))", "B", "f16", "k", None),
        ("(8,(8,2)):(8,(1,131072))", "B", "f16", "k", "range"),
        ("(8,(8,2)):(8,(1,64)) + 4", "B", "f16", "k", "start"),
    ):
        body, _, offset = text.partition(" + ")
        layout = parse(body) + int(offset or 0)
        found = match(layout, operand=operand, dtype=dtype, major=major)
        assert found.legal == (rule is None), text
        if rule:
            assert found.reasons[0].rule == rule, text


# -- agreement with the neighbours ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*MODES])
@pytest.mark.parametrize("base", [0, 0x400, 0x680])
def test_match_and_stepping_say_the_same_of_a_tile(mode, base):
    for dtype, operand, rows, k in (("bf16", "A", 128, 128), ("e4m3", "B", 64, 256), ("f16", "B", 128, 64)):
        for major in Input.of(dtype).majors:
            for order in ("mn", "k"):
                fed = feeding(mode, major, dtype, rows, k, order, operand=operand, n=rows, base=base)
                layout = tile(mode, major, dtype, rows, k, order)
                found = match(
                    layout, operand=operand, dtype=dtype, n=None if operand == "A" else rows, base=base
                )
                assert found.legal
                fields = [
                    (step.mn, step.k, step.bytes, step.descriptor.start, step.base_offset)
                    for step in fed.steps
                ]
                assert fields == [
                    (step.mn, step.k, step.bytes, step.descriptor.start, step.base_offset)
                    for step in found.steps
                ]
                for name in ("lbo", "sbo"):
                    if name not in found.ignored:
                        assert getattr(found, name) == getattr(fed.descriptor, name)


@pytest.mark.parametrize("mode", [*MODES])
@pytest.mark.parametrize("major", ["k", "mn"])
def test_the_boxes_that_are_named_make_the_tile(mode, major):
    """A nearest tile that TMA writes: its boxes land, one after another, where the tile has its elements."""
    inner = MODES[mode].elements("bf16")
    rows, k = 128, 64
    layout = tile(mode, major, "bf16", rows, k, "mn" if major == "k" else "k").in_bytes("bf16")
    across = rows if major == "k" else k
    for number in range((k if major == "k" else rows) // inner):
        start = number * inner * across * 2
        box = landing((across, inner), "bf16", mode, start)
        strip = (number * inner, (number + 1) * inner)
        region = (None, strip) if major == "k" else (strip, None)
        part = layout.slice(*region).layout
        assert part.same(box if major == "k" else box.permute(1, 0)).answer


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("S[(64, 64) : (64, 1)]", True),
        ("S[(64, 64) : (64, 1)] + 64", True),
        ("S[(64, 32) : (64, 1)] + 32", False),
        ("Swizzle<1,4,-3> o S[((8, 8), (2, 8)) : ((128, 8), (64, 1))]", True),
        ("Swizzle<1,4,-3> o (S[((8, 8), (2, 8)) : ((128, 8), (64, 1))] + 8)", False),
        ("Swizzle<1,4,-3> o S[((8, 8), (2, 8)) : ((136, 8), (1088, 1))]", False),
        ("Swizzle<1,4,-3> o S[((8, 8), (2, 8)) : ((64, 8), (520, 1))]", False),
    ],
)
def test_what_tma_cannot_write_is_not_said_to_be_written_by_it(text, written):
    """Where atoms start at no multiple of 128 bytes, the same strides under their swizzle are no box."""
    found = match(parse(text), operand="B", dtype="bf16")
    assert found.reasons[0].repair is not None
    assert ("the same strides" in found.nearest[0].message) == written
    assert {near.cost for near in found.nearest} == {"tma"}


def test_a_tile_past_the_end_is_not_offered_as_it_is():
    asked = {"operand": "B", "dtype": "bf16", "n": 100, "base": 0x37400}
    found = match(parse("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"), **asked)
    assert found.reasons[0].rule == "n"
    assert "nothing" not in {near.cost for near in found.nearest}


def test_a_tile_at_an_address():
    layout = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    aligned = match(layout, operand="A", dtype="bf16", base=0x400)
    assert (aligned.descriptor.start, aligned.descriptor.base_offset, aligned.alignment) == (0x400, 0, 1024)
    moved = match(layout, operand="A", dtype="bf16", base=0x480)
    assert (moved.descriptor.start, moved.descriptor.base_offset) == (0x480, 1)
    absolute = match(layout, operand="A", dtype="bf16", base=0x480, pattern="address")
    assert (absolute.descriptor.start, absolute.descriptor.base_offset) == (0x480, 0)
    assert not match(layout, operand="A", dtype="bf16", base=0x410).legal
    assert match(layout, operand="A", dtype="bf16", base=0x410, pattern="address").legal


def test_the_largest_instruction_that_reads_the_tile_is_taken():
    even = Swizzle(3, 3, 3) @ S[(512, 64) : (64, 1)]
    assert match(even, operand="B", dtype="bf16").instruction == (64, 256, 16)
    gapped = Swizzle(3, 3, 3) @ S[((4, 96), 64) : ((8192, 64), 1)]
    found = match(gapped, operand="B", dtype="bf16")
    assert (found.instruction, found.mn_steps) == ((64, 96, 16), 4)
    assert match(even, operand="B", dtype="bf16", n=64).mn_steps == 8
    assert match(even, operand="A", dtype="bf16", n=64).instruction == (64, 64, 16)


# -- refusals of the question itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"engine": "tcgen06"},
        {"operand": "C"},
        {"major": "n"},
        {"dtype": "f17"},
        {"base": -16},
        {"pattern": "box"},
        {"base": 1.5},
    ],
)
def test_a_question_that_means_nothing_is_an_error(asked):
    question = {"operand": "B", "dtype": "bf16"} | asked
    with pytest.raises(LayoutError) as error:
        match(S[(64, 64) : (64, 1)], **question)
    assert error.value.code in CODES


def test_the_nearest_tiles_of_a_pattern_at_address_0_count_from_there(tilewise):
    asked = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "--operand", "A", "--dtype", "bf16", "--major", "mn"
    run = tilewise("match", *asked, "--base", "0x440", "--pattern", "address")
    assert "nearest, in elements from address 0:" in run.out
    assert "Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] + 544)" in run.out
    assert "nearest, in elements:" in tilewise("match", *asked, "--base", "0x400").out


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--operand", "B"),
        ("--dtype", "bf16"),
        ("--operand", "B", "--dtype", "bf16", "--n", "x"),
        ("--operand", "B", "--dtype", "bf16", "--base", "there"),
        ("--operand", "C", "--dtype", "bf16"),
        ("--operand", "B", "--dtype", "bf16", "--engine", "mma"),
    ],
)
def test_words_that_are_not_understood(more, tilewise):
    run = tilewise("match", "S[(64, 64) : (64, 1)]", *more, "--json")
    assert run.code == 2
    assert json.loads(run.out)["error"]["code"].startswith("TW")


def test_answers_go_from_one_command_to_the_next(tilewise):
    asked = ("--operand", "B", "--dtype", "bf16")
    text = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
    assert "imm-trans-b 0" in tilewise("match", "-", *asked, stdin=text).out
    refused = tilewise("match", "S[(64, 64) : (68, 1)]", *asked, "--json")
    assert tilewise("match", "-", *asked, stdin=refused.out).code == 0
    suggested = tilewise("suggest", *asked, "--tile", "64x64", "--json")
    found = tilewise("match", "-", *asked, "--json", stdin=suggested.out).json
    assert found["value"] == suggested.json["value"]


def test_every_rule_of_the_page_has_a_case():
    page = (Path(__file__).parents[2] / "docs/match.md").read_text(encoding="utf-8")
    table = page.partition("## Every rule")[2].partition("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {rule for row in rows for rule in re.findall(r"`([a-z0-9-]+)`", row)}
    tables = cases(ILLEGAL), cases(OF_TCGEN05)
    shown = {rule for table in tables for _, _, expected, _ in table for rule in expected}
    assert named - shown == {"differs"}
    assert shown <= named
