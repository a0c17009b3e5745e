"""The dense v_mfma of CDNA3 (gfx942): shapes, types, blocks and cycles.

A row of the table is one shape of a family of types. Each instruction multiplies one or several blocks at
once, D[b] = C[b] + A[b] B[b], by the 64 lanes of a wave; the shape and the type determine the number of
blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware import instructions as tables
from tilewise.hardware.catalog.entry import texts
from tilewise.hardware.instructions import Shape, listed, values, where
from tilewise.hardware.sources import cells

WAVE = 64
"""Lanes of a wave."""

PASS = 4
"""Cycles of a pass, the document's unit for the time until a result."""

AMD_NAMES = {"s8": "i8", "s32": "i32", "e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}
"""{a type: its name in instructions}, where the two differ."""

_OCP = {"e4m3": "e4m3fnuz", "e5m2": "e5m2fnuz"}


class BlockShape(Shape):
    """M, N and K of one block, as AMD writes them.

    >>> BlockShape.of("32x32x8")
    BlockShape(m=32, n=32, k=8)
    >>> print(BlockShape(4, 4, 4))
    4x4x4
    """

    __slots__ = ()
    written = "{}x{}x{}"
    engine = "mfma"


@dataclass(frozen=True, slots=True)
class BlockInstruction:
    """One dense v_mfma: the shape of a block, the number of blocks, the types of A, B and of C and D.

    >>> this = instructions("4x4x4", "f16")[0]
    >>> print(this)
    v_mfma_f32_4x4x4_16b_f16
    >>> this.builtin, this.blocks, this.cycles, this.passes
    ('__builtin_amdgcn_mfma_f32_4x4x4f16', 16, 8, 2)
    """

    shape: BlockShape
    blocks: int
    a: str
    b: str
    d: str
    cycles: int
    """Cycles until the next instruction of its sort can start, where nothing waits for the result."""

    @property
    def passes(self) -> int:
        """Return its number of passes, of four cycles each."""
        return self.cycles // PASS

    @property
    def builtin(self) -> str:
        """Return clang's name: bf16 has a 1k from CDNA2 on; those new in CDNA3 have an underscore."""
        of_k = "_1k" if self.a == "bf16" else ""
        apart = "_" if self.is_new else ""
        return f"__builtin_amdgcn_mfma_{amd_name(self.d)}_{self.shape}{apart}{self._types}{of_k}"

    @property
    def is_new(self) -> bool:
        """Return True if CDNA3 is the first to have it."""
        return self.a in ("xf32", *_OCP.values()) or (self.a == "s8" and self.blocks == 1)

    @property
    def _types(self) -> str:
        names = (self.a, self.b) if self.a in _OCP.values() else (self.a,)
        return "_".join(map(amd_name, names))

    @property
    def c(self) -> str:
        """Return the type of C, which is D's."""
        return self.d

    def dtype(self, operand: str) -> str:
        """Return the type of an operand: A, B, C or D.

        >>> instructions("32x32x8", "f16")[0].dtype("D")
        'f32'
        """
        return str(getattr(self, operand.lower()))

    def registers(self, operand: str) -> int:
        """Return the number of 32-bit registers of a lane for an operand: A, B, C or D.

        >>> [instructions("32x32x8", "f16")[0].registers(operand) for operand in "ABD"]
        [2, 2, 16]
        """
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        elements = {"A": m * k, "B": n * k}.get(operand, m * n)
        return self.blocks * elements * DType.of(self.dtype(operand)).bits // (WAVE * 32)

    @property
    def blocks_of_result(self) -> int | None:
        """Return the blocks of C and D, where their shape and type leave the number open, or None.

        >>> [this.blocks_of_result for this in instructions("16x16x4")]
        [1, 4, 4, None, None]
        """
        several = values(where(INSTRUCTIONS, shape=self.shape, d=self.d), "blocks")
        return self.blocks if len(several) > 1 else None

    def __str__(self) -> str:
        blocks = f"_{self.blocks}b" if self.blocks > 1 else ""
        return f"v_mfma_{amd_name(self.d)}_{self.shape}{blocks}_{self._types}"


def amd_name(dtype: str) -> str:
    """Return the name of a type in instructions.

    >>> amd_name("e4m3fnuz"), amd_name("bf16")
    ('fp8', 'bf16')
    """
    return AMD_NAMES.get(dtype, dtype)


TABLE = """
f32               | f32 | 32x32x1  |  2 | 64
f32               | f32 | 16x16x1  |  4 | 32
f32               | f32 | 4x4x1    | 16 | 8
f32               | f32 | 32x32x2  |  1 | 64
f32               | f32 | 16x16x4  |  1 | 32
f16               | f32 | 32x32x4  |  2 | 64
f16               | f32 | 16x16x4  |  4 | 32
f16               | f32 | 4x4x4    | 16 | 8
f16               | f32 | 32x32x8  |  1 | 32
f16               | f32 | 16x16x16 |  1 | 16
bf16              | f32 | 32x32x4  |  2 | 64
bf16              | f32 | 16x16x4  |  4 | 32
bf16              | f32 | 4x4x4    | 16 | 8
bf16              | f32 | 32x32x8  |  1 | 32
bf16              | f32 | 16x16x16 |  1 | 16
s8                | s32 | 32x32x4  |  2 | 64
s8                | s32 | 16x16x4  |  4 | 32
s8                | s32 | 4x4x4    | 16 | 8
s8                | s32 | 32x32x16 |  1 | 32
s8                | s32 | 16x16x32 |  1 | 16
xf32              | f32 | 16x16x8  |  1 | 16
xf32              | f32 | 32x32x4  |  1 | 32
f64               | f64 | 16x16x4  |  1 | 32
f64               | f64 | 4x4x4    |  4 | 16
e4m3fnuz e5m2fnuz | f32 | 16x16x32 |  1 | 16
e4m3fnuz e5m2fnuz | f32 | 32x32x16 |  1 | 32
"""
"""Types of A and B in any pairs, type of C and D, shape, blocks, cycles: the document's Table 28."""


def _read(table: str) -> Iterator[BlockInstruction]:
    """Yield the instructions of a table."""
    for types, (d,), (shape,), (blocks,), (cycles,) in cells(table):
        for a, b in product(types, types):
            yield BlockInstruction(BlockShape.of(shape), int(blocks), a, b, d, int(cycles))


INSTRUCTIONS = tuple(_read(TABLE))
"""Every dense v_mfma of CDNA3."""

_CDNA4 = "gfx950 (CDNA4) has it, and gfx942 not"
_CDNA2 = "CDNA1 and CDNA2 had it, and gfx942 has it no longer"
ELSEWHERE = {
    **dict.fromkeys(product(("32x32x16", "16x16x32"), ("f16", "bf16")), _CDNA4),
    **dict.fromkeys((("32x32x32", "s8"), ("16x16x64", "s8")), _CDNA4),
    **dict.fromkeys((("32x32x8", "s8"), ("16x16x16", "s8")), _CDNA2),
    **dict.fromkeys(((shape, "bf16") for shape in ("32x32x2", "16x16x2", "4x4x2", "16x16x8")), _CDNA2),
}
"""{(shape, type): the generation that has it}, for instructions of other generations."""


def instructions(
    shape: BlockShape | str | None = None, dtype: str | None = None
) -> tuple[BlockInstruction, ...]:
    """Return every dense v_mfma of CDNA3, or those of a shape, or those with a type of A.

    >>> len(instructions())
    32
    >>> print(*instructions("32x32x4"))
    v_mfma_f32_32x32x4_2b_f16 v_mfma_f32_32x32x4_2b_bf16 v_mfma_i32_32x32x4_2b_i8 v_mfma_f32_32x32x4_xf32
    """
    return where(INSTRUCTIONS, shape=shape and BlockShape.of(shape), a=dtype)


def inputs() -> tuple[str, ...]:
    """Return every type that A and B may have.

    >>> inputs()
    ('f32', 'f16', 'bf16', 's8', 'xf32', 'f64', 'e4m3fnuz', 'e5m2fnuz')
    """
    return values(INSTRUCTIONS, "a")


def results() -> tuple[str, ...]:
    """Return every type that C and D may have.

    >>> results()
    ('f32', 's32', 'f64')
    """
    return values(INSTRUCTIONS, "d")


def input_named(given: str) -> str:
    """Return the type that a word names, AMD's words included: fp8 and bf8 are those of gfx942.

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


@cache
def having(
    shape: BlockShape | str | None, dtype: str | None, blocks: int | None = None, operand: str = "A"
) -> tuple[BlockInstruction, ...]:
    """Return the instructions of a shape whose operand is of a type; refused where no instruction fits.

    For C and D, a type that only A has selects the instructions as well, as in their names.

    >>> [str(this) for this in having("16x16x32", "e4m3fnuz", operand="B")]
    ['v_mfma_f32_16x16x32_fp8_fp8', 'v_mfma_f32_16x16x32_bf8_fp8']
    >>> [str(this) for this in having("32x32x4", "f32", 1, "D")]
    ['v_mfma_f32_32x32x4_xf32']
    >>> [str(this) for this in having("32x32x8", "f16", operand="D")]
    ['v_mfma_f32_32x32x8_f16']
    """
    by = "a" if operand in "CD" and dtype in inputs() and dtype not in results() else operand.lower()
    wanted = BlockShape.of(shape) if shape else None
    elsewhere = ELSEWHERE.get((str(wanted), dtype or ""), "")
    end = " on gfx942" + f": {elsewhere}" * bool(elsewhere)
    found = tables.having(INSTRUCTIONS, "v_mfma", by, dtype, wanted, end=end)
    several = sorted(values(found, "blocks"))
    if wanted is None or blocks in several or (blocks is None and len(several) == 1):
        return where(found, blocks=blocks)
    multiplied = (
        f"{shape} {'of' if by in 'ab' else 'into'} {dtype} multiplies {' or '.join(map(_blocks, several))}"
    )
    if blocks is None:
        hint = f"say which: {' or '.join(f'blocks={many}' for many in several)}"
        raise LayoutError("TW601", multiplied, hint=hint)
    alike = where(INSTRUCTIONS, **{by: dtype})
    raise Refused(
        "TW602",
        f"{multiplied}, not {blocks}",
        witness={"shape": str(shape), "dtype": dtype, "blocks": several[0]},
        hint=f"{dtype} has {listed(f'{this.shape} ({_blocks(this.blocks)})' for this in alike)}",
    )


def _blocks(many: int) -> str:
    return "1 block" if many == 1 else f"{many} blocks"


# -- names in assembly, in clang and in LLVM -----------------------------------------------------


LOOKS = r"v_s?mfmac?_|__builtin_amdgcn_s?mfmac?_|llvm\.amdgcn\.s?mfmac?\."
"""A pattern for the beginning of an instruction: the assembler's, clang's builtin, or LLVM's intrinsic."""


@cache
def every() -> dict[str, BlockInstruction]:
    """Return {a spelling without its signs: the instruction}.

    >>> len(every()) > 32
    True
    """
    return {_squeezed(word): this for this in INSTRUCTIONS for word in (str(this), this.builtin)}


def named(words: str) -> BlockInstruction:
    """Return the instruction that words name; operands may follow.

    >>> print(named("__builtin_amdgcn_mfma_f32_32x32x8f16"))
    v_mfma_f32_32x32x8_f16
    >>> print(named("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[32:33], v[34:35], v[0:31]"))
    v_mfma_f32_32x32x4_2b_f16
    """
    first = re.split(r"[\s({]", words.strip(), maxsplit=1)[0].lower()
    if (found := every().get(_squeezed(first))) is not None:
        return found
    if said := _OTHER.match(first):
        having(said[1], {amd: name for name, amd in AMD_NAMES.items()}.get(said[2], said[2]))
    from difflib import get_close_matches

    scaled = "scale" in first or "f8f6f4" in first
    absent = "mfma.sp" if "smfma" in first else "mfma.scale" if scaled else ""
    reason = texts()["absent"].get(absent, f"gfx942 has no {first}")
    near = get_close_matches(_squeezed(first), every(), n=1)
    hint = f"near is {every()[near[0]]}; {_HINT}" if near else _HINT
    raise Refused("TW602", reason, witness={"instruction": first}, hint=hint)


_OTHER = re.compile(r"v_mfma_[a-z]\d+_(\d+x\d+x\d+)(?:_\d+b)?_?(f16|bf16|i8)(?:_1k)?$")
"""An instruction that may belong to another generation."""

_HINT = "tilewise catalog mfma.shapes lists what there is"


def _squeezed(word: str) -> str:
    """Return a spelling without the differences of the assembler, clang and LLVM."""
    return re.sub(r"^(v_|__builtin_amdgcn_|llvm\.amdgcn\.)", "", word).replace(".", "").replace("_", "")


def operands(this: BlockInstruction) -> dict[str, str]:
    """Return {operand: the call of its entry}.

    >>> operands(named("v_mfma_f32_16x16x32_fp8_bf8"))["B"]
    'mfma.B(16x16x32, dtype=e5m2fnuz)'
    >>> operands(named("v_mfma_f32_32x32x4_2b_f16"))["D"]
    'mfma.D(32x32x4, dtype=f32, blocks=2)'
    """
    blocks = "" if this.blocks_of_result is None else f", blocks={this.blocks}"
    return {
        operand: f"mfma.{operand}({this.shape}, dtype={this.dtype(operand)}{blocks * (operand in 'CD')})"
        for operand in "ABCD"
    }
