"""The instructions that a machine runs for an mma.sync that its tensor cores do not have.

PTX never drops an instruction: it exists on every architecture from its first one on. Where the tensor cores
have lost it, the assembler writes other instructions: the result is the same, the speed is not. The rows list
the output of CUDA 13's assembler, and of CUDA 12's for sm_70 and sm_72.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise.hardware.architectures import NUMBERS, Architecture
from tilewise.hardware.mma.instructions import Instruction, Shape
from tilewise.hardware.sources import cells


@dataclass(frozen=True, slots=True)
class Expansion:
    """Instructions that architectures do not have of their own, and their replacement."""

    inputs: tuple[str, ...]
    since: int
    last: int
    """The first and the last architecture that need the replacement."""
    runs_as: str
    shapes: tuple[Shape, ...] = ()
    """The shapes that the row covers; empty for all."""
    ops: tuple[str, ...] = ()
    unordered: bool = False
    """True if the row covers only sparse instructions without ordered_metadata."""

    def covers(self, this: Instruction) -> bool:
        """Return True if the row covers an instruction, and one of its architectures has it."""
        if this.needs.first.number > self.last:
            return False
        shape, op = self.shapes or (this.shape,), self.ops or (this.op,)
        ordered = self.unordered and (this.ordered or not this.sparse)
        return this.a in self.inputs and this.shape in shape and this.op in op and not ordered

    def on(self, arch: Architecture | str | int) -> bool:
        """Return True if an architecture has no such instruction of its own."""
        return self.since <= Architecture.of(arch).number <= self.last

    @property
    def where(self) -> str:
        """Return the architectures, in words.

        >>> Expansion(("s4",), 90, NUMBERS[-1], "").where, Expansion(("b1",), 90, 90, "").where
        ('sm_90 and later', 'sm_90')
        """
        if self.last == NUMBERS[-1]:
            return f"sm_{self.since} and later"
        return f"sm_{self.since}" if self.last == self.since else f"sm_{self.since} to sm_{self.last}"


_TABLE = """
f16       | m8n8k4                   |          |  80 |     | multiply-adds and shuffles, without tensor cores
e4m3 e5m2 |                          |          |  90 | 110 | two products of f16, after conversion
s4 u4     |                          |          |  90 |     | two products of 8-bit integers, after unpacking
b1        |                          | xor.popc |  90 |  90 | two products with and.popc
b1        |                          |          | 100 |     | products of u8, a byte for each bit
s8 u8     | m8n8k16                  |          | 100 |     | a product m16n8k16, half of it unused
f64       | m16n8k4 m16n8k8 m16n8k16 |          | 100 |     | products m8n8k4
"""
"""Types, shapes and operations, empty for all; first and last architecture; the replacement."""

EXPANSIONS = tuple(
    Expansion(
        tuple(types),
        int(since),
        int(last[0]) if last else NUMBERS[-1],
        " ".join(words),
        tuple(map(Shape.of, shapes)),
        tuple(ops),
    )
    for types, shapes, ops, (since,), last, words in cells(_TABLE)
)
"""Every instruction that some architecture runs as others."""

UNORDERED = Expansion(
    ("f16", "s8", "u8"),
    100,
    NUMBERS[-1],
    "without ordered_metadata: one product, after code that sorts the indices",
    unordered=True,
)
"""The sparse instructions before which other code runs."""


def runs_as(this: Instruction, arch: Architecture | str | int) -> str:
    """Return the instructions that one runs as, in words, or "" where the tensor cores have it.

        requires  the architecture has the instruction

    >>> fp8 = Instruction(Shape.of("m16n8k32"), "e4m3", "e4m3", "f32")
    >>> runs_as(fp8, "sm_89"), runs_as(fp8, "sm_90a")
    ('', 'two products of f16, after conversion')
    """
    found = (one for one in expansions(this) if one.on(arch))
    return next((one.runs_as for one in found), "")


def expansions(this: Instruction) -> tuple[Expansion, ...]:
    """Return the rows for an instruction that runs as others.

    >>> [one.where for one in expansions(Instruction(Shape.of("m8n8k128"), "b1", "b1", "s32", "xor.popc"))]
    ['sm_90', 'sm_100 and later']
    """
    return tuple(one for one in (*EXPANSIONS, UNORDERED) if one.covers(this) and not this.kind)


def made_of(some: Iterable[Instruction], arch: Architecture | str | None = None) -> list[dict[str, object]]:
    """Return the replacements of some instructions, with their architectures and shapes.

    >>> made_of([Instruction(Shape.of("m16n8k32"), "s4", "s4", "s32")])[0]["architectures"]
    'sm_90 and later'
    """
    found: dict[Expansion, dict[str, None]] = {}
    for this in some:
        for one in expansions(this):
            found.setdefault(one, {})[str(this.shape)] = None
    return [
        {"architectures": one.where, "shapes": [*found[one]], "as": one.runs_as}
        for one in (*EXPANSIONS, UNORDERED)
        if one in found and (arch is None or one.on(arch))
    ]
