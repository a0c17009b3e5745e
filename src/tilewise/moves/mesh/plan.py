"""Plans between layouts on a mesh of devices: one exchange, or two by way of a layout between them.

Two deliver one copy of each element, shared out over axes along which the target has copies, and gather along
those axes afterwards. They send no element twice over a slow axis, and share the work of one sender.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from math import prod

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned, alike_in_modes, by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import Devices, EachInt, Held, MeshDigit, MeshStep, device_axes
from tilewise.moves.mesh.modes import DigitMode
from tilewise.moves.pairs.pair import NO_MEMORY, box_of, refuse_meeting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RATE = 360.0
"""GB/s in which a link of two H200 passes messages, where no rate is given."""
MORE = 1.25
"""The factor by which the time of a plan counts that sends more than the least."""
LISTED, DRAWN = 64, 16
"""Devices whose traffic is listed, and drawn, at most."""
START = 10e-6
"""Seconds until the first byte of an exchange arrives."""


@dataclass(frozen=True)
class MeshPlan:
    """A plan between two layouts on a mesh.

    >>> from tilewise import parse
    >>> rows = parse("S[((2, 4), 8) : ((1@gpuid_x, 8), 1)]")
    >>> columns = parse("S[(8, (2, 4)) : (4, (1@gpuid_x, 1))]")
    >>> plan = mesh_plan(rows, columns, DType.of("f32"))
    >>> plan.kinds, plan.bytes_sent, plan.least
    (['all-to-all'], [64, 64], 128)
    """

    source: Layout
    target: Layout
    dtype: DType
    box: tuple[int, ...]
    exchanges: tuple[MeshExchange, ...]
    links: Mapping[str, float]

    @property
    def devices(self) -> Devices:
        """Return the devices of the mesh."""
        return self.exchanges[0].devices

    kind = "mesh"

    @property
    def kinds(self) -> list[str]:
        """Return the kind of each exchange."""
        return [kind_of(exchange) for exchange in self.exchanges]

    @property
    def reads(self) -> int:
        """Return the elements of a device's storage in the source."""
        return self.exchanges[0].source.size

    @property
    def writes(self) -> int:
        """Return the elements of a device's storage in the target."""
        return self.exchanges[-1].target.size

    def in_bytes(self, elements: Any) -> Any:
        """Return the bytes of some elements."""
        return -(-elements * self.dtype.bits // 8)

    @property
    def bytes_sent(self) -> list[int]:
        """Return the bytes that arrive at each device from others."""
        total: EachInt = sum(self.in_bytes(exchange.received) for exchange in self.exchanges)
        found: list[int] = total.tolist()
        return found

    @cached_property
    def direct(self) -> MeshExchange:
        """Return the one exchange from the source to the target."""
        first, last = self.exchanges[0], self.exchanges[-1]
        return first if first is last else MeshExchange.of(first.source, last.target, self.box)

    @property
    def least(self) -> int:
        """Return the bytes that devices want and do not hold."""
        return int(self.in_bytes(self.direct.received).sum())

    @property
    def least_by_axis(self) -> dict[str, int]:
        """Return the bytes that have to cross each axis, slowest first.

        Of those that devices joined by faster axes want and none of them holds, each enters once.
        """
        order = sorted(range(len(self.devices.names)), key=lambda at: self.rate(self.devices.names[at]))
        found, slower = {}, 0
        for at in range(1, len(order) + 1):
            crossing = int(self.in_bytes(self.direct.entering(order[:at])).sum())
            found[self.devices.names[order[at - 1]]] = crossing - slower
            slower = crossing
        return found

    def rate(self, axis: str) -> float:
        """Return the GB/s of an axis."""
        return self.links.get(axis, RATE)

    @property
    def seconds(self) -> float:
        """Return the expected time of the exchanges."""
        return sum(seconds_of(exchange, self.links, self.dtype) for exchange in self.exchanges)

    @property
    def largest_share(self) -> float:
        """Return the most that one device sends over the mean of senders, in the least even exchange."""
        shares = [exchange.sent for exchange in self.exchanges if exchange.received.any()]
        return max((float(sent.max() / sent[sent > 0].mean()) for sent in shares), default=1.0)

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "class": "mesh",
            "mesh": dict(zip(self.devices.names, self.devices.extents, strict=True)),
            "steps": [
                {
                    "kind": kind_of(exchange),
                    "axes": axes_of(exchange),
                    "bytes": int(self.in_bytes(exchange.received).sum()),
                    "text": text,
                }
                for exchange, text in zip(self.exchanges, self.steps, strict=True)
            ],
            "bytes_sent": self.bytes_sent,
            "least": self.least,
            "least_by_axis": self.least_by_axis,
            "traffic": self.traffic,
            "largest_share": round(self.largest_share, 3),
            "seconds": self.seconds,
            "links": {name: self.rate(name) for name in self.devices.names},
            "source": str(self.source),
            "target": str(self.target),
            "dtype": str(self.dtype),
            "shape": list(self.box),
        }

    @property
    def steps(self) -> list[str]:
        """Return the exchanges in sentences."""
        return list(map(self._sentence, self.exchanges))

    def _sentence(self, exchange: MeshExchange) -> str:
        if not exchange.received.any():
            return "local move: nothing leaves a device"
        most = int(self.in_bytes(exchange.received).max())
        axes = " and ".join(axes_of(exchange))
        where = f" over {axes}" if axes else ""
        return f"{kind_of(exchange)}{where}: {counted(most, 'byte')} come to a device at most"

    def __str__(self) -> str:
        mesh = " x ".join(map(str, self.devices.extents))
        names = ", ".join(self.devices.names)
        total = sum(self.bytes_sent)
        lines = [f"mesh: {', then '.join(self.kinds)}, on {mesh} devices ({names})"]
        rest = "the least there is" if total == self.least else f"{self.least} are the least"
        lines.append(f"  bytes  {total} between devices; {rest}")
        lines.append(f"  time   {self.seconds * 1e6:.1f} us expected at {self._rates}")
        lines += [f"  {at}  {text}" for at, text in enumerate(self.steps, 1)]
        return "\n".join([*lines, *self._picture()])

    @cached_property
    def traffic(self) -> list[list[int]] | None:
        """Return the bytes from each device to each, or None where that is too much to list."""
        if self.devices.size > LISTED:
            return None
        every = range(self.devices.size)
        sent = [[self.in_bytes(exchange.sends(one)) for one in every] for exchange in self.exchanges]
        found: list[list[int]] = np.sum(sent, axis=0).tolist()
        return found

    def _picture(self) -> Iterator[str]:
        """Yield lines that say who sends how much to whom."""
        if self.devices.size > DRAWN or self.traffic is None or not any(map(any, self.traffic)):
            return
        cells = [[f"{size}" if size else "." for size in row] for row in self.traffic]
        names = [self.devices.spelled(one) for one in range(self.devices.size)]
        width = max(len(cell) for cell in [*chain(*cells), f"{self.devices.size - 1}"])
        side = max(map(len, names)) + len(f"{self.devices.size - 1}") + 2
        yield "  bytes from the device of a row to that of a column"
        yield f"  {'':{side}}" + "".join(f"  {one:>{width}}" for one in range(self.devices.size))
        for one, row in enumerate(cells):
            yield f"  {one}  {names[one]:<{side - len(str(one)) - 2}}" + "".join(
                f"  {cell:>{width}}" for cell in row
            )

    @property
    def _rates(self) -> str:
        rates = {name: self.rate(name) for name in self.devices.names}
        if len(set(rates.values())) == 1:
            return f"{next(iter(rates.values())):g} GB/s a device"
        return ", ".join(f"{rate:g} GB/s along {name}" for name, rate in rates.items())


