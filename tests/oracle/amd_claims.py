"""The claims of AMD's calculator about mfma's instances of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.oracle.amd_calculator import recorded
from tests.oracle.claims import Claim, Place, claim

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of

TYPES = {"i8": "s8", "i32": "s32", "fp8": "e4m3fnuz", "bf8": "e5m2fnuz"}
_NAME = re.compile(r"v_mfma_([a-z0-9]+)_(\d+x\d+x\d+)(?:_\d+b)?_([a-z0-9]+)(?:_([a-z0-9]+))?")
_CELL = re.compile(r"v(?:(\d+)|\[\d+:(\d+)\])\{(\d+)\}(?:\.\[(\d+):(\d+)\])?")


def claims() -> Iterator[Claim]:
    """Of every operand of every instruction."""
    for name, said in recorded()["instructions"].items():
        named = _NAME.fullmatch(name)
        assert named is not None
        d, shape, a, b = named.groups()
        for operand, word in {"A": a, "B": b or a, "C": d, "D": d}.items():
            values = {"shape": shape, "dtype": TYPES.get(word, word), "blocks": len(said[operand])}
            yield claim(name, f"mfma.{operand}", _places(said, operand), **values)


def _places(said: dict[str, Any], operand: str) -> Iterator[Place]:
    several = len(said[operand]) > 1
    for block, rows in enumerate(said[operand]):
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                index = (j, i) if operand == "B" else (i, j)
                yield (block, *index) if several else index, _place(cell)


def _place(cell: str) -> dict[str, int]:
    """The lane, and how many elements of the width of this one its registers hold before it."""
    read = _CELL.fullmatch(cell)
    assert read is not None, cell
    single, first, lane, high, low = read.groups()
    if first is not None:
        return {"laneid": int(lane), "reg": int(first) // 2}
    bits = 32 if high is None else int(high) - int(low) + 1
    return {"laneid": int(lane), "reg": (32 * int(single) + int(low or 0)) // bits}


def of_tables() -> Iterator[Claim]:
    """The tables of a type, and every instruction: how many registers and cycles each takes."""
    theirs = {
        name: {"registers": said["registers"], "cycles": said["cycles"], "blocks": len(said["A"])}
        for name, said in recorded()["instructions"].items()
    }
    shapes = find("mfma.shapes")
    for instance, values in instances_of(shapes).items():
        facts = shapes.build(**values).facts
        said = [theirs.get(name) for name in facts["instructions"]]
        ours = [row for row in facts["shapes"] for _ in facts["partners"]]
        different = next(
            (f"{row} is {other}" for row, other in zip(ours, said, strict=True) if _costs(row) != other), ""
        )
        yield Claim("mfma.shapes", instance, "what its instructions take", different)
    instruction = find("mfma.instruction")
    for instance, values in instances_of(instruction).items():
        facts, other = instruction.build(**values).facts, theirs.get(values["instruction"])
        different = "" if _costs(facts) == other else f"{_costs(facts)} is {other}"
        yield Claim("mfma.instruction", instance, "what it takes", different)


def _costs(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("registers", "cycles", "blocks")}
