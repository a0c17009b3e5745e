"""The parts `matrices.*`: which 16 bits of shared memory meet which half of which register.

For ldmatrix and stmatrix every lane supplies an address, and a half of a register is read from, or put to,
one of their rows. The catalogue says both by the same two layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tilewise.gpu.probes.matrices import BYTES, NOWHERE, Matrices
from tilewise.gpu.verify.confirming import confirming
from tilewise.gpu.verify.part import Findings, Part, Told
from tilewise.gpu.verify.truth import Truth
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, forms, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.matrices.moves import COMES_FROM
from tilewise.tables import table

Array = np.ndarray[Any, Any]

SEED = 20_262
AT_RANDOM = 60
"""Cases of each form whose addresses are drawn; some more are in order, or all one row."""


def asked(instruction: str) -> list[Form]:
    """The forms of an instruction that sm_90 has."""
    return [form for form in forms(instruction) if not form.kind.special]


def confirmed(instruction: str) -> tuple[str, ...]:
    """The instances of the catalogue's entry that are asked about."""
    every = asked(instruction)
    return confirming(
        instruction, lambda values: Form.of(instruction, values["form"], bool(values["trans"])) in every
    )


def addresses_of(form: Form) -> Array:
    """[case, lane]: addresses counted from where shared memory begins, those of unread lanes among them.

    Rows that are stored are all different ones; rows that are loaded may be the same.
    """
    dice = np.random.default_rng([SEED, form.count, form.trans])
    rows = BYTES // ROW_BYTES
    if form.instruction == "stmatrix":
        drawn = [dice.permutation(rows)[:LANES] for _ in range(AT_RANDOM)]
        plain = [np.arange(LANES), np.arange(LANES)[::-1] + rows - LANES]
    else:
        drawn = list(dice.integers(0, rows, (AT_RANDOM, LANES)))
        plain = [np.arange(LANES), np.full(LANES, rows - 1)]
    return np.array([*plain, *drawn]) * ROW_BYTES


def cases(instruction: str) -> list[tuple[Form, Array]]:
    """Every form with each set of its addresses."""
    return [(form, lanes) for form in asked(instruction) for lanes in addresses_of(form)]


# -- what is measured ------------------------------------------------------------------------------


def measure(instruction: str, told: Told) -> Truth:
    """Ask about every form, all its addresses in one launch."""
    wanted = asked(instruction)
    device, found, others = Matrices.of(wanted), [], []
    for form in wanted:
        lanes = addresses_of(form)
        if instruction == "ldmatrix":
            found += list(device.loads(form, lanes))
            others += [0] * len(lanes)
        else:
            halves, more = device.stores(form, lanes)
            found += list(halves)
            others += more.tolist()
        told(len(found), len(cases(instruction)))
    return truth_of(instruction, found, others)


def truth_of(instruction: str, found: Sequence[Array], others: Sequence[int]) -> Truth:
    """The record: the byte of shared memory that each half of the registers met."""
    rows = [
        row_of(form, lanes) | {"others": more, "length": halves.size}
        for (form, lanes), halves, more in zip(cases(instruction), found, others, strict=True)
    ]
    return Truth(f"matrices.{instruction}", rows, {"bytes": np.concatenate(list(found))})


def row_of(form: Form, lanes: Array) -> dict[str, Any]:
    """A case as it is recorded."""
    return {"form": short(form), "instruction": form.instruction, "addresses": lanes.tolist()}


def form_of(case: Mapping[str, Any]) -> Form:
    """The form of a recorded case."""
    return Form.of(case["instruction"], case["form"])


# -- what is compared ------------------------------------------------------------------------------


def compare(truth: Truth) -> Findings:
    """Hold the byte of every half against the catalogue's layouts."""
    found = Findings()
    for case, halves in zip(truth.cases, truth.parted("bytes"), strict=True):
        form = form_of(case)
        want = expected(form, np.array(case["addresses"]))
        if not np.array_equal(want, halves):
            _differs(found, form, want, halves)
        elif case["others"]:
            found.differs(str(form), f"{case['others']} more places of 16 bits were written")
        found.count(len(halves), form=short(form))
    return found


