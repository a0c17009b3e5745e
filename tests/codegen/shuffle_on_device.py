"""The emitted moves inside a warp, run on a GPU: every bit of every element where it belongs.

    PYTHONPATH=src:. python -m tests.codegen.shuffle_on_device --random 1000 --bench

It needs NumPy, NVRTC and a GPU of compute capability 7.5 or later; pytest does not run it. Registers are full
of random bits, fresh for each run, and results are compared bit for bit with the layouts by their definition.
--random adds moves that are drawn at random. Wrong texts have to differ. --bench times some moves, beside a
copy through shared memory. The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tests.check.shuffle_cases import CASES, Case, random_cases
from tests.codegen import nvrtc
from tests.codegen.driver import Driver
from tests.codegen.shuffle_kernels import (
    NOTHING_PREPARED,
    Data,
    kernel_of,
    kernels,
    source_of,
    through_shared,
)

from tilewise.hardware.matrices.moves import NEEDS

WARPS = 256
"""At least so many warps have data of their own."""
_BATCH = 100
_THREADS = 128
_BLOCKS = 8
"""Blocks of a multiprocessor, when moves are timed."""


def main() -> int:
    """Every case, wrong ones, and a table of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--random", type=int, default=0, help="so many more moves, drawn at random")
    parser.add_argument("--bench", action="store_true", help="time some moves as well")
    args = parser.parse_args()
    library = nvrtc.load()
    assert library is not None, "there is no NVRTC"
    driver = Driver()
    assert driver.capability >= NEEDS.since, f"sm_{driver.capability} has no movmatrix"
    runner = Runner(driver, library, np.random.default_rng(args.seed))
    print(f"{driver.name}, sm_{driver.capability}, seed {args.seed}")
    wrong = runner.all_of(CASES)
    wrong += not runner.wrong_texts_are_noticed()
    if args.random:
        print(f"drawn at random, seed {args.seed}; those that are wrong are shown")
        drawn = list(random_cases(args.random, args.seed))
        for first in range(0, len(drawn), _BATCH):
            wrong += runner.all_of(drawn[first : first + _BATCH], shown=False)
        print(f"{args.random} moves drawn at random: {runner.told()}")
    if args.bench:
        runner.bench()
    return 1 if wrong else 0


