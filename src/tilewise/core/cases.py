"""Questions about numbers that are not known yet: one answer for each case that facts tell apart.

A question is run with polynomials in place of numbers. Where it meets a comparison that the facts leave open,
it is run again twice: with the comparison as a fact, and with its opposite. So each case is one way through
the same code that numbers take, and its answer holds for all values that take that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.known import NameFacts
from tilewise.core.polynomials import Condition, Effort, LeftOpen, Stuck, given, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 128
"""The most cases of one question."""
MOST_RUNS = 400
"""The most runs of one question for all values, and again for parts of cases that are not decided."""
MOST_PARTS = 32
"""The most values of a name, or rests, that are taken one by one where the answer is not decided for all."""
MOST_TRIED = 10_000
"""Bounds of polynomials that one question takes, at most."""
EVERY, LEAST_TRIED = 4, 100
"""The part of those left that one case may take, as 1 / 4, and bounds that each may take."""
MOST_TOLD = 300_000
"""Bounds of polynomials that are taken to tell the cases of one question in few words."""
MOST_EXAMPLES = 40
"""The most values that are tried for a no, where the answer is not decided for all."""
VALUES = "give the names values: --let M=64"
"""The hint where a question takes numbers."""
_NO_STEP = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
"""Errors of steps that are written for numbers, where they meet a name."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is known in it, and the answer there, or the error."""

    known: NameFacts
    answer: Any = None
    error: LayoutError | None = None
    example: Case | None = None
    """For a case that is not decided: values in it for which the answer is no; None if none were found."""

    @property
    def path(self) -> tuple[tuple[Condition, bool], ...]:
        """Return the conditions that lead to it, with their truth."""
        return self.known.path


def cases(
    ask: Callable[[NameFacts], Any], known: NameFacts, is_no: Callable[[Any], bool] = lambda answer: False
) -> list[Case]:
    """Return the cases of a question; `ask` is run with the facts of each.

    A refusal is a no, and so is an answer of which `is_no` is true. A case that is not decided falls apart
    into values or rests of a name, where these decide all of it; any other gets an example of a no.

    refused  TW303 for more than `MOST` cases
    """
    found = _cases(ask, [known], MOST, iter(range(MOST_RUNS)))
    if found is None:
        raise NotDecided(
            f"the answer has more than {MOST} cases",
            hint="say more about the names, such as --where 'M % 64 == 0, M >= 64'",
        )
    whole: list[Case] = []
    room, runs = MOST - len(found), iter(range(MOST_RUNS))
    for case in found:
        if not isinstance(case.error, NotDecided):
            whole.append(case)
            continue
        apart = _parts(case.known)
        parts = None if apart is None else _cases(ask, apart, room + 1, runs, in_parts=True)
        if parts is None:
            parts = [replace(case, example=_example_of_no(ask, case.known, is_no))]
        whole += parts
        room -= len(parts) - 1
    return whole