def mesh_plan(
    source: Layout,
    target: Layout,
    dtype: DType,
    *,
    shape: Any = None,
    mesh: Mapping[str, int] | None = None,
    link: Mapping[str, float] | None = None,
) -> MeshPlan:
    """Return the plan of the least time from one layout on devices to another.

    Without `mesh` the mesh is the least that has both layouts, with its axes in the order of their names.

        refused  TW701 a mesh that is smaller than a layout; TW702 sizes; TW703 elements that meet

    >>> from tilewise import parse
    >>> print(mesh_plan(parse("S[4096]"), parse("S[4096] + R[2 : 1@gpuid_x]"), DType.of("bf16")))
    mesh: broadcast, on 2 devices (gpuid_x)
      bytes  8192 between devices; the least there is
      time   10.0 us expected at 360 GB/s a device
      1  broadcast over gpuid_x: 8192 bytes come to a device at most
      bytes from the device of a row to that of a column
                       0     1
      0  0@gpuid_x     .  8192
      1  1@gpuid_x     .     .
    """
    devices = Devices.of(_extents(source, target, mesh))
    source, target, box = _in_modes(source, target, shape)
    ours, theirs = (Held.of(layout, devices, flat=len(box) == 1) for layout in (source, target))
    refuse_meeting(target)
    direct = MeshExchange.of(ours, theirs, box)
    links = _known_links(link or {}, devices)
    best: tuple[MeshExchange, ...] = min(
        [(direct,), *_ways(direct, box)], key=lambda way: (_cost(way, direct, links, dtype), len(way))
    )
    return MeshPlan(source, target, dtype, box, best, links)


