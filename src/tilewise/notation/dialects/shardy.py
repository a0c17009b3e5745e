"""The shardings of Shardy, read and written.

    sdy.mesh @mesh = <["x"=2, "y"=4]>
    #sdy.sharding<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>

A dimension has the axes that shard it, major to minor. `"y":(2)2` is a part of an axis: 2 steps of the axis
lie before it, and it has 2 itself. Axes that shard no dimension hold copies. `?` leaves a dimension open, and
`p1` after a dimension is a priority: both are for the compiler alone (shardy/dialect/sdy/ir/attrs.td). Where
axes do not divide an extent, XLA pads every shard to the larger one.
"""

from __future__ import annotations

from math import prod

from tilewise.core.layout import Layout
from tilewise.notation.dialects.annotations import annotated
from tilewise.notation.dialects.given import Given, Reading, listed
from tilewise.notation.dialects.meshes import Mesh, checked_mesh, mesh_of_names, on_mesh
from tilewise.notation.dialects.shards import named_cuts, shape_of
from tilewise.notation.dialects.values import Item, Value, named_numbers, value
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
    written, *items = this.sharding.items
    if not items or items[0].text != "[":
        raise this.sharding.error("TW004", 'a sharding has its dimensions: [{"x"}, {}]')
    mesh, notes = _mesh(cursor, given, written)
    tiles = on_mesh(mesh, items)
    tiles.notes += notes
    shape, dtype, where = this.types[-1] if this.types else (None, None, items[0].single)
    return tiles.reading(items[0], given, shape_of(where, given, shape), dtype)


def _mesh(cursor: Cursor, given: Given, written: Item) -> tuple[Mesh, tuple[str, ...]]:
    """Return the mesh: written here, `mesh<["x"=2]>`, or elsewhere under a name, or given with the text."""
    word, brackets = written.values[0], written.values[1:]
    if word.text != "mesh":
        brackets = _defined(cursor, word.text)
    if not brackets:
        hint = f'add the line sdy.mesh {word.text} = <["x"=2, "y"=4]>'
        return mesh_of_names(word, given, hint), ()
    items = brackets[0].items
    if not items or items[0].text != "[":
        raise brackets[0].error("TW004", 'a mesh has its axes: <["x"=2, "y"=4]>')
    mesh = checked_mesh(named_numbers(items[0].single.items))
    if len(items) == 1:
        return mesh, ()
    devices = items[1]
    if devices.name != "device_ids":
        raise devices.unexpected("device_ids")
    ids, count = devices.values[0].numbers(), prod(mesh.extents.values())
    if mesh.extents and sorted(ids) != [*range(count)]:
        raise devices.error("TW003", f"a mesh of {count} devices lists each of them once")
    return mesh, (f"the devices in the mesh's row-major order: {listed(ids)}",)


def _defined(cursor: Cursor, name: str) -> tuple[Value, ...]:
    """Return the mesh of the last line `sdy.mesh @mesh = <...>` of that name, or ()."""
    found: tuple[Value, ...] = ()
    for at, token in enumerate(cursor.tokens[:-1]):
        if token.text == "sdy.mesh" and cursor.tokens[at + 1].text == name:
            cursor.at = at + 2
            cursor.expect("=")
            found = (value(cursor),)
    return found


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
