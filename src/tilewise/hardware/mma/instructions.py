"""Every mma, as tables: dense, with sparse A, and of the kinds of sm_120.

Every row of the tables is a family: one shape, and types that go together. `m8n8k4` of f16 is Volta's, which
computes four products at once, one for each group of eight lanes (a quad pair).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.architectures import Architecture, Needs
from tilewise.hardware.instructions import Shape, having, met, values, where
from tilewise.hardware.mma.kinds import KINDS, Kind, Scaling
from tilewise.hardware.sources import cells

__all__ = ["Family", "Instruction", "Shape"]

MAJORS = ("row", "col")
USUAL = ("row", "col")
"""The directions of A and B for all shapes but Volta's: neighbours in a lane differ in K."""

VOLTA = Shape(8, 8, 4)
"""The shape that computes four products of f16."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One mma: its shape, the types of A, B and of C and D, the directions of A and B, its kind and scales.

    >>> print(Instruction(Shape.of("m16n8k16"), "bf16", "bf16", "f32"))
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    >>> print(Instruction(Shape.of("m16n8k32"), "f16", "f16", "f32", sparse=True))
    mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32
    >>> print(next(this for this in EVERY if this.scaling))
    mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0
    """

    shape: Shape
    a: str
    b: str
    d: str
    op: str = ""
    """The operation of b1 instead of multiplication: xor.popc or and.popc."""
    c: str = ""
    """The type of C, which is D's where it is left out."""
    majors: tuple[str, str] = USUAL
    kind: Kind | None = None
    scaling: Scaling | None = None
    sparse: bool = False
    ordered: bool = True
    """True if the indices of a sparse chunk ascend; PTX advises it, and the kinds demand it."""
    needs: Needs = field(default=Needs(80), compare=False)
    """The architectures that have it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", self.c or self.d)

    @property
    def products(self) -> int:
        """Return the number of products that a warp computes at once."""
        return 4 if self.shape == VOLTA and self.a == "f16" else 1

    @property
    def name(self) -> str:
        """Return the name before its shape and types."""
        return "mma.sp" if self.sparse else "mma.sync"

    def __str__(self) -> str:
        first = "mma.sp::ordered_metadata" if self.ordered else "mma.sp"
        words = [first if self.sparse else "mma", "sync.aligned", str(self.shape), *self.majors]
        if self.kind:
            words.append(f"kind::{self.kind.name}")
        if self.scaling:
            words.append(f"block_scale.scale_vec::{self.scaling.word}")
        ends = self.scaling.dtype if self.scaling else self.op
        return ".".join(filter(None, [*words, self.d, self.a, self.b, self.c, ends]))


@dataclass(frozen=True, slots=True)
class Family:
    """Instructions of one shape: pairs of input types, results, and the first architecture that has them."""

    shape: Shape
    inputs: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    """The types of D, and of C, which is the same."""
    since: int
    """Compute capability times ten: 80 is sm_80, and all after it have them."""
    ops: tuple[str, ...] = ("",)
    products: int = 1
    """The number of products that a warp computes at once."""
    majors: tuple[tuple[str, str], ...] = (USUAL,)
    widening: tuple[tuple[str, str], ...] = ()
    """Pairs of D and C that differ."""
    sparse: bool = False

    @property
    def needs(self) -> Needs:
        """Return the architectures that have these instructions."""
        return Needs(self.since)

    @property
    def types(self) -> tuple[str, ...]:
        """Return the types of A and B."""
        return tuple(dict.fromkeys(name for pair in self.inputs for name in pair))

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Return every instruction of the family; of sparse ones those with ordered metadata."""
        return tuple(
            Instruction(self.shape, a, b, d, op, c, majors, sparse=self.sparse, needs=self.needs)
            for a, b in self.inputs
            for d, c in (*zip(self.results, self.results, strict=True), *self.widening)
            for op in self.ops
            for majors in self.majors
        )


def _families(table: str, *, sparse: bool = False) -> tuple[Family, ...]:
    """Return the families of a table: shape, types that are multiplied in any pairs, results, since, ops."""
    return tuple(
        Family(
            Shape.of(shape),
            tuple(product(types, types)),
            tuple(results),
            int(since),
            tuple(ops) or ("",),
            sparse=sparse,
        )
        for (shape,), types, results, (since,), ops in cells(table)
    )


