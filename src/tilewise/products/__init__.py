"""Products by emitted kernels: D = A B^T, and attention, of torch's tensors on a GPU.

run        from matrices to a launch
attend     from queries, keys and values to a launch
device     kernels with tensor maps on a GPU
choice     tiles for tensors, those of which were measured first
tuned      tiles, measured on a GPU
traced     both as operators that torch.compile keeps
"""

from __future__ import annotations

import sys
from typing import Any

from tilewise.products.attend import attended
from tilewise.products.run import check_no_gradient, product


def gemm(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    c: Any = None,
    bias: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    scale_a: Any = None,
    scale_b: Any = None,
    ends: Any = None,
    promote: bool = False,
    out_dtype: Any = None,
) -> Any:
    """Return alpha scale_a scale_b A B^T + beta C + bias, of tensors of torch on a Hopper GPU.

    A is [M, K] and B is [N, K]; with one more dimension both are batches. Matrices of 16 bits may lie either
    way in memory. Types are torch's bfloat16, float16, float8_e4m3fn, float8_e5m2, int8, uint8 and float32,
    of which the bits of tf32 are multiplied. Sums are in f32, those of integers in s32.

    `scale_a` and `scale_b` are f32 on the GPU: one number each, or one for each row of A and of B. `bias` has
    a number for each column of D; batches share them. The result has the type of A, or `out_dtype`; of 8-bit
    floats it is bfloat16. `out` is written if it is given; it may be `c`. No gradient is passed on: inputs
    that need one are refused.

    Of 8-bit floats the core sums about 14 bits. `promote` adds up the sums of each 128 of K in f32.

    With `ends`, s32 on the GPU, rows of A are in groups: those up to ends[0], to ends[1] and so on. B has a
    matrix for each group, and so have `scale_b` and `bias`. Rows behind the last end are not written.

        refused  TW704 tensors that do not fit together, or that TMA does not take; TW608 another GPU
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        check_no_gradient(a, b, c, bias, scale_a, scale_b)
    words = a, b, out, c, bias, alpha, beta, scale_a, scale_b, ends, promote, out_dtype
    if torch is not None and torch.compiler.is_compiling():
        from tilewise.products.traced import traced

        return traced(*words)
    return product(*words)


def attention(
    q: Any, k: Any, v: Any, out: Any = None, *, causal: bool = False, scale: float | None = None
) -> Any:
    """Return softmax(scale Q K^T) V of each head and batch, of tensors of torch on a Hopper GPU.

    Q is [batches, heads, M, D] and K and V are [batches, heads, N, D], as
    `torch.nn.functional.scaled_dot_product_attention` takes them; D is 64 or 128, the type bfloat16 or
    float16. K and V may have fewer heads, each for several neighbouring heads of Q. Rows are contiguous, and
    all other strides are multiples of 16 bytes, and not 0.

    With `causal`, row i sees the keys up to i. `scale` is positive, and 1 / sqrt(D) if it is not given. `out`
    is written if it is given. No gradient is passed on: inputs that need one are refused.

        refused  TW704 tensors that do not fit together, or that TMA does not take; TW602 another D or type;
                 TW608 another GPU
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        check_no_gradient(q, k, v)
    if torch is not None and torch.compiler.is_compiling():
        from tilewise.products.traced import traced_attention

        return traced_attention(q, k, v, out, causal, scale)
    return attended(q, k, v, out, causal, scale)
