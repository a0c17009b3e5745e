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
from typing import Any

from tilewise.core.algebra.modes import modes_of
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.moves.mesh.bound import Binding
from tilewise.moves.mesh.exchange import MeshExchange
from tilewise.moves.mesh.held import Held, own_values
from tilewise.moves.mesh.plan import MeshPlan, mesh_plan
from tilewise.moves.mesh.ranks import agreed, axes_of, remembered
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
    local = x.to_local()

    axes, extents = axes_of(mesh), tuple(mesh.mesh.shape)

    def made_plan() -> MeshPlan:
        before, after = (reading_of(one, mesh, shape) for one in (x.placements, placements))
        return mesh_plan(
            before.layout,
            after.layout,
            given_type(x.dtype),
            shape=shape,
            mesh=dict(zip(axes, extents, strict=True)),
            reduce=before.sums,
            parts=after.sums,
        )

    def planned() -> MeshPlan:
        if not isinstance(placements, Sequence) or not all(hasattr(it, "is_partial") for it in placements):
            hint = "such as (Shard(0), Replicate())"
            raise LayoutError("TW107", f"placements are a tuple, and not {placements!r}", hint=hint)
        return remembered((tuple(x.placements), tuple(placements), axes, extents, shape, x.dtype), made_plan)

    storage = local.contiguous()
    with suppress(LayoutError):  # of which the agreement tells all ranks
        whole = _whole(planned().source)
        if tuple(local.shape) != whole:
            storage = local.new_zeros(whole)
            storage[tuple(map(slice, local.shape))] = local
    move = agreed(mesh, planned, bind, storage)
    made, plan, me = move(storage), move.plan, move.ranks.me
    _, sizes = remembered((id(plan), me), lambda: (plan, _sizes(plan, me)))  # the plan keeps its number
    made = made.view(_whole(plan.target))[tuple(map(slice, sizes))].contiguous()
    stride = tuple(x.stride())
    return type(x).from_local(made, mesh, placements, run_check=False, shape=x.shape, stride=stride)


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
    sizes = [f"{name}={extent}" for name, extent in zip(axes_of(mesh), mesh.mesh.shape, strict=True)]
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
