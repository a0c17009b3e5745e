"""Texts with sizes that are not known: CuTe's `?`, arrays of torch and JAX, facts of Triton, documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.names.questions import NAMES, drawn

from tilewise import (
    LayoutError,
    NotDecided,
    S,
    Swizzle,
    at,
    banks,
    info,
    name,
    parse,
    same,
    say,
    show,
    table,
    vector,
)
from tilewise.core.layout import Layout
from tilewise.core.polynomials import named, valued
from tilewise.core.vectors import ZERO
from tilewise.notation import from_json, to_cute, to_json
from tilewise.notation.dialects import DIALECTS
from tilewise.notation.dialects.array import names_in
from tilewise.questions.algebra import algebra


def test_dynamic_values_of_cute_are_names() -> None:
    report = at("(?,64):(?{i64 div=8},1)", (0, 5), where="d1 >= 64")
    assert "5@m" in report.shown()
    assert any("d0, d1" in note for note in report.asides)
    assert same("(?,64):(?,1)", "(?,64):(?,1)", where="d0 == d2, d1 == d3").answer is True
    found = same("(?,64):(?,1)", "(?,64):(64,1)", where="d0 == d2, d0 >= 2")
    assert found.contents["if"] == "d1 == 64"
    assert vector("(64,64):(?{div=8},1)", "bf16", access="row:16B").answer is True


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f32[s77, 64][64, 1]cuda:0", "64*s77 elements"),
        ("f32[b,4*k]", "4*b*k elements"),
        ("reinterpret_tensor(buf0, (s0, 8, 64), (512, 64, 1), 0)", "512*s0 elements"),
        (
            "empty_strided_cuda((((127 + s0)//128), 64), (64, 1), torch.bfloat16)",
            "64*ceildiv(s0, 128) elements",
        ),
    ],
)
def test_symbolic_sizes_are_names(text: str, wanted: str) -> None:
    assert wanted in info(text).shown()


def test_sizes_with_values_are_numbers() -> None:
    report = info("f32[s0, 64][64, 1]cpu", let={"s0": 8})
    assert "cases" not in report.contents
    assert "512 elements" in report.shown()


def test_names_of_an_array_are_found() -> None:
    assert names_in("bf16[s0, 2*s1][2*s1, 1]cuda:0") == ["s0", "s1"]
    assert names_in("bf16[8, 2]") == []
    assert DIALECTS["array"].has_the_looks('"f32[s77, 64][64, 1]cuda:0"')
    assert not DIALECTS["array"].has_the_looks("f32[8,128]{1,0}")


ARGUMENTS = (
    "tt.func public @k(%a: !tt.ptr<bf16> {tt.divisibility = 16 : i32}, "
    "%lda: i32 {tt.divisibility = 16 : i32}, %n: i32) attributes {noinline = false}"
)


@pytest.mark.parametrize("facts", [ARGUMENTS, "mod(lda, 16) == 0", "Eq(Mod(lda, 16), 0), Ge(lda, 64)"])
def test_facts_of_others_are_read(facts: str) -> None:
    assert vector("S[(64, 64) : (lda, 1)]", "bf16", access="row:16B", where=facts).answer is True


def test_a_broken_fact_is_shown() -> None:
    with pytest.raises(LayoutError, match="expected a comparison"):
        vector("S[(64, 64) : (lda, 1)]", "bf16", access="row:16B", where="Ge(lda, 64")


def test_bank_conflicts_by_the_rest_of_a_stride() -> None:
    tile = "S[(64, 64) : (64 + pad, 1)]"
    report = banks(tile, "f16", access="ldmatrix.x4", where="pad % 8 == 0, pad >= 8")
    free = [case["if"] for case in report.cases if case["excess"] == 0]
    assert free == ["pad % 16 != 0"]
    for pad in (8, 16, 24, 32, 64):
        numbers = banks(tile, "f16", access="ldmatrix.x4", let={"pad": pad})
        assert (numbers.excess == 0) == (pad % 16 != 0)


def test_a_picture_is_drawn_for_values_of_the_names() -> None:
    report = show("S[(M, 8) : (lda, 1)]", where="M, lda >= 8", let={"M": 3, "lda": 12}, ascii=True)
    assert "2 | 24 25" in report.shown()
    assert report.asides == ("drawn for M = 3, lda = 12; for all values an element is at i * lda + j",)
    swizzled = show("Swizzle<3,0,3> o S[(M, 8) : (8, 1)]", where="M % 8 == 0", ascii=True)
    assert "at m = i * 8 + j, m ^ ((m & 0x38) >> 3)" in swizzled.asides[0]
    rows = table("S[(M, 4) : (lda, 1)]", where="M, lda >= 8", let={"M": 2})
    assert rows.shape == (2, 4)
    with pytest.raises(LayoutError, match="an extent must be positive"):
        show("S[(M, 8) : (8, 1)]", where="M <= 0")


def test_answers_do_not_hang_on_the_order_of_sets() -> None:
    words = ["banks", "S[(64, 64) : (64 + pad, 1)]", "--dtype", "f16", "--access", "ldmatrix.x4"]
    words += ["--where", "pad % 8 == 0, pad <= 64"]
    answers = {
        subprocess.run(
            [sys.executable, "-m", "tilewise", *words],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "013"
    }
    assert len(answers) == 1


def test_each_answer_of_a_conditional_yes_has_its_condition() -> None:
    a, b, facts = "S[(M, K) : (lda, 1)]", "S[(8, 64) : (64, 1)]", "M % 64 == 0, K % 64 == 0, lda >= K"
    found = algebra("compose", [a, b], where=facts)
    assert found.answer is False
    for m, k, lda in ((64, 64, 72), (128, 128, 600), (64, 256, 256), (64, 512, 600), (192, 192, 201)):
        numbers = {"M": m, "K": k, "lda": lda}
        one = algebra("compose", [a, b], let=numbers)
        assert bool(eval(found.contents["if"], {}, numbers)) is bool(one.answer)
        own = [case for case in found.cases if eval(case["if"], {}, numbers)]
        if one.answer:
            (case,) = own
            filled = case["result"].with_numbers(lambda number, values=numbers: valued(number, values))
            assert filled.same(one.result)


def test_a_mistyped_name_in_a_fact_is_noted() -> None:
    report = info("S[(M, 64) : (lda, 1)]", where="M >= 2, lda >= 64, Ida == 64")
    assert report.asides == ("facts are about Ida, which is in no text here; lda is",)
    assert info("S[(M, 64) : (lda, 1)]", where="M >= 2, lda >= N, N >= 64").asides == ()
    with pytest.raises(LayoutError) as error:
        info("S[(M, 64) : (lda, 1)]", where="M = 2, lda")
    assert error.value.hint == "write == for 'is'"


# -- documents, and answers in JSON ----------------------------------------------------------------------


def layouts_with_names(times: int) -> list[Layout]:
    questions = [drawn(seed) for seed in range(times)]
    found = [part for question in questions for part in vars(question).values() if isinstance(part, Layout)]
    return [layout for layout in found if layout.has_names]


def test_documents_with_names_come_back(times) -> None:
    layouts = layouts_with_names(times(400))
    assert len(layouts) > times(100)
    for layout in layouts:
        document = json.loads(json.dumps(to_json(layout)))
        assert from_json(document) == layout
        assert to_json(from_json(document)) == document


def test_cute_reads_what_it_is_said(times) -> None:
    said = 0
    plain = [replace(own, offset=ZERO) for own in layouts_with_names(times(400))]
    offset = name("K") * 64
    for layout in [*plain, *(Swizzle(3, 3, 3) @ (own + offset) for own in plain)]:
        try:
            text = to_cute(layout)
        except LayoutError:
            continue
        again = parse(text, let={own: name(own) for own in (*NAMES, "K")})
        assert again.in_order("row") == layout, text
        said += 1
    assert said > times(50)


def test_a_document_has_the_facts_about_its_names() -> None:
    document = say("S[(M//64, 64) : (lda, 1)]", as_="json", where="M % 64 == 0, lda >= N, lda >= 64").text
    assert json.loads(document)["where"] == ["M % 64 == 0", "M >= 64", "lda >= 64"]
    assert info(document).contents["where"] == json.loads(document)["where"]
    assert at(document, (1, 3), let={"M": 128, "lda": 72}).places == (S[(2, 64) : (72, 1)].place(1, 3),)
    for wrong in ({"let": {"M": 100, "lda": 64}}, {"where": "M % 64 == 3, lda"}):
        with pytest.raises(LayoutError) as error:
            at(document, (1, 3), **wrong)
        assert error.value.code == "TW007"
    (place,) = at(document, (1, 3), where="M >= 128").places
    assert place["m"] == named("lda") + 3


def test_an_answer_by_cases_goes_on_in_each_of_them() -> None:
    a, b = "S[(64, 8) : (4, 64*M)]", "S[(M, 2) : (2, 1)]"
    answer = json.dumps(algebra("compose", [a, b], where="M").data())
    for m in range(1, 24):
        one = algebra("compose", [a, b], let={"M": m})
        if not one.answer:
            with pytest.raises(LayoutError, match="holds no layout"):
                info(answer, let={"M": m})
            continue
        assert same(answer, one.result, let={"M": m}).answer is True
    assert same(answer, "S[((M//4, 4), 2) : ((4, 128*M), 64*M)]", where="M % 4 == 0, M >= 12").answer is False
    within = "M % 4 == 0, M >= 12, M <= 256"
    assert same(answer, "S[((M//4, 4), 2) : ((4, 128*M), 64*M)]", where=within).answer is True


def test_an_answer_in_bytes_keeps_its_names() -> None:
    told = json.dumps(algebra("coalesce", ["S[(M, 2) : (4, 2)]"], where="M >= 2", unit="byte").data())
    assert info(told, dtype="bf16").text["tilewise"] == "S[2*M : 1]"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"shape": ["M//", 64]}, "TW004"),
        ({"shape": ["K", 64]}, "TW007"),
        ({"shape": ["8", 64]}, "TW101"),
        ({"where": "M"}, "TW108"),
        ({"where": ["M %"]}, "TW004"),
        ({"where": []}, "TW007"),
    ],
    ids=str,
)
def test_documents_with_wrong_names_are_refused(change: dict[str, object], code: str) -> None:
    document = {**to_json(S[(name("M"), 64) : (64, 1)]), **change}
    with pytest.raises(LayoutError) as error:
        from_json(document)
    assert error.value.code == code


@pytest.mark.parametrize(
    "said",
    [{"where": 5}, {"where": "M"}, {"cases": 5}, {"cases": [5]}, {"cases": [{"if": 5}]}, {"if": "M = 5"}],
    ids=str,
)
def test_answers_of_no_form_are_refused(said: dict[str, object]) -> None:
    with pytest.raises(LayoutError) as error:
        info(json.dumps({"schema": 1, "op": "compose", "result": "S[8 : 1]", **said}))
    assert error.value.code in ("TW002", "TW108")


OPEN = {
    "schema": 1,
    "op": "compose",
    "result": "S[M : 1]",
    "if": "M >= 8",
    "values": {"M": 1},
    "otherwise": {"reason": "B names index 9"},
    "open": {"if": "M <= 7 and M >= 2", "reasons": ["not decided within the bound"]},
    "where": ["M"],
}


def test_what_was_not_decided_stays_so_in_the_next_answer() -> None:
    found = same(json.dumps(OPEN), "S[M : 1]", where="M")
    assert found.contents["if"] == "M >= 8"
    assert found.contents["open"]["reasons"] == ["not decided within the bound"]
    with pytest.raises(NotDecided, match="not decided within the bound"):
        info(json.dumps(OPEN), let={"M": 3})
    with pytest.raises(LayoutError, match="it is no for M = 1: B names index 9"):
        info(json.dumps(OPEN), let={"M": 1})
    cases = [{"if": "M == 4", "op": "compose", "result": "S[4 : 1]"}]
    cases += [{"if": "M >= 5", "answer": None, "reason": "a bound"}]
    with pytest.raises(NotDecided, match="a bound"):
        info(json.dumps({"schema": 1, "cases": cases, "where": ["M >= 4"]}), let={"M": 6})


def test_an_error_of_all_cases_is_an_error() -> None:
    told = say("S[(M, 8) : (lda, 1)]", where="M >= 1, lda >= 8")
    with pytest.raises(LayoutError, match="an answer of `say`"):
        at(json.dumps(told.data()), (1, 1))
    with pytest.raises(LayoutError, match="TW201"):
        at("S[(M, 8) : (lda, 1)]", (0, 9), where="M >= 1, lda >= 8")


def test_sizes_of_two_texts_have_names_of_their_own() -> None:
    one = json.dumps(algebra("canonical", ["(?,64):(?,1)"], where="d0 >= 2, d1 >= 65").data())
    assert same(one, "(?,64):(?,1)", where="d0 >= 2, d1 >= 65").contents["if"] == "d0 == d2 and d1 == d3"


def test_facts_with_a_name_that_divides_come_back() -> None:
    said = say("S[(M, N) : (N, 1)]", as_="json", where="M*N <= 4096, M % N == 0, N >= 2").text
    assert json.loads(said)["where"] == ["M % N == 0", "N >= 2"]
    assert at(said, (1, 1), let={"M": 8, "N": 4}).places == (S[(8, 4) : (4, 1)].place(1, 1),)
    with pytest.raises(LayoutError, match="M % N == 0"):
        at(said, (1, 1), let={"M": 9, "N": 4})
