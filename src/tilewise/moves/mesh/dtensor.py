"""DTensors: from their placements to a plan, and from one's storage to a tensor again.

torch does not pad: the shards of an uneven tensor are short on some ranks, where the layout has whole ones.
Those ranks move through storage of a whole shard.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any, NamedTuple

from tilewise.core.algebra.modes import modes_of
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.moves.mesh.bound import Binding
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import Held, own_values
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan
from tilewise.moves.mesh.ranks import GroupRanks, agreed, axes_of, remembered
from tilewise.moves.types import given_type
from tilewise.notation.dialects import Reading
from tilewise.notation.read import reading


def redistributed(x: Any, source: Any, placements: Any, out: Any, bind: Binding) -> Any:
    """Return a DTensor with other placements, as `x.redistribute` does. Gradients go back."""
    if source is not None or out is not None:
        hint = "tilewise.move(x, None, (Shard(1),))"
        raise LayoutError("TW704", "a DTensor knows its own source, and the result is a new one", hint=hint)
    torch: Any = sys.modules["torch"]
    if not (torch.is_grad_enabled() and x.requires_grad):
        return _moved(x, placements, bind)
    return _with_gradient().apply(x, placements, bind)


def _moved(x: Any, placements: Any, bind: Binding) -> Any:
    mesh, shape = x.device_mesh, tuple(x.shape)

    def made_plan() -> MeshPlan:
        before, after = (reading_of(one, mesh, shape) for one in (x.placements, placements))
        return mesh_plan(
            before.layout,
            after.layout,
            given_type(x.dtype),
            shape=shape,
            mesh=dict(zip(axes_of(mesh), mesh.shape, strict=True)),
            reduce=before.sums,
            parts=after.sums,
        )

    def planned() -> MeshPlan:
        if not isinstance(placements, Sequence) or not all(hasattr(it, "is_partial") for it in placements):
            hint = "such as (Shard(0), Replicate())"
            raise LayoutError("TW107", f"placements are a tuple, and not {placements!r}", hint=hint)
        return remembered((x.placements, tuple(placements), mesh, shape, x.dtype), made_plan)

    storage = x.to_local().contiguous()
    with suppress(LayoutError):  # of which the agreement tells all ranks
        whole = _sizes_of(planned(), mesh).before
        if tuple(storage.shape) != whole:
            padded = storage.new_zeros(whole)
            padded[tuple(map(slice, storage.shape))] = storage
            storage = padded
    move = agreed(mesh, planned, bind, storage)
    sizes = _sizes_of(move.plan, mesh)
    made = move(storage).view(sizes.after)
    if sizes.own != sizes.after:
        made = made[tuple(map(slice, sizes.own))].contiguous()
    return type(x).from_local(
        made, mesh, placements, run_check=False, shape=x.shape, stride=tuple(x.stride())
    )


class _Sizes(NamedTuple):
    """The extents of a whole shard, before and after a plan, and of this rank's own shard after it."""

    plan: MeshPlan
    before: tuple[int, ...]
    after: tuple[int, ...]
    own: tuple[int, ...]


def _sizes_of(plan: MeshPlan, mesh: Any) -> _Sizes:
    def made() -> _Sizes:
        me = GroupRanks.of(mesh).placed(mesh, plan.devices).me
        return _Sizes(plan, _whole(plan.source), _whole(plan.target), _sizes(plan, me))

    return remembered((id(plan), mesh), made)  # which keeps the plan, and its number


@cache
def _with_gradient() -> Any:
    """Return the function through which torch passes gradients of DTensors on.

    The gradient of a part of a sum is that of the sum: it goes back as copies.
    """
    torch: Any = sys.modules["torch"]

    class Redistributed(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, placements: Any, bind: Binding) -> Any:
            ctx.bind = bind
            whole = sys.modules["torch.distributed.tensor"].Replicate()
            ctx.back = tuple([whole if one.is_partial() else one for one in x.placements])
            return _moved(x.detach(), placements, bind)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
            return _moved(gradient, ctx.back, ctx.bind), None, None

    return Redistributed


def reading_of(placements: Sequence[Any], mesh: Any, shape: tuple[int, ...]) -> Reading:
    """Return the layout of a tensor with these placements, and the axes along which it is a sum."""
    sizes = [f"{name}={extent}" for name, extent in zip(axes_of(mesh), mesh.shape, strict=True)]
    words = ", ".join(map(repr, placements))
    text = f"({words},) on DeviceMesh(({', '.join(sizes)},))"
    return reading(text, dialect="dtensor", shape=shape, sums=True)


def _whole(layout: Layout) -> tuple[int, ...]:
    """Return the extents of a whole shard."""
    return tuple(prod(it.extent for it in digits if it.stride["m"]) for _, digits in modes_of(layout))


def _sizes(plan: MeshPlan, device: int) -> tuple[int, ...]:
    """Return the extents of a device's shard in the target, which may be short."""
    held = Held.of(plan.target, plan.devices, flat=len(plan.box) == 1)
    own = MeshExchange.of(held, held, plan.box)
    values = [own_values(own.target, device, at) for at in range(len(own.modes))]
    return tuple(int(mode.count(some, some)) for mode, some in zip(own.modes, values, strict=True))
