"""Questions to ldmatrix, stmatrix and movmatrix: any addresses of rows, and addresses that fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewise.gpu.launch import Array
from tilewise.gpu.verify.matrices import BYTES
from tilewise.gpu.verify.part import Questions
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.forms import Form, forms, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tools.questions import confirming

SEED = 20_262
AT_RANDOM = 60
"""Cases of each form whose addresses are drawn; some more are in order, or all one row."""

INSTRUCTIONS = ("ldmatrix", "stmatrix")

MOVES, HALVES = 32, 2 * LANES

FAR, ODD = 0x7FFF_FFF0, 0xFFFF_FFF1
"""Addresses that no block has, one a multiple of 16 and one not."""


def asked(instruction: str) -> list[Form]:
    """Return the forms of an instruction that sm_90 has."""
    return [form for form in forms(instruction) if not form.kind.special]


def addresses_of(form: Form) -> Array:
    """Return [case, lane]: addresses from the start of shared memory on, those of unread lanes among them.

    Rows that are stored are all different ones; rows that are loaded may be the same.
    """
    dice = np.random.default_rng([SEED, form.count, form.trans])
    rows, lanes = BYTES // ROW_BYTES, np.arange(LANES)
    if form.instruction == "stmatrix":
        drawn = [dice.permutation(rows)[:LANES] for _ in range(AT_RANDOM)]
        plain = [lanes, lanes[::-1] + rows - LANES]
    else:
        drawn = list(dice.integers(0, rows, (AT_RANDOM, LANES)))
        plain = [lanes, np.full(LANES, rows - 1)]
    return np.array([*plain, *drawn]) * ROW_BYTES


def given() -> list[list[int]]:
    """Return [case, half]: what the halves hold before movmatrix, each number once."""
    dice = np.random.default_rng(SEED)
    return [list(range(HALVES)), *(dice.permutation(HALVES).tolist() for _ in range(MOVES - 1))]


def fault_addresses(form: Form) -> list[Array]:
    """Return addresses that are odd or outside, in lanes that are read and in others."""
    usual = addresses_of(form)[2]
    unread, last = form.unread, form.unread.start - 1
    changes: list[tuple[int | range, int]] = [
        (last, BYTES - ROW_BYTES),
        (last, BYTES),
        (last, FAR),
        (0, usual[0] + 1),
        (last, usual[last] + 8),
    ]
    if unread:
        first = unread.start
        changes += [(first, usual[first] + 2), (first, BYTES), (first, FAR), (LANES - 1, ODD), (unread, ODD)]
    cases = []
    for lane, address in changes:
        lanes = usual.copy()
        lanes[lane] = address
        cases.append(lanes)
    return cases


def _questions(
    instructions: Sequence[str], addresses: Callable[[Form], Sequence[Array] | Array]
) -> Questions:
    """Return each form of the instructions with each of its addresses, and the instances of these forms."""
    every = [form for name in instructions for form in asked(name)]
    cases: list[dict[str, Any]] = [
        {"form": short(form), "instruction": form.instruction, "addresses": lanes.tolist()}
        for form in every
        for lanes in addresses(form)
    ]

    def known(name: str) -> tuple[str, ...]:
        return confirming(name, lambda values: Form.of(name, values["form"], bool(values["trans"])) in every)

    return Questions(tuple(word for name in instructions for word in known(name)), cases)


QUESTIONS: dict[str, Callable[[], Questions]] = {
    "matrices.ldmatrix": lambda: _questions(["ldmatrix"], addresses_of),
    "matrices.stmatrix": lambda: _questions(["stmatrix"], addresses_of),
    "matrices.movmatrix": lambda: Questions(("movmatrix",), [{"given": numbers} for numbers in given()]),
    "matrices.faults": lambda: _questions(INSTRUCTIONS, fault_addresses),
}
"""The questions of each part, drawn when called."""
