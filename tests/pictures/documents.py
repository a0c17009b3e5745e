"""Scene documents from JSON: each field of the model, once, with a value of its type, and their laws.

The page reads documents with a reader of its own, in TypeScript, which checks every number.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from math import prod
from typing import Any, get_args, get_origin, get_type_hints

from tilewise.pictures.scene.model import COLUMN, ROW, SCHEMA, Document, Scene


def document_from(data: Any) -> Document:
    """Return the document that plain data is; an assertion names what is no document."""
    fields = dict(data)
    assert fields.pop("schema") == SCHEMA
    assert fields.pop("kind") == "tilewise.scene"
    document = read(Document, fields)
    for scene in document.scenes:
        check(scene)
    return document


def read(kind: Any, data: Any) -> Any:
    """Return a value of a type, of the types that the model's fields have."""
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        assert set(data) == {field.name for field in dataclasses.fields(kind)}, (kind, sorted(data))
        return kind(**{name: read(hints[name], value) for name, value in data.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        inner, *others = get_args(kind)
        if others == [...]:
            return tuple(read(inner, value) for value in data)
        return tuple(read(part, value) for part, value in zip(get_args(kind), data, strict=True))
    if get_origin(kind) is Mapping:
        return {name: read(get_args(kind)[1], values) for name, values in data.items()}
    if get_origin(kind) is types.UnionType:
        return None if data is None else read(get_args(kind)[0], data)
    assert type(data) is kind, (kind, data)
    return data


def check(scene: Scene) -> None:
    """Assert what the fields of a scene say of one another."""
    names = [axis.name for axis in scene.axes]
    assert names
    assert len(set(names)) == len(names)
    assert set(names) == set(scene.places)
    (top, bottom), (left, right) = scene.window
    assert top < bottom <= prod(scene.rows)
    assert left < right <= prod(scene.columns)
    room = (bottom - top) * (right - left)
    for axis in scene.axes:
        places = scene.places[axis.name]
        count, rest = divmod(len(places), scene.copies)
        assert not rest
        assert room - (right - left) < count <= room
        assert (axis.low, axis.high) == (min(places), max(places))
    rules = [(p.row, p.column, p.block_row, p.block_column, p.slot) for p in scene.panels]
    terms = [term for panel in rules for rule in panel for term in rule]
    assert {term.axis for term in (*terms, scene.colour.rule)} <= {*names, ROW, COLUMN}
    for step in scene.steps:
        assert not step.lanes or len(step.lanes) == len(step.elements)
        fields = step.encoded.fields if step.encoded else ()
        ends = [-1, *(end for field in fields for end in (field.low, field.high))]
        assert all(
            end < low <= high for end, low, high in zip(ends[::2], ends[1::2], ends[2::2], strict=False)
        )
        assert all(field.held >> field.high - field.low + 1 == 0 for field in fields)
