"""What any descriptor of wgmma reads: the byte of every element of an operand, legal or odd.

The walk is that of all descriptors: see `tilewise.hardware.operands.walk`.
`FINDINGS` names what of this the documents do not say, and the hardware does.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import of_kind
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.operands import walk as walks
from tilewise.hardware.operands.walk import Finding, Walk, inside_a_chunk, walk
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import K_BITS, Input, M, check_operand

FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "starts inside the atom: multiples of 16 that are none of the period, in every mode and major",
    ),
    Finding(
        "sum",
        "start and offsets are added with carries before the swizzle: none is or-ed in",
        "starts in the last chunk of a row; strides that are no multiple of the period, or of a row",
    ),
    Finding(
        "base offset",
        "a base offset b subtracts b from address bits 9-7 before they are XORed into bits 6-4",
        "base offsets 1 to 7 in each mode, the start aligned and not aligned to the period",
    ),
    Finding("base offset, none", "mode none does not read the base offset", "mode none, base offsets 1 to 7"),
    Finding(
        "lbo", "K-major with a swizzle does not read LBO", "LBO from 0 to 4112 with each swizzle, K-major"
    ),
    Finding(
        "part of an atom",
        "MN-major: rows that end inside an atom read a part of the last one, LBO after the one before",
        "MN-major N of 8 to 256 in every mode, 24, 40, 72, 96 and 160 among them",
    ),
    Finding(
        "past the end",
        "the sum does not wrap at 18 bits: a core matrix past the end of shared memory is an illegal address",
        "LBO and SBO of 2^18 - 1024, starts near the end and past it",
    ),
    Finding(
        "reserved bits",
        "bits 15-14, 31-30, 48-46 and 61-52 change nothing",
        "each of them set alone in mode none, many of them together in every mode",
    ),
)
"""All that the model adds to the documents, in one place."""


@dataclass(frozen=True, slots=True)
class Operand(walks.Multiplicand):
    """Which operand of which wgmma a descriptor is for: A has 64 rows, B has n.

    >>> Operand("tf32", n=8).addresses(Descriptor(sbo=1024, mode="128B"))[1]
    [144, 148, 152, 156, 128, 132, 136, 140]
    """

    dtype: str
    major: str = "k"
    operand: str = "B"
    n: int = 8

    @property
    def rows(self) -> int:
        """Rows that one instruction reads."""
        return M if self.operand == "A" else self.n

    @property
    def depth(self) -> int:
        """Elements of 32 bytes of K."""
        return Input.of(self.dtype).k

    def walks(self, descriptor: Descriptor) -> list[Walk]:
        """Return the walk; refused for an instruction that there is not."""
        of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
        row = Input.of(self.dtype)
        row.check_major(self.major)
        row.check_n(self.n)
        check_operand(self.operand)
        return [walk(descriptor, self.major, inside_a_chunk(row.dtype), self.rows, K_BITS // 8 // CHUNK)]
