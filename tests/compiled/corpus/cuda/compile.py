"""The CUDA C++ of the corpus, as nvcc compiles it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.compiled.corpus.cuda.launches import SOURCES
from tests.compiled.corpus.unit import Unit, ran, tool

HERE = Path(__file__).parent
ARCH = "sm_90"


def units() -> Iterator[Unit]:
    """Yield what nvcc makes of each source."""
    for name, launches in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            ptx = Path(folder) / f"{name}.ptx"
            options = "-ptx", "-O3", "-lineinfo", f"-arch={ARCH}"
            ran(tool("nvcc"), *options, f"{name}.cu", "-o", str(ptx), folder=HERE)
            text = ptx.read_text(encoding="utf-8")
        yield Unit("cuda", f"cuda/{name}.cu", name, ARCH, text, launches)


def version() -> str:
    """Return the compiler's version."""
    return ran(tool("nvcc"), "--version").strip().splitlines()[-1]
