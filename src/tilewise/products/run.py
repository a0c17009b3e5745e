"""From tensors to a launch: types, extents and strides to a plan, which is kept."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

from tilewise.codegen.gemm import Finish, HopperPlan, chosen, planned
from tilewise.codegen.gemm.finish import addend_type
from tilewise.codegen.parts.copies import Staged
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.modes import Mode
from tilewise.moves.types import given_type
from tilewise.products.device import Described, Launch, multiprocessors

ALIGNED = 16
"""Bytes of which TMA takes addresses and pitches as multiples."""
_KNOWN: dict[Any, Launch] = {}
MOST = 4096
"""Launches that are remembered, at most."""


def product(
    a: Any,
    b: Any,
    out: Any,
    c: Any,
    bias: Any,
    alpha: float,
    beta: float,
    scale_a: Any,
    scale_b: Any,
    out_dtype: Any,
) -> Any:
    """Return the product of tensors; `tilewise.gemm` has its arguments."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        raise _unfit(
            "A and B are tensors of torch", "torch.from_dlpack(x) is the same memory as one of torch's"
        )
    if out is None:
        shape = (*a.shape[:-1], b.shape[-2])
        out = torch.empty(shape, dtype=out_dtype or _result_type(torch, a.dtype), device=a.device)
    key = (
        *(a.shape, a.stride(), a.dtype, b.shape, b.stride(), b.dtype, out.shape, out.stride(), out.dtype),
        *(alpha != 1.0, c is not None, bias is not None, a.get_device()),
        *(None if scale is None else scale.numel() for scale in (scale_a, scale_b)),
    )
    launch = _KNOWN.get(key)
    if launch is None:
        launch = _launch(plan_of(a, b, out, c, bias, alpha != 1.0, scale_a, scale_b), a, b, out)
        if len(_KNOWN) >= MOST:
            _KNOWN.clear()
        _KNOWN[key] = launch
    words: list[Any] = [alpha] if alpha != 1.0 else []
    if scale_a is not None:
        words += [scale_a.data_ptr(), scale_b.data_ptr()]
    if c is not None:
        words += [beta, c.data_ptr()]
    if bias is not None:
        words.append(bias.data_ptr())
    addresses = [a.data_ptr(), b.data_ptr(), out.data_ptr()]
    index = a.get_device()
    with torch.cuda.device(index) if torch.cuda.current_device() != index else nullcontext():
        launch(addresses, words, torch.cuda.current_stream().cuda_stream)
    return out


def _result_type(torch: Any, kind: Any) -> Any:
    if not kind.is_floating_point:
        return torch.int32
    return torch.bfloat16 if kind.itemsize == 1 else kind


def plan_of(
    a: Any, b: Any, out: Any, c: Any, bias: Any, alpha: bool, scale_a: Any, scale_b: Any
) -> HopperPlan:
    """Return the plan of the kernel for such tensors.

    refused  TW704 tensors that do not fit together, or that TMA does not take
    """
    batched = a.dim() == 3
    if (
        a.dim() != b.dim()
        or a.dim() not in (2, 3)
        or a.shape[-1] != b.shape[-1]
        or a.shape[:-2] != b.shape[:-2]
    ):
        raise _unfit(
            f"A is {list(a.shape)} and B {list(b.shape)}",
            "A [M, K] and B [N, K], or batches of as many of both",
        )
    (m, k), n = a.shape[-2:], b.shape[-2]
    if list(out.shape) != [*a.shape[:-1], n]:
        raise _unfit(
            f"the result is {[*a.shape[:-1], n]}, and out is {list(out.shape)}", "torch.empty of that shape"
        )
    if not a.is_cuda or {x.device for x in (b, out, c, bias, scale_a, scale_b) if x is not None} != {
        a.device
    }:
        raise _unfit("the tensors are not all on one GPU", 'x.to("cuda")')
    if 0 in (m, n, k, *a.shape):
        raise _unfit(f"a product of {m} x {n} x {k}", "each extent is 1 or more")
    types = [_type_of(x.dtype) for x in (a, b)]
    finish = Finish(alpha, _scales(scale_a, scale_b, m, n), c is not None, bias is not None)
    majors = ["k" if _lies(x, name) else "mn" for x, name in ((a, "A"), (b, "B"))]
    choice = chosen(
        m,
        n,
        k,
        *types,
        majors=(majors[0], majors[1]),
        batches=a.shape[0] if batched else 1,
        multiprocessors=multiprocessors(a.get_device()),
    )
    plan = planned(
        choice.tile,
        *types,
        out=given_type(out.dtype),
        majors=(majors[0], majors[1]),
        cluster=choice.cluster,
        group=choice.group,
        finish=finish,
        batched=batched,
    )
    wanted = addend_type(plan)
    for x, shape, name in ((c, list(out.shape), "C"), (bias, [n], "bias")):
        if x is not None and (
            list(x.shape) != shape or given_type(x.dtype) != wanted or not x.is_contiguous()
        ):
            raise _unfit(f"{name} is {list(x.shape)} of {x.dtype}", f"it is a contiguous {shape} of {wanted}")
    if out.stride(-1) != 1:
        raise _unfit("the rows of out are not contiguous", "torch.empty of its shape")
    return plan


