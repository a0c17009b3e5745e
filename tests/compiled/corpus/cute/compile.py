"""The kernels of CuTe's Python DSL, as it compiles them without a GPU, in a process of its own.

python -m tests.compiled.corpus.cute.compile    prints PTX as JSON: {name: text}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from tests.compiled.corpus.launch import Launch, f16, f32
from tests.compiled.corpus.unit import Unit, entries

ARCH = "sm_90a"

LAUNCHES: dict[str, tuple[tuple[int, ...], int, tuple[Any, ...], int]] = {
    "add_vectors": ((6,), 128, (f32(2900), f32(2900), f32(2900), 2900), 0),
    "transpose_swizzled": ((2, 4), 128, (f16(128 * 256), f16(128 * 256)), 64 * 64 * 2),
    "transpose_padded": ((2, 4), 128, (f16(128 * 256), f16(128 * 256)), 64 * 72 * 2),
    "row_softmax": ((5,), 128, (f32(20 * 300), f32(20 * 300), 300), 0),
    "sums_in_shared": ((5,), 256, (f32(1200), f32(5), 1200), 1024),
    "matmul_mma": ((2, 2), 128, (f16(128 * 64), f16(128 * 64), f32(128 * 128), 2), 2 * 64 * 32 * 2),
}
"""{kernel: grid, threads, arguments, bytes of shared memory}."""


def units() -> Iterator[Unit]:
    """Yield what the DSL makes of each kernel."""
    command = [sys.executable, "-m", "tests.compiled.corpus.cute.compile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    for name, ptx in json.loads(done.stdout).items():
        grid, threads, args, shared = LAUNCHES[name]
        (entry,) = entries(ptx)
        launch = Launch(f"cute_{name}", entry, grid, (threads,), args, shared)
        yield Unit("cute", "cute/kernels.py", name, ARCH, ptx, [launch])


def version() -> str:
    """Return the compiler's version."""
    return f"nvidia-cutlass-dsl {installed('nvidia-cutlass-dsl')}"


def compiled() -> dict[str, str]:
    """Return the PTX of every kernel."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {"CUTE_DSL_ARCH": ARCH, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_LINEINFO": "1"}
        os.environ |= {**kept, "CUTE_DSL_DUMP_DIR": folder}
        warnings.simplefilter("ignore")
        from tests.compiled.corpus.cute import kernels  # it reads the environment

        return {name: _ptx(make, Path(folder)) for name, make in kernels.compiled().items()}


def _ptx(make: Callable[[], None], folder: Path) -> str:
    for file in folder.iterdir():
        file.unlink()
    make()
    (file,) = folder.glob("*.ptx")
    return file.read_text(encoding="utf-8").rstrip("\0")


if __name__ == "__main__":
    json.dump(compiled(), sys.stdout)
