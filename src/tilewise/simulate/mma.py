"""mma.sync and mma.sp: every warp multiplies the fragments in its registers, D = A B + C.

`hardware.mma` has the lane of each element, in tables that a device has confirmed; `sums` has a tensor core's
arithmetic. A sparse instruction multiplies a stored half of A, whose metadata give the columns of its
elements. No document says how a device adds the floats of a sparse product: sums are exact and rounded once.
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
from tilewise.hardware.mma.kinds import INDEX, container
from tilewise.hardware.mma.machine import runs_as
from tilewise.hardware.mma.sparse import UNITS, Sparse
from tilewise.hardware.mma.words import named
from tilewise.simulate.faults import Step
from tilewise.simulate.numbers import decode, encode, fitted
from tilewise.simulate.registers import EVERY, Padded, Registers
from tilewise.simulate.sums import Adder, product, rounding_float, slack, slack_in_any_order

Array = np.ndarray[Any, Any]


SATURATES = "satfinite"


def mma(
    this: Instruction | str,
    a: Registers,
    b: Registers,
    c: Registers,
    metadata: Registers | None = None,
    *,
    selector: int = 0,
    saturate: bool = False,
    adds_as: Architecture | str | None = None,
) -> Registers:
    """Return D's registers, of as many warps as A, B and C, each multiplied alone; a sparse one has one warp.

    Floats are added exactly and rounded once, or as an architecture is known to add them. The word
    satfinite in the instruction, or `saturate`, keeps integers at the ends of their range.

        requires       an instruction without scales; registers that were written. A sparse one needs its
                       metadata, in the lanes that the selector names; the indices of an ordered instruction
                       ascend
        postcondition  result(...) of it is sums.product(A, B, C)

    >>> a = operand("m16n8k16.row.col.f32.f16.f16.f32", "A", np.eye(16))
    >>> b = operand("m16n8k16.row.col.f32.f16.f16.f32", "B", np.arange(128).reshape(8, 16))
    >>> c = operand("m16n8k16.row.col.f32.f16.f16.f32", "C", np.full((16, 8), 0.5))
    >>> d = mma("m16n8k16.row.col.f32.f16.f16.f32", a, b, c)
    >>> result("m16n8k16.row.col.f32.f16.f16.f32", d)[2].tolist()
    [2.5, 18.5, 34.5, 50.5, 66.5, 82.5, 98.5, 114.5]
    >>> words = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> a, metadata = stored(words, np.tile([3, 0, 0, 4], (16, 4)))
    >>> b, c = operand(words, "B", np.ones((8, 16))), operand(words, "C", np.zeros((16, 8)))
    >>> result(words, mma(words, a, b, c, metadata))[0, 0]
    np.float64(28.0)
    """
    own = _known(this)
    saturates = saturate or (isinstance(this, str) and SATURATES in this.split("."))
    adder = None if adds_as is None else adder_of(own, adds_as)
    left, right, start = _numbers(own, a, b, c)
    if (metadata is None) is own.sparse or (own.sparse and a.warps != 1):
        takes = "the metadata of one warp" if own.sparse else "no metadata"
        raise LayoutError("TW203", f"{own} takes {takes}")
    if metadata is not None:
        columns = columns_of(own, metadata, selector)
        left, start = left[..., None, :], start[..., None, :]
        right = np.moveaxis(right[..., columns], -2, -3)  # [warp, product, M, N, K/2]
    found = product(left, right, start, own.d, op=own.op, saturate=saturates, adder=adder)
    if own.sparse:
        found = found[..., 0, :]
    return _into(own, "D", found, Registers.empty(registers_of(own, "D"), warps=a.warps))


def operand(this: Instruction | str, name: str, numbers: Any) -> Registers:
    """Return the registers of one warp that hold A [M, K], B [N, K], C or D [M, N], rounded to the type.

    A sparse A is its stored half, [M, K/2]. Volta's m8n8k4 of f16 takes four of them, [product, ...]; a
    single one stands for all four.
    """
    own = _known(this)
    fragments = fragments_of(own, name)
    one = extents_of(fragments[0].shape)
    alone = np.size(numbers) == fragments[0].size
    given = fitted(numbers, one if alone else (len(fragments), *one))
    every = np.broadcast_to(given.reshape(-1, fragments[0].size), (len(fragments), fragments[0].size))
    return _into(own, name, every[None], Registers.empty(registers_of(own, name)))


def result(this: Instruction | str, registers: Registers, name: str = "D") -> Array:
    """Return the numbers of D, or another operand, of one warp: [rows, columns], Volta's [product, ...]."""
    found: Array = numbers_of(_known(this), name, registers)[0]
    return found[0] if len(found) == 1 else found


