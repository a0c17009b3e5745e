"""The emitted mma kernels, run on a GPU: the exact product on random whole numbers.

    PYTHONPATH=src:. python -m tests.codegen.mma_on_device --random 300 --bench

It needs NumPy, NVRTC and a GPU of compute capability 7.5 or later, and PyTorch for --bench; pytest does not
run it. Values are whole numbers, so small that every sum is exact in its accumulator, and D is compared with
the product of 64-bit integers. D is poisoned before each launch. It leaves out the cases that the GPU does
not have, and names them. --random adds kernels that are drawn at random; --bench measures the rate of a large
product beside PyTorch's, and beside a plain copy. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from tests.codegen import nvrtc
from tests.codegen.driver import Driver
from tests.codegen.mma_cases import CASES, Case, random_cases

from tilewise.codegen.mma import Operand, Plan, kernel_source, planned

_EXACT = {"f16": 1 << 11, "e4m3": 1 << 13, "e5m2": 1 << 13, "bf16": 1 << 8}
"""Below what sums are exact: f16 has 11 bits, bf16 8, and of 8-bit floats the core keeps some 13."""
_LARGEST = {"e4m3": 15, "e5m2": 7, "bf16": 100, "f16": 100, "tf32": 100, "f64": 1000}
"""Whole numbers up to here that the type has all of."""
_WHOLE = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15), "b1": (0, 1)}
_RESULTS = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}


def main() -> int:
    """Every case, and a table of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--random", type=int, default=0, help="so many more kernels, drawn at random")
    parser.add_argument("--bench", action="store_true", help="time a large product as well")
    parser.add_argument("--only-bench", action="store_true", help="time it, and nothing else")
    args = parser.parse_args()
    bench = args.bench or args.only_bench
    if bench:
        import torch

        torch.zeros(1, device="cuda")
    library = nvrtc.load()
    assert library is not None, "there is no NVRTC"
    driver = Driver()
    runner = Runner(driver, library, np.random.default_rng(args.seed))
    print(f"{driver.name}, sm_{driver.capability}, seed {args.seed}")
    wrong = 0
    if not args.only_bench:
        wrong += runner.all_of(CASES)
        wrong += not runner.a_wrong_lane_is_noticed()
    if args.random:
        print(f"drawn at random, seed {args.seed}; those that differ are shown")
        wrong += runner.all_of(tuple(random_cases(args.random, args.seed)), shown=False)
    if bench:
        runner.bench()
    return 1 if wrong else 0


