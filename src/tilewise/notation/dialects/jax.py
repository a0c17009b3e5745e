"""The shardings of JAX as they print, read and written.

    NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', None), memory_kind=device)

A PartitionSpec has the axes that shard each dimension, major to minor. Dimensions without an axis are whole
on every device, and axes that it does not name hold copies. Meshes are read as JAX 0.4 to 0.10 print them:
`Mesh('x': 2)`, `Mesh(axis_sizes=(2,), axis_names=('x',))`, `Mesh(device_ids=array([0, 1]), axis_names=...)`,
and `AbstractMesh(...)` of either kind. A PartitionSpec alone takes a mesh beside it,
`P('x', None) on {'x': 2}`, or its axes as names with numbers; so does a type, `float32[16@x,8]`. JAX refuses
arrays that a mesh does not divide; inside a computation XLA pads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tilewise.core.dtypes import known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.dialects import hlo
from tilewise.notation.dialects.given import STRING, Given, Reading
from tilewise.notation.dialects.meshes import Mesh, mesh_of_names, named_mesh, unread
from tilewise.notation.dialects.shards import GPU, Digits, Tiles, named_cuts, shape_of
from tilewise.notation.dialects.values import Value, between, values

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
_UNEVEN = "JAX refuses an array that its mesh does not divide; inside a computation, XLA pads its shards"


def read(given: Given) -> Reading:
    """Return the layout of an array: its axes are those of the mesh, `m` is inside the shard."""
    found = _read(given, values(given.cursor(), commas=True))
    return replace(found, notes=(*found.notes, _UNEVEN)) if found.box else found


def _read(given: Given, words: Sequence[Value]) -> Reading:
    """Return the reading of a sharding: `NamedSharding(...)` or `P('x', None) on {'x': 2, 'y': 4}`."""
    if len(words) < 2 or words[1].text not in ("(", "["):
        raise words[0].error("TW004", f"expected '(' after {words[0]}")
    word, call, *rest = words
    where, parts = between(word, call), call.keyed
    if word.text in _SPECS or call.text == "[":
        if rest:  # the mesh stands beside: on {'x': 2, 'y': 4}
            mesh = named_mesh(rest[rest[0].text == "on" :] or rest)
        else:
            mesh = mesh_of_names(where, given, "write it beside, P('x', None) on {'x': 2, 'y': 4}")
        return _type(given, word, call, mesh) if call.text == "[" else _spec(given, call, mesh)
    if rest:
        raise rest[0].error("TW004", f"the sharding ends before {rest[0]}")
    if word.text == "ShapeDtypeStruct":
        if not {"shape", "sharding"} <= {*parts}:
            raise where.error("TW004", "a ShapeDtypeStruct is read with its shape= and sharding=")
        shape = tuple(shape_of(parts["shape"], given, parts["shape"].values[0].numbers()))
        dtype = known_type(parts["dtype"].text) if "dtype" in parts else None
        return replace(_read(replace(given, shape=shape), parts["sharding"].values), dtype=dtype)
    if word.text == "NamedSharding":
        calls = {"spec" if item.text in _SPECS else "mesh": item.values for item in call.items[:2]}
        if len(calls) != 2 or len(calls["spec"]) != 2:
            raise where.error("TW004", "a NamedSharding has mesh=Mesh('x': 2) and spec=P('x')")
        return _spec(given, calls["spec"][1], named_mesh(calls["mesh"]))
    if word.text == "GSPMDSharding" and call.items:
        start, end = call.items[0].span
        try:
            return hlo.read(replace(given, text=" " * start + given.text[start:end]))
        except LayoutError as error:
            error.source = given.text
            raise
    if word.text == "SingleDeviceSharding":
        device = re.search(r"\bid=(\d{1,9})\b", call.spelled)
        if device is None:
            raise where.error("TW004", "a device has its number: device=CpuDevice(id=1)")
        return Tiles(None, first=(int(device[1]) @ GPU).nonzero).reading(where, given)
    known = "known: NamedSharding, PartitionSpec, P, ShapeDtypeStruct, GSPMDSharding"
    raise word.error("TW002", f"{word} is no sharding of JAX that is read here", known)


def _type(given: Given, word: Value, brackets: Value, mesh: Mesh) -> Reading:
    """Return the reading of `float32[16@(y,x),8]`, the type of an array whose axes are explicit."""
    shape: list[int] = []
    cuts: list[Digits] = []
    for item in brackets.items:
        extent = re.fullmatch(r"(\d{1,18})(?:@(\w+|\([\w\s,]+\)))?", item.spelled)
        if extent is None:
            raise item.error("TW004", "an extent has its axes beside it: 16@x, 16@(y,x)")
        shape.append(int(extent[1]))
        cuts.append([mesh.digit(name, item) for name in re.findall(r"\w+", extent[2] or "")])
    return Tiles(cuts, mesh.unused()).reading(brackets, given, shape, known_type(word.text))


def _spec(given: Given, call: Value, mesh: Mesh) -> Reading:
    """Return the reading of `P('x', None, ('y', 'z'))`."""
    cuts: list[Digits] = []
    notes: list[str] = []
    for item in call.items:
        if item.key and item.name == "unreduced":
            raise unread(item.key, "")
        if item.name == "reduced":
            continue
        axes = item.single
        names = [axis.single for axis in axes.items] if axes.text == "(" else [axes]
        if axes.kind != STRING and axes.name in ("None", "UNCONSTRAINED"):
            names = []
        if axes.name == "UNCONSTRAINED":
            notes.append(f"dimension {len(cuts)} is unconstrained: the compiler may shard it")
        for name in names:
            if name.kind != STRING:
                hint = "an axis in quotes, several in brackets, None, or UNCONSTRAINED"
                code = "TW002" if name.number is None else "TW101"
                raise name.error(code, f"{name} shards no dimension", hint)
        cuts.append([mesh.digit(name.text, name) for name in names])
    return Tiles(cuts, mesh.unused(), notes=notes).reading(call, given, is_short=True)


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
