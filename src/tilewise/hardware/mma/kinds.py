"""The kinds of mma that sm_120 has: types of 8, 6 and 4 bits in any pairs, and scales for blocks of K.

A kind says in how many bits of a register an element lies. `f8f6f4` and `mxf8f6f4` give each a byte,
whatever its type: a type of 6 bits lies in the low bits of it, a type of 4 bits in the middle. `mxf4` and
`mxf4nvf4` pack types of 4 bits. The kinds with scales (`block_scale`) multiply every block of a row of A,
and of a column of PTX's B, by a scale of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.architectures import Needs
from tilewise.hardware.mma.instructions import Shape

BYTE = 8
F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
WIDE = Needs(family=(120,))
NARROW = Needs(alone=("sm_120a", "sm_121a"))
"""mxf4 and mxf4nvf4 with sparse A: the assembler takes them for no sm_120f."""

LOWEST = {8: 0, 6: 0, 4: 2}
"""{bits of a type: the lowest bit of its byte}: a type of 4 bits has two bits of padding on each side."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How finely a kind scales, and the type of the scales.

    >>> fine = Scaling(4, "ue4m3")
    >>> print(fine)
    scale_vec::4X of ue4m3
    """

    vector: int
    """Scales of a row: 1, 2 or 4 for the K of an instruction."""
    dtype: str
    since: str = ""
    """The PTX that brought it, where a kind had it later than its other scales."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a program has to mind that names it."""
        return (f"{self} came with PTX {self.since}: an older assembler refuses it",) if self.since else ()

    @property
    def word(self) -> str:
        """As PTX and the command line say the vector: 1X, 2X, 4X."""
        return f"{self.vector}X"

    def __str__(self) -> str:
        return f"scale_vec::{self.word} of {self.dtype}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table of kinds."""

    name: str
    types: tuple[str, ...]
    """Types of A and of B, in any pairs."""
    taken: int
    """Bits of a register that an element takes."""
    k: int
    """K of the dense instruction; a sparse one has twice as much."""
    results: tuple[str, ...]
    scalings: tuple[Scaling, ...] = ()

    def __post_init__(self) -> None:
        if any(DType.of(name).bits > self.taken for name in self.types):
            raise ValueError(f"a type of {self.name} does not fit {self.taken} bits")

    @classmethod
    def of(cls, kind: Kind | str) -> Kind:
        """The kind of that name, with or without PTX's `kind::` before it.

        >>> Kind.of("kind::mxf4").k
        64
        """
        if isinstance(kind, Kind):
            return kind
        name = str(kind).lower().removeprefix(".").removeprefix("kind::")
        if name not in KINDS:
            raise LayoutError("TW601", f"{kind!r} is no kind of mma", hint=f"known: {' '.join(KINDS)}")
        return KINDS[name]

    def shape(self, sparse: bool = False) -> Shape:
        """The one shape of the kind's instructions."""
        return Shape(16, 8, 2 * self.k if sparse else self.k)

    def needs(self, sparse: bool = False) -> Needs:
        """What an architecture has to be to have the kind."""
        return NARROW if sparse and self.taken < BYTE else WIDE

    def lowest(self, dtype: DType | str) -> int:
        """The lowest of the bits that an element has in those that it takes.

        >>> [KINDS["f8f6f4"].lowest(name) for name in ("e4m3", "e3m2", "e2m1")]
        [0, 0, 2]
        >>> KINDS["mxf4"].lowest("e2m1")
        0
        """
        return LOWEST[self.check(dtype).bits] if self.taken == BYTE else 0

    def check(self, dtype: DType | str) -> DType:
        """The type, or a refusal that says which the kind has."""
        element = DType.of(dtype)
        if element.name not in self.types:
            raise Refused(
                "TW602",
                f"kind::{self.name} does not multiply {element}",
                witness={"kind": self.name, "dtype": element.name},
                hint=f"it multiplies {' '.join(self.types)}",
            )
        return element

    def scaling(self, scale: str | None = None, dtype: str | None = None) -> Scaling:
        """The scaling that a word such as 2X and a type say; each may be left out where one fits."""
        scale = None if scale is None else str(scale).upper()
        if not self.scalings:
            raise Refused(
                "TW602",
                f"kind::{self.name} has no scales",
                witness={"kind": self.name},
                hint=f"{' '.join(kind.name for kind in KINDS.values() if kind.scalings)} have",
            )
        fitting = [
            this
            for this in self.scalings
            if (scale is None or this.word == scale) and (dtype is None or this.dtype == dtype)
        ]
        if not fitting:
            asked = " of ".join(str(word) for word in (scale, dtype) if word)
            raise Refused(
                "TW602",
                f"kind::{self.name} has no scales {asked}",
                witness={"kind": self.name, "scale": scale, "dtype": dtype},
                hint=f"it has {' and '.join(map(str, self.scalings))}",
            )
        if len(fitting) > 1 and (scale is None or dtype is None):
            raise LayoutError(
                "TW601",
                f"kind::{self.name} has several scalings, and which is not said",
                hint=f"it has {' and '.join(map(str, fitting))}",
            )
        return fitting[0]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("f8f6f4", F8F6F4, 8, 32, ("f16", "f32")),
        Kind("mxf8f6f4", F8F6F4, 8, 32, ("f32",), (Scaling(1, "ue8m0"),)),
        Kind("mxf4", ("e2m1",), 4, 64, ("f32",), (Scaling(2, "ue8m0"),)),
        Kind(
            "mxf4nvf4",
            ("e2m1",),
            4,
            64,
            ("f32",),
            (Scaling(2, "ue8m0"), Scaling(4, "ue8m0", since="9.1"), Scaling(4, "ue4m3")),
        ),
    )
}
"""{name: kind}."""


