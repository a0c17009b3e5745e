"""The part `tma.faults`: copies at addresses and coordinates that the driver cannot know of.

A copy that faults ends everything of its process on the device, so that each has a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import product

import numpy as np

from tilewise.gpu.probes.alone import NAMES, alone
from tilewise.gpu.probes.tensor_boxes import UNSIGNED
from tilewise.gpu.probes.tensor_copy import Box
from tilewise.gpu.verify.boxes import box_of, named
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.tma.rules import HARDWARE, RULES, violations


def cases() -> Iterator[Box]:
    """Innermost coordinates of whole chunks and of parts; starts that are multiples of 128, and others."""
    for each, dtype in UNSIGNED.items():
        unit = CHUNK // each
        for coordinate in (0, unit, 3 * unit, -unit, 1, unit - 1, unit + unit // 2, -1, 1 - 2 * unit):
            yield Box(dtype, "none", (16, 256), (8, 2 * unit), (2, coordinate))
    for mode in ("32B", "64B", "128B"):
        for coordinate in (8, 4, -12):
            yield Box("u16", mode, (16, 256), (8, 16), (2, coordinate))
    for mode, start in product(("none", "32B", "64B", "128B"), (128, 384, 16, 32, 64, 192)):
        yield Box("u16", mode, (16, 256), (8, 16), (0, 0), start)


def outcome(box: Box) -> int:
    """The CUresult of a copy; it may be the last that this process does on the device."""
    from tilewise.gpu.probes.tensor_copy import DriverError, TensorCopies

    device = TensorCopies()
    try:
        landed = device.load(box)
    except DriverError as error:
        return error.code
    return landed if isinstance(landed, int) else 0


def measure(told: Told) -> Truth:
    """Do each copy in a process of its own."""
    every = list(cases())
    return truth_of(every, alone(outcome, every, told))


def truth_of(every: list[Box], results: list[int]) -> Truth:
    """The record of all copies."""
    rows = [asdict(box) | {"length": 1} for box in every]
    return Truth("tma.faults", rows, {"results": np.array(results, np.int32)})


def compare(truth: Truth) -> Findings:
    """A copy faults where it breaks a rule of the hardware's, and nowhere else."""
    found = Findings()
    for case, (result,) in zip(truth.cases, truth.parted("results"), strict=True):
        box = box_of(case)
        broken = [
            violation.rule
            for violation in violations(box.tensor_map, shared=box.start, coordinates=box.corner[::-1])
            if RULES[violation.rule].kind == HARDWARE
        ]
        said = NAMES.get(int(result), f"CUresult {result}")
        if bool(result) != bool(broken):
            rules = ", ".join(broken) or "no rule"
            found.differs(
                named(box), f"the device says {said}, we say {rules}", result=int(result), rules=broken
            )
        found.count(1, outcome=said, rule=", ".join(broken) or "none", swizzle=box.mode, element=box.dtype)
    return found


PART = Part(
    "tma.faults",
    "TMA: which shared addresses and which coordinates a copy faults at",
    ("tma.rules",),
    lambda: sum(1 for _ in cases()),
    measure,
    compare,
)
