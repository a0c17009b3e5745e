"""The entries of sparse and of block-scaled mma: stored A, metadata, scales, and what there is of each."""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value
from tilewise.hardware.catalog.parameters import ARCH, dtype_named
from tilewise.hardware.catalog.registers import registers_of
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.mma.facts import easiest, having, in_container, spelled
from tilewise.hardware.mma.indices import INDEX, MEANS
from tilewise.hardware.mma.instructions import Shape
from tilewise.hardware.mma.kinds import KINDS, Kind, KindInstruction, container, kind_instructions
from tilewise.hardware.mma.machine import made_of
from tilewise.hardware.mma.scales import Scales
from tilewise.hardware.mma.sparse import EACH, Sparse
from tilewise.hardware.mma.sparse_instructions import SparseInstruction, sparse_instructions, sparse_shapes
from tilewise.hardware.sources import (
    PTX_BLOCK_SCALING,
    PTX_MMA,
    PTX_MMA_SPARSE,
    PTX_SPARSE_STORAGE,
    Source,
    ptx,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ABSENT = {
    "mma.sp.E": "the metadata of a sparse mma is mma.E",
    "mma.sp.C": "C of a sparse mma lies as D does, which is mma.sp.D",
    "mma.sp": "a sparse mma has several operands: mma.sp.A, mma.sp.B, mma.sp.D and the metadata mma.E",
    "mma.scale": "the scales of a block-scaled mma are mma.SFA and mma.SFB",
}
"""Names that are left out, and why."""

# -- parameters ------------------------------------------------------------------------------------


def _shape(given: str) -> str:
    return str(Shape.of(given))


def _kind(given: str) -> str:
    return Kind.of(given).name


_EVERY: tuple[SparseInstruction | KindInstruction, ...] = (*sparse_instructions(), *kind_instructions(True))
_SHAPES = tuple(str(shape) for shape in sorted({this.shape for this in _EVERY}))
_INPUTS = tuple(dict.fromkeys(name for this in _EVERY for name in (this.a, this.b)))
_RESULTS = tuple(dict.fromkeys(this.d for this in _EVERY))
_SCALED = tuple(name for name, kind in KINDS.items() if kind.scalings)

SHAPE = Parameter("shape", "the shape of the instruction", legal=_SHAPES, normal=_shape)
OF_A = Parameter("dtype", "the type of A's elements", legal=_INPUTS, normal=dtype_named)
OF_B = replace(OF_A, meaning="the type of B's elements")
RESULT = Parameter("dtype", "the type of D's elements", legal=_RESULTS, normal=dtype_named)
SELECTOR = Parameter(
    "selector", "which lanes of each four supply metadata", legal=(0, 1, 2, 3), default=0, number=True
)
KIND = Parameter("kind", "the kind of an mma with scales", legal=_SCALED, normal=_kind)
ANY_KIND = Parameter("kind", "the kind of an mma", legal=tuple(KINDS), normal=_kind)
SCALE = Parameter("scale", "how many scales a row has: scale_vec", legal=("1X", "2X", "4X"))
SCALE_TYPE = Parameter(
    "dtype", "the type of the scales", legal=("ue8m0", "ue4m3"), default="ue8m0", normal=dtype_named
)
SPARSE = Parameter("sparse", "A is sparse, and K is twice as long", flag=True)
FIRST = Parameter(
    "byte",
    "the byte of a register where a row's scales begin: byte-id",
    legal=(0, 1, 2, 3),
    default=0,
    number=True,
)
THREAD = Parameter(
    "thread", "which lanes of each four supply scales: thread-id", legal=(0, 1, 2, 3), default=0, number=True
)


# -- sparse ----------------------------------------------------------------------------------------


def _operand(which: str) -> Callable[..., Built]:
    def build(shape: str, dtype: str, arch: str | None) -> Built:
        this = Sparse.of(shape, dtype)
        layout = this.a_fragment if which == "A" else this.b_fragment
        letter = which.lower()
        had = having(_with(this, which), f"{this.shape} with {which} of {this.dtype}", arch)
        taken, lowest = container(shape, dtype, sparse=True)
        facts: dict[str, Any] = {"instructions": spelled(had)}
        if which == "A":
            facts |= {
                "chunk": _chunk(this),
                "means": MEANS[this.chunk],
                "metadata": f"mma.E({shape}, dtype={dtype})",
            }
        facts |= registers_of(layout, this.dtype, letter, taken)
        facts |= in_container(this.dtype, taken, lowest)
        facts["architectures"] = easiest(had)
        return Built(layout, facts, this.dtype, letter, (taken, lowest), source=_fragments(this))

    return build


def _result(shape: str, dtype: str, arch: str | None) -> Built:
    wanted, element = Shape.of(shape), DType.of(dtype)
    into = [this for this in _EVERY if this.d == element.name]
    giving = [this for this in into if this.shape == wanted]
    if not giving:
        shapes = dict.fromkeys(str(this.shape) for this in into)
        raise Refused(
            "TW602",
            f"no mma.sp {wanted} accumulates in {element}",
            witness={"shape": str(wanted), "dtype": element.name},
            hint=f"{element} has {', '.join(shapes)}"
            if shapes
            else f"it accumulates in {', '.join(_RESULTS)}",
        )
    had = having(giving, f"{wanted} that accumulates in {element}", arch)
    layout = Sparse.of(wanted, giving[0].a).d_fragment
    facts = {
        "instructions": spelled(had),
        **registers_of(layout, element, "d"),
        "architectures": easiest(had),
    }
    return Built(layout, facts, element, "d")


def _metadata(shape: str, dtype: str, selector: int, arch: str | None) -> Built:
    this = Sparse.of(shape, dtype)
    layout = this.metadata(selector)
    had = having(_with(this, "A"), f"{this.shape} with A of {this.dtype}", arch)
    facts = {
        "instructions": spelled(had),
        "dtype": this.dtype.name,
        "chunk": _chunk(this),
        "means": MEANS[this.chunk],
        "indices": {"row": this.indices, "bits": INDEX.bits, "register": EACH},
        "patterns": [_pattern(pair) for pair in this.patterns],
        "selectors": list(this.selectors),
        "lanes": {
            "of_four": [lane for lane in this.lanes(selector) if lane < 4],
            "count": len(this.lanes(selector)),
        },
        "architectures": easiest(had),
    }
    notes = ("indices other than the patterns, and selectors other than those, are undefined",)
    return Built(layout, facts, INDEX, "e", notes=notes, source=_fragments(this))


def _chunk(this: Sparse) -> dict[str, int]:
    return {"columns": this.chunk, "stored": this.chunk // 2, "indices": 2}


def _pattern(pair: tuple[int, int]) -> str:
    """The two indices of a chunk as PTX writes them: the first in the low bits.

    >>> _pattern((0, 1))
    '0b0100'
    """
    return f"0b{pair[1]:02b}{pair[0]:02b}"


def _sparse_shapes(dtype: str, arch: str | None) -> Built:
    every = [this for this in _EVERY if this.a == dtype]
    had = having(every, f"with A of {dtype}", arch) if every else []
    shapes = {str(shape): Sparse.of(shape, dtype) for shape in sparse_shapes(dtype)}
    if not shapes:
        Sparse.of(_SHAPES[0], dtype)  # which refuses, and says what there is
    known = {str(this.shape) for this in had}
    facts: dict[str, Any] = {
        "dtype": dtype,
        "shapes": {
            shape: {
                "stored": this.stored,
                "of": f"{this.chunk // 2} of {this.chunk}",
                "bits": this.taken,
                "selectors": list(this.selectors),
                "architectures": easiest([one for one in had if str(one.shape) == shape]),
            }
            for shape, this in shapes.items()
            if shape in known
        },
        "instructions": spelled(had),
    }
    plain = [this for this in had if isinstance(this, SparseInstruction)]
    if said := made_of([*plain, *(replace(this, ordered=False) for this in plain)], arch):
        facts["runs_as"] = said
    return Built(None, facts, DType.of(dtype))


def _with(this: Sparse, operand: str) -> list[SparseInstruction | KindInstruction]:
    """The instructions of its shape whose A, or B, is of its type."""
    alike = [one for one in _EVERY if one.shape == this.shape]
    return [one for one in alike if (one.a if operand == "A" else one.b) == this.dtype.name]


# -- kinds and scales ------------------------------------------------------------------------------


def _kinds(kind: str, arch: str | None) -> Built:
    this = KINDS[kind]
    every = [one for one in kind_instructions() if one.kind is this]
    had = having(every, f"of kind::{kind}", arch)
    facts = {
        "kind": kind,
        "types": list(this.types),
        "results": list(this.results),
        "shapes": {"dense": str(this.shape()), "sparse": str(this.shape(sparse=True))},
        "bits": {name: _own_bits(DType.of(name), this) for name in this.types},
        "scales": [{"scale": each.word, "dtype": each.dtype} for each in this.scalings],
        "architectures": {"dense": str(this.needs()), "sparse": str(this.needs(sparse=True))},
        "instructions": spelled(had),
    }
    return Built(None, facts, notes=tuple(note for each in this.scalings for note in each.notes))


def _own_bits(element: DType, kind: Kind) -> dict[str, int]:
    low = kind.lowest(element)
    return {"taken": kind.taken, "lowest": low, "highest": low + element.bits - 1}


def _scales(operand: str) -> Callable[..., Built]:
    def build(
        kind: str, scale: str, dtype: str, byte: int, thread: int, sparse: bool, arch: str | None
    ) -> Built:
        this = Scales.of(operand, kind, scale, dtype, sparse=sparse, byte=byte, thread=thread)
        every = [
            one for one in kind_instructions(sparse) if one.kind is this.kind and one.scaling == this.scaling
        ]
        had = having(every, f"of kind::{kind}", arch)
        facts = {
            "instructions": spelled(had),
            "dtype": dtype,
            "scales": {"row": this.scaling.vector, "columns": this.block},
            "bytes": list(this.bytes),
            "threads": list(this.threads),
            "lanes": {"of_four": [lane for lane in this.lanes if lane < 4], "count": len(this.lanes)},
            "architectures": easiest(had),
        }
        notes = (f"reg counts bytes of the one {REGISTER_BITS}-bit register", *this.scaling.notes)
        return Built(this.layout, facts, DType.of(dtype), "sf", notes=notes)

    return build


def _fragments(this: Sparse) -> Source:
    """The section of the manual about the fragments of a shape and a type."""
    m, n, k = this.shape.m, this.shape.n, this.shape.k
    group = {32: "tf32", 16: "f16bf16", 8: "u8s8" if k == 32 else "u8s8-fp8", 4: "u4s4"}[this.taken]
    return ptx(
        f"Matrix Fragments for sparse mma.{this.shape}",
        f"warp-level-matrix-fragment-sparse-mma-{m}{n}{k}-{group}",
    )


# -- the entries -----------------------------------------------------------------------------------

_FRAGMENT = "layout fragment register warp mma.sp structured 2:4"
_SCALE = "layout register warp block scaling scale_vec mxf8f6f4 mxf4 mxf4nvf4 nvfp4 mxfp8"
_SP: dict[str, Value] = {"shape": "m16n8k32", "dtype": "f16"}
_SF: dict[str, Value] = {"kind": "mxf4nvf4", "scale": "4X", "dtype": "ue4m3"}
_SELECTORS = (KIND, SCALE, SCALE_TYPE, FIRST, THREAD, SPARSE, ARCH)

ENTRIES = (
    Entry(
        "mma.sp.A",
        "the stored half of a sparse A, [M, K/2]: which lane holds which element",
        (SHAPE, OF_A, ARCH),
        PTX_SPARSE_STORAGE,
        _operand("A"),
        _SP,
        f"{_FRAGMENT} multiplicand",
    ),
    Entry(
        "mma.sp.B",
        "the B operand of a sparse mma, [N, K]: which lane holds which element",
        (SHAPE, OF_B, ARCH),
        PTX_MMA_SPARSE,
        _operand("B"),
        _SP,
        f"{_FRAGMENT} multiplicand",
    ),
    Entry(
        "mma.sp.D",
        "C and D of a sparse mma, [M, N]: which lane holds which element",
        (SHAPE, RESULT, ARCH),
        PTX_MMA_SPARSE,
        _result,
        {"shape": "m16n8k32", "dtype": "f32"},
        f"{_FRAGMENT} accumulator result",
    ),
    Entry(
        "mma.E",
        "the metadata of a sparse A, [M, indices of a row]: which bits of which lane say where elements were",
        (SHAPE, OF_A, SELECTOR, ARCH),
        PTX_SPARSE_STORAGE,
        _metadata,
        _SP,
        f"{_FRAGMENT} metadata ordered_metadata sparsity selector index",
    ),
    Entry(
        "mma.SFA",
        "the scales of A, [M, scales of a row]: which byte of which lane's register",
        _SELECTORS,
        PTX_BLOCK_SCALING,
        _scales("SFA"),
        _SF,
        _SCALE,
    ),
    Entry(
        "mma.SFB",
        "the scales of B, [N, scales of a row]: which byte of which lane's register",
        _SELECTORS,
        PTX_BLOCK_SCALING,
        _scales("SFB"),
        _SF,
        _SCALE,
    ),
    Entry(
        "mma.sp.shapes",
        "which sparse mma there are: the shapes, selectors and instructions of a type of A",
        (OF_A, ARCH),
        PTX_MMA_SPARSE,
        _sparse_shapes,
        {"dtype": "s8"},
        "instructions types mma.sp",
    ),
    Entry(
        "mma.kinds",
        "the kinds of mma: types of 8, 6 and 4 bits, the bits in which they lie, their scales",
        (ANY_KIND, ARCH),
        PTX_MMA,
        _kinds,
        {"kind": "f8f6f4"},
        "instructions types container f8f6f4 mxf8f6f4 mxf4 mxf4nvf4 block_scale fp4 fp6 fp8",
    ),
)