def bound(
    this: Instruction | str, a: Registers, b: Registers, c: Registers, arch: Architecture | str
) -> Array:
    """Return a bound of the distance of an architecture's D from the model's exact D, [warp, product, M, N].

    It is 0 for integers and f64; `sums.slack` if the addition of floats is known; and a wider bound, for any
    order, if an architecture replaces the instruction by others.
    """
    dense = _dense(this)
    left, right, start = _numbers(dense, a, b, c)
    adder = adder_of(dense, arch)
    if adder is None:
        return slack_in_any_order(left, right, start, dense.d)
    return slack(left, right, start, dense.d, adder)


def adder_of(this: Instruction | str, arch: Architecture | str) -> Adder | None:
    """Return an architecture's addition of the floats of an instruction.

    Return None if sums leave no choice, or if other instructions replace it, in an order that no document
    gives.

    >>> adder_of("m16n8k16.row.col.f32.f16.f16.f32", "sm_90").fraction
    25
    >>> adder_of("m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90") is None
    True
    """
    dense = _dense(this)
    if rounding_float(dense.d) is None or runs_as(dense, arch):
        return None
    return Adder.of("mma", dense.a, dense.b, dense.shape.k, arch)


# -- operands --------------------------------------------------------------------------------------


@cache
def fragments_of(this: Instruction, name: str) -> tuple[Layout, ...]:
    """Return the layouts of an operand, one for each product that the instruction computes."""
    dtype = dtype_of(this, name)
    if this.sparse:
        half = Sparse.of(this.shape, this.a)
        return ({"A": half.a_fragment, "B": half.b_fragment}.get(name, half.d_fragment),)
    majors, products = this.majors, range(this.products)
    if name == "A":
        return tuple(a_fragment(this.shape, dtype, majors[0], each) for each in products)
    if name == "B":
        return tuple(b_fragment(this.shape, dtype, majors[1], each) for each in products)
    return tuple(d_fragment(this.shape, dtype, each) for each in products)


def dtype_of(this: Instruction, name: str) -> DType:
    """Return the type of an operand."""
    types = {"A": this.a, "B": this.b, "C": this.d if this.sparse else this.c, "D": this.d}
    if name not in types:
        raise LayoutError("TW601", f"{name!r} is no operand of {this}", hint="A, B, C and D are")
    return DType.of(types[name])


@cache
def registers_of(this: Instruction, name: str) -> int:
    """Return the 32-bit registers that a lane has of an operand.

    >>> registers_of(named("m16n8k16.row.col.f32.f16.f16.f32"), "A")
    4
    """
    places = sum(fragment.size for fragment in fragments_of(this, name))
    return places * _element(this, name).taken // (LANES * REGISTER_BITS)


def numbers_of(this: Instruction, name: str, held: Registers) -> Array:
    """Return [warp, product, rows, columns]: the numbers of an operand in registers."""
    if held.count != registers_of(this, name):
        raise LayoutError(
            "TW203", f"{name} of {this} is in {registers_of(this, name)} registers, not {held.count}"
        )
    step, dtype = Step(f"{this}, {name}"), _element(this, name)
    every = [held.numbers(one, dtype, step=step, each=True) for one in fragments_of(this, name)]
    return np.stack(every, axis=1)


