"""The shardings of JAX as they print, read and written.

    NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', None), memory_kind=device)

A PartitionSpec has the axes that shard each dimension, major to minor; what it leaves out is whole on every
device, and axes that it does not name hold copies. Meshes are read as JAX 0.4 to 0.10 print them:
`Mesh('x': 2)`, `Mesh(axis_sizes=(2,), axis_names=('x',))`, `Mesh(device_ids=array([0, 1]), axis_names=...)`,
and `AbstractMesh(...)` of either kind. A PartitionSpec alone takes a mesh beside it,
`P('x', None) on {'x': 2}`, or its axes as names with numbers; so does a type, `float32[16@x,8]`. JAX refuses
arrays that a mesh does not divide; inside a computation XLA pads them.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.notation.dialects import hlo
from tilewise.notation.dialects.annotations import skip_brackets, skip_value
from tilewise.notation.dialects.given import STRING, Given, Reading, integer
from tilewise.notation.dialects.shards import (
    GPU,
    Cell,
    Mesh,
    Sharding,
    axes_of,
    axis_name,
    check_extents,
    checked_mesh,
    even,
    mesh_of_names,
    nested,
    sharding_of,
    tiled,
    tuple_of,
    unquoted,
)
from tilewise.notation.tokens import END, NUMBER, Cursor, Token

EXAMPLES = (
    Given(
        "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', None), memory_kind=device)",
        shape=(16, 8),
    ),
    Given(
        "NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), spec=P(('y', 'x'),),"
        " memory_kind=device)",
        shape=(16, 8),
    ),
    Given(
        "ShapeDtypeStruct(shape=(16, 8), dtype=float32, sharding=NamedSharding(mesh=AbstractMesh('x': 2,"
        " 'y': 4, axis_types=(Explicit, Explicit)), spec=P(None, 'y')))"
    ),
    Given("P('x', ('y', 'z')) on Mesh(axis_sizes=(2, 2, 4), axis_names=('x', 'y', 'z'))", shape=(16, 8)),
    Given("PartitionSpec('x', None), {'x': 2, 'y': 4}", shape=(16, 8)),
    Given("float32[16@(y,x),8] on {'x': 2, 'y': 4}"),
    Given("GSPMDSharding({devices=[2,4]<=[4,2]T(1,0)}, memory_kind=device)", shape=(16, 8)),
    Given("SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=device)", shape=(16, 8)),
)

SYSTEM = "a PartitionSpec"
_SPECS = ("P", "PartitionSpec")
_MESHES = ("Mesh", "AbstractMesh")
_UNEVEN = "JAX refuses an array that its mesh does not divide; inside a computation, XLA pads its shards"


def read(given: Given) -> Reading:
    """Return the layout of an array: its axes are those of the mesh, `m` is inside the shard."""
    cursor = given.cursor()
    shape, dtype, opened, axes = None, None, None, None
    word = cursor.next
    if word.text == "ShapeDtypeStruct":
        shape, dtype, opened = _struct(cursor)
    elif cursor.ahead(1).text == "[":
        shape, dtype, axes = _type(cursor)
    if shape is None:
        shape = given.needs_shape("a sharding of JAX")
    check_extents(cursor, shape)
    word = word if axes is not None else cursor.next
    if word.text == "GSPMDSharding":
        found = _gspmd(cursor, given, shape)
    elif word.text == "SingleDeviceSharding":
        found = _single(cursor, shape)
    elif word.text == "NamedSharding":
        found = _named(cursor, shape)
    elif word.text in _SPECS:
        found = _spec_and_mesh(cursor, given, shape)
    elif axes is not None:
        found = _typed(cursor, _mesh_beside(cursor, given, word, "a type"), shape, axes)
    else:
        known = "known: NamedSharding, PartitionSpec, P, ShapeDtypeStruct, GSPMDSharding"
        raise cursor.error("TW002", f"{word} is no sharding of JAX that is read here", hint=known)
    if opened is not None:
        _rest_of_call(cursor, opened)
    cursor.expect_end("the sharding")
    notes = (*found.notes, _UNEVEN) if found.box else found.notes
    return replace(found, dtype=dtype, notes=notes)


def _struct(cursor: Cursor) -> tuple[tuple[int, ...], DType | None, Token]:
    """Take `ShapeDtypeStruct(shape=(16, 8), dtype=float32, sharding=`."""
    cursor.take()
    opened = cursor.expect("(")
    shape: tuple[int, ...] | None = None
    dtype: DType | None = None
    while not (cursor.next.text == "sharding" and cursor.ahead(1).text == "="):
        word = cursor.take()
        cursor.expect("=", opened)
        if word.text == "shape":
            shape = tuple_of(cursor)
        elif word.text == "dtype":
            dtype = known_type(cursor.take().text)
        else:
            skip_value(cursor)
        cursor.expect(",", opened, "a ShapeDtypeStruct is read where it has a sharding")
    cursor.take()
    cursor.take()
    if shape is None:
        raise cursor.error("TW202", "a ShapeDtypeStruct has shape=(...)", cursor.since(opened))
    return shape, dtype, opened


def _rest_of_call(cursor: Cursor, opened: Token) -> None:
    """Take what follows in a call, which says nothing of places, and its bracket."""
    while cursor.accept(","):
        skip_value(cursor)
    cursor.expect(")", opened)


def _gspmd(cursor: Cursor, given: Given, shape: tuple[int, ...]) -> Reading:
    """Take `GSPMDSharding({devices=...}, ...)`: a sharding of HLO."""
    cursor.take()
    opened = cursor.expect("(")
    start = cursor.next
    skip_value(cursor)
    end = cursor.behind.end
    _rest_of_call(cursor, opened)
    text = given.text
    blank = " " * start.start
    try:
        return hlo.read(replace(given, text=blank + text[start.start : end], shape=shape))
    except LayoutError as error:
        error.source = text
        raise


def _single(cursor: Cursor, shape: tuple[int, ...]) -> Reading:
    """Take `SingleDeviceSharding(device=CpuDevice(id=1), ...)`."""
    cursor.take()
    opened = cursor.expect("(")
    device: int | None = None
    depth = 1
    while depth and cursor.next.kind != END:
        token = cursor.take()
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "id" and cursor.accept("="):
            device = integer(cursor)
    if depth:
        raise cursor.error("TW004", "'(' is never closed", opened.span)
    if device is None or device < 0:
        raise cursor.error("TW004", "a device has its number: CpuDevice(id=1)", cursor.since(opened))
    whole = tuple((Cell(extent),) for extent in shape)
    return Sharding(whole, (), device @ GPU if device else Vector()).reading(shape)


def _named(cursor: Cursor, shape: tuple[int, ...]) -> Reading:
    """Take `NamedSharding(mesh=..., spec=..., ...)`."""
    cursor.take()
    opened = cursor.expect("(")
    mesh, spec = None, None
    while cursor.next.text != ")":
        word = cursor.next
        if cursor.ahead(1).text == "=":
            cursor.take()
            cursor.take()
        if cursor.next.text in _MESHES:
            mesh = _mesh(cursor)
        elif cursor.next.text in _SPECS:
            spec = cursor.at
            _skip_call(cursor)
        elif word.text in ("mesh", "spec"):
            raise cursor.error("TW002", f"{cursor.next} is no {word.text} of JAX that is read here")
        else:
            skip_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if mesh is None or spec is None:
        raise cursor.error("TW004", "a NamedSharding has mesh= and spec=", cursor.since(opened))
    after, cursor.at = cursor.at, spec
    found = _spec(cursor, mesh, shape)
    cursor.at = after
    return found


def _skip_call(cursor: Cursor) -> None:
    """Take `P(...)`."""
    cursor.take()
    if cursor.next.text != "(":
        raise cursor.error("TW004", f"expected '(', found {cursor.next}")
    skip_brackets(cursor)


def _spec_and_mesh(cursor: Cursor, given: Given, shape: tuple[int, ...]) -> Reading:
    """Take `P('x', None) on {'x': 2, 'y': 4}`, where the mesh may also be given with the text."""
    start, word = cursor.at, cursor.next
    _skip_call(cursor)
    mesh = _mesh_beside(cursor, given, word, "a PartitionSpec")
    after, cursor.at = cursor.at, start
    found = _spec(cursor, mesh, shape)
    cursor.at = after
    return found


def _mesh_beside(cursor: Cursor, given: Given, word: Token, what: str) -> Mesh:
    """Take `on {'x': 2, 'y': 4}`, or return the mesh that was given with the text."""
    span = cursor.since(word)
    if cursor.accept("on", ","):
        return _mesh(cursor) if cursor.next.text in _MESHES else _pairs(cursor, "{", "}")
    if given.let:
        return mesh_of_names(cursor, given.let)
    raise cursor.error(
        "TW007",
        f"{what} does not have its mesh",
        span,
        "write it beside, P('x', None) on {'x': 2, 'y': 4}, or say its axes: --let x=2 --let y=4",
    )


_Axes = list[list[tuple[Token, str]]]
"""The names of the axes that shard each dimension, and where they stand."""


def _type(cursor: Cursor) -> tuple[tuple[int, ...], DType | None, _Axes]:
    """Take `float32[16@(y,x),8]`, the type of an array whose axes are explicit."""
    dtype = known_type(cursor.take().text)
    opened = cursor.expect("[")
    shape: list[int] = []
    axes: _Axes = []
    while cursor.next.text != "]":
        if shape:
            cursor.expect(",", opened)
        shape.append(integer(cursor))
        axes.append([])
        if cursor.next.text.startswith("@") and len(cursor.next.text) > 1:
            token = cursor.take()
            axes[-1].append((token, token.text[1:]))
        elif cursor.accept("@"):
            inside = cursor.expect("(", hint="an axis, or several: 16@x, 16@(y,x)")
            while cursor.next.text != ")":
                if axes[-1]:
                    cursor.expect(",", inside)
                axes[-1].append(axis_name(cursor, quoted=False))
            cursor.expect(")", inside)
    cursor.expect("]", opened)
    return tuple(shape), dtype, axes


def _typed(cursor: Cursor, mesh: Mesh, shape: tuple[int, ...], axes: _Axes) -> Reading:
    cuts = [[mesh.cell(cursor, token, name) for token, name in names] for names in axes]
    return tiled(shape, cuts, mesh.unused()).reading(shape)


def _mesh(cursor: Cursor) -> Mesh:
    """Take a mesh of any of its prints."""
    cursor.take()
    if cursor.next.text == "(" and (cursor.ahead(1).kind == STRING or cursor.ahead(1).text == ")"):
        return _pairs(cursor, "(", ")")
    opened = cursor.expect("(")
    if cursor.next.text == "(":  # AbstractMesh((('x', 2), ('y', 4))) and AbstractMesh(()) of JAX 0.4
        return _listed_pairs(cursor, opened)
    sizes: list[int] | None = None
    names: list[tuple[Token, str]] | None = None
    while cursor.next.text != ")":
        word = cursor.take()
        cursor.expect("=", opened)
        if word.text == "axis_sizes":
            sizes = [*tuple_of(cursor)]
        elif word.text == "device_ids":
            array = cursor.accept("array")
            inside = cursor.expect("(") if array else cursor.next
            sizes = nested(cursor)[0]
            if array:
                _rest_of_call(cursor, inside)
        elif word.text == "axis_names":
            names = _names(cursor)
        else:
            skip_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if sizes is None or names is None or len(sizes) != len(names):
        raise cursor.error("TW003", "a mesh has one extent for every name", cursor.since(opened))
    return checked_mesh(cursor, [(*name, size) for name, size in zip(names, sizes, strict=True)])


def _names(cursor: Cursor) -> list[tuple[Token, str]]:
    """Take `('x', 'y')`."""
    opened = cursor.expect("(")
    names: list[tuple[Token, str]] = []
    while cursor.next.text != ")":
        if names:
            cursor.expect(",", opened)
            if cursor.next.text == ")":
                break
        names.append(unquoted(cursor, "an axis"))
    cursor.expect(")", opened)
    return names


def _pairs(cursor: Cursor, opening: str, closing: str) -> Mesh:
    """Take `('x': 2, 'y': 4, axis_types=...)` or `{'x': 2, 'y': 4}`."""
    opened = cursor.expect(opening, hint="a mesh is written {'x': 2, 'y': 4}, or as JAX prints it")
    named: list[tuple[Token, str, int]] = []
    while cursor.next.text != closing:
        if cursor.next.kind == STRING:
            token, name = unquoted(cursor, "an axis")
            cursor.expect(":")
            named.append((token, name, integer(cursor)))
        elif cursor.ahead(1).text == "=":
            cursor.take()
            cursor.take()
            skip_value(cursor)
        else:
            raise cursor.error("TW004", f"expected an axis in quotes, found {cursor.next}")
        if not cursor.accept(","):
            break
    cursor.expect(closing, opened)
    return checked_mesh(cursor, named)


def _listed_pairs(cursor: Cursor, opened: Token) -> Mesh:
    """Take `(('x', 2), ('y', 4)), ...)`."""
    inside = cursor.expect("(")
    named: list[tuple[Token, str, int]] = []
    while cursor.next.text != ")":
        pair = cursor.expect("(")
        token, name = unquoted(cursor, "an axis")
        cursor.expect(",", pair)
        named.append((token, name, integer(cursor)))
        cursor.expect(")", pair)
        if not cursor.accept(","):
            break
    cursor.expect(")", inside)
    _rest_of_call(cursor, opened)
    return checked_mesh(cursor, named)


def _spec(cursor: Cursor, mesh: Mesh, shape: tuple[int, ...]) -> Reading:
    """Take `P('x', None, ('y', 'z'))`."""
    word = cursor.take()
    opened = cursor.expect("(")
    cuts: list[list[Cell]] = []
    notes: list[str] = []
    while cursor.next.text != ")":
        here = cursor.next
        if here.text in ("unreduced", "reduced") and cursor.ahead(1).text == "=":
            if here.text == "unreduced":
                message = "unreduced is no layout: every device holds a part of a sum"
                raise cursor.error("TW008", message, here.span)
            cursor.take()
            cursor.take()
            skip_value(cursor)
        else:
            cuts.append(_partition(cursor, mesh, notes, len(cuts)))
        if not cursor.accept(","):
            break
    cursor.expect(")", opened)
    if len(cuts) > len(shape):
        raise cursor.error(
            "TW003", f"dimensions of the spec: {len(cuts)}; of the array: {len(shape)}", cursor.since(word)
        )
    cuts += [[] for _ in range(len(shape) - len(cuts))]
    return tiled(shape, cuts, mesh.unused()).reading(shape, None, notes)


def _partition(cursor: Cursor, mesh: Mesh, notes: list[str], dimension: int) -> list[Cell]:
    """Take what shards one dimension: an axis, several, None, or UNCONSTRAINED."""
    if cursor.accept("None"):
        return []
    if cursor.next.kind == STRING:
        return [mesh.cell(cursor, *unquoted(cursor, "an axis"))]
    if cursor.next.text == "(":
        return [mesh.cell(cursor, *name) for name in _names(cursor)]
    if cursor.accept("UNCONSTRAINED", "PartitionSpec.UNCONSTRAINED", "P.UNCONSTRAINED"):
        notes.append(f"dimension {dimension} is unconstrained: the compiler may shard it")
        return []
    hint = "an axis in quotes, several in brackets, None, or UNCONSTRAINED"
    kind = "TW101" if cursor.next.kind == NUMBER else "TW002"
    raise cursor.error(kind, f"{cursor.next} shards no dimension", hint=hint)


def write(layout: Layout, given: Given) -> str:
    """Return the NamedSharding of a layout; `given.let` has the order of the axes.

    >>> from tilewise import parse
    >>> write(parse("S[((4, 4), 8) : ((1@y, 8), 1)] + R[2 : 1@x]"), Given())
    "NamedSharding(mesh=Mesh('y': 4, 'x': 2), spec=PartitionSpec('y', None))"
    """
    sharding = sharding_of(layout, SYSTEM)
    extents = axes_of(sharding, SYSTEM, given.let)
    even(sharding, SYSTEM)
    partitions = []
    for cells in sharding.dimensions:
        names = [_whole(cell, extents) for cell in cells if cell.device is not None]
        partitions.append("None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})")
    mesh = ", ".join(f"'{name}': {extent}" for name, extent in extents.items())
    return f"NamedSharding(mesh=Mesh({mesh}), spec=PartitionSpec({', '.join(partitions)}))"


def _whole(cell: Cell, extents: dict[str, int]) -> str:
    axis: Axis
    ((axis, _),) = cell.steps.terms
    if cell.extent != extents[axis.name]:
        raise LayoutError(
            "TW008",
            f"{SYSTEM} uses whole axes, and a digit has {cell.extent} of the {extents[axis.name]} of {axis}",
            hint=f"give the parts of {axis} names of their own, or --as shardy: it has parts of axes",
        )
    return f"'{axis}'"