class Runner:
    """A device and a compiler that run kernels and compare."""

    def __init__(self, driver: Driver, library: ctypes.CDLL, draw: np.random.Generator) -> None:
        self.driver, self.library, self.draw = driver, library, draw
        self.arch = driver.capability

    def all_of(self, cases: tuple[Case, ...], shown: bool = True) -> int:
        """Compile, run, compare, print a line each; how many differ."""
        wrong = absent = 0
        for i, case in enumerate(cases):
            plan = replace(case.plan, name=f"kernel_{i}")
            if max(plan.since, plan.arch.number) > self.arch:
                absent += 1
                continue
            data = Data(plan, case, self.draw)
            differ, said = self.differences(plan, data)
            wrong += bool(differ)
            verdict = "exact" if not differ else f"{differ} of {data.size} DIFFER"
            if shown or differ or said.strip():
                print(
                    f"{i:3} {case}  [{data.m} x {data.n} x {data.k}]  {verdict}  {said.strip()}", flush=True
                )
        run = len(cases) - absent
        rest = f"{wrong} do not; {absent} need another GPU"
        print(f"{run - wrong} of {run} kernels give the exact product; {rest}", flush=True)
        return wrong

    def differences(
        self, plan: Plan, data: Data, changed: Callable[[str], str] = lambda text: text
    ) -> tuple[int, str]:
        """Elements of D that are not the product, and what the compiler said."""
        source = changed(kernel_source(plan))
        code, said = nvrtc.compile_to_cubin(self.library, source, f"--gpu-architecture=sm_{self.arch}")
        poison = b"\xcd" * (data.size * plan.out.bits // 8)
        with (
            self.driver.memory(data.a, data.b, poison) as (a, b, d),
            self.driver.kernel(code, plan.called, plan.shared_bytes) as kernel,
        ):
            values = [a, b, d, *map(ctypes.c_int, (data.m, data.n, data.k))]
            grid = data.n // plan.n, data.m // plan.m
            self.driver.launch(kernel, grid, plan.threads, plan.shared_bytes, values)
            found = decoded(self.driver.read(d, len(poison)), plan.out.name)
        return int((found != data.expected.ravel()).sum()), said

    def a_wrong_lane_is_noticed(self) -> bool:
        """A kernel in which one lane reads at the address of its neighbour must differ."""
        noticed = True
        for side in "ab":
            case = next(case for case in CASES if case.dtypes == ("bf16",))
            plan = replace(case.plan, name="mutant")
            data = Data(plan, case, self.draw)
            differ, _ = self.differences(plan, data, lambda text, side=side: with_a_wrong_lane(text, side))
            what = f"lane 5 reads {side.upper()} where lane 4 does"
            print(f"a kernel in which {what}: {differ} of {data.size} differ, as they must")
            noticed &= differ > 0
        return noticed

    # -- speed --------------------------------------------------------------------------------------

    def bench(self, size: int = 8192, times: int = 20) -> None:
        """TFLOP/s of some kernels on a square product of bf16, of PyTorch's, and a copy's bytes a second."""
        import torch

        a, b = (torch.randint(-3, 4, (size, size), device="cuda").bfloat16() for _ in range(2))
        work = 2 * size**3 / 1e9
        expected = (a[:256].double() @ b.double().T).round()
        for tile, more in BENCHED:
            plan = planned(tile, "bf16", name="bench", **more)
            code, said = nvrtc.compile_to_cubin(
                self.library, kernel_source(plan), f"--gpu-architecture=sm_{self.arch}", "--ptxas-options=-v"
            )
            registers = re.search(r"Used (\d+) registers", said)
            kind = torch.bfloat16 if plan.out.name == "bf16" else torch.float32
            out = torch.full((size, size), float("nan"), dtype=kind, device="cuda")
            values = [ctypes.c_uint64(each.data_ptr()) for each in (a, b, out)]
            values += [ctypes.c_int(size)] * 3
            grid = size // plan.n, size // plan.m
            sizes = grid, plan.threads, plan.shared_bytes, values, torch.cuda.current_stream().cuda_stream
            with self.driver.kernel(code, "bench", plan.shared_bytes) as kernel:
                launch = partial(self.driver.launch, kernel, *sizes)
                rate = work / _milliseconds(launch, times)
            same = bool((out[:256] == expected.to(kind)).all())
            words = " ".join(f"{name}={value}" for name, value in more.items())
            print(
                f"bench: {'x'.join(map(str, tile))} {words}: {rate:.0f} TFLOP/s, "
                f"{registers[1] if registers else '?'} registers, {'exact' if same else 'DIFFERS'}",
                flush=True,
            )
        print(f"bench: torch.matmul {work / _milliseconds(lambda: a @ b.T, times):.0f} TFLOP/s")
        source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        copied = 2 * source.numel() / 1e6 / _milliseconds(lambda: target.copy_(source), times)
        print(f"bench: a copy on the device {copied:.0f} GB/s", flush=True)


BENCHED: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((128, 128, 32), {"load": "copy"}),
    ((128, 128, 32), {"stages": 1}),
    ((128, 128, 32), {"stages": 3}),
    ((128, 128, 64), {"stages": 3}),
    ((128, 128, 32), {"stages": 4}),
    ((128, 256, 32), {"stages": 3}),
    ((128, 256, 32), {"stages": 4, "warps": (2, 4)}),
    ((128, 256, 64), {"stages": 3, "warps": (2, 4)}),
    ((256, 128, 32), {"stages": 4, "warps": (4, 2)}),
    ((256, 128, 64), {"stages": 3, "warps": (4, 2)}),
    ((128, 128, 64), {"stages": 3, "out": "bf16"}),
    ((128, 128, 64), {"stages": 3, "out": "bf16", "store": "stmatrix"}),
)


