"""Tiles of products, measured on a GPU: the fastest is remembered."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from random import Random
from typing import Any

from tilewise.codegen.gemm import GemmProblem, HopperPlan, TileChoice, kernel_source, planned
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.gpu import remembered as kept
from tilewise.gpu.compile import Source, cubins
from tilewise.gpu.device import HOPPER, find
from tilewise.products.choice import FILE, class_of
from tilewise.products.device import multiprocessors
from tilewise.products.run import bound

ROUNDS = 11
OPERATIONS = 2e12
"""Operations of a round of one choice: the clock of the GPU follows its power."""
MOST = 50
"""Launches of a round, at most."""
GAIN = 0.99
"""Part of the first choice's time that another may take to be remembered instead: less is chance."""


def tuned(
    problem: GemmProblem, index: int = 0, told: Callable[[str], None] = lambda line: None
) -> TileChoice:
    """Return the fastest choice for a problem on a GPU, and remember it; `told` gets a line for each choice.

    refused  TW608 without torch, or a Hopper GPU
    """
    seconds = measured(problem, index, told)
    for choice, taken in sorted(seconds.items(), key=lambda pair: -pair[1]):
        told(f"{said(choice)}: {taken * 1e6:.1f} us")
    first, best = next(iter(seconds)), min(seconds, key=seconds.__getitem__)
    best = best if seconds[best] < GAIN * seconds[first] else first
    (tile, cluster, group, parts) = best
    device = find(index, capability=HOPPER)
    kept.remember(FILE, device.name, class_of(problem), (*tile, *cluster, group, parts))
    return best


def measured(
    problem: GemmProblem, index: int = 0, told: Callable[[str], None] = lambda line: None
) -> dict[TileChoice, float]:
    """Return the seconds of a product on a GPU by each choice worth measuring, that of the table first."""
    torch = _torch()
    device = find(index, capability=HOPPER)
    choices = replace(problem, multiprocessors=multiprocessors(index)).candidates
    plans = [_plan(problem, choice) for choice in choices]
    told(f"{len(plans)} kernels, measured on {device.name}:")
    cubins([Source(f"{plan.called}.cu", kernel_source(plan)) for plan in plans])
    return dict(zip(choices, _seconds(torch, problem, plans, choices, index), strict=True))


def said(choice: TileChoice) -> str:
    """Return a choice in words.

    >>> said(TileChoice((128, 256), (2, 1), 8, 3))
    '128x256 in clusters of 2x1, groups of 8, K in 3 parts'
    """
    words = [f"{'x'.join(map(str, choice.tile))} in clusters of {'x'.join(map(str, choice.cluster))}"]
    words.append(f"groups of {choice.group}")
    return ", ".join([*words, *[f"K in {choice.parts} parts"] * (choice.parts > 1)])


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError:
        raise Refused("TW608", "torch is not installed", hint="pip install torch") from None


def _plan(problem: GemmProblem, choice: TileChoice) -> HopperPlan:
    return planned(
        choice.tile,
        *problem.types,
        out=_out(problem),
        majors=problem.majors,
        cluster=choice.cluster,
        group=choice.group,
        batched=problem.batches > 1 and not problem.grouped,
        grouped=problem.grouped,
        promotes=problem.promotes,
        splits=choice.parts > 1,
    )


def _out(problem: GemmProblem) -> DType | None:
    """Return the type of D: that of most products, of 16 bits where sums are floats."""
    return None if problem.types[0].name in ("s8", "u8") else DType.of("bf16")


def _seconds(
    torch: Any, problem: GemmProblem, plans: list[HopperPlan], choices: list[TileChoice], index: int
) -> list[float]:
    """Return the seconds of each choice, in turn, in an order that is drawn anew in each round."""
    with torch.cuda.device(index):
        a, b, out, ends = _tensors(torch, problem)
        runs = [bound(plan, choice.parts, a, b, out) for plan, choice in zip(plans, choices, strict=True)]
        operations = 2 * problem.m * problem.n * problem.k * problem.batches
        times = max(3, min(MOST, int(OPERATIONS / operations)))
        stream = torch.cuda.current_stream().cuda_stream
        words = [ends.data_ptr(), out.data_ptr()] if problem.grouped else []
        samples: list[list[float]] = [[] for _ in runs]
        order = Random(0)
        for turn in range(ROUNDS + 1):
            for at in order.sample(range(len(runs)), len(runs)):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                for _ in range(times):
                    runs[at](a, b, out, words, stream)
                end.record()
                end.synchronize()
                if turn:
                    samples[at].append(begin.elapsed_time(end) / times / 1e3)
    return [statistics.median(own) for own in samples]


def _tensors(torch: Any, problem: GemmProblem) -> list[Any]:
    """Return A, B and D on the GPU, random and normal; and the ends of groups."""
    many = [problem.batches] if problem.batches > 1 or problem.grouped else []
    kinds = [_torch_type(torch, own) for own in problem.types]
    rows = problem.m * problem.batches if problem.grouped else problem.m

    def matrix(extent: int, kind: Any, major: str, many: list[int]) -> Any:
        shape = (extent, problem.k) if major == "k" else (problem.k, extent)
        line = _line(shape[1], kind)
        if not kind.is_floating_point:
            made = torch.randint(0, 100, (*many, shape[0], line), device="cuda").to(kind)
        else:
            made = torch.randn(*many, shape[0], line, device="cuda").to(kind)
        found = made[..., : shape[1]]
        return found if major == "k" else found.mT

    a = matrix(rows, kinds[0], problem.majors[0], [] if problem.grouped else many)
    b = matrix(problem.n, kinds[1], problem.majors[1], many)
    kind = torch.int32 if _out(problem) is None else torch.bfloat16
    out = torch.empty(*a.shape[:-1], _line(problem.n, kind), dtype=kind, device="cuda")[..., : problem.n]
    ends = [problem.m * (at + 1) for at in range(problem.batches)]
    return [a, b, out, torch.tensor(ends, dtype=torch.int32, device="cuda")]


def _line(extent: int, kind: Any) -> int:
    """Return the elements between two lines: TMA takes lines at multiples of 16 bytes."""
    each: int = 16 // kind.itemsize
    return -(-extent // each) * each


def _torch_type(torch: Any, own: DType) -> Any:
    names = {"bf16": "bfloat16", "f16": "float16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    return getattr(torch, {**names, "s8": "int8", "u8": "uint8", "tf32": "float32"}[own.name])
