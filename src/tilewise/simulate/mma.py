"""mma.sync: every warp multiplies the fragments that lie in its registers, D = A B + C.

Which lane holds which element, `hardware.mma.fragments` says, in tables that a device has confirmed; what a
tensor core makes of the numbers, `sums`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import Instruction
from tilewise.hardware.mma.kinds import container
from tilewise.hardware.mma.machine import runs_as
from tilewise.hardware.mma.words import named
from tilewise.simulate.faults import Step
from tilewise.simulate.numbers import fitted
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import Adder, product, rounding_float, slack, slack_in_any_order

Array = np.ndarray[Any, Any]


SATURATES = "satfinite"


def mma(
    this: Instruction | str,
    a: Registers,
    b: Registers,
    c: Registers,
    *,
    saturate: bool = False,
    adds_as: Architecture | str | None = None,
) -> Registers:
    """D's registers, of as many warps as A, B and C are of, each on its own.

    Floats are added exactly and rounded once, or as an architecture adds them, where that is known. The word
    satfinite in the instruction, or `saturate`, keeps integers at the ends of their range.

        requires       a dense instruction without scales; registers that were written
        postcondition  result(...) of it is sums.product(A, B, C)

    >>> a = operand("m16n8k16.row.col.f32.f16.f16.f32", "A", np.eye(16))
    >>> b = operand("m16n8k16.row.col.f32.f16.f16.f32", "B", np.arange(128).reshape(8, 16))
    >>> c = operand("m16n8k16.row.col.f32.f16.f16.f32", "C", np.full((16, 8), 0.5))
    >>> d = mma("m16n8k16.row.col.f32.f16.f16.f32", a, b, c)
    >>> result("m16n8k16.row.col.f32.f16.f16.f32", d)[2].tolist()
    [2.5, 18.5, 34.5, 50.5, 66.5, 82.5, 98.5, 114.5]
    """
    dense = _dense(this)
    saturates = saturate or (isinstance(this, str) and SATURATES in this.split("."))
    op = dense.op if isinstance(dense, Instruction) else ""
    adder = None if adds_as is None else adder_of(dense, adds_as)
    left, right, start = _numbers(dense, a, b, c)
    found = product(left, right, start, dense.d, op=op, saturate=saturates, adder=adder)
    return _into(dense, "D", found, Registers.empty(registers_of(dense, "D"), warps=a.warps))


def operand(this: Instruction | str, name: str, numbers: Any) -> Registers:
    """The registers of one warp that hold A [M, K], B [N, K], C or D [M, N], rounded to the type.

    Volta's m8n8k4 of f16 takes four of them, [product, ...]; one alone is all four.
    """
    dense = _dense(this)
    fragments = fragments_of(dense, name)
    one = extents_of(fragments[0].shape)
    alone = np.size(numbers) == fragments[0].size
    given = fitted(numbers, one if alone else (len(fragments), *one))
    every = np.broadcast_to(given.reshape(-1, fragments[0].size), (len(fragments), fragments[0].size))
    return _into(dense, name, every[None], Registers.empty(registers_of(dense, name)))


def result(this: Instruction | str, registers: Registers, name: str = "D") -> Array:
    """The numbers of D, or of another operand, of one warp: [rows, columns], Volta's [product, ...]."""
    found: Array = numbers_of(_dense(this), name, registers)[0]
    return found[0] if len(found) == 1 else found


def bound(
    this: Instruction | str, a: Registers, b: Registers, c: Registers, arch: Architecture | str
) -> Array:
    """How far D of an architecture may be from the model's exact one, [warp, product, M, N].

    0 for integers and f64; `sums.slack` where it is known how floats are added; a wider bound, for any order,
    where an architecture runs the instruction as others.
    """
    dense = _dense(this)
    left, right, start = _numbers(dense, a, b, c)
    adder = adder_of(dense, arch)
    if adder is None:
        return slack_in_any_order(left, right, start, dense.d)
    return slack(left, right, start, dense.d, adder)


