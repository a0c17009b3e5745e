"""The metadata of a sparse A in tensor memory: the bits of each lane that locate its elements.

A row of A is cut into chunks, of which half is stored. Two indices of 2 bits for each chunk select the half.
A column of 32 bits of a lane has 16 of them.

    kind                      K of an instruction  chunk        indices of a row  columns
    tf32                      16                    2 elements  16                1, the first or the second
    f16                       32                    4           16                1, the first or the second
    f8f6f4, i8, mxf8f6f4      64                    4           32                2
    mxf4, mxf4nvf4            128                   8, in pairs 32                2

Rows are in the lanes of D's rows where an instruction has two columns. Of f16 and tf32 a column has all
indices of an instruction, but each 16 lanes share theirs: rows r and r + 8 of 16 are in the lower and upper
half of lane r, which has the first half of K, and of lane r + 8, which has the second. The address of the
metadata is an even column, and the selector picks one of its two columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware.digits import Digit, layout_of
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.sources import Source, ptx
from tilewise.hardware.tcgen05.addresses import COLUMN_BITS
from tilewise.hardware.tcgen05.datapaths import SLAB, DataPath
from tilewise.hardware.tcgen05.kinds import Kind

EACH = COLUMN_BITS // INDEX.bits
"""Indices in a column of a lane."""

PATTERNS = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
"""The legal indices of a chunk, the first in the low bits; 0b0110 alone descends."""
WHOLE = (0b1110, 0b0100)
"""The legal indices of tf32: 2 and 3 select the second element of a chunk, 0 and 1 the first."""

CUTLASS_METADATA = Source(
    "CUTLASS",
    "include/cute/atom/mma_traits_sm100_frag.hpp, tmem_e_frg and tmem_e_frg_ws",
    "https://github.com/NVIDIA/cutlass/blob/main/include/cute/atom/mma_traits_sm100_frag.hpp#L216",
)

_LANE, _COLUMN = Axis("TLane"), Axis("TCol")
_GROUP = 8
"""Lanes that have one half of K."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of one instruction.

    >>> from tilewise.hardware.tcgen05.kinds import KINDS
    >>> f16 = Metadata(KINDS["f16"], DataPath.of(128, sparse=True))
    >>> f16.indices, f16.columns, f16.selectors
    (16, 1, (0, 1))
    >>> print(f16.layout(selector=1))
    S[((8, 2, 8), (2, 8)) : ((16@TLane, 8@TCol, 1@TLane), (8@TLane, 1@TCol))] + 16@TCol
    """

    kind: Kind
    path: DataPath

    @property
    def chunk(self) -> int:
        """Return the neighbours of a row of A of which half are stored."""
        return 8 if self.kind.packed else 2 if self.kind.name == "tf32" else 4

    @property
    def indices(self) -> int:
        """Return the indices of a row, two for each chunk."""
        return 2 * self.kind.depth(sparse=True) // self.chunk

    @property
    def columns(self) -> int:
        """Return the columns that an instruction reads."""
        return self.indices // EACH

    @property
    def patterns(self) -> tuple[int, ...]:
        """Return the legal pairs of a chunk's indices."""
        return WHOLE if self.kind.name == "tf32" else PATTERNS

    @property
    def selectors(self) -> tuple[int, ...]:
        """Return the sparsity selectors that the instruction descriptor may have."""
        return (0, 1) if self.columns == 1 else (0,)

    @property
    def source(self) -> Source:
        """Return the section of the manual that draws it; CUTLASS alone has .ws below M = 128."""
        if self.path.folds > 1:
            return CUTLASS_METADATA
        group = self.kind.name if self.columns == 1 else "f8f6f4-mxf8f6f4"
        rows = "m64" if self.path.half else "m128-256"
        return ptx(
            f"Sparsity selector (tcgen05.mma.sp), kind::{self.kind.name}, "
            f"M = {'64' if self.path.half else '128, 256'}",
            f"tcgen05-sparse-matrices-sparsity-selector-kind-{group}-{rows}",
        )

    def check_selector(self, selector: int) -> int:
        """Return the selector, or refuse it.

        >>> from tilewise.hardware.tcgen05.kinds import KINDS
        >>> Metadata(KINDS["i8"], DataPath.of(128, sparse=True)).check_selector(1)
        Traceback (most recent call last):
        tilewise.Refused: TW602: kind::i8 has no sparsity selector 1
          hint: it reads both columns, and its selector is 0
        """
        if as_int(selector, "a selector") not in range(4):
            raise LayoutError("TW601", f"there is no selector {selector}", hint="it has 2 bits")
        if selector not in self.selectors:
            raise Refused(
                "TW602",
                f"kind::{self.kind.name} has no sparsity selector {selector}",
                witness={"kind": self.kind.name, "selector": selector},
                hint="it reads both columns, and its selector is 0"
                if self.columns > 1
                else "it is 0 or 1: the first or the second of two columns",
            )
        return selector

    def layout(self, selector: int = 0, slab: int = 0) -> Layout:
        """Return the indices [M, indices of a row], counted by TCol, 16 in a column."""
        rows, copies, offset = self.path.down(), self.path.copies, self.path.offset(slab)
        along = [(self.indices, 1 @ _COLUMN)]
        if self.columns == 1:
            rows, along = self._spread(), [(2, _GROUP @ _LANE), (_GROUP, 1 @ _COLUMN)]
        if self.check_selector(selector):
            offset += EACH @ _COLUMN
        return layout_of(rows, along, offset=offset, copies=copies)

    def _spread(self) -> list[Digit]:
        """Return the digits of M where each 16 lanes have 16 rows in the two halves of 8 of them."""
        *blocks, (rows, lane) = self.path.down()
        if rows > SLAB:
            blocks.append((rows // SLAB, SLAB @ _LANE))
        return [*blocks, (2, EACH // 2 @ _COLUMN), (_GROUP, lane)]
