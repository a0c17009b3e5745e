"""One exchange between devices: each element is sent once to each device that wants and does not hold it.

It comes from one device that holds it: of several copies, from the one whose coordinates along the copies are
the receiver's. Where that gives some copies more work than others, all copies share each block of elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from tilewise.core.digits import number
from tilewise.core.dtypes import DType
from tilewise.moves.mesh.held import Devices, EachBool, EachInt, Held, MeshStep, own_values
from tilewise.moves.mesh.modes import DigitMode, DigitValues, Piece, SharedMode, mode_of

EVEN = 1.05
"""The largest share of one copy, over the least possible, with which each copy serves its own receivers."""
RATE = 360.0
"""GB/s in which a link of two H200 passes messages, where no rate is given."""
START = 10e-6
"""Seconds until the first byte of an exchange arrives."""
PAIRS = 1 << 17
"""The most pairs of devices that give the largest share; of a larger mesh some devices stand for all."""


@dataclass(frozen=True)
class MeshExchange:
    """All elements of a box, from where one layout has them to where another wants them."""

    source: Held
    target: Held
    modes: tuple[SharedMode, ...]

    @classmethod
    def of(cls, source: Held, target: Held, box: Sequence[int]) -> MeshExchange:
        """Return the exchange of a box, mode by mode."""
        modes = [mode_of(*mode) for mode in zip(box, source.modes, target.modes, strict=True)]
        ours, theirs = [], []
        for mode in modes:
            if isinstance(mode, DigitMode):
                ours.append(tuple((extent, step) for extent, step, _ in mode.digits))
                theirs.append(tuple((extent, step) for extent, _, step in mode.digits))
            else:
                ours.append(mode.sources)
                theirs.append(mode.targets)
        return cls(replace(source, modes=tuple(ours)), replace(target, modes=tuple(theirs)), tuple(modes))

    @property
    def devices(self) -> Devices:
        """Return the devices."""
        return self.source.devices

    # -- counts ----------------------------------------------------------------------------------------

    def count(
        self,
        sources: EachInt | None,
        targets: EachInt | None,
        source_axes: Sequence[int] | None = None,
        target_axes: Sequence[int] | None = None,
    ) -> EachInt:
        """Return the number of elements with some values of the digits on devices; None for all values.

        Of digits on other axes than those named, all values count.
        """
        total: EachInt = np.asarray(1)
        for at, mode in enumerate(self.modes):
            ours = _values(self.source, sources, at, source_axes)
            theirs = _values(self.target, targets, at, target_axes)
            total = total * mode.count(ours, theirs)
        return total

    @cached_property
    def wanted(self) -> EachInt:
        """Return the number of elements that each device wants."""
        return self.count(None, self.target.values) * self.target.holds

    @cached_property
    def kept(self) -> EachInt:
        """Return the number of elements that each device wants and holds."""
        return self.count(self.source.values, self.target.values) * self.source.holds * self.target.holds

    @cached_property
    def served(self) -> EachInt:
        """Return the number of elements that each device sends to others.

        requires  no copies in the source: each element is sent from its one place
        """
        held = self.count(self.source.values, None) * self.source.holds
        return held * prod(extent for extent, _ in self.target.copies) - self.kept

    @cached_property
    def received(self) -> EachInt:
        """Return the number of elements that come to each device from others."""
        return self.wanted - self.kept

    def count_near(self, axes: Sequence[int]) -> EachInt:
        """Return the elements that each device wants and a device with its coordinates on some axes holds."""
        has = self._reaches(self.source, axes)
        return self.count(self.source.values_on(axes), self.target.values, axes) * has * self.target.holds

    def entering(self, axes: Sequence[int], parts: int = 1) -> EachInt:
        """Return the elements that have to enter groups of devices with the same coordinates on some axes.

        Each element that a group wants and does not hold enters it once. Where an element is a sum, of which
        so many groups have parts each, the parts come together in one group first, best in one that wants it.
        """
        heads = np.flatnonzero((np.delete(self.devices.coordinates, axes, axis=1) == 0).all(axis=1))
        if len(axes) == len(self.devices.extents):
            heads = np.arange(self.devices.size)
        wants = self._reaches(self.target, axes)[heads]
        ours, theirs = self.source.values_on(axes)[heads], self.target.values_on(axes)[heads]
        wanted = self.count(None, theirs, None, axes) * wants
        held = self.count(ours, theirs, axes, axes) * self._reaches(self.source, axes)[heads] * wants
        if parts == 1:
            return wanted - held
        own = [
            values[:, _on_axes(side, axes)] for side, values in ((self.source, ours), (self.target, theirs))
        ]
        _, first = np.unique(np.hstack([held[:, None] > 0, *own]), axis=0, return_index=True)
        every = int(self.count(None, None))
        return np.array([(parts - 1) * every + wanted.sum() - held[first].sum()])

    def _reaches(self, held: Held, axes: Sequence[int]) -> EachBool:
        """Return for each device if some device with its coordinates on these axes holds elements."""
        chosen = self.devices.coordinates[:, list(axes)]
        groups = _numbered(chosen, [self.devices.extents[axis] for axis in axes])
        found = np.zeros(prod(self.devices.extents), bool)
        found[groups[held.holds]] = True
        return found[groups]

    @cached_property
    def local_digits(self) -> list[tuple[int, int, int]]:
        """Return the digits in memory on both sides: (extent, step in the source, step in the target)."""
        return [
            (extent, ours.memory, theirs.memory)
            for mode in self.modes
            if isinstance(mode, DigitMode)
            for extent, ours, theirs in mode.digits
            if not ours.on_devices and not theirs.on_devices
        ]

    @cached_property
    def axes_left(self) -> set[int]:
        """Return the axes of the source's digits that are in memory in the target: elements come together."""
        return {axis for ours, theirs in self._steps for axis in _only(ours, theirs)}

    @cached_property
    def axes_taken(self) -> set[int]:
        """Return the axes of the target's digits that are in memory in the source: elements are parted."""
        return {axis for ours, theirs in self._steps for axis in _only(theirs, ours)}

    @property
    def turns_axes(self) -> bool:
        """Return True if a digit steps along other devices in the target than in the source."""
        return any(
            ours.on_devices and theirs.on_devices and ours.device != theirs.device
            for ours, theirs in self._steps
            if ours is not None and theirs is not None
        )

    @property
    def _steps(self) -> Iterator[tuple[MeshStep | None, MeshStep | None]]:
        for mode in self.modes:
            if isinstance(mode, DigitMode):
                yield from ((ours, theirs) for _, ours, theirs in mode.digits)
            else:
                yield from ((step, None) for _, step in mode.sources)
                yield from ((None, step) for _, step in mode.targets)

    def crosses(self, axis: int) -> bool:
        """Return True if elements go to devices with another coordinate on an axis."""
        return bool((self.count_near([axis]) < self.wanted).any())

    @cached_property
    def kind(self) -> str:
        """Return the collective that does the exchange, or "move" where nothing leaves a device."""
        if not self.received.any():
            return "move"
        leaves, arrives, copies = self.axes_left, self.axes_taken, self.target.copies
        if leaves and arrives:
            return "all-to-all"
        if leaves:
            return "all-gather" if copies else "point-to-point"
        if arrives:
            return "point-to-point"
        if self.turns_axes:
            return "point-to-point" if copies else "permutation"
        return "broadcast" if copies else "permutation"

    @property
    def axes(self) -> list[str]:
        """Return the axes along which elements go to other devices."""
        if not self.received.any():
            return []
        return [name for at, name in enumerate(self.devices.names) if self.crosses(at)]

    def seconds(self, links: Mapping[str, float], dtype: DType) -> float:
        """Return the expected time: that of the device and the axis with the most bytes.

        Messages along an axis go at its rate. The bytes of a sender are divided among axes like all.
        """
        if not self.received.any():
            return 0.0
        rates = [links.get(name, RATE) * 1e9 * 8 / dtype.bits for name in self.devices.names]
        order = sorted(range(len(rates)), key=rates.__getitem__)
        times, inside = [], self.wanted
        for at in range(1, len(order) + 1):
            near = self.count_near(order[:at])
            crossing = inside - near
            part = float(crossing.sum() / self.received.sum())
            most = max(int(crossing.max()), int(self.sent.max()) * part)
            times.append(most / rates[order[at - 1]])
            inside = near
        return START + max(times)

    # -- who sends to whom -------------------------------------------------------------------------------

    @cached_property
    def _shards(self) -> tuple[EachInt, EachInt]:
        """Return for each device the number of its shard, which its copies share, and that of its copy."""
        values, copies = np.split(self.source.values, [self.source.columns(-1).start], axis=1)
        extents = [extent for extent, _ in self.source.on_devices]
        return _numbered(values, extents[: values.shape[1]]), _numbered(copies, extents[values.shape[1] :])

    def _sizes(self, senders: EachInt, receivers: EachInt) -> EachInt:
        """Return the number of elements that each receiver wants and each sender holds, [sender, receiver].

        It is 0 where the receiver holds these elements: but for itself, if it is among the senders.
        """
        shards, _ = self._shards
        ours, theirs = self.source.values[senders, None], self.target.values[None, receivers]
        sizes = self.count(ours, theirs) * self.source.holds[senders, None] * self.target.holds[receivers]
        has = (shards[senders, None] == shards[receivers]) & self.source.holds[receivers]
        return np.where(has & (senders[:, None] != receivers), 0, sizes)

    def ranges(self, senders: EachInt, receivers: EachInt) -> tuple[EachInt, EachInt]:
        """Return the part of the elements that both have which goes from each sender to each receiver.

        It is a range of them, in their order: begin and end, [sender, receiver].
        """
        sizes = self._sizes(senders, receivers)
        _, copies = self._shards
        own = senders[:, None] == receivers
        if not self.shared:
            chosen = own | (copies[senders, None] == copies[receivers])
            return np.zeros_like(sizes), sizes * chosen
        many = prod(extent for extent, _ in self.source.copies)
        # small blocks of one sender go to all receivers in turn
        turn = (copies[senders, None] + receivers) % many
        return np.where(own, 0, sizes * turn // many), np.where(own, sizes, sizes * (turn + 1) // many)

    @cached_property
    def shared(self) -> bool:
        """Return True if the copies of an element share each block that has to be sent.

        Otherwise a copy serves the receivers with its own coordinates along the copies. That is left where it
        gives some copies more work than others.
        """
        if not self.source.copies or not self.received.any():
            return False
        senders = self._some_holders
        _, copies = self._shards
        sizes = self._sizes(senders, np.arange(self.devices.size))
        sizes[np.arange(len(senders)), senders] = 0
        served = (sizes * (copies[senders, None] == copies)).sum(axis=1)
        many = prod(extent for extent, _ in self.source.copies)
        return bool(served.max() > EVEN * sizes.sum(axis=1).max() / many)

    @cached_property
    def _some_holders(self) -> EachInt:
        """Return the devices that hold elements, or some of them where they are many."""
        every = np.flatnonzero(self.source.holds)
        return every[:: max(1, -(-len(every) * self.devices.size // PAIRS))]

    def sends(self, device: int) -> EachInt:
        """Return the number of elements that a device sends to each, itself left out."""
        begin, end = self.ranges(np.array([device]), np.arange(self.devices.size))
        counts: EachInt = (end - begin)[0]
        counts[device] = 0
        return counts

    def takes(self, device: int) -> EachInt:
        """Return the number of elements that a device takes from each, and from itself."""
        begin, end = self.ranges(np.arange(self.devices.size), np.array([device]))
        counts: EachInt = (end - begin)[:, 0]
        return counts

    @cached_property
    def sent(self) -> EachInt:
        """Return the number of elements that each device sends, or each of some that stand for all."""
        if not self.source.copies:
            return self.served
        return np.array([self.sends(int(one)).sum() for one in self._some_holders], np.int64)

    def pieces(self, sender: int, receiver: int) -> Iterator[Piece]:
        """Yield the elements that go from one device to another."""
        begin, end = (int(one[0, 0]) for one in self.ranges(np.array([sender]), np.array([receiver])))
        parts = []
        for at, mode in enumerate(self.modes):
            ours, theirs = own_values(self.source, sender, at), own_values(self.target, receiver, at)
            parts.append(list(mode.pieces(ours, theirs)))
        read = self.source.first.memory + int(self.source.copy_begins[sender])
        write = self.target.first.memory + int(self.target.copy_begins[receiver])
        for some in product(*parts):
            digits = tuple(digit for piece in some for digit in piece.digits)
            reads, writes = (sum(getattr(piece, name) for piece in some) for name in ("read", "write"))
            whole = Piece(digits, read + reads, write + writes)
            yield from whole.between(begin, end)
            begin, end = begin - whole.size, end - whole.size


def _only(step: MeshStep | None, other: MeshStep | None) -> list[int]:
    """Return the axes of a step on devices, if the other is in memory."""
    if step is None or (other is not None and other.on_devices):
        return []
    return [axis for axis, own in enumerate(step.device) if own]


def _on_axes(held: Held, axes: Sequence[int]) -> list[int]:
    """Return the columns of `values` with digits of elements that step on some axes."""
    digits = held.on_devices[: held.columns(-1).start]
    return [at for at, (_, step) in enumerate(digits) if any(step.device[axis] for axis in axes)]


def _numbered(values: EachInt, extents: Sequence[int]) -> EachInt:
    """Return the number that each row of digits spells."""
    return np.zeros(len(values), np.int64) + number(extents, list(values.T))


def _values(held: Held, values: EachInt | None, mode: int, axes: Sequence[int] | None) -> DigitValues:
    """Return the values of the digits of a mode, None for those that count all values."""
    digits = [step for _, step in held.modes[mode] if step.on_devices]
    if values is None:
        return [None] * len(digits)
    columns = np.moveaxis(values[..., held.columns(mode)], -1, 0)
    if axes is None:
        return list(columns)
    return [
        column if any(step.device[axis] for axis in axes) else None
        for column, step in zip(columns, digits, strict=True)
    ]
