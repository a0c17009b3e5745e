"""Shardings as layouts and back, for the dialects that say how a mesh of devices shares a tensor.

A dimension of the tensor is a list of digits, the slowest first: each steps along an axis of the mesh, or on
`m` inside the shard, which is row-major. What no digit of a dimension uses of the mesh holds copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from tilewise.core.algebra.recognition import recognise
from tilewise.core.axes import DEVICE, KNOWN, Axis, m
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, flat_index, leaves
from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.given import Given, Reading, layout_of_modes
from tilewise.notation.dialects.values import Span, Value, numbers, single, unquoted
from tilewise.notation.tokens import NAME, Cursor, Token, shortened

MAX_DEVICES = 1 << 16
"""The most devices of a mesh whose numbers are listed."""

GPU = Axis("gpuid")
Digits = list[Iter]


def sharded(
    shape: Sequence[int], dimensions: Sequence[Digits], copies: Iterable[Iter], first: Vector
) -> Reading:
    """Return the layout of a tensor of these extents; digits on `m` count within their dimension.

    >>> sharded((15, 8), [[Iter(2, 1 @ GPU), Iter(8, 1 @ m)], [Iter(8, 1 @ m)]], [], ZERO).layout
    S[((2, 8), 8) : ((1@gpuid, 8@m), 1@m)]
    """
    modes: list[list[tuple[int, Vector | int]]] = []
    pitch = 1
    for digits in reversed(dimensions):
        moving = [it for it in digits if it.extent > 1]
        modes.insert(0, [(it.extent, it.stride * pitch if it.stride["m"] else it.stride) for it in moving])
        pitch *= prod(it.extent for it in moving if it.stride["m"])
    layout = layout_of_modes(modes, [(it.extent, it.stride) for it in copies if it.extent > 1], first)
    is_padded = bool(shape) and extents_of(layout.shape) != tuple(shape)
    return Reading(layout, box=tuple(shape) if is_padded else None)


def tiled(
    cursor: Cursor,
    given: Given,
    span: Span,
    cuts: Sequence[Digits] | None,
    copies: Iterable[Iter],
    shape: Sequence[int] | None = None,
    first: Vector = ZERO,
    is_short: bool = False,
    hint: str = "",
) -> Reading:
    """Return the layout of a tensor that is cut, each dimension once into equal shards.

    Where the number of shards does not divide an extent, a shard is the larger one, as XLA pads it. What a
    short list of cuts leaves out is whole.
    """
    shape, cuts = shape_of(cursor, given, shape, span), cuts or []
    if len(cuts) > len(shape) or (len(cuts) < len(shape) and not is_short):
        message = f"dimensions of the sharding: {len(cuts)}; of the tensor: {len(shape)}"
        raise cursor.error("TW003", message, span, hint)
    dimensions = [
        [*cut, Iter(-(-extent // prod(it.extent for it in cut)), 1 @ m)]
        for extent, cut in zip(shape, [*cuts, *[[] for _ in shape[len(cuts) :]]], strict=True)
    ]
    return sharded(shape, dimensions, copies, first)


def shape_of(
    cursor: Cursor, given: Given, shape: Sequence[int] | None, span: Span | None = None
) -> Sequence[int]:
    """Return the extents of the text's own tensor, or those given; refuse a tensor that holds no element."""
    found = given.needs_shape("a sharding") if shape is None else shape
    if any(extent < 1 for extent in found):
        raise cursor.error("TW102", f"a tensor of {'x'.join(map(str, found))} holds no element", span)
    return found


# -- meshes of named axes --------------------------------------------------------------------------


