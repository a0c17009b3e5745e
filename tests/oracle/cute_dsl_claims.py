"""The claims of CuTe's Python DSL about ldmatrix and stmatrix, and about products with scales."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.oracle.claims import Claim, Place, claim

SCRIPT = Path(__file__).with_name("cute_dsl_layouts.py")


def missing() -> str | None:
    """Return why this machine cannot ask it, or None."""
    return None if find_spec("nvidia_cutlass_dsl") else "nvidia-cutlass-dsl is not installed"


ARCHITECTURES = {"matrices": "sm_100a", "products": "sm_120a"}
"""One that has every form, for the DSL asks."""


def layouts(what: str) -> list[dict[str, Any]]:
    """Return what the script prints, in a process of its own."""
    environment = os.environ | {"CUTE_DSL_ARCH": ARCHITECTURES[what]}
    done = subprocess.run(
        [sys.executable, SCRIPT, what], capture_output=True, text=True, check=True, env=environment
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def claims() -> Iterator[Claim]:
    """Of matrices, fragments and scales."""
    for said in layouts("matrices"):
        values = {"form": said["form"], "trans": said["trans"]}
        yield claim(said["name"], said["instruction"], places(said), **values)
    for said in layouts("products"):
        yield from _product(said)


def _product(said: dict[str, Any]) -> Iterator[Claim]:
    m, n, k = said["shape"]
    name, shape = said["name"], f"m{m}n{n}k{k}"
    for operand, rows, dtype in (("A", m, said["a"]), ("B", n, said["b"]), ("C", m, "f32")):
        found = [*_indexed(said["tables"][operand], rows)]
        for entry in ("C", "D") if operand == "C" else (operand,):
            yield claim(f"{name} {operand}", f"mma.{entry}", found, shape=shape, dtype=dtype)
    scale, dtype = said["scales"].split()
    block = k // int(scale[0])
    for operand, rows, supplying in (("SFA", m, 2), ("SFB", n, 1)):
        found = [
            ((row, column // block), {"laneid": place["laneid"], "reg": place["reg"] // block})
            for (row, column), place in _indexed(said["tables"][operand], rows)
            if place["laneid"] % 4 < supplying
        ]
        values = {"kind": said["kind"], "scale": scale, "dtype": dtype}
        yield claim(f"{name} {operand}", f"mma.{operand}", found, **values)


def _indexed(table: list[list[int]], rows: int) -> Iterator[tuple[tuple[int, int], dict[str, int]]]:
    for lane, values in enumerate(table):
        for value, index in enumerate(values):
            yield (index % rows, index // rows), {"laneid": lane, "reg": value}


def places(said: dict[str, Any]) -> Iterator[Place]:
    """Lane rows * j + r names row r of matrix j; those whose address is not read repeat the others."""
    sides = ("source", "destination") if said["instruction"] == "ldmatrix" else ("destination", "source")
    memory, registers = (said[side] for side in sides)
    rows = 16 if said["form"].startswith("m16n16") else 8
    index: dict[int, tuple[int, ...]] = {}
    for lane, elements in enumerate(memory):
        for column, element in enumerate(elements):
            index.setdefault(element, (*divmod(lane, rows), column))
    for lane, elements in enumerate(registers):
        for register, element in enumerate(elements):
            yield index[element], {"laneid": lane, "reg": register}
