"""The products of a journey: which fragments or descriptors meet which, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.check.match import Match, match
from tilewise.core.axes import Axis
from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.fragments import d_fragment
from tilewise.hardware.wgmma.instructions import K_BITS, Input, M
from tilewise.simulate.journey.stops import REGISTERS, Stop
from tilewise.simulate.journey.warps import ROWS, held, shape_of
from tilewise.simulate.memory import Memory
from tilewise.simulate.mma import mma
from tilewise.simulate.numbers import is_float
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import product
from tilewise.simulate.wgmma import WARPS, Wgmma, multiply

Array = np.ndarray[Any, Any]

REG = Axis("reg")
COLUMNS = 8
"""Columns of D of one mma.sync."""
REGISTERS_OF_A = 4
"""32-bit registers of a lane for A of one instruction 32 bytes deep."""
REGISTERS_OF_B = 2


@dataclass(frozen=True, eq=False)
class Product:
    """D of all instructions, in the registers of the warps."""

    instruction: str
    layout: Layout
    registers: Registers
    steps: tuple[dict[str, Any], ...]
    """The first row, column and k of every instruction, and its descriptors."""


def expected(a: Stop, b: Stop, c: Stop | None, dtype: DType) -> Array:
    """D as numbers, by K of one instruction after the other, without an engine."""
    deep = K_BITS // a.dtype.bits
    start = np.zeros((a.shape[0], b.shape[0])) if c is None else c.numbers
    found = start if is_float(dtype) else start.astype(np.int64)
    for k in range(0, a.shape[1], deep):
        found = product(a.numbers[:, k : k + deep], b.numbers[:, k : k + deep], found, dtype)
    return found


def check_depth(a: Stop, b: Stop, dtype: DType) -> int:
    """How many instructions go along K; refused where A and B do not meet, or a type is missing."""
    deep = K_BITS // a.dtype.bits
    if a.shape[1] != b.shape[1] or a.shape[1] % deep:
        raise Refused(
            "TW603",
            f"A is {a.shape[0]} x {a.shape[1]} and B {b.shape[0]} x {b.shape[1]}: K is not the same, or no "
            f"multiple of {deep}",
            witness={"a": list(a.shape), "b": list(b.shape), "k": deep},
            hint="A is [M, K] and B is [N, K]",
        )
    return a.shape[1] // deep


# -- mma.sync ----------------------------------------------------------------------------------------


def by_mma(a: Stop, b: Stop, c: Stop | None, dtype: DType) -> Product:
    """What one warp makes of the fragments in its registers."""
    left, right = _fragments(a, "A", 1), _fragments(b, "B", 1)
    deep = check_depth(a, b, dtype)
    words = f"{shape_of(a.dtype)}.row.col.{dtype}.{a.dtype}.{b.dtype}.{dtype}"
    each = COLUMNS * ROWS * dtype.bits // REGISTER_BITS // LANES
    down, along = a.shape[0] // ROWS, b.shape[0] // COLUMNS
    start = Registers.of(np.zeros((1, LANES, down * along * each))) if c is None else _fragments(c, "D", 1)
    made, steps = [], []
    for i in range(down):
        for j in range(along):
            d = _of(start, i * along + j, each)
            for k in range(deep):
                steps.append(_step(i * ROWS, j * COLUMNS, k, a))
                d = mma(
                    words,
                    _of(left, i * deep + k, REGISTERS_OF_A),
                    _of(right, j * deep + k, REGISTERS_OF_B),
                    d,
                )
            made.append(d)
    layout = held((a.shape[0], b.shape[0]), "D", dtype, 1)
    return Product(f"mma.{words}", layout, _beside(made), tuple(steps))


def _step(row: int, column: int, k: int, a: Stop, *read: Descriptor | Registers) -> dict[str, Any]:
    """Where an instruction begins, and the descriptors that it is given, if any."""
    named = zip("ab", read, strict=False)
    words = {name: str(one) for name, one in named if isinstance(one, Descriptor)}
    return {"m": row, "n": column, "k": k * K_BITS // a.dtype.bits} | words


def _of(registers: Registers, number: int, each: int) -> Registers:
    return registers[number * each : number * each + each]


def _beside(every: list[Registers]) -> Registers:
    first, *rest = every
    for one in rest:
        first = first.beside(one)
    return first


def _fragments(stop: Stop, operand: str, warps: int) -> Registers:
    if stop.registers is None or stop.operand != operand or stop.registers.warps != warps:
        raise Refused(
            "TW602",
            f"{stop.name} is no {operand} in the registers of {warps} warps",
            witness={"stop": stop.name, "space": stop.space, "operand": stop.operand},
            hint="to_registers(tile, operand, warps=...) loads fragments",
        )
    return stop.registers


# -- wgmma -------------------------------------------------------------------------------------------


def by_wgmma(a: Stop, b: Stop, c: Stop | None, dtype: DType, memory: Memory) -> Product:
    """What a warpgroup makes of tiles of shared memory, or of A in its registers and B in shared memory."""
    deep = check_depth(a, b, dtype)
    right = matched(b, "B")
    n = right.instruction[1]
    assert n is not None
    major, left = _left(a, deep)
    this = Wgmma(a.dtype.name, b.dtype.name, dtype.name, n, major, right.major)
    of_b = {(step.mn, step.k): step.descriptor for step in right.steps}
    down, along = a.shape[0] // M, b.shape[0] // n
    start = None if c is None else _fragments(c, "D", WARPS)
    made, steps = [], []
    for i in range(down):
        for j in range(along):
            d = None if start is None else _of(start, i * along + j, this.registers)
            for k in range(deep):
                one, other = left(i, k), of_b[j, k]
                d = multiply(this, one, other, memory, d)
                steps.append(_step(i * M, j * n, k, a, one, other))
            assert d is not None
            made.append(d)
    layout = d_fragment(dtype, n).tile(S[(down, along) : (along @ REG, 1 @ REG)])
    return Product(f"wgmma.{this}", layout, _beside(made), tuple(steps))


def _left(a: Stop, deep: int) -> tuple[str, Callable[[int, int], Descriptor | Registers]]:
    """The major of A, and what is multiplied in each step."""
    if a.space == REGISTERS:
        registers = _fragments(a, "A", WARPS)
        return "k", lambda i, k: _of(registers, i * deep + k, REGISTERS_OF_A)
    found = matched(a, "A")
    steps = {(step.mn, step.k): step.descriptor for step in found.steps}
    return found.major, lambda i, k: steps[i, k]


def matched(tile: Stop, operand: str) -> Match:
    """The descriptors of a tile; refused where none reads it (TW605)."""
    found = match(tile.layout, operand=operand, dtype=Input.of(tile.dtype).dtype)
    if isinstance(found, Match):
        return found
    first = found.reasons[0]
    raise Refused("TW605", f"{first.rule}: {first.message}", witness=first.witness, hint=first.hint)
