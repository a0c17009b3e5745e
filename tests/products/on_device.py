"""Random products on a GPU against torch in f64, within a bound; and the library's rate beside ours.

    PYTHONPATH=src:. python -m tests.products.on_device --random 500

It takes torch and a Hopper GPU.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilewise.gpu.compile import Source, cubins
from tilewise.codegen.gemm import kernel_source

LOST = {"f32": 2.0**-22, "8": 2.0**-13}
"""The part of a running sum that the tensor core loses at most with each instruction, by what it multiplies."""
ROUNDED = {"f32": 2.0**-23, "bf16": 2.0**-8, "f16": 2.0**-11, "e4m3": 2.0**-4, "e5m2": 2.0**-3, "s32": 0.0}
"""The part of a result that its type loses at most, and twice that for what is subnormal there."""
LEAST = {"f16": 2.0**-24, "e4m3": 2.0**-9, "e5m2": 2.0**-16}


@dataclass
class Problem:
    """A product drawn at random: tensors, and what is asked of `tilewise.gemm`."""

    words: str
    a: Any
    b: Any
    asked: dict[str, Any]

    def result(self, torch: Any) -> Any:
        import tilewise

        return tilewise.gemm(self.a, self.b, **self.asked)


def drawn(torch: Any, seed: int) -> Problem:
    """Return a random problem."""
    rng = random.Random(seed)
    generator = torch.Generator("cuda").manual_seed(seed)
    kinds = {
        "bf16": torch.bfloat16,
        "f16": torch.float16,
        "e4m3": torch.float8_e4m3fn,
        "e5m2": torch.float8_e5m2,
        "s8": torch.int8,
        "u8": torch.uint8,
        "tf32": torch.float32,
    }
    name = rng.choice(["bf16", "bf16", "f16", "e4m3", "e5m2", "s8", "u8", "tf32"])
    partner = rng.choice(
        {"e4m3": ["e4m3", "e5m2"], "e5m2": ["e4m3", "e5m2"], "s8": ["s8", "u8"], "u8": ["s8", "u8"]}.get(
            name, [name]
        )
    )
    size = {"bf16": 2, "f16": 2, "tf32": 4}.get(name, 1)
    outs = (
        [torch.int32]
        if name in ("s8", "u8")
        else [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn]
    )
    out = rng.choice(outs)
    most = rng.choice([64, 300, 1500, 3000])
    m, n, k = (rng.randint(1, most) for _ in range(3))
    majors = [rng.choice(["k", "mn"]) if size == 2 else "k" for _ in "AB"]
    unit = 16 // size
    k = -(-k // unit) * unit if "k" in majors else k
    m = -(-m // unit) * unit if majors[0] == "mn" else m
    n = -(-n // 16) * 16 if out.itemsize == 1 or majors[1] == "mn" else -(-n // 8) * 8
    batches = rng.choice([0, 0, 0, 1, 3])
    if batches and m * n * k > 1e9:
        batches = 0

    def matrix(rows: int, major: str, kind: str) -> Any:
        shape = (rows, k) if major == "k" else (k, rows)
        longer = shape[-1] + rng.choice([0, 0, unit, 5 * unit])
        whole = ([batches] if batches else []) + [shape[0], longer]
        if kind in ("s8", "u8"):
            found = torch.randint(-128 if kind == "s8" else 0, 128, whole, generator=generator, device="cuda")
        else:
            found = torch.randn(whole, generator=generator, device="cuda") * rng.choice([0.05, 1, 3])
        found = found.to(kinds[kind])[..., : shape[-1]]
        return found if major == "k" else found.transpose(-1, -2)

    a, b = matrix(m, majors[0], name), matrix(n, majors[1], partner)
    asked: dict[str, Any] = {"out_dtype": out}
    extra = torch.bfloat16 if out.itemsize == 1 else out
    if name not in ("s8", "u8"):
        if rng.random() < 0.3:
            asked["alpha"] = rng.choice([0.5, -2.0, 0.3])
        if rng.random() < 0.3:
            counts = rng.choice([(1, 1), (m, n)])
            for side, count in zip("ab", counts, strict=True):
                asked[f"scale_{side}"] = torch.rand(count, generator=generator, device="cuda") + 0.5
        if rng.random() < 0.3:
            shape = ([batches] if batches else []) + [m, n]
            asked["c"] = torch.randn(shape, generator=generator, device="cuda").to(extra)
            asked["beta"] = rng.choice([1.0, 0.5])
        if rng.random() < 0.3:
            asked["bias"] = torch.randn(n, generator=generator, device="cuda").to(extra)
    more = " ".join(
        f"{key}{list(value.shape) if hasattr(value, 'shape') else f'={value}'}"
        for key, value in asked.items()
    )
    words = f"{seed}: {name} x {partner}, {m} x {n} x {k}, {'/'.join(majors)}, {batches} batches, {more}"
    return Problem(words, a, b, asked)


def fault(torch: Any, problem: Problem) -> str:
    """Return what is wrong with a result, or nothing."""
    asked = problem.asked
    out = torch.empty((*problem.a.shape[:-1], problem.b.shape[-2]), dtype=asked["out_dtype"], device="cuda")
    poison = out.view(torch.uint8)
    poison.fill_(0x7F)
    import tilewise

    got = tilewise.gemm(
        problem.a, problem.b, out, **{k: v for k, v in asked.items() if k != "out_dtype"}
    ).double()
    a, b = problem.a.double(), problem.b.double()
    if problem.a.dtype == torch.float32:  # the core reads 19 bits of it
        a, b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32).double() for x in (problem.a, problem.b))
    want, size = a @ b.transpose(-1, -2), a.abs() @ b.abs().transpose(-1, -2)
    factor = asked.get("alpha", 1.0)
    if "scale_a" in asked:
        scale_a, scale_b = (asked[f"scale_{side}"].double() for side in "ab")
        factor = (
            factor * scale_a[:, None] * scale_b[None, :]
            if len(scale_a) > 1 or len(scale_b) > 1
            else factor * scale_a * scale_b
        )
    want, size = want * factor, size * (factor.abs() if hasattr(factor, "abs") else abs(factor))
    if "c" in asked:
        want = want + asked["beta"] * asked["c"].double()
        size = size + asked["beta"] * asked["c"].double().abs()
    if "bias" in asked:
        want = want + asked["bias"].double()
        size = size + asked["bias"].double().abs()
    if out.dtype == torch.int32:
        return "" if torch.equal(got, want) else f"{(got != want).sum()} of {got.numel()} differ"
    name = str(out.dtype).split(".")[-1]
    name = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float8_e4m3fn": "e4m3"}[name]
    narrow = problem.a.element_size() == 1
    steps = -(-problem.a.shape[-1] * problem.a.element_size() // 32) + 6
    bound = (
        size * steps * (LOST["8"] if narrow else LOST["f32"])
        + want.abs() * ROUNDED[name]
        + LEAST.get(name, 0.0)
    )
    if name == "e4m3":
        want = want.clamp(-448, 448)
    bad = ~((got - want).abs() <= bound)
    return (
        f"{int(bad.sum())} of {got.numel()} beyond the bound, such as {got[bad][:3].tolist()} for {want[bad][:3].tolist()}"
        if bad.any()
        else ""
    )


def main() -> int:
    """Print each fault, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    import torch

    from tilewise.products.run import plan_of

    begin = time.perf_counter()
    plans = {}
    for seed in range(args.first, args.first + args.random):
        problem = drawn(torch, seed)
        asked = problem.asked
        out = torch.empty(
            (*problem.a.shape[:-1], problem.b.shape[-2]), dtype=asked["out_dtype"], device="cuda"
        )
        plan = plan_of(
            problem.a,
            problem.b,
            out,
            asked.get("c"),
            asked.get("bias"),
            "alpha" in asked,
            asked.get("scale_a"),
            asked.get("scale_b"),
        )
        plans[plan] = Source(f"{plan.called}.cu", kernel_source(plan))
    cubins(list(plans.values()))
    print(f"{len(plans)} kernels in {time.perf_counter() - begin:.0f} s", flush=True)
    faults = 0
    for seed in range(args.first, args.first + args.random):
        problem = drawn(torch, seed)
        try:
            found = fault(torch, problem)
        except Exception as error:
            found = repr(error)[:300]
            if "CUDA" in found or "launch" in found:
                print(problem.words, found)
                return 1
        if found:
            faults += 1
            print(problem.words, found, flush=True)
    print(f"{args.random} random products, {faults} wrong, {time.perf_counter() - begin:.0f} s")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
