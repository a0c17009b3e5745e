"""Attention of torch's tensors: from types, extents and strides to a launch, which is kept."""

from __future__ import annotations

import sys
from ctypes import c_float
from functools import lru_cache
from typing import Any

from tilewise.codegen.attention import AttentionPlan, kernel_source, planned
from tilewise.core.errors import LayoutError
from tilewise.gpu.compile import Source
from tilewise.moves.types import given_type
from tilewise.products.device import ALIGNED, BoundKernel, Launches, TmaMatrix, configured, loaded

MOST_BLOCKS = (1 << 16) - 1
"""Heads of a batch, and batches, that a grid of blocks has at most."""
_KNOWN = Launches(4096)


def attended(q: Any, k: Any, v: Any, out: Any, causal: bool, scale: float | None) -> Any:
    """Return the result of `tilewise.attention`, which says more of its arguments."""
    given = out is not None
    try:
        out = q.new_empty(q.shape) if out is None else out
        facts = tuple((x.shape, x.stride(), x.dtype, x.get_device()) for x in (q, k, v, out))
    except (AttributeError, TypeError) as error:
        hint = "tensors of torch; torch.from_dlpack(x) is the same memory as one"
        kinds = ", ".join(type(x).__name__ for x in (q, k, v, out))
        raise _unfit(f"Q, K, V and O are {kinds}", hint) from error
    launch = _KNOWN.get((facts, causal))
    if launch is None:
        check_shapes(q, k, v, out)
    factor = c_float(q.shape[-1] ** -0.5 if scale is None else scale).value
    if not 0 < factor < float("inf"):
        hint = "a positive number: the largest score of a row has the largest weight"
        raise _unfit(f"a scale of {factor}", hint)
    if launch is None:
        plan = plan_of(q, causal)
        if 0 in q.shape:
            return out
        launch = _bound(plan, q, k, v, out)
        _KNOWN.put((facts, causal), launch)
    torch: Any = sys.modules["torch"]
    stream = torch._C._cuda_getCurrentRawStream(q.get_device())
    launch([x.data_ptr() for x in (q, k, v, out)], [factor], stream)
    if given:
        torch.autograd.graph.increment_version(out)  # a backward pass must not read what was there
    return out


def check_shapes(q: Any, k: Any, v: Any, out: Any) -> None:
    """Refuse tensors that do not fit together.

    refused  TW704
    """
    shapes = [list(x.shape) for x in (q, k, v)]
    fits = all(len(shape) == 4 for shape in shapes) and shapes[1] == shapes[2]
    fits = fits and [shapes[0][at] for at in (0, 3)] == [shapes[1][at] for at in (0, 3)]
    if not fits or shapes[0][1] % max(1, shapes[1][1]):
        raise _unfit(
            f"Q is {shapes[0]}, K {shapes[1]} and V {shapes[2]}",
            "Q [batches, heads, M, D], K and V [batches, heads, N, D], with as many heads or a part",
        )
    if 0 in shapes[1][1:3] and 0 not in shapes[0]:
        raise _unfit(
            f"K and V are {shapes[1]}", "a head and a key, or more: a row without keys has no weights"
        )
    if list(out.shape) != shapes[0]:
        raise _unfit(f"the result is {shapes[0]}, and out is {list(out.shape)}", "torch.empty of that shape")
    if len({(x.dtype, x.device) for x in (q, k, v, out)}) > 1:
        kinds = ", ".join(f"{x.dtype} on {x.device}" for x in (q, k, v, out))
        raise _unfit(f"Q, K, V and O are {kinds}", "one type, on one GPU")
    if max(shapes[0][:2]) > MOST_BLOCKS:
        raise _unfit(f"Q is {shapes[0]}", f"up to {MOST_BLOCKS} heads, and batches")


def plan_of(q: Any, causal: bool) -> AttentionPlan:
    """Return the plan of the kernel for such tensors.

    refused  TW602 a size of heads or a type that has no kernel
    """
    return planned(q.shape[-1], given_type(q.dtype), causal=bool(causal))


def matrices_of(plan: AttentionPlan, q: Any, k: Any, v: Any, out: Any) -> dict[str, TmaMatrix]:
    """Return the tensors as TMA sees them, by their names.

    refused  TW704 rows that are not contiguous, or do not begin at multiples of 16 bytes
    """
    tensors = {"Q": (q, plan.q), "K": (k, plan.k), "V": (v, plan.v), "O": (out, plan.q)}
    found = {}
    for name, (x, own) in tensors.items():
        box, mode = plan.box_and_mode(own)
        size, step = x.element_size(), x.shape[-1] * x.element_size()
        pitches = []
        for way in (-2, -3, -4):
            step = x.stride(way) * size if x.shape[way] > 1 else step
            pitches.append(step)
            step *= x.shape[way]
        if x.stride(-1) != 1 or any(pitch % ALIGNED or pitch <= 0 for pitch in pitches):
            hint = (
                f"{name.lower()}.contiguous()"
                if x.stride(1)
                else f"{name.lower()}[:, :1]: one head for all of Q"
            )
            raise _unfit(f"{name} has the strides {list(x.stride())}", hint)
        if name == "O" and min(pitches) < x.shape[-1] * size:
            raise _unfit(
                f"rows of the result overlap: its strides are {list(x.stride())}", "torch.empty_like(q)"
            )
        found[name] = TmaMatrix(plan.dtype, tuple(x.shape[::-1]), tuple(pitches), (*box, 1, 1), mode)
    return found


def _bound(plan: AttentionPlan, q: Any, k: Any, v: Any, out: Any) -> BoundKernel:
    """Return the launch for such tensors."""
    if not q.is_cuda:
        raise _unfit("the tensors are not on a GPU", 'x.to("cuda")')
    index, matrices = q.get_device(), matrices_of(plan, q, k, v, out)
    (batches, heads, m), n = q.shape[:3], k.shape[2]
    config = configured((-(-m // plan.rows), heads, batches), plan.threads, plan.shared_bytes)
    function = _function(plan, index)
    return BoundKernel(index, function, config, matrices, ["f32"], [m, n, heads // k.shape[1]])


@lru_cache(maxsize=64)
def _function(plan: AttentionPlan, index: int) -> Any:
    source = Source(f"{plan.called}.cu", kernel_source(plan))
    return loaded(source, plan.called, index, plan.shared_bytes)


def _unfit(what: str, hint: str) -> LayoutError:
    return LayoutError("TW704", what, hint=hint)
