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

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewise.core.dtypes import known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.dialects import hlo
from tilewise.notation.dialects.given import STRING, Given, Reading
from tilewise.notation.dialects.shards import (
    GPU,
    Digits,
    Mesh,
    checked_mesh,
    mesh_of_names,
    named_cuts,
    nested,
    shape_of,
    tiled,
)
from tilewise.notation.dialects.values import (
    Item,
    Span,
    Value,
    keyed,
    named_numbers,
    number,
    numbers,
    single,
    unquoted,
    values,
)
from tilewise.notation.tokens import Cursor, shortened

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
_UNCONSTRAINED = ("UNCONSTRAINED", "PartitionSpec.UNCONSTRAINED", "P.UNCONSTRAINED")
_UNEVEN = "JAX refuses an array that its mesh does not divide; inside a computation, XLA pads its shards"


def read(given: Given) -> Reading:
    """Return the layout of an array: its axes are those of the mesh, `m` is inside the shard."""
    cursor = given.cursor()
    found = _read(cursor, given, values(cursor))
    return replace(found, notes=(*found.notes, _UNEVEN)) if found.box else found


def _read(cursor: Cursor, given: Given, words: Sequence[Value]) -> Reading:
    """Return what a sharding says, such as `NamedSharding(...)` or `P('x', None) on {'x': 2, 'y': 4}`."""
    word, *rest = words
    if not rest or rest[0].text not in ("(", "["):
        raise cursor.error("TW004", f"expected '(' after {word.token}", word.span)
    call, *rest = rest
    span = (word.span[0], call.span[1])
    if word.text in _SPECS or call.text == "[":
        mesh = _mesh_beside(cursor, given, span, rest)
        return _type(cursor, word, call, mesh) if call.text == "[" else _spec(cursor, given, call, mesh)
    if rest:
        raise cursor.error("TW004", f"the sharding ends before {rest[0].token}", rest[0].span)
    parts = keyed(call)
    if word.text == "ShapeDtypeStruct":
        if not {"shape", "sharding"} <= {*parts}:
            raise cursor.error("TW004", "a ShapeDtypeStruct is read with its shape= and sharding=", span)
        shape = shape_of(cursor, given, "", numbers(cursor, parts["shape"].values[0]), parts["shape"].span)
        dtype = known_type(parts["dtype"].text) if "dtype" in parts else None
        return replace(_read(cursor, replace(given, shape=shape), parts["sharding"].values), dtype=dtype)
    if word.text == "NamedSharding":
        calls = {item.text: item for item in call.items}
        meshes, specs = ([calls[name] for name in names if name in calls] for names in (_MESHES, _SPECS))
        if not meshes or not specs:
            raise cursor.error("TW004", "a NamedSharding has mesh=Mesh('x': 2) and spec=P('x')", span)
        return _spec(cursor, given, specs[0].values[-1], _mesh(cursor, meshes[0].values))
    shape = shape_of(cursor, given, "a sharding of JAX")
    if word.text == "GSPMDSharding" and call.items:
        start, end = call.items[0].span
        try:
            return hlo.read(replace(given, text=" " * start + given.text[start:end]))
        except LayoutError as error:
            error.source = given.text
            raise
    if word.text == "SingleDeviceSharding":
        device = keyed(parts["device"].values[-1]).get("id") if "device" in parts else None
        if device is None or device.values[0].number is None or device.values[0].number < 0:
            raise cursor.error("TW004", "a device has its number: device=CpuDevice(id=1)", span)
        first = (device.values[0].number or 0) @ GPU
        return tiled(cursor, span, shape, [[] for _ in shape], [], first.nonzero)
    known = "known: NamedSharding, PartitionSpec, P, ShapeDtypeStruct, GSPMDSharding"
    raise cursor.error("TW002", f"{word.token} is no sharding of JAX that is read here", word.span, known)


def _mesh_beside(cursor: Cursor, given: Given, span: Span, words: Sequence[Value]) -> Mesh:
    """Return the mesh that a spec or a type stands on, `on {'x': 2, 'y': 4}`, or that was given."""
    if words:
        return _mesh(cursor, words[1:] if words[0].text == "on" else words)
    hint = "write it beside, P('x', None) on {'x': 2, 'y': 4}"
    return mesh_of_names(cursor, given, span, "a spec or a type does not have its mesh", hint)


