"""The index in CUDA C++ that the page hands out for copying, compiled by the system's compiler and run."""

from __future__ import annotations

import shutil
import subprocess
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tests.codegen.compiled import HOST
from tests.web import golden_layouts
from tests.web import kept as kept_answers
from tests.web.chromium import Page
from tests.web.test_golden_layouts import CHECK

from tilewise.core.canonical import merged_replica
from tilewise.core.layout import Layout

EVERY = 6
"""Of the golden layouts that have points, each sixth."""
STRICT = ("-std=c++17", "-O0", "-Wall", "-Werror", "-Wno-unused-function")


def test_the_index_in_cuda_is_the_layout(page: Page, tmp_path: Path):
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler on this machine")
    golden = kept_answers.load(golden_layouts.GOLDEN)
    kept = [layout for layout in golden["layouts"] if layout["points"]][::EVERY]
    texts = codes(page, golden | {"layouts": kept, "faulty": []})
    written = [(golden_layouts.read(k["text"]), k, code) for k, code in zip(kept, texts, strict=True) if code]
    assert len(written) > 150
    found = iter(_run(compiler, tmp_path, [(layout, k, code) for layout, k, code in written]))
    for layout, k, code in written:
        places = {flat: set(points) for flat, points in zip(k["flats"], _points(k), strict=True)}
        for flat in k["flats"]:
            copies = [tuple(next(found) for _ in layout.axes) for _ in range(_copies(layout))]
            assert set(copies) == places[flat], f"{flat} of {code}"
    assert next(found, None) is None


def test_what_64_bits_do_not_hold_has_no_index(page: Page):
    texts = ["S[8 : 0x10000000000000000]", "S[8 : 1] - 0x8000000000000001", "S[2 : 0x7fffffffffffffff] - 1"]
    asked = {"let": {}, "storage": [], "layouts": [{"text": text} for text in texts], "faulty": []}
    assert [code is None for code in codes(page, asked)] == [True, True, False]


def codes(page: Page, golden: dict[str, Any]) -> list[str | None]:
    """The index of each layout in CUDA C++, None where 64 bits do not hold it."""
    page.evaluate(CHECK.read_text() + ";0")
    written: list[str | None] = page.evaluate("asked => golden.codes(asked)", golden)
    return written


def _points(kept: dict[str, Any]) -> list[list[tuple[int, ...]]]:
    return [[tuple(int(x) % 2**64 for x in point) for point in points] for points in kept["points"]]


def _copies(layout: Layout) -> int:
    return prod(it.extent for it in merged_replica(layout.replica)[0])


def _run(compiler: str, path: Path, written: list[tuple[Layout, dict[str, Any], str]]) -> list[int]:
    """Return what all functions return for the kept flat indices and all copies, as unsigned numbers."""
    parts = ["#include <cstdio>", HOST, "typedef unsigned long long u64;"]
    calls = []
    for n, (layout, kept, code) in enumerate(written):
        names = [f"v{i}" for i in range(len(layout.axes))]
        taken = f"auto [{', '.join(names)}]" if len(names) > 1 else "auto v0"
        shown = " ".join(f'std::printf("%llu\\n", (u64)(long long){name});' for name in names)
        lines = []
        for flat, copy in product(kept["flats"], range(_copies(layout))):
            given = [
                *layout.coordinates(int(flat)),
                *([copy] if merged_replica(layout.replica)[0] else []),
            ]
            lines.append(f"  {{ {taken} = place_of({', '.join(f'{x}ull' for x in given)}); {shown} }}")
        parts += [f"namespace n{n} {{", code, "static void run() {", *lines, "}", "}"]
        calls.append(f"  n{n}::run();")
    parts += ["int main() {", *calls, "}"]
    (path / "program.cpp").write_text("\n".join(parts))
    command = [compiler, *STRICT, "-o", "program", "program.cpp"]
    built = subprocess.run(command, cwd=path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4_000]
    ran = subprocess.run([path / "program"], capture_output=True, text=True, check=True)
    return [int(line) for line in ran.stdout.split()]