class Runner:
    """A device and a compiler that run moves and compare."""

    def __init__(self, driver: Driver, library: ctypes.CDLL, draw: np.random.Generator) -> None:
        self.driver, self.library, self.draw = driver, library, draw
        self.options = [f"--gpu-architecture=sm_{driver.capability}"]
        self.steps: Counter[str] = Counter()
        self.places = 0

    def all_of(self, cases: Sequence[Case], shown: bool = True) -> int:
        """Compile, run, compare, print a line each; how many are wrong."""
        code, said = nvrtc.compile_to_cubin(self.library, kernels(cases), *self.options)
        wrong = 0
        for at, case in enumerate(cases):
            data = self.data(case)
            found = self.run(code, f"kernel_{at}", data)
            wrong += found > 0
            self.places += data.places
            self.steps.update(case.plan.cost)
            if shown or found:
                verdict = f"{data.places} places" + (f", {found} WRONG" if found else "")
                print(f"{at:3} {case}, {case.dtype}: {case.plan}: {verdict}", flush=True)
                if found:
                    print(source_of(case, at))
        if shown:
            print(
                f"{len(cases) - wrong} of {len(cases)} moves are right: {self.told()} {said.strip()}",
                flush=True,
            )
        return wrong

    def told(self) -> str:
        """Return the counts of all runs so far, in words."""
        steps = ", ".join(f"{count} {name}" for name, count in self.steps.most_common())
        return f"{self.places} places compared; steps: {steps}"

    def data(self, case: Case) -> Data:
        """Data for so many warps, in whole blocks."""
        warps = Data(case, 1, self.draw).shape[1]
        return Data(case, -(-WARPS // warps) * (_THREADS // 32), self.draw)

    def run(self, code: bytes, name: str, data: Data) -> int:
        """Return how many elements a kernel moves wrongly."""
        size = 4 * data.threads * data.registers[1]
        with (
            self.driver.memory(data.inputs.tobytes(), b"\xcd" * size) as (given, out),
            self.driver.kernel(code, name, 0) as kernel,
        ):
            self.driver.launch(kernel, (data.threads // _THREADS, 1), _THREADS, 0, [given, out])
            found = np.frombuffer(self.driver.read(out, size), "<u4")
        return data.wrong(found.reshape(data.threads, -1))

    def wrong_texts_are_noticed(self) -> bool:
        """Kernels with one lane, one selector, one condition or one register changed must differ."""
        changes = (
            (" ^ 1)", " ^ 2)"),
            ("0x1054u", "0x1055u"),
            ("lane & 1 ? a1", "lane & 2 ? a1"),
            ("a3 :", "a2 :"),
        )
        case = next(case for case in CASES if "e4m3" in case.name and case.plan.exchanges)
        right, data = kernels([case]), self.data(case)
        noticed = []
        for old, new in changes:
            assert old in right
            code, _ = nvrtc.compile_to_cubin(self.library, right.replace(old, new, 1), *self.options)
            noticed.append(self.run(code, "kernel_0", data))
        print(f"wrong texts: {noticed} of {data.places} places differ, as they must")
        return all(noticed)

    # -- speed -------------------------------------------------------------------------------------

    def bench(self) -> None:
        """Nanoseconds of a multiprocessor for a warp's move, of many at a time; and through shared memory."""
        chosen = [case for case in CASES if case.name in _TIMED]
        chosen += [replace(case, name=f"{case.name}, by shuffles", without=("movmatrix",)) for case in chosen
                   if "movmatrix" in case.plan.cost]  # fmt: skip
        chosen += [replace(case, name=f"{case.name}, cheapest", cheapest=True) for case in chosen
                   if case.plan.cheaper]  # fmt: skip
        for case in chosen:
            ours, theirs = f"{NOTHING_PREPARED}\n{source_of(case, 0)}", through_shared(case)
            wrong = self.run(self.compiled(f"{theirs}\n\n{kernel_of(case, 0)}"), "kernel_0", self.data(case))
            times = [self.timed(f"{text}\n\n{_loop(case)}") for text in (ours, theirs)]
            print(f"bench: {case}, {case.dtype}: {case.plan}: {times[0]:.2f} ns, through shared memory "
                  f"{times[1]:.2f} ns{', WRONG' if wrong else ''}", flush=True)  # fmt: skip

    def compiled(self, source: str) -> bytes:
        """Machine code for the device."""
        return nvrtc.compile_to_cubin(self.library, source, *self.options)[0]

    def timed(self, source: str, times: int = 2000) -> float:
        """ns of a multiprocessor, per move of a warp."""
        processors = ctypes.c_int()
        self.driver("cuDeviceGetAttribute", ctypes.byref(processors), 16, self.driver.device)
        blocks = _BLOCKS * processors.value
        best = float("inf")
        with (
            self.driver.memory(bytes(4 * blocks * _THREADS * 64)) as (memory,),
            self.driver.kernel(self.compiled(source), "looped", 0) as kernel,
        ):
            for count in (1, 1 + times, 1 + times, 1 + times):
                start = time.perf_counter()
                self.driver.launch(kernel, (blocks, 1), _THREADS, 0, [memory, ctypes.c_int(count)])
                self.driver("cuCtxSynchronize")
                if count > 1:
                    best = min(best, time.perf_counter() - start)
        return best * 1e9 / times / (_BLOCKS * _THREADS // 32)


_TIMED = (
    "8x8 transposed, b16",
    "8x8 transposed, f32",
    "D of four m16n8k32 to A, e4m3",
    "16x16 transposed, f16",
    "two lane bits for two register bits",
    "rows to columns, 32x8 f32",
    "32x32 transposed, f32",
    "32x32 transposed, b1",
    "32x32 transposed, u8",
    "one register of each of 32 lanes to all",
)


def _loop(case: Case) -> str:
    """The move again and again, each on what the one before made, of which nothing is left out."""
    before, after = case.plan.registers
    return f"""\
extern "C" __global__ void looped(unsigned *data, int times)
{{
    unsigned *own = data + (blockIdx.x * blockDim.x + threadIdx.x);
    const unsigned step = gridDim.x * blockDim.x;
    PREPARED
    unsigned from[{before}], to[{after}] = {{}};
    #pragma unroll
    for (int i = 0; i < {before}; i++)
        from[i] = own[i * step];
    #pragma unroll 1
    for (int time = 0; time < times; time++) {{
        move_0(from, to);
        #pragma unroll
        for (int i = 0; i < {before}; i++)
            from[i] = to[i % {after}];
        #pragma unroll
        for (int i = {before}; i < {after}; i++)
            from[i % {before}] ^= to[i];
    }}
    #pragma unroll
    for (int i = 0; i < {before}; i++)
        own[i * step] = from[i];
}}"""


if __name__ == "__main__":
    sys.exit(main())
