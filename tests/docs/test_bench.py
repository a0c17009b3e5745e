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


def test_the_page_of_moves_has_figures_that_were_measured():
    rows = {(cells[0], cells[3], cells[6]) for cells in cells_of("reference/move-figures.md", 9)}
    shown = {(name, *rates) for name, *rates in cells_of("move.md", 3) if rates[0].startswith(("0.", "1."))}
    assert len(shown) > 5
    assert shown <= rows


def cells_of(page: str, columns: int) -> list[list[str]]:
    """Cells of the rows of a page that have so many."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return [row for row in rows if len(row) == columns]
