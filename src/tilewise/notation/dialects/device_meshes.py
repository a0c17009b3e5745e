"""Meshes of devices in every print of torch and JAX: axes with their extents, or numbered devices.

DeviceMesh((dp=2, tp=4), 'cuda', stride=(4, 1))      Mesh('dp': 2, 'tp': 4, axis_types=(Auto, Auto))
DeviceMesh('cuda', [[0, 1], [2, 3]])                 Mesh(device_ids=array([0, 1]), axis_names=('dp',))
(2, 4)                                               AbstractMesh((('dp', 2), ('tp', 4)))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.given import STRING
from tilewise.notation.dialects.shards import (
    Digits,
    Mesh,
    checked_mesh,
    counted,
    device_extents,
    grid,
    nested,
)
from tilewise.notation.dialects.values import Item, Span, Value, named_numbers, number, numbers, single
from tilewise.notation.tokens import Cursor, Token, shortened

_PRINTS = (["DeviceMesh"], ["DeviceMesh", ":"], ["Mesh"], ["AbstractMesh"])


@dataclass(slots=True)
class _Printed:
    """A mesh as it prints: names of its dimensions, extents, steps of ranks along them, and the devices."""

    span: Span
    names: list[Token] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    devices: list[int] = field(default_factory=list)


def _printed(cursor: Cursor, words: Sequence[Value]) -> _Printed:
    """Return what any print of a mesh says, or `{'x': 2}`, or sizes alone."""
    *name, call = words
    found = _Printed((words[0].span[0], call.span[1]))
    is_print = call.text == "(" and [word.text for word in name] in _PRINTS
    if not is_print and (name or call.text not in ("(", "{")):
        message = f"'{shortened(cursor.source[slice(*found.span)])}' is no mesh that is read here"
        raise cursor.error(
            "TW004", message, found.span, "such as DeviceMesh((dp=2, tp=4)) or {'x': 2, 'y': 4}"
        )
    alone = Item(None, "", (call,), call.span)
    for item in call.items if name or call.text == "{" else [alone]:
        value = item.values[-1] if item.key else single(cursor, item)
        inner, named = value.items, list[tuple[Token, int]]()
        is_text = (item.key or value.token).kind == STRING
        if call.text == "{" or (is_text and name and name[0].text != "DeviceMesh"):
            named = named_numbers(cursor, [item], ":", quoted=True)
        elif item.name == "device_ids" or (value.text == "[" and item.name in ("", "mesh", "Mesh")):
            array = inner[0].values[0] if value.text == "(" and inner else value
            found.sizes, found.devices = nested(cursor, array)
        elif value.text != "(" or not inner:
            continue
        elif item.name == "stride":  # a dimension that several were flattened into has steps in brackets
            found.steps = [] if any(step.text == "(" for step in inner) else numbers(cursor, value)
        elif item.name in ("mesh_dim_names", "axis_names") or inner[0].values[0].token.kind == STRING:
            found.names = [single(cursor, axis).token for axis in inner]
        elif item.name == "axis_sizes" or (
            not item.key and inner[0].values[0].number is not None and not inner[0].key
        ):
            found.sizes = found.sizes or numbers(cursor, value)
        elif not item.key and inner[0].text == "(":  # AbstractMesh((('x', 2), ('y', 4))) of JAX 0.4
            pairs = [single(cursor, axis).items for axis in inner]
            if any(len(pair) != 2 for pair in pairs):
                raise cursor.error("TW004", "an axis has one extent: ('x', 2)", value.span)
            named = [(single(cursor, axis).token, number(cursor, size)) for axis, size in pairs]
        elif not item.key:
            named = named_numbers(cursor, inner)
        found.names += [token for token, _ in named]
        found.sizes += [size for _, size in named]
    if found.names and len(found.names) != len(found.sizes):
        message = f"names: {len(found.names)}; dimensions of the mesh: {len(found.sizes)}"
        raise cursor.error("TW003", message, found.span)
    return found


def named_mesh(cursor: Cursor, words: Sequence[Value]) -> Mesh:
    """Return the mesh of named axes that a text prints."""
    printed = _printed(cursor, words)
    if len(printed.names) != len(printed.sizes):
        raise cursor.error("TW004", "the axes of this mesh have no names", printed.span)
    return checked_mesh(cursor, zip(printed.names, printed.sizes, strict=True))


def device_mesh(cursor: Cursor, words: Sequence[Value]) -> tuple[list[Digits], Vector]:
    """Return the digits of each dimension of a mesh, along its names or else ranks, and the first rank."""
    printed = _printed(cursor, words)
    sizes, span = printed.sizes, printed.span
    device_extents(cursor, sizes, span)
    if printed.names:
        return checked_mesh(cursor, zip(printed.names, sizes, strict=True)).whole_axes(cursor), ZERO
    steps = printed.steps or [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    if len(steps) != len(sizes):
        raise cursor.error("TW003", f"steps: {len(steps)}; dimensions of the mesh: {len(sizes)}", span)
    ranks = printed.devices or counted(zip(sizes, steps, strict=True))
    if len({*ranks}) != len(ranks) or min(ranks) < 0:
        raise cursor.error("TW003", "a mesh has every rank once", span)
    return grid(cursor, span, ranks, sizes)
