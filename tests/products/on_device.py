"""Random products on a GPU against torch in f64, each within a bound.

    PYTHONPATH=src:. python -m tests.products.on_device --random 500
    PYTHONPATH=src:. compute-sanitizer --tool racecheck \\
        python -m tests.products.on_device --random 40 --most 300

It takes torch and a Hopper GPU. `--plant` takes a line out of each kernel, so that a checker of races has one
to find.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

import tilewise
from tilewise.codegen.gemm import HopperPlan, kernel_source
from tilewise.gpu.compile import Source, cubins
from tilewise.products.run import plan_of

TYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "s8": torch.int8,
    "u8": torch.uint8,
    "tf32": torch.float32,
}
FLOATS_OF_8, WHOLE, WIDE = ("e4m3", "e5m2"), ("s8", "u8"), ("bf16", "f16")
PARTNERS = {name: (*own, *WIDE) for own in (FLOATS_OF_8, WHOLE) for name in own}
"""Types of B beside those of A; the wide ones are what A becomes in registers."""
OUTS = (torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)
EIGHT = OUTS[3:]
MOST = {OUTS[3]: 448.0, OUTS[4]: 57344.0}
"""The largest number of a type, to which results are cut off."""
BEYOND = 65520.0
"""The least number that becomes infinite in f16."""
LOST, LOST_OF_8 = 2.0**-22, 2.0**-13
"""The part of a running sum that the core loses at most with each instruction; the second of 8-bit floats."""
PROMOTED = 6
"""Instructions of a stage, and some for what is done to the sums."""
SUMMED = 32
"""Bytes along K of an instruction."""
ROUNDED = {
    torch.float32: 2.0**-23,
    torch.bfloat16: 2.0**-8,
    torch.float16: 2.0**-11,
    OUTS[3]: 2.0**-4,
    OUTS[4]: 2.0**-3,
}
"""The part of a result that its type loses at most."""
LEAST = {torch.float16: 2.0**-24, OUTS[3]: 2.0**-9, OUTS[4]: 2.0**-16}
"""Its smallest step, for what is subnormal there."""
TF32 = ~0x1FFF
"""The bits of an f32 that the core reads."""


@dataclass
class Problem:
    """A product drawn at random: tensors, the arguments of `tilewise.gemm`, and a text that names it."""

    text: str
    a: Any
    b: Any
    asked: dict[str, Any]
    longer: int = 0
    """Elements by which lines of the result are longer than they need to be."""
    is_exact: bool = False
    """True if all numbers are small and whole, so that sums have no error."""

    @property
    def out(self) -> Any:
        """Return a tensor for the result, whose bytes are all 0x7f."""
        kind, n = self.asked["out_dtype"], self.b.shape[-2]
        line = -(-n * kind.itemsize // 16) * 16 // kind.itemsize + self.longer
        made = torch.empty((*self.a.shape[:-1], line), dtype=kind, device=self.a.device)
        made.view(torch.uint8).fill_(0x7F)
        return made[..., :n]

    @property
    def plan(self) -> HopperPlan:
        asked = self.asked
        more = [asked.get("c"), asked.get("bias"), "alpha" in asked]
        more += [asked.get(name) for name in ("scale_a", "scale_b", "ends")]
        more.append("promote" in asked)
        return plan_of(self.a, self.b, self.out, *more)[0]


PLANTS = {
    "there": "wait(full + 8 * ring.stage, ring.parity); // it is there",
    "read": "wait(empty + 8 * ring.stage, ring.parity ^ 1); // it was read",
    "box": 'asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");',
    "meet": 'asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory");',
}
"""{what a thread does not wait for: the line of the kernel that is left out}"""


def drawn(seed: int, device: str = "cuda", largest: int = 6000) -> Problem:
    """Return a random problem: types, sides, extents, longer lines, batches, and steps after the sums."""
    rng = random.Random(seed)
    generator = torch.Generator(device).manual_seed(seed)
    name = rng.choice(["bf16", *TYPES])
    partner = rng.choice(PARTNERS.get(name, (name,)))
    out = torch.int32 if partner in WHOLE else rng.choice(OUTS)
    sizes = [TYPES[kind].itemsize for kind in (name, partner)]
    unit = 16 // sizes[0]
    most = min(largest, rng.choice([64, 300, 1500, 4000, 6000]))
    m, n, k = (rng.randint(1, most) for _ in range(3))
    ways = [rng.choice(["k", "mn"]) if size == 2 else "k" for size in sizes]
    k = -(-k // unit) * unit if "k" in ways else k
    m = -(-m // unit) * unit if ways[0] == "mn" else m
    n = -(-n // unit) * unit if ways[1] == "mn" else n
    is_exact = rng.random() < 0.4
    batches = [rng.choice([1, 3])] if rng.random() < 0.4 and m * n * k < 1e9 else []
    groups = [rng.choice([1, 2, 5, 9])] if not batches and rng.random() < 0.3 else []
    groups = groups if sizes[0] == sizes[1] else []
    if groups:
        n, ways[0] = -(-n // 16) * 16, "k"
        k = -(-k // unit) * unit

    def matrix(rows: int, way: str, kind: str, many: list[int]) -> Any:
        shape = (rows, k) if way == "k" else (k, rows)
        whole = [*many, shape[0], shape[1] + rng.choice([0, 0, unit, 5 * unit])]
        if kind in WHOLE:
            low = -128 if kind == "s8" else 0
            found = torch.randint(low, 128, whole, generator=generator, device=device)
        elif is_exact:
            found = torch.randint(-2, 3, whole, generator=generator, device=device)
        else:
            found = torch.randn(whole, generator=generator, device=device) * rng.choice([0.05, 1, 3])
        found = found.to(TYPES[kind])[..., : shape[1]]
        return found if way == "k" else found.mT

    def numbers(*shape: int) -> Any:
        kind = torch.bfloat16 if out.itemsize == 1 else out
        return torch.randn(shape, generator=generator, device=device).to(kind)

    a, b = matrix(m, ways[0], name, batches), matrix(n, ways[1], partner, batches or groups)
    asked: dict[str, Any] = {"out_dtype": out}
    if partner not in WHOLE and not is_exact:
        n_even = n % 2 == 0
        if rng.random() < 0.3:
            asked["alpha"] = rng.choice([0.5, -2.0, 0.3])
        if rng.random() < 0.3:
            each = groups[0] if groups else 1
            ways_of_scales = [(1, each), (m, each * n)][: 1 + n_even]
            for side, count in zip("ab", rng.choice(ways_of_scales), strict=True):
                asked[f"scale_{side}"] = torch.rand(count, generator=generator, device=device) + 0.5
        if n_even and rng.random() < 0.3:
            asked |= {"c": numbers(*batches, m, n), "beta": rng.choice([1.0, 0.5])}
        if n_even and rng.random() < 0.3:
            asked["bias"] = numbers(*groups, n)
    if TYPES[partner] in EIGHT and rng.random() < 0.4:
        asked["promote"] = True
    if groups:
        ends = sorted(rng.randint(0, m) for _ in range(groups[0]))
        asked["ends"] = torch.tensor(ends, dtype=torch.int32, device=device)
    many = f"batches {batches}, groups {groups}"
    text = f"{seed}: {name} x {partner}, {m} x {n} x {k}, {'/'.join(ways)}, {many}, {sorted(asked)}"
    longer = rng.choice([0, 0, 16, 48])
    return Problem(text, a, b, asked, longer, is_exact)


def parts(problem: Problem) -> Iterator[tuple[slice, Problem]]:
    """Yield the rows of each group with a product of its own; all rows where there are no groups."""
    asked = dict(problem.asked)
    if "ends" not in asked:
        yield slice(None), problem
        return
    begin = 0
    for group, end in enumerate(asked.pop("ends").tolist()):
        rows, own = slice(begin, end), dict(asked)
        begin = end
        if "c" in own:
            own["c"] = own["c"][rows]
        if "bias" in own:
            own["bias"] = own["bias"][group]
        if "scale_a" in own:
            own["scale_a"] = own["scale_a"][rows] if len(own["scale_a"]) > 1 else own["scale_a"]
            own["scale_b"] = own["scale_b"].view(len(problem.b), -1)[group]
        yield rows, Problem("", problem.a[rows], problem.b[group], own)


def exact(problem: Problem) -> tuple[Any, Any]:
    """Return the result in f64, and the sum of the sizes of all that is added."""
    asked, a, b = problem.asked, problem.a, problem.b
    if a.dtype == torch.float32:
        a, b = ((x.contiguous().view(torch.int32) & TF32).view(torch.float32) for x in (a, b))
    a, b = a.double(), b.double()
    want, size = a @ b.mT, a.abs() @ b.abs().mT
    factor = torch.full((1, 1), asked.get("alpha", 1.0), dtype=torch.float64, device=a.device)
    if "scale_a" in asked:
        factor = factor * asked["scale_a"].double()[:, None] * asked["scale_b"].double()
    want, size = want * factor, size * factor.abs()
    for name, times in (("c", asked.get("beta")), ("bias", 1.0)):
        if name in asked:
            more = times * asked[name].double()
            want, size = want + more, size + more.abs()
    return want, size


def fault(problem: Problem) -> str:
    """Return a sentence on a result that is beyond its bound, or an empty text."""
    out, a = problem.out, problem.a
    given = {name: value for name, value in problem.asked.items() if name != "out_dtype"}
    tilewise.gemm(a, problem.b, out, **given)
    size = problem.b.element_size()
    steps = -(-a.shape[-1] * size // SUMMED) + 6
    lost = steps * (LOST_OF_8 if size == 1 else LOST)
    if "promote" in problem.asked:
        lost = PROMOTED * LOST_OF_8 + steps * LOST
    last = 0
    for rows, part in parts(problem):
        got, (want, size) = out[rows].double(), exact(part)
        if out.dtype in MOST:
            want = want.clamp(-MOST[out.dtype], MOST[out.dtype])
        if problem.is_exact or not out.is_floating_point():
            want, bound = want.to(out.dtype).double(), torch.zeros_like(want)
        else:
            bound = size * lost + want.abs() * ROUNDED[out.dtype] + LEAST.get(out.dtype, 0.0)
        right = (got - want).abs() <= bound
        if out.dtype == torch.float16:
            right |= (got == want.sign() * torch.inf) & (want.abs() + bound >= BEYOND)
        if (bad := ~right).any():
            some = f"{got[bad][:3].tolist()} for {want[bad][:3].tolist()}"
            return f"{int(bad.sum())} of {got.numel()} beyond the bound, such as {some}"
        last = rows.stop
    rest = out[last:].contiguous().view(torch.uint8) if last is not None else out[:0]
    return "" if bool((rest == 0x7F).all()) else "rows of no group are written"


def main() -> int:
    """Print each fault, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=6000, help="the largest extent")
    parser.add_argument("--plant", choices=PLANTS, help="leave out this wait")
    args = parser.parse_args()
    begin = time.perf_counter()
    seeds = range(args.first, args.first + args.random)
    if args.plant:
        plant(PLANTS[args.plant])
    else:
        plans = {drawn(seed, largest=args.most).plan for seed in seeds}
        cubins([Source(f"{plan.called}.cu", kernel_source(plan)) for plan in plans])
        print(f"{len(plans)} kernels, {time.perf_counter() - begin:.0f} s", flush=True)
    faults = 0
    for seed in seeds:
        problem = drawn(seed, largest=args.most)
        if found := fault(problem):
            faults += 1
            print(problem.text, found, flush=True)
    print(f"{args.random} random products, {faults} wrong, {time.perf_counter() - begin:.0f} s")
    return int(faults > 0)


def plant(line: str) -> None:
    """Have products run kernels without a line."""
    from tilewise.products import device

    def source(plan: HopperPlan) -> str:
        text = kernel_source(plan)
        assert line in text, line
        return text.replace(line, ";")

    device.kernel_source = source  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
