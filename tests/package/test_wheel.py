"""The wheel: built as a user's tool would, and tried where nothing else is installed."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    target = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [built] = target.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    page = {f"tilewise/show/web/{name}" for name in ("index.html", "page.js", "explorer.js", "hardware.js")}
    kernels = {f"tilewise/gpu/verify/{name}" for name in ("wgmma.cu", "tma.cu", "matrices.cu")}
    assert {"tilewise/py.typed", "tilewise/gpu/verify/questions.zip", *page, *kernels} <= set(names)
    assert {name.split("/")[0] for name in names} <= {"tilewise", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert not [name for name in names if "test_" in name or "__pycache__" in name]


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(wheel, tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    binaries = tmp_path / "clean" / "bin"
    install = [binaries / "python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    asked = [binaries / "tilewise", "at", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "5,3,1"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "(5, 3, 1) -> 23@laneid + 1@reg\n"
    program = "import tilewise, sys; sys.exit(not tilewise.__file__.startswith(sys.prefix))"
    subprocess.run([binaries / "python", "-c", program], check=True, cwd=tmp_path)
