"""Time `tilewise.attention` beside torch's kernels, in turn, in one run.

    python bench/attention.py
    python bench/attention.py --rounds 30 --host

It takes torch and a Hopper GPU. Inputs are random normal numbers; 16 heads of 128 columns or 32 of 64 at 16k
rows, and twice as many at 8k. Launches of a round are one CUDA graph; the order of ways is drawn anew in each
round. A causal product counts half of the operations, for all ways.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import tilewise
from gemm import graph_of, host_time, in_turn, ratio_of

ELEMENTS = 1 << 25
"""Elements of Q."""
LIBRARIES = {"FLASH": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}
TIMES = 4
"""Launches of a round."""


def main() -> None:
    """Print the rates of each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--host", action="store_true", help="the host's time of a call as well")
    args = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, bf16")
    for head, rows, causal in product((128, 64), (8192, 16384), (False, True)):
        compared(head, rows, causal, args.rounds)
    if args.host:
        q = torch.randn(1, 1, 128, 128, device="cuda").bfloat16()
        out = torch.empty_like(q)
        print(
            f"the host's time of a call: {host_time(lambda: tilewise.attention(q, q, q, out)) * 1e6:.1f} us"
        )


def compared(head: int, rows: int, causal: bool, rounds: int) -> None:
    """Print the rates of a size beside the libraries'."""
    heads = ELEMENTS // (head * rows)
    q, k, v = (torch.randn(1, heads, rows, head, device="cuda").bfloat16() for _ in range(3))
    out = torch.full_like(q, float("nan"))
    ways: dict[str, Callable[[], Any]] = {"ours": lambda: tilewise.attention(q, k, v, out, causal=causal)}
    for name, backend in LIBRARIES.items():
        ways[name] = of_library(backend, q, k, v, causal)
    apart = float((ways["ours"]().float() - ways["cuDNN"]().float()).norm() / out.float().norm())
    seconds = in_turn({name: graph_of(way, TIMES) for name, way in ways.items()}, rounds)
    operations = 4 * heads * rows * rows * head * TIMES / (2 if causal else 1)
    rates = {name: operations / statistics.median(own) / 1e12 for name, own in seconds.items()}
    ratios = [f"{ratio_of(seconds[name], seconds['ours']):.3f} of {name}" for name in LIBRARIES]
    said = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
    what = f"head {head:3}, {rows:5} rows{', causal' * causal:8}"
    print(f"{what}  {said} TFLOP/s: {', '.join(ratios)} (apart {apart:.1e})", flush=True)


def of_library(backend: Any, q: Any, k: Any, v: Any, causal: bool) -> Callable[[], Any]:
    """Return torch's attention by one of its backends."""

    def run() -> Any:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


if __name__ == "__main__":
    main()
