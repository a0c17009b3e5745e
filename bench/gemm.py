"""Time `tilewise.gemm` beside torch's products, which are the vendor's library, in turn, in one run.

    python bench/gemm.py                 squares, and shapes of models, in bf16 and e4m3
    python bench/gemm.py --rounds 30
    python bench/gemm.py --groups        groups of rows, beside one product of as many operations
    python bench/gemm.py --parts         few tiles and a long K
    python bench/gemm.py --mixed         A of 8 bits, B in bf16
    python bench/gemm.py --choices       the table's choice of tiles beside the fastest of those worth a try
    python bench/gemm.py --host          the host's time of a call

It takes torch and a Hopper GPU. Inputs are random normal numbers. Launches of a round are one CUDA graph; the
order of ways is drawn anew in each round, for the clock follows the power of the work before.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

import tilewise
from tilewise.codegen.gemm import GemmProblem
from tilewise.core.dtypes import DType
from tilewise.products.tuned import measured, said

SQUARES = [(size, size, size) for size in (2048, 4096, 8192, 16384)]
MODELS = {
    "attention in, 4k tokens": (4096, 6144, 4096),
    "attention out, 4k tokens": (4096, 4096, 4096),
    "gate and up, 4k tokens": (4096, 28672, 4096),
    "down, 4k tokens": (4096, 4096, 14336),
    "gate and up, 8k of a 70B": (8192, 57344, 8192),
    "down, 8k of a 70B": (8192, 8192, 28672),
    "512 tokens, wide": (512, 28672, 4096),
    "512 tokens, deep": (512, 4096, 14336),
    "words, 2k tokens": (2048, 128256, 4096),
    "odd": (3000, 5008, 2064),
    "tall": (65536, 1024, 1024),
    "gradient of weights": (4096, 4096, 16384),
}
GROUPS = ((8, 512, 4096), (16, 512, 4096), (32, 512, 4096), (64, 512, 4096), (64, 16, 128), (16, 1, 128))
"""Groups, and the least and the most rows of one; N and K are 4096."""
LONG = ((512, 512, 16384), (128, 4096, 4096), (64, 4096, 14336), (1024, 1024, 8192), (256, 256, 65536))
OPERATIONS = 4e13
"""Operations of a round."""
OTHERS = ((1000, 1000, 1000), (2500, 2500, 2500), (6000, 3000, 3000), (5000, 7000, 3000))
WEIGHTS = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 1024, 8192), (8192, 64, 8192))
"""Weights of 8 bits are A: rows of them, rows of tokens, and K."""


def main() -> None:
    """Print the rates of each shape, and the medians of the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--host", action="store_true", help="the host's time of a call")
    parser.add_argument("--groups", action="store_true", help="groups of rows")
    parser.add_argument("--parts", action="store_true", help="few tiles and a long K")
    parser.add_argument("--mixed", action="store_true", help="A of 8 bits, B in bf16")
    parser.add_argument("--choices", action="store_true", help="the choice of tiles")
    args = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    if args.host:
        host_times()
    if args.choices:
        print(f"{statistics.geometric_mean(choices()):.3f} of the fastest choice's time in the mean")
    for groups, least, most in GROUPS if args.groups else ():
        grouped(groups, least, most, args.rounds)
    for shape in LONG if args.parts else ():
        compared(" x ".join(map(str, shape)), shape, torch.bfloat16, args.rounds)
    for shape in WEIGHTS if args.mixed else ():
        for kind in (torch.float8_e4m3fn, torch.int8):
            compared(str(kind).removeprefix("torch."), shape, torch.bfloat16, args.rounds, kind)
    if args.host or args.groups or args.parts or args.mixed or args.choices:
        return
    for name, kind in (("bf16", torch.bfloat16), ("e4m3", torch.float8_e4m3fn)):
        print(f"{name}: tilewise beside the library; the tie is the library beside itself")
        for shape in SQUARES:
            compared(" x ".join(map(str, shape)), shape, kind, args.rounds)
        ratios = [compared(words, shape, kind, args.rounds) for words, shape in MODELS.items()]
        mean = statistics.geometric_mean(ratios)
        print(f"{len(ratios)} shapes of models: {mean:.3f} in the mean, {min(ratios):.3f} at least")


def compared(words: str, shape: tuple[int, int, int], kind: Any, rounds: int, of_a: Any = None) -> float:
    """Print the rate of a shape, and return its ratio to the library's; A may have a type of its own."""
    m, n, k = shape
    a, b = (drawn(rows, k, own) for rows, own in ((m, of_a or kind), (n, kind)))
    out = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    library = of_library(a, b, torch.empty_like(out))
    ways = {"ours": ours(a, b, out), "library": library, "again": library}
    want = library().double()
    out.fill_(float("nan"))
    error = float((ways["ours"]().double() - want).norm() / want.norm())
    times = max(4, min(20, int(OPERATIONS / (2 * m * n * k))))
    seconds = in_turn({name: graph_of(way, times) for name, way in ways.items()}, rounds)
    rate = 2e-12 * m * n * k * times
    ratio, tie = (ratio_of(seconds["library"], seconds[name]) for name in ("ours", "again"))
    rates = [f"{rate / statistics.median(seconds[name]):6.0f}" for name in ("ours", "library")]
    print(
        f"{words:26} {m:6} x {n:6} x {k:6}  {rates[0]} TFLOP/s, library {rates[1]}: {ratio:.3f}"
        f"  (tie {tie:.3f}, apart {error:.1e})",
        flush=True,
    )
    return ratio


