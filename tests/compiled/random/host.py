"""Random kernels as programs of the host, whose threads are contexts: what a C++ compiler makes of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.compiled.random.interpreter import SHARED, Event
from tests.compiled.random.tree import Kernel, constant, source

HEADER = Path(__file__).parent / "host.h"
KINDS = ("ld", "st", "atom")
ROW = np.dtype(
    [(name, "<i4") for name in ("kernel", "block", "thread", "line", "kind", "bytes")] + [("address", "<u8")]
)

Events = dict[tuple[int, int], list[Event]]


def program(kernels: Sequence[Kernel]) -> str:
    """Return a program that launches each kernel and writes its accesses."""
    parts, calls = [HEADER.read_text()], []
    for number, kernel in enumerate(kernels):
        parts += ["#line 1", *source(kernel).text]
        given = ", ".join(
            f"(unsigned char *){one.value}ull"
            if one.type is None
            else f"({one.type.word}){constant(one.value, one.type) if one.type.bits >= 32 else one.value}"
            for one in kernel.parameters
        )
        shape = (
            f"{{{kernel.grid[0]}, {kernel.grid[1]}, {kernel.grid[2]}}}, "
            f"{{{kernel.block[0]}, {kernel.block[1]}, {kernel.block[2]}}}"
        )
        calls.append(f"    launch({number}, {shape}, {kernel.static}, [] {{ {kernel.name}({given}); }});")
    return "\n".join([*parts, "int main()", "{", *calls, "    return 0;", "}", ""])


def traces(kernels: Sequence[Kernel], folder: Path, compiler: str = "g++") -> list[Events]:
    """Compile the kernels, run them, and return the accesses of each thread of each kernel."""
    (folder / "program.cpp").write_text(program(kernels))
    command = [compiler, "-std=c++17", "-O1", "-w", "-fwrapv", "program.cpp", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    ran = subprocess.run([folder / "program"], stdout=subprocess.PIPE, check=True)
    rows = np.frombuffer(ran.stdout, ROW)
    found: list[Events] = []
    for number, kernel in enumerate(kernels):
        numbers = {line: access for access, line in source(kernel).lines.items()}
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        of: Events = {(block, thread): [] for block in range(blocks) for thread in range(kernel.threads)}
        for row in rows[rows["kernel"] == number].tolist():
            _, block, thread, line, kind, size, address = row
            shared = address >= SHARED
            event = Event(
                numbers[line], KINDS[kind], "shared" if shared else "global", address - SHARED * shared, size
            )
            of[block, thread].append(event)
        found.append(of)
    return found
