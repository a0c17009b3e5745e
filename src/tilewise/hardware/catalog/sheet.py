"""An entry, and its result for some values, as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog.entry import Built, Entry, Parameter
from tilewise.hardware.catalog.instances import instance_of
from tilewise.hardware.sources import Source


def summary_of(entry: Entry) -> dict[str, object]:
    """Return an entry and its parameters.

    >>> from tilewise.hardware.catalog import find
    >>> summary_of(find("wgmma.A"))["example"]
    'wgmma.A(bf16)'
    """
    return {
        "entry": entry.name,
        "summary": entry.summary,
        "parameters": [_parameter(parameter) for parameter in entry.parameters],
        "example": entry.call,
        "source": source_of(entry.source),
        "confirmed": list(entry.confirmed),
    }


def sheet_of(entry: Entry, values: Mapping[str, object], built: Built) -> dict[str, object]:
    """Return the sheet of an entry for its values: the layout, its facts, its source, its confirmations.

    >>> from tilewise.hardware.catalog import find
    >>> entry = find("wgmma.D")
    >>> values = entry.bind(("f32",), {"n": 64})
    >>> sheet = sheet_of(entry, values, entry.build(**values))
    >>> sheet["shape"], sheet["call"], sheet["registers"]["count"]
    ([64, 64], 'wgmma.D(f32, n=64)', 32)
    """
    sheet: dict[str, object] = {
        "entry": entry.name,
        "call": entry.spelled(values),
        "parameters": dict(values),
    }
    if built.layout is not None:
        sheet["shape"] = list(extents_of(built.layout.shape))
        sheet["layout"] = str(built.layout)
        sheet["cute"] = in_cute(built.layout)
    sheet |= built.facts
    if built.notes:
        sheet["notes"] = list(built.notes)
    sheet["source"] = source_of(built.source or entry.source)
    sheet["confirmed"] = list(entry.confirmed_for(built, instance_of(entry, values)))
    return sheet


def in_cute(layout: Layout) -> str | None:
    """Return the layout in CuTe's notation, or None where CuTe cannot write it."""
    from tilewise.notation import to_cute

    try:
        return to_cute(layout)
    except LayoutError:
        return None


def source_of(source: Source) -> dict[str, str]:
    """Return a source as JSON."""
    return {"document": source.document, "section": source.section, "url": source.url}


def _parameter(parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "meaning": parameter.meaning,
        "legal": list(parameter.legal) or None,
        "rule": parameter.rule or None,
        "default": parameter.default,
        "needed": parameter.needed,
    }
