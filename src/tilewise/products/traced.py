"""`gemm` as operators of torch, which torch.compile keeps whole.

The module is imported only where torch traces. Without torch it registers nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from tilewise.products.run import check_shapes, new_result, product, result_type

torch: Any = sys.modules.get("torch")


def traced(a: Any, b: Any, out: Any, *words: Any) -> Any:
    """Return the product of traced tensors, of which `product` has the words."""
    *more, out_dtype = words
    if out is not None:
        torch.ops.tilewise.gemm_into(a, b, out, *more)
        return out
    return torch.ops.tilewise.gemm(a, b, *more, out_dtype or result_type(a.dtype))


def _gemm(a: Any, b: Any, *words: Any) -> Any:
    return product(a, b, None, *words)


def _gemm_into(a: Any, b: Any, out: Any, *words: Any) -> None:
    product(*(a, b, out, *words, None))


def _made(a: Any, b: Any, *words: Any) -> Any:
    """Return a tensor for the result, where torch needs only its extents."""
    *_, ends, _, out_dtype = words
    check_shapes(a, b, ends)
    return new_result(a, b, out_dtype)


def _register() -> None:
    """Register the operators. Compiled code must keep the strides that torch traced."""
    more = "Tensor? c, Tensor? bias, float alpha, float beta, Tensor? scale_a, Tensor? scale_b"
    more += ", Tensor? ends, bool promote"
    exact = (torch.Tag.needs_exact_strides,)
    new = torch.library.custom_op(
        "tilewise::gemm",
        _gemm,
        mutates_args=(),
        schema=f"(Tensor a, Tensor b, {more}, ScalarType out_dtype) -> Tensor",
        tags=exact,
    )
    new.register_fake(_made)
    into = torch.library.custom_op(
        "tilewise::gemm_into",
        _gemm_into,
        mutates_args=("out",),
        schema=f"(Tensor a, Tensor b, Tensor(a!) out, {more}) -> ()",
        tags=exact,
    )
    into.register_fake(lambda *words: None)


if torch:
    _register()
