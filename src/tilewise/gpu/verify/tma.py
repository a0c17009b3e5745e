"""The parts `tma.*`: where elements of boxes land, which tensor maps the driver takes, which copies fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import Progress, alone, result_name
from tilewise.gpu.probes.tma import (
    FILL,
    OTHER,
    UNTOUCHED,
    Aligned,
    BoxLoad,
    Landed,
    TensorCopies,
    encode,
    encoder,
    place_of,
)
from tilewise.gpu.verify.part import Answered, Findings, Part, measured, of_row
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.tma.rules import DRIVER, HARDWARE, RULES, violations
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import (
    ELEMENT_TYPES,
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLE_VALUES,
    nan_fill,
)
from tilewise.tables import table


def _against_the_rules(
    findings: Findings, case: object, result: int, broken: Sequence[str] | None, unnamed: str = ""
) -> bool:
    """Add a difference where the driver refuses what no rule does, or takes what one refuses; return whether
    either refuses it."""
    refused = broken is None or bool(broken)
    if bool(result) != refused:
        message = (
            f"the driver refuses it with {result}, and no rule of ours does"
            if result
            else f"the driver takes it, and we name {', '.join(broken or [unnamed])}"
        )
        findings.differs(case, message, result=int(result), rules=broken)
    return bool(result) or refused


# -- boxes -----------------------------------------------------------------------------------------


def landed(answer: Landed | int) -> Answered:
    """Return what is recorded of a load, or of the driver's refusal."""
    if isinstance(answer, int):
        return {"slots": [], "result": answer}
    others = [hex(value) for value in answer.others]
    return {"slots": answer.slots, "result": 0, "counted": answer.counted, "others": others}


def _load(device: TensorCopies, some: list[BoxLoad]) -> Iterator[Answered]:
    for box in some:
        try:
            yield landed(device.load(box))
        except RuntimeError as error:
            raise RuntimeError(f"{named(box)}: {error}") from error


