"""mma.sync's entries of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product as together

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import ARCH, dtype_named
from tilewise.hardware.catalog.registers import registers_of
from tilewise.hardware.mma import sparse_catalog
from tilewise.hardware.mma.facts import easiest, having, in_container, spelled
from tilewise.hardware.mma.fragments import PRODUCTS, a_fragment, b_fragment, d_fragment, is_volta
from tilewise.hardware.mma.instructions import (
    DENSE,
    FAMILIES,
    MAJORS,
    Instruction,
    Shape,
    check_input,
    check_result,
    inputs,
    instructions,
    results,
)
from tilewise.hardware.mma.kinds import F8F6F4, KindInstruction, container, kind_instructions
from tilewise.hardware.mma.machine import made_of
from tilewise.hardware.mma.words import LOOKS, named, operands
from tilewise.hardware.sources import PTX_MMA, PTX_MMA_INSTRUCTION, PTX_MMA_SHAPES, Source, ptx

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

ABSENT: dict[str, str] = {**sparse_catalog.ABSENT}
"""Names that are left out, and why."""


# -- parameters ------------------------------------------------------------------------------------


def _shape(given: str) -> str:
    return str(Shape.of(given))


_SHAPES = tuple(map(str, sorted({family.shape for family in FAMILIES})))
_INPUTS = (*inputs(), *(name for name in F8F6F4 if name not in inputs()))
_RESULTS = results()

SHAPE = Parameter("shape", "the shape of the instruction", legal=_SHAPES, normal=_shape)
OF_A = Parameter("dtype", "the type of A's elements", legal=_INPUTS, normal=dtype_named)
OF_B = replace(OF_A, meaning="the type of B's elements")
OF_C = Parameter("dtype", "the type of C's elements", legal=_RESULTS, normal=dtype_named)
OF_D = replace(OF_C, meaning="the type of D's elements")
PRODUCT = Parameter(
    "product",
    "which of the four products that m8n8k4 of f16 computes",
    legal=tuple(range(PRODUCTS)),
    default=0,
    number=True,
)


def _major(default: str) -> Parameter:
    return Parameter(
        "major",
        "row or col; m8n8k4 of f16 alone takes both; of B it is said as the manual draws it, K x N",
        legal=MAJORS,
        default=default,
    )


# -- what is built ---------------------------------------------------------------------------------


def _input(operand: str) -> Callable[..., Built]:
    fragment, letter = {"A": a_fragment, "B": b_fragment}[operand], operand.lower()

    def build(shape: str, dtype: str, major: str, product: int, arch: str | None) -> Built:
        layout, element = fragment(shape, dtype, major, product), DType.of(dtype)
        taken, lowest = container(shape, dtype)
        taking = [
            this
            for this in _every()
            if (str(this.shape), getattr(this, letter)) == (shape, dtype)
            and (isinstance(this, KindInstruction) or this.majors["AB".index(operand)] == major)
        ]
        if not any(isinstance(this, KindInstruction) for this in taking):
            check_input(shape, dtype, arch)
        facts = {
            **_which(taking, f"{shape} of {dtype}", arch),
            **_products(shape, element, product),
            **registers_of(layout, element, letter, taken),
            **in_container(element, taken, lowest),
        }
        notes = _MISPRINT if (shape, operand) == ("m16n8k256", "A") else ()
        return Built(layout, facts, element, letter, (taken, lowest), notes, section_of(shape, dtype))

    return build


def _result(letter: str) -> Callable[..., Built]:
    def build(shape: str, dtype: str, product: int, arch: str | None) -> Built:
        layout, element = d_fragment(shape, dtype, product), DType.of(dtype)
        giving = [
            this
            for this in _every()
            if str(this.shape) == shape and dtype == (this.d if letter == "d" else _c(this))
        ]
        if not any(isinstance(this, KindInstruction) for this in giving):
            check_result(shape, dtype, arch)
        facts = {
            **_which(giving, f"{shape} that accumulates in {dtype}", arch),
            **_products(shape, element, product),
            **registers_of(layout, element, letter),
        }
        return Built(layout, facts, element, letter, source=section_of(shape, dtype))

    return build


def _inputs_listed(operand: str) -> Callable[[], Iterator[dict[str, Value]]]:
    """The instances of A or B, of which the parameters would name twenty times as many that do not exist."""

    def instances() -> Iterator[dict[str, Value]]:
        having = {(str(this.shape), getattr(this, operand.lower())) for this in _every()}
        usual = DENSE["AB".index(operand)]
        for shape, dtype in together(_SHAPES, _INPUTS):
            several = is_volta(Shape.of(shape), DType.of(dtype))
            majors, products = (MAJORS, range(PRODUCTS)) if several else ((usual,), range(1))
            for major, number in together(majors, products) if (shape, dtype) in having else ():
                yield {"shape": shape, "dtype": dtype, "major": major, "product": number}

    return instances


def _results_listed(letter: str) -> Callable[[], Iterator[dict[str, Value]]]:
    """The instances of C or D."""

    def instances() -> Iterator[dict[str, Value]]:
        having = {(str(this.shape), this.d if letter == "d" else _c(this)) for this in _every()}
        volta = {this.d for this in instructions("m8n8k4", "f16")}
        for shape, dtype in together(_SHAPES, _RESULTS):
            products = range(PRODUCTS if shape == "m8n8k4" and dtype in volta else 1)
            for number in products if (shape, dtype) in having else ():
                yield {"shape": shape, "dtype": dtype, "product": number}

    return instances


def _every() -> tuple[Instruction | KindInstruction, ...]:
    return (*instructions(), *kind_instructions(sparse=False))


def _c(this: Instruction | KindInstruction) -> str:
    return this.c if isinstance(this, Instruction) else this.d


def _which(some: Sequence[Instruction | KindInstruction], words: str, arch: str | None) -> dict[str, Any]:
    """The instructions that an architecture has, the first one that has any, and what they run as."""
    had = having(some, words, arch)
    facts: dict[str, Any] = {"instructions": spelled(had), "architectures": easiest(had)}
    if said := made_of(had, arch):
        facts["runs_as"] = said
    return facts


def _products(shape: str, element: DType, product: int) -> dict[str, Any]:
    if not is_volta(Shape.of(shape), element):
        return {}
    low = [4 * product + lane for lane in range(4)]
    return {"products": PRODUCTS, "lanes": [*low, *(lane + 16 for lane in low)]}


def _table(dtype: str | None, shape: str | None, arch: str | None) -> Built:
    """What there is of a type and of a shape, or of all."""
    some = [this for this in _every() if dtype in (None, this.a) and shape in (None, str(this.shape))]
    if not some:
        _refuse(dtype, shape)
    had = having(some, " ".join(filter(None, (shape, dtype and f"of {dtype}"))) or "at all", arch)
    asked = {"dtype": dtype, "shape": shape}
    facts: dict[str, Any] = {name: value for name, value in asked.items() if value}
    if dtype is None:
        types = {name: _shapes(this for this in had if this.a == name) for name in _INPUTS}
        return Built(None, facts | {"types": {name: found for name, found in types.items() if found}})
    facts |= {
        "shapes": _shapes(had),
        "partners": [*dict.fromkeys(this.b for this in had)],
        "results": [*dict.fromkeys(this.d for this in had)],
        "instructions": spelled(had),
    }
    if said := made_of(had, arch):
        facts["runs_as"] = said
    return Built(None, facts)


def _refuse(dtype: str | None, shape: str | None) -> NoReturn:
    """Say what there is instead of a shape that no type has, or of a type that it, or any, does not have."""
    if dtype is not None and dtype not in _INPUTS:
        check_input(shape or _SHAPES[0], dtype)
    having = dict.fromkeys(str(this.shape) for this in _every() if dtype in (None, this.a))
    raise Refused(
        "TW602",
        f"no mma.sync has the shape {shape}" if dtype is None else f"no mma.sync {shape} multiplies {dtype}",
        witness={"shape": shape} | ({"dtype": dtype} if dtype else {}),
        hint=f"{dtype or 'there'} {'has' if dtype else 'are'} {', '.join(having)}",
    )


def _shapes(some: Iterable[Instruction | KindInstruction]) -> dict[str, str]:
    """{shape: the architectures that have it}."""
    by_shape: dict[str, list[Instruction | KindInstruction]] = {}
    for this in some:
        by_shape.setdefault(str(this.shape), []).append(this)
    return {shape: easiest(those) for shape, those in by_shape.items()}


def _named(given: str) -> str:
    return str(named(given))


def _sync(instruction: str, arch: str | None) -> Built:
    this = named(instruction)
    had = having([this], instruction.partition("aligned.")[2], arch)
    facts: dict[str, Any] = {"instruction": instruction, "operands": operands(this)}
    facts["architectures"] = easiest(had)
    if said := made_of(had, arch):
        facts["runs_as"] = said
    return Built(None, facts)


_MISPRINT = (
    "the manual (9.2) misprints the column of a32 to a63: what it says of a0 to a31 holds of them, with "
    "the low five bits of i",
)


def section_of(shape: str, dtype: str) -> Source:
    """The section of the manual that has the fragments of a shape and a type.

    >>> print(section_of("m16n8k16", "s8"))
    PTX ISA, Matrix Fragments for mma.m16n8k16 with integer type
    """
    numbers = shape.replace("m", "").replace("n", "").replace("k", "")
    if shape == "m8n8k4":
        kind = "f64" if dtype == "f64" else "f16"
        return ptx(f"{_FRAGMENTS}{shape} with .{kind} floating point type", f"{_ANCHOR}{numbers}-{kind}")
    if shape == "m16n8k16":
        bytes_ = dtype in ("s8", "u8", "e4m3", "e5m2", "s32")
        words, end = ("integer type", "i8-f8") if bytes_ else ("floating point type", "float")
        return ptx(f"{_FRAGMENTS}{shape} with {words}", f"{_ANCHOR}{numbers}-{end}")
    return ptx(f"{_FRAGMENTS}{shape}", f"{_ANCHOR}{numbers}")


_FRAGMENTS, _ANCHOR = "Matrix Fragments for mma.", "warp-level-matrix-fragment-mma-"

# -- the entries -----------------------------------------------------------------------------------

_EXAMPLE = {"shape": "m16n8k16", "dtype": "f16"}

ENTRIES = (
    Entry(
        "mma.A",
        "the A operand of an mma.sync, [M, K]: which lane holds which element",
        (SHAPE, OF_A, _major("row"), PRODUCT, ARCH),
        PTX_MMA,
        _input("A"),
        _EXAMPLE,
        "layout fragment register warp multiplicand",
        _inputs_listed("A"),
    ),
    Entry(
        "mma.B",
        "the B operand of an mma.sync, [N, K]: which lane holds which element",
        (SHAPE, OF_B, _major("col"), PRODUCT, ARCH),
        PTX_MMA,
        _input("B"),
        _EXAMPLE,
        "layout fragment register warp multiplicand",
        _inputs_listed("B"),
    ),
    Entry(
        "mma.C",
        "the accumulator C of an mma.sync, [M, N]: which lane holds which element",
        (SHAPE, OF_C, PRODUCT, ARCH),
        PTX_MMA,
        _result("c"),
        {"shape": "m16n8k16", "dtype": "f32"},
        "layout fragment register warp accumulator",
        _results_listed("c"),
    ),
    Entry(
        "mma.D",
        "the result D of an mma.sync, [M, N]: which lane holds which element",
        (SHAPE, OF_D, PRODUCT, ARCH),
        PTX_MMA,
        _result("d"),
        {"shape": "m16n8k16", "dtype": "f32"},
        "layout fragment register warp accumulator result",
        _results_listed("d"),
    ),
    Entry(
        "mma.shapes",
        "which mma.sync there are, of a type of A, of a shape or of all: what goes together, and who has it",
        (replace(OF_A, optional=True), replace(SHAPE, optional=True), ARCH),
        PTX_MMA_SHAPES,
        _table,
        {"dtype": "s8"},
        "instructions types architectures illegal Volta Turing Ampere Ada Hopper Blackwell tensor core "
        "HMMA IMMA BMMA DMMA QMMA",
        lambda: ({"dtype": name} for name in _INPUTS),
    ),
    Entry(
        "mma.sync",
        "an mma by its words in PTX, dense or sparse: who has it, and which entries its operands are",
        (
            Parameter(
                "instruction",
                "the words of an instruction",
                rule="such as m16n8k16.row.col.f32.f16.f16.f32, with or without mma.sync.aligned before",
                normal=_named,
            ),
            ARCH,
        ),
        PTX_MMA_INSTRUCTION,
        _sync,
        {"instruction": "m16n8k16.row.col.f32.f16.f16.f32"},
        "instruction operands assembly",
        looks=LOOKS,
    ),
    *sparse_catalog.ENTRIES,
)
