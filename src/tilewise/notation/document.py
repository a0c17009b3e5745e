"""Layouts as JSON documents, versioned, exact: integers of any size, axes in the order written."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.axes import KNOWN, Axis
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import MAX_NESTING
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
_KEYS = ("schema", "shape", "strides", "replica", "offset", "swizzles", "outer", "unit", "storage", "order")


def to_json(layout: Layout) -> dict[str, Any]:
    """Return the document of a layout: `from_json(to_json(L)) == L`.

    >>> from tilewise import S, laneid
    >>> to_json(S[(8, 4) : (4@laneid, 1)])["strides"]
    [{'laneid': 4}, {'m': 1}]
    """
    own = [a.name for a in layout.axes if a.storage and a.name not in KNOWN]
    return {
        "schema": SCHEMA,
        "shape": _listed(layout.shape),
        "strides": [stride.as_dict() for stride in layout.strides],
        "replica": [[it.extent, it.stride.as_dict()] for it in layout.replica],
        "offset": layout.offset.as_dict(),
        "swizzles": [{"B": s.bits, "M": s.base, "S": s.shift, "axis": s.axis.name} for s in layout.swizzles],
        "outer": layout.outer.as_dict(),
        "unit": layout.unit,
        "storage": own,
        **({} if layout.order == "row" else {"order": layout.order}),
    }


def from_json(document: Any) -> Layout:
    """Return the layout of a document that `to_json` made.

    >>> from tilewise import S
    >>> from_json(to_json(S[(8, 4) : (4, 1)] + 5))
    S[(8, 4) : (4, 1)] + 5
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
        return _layout(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, LayoutError):
            raise
        raise LayoutError("TW108", f"a layout document that does not hold together: {error!r}") from None


def _layout(document: Mapping[str, Any]) -> Layout:
    storage = frozenset(_names(document.get("storage", ())))

    def axis(name: str) -> Axis:
        return Axis(name, storage=True) if name in storage else Axis(name)

    def vector(terms: Mapping[str, int]) -> Vector:
        total = Vector()
        for name, steps in terms.items():
            total = total + steps @ axis(name)
        return total

    return Layout(
        shape=_tupled(document["shape"]),
        strides=tuple(vector(terms) for terms in document["strides"]),
        replica=tuple(Iter(extent, vector(terms)) for extent, terms in document.get("replica", ())),
        offset=vector(document.get("offset", {})),
        swizzles=tuple(
            Swizzle(s["B"], s["M"], s["S"], axis(s.get("axis", "m"))) for s in document.get("swizzles", ())
        ),
        outer=vector(document.get("outer", {})),
        unit=document.get("unit", "element"),
        order=document.get("order", "row"),
    )


def _listed(mode: Any) -> Any:
    return [_listed(inner) for inner in mode] if isinstance(mode, tuple) else mode


def _tupled(mode: Any, depth: int = 1) -> Any:
    if depth > MAX_NESTING + 1:
        raise LayoutError("TW005", f"a shape nested deeper than {MAX_NESTING}")
    return tuple(_tupled(inner, depth + 1) for inner in mode) if isinstance(mode, list) else mode


def _names(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise LayoutError("TW108", f"the storage of a layout document is a list of names, not {value!r}")
    return value