def expected(box: BoxLoad) -> Array:
    """Return the slots of the window after the copy, as the tables have it."""
    first = np.asarray(table(box.tensor_map.landing(box.start)).array).ravel() // box.bytes_each
    slots = np.full(box.window // box.bytes_each, UNTOUCHED, np.int64)
    places = place_of(box).ravel()
    slots[first] = np.where(places == FILL, OTHER if box.fill == "nan" else FILL, places)
    return slots


def named(box: BoxLoad) -> str:
    """Return a box in words."""
    return (
        f"{box.dtype} box {box.box} at {box.corner} of {box.shape}, swizzle {box.mode}, start {box.start}"
        + (f", element strides {box.steps}" if box.steps else "")
        + (f", fill {box.fill}" if box.fill != "zero" else "")
    )


def judge_box(findings: Findings, box: BoxLoad, row: Mapping[str, Any], slots: Array) -> None:
    """Hold every slot of shared memory, and the count of bytes, against the tables."""
    inner, width = box.box[-1] * box.bytes_each, Mode.of(box.mode).width
    swizzled = "as wide as the swizzle" if inner == width else "narrower" if inner < width else "wider"
    if not _against_the_rules(findings, named(box), row["result"], driver_rules(box.tensor_map)):
        _judge_slots(findings, box, row, slots)
    findings.count(
        max(len(slots), 1),
        swizzle=box.mode,
        element=f"{box.bytes_each} B",
        rank=len(box.box),
        outcome="refused by the driver" if row["result"] else "loaded",
        reach="beyond the tensor" if (place_of(box) == FILL).any() else "inside",
        start=box.start,
        inner_box="without swizzle" if box.mode == "none" else swizzled,
        element_strides="other than 1" if set(box.element_strides) != {1} else "1",
    )


def _judge_slots(findings: Findings, box: BoxLoad, row: Mapping[str, Any], slots: Array) -> None:
    each, counted = box.bytes_each, row["counted"]
    fill = [hex(nan_fill(8 * each))] if box.fill == "nan" else []
    if counted != box.bytes:
        message = f"the barrier counted {counted} bytes, the box has {box.bytes}"
        findings.differs(named(box), message, counted=counted, expected=box.bytes)
    elif strange := [bits for bits in row["others"] if bits not in fill]:
        message = f"the value {strange[0]} is no element of the tensor"
        findings.differs(named(box), message, others=strange)
    else:
        findings.hold(
            named(box), expected(box), slots, lambda slot: {"byte": slot * each}, "holding", _slot_name
        )


def _slot_name(slot: int) -> str:
    if slot > FILL:
        return f"element {slot - 1} of the buffer"
    known = {UNTOUCHED: "what it held before", FILL: "zero", OTHER: "a NaN"}
    return known.get(int(slot), "a part of an element")


# -- rules -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MapArguments:
    """The arguments of a tensor map, fastest dimension first, strides in bytes, enumerators as numbers."""

    dtype: int = 1
    rank: int = 3
    address: int = 0
    """After an address that is a multiple of 256."""
    dims: tuple[int, ...] = (256, 64, 32)
    strides: tuple[int, ...] = (512, 32768)
    box: tuple[int, ...] = (16, 8, 4)
    element_strides: tuple[int, ...] = (1, 1, 1)
    interleave: int = 0
    swizzle: int = 0
    l2: int = 0
    fill: int = 0

    @property
    def numbers(self) -> tuple[Any, ...]:
        """In the driver's order, without the address."""
        tuples = (self.dims, self.strides, self.box, self.element_strides)
        return (self.dtype, self.rank, *tuples, self.interleave, self.swizzle, self.l2, self.fill)

    @property
    def broken(self) -> list[str] | None:
        """The driver's rules that these arguments break; None where our tables lack the name of a number."""
        interleaves, promotions, fills = (
            {number: name for name, (_, number) in names.items()}
            for names in (INTERLEAVES, L2_PROMOTIONS, FILLS)
        )
        try:
            tensor_map = TensorMap(
                {row.value: row for row in ELEMENT_TYPES.values()}[self.dtype],
                self.dims[::-1],
                self.strides[::-1],
                self.box[::-1],
                self.element_strides[::-1],
                interleaves[self.interleave],
                {SWIZZLE_VALUES[name]: mode for name, mode in MODES.items()}[self.swizzle],
                promotions[self.l2],
                fills[self.fill],
            )
        except KeyError:
            return None
        return driver_rules(tensor_map, self.address)


def driver_rules(tensor_map: TensorMap, address: int = 0) -> list[str]:
    """Return the driver's rules that a tensor map breaks, as our tables have them."""
    rules = (violation.rule for violation in violations(tensor_map, address))
    return [rule for rule in rules if RULES[rule].kind == DRIVER]


def of_rank(rank: int) -> MapArguments:
    """Return plain arguments of a rank; the strides are dense."""
    dims, strides = (256, 64, 32, 16, 8, 4)[:rank], [512]
    for extent in dims[1:]:
        strides.append(strides[-1] * extent)
    return MapArguments(
        rank=rank,
        dims=dims,
        strides=tuple(strides[:-1]),
        box=(16, 8, 4, 2, 2, 1)[:rank],
        element_strides=(1,) * rank,
    )


def _ask_the_driver(cases: Sequence[MapArguments], told: Progress) -> list[Answered]:
    base, function, room = TensorCopies().anywhere, encoder(), Aligned(128)
    answers: list[Answered] = []
    for case in cases:
        answers.append({"results": encode(function, room, base + case.address, case.numbers)})
        told(len(answers), len(cases))
    return answers


def usual_apart(case: MapArguments) -> str:
    """Return the arguments in words: those that are not the usual ones.

    >>> usual_apart(MapArguments(box=(16, 300, 4)))
    'rank 3, box (16, 300, 4)'
    """
    given, usual = asdict(case), asdict(of_rank(case.rank))
    return ", ".join(
        f"{name} {value}" for name, value in given.items() if value != usual[name] or name == "rank"
    )


def judge_rules(findings: Findings, case: MapArguments, row: Mapping[str, Any], results: Array) -> None:
    """The driver refuses what breaks a rule of ours or has no name in our tables, and nothing else."""
    result, broken = int(results[0]), case.broken
    _against_the_rules(findings, usual_apart(case), result, broken, unnamed="no such value")
    rules = sorted(set(broken or ()))
    findings.count(
        1,
        outcome="refused" if result else "taken",
        rules_broken="a value without a name" if broken is None else len(rules),
        rule=rules,
    )


# -- faults ----------------------------------------------------------------------------------------


def copied(box: BoxLoad) -> int:
    """Return 0, or the CUresult of the driver's refusal; a fault may end the process."""
    answer = TensorCopies().load(box)
    return answer if isinstance(answer, int) else 0


def _copy_alone(cases: Sequence[BoxLoad], told: Progress) -> list[Answered]:
    return [{"results": result or refused} for result, refused in alone(copied, cases, told)]


def judge_fault(findings: Findings, box: BoxLoad, row: Mapping[str, Any], results: Array) -> None:
    """A copy faults where it breaks a rule of the hardware's, and nowhere else."""
    result = int(results[0])
    every = violations(box.tensor_map, shared=box.start, coordinates=box.corner[::-1])
    broken = [violation.rule for violation in every if RULES[violation.rule].kind == HARDWARE]
    if bool(result) != bool(broken):
        message = f"the device says {result_name(result)}, we say {', '.join(broken) or 'no rule'}"
        findings.differs(named(box), message, result=result, rules=broken)
    rule = ", ".join(broken) or "none"
    findings.count(1, outcome=result_name(result), rule=rule, swizzle=box.mode, element=box.dtype)


PARTS = (
    Part(
        "tma.boxes",
        "TMA: the byte of every element of a box, and the bytes that the barrier counts",
        ("slots",),
        partial(of_row, BoxLoad),
        partial(measured, ready=lambda cases, told: TensorCopies(), ask=_load),
        judge_box,
    ),
    Part(
        "tma.rules",
        "TMA: which tensor maps the driver takes, and the rule that the others break",
        ("results",),
        partial(of_row, MapArguments),
        _ask_the_driver,
        judge_rules,
    ),
    Part(
        "tma.faults",
        "TMA: which shared addresses and which coordinates a copy faults at",
        ("results",),
        partial(of_row, BoxLoad),
        _copy_alone,
        judge_fault,
    ),
)
"""Boxes, tensor maps, copies that may fault."""
