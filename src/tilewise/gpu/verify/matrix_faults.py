"""The part `matrices.faults`: which lanes' addresses are read, told by those that cannot be.

Each launch has a process of its own, which a fault ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from tilewise.gpu.probes.alone import FAULTS, MISALIGNED, NAMES, alone, fault_of
from tilewise.gpu.probes.matrices import BYTES, Matrices
from tilewise.gpu.verify.matrices import Array, addresses_of, asked, confirmed, expected, form_of, row_of
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.matrices.kinds import ROW_BYTES

FAR, ODD = 0x7FFF_FFF0, 0xFFFF_FFF1
"""Addresses that no block has, one a multiple of 16 and one not."""


@cache
def cases() -> tuple[tuple[Form, Array], ...]:
    """Each form with addresses that are odd or outside, in lanes that are read and in lanes that are not."""
    return tuple(
        (form, lanes) for name in ("ldmatrix", "stmatrix") for form in asked(name) for lanes in _of(form)
    )


def _of(form: Form) -> Iterator[Array]:
    usual = addresses_of(form)[2]
    last = form.unread.start - 1
    changes = [
        (last, BYTES - ROW_BYTES),
        (last, BYTES),
        (last, FAR),
        (0, usual[0] + 1),
        (last, usual[last] + 8),
    ]
    if form.unread:
        first = form.unread.start
        changes += [(first, usual[first] + 2), (first, BYTES), (first, FAR), (LANES - 1, ODD)]
    for lane, address in changes:
        lanes = usual.copy()
        lanes[lane] = address
        yield lanes
    if form.unread:
        lanes = usual.copy()
        lanes[form.unread] = ODD
        yield lanes


def agrees(form: Form, lanes: Array, result: int) -> bool:
    """Whether a CUresult is what comes of these addresses: those that are read have to be multiples of 16,
    and inside. What a fault outside is called is the driver's matter."""
    read = lanes[: form.unread.start]
    if (read % ROW_BYTES).any():
        return result == MISALIGNED
    if (read + ROW_BYTES > BYTES).any():
        return result in FAULTS and result != MISALIGNED
    return result == 0


# -- what is measured ------------------------------------------------------------------------------


def outcome(number: int) -> list[int]:
    """The CUresult of a case, and after 0 the byte that each half met; it may be this process's last."""
    form, lanes = cases()[number]
    try:
        device = Matrices.of([form])
        found = device.loads if form.instruction == "ldmatrix" else lambda *given: device.stores(*given)[0]
        return [0, *found(form, lanes[None])[0].tolist()]
    except Exception as error:  # of the binding's own kind
        return [fault_of(error)]


def measure(told: Told) -> Truth:
    """Launch each case in a process of its own."""
    return truth_of(alone(outcome, range(len(cases())), told))


def truth_of(found: Sequence[Sequence[int]]) -> Truth:
    """The record: of each case the CUresult, and what the halves met where there was no fault."""
    pairs = zip(cases(), found, strict=True)
    rows: list[dict[str, Any]] = [row_of(*case) | {"length": len(answer)} for case, answer in pairs]
    return Truth("matrices.faults", rows, {"answers": np.concatenate([np.array(one) for one in found])})


# -- what is compared ------------------------------------------------------------------------------


def compare(truth: Truth) -> Findings:
    """A launch faults by the lanes that are read alone, and does what it does by them alone."""
    found = Findings()
    for case, (result, *halves) in zip(truth.cases, truth.parted("answers"), strict=True):
        form, lanes = form_of(case), np.array(case["addresses"])
        said = NAMES.get(int(result), f"CUresult {result}")
        if not agrees(form, lanes, int(result)):
            found.differs(str(form), f"the device says {said}", addresses=case["addresses"])
        elif not result and not np.array_equal(expected(form, lanes), halves):
            found.differs(str(form), "the halves met other bytes", addresses=case["addresses"])
        found.count(1 + len(halves), outcome=said, form=f"{form.instruction} {short(form)}")
    return found


PART = Part(
    "matrices.faults",
    "ldmatrix, stmatrix: whose addresses are read, by those that fault where they are",
    (*confirmed("ldmatrix"), *confirmed("stmatrix")),
    lambda: len(cases()),
    measure,
    compare,
)
