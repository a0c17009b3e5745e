"""Polynomials over names are the numbers that they become, and facts decide as all values do."""

from __future__ import annotations

import itertools
import operator
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewise
from tilewise import LayoutError, NotDecided, S, laneid
from tilewise.core.cases import cases, condition_text, conditions
from tilewise.core.known import NOTHING, NameFacts, known_of, name
from tilewise.core.polynomials import Condition, Polynomial, Quotient, named, valued
from tilewise.notation.facts import read_facts

NAMES = ("M", "N")
SMALL = range(7)
EVERY = [dict(zip(NAMES, values, strict=True)) for values in itertools.product(SMALL, repeat=2)]
SIGNS = {">=": operator.ge, "==": operator.eq}

terms = st.recursive(
    st.sampled_from([*NAMES, 0, 1, 2, 3, 8]),
    lambda inner: (
        st.tuples(st.sampled_from("+-*"), inner, inner)
        | st.tuples(st.just("//"), inner, st.sampled_from([1, 2, 3, 8]))
    ),
    max_leaves=5,
)


def value_of(term: object, values: dict[str, int] | None) -> int:
    """Return a term with names as they are, or with their values."""
    if isinstance(term, tuple):
        sign, one, other = term
        run = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}[sign]
        return run(value_of(one, values), value_of(other, values))
    if isinstance(term, str):
        return named(term) if values is None else values[term]  # type: ignore[return-value]
    return term  # type: ignore[return-value]


@given(term=terms)
def test_a_polynomial_becomes_the_number_that_its_parts_become(term: object) -> None:
    number = value_of(term, None)
    for values in EVERY[::7]:
        assert valued(number, values) == value_of(term, values)


@given(term=terms, other=terms, kind=st.sampled_from([">=", "==", "%"]), by=st.sampled_from([2, 3, 8]))
@settings(max_examples=200)
def test_facts_decide_only_what_all_values_say(term: object, other: object, kind: str, by: int) -> None:
    known = read_facts("M <= 6, N <= 6, M >= 1")
    fact = Condition(">=", value_of(other, None))
    more = known.with_fact(fact)
    admitted = [values for values in EVERY if values["M"] and value_of(other, values) >= 0]
    if more is None:
        assert not admitted
        return
    asked = Condition(kind, value_of(term, None), by)
    decided = more.decided(more.in_symbols(asked))
    if decided is not None:
        for values in admitted:
            number = value_of(term, values)
            truth = number % by == 0 if kind == "%" else SIGNS[kind](number, 0)
            assert truth is decided, (values, more.facts)


@given(
    term=terms, kind=st.sampled_from([">=", "==", "%"]), by=st.sampled_from([2, 3, 8]), truth=st.booleans()
)
@settings(max_examples=200)
def test_a_fact_keeps_all_values_that_fulfil_it(term: object, kind: str, by: int, truth: bool) -> None:
    condition = Condition(kind, value_of(term, None), by)
    known = read_facts("M <= 6, N <= 6").with_fact(condition, truth)
    right = [values for values in EVERY if condition.holds(values) is truth]
    if known is None:
        assert not right
        return
    for values in known.values(5):
        assert condition.holds(values) is truth
    for values in right:
        for own in NAMES:  # the name is what its symbols make of it, for some of their values
            assert known.decided(known.in_symbols(Condition("==", named(own) - values[own]))) is not False


