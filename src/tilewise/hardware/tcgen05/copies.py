"""tcgen05.cp: the lanes of tensor memory that get each row of shared memory.

The source is a matrix of rows of 16 or 32 bytes, read through a descriptor of shared memory, K-major. Row i
goes to these lanes, counted from that of the address; byte b of it to column b / 4:

    form        multicast          rows    lanes
    128x256b                       128     i
    4x256b                         4       32 i
    128x128b                       128     i
    64x128b     warpx2::02_13      64      i, i + 64
    64x128b     warpx2::01_23      64      i + i / 32 * 32, and 32 more
    32x128b     warpx4             32      i, i + 32, i + 64, i + 96

The source is read like the rows of a K-major operand: 16 bytes apart within 8, SBO from 8 to 8, the second 16
bytes of a row LBO further on; in a swizzled mode as its atoms lie.

The manual shows 4x256b in a figure alone; its rows go to one lane of each warp's, as CUTLASS has it too.

On the way elements of 6 and 4 bits may be spread to bytes (b8x16): 16 of them, in 16 bytes of shared memory,
the rest of which is padding, fill 16 bytes of tensor memory, at the places above.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.hardware.digits import Digit, layout_of
from tilewise.hardware.instructions import values, where
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.operands.walk import Walk, walk
from tilewise.hardware.sources import Source, ptx
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.kinds import check_group

PTX_COPIES = ptx("tcgen05.cp", "tcgen05-instructions-tcgen05-cp")
CUTLASS_COPIES = Source(
    "CUTLASS",
    "include/cute/atom/copy_traits_sm100.hpp, SM100_UTCCP_4dp256bit_1cta",
    "https://github.com/NVIDIA/cutlass/blob/main/include/cute/atom/copy_traits_sm100.hpp",
)

LANE, COLUMN = Axis("TLane"), Axis("TCol")


@dataclass(frozen=True, slots=True)
class Copy:
    """A form of tcgen05.cp with its multicast.

    >>> print(Copy.of("64x128b", "warpx2::01_23").layout)
    S[((2, 32), 16) : ((64@TLane, 1@TLane), 1@TCol)] + R[2 : 32@TLane]
    """

    form: str
    multicast: str
    rows: tuple[Digit, ...]
    """The digits of a row, the slowest first."""
    bytes: int
    """Bytes of a row."""
    copies: tuple[Iter, ...] = ()
    source: Source = PTX_COPIES

    @classmethod
    def of(cls, form: str, multicast: str | None = None) -> Copy:
        """Return the form, with the multicast that it needs where there are several."""
        name = str(form).lower().removeprefix(".")
        word = None if multicast is None else str(multicast).lower().removeprefix(".")
        having, found = where(COPIES, form=name), where(COPIES, form=name, multicast=word)
        if not having:
            known = " ".join(values(COPIES, "form"))
            raise LayoutError("TW601", f"tcgen05.cp has no form {form}", hint=f"known: {known}")
        if len(found) == 1:
            return found[0]
        legal = [one.multicast for one in having if one.multicast]
        if word is None:
            raise LayoutError(
                "TW601", f"{name} goes to several warps, and to which is not said", hint=" or ".join(legal)
            )
        raise Refused(
            "TW602",
            f"tcgen05.cp has no {name} with {word}",
            witness={"form": name, "multicast": word},
            hint=f"it has {' and '.join(legal)}" if legal else f"{name} has no multicast",
        )

    @property
    def layout(self) -> Layout:
        """Return [rows, bytes] over TLane, and TCol in bytes, with every copy."""
        return layout_of(self.rows, [(self.bytes, 1 @ COLUMN)], copies=self.copies)

    @property
    def row_count(self) -> int:
        """Return the rows of shared memory."""
        return prod(extent for extent, _ in self.rows)

    def reads(self, descriptor: Descriptor) -> Walk:
        """Return the byte of shared memory of each byte [row, byte] of the source.

            refused  TW605 a row that goes on past a row of the swizzle's atom, atoms of 32 bytes, and
                     absolute mode: no document defines the copy's reads then

        >>> walked = Copy.of("32x128b").reads(Descriptor(sbo=128))
        >>> walked.byte(9, 5)
        149
        """
        mode, inside = (
            descriptor.mode,
            descriptor.start % descriptor.mode.width if descriptor.mode.bits else 0,
        )
        reason = ""
        if descriptor.absolute:
            reason = "LBO is an address"
        elif mode.bits and mode.rows != ROWS:
            reason = f"rows of mode {mode} are no K-major ones"
        elif mode.bits and inside + self.bytes > mode.width:
            reason = f"{self.bytes} bytes from byte {inside} of a row of {mode.width} go on past it"
        if reason:
            raise Refused(
                "TW605",
                f"{reason}, and no document says what tcgen05.cp reads there",
                witness={"descriptor": descriptor.value, "form": self.form},
                hint="take a row that lies inside a row of the atom, in mode none, 32B, 64B or 128B",
            )
        chunks, rows = self.bytes // CHUNK, max(self.row_count, ROWS)
        return walk(descriptor, "k", [(CHUNK, 1)], rows, chunks)

    @property
    def moved(self) -> tuple[int, int]:
        """Return the bytes that are read, and that are written.

        >>> Copy.of("32x128b").moved
        (512, 2048)
        """
        read = self.row_count * self.bytes
        return read, read * self.layout.copies

    def instruction(self, cta_group: int = 1, source: str | None = None) -> str:
        """Return the instruction by PTX's name.

        >>> Copy.of("32x128b").instruction(source="b4x16_p64")
        'tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64'
        """
        check_group(cta_group)
        if source is not None and source not in SOURCES:
            raise LayoutError("TW601", f"tcgen05.cp spreads no {source}", hint=f"known: {' '.join(SOURCES)}")
        parts = ["tcgen05.cp", f"cta_group::{cta_group}", self.form, self.multicast]
        return ".".join(part for part in [*parts, *(["b8x16", source] if source else [])] if part)


COPIES = (
    Copy("128x256b", "", ((128, 1 @ LANE),), 32),
    Copy("4x256b", "", ((4, 32 @ LANE),), 32, source=CUTLASS_COPIES),
    Copy("128x128b", "", ((128, 1 @ LANE),), 16),
    Copy("64x128b", "warpx2::02_13", ((64, 1 @ LANE),), 16, (Iter(2, 64 @ LANE),)),
    Copy("64x128b", "warpx2::01_23", ((2, 64 @ LANE), (32, 1 @ LANE)), 16, (Iter(2, 32 @ LANE),)),
    Copy("32x128b", "warpx4", ((32, 1 @ LANE),), 16, (Iter(4, 32 @ LANE),)),
)
"""Every form."""

SOURCES = {"b6x16_p32": (6, 12), "b4x16_p64": (4, 8)}
"""{format: (bits of an element, bytes of 16 that 16 elements take; the rest is padding)}."""