def _milliseconds(launch: Callable[[], Any], times: int) -> float:
    """Of one launch, once the device is warm."""
    import torch

    for _ in range(3):
        launch()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        launch()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / times


def with_a_wrong_lane(source: str, side: str) -> str:
    """The kernel with lane 5 reading an operand where lane 4 does."""
    calls = rf"\b({side}_at\((?!unsigned)[^()]*)\blane\)"
    changed, count = re.subn(calls, r"\1lane == 5 ? 4 : lane)", source)
    assert count
    return changed


# -- data -----------------------------------------------------------------------------------------


class Data:
    """A and B of a problem as bytes, as the kernel reads them, and the product in 64-bit integers."""

    def __init__(self, plan: Plan, case: Case, draw: np.random.Generator) -> None:
        self.m, self.n, self.k = (
            extent * many for extent, many in zip((plan.m, plan.n, plan.k), case.tiles, strict=True)
        )
        self.size = self.m * self.n
        a, b = (numbers(own, rows, self.k, plan, draw) for own, rows in ((plan.a, self.m), (plan.b, self.n)))
        self.expected = a @ b.T if plan.instruction.op != "xor.popc" else a @ (1 - b).T + (1 - a) @ b.T
        self.a, self.b = (
            encoded(values if own.major == "k" else values.T, own.dtype.name)
            for own, values in ((plan.a, a), (plan.b, b))
        )


def numbers(own: Operand, rows: int, k: int, plan: Plan, draw: np.random.Generator) -> np.ndarray:
    """Whole numbers whose products can be summed exactly, floats among them none of 0."""
    name = own.dtype.name
    if name in _WHOLE:
        low, high = _WHOLE[name]
        return draw.integers(low, high, (rows, k), endpoint=True)
    bounds = (_EXACT.get(word, 1 << 22) for word in (plan.accumulator.name, plan.out.name))
    bound = min(*bounds, _EXACT[name] if name[0] == "e" else 1 << 22)
    largest = min(int((bound / k) ** 0.5), _LARGEST[name])
    assert largest >= 1, (own, k)
    return draw.integers(1, largest, (rows, k), endpoint=True) * draw.choice((-1, 1), (rows, k))


def encoded(values: np.ndarray, name: str) -> bytes:
    """The bytes of whole numbers in a type, each of which it has."""
    values = np.ascontiguousarray(values)
    if name in ("e4m3", "e5m2"):
        codes = {value: code for code, value in enumerate(_eights(name)) if value == value and code != 0x80}
        return np.vectorize(codes.__getitem__, otypes=[np.uint8])(values.astype(float)).tobytes()
    if name == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    if name in ("s4", "u4"):
        pairs = values.reshape(*values.shape[:-1], -1, 2) & 15
        return (pairs[..., 0] | pairs[..., 1] << 4).astype(np.uint8).tobytes()
    if name == "b1":
        return np.packbits(values.astype(np.uint8), axis=-1, bitorder="little").tobytes()
    kind = {
        "f16": np.float16,
        "tf32": np.float32,
        "f64": np.float64,
        "s8": np.int8,
        "u8": np.uint8,
    }[name]
    return values.astype(kind).tobytes()


def _eights(name: str) -> list[float]:
    """The values of the 256 codes of an 8-bit float; infinities and NaN left as NaN."""
    exponent, fraction, bias = (4, 3, 7) if name == "e4m3" else (5, 2, 15)
    found = []
    for code in range(256):
        e, f = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
        top = e == (1 << exponent) - 1
        if top and (name == "e5m2" or f == (1 << fraction) - 1):
            found.append(float("nan"))
            continue
        size = (
            f / (1 << fraction) * 2.0 ** (1 - bias)
            if e == 0
            else (1 + f / (1 << fraction)) * 2.0 ** (e - bias)
        )
        found.append(-size if code >> 7 else size)
    return found


def decoded(content: bytes, name: str) -> np.ndarray:
    """D as whole numbers, or whatever else is there."""
    if name == "bf16":
        return (np.frombuffer(content, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(content, _RESULTS[name])


if __name__ == "__main__":
    sys.exit(main())