def adder_of(this: Instruction | str, arch: Architecture | str) -> Adder | None:
    """How an architecture adds the floats of an instruction.

    None where sums leave no choice, and where it runs the instruction as others, in an order nobody has said.

    >>> adder_of("m16n8k16.row.col.f32.f16.f16.f32", "sm_90").fraction
    25
    >>> adder_of("m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90") is None
    True
    """
    dense = _dense(this)
    as_others = isinstance(dense, Instruction) and runs_as(dense, arch)
    if rounding_float(dense.d) is None or as_others:
        return None
    return Adder.of("mma", dense.a, dense.b, dense.shape.k, arch)


# -- operands --------------------------------------------------------------------------------------


@cache
def fragments_of(this: Instruction, name: str) -> tuple[Layout, ...]:
    """The layouts of an operand, one for each product that the instruction computes."""
    majors, products = this.majors, range(this.products)
    dtype = dtype_of(this, name)
    if name == "A":
        return tuple(a_fragment(this.shape, dtype, majors[0], each) for each in products)
    if name == "B":
        return tuple(b_fragment(this.shape, dtype, majors[1], each) for each in products)
    return tuple(d_fragment(this.shape, dtype, each) for each in products)


def dtype_of(this: Instruction, name: str) -> DType:
    """The type of an operand."""
    types = {"A": this.a, "B": this.b, "C": getattr(this, "c", this.d), "D": this.d}
    if name not in types:
        raise LayoutError("TW601", f"{name!r} is no operand of {this}", hint="A, B, C and D are")
    return DType.of(types[name])


@cache
def registers_of(this: Instruction, name: str) -> int:
    """32-bit registers that a lane has of an operand.

    >>> registers_of(named("m16n8k16.row.col.f32.f16.f16.f32"), "A")
    4
    """
    places = sum(fragment.size for fragment in fragments_of(this, name))
    return places * _container(this, name)[0] // (LANES * REGISTER_BITS)


def numbers_of(this: Instruction, name: str, held: Registers) -> Array:
    """[warp, product, rows, columns]: what the registers hold of an operand."""
    if held.count != registers_of(this, name):
        raise LayoutError(
            "TW203", f"{name} of {this} is in {registers_of(this, name)} registers, not {held.count}"
        )
    taken, lowest = _container(this, name)
    step, dtype = Step(f"{this}, {name}"), dtype_of(this, name)
    fragments = fragments_of(this, name)
    every = [held.numbers(one, dtype, taken=taken, lowest=lowest, step=step, each=True) for one in fragments]
    return np.stack(every, axis=1)


def _numbers(this: Instruction, a: Registers, b: Registers, c: Registers) -> list[Array]:
    """What the warps hold of A, B and C."""
    if not a.warps == b.warps == c.warps:
        raise LayoutError(
            "TW203",
            f"A is of {a.warps}, B of {b.warps} and C of {c.warps} warps",
            hint="each warp multiplies what is in its own registers",
        )
    return [numbers_of(this, *pair) for pair in zip("ABC", (a, b, c), strict=True)]


def _into(this: Instruction, name: str, numbers: Array, held: Registers) -> Registers:
    """The registers with numbers [warp, product, ...] in them."""
    taken, lowest = _container(this, name)
    dtype = dtype_of(this, name)
    for number, fragment in enumerate(fragments_of(this, name)):
        held = held.put(numbers[:, number], fragment, dtype, taken=taken, lowest=lowest, each=True)
    return held


@cache
def _container(this: Instruction, name: str) -> tuple[int, int]:
    """(bits of a register that an element takes, the lowest of them that is its own)."""
    dtype = dtype_of(this, name)
    return container(this.shape, dtype) if name in "AB" else (dtype.bits, 0)


@cache
def _dense(this: Instruction | str) -> Instruction:
    found = named(str(this))
    if found.scaling or found.sparse:
        raise Refused(
            "TW602",
            f"mma does not multiply {found}",
            witness={"instruction": str(found)},
            hint="this module has the dense instructions without scales, tilewise.simulate.sparse has mma.sp",
        )
    return found