def _launch(plan: HopperPlan, a: Any, b: Any, out: Any) -> Launch:
    """Return the kernel with the tensor maps of such tensors."""
    matrices = []
    for x, own in ((a, plan.a), (b, plan.b), (out, plan.d)):
        matrices.append(_described(x, own, own.name, *plan.box_and_mode(own)))
    finish = plan.finish
    words = ["f32"] * finish.alpha + ["at", "at"] * (finish.scales != "none")
    words += ["f32", "at"] * finish.addend + ["at"] * finish.bias
    ends = [*out.shape[-2:], a.shape[-1], *a.shape[:-2]]
    return Launch(plan, a.get_device(), matrices, words, ends)


def _unfit(what: str, hint: str) -> LayoutError:
    return LayoutError("TW704", what, hint=hint)


def _type_of(kind: Any) -> DType:
    found = given_type(kind)
    return DType.of("tf32") if found.name == "f32" else found


def _lies(x: Any, name: str) -> bool:
    """Return True if K is contiguous, False if M or N is."""
    if x.stride(-1) == 1 and (x.shape[-1] > 1 or x.element_size() != 2):
        return True
    if x.stride(-2) == 1 or x.stride(-1) == 1:
        return bool(x.stride(-2) != 1)
    raise _unfit(f"neither direction of {name} is contiguous", f"{name.lower()}.contiguous()")


def _scales(scale_a: Any, scale_b: Any, m: int, n: int) -> str:
    if scale_a is None and scale_b is None:
        return "none"
    counts = [0 if scale is None else scale.numel() for scale in (scale_a, scale_b)]
    right = all(
        scale is not None and "float32" in str(scale.dtype) and scale.is_contiguous()
        for scale in (scale_a, scale_b)
    )
    for kind, wanted in (("tensor", [1, 1]), ("row", [m, n])):
        if right and counts == wanted:
            return kind
    raise _unfit(
        f"scale_a and scale_b have {counts[0]} and {counts[1]} numbers",
        f"contiguous float32 on the GPU, 1 and 1 of them, or {m} and {n}",
    )


def _described(x: Any, own: Staged, name: str, box: tuple[int, int], mode: Mode) -> Described:
    """Return a tensor as TMA sees it."""
    fast, slow = (-1, -2) if own.major == "k" else (-2, -1)
    size = x.element_size()
    strides = [x.stride(slow) if x.shape[slow] > 1 else -(-x.shape[fast] * size // ALIGNED) * ALIGNED // size]
    extents = [x.shape[fast], x.shape[slow]]
    boxes = list(box)
    if x.dim() == 3:
        extents.append(x.shape[0])
        strides.append(x.stride(0) if x.shape[0] > 1 else strides[0] * extents[1])
        boxes.append(1)
    pitches = tuple(stride * size for stride in strides)
    if x.data_ptr() % ALIGNED or any(pitch % ALIGNED or pitch <= 0 for pitch in pitches):
        raise _unfit(
            f"{name} begins at byte {x.data_ptr() % ALIGNED} of 16, with pitches of {list(pitches)} bytes",
            "TMA takes multiples of 16 bytes: a tensor with longer rows, of which x is a part",
        )
    return Described(own.dtype, tuple(extents), pitches, tuple(boxes), mode)
