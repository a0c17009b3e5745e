"""The part `tma.boxes`: the byte in which every element of a box landed, and what the barrier counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from tilewise.gpu.probes import tensor_boxes
from tilewise.gpu.probes.tensor_copy import FILL, OTHER, UNTOUCHED, Box, Landed, TensorCopies, place_of
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.tma.rules import DRIVER, RULES, violations
from tilewise.hardware.tma.types import nan_fill
from tilewise.tables import table

Array = np.ndarray[Any, Any]
SEED = 20_260


def cases() -> Iterator[Box]:
    """Every box that is loaded."""
    yield from tensor_boxes.every_inner_row()
    yield from tensor_boxes.too_wide()
    yield from tensor_boxes.every_corner(SEED)
    yield from tensor_boxes.at_random(SEED + 1, 300)
    yield from tensor_boxes.with_steps(SEED + 2, 60)
    yield from tensor_boxes.filled_with_nan()


def measure(told: Told) -> Truth:
    """Load every box."""
    device, every = TensorCopies(), list(cases())
    rows, slots = [], []
    for done, box in enumerate(every):
        try:
            landed = device.load(box)
        except RuntimeError as error:
            raise RuntimeError(f"{named(box)}: {error}") from error
        rows.append(row(box, landed))
        if isinstance(landed, Landed):
            slots.append(landed.slots)
        told(done + 1, len(every))
    return truth_of(rows, slots)


def row(box: Box, landed: Landed | int) -> dict[str, Any]:
    """A case as it is recorded."""
    if isinstance(landed, int):
        return asdict(box) | {"result": landed, "length": 0}
    told = {"counted": landed.counted, "others": [hex(value) for value in landed.others]}
    return asdict(box) | {"result": 0, **told, "length": len(landed.slots)}


def truth_of(rows: list[dict[str, Any]], slots: list[Array]) -> Truth:
    """The record of all cases."""
    return Truth("tma.boxes", rows, {"slots": np.concatenate(slots) if slots else np.zeros(0, np.int32)})


def compare(truth: Truth) -> Findings:
    """Hold every slot of shared memory, and every count of bytes, against the tables."""
    found = Findings()
    for case, slots in zip(truth.cases, truth.parted("slots"), strict=True):
        box = box_of(case)
        _compare(found, box, case, slots)
        found.count(
            max(len(slots), 1),
            swizzle=box.mode,
            element=f"{box.bytes_each} B",
            rank=len(box.box),
            outcome="refused by the driver" if case["result"] else "loaded",
            reach="beyond the tensor" if _reaches_out(box) else "inside",
            start=box.start,
            inner_box=_width(box),
            element_strides="other than 1" if set(box.element_strides) != {1} else "1",
        )
    return found


def box_of(case: Mapping[str, Any]) -> Box:
    """The box of a recorded case."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in case.items()
    }
    return Box(**{field.name: values[field.name] for field in fields(Box)})


def expected(box: Box) -> Array:
    """The slots of the window after the copy, as the tables have it."""
    at = np.asarray(table(box.tensor_map.landing(box.start)).array).ravel() // box.bytes_each
    slots = np.full(box.window // box.bytes_each, UNTOUCHED, np.int64)
    places = place_of(box).ravel()
    slots[at] = np.where(places == FILL, filling(box), places)
    return slots


def filling(box: Box) -> int:
    """What a slot holds for an element out of bounds: zero, or the one value besides elements, a NaN."""
    return OTHER if box.fill == "nan" else FILL


def _compare(found: Findings, box: Box, case: Mapping[str, Any], slots: Array) -> None:
    broken = [v.rule for v in violations(box.tensor_map) if RULES[v.rule].kind == DRIVER]
    if case["result"] or broken:
        if bool(case["result"]) != bool(broken):
            _differs_on_the_rule(found, box, case["result"], broken)
        return
    if case["counted"] != box.bytes:
        found.differs(
            named(box),
            f"the barrier counted {case['counted']} bytes, the box has {box.bytes}",
            counted=case["counted"],
            expected=box.bytes,
        )
        return
    fill = [hex(nan_fill(8 * box.bytes_each))] if box.fill == "nan" else []
    strange = [bits for bits in case["others"] if bits not in fill]
    if strange:
        found.differs(named(box), f"the value {strange[0]} is no element of the tensor", others=strange)
        return
    want = expected(box)
    if not np.array_equal(want, slots):
        at = int(np.flatnonzero(want != slots)[0])
        found.differs(
            named(box),
            f"byte {at * box.bytes_each} holds {_said(box, slots[at])}, not {_said(box, want[at])}",
            byte=at * box.bytes_each,
            found=int(slots[at]),
            expected=int(want[at]),
        )


def _differs_on_the_rule(found: Findings, box: Box, result: int, broken: list[str]) -> None:
    message = (
        f"the driver refuses it with {result}, and no rule of ours does"
        if result
        else f"the driver takes it, and we name {', '.join(broken)}"
    )
    found.differs(named(box), message, result=result, rules=broken)


def named(box: Box) -> str:
    """A box in words."""
    return (
        f"{box.dtype} box {box.box} at {box.corner} of {box.shape}, swizzle {box.mode}, start {box.start}"
        + (f", element strides {box.steps}" if box.steps else "")
        + (f", fill {box.fill}" if box.fill != "zero" else "")
    )


def _said(box: Box, slot: int) -> str:
    if slot == UNTOUCHED:
        return "what it held before"
    if slot == FILL:
        return "zero"
    if slot < UNTOUCHED:
        return "a NaN" if slot == OTHER else "a part of an element"
    return f"element {slot - 1} of the buffer"


def _reaches_out(box: Box) -> bool:
    return bool((place_of(box) == FILL).any())


def _width(box: Box) -> str:
    from tilewise.hardware.modes import Mode

    inner, width = box.box[-1] * box.bytes_each, Mode.of(box.mode).width
    if box.mode == "none":
        return "without swizzle"
    return "as wide as the swizzle" if inner == width else "narrower" if inner < width else "wider"


PART = Part(
    "tma.boxes",
    "TMA: the byte of every element of a box, and the bytes that the barrier counts",
    ("tma.landing",),
    lambda: sum(1 for _ in cases()),
    measure,
    compare,
)
