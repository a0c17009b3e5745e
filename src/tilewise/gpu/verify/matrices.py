"""The parts `matrices.*`: the 16 bits of shared memory that meet each half of each register.

For ldmatrix and stmatrix every lane supplies an address. The instruction reads a half of a register from
one of their rows, or writes it there. The catalogue gives both by the same two layouts. Invalid addresses
tell which lanes' addresses are read: each of those launches has its own process, which a fault ends.

A half is 16 bits of a register: half E lane + element, where a lane has E of them. Shared memory, or the
registers, hold a number in each of their 16 bits, so that one launch is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.codegen.parts.template import filled, listed
from tilewise.gpu.launch import Array
from tilewise.gpu.verify.kernels import FAULTS, MISALIGNED, Kernels, alone, places, result_name
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.matrices.moves import COMES_FROM
from tilewise.tables import table

BYTES = 32 * 1024
"""Shared memory that addresses count from; every 16 bits of it have a number."""

UNTOUCHED = 0xFFFF
NOWHERE = -1
"""A half without a single place."""

MOVMATRIX = None
"""The probe without a form: every program has its kernel."""


class Matrices(Kernels[Form | None]):
    """The kernels of some forms, ready on a device."""

    shared = BYTES

    @classmethod
    def programs(cls, wanted: Iterable[Form | None]) -> list[tuple[Form | None, ...]]:
        """Return the forms and movmatrix as one program."""
        return [tuple(dict.fromkeys([*wanted, MOVMATRIX]))]

    @staticmethod
    def source(group: Iterable[Form | None]) -> str:
        """Return CUDA C++ of a kernel for each of the forms, and of movmatrix's."""
        shared = Path(__file__).with_name("matrices.cu").read_text(encoding="utf-8")
        return "\n".join([shared, *(_kernel(form) for form in group if form)])

    @staticmethod
    def name(probe: Form | None) -> str:
        """Return the name of a form's kernel, or movmatrix's."""
        return "probe_" + re.sub(r"\W+", "_", str(probe or "movmatrix"))

    def meets(self, form: Form, addresses: Array) -> tuple[Array, Array]:
        """Return [case, half]: the byte of shared memory of each half; and the number of other writes."""
        count, words = LANES * form.registers * 2, BYTES // 2
        loads = form.instruction == "ldmatrix"
        content = np.arange(words if loads else count, dtype=np.uint16)
        given = [np.asarray(addresses, np.uint32), content, np.int32(BYTES // 4)]
        shape = (len(addresses), count if loads else words)
        out = self.reply(form, len(addresses), LANES, given, "<u2", shape)
        if loads:
            return 2 * out.astype(np.int64), np.zeros(len(addresses), np.int64)
        halves = np.stack([placed(window, count) for window in out])
        return halves, (out != UNTOUCHED).sum(axis=1) - (halves != NOWHERE).sum(axis=1)

    def moves(self, given: Array) -> Array:
        """Return [case, half]: movmatrix's result for the given halves."""
        return self.reply(MOVMATRIX, len(given), LANES, [np.asarray(given, np.uint16)], "<u2", given.shape)


def placed(window: Array, count: int) -> Array:
    """Return the byte of each number below `count`; NOWHERE if it is not at exactly one."""
    spots = np.flatnonzero(window < count)
    numbers = window[spots]
    bytes_of = np.full(count, NOWHERE, np.int64)
    bytes_of[numbers] = 2 * spots
    bytes_of[np.bincount(numbers, minlength=count) != 1] = NOWHERE
    return bytes_of


KERNEL = """\
struct ${name}_move {
    static constexpr int registers = $count;
    static __device__ void go(unsigned* held, unsigned address) {
        asm volatile("$form $operands;" : $outputs : $inputs : "memory");
    }
};
extern "C" __global__ void __launch_bounds__(LANES) $name(const unsigned* addresses,
    const unsigned* content, int words, unsigned* out) {
    $way<${name}_move>(addresses, content, words, out);
}
"""


def _kernel(form: Form) -> str:
    count, loads = form.registers, form.instruction == "ldmatrix"
    registers = f"{{{listed('%#', range(count))}}}"
    held = listed(f'"{"=" * loads}r"(held[#])', range(count))
    slots = {
        "name": Matrices.name(form),
        "count": count,
        "form": form,
        "operands": f"{registers}, [%{count}]" if loads else f"[%{count}], {registers}",
        "outputs": held if loads else "",
        "inputs": '"r"(address)' if loads else f'{held}, "r"(address)',
        "way": "load" if loads else "store",
    }
    return filled(KERNEL, slots) + "\n"


FormCase = tuple[Form, tuple[int, ...]]
"""A form, and the address of each lane."""


def form_case(row: Mapping[str, Any]) -> FormCase:
    """Return the case of a recorded row."""
    return Form.of(row["instruction"], row["form"]), tuple(row["addresses"])


def expected(form: Form, lanes: Sequence[int]) -> Array:
    """Return [half]: the byte of shared memory that each half meets by the tables."""
    owner = table(form.addresses).columns["laneid"].reshape(form.count, form.rows)
    matrix, row, column = np.indices((form.count, form.rows, form.columns)).reshape(3, -1)
    halves = np.empty(form.layout.size, np.int64)
    halves[places(form.layout).ravel()] = np.array(lanes)[owner[matrix, row]] + column * form.bits // 8
    return halves


def judge(findings: Findings, case: FormCase, row: Mapping[str, Any], halves: Array) -> None:
    """Compare the byte of every half with the catalogue's layouts."""
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


def _form(case: FormCase) -> Form:
    return case[0]


def _part(instruction: str, verb: str) -> Part:
    return Part(
        f"matrices.{instruction}",
        f"{instruction}: the bytes of shared memory that each register {verb}, by any addresses",
        ("bytes",),
        form_case,
        partial(measured, device=Matrices, probe=_form, ask=_meet),
        judge,
    )


# -- movmatrix -------------------------------------------------------------------------------------


def _movmatrix(before: Sequence[int]) -> None:
    return MOVMATRIX


def _move(device: Matrices, before: list[list[int]]) -> list[Answered]:
    return moved(before, device.moves(np.array(before)))


def moved(before: Sequence[list[int]], after: Array) -> list[Answered]:
    """Return the recorded answers: for each half, the half that held its number before, or NOWHERE."""
    answers: list[Answered] = []
    for numbers, row in zip(before, after, strict=True):
        known = row < len(row)
        halves = np.full(len(row), NOWHERE, np.int64)
        halves[known] = np.argsort(numbers)[row[known]]
        answers.append({"halves": halves})
    return answers


def judge_move(findings: Findings, given: Sequence[int], row: Mapping[str, Any], halves: Array) -> None:
    """Compare the origin of each half with the catalogue's lane map."""
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
    """Return the recorded answers: the CUresult, and without a fault the bytes that the halves met."""
    return [{"answers": [result, *(halves or ())]} for result, halves in replies]


def agrees(form: Form, lanes: Sequence[int], result: int) -> bool:
    """Return True if a CUresult fits these addresses: the addresses that are read must be multiples
    of 16, and inside. The driver may name a fault outside as it likes."""
    read = lanes[: form.unread.start]
    if any(lane % ROW_BYTES for lane in read):
        return result == MISALIGNED
    if max(read) + ROW_BYTES > BYTES:
        return result in FAULTS and result != MISALIGNED
    return result == 0


def judge_fault(findings: Findings, case: FormCase, row: Mapping[str, Any], answers: Array) -> None:
    """Compare a launch with the catalogue: only the lanes that are read decide its fault and its result."""
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
        partial(measured, device=Matrices, probe=_movmatrix, ask=_move),
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
"""The parts of instructions that move matrices."""
