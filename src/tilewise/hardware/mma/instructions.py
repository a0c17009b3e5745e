"""Which dense mma.sync there are: shapes and types, and the architectures that have them.

Every row of the table is a family: one shape, and types that go together. `m8n8k4` of f16 is Volta's, which
computes four products at once, one for each group of eight lanes (a quad pair).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.architectures import Architecture, Needs

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)", re.ASCII)
MAJORS = ("row", "col")
DENSE = ("row", "col")
"""How A and B lie for all shapes but Volta's: in both, K is what neighbours in a lane differ in."""


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """M, N and K of an instruction.

    >>> Shape.of("m16n8k16")
    Shape(m=16, n=8, k=16)
    >>> print(Shape(8, 8, 4))
    m8n8k4
    """

    m: int
    n: int
    k: int

    @classmethod
    def of(cls, shape: Shape | str) -> Shape:
        """The shape that a word such as m16n8k16 says."""
        if isinstance(shape, Shape):
            return shape
        said = _SHAPE.fullmatch(str(shape).lower())
        if said is None:
            raise LayoutError("TW601", f"{shape!r} is no shape of an mma", hint=_near(str(shape)))
        return cls(*map(int, said.groups()))

    def __str__(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"


def _near(word: str) -> str:
    """The shape that three numbers in a word may mean: CuTe writes 16x8x16."""
    numbers = re.findall(r"[0-9]+", word)
    return "did you mean m{}n{}k{}?".format(*numbers) if len(numbers) == 3 else "such as m16n8k16"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One dense mma.sync: its shape, the types of A, B and of C and D, and how A and B lie.

    >>> this = Instruction(Shape.of("m16n8k16"), "bf16", "bf16", "f32")
    >>> print(this)
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    >>> this.family.needs, this.family.products
    (sm_80 and later, 1)
    """

    shape: Shape
    a: str
    b: str
    d: str
    op: str = ""
    """What b1 does instead of multiplying: xor.popc or and.popc."""
    c: str = ""
    """The type of C, where it is not D's."""
    majors: tuple[str, str] = DENSE
    """How A, an M x K matrix, and B, as K x N, lie in the registers of a lane."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", self.c or self.d)

    @property
    def family(self) -> Family:
        """The family that it belongs to; an instruction that does not exist has none."""
        for family in families_of(self.shape, self.a):
            if self in family.instructions:
                return family
        raise Refused("TW602", f"there is no {self}", witness={"instruction": str(self)})

    @property
    def needs(self) -> Needs:
        """What an architecture has to be to have it."""
        return self.family.needs

    def __str__(self) -> str:
        types = f"{self.d}.{self.a}.{self.b}.{self.c}"
        words = f"mma.sync.aligned.{self.shape}.{self.majors[0]}.{self.majors[1]}.{types}"
        return words + (f".{self.op}" if self.op else "")


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
    """How many products a warp computes at once."""
    majors: tuple[tuple[str, str], ...] = (DENSE,)
    widening: tuple[tuple[str, str], ...] = ()
    """Pairs of D and C that differ."""

    @property
    def needs(self) -> Needs:
        """What an architecture has to be, so that it has them."""
        return Needs(self.since)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Every instruction of the family."""
        return tuple(
            Instruction(self.shape, a, b, d, op, c, majors)
            for a, b in self.inputs
            for d, c in (*zip(self.results, self.results, strict=True), *self.widening)
            for op in self.ops
            for majors in self.majors
        )


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _mixed(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((a, b) for a in names for b in names)


_F8 = _mixed("e4m3", "e5m2")
_I8 = _mixed("s8", "u8")
_I4 = _mixed("s4", "u4")

FAMILIES = (
    Family(
        Shape(8, 8, 4),
        _same("f16"),
        ("f16", "f32"),
        70,
        products=4,
        majors=(("row", "col"), ("row", "row"), ("col", "row"), ("col", "col")),
        widening=(("f32", "f16"),),
    ),
    Family(Shape(16, 8, 8), _same("f16"), ("f16", "f32"), 75),
    Family(Shape(16, 8, 16), _same("f16"), ("f16", "f32"), 80),
    Family(Shape(16, 8, 8), _same("bf16"), ("f32",), 80),
    Family(Shape(16, 8, 16), _same("bf16"), ("f32",), 80),
    Family(Shape(16, 8, 4), _same("tf32"), ("f32",), 80),
    Family(Shape(16, 8, 8), _same("tf32"), ("f32",), 80),
    Family(Shape(8, 8, 4), _same("f64"), ("f64",), 80),
    Family(Shape(16, 8, 4), _same("f64"), ("f64",), 90),
    Family(Shape(16, 8, 8), _same("f64"), ("f64",), 90),
    Family(Shape(16, 8, 16), _same("f64"), ("f64",), 90),
    Family(Shape(16, 8, 16), _F8, ("f16", "f32"), 89),
    Family(Shape(16, 8, 32), _F8, ("f16", "f32"), 89),
    Family(Shape(8, 8, 16), _I8, ("s32",), 75),
    Family(Shape(16, 8, 16), _I8, ("s32",), 80),
    Family(Shape(16, 8, 32), _I8, ("s32",), 80),
    Family(Shape(8, 8, 32), _I4, ("s32",), 75),
    Family(Shape(16, 8, 32), _I4, ("s32",), 80),
    Family(Shape(16, 8, 64), _I4, ("s32",), 80),
    Family(Shape(8, 8, 128), _same("b1"), ("s32",), 75, ("xor.popc",)),
    Family(Shape(8, 8, 128), _same("b1"), ("s32",), 80, ("and.popc",)),
    Family(Shape(16, 8, 128), _same("b1"), ("s32",), 80, ("xor.popc", "and.popc")),
    Family(Shape(16, 8, 256), _same("b1"), ("s32",), 80, ("xor.popc", "and.popc")),
)
"""Every family of dense instructions."""


def instructions(
    shape: Shape | str | None = None, dtype: DType | str | None = None, arch: Architecture | str | None = None
) -> tuple[Instruction, ...]:
    """Every dense mma.sync, or those of a shape, with an input type, that an architecture has.

    >>> len(instructions()), len(instructions(arch="sm_75"))
    (70, 23)
    >>> [str(this.shape) for this in instructions(dtype="bf16")]
    ['m16n8k8', 'm16n8k16']
    """
    return tuple(this for family in families_of(shape, dtype, arch) for this in family.instructions)


def families_of(
    shape: Shape | str | None = None, dtype: DType | str | None = None, arch: Architecture | str | None = None
) -> tuple[Family, ...]:
    """The families of a shape, with an input type, that an architecture has.

    >>> [family.results for family in families_of("m16n8k16", "e4m3")]
    [('f16', 'f32')]
    """
    wanted = None if shape is None else Shape.of(shape)
    name = None if dtype is None else DType.of(dtype).name
    target = None if arch is None else Architecture.of(arch)
    return tuple(
        family
        for family in FAMILIES
        if wanted in (None, family.shape)
        and (name is None or any(name in pair for pair in family.inputs))
        and (target is None or family.needs.met(target))
    )


def shapes_of(dtype: DType | str, arch: Architecture | str | None = None) -> tuple[Shape, ...]:
    """The shapes that multiply a type.

    >>> [str(shape) for shape in shapes_of("f16")], shapes_of("f32")
    (['m8n8k4', 'm16n8k8', 'm16n8k16'], ())
    """
    return tuple(dict.fromkeys(family.shape for family in families_of(None, dtype, arch)))


def inputs() -> tuple[str, ...]:
    """Every type that is multiplied.

    >>> inputs()
    ('f16', 'bf16', 'tf32', 'f64', 'e4m3', 'e5m2', 's8', 'u8', 's4', 'u4', 'b1')
    """
    return tuple(dict.fromkeys(name for family in FAMILIES for pair in family.inputs for name in pair))


def results() -> tuple[str, ...]:
    """Every type that is accumulated in.

    >>> results()
    ('f16', 'f32', 'f64', 's32')
    """
    return tuple(dict.fromkeys(name for family in FAMILIES for name in family.results))


# -- what is refused -------------------------------------------------------------------------------


def check_input(
    shape: Shape | str, dtype: DType | str, arch: Architecture | str | None = None
) -> tuple[Shape, DType]:
    """The shape and the type of A and B, or a refusal that says which shapes there are for the type."""
    wanted, element = Shape.of(shape), DType.of(dtype)
    if not shapes_of(element):
        raise Refused(
            "TW602",
            f"no dense mma.sync multiplies {element}",
            witness={"dtype": element.name},
            hint=f"it multiplies {', '.join(inputs())}{_INSTEAD.get(element.name, '')}",
        )
    having = families_of(wanted, element)
    if not having:
        raise Refused(
            "TW602",
            f"no mma.sync {wanted} multiplies {element}",
            witness={"shape": str(wanted), "dtype": element.name},
            hint=f"{element} has {_listed(shapes_of(element))}{_with_sparse_a(wanted, element)}",
        )
    _check_arch(having, f"of {element}", shapes_of(element, arch), arch)
    return wanted, element


def check_result(
    shape: Shape | str, dtype: DType | str, arch: Architecture | str | None = None
) -> tuple[Shape, DType]:
    """The shape and the type of C and D, or a refusal."""
    wanted, element = Shape.of(shape), DType.of(dtype)
    into = [family for family in FAMILIES if element.name in family.results]
    if not into:
        raise Refused(
            "TW602",
            f"no mma.sync accumulates in {element}",
            witness={"dtype": element.name},
            hint=f"it accumulates in {', '.join(results())}{_accumulated(element)}",
        )
    having = [family for family in into if family.shape == wanted]
    if not having:
        raise Refused(
            "TW602",
            f"no mma.sync {wanted} accumulates in {element}",
            witness={"shape": str(wanted), "dtype": element.name},
            hint=f"{element} has {_listed(family.shape for family in into)}",
        )
    had = [] if arch is None else [family.shape for family in into if family.needs.met(arch)]
    _check_arch(having, f"that accumulates in {element}", had, arch)
    return wanted, element


def check_major(shape: Shape, element: DType, operand: str, major: str) -> str:
    """`major`, which is row or col, or a refusal where the operand lies in one way alone."""
    if major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major", hint="known: " + " ".join(MAJORS))
    which = "AB".index(operand)
    families = families_of(shape, element)
    legal = {majors[which] for family in families for majors in family.majors} or {DENSE[which]}
    if major not in legal:
        raise Refused(
            "TW602",
            f"{shape} of {element} takes {operand} as {min(legal)} alone",
            witness={"shape": str(shape), "dtype": element.name, "major": major},
            hint="only m8n8k4 of f16 takes both; ldmatrix with .trans turns a tile of 16-bit elements",
        )
    return major


_INSTEAD = {
    "f32": "; 32-bit floats are multiplied as tf32",
    **dict.fromkeys(("e3m2", "e2m3", "e2m1"), "; those of 4 and 6 bits have kind::f8f6f4"),
}


def _with_sparse_a(shape: Shape, element: DType) -> str:
    """That a shape exists with sparse A, where it does."""
    from tilewise.hardware.mma.sparse_instructions import sparse_shapes

    return "; with sparse A there is one: mma.sp.A" if shape in sparse_shapes(element) else ""


def _accumulated(element: DType) -> str:
    """Where products of a type that nothing accumulates in come out."""
    into = dict.fromkeys(name for family in families_of(None, element) for name in family.results)
    return f"; products of {element} come out as {' or '.join(into)}" if into else ""


def _check_arch(
    having: Sequence[Family], words: str, had: Iterable[Shape], arch: Architecture | str | None
) -> None:
    if arch is None or any(family.needs.met(arch) for family in having):
        return
    target, shape = Architecture.of(arch), having[0].shape
    first = min(family.needs.first for family in having)
    known = _listed(had)
    raise Refused(
        "TW602",
        f"{target} has no mma.sync {shape} {words}",
        witness={"shape": str(shape), "arch": str(target)},
        hint=f"{first} is the first that has it" + (f"; {target} has {known}" if known else ""),
    )


def _listed(shapes: Iterable[Shape]) -> str:
    return ", ".join(dict.fromkeys(map(str, shapes)))
