"""mfma's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.registers import registers_of
from tilewise.hardware.mfma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mfma.instructions import (
    WAVE,
    Instruction,
    Shape,
    having,
    input_named,
    inputs,
    instructions,
    results,
)
from tilewise.hardware.mfma.words import LOOKS, SCALED, SPARSE, named, operands
from tilewise.hardware.sources import AMD_LAB_NOTES, CDNA3_LAYOUTS, CDNA3_MFMA, HIP_FP8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ABSENT = {
    **dict.fromkeys(("mfma.sp", "mfma.E", "smfmac", "v_smfmac"), SPARSE),
    **dict.fromkeys(("mfma.scale", "mfma.SFA", "mfma.SFB", "mfma.f8f6f4"), SCALED),
}
"""Names that are left out, and why."""

ARCHITECTURE = "gfx942 (CDNA3)"


# -- parameters ------------------------------------------------------------------------------------


def _shape(given: str) -> str:
    return str(Shape.of(given))


_SHAPES = tuple(map(str, sorted({this.shape for this in instructions()}, reverse=True)))

SHAPE = Parameter("shape", "the shape of the instruction", legal=_SHAPES, normal=_shape)
INPUT = Parameter("dtype", "the type of A's elements", legal=inputs(), normal=input_named)
OF_B = replace(INPUT, meaning="the type of B's elements")
RESULT = Parameter("dtype", "the type of C's and D's elements", legal=results(), normal=input_named)
BLOCKS = Parameter(
    "blocks",
    "how many products one instruction computes, which the shape and the type say",
    legal=(1, 2, 4, 16),
    optional=True,
    number=True,
)
OF_RESULT = replace(
    BLOCKS, meaning="how many products one instruction computes, where the shape and the type leave it open"
)


# -- what is built ---------------------------------------------------------------------------------


def _input(operand: str) -> Callable[..., Built]:
    fragment, letter = {"A": a_fragment, "B": b_fragment}[operand], operand.lower()

    def build(shape: str, dtype: str, blocks: int | None) -> Built:
        taking = having(shape, dtype, blocks, operand)
        layout, element = fragment(shape, dtype), DType.of(dtype)
        facts = {**_which(taking), **registers_of(layout, element, letter), **_FILES}
        return Built(layout, facts, element, letter, notes=(*_NUMBERS.get(dtype, ()), _EVEN, _BROADCAST))

    return build


def _result(letter: str) -> Callable[..., Built]:
    def build(shape: str, dtype: str, blocks: int | None) -> Built:
        giving = having(shape, dtype, blocks, letter.upper())
        layout, element = d_fragment(shape, dtype, blocks), DType.of(dtype)
        facts = {**_which(giving), **registers_of(layout, element, letter), **_FILES}
        apart = _APART.get((shape, dtype), ())
        notes = (*apart, _TOGETHER, _EVEN)
        return Built(layout, facts, element, letter, notes=notes, documented=not apart)

    return build


def _by_result(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the type of C and D, which a type of A tells, too; the blocks where they are needed."""
    this = having(values["shape"], values["dtype"], values["blocks"], "D")[0]
    return values | {"dtype": this.d, "blocks": this.blocks_of_result}


_FILES = {"register_files": ["VGPR", "AccVGPR"], "lanes": WAVE}
_EVEN = "several registers of an operand follow each other, and the first one's number is even"
_BROADCAST = "as CBSZ, ABID and BLGP of 0 have it; others have blocks, or lanes, share what one holds"
_TOGETHER = "C and D are both in VGPRs, or both in AccVGPRs"
_APART = {
    ("4x4x4", "f64"): (
        "the document's formula would have lane j + 4 i + 16 b; AMD's calculator says j + 4 b + 16 i, and so "
        f"does {AMD_LAB_NOTES}, which holds what the device computes to the product",
    )
}
_ROUNDED = "f32 in registers; the product rounds their mantissas to 10 bits"
_FNUZ = "FNUZ, not OCP's {}: bias {}, no infinities, no -0, and one NaN, 0x80 (" + str(HIP_FP8) + ")"
_NUMBERS = {
    "xf32": (_ROUNDED,),
    "e4m3fnuz": (_FNUZ.format("e4m3", 8),),
    "e5m2fnuz": (_FNUZ.format("e5m2", 16),),
}


def _which(some: Sequence[Instruction]) -> dict[str, Any]:
    """The instructions, which differ in the types of A and B alone, and what they have in common."""
    first = some[0]
    return {
        "instructions": list(map(str, some)),
        "builtins": [this.builtin for this in some],
        "architecture": ARCHITECTURE,
        **_costs(first),
    }


def _costs(this: Instruction) -> dict[str, int]:
    return {"blocks": this.blocks, "cycles": this.cycles, "passes": this.passes}


def _registers(this: Instruction) -> dict[str, dict[str, int]]:
    return {"registers": {operand: this.registers(operand) for operand in "ABCD"}}


