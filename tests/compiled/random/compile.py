"""Random kernels as machine code and PTX: batches through NVRTC and nvdisasm, without a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.codegen import nvrtc
from tests.compiled.random.tree import Kernel, source

HEADER = Path(__file__).parent / "device.h"
TARGETS = ("sm_90", "sm_80", "sm_100", "sm_120")
FILE = "program.cu"
"""The name of the file for NVRTC."""
DEBUG = (".debug_", ".nv_debug_")


@dataclass(frozen=True)
class Compiled:
    """The texts of a batch of kernels."""

    target: str
    machine: str
    """The text of nvdisasm, with lines."""
    ptx: str
    lines: dict[str, dict[int, int]]
    """The number of the access on each line, by the kernel's name."""


def nvdisasm() -> str | None:
    """Return where nvdisasm is: on the path, or in the package nvidia-cuda-nvdisasm."""
    found = shutil.which("nvdisasm")
    package = find_spec("nvidia")
    for folder in package.submodule_search_locations or [] if package and not found else []:
        found = next(map(str, sorted(Path(folder).glob("*/bin/nvdisasm"))), found)
    return found


def text_of(kernels: Sequence[Kernel]) -> tuple[str, dict[str, dict[int, int]]]:
    """Return a program of kernels, and the access on each line by the kernel's name."""
    text, lines = HEADER.read_text().splitlines(), {}
    for kernel in kernels:
        made = source(kernel)
        lines[kernel.name] = {line + len(text): number for number, line in made.lines.items()}
        text += made.text
    return "\n".join([*text, ""]), lines


FORMS = ("machine", "ptx")


def compiled(
    library: ctypes.CDLL,
    disassembler: str,
    kernels: Sequence[Kernel],
    target: str,
    forms: Sequence[str] = FORMS,
) -> Compiled:
    """Return what a batch is compiled to for one architecture; forms that are not wanted are empty."""
    text, lines = text_of(kernels)
    here, machine, ptx = f"{Path.cwd()}/", "", ""
    if "machine" in forms:
        cubin, _ = nvrtc.compile_to_cubin(library, text, "-lineinfo", "-w", f"--gpu-architecture={target}")
        machine = disassembled(disassembler, cubin)
    if "ptx" in forms:
        virtual = target.replace("sm", "compute")
        ptx = nvrtc.compile_to_ptx(library, text, "-lineinfo", "-w", f"--gpu-architecture={virtual}")
    return Compiled(target, machine.replace(here, ""), ptx.replace(here, ""), lines)


def disassembled(disassembler: str, cubin: bytes) -> str:
    """Return the text of a cubin with the lines of its source, without the sections that say them again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.cubin"
        file.write_bytes(cubin)
        ran = subprocess.run(
            [disassembler, "-g", file.name], cwd=folder, capture_output=True, text=True, check=True
        )
    return "\n".join([*without_debug(ran.stdout.splitlines()), ""])


def without_debug(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of all sections but those of debuggers."""
    kept = True
    for line in lines:
        if line.startswith("//-----"):
            kept = not line.strip("/- ").startswith(DEBUG)
        if kept:
            yield line