def expected(form: Form, lanes: Array) -> Array:
    """[half]: the byte of shared memory that the tables say each half meets."""
    who = table(form.layout).columns
    owner = table(form.addresses).columns["laneid"].reshape(form.count, form.rows)
    matrix, row, column = np.indices((form.count, form.rows, form.columns)).reshape(3, -1)
    each = form.layout.size // LANES
    halves = np.empty(form.layout.size, np.int64)
    place = who["laneid"].ravel() * each + who["reg"].ravel()
    halves[place] = lanes[owner[matrix, row]] + column * form.bits // 8
    return halves


def _differs(found: Findings, form: Form, want: Array, halves: Array) -> None:
    wrong = np.flatnonzero(want != halves)
    at = int(wrong[0])
    lane, half = divmod(at, len(want) // LANES)
    met = "no single place" if halves[at] == NOWHERE else f"byte {halves[at]}"
    found.differs(
        str(form),
        f"half {half} of lane {lane} met {met}, not byte {want[at]}; {wrong.size} of {len(want)} differ",
        lane=lane,
        half=half,
        found=int(halves[at]),
        expected=int(want[at]),
    )


# -- movmatrix -------------------------------------------------------------------------------------

MOVES, HALVES = 32, 2 * LANES


def given() -> Array:
    """[case, half]: what the halves hold before, each number once."""
    dice = np.random.default_rng(SEED)
    return np.stack([np.arange(HALVES), *(dice.permutation(HALVES) for _ in range(MOVES - 1))])


def measure_moves(told: Told) -> Truth:
    """Ask where the halves of every lane come from."""
    before = given()
    truth = moves_truth(before, Matrices.of([]).moves(before))
    told(MOVES, MOVES)
    return truth


def moves_truth(before: Array, after: Array) -> Truth:
    """The record: for each half, the half that held its number before; NOWHERE if none did."""
    rows = [{"given": numbers.tolist(), "length": HALVES} for numbers in before]
    found = np.full(before.shape, NOWHERE, np.int64)
    for case, moved in enumerate(after):
        known = moved < HALVES
        found[case, known] = np.argsort(before[case])[moved[known]]
    return Truth("matrices.movmatrix", rows, {"halves": found.ravel()})


def compare_moves(truth: Truth) -> Findings:
    """Hold the half that each comes from against the catalogue's lane map."""
    columns = table(COMES_FROM).columns
    want = (2 * columns["laneid"] + columns["reg"]).ravel()
    found = Findings()
    for number, halves in enumerate(truth.parted("halves")):
        wrong = np.flatnonzero(want != halves)
        if wrong.size:
            at = int(wrong[0])
            seen, wanted = (list(divmod(int(one[at]), 2)) for one in (halves, want))
            place = f"half {at % 2} of lane {at // 2}"
            found.differs(
                f"movmatrix, case {number}",
                f"{place} comes from lane {seen[0]}, half {seen[1]}, not {tuple(wanted)}",
                lane=at // 2,
                half=at % 2,
                found=seen,
                expected=wanted,
            )
        found.count(len(halves))
    return found


PARTS = (
    *(
        Part(
            f"matrices.{instruction}",
            f"{instruction}: the bytes of shared memory that each register {verb}, by any addresses",
            confirmed(instruction),
            lambda instruction=instruction: len(cases(instruction)),  # type: ignore[misc]
            partial(measure, instruction),
            compare,
        )
        for instruction, verb in (("ldmatrix", "gets"), ("stmatrix", "fills"))
    ),
    Part(
        "matrices.movmatrix",
        "movmatrix: the lane and the half of a register that each half comes from",
        ("movmatrix",),
        lambda: MOVES,
        measure_moves,
        compare_moves,
    ),
)
"""What moves matrices."""
