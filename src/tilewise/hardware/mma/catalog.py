"""mma's entries of the catalogue: dense, with sparse A, of kinds, and their scales."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import (
    ARCH,
    Built,
    Parameter,
    Value,
    choice,
    entry,
    flag,
    fragment_built,
    of_type,
)
from tilewise.hardware.instructions import Shape, by_shape, easiest, met, values, where
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.mma.fragments import PRODUCTS, a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import DENSE, EVERY, MAJORS, SPARSE, Instruction, multiplying
from tilewise.hardware.mma.kinds import INDEX, KINDS, MEANS, Kind, container
from tilewise.hardware.mma.machine import made_of
from tilewise.hardware.mma.scales import Scales
from tilewise.hardware.mma.sparse import EACH, Sparse
from tilewise.hardware.mma.words import LOOKS, named, operands
from tilewise.hardware.sources import (
    Source,
    ptx,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- facts of all entries --------------------------------------------------------------------------


def _runs_as(some: Sequence[Instruction], arch: str | None) -> dict[str, Any]:
    """Return the replacements of some instructions on machines without them."""
    said = made_of(some, arch)
    return {"runs_as": said} if said else {}


def spelled(some: Sequence[Instruction]) -> list[str]:
    """Return the instructions; those of a kind that differ in A and B alone are one text, with braces.

    >>> spelled(where(DENSE, kind=KINDS["f8f6f4"], a="e2m1", d="f32"))
    ['mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.{e4m3,e5m2,e3m2,e2m3,e2m1}.f32']
    """
    found: dict[Instruction, list[Instruction]] = {}
    for this in some:
        found.setdefault(replace(this, a="{}", b="{}") if this.kind else this, []).append(this)
    return [
        str(alike).format(*(_braced(values(those, operand)) for operand in "ab"))
        for alike, those in found.items()
    ]


def _braced(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ",".join(names) + "}"


def _table(dtype: str | None, shape: str | None, arch: str | None) -> Built:
    """Return the facts of a type and of a shape, or of all."""
    rows = multiplying(Shape.of(shape) if shape else None, dtype, "a")
    asked = {"shape": shape, "dtype": dtype}
    words = [word for word in (shape, dtype and f"of {dtype}") if word]
    had = met(rows, " ".join(["mma.sync", *(words or ["at all"])]), arch)
    facts: dict[str, Any] = {name: value for name, value in asked.items() if value}
    if dtype is None:
        types = {name: by_shape(where(had, a=name), easiest) for name in _INPUTS}
        return Built(None, facts | {"types": {name: found for name, found in types.items() if found}})
    facts |= {
        "shapes": by_shape(had, easiest),
        "partners": [*values(had, "b")],
        "results": [*values(had, "d")],
        "instructions": spelled(had),
    }
    return Built(None, facts | _runs_as(had, arch))


def _sparse_table(dtype: str, arch: str | None) -> Built:
    """Return the facts of sparse A of a type."""
    had = met(multiplying(None, dtype, "a", "sparse"), f"mma.sp with A of {dtype}", arch)
    unordered = [replace(this, ordered=False) for this in had if not this.kind]

    def said(rows: Sequence[Instruction]) -> dict[str, Any]:
        this = Sparse.of(rows[0].shape, dtype)
        return {
            "stored": this.stored,
            "of": f"{this.chunk // 2} of {this.chunk}",
            "bits": this.taken,
            "selectors": list(this.selectors),
            "architectures": easiest(rows),
        }

    facts = {"dtype": dtype, "shapes": by_shape(had, said), "instructions": spelled(had)}
    return Built(None, facts | _runs_as([*had, *unordered], arch), DType.of(dtype))


def _sync(instruction: str, arch: str | None) -> Built:
    this = named(instruction)
    had = met([this], f"{this.name} {instruction.partition('aligned.')[2]}", arch)
    facts = {"instruction": instruction, "operands": operands(this), "architectures": easiest(had)}
    return Built(None, facts | _runs_as(had, arch))


# -- fragments -------------------------------------------------------------------------------------

_FRAGMENTS: dict[str, Callable[..., Layout]] = {
    "a": a_fragment,
    "b": b_fragment,
    "c": d_fragment,
    "d": d_fragment,
}
_MISPRINT = (
    "the manual (9.2) misprints the column of a32 to a63: what it says of a0 to a31 holds of them, with "
    "the low five bits of i",
)


def _dense(letter: str, shape: str, dtype: str, arch: str | None, **said: Any) -> Built:
    """Return an operand of a dense instruction."""
    layout, wanted, element = _FRAGMENTS[letter](shape, dtype, **said), Shape.of(shape), DType.of(dtype)
    rows, witness = multiplying(wanted, dtype, letter), None
    if letter in "ab":
        rows = tuple(this for this in rows if this.majors["ab".index(letter)] == said["major"])
    if not any(this.kind for this in rows):
        witness = {"shape": shape}
    does = "of" if letter in "ab" else "that accumulates in"
    alike = where(DENSE, **{letter: dtype})
    had = met(rows, f"mma.sync {shape} {does} {dtype}", arch, witness, alike)
    facts = {"instructions": spelled(had), "architectures": easiest(had), **_runs_as(had, arch)}
    if rows[0].products > 1:
        low = [4 * said["product"] + lane for lane in range(4)]
        facts |= {"products": PRODUCTS, "lanes": [*low, *(lane + 16 for lane in low)]}
    held = container(wanted, element) if letter in "ab" else None
    notes = _MISPRINT if (shape, letter) == ("m16n8k256", "a") else ()
    return fragment_built(layout, element, letter, facts, held, notes=notes, source=section_of(shape, dtype))


@cache
def _listed(letter: str) -> list[dict[str, Value]]:
    """Return the instances of an operand: the shapes and types that go together."""
    order, which = values(DENSE, letter), "abcd".index(letter)

    def place(this: Instruction) -> tuple[Shape, int, list[int]]:
        return this.shape, order.index(getattr(this, letter)), [*map(MAJORS.index, this.majors)]

    return [
        {
            "shape": str(this.shape),
            "dtype": getattr(this, letter),
            **({"major": this.majors[which]} if letter in "ab" else {}),
            "product": product,
        }
        for this in sorted(DENSE, key=place)
        for product in range(this.products)
    ]


def _sparse(letter: str, shape: str, dtype: str, arch: str | None) -> Built:
    """Return an operand of an instruction with sparse A."""
    wanted, element = Shape.of(shape), DType.of(dtype)
    rows = multiplying(wanted, dtype, letter, "sparse")
    does = "that accumulates in" if letter == "d" else f"with {letter.upper()} of"
    had = met(rows, f"mma.sp {shape} {does} {dtype}", arch)
    this = Sparse.of(wanted, rows[0].a if letter == "d" else element)
    facts: dict[str, Any] = {"instructions": spelled(had), "architectures": easiest(had)}
    if letter == "d":
        return fragment_built(this.d_fragment, element, letter, facts)
    if letter == "a":
        facts |= _chunk(this) | {"metadata": f"mma.E({shape}, dtype={dtype})"}
    layout = this.a_fragment if letter == "a" else this.b_fragment
    held = container(wanted, element, sparse=True)
    return fragment_built(layout, element, letter, facts, held, source=_section_of_sparse(this))


def _metadata(shape: str, dtype: str, selector: int, arch: str | None) -> Built:
    this = Sparse.of(shape, dtype)
    layout, lanes = this.metadata(selector), this.lanes(selector)
    had = met(multiplying(this.shape, dtype, "a", "sparse"), f"mma.sp {shape} with A of {dtype}", arch)
    facts = {
        "instructions": spelled(had),
        "dtype": dtype,
        **_chunk(this),
        "indices": {"row": this.indices, "bits": INDEX.bits, "register": EACH},
        "patterns": [f"0b{high:02b}{low:02b}" for low, high in this.patterns],
        "selectors": list(this.selectors),
        "lanes": _of_four(lanes),
        "architectures": easiest(had),
    }
    notes = ("indices other than the patterns, and selectors other than those, are undefined",)
    return Built(layout, facts, INDEX, "e", notes=notes, source=_section_of_sparse(this))


def _chunk(this: Sparse) -> dict[str, Any]:
    chunk = {"columns": this.chunk, "stored": this.chunk // 2, "indices": 2}
    return {"chunk": chunk, "means": MEANS[this.chunk]}


def _of_four(lanes: Sequence[int]) -> dict[str, Any]:
    return {"of_four": [lane for lane in lanes if lane < 4], "count": len(lanes)}


def section_of(shape: str, dtype: str) -> Source:
    """Return the section of the manual that has the fragments of a shape and a type.

    >>> print(section_of("m16n8k16", "s8"))
    PTX ISA, Matrix Fragments for mma.m16n8k16 with integer type
    """
    bytes_ = dtype in ("s8", "u8", "e4m3", "e5m2", "s32")
    of_volta = "f64" if dtype == "f64" else "f16"
    words, end = {
        "m8n8k4": (f" with .{of_volta} floating point type", f"-{of_volta}"),
        "m16n8k16": (" with integer type", "-i8-f8") if bytes_ else (" with floating point type", "-float"),
    }.get(shape, ("", ""))
    return _section(f"mma.{shape}{words}", f"mma-{shape}{end}")


def _section_of_sparse(this: Sparse) -> Source:
    group = {32: "tf32", 16: "f16bf16", 8: "u8s8" if this.shape.k == 32 else "u8s8-fp8", 4: "u4s4"}[
        this.taken
    ]
    return _section(f"sparse mma.{this.shape}", f"sparse-mma-{this.shape}-{group}")


def _section(words: str, anchor: str) -> Source:
    numbers = re.sub(r"m(\d+)n(\d+)k(\d+)", r"\1\2\3", anchor)
    return ptx(f"Matrix Fragments for {words}", f"warp-level-matrix-fragment-{numbers}")


# -- kinds and scales ------------------------------------------------------------------------------


def _kinds(kind: str, arch: str | None) -> Built:
    this = KINDS[kind]
    had = met(where(EVERY, kind=this), f"mma.sync of kind::{kind}", arch)
    sorts = {"dense": False, "sparse": True}
    lowest = {name: (this.lowest(name), DType.of(name).bits) for name in this.types}
    facts = {
        "kind": kind,
        "types": list(this.types),
        "results": list(this.results),
        "shapes": {name: str(this.shape(sparse)) for name, sparse in sorts.items()},
        "bits": {
            name: {"taken": this.taken, "lowest": low, "highest": low + bits - 1}
            for name, (low, bits) in lowest.items()
        },
        "scales": [{"scale": each.word, "dtype": each.dtype} for each in this.scalings],
        "architectures": {name: str(this.needs(sparse)) for name, sparse in sorts.items()},
        "instructions": spelled(had),
    }
    return Built(None, facts, notes=tuple(note for each in this.scalings for note in each.notes))


def _scales(operand: str, kind: str, scale: str, dtype: str, arch: str | None, **said: Any) -> Built:
    """Return the scales of A or of B."""
    this = Scales.of(operand, kind, scale, dtype, **said)
    rows = where(EVERY, kind=this.kind, scaling=this.scaling, sparse=this.sparse)
    had = met(rows, f"{rows[0].name} of kind::{kind}", arch)
    facts = {
        "instructions": spelled(had),
        "dtype": dtype,
        "scales": {"row": this.scaling.vector, "columns": this.block},
        "bytes": list(this.bytes),
        "threads": list(this.threads),
        "lanes": _of_four(this.lanes),
        "architectures": easiest(had),
    }
    notes = (f"reg counts bytes of the one {REGISTER_BITS}-bit register", *this.scaling.notes)
    return Built(this.layout, facts, DType.of(dtype), "sf", notes=notes)


# -- parameters ------------------------------------------------------------------------------------


def _shape(rows: Sequence[Instruction]) -> Parameter:
    shapes = tuple(map(str, sorted(values(rows, "shape"))))
    meaning = "the shape of the instruction"
    return Parameter("shape", meaning, legal=shapes, normal=lambda given: str(Shape.of(given)))


def _kind(meaning: str, legal: Sequence[str]) -> Parameter:
    return Parameter("kind", meaning, legal=tuple(legal), normal=lambda given: Kind.of(given).name)


def _choice(name: str, meaning: str, most: int) -> Parameter:
    return choice(name, meaning, tuple(range(most)), 0)


def _major(usual: str) -> Parameter:
    meaning = "row or col; m8n8k4 of f16 alone takes both; B's is that of the manual's drawing, K x N"
    return Parameter("major", meaning, legal=MAJORS, default=usual)


_INPUTS = values(DENSE, "a")
_A, _SPARSE_A = of_type("A's elements", _INPUTS), of_type("A's elements", values(SPARSE, "a"))
_RESULTS = values(DENSE, "d")
_SHAPE, _SPARSE_SHAPE = _shape(DENSE), _shape(SPARSE)
_PRODUCT = _choice("product", "which of the four products that m8n8k4 of f16 computes", PRODUCTS)
_SELECTORS = (
    _kind("the kind of an mma with scales", [name for name, kind in KINDS.items() if kind.scalings]),
    Parameter("scale", "how many scales a row has: scale_vec", legal=("1X", "2X", "4X")),
    replace(of_type("the scales", ("ue8m0", "ue4m3")), default="ue8m0"),
    _choice("byte", "the byte of a register where a row's scales begin: byte-id", 4),
    _choice("thread", "which lanes of each four supply scales: thread-id", 4),
    flag("sparse", "A is sparse, and K is twice as long"),
    ARCH,
)

# -- the entries -----------------------------------------------------------------------------------


ENTRIES = (
    entry("mma.A", (_SHAPE, _A, _major("row"), _PRODUCT, ARCH), partial(_dense, "a"), partial(_listed, "a")),
    entry(
        "mma.B",
        (_SHAPE, of_type("B's elements", _INPUTS), _major("col"), _PRODUCT, ARCH),
        partial(_dense, "b"),
        partial(_listed, "b"),
    ),
    entry(
        "mma.C",
        (_SHAPE, of_type("C's elements", _RESULTS), _PRODUCT, ARCH),
        partial(_dense, "c"),
        partial(_listed, "c"),
    ),
    entry(
        "mma.D",
        (_SHAPE, of_type("D's elements", _RESULTS), _PRODUCT, ARCH),
        partial(_dense, "d"),
        partial(_listed, "d"),
    ),
    entry(
        "mma.shapes",
        (replace(_A, optional=True), replace(_SHAPE, optional=True), ARCH),
        _table,
        lambda: ({"dtype": name} for name in _INPUTS),
    ),
    entry(
        "mma.sync",
        (
            Parameter(
                "instruction",
                "the words of an instruction",
                rule="such as m16n8k16.row.col.f32.f16.f16.f32, with or without mma.sync.aligned before",
                normal=lambda given: str(named(given)),
            ),
            ARCH,
        ),
        _sync,
        looks=LOOKS,
    ),
    entry("mma.sp.A", (_SPARSE_SHAPE, _SPARSE_A, ARCH), partial(_sparse, "a")),
    entry("mma.sp.B", (_SPARSE_SHAPE, _SPARSE_A, ARCH), partial(_sparse, "b")),
    entry(
        "mma.sp.D", (_SPARSE_SHAPE, of_type("D's elements", values(SPARSE, "d")), ARCH), partial(_sparse, "d")
    ),
    entry(
        "mma.E",
        (_SPARSE_SHAPE, _SPARSE_A, _choice("selector", "which lanes of each four supply metadata", 4), ARCH),
        _metadata,
    ),
    entry("mma.SFA", _SELECTORS, partial(_scales, "SFA")),
    entry("mma.SFB", _SELECTORS, partial(_scales, "SFB")),
    entry("mma.sp.shapes", (_SPARSE_A, ARCH), _sparse_table),
    entry("mma.kinds", (_kind("the kind of an mma", tuple(KINDS)), ARCH), _kinds),
)
