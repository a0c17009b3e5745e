"""The elements that each device of a mesh holds, by digits and without a list of them.

A layout over devices and memory is a list of digits in each mode. A digit that steps on devices has one
value on a device, a digit that steps in memory has all of them. So a device holds a product over modes:

    held(d) = { x : in each mode, the digits of x on devices have the values that the coordinates of d spell }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewise.core.algebra.modes import modes_of
from tilewise.core.axes import DEVICE, KNOWN, Axis, m
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector

EachInt = NDArray[np.int64]
EachBool = NDArray[np.bool_]

MAX_DEVICES = 1 << 20


@dataclass(frozen=True)
class Devices:
    """The devices of a mesh, by its axes. The first axis is the slowest in the number of a device.

    >>> Devices.of({"gpuid_x": 2, "gpuid_y": 4}).size
    8
    """

    names: tuple[str, ...]
    extents: tuple[int, ...]

    @classmethod
    def of(cls, extents: dict[str, int]) -> Devices:
        """Return the devices of named axes."""
        found = cls(tuple(extents), tuple(extents.values()))
        if found.size > MAX_DEVICES:
            hint = f"plans are for {MAX_DEVICES} at most"
            raise LayoutError("TW005", f"a mesh of {found.size} devices", hint=hint)
        return found

    @property
    def size(self) -> int:
        """Return the number of devices."""
        return prod(self.extents)

    @cached_property
    def coordinates(self) -> EachInt:
        """Return the coordinates of each device on each axis."""
        every = np.indices(self.extents, np.int64).reshape(len(self.extents), self.size)
        return np.ascontiguousarray(every.T)

    def spelled(self, number: int) -> str:
        """Return a device by its coordinates.

        >>> Devices.of({"gpuid_x": 2, "gpuid_y": 4}).spelled(6)
        '1@gpuid_x + 2@gpuid_y'
        """
        steps = zip(self.coordinates[number].tolist(), self.names, strict=True)
        return " + ".join(f"{step}@{name}" for step, name in steps)


def device_axes(layout: Layout) -> list[Axis]:
    """Return the axes of devices: those that hold no elements, and are no threads or blocks of one GPU.

    >>> from tilewise import parse
    >>> [axis.name for axis in device_axes(parse("S[(2, 4, 8) : (1@gpuid_x, 1@tp, 1)]"))]
    ['gpuid_x', 'tp']
    """
    known = {name for name, facts in KNOWN.items() if facts.kind != DEVICE}
    return [axis for axis in layout.axes if not axis.storage and axis.name not in known]


@dataclass(frozen=True, slots=True)
class MeshStep:
    """A step of a digit: on the axes of the mesh, and in memory."""

    device: tuple[int, ...]
    memory: int

    def __add__(self, other: MeshStep) -> MeshStep:
        device = tuple([a + b for a, b in zip(self.device, other.device, strict=True)])
        return MeshStep(device, self.memory + other.memory)

    def __mul__(self, count: int) -> MeshStep:
        return MeshStep(tuple([step * count for step in self.device]), self.memory * count)

    @property
    def on_devices(self) -> bool:
        """Return True if the digit has one value on each device."""
        return any(self.device)


MeshDigit = tuple[int, MeshStep]
"""(extent, step)."""


@dataclass(frozen=True)
class Held:
    """The elements of a layout on each device: the digits of each mode, the slowest first, and the copies."""

    devices: Devices
    modes: tuple[tuple[MeshDigit, ...], ...]
    copies: tuple[MeshDigit, ...]
    """The copies on other devices."""
    local_copies: tuple[MeshDigit, ...]
    """The copies on the same device."""
    first: MeshStep
    """The offset."""
    size: int
    """The elements of a storage that has all places in memory."""
    swizzles: tuple[Swizzle, ...] = ()
    outer: int = 0

    @classmethod
    def of(cls, layout: Layout, devices: Devices, *, flat: bool = False) -> Held:
        """Return the elements of a row-major layout; `flat` has its flat index as the only mode."""
        memory = next((axis.name for axis in layout.axes if axis.storage), m.name)

        def step(vector: Vector) -> MeshStep:
            return MeshStep(tuple([vector[name] for name in devices.names]), vector[memory])

        modes = [tuple([(it.extent, step(it.stride)) for it in digits]) for _, digits in modes_of(layout)]
        replicas, start = merged_replica(layout.replica)
        copies = [(it.extent, step(it.stride)) for it in replicas]
        return cls(
            devices,
            (sum(modes, ()),) if flat else tuple(modes),
            tuple([copy for copy in copies if copy[1].on_devices]),
            tuple([copy for copy in copies if not copy[1].on_devices and copy[1].memory]),
            step(layout.offset + start),
            layout.max(memory) + 1 if layout.knows(memory) else 1,
            layout.swizzles,
            layout.outer[memory],
        )

    @cached_property
    def on_devices(self) -> tuple[MeshDigit, ...]:
        """Return all digits that step on devices, mode by mode, those of the copies last."""
        digits = [digit for mode in self.modes for digit in mode if digit[1].on_devices]
        return (*digits, *self.copies)

    @property
    def local_begins(self) -> list[int]:
        """Return the place in memory at which each copy on the same device begins."""
        steps = [[value * step.memory for value in range(extent)] for extent, step in self.local_copies]
        return [sum(some) for some in product(*steps)]

    @cached_property
    def copy_begins(self) -> EachInt:
        """Return the place in memory at which each device's copy begins."""
        steps = np.array([step.memory for _, step in self.copies], np.int64)
        return self.values[:, self.columns(-1)] @ steps

    def columns(self, mode: int) -> slice:
        """Return the columns of `values` with the digits of a mode; mode -1 is the copies."""
        counts = [sum(step.on_devices for _, step in digits) for digits in self.modes]
        if mode < 0:
            return slice(sum(counts), len(self.on_devices))
        return slice(sum(counts[:mode]), sum(counts[: mode + 1]))

    @cached_property
    def values(self) -> EachInt:
        """Return the value of each digit on devices, for each device.

        A device without elements has the values that its coordinates would spell if the digits went on.
        """
        return self.values_on(range(len(self.devices.names)))

    def values_on(self, axes: Iterable[int]) -> EachInt:
        """Return the values by the coordinates on some axes."""
        values = np.zeros((self.devices.size, len(self.on_devices)), np.int64)
        for axis in axes:
            own = [(at, it) for at, it in enumerate(self.on_devices) if it[1].device[axis]]
            lowest = sum((extent - 1) * min(step.device[axis], 0) for _, (extent, step) in own)
            rest = np.arange(self.devices.extents[axis]) - self.first.device[axis] - lowest
            for at, (extent, step) in sorted(own, key=lambda it: -abs(it[1][1].device[axis])):
                count, rest = np.divmod(rest, abs(step.device[axis]))
                value = count % extent if step.device[axis] > 0 else extent - 1 - count % extent
                values[:, at] = value[self.devices.coordinates[:, axis]]
        return values

    @cached_property
    def holds(self) -> EachBool:
        """Return for each device if it holds elements.

        refused  NotDecided where digits step over the same devices, or one digit on two axes
        """
        steps = np.array([step.device for _, step in self.on_devices], np.int64)
        steps = steps.reshape(-1, len(self.devices.names))
        spelled = self.values @ steps + np.array(self.first.device, np.int64)
        found: EachBool = (spelled == self.devices.coordinates).all(axis=1)
        if int(found.sum()) != prod(extent for extent, _ in self.on_devices):
            raise NotDecided(
                "several digits step over the same devices, or one steps on two axes of them: no plan is made"
                " for that"
            )
        return found


def own_values(held: Held, device: int, mode: int) -> Sequence[int]:
    """Return the values of the digits of a mode on one device."""
    found: list[int] = held.values[device, held.columns(mode)].tolist()
    return found
