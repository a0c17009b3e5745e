"""Layouts as JSON documents, versioned, exact: integers of any size, axes in the order written.

A number with names is a text, such as "3*lda + 5", and `where` has what is known of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.errors import LayoutError
from tilewise.core.known import NOTHING
from tilewise.core.known import name as name_of
from tilewise.core.layout import Iter, Layout
from tilewise.core.polynomials import Condition, facts_now
from tilewise.core.shapes import MAX_NESTING
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector
from tilewise.notation.tokens import NAME
from tilewise.notation.trees import Names, NumberCursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
_KEYS = (
    *("schema", "shape", "strides", "replica", "offset", "swizzles", "outer"),
    *("unit", "storage", "order", "where"),
)


def to_json(layout: Layout) -> dict[str, Any]:
    """Return the document of a layout: `from_json(to_json(L)) == L`.

    >>> from tilewise import S, laneid, name
    >>> to_json(S[(8, 4) : (4@laneid, 1)])["strides"]
    [{'laneid': 4}, {'m': 1}]
    >>> document = to_json(S[(name("M", multiple=64), 64) : (64, 1)])
    >>> document["shape"], document["where"]
    (['M', 64], ['M % 64 == 0'])
    """
    own = [a.name for a in layout.axes if a.storage and a.name not in KNOWN]
    return {
        "schema": SCHEMA,
        "shape": _listed(layout.shape),
        "strides": [_steps(stride) for stride in layout.strides],
        "replica": [[_listed(it.extent), _steps(it.stride)] for it in layout.replica],
        "offset": _steps(layout.offset),
        "swizzles": [{"B": s.bits, "M": s.base, "S": s.shift, "axis": s.axis.name} for s in layout.swizzles],
        "outer": _steps(layout.outer),
        "unit": layout.unit,
        "storage": own,
        **({} if layout.order == "row" else {"order": layout.order}),
        **({"where": _facts_of(layout)} if layout.has_names else {}),
    }


def _facts_of(layout: Layout) -> list[str]:
    """Return what is known of the names of a layout, as text."""
    numbers = layout.named_numbers
    return facts_now(numbers).spelled(own for number in numbers for own in Condition("==", number).names)


def from_json(document: Any, let: Mapping[str, int] | None = None) -> Layout:
    """Return the layout of a document that `to_json` made; `let` has values of its names.

    A name without a value keeps its least and its most value and what divides it, as `tilewise.name` has
    them. Other facts of `where` are for the questions about the layout.

    >>> from tilewise import S
    >>> from_json(to_json(S[(8, 4) : (4, 1)] + 5))
    S[(8, 4) : (4, 1)] + 5
    >>> rows = {"schema": 1, "shape": [8, 64], "strides": [{"m": "lda"}, {"m": 1}], "where": ["lda >= 64"]}
    >>> print(from_json(rows), from_json(rows, let={"lda": 72}))
    S[(8, 64) : (lda, 1)] S[(8, 64) : (72, 1)]
    """
    if not isinstance(document, Mapping) or "schema" not in document:
        raise LayoutError("TW108", "not a layout document: it has no schema", hint="make one with --as json")
    if document["schema"] != SCHEMA or isinstance(document["schema"], bool):
        raise LayoutError(
            "TW108",
            f"a layout document of schema {document['schema']!r}; this version reads {SCHEMA}",
            hint="update tilewise, or write the document again",
        )
    if "text" in document:
        raise LayoutError(
            "TW108", "an answer of `say`, not a layout document", hint="pass on what `say --as json` prints"
        )
    unknown = [key for key in document if key not in _KEYS]
    if unknown:
        raise LayoutError(
            "TW108", f"a layout document has no key {unknown[0]!r}", hint="keys: " + " ".join(_KEYS)
        )
    try:
        return _layout(document, _numbers(document, let or {}))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, LayoutError):
            raise
        raise LayoutError("TW108", f"a layout document that does not hold together: {error!r}") from None


def where_of(document: Any) -> Sequence[str]:
    """Return the facts of a document about its names, as text."""
    return _texts(document.get("where", ()), "where") if isinstance(document, Mapping) else ()


def _numbers(document: Mapping[str, Any], let: Mapping[str, int]) -> Callable[[Any], Any]:
    """Return the function from a number of the document to its value; a text has names."""
    from tilewise.notation.facts import open_facts, read_facts

    facts = open_facts(where_of(document), let)
    known = read_facts(", ".join(facts)) if facts else NOTHING
    values = dict(let)
    for own in known.names:
        if own not in values:
            low, high = known.ends(own)
            parts = [fact.by for fact, truth in known.said if truth and str(fact.over) == own]
            multiple = lcm(*(by for by in parts if isinstance(by, int)))
            values[own] = name_of(own, multiple=multiple, least=low, most=high)  # type: ignore[assignment]
    names = Names(values, frozenset())

    def number(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        cursor = NumberCursor(value, names)
        found = cursor.number()
        cursor.expect_end("the number")
        if not any(token.kind == NAME for token in cursor.tokens):
            raise LayoutError("TW101", f"{value!r} is a text without a name", hint="write a number")
        return found

    return number


def _layout(document: Mapping[str, Any], number: Callable[[Any], Any]) -> Layout:
    storage = frozenset(_texts(document.get("storage", ()), "storage"))

    def axis(name: str) -> Axis:
        return Axis(name, storage=True) if name in storage else Axis(name)

    def vector(terms: Mapping[str, int]) -> Vector:
        total = Vector()
        for name, steps in terms.items():
            total = total + number(steps) @ axis(name)
        return total

    return Layout(
        shape=_tupled(document["shape"], number),
        strides=tuple(vector(terms) for terms in document["strides"]),
        replica=tuple(Iter(number(extent), vector(terms)) for extent, terms in document.get("replica", ())),
        offset=vector(document.get("offset", {})),
        swizzles=tuple(
            Swizzle(s["B"], s["M"], s["S"], axis(s.get("axis", "m"))) for s in document.get("swizzles", ())
        ),
        outer=vector(document.get("outer", {})),
        unit=document.get("unit", "element"),
        order=document.get("order", "row"),
    )


def _listed(mode: Any) -> Any:
    """Return extents as lists; one with names is a text."""
    if isinstance(mode, tuple):
        return [_listed(inner) for inner in mode]
    return mode if type(mode) is int else str(mode)


def _steps(vector: Vector) -> dict[str, Any]:
    return {axis: _listed(steps) for axis, steps in vector.as_dict().items()}


def _tupled(mode: Any, number: Callable[[Any], Any], depth: int = 1) -> Any:
    if depth > MAX_NESTING + 1:
        raise LayoutError("TW005", f"a shape nested deeper than {MAX_NESTING}")
    return (
        tuple(_tupled(inner, number, depth + 1) for inner in mode) if isinstance(mode, list) else number(mode)
    )


def _texts(value: Any, key: str) -> Sequence[str]:
    """Return the texts under a key of a document."""
    if not isinstance(value, list | tuple) or not all(isinstance(own, str) for own in value):
        raise LayoutError("TW108", f"the {key} of a layout document is a list of texts, not {value!r}")
    return value
