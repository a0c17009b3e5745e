"""The wheel and the source archive: built as a user's tool would, and tried outside the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel and of the source archive."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    target = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    [built] = archives.glob("*.whl")
    return built


MOST_BYTES = 3_000_000


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    page = {
        f"tilewise/pictures/web/{name}" for name in ("index.html", "page.js", "explorer.js", "hardware.js")
    }
    kernels = {f"tilewise/gpu/verify/{name}" for name in ("wgmma.cu", "tma.cu", "matrices.cu")}
    assert {"tilewise/py.typed", "tilewise/gpu/verify/questions.zip", *page, *kernels} <= set(names)
    assert {name.split("/")[0] for name in names} <= {"tilewise", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert not [name for name in names if "test_" in name or "__pycache__" in name]
    assert wheel.stat().st_size < MOST_BYTES


def test_the_source_archive_makes_the_same_wheel(archives, wheel, tmp_path):
    [archive] = archives.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        sources.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    [again] = tmp_path.glob("*.whl")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


def test_the_metadata_say_what_it_is(wheel):
    [metadata] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("METADATA")]
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "Classifier: Development Status :: 5 - Production/Stable" in text
    assert "Classifier: Typing :: Typed" in text
    assert {"mcp", "sass", "gpu", "notebook"} <= set(
        re.findall(r"^Provides-Extra: (\S+)$", text, re.MULTILINE)
    )


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(wheel, tmp_path):
    """Its two dependencies come from here, as without a network; nothing else of this checkout does."""
    venv.create(tmp_path / "own", with_pip=True)
    binaries = tmp_path / "own/bin"
    python = binaries / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    [packages] = (tmp_path / "own/lib").glob("*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    def printed(*words: str) -> str:
        run = [binaries / "tilewise", *words]
        return subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    assert (
        printed("at", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "5,3,1")
        == "(5, 3, 1) -> 23@laneid + 1@reg\n"
    )
    assert "Your turn" in printed("tour")
    assert "conflicts" in printed("read", str(ROOT / "docs/read/transpose.sass"), "--block", "32,8")
    program = "import tilewise, sys; sys.exit(not tilewise.__file__.startswith(sys.prefix))"
    subprocess.run([python, "-c", program], check=True, cwd=tmp_path)
    with subprocess.Popen([binaries / "tilewise", "explore"], stdout=subprocess.PIPE, text=True) as served:
        try:
            address = served.stdout.readline().split()[-1]
            assert b"<title>tilewise" in urlopen(address).read()
        finally:
            served.terminate()