def test_words_say_the_truth() -> None:
    names = {"ceildiv": lambda a, b: -(-a // b), "floordiv": lambda a, b: a // b}
    m, n = (named(own) for own in NAMES)
    for over, by in [(m - 3, 1), (3 - m, 1), (2 * m - 5, 1), (m - n + 1, 1), ((m + 7) // 8 - 1, 1), (m, 4)]:
        for kind, truth in itertools.product((">=", "==", "%"), (True, False)):
            condition = Condition(kind, over, by if kind == "%" else 1)
            for values in EVERY:
                assert eval(condition.text(truth), names, dict(values)) is (condition.holds(values) is truth)


def test_a_name_is_used_like_a_number() -> None:
    m = name("M", multiple=64, least=64)
    assert m % 8 == 0
    assert m // 8 * 8 == m
    assert (m * 2 > 100, 3 - m < 0, m - m, divmod(m, 32)[1]) == (True, True, 0, 0)
    layout = S[(m, 64) : (64, 1)] + 3
    assert str(layout) == "S[(M, 64) : (64, 1)] + 3"
    assert layout.size == 64 * m
    assert layout.coalesce().canonical() == S[64 * m : 1] + 3
    assert layout.place(1, 2) == {"m": 69}
    assert str(S[(8, m) : (4 @ laneid, m + 1)].strides) == "(4@laneid, M@m + 1@m)"
    assert str(pickle.loads(pickle.dumps(m + 1))) == "M + 1"
    with pytest.raises(NotDecided, match="depends on M == 128"):
        assert m == 128
    with pytest.raises(NotDecided, match="M has no value"):
        list(range(m))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("M % 8 == 3, M < 3", "no values fit"),
        ("M <", "expected a number"),
        ("M ? 3", "is no part of a fact"),
        ("3", "compares two numbers"),
        ("M N", "expected a comparison"),
        ("8 == M % 3", "a rest stands on the left"),
        ("2 >= 3", "this is never so"),
        ("ceildiv(M, 0) >= 1", "divides nothing"),
    ],
)
def test_what_is_no_fact(text: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        read_facts(text)


def test_cases_are_told_apart_and_joined() -> None:
    m, n = (named(own) for own in NAMES)

    def asked(known: NameFacts) -> bool:
        return bool(known.now(m) % 8 == 0) or bool(known.now(n) <= 2)

    found = cases(asked, read_facts("M, N >= 1"))
    yes = [case for case in found if case.answer]
    assert condition_text(conditions(found, yes)) == "M % 8 == 0 or N <= 2"
    for case in found:
        assert case.known.witness is not None
        assert case.answer == (case.known.witness["M"] % 8 == 0 or case.known.witness["N"] <= 2)


def test_a_set_of_numbers_asks_for_equal_ones() -> None:
    m, n = (named(own) for own in NAMES)
    found = cases(lambda known: len({known.now(m), known.now(n)}), NOTHING.with_names(*NAMES))
    assert {condition_text([case.path]): case.answer for case in found} == {"N == M": 1, "N != M": 2}


def test_numbers_stay_numbers() -> None:
    for number in (named("M") - named("M"), (named("M") * 8) % 4, named("M") * 0, (8 * named("M") + 3) % 8):
        assert type(number) is int
    assert isinstance(named("M") + 0, Polynomial)
    assert tilewise.parse("S[(M, 4) : (4, 1)]", let={"M": 3}) == S[(3, 4) : (4, 1)]


def test_quotients_are_no_nearer_than_they_are() -> None:
    """A quotient by a name, a product of large names and a name below 0 were bounded too narrowly."""
    known = read_facts("M, N >= 1, K")
    far = Polynomial({(Quotient(named("M") * named("M") * named("K"), named("N")),): 1})
    assert known.decided(Condition(">=", 2**64 - far)) is None
    low = known_of([name("x", least=-8, most=8)])
    assert low.decided(Condition(">=", named("x") * named("x") - 4 * named("x"))) is None
    with_multiple = low.with_fact(Condition("%", named("x"), 4))
    assert with_multiple is not None
    assert with_multiple.decided(with_multiple.in_symbols(Condition(">=", named("x")))) is None


@given(
    term=terms,
    by=st.sampled_from([2, 3, 8]),
    times=st.integers(-3, 3),
    left=st.integers(-9, 9),
    kind=st.sampled_from([">=", "=="]),
)
@settings(max_examples=200)
def test_a_floor_is_compared_as_its_numbers_are(
    term: object, by: int, times: int, left: int, kind: str
) -> None:
    over = value_of(term, None)
    for number in (over // by * times + left, over % by * times + left):
        found = cases(lambda known, own=number: SIGNS[kind](known.now(own), 0), NOTHING.with_names(*NAMES))
        for values in EVERY[::5]:
            (case,) = (own for own in found if all(c.holds(values) is truth for c, truth in own.path))
            assert case.answer is SIGNS[kind](valued(number, values), 0)
