"""wgmma as an engine of matrix descriptors: the reads of any descriptor, legal or odd, and its intake.

`FINDINGS` lists the parts that the hardware showed and no document has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import of_kind
from tilewise.hardware.engines import VERSION, VERSIONS, Engine, Intake
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.operands import stepping
from tilewise.hardware.operands.sentences import bits_set
from tilewise.hardware.operands.template import MAJORS, check_operand
from tilewise.hardware.operands.walk import Finding, Multiplicand, Walk, inside_a_chunk, walk
from tilewise.hardware.sources import PTX_DESCRIPTOR
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS, K_BITS, Input, M

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "starts inside the atom: multiples of 16, but not of the period, in every mode and major",
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
"""All additions of the model to the documents, in one place."""


@dataclass(frozen=True, slots=True)
class Operand(Multiplicand):
    """The operand of a wgmma that a descriptor is for: A has 64 rows, B has n.

    >>> Operand("tf32", n=8).addresses(Descriptor(sbo=1024, mode="128B"))[1]
    [144, 148, 152, 156, 128, 132, 136, 140]
    """

    dtype: str
    major: str = "k"
    operand: str = "B"
    n: int = 8

    @property
    def rows(self) -> int:
        """Return the rows that one instruction reads."""
        return M if self.operand == "A" else self.n

    @property
    def depth(self) -> int:
        """Return the elements of 32 bytes of K."""
        return Input.of(self.dtype).k

    def walks(self, descriptor: Descriptor) -> list[Walk]:
        """Return the walk; refuse an illegal instruction."""
        of_kind(descriptor, Descriptor, "a descriptor", "Descriptor.decode(value) makes one of 64 bits")
        row = Input.of(self.dtype)
        row.check_major(self.major)
        row.check_n(self.n)
        check_operand(self.operand)
        return [walk(descriptor, self.major, inside_a_chunk(row.dtype), self.rows, K_BITS // 8 // CHUNK)]


_BLACKWELLS = {52: "the mode of LBO in bit 52", 61: "the swizzle mode from bit 61 on"}

_TRANSPOSE = {"A": "imm-trans-a", "B": "imm-trans-b"}


class WgmmaEngine(Engine):
    """Hopper's wgmma: 64 rows of A, a legal N of B, 32 bytes of K."""

    name = "wgmma"
    source = PTX_DESCRIPTOR
    descriptors, operand = Descriptor, Operand
    types = tuple(INPUTS)
    options = sizes = ("n",)
    modes = MODES
    carries = True
    entry = "wgmma.smem"
    transpose = _TRANSPOSE
    other_home = "reg"
    registers = "A may come from registers, as tilewise catalog wgmma.A lays them out"

    def intake(self, dtype: DType | str, operand: str, n: int | None = None) -> Intake:  # type: ignore[override]
        """Return the part of an operand that a wgmma takes: 64 rows of A, a legal N of B.

        >>> of = WgmmaEngine()
        >>> of.intake("s8", "B").rows[:5], of.intake("s8", "B", n=48).rows, of.intake("s8", "B").majors
        ((8, 16, 24, 32, 48), (48,), ('k',))
        """
        element = DType.of(dtype)
        row = INPUTS.get(element.name) or Input.of(dtype)
        if n is not None:
            row.check_n(n)
        of_a = check_operand(operand) == "A"
        return Intake(
            operand=operand,
            name=row.name,
            dtype=element,
            k=K_BITS // element.bits,
            rows=(M,) if of_a else row.n if n is None else (n,),
            modes={major: tuple(MODES.values()) for major in row.majors},
            m=M,
            n=n,
            no_major=("", "") if row.majors == MAJORS else row.no_major,
        )

    def feed(
        self,
        intake: Intake,
        mode: Mode,
        major: str,
        rows: int,
        k: int,
        order: str = "mn",
        one: int | None = None,
        **at: Any,
    ) -> stepping.Feeding[Descriptor]:
        """Return the descriptors of a tile; an error over an N that does not feed it names those that do."""
        one = intake.rows[0] if len(intake.rows) == 1 else one
        every = self.intake(intake.name, intake.operand)
        return super().feed(every, mode, major, rows, k, order, one, **at)

    def walks(self, descriptor: Descriptor, dtype: DType, major: str, rows: int, k: int) -> list[Walk]:
        """Return the walk over rows x k elements; a wgmma's K is 32 bytes."""
        assert k * dtype.bits == K_BITS, f"a wgmma has no K of {k} {dtype}"
        return [walk(descriptor, major, inside_a_chunk(dtype), rows, K_BITS // 8 // CHUNK)]

    def about_bits(self, descriptor: Descriptor, value: int | None) -> list[str]:
        """Return remarks on bits that Hopper ignores."""
        bits = [] if value is None else Descriptor.reserved_bits(value)
        if not bits:
            return []
        named, it = bits_set(bits)
        return [f"{named}: Hopper passes {it} over{_of_blackwell(value or 0, bits)}"]


def _of_blackwell(value: int, bits: Sequence[int]) -> str:
    """Return the meaning for Blackwell of bits that Hopper ignores."""
    version = VERSION.of(value)
    if VERSIONS.get(version) == "tcgen05":
        return "; bits 48-46 are the version of Blackwell's descriptors, which --engine tcgen05 reads"
    if version:
        return (
            f"; bits 48-46, the version of Blackwell's descriptors, are {version:#05b}, and theirs is 0b001"
        )
    held = [what for bit, what in _BLACKWELLS.items() if bit in bits]
    return f"; Blackwell's have {' and '.join(held)}, with 0b001 in bits 48-46" if held else ""


ENGINE = WgmmaEngine()
"""The engine wgmma for commands and checks."""
