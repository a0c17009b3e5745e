"""mfma's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from tilewise.core.dtypes import DType
from tilewise.hardware.catalog.entry import (
    Built,
    Parameter,
    Value,
    choice,
    entry,
    fragment_built,
    of_type,
)
from tilewise.hardware.instructions import by_shape, values, where
from tilewise.hardware.mfma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mfma.instructions import (
    INSTRUCTIONS,
    LOOKS,
    WAVE,
    BlockInstruction,
    BlockShape,
    having,
    input_named,
    inputs,
    named,
    operands,
    results,
)
from tilewise.hardware.sources import AMD_LAB_NOTES, HIP_FP8

ARCHITECTURE = "gfx942 (CDNA3)"


# -- parameters ------------------------------------------------------------------------------------


_SHAPES = tuple(map(str, sorted(values(INSTRUCTIONS, "shape"), reverse=True)))

SHAPE = Parameter(
    "shape",
    "the shape of the instruction",
    legal=_SHAPES,
    normal=lambda given: str(BlockShape.of(given)),
)
INPUT = of_type("A's elements", inputs(), input_named)
RESULT = of_type("C's and D's elements", results(), input_named)
BLOCKS = choice(
    "blocks",
    "how many products one instruction computes, which the shape and the type say",
    (1, 2, 4, 16),
    optional=True,
)
OF_RESULT = replace(
    BLOCKS, meaning="how many products one instruction computes, where the shape and the type leave it open"
)


# -- builders --------------------------------------------------------------------------------------


def _operand(operand: str, shape: str, dtype: str, blocks: int | None) -> Built:
    """Return the function that builds an operand: A, B, C or D."""
    some, element = having(shape, dtype, blocks, operand), DType.of(dtype)
    if operand in "AB":
        layout = (a_fragment if operand == "A" else b_fragment)(shape, dtype)
        apart, notes = "", (*_NUMBERS.get(dtype, ()), _EVEN, _BROADCAST)
    else:
        layout, apart = d_fragment(shape, dtype, blocks), _APART.get((shape, dtype), "")
        notes = (*filter(None, [apart]), _TOGETHER, _EVEN)
    facts = {
        "instructions": list(map(str, some)),
        "builtins": [this.builtin for this in some],
        "architecture": ARCHITECTURE,
        **_costs(some[0]),
        "register_files": ["VGPR", "AccVGPR"],
        "lanes": WAVE,
    }
    return fragment_built(layout, element, operand.lower(), facts, notes=notes, documented=not apart)


def _by_result(values: dict[str, object]) -> dict[str, object]:
    """Return the values with the type of C and D, also from A's type, and the blocks where needed."""
    this = having(values["shape"], values["dtype"], values["blocks"], "D")[0]
    return values | {"dtype": this.d, "blocks": this.blocks_of_result}


_EVEN = "several registers of an operand follow each other, and the first one's number is even"
_BROADCAST = "as CBSZ, ABID and BLGP of 0 have it; others have blocks, or lanes, share what one holds"
_TOGETHER = "C and D are both in VGPRs, or both in AccVGPRs"
_APART = {
    ("4x4x4", "f64"): (
        "the document's formula would have lane j + 4 i + 16 b; AMD's calculator says j + 4 b + 16 i, and so "
        f"does {AMD_LAB_NOTES}, which holds what the device computes to the product"
    )
}
_ROUNDED = "f32 in registers; the product rounds their mantissas to 10 bits"
_FNUZ = "FNUZ, not OCP's {}: bias {}, no infinities, no -0, and one NaN, 0x80 (" + str(HIP_FP8) + ")"
_NUMBERS = {
    "xf32": (_ROUNDED,),
    "e4m3fnuz": (_FNUZ.format("e4m3", 8),),
    "e5m2fnuz": (_FNUZ.format("e5m2", 16),),
}


def _costs(this: BlockInstruction) -> dict[str, int]:
    return {"blocks": this.blocks, "cycles": this.cycles, "passes": this.passes}


def _registers(this: BlockInstruction) -> dict[str, dict[str, int]]:
    return {"registers": {operand: this.registers(operand) for operand in "ABCD"}}


def _table(dtype: str | None, shape: str | None) -> Built:
    """Return the facts of a type and of a shape, or of all."""
    some = having(shape, dtype)
    asked = {"dtype": dtype, "shape": shape}
    facts: dict[str, object] = {name: value for name, value in asked.items() if value}
    facts["architecture"] = ARCHITECTURE
    if dtype is None:
        facts["types"] = {name: by_shape(where(some, a=name), _in_words) for name in values(some, "a")}
        return Built(None, facts)
    facts |= {
        "shapes": [*by_shape(some, _row).values()],
        "partners": [*values(some, "b")],
        "results": [*values(some, "d")],
        "instructions": list(map(str, some)),
    }
    return Built(None, facts, notes=_NUMBERS.get(dtype, ()))


def _row(some: Sequence[BlockInstruction]) -> dict[str, object]:
    """Return the common facts of all rows of a shape: they differ in the type of B alone."""
    return {"shape": str(some[0].shape), **_costs(some[0]), **_registers(some[0])}


def _in_words(some: Sequence[BlockInstruction]) -> str:
    return f"{some[0].blocks} block{'s' * (some[0].blocks > 1)}"


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


@cache
def _listed(operand: str) -> list[dict[str, Value]]:
    """Return the instances of an operand, with blocks where shape and type leave them open."""
    found: list[dict[str, Value]] = []
    for this in INSTRUCTIONS:
        many = this.blocks_of_result if operand in "CD" else None
        said: dict[str, Value] = {"shape": str(this.shape), "dtype": this.dtype(operand)}
        found.append(said if many is None else {**said, "blocks": many})
    return found


ENTRIES = (
    entry("mfma.A", (SHAPE, INPUT, BLOCKS), partial(_operand, "A"), partial(_listed, "A")),
    entry(
        "mfma.B",
        (SHAPE, of_type("B's elements", inputs(), input_named), BLOCKS),
        partial(_operand, "B"),
        partial(_listed, "B"),
    ),
    entry(
        "mfma.C",
        (SHAPE, RESULT, OF_RESULT),
        partial(_operand, "C"),
        partial(_listed, "C"),
        settled=_by_result,
    ),
    entry(
        "mfma.D",
        (SHAPE, RESULT, OF_RESULT),
        partial(_operand, "D"),
        partial(_listed, "C"),
        settled=_by_result,
    ),
    entry(
        "mfma.shapes",
        (replace(INPUT, optional=True), replace(SHAPE, optional=True)),
        _table,
        lambda: ({"dtype": name} for name in inputs()),
    ),
    entry(
        "mfma.instruction",
        (
            Parameter(
                "instruction",
                "the words of an instruction",
                rule="such as v_mfma_f32_32x32x8_f16, or clang's __builtin_amdgcn_mfma_f32_32x32x8f16",
                normal=lambda given: str(named(given)),
            ),
        ),
        _words,
        lambda: ({"instruction": str(this)} for this in INSTRUCTIONS),
        looks=LOOKS,
    ),
)