def _cost(
    way: Sequence[MeshExchange], direct: MeshExchange, links: Mapping[str, float], dtype: DType
) -> float:
    """Return the time of a way, and more for one that sends more than the least."""
    time = sum(seconds_of(exchange, links, dtype) for exchange in way)
    return time * (MORE if sum(int(one.received.sum()) for one in way) > direct.received.sum() else 1)


def _extents(source: Layout, target: Layout, mesh: Mapping[str, int] | None) -> dict[str, int]:
    """Return the extents of the mesh: those given, else the least that has both layouts, by name."""
    found: dict[str, int] = {}
    for layout, name in ((source, "source"), (target, "target")):
        _refuse_no_memory(layout, name)
        for axis in device_axes(layout):
            low, high = layout.extremes(axis)
            if low < 0:
                raise LayoutError("TW701", f"{axis} goes down to {low}: devices are counted from 0")
            found[axis.name] = max(found.get(axis.name, 1), high + 1)
    if mesh is None:
        return dict(sorted(found.items()))
    for name, extent in found.items():
        if mesh.get(name, 0) < extent:
            has = f"has {mesh[name]} devices along {name}" if name in mesh else f"has no axis {name}"
            raise LayoutError("TW701", f"the mesh {has}, and the layouts reach {extent - 1}@{name}")
    return dict(mesh)


def _refuse_no_memory(layout: Layout, name: str) -> None:
    """Refuse elements that lie on each device in no one memory, or before its begin."""
    storages = [axis.name for axis in layout.axes if axis.storage and axis.name in layout.moving]
    if len(storages) > 1 or not NO_MEMORY.isdisjoint(storages):
        raise LayoutError(
            "TW701",
            f"the {name} is on no one memory of a device: it steps on {', '.join(storages)}",
            hint="across devices both layouts are on m alone",
        )
    for axis in storages:
        if layout.min(axis) < 0:
            raise LayoutError(
                "TW701",
                f"the {name} has addresses below zero, down to {layout.min(axis)}",
                hint=f"a storage begins at address zero: add {-layout.min(axis)}",
            )


def _known_links(link: Mapping[str, float], devices: Devices) -> dict[str, float]:
    for name, rate in link.items():
        if name not in devices.names:
            hint = f"its axes are {', '.join(devices.names)}"
            raise LayoutError(
                "TW401", f"a rate is given along {name}, and the mesh has no such axis", hint=hint
            )
        if not rate > 0:
            raise LayoutError("TW401", f"{rate} GB/s along {name} is no rate", hint="a number above 0")
    return dict(link)


def _in_modes(source: Layout, target: Layout, shape: Any) -> tuple[Layout, Layout, tuple[int, ...]]:
    """Return both layouts in row-major order, and the box of their modes that moves."""
    box = box_of(source, target, shape)
    if box is not None:
        return by_coordinates(source), by_coordinates(target), box
    alike = alike_in_modes(source, target)
    source, target = aligned(source, target)
    return source, target, extents_of(source.shape) if alike else (source.size,)


# -- ways ------------------------------------------------------------------------------------------------


def _ways(direct: MeshExchange, box: Sequence[int]) -> Iterator[tuple[MeshExchange, MeshExchange]]:
    """Yield the ways by a layout whose copies along some axes hold a share of the elements each."""
    if not direct.received.any() or not all(isinstance(mode, DigitMode) for mode in direct.modes):
        return
    axes = sorted({at for _, step in direct.target.copies for at, own in enumerate(step.device) if own})
    for some in chain.from_iterable(combinations(axes, many) for many in range(1, len(axes) + 1)):
        between = shared_out(direct, some)
        if between is not None:
            first = MeshExchange.of(direct.source, between, box)
            if first.received.any():
                yield first, MeshExchange.of(between, direct.target, box)


