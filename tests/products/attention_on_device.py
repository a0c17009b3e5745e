"""Random attention on a GPU against torch in f64, each within a bound.

    PYTHONPATH=src:. python -m tests.products.attention_on_device --random 300

It takes torch and a Hopper GPU.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass
from typing import Any

import torch

import tilewise

ROUNDED = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
"""The part of a number that its type loses at most."""
LEAST = {torch.bfloat16: 0.0, torch.float16: 2.0**-24}
LOST = 2.0**-22
"""The part of a running sum that the core loses at most with each instruction, and the power of a score."""
SUMMED = 16
"""Elements along K of an instruction."""


@dataclass
class Problem:
    """Tensors, the arguments of `tilewise.attention`, and a text that names them."""

    text: str
    q: Any
    k: Any
    v: Any
    causal: bool
    scale: float | None


def drawn(seed: int, device: str = "cuda", largest: int = 2500) -> Problem:
    """Return random heads: types, extents, fewer heads of keys, strides, and what is seen."""
    rng = random.Random(seed)
    generator = torch.Generator(device).manual_seed(seed)
    kind, head = rng.choice(list(ROUNDED)), rng.choice([64, 128])
    most = min(largest, rng.choice([40, 200, 700, 2500]))
    m, n = rng.randint(1, most), rng.randint(1, most)
    batches, own, sharing = rng.choice([1, 1, 2]), rng.choice([1, 2, 3]), rng.choice([1, 1, 2, 4])

    def tensor(rows: int, heads: int, times: float) -> Any:
        """Heads before rows, or rows before heads as a projection leaves them, with room behind."""
        more = rng.choice([0, 0, 8, 24])
        shape = (batches, heads, rows) if (apart := rng.random() < 0.5) else (batches, rows, heads)
        whole = torch.randn((*shape, head + more), generator=generator, device=device) * times
        found = whole.to(kind)[..., :head]
        return found if apart else found.transpose(1, 2)

    q = tensor(m, own * sharing, rng.choice([0.1, 1, 4]))
    k, v = tensor(n, own, 1), tensor(n, own, rng.choice([0.1, 1]))
    causal, scale = rng.random() < 0.5, rng.choice([None, None, 1.0, 0.03])
    shapes = ", ".join(f"{name} {list(x.shape)} {x.stride()}" for name, x in (("Q", q), ("K", k), ("V", v)))
    return Problem(f"{seed}: {kind}, {shapes}, causal {causal}, scale {scale}", q, k, v, causal, scale)


def long() -> Problem:
    """Return many keys with the same large score: what is added up first must weigh as much as the last."""
    generator = torch.Generator("cuda").manual_seed(1)
    q, k = (torch.ones(1, 1, rows, 128, device="cuda", dtype=torch.float16) for rows in (64, 1 << 16))
    v = torch.randn(k.shape, generator=generator, device="cuda").half() + 1
    v[:, :, : 1 << 15] += 2
    return Problem("", q, k, v, False, 1.0)


def exact(problem: Problem) -> tuple[Any, Any]:
    """Return the result in f64, and the most by which one on the GPU may differ."""
    q, k, v = (x.double() for x in (problem.q, problem.k, problem.v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    head, (m, n) = q.shape[-1], (q.shape[-2], k.shape[-2])
    scale = head**-0.5 if problem.scale is None else problem.scale
    scores, sizes = scale * q @ k.mT, scale * q.abs() @ k.abs().mT
    if problem.causal:
        unseen = torch.ones(m, n, dtype=torch.bool, device=q.device).triu(1)
        scores, sizes = scores.masked_fill(unseen, float("-inf")), sizes.masked_fill(unseen, 0)
    weights = scores.softmax(-1)
    want, size = weights @ v, weights @ v.abs()
    of_scores = 2 * sizes.amax(-1, keepdim=True) * (head / SUMMED + 6) * LOST  # of each, and of the largest
    of_sums = (n / SUMMED + 6) * LOST + 2 * ROUNDED[problem.q.dtype]
    kind = problem.q.dtype
    return want, size * (of_scores + of_sums) + want.abs() * ROUNDED[kind] + LEAST[kind] * n


def fault(problem: Problem) -> str:
    """Return a sentence on a result that is beyond its bound, or an empty text."""
    out = torch.full_like(problem.q, float("nan"))
    tilewise.attention(problem.q, problem.k, problem.v, out, causal=problem.causal, scale=problem.scale)
    want, bound = exact(problem)
    if (bad := ~((out.double() - want).abs() <= bound)).any():
        some = f"{out[bad][:3].tolist()} for {want[bad][:3].tolist()}"
        return f"{int(bad.sum())} of {out.numel()} beyond the bound, such as {some}"
    return ""


def main() -> int:
    """Print each fault, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=300)
    parser.add_argument("--most", type=int, default=2500, help="the largest extent")
    args = parser.parse_args()
    begin, faults = time.perf_counter(), 0
    for seed in range(args.random):
        problem = drawn(seed, largest=args.most)
        if found := fault(problem):
            faults += 1
            print(problem.text, found, flush=True)
    if found := fault(long()):
        faults += 1
        print(f"65536 keys whose scores are alike: {found}", flush=True)
    print(f"{args.random} random problems, {faults} wrong, {time.perf_counter() - begin:.0f} s")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
