"""Random pairs of layouts on small meshes, and the plain definition of what a move across devices leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any

import numpy as np

from tilewise import Axis, DType, Layout, R, m
from tilewise.moves.mesh.held import Devices
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan

NAMES = ("gpuid_x", "gpuid_y", "gpuid_z")
EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16)
SLOW, FAST = 4e-7, 36e-7
"""Rates in GB/s at which a plan of few elements takes as long as one of millions at usual rates."""


@dataclass(frozen=True)
class Drawn:
    """A move: both layouts, the box, the width of an element, and the rates of the mesh's axes."""

    source: Layout
    target: Layout
    box: tuple[int, ...]
    bits: int
    link: Mapping[str, float]

    @property
    def plan(self) -> MeshPlan:
        return mesh_plan(
            self.source,
            self.target,
            DType.of("u4" if self.bits == 4 else f"b{self.bits}"),
            shape=self.box,
            link=self.link,
        )


def drawn(seed: int) -> Drawn:
    """Return a random move: nested, strided and turned shards, copies, offsets, uneven boxes."""
    rng = Random(seed)
    names = NAMES[: rng.choice([1, 2, 2, 3])]
    mesh = {name: rng.choice([2, 2, 2, 3, 4] if len(names) < 3 else [2, 2, 3]) for name in names}
    box = tuple(rng.choice(EXTENTS) for _ in range(rng.choice([1, 2, 2, 3])))
    layouts = [_layout(rng, box, mesh) for _ in range(2)]
    used = {axis.name for layout in layouts for axis in layout.axes}
    rates = {name: rng.choice([SLOW, FAST]) for name in names if name in used}
    return Drawn(
        layouts[0], layouts[1], box, rng.choice([8, 16, 32, 64]), rates if rng.random() < 0.7 else {}
    )


def _layout(rng: Random, box: Sequence[int], mesh: Mapping[str, int]) -> Layout:
    shards: list[list[tuple[int, Any]]] = [[] for _ in box]
    copies: list[tuple[int, Any]] = []
    offset = rng.randrange(1, 5) @ m if rng.random() < 0.2 else 0 @ m
    for name, extent in mesh.items():
        axis = Axis(name)
        if rng.random() < 0.2:
            offset = offset + rng.randrange(extent) @ axis
            continue
        turned = rng.random() < 0.1
        offset = offset + (extent - 1 if turned else 0) @ axis
        for size, step in [(2, 2), (2, 1)] if extent == 4 and rng.random() < 0.4 else [(extent, 1)]:
            digits = copies if rng.random() < 0.3 else rng.choice(shards)
            digits.append((size, (-step if turned else step) @ axis))
    modes = [_mode(rng, extent, own) for extent, own in zip(box, shards, strict=True)]
    inside = [
        (mode, at) for mode, digits in enumerate(modes) for at, (_, step) in enumerate(digits) if step is None
    ]
    if rng.random() < 0.6:
        rng.shuffle(inside)
    pitch = 1
    for mode, at in inside:
        extent = modes[mode][at][0]
        modes[mode][at] = extent, pitch @ m
        pitch = pitch * extent + (rng.randrange(1, 3) if rng.random() < 0.1 else 0)
    if rng.random() < 0.1:
        copies.append((2, pitch @ m))
    shape = tuple(tuple(extent for extent, _ in digits) for digits in modes)
    layout = Layout(shape, tuple(step for digits in modes for _, step in digits)) + offset
    if not copies:
        return layout
    return layout + R[tuple(extent for extent, _ in copies) : tuple(step for _, step in copies)]


