"""The text of --host, by nvcc: kernel and launch in one file, to machine code, without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.codegen.hosts import NAMES, host

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
    (tmp_path / "program.cu").write_text(kernel.text)
    gencode = f"-gencode=arch={kernel.arch.replace('sm', 'compute')},code={kernel.arch}"
    command = [nvcc, "-std=c++17", gencode, *STRICT, "-c", "-o", "program.o", "program.cu"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
