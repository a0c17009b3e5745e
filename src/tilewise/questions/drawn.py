"""Questions that draw elements one by one: with names in a layout, they are drawn for some values of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps

from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.polynomials import Condition, facts_now, named, names_now, outside, valued
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, values_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from tilewise.core.known import NameFacts

    Drawing = TypeVar("Drawing", bound=Callable[..., Report])

MOST = 40
"""Values of the names that are tried, at most."""
_READING = ("storage", "unit", "dialect", "part", "triton", "tensor")


def for_values(function: Drawing) -> Drawing:
    """Return a question that draws a layout with names for small values of them, or those of --let."""

    @wraps(function)
    def drawn(layout: Layout | str, *words: Any, **options: Any) -> Report:
        if not names_now():
            return function(layout, *words, **options)
        from tilewise.core.known import NameFacts

        known = facts_now(())
        assert isinstance(known, NameFacts)
        let = values_in(options.get("let", ()))
        no: LayoutError | None = None
        for numbers in _drawn(known, let):
            given = options | {"let": {**let, **numbers}}
            own = _in_numbers(layout, numbers)
            try:
                with outside():
                    report = function(own, *words, **given)
            except LayoutError as error:  # as of an extent of 0
                no = no or error
                continue
            said = ", ".join(f"{name} = {value}" for name, value in numbers.items())
            return report.noted(f"drawn for {said}{_formula(layout, options, known.anew)}")
        raise no or NotDecided("no values were found that fit the facts", hint="say some: --let M=64")

    return drawn  # type: ignore[return-value]


def _in_numbers(layout: Layout | str, numbers: Mapping[str, int]) -> Layout | str:
    if isinstance(layout, str):
        return layout
    return layout.with_numbers(lambda own: valued(own, numbers))


def _drawn(known: NameFacts, let: Mapping[str, int]) -> list[dict[str, int]]:
    """Return values of the names, those of `let` first, that are 2 or more where they may be."""
    from tilewise.core.known import with_all

    for name in known.names:
        if name in let:
            known = with_all(known, Condition("==", named(name) - let[name]))
    return sorted(known.values(MOST), key=lambda own: sum(value < 2 for value in own.values()))


def _formula(layout: Layout | str, options: Mapping[str, Any], known: NameFacts) -> str:
    """Return the place of an element for all values of the names, as the end of a sentence; or nothing."""
    from tilewise.codegen.functions import Index
    from tilewise.codegen.named import named_function
    from tilewise.core.cases import cases
    from tilewise.questions.cases import filled

    def written(facts: NameFacts) -> str:
        reading = {name: options[name] for name in _READING if name in options}
        own = filled(layout, facts) if isinstance(layout, Layout) else Texts(**reading).layout(layout)
        function = named_function(by_coordinates(own), "python", "place_of", Index(), (), False, "")
        return ", ".join([*(f"{name} = {text}" for name, text in function.steps), *function.texts])

    found = cases(written, known)
    if len(found) != 1 or found[0].error is not None:
        return ""
    return f"; for all values an element is at {found[0].answer}"