def _mode(rng: Random, extent: int, shards: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return digits that reach an extent, in a random order; those in memory have no step yet."""
    rest = -(-extent // prod(size for size, _ in shards))
    digits = [*shards]
    for factor in (2, 3, 2, 5):
        if rest % factor == 0 and rng.random() < 0.5:
            digits.append((factor, None))
            rest //= factor
    digits.append((rest, None))
    if rng.random() < 0.4:
        rng.shuffle(digits)
    return digits


@dataclass(frozen=True)
class Sum:
    """A move of parts of sums: the axes along which copies of the source, and of the target, are parts."""

    move: Drawn
    reduce: tuple[str, ...]
    parts: tuple[str, ...]
    op: str

    @property
    def plan(self) -> MeshPlan:
        move = self.move
        kind = DType.of({8: "u8", 16: "s16", 32: "f32", 64: "s64"}[move.bits])
        reduce = dict.fromkeys(self.reduce, self.op)
        return mesh_plan(
            move.source, move.target, kind, shape=move.box, link=move.link, reduce=reduce, parts=self.parts
        )


def drawn_sum(seed: int) -> Sum | None:
    """Return a random move of sums, or None where the drawn one has no copies."""
    move, rng = drawn(seed), Random(seed)
    own, theirs = (
        sorted({name for it in layout.replica for name in NAMES if it.stride[name] and it.extent > 1})
        for layout in (move.source, move.target)
    )
    reduce = tuple(name for name in own if rng.random() < 0.8)
    op = rng.choice(["sum", "sum", "max", "min"])
    parts = tuple(name for name in theirs if op == "sum" and rng.random() < 0.3)
    return Sum(move, reduce, parts, op) if reduce or parts else None


def parted(layout: Layout, axes: Sequence[str]) -> dict[tuple[tuple[int, Any], ...], Layout]:
    """Return the layout of each part, by its number along each copy that is a part."""
    apart = [it for it in layout.replica if any(it.stride[name] for name in axes)]
    rest = tuple(it for it in layout.replica if it not in apart)
    found = {}
    for values in np.ndindex(*[it.extent for it in apart]):
        offset = layout.offset
        for value, it in zip(values, apart, strict=True):
            offset = offset + it.stride * value
        found[values] = replace(layout, replica=rest, offset=offset)
    return found


def total(devices: Devices, storages: Sequence[Any], layout: Layout, index: Sequence[int]) -> float:
    """Return the sum over all places of an element."""
    number = {tuple(place): at for at, place in enumerate(devices.coordinates.tolist())}
    places = [(tuple(at[name] for name in devices.names), at["m"]) for at in layout.places(*index)]
    return sum(float(storages[number[device]][at]) for device, at in places)


def check_sum(given: Sum, seed: int, run: Any) -> str:
    """Return the first fault of a run of a plan, from storages before to storages after, or ''."""
    plan, move = given.plan, given.move
    number = {tuple(place): at for at, place in enumerate(plan.devices.coordinates.tolist())}
    kind = plan.dtype.name.replace("u", "uint") if plan.dtype.name[0] == "u" else plan.dtype.name
    kind = {"f32": "f4", "s16": "i2", "s64": "i8", "uint8": "u1"}[kind]
    rng = np.random.default_rng(seed)

    def place_of(places: Any) -> list[tuple[int, int]]:
        return [(number[tuple(at[name] for name in plan.devices.names)], at["m"]) for at in places]

    before = [np.zeros(plan.reads, kind) for _ in range(plan.devices.size)]
    values = []
    for layout in parted(move.source, given.reduce).values():
        own = rng.integers(1, 100, move.box).astype(kind)
        values.append(own)
        for index in np.ndindex(*move.box):
            for device, at in place_of(layout.places(*index)):
                before[device][at] = own[index]
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[given.op]
    whole = combine.reduce(np.array(values), axis=0, dtype=kind)
    after = run(plan, before)
    for index in np.ndindex(*move.box):
        every = [place_of(layout.places(*index)) for layout in parted(move.target, given.parts).values()]
        for places in zip(*every, strict=True):
            got = sum((after[device][at] for device, at in places), np.zeros((), kind))
            if got != whole[index]:
                return f"{seed}: element {index} is {got}, not {whole[index]}"
    return ""


@dataclass(frozen=True)
class Wanted:
    """The storages of all devices before and after, and the elements that come to each, by the definition."""

    before: list[np.ndarray]
    after: list[np.ndarray]
    least: list[int]
    """The elements that come to each device."""


def wanted(move: Drawn, plan: MeshPlan, seed: int = 0) -> Wanted:
    """Return the storages of all devices, element by element."""
    devices: Devices = plan.devices
    number = {tuple(place): at for at, place in enumerate(devices.coordinates.tolist())}
    kind = f"u{move.bits // 8}"
    values = np.random.default_rng(seed).integers(1, 1 << min(move.bits, 62), move.box, dtype=np.uint64)
    values = values.astype(kind)
    storages, held = [], []
    for layout, size in ((move.source, plan.reads), (move.target, plan.writes)):
        storage = [np.zeros(size, kind) for _ in range(devices.size)]
        holds: list[set[tuple[int, ...]]] = [set() for _ in range(devices.size)]
        for index in np.ndindex(*move.box):
            for place in layout.places(*index):
                device = number[tuple(place[name] for name in devices.names)]
                storage[device][place["m"]] = values[index]
                holds[device].add(index)
        storages.append(storage)
        held.append(holds)
    least = [len(after - before) for before, after in zip(*held, strict=True)]
    return Wanted(*storages, least)
