"""Meshes of devices, in every print of torch and JAX: named axes with parts of them, or numbered devices.

DeviceMesh((dp=2, tp=4), 'cuda', stride=(4, 1))      Mesh('dp': 2, 'tp': 4, axis_types=(Auto, Auto))
DeviceMesh('cuda', [[0, 1], [2, 3]])                 Mesh(device_ids=array([0, 1]), axis_names=('dp',))
(2, 4)                                               AbstractMesh((('dp', 2), ('tp', 4)))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import DEVICE, KNOWN, Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter
from tilewise.core.shapes import flat_index
from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.given import STRING, Given
from tilewise.notation.dialects.shards import GPU, Digits, Tiles, by_mode
from tilewise.notation.dialects.values import Item, Value, Written, between, named_numbers
from tilewise.notation.tokens import NAME

MAX_DEVICES = 1 << 16
"""The most devices of a mesh whose numbers are listed."""
_WHY_NOT = {
    "manual": "the program inside splits the tensor, so the text does not tell how",
    "unknown": "the compiler has not chosen yet",
    "unreduced": "every device holds a part of a sum, and no element is at a place",
}
_MANUAL_AXES = "each device along the manual axes has a tensor of its own, and this is the first one's"
REPLICATED, MANUAL = "replicated", "manual"


# -- named axes ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Mesh:
    """The axes of a mesh with their extents, the slowest first, and the parts of them that are used."""

    extents: dict[str, int]
    used: list[tuple[str, int, int, Written]] = field(default_factory=list)

    def digit(self, name: str, where: Written, before: int = 1, extent: int = 0) -> Iter:
        """Return an axis, or the part of it with `before` steps before it, and mark it as used."""
        if name not in self.extents:
            known = ", ".join(self.extents) or "no axis"
            raise where.error("TW007", f"the mesh has no axis {name!r}", f"it has {known}")
        extent = extent or self.extents[name]
        self.used.append((name, before, extent, where))
        return self._part(name, before, extent)

    def _part(self, name: str, before: int, extent: int) -> Iter:
        return Iter(extent, self.extents[name] // (before * extent) @ Axis(name))

    @property
    def whole_axes(self) -> list[Digits]:
        """Return the digits of each axis."""
        return [[self._part(name, 1, extent)] for name, extent in self.extents.items()]

    def unused(self) -> Digits:
        """Return the digits that no dimension has used, axis by axis: they hold copies.

        refused  TW003 where parts of an axis overlap, or do not divide it
        """
        found: Digits = []
        for name, whole in self.extents.items():
            at, where = 1, None
            parts = sorted((part[1:] for part in self.used if part[0] == name), key=lambda part: part[:2])
            for before, extent, where in [*parts, (whole, 1, parts[-1][-1] if parts else None)]:
                if before % at and where:
                    odd = f"has {whole} devices, which its parts do not divide"
                    why = odd if before == whole else "is used twice"
                    raise where.error("TW003", f"{name} {why}")
                if before > at:
                    found.append(self._part(name, at, before // at))
                at = before * extent
        return found


def checked_mesh(named: Iterable[tuple[Value, int]]) -> Mesh:
    """Return the mesh of these axes; refuse a name twice, one with another meaning, and extent 0."""
    extents: dict[str, int] = {}
    for word, extent in named:
        name = word.text
        if name in extents:
            raise word.error("TW003", f"the mesh has two axes {name!r}")
        if extent < 1:
            raise word.error("TW102", f"the axis {name} has {extent} devices")
        facts = KNOWN.get(name)
        if not name.isidentifier() or (facts and facts.kind != DEVICE):
            why = facts.counts if facts else "it is no identifier"
            hint = f"give it another name, such as mesh_{name}" if facts else ""
            raise word.error("TW103", f"{name} cannot be an axis of a mesh here: {why}", hint)
        extents[name] = extent
    return Mesh(extents)


def mesh_of_names(where: Written, given: Given, hint: str) -> Mesh:
    """Return the mesh whose axes were given as names with numbers, or refuse: the mesh is missing."""
    if not given.let:
        hint = f"{hint}, or say its axes: --let x=2 --let y=4"
        raise where.error("TW007", "the text does not have this one's mesh", hint)
    names = [(Value(where.source, where.span, NAME, name), extent) for name, extent in given.let.items()]
    return checked_mesh(names)


_PART = r"(?:\s*:\s*\(([1-9]\d{0,9})\)\s*([1-9]\d{0,9}))?"
_QUOTED_AXIS, _ANY_AXIS = (rf"({name}){_PART}" for name in (r"\"\w*\"", r"\"\w*\"|'\w*'|\w+"))


def axes_in_braces(mesh: Mesh, braces: Value, quoted: bool = True) -> Digits:
    """Return `{"x", "y":(2)2, ?}`: axes of a mesh and parts of them, whose names may stand without quotes."""
    if braces.text != "{":
        raise braces.error("TW004", f"expected axes in braces, found {braces}")
    found: Digits = []
    for item in braces.items:
        if item.spelled == "?" and item is braces.items[-1]:
            continue
        part = re.fullmatch(_QUOTED_AXIS if quoted else _ANY_AXIS, item.spelled)
        if part is None:
            raise item.unexpected('an axis in quotes, or a part of it, "x":(before)extent')
        name = part[1].strip("\"'")
        found.append(mesh.digit(name, item, int(part[2] or 1), int(part[3] or 0)))
    return found


def on_mesh(mesh: Mesh, items: Sequence[Item], quoted: bool = True) -> Tiles:
    """Return the tiles that `[{"x"}, {"y", ?} p1], replicated={"z"}` makes on a mesh.

    A priority such as `p1` is for the compiler alone.
    """
    found = Tiles(None)
    for item in items:
        word, last = item.key or item.values[0], item.values[-1]
        if word.text == "[":
            found.cuts = []
            for cut in last.items:
                axes, *priority = cut.values
                if priority and not re.fullmatch(r"p\d+", between(priority[0], priority[-1]).spelled):
                    raise priority[0].error("TW004", f"expected ',' before {priority[0]}")
                found.cuts.append(axes_in_braces(mesh, axes, quoted))
        elif item.key and word.text in ((REPLICATED,) if quoted else (REPLICATED, MANUAL)):
            held = axes_in_braces(mesh, item.without_key.single, quoted)
            found.copies += held if word.text == REPLICATED else []
            found.notes += [_MANUAL_AXES] if word.text == MANUAL else []
        elif word.text == "device_ids" and not quoted:
            found.notes.append(f"the order of the devices: {item.spelled}")
        elif quoted or word.text not in (REPLICATED, "metadata"):
            raise unread(word, "is no part of a sharding on a mesh", "known: replicated={...}")
    found.copies += mesh.unused()
    return found


def unread(word: Value, what: str, known: str = "") -> LayoutError:
    """Return the error of a word that is not read: the reason why it is no layout, or the known words."""
    if word.text in _WHY_NOT:
        return word.error("TW008", f"'{word.text}' is no layout: {_WHY_NOT[word.text]}")
    code = "TW002" if word.kind == NAME else "TW004"
    return word.error(code, f"{word} {what}", known)


# -- numbers of devices ----------------------------------------------------------------------------


def device_extents(where: Written, extents: Sequence[int]) -> Sequence[int]:
    """Return the extents of a grid of devices, which are positive and not too large."""
    if not extents or min(extents) < 1:
        raise where.error("TW102", "a mesh of devices has positive extents")
    if prod(extents) > MAX_DEVICES:
        raise where.error("TW005", f"more than {MAX_DEVICES} devices")
    return extents


def nested(brackets: Value) -> tuple[list[int], list[int]]:
    """Return numbers in nested brackets: (extents, numbers).

    >>> from tilewise.notation.dialects.values import value
    >>> nested(value(Given("[[0, 1], [2, 3]]").cursor()))
    ([2, 2], [0, 1, 2, 3])
    """
    parts = [item.single for item in brackets.items]
    if not any(part.items for part in parts):
        return [len(parts)], [*brackets.numbers()]
    rows = [nested(part) for part in parts]
    if any(extents != rows[0][0] for extents, _ in rows):
        raise brackets.error("TW003", "rows of numbers have one length")
    return [len(rows), *rows[0][0]], [at for _, row in rows for at in row]


def counted(digits: Iterable[tuple[int, int]], first: int = 0) -> list[int]:
    """Return the numbers that digits (extent, step) count through, slowest first.

    >>> counted([(2, 1), (2, 4)])
    [0, 4, 1, 5]
    """
    found = [first]
    for extent, step in digits:
        found = [before + step * i for before in found for i in range(extent)]
    return found


def grid(where: Written, devices: Sequence[int], extents: Sequence[int]) -> tuple[list[Digits], Vector]:
    """Return the digits of every dimension of a grid of numbered devices, and the first device.

    refused  TW510 with the first position of the grid where no digits count so
    """
    with where.blame():
        try:
            layout = recognise(devices, GPU, tuple(extents))
        except Refused as refused:
            at = refused.witness
            refused.witness = {"tile": at, "device": devices[flat_index(at, tuple(extents))]}
            raise
    return by_mode(layout), layout.offset


# -- as they print ---------------------------------------------------------------------------------


_PRINTS = (["DeviceMesh"], ["DeviceMesh", ":"], ["Mesh"], ["AbstractMesh"])


@dataclass(slots=True)
class _Printed:
    """A mesh as it prints: names of its dimensions, extents, steps of ranks along them, and the devices."""

    where: Written
    names: list[Value] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    steps: Sequence[int] = ()
    devices: Sequence[int] = ()


def _printed(words: Sequence[Value]) -> _Printed:
    """Return the fields of a mesh's print: of any class, of `{'x': 2}`, or of sizes alone."""
    *name, call = words
    found = _Printed(between(words[0], call))
    is_print = call.text == "(" and [word.text for word in name] in _PRINTS
    if not is_print and (name or call.text not in ("(", "{")):
        message = f"{found.where} is no mesh that is read here"
        raise found.where.error("TW004", message, "such as DeviceMesh((dp=2, tp=4)) or {'x': 2, 'y': 4}")
    alone = Item(call.source, call.span, None, "", (call,))
    for item in call.items if name or call.text == "{" else [alone]:
        value = item.values[-1] if item.key else item.single
        inner, named = value.items, list[tuple[Value, int]]()
        is_text = (item.key or value).kind == STRING
        if call.text == "{" or (is_text and name and name[0].text != "DeviceMesh"):
            named = named_numbers([item], ":", quoted=True)
        elif item.name == "device_ids" or (value.text == "[" and item.name in ("", "mesh", "Mesh")):
            array = inner[0].values[0] if value.text == "(" and inner else value
            found.sizes, found.devices = nested(array)
        elif value.text != "(" or not inner:
            continue
        elif item.name == "stride":  # a dimension that several were flattened into has steps in brackets
            found.steps = () if any(step.text == "(" for step in inner) else value.numbers()
        elif item.name in ("mesh_dim_names", "axis_names") or inner[0].values[0].kind == STRING:
            found.names = [axis.single for axis in inner]
        elif item.name == "axis_sizes" or (
            not item.key and inner[0].values[0].number is not None and not inner[0].key
        ):
            found.sizes = found.sizes or [*value.numbers()]
        elif not item.key and inner[0].text == "(":  # AbstractMesh((('x', 2), ('y', 4))) of JAX 0.4
            pairs = [axis.single.items for axis in inner]
            if any(len(pair) != 2 for pair in pairs):
                raise value.error("TW004", "an axis has one extent: ('x', 2)")
            named = [(axis.single, size.as_number()) for axis, size in pairs]
        elif not item.key:
            named = named_numbers(inner)
        found.names += [word for word, _ in named]
        found.sizes += [size for _, size in named]
    if found.names and len(found.names) != len(found.sizes):
        message = f"names: {len(found.names)}; dimensions of the mesh: {len(found.sizes)}"
        raise found.where.error("TW003", message)
    return found


def named_mesh(words: Sequence[Value]) -> Mesh:
    """Return the mesh of named axes that a text prints."""
    printed = _printed(words)
    if len(printed.names) != len(printed.sizes):
        raise printed.where.error("TW004", "the axes of this mesh have no names")
    return checked_mesh(zip(printed.names, printed.sizes, strict=True))


def device_mesh(words: Sequence[Value]) -> tuple[list[Digits], Vector]:
    """Return the digits of each dimension of a mesh, along its names or else ranks, and the first rank."""
    printed = _printed(words)
    sizes, where = printed.sizes, printed.where
    device_extents(where, sizes)
    if printed.names:
        return checked_mesh(zip(printed.names, sizes, strict=True)).whole_axes, ZERO
    steps = printed.steps or [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    if len(steps) != len(sizes):
        raise where.error("TW003", f"steps: {len(steps)}; dimensions of the mesh: {len(sizes)}")
    ranks = printed.devices or counted(zip(sizes, steps, strict=True))
    if len({*ranks}) != len(ranks) or min(ranks) < 0:
        raise where.error("TW003", "a mesh has every rank once")
    return grid(where, ranks, sizes)
