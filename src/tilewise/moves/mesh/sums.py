"""Sums across devices: the source's copies along some axes are the parts of a sum.

A sum is a broadcast run backwards. An exchange takes an element from one place to many. The reduction takes
the parts from those many places to the one, and adds them there. An all-gather backwards is a reduce-scatter;
with an all-gather after it, it is an all-reduce.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tilewise.core.dtypes import DType
from tilewise.core.errors import NotDecided
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import Devices, EachInt, Held, MeshDigit, MeshStep
from tilewise.moves.mesh.modes import DigitMode
from tilewise.moves.mesh.ways import shared_out, ways

BACKWARDS = {"all-gather": "reduce-scatter", "broadcast": "reduce"}
"""The kind of an exchange that is run backwards, where it has another name."""


@dataclass(frozen=True)
class Reduction:
    """An exchange run backwards: a device sends what it would take, and adds what comes to it."""

    forth: MeshExchange

    @property
    def devices(self) -> Devices:
        """Return the devices."""
        return self.forth.devices

    @property
    def source(self) -> Held:
        """Return the elements that each device has before."""
        return self.forth.target

    @property
    def target(self) -> Held:
        """Return the elements that each device has after."""
        return self.forth.source

    @property
    def kind(self) -> str:
        """Return the collective that does the reduction."""
        return BACKWARDS.get(self.forth.kind, self.forth.kind)

    @property
    def axes(self) -> list[str]:
        """Return the axes along which elements go to other devices."""
        return self.forth.axes

    @property
    def received(self) -> EachInt:
        """Return the number of elements that come to each device from others."""
        return self.forth.served

    @property
    def sent(self) -> EachInt:
        """Return the number of elements that each device sends."""
        return self.forth.received

    def sends(self, device: int) -> EachInt:
        """Return the number of elements that a device sends to each, itself left out."""
        counts = self.forth.takes(device)
        counts[device] = 0
        return counts

    def seconds(self, links: Mapping[str, float], dtype: DType) -> float:
        """Return the expected time, that of the exchange forwards."""
        return self.forth.seconds(links, dtype)


Stage = MeshExchange | Reduction


def backwards(stage: Stage) -> Stage:
    """Return the stage that takes all elements back, and adds those that come from copies."""
    return stage.forth if isinstance(stage, Reduction) else Reduction(stage)


@dataclass(frozen=True)
class Ends:
    """Both layouts of a move, and the copies of the source that are parts of a sum.

    Parts that the target has as well are a mode of both: each is a tensor of its own.
    """

    source: Held
    target: Held
    parts: tuple[MeshDigit, ...]
    spread: tuple[MeshDigit, ...]
    """The copies of the target that shall be parts of a sum, where the source has whole elements."""
    box: tuple[int, ...]

    @classmethod
    def of(
        cls, source: Held, target: Held, box: tuple[int, ...], reduce: Sequence[str], parts: Sequence[str]
    ) -> Ends:
        """Return the ends, with the axes along which copies of both are parts of a sum."""
        ours, theirs = _along(source, reduce), _along(target, parts)
        before, after, inner = _apart(replace(source, copies=ours), replace(target, copies=theirs), box)
        summed, spread = before.copies, after.copies
        before = replace(before, copies=tuple([copy for copy in source.copies if copy not in ours]))
        after = replace(after, copies=tuple([copy for copy in target.copies if copy not in theirs]))
        return cls(before, _near(after, spread, before, inner), summed, spread, inner)

    @cached_property
    def direct(self) -> MeshExchange:
        """Return the exchange between both, with the parts as copies."""
        whole = replace(self.source, copies=self.source.copies + self.parts)
        return MeshExchange.of(whole, self.target, self.box)

    def ways(self) -> Iterator[tuple[Stage, ...]]:
        """Yield the ways from the source to the target."""
        if not self.parts:
            yield (self.direct,)
            yield from ways(self.direct, self.box)
            return
        for middle in self._middles():
            rest: list[tuple[Stage, ...]] = [()]
            if middle is not self.target:
                last = MeshExchange.of(middle, self.target, self.box)
                rest = [(last,), *ways(last, self.box)]
            for first in self._reductions(middle):
                yield from ((*first, *then) for then in rest)

    def _middles(self) -> Iterator[Held]:
        """Yield layouts that have each sum once: the target, or one from which it is gathered."""
        own = {(extent, step.device) for extent, step in self.source.copies}
        copies = self.target.copies
        once = tuple([copy for copy in copies if (copy[0], copy[1].device) in own])
        if once == copies and not self.target.local_copies:
            yield self.target
            return
        cut = {axis for copy in copies if copy not in once for axis in _axes_of(copy)}
        shares = shared_out(self.direct, sorted(cut))
        if shares is not None:
            yield shares
        first = replace(self.target, copies=once, local_copies=())
        near = _near(first, [copy for copy in copies if copy not in once], self.source, self.box)
        if shares is None or near.on_devices != first.on_devices:
            yield near

    def _reductions(self, middle: Held) -> Iterator[tuple[Stage, ...]]:
        """Yield the ways of the parts to a layout that has each sum once."""
        one, many, box = _apart(middle, self.source, self.box)
        if one.copies:
            return
        many = _near(replace(many, copies=()), many.copies, one, box)
        forth = MeshExchange.of(one, replace(many, copies=self.parts, local_copies=()), box)
        yield (Reduction(forth),)
        for first, second in ways(forth, box):
            last = MeshExchange.of(*_apart(second.source, second.target, box))
            if not last.source.copies:
                yield Reduction(last), Reduction(first)


def _along(held: Held, names: Sequence[str]) -> tuple[MeshDigit, ...]:
    """Return the copies along some axes."""
    axes = {held.devices.names.index(name) for name in names}
    return tuple([copy for copy in held.copies if axes.intersection(_axes_of(copy))])


def _axes_of(copy: MeshDigit) -> list[int]:
    return [axis for axis, step in enumerate(copy[1].device) if step]


def _apart(source: Held, target: Held, box: tuple[int, ...]) -> tuple[Held, Held, tuple[int, ...]]:
    """Return both with the copies that they share as modes: then each copy is moved by itself."""
    theirs = {(extent, step.device): (extent, step) for extent, step in target.copies}
    ours = {(extent, step.device): (extent, step) for extent, step in source.copies}
    shared = [key for key in ours if key in theirs]

    def with_modes(held: Held, copies: Mapping[tuple[int, tuple[int, ...]], MeshDigit]) -> Held:
        rest = tuple([copy for key, copy in copies.items() if key not in shared])
        return replace(held, modes=held.modes + tuple([(copies[key],) for key in shared]), copies=rest)

    return with_modes(source, ours), with_modes(target, theirs), (*box, *[extent for extent, _ in shared])


def _near(held: Held, copies: Sequence[MeshDigit], other: Held, box: tuple[int, ...]) -> Held:
    """Return the layout with each element in one of some copies: in the one where `other` has it.

    Elements that `other` does not spread along the axes of the copies are in the first one.
    """
    reach = [0] * len(held.devices.names)
    for extent, step in copies:
        for axis in _axes_of((extent, step)):
            if not step.memory and held.first.device[axis] == other.first.device[axis]:
                reach[axis] += (extent - 1) * step.device[axis]
    if not any(reach):
        return held
    exchange = MeshExchange.of(held, other, box)
    modes = []
    for mode, digits in zip(exchange.modes, exchange.source.modes, strict=True):
        found = list(digits)
        for at, (extent, ours, theirs) in enumerate(mode.digits if isinstance(mode, DigitMode) else ()):
            steps = [(extent - 1) * step for step in theirs.device]
            if not any(steps) or any(own and step for own, step in zip(ours.device, steps, strict=True)):
                continue
            if all(0 <= step <= free for step, free in zip(steps, reach, strict=True)):
                reach = [free - step for step, free in zip(steps, reach, strict=True)]
                found[at] = extent, ours + MeshStep(theirs.device, 0)
        modes.append(tuple(found))
    near = replace(held, modes=tuple(modes))
    try:
        return near if near.holds.any() else held
    except NotDecided:  # another digit steps on these devices
        return held
