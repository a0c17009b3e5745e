"""Which sparse mma (mma.sp) there are: shapes and types, and the architectures that have them."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.hardware.architectures import Needs
from tilewise.hardware.mma.instructions import Shape
from tilewise.hardware.mma.kinds import KINDS


@dataclass(frozen=True, slots=True)
class SparseFamily:
    """Instructions of one shape: pairs of input types, results, and which architectures have them."""

    shape: Shape
    inputs: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    needs: Needs = Needs(80)

    @property
    def instructions(self) -> tuple[SparseInstruction, ...]:
        """Every instruction of the family, with ordered metadata."""
        return tuple(
            SparseInstruction(self.shape, a, b, d, needs=self.needs)
            for a, b in self.inputs
            for d in self.results
        )


@dataclass(frozen=True, slots=True)
class SparseInstruction:
    """One mma.sp: its shape and the types of A, B and of C and D.

    >>> print(SparseInstruction(Shape.of("m16n8k32"), "f16", "f16", "f32"))
    mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32
    """

    shape: Shape
    a: str
    b: str
    d: str
    ordered: bool = True
    """Whether the indices of a chunk have to ascend; the manual advises it, and the kinds have no other."""
    needs: Needs = Needs(80)

    def __str__(self) -> str:
        first = "mma.sp::ordered_metadata" if self.ordered else "mma.sp"
        return f"{first}.sync.aligned.{self.shape}.row.col.{self.d}.{self.a}.{self.b}.{self.d}"


def _mixed(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((a, b) for a in names for b in names)


SPARSE_FAMILIES = (
    SparseFamily(Shape(16, 8, 16), (("f16", "f16"),), ("f16", "f32")),
    SparseFamily(Shape(16, 8, 32), (("f16", "f16"),), ("f16", "f32")),
    SparseFamily(Shape(16, 8, 16), (("bf16", "bf16"),), ("f32",)),
    SparseFamily(Shape(16, 8, 32), (("bf16", "bf16"),), ("f32",)),
    SparseFamily(Shape(16, 8, 8), (("tf32", "tf32"),), ("f32",)),
    SparseFamily(Shape(16, 8, 16), (("tf32", "tf32"),), ("f32",)),
    SparseFamily(Shape(16, 8, 32), _mixed("s8", "u8"), ("s32",)),
    SparseFamily(Shape(16, 8, 64), _mixed("s8", "u8"), ("s32",)),
    SparseFamily(Shape(16, 8, 64), _mixed("s4", "u4"), ("s32",)),
    SparseFamily(Shape(16, 8, 128), _mixed("s4", "u4"), ("s32",)),
    SparseFamily(Shape(16, 8, 64), _mixed("e4m3", "e5m2"), ("f32",), Needs(89)),
)
"""Every family of sparse instructions without a kind; those with one are in `kinds`."""


def sparse_instructions() -> tuple[SparseInstruction, ...]:
    """Every mma.sp without a kind.

    >>> len(sparse_instructions())
    28
    """
    return tuple(this for family in SPARSE_FAMILIES for this in family.instructions)


def sparse_shapes(dtype: DType | str) -> tuple[Shape, ...]:
    """The shapes of mma.sp that take A of a type.

    >>> [str(shape) for shape in sparse_shapes("e2m1")]
    ['m16n8k64', 'm16n8k128']
    """
    name = DType.of(dtype).name
    plain = [family.shape for family in SPARSE_FAMILIES if any(name in pair for pair in family.inputs)]
    kinds = [kind.shape(sparse=True) for kind in KINDS.values() if name in kind.types]
    return tuple(sorted(dict.fromkeys(plain + kinds)))


def sparse_inputs() -> tuple[str, ...]:
    """Every type that A of an mma.sp may have.

    >>> sparse_inputs()[:3]
    ('f16', 'bf16', 'tf32')
    """
    every = [name for family in SPARSE_FAMILIES for pair in family.inputs for name in pair]
    return tuple(dict.fromkeys([*every, *(name for kind in KINDS.values() for name in kind.types)]))
