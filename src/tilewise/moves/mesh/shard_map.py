"""A plan as a function for `jax.shard_map`, by the collectives of `jax.lax`.

Every device runs one program. It packs a message by the places of its elements, which are digits of their
number in the message, and the begin of the message, which a table has for each pair of devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError, NotDecided, of_kind
from tilewise.core.layout import Layout
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import EachInt
from tilewise.moves.mesh.modes import DigitMode
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan
from tilewise.moves.mesh.sums import Reduction
from tilewise.moves.types import given_type
from tilewise.notation.read import reading

MAX_PAIRS = 1 << 22
"""The most pairs of devices in tables that a program has as constants."""


@dataclass(frozen=True)
class MessageRound:
    """Messages of one size that travel together: no device sends two of them, or takes two."""

    size: int
    receivers: EachInt
    """The device to which each sends, -1 for none."""
    senders: EachInt
    """The device from which each takes, -1 for none."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return the senders with their receivers."""
        return [(at, int(to)) for at, to in enumerate(self.receivers) if to >= 0]


class MessageTable:
    """All messages of an exchange: their sizes, and the places of their elements."""

    def __init__(self, exchange: MeshExchange) -> None:
        if exchange.devices.size**2 > MAX_PAIRS:
            raise NotDecided(f"a program for {exchange.devices.size} devices would have tables of all pairs")
        uneven = [mode for mode in exchange.modes if not isinstance(mode, DigitMode) or not mode.is_whole]
        if uneven or exchange.source.swizzles or exchange.target.swizzles:
            kind = "uneven shards" if uneven else "swizzled storage"
            raise NotDecided(f"{kind}: no function of JAX is made for that")
        self.exchange = exchange
        every = np.arange(exchange.devices.size)
        self.begins, ends = exchange.ranges(every, every)
        self.sizes = ends - self.begins
        self.reads, self.writes = self._places()

    def _places(self) -> tuple[EachInt, EachInt]:
        """Return the place of the first element that each pair has in common, in both storages."""
        source, target = self.exchange.source, self.exchange.target
        read = np.zeros(self.sizes.shape, np.int64) + source.first.memory + source.copy_begins[:, None]
        write = np.zeros(self.sizes.shape, np.int64) + target.first.memory + target.copy_begins
        for at, mode in enumerate(self.exchange.modes):
            ours = iter(source.values[:, source.columns(at)].T[:, :, None])
            theirs = iter(target.values[:, target.columns(at)].T[:, None, :])
            for _, one, other in mode.digits if isinstance(mode, DigitMode) else ():
                values = [
                    *([next(ours)] if one.on_devices else []),
                    *([next(theirs)] if other.on_devices else []),
                ]
                if values:
                    read, write = read + values[0] * one.memory, write + values[0] * other.memory
        return read, write

    @cached_property
    def kept(self) -> EachInt:
        """Return the number of elements that stay on each device."""
        return np.diagonal(self.sizes).copy()

    @cached_property
    def together(self) -> tuple[int, ...] | None:
        """Return the axes along which every device sends as much to each, itself too; else None."""
        axes = tuple(at for at, name in enumerate(self.exchange.devices.names) if name in self.exchange.axes)
        others = np.delete(self.exchange.devices.coordinates, axes, axis=1)
        group = (others[:, None] == others[None]).all(axis=2)
        size = int(self.sizes.max())
        return axes if (self.sizes == size * group).all() else None

    def rounds(self) -> Iterator[MessageRound]:
        """Yield rounds that have every message between two devices once."""
        size = self.exchange.devices.size
        free = [
            (int(self.sizes[one, other]), (other - one) % size, one, other)
            for one, other in np.argwhere(self.sizes > 0).tolist()
            if one != other
        ]
        while free:
            receivers, senders, rest = np.full(size, -1), np.full(size, -1), []
            many = min(free)[0]
            for message in sorted(free):
                length, _, one, other = message
                if length == many and receivers[one] < 0 and senders[other] < 0:
                    receivers[one], senders[other] = other, one
                else:
                    rest.append(message)
            free = rest
            yield MessageRound(many, receivers, senders)


class _Side:
    """The places of messages in one storage, as expressions of `jax.numpy`."""

    def __init__(self, messages: MessageTable, me: Any, *, is_source: bool) -> None:
        self.jnp, self.me, self.is_source = _jax().numpy, me, is_source
        held = messages.exchange.source if is_source else messages.exchange.target
        self.size = held.size
        self._begins, self._digits = messages.begins, messages.exchange.local_digits
        self._first = messages.reads if is_source else messages.writes
        self.copies = [0] if is_source else held.local_begins

    def places(self, peers: Any, size: int) -> Any:
        """Return the places of this device's messages with some peers; for peer -1 they are outside."""
        jnp = self.jnp
        pair = (self.me, peers) if self.is_source else (peers, self.me)
        number = jnp.asarray(self._begins, "int32")[pair][:, None] + jnp.arange(size, dtype="int32")
        found = jnp.asarray(self._first, "int32")[pair][:, None]
        place = prod(extent for extent, _, _ in self._digits)
        for extent, read, write in self._digits:
            place //= extent
            found = found + number // place % extent * (read if self.is_source else write)
        outside = self.size + jnp.arange(found.size, dtype="int32").reshape(found.shape)
        return jnp.where(peers[:, None] < 0, outside, found)


