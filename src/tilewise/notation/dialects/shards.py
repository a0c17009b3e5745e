"""Shardings as layouts and back, for the dialects of tensors that a mesh of devices shares.

A dimension of the tensor is a list of digits, the slowest first: each steps along an axis of the mesh, or on
`m` inside the shard, which is row-major. The part of the mesh that no dimension uses holds copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.axes import Axis, m
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import ZERO, Vector
from tilewise.notation.dialects.given import Given, Reading, layout_of_modes
from tilewise.notation.dialects.values import Written

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


@dataclass(slots=True)
class Tiles:
    """A sharding before a shape is known: the cuts of each dimension, or None where each device has all."""

    cuts: list[Digits] | None
    copies: Digits = field(default_factory=list)
    first: Vector = ZERO
    notes: list[str] = field(default_factory=list)

    def reading(
        self,
        where: Written,
        given: Given,
        shape: Sequence[int] | None = None,
        dtype: DType | None = None,
        is_short: bool = False,
        hint: str = "",
    ) -> Reading:
        """Return the layout of a tensor that is cut, each dimension once into equal shards.

        Where the number of shards does not divide an extent, a shard is the larger one, as XLA pads it. A
        dimension beyond a short list of cuts is whole.
        """
        shape, cuts = shape_of(where, given, shape), self.cuts or []
        missing = len(shape) - len(cuts)
        if missing < 0 or (missing and not is_short and self.cuts is not None):
            message = f"dimensions of the sharding: {len(cuts)}; of the tensor: {len(shape)}"
            raise where.error("TW003", message, hint)
        dimensions = [
            [*cut, Iter(-(-extent // prod(it.extent for it in cut)), 1 @ m)]
            for extent, cut in zip(shape, [*cuts, *[[]] * missing], strict=True)
        ]
        found = sharded(shape, dimensions, self.copies, self.first)
        return replace(found, dtype=dtype, notes=tuple(self.notes))


def shape_of(where: Written, given: Given, shape: Sequence[int] | None = None) -> Sequence[int]:
    """Return the extents of the text's tensor, or those given; refuse a tensor that holds no element."""
    found = given.needs_shape("a sharding") if shape is None else shape
    if any(extent < 1 for extent in found):
        raise where.error("TW102", f"a tensor of {'x'.join(map(str, found))} holds no element")
    return found


def by_mode(layout: Layout) -> list[Digits]:
    """Return the digits of each mode, merged."""
    return [merged_shard((*digits,)) for _, digits in modes_of(layout)]


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
        """Return the digits that step along devices, those of copies last."""
        return [it for digits in (*self.dimensions, self.copies) for it in digits if not it.stride["m"]]

    def unsaid(self, wanted: str, found: str, hint: str = "") -> LayoutError:
        """Return a refusal: the limit of the system, and the layout's excess."""
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


def sharding_of(layout: Layout, system: str) -> Sharding:
    """Return the sharding that a layout is, or refuse: TW008 with the part that the system cannot write."""
    layout = by_coordinates(layout)
    dimensions = by_mode(layout)
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
    """Return the axes of a mesh, and the cuts of each dimension: (axis, extent before the part, its extent).

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
