"""Which dense v_mfma CDNA3 (gfx942) has: shapes, types, blocks and cycles.

A row of the table is one shape of a family of types. Each instruction multiplies one or several blocks at
once, D[b] = C[b] + A[b] B[b], by the 64 lanes of a wave; the shape and the type say how many blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

WAVE = 64
"""Lanes of a wave."""

PASS = 4
"""Cycles of a pass, in which the document counts how long a result takes."""

_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)", re.ASCII)

AMD_NAMES = {"s8": "i8", "s32": "i32", "e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}
"""{a type: what instructions call it}, where that is not its name."""

_OCP = {"e4m3": "e4m3fnuz", "e5m2": "e5m2fnuz"}


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """M, N and K of one block.

    >>> Shape.of("32x32x8")
    Shape(m=32, n=32, k=8)
    >>> print(Shape(4, 4, 4))
    4x4x4
    """

    m: int
    n: int
    k: int

    @classmethod
    def of(cls, shape: Shape | str) -> Shape:
        """The shape that a word such as 32x32x8 says."""
        if isinstance(shape, Shape):
            return shape
        said = _SHAPE.fullmatch(str(shape).lower())
        if said is None:
            raise LayoutError("TW601", f"{str(shape)!r} is no shape of an mfma", hint=_near(str(shape)))
        return cls(*map(int, said.groups()))

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


def _near(word: str) -> str:
    """The shape that the first numbers of a word may mean: m32n32k8, or 32x32x4_2b with the blocks."""
    numbers = re.findall(r"[0-9]+", word)
    return "did you mean {}x{}x{}?".format(*numbers) if len(numbers) >= 3 else "such as 32x32x8"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One dense v_mfma: the shape of a block, how many blocks, the types of A, B and of C and D.

    >>> this = instructions("4x4x4", "f16")[0]
    >>> print(this)
    v_mfma_f32_4x4x4_16b_f16
    >>> this.builtin, this.blocks, this.cycles, this.passes
    ('__builtin_amdgcn_mfma_f32_4x4x4f16', 16, 8, 2)
    """

    shape: Shape
    blocks: int
    a: str
    b: str
    d: str
    cycles: int
    """Cycles after which the next instruction of its sort can start, where nothing waits for the result."""

    @property
    def passes(self) -> int:
        """How many passes of four cycles it takes."""
        return self.cycles // PASS

    @property
    def builtin(self) -> str:
        """What clang calls it: bf16 has a 1k from CDNA2 on, and what CDNA3 brought an underscore."""
        of_k = "_1k" if self.a == "bf16" else ""
        apart = "_" if self.is_new else ""
        return f"__builtin_amdgcn_mfma_{amd_name(self.d)}_{self.shape}{apart}{self._types}{of_k}"

    @property
    def is_new(self) -> bool:
        """Whether CDNA3 is the first to have it."""
        return self.a in ("xf32", *_OCP.values()) or (self.a == "s8" and self.blocks == 1)

    @property
    def _types(self) -> str:
        names = (self.a, self.b) if self.a in _OCP.values() else (self.a,)
        return "_".join(map(amd_name, names))

    def registers(self, operand: str) -> int:
        """32-bit registers of a lane for an operand: A, B, C or D.

        >>> [instructions("32x32x8", "f16")[0].registers(operand) for operand in "ABD"]
        [2, 2, 16]
        """
        along = {"A": self.shape.m * self.shape.k, "B": self.shape.n * self.shape.k}
        elements = along.get(operand, self.shape.m * self.shape.n)
        return self.blocks * elements * DType.of(self.dtype(operand)).bits // (WAVE * 32)

    def dtype(self, operand: str) -> str:
        """The type of an operand: A, B, C or D.

        >>> instructions("32x32x8", "f16")[0].dtype("D")
        'f32'
        """
        return {"A": self.a, "B": self.b}.get(operand, self.d)

    @property
    def blocks_of_result(self) -> int | None:
        """How many blocks C and D have, where their shape and type leave it open.

        >>> [this.blocks_of_result for this in instructions("16x16x4")]
        [1, 4, 4, None, None]
        """
        alike = (this for this in instructions(self.shape) if this.d == self.d)
        return self.blocks if any(this.blocks != self.blocks for this in alike) else None

    def __str__(self) -> str:
        blocks = f"_{self.blocks}b" if self.blocks > 1 else ""
        return f"v_mfma_{amd_name(self.d)}_{self.shape}{blocks}_{self._types}"


