"""The operand of a tcgen05.mma that a descriptor is for: the part that its CTA reads from shared memory.

                 rows             K, in bytes
    A            M / cta_group    32
    A, sparse    M / cta_group    32: half of K is stored
    B            N / cta_group    32
    B, sparse    N / cta_group    64: that of a product with sparse A is twice as deep
    K = 96       the same         48

Each CTA of a pair reads its half of A's rows and its half of B's.

The walk is that of all descriptors: see `tilewise.hardware.operands.walk`. In absolute mode it is two: with
the first chunk of 16 bytes at byte p of a row of 128,

    chunk c     p + 16 c < 128    start + 16 c
                else              LBO + p + 16 c - 128

and rows go on in both alike, 128 bytes apart within 8 and SBO from 8 to 8.

The authors had no Blackwell to test. Hopper's model follows an H200 where documents are silent: for a K that
begins inside a row of the atom and goes on past it. Here such a K is refused. `FINDINGS` names the parts of
the model that come from Hopper.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode
from tilewise.hardware.operands.template import check_major_word, check_operand
from tilewise.hardware.operands.walk import Finding, Multiplicand, Walk, inside_a_chunk, walk
from tilewise.hardware.tcgen05.descriptor import Descriptor, check_absolute
from tilewise.hardware.tcgen05.kinds import Kind, Product, kind_of, product_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.operands.template import Digits

DEEP_BYTES = 48
"""The K for which the document has absolute mode."""

_HOPPER = "taken over from Hopper; no document says it, and no Blackwell has confirmed it"

FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "base offset",
        "a base offset b subtracts b from address bits 9-7 before they are XORed into bits 6-4",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "part of an atom",
        "MN-major: rows that end inside an atom read a part of the last one, LBO after the one before",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "second chunk",
        "in absolute mode K past byte 127 of a row is read from LBO on, in rows 128 bytes apart and SBO from "
        "8 to 8",
        "no descriptor",
        "as CUTLASS sets the field: to the next buffer's start, for K = 96 on sm_103a",
    ),
)
"""All additions of the model to the documents, in one place."""


def walks_of(
    descriptor: Descriptor, major: str, chunk: Digits, rows: int, chunks: int, unit: str = "byte"
) -> list[Walk]:
    """Return the walks over so many rows and chunks of 16 bytes, whose elements `chunk` has."""
    check_absolute(descriptor, major)
    scale = 1 if unit == "byte" else 8
    if major == "k" and not descriptor.mode.bits and chunks % 2:
        raise Refused(
            "TW605",
            f"K of {chunks * CHUNK} bytes is no whole number of pairs of 16 bytes, which mode none has",
            witness={"k_bytes": chunks * CHUNK},
            hint="take mode 128B",
        )
    if major == "mn" or not descriptor.mode.bits:
        return [walk(descriptor, major, chunk, rows, chunks, scale)]
    here = min(chunks, (descriptor.mode.width - descriptor.start % descriptor.mode.width) // CHUNK)
    if here < chunks:
        _check_two_chunks(descriptor, chunks)
    found = [walk(descriptor, major, chunk, rows, here, scale)]
    if here < chunks:
        _check_second_chunk(descriptor, CHUNK * (chunks - here))
        second = descriptor.at(descriptor.lbo, 0)
        found.append(walk(second, major, chunk, rows, chunks - here, scale))
    return found


def _check_two_chunks(descriptor: Descriptor, chunks: int) -> None:
    """Refuse a K that goes on past a row of the atom, except as absolute mode has it."""
    mode, start = descriptor.mode, descriptor.start
    if descriptor.absolute and chunks * CHUNK == DEEP_BYTES:
        return
    inside, several = start % mode.width, chunks * CHUNK
    deep = several == DEEP_BYTES
    if deep and mode.name == "128B":
        hint = "put the rest of K elsewhere, and its address into LBO: lbo_mode absolute"
    elif deep:
        hint = "take mode 128B, and where K goes on past a row lbo_mode absolute"
    elif several > mode.width:
        hint = "take mode 64B or 128B"
    else:
        hint = f"let K begin at a multiple of {several} bytes"
    raise Refused(
        "TW605",
        f"K of {several} bytes from byte {inside} of a row of {mode.width} goes on past it, and no document "
        "says what is read there",
        witness={"start": start, "inside": inside, "k_bytes": several, "row": mode.width},
        hint=hint,
    )


def _check_second_chunk(descriptor: Descriptor, several: int) -> None:
    """Refuse a second chunk that does not lie within one row either."""
    width, lbo = descriptor.mode.width, descriptor.lbo
    if lbo % width + several <= width:
        return
    raise Refused(
        "TW605",
        f"the second chunk, of {several} bytes from byte {lbo % width} of a row of {width}, goes on past it",
        witness={"lbo": lbo, "inside": lbo % width, "bytes": several, "row": width},
        hint=f"let LBO be a multiple of {width}, where a row of the next atom begins",
    )


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.hardware.operands.template import Digits


@dataclass(frozen=True, slots=True)
class Operand(Multiplicand):
    """The part of A or B that one product reads in one CTA.

    requires       a legal product: its kind has the type, M, N and K, and the type the major

    >>> a = Operand("bf16", operand="A", m=256, cta_group=2)
    >>> a.kind, a.rows, a.depth, a.bytes
    ('f16', 128, 16, 32)
    >>> Operand("e2m1", kind="mxf4", n=64, k=96).bytes
    48
    """

    dtype: str
    major: str = "k"
    operand: str = "B"
    m: int | None = None
    n: int | None = None
    kind: str = ""
    """The kind's name; by default the first kind that has the type."""
    cta_group: int = 1
    sparse: bool = False
    ws: bool = False
    k: int | None = None
    """K of the product, where the kind has several: 64 or 96."""

    def __post_init__(self) -> None:
        kind = Kind.of(self.kind) if self.kind else kind_of(self.dtype)
        object.__setattr__(self, "kind", kind.name)
        object.__setattr__(self, "dtype", kind.check(self.dtype).name)
        check_operand(self.operand)
        check_major(kind, self.dtype, self.major)
        name = "m" if self.operand == "A" else "n"
        if getattr(self, name) is None:
            raise LayoutError(
                "TW601", f"{self.operand} needs {name}, which no field holds", hint=f"such as {name}=128"
            )
        b = self.dtype if self.operand == "B" else None
        self.product.check(*self.product.filled(self.m, self.n), b, self.major)

    @property
    def product(self) -> Product:
        """Return the product."""
        return product_of(self.kind, self.cta_group, self.sparse, self.ws, self.k or 0)

    @property
    def rows(self) -> int:
        """Return the rows that one CTA reads."""
        return ((self.m if self.operand == "A" else self.n) or 0) // self.cta_group

    @property
    def depth(self) -> int:
        """Return the elements along K that are stored and read."""
        return self.product.stored(self.operand)

    @property
    def stored_bits(self) -> int:
        """Return the bits that each element takes in shared memory."""
        return self.element.bits

    @property
    def element(self) -> DType:
        """Return the type of an element in shared memory, with padding: a byte for 4 bits of f8f6f4."""
        return stored_as(Kind.of(self.kind), self.dtype)

    @property
    def bytes(self) -> int:
        """Return the bytes of K."""
        return self.depth * self.stored_bits // 8

    @property
    def instruction(self) -> str:
        """Return the product, with a letter for each size that this operand does not determine."""
        return f"m{self.m or 'M'}n{self.n or 'N'}k{self.product.k}"

    def walks(self, descriptor: Any) -> list[Walk]:
        """Return one walk, or two where K is read in two chunks."""
        of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
        check_mode(self.dtype, self.major, descriptor.mode)
        chunk, unit = self.chunk
        return walks_of(descriptor, self.major, chunk, self.rows, self.bytes // CHUNK, unit)

    @property
    def chunk(self) -> tuple[Digits, str]:
        """Return the starts of the elements of 16 bytes, and their unit: bits for elements of 6 bits.

        16 elements of 4 bits fill the first 8 of 16 bytes, those of 6 bits the first 12; the rest is padding.
        """
        element = DType.of(self.dtype)
        if self.stored_bits == element.bits:
            return inside_a_chunk(element), "byte"
        if 8 % element.bits:
            return [(self.in_chunk, element.bits)], "bit"
        together = 8 // element.bits
        return [(self.in_chunk // together, 1), (together, 0)], "byte"


def stored_as(kind: Kind, dtype: DType | str) -> DType:
    """Return the type of an element in shared memory: itself, or a byte."""
    element = kind.check(dtype)
    return element if kind.stored_bits(element) == element.bits else DType.of("b8")


def check_major(kind: Kind, dtype: DType | str, major: str) -> str:
    """Return `major`, or refuse it where the type is not read so."""
    if check_major_word(major) not in kind.majors(dtype):
        reason, instead = no_major(kind, dtype)
        raise Refused("TW602", reason, witness={"dtype": str(dtype), "major": major}, hint=instead)
    return major


def no_major(kind: Kind, dtype: DType | str) -> tuple[str, str]:
    """Return why a type is not read MN-major, and the alternative; two empty strings where it is."""
    if "mn" in kind.majors(dtype):
        return "", ""
    return (
        f"tcgen05 reads {dtype} of kind::{kind.name} K-major alone",
        "types of 8 bits and more have the transpose bit; lay the tile out with K contiguous",
    )


def modes_of(dtype: DType | str, major: str) -> tuple[Mode, ...]:
    """Return the swizzle modes in which a type is read, the narrowest first.

    The source is Table 54, Valid Combinations of Type-Size, Major-ness and Swizzling. MN-major, types of 32
    bits need 128B in 32-byte atoms, and all others anything but that. The table has all modes for K-major.
    But the document draws no K-major atom of 32 bytes, and CUTLASS refuses one.

    >>> [mode.name for mode in modes_of("bf16", "mn")], [mode.name for mode in modes_of("tf32", "mn")]
    (['none', '32B', '64B', '128B'], ['128B_ATOM_32B'])
    """
    widest = check_major_word(major) == "mn" and DType.of(dtype).bits == 32
    return tuple(mode for mode in BLACKWELL.values() if (mode.keeps != CHUNK and mode.bits > 0) == widest)


def check_mode(dtype: DType | str, major: str, mode: Mode) -> Mode:
    """Return `mode`, or refuse it where the type is not read so.

    >>> check_mode("tf32", "mn", BLACKWELL["128B"])
    Traceback (most recent call last):
    tilewise.Refused: TW602: tcgen05 reads no MN-major tf32 in mode 128B
      hint: 32-bit types are read MN-major in mode 128B_ATOM_32B alone (128B with --atomicity 32)
    """
    legal = modes_of(dtype, major)
    if mode in legal:
        return mode
    hint = "32-byte atoms are for MN-major operands of 32 bits; take one of " + " ".join(
        one.name for one in legal
    )
    if len(legal) == 1:
        hint = "32-bit types are read MN-major in mode 128B_ATOM_32B alone (128B with --atomicity 32)"
    raise Refused(
        "TW602",
        f"tcgen05 reads no {major.upper()}-major {dtype} in mode {mode}",
        witness={"dtype": str(dtype), "major": major, "mode": mode.name},
        hint=hint,
    )
