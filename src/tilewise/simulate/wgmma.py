"""wgmma in the model: a warpgroup multiplies the elements of two descriptors, or registers and a descriptor.

    D = A B^T + D        or, where scale-d is 0,        D = A B^T

`hardware.wgmma.engine` has the byte of each element of an operand, for any descriptor, legal or odd;
`hardware.wgmma.fragments` has the thread of each element of A and D. Both are compared with a device, element
by element. `sums` has the addition: exact, or by a device's known rounding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import Operand
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input, M
from tilewise.simulate.faults import Step
from tilewise.simulate.memory import Memory
from tilewise.simulate.numbers import cut, decode, is_float
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import Adder, product, slack
from tilewise.tables import table

Array = np.ndarray[Any, Any]

WARPS = 4
"""Warps of a warpgroup."""

_WORDS = re.compile(
    r"(?:wgmma\.)?(?:mma_async\.sync\.aligned\.)?m64n(\d+)k(\d+)(\.satfinite)?"
    r"\.(\w+)\.(\w+)\.(\w+)(\.satfinite)?(?:\.and\.popc)?"
)


@dataclass(frozen=True, slots=True)
class Wgmma:
    """One wgmma.mma_async: types, N, majors of operands in shared memory, negations.

    >>> this = Wgmma.of("m64n128k16.f32.bf16.bf16", b_major="mn")
    >>> this.shape, this.registers, str(this)
    ((64, 128, 16), 64, 'm64n128k16.f32.bf16.bf16')
    """

    a: str
    b: str
    d: str
    n: int
    a_major: str = "k"
    b_major: str = "k"
    negate_a: bool = False
    """True if imm-scale-a is -1."""
    negate_b: bool = False
    saturate: bool = False
    """True for .satfinite, of s8 and u8."""

    def __post_init__(self) -> None:
        Input.of(self.a).check_product(self.b, self.d, self.n, self.a_major, self.b_major)
        if not is_float(self.a) and (self.negate_a or self.negate_b):
            raise Refused("TW602", f"wgmma of {self.a} negates nothing", hint="floats alone have the scales")
        if self.saturate and self.a not in ("s8", "u8"):
            raise Refused("TW602", f"wgmma of {self.a} does not saturate", hint="s8 and u8 have .satfinite")

    @classmethod
    def of(cls, words: str | Wgmma, **more: Any) -> Wgmma:
        """Return the instruction of these words, as PTX has them: m64n128k16.f32.bf16.bf16, D, A and B."""
        if isinstance(words, Wgmma):
            return words
        said = _WORDS.fullmatch(words)
        if said is None:
            raise LayoutError(
                "TW601", f"{words!r} is no dense wgmma", hint="such as m64n128k16.f32.bf16.bf16"
            )
        n, k, first, d, a, b, last = said.groups()
        saturates = {"saturate": True} if first or last else {}
        this = cls(a, b, d, int(n), **{**more, **saturates})
        if this.k != int(k):
            raise Refused("TW602", f"wgmma of {a} is {this.k} deep, not {k}", hint=f"say {this}")
        return this

    @property
    def k(self) -> int:
        """Return K of the instruction, in elements."""
        return Input.of(self.a).k

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (M, N, K)."""
        return M, self.n, self.k

    @property
    def registers(self) -> int:
        """Return the 32-bit registers of D in a thread."""
        return M * self.n * DType.of(self.d).bits // REGISTER_BITS // (WARPS * LANES)

    @property
    def adder(self) -> Adder:
        """Return a device's addition of its floats, if it is known."""
        return Adder.of("wgmma", self.a, self.b, self.k)

    def __str__(self) -> str:
        words = f"m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}"
        return words + ".satfinite" * self.saturate


# -- products ----------------------------------------------------------------------------------------


