"""One mma.sync as CUDA source: a kernel that multiplies what it is given, register by register.

The kernel knows nothing of fragments, nor of what a register means. A job is a row of A's registers, one
of B's, one of C's and one of metadata; what comes out are D's registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.gpu.probes.instruction import ONE
from tilewise.hardware.limits import LANES, REGISTER_BITS

INTEGERS = {
    "s8": ((0xFE, -2), (0xFF, -1)),
    "u8": ((0xFE, 254), (0xFF, 255)),
    "s4": ((0xE, -2), (0xF, -1)),
    "u4": ((0xE, 14), (0xF, 15)),
}
"""Bits and number of what A and B hold in place of one: each pair of types has a product of its own."""


@dataclass(frozen=True, slots=True)
class Held:
    """What each lane of a warp holds of an operand: elements of a type, in so many 32-bit registers.

    >>> Held("f16", 4).places, Held("f64", 4).places
    (256, 64)
    """

    dtype: str
    registers: int

    @classmethod
    def of(cls, dtype: str, places: int) -> Held:
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


@dataclass(frozen=True, slots=True)
class Probe:
    """An instruction to be asked, as a kernel has it.

    >>> a, b, c = Held("f16", 4), Held("f16", 2), Held("f32", 4)
    >>> Probe("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, c, c).kernel
    'probe_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32'
    """

    opcode: str
    a: Held
    b: Held
    c: Held
    d: Held
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


def source(probes: Iterable[Probe]) -> str:
    """CUDA C++ of a kernel for each of the instructions."""
    return "\n".join(_kernel(probe) for probe in probes)


_PARAMETERS = (
    "const unsigned* a, const unsigned* b, const unsigned* c, const unsigned* metadata, const int4* jobs,"
    " int count, unsigned* out"
)


def _kernel(this: Probe) -> str:
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


def _row(name: str, held: Held, index: str) -> str:
    """The registers that a lane has of an operand."""
    kind = f"const {held.word[1]}*"
    first = f"({index} * 32LL + lane) * {held.words}"
    return f"        {kind} {name}_row = reinterpret_cast<{kind}>({name}) + {first};"


def _braced(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(f"%{number}" for number in numbers) + "}"