def _mesh(cursor: Cursor, words: Sequence[Value]) -> Mesh:
    """Return a mesh of any of its prints, or a dictionary of its axes."""
    *names, call = words
    is_print = len(names) == 1 and names[0].text in _MESHES and call.text == "("
    if not is_print and (names or call.text != "{"):
        hint = "a mesh is written {'x': 2, 'y': 4}, or as JAX prints it"
        start, end = words[0].span[0], call.span[1]
        message = f"'{shortened(cursor.source[start:end])}' is no mesh that is read here"
        raise cursor.error("TW002", message, (start, end), hint)
    parts = keyed(call)
    if "axis_names" in parts:
        axes = [single(cursor, item).token for item in parts["axis_names"].values[0].items]
        sizes = _sizes(cursor, parts)
        if len(sizes) != len(axes):
            raise cursor.error("TW003", "a mesh has one extent for every name", call.span)
        return checked_mesh(cursor, zip(axes, sizes, strict=True))
    if call.items and not call.items[0].key:  # AbstractMesh((('x', 2), ('y', 4))) of JAX 0.4
        pairs = [single(cursor, pair).items for pair in call.items[0].values[0].items]
        if any(len(pair) != 2 for pair in pairs):
            raise cursor.error("TW004", "an axis of a mesh has its extent: ('x', 2)", call.span)
        return checked_mesh(
            cursor, [(single(cursor, axis).token, number(cursor, size)) for axis, size in pairs]
        )
    axes_alone = [item for item in call.items if item.sign != "=" or (item.key and item.key.kind == STRING)]
    return checked_mesh(cursor, named_numbers(cursor, axes_alone, ":", quoted=True))


def _sizes(cursor: Cursor, parts: Mapping[str, Item]) -> list[int]:
    """Return the extents of `axis_sizes=(2, 4)`, or of `device_ids=array([[0, 1], [2, 3]])`."""
    if "axis_sizes" in parts:
        return numbers(cursor, parts["axis_sizes"].values[0])
    if "device_ids" not in parts:
        return []
    ids = parts["device_ids"].values[-1]
    return nested(cursor, ids.items[0].values[0] if ids.text == "(" and ids.items else ids)[0]


def _type(cursor: Cursor, word: Value, brackets: Value, mesh: Mesh) -> Reading:
    """Return what `float32[16@(y,x),8]` says, the type of an array whose axes are explicit."""
    shape: list[int] = []
    cuts: list[Digits] = []
    for item in brackets.items:
        extent, *at = item.values
        names = at
        if at and at[0].text == "@":
            names = [single(cursor, axis) for axis in at[-1].items]
        if extent.number is None or (at and not (names and at[0].text.startswith("@") and len(at) < 3)):
            raise cursor.error("TW004", "an extent has its axes beside it: 16@x, 16@(y,x)", item.span)
        shape.append(extent.number)
        cuts.append([mesh.digit(cursor, name.text.lstrip("@"), name.span) for name in names])
    checked = shape_of(cursor, Given(), "", shape, brackets.span)
    return tiled(cursor, brackets.span, checked, cuts, mesh.unused(cursor), dtype=known_type(word.text))


def _spec(cursor: Cursor, given: Given, call: Value, mesh: Mesh) -> Reading:
    """Return what `P('x', None, ('y', 'z'))` says."""
    shape = shape_of(cursor, given, "a sharding of JAX", span=call.span)
    cuts: list[Digits] = []
    notes: list[str] = []
    for item in call.items:
        if item.name == "unreduced":
            message = "unreduced is no layout: every device holds a part of a sum"
            raise cursor.error("TW008", message, item.span)
        if item.name == "reduced":
            continue
        axes = single(cursor, item)
        if axes.text in _UNCONSTRAINED:
            notes.append(f"dimension {len(cuts)} is unconstrained: the compiler may shard it")
        names = [single(cursor, axis) for axis in axes.items] if axes.text == "(" else [axes]
        if axes.text in ("None", *_UNCONSTRAINED):
            names = []
        for name in names:
            if name.token.kind != STRING:
                hint = "an axis in quotes, several in brackets, None, or UNCONSTRAINED"
                code = "TW002" if name.number is None else "TW101"
                raise cursor.error(code, f"{name.token} shards no dimension", name.span, hint)
        cuts.append([mesh.digit(cursor, unquoted(name.token), name.span) for name in names])
    cuts += [[] for _ in shape[len(cuts) :]]
    return tiled(cursor, call.span, shape, cuts, mesh.unused(cursor), notes=notes)


def write(layout: Layout, given: Given) -> str:
    """Return the NamedSharding of a layout; `given.let` has the order of the axes.

    >>> from tilewise import parse
    >>> write(parse("S[((4, 4), 8) : ((1@y, 8), 1)] + R[2 : 1@x]"), Given())
    "NamedSharding(mesh=Mesh('y': 4, 'x': 2), spec=PartitionSpec('y', None))"
    """
    extents, cuts = named_cuts(layout, SYSTEM, given.let)
    partitions = []
    for parts in cuts:
        for name, _, extent in parts:
            if extent != extents[name]:
                whole = f"a digit has {extent} of the {extents[name]} of {name}"
                hint = f"give the parts of {name} names of their own, or --as shardy: it has parts of axes"
                raise LayoutError("TW008", f"{SYSTEM} uses whole axes, and {whole}", hint=hint)
        names = [f"'{name}'" for name, *_ in parts]
        partitions.append("None" if not names else names[0] if len(names) == 1 else f"({', '.join(names)})")
    mesh = ", ".join(f"'{name}': {extent}" for name, extent in extents.items())
    return f"NamedSharding(mesh=Mesh({mesh}), spec=PartitionSpec({', '.join(partitions)}))"
