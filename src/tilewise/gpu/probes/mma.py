"""One mma.sync as CUDA source: a kernel that multiplies what it is given, register by register.

The kernel knows nothing of fragments, nor of what a register means. A job is a row of A's registers, one
of B's, one of C's and one of metadata; what comes out are D's registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.gpu.launch import Array
from tilewise.gpu.probes.kernels import ONE, Kernels, packed, planes
from tilewise.hardware.limits import LANES, REGISTER_BITS

INTEGERS = {
    "s8": ((0xFE, -2), (0xFF, -1)),
    "u8": ((0xFE, 254), (0xFF, 255)),
    "s4": ((0xE, -2), (0xF, -1)),
    "u4": ((0xE, 14), (0xF, 15)),
}
"""Bits and number of what A and B hold in place of one: each pair of types has a product of its own."""


@dataclass(frozen=True, slots=True)
class WarpOperand:
    """What each lane of a warp holds of an operand: elements of a type, in so many 32-bit registers.

    >>> WarpOperand("f16", 4).places, WarpOperand("f64", 4).places
    (256, 64)
    """

    dtype: str
    registers: int

    @classmethod
    def of(cls, dtype: str, places: int) -> WarpOperand:
        """As many registers as a warp needs for those places."""
        return cls(dtype, places * DType.of(dtype).bits // (LANES * REGISTER_BITS))

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return DType.of(self.dtype).bits

    @property
    def places(self) -> int:
        """Elements that the warp holds: place E lane + element, of E elements a lane."""
        return LANES * self.registers * REGISTER_BITS // self.bits

    @property
    def word(self) -> tuple[str, str]:
        """The letter that a register of CUDA's assembly has, and its type in C++."""
        return {"f32": ("f", "float"), "f64": ("d", "double")}.get(self.dtype, ("r", "unsigned"))

    @property
    def words(self) -> int:
        """Registers of that letter: one of a double is two of 32 bits."""
        return self.registers // max(1, self.bits // REGISTER_BITS)

    def words_of(self, ones: Array, value: int) -> Array:
        """Return rows of places, each with a value or zero, as registers: [row, lane, register]."""
        return packed(ones, self.bits, value).reshape(len(ones), LANES, self.registers)


