"""From tensors to a launch: types, extents and strides to a plan, which is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tilewise.codegen.gemm import Finish, GemmProblem, HopperPlan, TileChoice, planned
from tilewise.codegen.gemm.finish import addend_type
from tilewise.codegen.parts.copies import Staged
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.modes import Mode
from tilewise.moves.types import given_type
from tilewise.products.choice import choice_of
from tilewise.products.device import ALIGNED, BoundTotal, Launches, TmaMatrix, bound_product, multiprocessors

PAIR = 8
"""Bytes of two elements of C or bias, at most, which are read together."""
ProductCall = Callable[[Any, Any, Any, Sequence[Any], int], None]
"""From A, B, D, the other arguments and a stream to kernels that run."""
_KNOWN = Launches(4096)


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
    ends: Any,
    promote: bool,
    out_dtype: Any,
) -> Any:
    """Return the product of tensors; `tilewise.gemm` says more of its arguments."""
    alpha, beta = float(alpha), float(beta)
    given = out is not None
    try:
        if out is None:
            out = new_result(a, b, out_dtype)
        index = a.get_device()
        key = (
            *(a.shape, a.stride(), a.dtype, b.shape, b.stride(), b.dtype, out.shape, out.stride(), out.dtype),
            *(alpha == 1.0, index, b.get_device(), out.get_device(), out_dtype, promote),
            *(x if x is None else _facts(x) for x in (c, bias, scale_a, scale_b, ends)),
        )
    except (AttributeError, IndexError, TypeError) as error:
        raise _no_tensors(a, b, out, c, bias, scale_a, scale_b, ends) from error
    launch = _KNOWN.get(key)
    if launch is None:
        launch = _remembered(
            key, a, b, out, out_dtype, c, bias, alpha != 1.0, scale_a, scale_b, ends, promote
        )
    words: list[Any] = [alpha] if alpha != 1.0 else []
    if scale_a is not None:
        words += [scale_a.data_ptr(), scale_b.data_ptr()]
    if c is not None:
        words += [beta, c.data_ptr()]
    if bias is not None:
        words.append(bias.data_ptr())
    if ends is not None:
        words += [ends.data_ptr(), out.data_ptr()]
    torch: Any = sys.modules["torch"]
    launch(a, b, out, words, torch._C._cuda_getCurrentRawStream(index))
    if given:
        torch.autograd.graph.increment_version(out)  # a backward pass must not read what was there
    return out


def new_result(a: Any, b: Any, kind: Any) -> Any:
    """Return a tensor for the result, whose lines begin at multiples of 16 bytes."""
    kind = kind or result_type(a.dtype, b.dtype)
    n, unit = b.shape[-2], ALIGNED // kind.itemsize
    made = a.new_empty((*a.shape[:-1], -(-n // unit) * unit), dtype=kind)
    return made if n % unit == 0 else made[..., :n]


def _no_tensors(a: Any, b: Any, *more: Any) -> LayoutError:
    """Return the error of arguments that are no tensors, or of A and B without two directions."""
    names = ("A", "B", "out", "c", "bias", "scale_a", "scale_b", "ends")
    for x, name in zip((a, b, *more), names, strict=True):
        if x is not None and not hasattr(x, "get_device"):
            hint = "a tensor of torch; torch.from_dlpack(x) is the same memory as one"
            return _unfit(f"{name} is a {type(x).__name__}", hint)
    return _unfit(
        f"A is {_said(a)} and B {_said(b)}", "A [M, K] and B [N, K], and a type of torch as out_dtype"
    )


def _remembered(key: Any, a: Any, b: Any, out: Any, out_dtype: Any, *more: Any) -> ProductCall:
    """Return the launch for such tensors, which is kept."""
    if not a.is_cuda or {x.device for x in (b, out, *more) if hasattr(x, "device")} != {a.device}:
        raise _unfit("the tensors are not all on one GPU", 'x.to("cuda")')
    if out_dtype is not None and out_dtype != out.dtype:
        raise _unfit(f"out_dtype is {out_dtype}, and out is of {out.dtype}", "leave out_dtype out")
    if 0 in out.shape and a.shape[-1]:
        return lambda *words: None
    made = bound(*plan_of(a, b, out, *more, choose=_of_device(a.get_device())), a, b, out)
    _KNOWN.put(key, made)
    return made


def _of_device(index: int) -> Callable[[GemmProblem], TileChoice]:
    """Return the function that chooses for a GPU: what was measured there, or else what follows from it."""
    count = multiprocessors(index)
    return lambda problem: choice_of(replace(problem, multiprocessors=count), index)


def bound(plan: HopperPlan, parts: int, a: Any, b: Any, out: Any) -> ProductCall:
    """Return the launch of a plan for such tensors: of one kernel, or of two where K is split."""
    return (_in_parts if parts > 1 else _whole)(plan, parts, a, b, out)


def _whole(plan: HopperPlan, parts: int, a: Any, b: Any, out: Any) -> ProductCall:
    """Return the launch of one kernel."""
    sizes = [*out.shape[-2:], a.shape[-1], *b.shape[:-2]]
    sizes += [out.stride(-2) * out.element_size()] * plan.grouped
    kernel = bound_product(plan, a.get_device(), matrices_of(plan, a, b, out), _words(plan), sizes)
    return lambda a, b, out, words, stream: kernel(
        [a.data_ptr(), b.data_ptr(), out.data_ptr()], words, stream
    )


def _in_parts(plan: HopperPlan, parts: int, a: Any, b: Any, out: Any) -> ProductCall:
    """Return the launch of the kernel that multiplies parts of K, and of the one that adds them up."""
    torch, index, (m, n) = sys.modules["torch"], a.get_device(), out.shape
    kind = torch.int32 if plan.accumulator.name == "s32" else torch.float32

    def room() -> Any:
        return out.new_empty((parts, m, n), dtype=kind)

    kernel = bound_product(plan, index, matrices_of(plan.first, a, b, room()), [], [m, n, a.shape[-1], parts])
    total = BoundTotal(plan, index, _words(plan), [m, n, parts, out.stride(0) * out.element_size()])

    def launch(a: Any, b: Any, out: Any, words: Sequence[Any], stream: int) -> None:
        sums = room()
        kernel([a.data_ptr(), b.data_ptr(), sums.data_ptr()], [], stream)
        total([sums.data_ptr(), out.data_ptr(), *words], stream)

    return launch


def _words(plan: HopperPlan) -> list[str]:
    """Return the kinds of the arguments that change from call to call: numbers, and addresses."""
    finish = plan.finish
    words = ["f32"] * finish.alpha + ["at", "at"] * (finish.scales != "none")
    return [*words, *["f32", "at"] * finish.addend, *["at"] * finish.bias, *["at", "at"] * plan.grouped]


def check_no_gradient(*given: Any) -> None:
    """Refuse tensors that need a gradient."""
    for x in given:
        if getattr(x, "requires_grad", False):
            raise _unfit("an input needs a gradient, and none is passed on", "x.detach(), or torch.no_grad()")


def result_type(kind: Any, other: Any) -> Any:
    """Return the type of D where the caller names none."""
    torch = sys.modules["torch"]
    if kind != other and other.itemsize > 1:
        return other  # A becomes what B is
    if not kind.is_floating_point:
        return torch.int32
    return torch.bfloat16 if kind.itemsize == 1 else kind


def _facts(x: Any) -> Any:
    return x.shape, x.stride(), x.dtype, x.get_device(), x.data_ptr() % PAIR


def _said(x: Any) -> str:
    return str(list(x.shape)) if hasattr(x, "stride") else f"a {type(x).__name__}"


def check_shapes(a: Any, b: Any, ends: Any = None) -> None:
    """Refuse matrices that do not fit together."""
    grouped, many = ends is not None, list(b.shape[:-2])
    if (
        (a.dim(), b.dim()) not in ([(2, 3)] if grouped else [(2, 2), (3, 3)])
        or a.shape[-1] != b.shape[-1]
        or (many and not grouped and list(a.shape[:-2]) != many)
    ):
        raise _unfit(
            f"A is {_said(a)} and B {_said(b)}",
            "A [M, K] and B [N, K], or batches of as many of both; with ends B [groups, N, K]",
        )


def plan_of(
    a: Any,
    b: Any,
    out: Any,
    c: Any = None,
    bias: Any = None,
    alpha: bool = False,
    scale_a: Any = None,
    scale_b: Any = None,
    ends: Any = None,
    promote: bool = False,
    *,
    choose: Callable[[GemmProblem], TileChoice] = lambda problem: problem.chosen,
) -> tuple[HopperPlan, int]:
    """Return the plan of the kernel for such tensors, and the parts of K.

    refused  TW704 tensors that do not fit together
    """
    grouped = ends is not None
    check_shapes(a, b, ends)
    many = list(b.shape[:-2])
    if grouped and (list(ends.shape) != many or "int32" not in str(ends.dtype) or not ends.is_contiguous()):
        raise _unfit(f"ends is {_said(ends)} of {ends.dtype}", f"it is a contiguous {many} of int32")
    (m, k), n = a.shape[-2:], b.shape[-2]
    if list(out.shape) != [*a.shape[:-1], n]:
        raise _unfit(
            f"the result is {[*a.shape[:-1], n]}, and out is {_said(out)}", "torch.empty of that shape"
        )
    if 0 in (m, n, k, *many):
        raise _unfit(f"a product of {m} x {n} x {k}", "each extent is 1 or more")
    line = ALIGNED // out.element_size()
    if n % 2 and (c is not None or bias is not None or (scale_b is not None and scale_b.numel() > 1)):
        raise _unfit(
            f"N is {n}, and columns are read in pairs", "C, a bias and factors of rows take an even N"
        )
    if grouped and n % line:
        raise _unfit(
            f"N is {n}, and rows of groups are written {line} columns at once", f"a multiple of {line}"
        )
    types = [_type_of(x.dtype) for x in (a, b)]
    own = many[0] if grouped else 1
    finish = Finish(alpha, _scales(scale_a, scale_b, m, n, own), c is not None, bias is not None)
    majors = ["k" if _lies(x, name) else "mn" for x, name in ((a, "A"), (b, "B"))]
    lies = majors[0], majors[1]
    batches, splits = many[0] if many else 1, n % 2 == 0 and not many
    choice = choose(
        GemmProblem(-(-m // own), n, k, (types[0], types[1]), lies, batches, grouped, splits, promote)
    )
    plan = planned(
        choice.tile,
        *types,
        out=given_type(out.dtype),
        majors=lies,
        cluster=choice.cluster,
        group=choice.group,
        finish=finish,
        batched=bool(many) and not grouped,
        grouped=grouped,
        promotes=promote,
        splits=choice.parts > 1,
    )
    wanted = addend_type(plan)
    for x, shape, name in ((c, list(out.shape), "C"), (bias, [*many, n] if grouped else [n], "bias")):
        if x is not None and (
            list(x.shape) != shape
            or given_type(x.dtype) != wanted
            or not x.is_contiguous()
            or x.data_ptr() % PAIR
        ):
            raise _unfit(
                f"{name} is {list(x.shape)} of {x.dtype}",
                f"it is a contiguous {shape} of {wanted} that begins at a multiple of {PAIR} bytes",
            )
    if out.stride(-1) != 1:
        raise _unfit("the rows of out are not contiguous", "torch.empty of its shape")
    return plan, choice.parts


def matrices_of(plan: HopperPlan, a: Any, b: Any, out: Any) -> dict[str, TmaMatrix]:
    """Return the tensors as TMA sees them, by their names.

    refused  TW704 lines that do not begin at multiples of 16 bytes
    """
    pairs = ((a, plan.a), (b, plan.b), (out, plan.d))
    return {own.name: _described(x, own, own.name, *plan.box_and_mode(own)) for x, own in pairs}


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


def _scales(scale_a: Any, scale_b: Any, m: int, n: int, groups: int) -> str:
    if scale_a is None and scale_b is None:
        return "none"
    counts = [0 if scale is None else scale.numel() for scale in (scale_a, scale_b)]
    right = all(
        scale is not None and "float32" in str(scale.dtype) and scale.is_contiguous()
        for scale in (scale_a, scale_b)
    )
    for kind, wanted in (("tensor", [1, groups]), ("row", [m, groups * n])):
        if right and counts == wanted:
            return kind
    raise _unfit(
        f"scale_a and scale_b have {counts[0]} and {counts[1]} numbers",
        f"contiguous float32 on the GPU, 1 and {groups} of them, or {m} and {groups * n}",
    )


def _described(x: Any, own: Staged, name: str, box: tuple[int, int], mode: Mode) -> TmaMatrix:
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
    if any(pitch % ALIGNED or pitch <= 0 for pitch in pitches):
        hint = "TMA takes multiples of 16: make it a part of a tensor with longer lines"
        again = f"{name.lower()}.contiguous(): each matrix lies apart"
        raise _unfit(f"{name} has {list(pitches)} bytes from line to line", hint if all(pitches) else again)
    return TmaMatrix(own.dtype, tuple(extents), pitches, tuple(boxes), mode)
