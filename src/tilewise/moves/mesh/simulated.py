"""A plan on pretend devices in one process: storages are arrays, and messages are copies between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError, of_kind
from tilewise.moves.mesh.bound import Binding, BoundPart, BoundSum, bound_parts
from tilewise.moves.mesh.plan import MeshPlan


@dataclass(frozen=True)
class Simulated:
    """The storages of all devices after a plan, and the bytes that went from one device to another."""

    storages: list[Any]
    traffic: Mapping[tuple[int, int], int] = field(repr=False)

    def by_axis(self, plan: MeshPlan) -> dict[str, int]:
        """Return the bytes by the slowest axis that each message crosses."""
        names, places = plan.devices.names, plan.devices.coordinates
        order = sorted(range(len(names)), key=lambda axis: plan.rate(names[axis]))
        found = dict.fromkeys(names, 0)
        for (sender, receiver), size in self.traffic.items():
            axis = next(axis for axis in order if places[sender, axis] != places[receiver, axis])
            found[names[axis]] += size
        return found


def simulated(plan: MeshPlan, storages: Sequence[Any], bind: Binding) -> Simulated:
    """Return the result of a plan on the storages of all devices, an array for each in the order of numbers.

    Places of the target that no element takes are 0.
    """
    of_kind(plan, MeshPlan, "a plan across devices", "tilewise.plan of layouts that step on devices")
    size = plan.devices.size
    if not hasattr(storages, "__len__") or len(storages) != size:
        many = str(len(storages)) if hasattr(storages, "__len__") else f"{storages!r} for"
        hint = "an array for each device"
        raise LayoutError("TW704", f"{many} storages, and the mesh has {size} devices", hint=hint)
    for device, storage in enumerate(storages):
        given, reach = np.asarray(storage), -(-plan.reads * plan.dtype.bits // 8)
        if given.nbytes < reach or (plan.dtype.bits >= 8 and 8 * given.itemsize != plan.dtype.bits):
            raise LayoutError(
                "TW704",
                f"the storage of device {device} has {given.size} elements of {given.dtype}, and"
                f" {plan.reads} of {plan.dtype} are read",
            )
    kinds = [np.asarray(storage).dtype for storage in storages]
    held = [np.ascontiguousarray(storage).reshape(-1).view(np.uint8) for storage in storages]
    held, traffic = run([bound_parts(plan, device, bind) for device in range(size)], held)
    return Simulated([storage.view(kind) for storage, kind in zip(held, kinds, strict=True)], traffic)


def run(
    every: Sequence[Sequence[BoundPart | BoundSum]], held: Sequence[Any]
) -> tuple[list[Any], Mapping[tuple[int, int], int]]:
    """Return the storages of all devices after their parts in each stage, and the traffic."""
    storages, traffic = list(held), Counter[tuple[int, int]]()
    for parts in zip(*every, strict=True):
        after = [_empty(part.room) for part in parts]
        sent: dict[tuple[int, int], list[Any]] = defaultdict(list)
        for device, part in enumerate(parts):
            for peer, row in _sent(part, storages[device]):
                sent[device, peer].append(row)
                if device != peer:
                    traffic[device, peer] += len(row)
        for device, part in enumerate(parts):
            if isinstance(part, BoundSum):
                rows = {sender: row for (sender, receiver), (row,) in sent.items() if receiver == device}
                part.finish(rows, after[device], _empty)
                continue
            taken = part.taken(after[device], _empty)
            for batch in chain(*part.takes):
                for peer, row in part.places(taken, batch):
                    row[:] = sent[peer, device].pop(0)
            part.finish(storages[device], taken, after[device])
        storages = after
    return storages, traffic


def _sent(part: BoundPart | BoundSum, x: Any) -> Iterator[tuple[int, Any]]:
    """Yield each device with the bytes for it."""
    if isinstance(part, BoundSum):
        yield from part.sent(x, _empty)
    else:
        packed = part.packed(x, _empty)
        for share in range(len(part.sends)):
            yield from part.sent(x, packed, share)


def _empty(size: int) -> Any:
    return np.zeros(size, np.uint8)
