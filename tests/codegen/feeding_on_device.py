"""The code of `match --engine mma` for tiles, run on a GPU: every byte of every register.

    PYTHONPATH=src:. python -m tests.codegen.feeding_on_device --random 200

It needs NumPy, NVRTC and a GPU of compute capability 7.5 or later; pytest does not run it. Each tile of
`feeding_cases` lies in shared memory as random bytes. One warp runs the answer's own address and load
functions, with what its steps add or XOR, and every byte of its registers is compared with the byte that
plain loops want there; of results the tile is compared, and the bytes around it must stay. So it is with the
function for the whole tile that --code prints. One lane is then given its neighbour's address, which must be
noticed. --random adds tiles that are drawn at random. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.check.feeding_cases import MATRICES, VECTORS, cases
from tests.check.naive_feeding import Asked, wanted
from tests.check.test_feeding_oracle import random_question
from tests.codegen import nvrtc
from tests.codegen.driver import Driver

from tilewise import Layout, parse
from tilewise.check.feeding import Feed, feed
from tilewise.check.feeding.forms import Vector
from tilewise.codegen.feeding import source_of_tile

LANES = 32
POISON = 0xCD

KERNEL = """
{code}

extern "C" __global__ void check({type}* registers, unsigned char* memory, const int* steps, int bytes)
{{
    extern __shared__ __align__(1024) unsigned char tile[];
    for (int i = threadIdx.x; i < bytes; i += 32)
        tile[i] = memory[i];
    __syncthreads();
    const unsigned start = (unsigned)__cvta_generic_to_shared(tile) + {base}u;
    for (int step = 0; step < {count}; ++step) {{
        const int* own = steps + step * 34;  // how, by how much, and an address for each lane
        unsigned at = {operand}_address(threadIdx.x);
        at = own[0] == 0 ? at + own[1] : own[0] == 1 ? at ^ own[1] : (unsigned)own[2 + threadIdx.x] - {base}u;
        {type} r[{each}];
        for (int i = 0; i < {each}; ++i)
            r[i] = registers[(step * 32 + threadIdx.x) * {each} + i];
        {operand}_{verb}(r, start + at);
        for (int i = 0; i < {each}; ++i)
            registers[(step * 32 + threadIdx.x) * {each} + i] = r[i];
    }}
    __syncthreads();
    for (int i = threadIdx.x; i < bytes; i += 32)
        memory[i] = tile[i];
}}
"""

WHOLE = """
extern "C" __global__ void whole({type}* registers, unsigned char* memory, const int* steps, int bytes)
{{
    extern __shared__ __align__(1024) unsigned char tile[];
    for (int i = threadIdx.x; i < bytes; i += 32)
        tile[i] = memory[i];
    __syncthreads();
    {type} r[{count}][{each}];
    for (int step = 0; step < {count}; ++step)
        for (int i = 0; i < {each}; ++i)
            r[step][i] = registers[(step * 32 + threadIdx.x) * {each} + i];
    {operand}_{verb}_tile(r, (unsigned)__cvta_generic_to_shared(tile) + {base}u, threadIdx.x);
    for (int step = 0; step < {count}; ++step)
        for (int i = 0; i < {each}; ++i)
            registers[(step * 32 + threadIdx.x) * {each} + i] = r[step][i];
    __syncthreads();
    for (int i = threadIdx.x; i < bytes; i += 32)
        memory[i] = tile[i];
}}
"""

MOST = 256
"""So many steps at most are run as one function: a line each."""

_TYPES = {8: ("unsigned", 4), 16: ("unsigned short", 2), 32: ("unsigned", 4), 64: ("unsigned long long", 8)}
"""{bits of a register: (its type, its bytes)}."""


@dataclass(frozen=True)
class Case:
    """A tile, and a question about it."""

    text: str
    layout: Layout
    asked: Asked
    base: int = 0
    pattern: str = "tile"
    form: str | None = None

    def answer(self, arch: str) -> Feed | None:
        """The answer for an architecture, where it has one."""
        words = self.asked._asdict()
        del words["major"]
        found = feed(self.layout, **words, base=self.base, pattern=self.pattern, form=self.form, arch=arch)
        return found if isinstance(found, Feed) else None


def of_the_tables() -> Iterator[Case]:
    """The tiles of `feeding_cases` that need no architecture of their own, as those that unpack do."""
    from tests.check.test_feeding import words

    for table in (MATRICES, VECTORS):
        for operand, shape, dtype, _, spelled in cases(table):
            _, text, *options = words(operand, shape, dtype, spelled)
            said = dict(zip(options, [*options[1:], ""], strict=True))
            if "--arch" in said or said.get("--unit") == "bit":
                continue
            layout = parse(text, dtype=dtype, unit=said.get("--unit", "element"))
            base = int(said.get("--base", "0"), 0)
            asked = Asked(operand, shape, dtype, "--sparse" in said)
            yield Case(spelled, layout, asked, base, said.get("--pattern", "tile"), said.get("--form"))


def at_random(count: int, seed: int) -> Iterator[Case]:
    """Tiles that are drawn at random."""
    for number in range(count):
        layout, asked, base = random_question(random.Random(f"{seed} {number}"))
        if min(layout.extremes("m")) >= 0:
            yield Case(f"{layout}", layout, asked, base)


def source_of(found: Feed) -> str:
    """A kernel around the code of an answer, step by step, and one around the function for the tile."""
    form = found.form
    kind, _ = _TYPES[min(form.bits, form.unit) if isinstance(form, Vector) else 32]
    return (KERNEL + WHOLE * (len(kernels(found)) > 1)).format(
        code=source_of_tile(found),
        type=kind,
        base=found.base if found.pattern == "tile" else 0,
        count=len(found.steps),
        operand=found.operand.lower(),
        verb="store" if found.operand == "D" else "load",
        each=form.registers,
    )


def kernels(found: Feed) -> tuple[str, ...]:
    """Return the kernels of an answer; addresses that count from address 0 belong to no array."""
    return ("check", "whole") if found.pattern == "tile" and len(found.steps) <= MOST else ("check",)


def steps_of(found: Feed) -> np.ndarray:
    """Return the change that each step makes to the address of every lane."""
    rows = []
    for step in found.steps:
        how, number = (0, step.add) if step.add is not None else (1, step.xor)
        own = [step.addresses.place(lane)["m"] for lane in range(LANES)]
        rows.append([2 if number is None else how, number or 0, *own])
    return np.array(rows, np.int32)


class Runner:
    """A device and a compiler that run answers and compare."""

    def __init__(self, driver: Driver, library: ctypes.CDLL, seed: int) -> None:
        self.driver, self.library, self.draw = driver, library, np.random.default_rng(seed)
        self.arch = f"sm_{driver.capability}"

    def all_of(self, tiles: list[Case], shown: bool) -> int:
        """A line each; how many differ."""
        wrong = run = 0
        for case in tiles:
            found = case.answer(self.arch)
            if found is None:
                continue
            both = [self.differences(case, found, name) for name in kernels(found)]
            differ, size = sum(wrong for wrong, _ in both), both[0][1]
            run, wrong = run + 1, wrong + bool(differ)
            if shown or differ:
                verdict = "exact" if not differ else f"{differ} of {size} bytes DIFFER"
                a = case.asked
                print(f"{a.operand} {a.shape} {a.dtype}  {found.form}  {case.text}  {verdict}", flush=True)
        print(
            f"{run - wrong} of {run} tiles are moved byte by byte as they should be; {wrong} are not",
            flush=True,
        )
        return wrong

    def differences(
        self, case: Case, found: Feed, kernel: str = "check", moved_lane: int = -1
    ) -> tuple[int, int]:
        """Bytes that are not what they should be, and how many were compared."""
        layout, base = case.layout, case.base
        if case.pattern == "address":
            layout, base = layout + base * 8 // found.bits, 0
        places = wanted(layout, case.asked._replace(major=found.major or ""), base)
        form = found.form
        width = _TYPES[min(form.bits, form.unit) if isinstance(form, Vector) else 32][1]
        used = form.bits // 8 if isinstance(form, Vector) else 4 * form.registers
        each = form.registers * width
        memory = self.draw.integers(0, 256, max(places.values()) + 16, np.uint8)
        registers = self.draw.integers(0, 256, (len(found.steps), LANES, each), np.uint8)
        steps = steps_of(found)
        if moved_lane >= 0:
            steps[:, 0] = 2
            steps[:, 2 + moved_lane] = steps[:, 2 + (moved_lane ^ 1)]
        got, after = self.run(found, kernel, registers, memory, steps)
        differ = 0
        tile = memory.copy()
        for number, step in enumerate(found.steps):
            for lane in range(LANES):
                at = 0
                for part in step.parts:
                    for byte in range(part.bytes):
                        place = places[lane, part.row, part.column, part.byte + byte]
                        tile[place] = registers[number, lane, at]
                        differ += found.operand != "D" and got[number, lane, at] != memory[place]
                        at += 1
                assert at == used
        expected = tile if found.operand == "D" else memory
        return int(differ + (after != expected).sum()), len(places)

    def run(
        self, found: Feed, name: str, registers: np.ndarray, memory: np.ndarray, steps: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The registers and the shared memory afterwards."""
        code, said = nvrtc.compile_to_cubin(self.library, source_of(found), f"--gpu-architecture={self.arch}")
        assert "warning" not in said, said
        given = (registers.tobytes(), memory.tobytes(), steps.tobytes())
        shared = (len(memory) + 1023) // 1024 * 1024
        with (
            self.driver.memory(*given) as (r, m, s),
            self.driver.kernel(code, name, shared) as kernel,
        ):
            values = [r, m, s, ctypes.c_int(len(memory))]
            self.driver.launch(kernel, (1, 1), LANES, shared, values)
            after = np.frombuffer(self.driver.read(m, len(memory)), np.uint8)
            got = np.frombuffer(self.driver.read(r, registers.size), np.uint8).reshape(registers.shape)
        return got, after

    def a_wrong_lane_is_noticed(self, tiles: list[Case]) -> bool:
        """A lane that gives its neighbour's address must be seen."""
        for case in tiles[:8]:
            found = case.answer(self.arch)
            if found is not None and not self.differences(case, found, moved_lane=3)[0]:
                print(f"a wrong lane is NOT noticed: {case.text}")
                return False
        print("a lane with its neighbour's address is noticed")
        return True


def main() -> int:
    """Every tile, and what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--random", type=int, default=0, help="so many more tiles, drawn at random")
    args = parser.parse_args()
    library = nvrtc.load()
    assert library is not None, "there is no NVRTC"
    runner = Runner(Driver(), library, args.seed)
    print(f"{runner.driver.name}, {runner.arch}, seed {args.seed}")
    tiles = [*of_the_tables()]
    wrong = runner.all_of(tiles, shown=True) + (not runner.a_wrong_lane_is_noticed(tiles))
    if args.random:
        wrong += runner.all_of([*at_random(args.random, args.seed)], shown=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
