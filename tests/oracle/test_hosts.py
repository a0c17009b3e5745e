"""The text of --host, by nvcc: kernel and launch in one file, to machine code, without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.codegen.hosts import NAMES, host
from tests.codegen.test_gemm import CASES as PRODUCTS
from tests.codegen.test_gemm import plan_of

from tilewise.codegen.gemm import Finish
from tilewise.codegen.gemm.host import host_source

pytestmark = pytest.mark.oracle

STRICT = ["-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter"]


@pytest.fixture(scope="module")
def nvcc() -> str:
    found = shutil.which("nvcc")
    if found is None:
        pytest.skip("there is no nvcc on this machine")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_kernel_and_launch_compile(nvcc: str, name: str, tmp_path: Path) -> None:
    kernel = host(name)
    compiled(nvcc, kernel.text, kernel.arch, tmp_path)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_their_launches_compile(nvcc: str, name: str, tmp_path: Path) -> None:
    compiled(nvcc, host_source(plan_of(name)), "sm_90a", tmp_path)
    if plan_of(name).accumulator.name == "f32":
        every = Finish(alpha=True, scales="row", addend=True, bias=True)
        for many in ({"batched": True}, {"grouped": True}, {"splits": True}):
            compiled(nvcc, host_source(plan_of(name, finish=every, **many)), "sm_90a", tmp_path)


def compiled(nvcc: str, text: str, arch: str, tmp_path: Path) -> None:
    """Compile a program; a warning is an error."""
    (tmp_path / "program.cu").write_text(text)
    gencode = f"-gencode=arch={arch.replace('sm', 'compute')},code={arch}"
    command = [nvcc, "-std=c++17", gencode, *STRICT, "-c", "-o", "program.o", "program.cu"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
