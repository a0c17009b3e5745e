"""`gemm` and `attention` as operators of torch, which torch.compile keeps whole.

The module is imported only where torch traces. Without torch it registers nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from tilewise.products import attend
from tilewise.products.run import check_shapes, new_result, product, result_type

torch: Any = sys.modules.get("torch")


def traced(a: Any, b: Any, out: Any, *words: Any) -> Any:
    """Return the product of traced tensors, of which `product` has the words."""
    *more, out_dtype = words
    if out is not None:
        torch.ops.tilewise.gemm_into(a, b, out, *more)
        return out
    return torch.ops.tilewise.gemm(a, b, *more, out_dtype or result_type(a.dtype, b.dtype))


def traced_attention(q: Any, k: Any, v: Any, out: Any, *words: Any) -> Any:
    """Return the attention of traced tensors, of which `attended` has the words."""
    if out is not None:
        torch.ops.tilewise.attention_into(q, k, v, out, *words)
        return out
    return torch.ops.tilewise.attention(q, k, v, *words)


def _made(a: Any, b: Any, *words: Any) -> Any:
    """Return a tensor for the result, where torch needs only its extents."""
    *_, ends, _, out_dtype = words
    check_shapes(a, b, ends)
    return new_result(a, b, out_dtype)


def _made_attention(q: Any, k: Any, v: Any, causal: bool, scale: float | None) -> Any:
    out = q.new_empty(q.shape)
    attend.check_shapes(q, k, v, out)
    return out


def _register() -> None:
    """Register the operators: each makes its result, or writes it into `out`."""
    more = "Tensor? c, Tensor? bias, float alpha, float beta, Tensor? scale_a, Tensor? scale_b"
    more += ", Tensor? ends, bool promote"
    _operator("gemm", f"Tensor a, Tensor b, {more}, ScalarType out_dtype", _new_gemm, _made)
    _operator("gemm_into", f"Tensor a, Tensor b, Tensor(a!) out, {more}", _gemm_into)
    more = "bool causal, float? scale"
    _operator("attention", f"Tensor q, Tensor k, Tensor v, {more}", _new_attention, _made_attention)
    _operator("attention_into", f"Tensor q, Tensor k, Tensor v, Tensor(a!) out, {more}", _attention_into)


def _new_gemm(a: Any, b: Any, *words: Any) -> Any:
    return product(a, b, None, *words)


def _gemm_into(a: Any, b: Any, out: Any, *words: Any) -> None:
    product(*(a, b, out, *words, None))


def _new_attention(q: Any, k: Any, v: Any, causal: bool, scale: float | None) -> Any:
    return attend.attended(q, k, v, None, causal, scale)


def _attention_into(*words: Any) -> None:
    attend.attended(*words)


def _operator(name: str, given: str, call: Any, made: Any = None) -> None:
    """Register an operator. Compiled code must keep the strides that torch traced."""
    found = torch.library.custom_op(
        f"tilewise::{name}",
        call,
        mutates_args=() if made else ("out",),
        schema=f"({given}) -> {'Tensor' if made else '()'}",
        tags=(torch.Tag.needs_exact_strides,),
    )
    found.register_fake(made or (lambda *words: None))


if torch:
    _register()
