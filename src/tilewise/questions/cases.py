"""Questions about layouts with names in them: one answer for all values, or one for each case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from tilewise.core.cases import MOST_TOLD, Case, cases, condition_text, conditions
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.known import NameFacts, known_of
from tilewise.core.layout import Layout
from tilewise.core.polynomials import Effort, Polynomial, given
from tilewise.core.vectors import Vector
from tilewise.questions.report import NamesWanted, Report, as_json, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeGuard

    _Answered: TypeAlias = tuple[Report, list[Case]]
    """A report, and the cases that have it."""


def has_names(values: Mapping[str, Any]) -> bool:
    """Return True if a value of a question has a name in it."""
    return any(_numbers_of(value) for value in values.values())


def by_cases(
    ask: Callable[..., Report], values: Mapping[str, Any], where: str | Sequence[str] = ()
) -> Report:
    """Return the report of a question for all values of the names in it.

    Where cases differ in yes and no, the report has the condition of yes, and a witness for no; where they
    differ otherwise, it has each case.
    """
    from tilewise.notation.facts import read_facts

    known = known_of(number for value in values.values() for number in _numbers_of(value))
    for text in [where] if isinstance(where, str) else where:
        known = read_facts(text, known)

    def asked(facts: NameFacts) -> Report:
        return ask(**{name: filled(value, facts) for name, value in values.items()})

    found = cases(asked, known, lambda report: report.answer is False)
    if wanted := next((case.error for case in found if isinstance(case.error, NamesWanted)), None):
        raise wanted
    reports: list[Report] = [case.answer for case in found if case.error is None]
    shared = (
        [note for note in reports[0].asides if all(note in own.asides for own in reports)] if reports else []
    )
    with given(known, Effort(MOST_TOLD)):
        report = _report(found)
    if known.names and "where" not in report.contents:
        report = replace(report, contents={**report.contents, "where": known.spelled(known.names)})
    return report.noted(*shared, *_mistyped(values, known))


def _mistyped(values: Mapping[str, Any], known: NameFacts) -> Iterator[str]:
    """Yield notes on names in facts that no text has, and that are nearly those of others."""
    texts = " ".join(value for value in values.values() if isinstance(value, str))
    words = {*re.findall(r"[^\W\d]\w*", texts)} & {*known.names}
    for name in known.names if words else ():
        near = get_close_matches(name.lower(), {word.lower(): word for word in words}, n=1, cutoff=0.6)
        if name not in words and near:
            meant = next(word for word in words if word.lower() == near[0])
            yield f"facts are about {name}, which is in no text here; {meant} is"


def _report(found: Sequence[Case]) -> Report:
    """Return the report of all cases."""
    if len(found) == 1 and found[0].error is not None and found[0].example is None:
        raise found[0].error
    misused = [case.error for case in found if _is_misuse(case.error)]
    if len(misused) == len(found) and len({str(error) for error in misused}) == 1:
        raise misused[0]
    groups = _joined([(_answer_of(case), [case]) for case in found])
    groups = [(_shown_to_be(report, members), members) for report, members in groups]
    answers = {report.answer for report, _ in groups}
    no = _no(groups)
    if no is not None and (len(answers) > 1 or None in answers):
        return _conditional(found, groups, *no)
    if len(groups) == 1:
        return groups[0][0]
    answer = None if None in answers else answers.pop()
    return Report({"cases": _fields(found, groups)}, "\n".join(_lines(found, groups)), answer)


def _is_misuse(error: LayoutError | None) -> TypeGuard[LayoutError]:
    """Return True for an error that is no answer."""
    return error is not None and not isinstance(error, Refused | NotDecided)


def _no(groups: Sequence[_Answered]) -> tuple[dict[str, int], Report] | None:
    """Return values of the names for which the answer is no, with it, or None where none were found."""
    for report, members in groups:
        for case in members if report.answer is False else ():
            if case.known.witness is not None:
                return case.known.witness, report
    for _, members in groups:
        for case in members:
            if case.example is not None:
                return {**case.example.known.meanings}, _answer_of(case.example)  # type: ignore[dict-item]
    return None


def _lines(found: Sequence[Case], groups: Sequence[_Answered]) -> list[str]:
    """Return each answer under its condition; one text stands once."""
    texts: dict[str, list[Case]] = {}
    for report, members in groups:
        texts.setdefault(report.shown(), []).extend(members)
    lines = []
    for text, members in texts.items():
        condition = condition_text(conditions(found, members))
        if not condition and len(texts) == 1:
            return text.split("\n")
        lines += [f"if {condition}:" if condition else "else:", *_indented(text)]
    return lines


def _fields(found: Sequence[Case], groups: Sequence[_Answered]) -> list[dict[str, Any]]:
    """Return the fields of each answer, with its condition."""
    return [
        {"if": condition_text(conditions(found, members)) or "else", **report.contents}
        for report, members in groups
    ]


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.split("\n")]


def _shown_to_be(report: Report, members: Sequence[Case]) -> Report:
    """Return the report of cases, or one that is not decided where no values were found for any of them.

    Facts may exclude such cases, and may not: nothing shows it.
    """
    if any(case.known.witness is not None for case in members):
        return report
    reason = "no values were found for this case, and none are excluded"
    return Report({"answer": None, "reason": reason}, reason, None)


def _joined(groups: Sequence[_Answered]) -> list[_Answered]:
    """Return groups of cases, those with one answer as one, and those that are a special case of another."""
    joined: list[_Answered] = []
    for report, members in groups:
        alike = [own for own, _ in joined if own.answer == report.answer and _is_one(own, report)]
        if alike:
            next(own for other, own in joined if other is alike[0]).extend(members)
        else:
            joined.append((report, [*members]))
    for report, members in [*joined]:
        for general, more in joined:
            if general is not report and all(_covers(general, report, case.known) for case in members):
                more.extend(members)
                joined = [pair for pair in joined if pair[0] is not report]
                break
    return joined


def _is_one(one: Report, other: Report) -> bool:
    """Return True if two reports say one thing, in words and in their fields.

    Values in a refusal are examples: the words tell it.
    """
    if one.shown() != other.shown():
        return False
    return not one.answer or as_json(one.contents) == as_json(other.contents)


def _covers(general: Report, report: Report, known: NameFacts) -> bool:
    """Return True if a report is another one, with what is known of names filled in."""
    if general.answer != report.answer or general.contents.keys() != report.contents.keys():
        return False
    if "reason" in general.contents or "error" in general.contents:
        return False
    try:
        with given(known):
            return bool(as_json(filled(general.contents, known)) == as_json(report.contents))
    except ZeroDivisionError:  # a quotient of the other one, by what is 0 here
        return False


def _conditional(
    found: Sequence[Case], groups: Sequence[_Answered], values: dict[str, int], refusal: Report
) -> Report:
    """Return the report where the answer is no for some values, and yes or not decided for others."""
    yes = [(report, members) for report, members in groups if report.answer]
    left_open = [(report, members) for report, members in groups if report.answer is None]
    lines = []
    fields: dict[str, Any] = {}
    if yes:
        condition = condition_text(conditions(found, [case for _, own in yes for case in own]))
        texts = {report.shown() for report, _ in yes}
        answer = _indented(texts.pop()) if len(texts) == 1 else _indented("\n".join(_lines(found, yes)))
        lines += [f"yes if {condition}:", *answer]
        fields = dict(yes[0][0].contents) if len(yes) == 1 else {"cases": _fields(found, yes)}
        fields["if"] = condition
    shown = ", ".join(f"{name} = {value}" for name, value in values.items())
    lines += [f"no for {shown}:", *_indented(refusal.shown())]
    fields |= {"values": values, "otherwise": dict(refusal.contents)}
    if left_open:
        members = [case for _, own in left_open for case in own]
        where = condition_text(conditions(found, members))
        reasons = list(dict.fromkeys(report.shown() for report, _ in left_open))
        lines += [f"not decided if {where}:" if where else "not decided for others:"]
        lines += [line for reason in reasons for line in _indented(reason)]
        fields["open"] = {"if": where or "else", "reasons": reasons}
    return Report(fields, "\n".join(lines), False)


def _answer_of(case: Case) -> Report:
    with given(case.known):  # a text may compare numbers, as for their signs
        report = _reported(case)
        return replace(report, screen=report.shown())


def _reported(case: Case) -> Report:
    error = case.error
    if error is None:
        answer: Report = case.answer
        return answer
    if isinstance(error, NotDecided):
        return Report({"answer": None, "reason": error.message}, error.message, None)
    if isinstance(error, Refused):
        return refused(error, {})
    return Report({"error": {"code": error.code, "message": error.message}}, str(error), False)


# -- values with names -----------------------------------------------------------------------------


def filled(value: Any, facts: NameFacts) -> Any:
    """Return a value with each name as what facts know of it."""
    if isinstance(value, Polynomial):
        return facts.now(value)
    if isinstance(value, Layout):
        return value.with_numbers(facts.now) if _numbers_of(value) else value
    if isinstance(value, Vector):
        return Vector(tuple([(axis, facts.now(steps)) for axis, steps in value.terms]))  # type: ignore[misc]
    if isinstance(value, Mapping):
        return {name: filled(part, facts) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(filled(part, facts) for part in value)
    return value


def _numbers_of(value: Any) -> list[Polynomial]:
    """Return the polynomials in a value of a question."""
    if isinstance(value, Polynomial):
        return [value]
    if isinstance(value, tuple | list):
        return [number for part in value for number in _numbers_of(part)]
    return value.named_numbers if isinstance(value, Layout) else []
