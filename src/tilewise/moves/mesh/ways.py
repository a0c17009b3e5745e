"""Ways of two exchanges, by a layout whose copies along some axes hold a share of the elements each.

They send no element twice over a slow axis, and share the work of one sender.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import prod

from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import Held, MeshDigit, MeshStep
from tilewise.moves.mesh.modes import DigitMode


def ways(direct: MeshExchange, box: Sequence[int]) -> Iterator[tuple[MeshExchange, MeshExchange]]:
    """Yield the ways by a layout whose copies along some axes hold a share of the elements each."""
    if not direct.received.any():
        return
    axes = sorted({at for _, step in direct.target.copies for at, own in enumerate(step.device) if own})
    for some in chain.from_iterable(combinations(axes, many) for many in range(1, len(axes) + 1)):
        between = shared_out(direct, some)
        if between is not None:
            first = MeshExchange.of(direct.source, between, box)
            if first.received.any():
                yield first, MeshExchange.of(between, direct.target, box)


def shared_out(exchange: MeshExchange, axes: Sequence[int]) -> Held | None:
    """Return the target with copies along some axes made into shards, or None where no digit can be cut.

    A shard along an axis has what the source's device has there, where it is one digit of the source. Where
    no digit is cut evenly, the slowest one of a mode is cut, and its last shard is short.
    """
    target = exchange.target
    kept = [copy for copy in target.copies if not any(copy[1].device[axis] for axis in axes)]
    cut = [copy for copy in target.copies if copy not in kept]
    modes = [list(mode) for mode in target.modes]
    nowhere = MeshStep((0,) * len(exchange.devices.names), 0)
    sources = [
        [step for _, step in mode] if isinstance(shared, DigitMode) else [nowhere] * len(modes[at])
        for at, (mode, shared) in enumerate(zip(exchange.source.modes, exchange.modes, strict=True))
    ]
    for extent, step in cut:
        place = _place_for(extent, step, modes, sources)
        if place is None:
            return None
        mode, at = place
        own, inside = modes[mode][at]
        share = -(-own // extent)
        rest = [(share, inside)] if share > 1 else []
        modes[mode][at : at + 1] = [(extent, MeshStep(step.device, inside.memory * share)), *rest]
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
    slowest = [(mode, 0) for mode, digits in enumerate(modes) if digits and not digits[0][1].on_devices]
    uneven = [place for place in slowest if modes[place[0]][0][0] > 1]
    uneven.sort(key=lambda place: -modes[place[0]][0][0])
    return next(iter([*held, *moving, *free, *uneven]), None)


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
