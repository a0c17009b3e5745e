"""The lane and register of each element of an operand: dense, sparse, of sm_120, or Volta's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.instructions import where
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.mma.fragments import (
    LANE,
    PRODUCTS,
    a_fragment,
    b_fragment,
    d_fragment,
    input_fragment,
    is_volta,
    result_fragment,
)
from tilewise.hardware.mma.instructions import EVERY, FAMILIES, MAJORS, Shape, check_input
from tilewise.hardware.mma.kinds import KINDS, container
from tilewise.hardware.mma.sparse import Sparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.architectures import Architecture, Needs


@dataclass(frozen=True, slots=True)
class Instruction:
    """The mma that an operand belongs to."""

    shape: Shape
    sparse: bool = False
    products: tuple[int, int] = (2, 2)
    """The numbers of Volta's four products along M and along N."""
    group: bool = False
    """True for a wgmma: warp w of four holds rows 16 w and on of D, as those of an mma.sync."""

    @property
    def word(self) -> str:
        """Return the instruction's name."""
        return "mma.sp" if self.sparse else "mma.sync"

    def __post_init__(self) -> None:
        down, along = self.products
        if down * along != PRODUCTS:
            raise LayoutError("TW601", f"{down} x {along} are no {PRODUCTS} products", hint="4x1, 2x2 or 1x4")


@dataclass(frozen=True, slots=True)
class Element:
    """A type of an operand of mma.sync, and the columns of one instruction."""

    name: str
    dtype: DType
    """The type of the element in memory: a type of 6 bits has a byte."""
    k: int
    """Elements of a row: K of A and B, N of C and D."""


@dataclass(frozen=True, slots=True)
class Held:
    """One instruction's operand in the lanes, over laneid and reg, and its type."""

    layout: Layout
    element: Element
    major: str | None = None
    """The qualifier of A or B, row or col, where the instruction takes both."""

    @property
    def bits(self) -> int:
        """Return the bits of an element, without its padding in a register."""
        return DType.of(self.element.name).bits


def held(name: str, this: Instruction, dtype: DType, arch: Architecture | str | None) -> tuple[Held, ...]:
    """Return the ways in which the lanes may hold an operand; Volta's A and B have two.

        refused  TW602 where no such instruction takes the type, or the architecture has none

    >>> (found,) = held("B", Instruction(Shape.of("m16n8k16")), DType.of("bf16"), "sm_80")
    >>> print(found.layout, found.element.k)
    S[((1, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (2@reg, 1@laneid, 1@reg))] 16
    """
    if name in "CD":
        return (_result(this, dtype, arch),)
    shape, kinds = this.shape, [kind for kind in KINDS.values() if dtype.name in kind.types]
    kinds = [kind for kind in kinds if kind.shape() == shape]
    dense = any((dtype.name, dtype.name) in f.inputs for f in FAMILIES if f.shape == shape)
    if this.sparse:
        half = Sparse.of(shape, dtype)
        needs, bits = _needs(this, dtype), half.taken
        k = half.stored if name == "A" else shape.k
    elif kinds and not dense:
        needs, bits, k = [kinds[0].needs()], container(shape, dtype)[0], shape.k
    else:
        shape, element = check_input(shape, dtype, arch)
        if is_volta(shape, element):
            return tuple(_volta(name, this, element))
        layout = (a_fragment if name == "A" else b_fragment)(shape, element)
        return (Held(layout, Element(element.name, element, shape.k)),)
    _check(this, needs, arch)
    stored = dtype if bits == dtype.bits else DType.of(f"b{bits}")
    layout = input_fragment(shape.m if name == "A" else shape.n, k, REGISTER_BITS // bits)
    return (Held(layout, Element(dtype.name, stored, k)),)


def _volta(name: str, this: Instruction, element: DType) -> Iterator[Held]:
    """Yield rows of four products; those of the other direction hold the same rows."""
    fragment = a_fragment if name == "A" else b_fragment
    for major in MAJORS if name == "A" else MAJORS[::-1]:
        layout = _among_products(fragment(this.shape, element, major), name, this)
        yield Held(layout, Element(element.name, element, this.shape.k), major)


def _among_products(one: Layout, name: str, this: Instruction) -> Layout:
    """Return the fragment of several products from that of one: those along M come first in laneid."""
    down, across = this.products
    along_m, along_n = (down, along(LANE, 4)), (across, along(LANE, 4 * down))
    own = {"A": (along_m, (1, ZERO)), "B": (along_n, (1, ZERO))}.get(name, (along_m, along_n))
    strides, modes, rest = [], [], iter(one.strides)
    for (many, stride), mode in zip(own, one.shape, strict=True):
        digits = mode if isinstance(mode, tuple) else (mode,)
        modes.append((many, *digits))
        strides += [stride, *islice(rest, len([*leaves(digits)]))]
    return replace(one, shape=tuple(modes), strides=tuple(strides))


def _result(this: Instruction, dtype: DType, arch: Architecture | str | None) -> Held:
    """Return C or D; its type is that in memory, and registers convert it."""
    shape, message, hint = this.shape, "", ""
    if dtype.bits < 8:
        message, hint = f"C and D of {dtype} have no whole bytes", "pack them in registers first"
    elif this.group and dtype.bits > REGISTER_BITS:
        message = f"a wgmma leaves no {dtype} in its registers"
        hint = "its D is f16, f32 or s32, which the kernel may narrow before the store"
    if message:
        raise Refused("TW602", message, witness={"dtype": dtype.name}, hint=hint)
    if this.group:
        return Held(result_fragment(16, shape.n), Element(dtype.name, dtype, shape.n))
    _check(this, _needs(this), arch)
    if shape == Shape(8, 8, 4) and dtype.bits < 64:
        own = d_fragment(shape, dtype if dtype.name in ("f16", "f32") else "f32")
        columns = 8 * this.products[1]
        return Held(_among_products(own, "D", this), Element(dtype.name, dtype, columns))
    return Held(result_fragment(shape.m, shape.n), Element(dtype.name, dtype, shape.n))


def _needs(this: Instruction, dtype: DType | None = None) -> list[Needs]:
    """Return the needs of each instruction of the shape: of any, or of those that multiply a type."""
    of_shape = where(EVERY, sparse=this.sparse, shape=this.shape)
    return [one.needs for one in of_shape if dtype is None or dtype.name in (one.a, one.b)]


def _check(this: Instruction, needs: Sequence[Needs], arch: Architecture | str | None) -> None:
    """Refuse an instruction that no architecture has, and an architecture that meets none of some needs."""
    if not needs:
        message = f"there is no {this.word} {this.shape}"
        raise Refused("TW602", message, witness={"shape": str(this.shape)})
    if arch is not None and not any(need.met(arch) for need in needs):
        raise Refused(
            "TW602",
            f"{arch} has no {this.word} {this.shape}",
            witness={"shape": str(this.shape), "arch": str(arch)},
            hint=f"it is of {min(needs, key=lambda need: need.first)}",
        )
