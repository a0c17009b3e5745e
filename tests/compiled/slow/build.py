"""Compiles the slow kernels of this folder for sm_90, without a GPU.

`python build.py FOLDER` leaves machine code, PTX and TTGIR there; `--pack` writes `artifacts.zip` too.
It takes nvcc, nvdisasm (or NVDISASM=path) and Triton 3.9.
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
NVCC = ("nvcc", "-arch=sm_90", "-lineinfo", "-O3")
QUOTED_PATH = re.compile(r'"/[^"\n]*/([^"/\n]+)"')
PTX_DEBUG = re.compile(r"\n\t\.section\s+\.debug_\w+\s*\{.*?\n?\t\}", re.DOTALL)
SASS_DEBUG = re.compile(r"//-{21} \.(?:nv_)?(?:debug|note)\S* +-+\n.*?(?=//-{21} )", re.DOTALL)


def without_paths(text: str) -> str:
    """Return the text without debug sections, with the bare name for every quoted absolute path."""
    return QUOTED_PATH.sub(r'"\1"', SASS_DEBUG.sub("", PTX_DEBUG.sub("", text)))


def run(*words: str | Path) -> str:
    """Return what a program printed that ran in this folder."""
    return subprocess.run(words, cwd=HERE, check=True, capture_output=True, text=True).stdout


def compile_cuda(source: Path, folder: Path) -> None:
    """Write the cubin and the PTX of a CUDA source."""
    run(*NVCC, "-cubin", "-o", folder / f"{source.stem}.cubin", source.name)
    ptx = folder / f"{source.stem}.ptx"
    run(*NVCC, "-ptx", "-o", ptx, source.name)
    ptx.write_text(without_paths(ptx.read_text()))


def module_of(source: Path) -> ModuleType:
    """Return the executed source, whose code knows its file by the bare name."""
    module = ModuleType(source.stem)
    exec(compile(source.read_text(), source.name, "exec"), module.__dict__)
    return module


def compile_triton(source: Path, folder: Path) -> None:
    """Write the cubin, the PTX and the TTGIR of a Triton source; the working folder is this one."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module = module_of(source)
    kernel = getattr(module, source.stem)
    compiled = triton.compile(
        ASTSource(
            kernel,
            module.SIGNATURE | dict.fromkeys(module.CONSTANTS, "constexpr"),
            {(kernel.arg_names.index(name),): value for name, value in module.CONSTANTS.items()},
            {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in module.DIVISIBLE},
        ),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": module.WARPS, "enable_fp_fusion": True},
    )
    (folder / f"{source.stem}.cubin").write_bytes(compiled.asm["cubin"])
    for stage in ("ptx", "ttgir"):
        (folder / f"{source.stem}.{stage}").write_text(without_paths(compiled.asm[stage]))


def build(folder: Path) -> None:
    """Compile every kernel into the folder, with the disassembly if nvdisasm is found."""
    folder.mkdir(parents=True, exist_ok=True)
    nvdisasm = os.environ.get("NVDISASM") or shutil.which("nvdisasm")
    for source in sorted(HERE.glob("*.cu")):
        compile_cuda(source, folder)
    for source in sorted(set(HERE.glob("*.py")) - {Path(__file__).resolve()}):
        with contextlib.chdir(HERE):
            compile_triton(source, folder)
    for cubin in sorted(folder.glob("*.cubin")) if nvdisasm else ():
        cubin.with_suffix(".sass").write_text(without_paths(run(nvdisasm, "-gi", cubin)))


def pack(folder: Path) -> None:
    """Write the texts of the folder to `artifacts.zip`, the same bytes for the same texts."""
    with zipfile.ZipFile(HERE / "artifacts.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            if path.suffix != ".cubin":
                archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pack", action="store_true")
    chosen = parser.parse_args()
    build(chosen.folder.resolve())
    if chosen.pack:
        pack(chosen.folder.resolve())
