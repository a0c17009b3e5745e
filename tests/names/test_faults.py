"""Faults that were found in answers for names, each as a question that once went wrong."""

from __future__ import annotations

import pytest

from tilewise import LayoutError, NotDecided, S, coalesce, info, name, same
from tilewise.core.cases import cases
from tilewise.core.known import NOTHING, NameFacts, known_of
from tilewise.core.polynomials import Condition, is_named, named, truth_of
from tilewise.notation.facts import read_facts
from tilewise.questions.algebra import algebra
from tilewise.questions.code import code


@pytest.mark.parametrize(
    ("layout", "where"),
    [
        ("S[(4, 4) : (floordiv(N, 64), 1)]", "N <= 8589934592"),
        ("S[(2, 4) : (ceildiv(M, 8), 1)]", "M <= 2147483647"),
        ("S[(4, 4) : (M - N, 1)]", "M - N <= 10, M >= N"),
    ],
)
def test_integers_are_narrow_only_where_names_fit(layout: str, where: str) -> None:
    assert "int64_t" in code(layout, where=where, lang="c").code
    assert "int64_t" not in code("S[(2, 4) : (ceildiv(M, 8), 1)]", where="M <= 1000000", lang="c").code


def test_a_sum_stands_in_parentheses_before_a_basis() -> None:
    text = code("S[(4, 4) : ((M + 1)@e0, 1@e1)]", where="M >= 1", lang="cute").code
    assert "make_stride((M + 1) * E<0>{}, E<1>{})" in text


def test_the_lowest_of_addresses_with_names_is_not_told() -> None:
    report = coalesce(
        "S[(8, (4, 16)) : (4*lda, (-lda, 1))] + 3*lda",
        "f16",
        access="row:16B",
        where="lda % 64 == 32, lda >= 32",
    )
    cases = report.contents.get("cases", [report.contents])
    assert all(case["accesses"][0]["alignment"] in (None, 128) for case in cases)


def test_a_common_factor_may_be_below_0() -> None:
    x = name("x", least=-8, most=-1)
    assert "holes       -23*x - 21," in info(S[(4, 8) : (3 * x, 2 * x)]).shown()
    for value in (-1, -2, -8):
        assert info(S[(4, 8) : (3 * value, 2 * value)]).holes["count"] == -23 * value - 21
    assert info(S[(2, 8) : (3 * x, 2 * x)]).injective is True


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("mod(M, 8)*2 == 0", "expected a comparison"),
        ("M % 8*2 == 0", "a rest of what"),
        ("M + 1 % 8 == 0", "a rest of what"),
        ("Eq(2*Mod(M, 8), 0)", "a fact compares"),
        ("M % 8 == 11", "is never 11"),
        ("M % 8 == -1", "is never -1"),
        ("M % -8 == 0", "divides nothing"),
    ],
)
def test_facts_that_are_no_facts_are_refused(facts: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        read_facts(facts)


def test_arguments_of_a_kernel_stand_beside_other_facts() -> None:
    known = read_facts("%M: i64 {tt.divisibility = 4 : i32}, M == 4")
    assert known.value_of(named("M")) == 4
    assert read_facts("(M + 1) % 8 == 0").decided(Condition("%", named("M") + 1, 8)) is None
    assert next(read_facts("(M + 1) % 8 == 0").values(1))["M"] % 8 == 7


def test_a_divisor_below_0_contradicts_nothing() -> None:
    known = NOTHING.with_names("M", "x")
    found = known.with_fact(Condition(">=", -named("x") - 1))
    assert found is None  # names are 0 or more
    x = name("x", least=-8)
    assert same(S[4:x], S[4:x], where="x <= -1, M >= 1, M % x == 0").answer is True


def test_cases_in_which_a_divisor_is_0_are_told_apart() -> None:
    for layout in ("S[(64, 64) : (K, N)]", "S[(8, 4) : (N, M)]"):
        names = "K,N" if "K" in layout else "M,N"
        assert "if" in info(layout, where=names).shown()
    assert info("S[(4, 4) : (N, 1)]", where="2*M % N == 0").shown()


def test_large_strides_end() -> None:
    assert info("S[(4, 8) : (1000000007, N)]", where="N").shown()


def test_two_tensors_have_sizes_of_their_own() -> None:
    found = same("(?,64):(?,1)", "(?,64):(?,1)")
    assert found.answer is not True
    assert "d3" in found.shown()
    assert algebra("permute", ["(?,d0):(d0,1)", "1,0"], where="d0").answer is True


def test_a_divisor_that_has_a_name_in_it_does_not_replace_the_name() -> None:
    known = read_facts("M % 16 == 0, M >= 193", NOTHING)
    divisor = 16 * ((named("M") + 48) // 64) + 32
    with_it = known.with_fact(Condition("%", named("M"), divisor))
    assert with_it is not None
    for values in with_it.values(20, seed=3):
        assert values["M"] % (16 * ((values["M"] + 48) // 64) + 32) == 0


def test_a_quotient_by_what_is_0_in_a_case_is_no_traceback() -> None:
    report = info("S[(8, 64*M) : (64*M, N)]", where="M, N")
    assert report.contents["cases"]


def test_weights_of_places_that_may_be_one_cancel() -> None:
    """Answer for M = 3, where two levels of A wrap together and cancel."""
    outer = "S[((24, 2), (24, 6), (24, M)) : ((M, 0), (-1, 0), (1, 0))]"
    layouts = [outer, "S[12*M : 1@bx + 2@by + 1@bz]"]
    report = algebra("compose", layouts, modes="bx,by,bz", where="M >= 2")
    assert report.contents["if"] == "M == 3"
    for m in range(2, 7):
        answer = algebra("compose", layouts, modes="bx,by,bz", let={"M": m}).answer
        assert (answer is False) is (m != 3)


def test_a_divisor_of_a_number_may_be_a_part_of_a_name_or_below_0() -> None:
    report = algebra(
        "logical_divide",
        ["S[(192, N, 64) : (7, 64, 2)]", "S[M : 1]"],
        where="M % 8 == 0, M >= 8, M <= 2048, N >= 1",
    )
    assert report.answer is False

    def ask(known: NameFacts) -> int:
        value = known.meanings["M"]
        if is_named(value):
            assert truth_of("%", 12, value)
            raise NotDecided("a step of numbers")
        assert isinstance(value, int)
        return value

    found = [case.answer for case in cases(ask, known_of([name("M", least=-100, most=100)]))]
    assert {*found} >= {-12, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 12}


def test_a_divisor_of_a_number_is_a_fact() -> None:
    known = read_facts("M, 64 % M == 0")
    assert [case for case in known.said if case[0].kind == "%"]
    assert all(64 % values["M"] == 0 for values in known.values(6))
    with pytest.raises(LayoutError, match="never so"):
        read_facts("64 % 3 == 0")


def test_the_size_of_a_shape_with_names_is_no_question() -> None:
    layouts = ["S[M]", "S[floordiv(M, N)]"]
    report = algebra("logical_divide", layouts, where="M, N >= 1")
    assert report.answer is False
    assert algebra("logical_divide", layouts, let=report.contents["values"]).answer is False
    assert "open" not in report.contents
