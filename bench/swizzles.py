"""The time of choosing a swizzle: the cases of the page, one by one, and the command.

No neighbour searches for the layout of all accesses of a tile at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import commands
from clock import side_by_side
from page import Row, Section
from tilewise import Layout, S, parse
from tilewise.check.swizzling import choose

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "tests" / "check" / "swizzle_cases.json").read_text(encoding="utf-8")
)
PLANES = [
    S[(2, 8, 8) : (8, 16, 1)],
    S[(2, (2, 2, 2), 8) : (16, (64, 32, 8), 1)],
    S[((2, 2, 2), 8) : ((64, 32, 24), 1)],
]
"""Three accesses of a tile of 16 x 8 f16 that no linear layout serves without conflicts."""

REPETITIONS = 5


def sections(_: dict[str, ModuleType]) -> list[Section]:
    """Measure the cases in one process, and the command in a process of its own."""
    return [_choices(), _commands()]


def _choices() -> Section:
    works = {case["case"]: _asking(case) for case in CASES}
    planes = "a proof by search: three accesses, 16 x 8 f16"
    taken = side_by_side(works | {planes: lambda: choose((16, 8), PLANES, dtype="f16")}, REPETITIONS)
    ours = {name: taken[name] for name in works}
    slowest = max(ours, key=ours.__getitem__)
    rows = [
        Row(f"{len(CASES)} published cases, the median", median(ours.values())),
        Row(f"the slowest of them: {slowest}", ours[slowest]),
        Row(planes, taken[planes]),
    ]
    note = (
        "All families and the proof, with NumPy loaded; [the cases](../swizzle.md). No neighbour searches "
        "for the layout of all accesses of a tile at once."
    )
    return Section("Choosing a swizzle", note, rows)


def _asking(case: dict[str, Any]) -> Any:
    tile, accesses, dtype = _tile(case["tile"]), case["accesses"], case["dtype"]
    return lambda: choose(tile, accesses, dtype=dtype)


def _tile(text: str) -> Layout | tuple[int, ...]:
    return parse(text) if "[" in text else tuple(map(int, text.split("x")))


def _commands() -> Section:
    asked = ["swizzle", "128x64", "--dtype", "bf16", "--access", "row:16B@st", "--access", "ldmatrix.x4"]
    return commands.section("The command that chooses a swizzle", {"`tilewise swizzle`": asked})
