"""The parts `matrices.*`: which 16 bits of shared memory meet which half of which register.

For ldmatrix and stmatrix every lane supplies an address, and a half of a register is read from, or put to,
one of their rows. The catalogue says both by the same two layouts. Which lanes' addresses are read, those
tell that cannot be: each of these launches has a process of its own, which a fault ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import FAULTS, MISALIGNED, Progress, alone, places, result_name
from tilewise.gpu.probes.matrices import BYTES, NOWHERE, Matrices
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.matrices.moves import COMES_FROM
from tilewise.tables import table

FormCase = tuple[Form, tuple[int, ...]]
"""A form, and the address of each lane."""


def form_case(row: Mapping[str, Any]) -> FormCase:
    """Return the case of a recorded row."""
    return Form.of(row["instruction"], row["form"]), tuple(row["addresses"])


def expected(form: Form, lanes: Sequence[int]) -> Array:
    """Return [half]: the byte of shared memory that the tables say each half meets."""
    owner = table(form.addresses).columns["laneid"].reshape(form.count, form.rows)
    matrix, row, column = np.indices((form.count, form.rows, form.columns)).reshape(3, -1)
    halves = np.empty(form.layout.size, np.int64)
    halves[places(form.layout).ravel()] = np.array(lanes)[owner[matrix, row]] + column * form.bits // 8
    return halves


def judge(findings: Findings, case: FormCase, row: Mapping[str, Any], halves: Array) -> None:
    """Hold the byte of every half against the catalogue's layouts."""
    form, want = case[0], expected(*case)
    if row["others"] and np.array_equal(want, halves):
        findings.differs(form, f"{row['others']} more places of 16 bits were written")
    findings.hold(form, want, halves, partial(_half, each=len(want) // LANES), "byte")
    findings.count(len(halves), form=short(form))


def _half(number: int, each: int) -> dict[str, int]:
    return {"lane": number // each, "half": number % each}


def _meet(device: Matrices, some: list[FormCase]) -> Iterator[Answered]:
    halves, others = device.meets(some[0][0], np.array([lanes for _, lanes in some]))
    for each, more in zip(halves, others.tolist(), strict=True):
        yield {"bytes": each, "others": more}


def _part(instruction: str, verb: str) -> Part:
    return Part(
        f"matrices.{instruction}",
        f"{instruction}: the bytes of shared memory that each register {verb}, by any addresses",
        ("bytes",),
        form_case,
        partial(
            measured,
            ready=lambda cases, told: Matrices.of(
                [*dict.fromkeys(form for form, _ in cases), None], told=told
            ),
            ask=_meet,
            together=lambda case: case[0],
        ),
        judge,
    )


# -- movmatrix -------------------------------------------------------------------------------------


def _move(before: Sequence[list[int]], told: Progress) -> list[Answered]:
    return moved(before, Matrices.of([None], told=told).moves(np.array(before)))


def moved(before: Sequence[list[int]], after: Array) -> list[Answered]:
    """Return what is recorded: for each half, the half that held its number before; NOWHERE if none did."""
    answers: list[Answered] = []
    for numbers, row in zip(before, after, strict=True):
        known = row < len(row)
        halves = np.full(len(row), NOWHERE, np.int64)
        halves[known] = np.argsort(numbers)[row[known]]
        answers.append({"halves": halves})
    return answers


def judge_move(findings: Findings, given: Sequence[int], row: Mapping[str, Any], halves: Array) -> None:
    """Hold the half that each comes from against the catalogue's lane map."""
    want, case = places(COMES_FROM).ravel(), f"movmatrix, case {findings.cases}"

    def lane_and_half(half: int) -> list[int]:
        return list(divmod(int(half), 2))

    findings.hold(case, want, halves, partial(_half, each=2), "lane and half", lane_and_half)
    findings.count(len(halves))


# -- faults ----------------------------------------------------------------------------------------


def met_alone(case: FormCase) -> list[int]:
    """Return the byte that each half met; a fault may end the process."""
    form, lanes = case
    halves, _ = Matrices.of([form], told=lambda done, total: None).meets(form, np.array([lanes]))
    return [int(half) for half in halves[0]]


def fault_answers(replies: Sequence[tuple[int, list[int] | None]]) -> list[Answered]:
    """Return what is recorded: the CUresult, and what the halves met where there was no fault."""
    return [{"answers": [result, *(halves or ())]} for result, halves in replies]


def agrees(form: Form, lanes: Sequence[int], result: int) -> bool:
    """Return whether a CUresult is what comes of these addresses: those that are read have to be multiples
    of 16, and inside. The name of a fault outside is the driver's matter."""
    read = lanes[: form.unread.start]
    if any(lane % ROW_BYTES for lane in read):
        return result == MISALIGNED
    if max(read) + ROW_BYTES > BYTES:
        return result in FAULTS and result != MISALIGNED
    return result == 0


def judge_fault(findings: Findings, case: FormCase, row: Mapping[str, Any], answers: Array) -> None:
    """A launch faults by the lanes that are read alone, and does what it does by them alone."""
    form, lanes = case
    result, halves = int(answers[0]), answers[1:]
    if not agrees(form, lanes, result):
        findings.differs(form, f"the device says {result_name(result)}", addresses=row["addresses"])
    elif not result and not np.array_equal(expected(form, lanes), halves):
        findings.differs(form, "the halves met other bytes", addresses=row["addresses"])
    findings.count(len(answers), outcome=result_name(result), form=f"{form.instruction} {short(form)}")


PARTS = (
    _part("ldmatrix", "gets"),
    _part("stmatrix", "fills"),
    Part(
        "matrices.movmatrix",
        "movmatrix: the lane and the half of a register that each half comes from",
        ("halves",),
        itemgetter("given"),
        _move,
        judge_move,
    ),
    Part(
        "matrices.faults",
        "ldmatrix, stmatrix: whose addresses are read, by those that fault where they are",
        ("answers",),
        form_case,
        lambda cases, told: fault_answers(alone(met_alone, cases, told)),
        judge_fault,
    ),
)
"""What moves matrices."""
