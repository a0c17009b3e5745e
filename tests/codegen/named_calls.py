"""Functions of layouts with names, called on values of the names, and held against the layouts for these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from tests.codegen.definition import Calls, calls_of

from tilewise import Layout, LayoutError, NotDecided, name
from tilewise.codegen import Range, Source, source_of
from tilewise.core.cases import Case, cases
from tilewise.core.known import NameFacts, known_of
from tilewise.core.polynomials import valued
from tilewise.questions.cases import filled
from tilewise.testing.generate import random_layout

FORMS = (
    {"inverse": False, "flat": False},
    {"inverse": False, "flat": True},
    {"inverse": True, "flat": True},
    {"inverse": True, "flat": False},
)
MOST = 12
"""The most that a name is."""


def named_calls(lang: str, count: int, values: int, seed: int) -> Iterator[Calls]:
    """Every form of `count` layouts with names, each on so many values of its names."""
    rng = Random(seed)
    number = 0
    while count:
        layout = with_names(rng, replace(random_layout(rng), replica=(), unit="element"))
        if layout is None:
            continue
        count -= 1
        for form in FORMS:
            yield from _calls(layout, lang, f"f{number}", form, values, rng)
            number += 1


def with_names(rng: Random, layout: Layout) -> Layout | None:
    """Return a layout some of whose numbers are sums, products or quotients of names, or None."""
    names = [name(own, least=1, most=MOST) for own in ("M", "N", "K")[: rng.randint(1, 3)]]

    def number(own: int) -> Any:
        if own < 1 or rng.random() < 0.5:
            return own
        of = rng.choice(names)
        return rng.choice([of, of, of * own, of + own, of * rng.choice(names), (of + own) // (own + 1) + 1])

    try:
        made = layout.with_numbers(number)
    except NotDecided:  # an offset outside a swizzle: does it pass through?
        return None
    return made if made.named_numbers else None


def _calls(
    layout: Layout, lang: str, called: str, form: dict[str, bool], values: int, rng: Random
) -> Iterator[Calls]:
    """Yield the calls of the function of each case, on values that the case admits."""
    known = known_of(layout.named_numbers)

    def written(facts: NameFacts) -> tuple[Source, tuple[str, ...]]:
        own = filled(layout, facts)
        source = source_of(own, lang, name=called, inverse=form["inverse"], flat=form["flat"])
        axes = len(layout.axes) if form["inverse"] else 1 if form["flat"] else len(layout.shape)
        return source, tuple(argument.name for argument in source.arguments[axes:])

    try:
        found = cases(written, known)
    except NotDecided:
        return
    drawn = [*known.values(values, seed=rng.randrange(1 << 20))]
    for at, case in enumerate(found):
        if case.error is None:
            own = [one for one in drawn if _first(found, one) is case]
            calls = _together(layout, case.answer, form, own, rng)
            if calls is not None:
                renamed = replace(
                    calls.source,
                    name=f"{called}_{at}",
                    code=calls.source.code.replace(called, f"{called}_{at}"),
                )
                yield replace(calls, source=renamed)


def _first(found: list[Case], values: dict[str, int]) -> Case | None:
    return next((own for own in found if all(part.holds(values) is truth for part, truth in own.path)), None)


def _together(
    layout: Layout,
    written: tuple[Source, tuple[str, ...]],
    form: dict[str, bool],
    drawn: list[dict[str, int]],
    rng: Random,
) -> Calls | None:
    """Return the calls on all values together, each judged by the layout with these values."""
    source, names = written
    parts: list[Calls] = []
    rows: list[tuple[int, ...]] = []
    for values in drawn:
        numbers = layout.with_numbers(lambda own, values=values: valued(own, values))
        try:
            part = calls_of(numbers, "python", "f", form, rng)
        except LayoutError:  # it has no inverse for these: the function says nothing
            continue
        parts.append(part)
        rows += [(*row, *(values[own] for own in names)) for row in part.rows]

    def judge(results: list[tuple[int, ...]]) -> None:
        at = 0
        for part in parts:
            part.judge(results[at : at + len(part.rows)])
            at += len(part.rows)
        assert at == len(results)

    plain = tuple(Range(own.name, None, None) for own in source.results)
    return Calls(layout, replace(source, results=plain), rows, judge) if parts else None
