"""Names in texts, and facts about them, as a shell gives them."""

from __future__ import annotations

import json

import pytest

TILE, FLAT = "S[(M, 64) : (lda, 1)]", "S[M*64 : 1]"


def test_a_yes_for_all_values(tilewise):
    run = tilewise("same", "S[(M, 64) : (64, 1)]", FLAT, "--where", "M", "--json")
    assert run.code == 0
    assert run.json == {"same": True, "where": ["M"]}


def test_a_condition_and_values_for_a_no(tilewise):
    run = tilewise("same", TILE, FLAT, "--where", "M, lda", "--json")
    assert run.code == 1
    assert run.json["if"] == "M == 1 or lda == 64"
    values = run.json["values"]
    assert values["M"] > 1
    assert values["lda"] != 64
    for at in ({"M": 1, "lda": 5}, {"M": 3, "lda": 64}, values):
        lets = [word for name, value in at.items() for word in ("--let", f"{name}={value}")]
        assert tilewise("same", TILE, FLAT, *lets).code == (0 if at is not values else 1)


def test_cases_of_an_answer_that_is_no_yes_or_no(tilewise):
    run = tilewise("info", TILE, "--where", "M >= 2, lda >= 64", "--json")
    assert run.code == 0
    assert [(case["if"], case["contiguous"]) for case in run.json["cases"]] == [
        ("lda == 64", True),
        ("lda >= 65", False),
    ]
    assert run.json["cases"][1]["axes"]["m"]["max"] == "M*lda - lda + 63"


def test_numbers_with_names_are_texts_in_json_and_others_numbers(tilewise):
    run = tilewise("at", TILE, "i,5", "--where", "M, i < M, lda >= 1", "--json")
    assert run.json["index"] == ["i", 5]
    assert run.json["places"] == [{"m": "i*lda + 5"}]
    assert tilewise("at", TILE, "2,5", "--let", "M=4", "--let", "lda=64", "--json").json["places"] == [
        {"m": 133}
    ]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ("M < 0, lda", "no values fit this fact"),
        ("M", "'lda' has no value"),
        ("M, lda ?", "is no part of a fact"),
        ("M, lda, K", ""),
    ],
)
def test_facts_that_do_not_fit(tilewise, facts, words):
    run = tilewise("same", TILE, FLAT, "--where", facts)
    assert run.code == (2 if words else 1)
    assert words in run.err


def test_a_name_has_a_value_that_fits_its_facts(tilewise):
    run = tilewise("same", TILE, FLAT, "--where", "M >= 5, lda", "--let", "M=4")
    assert run.code == 2
    assert "M = 4 does not fit the facts" in run.err
    run = tilewise("same", TILE, FLAT, "--where", "M, lda", "--let", "M=4", "--let", "lda=64")
    assert run.code == 0


def test_what_takes_numbers_in_some_cases_has_a_no_all_the_same(tilewise):
    asked = "match", TILE, "--operand", "A", "--dtype", "bf16", "--where"
    run = tilewise(*asked, "M >= 2, lda >= 64")
    assert run.code == 1
    assert "no for M = 192, lda = 72:" in run.out
    assert "not decided" in run.out
    assert tilewise(*asked, "M % 64 == 0, lda % 64 == 0, lda >= 64").code == 1


def test_a_tile_of_any_number_of_rows_is_read_where_shared_memory_holds_it(tilewise):
    tile = "Swizzle<3,3,3> o S[(M, 64) : (64, 1)]"
    run = tilewise("match", tile, "--operand", "A", "--dtype", "bf16", "--where", "M % 64 == 0", "--json")
    fields = json.loads(run.out)
    assert run.code == 1
    assert fields["if"].startswith("M <= ")
    assert 1792 <= int(fields["if"].split()[-1]) < 1856
    assert "open" not in fields
    for many in (64, 1792, 1856):
        number = tilewise("match", tile, "--operand", "A", "--dtype", "bf16", "--let", f"M={many}")
        assert number.code == (0 if many <= 1855 else 1)


def test_layouts_with_names_are_values_in_python():
    import tilewise as tw

    m, lda = tw.name("M", least=2), tw.name("lda", least=64, most=4096)
    report = tw.same(tw.S[(m, 64) : (lda, 1)], tw.S[64 * m : 1])
    assert (report.answer, report.contents["if"]) == (False, "lda == 64")
    assert tw.info(tw.S[(m, 64) : (64, 1)]).size == 64 * m
    with pytest.raises(tw.LayoutError, match="made in two ways"):
        tw.same(tw.S[m:1], tw.S[tw.name("M") : 1])


def test_names_inside_of_an_index_are_found_in_python():
    import tilewise as tw

    i = tw.name("i", most=7)
    assert tw.at(tw.S[(8, 8) : (8, 1)], (i, 5)).places == ({"m": 8 * i + 5},)


def test_a_case_without_values_is_no_yes(tilewise, monkeypatch):
    from tilewise.core.known import NameFacts

    monkeypatch.setattr(NameFacts, "values", lambda self, number, seed=0: iter(()))
    run = tilewise("same", TILE, FLAT, "--where", "M, lda")
    assert run.code == 3
    assert "no values were found for this case" in run.out
