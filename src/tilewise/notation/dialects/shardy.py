"""The shardings of Shardy, read and written.

    sdy.mesh @mesh = <["x"=2, "y"=4]>
    #sdy.sharding<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>

A dimension has the axes that shard it, major to minor. `"y":(2)2` is a part of an axis: 2 steps of the axis
lie before it, and it has 2 itself. Axes that shard no dimension hold copies. `?` leaves a dimension open, and
`p1` after a dimension is a priority: both speak to the compiler alone (shardy/dialect/sdy/ir/attrs.td). Where
axes do not divide an extent, XLA pads every shard to the larger one.
"""

from __future__ import annotations

from math import prod

from tilewise.core.axes import Axis
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.notation.dialects.annotations import Annotated, annotated
from tilewise.notation.dialects.given import Given, Reading, integer, integers, listed
from tilewise.notation.dialects.shards import (
    Cell,
    Mesh,
    axes_in_braces,
    axes_of,
    check_extents,
    checked_mesh,
    even,
    mesh_of_names,
    sharding_of,
    tiled,
    unquoted,
)
from tilewise.notation.tokens import END, NAME, Cursor, Token

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


def read(given: Given) -> Reading:
    """Return the layout of a tensor that a mesh shares: its axes are the mesh's, `m` is inside the shard."""
    cursor = given.cursor()
    meshes = _meshes(cursor)
    cursor.at = 0
    found = {this.name: this for this in annotated(cursor, _begins)}
    if not found:
        raise cursor.error(
            "TW004",
            "no sharding is here",
            (0, len(given.text)),
            'such as #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>',
        )
    return _sharding(cursor, given, meshes, found[given.chosen(found, "the text")])


def _begins(cursor: Cursor) -> bool:
    """Return whether `<@mesh, [` or `<mesh<` is next."""
    word = cursor.ahead(1).text
    if cursor.next.text != "<":
        return False
    return (word.startswith("@") and cursor.ahead(2).text == ",") or (
        word == "mesh" and cursor.ahead(2).text == "<"
    )


def _meshes(cursor: Cursor) -> dict[str, int]:
    """Return where the mesh of each name begins."""
    found: dict[str, int] = {}
    while cursor.next.kind != END:
        if cursor.take().text == "sdy.mesh" and cursor.next.text.startswith("@"):
            name = cursor.take().text
            cursor.expect("=")
            found[name] = cursor.at
    return found


def _mesh(cursor: Cursor) -> tuple[Mesh, list[str]]:
    """Take `<["x"=2, "y"=4], device_ids=[...]>`."""
    opened = cursor.expect("<")
    inside = cursor.expect("[", opened)
    named: list[tuple[Token, str, int]] = []
    while cursor.next.text != "]":
        if named:
            cursor.expect(",", inside)
        token, name = unquoted(cursor, "an axis")
        cursor.expect("=")
        named.append((token, name, integer(cursor)))
    cursor.expect("]", inside)
    mesh, notes = checked_mesh(cursor, named), list[str]()
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        start = cursor.next
        numbers = integers(cursor)
        count = prod(mesh.extents.values())
        if named and (len(numbers) != count or sorted(numbers) != [*range(count)]):
            raise cursor.error(
                "TW003", f"a mesh of {count} devices lists each of them once", cursor.since(start)
            )
        notes.append(f"the devices in the mesh's row-major order: {listed(numbers)}")
    cursor.expect(">", opened)
    return mesh, notes


def _sharding(cursor: Cursor, given: Given, meshes: dict[str, int], this: Annotated) -> Reading:
    """Take `<@mesh, [{"x"}, {}], replicated={"y"}>`."""
    cursor.at = this.at
    opened = cursor.expect("<")
    mesh, notes = _mesh_here(cursor, given, meshes)
    cursor.expect(",", opened)
    start = cursor.next
    inside = cursor.expect("[", opened)
    cuts: list[list[Cell]] = []
    while cursor.next.text != "]":
        if cuts:
            cursor.expect(",", inside)
        cuts.append(axes_in_braces(cursor, mesh))
        word = cursor.next
        if word.kind == NAME and word.text[:1] == "p" and word.text[1:].isdigit():
            cursor.take()
    cursor.expect("]", inside)
    span = cursor.since(start)
    while cursor.accept(","):
        word = cursor.next
        if word.text == "unreduced":
            message = "unreduced is no layout: every device holds a part of a sum"
            raise cursor.error("TW008", message)
        cursor.expect("replicated", hint="known: replicated={...}")
        cursor.expect("=")
        axes_in_braces(cursor, Mesh(mesh.extents, {name: [*used] for name, used in mesh.used.items()}))
    cursor.expect(">", opened)
    shape, dtype = None, None
    if this.types:
        shape, dtype, where = this.types[-1]
        check_extents(cursor, shape, where)
    if shape is None:
        shape = given.needs_shape("a sharding of Shardy")
        check_extents(cursor, shape, span)
    if len(cuts) != len(shape):
        raise cursor.error(
            "TW003", f"dimensions of the sharding: {len(cuts)}; of the tensor: {len(shape)}", span
        )
    return tiled(shape, cuts, mesh.unused()).reading(shape, dtype, notes)


def _mesh_here(cursor: Cursor, given: Given, meshes: dict[str, int]) -> tuple[Mesh, list[str]]:
    """Take the mesh: written here, written elsewhere under a name, or given with the text."""
    word = cursor.take()
    if word.text == "mesh":
        return _mesh(cursor)
    if word.text in meshes:
        after, cursor.at = cursor.at, meshes[word.text]
        mesh = _mesh(cursor)
        cursor.at = after
        return mesh
    if given.let:
        return mesh_of_names(cursor, given.let), []
    raise cursor.error(
        "TW007",
        f"the text does not have the mesh {word.text}",
        word.span,
        f'add the line sdy.mesh {word.text} = <["x"=2, "y"=4]>, or say its axes: --let x=2 --let y=4',
    )


def write(layout: Layout, given: Given) -> str:
    """Return the sharding of a layout with its mesh inside; `given.let` has the order of the axes.

    >>> from tilewise import parse
    >>> write(parse("S[((4, 4), 8) : ((1@x, 8), 1)] + R[2 : 4@x]"), Given())
    '#sdy.sharding<mesh<["x"=8]>, [{"x":(2)4}, {}]>'
    """
    sharding = sharding_of(layout, SYSTEM)
    extents = axes_of(sharding, SYSTEM, given.let)
    even(sharding, SYSTEM)
    dimensions = []
    for cells in sharding.dimensions:
        written = [_written(cell.extent, cell.device, extents) for cell in cells if cell.device is not None]
        dimensions.append("{" + ", ".join(written) + "}")
    mesh = ", ".join(f'"{name}"={extent}' for name, extent in extents.items())
    return f"#sdy.sharding<mesh<[{mesh}]>, [{', '.join(dimensions)}]>"


def _written(extent: int, device: Vector, extents: dict[str, int]) -> str:
    axis: Axis
    ((axis, step),) = device.terms
    if extent == extents[axis.name]:
        return f'"{axis.name}"'
    return f'"{axis.name}":({extents[axis.name] // (step * extent)}){extent}'