@dataclass(frozen=True, slots=True)
class KindInstruction:
    """One mma of a kind, dense or with sparse A.

    >>> print(KindInstruction(KINDS["f8f6f4"], "e2m1", "e4m3", "f32"))
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32
    >>> print(KindInstruction(KINDS["mxf4nvf4"], "e2m1", "e2m1", "f32", Scaling(4, "ue4m3"), sparse=True))
    mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
    """

    kind: Kind
    a: str
    b: str
    d: str
    scaling: Scaling | None = None
    sparse: bool = False

    @property
    def shape(self) -> Shape:
        """M, N and K."""
        return self.kind.shape(self.sparse)

    @property
    def needs(self) -> Needs:
        """What an architecture has to be to have it."""
        return self.kind.needs(self.sparse)

    def __str__(self) -> str:
        first = "mma.sp::ordered_metadata" if self.sparse else "mma"
        words = f"{first}.sync.aligned.{self.shape}.row.col.kind::{self.kind.name}"
        types = f"{self.d}.{self.a}.{self.b}.{self.d}"
        if self.scaling is None:
            return f"{words}.{types}"
        return f"{words}.block_scale.scale_vec::{self.scaling.word}.{types}.{self.scaling.dtype}"


def kind_instructions(sparse: bool | None = None) -> Iterator[KindInstruction]:
    """Every mma of a kind: the dense ones, the sparse ones, or both.

    >>> len([*kind_instructions(sparse=False)])
    79
    """
    for each in (False, True) if sparse is None else (sparse,):
        for kind in KINDS.values():
            for a in kind.types:
                for b in kind.types:
                    for d in kind.results:
                        for scaling in kind.scalings or (None,):
                            yield KindInstruction(kind, a, b, d, scaling, each)


def kinds_of(shape: Shape | str, dtype: DType | str, sparse: bool = False) -> tuple[Kind, ...]:
    """The kinds whose instructions have a shape and multiply a type.

    >>> [kind.name for kind in kinds_of("m16n8k32", "e2m1")], kinds_of("m16n8k16", "e2m1")
    (['f8f6f4', 'mxf8f6f4'], ())
    """
    wanted, element = Shape.of(shape), DType.of(dtype)
    return tuple(
        kind for kind in KINDS.values() if element.name in kind.types and kind.shape(sparse) == wanted
    )


def kinds_into(shape: Shape | str, dtype: DType | str) -> tuple[Kind, ...]:
    """The kinds whose instructions have a shape and accumulate in a type.

    >>> [kind.name for kind in kinds_into("m16n8k32", "f16")]
    ['f8f6f4']
    """
    wanted, element = Shape.of(shape), DType.of(dtype)
    return tuple(kind for kind in KINDS.values() if element.name in kind.results and kind.shape() == wanted)


def check_kind_shape(shape: Shape | str, dtype: DType | str) -> None:
    """Refuse a shape that no kind has for a type of 4 or 6 bits, which the kinds alone multiply."""
    wanted, element = Shape.of(shape), DType.of(dtype)
    having = [kind for kind in KINDS.values() if element.name in kind.types]
    if element.bits < BYTE and having and not kinds_of(wanted, element):
        shapes = {str(kind.shape()): kind.name for kind in reversed(having)}
        raise Refused(
            "TW602",
            f"no mma.sync {wanted} multiplies {element}",
            witness={"shape": str(wanted), "dtype": element.name},
            hint=f"{element} has {' and '.join(f'{shape} of {kind}' for shape, kind in shapes.items())}",
        )


def container(shape: Shape | str, dtype: DType | str, sparse: bool = False) -> tuple[int, int]:
    """(bits that an element takes in a register, the lowest of them that is its own).

    The shape says it: the same type may lie in a byte in one instruction and be packed in another.

    >>> container("m16n8k32", "e2m1"), container("m16n8k64", "e2m1"), container("m16n8k16", "f16")
    ((8, 2), (4, 0), (16, 0))
    """
    element = DType.of(dtype)
    having = kinds_of(shape, element, sparse)
    return (having[0].taken, having[0].lowest(element)) if having else (element.bits, 0)