@dataclass(frozen=True, slots=True)
class MmaProbe:
    """An instruction to be asked, as a kernel has it.

    >>> a, b, c = WarpOperand("f16", 4), WarpOperand("f16", 2), WarpOperand("f32", 4)
    >>> MmaProbe("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, c, c).kernel
    'probe_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32'
    """

    opcode: str
    a: WarpOperand
    b: WarpOperand
    c: WarpOperand
    d: WarpOperand
    selector: int | None = None
    """Which lanes' metadata a sparse instruction reads; None where it is dense."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        word = re.sub(r"\W+", "_", self.opcode)
        return f"probe_{word}" + ("" if self.selector is None else f"_{self.selector}")

    @property
    def differs(self) -> bool:
        """Whether bits are compared and not multiplied, so that a pair of zeros counts as a pair of ones."""
        return self.opcode.endswith(".xor.popc")

    def __str__(self) -> str:
        return self.opcode + ("" if self.selector is None else f", selector {self.selector}")


def factor(dtype: str, operand: str) -> tuple[int, int]:
    """The bits that an element of A or B holds where it holds anything, and the number that they are.

    >>> factor("s8", "A"), factor("u8", "B"), factor("f16", "A")
    ((254, -2), (255, 255), (15360, 1))
    """
    if dtype not in INTEGERS:
        return ONE[dtype], 1
    return INTEGERS[dtype]["AB".index(operand)]


def source(group: Sequence[MmaProbe]) -> str:
    """CUDA C++ of a kernel for each of the instructions."""
    return "\n".join(_kernel(probe) for probe in group)


_PARAMETERS = (
    "const unsigned* a, const unsigned* b, const unsigned* c, const unsigned* metadata, const int4* jobs,"
    " int count, unsigned* out"
)


def _kernel(this: MmaProbe) -> str:
    gives = {"a": (this.a, "x"), "b": (this.b, "y"), "c": (this.c, "z")}
    letter, kind = this.d.word
    number = iter(range(100))
    results = [next(number) for _ in range(this.d.words)]
    operands = {name: [next(number) for _ in range(held.words)] for name, (held, _) in gives.items()}
    inputs = [
        f'"{held.word[0]}"({name}_row[{i}])' for name, (held, _) in gives.items() for i in range(held.words)
    ]
    braced = [_braced(numbers) for numbers in (results, *operands.values())]
    if this.selector is not None:
        inputs.append('"r"(metadata[at.w * 32 + lane])')
        braced += [f"%{next(number)}", f"{this.selector}"]
    outputs = [f'"=&{letter}"(d[{i}])' for i in range(this.d.words)]
    return "\n".join(
        [
            f'extern "C" __global__ void __launch_bounds__({LANES}) {this.kernel}({_PARAMETERS}) {{',
            "    const int lane = threadIdx.x;",
            "    for (int job = blockIdx.x; job < count; job += gridDim.x) {",
            "        const int4 at = jobs[job];",
            *(_row(name, held, f"at.{part}") for name, (held, part) in gives.items()),
            f"        {kind} d[{this.d.words}];",
            f'        asm volatile("{this.opcode} {", ".join(braced)};"',
            f"            : {', '.join(outputs)}",
            f"            : {', '.join(inputs)});",
            f"        {kind}* to = reinterpret_cast<{kind}*>(out) + (job * 32LL + lane) * {this.d.words};",
            f"        for (int i = 0; i < {this.d.words}; ++i) to[i] = d[i];",
            "    }",
            "}",
        ]
    )


def _row(name: str, held: WarpOperand, index: str) -> str:
    """The registers that a lane has of an operand."""
    kind = f"const {held.word[1]}*"
    first = f"({index} * 32LL + lane) * {held.words}"
    return f"        {kind} {name}_row = reinterpret_cast<{kind}>({name}) + {first};"


def _braced(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(f"%{number}" for number in numbers) + "}"


# -- what multiplies what --------------------------------------------------------------------------

BLOCKS = 132 * 16
NOTHING, STRANGE = -1, -2
"""A place of D that is not reached, and one that holds what no single product gives."""

NO_METADATA = np.zeros((1, LANES), np.uint32)


class Products(Kernels[MmaProbe]):
    """Kernels of some mma.sync, ready on a device, and what they multiply by what.

    A place is an element of a lane: E lane + element, where a lane holds E. A has a number other than zero
    in one place alone, and B spells its places bit by bit, one a plane, with one plane in which every place
    has a number. So every place of D tells whether that place of A reaches it, and which place of B it was
    multiplied by: for a product of M x N x K, each place of A has N such pairs. The kernel knows no meaning
    of a register.
    """

    together = 8
    source = staticmethod(source)

    @staticmethod
    def name(probe: MmaProbe) -> str:
        """Return the name of a probe's kernel."""
        return probe.kernel

    def pairs(self, this: MmaProbe, metadata: Array = NO_METADATA) -> Array:
        """Return [words of metadata, place of A, place of D]: the place of B, NOTHING or STRANGE."""
        count = this.a.places + 1
        alone, spelling = np.eye(count, this.a.places, dtype=bool), planes(this.b.places)
        a = this.a.words_of(alone, factor(this.a.dtype, "A")[0])
        b = this.b.words_of(spelling, factor(this.b.dtype, "B")[0])
        c = this.c.words_of(np.zeros((1, this.c.places), bool), 0)
        which, plane = np.divmod(np.arange(count * len(spelling)), len(spelling))
        found = []
        for row in range(len(metadata)):
            jobs = np.stack([which, plane, 0 * which, 0 * which + row], axis=1)
            out = self._launch(this, a, b, c, metadata, jobs).reshape(count, len(spelling), -1)
            found.append(spelt(out[:-1], out[-1], this))
        return np.stack(found)

    def passed(self, this: MmaProbe) -> Array:
        """Return [place of D]: the place of C whose number comes out there, where nothing is multiplied."""
        a, b = (held.words_of(np.zeros((1, held.places), bool), 0) for held in (this.a, this.b))
        spelling = planes(this.c.places)
        c = this.c.words_of(np.pad(spelling, ((0, 1), (0, 0))), ONE[this.c.dtype])
        jobs = np.zeros((len(spelling) + 1, 4), int)
        jobs[:, 2] = np.arange(len(jobs))
        out = self._launch(this, a, b, c, NO_METADATA, jobs)
        return _numbers(out[:-1] - out[-1] == 1, out[:-1] == out[-1])

    def _launch(self, this: MmaProbe, a: Array, b: Array, c: Array, metadata: Array, jobs: Array) -> Array:
        """Return D's numbers, [job, place], of jobs that have a row each of A, B, C and the metadata."""
        count = len(jobs)
        given = [a, b, c, np.asarray(metadata, np.uint32), np.asarray(jobs, np.int32), np.int32(count)]
        shape = (count, LANES, this.d.registers)
        words = self.reply(this, min(BLOCKS, count), LANES, given, "<u4", shape)
        kind = {"s32": "<i4", "f16": "<f2", "f32": "<f4", "f64": "<f8"}[this.d.dtype]
        numbers = words.view(kind).reshape(count, -1)
        return numbers.astype(np.int64 if this.d.dtype == "s32" else np.float64)


def spelt(out: Array, background: Array, this: MmaProbe) -> Array:
    """Return [place of A, place of D]: the place of B that numbers [place of A, plane, place of D] spell.

    `background` has what comes out where A has no number at all, [plane, place of D].
    """
    change = out - background
    if this.differs:
        # A's bit alone: a one of B goes with it, and a zero of B no longer
        return _numbers(change == -1, np.where(change[:, -1:] == 0, change == 0, change == 1))
    product = factor(this.a.dtype, "A")[1] * factor(this.b.dtype, "B")[1]
    return _numbers(change == product, change == 0)


def _numbers(one: Array, zero: Array) -> Array:
    """Return [..., place]: the number that [..., plane, place] spell; the last plane is there for all."""
    bits, there = one[..., :-1, :], one[..., -1, :]
    weights = 1 << np.arange(bits.shape[-2], dtype=np.int64)
    number = (bits * weights[:, None]).sum(axis=-2)
    clean = (one | zero).all(axis=-2) & (there | ~one.any(axis=-2))
    return np.where(clean, np.where(there, number, NOTHING), STRANGE)
