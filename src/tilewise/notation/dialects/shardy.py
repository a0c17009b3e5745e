"""The shardings of Shardy, read and written.

    sdy.mesh @mesh = <["x"=2, "y"=4]>
    #sdy.sharding<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>

A dimension has the axes that shard it, major to minor. `"y":(2)2` is a part of an axis: 2 steps of the axis
lie before it, and it has 2 itself. Axes that shard no dimension hold copies. `?` leaves a dimension open, and
`p1` after a dimension is a priority: both speak to the compiler alone (shardy/dialect/sdy/ir/attrs.td). Where
axes do not divide an extent, XLA pads every shard to the larger one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewise.core.layout import Layout
from tilewise.notation.dialects.annotations import annotated
from tilewise.notation.dialects.given import Given, Reading, listed
from tilewise.notation.dialects.shards import (
    Digits,
    Mesh,
    axes_in_braces,
    checked_mesh,
    mesh_of_names,
    named_cuts,
    shape_of,
    tiled,
)
from tilewise.notation.dialects.values import Value, named_numbers, numbers, single, value
from tilewise.notation.tokens import Cursor

EXAMPLES = (
    Given('#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"y", "x"}, {}]>', shape=(16, 8)),
    Given(
        'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
        '%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}>}'
    ),
    Given('sdy.mesh @mesh = <["a"=8]>\n#sdy.sharding<@mesh, [{"a":(1)2}, {"a":(4)2}]>', shape=(16, 8)),
    Given(
        'sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[0, 2, 1, 3, 4, 6, 5, 7]>\n'
        '%1 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {"x"}]> : tensor<16x8xf32>'
    ),
)

SYSTEM = "Shardy"
_BEGINS = r"<\s*(?:@[^\s,<>]+\s*,|mesh\s*<)"


def read(given: Given) -> Reading:
    """Return the layout of a tensor that a mesh shares: its axes are the mesh's, `m` is inside the shard."""
    cursor = given.cursor()
    found = {
        this.name: this for this in annotated(cursor, _BEGINS, '#sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>')
    }
    this = found[given.chosen(found, "the text")]
    cursor.at = this.at
    sharding = value(cursor)
    written, *items = sharding.items
    if not items or items[0].text != "[":
        raise cursor.error("TW004", 'a sharding has its dimensions: [{"x"}, {}]', sharding.span)
    mesh, notes = _mesh(cursor, given, written.values)
    dimensions = single(cursor, items[0])
    cuts = []
    for item in dimensions.items:
        axes, *priority = item.values
        if len(priority) > 1 or not all(re.fullmatch(r"p\d+", word.text) for word in priority):
            raise cursor.error("TW004", f"expected ',', found {priority[0].token}", priority[0].span)
        cuts.append(axes_in_braces(cursor, mesh, axes))
    copies: Digits = []
    for item in items[1:]:
        if item.name == "unreduced":
            raise cursor.error(
                "TW008", "unreduced is no layout: every device holds a part of a sum", item.span
            )
        if item.name != "replicated":
            message = f"'{item.name or item.text}' is no part of a sharding"
            raise cursor.error("TW002", message, item.span, "known: replicated={...}")
        copies += axes_in_braces(cursor, mesh, item.values[0])
    shape, dtype, where = this.types[-1] if this.types else (None, None, dimensions.span)
    copies += mesh.unused(cursor)
    reading = tiled(cursor, given, dimensions.span, cuts, copies, shape_of(cursor, given, shape, where))
    return replace(reading, dtype=dtype, notes=tuple(notes))


def _mesh(cursor: Cursor, given: Given, written: Sequence[Value]) -> tuple[Mesh, list[str]]:
    """Return the mesh: written here, `mesh<["x"=2]>`, or elsewhere under a name, or given with the text."""
    word, *brackets = written
    if word.text != "mesh":
        brackets = []
        for at, token in enumerate(cursor.tokens[:-1]):
            if token.text == "sdy.mesh" and cursor.tokens[at + 1].text == word.text:
                cursor.at = at + 2
                cursor.expect("=")
                brackets = [value(cursor)]
    if not brackets:
        hint = f'add the line sdy.mesh {word.text} = <["x"=2, "y"=4]>'
        return mesh_of_names(cursor, given, word.span, hint), []
    items = brackets[0].items
    if not items or items[0].text != "[":
        raise cursor.error("TW004", 'a mesh has its axes: <["x"=2, "y"=4]>', brackets[0].span)
    mesh = checked_mesh(cursor, named_numbers(cursor, single(cursor, items[0]).items))
    if len(items) == 1:
        return mesh, []
    devices = items[1]
    if devices.name != "device_ids":
        raise cursor.error(
            "TW004", f"expected device_ids, found '{devices.name or devices.text}'", devices.span
        )
    ids, count = numbers(cursor, devices.values[0]), prod(mesh.extents.values())
    if mesh.extents and sorted(ids) != [*range(count)]:
        raise cursor.error("TW003", f"a mesh of {count} devices lists each of them once", devices.span)
    return mesh, [f"the devices in the mesh's row-major order: {listed(ids)}"]


def write(layout: Layout, given: Given) -> str:
    """Return the sharding of a layout with its mesh inside; `given.let` has the order of the axes.

    >>> from tilewise import parse
    >>> write(parse("S[((4, 4), 8) : ((1@x, 8), 1)] + R[2 : 4@x]"), Given())
    '#sdy.sharding<mesh<["x"=8]>, [{"x":(2)4}, {}]>'
    """
    extents, cuts = named_cuts(layout, SYSTEM, given.let)
    dimensions = []
    for parts in cuts:
        written = [
            f'"{name}"' + ("" if extent == extents[name] else f":({before}){extent}")
            for name, before, extent in parts
        ]
        dimensions.append("{" + ", ".join(written) + "}")
    mesh = ", ".join(f'"{name}"={extent}' for name, extent in extents.items())
    return f"#sdy.sharding<mesh<[{mesh}]>, [{', '.join(dimensions)}]>"
