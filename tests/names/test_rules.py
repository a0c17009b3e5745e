"""Rules that settle more questions of names, each beside the numbers that it is about."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tilewise import banks, info, match, relation, same, vector
from tilewise.core.cases import cases
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.known import NOTHING, NameFacts
from tilewise.core.polynomials import Condition, Effort, Stuck, given, is_named, named, valued
from tilewise.core.solve import _listed
from tilewise.notation.facts import read_facts
from tilewise.questions.algebra import algebra

FAR = 60


def facts(text: str) -> NameFacts:
    return read_facts(text, NOTHING)


def values_of(known: NameFacts) -> list[dict[str, int]]:
    """Return all values below a bound that the facts admit."""
    every = [dict(zip(known.names, own, strict=True)) for own in product(range(FAR), repeat=len(known.names))]
    return [own for own in every if all(fact.holds(own) is truth for fact, truth in known.said)]


@pytest.mark.parametrize(
    ("where", "least", "most"),
    [
        ("M, M*M + M <= 512", 0, 22),
        ("M, M*M >= 100", 10, FAR),
        ("M >= 2, M*M*M <= 64", 2, 4),
        ("M, floordiv(M + 4, 8) == floordiv(M + 12, 16)", 0, 34),
        ("M, ceildiv(M, 4) + M <= 10", 0, 8),
        ("N, M >= 2, M*N == 3*M + 12", 2, 12),
    ],
)
def test_bounds_follow_from_products_and_floors(where: str, least: int, most: int) -> None:
    known = facts(where)
    low, high = known.ends("M")
    values = [own["M"] for own in values_of(known)]
    assert least <= low <= min(values)
    assert max(values) <= high
    assert most == FAR or high <= most


@pytest.mark.parametrize(
    ("where", "floor", "told"),
    [
        ("65 <= N, N <= 128", lambda own: (own["N"] + 63) // 64, lambda own: 2),
        (
            "M*N % 8 == 0, M, N",
            lambda own: (own["M"] * own["N"] + 6) // 8,
            lambda own: own["M"] * own["N"] // 8,
        ),
        (
            "M*N % 4 != 0, M, N",
            lambda own: (own["M"] * own["N"] + 3) // 4,
            lambda own: own["M"] * own["N"] // 4 + 1,
        ),
        ("M % N == 0, N >= 9, M", lambda own: (own["M"] + 8) // own["N"], lambda own: own["M"] // own["N"]),
        (
            "M % N != 0, N >= 9, M > N",
            lambda own: (own["M"] - 1) // own["N"],
            lambda own: own["M"] // own["N"],
        ),
        ("65 <= M, M <= 127", lambda own: 128 // own["M"], lambda own: 1),
        ("M*M % 8 == 0, M", lambda own: own["M"] % 4, lambda own: 0),
    ],
)
def test_a_floor_is_told_by_what_is_known(
    where: str, floor: Callable[[Any], Any], told: Callable[[Any], Any]
) -> None:
    known = facts(where)
    with given(known):
        assert floor(known.meanings) == told(known.meanings)
    for own in values_of(known):
        assert floor(own) == told(own)


def test_a_quotient_of_few_values_has_a_case_for_each() -> None:
    found = cases(lambda known: 68 // known.meanings["M"], facts("M >= 4, M <= 100"))
    assert all(case.error is None for case in found)
    assert sorted({case.answer for case in found}) == sorted({68 // value for value in range(4, 101)})
    for value in range(4, 101):
        (case,) = [own for own in found if all(fact.holds({"M": value}) is truth for fact, truth in own.path)]
        assert case.answer == 68 // value


def test_a_name_of_few_values_is_taken_value_by_value() -> None:
    def ask(known: NameFacts) -> Any:
        value = known.meanings["M"]
        if is_named(value):
            raise NotDecided("a step of numbers")
        return value * value

    found = cases(ask, facts("M >= 3").with_fact(*facts("M <= 12").said[-1], asked=True) or NOTHING)
    assert [case.answer for case in found] == [value * value for value in range(3, 13)]
    (whole,) = cases(ask, facts("M >= 3"))
    assert isinstance(whole.error, NotDecided)


def test_values_show_a_no_where_no_case_is_decided() -> None:
    def ask(known: NameFacts) -> Any:
        value = known.meanings["M"]
        if is_named(value):
            raise NotDecided("a step of numbers")
        if value % 3 == 0:
            raise LayoutError("TW501", "no layout")
        return value % 3 == 1

    (case,) = cases(ask, facts("M"))
    assert case.example is not None
    assert case.example.error is not None
    assert case.example.known.meanings["M"] % 3 == 0
    (case,) = cases(ask, facts("M % 3 == 2"), lambda answer: answer is False)
    assert case.example is not None
    assert case.example.answer is False
    (case,) = cases(ask, facts("M % 3 == 1"), lambda answer: answer is False)
    assert case.example is None


def test_a_no_of_some_values_is_a_no_for_all() -> None:
    report = same("S[(2, M, 4) : (M, 3, 8*M)]", "S[(2, M, 4) : (M, 3, 8*M)]", where="M")
    assert report.answer is True
    report = info("S[(2, 4) : (8*N, 4*M)]", where="M, N")
    assert report.answer is None  # a list of facts has no yes or no, and no example
    layouts = ["S[(16, 2*M, 3) : (M, 2, -1)]", "S[2 : 2]"]
    report = algebra("logical_divide", layouts, where="M")
    assert report.answer is False
    values = report.contents["values"]
    assert "the digits of B carry in A" in str(report.contents["otherwise"])
    assert algebra("logical_divide", layouts, let=values).answer is False
    assert report.contents["open"]["reasons"] == [
        "whether a digit of 24*M is a layout was not decided within the bound"
    ]
    assert "not decided if" in report.shown()


def test_rests_by_the_divisor_of_a_floor_decide_a_case() -> None:
    """Refuse and answer for all M, where one answer with a floor in it was open before."""
    report = algebra("compose", ["S[(64, 8) : (4, 64*M)]", "S[(M, 2) : (2, 1)]"], where="M")
    assert report.contents["if"] == "M <= 4 or M <= 256 and M % 4 == 0"
    for m in (*range(1, 14), 16, 60, 62, 252, 255, 256, 257, 260):
        no = m > 256 or (m > 4 and m % 4 != 0)
        report = algebra("compose", ["S[(64, 8) : (4, 64*M)]", "S[(M, 2) : (2, 1)]"], let={"M": m})
        assert report.answer is not no


def test_a_divisor_of_a_number_is_taken_value_by_value() -> None:
    def ask(known: NameFacts) -> Any:
        value = known.meanings["M"]
        if is_named(value):
            raise NotDecided("a step of numbers")
        return value

    divisors = NOTHING.with_names("M").with_fact(Condition("%", 1152, named("M")), asked=True)
    assert divisors is not None
    found = cases(ask, divisors)
    assert [case.answer for case in found] == [value for value in range(1, 1153) if 1152 % value == 0]
    halves = divisors.with_fact(Condition("%", named("M"), 2))
    assert halves is not None
    assert [case.answer for case in cases(ask, halves)] == [
        value for value in range(2, 1153, 2) if 1152 % value == 0
    ]


def test_conditions_are_right_where_no_effort_is_left_for_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = ["S[(64, 8) : (4, 64*M)]", "S[(M, 2) : (2, 1)]"]
    short = algebra("compose", layouts, where="M")
    monkeypatch.setattr("tilewise.questions.cases.MOST_TOLD", 1)
    long = algebra("compose", layouts, where="M")
    assert len(long.contents["if"]) > len(short.contents["if"])
    alternatives = [own.replace(" and ", ", ") for own in long.contents["if"].split(" or ")]
    admitted = list(map(facts, alternatives))
    for m in range(1, 300):
        holds = any(all(fact.holds({"M": m}) is truth for fact, truth in own.said) for own in admitted)
        assert holds is (m <= 4 or (m <= 256 and m % 4 == 0))


def test_a_wide_range_with_names_at_its_ends_is_not_listed() -> None:
    m = named("M")
    with given(facts("M >= 1"), Effort(1000)):
        assert _listed(m, m + 6, 3) == (m, m + 3, m + 6)
        with pytest.raises(Stuck, match="all numbers from M to"):
            _listed(m, m + (1 << 40), 1)


# -- the hardware's readers ------------------------------------------------------------------------------

TILES = (
    "S[(64, 64) : (lda, 1)]",
    "S[(64, 64) : (1, lda)]",
    "S[((8, 16), 64) : ((64, lda), 1)]",
    "S[(64, (8, 8)) : (8, (1, lda))]",
    "S[((8, 8), (2, 8)) : ((lda, 64), (512, 1))]",
    "Swizzle<3,3,3> o S[((8, 8), (64, 2)) : ((64, 512), (1, lda))]",
    "Swizzle<2,3,3> o S[(64, (2, 32)) : (32, (lda, 1))]",
)


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("engine", "operand"), [("wgmma", "A"), ("tcgen05", "B")])
def test_match_agrees_with_numbers(tile: str, engine: str, operand: str) -> None:
    asked: dict[str, str] = {"operand": operand, "dtype": "bf16", "engine": engine}
    found = match(tile, where="lda >= 1, lda % 8 == 0", **asked)
    for value in (8, 16, 32, 64, 72, 96, 128, 520, 1024, 2560):
        one = match(tile, let={"lda": value}, **asked)
        if "values" in found.contents:  # yes for some
            if found.contents.get("if"):
                assert one.answer or not holds(found.contents["if"], value)
            continue
        (case,) = [own for own in found.cases if holds(own["if"], value)]
        assert case["legal"] is one.legal
        rules = [[reason["rule"] for reason in own["reasons"]] for own in (case, one.contents)]
        assert rules[0] in (rules[1], ["range"])


def holds(condition: str, lda: int) -> bool:
    return bool(eval(condition, {"lda": lda, "floordiv": int.__floordiv__}))


def test_match_reads_rows_of_any_pitch() -> None:
    found = match("S[(64, 64) : (lda, 1)]", operand="A", dtype="bf16", where="lda >= 98, lda % 64 == 2")
    assert [own["if"] for own in found.cases] == ["lda <= 1860", "lda >= 1861"]
    assert [own["reasons"][0]["rule"] for own in found.cases] == ["stride-16", "range"]
    assert "rows are 2*lda B (lda elements) apart" in found.shown()
    assert "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]" in found.shown()


def test_a_relation_takes_no_case_for_another_reading() -> None:
    facts = "M % 64 == 0, M >= 64, M <= 4096, lda >= 64, lda <= 8192"
    found = relation("S[(M, 64) : (lda, 1)]", "S[(M, 64) : (64, 1)]", where=facts)
    assert [own["if"] for own in found.cases] == ["lda == 64", "lda != 64"]
    assert [own["class"] for own in found.cases] == ["same", "memory"]


def test_the_width_of_a_vector_hangs_on_the_rest_of_a_stride() -> None:
    found = vector("S[(M, 64) : (lda, 1)]", "bf16", access="row", where="M % 64 == 0, M >= 64, lda >= 64")
    assert [line for line in found.shown().split("\n") if line[:2] == "if"] == [
        "if lda % 8 == 0:",
        "if lda % 8 != 0 and lda % 4 == 0:",
        "if lda % 2 == 0 and lda % 4 != 0:",
        "if lda % 2 != 0:",
    ]
    for own in found.cases:
        bytes = own["accesses"][0]["bytes"]
        rests = {lda % 8 for lda in range(65, 129) if eval(own["if"], {}, {"lda": lda})}
        assert all((2 * rest) % bytes == 0 for rest in rests)
        assert bytes == 16 or any((2 * rest) % (2 * bytes) for rest in rests)


@pytest.mark.parametrize(
    "tile", ["S[(M, 64) : (lda, 1)]", "S[(M, 8, 64) : (8*lda, lda, 1)]", "S[(M, 32) : (lda, 1)]"]
)
@pytest.mark.parametrize("access", ["row:16B", "row:4B", "row:8B"])
def test_conflicts_of_any_number_of_rows_are_those_of_numbers(tile: str, access: str) -> None:
    found = banks(tile, "f32", access=access, where="M % 16 == 0, M >= 16, lda >= 64")
    for m, lda in product((16, 48, 64), (64, 65, 66, 68, 72, 80, 100, 128)):
        numbers = {"M": m, "lda": lda}
        try:
            one = banks(tile, "f32", access=access, let=numbers)
        except LayoutError:
            one = None
        condition = found.contents.get("if", "True")
        assert bool(eval(condition, {}, numbers)) is bool(one)
        if one:
            cases = found.contents.get("cases", [found.contents])
            own = [own for own in cases if len(cases) == 1 or eval(own["if"], {}, numbers)]
            assert valued(own[0]["wavefronts"], numbers) == one.wavefronts