def _table(dtype: str | None, shape: str | None) -> Built:
    """What there is of a type and of a shape, or of all."""
    some = instructions(shape, dtype)
    if not some and dtype is not None and shape is not None:
        having(shape, dtype)
    if not some:
        raise Refused(
            "TW602",
            f"no mfma of gfx942 has the shape {shape}",
            witness={"shape": shape},
            hint=f"there are {', '.join(_SHAPES)}",
        )
    asked = {"dtype": dtype, "shape": shape}
    facts: dict[str, Any] = {name: value for name, value in asked.items() if value}
    facts["architecture"] = ARCHITECTURE
    if dtype is None:
        types = dict.fromkeys(this.a for this in some)
        facts["types"] = {name: _shapes(this for this in some if this.a == name) for name in types}
        return Built(None, facts)
    of_shape = {str(this.shape): this for this in some}
    facts |= {
        "shapes": [{"shape": name, **_costs(this), **_registers(this)} for name, this in of_shape.items()],
        "partners": [*dict.fromkeys(this.b for this in some)],
        "results": [*dict.fromkeys(this.d for this in some)],
        "instructions": list(map(str, some)),
    }
    return Built(None, facts, notes=_NUMBERS.get(dtype, ()))


def _shapes(some: Iterator[Instruction]) -> dict[str, str]:
    """{shape: how many blocks}."""
    return {str(this.shape): f"{this.blocks} block{'s' * (this.blocks > 1)}" for this in some}


def _named(given: str) -> str:
    return str(named(given))


def _words(instruction: str) -> Built:
    this = named(instruction)
    facts = {
        "instruction": instruction,
        "builtin": this.builtin,
        "operands": operands(this),
        "architecture": ARCHITECTURE,
        **_costs(this),
        **_registers(this),
    }
    return Built(None, facts)


# -- the entries -----------------------------------------------------------------------------------


def _listed(operand: str) -> Callable[[], Iterator[dict[str, Value]]]:
    """The instances of an operand: shapes and types that go together."""

    def instances() -> Iterator[dict[str, Value]]:
        for shape, dtype in dict.fromkeys((str(this.shape), this.dtype(operand)) for this in instructions()):
            yield {"shape": shape, "dtype": dtype}

    return instances


def _results_listed() -> Iterator[dict[str, Value]]:
    """The instances of C and D, with their blocks where shape and type leave them open."""
    for this in instructions():
        blocks = {} if this.blocks_of_result is None else {"blocks": this.blocks}
        yield {"shape": str(this.shape), "dtype": this.d, **blocks}


_EXAMPLE: dict[str, Value] = {"shape": "32x32x8", "dtype": "f16"}
_OF_RESULT: dict[str, Value] = {"shape": "32x32x8", "dtype": "f32"}
_FRAGMENT = "layout fragment register wave lane VGPR AccVGPR AMD CDNA3 MI300 gfx942 matrix core"

ENTRIES = (
    Entry(
        "mfma.A",
        "the A operand of AMD's mfma, [M, K] or [blocks, M, K]: which of 64 lanes holds which element",
        (SHAPE, INPUT, BLOCKS),
        CDNA3_LAYOUTS,
        _input("A"),
        _EXAMPLE,
        f"{_FRAGMENT} multiplicand",
        _listed("A"),
    ),
    Entry(
        "mfma.B",
        "the B operand of AMD's mfma, [N, K] or [blocks, N, K]: which of 64 lanes holds which element",
        (SHAPE, OF_B, BLOCKS),
        CDNA3_LAYOUTS,
        _input("B"),
        _EXAMPLE,
        f"{_FRAGMENT} multiplicand",
        _listed("B"),
    ),
    Entry(
        "mfma.C",
        "the accumulator C of AMD's mfma, [M, N] or [blocks, M, N]: which of 64 lanes holds which element",
        (SHAPE, RESULT, OF_RESULT),
        CDNA3_LAYOUTS,
        _result("c"),
        _OF_RESULT,
        f"{_FRAGMENT} accumulator",
        _results_listed,
        settled=_by_result,
    ),
    Entry(
        "mfma.D",
        "the result D of AMD's mfma, [M, N] or [blocks, M, N]: which of 64 lanes holds which element",
        (SHAPE, RESULT, OF_RESULT),
        CDNA3_LAYOUTS,
        _result("d"),
        _OF_RESULT,
        f"{_FRAGMENT} accumulator result",
        _results_listed,
        settled=_by_result,
    ),
    Entry(
        "mfma.shapes",
        "which mfma CDNA3 has, of a type of A, of a shape or of all: blocks, cycles, registers",
        (replace(INPUT, optional=True), replace(SHAPE, optional=True)),
        CDNA3_MFMA,
        _table,
        {"dtype": "f16"},
        "instructions types blocks cycles passes AMD MI300 gfx942 matrix core",
        lambda: ({"dtype": name} for name in inputs()),
    ),
    Entry(
        "mfma.instruction",
        "an mfma by its name in assembly, clang or LLVM: which entries its operands are, and what it takes",
        (
            Parameter(
                "instruction",
                "the words of an instruction",
                rule="such as v_mfma_f32_32x32x8_f16, or clang's __builtin_amdgcn_mfma_f32_32x32x8f16",
                normal=_named,
            ),
        ),
        CDNA3_MFMA,
        _words,
        {"instruction": "v_mfma_f32_32x32x8_f16"},
        "instruction operands assembly builtin intrinsic",
        lambda: ({"instruction": str(this)} for this in instructions()),
        looks=LOOKS,
    ),
)