_DENSE = """
m16n8k8   | f16       | f16 f32 | 75 |
m16n8k16  | f16       | f16 f32 | 80 |
m16n8k8   | bf16      | f32     | 80 |
m16n8k16  | bf16      | f32     | 80 |
m16n8k4   | tf32      | f32     | 80 |
m16n8k8   | tf32      | f32     | 80 |
m8n8k4    | f64       | f64     | 80 |
m16n8k4   | f64       | f64     | 90 |
m16n8k8   | f64       | f64     | 90 |
m16n8k16  | f64       | f64     | 90 |
m16n8k16  | e4m3 e5m2 | f16 f32 | 89 |
m16n8k32  | e4m3 e5m2 | f16 f32 | 89 |
m8n8k16   | s8 u8     | s32     | 75 |
m16n8k16  | s8 u8     | s32     | 80 |
m16n8k32  | s8 u8     | s32     | 80 |
m8n8k32   | s4 u4     | s32     | 75 |
m16n8k32  | s4 u4     | s32     | 80 |
m16n8k64  | s4 u4     | s32     | 80 |
m8n8k128  | b1        | s32     | 75 | xor.popc
m8n8k128  | b1        | s32     | 80 | and.popc
m16n8k128 | b1        | s32     | 80 | xor.popc and.popc
m16n8k256 | b1        | s32     | 80 | xor.popc and.popc
"""
_SPARSE = """
m16n8k16  | f16       | f16 f32 | 80 |
m16n8k32  | f16       | f16 f32 | 80 |
m16n8k16  | bf16      | f32     | 80 |
m16n8k32  | bf16      | f32     | 80 |
m16n8k8   | tf32      | f32     | 80 |
m16n8k16  | tf32      | f32     | 80 |
m16n8k32  | s8 u8     | s32     | 80 |
m16n8k64  | s8 u8     | s32     | 80 |
m16n8k64  | s4 u4     | s32     | 80 |
m16n8k128 | s4 u4     | s32     | 80 |
m16n8k64  | e4m3 e5m2 | f32     | 89 |
"""

FAMILIES = (
    Family(
        VOLTA,
        (("f16", "f16"),),
        ("f16", "f32"),
        70,
        products=4,
        majors=(("row", "col"), ("row", "row"), ("col", "row"), ("col", "col")),
        widening=(("f32", "f16"),),
    ),
    *_families(_DENSE),
)
"""Every family of dense instructions without a kind."""

SPARSE_FAMILIES = _families(_SPARSE, sparse=True)
"""Every family with sparse A and without a kind."""


def _of_kinds(sparse: bool) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(
            kind.shape(sparse), a, b, d, "", d, USUAL, kind, scaling, sparse, needs=kind.needs(sparse)
        )
        for kind in KINDS.values()
        for a in kind.types
        for b in kind.types
        for d in kind.results
        for scaling in kind.scalings or (None,)
    )


_OF_FAMILY = {family: family.instructions for family in FAMILIES}
_PLAIN = tuple(this for some in _OF_FAMILY.values() for this in some)
DENSE = _PLAIN + _of_kinds(sparse=False)
"""Every dense instruction, those of kinds last."""
SPARSE = tuple(this for family in SPARSE_FAMILIES for this in family.instructions) + _of_kinds(sparse=True)
"""Every instruction with sparse A and ordered metadata."""
EVERY = DENSE + SPARSE
_SORTS = {"plain": _PLAIN, "dense": DENSE, "sparse": SPARSE}


def instructions(
    shape: Shape | str | None = None, dtype: DType | str | None = None, arch: Architecture | str | None = None
) -> tuple[Instruction, ...]:
    """Return every dense mma.sync without a kind, or those of a shape, a type of A or B, an architecture.

    >>> len(instructions()), len(instructions(arch="sm_75"))
    (70, 23)
    >>> [str(this.shape) for this in instructions(dtype="bf16")]
    ['m16n8k8', 'm16n8k16']
    """
    return tuple(this for family in families_of(shape, dtype, arch) for this in _OF_FAMILY[family])


