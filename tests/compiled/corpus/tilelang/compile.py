"""The TileLang kernels of the corpus: CUDA C++ that TileLang writes, as nvcc compiles it.

TILELANG_PYTHON in the environment is a Python that has TileLang, which may need packages of its own versions.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.compiled.corpus.launch import Argument, Launch, f16, f32
from tests.compiled.corpus.unit import Unit, ran, tool

HERE = Path(__file__).parent
ARCH = "sm_90a"
PRODUCT = f16(128 * 96), f16(96 * 128), f16(128 * 128)
ARGUMENTS: dict[str, tuple[Argument, ...]] = {
    "matmul_wgmma": PRODUCT,
    "matmul_mma": PRODUCT,
    "transpose": (f32(128 * 192), f32(192 * 128)),
    "softmax_rows": (f32(20 * 256), f32(20 * 256)),
    "add_relu": (f32(100 * 120), f32(100 * 120), f32(100 * 120)),
    "column_sums": (f32(90 * 128), f32(128)),
}


@cache
def written() -> dict[str, Any]:
    """Return what TileLang writes."""
    python = os.environ.get("TILELANG_PYTHON", sys.executable)
    answer: dict[str, Any] = json.loads(ran(python, str(HERE / "kernels.py")))
    return answer


def units() -> Iterator[Unit]:
    """Yield what nvcc makes of each kernel."""
    options = ["-ptx", "-O3", "-lineinfo", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a"]
    options += [f"-I{folder}" for folder in written()["headers"]]
    for name, kernel in written()["kernels"].items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / f"{name}.cu").write_text(kernel["text"], encoding="utf-8")
            ran(tool("nvcc"), *options, f"{name}.cu", "-o", f"{name}.ptx", folder=Path(folder))
            ptx = (Path(folder) / f"{name}.ptx").read_text(encoding="utf-8")
        grid, block, shared = tuple(kernel["grid"]), tuple(kernel["block"]), kernel["shared"]
        launch = Launch(f"tilelang_{name}", "main_kernel", grid, block, ARGUMENTS[name], shared)
        yield Unit("tilelang", "tilelang/kernels.py", name, ARCH, ptx, [launch])


def version() -> str:
    """Return the compiler's version."""
    return f"tilelang {written()['version']}"
