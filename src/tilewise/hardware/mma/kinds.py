"""The kinds of mma that sm_120 has: types of 8, 6 and 4 bits in any pairs, and scales for blocks of K.

A kind decides the bits of a register that an element takes. `f8f6f4` and `mxf8f6f4` give each a byte,
whatever its type: a type of 6 bits lies in the low bits of it, a type of 4 bits in the middle. `mxf4` and
`mxf4nvf4` pack types of 4 bits. The kinds with scales (`block_scale`) multiply every block of a row of A, and
of a column of PTX's B, by its own scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.architectures import Needs
from tilewise.hardware.instructions import Shape, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

BYTE = 8
F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
WIDE = Needs(family=(120,))
NARROW = Needs(alone=("sm_120a", "sm_121a"))
"""mxf4 and mxf4nvf4 with sparse A: the assembler takes them for no sm_120f."""

LOWEST = {8: 0, 6: 0, 4: 2}
"""{bits of a type: the lowest bit of its byte}: a type of 4 bits has two bits of padding on each side."""

INDEX = DType("index", 2)
"""An index of the metadata of a sparse A, which `reg` counts: sixteen in a 32-bit register."""

MEANS = {
    2: "stored element s of a row is column 2 s + (index 2 s) // 2",
    4: "stored element s of a row is column 4 (s // 2) + index s",
    8: "stored element s of a row is column 8 (s // 4) + 2 (index s // 2) + s % 2",
}
"""{neighbours of which half are stored: the places of stored elements}."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """The fineness of a kind's scales, and their type.

    >>> fine = Scaling(4, "ue4m3")
    >>> print(fine)
    scale_vec::4X of ue4m3
    """

    vector: int
    """Scales of a row: 1, 2 or 4 for the K of an instruction."""
    dtype: str
    since: str = ""
    """The version of PTX that brought it, where a kind got it later than its other scales."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes for programs that name it."""
        return (f"{self} came with PTX {self.since}: an older assembler refuses it",) if self.since else ()

    @property
    def word(self) -> str:
        """Return the vector in the words of PTX and the command line: 1X, 2X, 4X."""
        return f"{self.vector}X"

    def __str__(self) -> str:
        return f"scale_vec::{self.word} of {self.dtype}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the table of kinds: of mma here, and of tcgen05.mma, whose rows have more columns."""

    name: str
    types: tuple[str, ...]
    """Types of A and of B, in any pairs."""
    results: tuple[str, ...]
    """Types of D."""
    k: int
    """K of the dense instruction, in elements; a sparse one has twice as much."""
    scalings: tuple[Scaling, ...] = ()

    engine = "mma"

    def __post_init__(self) -> None:
        if self.packed and any(DType.of(name).bits > self.taken for name in self.types):
            raise ValueError(f"a type of {self.name} does not fit {self.taken} bits")

    @classmethod
    def every(cls) -> Mapping[str, Any]:
        """Return {name: kind} of its engine."""
        return KINDS

    @classmethod
    def of(cls, kind: Self | str) -> Self:
        """Return the kind of that name, with or without PTX's `kind::` before it.

        >>> Kind.of(".kind::mxf4").k
        64
        """
        if isinstance(kind, cls):
            return kind
        name = str(kind).lower().removeprefix(".").removeprefix("kind::")
        if name in cls.every():
            return cls.every()[name]  # type: ignore[no-any-return]
        meant = [_CALLED.get(name, ""), *(one.name for one in where(cls.every().values(), types=name))]
        near = next((f"did you mean {word}? " for word in meant if word in cls.every()), "")
        raise LayoutError(
            "TW601", f"{kind!r} is no kind of {cls.engine}", hint=f"{near}known: {' '.join(cls.every())}"
        )

    @property
    def packed(self) -> bool:
        """Return True if two elements share a byte."""
        return self.name in ("mxf4", "mxf4nvf4")

    @property
    def taken(self) -> int:
        """Return the bits of a register that an element takes."""
        return BYTE // 2 if self.packed else BYTE

    def shape(self, sparse: bool = False) -> Shape:
        """Return the one shape of the kind's instructions."""
        return Shape(16, 8, 2 * self.k if sparse else self.k)

    def needs(self, sparse: bool = False) -> Needs:
        """Return the architectures that have the kind."""
        return NARROW if sparse and self.packed else WIDE

    def lowest(self, dtype: DType | str) -> int:
        """Return the lowest of an element's own bits among those that it takes.

        >>> [KINDS["f8f6f4"].lowest(name) for name in ("e4m3", "e3m2", "e2m1")]
        [0, 0, 2]
        >>> KINDS["mxf4"].lowest("e2m1")
        0
        """
        return 0 if self.packed else LOWEST.get(self.check(dtype).bits, 0)

    def check(self, dtype: DType | str) -> DType:
        """Return the type, or refuse one that the kind does not multiply."""
        element = DType.of(dtype)
        if element.name in self.types:
            return element
        others = " ".join(one.name for one in where(self.every().values(), types=element.name))
        raise Refused(
            "TW602",
            f"kind::{self.name} does not multiply {element}",
            witness={"kind": self.name, "dtype": element.name},
            hint=f"it multiplies {' '.join(self.types)}" + f"; {element} is of {others}" * bool(others),
        )

    def scaling(self, scale: str | None = None, dtype: str | None = None) -> Scaling:
        """Return the scaling that a word such as 2X and a type name; each is optional where one fits.

        >>> print(KINDS["mxf8f6f4"].scaling())
        scale_vec::1X of ue8m0
        """
        fitting = where(self.scalings, word=scale and str(scale).upper(), dtype=dtype)
        if len(fitting) == 1:
            return fitting[0]
        known = " and ".join(map(str, self.scalings))
        if fitting:
            raise LayoutError(
                "TW601",
                f"kind::{self.name} has several scalings, and which is not said",
                hint=f"it has {known}",
            )
        asked = " of ".join(str(word) for word in (scale, dtype) if word)
        others = " ".join(kind.name for kind in self.every().values() if kind.scalings)
        raise Refused(
            "TW602",
            f"kind::{self.name} has no scales {asked}".rstrip(),
            witness={"kind": self.name, "scale": scale, "dtype": dtype},
            hint=f"it has {known}" if known else f"{others} have",
        )