def _cases(
    ask: Callable[[NameFacts], Any],
    waiting: list[NameFacts],
    most: int,
    runs: Iterator[int],
    in_parts: bool = False,
) -> list[Case] | None:
    """Return the cases, or None for too many, or for more runs than are left.

    With `in_parts`, one that is not decided falls apart; the result is None where it has no few parts.
    """
    found: list[Case] = []
    left = MOST_TRIED
    for _ in runs:
        if not waiting:
            return found
        facts = waiting.pop()
        effort = Effort(max(left // EVERY, LEAST_TRIED))
        answer: Any = None
        error: LayoutError | None = None
        try:
            with given(facts, effort):
                answer = ask(facts)
        except LeftOpen as open_:
            waiting += _both(facts, open_)
            continue
        except Stuck as stuck:
            error = NotDecided(str(stuck), hint=VALUES)
        except LayoutError as raised:
            error = raised
        except _NO_STEP as raised:
            error = NotDecided("a step of this takes numbers, and names have no values", hint=VALUES)
            error.__cause__ = raised
        finally:
            left -= effort.taken
        if in_parts and isinstance(error, NotDecided):
            apart = _parts(facts)
            if apart is None:
                return None
            waiting += apart
            continue
        found.append(Case(facts, answer, error))
        if len(found) + len(waiting) > most:
            break
    return None


def _parts(facts: NameFacts) -> list[NameFacts] | None:
    """Return the facts of parts of a case, the last first; None where it has no few parts."""
    try:
        apart = facts.apart(MOST_PARTS)
    except RecursionError:
        return None
    return None if apart is None else apart[::-1]


def _example_of_no(
    ask: Callable[[NameFacts], Any], facts: NameFacts, is_no: Callable[[Any], bool]
) -> Case | None:
    """Return one of the values that facts admit, for which the answer is no, or None where none was found."""
    if facts.witness is None:
        return None
    for values in facts.values(MOST_EXAMPLES):
        if any(condition.holds(values) is not truth for condition, truth in facts.path):
            continue
        alone = facts.pinned(values)
        answer: Any = None
        error: LayoutError | None = None
        try:
            with given(alone, Effort(MOST_TRIED)):
                answer = ask(alone)
        except LayoutError as raised:
            if isinstance(raised, NotDecided) or raised.code == "TW102":  # no extent: there is no question
                continue
            error = raised
        except (Stuck, *_NO_STEP):
            continue
        if error is not None or is_no(answer):
            return Case(alone, answer, error)
    return None


def _both(facts: NameFacts, open_: LeftOpen) -> list[NameFacts]:
    """Return the facts of both cases of an open comparison, without those that no value fits."""
    try:
        yes = facts.with_fact(open_.condition, True, asked=not open_.required)
        no = None if open_.required else facts.with_fact(open_.condition, False, asked=True)
    except RecursionError:
        raise NotDecided("the facts about the names hang on one another too deeply") from None
    return [case for case in (no, yes) if case is not None]


def conditions(found: Sequence[Case], wanted: Iterable[Case]) -> list[list[tuple[Condition, bool]]]:
    """Return the conditions of some cases, as alternatives: each a list that holds together.

    Cases that differ in one condition alone are joined, and a condition is left out of an alternative where
    all cases that the others admit are wanted. Where one condition alone tells the other cases, its opposite
    tells these.
    """
    chosen = [*wanted]
    others = [case for case in found if all(case is not own for own in chosen)]
    if len(chosen) > 1:
        for condition, truth in others[0].path if others else ():
            tells = all(_truth_of(case.known, condition) is truth for case in others)
            if tells and not any(_admits([(condition, truth)], case) for case in chosen):
                return [_without_implied(found[0].known.anew, [(condition, not truth)])]
    alternatives: list[list[tuple[Condition, bool]]] = []
    for case in chosen:
        kept = [*case.path]
        for part in case.path:
            fewer = [own for own in kept if own is not part]
            if not any(_admits(fewer, other) for other in others):
                kept = fewer
        if kept not in alternatives:
            alternatives.append(kept)
    known = found[0].known.anew
    least: list[list[tuple[Condition, bool]]] = []
    for own in sorted(alternatives, key=len):
        if not any(_implies(known, own, other) for other in least):
            least = [other for other in least if not _implies(known, other, own)]
            least.append(own)
    return [_without_implied(known, own) for own in least]


def _implies(
    known: NameFacts, parts: Sequence[tuple[Condition, bool]], others: Sequence[tuple[Condition, bool]]
) -> bool:
    """Return True if all values that fulfil some conditions are shown to fulfil others."""
    try:
        facts = known.with_facts(parts)
    except Stuck:
        return False
    return facts is None or all(_truth_of(facts, condition) is truth for condition, truth in others)


def _without_implied(
    known: NameFacts, parts: Sequence[tuple[Condition, bool]]
) -> list[tuple[Condition, bool]]:
    """Return conditions without those that follow from the others; two bounds that meet are one equation.

    Where the effort of the question is spent, they stay as they are.
    """
    try:
        return _as_bounds(known, _least_of(known, parts))
    except Stuck:
        return [*parts]


def _least_of(known: NameFacts, parts: Sequence[tuple[Condition, bool]]) -> list[tuple[Condition, bool]]:
    facts = known.with_facts(parts)
    kept: list[tuple[Condition, bool]] = []
    for condition, truth in parts:
        meets = Condition("==", condition.over if truth else -condition.over - 1)
        if condition.kind == ">=" and facts and facts.truth_of(meets):
            kept.append((meets, True))
        else:
            kept.append((condition, truth))
    for part in [*kept]:
        fewer = [own for own in kept if own is not part]
        if _implies(known, fewer, [part]):
            kept = fewer
    return kept


def _as_bounds(known: NameFacts, parts: Sequence[tuple[Condition, bool]]) -> list[tuple[Condition, bool]]:
    """Return conditions with bounds for exceptions at the ends of a name: M >= 2 for M != 0 and M != 1."""
    facts = known.with_facts(parts)
    if facts is None:
        return [*parts]
    for name in known.names:
        low, high = facts.ends(name)
        own = [part for part in parts if part[0].kind != "%" and part[0].names == {name}]
        bounds = [(Condition(">=", named(name) - low), True)] if low > known.ends(name)[0] else []
        bounds += [(Condition(">=", high - named(name)), True)] if high < known.ends(name)[1] else []
        if low == high:
            bounds = [(Condition("==", named(name) - low), True)]
        others = [part for part in parts if part not in own]
        if len(bounds) < len(own) and _implies(known, [*others, *bounds], own):
            parts = [*others, *bounds]
    return [*parts]


def _admits(parts: Sequence[tuple[Condition, bool]], case: Case) -> bool:
    """Return True unless a condition is decided the other way in a case."""
    return all(_truth_of(case.known, condition) in (None, truth) for condition, truth in parts)


def _truth_of(known: NameFacts, condition: Condition) -> bool | None:
    """Return the truth of a condition, or None where facts, or the effort of the question, leave it open."""
    try:
        return known.truth_of(condition)
    except Stuck:
        return None


def condition_text(alternatives: Sequence[Sequence[tuple[Condition, bool]]]) -> str:
    """Return alternatives in words: `M % 8 == 0 and N >= 2 or M == 1`."""
    parts = [" and ".join(condition.text(truth) for condition, truth in own) for own in alternatives]
    return " or ".join(parts)