def shared_out(exchange: MeshExchange, axes: Sequence[int]) -> Held | None:
    """Return the target with copies along some axes made into shards, or None where no digit is cut evenly.

    A shard along an axis has what the source's device has there, where it is one digit of the source.
    """
    target = exchange.target
    kept = [copy for copy in target.copies if not any(copy[1].device[axis] for axis in axes)]
    cut = [copy for copy in target.copies if copy not in kept]
    modes = [list(mode) for mode in target.modes]
    sources = [[step for _, step in mode] for mode in exchange.source.modes]
    for extent, step in cut:
        place = _place_for(extent, step, modes, sources)
        if place is None:
            return None
        mode, at = place
        own, inside = modes[mode][at]
        rest = [(own // extent, inside)] if own > extent else []
        modes[mode][at : at + 1] = [(extent, MeshStep(step.device, inside.memory * (own // extent))), *rest]
        sources[mode][at : at + 1] = [sources[mode][at]] * (1 + len(rest))
    compact = _compact(modes)
    return replace(
        target,
        modes=tuple(map(tuple, compact)),
        size=prod(extent for mode in compact for extent, step in mode if not step.on_devices),
        copies=tuple(kept),
        local_copies=(),
        first=MeshStep(target.first.device, 0),
        swizzles=(),
        outer=0,
    )


def _place_for(
    extent: int, step: MeshStep, modes: list[list[MeshDigit]], sources: list[list[MeshStep]]
) -> tuple[int, int] | None:
    """Return the digit in the target's memory of which each copy takes a share: (mode, place)."""
    free = [
        (mode, at)
        for mode, digits in enumerate(modes)
        for at, (own, inside) in enumerate(digits)
        if not inside.on_devices and own % extent == 0
    ]
    held = [
        (mode, at)
        for mode, at in free
        if sources[mode][at].device == step.device and modes[mode][at][0] == extent
    ]
    moving = [place for place in free if not sources[place[0]][place[1]].on_devices]
    return next(iter([*held, *moving, *free]), None)


def _compact(modes: list[list[MeshDigit]]) -> list[list[MeshDigit]]:
    """Return the modes with steps in memory that leave no gaps, in the order of the steps that they have."""
    in_memory = [
        (inside.memory, mode, at)
        for mode, digits in enumerate(modes)
        for at, (_, inside) in enumerate(digits)
        if not inside.on_devices
    ]
    pitch, steps = 1, {}
    for _, mode, at in sorted(in_memory):
        steps[mode, at] = pitch
        pitch *= modes[mode][at][0]
    return [
        [(own, MeshStep(inside.device, steps.get((mode, at), 0))) for at, (own, inside) in enumerate(digits)]
        for mode, digits in enumerate(modes)
    ]


# -- what an exchange is -------------------------------------------------------------------------------------


def kind_of(exchange: MeshExchange) -> str:
    """Return the kind of an exchange: the collective that does it, or that nothing leaves a device."""
    if not exchange.received.any():
        return "move"
    leaves, arrives = exchange.axes_left, exchange.axes_taken
    if leaves and arrives:
        return "all-to-all"
    if leaves:
        return "all-gather" if exchange.target.copies else "point-to-point"
    if arrives:
        return "point-to-point"
    if exchange.turns_axes:
        return "point-to-point" if exchange.target.copies else "permutation"
    return "broadcast" if exchange.target.copies else "permutation"


def axes_of(exchange: MeshExchange) -> list[str]:
    """Return the axes along which elements go to other devices."""
    if not exchange.received.any():
        return []
    names = exchange.devices.names
    return [name for at, name in enumerate(names) if exchange.crosses(at)]


def seconds_of(exchange: MeshExchange, links: Mapping[str, float], dtype: DType) -> float:
    """Return the expected time of an exchange: that of the device and the axis with the most bytes.

    Messages along an axis go at its rate. The bytes of a sender are divided among axes like all.
    """
    if not exchange.received.any():
        return 0.0
    names = exchange.devices.names
    rates = [links.get(name, RATE) * 1e9 * 8 / dtype.bits for name in names]
    order = sorted(range(len(names)), key=rates.__getitem__)
    times, inside = [], exchange.wanted
    for at in range(1, len(order) + 1):
        near = exchange.count_near(order[:at])
        crossing = inside - near
        part = float(crossing.sum() / exchange.received.sum())
        most = max(int(crossing.max()), int(exchange.sent.max()) * part)
        times.append(most / rates[order[at - 1]])
        inside = near
    return START + max(times)