def stage_function(stage: MeshExchange | Reduction) -> Callable[[Any], Any]:
    """Return a stage as a function of a device's storage, inside `shard_map`."""
    backwards = isinstance(stage, Reduction)
    exchange = stage.forth if isinstance(stage, Reduction) else stage
    messages = MessageTable(exchange)
    names = exchange.devices.names

    def run(x: Any) -> Any:
        lax, jnp = _jax().lax, _jax().numpy
        me = jnp.int32(0)
        for name, extent in zip(names, exchange.devices.extents, strict=True):
            me = me * extent + lax.axis_index(name)
        source, target = (_Side(messages, me, is_source=is_source) for is_source in (True, False))
        ours, theirs = (target, source) if backwards else (source, target)
        out = jnp.zeros(stage.target.size, x.dtype)

        def packed(peers: Any, size: int) -> Any:
            rows = [
                x.at[ours.places(peers, size) + begin].get(mode="fill", fill_value=0) for begin in ours.copies
            ]
            return sum(rows[1:], rows[0])

        def unpacked(out: Any, rows: Any, peers: Any, size: int) -> Any:
            for begin in theirs.copies:
                here = out.at[theirs.places(peers, size) + begin]
                if backwards:
                    out = here.add(rows, mode="drop")
                else:
                    out = here.set(rows, mode="drop", unique_indices=True)
            return out

        together = messages.together
        if together is not None and exchange.received.any():
            size = int(messages.sizes.max())
            peers = jnp.asarray(_members(exchange, together))[me]
            axes = tuple(names[axis] for axis in together)
            rows = lax.all_to_all(packed(peers, size), axes, 0, 0, tiled=True)
            return unpacked(out, rows, peers, size)
        for size in np.unique(messages.kept[messages.kept > 0]).tolist():
            own = jnp.where(jnp.asarray(messages.kept)[me] == size, me, -1)[None]
            out = unpacked(out, packed(own, size), own, size)
        for turn in messages.rounds():
            to, come = jnp.asarray(turn.receivers)[me][None], jnp.asarray(turn.senders)[me][None]
            pairs = turn.pairs
            if backwards:
                to, come, pairs = come, to, [(other, one) for one, other in pairs]
            rows = lax.ppermute(packed(to, turn.size), names, pairs)
            out = unpacked(out, rows, come, turn.size)
        return out

    return run


def _members(exchange: MeshExchange, axes: Sequence[int]) -> EachInt:
    """Return for each device the numbers of all that differ from it on some axes alone, in their order."""
    devices = exchange.devices
    number = np.arange(devices.size).reshape(devices.extents)
    found = np.moveaxis(number, list(axes), range(-len(axes), 0))
    many = prod(devices.extents[axis] for axis in axes)
    rows = found.reshape(-1, many)
    members = np.zeros((devices.size, many), np.int64)
    for row in rows:
        members[row] = row
    return members


def shard_function(plan: MeshPlan) -> Callable[[Any], Any]:
    """Return a plan as a function of a device's storage, for `jax.shard_map` over the plan's axes.

    Storage is one row of elements. JAX differentiates the function.

        refused  NotDecided where shards are uneven or storage is swizzled
    """
    of_kind(plan, MeshPlan, "a plan across devices", "tilewise.plan of layouts that step on devices")
    if plan.reduce and plan.op not in ("sum", "avg"):
        raise NotDecided(f"the {plan.op} of parts: no function of JAX is made for that")
    stages = [stage_function(stage) for stage in plan.stages]

    def run(x: Any) -> Any:
        if x.ndim != 1 or x.shape[0] < plan.reads:
            raise LayoutError(
                "TW704",
                f"x has the shape {x.shape}, and a device's part of {plan.source} is a row of {plan.reads}",
                hint="inside shard_map: x.reshape(-1)",
            )
        for stage in stages:
            x = stage(x)
        return x / plan.divisor if plan.divisor > 1 else x

    return run


def resharded(x: Any, source: Any, sharding: Any, out: Any) -> Any:
    """Return an array of JAX with another sharding of its mesh, as `jax.device_put` does."""
    if source is not None or out is not None:
        hint = "tilewise.move(x, None, NamedSharding(mesh, P('x')))"
        raise LayoutError("TW704", "an array knows its own sharding, and the result is a new one", hint=hint)
    own: Any = getattr(x, "sharding", None)
    if not hasattr(sharding, "spec") or not hasattr(own, "spec") or own.mesh != sharding.mesh:
        raise LayoutError(
            "TW701",
            f"x is sharded as {own}, and not over the mesh of {sharding}",
            hint="both are a NamedSharding of one mesh; inside jax.jit, shard_function in a shard_map",
        )
    return _resharding(own, sharding, tuple(x.shape), x.dtype)(x)


@lru_cache(maxsize=256)
def _resharding(source: Any, target: Any, shape: tuple[int, ...], dtype: Any) -> Callable[[Any], Any]:
    """Return the compiled move of arrays from one sharding to another."""
    jax = _jax()
    mesh = dict(target.mesh.shape)
    before, after = (_layout_of(one.spec, mesh, shape) for one in (source, target))
    run = shard_function(mesh_plan(before, after, given_type(dtype), shape=shape, mesh=mesh))
    made = target.shard_shape(shape)
    function = jax.shard_map(
        lambda local: run(local.reshape(-1)).reshape(made),
        mesh=target.mesh,
        in_specs=source.spec,
        out_specs=target.spec,
        check_vma=False,
    )
    compiled: Callable[[Any], Any] = jax.jit(function, out_shardings=target)
    return compiled


def _jax() -> Any:
    """Return JAX, which the caller has imported."""
    return sys.modules["jax"]


def _layout_of(spec: Any, mesh: dict[str, int], shape: tuple[int, ...]) -> Layout:
    """Return the layout of an array with this PartitionSpec."""
    return reading(f"P{tuple(spec)!r} on {mesh!r}", dialect="jax", shape=shape).layout