def multiply(
    this: Wgmma | str,
    a: Descriptor | int | Registers,
    b: Descriptor | int,
    memory: Memory,
    d: Registers | None = None,
    *,
    adder: Adder | None = None,
) -> Registers:
    """Return D of the four warps after one wgmma.

    `d` has the registers before it, or None if scale-d is 0 and nothing is added. Floats are added by
    `adder`, such as `this.adder`; without one exactly, and rounded once.

        requires       every element that a descriptor names, and every register, was written
        postcondition  D, by its fragment, is A B^T + D

    >>> shared = Memory(4096)
    >>> shared.put([1] * 1024 + [2] * 128, "f16")
    >>> a, b = Descriptor(lbo=128, sbo=256), Descriptor(start=2048, lbo=128, sbo=256)
    >>> d = multiply("m64n8k16.f32.f16.f16", a, b, shared)
    >>> d.warps, d.count, d.numbers(d_fragment("f32", 8), "f32")[63, 7]
    (4, 4, np.float64(32.0))
    """
    this = Wgmma.of(this)
    found = product(*_operands(this, a, b, memory, d), this.d, saturate=this.saturate, adder=adder)
    return Registers.holding(found, d_fragment(this.d, this.n), this.d)


def bound(
    this: Wgmma | str,
    a: Descriptor | int | Registers,
    b: Descriptor | int,
    memory: Memory,
    d: Registers | None = None,
) -> Array:
    """Return a bound of a device's distance from the exact D, [M, N]: `sums.slack`, 0 for integers."""
    this = Wgmma.of(this)
    if not is_float(this.d):
        return np.zeros((M, this.n))
    return slack(*_operands(this, a, b, memory, d), this.d, this.adder)


def read(this: Wgmma | str, operand: str, descriptor: Descriptor | int, memory: Memory) -> Array:
    """Return the numbers [rows, K] that a descriptor reads of an operand."""
    this = Wgmma.of(this)
    dtype = this.a if operand == "A" else this.b
    bits = DType.of(dtype).bits
    held = memory.read(_step(this, operand), places(this, operand, descriptor), max(1, bits // 8))
    if bits >= 8:
        return decode(cut(held, bits)[..., 0], dtype)
    each = 8 // bits
    return decode(held[..., 0] >> (np.arange(this.k) % each * bits), dtype)


def places(this: Wgmma | str, operand: str, descriptor: Descriptor | int) -> Array:
    """Return the byte [rows, K] that a descriptor reads for each element of an operand.

    >>> places("m64n8k16.f32.f16.f16", "B", Descriptor(start=1024, sbo=1024, mode="128B"))[1, ::8].tolist()
    [1168, 1152]
    """
    this = Wgmma.of(this)
    dtype, major = (this.a, this.a_major) if operand == "A" else (this.b, this.b_major)
    known = descriptor if isinstance(descriptor, Descriptor) else Descriptor.decode(descriptor)
    byte = np.empty((M if operand == "A" else this.n, this.k), np.int64)
    for piece in Operand(dtype, major, operand, this.n).pieces(known):
        (top, below), (left, right) = piece.box
        byte[top:below, left:right] = table(piece.layout).array.reshape(below - top, right - left)
    return byte


def _operands(
    this: Wgmma, a: Descriptor | int | Registers, b: Descriptor | int, memory: Memory, d: Registers | None
) -> tuple[Array, Array, Array]:
    """Return the numbers of A, B and D, with the signs of the instruction."""
    if not isinstance(a, Registers):
        left = read(this, "A", a, memory)
    elif this.a_major != "k":
        raise Refused("TW602", "A of registers has no major", hint="only descriptors are read MN-major")
    else:
        left = a.numbers(a_fragment(this.a), this.a, step=_step(this, "A"))
    right = read(this, "B", b, memory)
    if d is None:
        start = np.zeros((M, this.n), left.dtype)
    else:
        start = d.numbers(d_fragment(this.d, this.n), this.d, step=_step(this, "D"))
    return -left if this.negate_a else left, -right if this.negate_b else right, start


def _step(this: Wgmma, operand: str) -> Step:
    """Return the step that names one operand of the instruction as a culprit."""
    rows, name = (M, "m") if operand == "A" else (this.n, "n")
    return Step(f"wgmma.{this}, {operand}", rows=(name, "k"), shape=(rows, this.k))