def amd_name(dtype: str) -> str:
    """What instructions call a type.

    >>> amd_name("e4m3fnuz"), amd_name("bf16")
    ('fp8', 'bf16')
    """
    return AMD_NAMES.get(dtype, dtype)


Row = tuple[int, int, int, int, int]
_HALVES: tuple[Row, ...] = (
    (32, 32, 4, 2, 64),
    (16, 16, 4, 4, 32),
    (4, 4, 4, 16, 8),
    (32, 32, 8, 1, 32),
    (16, 16, 16, 1, 16),
)
_F8 = ("e4m3fnuz", "e5m2fnuz")

TABLE: tuple[tuple[tuple[tuple[str, str], ...], str, tuple[Row, ...]], ...] = (
    (
        (("f32", "f32"),),
        "f32",
        ((32, 32, 1, 2, 64), (16, 16, 1, 4, 32), (4, 4, 1, 16, 8), (32, 32, 2, 1, 64), (16, 16, 4, 1, 32)),
    ),
    ((("f16", "f16"),), "f32", _HALVES),
    ((("bf16", "bf16"),), "f32", _HALVES),
    (
        (("s8", "s8"),),
        "s32",
        ((32, 32, 4, 2, 64), (16, 16, 4, 4, 32), (4, 4, 4, 16, 8), (32, 32, 16, 1, 32), (16, 16, 32, 1, 16)),
    ),
    ((("xf32", "xf32"),), "f32", ((16, 16, 8, 1, 16), (32, 32, 4, 1, 32))),
    ((("f64", "f64"),), "f64", ((16, 16, 4, 1, 32), (4, 4, 4, 4, 16))),
    (tuple(product(_F8, _F8)), "f32", ((16, 16, 32, 1, 16), (32, 32, 16, 1, 32))),
)
"""(types of A and B, type of C and D, (M, N, K, blocks, cycles)), as the document's Table 28 has them."""

_CDNA4 = "gfx950 (CDNA4) has it, and gfx942 not"
_CDNA2 = "CDNA1 and CDNA2 had it, and gfx942 has it no longer"
ELSEWHERE = {
    **dict.fromkeys(product(("32x32x16", "16x16x32"), ("f16", "bf16")), _CDNA4),
    **dict.fromkeys((("32x32x32", "s8"), ("16x16x64", "s8")), _CDNA4),
    **dict.fromkeys((("32x32x8", "s8"), ("16x16x16", "s8")), _CDNA2),
    **dict.fromkeys(((shape, "bf16") for shape in ("32x32x2", "16x16x2", "4x4x2", "16x16x8")), _CDNA2),
}
"""{(shape, type): who has it}, of those that other generations have."""


def instructions(shape: Shape | str | None = None, dtype: str | None = None) -> tuple[Instruction, ...]:
    """Every dense v_mfma of CDNA3, or those of a shape, or whose A is of a type.

    >>> len(instructions())
    32
    >>> print(*instructions("32x32x4"))
    v_mfma_f32_32x32x4_2b_f16 v_mfma_f32_32x32x4_2b_bf16 v_mfma_i32_32x32x4_2b_i8 v_mfma_f32_32x32x4_xf32
    """
    wanted = None if shape is None else Shape.of(shape)
    return tuple(
        Instruction(Shape(m, n, k), blocks, a, b, d, cycles)
        for pairs, d, rows in TABLE
        for m, n, k, blocks, cycles in rows
        for a, b in pairs
        if dtype in (None, a) and wanted in (None, Shape(m, n, k))
    )


def inputs() -> tuple[str, ...]:
    """Every type that A and B may have.

    >>> inputs()
    ('f32', 'f16', 'bf16', 's8', 'xf32', 'f64', 'e4m3fnuz', 'e5m2fnuz')
    """
    return tuple(dict.fromkeys(this.a for this in instructions()))


def results() -> tuple[str, ...]:
    """Every type that C and D may have.

    >>> results()
    ('f32', 's32', 'f64')
    """
    return tuple(dict.fromkeys(this.d for this in instructions()))