def sparse_instructions() -> tuple[Instruction, ...]:
    """Return every mma.sp without a kind.

    >>> len(sparse_instructions())
    28
    """
    return tuple(this for this in SPARSE if this.kind is None)


def kind_instructions(sparse: bool | None = None) -> tuple[Instruction, ...]:
    """Return every mma of a kind: the dense ones, the sparse ones, or both.

    >>> len(kind_instructions(sparse=False))
    79
    """
    return tuple(this for this in where(EVERY, sparse=sparse) if this.kind)


def families_of(
    shape: Shape | str | None = None, dtype: DType | str | None = None, arch: Architecture | str | None = None
) -> tuple[Family, ...]:
    """Return the dense families of a shape, with an input type, that an architecture has.

    >>> [family.results for family in families_of("m16n8k16", "e4m3")]
    [('f16', 'f32')]
    """
    wanted = shape and Shape.of(shape)
    found = where(FAMILIES, shape=wanted, types=None if dtype is None else DType.of(dtype).name)
    return tuple(family for family in found if arch is None or family.needs.met(arch))


def shapes_of(dtype: DType | str, arch: Architecture | str | None = None) -> tuple[Shape, ...]:
    """Return the shapes that multiply a type.

    >>> [str(shape) for shape in shapes_of("f16")], shapes_of("f32")
    (['m8n8k4', 'm16n8k8', 'm16n8k16'], ())
    """
    return values(families_of(None, dtype, arch), "shape")


# -- refusals --------------------------------------------------------------------------------------


def check_input(
    shape: Shape | str, dtype: DType | str, arch: Architecture | str | None = None, operand: str = "a"
) -> tuple[Shape, DType]:
    """Return the shape and the type of A or B, or of C or D, of a dense instruction without a kind.

    refused  TW602 where no instruction fits: with the shapes of the type
    """
    wanted, element = Shape.of(shape), DType.of(dtype)
    found = multiplying(wanted, element.name, operand, "plain")
    does = "of" if operand in "ab" else "that accumulates in"
    alike = where(_PLAIN, **{operand: element.name})
    met(found, f"mma.sync {wanted} {does} {element}", arch, {"shape": str(wanted)}, alike)
    return wanted, element


@cache
def multiplying(
    shape: Shape | None, dtype: str | None, operand: str, sort: str = "dense"
) -> tuple[Instruction, ...]:
    """Return the rows of a shape, or of any, that have a type of an operand; or refuse and list
    the choices.
    """
    rows, sparse, instead = _SORTS[sort], sort == "sparse", _INSTEAD.get(dtype or "", "")
    if operand in "cd":
        into = " or ".join(values(where(rows, a=dtype), "d"))
        instead = f"products of {dtype} come out as {into}" if into else ""
    elif shape in values(where(DENSE if sparse else SPARSE, a=dtype), "shape"):
        instead = f"with {'a whole' if sparse else 'sparse'} A there is one: mma.{'sp.' * (not sparse)}A"
    return having(rows, rows[0].name, operand, dtype, shape, instead)


@cache
def check_major(shape: Shape, element: DType, operand: str, major: str) -> str:
    """Return `major`, row or col, or refuse it where the operand lies only the other way."""
    if major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major", hint="known: " + " ".join(MAJORS))
    which = "AB".index(operand)
    legal = {this.majors[which] for this in where(_PLAIN, shape=shape, a=element.name)} or {USUAL[which]}
    if major not in legal:
        raise Refused(
            "TW602",
            f"{shape} of {element} takes {operand} as {min(legal)} alone",
            witness={"shape": str(shape), "dtype": element.name, "major": major},
            hint="only m8n8k4 of f16 takes both; ldmatrix with .trans turns a tile of 16-bit elements",
        )
    return major


_INSTEAD = {
    "f32": "32-bit floats are multiplied as tf32",
    **dict.fromkeys(("e3m2", "e2m3", "e2m1"), "those of 4 and 6 bits have kind::f8f6f4"),
}
