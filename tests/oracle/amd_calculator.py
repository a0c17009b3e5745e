"""The answers of AMD's matrix instruction calculator for the dense products of CDNA3, and their record.

github.com/ROCm/amd_matrix_instruction_calculator is a program by AMD that computes, for an instruction, which
register and lane has which element. The record has its words, cell by cell, and names the commit that said
them. With a clone of it, and tabulate installed, this writes the record anew:

    python tests/oracle/amd_calculator.py FOLDER

Where the environment variable AMD_MATRIX_CALCULATOR names a clone, the tests ask that, and hold the record
to it.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("goldens") / "amd_calculator.json.gz"
REPOSITORY = "github.com/ROCm/amd_matrix_instruction_calculator"
VARIABLE = "AMD_MATRIX_CALCULATOR"


@cache
def recorded() -> dict[str, Any]:
    """{commit: of the calculator, instructions: {name: {cycles, registers, A, B, C, D}}}.

    An operand is [block][row][column] in the calculator's words, v1{32}.[31:16] for the upper half of the
    second register of lane 32; its B is K x N.
    """
    found: dict[str, Any] = json.loads(gzip.decompress(RECORD.read_bytes()))
    return found


def asked(folder: Path) -> dict[str, Any]:
    """Return the answers of a clone."""
    commit = subprocess.run(
        ["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    names = re.findall(r"v_mfma_\w+", _said(folder, "--list-instructions"))
    return {"repository": REPOSITORY, "commit": commit, "instructions": {n: _of(folder, n) for n in names}}


def _of(folder: Path, name: str) -> dict[str, Any]:
    details = _said(folder, "--instruction", name, "--detail-instruction")
    found: dict[str, Any] = {"cycles": int(re.findall(r"Execution cycles: (\d+)", details)[0])}
    found["registers"] = {
        operand: int(count) for operand, count in re.findall(r"GPRs required for (\w): (\d+)", details)
    }
    for operand in "ABCD":
        words = _said(folder, "--instruction", name, f"--{operand}-matrix", "--register-layout", "--csv")
        found[operand] = [_rows(block) for block in re.split(r"^Block \d+\n", words, flags=re.M)[1:]]
    return found


def _rows(block: str) -> list[list[str]]:
    """The cells of a block, without the heads of its rows and columns."""
    return [row[1:] for row in csv.reader(block.strip().splitlines())][1:]


def _said(folder: Path, *words: str) -> str:
    command = [sys.executable, folder / "matrix_calculator.py", "--architecture", "cdna3", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    text = json.dumps(asked(Path(sys.argv[1])), separators=(",", ":"))
    RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
