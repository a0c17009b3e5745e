"""Plans between layouts on a mesh of devices: the stages of the least time, and what they send."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from math import prod

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned, alike_in_modes, by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.moves.mesh.adding import OPS, check_sum
from tilewise.moves.mesh.exchange import RATE, MeshExchange
from tilewise.moves.mesh.held import Devices, EachInt, Held, MeshDigit, device_axes
from tilewise.moves.mesh.sums import Ends, Stage
from tilewise.moves.pairs.pair import NO_MEMORY, box_of, refuse_meeting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MORE = 1.25
"""The factor by which the time of a plan counts that sends more than the least."""
LISTED, DRAWN = 64, 16
"""Devices whose traffic is listed, and drawn, at most."""


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
    stages: tuple[Stage, ...]
    links: Mapping[str, float]
    direct: MeshExchange
    """The one exchange from the source to the target, with parts of sums as copies."""
    reduce: tuple[str, ...] = ()
    """The axes along which copies of the source are parts of a sum."""
    parts: tuple[str, ...] = ()
    """The axes along which copies of the target are."""
    op: str = "sum"
    left_op: str = "sum"
    summed: tuple[MeshDigit, ...] = ()
    """The copies of the source that are added up; the others of `reduce` stay parts."""

    @property
    def devices(self) -> Devices:
        """Return the devices of the mesh."""
        return self.direct.devices

    kind = "mesh"

    @property
    def kinds(self) -> list[str]:
        """Return the kind of each stage."""
        return [stage.kind for stage in self.stages]

    @property
    def reads(self) -> int:
        """Return the elements of a device's storage in the source."""
        return self.stages[0].source.size

    @property
    def writes(self) -> int:
        """Return the elements of a device's storage in the target."""
        return self.stages[-1].target.size

    def in_bytes(self, elements: Any) -> Any:
        """Return the bytes of some elements."""
        return -(-elements * self.dtype.bits // 8)

    @property
    def bytes_sent(self) -> list[int]:
        """Return the bytes that arrive at each device from others."""
        total: EachInt = sum(self.in_bytes(stage.received) for stage in self.stages)
        found: list[int] = total.tolist()
        return found

    @property
    def least(self) -> int:
        """Return the bytes that devices want and do not hold; of sums, those that no plan can do without."""
        return self._entering(range(len(self.devices.names)))

    @property
    def least_by_axis(self) -> dict[str, int]:
        """Return the bytes that have to cross each axis, slowest first.

        Of those that devices joined by faster axes want and none of them holds, each enters once.
        """
        order = sorted(range(len(self.devices.names)), key=lambda at: self.rate(self.devices.names[at]))
        found, slower = {}, 0
        for at in range(1, len(order) + 1):
            crossing = self._entering(order[:at])
            found[self.devices.names[order[at - 1]]] = crossing - slower
            slower = crossing
        return found

    def _entering(self, axes: Sequence[int]) -> int:
        parts = prod(extent for extent, step in self.summed if any(step.device[axis] for axis in axes))
        return int(self.in_bytes(self.direct.entering(axes, parts)).sum())

    @property
    def divisor(self) -> int:
        """Return the number by which the whole is divided."""
        return prod(extent for extent, _ in self.summed) if self.op == "avg" else 1

    def rate(self, axis: str) -> float:
        """Return the GB/s of an axis."""
        return self.links.get(axis, RATE)

    @property
    def seconds(self) -> float:
        """Return the expected time of the exchanges."""
        return sum(stage.seconds(self.links, self.dtype) for stage in self.stages)

    @property
    def largest_share(self) -> float:
        """Return the most that one device sends over the mean of senders, in the least even stage."""
        shares = [stage.sent for stage in self.stages if stage.received.any()]
        return max((float(sent.max() / sent[sent > 0].mean()) for sent in shares), default=1.0)

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return (
            {
                "class": "mesh",
                "mesh": dict(zip(self.devices.names, self.devices.extents, strict=True)),
                "steps": [
                    {
                        "kind": stage.kind,
                        "axes": stage.axes,
                        "bytes": int(self.in_bytes(stage.received).sum()),
                        "text": text,
                    }
                    for stage, text in zip(self.stages, self.steps, strict=True)
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
            | ({"reduce": dict.fromkeys(self.reduce, self.op)} if self.reduce else {})
            | ({"parts": dict.fromkeys(self.parts, self.left_op)} if self.parts else {})
        )

    @property
    def steps(self) -> list[str]:
        """Return the exchanges in sentences."""
        return list(map(self._sentence, self.stages))

    def _sentence(self, stage: Stage) -> str:
        if not stage.received.any():
            return "local move: nothing leaves a device"
        most = int(self.in_bytes(stage.received).max())
        axes = " and ".join(stage.axes)
        where = f" over {axes}" if axes else ""
        return f"{stage.kind}{where}: {counted(most, 'byte')} come to a device at most"

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
        sent = [[self.in_bytes(stage.sends(one)) for one in every] for stage in self.stages]
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
    reduce: Any = None,
    parts: Any = None,
) -> MeshPlan:
    """Return the plan of the least time from one layout on devices to another.

    Without `mesh` the mesh is the least that has both layouts, with its axes in the order of their names. The
    source's copies along axes `reduce` are parts of a sum, and so are the target's along axes `parts`.

        refused  TW701 a mesh that is smaller than a layout; TW702 sizes; TW703 elements that meet; TW401
                 parts that are no copies; TW105 a type without sums

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
    summed, op = _summed(reduce, devices, "reduce")
    left, left_op = _summed(parts, devices, "parts")
    if left_op != op and not {*summed}.isdisjoint(left):
        raise LayoutError("TW401", f"parts combine by {op} in the source, and by {left_op} in the target")
    if summed:
        check_sum(op, dtype)
    ours, theirs = (Held.of(layout, devices, flat=len(box) == 1) for layout in (source, target))
    refuse_meeting(target)
    for name, held, axes in (("source", ours, summed), ("target", theirs, left)):
        _refuse_no_copies(name, held, axes)
    ends = Ends.of(ours, theirs, box, summed, left)
    if ends.spread and left_op != "sum":
        hint = "parts of a sum are: one device has the element, and the others 0"
        raise LayoutError("TW401", f"parts that combine by {left_op} are not made of elements", hint=hint)
    links = _known_links(link or {}, devices)
    least = int(ends.direct.entering(range(len(devices.names)), prod(it for it, _ in ends.parts)).sum())
    time = cache(lambda stage: stage.seconds(links, dtype))
    best = min(ends.ways(), key=lambda way: (_cost(way, least, time), len(way)))
    return MeshPlan(
        source,
        target,
        dtype,
        box,
        best,
        links,
        ends.direct,
        tuple(summed),
        tuple(left),
        op,
        left_op,
        ends.parts,
    )


def _cost(way: Sequence[Stage], least: int, time: Callable[[Stage], float]) -> float:
    """Return the time of a way, and more for one that sends more than the least."""
    return sum(map(time, way)) * (MORE if sum(int(stage.received.sum()) for stage in way) > least else 1)


def _summed(given: Any, devices: Devices, option: str) -> tuple[list[str], str]:
    """Return the axes along which parts sum up, and how: by name, several, or each with its operation."""
    if given is None:
        return [], "sum"
    ops = dict(given) if isinstance(given, Mapping) else {}
    if not isinstance(given, Collection):
        raise LayoutError("TW107", f"{option} names axes, not {given!r}", hint='such as "gpuid_x"')
    names = [given] if isinstance(given, str) else list(given)
    for op in ops.values():
        if op not in OPS:
            raise LayoutError("TW401", f"parts are not combined by {op!r}", hint=f"known: {' '.join(OPS)}")
    every = set(ops.values()) or {"sum"}
    if len(every) > 1:
        raise LayoutError(
            "TW401", f"parts are combined in several ways: {', '.join(sorted(map(str, every)))}"
        )
    for name in names:
        if name not in devices.names:
            hint = f"its axes are {', '.join(devices.names)}"
            raise LayoutError(
                "TW401", f"{option} is along {name!r}, and the mesh has no such axis", hint=hint
            )
    extents = zip(devices.names, devices.extents, strict=True)
    return [name for name, extent in extents if name in names and extent > 1], every.pop()


def _refuse_no_copies(name: str, held: Held, axes: Iterable[str]) -> None:
    """Refuse axes along which a layout has no copies: parts of a sum are those."""
    for axis in axes:
        at = held.devices.names.index(axis)
        if not any(step.device[at] for _, step in held.copies):
            raise LayoutError(
                "TW401",
                f"the {name} has no copies along {axis}, and parts of a sum are such",
                hint=f"add R[{held.devices.extents[at]} : 1@{axis}] to it",
            )


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