_CALLED = {"fp8": "f8f6f4", "mxfp8": "mxf8f6f4", "mxfp4": "mxf4", "nvfp4": "mxf4nvf4", "int8": "i8"}
"""Other words for kinds, or for their types."""

KINDS = {
    kind.name: kind
    for kind in (
        Kind("f8f6f4", F8F6F4, ("f16", "f32"), 32),
        Kind("mxf8f6f4", F8F6F4, ("f32",), 32, (Scaling(1, "ue8m0"),)),
        Kind("mxf4", ("e2m1",), ("f32",), 64, (Scaling(2, "ue8m0"),)),
        Kind(
            "mxf4nvf4",
            ("e2m1",),
            ("f32",),
            64,
            (Scaling(2, "ue8m0"), Scaling(4, "ue8m0", since="9.1"), Scaling(4, "ue4m3")),
        ),
    )
}
"""{name: kind}."""


def container(shape: Shape | str, dtype: DType | str, sparse: bool = False) -> tuple[int, int]:
    """Return (bits that an element takes in a register, the lowest of its own bits).

    The shape decides: the same type may lie in a byte in one instruction and be packed in another.

    >>> container("m16n8k32", "e2m1"), container("m16n8k64", "e2m1"), container("m16n8k16", "f16")
    ((8, 2), (4, 0), (16, 0))
    """
    wanted, element = Shape.of(shape), DType.of(dtype)
    having = (kind for kind in where(KINDS.values(), types=element.name) if kind.shape(sparse) == wanted)
    return next(((kind.taken, kind.lowest(element)) for kind in having), (element.bits, 0))
