"""DTensors: from their placements to a plan, and from one's storage to a tensor again.

torch does not pad: the shards of an uneven tensor are short on some ranks, where the layout has whole ones.
Those ranks move through storage of a whole shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any

from tilewise.core.algebra.modes import modes_of
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.moves.mesh.bound import Binding
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan
from tilewise.moves.mesh.ranks import agreed, named_extents
from tilewise.moves.types import given_type
from tilewise.notation.read import reading


def redistributed(x: Any, source: Any, placements: Any, out: Any, bind: Binding) -> Any:
    """Return a DTensor with other placements, as `x.redistribute` does."""
    if source is not None or out is not None:
        hint = "tilewise.move(x, None, (Shard(1),))"
        raise LayoutError("TW704", "a DTensor knows its own source, and the result is a new one", hint=hint)
    mesh, shape = x.device_mesh, tuple(x.shape)
    local = x.to_local()

    @cache
    def planned() -> MeshPlan:
        before, after = (layout_of(one, mesh, shape) for one in (x.placements, placements))
        axes = named_extents(mesh, before, after)
        return mesh_plan(before, after, given_type(x.dtype), shape=shape, mesh=axes)

    storage = local.contiguous()
    with suppress(LayoutError):  # of which the agreement tells all ranks
        whole = _whole(planned().source)
        if tuple(local.shape) != whole:
            storage = local.new_zeros(whole)
            storage[tuple(map(slice, local.shape))] = local
    move = agreed(mesh, planned, bind, storage)
    made, plan, me = move(storage), move.plan, move.ranks.me
    last = plan.exchanges[-1]
    sizes = tuple(int(mode.count(*_values(last, at, me))) for at, mode in enumerate(last.modes))
    made = made.view(_whole(plan.target))[tuple(map(slice, sizes))].contiguous()
    stride = tuple(x.stride())
    return type(x).from_local(made, mesh, placements, run_check=False, shape=x.shape, stride=stride)


def layout_of(placements: Sequence[Any], mesh: Any, shape: tuple[int, ...]) -> Layout:
    """Return the layout of a tensor with these placements."""
    names = mesh.mesh_dim_names
    extents = (
        [f"{name}={extent}" for name, extent in zip(names, mesh.mesh.shape, strict=True)] if names else None
    )
    sizes = ", ".join(extents or map(str, mesh.mesh.shape))
    words = ", ".join(map(repr, placements))
    return reading(f"({words},) on DeviceMesh(({sizes},))", dialect="dtensor", shape=shape).layout


def _whole(layout: Layout) -> tuple[int, ...]:
    """Return the extents of a whole shard."""
    return tuple(prod(it.extent for it in digits if it.stride["m"]) for _, digits in modes_of(layout))


def _values(exchange: MeshExchange, mode: int, device: int) -> tuple[list[None], list[int]]:
    """Return all values of the source's digits, and those of a device in the target."""
    from tilewise.moves.mesh.held import own_values

    free = sum(step.on_devices for _, step in exchange.source.modes[mode])
    return [None] * free, list(own_values(exchange.target, device, mode))