def _numbers(this: Instruction, a: Registers, b: Registers, c: Registers) -> list[Array]:
    """Return the numbers of A, B and C in the warps' registers."""
    if not a.warps == b.warps == c.warps:
        raise LayoutError(
            "TW203",
            f"A is of {a.warps}, B of {b.warps} and C of {c.warps} warps",
            hint="each warp multiplies what is in its own registers",
        )
    return [numbers_of(this, *pair) for pair in zip("ABC", (a, b, c), strict=True)]


def _into(this: Instruction, name: str, numbers: Array, held: Registers) -> Registers:
    """Return the registers with numbers [warp, product, ...] in them."""
    for number, fragment in enumerate(fragments_of(this, name)):
        held = held.put(numbers[:, number], fragment, _element(this, name), each=True)
    return held


@cache
def _element(this: Instruction, name: str) -> Padded:
    dtype = dtype_of(this, name)
    return Padded(dtype, *container(this.shape, dtype)) if name in "AB" else Padded.of(dtype)


@cache
def _known(this: Instruction | str) -> Instruction:
    found = named(str(this))
    if found.scaling or (found.sparse and found.kind):
        raise Refused(
            "TW602",
            f"mma does not multiply {found}",
            witness={"instruction": str(found)},
            hint="the model has the instructions without scales, and mma.sp but for the kinds of sm_120",
        )
    return found


def _dense(this: Instruction | str) -> Instruction:
    found = _known(this)
    if found.sparse:
        raise Refused(
            "TW602",
            f"how a device adds the floats of {found} is not known",
            witness={"instruction": str(found)},
            hint="leave the architecture out: sums are exact then, and rounded once",
        )
    return found


# -- the stored half of a sparse A -----------------------------------------------------------------


def stored(this: Instruction | str, whole: Any, *, selector: int = 0) -> tuple[Registers, Registers]:
    """Return the registers of A's stored half, and of its metadata, empty in lanes that supply none.

    requires  an A [M, K] in whose every chunk at most half of the elements differ from 0
    """
    own, half = _sparse(this)
    kept, indices = half.compress(encode(np.asarray(whole) + 0, own.a).astype(np.int64).tolist())
    words = np.array(half.pack(indices, selector), np.uint32)
    supplies = np.isin(np.arange(len(words)), half.lanes(selector))
    known = np.where(supplies, EVERY, np.uint32(0))
    metadata = Registers(words.reshape(1, -1, 1), known.reshape(1, -1, 1))
    return operand(own, "A", decode(kept, own.a)), metadata


def columns_of(this: Instruction | str, metadata: Registers, selector: int = 0) -> Array:
    """Return [M, K/2]: the column of A of each stored element."""
    own, half = _sparse(this)
    step = Step(f"{own}, metadata")
    indices = metadata.codes(half.metadata(selector), INDEX, step=step)
    if own.ordered:
        half.check_indices(indices.tolist())
    which, columns = _choices(half)
    found: Array = columns[indices[:, which], np.arange(half.stored)]
    return found


def _sparse(this: Instruction | str) -> tuple[Instruction, Sparse]:
    """Return a sparse instruction, and the form in which it stores A."""
    own = _known(this)
    if not own.sparse:
        raise Refused("TW602", f"{own} is no sparse instruction", witness={"instruction": str(own)})
    return own, Sparse.of(own.shape, own.a)


@cache
def _choices(half: Sparse) -> tuple[Array, Array]:
    """Return the first index of each stored element, and its column for each value of that, [4, K/2]."""
    elements = range(half.stored)
    values = [[half.column(s, [value] * half.indices) for s in elements] for value in range(UNITS)]
    return np.array([half.indices_of(s)[0] for s in elements]), np.array(values)
