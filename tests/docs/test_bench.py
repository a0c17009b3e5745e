"""The benchmarks can be run: each module is imported, from its own folder as its commands say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPTIONAL = {"triton", "torch", "cuda", "jax", "pycute", "cutlass", "playwright", "tvm"}

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error.name)
"""


def test_benchmarks_import_what_there_is():
    names = sorted(path.stem for path in (ROOT / "bench").glob("*.py"))
    assert len(names) > 10
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=ROOT / "bench",
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    missing = {name.partition(".")[0] for name in done.stdout.split()}
    assert missing <= OPTIONAL, missing
