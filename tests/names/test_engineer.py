"""The conditions that the tool finds are those that an engineer writes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.names.engineer import QUESTIONS, Asked

from tilewise import LayoutError
from tilewise.cli.arguments import call_of
from tilewise.core.known import NameFacts
from tilewise.notation.facts import read_facts
from tilewise.questions.asking import as_a_shell_calls, question
from tilewise.questions.report import Report

FOUND = 90
"""Questions of the hundred whose condition is found, at least."""
OWN = {"ceildiv": lambda a, b: -(-a // b), "floordiv": lambda a, b: a // b}


def report_of(asked: Asked) -> Report:
    words = asked.words.split("|")
    if words[0] in (
        "logical_divide",
        "zipped_divide",
        "reshape",
        "group",
        "compose",
        "right_inverse",
        "inverse",
    ):
        words = ["algebra", *words]
    name, arguments = call_of([*words, "--where", asked.where])
    return as_a_shell_calls(question(name))(**arguments)


def condition_of(report: Report, wanted: str) -> str | None:
    """Return the condition on which a report has an answer, in Python, or None where it is not decided."""
    if wanted == "yes":
        if report.answer is None:
            return None
        return "True" if report.answer else report.contents.get("if", "False")
    field, _, value = wanted.partition("=")
    cases = report.contents.get("cases", [{"if": "True", **report.contents}])
    holding = []
    for case in cases:
        own = case.get(field, case.get("accesses", [{}])[0].get(field) if "accesses" in case else None)
        if own is None:
            return None
        if str(own) == (value or "True"):
            holding.append(case["if"])
    return " or ".join(f"({own})" for own in holding) or "False"


def values_of(known: NameFacts) -> list[dict[str, int]]:
    return [*known.values(60), *known.values(60, seed=1)]


def is_found(asked: Asked) -> str:
    """Return '' where the tool finds the condition, else what it says instead."""
    try:
        found = condition_of(report_of(asked), asked.wanted)
    except LayoutError as error:
        return f"{error.code}: {error.message}"
    if found is None:
        return "not decided"
    for values in values_of(read_facts(asked.where)):
        if any(own.isupper() and not value for own, value in values.items()):
            continue  # an extent of 0
        truth = bool(eval(found, dict(OWN), values))
        if truth != bool(eval(asked.condition, dict(OWN), values)):
            return f"{found}, which {_judged(asked, values, truth)} at {values}"
    return ""


def _judged(asked: Asked, values: dict[str, int], truth: bool) -> str:
    """Return "is right" where the tool answers so for the numbers themselves, else "is wrong"."""
    facts = ", ".join(f"{own} == {value}" for own, value in values.items())
    return (
        "is right"
        if condition_of(report_of(asked._replace(where=facts)), asked.wanted) == str(truth)
        else "is wrong"
    )


@pytest.mark.slow
def test_the_conditions_of_an_engineer_are_found() -> None:
    others: dict[Any, str] = {asked: said for asked in QUESTIONS if (said := is_found(asked))}
    assert len(QUESTIONS) == 100
    assert [asked for asked, said in others.items() if "is wrong" in said] == []
    assert len(QUESTIONS) - len(others) >= FOUND, others


if __name__ == "__main__":
    for own in QUESTIONS:
        if other := is_found(own):
            print(own.words, "|", own.where, "|", own.wanted, own.condition, "->", other)
