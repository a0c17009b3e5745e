"""The host's time for a move: the first call of a shape, a kernel that is cached, and every call after.

python bench/move_host.py [--library torch|cupy|jax]... [--rounds 30]

First calls of shapes are made in a process that has made another move, with an empty cache: the plan, its
text, the compiler, and the launch. Cached ones are made in a process each, after the imports and the context;
imports have figures of their own. A call ends when it returns; none waits for its kernel, but where the
library does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

from tilewise import Layout, S, plan
from tilewise.moves import move

LIBRARIES = ("torch", "cupy", "jax")
CALLS = 100
WARM = (S[32, 48], S[(32, 48) : (1, 32)], "u4")
"""A move that no shape below makes, so that what all moves share is loaded."""


def turned(*shape: int) -> tuple[Layout, Layout]:
    """Return a row-major tensor, and its modes in reverse."""
    strides, step = [], 1
    for extent in shape:
        strides.append(step)
        step *= extent
    return S[shape], S[shape : tuple(strides)]


SHAPES = {
    "transpose f32 2048 x 1024": (*turned(2048, 1024), "f32"),
    "transpose bf16 4096 x 2048": (*turned(4096, 2048), "bf16"),
    "transpose u8 4096 x 4096": (*turned(4096, 4096), "u8"),
    "transpose u8 4093 x 4093": (*turned(4093, 4093), "u8"),
    "transpose u8 4093 x 4096": (*turned(4093, 4096), "u8"),
    "transpose bf16 2051 x 2053": (*turned(2051, 2053), "bf16"),
    "rank 4 u8 reversed": (*turned(64, 32, 48, 33), "u8"),
    "rank 5 bf16, odd": (*turned(13, 17, 11, 19, 23), "bf16"),
    "padded rows f32": (S[1000, 1000], S[(1000, 1000) : (1024, 1)], "f32"),
    "scales 128 x 4 u8": (
        S[8192, 64],
        S[((64, 4, 32), (16, 4)) : ((8192, 4, 16), (512, 1))],
        "u8",
    ),
    "no common digits f32": (S[(60, 1001) : (1002, 1)], S[(77, 780) : (781, 1)], "f32"),
}
KINDS = {"u4": "uint8", "u8": "uint8", "bf16": "bfloat16", "f32": "float32"}


class Arrays:
    """Zeros of a library on the GPU."""

    def __init__(self, library: str) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.name, self._library = library, import_module("jax.numpy" if library == "jax" else library)

    def zeros(self, layout: Layout, dtype: str) -> Any:
        """Storage for a layout."""
        kind = KINDS[dtype]
        if self.name == "cupy" and kind == "bfloat16":
            kind = "float16"
        count = layout.max("m") + 1
        if self.name == "torch":
            return self._library.zeros(count, dtype=getattr(self._library, kind), device="cuda")
        return self._library.zeros(count, kind)

    def wait(self) -> None:
        """Until the device has done all."""
        if self.name == "torch":
            self._library.cuda.synchronize()
        elif self.name == "cupy":
            self._library.cuda.Device().synchronize()
        else:
            self._library.zeros(1).block_until_ready()


def seconds(work: Callable[[], Any], calls: int = 1) -> float:
    """Return the time of one call, among as many."""
    start = perf_counter()
    for _ in range(calls):
        work()
    return (perf_counter() - start) / calls


# -- in processes of their own ---------------------------------------------------------------------


def first_calls(library: str) -> dict[str, dict[str, float]]:
    """Seconds of the first call of each shape, and what of it are the plan and its text."""
    arrays = Arrays(library)
    warm(arrays)
    found = {}
    for name, (source, target, dtype) in SHAPES.items():
        x = arrays.zeros(source, dtype)
        arrays.wait()
        taken = seconds(lambda: move(x, source, target, dtype=dtype))  # noqa: B023
        arrays.wait()
        made = seconds(lambda: plan(source, target, dtype))  # noqa: B023
        text = seconds(lambda: plan(source, target, dtype).kernel) - made  # noqa: B023
        found[name] = {"call": taken, "plan": made, "text": text}
    return found


def warm(arrays: Arrays) -> None:
    """Load all that every move shares, and let the compiler compile something."""
    source, target, dtype = WARM
    move(arrays.zeros(source, dtype), source, target, dtype=dtype)
    arrays.wait()


def cached_call(library: str, name: str, modules: Sequence[str]) -> dict[str, Any]:
    """Seconds of the imports, and of the first call in this process; and what was imported by it."""
    arrays = Arrays(library)
    source, target, dtype = SHAPES[name]
    x = arrays.zeros(source, dtype)
    arrays.wait()
    imports = seconds(lambda: [loaded(module) for module in modules])
    before = set(sys.modules)
    taken = seconds(lambda: move(x, source, target, dtype=dtype))
    arrays.wait()
    return {"imports": imports, "call": taken, "modules": sorted(set(sys.modules) - before)}


def loaded(module: str) -> None:
    """Import a module, if it is one that can be imported by its name."""
    with suppress(Exception):
        import_module(module)


def calls(library: str, rounds: int) -> dict[str, dict[str, float]]:
    """Medians of the seconds of a call: of a bound plan, and of `move` with and without `out`."""
    arrays, found = Arrays(library), {}
    for name, (source, target, dtype) in SHAPES.items():
        x = arrays.zeros(source, dtype)
        ready = plan(source, target, dtype).bind()
        ways = {"bound": lambda: ready(x), "move": lambda: move(x, source, target, dtype=dtype)}  # noqa: B023
        if library != "jax":  # its arrays are never written
            out = arrays.zeros(target, dtype)
            ways["bound, out"] = lambda: ready(x, out)  # noqa: B023
            ways["move, out"] = lambda: move(x, source, target, out, dtype=dtype)  # noqa: B023
        for way, work in ways.items():
            taken = []
            for _ in range(rounds):
                arrays.wait()
                taken.append(seconds(work, CALLS))
            found.setdefault(name, {})[way] = median(taken)
    return found


# -- the tables ------------------------------------------------------------------------------------


def in_a_process(cache: str, *words: str) -> Any:
    """Return what this file prints as JSON in a process of its own, with that cache."""
    environment = dict(os.environ, TILEWISE_CACHE=cache)
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return json.loads(done.stdout.splitlines()[-1])


def table(title: str, rows: dict[str, dict[str, float]], scale: float, unit: str) -> None:
    """Rows of seconds, their medians, and the worst of each column."""
    columns = list(next(iter(rows.values())))
    print(f"\n{title}, {unit}\n{'':32}" + "".join(f"{column:>12}" for column in columns))
    ends = {
        "median": {column: median(row[column] for row in rows.values()) for column in columns},
        "worst": {column: max(row[column] for row in rows.values()) for column in columns},
    }
    for name, row in (rows | ends).items():
        print(f"{name:32}" + "".join(f"{row[column] * scale:12.2f}" for column in columns))


def report(library: str, rounds: int) -> None:
    """Return the three tables of a library."""
    with tempfile.TemporaryDirectory() as cache:
        table(f"{library}: first call of a shape", in_a_process(cache, "first", library), 1e3, "ms")
        rows: dict[str, dict[str, float]] = {}
        for name in SHAPES:
            modules = in_a_process(cache, "cached", library, name)["modules"]
            found = [in_a_process(cache, "cached", library, name, *modules) for _ in range(3)]
            rows[name] = {way: median(own[way] for own in found) for way in ("imports", "call")}
        table(f"{library}: a cached kernel in a new process", rows, 1e3, "ms")
        table(f"{library}: calls", in_a_process(cache, "calls", library, str(rounds)), 1e6, "us")


def main() -> None:
    """Run all measurements, or a part of them in this process."""
    parts: dict[str, Callable[..., Any]] = {
        "first": first_calls,
        "cached": lambda library, name, *modules: cached_call(library, name, modules),
        "calls": lambda library, rounds: calls(library, int(rounds)),
    }
    if sys.argv[1:2] and sys.argv[1] in parts:
        print(json.dumps(parts[sys.argv[1]](*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="one of them, or several")
    parser.add_argument("--rounds", type=int, default=30, help="samples of 100 calls each (30)")
    asked = parser.parse_args()
    for library in asked.library or [name for name in LIBRARIES if find_spec(name)]:
        report(library, asked.rounds)


if __name__ == "__main__":
    main()
