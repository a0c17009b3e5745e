"""The parts `descriptors.*`: the byte that the tensor core read for every element, for any descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from tilewise.gpu.probes.descriptors import Case, cases, chunks, expected, read
from tilewise.gpu.probes.instruction import Instruction
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.wgmma.descriptor import BASE_UNIT, Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS

Array = np.ndarray[Any, Any]

NOTHING = -1
"""What is recorded for an element of which no single place in shared memory was read."""


def asked(dtype: str) -> list[Case]:
    """The cases of the instructions whose A has a type."""
    return [case for case in _all_cases() if case.instruction.a == dtype]


@cache
def _all_cases() -> tuple[Case, ...]:
    return tuple(cases())


def measure(dtype: str, told: Told) -> Truth:
    """Ask the device for every element of every case."""
    from tilewise.gpu.probes.bench import Bench

    every = asked(dtype)
    bench = Bench.of({case.instruction for case in every}, told=lambda done, total: None)
    found = read(bench, every, lambda done: told(done, len(every)))
    return truth_of(dtype, every, found)


def truth_of(dtype: str, every: list[Case], found: list[Array]) -> Truth:
    """The record: chunks of 16 bytes where they were read whole, else single elements."""
    rows, places = [], []
    for case, places_read in zip(every, found, strict=True):
        whole = chunks(places_read, case)
        kept = places_read if whole is None else whole
        rows.append(row_of(case) | {"whole": whole is not None, "length": kept.size})
        places.append(kept.ravel())
    return Truth(f"descriptors.{dtype}", rows, {"places": np.concatenate(places)})


def row_of(case: Case) -> dict[str, Any]:
    """A case as it is recorded."""
    this = case.instruction
    return {
        "types": [this.a, this.b, this.d],
        "n": this.n,
        "operand": case.operand,
        "major": case.major,
        "value": hex(case.value),
    }


def case_of(row: Mapping[str, Any]) -> Case:
    """The case of a recorded row."""
    a, b, d = row["types"]
    majors = (row["major"], "k") if row["operand"] == "A" else ("k", row["major"])
    value = int(row["value"], 16)
    descriptor = Descriptor.decode(value)
    instruction = Instruction(a, b, d, row["n"], *majors)
    return Case(instruction, row["operand"], descriptor, value ^ descriptor.value)


def compare(truth: Truth) -> Findings:
    """Hold the place of every element against what the catalogue says is read."""
    found = Findings()
    for row, places in zip(truth.cases, truth.parted("places"), strict=True):
        case = case_of(row)
        elements = expected(case)
        want = chunks(elements, case) if row["whole"] else elements
        if want is None:
            found.differs(named(case), "chunks of 16 bytes were read whole, and not by the catalogue")
        elif not np.array_equal(want.ravel(), places):
            _differs(found, case, want, places.reshape(want.shape), whole=row["whole"])
        _count(found, case, elements.size)
    return found


def _count(found: Findings, case: Case, elements: int) -> None:
    descriptor, this = case.descriptor, case.instruction
    found.count(
        elements,
        types=f"{this.a} x {this.b} -> {this.d}",
        operand=f"{case.operand}, {case.major}-major",
        mode=descriptor.mode.name,
        n=this.n,
        start=_start(descriptor),
        base_offset=descriptor.base_offset,
        strides=_strides(descriptor),
        reserved_bits="some set" if case.reserved else "none set",
    )


def _differs(found: Findings, case: Case, want: Array, places: Array, *, whole: bool) -> None:
    at = np.argwhere(want != places)
    first = tuple(int(i) for i in at[0])
    row, k = _element(case, *first) if whole else first
    unit = 128 if whole else case.instruction.bits
    seen, wanted = (int(numbers[first]) * unit // 8 for numbers in (places, want))
    read_from = "no single byte" if places[first] == NOTHING else f"byte {seen:#x}"
    found.differs(
        named(case),
        f"element ({row}, {k}) was read from {read_from}, not byte {wanted:#x}; {len(at)} of {want.size} "
        + ("chunks of 16 bytes" if whole else "elements"),
        element=[row, k],
        found=None if places[first] == NOTHING else seen,
        expected=wanted,
    )


def _element(case: Case, row: int, column: int) -> tuple[int, int]:
    """The first element of a chunk."""
    each = 128 // case.instruction.bits
    return (row, column * each) if case.major == "k" else (row * each, column)


def named(case: Case) -> str:
    """A case in words."""
    d = case.descriptor
    return (
        f"{case.instruction}: {case.operand} by {case.value:#018x}, mode {d.mode}, start {d.start},"
        f" LBO {d.lbo}, SBO {d.sbo}, base offset {d.base_offset}"
    )


def _start(descriptor: Descriptor) -> str:
    past = descriptor.start % max(descriptor.mode.period, BASE_UNIT)
    if not past:
        return "at the pattern"
    return "inside a row of the atom" if past % descriptor.mode.width else "at a row of the atom"


def _strides(descriptor: Descriptor) -> str:
    unit = descriptor.mode.period
    odd = descriptor.sbo % unit or (descriptor.lbo % unit and descriptor.lbo > 16)
    return "not multiples of the pattern" if odd else "multiples of the pattern"


CONFIRMS = ("wgmma.smem", "wgmma.atom", "wgmma.canonical")

PARTS = tuple(
    Part(
        f"descriptors.{dtype}",
        f"wgmma, {dtype}: the byte that is read for every element, by descriptors legal and odd",
        CONFIRMS,
        lambda dtype=dtype: len(asked(dtype)),  # type: ignore[misc]
        partial(measure, dtype),
        compare,
    )
    for dtype in INPUTS
)
"""One part for each type of A."""
