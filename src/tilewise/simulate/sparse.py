"""mma.sp: a warp multiplies a stored half of A, whose metadata says which columns its elements have.

How A is stored and which lanes supply its metadata, `hardware.mma.sparse` says, in tables that a device has
confirmed for any metadata. How a device adds the floats of a sparse product, nobody has said: sums are exact
and rounded once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.hardware.mma.instructions import Instruction
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import UNITS, Sparse
from tilewise.hardware.mma.words import named
from tilewise.simulate.faults import Step
from tilewise.simulate.mma import SATURATES, dtype_of
from tilewise.simulate.numbers import decode, encode
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import product

Array = np.ndarray[Any, Any]


def mma_sp(
    this: Instruction | str,
    a: Registers,
    b: Registers,
    c: Registers,
    metadata: Registers,
    *,
    selector: int = 0,
    saturate: bool = False,
) -> Registers:
    """D's registers, of one warp.

        requires       a sparse instruction that is no kind's; registers that were written, those of the
                       metadata by the lanes that the selector names; indices that ascend, where the
                       instruction says that they do
        postcondition  D[m, n] = C[m, n] + the sum over the stored s of A[m, s] B[n, column of s]

    >>> words = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    >>> whole = np.tile([3, 0, 0, 4], (16, 4))
    >>> a, metadata = stored(words, whole)
    >>> b, c = operand(words, "B", np.ones((8, 16))), operand(words, "C", np.zeros((16, 8)))
    >>> mma_sp(words, a, b, c, metadata).numbers(fragment_of(words, "D"), "f32")[0, 0]
    np.float64(28.0)
    """
    own = _sparse(this)
    half = Sparse.of(own.shape, own.a)
    left, right, start = (
        held.numbers(fragment_of(own, name), dtype_of(own, name), step=Step(f"{own}, {name}"))
        for name, held in zip("ABC", (a, b, c), strict=True)
    )
    columns = columns_of(own, metadata, selector)
    found = product(
        left[:, None, :],
        right[:, columns].transpose(1, 0, 2),
        start[:, None, :],
        own.d,
        saturate=saturate or (isinstance(this, str) and SATURATES in this.split(".")),
    )
    return Registers.holding(found[:, 0], half.d_fragment, own.d)


def operand(this: Instruction | str, name: str, numbers: Any) -> Registers:
    """The registers that hold the stored A [M, K/2], B [N, K], C or D [M, N], rounded to the type."""
    own = _sparse(this)
    return Registers.holding(numbers, fragment_of(own, name), dtype_of(own, name))


def stored(this: Instruction | str, whole: Any, *, selector: int = 0) -> tuple[Registers, Registers]:
    """The registers of the stored half of A, and of its metadata, which lanes that supply none leave empty.

    requires  an A [M, K] of whose every chunk no more than half is other than 0
    """
    own = _sparse(this)
    half = Sparse.of(own.shape, own.a)
    kept, indices = half.compress(encode(np.asarray(whole) + 0, own.a).astype(np.int64).tolist())
    words = np.array(half.pack(indices, selector), np.uint32)
    supplies = np.isin(np.arange(len(words)), half.lanes(selector))
    known = np.where(supplies, np.uint32(0xFFFFFFFF), np.uint32(0))
    metadata = Registers(words.reshape(1, -1, 1), known.reshape(1, -1, 1))
    return operand(own, "A", decode(kept, own.a)), metadata


def columns_of(this: Instruction | str, metadata: Registers, selector: int = 0) -> Array:
    """[M, K/2]: the column of A that each stored element has."""
    own = _sparse(this)
    half = Sparse.of(own.shape, own.a)
    step = Step(f"{own}, metadata")
    indices = metadata.codes(half.metadata(selector), INDEX, step=step)
    if own.ordered:
        half.check_indices(indices.tolist())
    which, columns = _choices(half)
    found: Array = columns[indices[:, which], np.arange(half.stored)]
    return found


def fragment_of(this: Instruction | str, name: str) -> Layout:
    """The layout of A as it is stored, of B, C or D."""
    own = _sparse(this)
    half = Sparse.of(own.shape, own.a)
    fragments = {"A": half.a_fragment, "B": half.b_fragment, "C": half.d_fragment, "D": half.d_fragment}
    if name not in fragments:
        raise LayoutError("TW601", f"{name!r} is no operand of {own}", hint="A, B, C and D are")
    return fragments[name]


@cache
def _choices(half: Sparse) -> tuple[Array, Array]:
    """The first index of each stored element, and by its value, [4, K/2], the column that the element has."""
    elements = range(half.stored)
    values = [[half.column(s, [value] * half.indices) for s in elements] for value in range(UNITS)]
    return np.array([half.indices_of(s)[0] for s in elements]), np.array(values)


@cache
def _sparse(this: Instruction | str) -> Instruction:
    found = named(str(this))
    if not found.sparse or found.kind:
        raise Refused(
            "TW602",
            f"{found} is no mma.sp that the model has",
            witness={"instruction": str(found)},
            hint="those of the kinds of sm_120 are left out; tilewise.simulate.mma has the dense ones",
        )
    return found