def input_named(given: str) -> str:
    """The type that a word says, also one of AMD's: fp8 and bf8 are those of gfx942.

    >>> input_named("i8"), input_named("bf8")
    ('s8', 'e5m2fnuz')
    >>> input_named("e4m3")
    Traceback (most recent call last):
        ...
    tilewise.Refused: TW602: e4m3 is OCP's, and gfx942 multiplies e4m3fnuz
      hint: the same bits mean other numbers there: bias 8, no infinities, no -0, one NaN, 0x80
    """
    word = given.lower()
    name = next((name for name, amd in AMD_NAMES.items() if amd == word), None) or DType.of(word).name
    if name in _OCP:
        bias = 8 if name == "e4m3" else 16
        raise Refused(
            "TW602",
            f"{name} is OCP's, and gfx942 multiplies {_OCP[name]}",
            witness={"dtype": name},
            hint=f"the same bits mean other numbers there: bias {bias}, no infinities, no -0, one NaN, 0x80",
        )
    return name


def having(
    shape: Shape | str, dtype: str, blocks: int | None = None, operand: str = "A"
) -> list[Instruction]:
    """The instructions of a shape whose operand is of a type; refused where there is none.

    A type of A that no C or D has tells of them, too, which instructions are meant, as their names do.

    >>> [str(this) for this in having("16x16x32", "e4m3fnuz", operand="B")]
    ['v_mfma_f32_16x16x32_fp8_fp8', 'v_mfma_f32_16x16x32_bf8_fp8']
    >>> [str(this) for this in having("32x32x4", "f32", 1, "D")]
    ['v_mfma_f32_32x32x4_xf32']
    >>> [str(this) for this in having("32x32x8", "f16", operand="D")]
    ['v_mfma_f32_32x32x8_f16']
    """
    by = "A" if operand in ("C", "D") and dtype in inputs() and dtype not in results() else operand
    found = [this for this in instructions(shape) if this.dtype(by) == dtype]
    if not found:
        _refuse(Shape.of(shape), dtype, by)
    several = sorted({this.blocks for this in found})
    if blocks is None and len(several) > 1:
        raise LayoutError(
            "TW601",
            f"{shape} into {dtype} multiplies {' or '.join(map(_blocks, several))}",
            hint=f"say which: {' or '.join(f'blocks={many}' for many in several)}",
        )
    if blocks is not None and blocks not in several:
        of_type = [this for this in instructions() if this.dtype(by) == dtype]
        raise Refused(
            "TW602",
            f"{shape} {_of(by)} {dtype} multiplies {' or '.join(map(_blocks, several))}, not {blocks}",
            witness={"shape": str(shape), "dtype": dtype, "blocks": several[0]},
            hint=f"{dtype} has {_listed(of_type)}",
        )
    return [this for this in found if blocks in (None, this.blocks)]


def _refuse(shape: Shape, dtype: str, operand: str) -> NoReturn:
    """Say who has a shape of a type, or what there is instead."""
    elsewhere = ELSEWHERE.get((str(shape), dtype))
    of_type = [this for this in instructions() if this.dtype(operand) == dtype]
    types = dict.fromkeys(this.dtype(operand) for this in instructions(shape))
    known = inputs() if operand in ("A", "B") else results()
    hints = [f"{dtype} has {_listed(of_type)}" if of_type else f"{operand} is of {', '.join(known)}"]
    hints += [f"{shape} is {_of(operand)} {', '.join(types)}"] if types else []
    raise Refused(
        "TW602",
        f"gfx942 has no v_mfma {shape} {_of(operand)} {dtype}" + (f": {elsewhere}" if elsewhere else ""),
        witness={"shape": str(shape), "dtype": dtype},
        hint="; ".join(hints),
    )


def _of(operand: str) -> str:
    """An instruction is of its inputs' type, and multiplies into its result's."""
    return "of" if operand in ("A", "B") else "into"


def _listed(some: Iterable[Instruction]) -> str:
    many = dict.fromkeys((str(this.shape), this.blocks) for this in some)
    words = (f"{shape} ({_blocks(blocks)})" if blocks > 1 else shape for shape, blocks in many)
    return ", ".join(words)


def _blocks(many: int) -> str:
    return "1 block" if many == 1 else f"{many} blocks"