@dataclass(slots=True)
class Mesh:
    """The axes of a mesh with their extents, the slowest first, and which parts of them are used."""

    extents: dict[str, int]
    used: list[tuple[str, int, int, Span]] = field(default_factory=list)

    def digit(self, cursor: Cursor, name: str, span: Span, before: int = 1, extent: int = 0) -> Iter:
        """Return an axis, or the part of it that has so many steps before it, and mark it as used."""
        if name not in self.extents:
            known = ", ".join(self.extents) or "no axis"
            raise cursor.error("TW007", f"the mesh has no axis {name!r}", span, f"it has {known}")
        extent = extent or self.extents[name]
        self.used.append((name, before, extent, span))
        return self._part(name, before, extent)

    def _part(self, name: str, before: int, extent: int) -> Iter:
        return Iter(extent, self.extents[name] // (before * extent) @ Axis(name))

    def whole_axes(self, cursor: Cursor) -> list[Digits]:
        """Return the digits of each axis."""
        return [[self.digit(cursor, name, cursor.next.span)] for name in self.extents]

    def unused(self, cursor: Cursor) -> Digits:
        """Return what no dimension has used, axis by axis: it holds copies.

        refused  TW003 where parts of an axis overlap, or do not divide it
        """
        found: Digits = []
        for name, whole in self.extents.items():
            at = 1
            its = sorted(part[1:] for part in self.used if part[0] == name)
            for before, extent, span in [*its, (whole, 1, its[-1][-1] if its else (0, 0))]:
                if before % at:
                    odd = f"has {whole} devices, which its parts do not divide"
                    why = odd if before == whole else "is used twice"
                    raise cursor.error("TW003", f"{name} {why}", span)
                if before > at:
                    found.append(self._part(name, at, before // at))
                at = before * extent
        return found


def checked_mesh(cursor: Cursor, named: Iterable[tuple[Token, int]]) -> Mesh:
    """Return the mesh of these axes; refuse a name twice, one with another meaning, and extent 0."""
    extents: dict[str, int] = {}
    for token, extent in named:
        name = unquoted(token)
        if name in extents:
            raise cursor.error("TW003", f"the mesh has two axes {name!r}", token.span)
        if extent < 1:
            raise cursor.error("TW102", f"the axis {name} has {extent} devices", token.span)
        facts = KNOWN.get(name)
        if not name.isidentifier() or (facts and facts.kind != DEVICE):
            why = facts.counts if facts else "it is no identifier"
            hint = f"give it another name, such as mesh_{name}" if facts else ""
            raise cursor.error("TW103", f"{name} cannot be an axis of a mesh here: {why}", token.span, hint)
        extents[name] = extent
    return Mesh(extents)


def mesh_of_names(cursor: Cursor, given: Given, span: Span, hint: str) -> Mesh:
    """Return the mesh whose axes were given as names with numbers, or refuse: the mesh is missing."""
    if not given.let:
        hint = f"{hint}, or say its axes: --let x=2 --let y=4"
        raise cursor.error("TW007", "the text does not have this one's mesh", span, hint)
    return checked_mesh(cursor, [(Token(NAME, name, *span), extent) for name, extent in given.let.items()])


_PART = r"(?:\s*:\s*\(([1-9]\d{0,9})\)\s*([1-9]\d{0,9}))?"
_QUOTED_AXIS, _ANY_AXIS = (rf"({name}){_PART}" for name in (r"\"\w*\"", r"\"\w*\"|'\w*'|\w+"))


def axes_in_braces(cursor: Cursor, mesh: Mesh, braces: Value, quoted: bool = True) -> Digits:
    """Return `{"x", "y":(2)2, ?}`: axes of a mesh and parts of them, whose names may stand without quotes."""
    if braces.text != "{":
        raise cursor.error("TW004", f"expected axes in braces, found {braces.token}", braces.span)
    found: Digits = []
    for item in braces.items:
        text = cursor.source[slice(*item.span)]
        if text == "?" and item is braces.items[-1]:
            continue
        part = re.fullmatch(_QUOTED_AXIS if quoted else _ANY_AXIS, text)
        if part is None:
            wanted = 'an axis in quotes, or a part of it, "x":(before)extent'
            raise cursor.error("TW004", f"expected {wanted}, found '{shortened(text)}'", item.span)
        name = part[1].strip("\"'")
        found.append(mesh.digit(cursor, name, item.span, int(part[2] or 1), int(part[3] or 0)))
    return found


# -- numbers of devices ----------------------------------------------------------------------------


def device_extents(cursor: Cursor, extents: Sequence[int], span: Span) -> Sequence[int]:
    """Return the extents of a grid of devices, which are positive and not too large."""
    if not extents or min(extents) < 1:
        raise cursor.error("TW102", "a mesh of devices has positive extents", span)
    if prod(extents) > MAX_DEVICES:
        raise cursor.error("TW005", f"more than {MAX_DEVICES} devices", span)
    return extents


def nested(cursor: Cursor, brackets: Value) -> tuple[list[int], list[int]]:
    """Return numbers in nested brackets: (extents, numbers).

    >>> from tilewise.notation.dialects.values import value
    >>> cursor = Given("[[0, 1], [2, 3]]").cursor()
    >>> nested(cursor, value(cursor))
    ([2, 2], [0, 1, 2, 3])
    """
    parts = [single(cursor, item) for item in brackets.items]
    if not any(part.items for part in parts):
        return [len(parts)], numbers(cursor, brackets)
    rows = [nested(cursor, part) for part in parts]
    if any(extents != rows[0][0] for extents, _ in rows):
        raise cursor.error("TW003", "rows of numbers have one length", brackets.span)
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


def grid(
    cursor: Cursor, span: Span, devices: Sequence[int], extents: Sequence[int]
) -> tuple[list[Digits], Vector]:
    """Return the digits of every dimension of a grid of numbered devices, and the first device.

    refused  TW510 with the first position of the grid where no digits count so
    """
    try:
        layout = recognise(devices, GPU, tuple(extents))
    except Refused as refused:
        at = refused.witness
        refused.span, refused.source = span, cursor.source
        refused.witness = {"tile": at, "device": devices[flat_index(at, tuple(extents))]}
        raise
    return _by_mode(layout), layout.offset


# -- from a layout to a sharding -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sharding:
    """A tensor that devices share: the digits of each dimension, the copies, and the first device."""

    system: str
    """The name of the system that is written, for refusals."""
    dimensions: list[Digits]
    copies: Digits
    first: Vector

    @property
    def on_devices(self) -> Digits:
        """The digits that step along devices, those of copies last."""
        return [it for digits in (*self.dimensions, self.copies) for it in digits if not it.stride["m"]]

    def unsaid(self, wanted: str, found: str, hint: str = "") -> LayoutError:
        """Return a refusal: what the system says, and what this has."""
        return LayoutError("TW008", f"{self.system} says {wanted}, and this has {found}", hint=hint)

    def axes(self, order: Iterable[str] = ()) -> dict[str, int]:
        """Return the axes of the mesh with their extents, in the order given, then as dimensions use them.

        refused  TW008 where the digits of an axis do not count through it, each device once
        """
        if self.first:
            raise self.unsaid("a tensor that begins on the first device", f"the offset {self.first}")
        on_axis: dict[str, list[tuple[int, int]]] = {name: [] for name in order}
        for it in self.on_devices:
            ((axis, step),) = it.stride.terms
            on_axis.setdefault(axis.name, []).append((step, it.extent))
        for name, digits in on_axis.items():
            count = 1
            for step, extent in sorted(digits):
                if step != count:
                    found = f"a step of {step}@{name} where {count}@{name} would be next"
                    raise self.unsaid("a mesh whose devices are counted through once", found)
                count *= extent
        return {name: prod(extent for _, extent in digits) for name, digits in on_axis.items() if digits}

    def check_even(self) -> None:
        """Refuse a dimension whose shards are dealt out in turns: devices count within parts of the shard."""
        for dimension, digits in enumerate(self.dimensions):
            kinds = [it.stride["m"] != 0 for it in digits]
            if kinds != sorted(kinds):
                raise self.unsaid(
                    "one stretch of a dimension for every device",
                    f"dimension {dimension} dealt out in turns",
                    "a _StridedShard of DTensor says this: --as dtensor",
                )


def _by_mode(layout: Layout) -> list[Digits]:
    """Return the digits of each mode, merged."""
    strides = iter(layout.strides)
    return [
        merged_shard(tuple([Iter(extent, next(strides)) for extent in leaves(mode)])) for mode in layout.shape
    ]


def sharding_of(layout: Layout, system: str) -> Sharding:
    """Return the sharding that a layout is, or refuse: TW008 with what the system cannot say."""
    layout = by_coordinates(layout)
    dimensions = _by_mode(layout)
    copies, start = merged_replica(layout.replica)
    sharding = Sharding(system, dimensions, copies, (layout.offset + start).nonzero)
    if layout.swizzles or layout.unit != "element" or layout.outer:
        raise sharding.unsaid("a layout in elements without swizzles", f"{layout}")
    pitch = 1
    for it in [*copies, *[it for digits in reversed(dimensions) for it in reversed(digits)]]:
        moving = f"a digit of {it.extent} that steps by {it.stride}"
        if len(it.stride.terms) != 1:
            found = moving if it.stride else "elements that share a place"
            raise sharding.unsaid("digits that each step on one axis", found)
        if it.stride["m"] and it not in copies:
            if it.stride["m"] != pitch:
                raise sharding.unsaid("shards that are row-major", moving)
            pitch *= it.extent
    if any(it.stride["m"] for it in copies) or sharding.first["m"]:
        raise sharding.unsaid("copies on devices, and shards that begin at 0@m", "copies or an offset on m")
    copies.sort(key=lambda it: [(axis.name, -step) for axis, step in it.stride.terms])
    return sharding


def named_cuts(
    layout: Layout, system: str, order: Iterable[str]
) -> tuple[dict[str, int], list[list[tuple[str, int, int]]]]:
    """Return the axes of a mesh, and what cuts each dimension: (axis, what lies before the part, its extent).

    >>> from tilewise import parse
    >>> named_cuts(parse("S[((4, 4), 8) : ((1@x, 8), 1)] + R[2 : 4@x]"), "Shardy", ())
    ({'x': 8}, [[('x', 2, 4)], []])
    """
    sharding = sharding_of(layout, system)
    extents = sharding.axes(order)
    sharding.check_even()
    cuts: list[list[tuple[str, int, int]]] = []
    for digits in sharding.dimensions:
        cuts.append([])
        for it in digits:
            ((axis, step),) = it.stride.terms
            if axis != m:
                cuts[-1].append((axis.name, extents[axis.name] // (step * it.extent), it.extent))
    return extents, cuts