def choices() -> Iterator[float]:
    """Print and yield, for each shape, the time of the table's choice by that of the fastest."""
    for shape in (*SQUARES, *MODELS.values(), *LONG, *OTHERS):
        for kind in ("bf16", "e4m3"):
            seconds = measured(GemmProblem(*shape, (DType.of(kind), DType.of(kind))))
            (first, taken), best = next(iter(seconds.items())), min(seconds, key=seconds.__getitem__)
            own = taken / seconds[best]
            print(
                f"{kind} {' x '.join(map(str, shape))}: {own:.3f}, {said(first)}, beside {said(best)}",
                flush=True,
            )
            yield own


def grouped(groups: int, least: int, most: int, rounds: int) -> None:
    """Print the rates of groups, of torch's groups, and of one product of as many operations."""
    n = k = 4096
    rows = [random.Random(at).randint(least, most) for at in range(groups)]
    ends = torch.tensor(rows, device="cuda").cumsum(0).int()
    a, b = (torch.randn(*shape, k, device="cuda").bfloat16() for shape in ((sum(rows),), (groups, n)))
    one, out = b[0].clone(), torch.empty(sum(rows), n, dtype=torch.bfloat16, device="cuda")
    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: tilewise.gemm(a, b, out, ends=ends),
        "torch": lambda: torch._grouped_mm(a, b.mT, offs=ends),
        "one product": lambda: tilewise.gemm(a, one, out),
    }
    times = max(4, min(20, int(OPERATIONS / (2 * len(a) * n * k))))
    seconds = in_turn({name: graph_of(way, times) for name, way in ways.items()}, rounds)
    rate = 2e-12 * len(a) * n * k * times
    rates = [f"{name} {rate / statistics.median(own):.0f}" for name, own in seconds.items()]
    ratios = [
        f"{ratio_of(seconds[name], seconds['ours']):.3f} of {name}" for name in ("torch", "one product")
    ]
    words = f"{groups} groups of {least} to {most} rows"
    print(f"{words:28} {', '.join(rates)} TFLOP/s: {', '.join(ratios)}", flush=True)


def drawn(rows: int, k: int, kind: Any) -> Any:
    """Return random numbers: normal ones, or all that an integer type has."""
    if kind.is_floating_point:
        return torch.randn(rows, k, device="cuda").to(kind)
    return torch.randint(-128, 128, (rows, k), device="cuda").to(kind)


def ours(a: Any, b: Any, out: Any) -> Callable[[], Any]:
    """Return our product; 8-bit floats have a scale each."""
    if b.element_size() > 1:
        return lambda: tilewise.gemm(a, b, out)
    one = torch.ones(1, device="cuda")
    return lambda: tilewise.gemm(a, b, out, scale_a=one, scale_b=one)


def of_library(a: Any, b: Any, out: Any) -> Callable[[], Any]:
    """Return torch's product of the same; A of another type is cast to B's first."""
    if b.element_size() > 1:
        return lambda: torch.matmul(a.to(b.dtype), b.T, out=out)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b.T, one, one, use_fast_accum=True, out_dtype=out.dtype)


def graph_of(way: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return the replay of so many launches."""
    with torch.cuda.stream(torch.cuda.Stream()):
        way()
        way()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            way()
    replay: Callable[[], None] = graph.replay
    return replay


def in_turn(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each way in each round, after some rounds in which the clock settles."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for at in range(3 + rounds):
        for name in random.sample(list(ways), len(ways)):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            ways[name]()
            end.record()
            torch.cuda.synchronize()
            if at >= 3:
                found[name].append(begin.elapsed_time(end) / 1e3)
    return found


def ratio_of(others: list[float], own: list[float]) -> float:
    return statistics.median(other / one for other, one in zip(others, own, strict=True))


def host_times() -> None:
    """Print the host's microseconds of a call."""
    a = torch.randn(256, 256, device="cuda").bfloat16()
    b, out = torch.randn_like(a), torch.empty_like(a)
    others = [torch.empty_like(a) for _ in range(2)]

    def turned() -> Any:
        others.append(others.pop(0))
        return tilewise.gemm(a, b, others[0])

    ways = {
        "tilewise.gemm(a, b, out)": lambda: tilewise.gemm(a, b, out),
        "... another out each time": turned,
        "tilewise.gemm(a, b)": lambda: tilewise.gemm(a, b),
        "torch.matmul(a, b.T, out=out)": lambda: torch.matmul(a, b.T, out=out),
    }
    for name, way in ways.items():
        print(f"{name:32} {host_time(way) * 1e6:5.1f} us")


def host_time(way: Callable[[], Any]) -> float:
    """Return the least seconds of a call on the host, of 20 times 100."""
    found = []
    for _ in range(20):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            way()
        found.append((time.perf_counter() - begin) / 100)
    return min(found)


if __name__ == "__main__":
    main()
