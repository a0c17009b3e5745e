"""The data paths of tcgen05.mma: the rows of D, and of A, in the lanes of tensor memory.

    M    cta_group  A       .ws     path  organisation         lane of D(m, n), CTA                 column
    256  2          any     no      A     4x1                  m % 128                   m // 128   n
    128  2          dense   no      B     2x2                  m % 64 + 64 (n // (N/2))  m // 64    n % (N/2)
    128  2          sparse  no      C     4x1, half the lanes  32 (r // 16) + r % 16     m // 64    n
    128  1          any     either  D     4x1                  m                         0          n
     64  1          any     yes     E     2x2                  m + 64 (n // (N/2))       0          n % (N/2)
     64  1          any     no      F     4x1, half the lanes  32 (m // 16) + m % 16     0          n
     32  1          any     yes     G     1x4                  m + 32 (n // (N/4))       0          n % (N/4)

    (r = m % 64)

A column is one of 32 bits, from the address of D on: elements of D are never packed, and one of f16 has the
lower half of its column. The lanes of C and F may begin at 16 instead of 0, for D, A and the metadata alike.

A of tensor memory has its rows in the lanes in which D has them, K along the columns, packed. Where N is
folded over lanes (B, E, G) each fold reads A from its own lanes, so that all of A is there in each.

PTX ISA, Data Path Layout Organization (tcgen05); Packing format for matrix D in Tensor Memory; Packing format
used for matrix A by kind::mxf8f6f4 in Tensor Memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Iter, Layout
from tilewise.core.vectors import Vector, along
from tilewise.hardware.digits import Digit, layout_of
from tilewise.hardware.sources import Source, ptx
from tilewise.hardware.tcgen05.addresses import LANES, WARP_LANES, WARPS

SLAB = 16
"""The lanes of each warp's 32 that half the data path has, and the start of its second place."""

_CTA, _LANE, _COLUMN = Axis("cbx"), Axis("TLane"), Axis("TCol")


@dataclass(frozen=True, slots=True)
class Share:
    """The part of D that a warp can load: some rows and columns of one CTA's."""

    rows: range
    columns: range


