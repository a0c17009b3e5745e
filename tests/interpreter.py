"""The output of a fresh Python: for facts of a process, such as its imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tilewise

SOURCES = Path(tilewise.__file__).parents[1]


def said(program: str) -> str:
    """Return what a program prints in an interpreter of its own; one that fails is a failure of the test.

    >>> said("import sys, tilewise; print('numpy' in sys.modules)")
    'False\\n'
    """
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