@dataclass(frozen=True, slots=True)
class DataPath:
    """A row of the table.

    >>> path = DataPath.of(64)
    >>> path.letter, path.organisation, path.rows
    ('F', '4x1, half the lanes', 64)
    """

    letter: str
    m: int
    cta_group: int = 1
    ws: bool | None = False
    """None where it is the same with and without."""
    sparse: bool | None = None
    """True if A is sparse; None where the path is the same for both."""

    @classmethod
    def of(cls, m: int, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> DataPath:
        """Return the data path of an instruction, or refuse it with the requirements of M.

        >>> DataPath.of(128, cta_group=2, sparse=True).letter
        'C'
        >>> DataPath.of(32)
        Traceback (most recent call last):
        tilewise.Refused: TW602: no data path has M = 32 of cta_group 1
          hint: M = 32 is of cta_group 1 with .ws
        """
        m, cta_group = as_int(m, "M"), as_int(cta_group, "the CTA group")
        asked = {"m": m, "cta_group": cta_group, "ws": ws, "sparse": sparse}
        for path in DATA_PATHS.values():
            if all(getattr(path, name) in (None, value) for name, value in asked.items()):
                return path
        other = " or ".join(path.words for path in DATA_PATHS.values() if path.m == m)
        raise Refused(
            "TW602",
            f"no data path has M = {m} of cta_group {cta_group}{' with .ws' * ws}",
            witness=asked,
            hint=f"M = {m} is of {other}" if other else "M is 32, 64, 128 or 256",
        )

    @property
    def words(self) -> str:
        """Return the instructions that have it, in words."""
        ws = {True: " with .ws", False: " without .ws" * (self.cta_group == 1), None: ""}[self.ws]
        return f"cta_group {self.cta_group}{ws}{self._of_a}"

    @property
    def _of_a(self) -> str:
        return {True: " and sparse A", False: " and dense A", None: ""}[self.sparse]

    @property
    def rows(self) -> int:
        """Return the rows of one CTA."""
        return self.m // self.cta_group

    @property
    def half(self) -> bool:
        """Return True if only half of each warp's lanes have rows."""
        return self.letter in ("C", "F")

    @property
    def folds(self) -> int:
        """Return the number of groups of lanes over which N is folded."""
        return 1 if self.half else LANES // self.rows

    @property
    def organisation(self) -> str:
        """Return warps by rows x warps by columns, as the manual writes it."""
        return f"{WARPS // self.folds}x{self.folds}{', half the lanes' * self.half}"

    @property
    def slabs(self) -> tuple[int, ...]:
        """Return the slabs of each warp's lanes in which it may lie."""
        return (0, 1) if self.half else (0,)

    @property
    def source(self) -> Source:
        """Return the section of the manual that draws it."""
        return ptx(
            f"Data Path Layout Organization (tcgen05), Layout {self.letter}",
            f"tcgen05-data-path-layout-{self.letter.lower()}",
        )

    def check_slab(self, slab: int) -> int:
        """Return the slab, or refuse it where all lanes are used.

        >>> DataPath.of(128).check_slab(1)
        Traceback (most recent call last):
        tilewise.Refused: TW602: data path D has no slab 1
          hint: it has all 128 lanes; C and F have half of them, and two slabs
        """
        if as_int(slab, "a slab") not in (0, 1):
            raise LayoutError(
                "TW601", f"there is no slab {slab}", hint="slab 0 begins at lane 0, slab 1 at 16"
            )
        if slab not in self.slabs:
            raise Refused(
                "TW602",
                f"data path {self.letter} has no slab {slab}",
                witness={"datapath": self.letter, "slab": slab},
                hint=f"it has all {LANES} lanes; C and F have half of them, and two slabs",
            )
        return slab

    # -- D -----------------------------------------------------------------------------------------

    def columns(self, n: int) -> int:
        """Return the columns of 32 bits of a D of N columns.

        >>> DataPath.of(64, ws=True).columns(256), DataPath.of(64).columns(256)
        (128, 256)
        """
        count, rest = divmod(as_int(n, "N"), self.folds)
        if rest:
            raise Refused(
                "TW602",
                f"N = {n} does not fold over {self.folds} groups of lanes",
                witness={"datapath": self.letter, "n": n},
                hint=f"data path {self.letter} has N in multiples of {self.folds}",
            )
        return count

    def accumulator(self, n: int, step: int = 1, slab: int = 0) -> Layout:
        """Return D [M, N]; each element is `step` further along TCol than the one before it.

        >>> print(DataPath.of(64, ws=True).accumulator(128))
        S[(64, (2, 64)) : (1@TLane, (64@TLane, 1@TCol))]
        >>> print(DataPath.of(128, cta_group=2, sparse=True).accumulator(64, slab=1))
        S[((2, 4, 16), 64) : ((1@cbx, 32@TLane, 1@TLane), 1@TCol)] + 16@TLane
        """
        across = [(self.columns(n), step @ _COLUMN)]
        if self.folds > 1:
            across.insert(0, (self.folds, self.rows @ _LANE))
        return layout_of(self.down(), across, offset=self.offset(slab))

    # -- A -----------------------------------------------------------------------------------------

    def multiplicand(self, k: int, step: int = 1, slab: int = 0) -> Layout:
        """Return A [M, K] in tensor memory, as `accumulator` does; K counts its stored elements.

        >>> print(DataPath.of(128, cta_group=2).multiplicand(16))
        S[((2, 64), 16) : ((1@cbx, 1@TLane), 1@TCol)] + R[2 : 64@TLane]
        """
        across = [(as_int(k, "K"), step @ _COLUMN)]
        return layout_of(self.down(), across, offset=self.offset(slab), copies=self.copies)

    @property
    def copies(self) -> tuple[Iter, ...]:
        """Return the copies of A and its metadata: one for each group of lanes over which N is folded."""
        return (Iter(self.folds, self.rows @ _LANE),) if self.folds > 1 else ()

    # -- the parts of layouts ----------------------------------------------------------------------

    def down(self) -> list[Digit]:
        """Return the digits of M, the slowest first."""
        pair = [(2, 1 @ _CTA)] if self.cta_group == 2 else []
        if self.half:
            return [*pair, (self.rows // SLAB, WARP_LANES @ _LANE), (SLAB, 1 @ _LANE)]
        return [*pair, (self.rows, 1 @ _LANE)]

    def offset(self, slab: int) -> Vector:
        """Return the place of the first row."""
        return along(_LANE, SLAB * self.check_slab(slab))

    # -- warps -------------------------------------------------------------------------------------

    def lanes(self, slab: int = 0) -> tuple[int, ...]:
        """Return the lanes that have rows.

        >>> [*map(len, (DataPath.of(64).lanes(), DataPath.of(128).lanes()))]
        [64, 128]
        """
        first = SLAB * self.check_slab(slab)
        each = SLAB if self.half else WARP_LANES
        return tuple(lane for warp in range(WARPS) for lane in range(first + warp * WARP_LANES, LANES)[:each])

    def share(self, warp: int, n: int) -> Share:
        """Return the rows and columns of one CTA's D that a warp of a warpgroup reaches.

            law    lanes_of(warp) hold these and no others

        >>> DataPath.of(64, ws=True).share(3, 128)
        Share(rows=range(32, 64), columns=range(64, 128))
        """
        each = SLAB if self.half else WARP_LANES
        down = WARPS // self.folds
        fold, part = divmod(as_int(warp, "a warp") % WARPS, down)
        wide = self.columns(n)
        return Share(range(part * each, (part + 1) * each), range(fold * wide, (fold + 1) * wide))


DATA_PATHS = {
    path.letter: path
    for path in (
        DataPath("A", 256, 2),
        DataPath("B", 128, 2, sparse=False),
        DataPath("C", 128, 2, sparse=True),
        DataPath("D", 128, ws=None),
        DataPath("E", 64, ws=True),
        DataPath("F", 64),
        DataPath("G", 32, ws=True),
    )
}
"""The table by letter. The manual of 9.1 writes 2x3 for E, which that of 9.4 corrects to 2x2."""
