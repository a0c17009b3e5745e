"""The scale factors of tcgen05.mma: SFA [M, sf] and SFB [N, sf], in memory and in tensor memory.

A factor is a byte, and four of a row are a 32-bit word. 128 rows of four are a block of 512 bytes in memory:

    byte = 512 block + 16 (row % 32) + 4 (row / 32 % 4) + factor % 4           blocks along K first

and one tcgen05.cp of 32x128b.warpx4 brings it to tensor memory, its rows of 16 bytes to lanes:

                   lane                                  32-bit column        byte       copies
    one CTA        row % 32                              row / 32             factor     4, 32 lanes apart
    pair, M = 256  SFA as above, of each CTA's own 128 rows; SFB as above, the whole of it in both CTAs
    pair, M = 128  SFA as above, of each CTA's own 64 rows
                   SFB row % H % 32 + 64 (row / H)       row % H / 32         factor     2, 32 lanes apart

H is N / 2. The last row differs because the two halves of the lanes compute two halves of N (data path B):
each half needs only the factors of its columns. The next four factors of a row lie in the next columns, after
all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Iter, Layout
from tilewise.hardware.digits import layout_of, without_ones
from tilewise.hardware.mma.kinds import Scaling
from tilewise.hardware.sources import Source, ptx
from tilewise.hardware.tcgen05.addresses import COLUMNS
from tilewise.hardware.tcgen05.kinds import DEEP_K, product_of

PTX_SCALES = ptx("Block scaling (tcgen05.mma), layouts of scale factors", "tcgen05-block-scaling")
CUTLASS_FRAGMENTS = Source(
    "CUTLASS",
    "include/cute/atom/mma_traits_sm100_frag.hpp, tmem_sf_frg",
    "https://github.com/NVIDIA/cutlass/blob/main/include/cute/atom/mma_traits_sm100_frag.hpp",
)
"""The source for a CTA pair with M = 128, whose factors the manual does not place."""

OPERANDS = ("SFA", "SFB")
LANE, COLUMN, CTA, STORE = (Axis(name) for name in ("TLane", "TCol", "cbx", "m"))

QUARTER = 32
"""Rows that lie beside one another: one for each lane of a warp."""

WORD = 4
"""Factors of a row in a 32-bit word."""

HALF = 64
"""Lanes of each half, where the halves compute two halves of N."""

MOST_N, N_OF_PAIR = 256, 16
"""The largest N, and the divisor of a pair's N."""

BLOCK_ROWS = 128
BLOCK_BYTES = BLOCK_ROWS * WORD


def blocks(rows: int, sf_k: int) -> Layout:
    """Return factors [rows, sf_k] in memory, in bytes, both extents rounded up to whole blocks of 128 x 4.

        requires       rows and sf_k of 1 and more
        postcondition  a block is 512 bytes; those along K follow one another

    >>> print(blocks(128, 4))
    S[((1, 4, 32), (1, 4)) : ((512, 4, 16), (512, 1))]
    >>> blocks(200, 6).shape
    ((2, 4, 32), (2, 4))
    """
    down, along = -(-_counted(rows, "rows") // BLOCK_ROWS), -(-_counted(sf_k, "sf_k") // WORD)
    shape = (down, BLOCK_ROWS // QUARTER, QUARTER), (along, WORD)
    strides = (along * BLOCK_BYTES, WORD, WORD * WORD, BLOCK_BYTES, 1)
    return Layout(shape, tuple(step @ STORE for step in strides))


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of an operand of one product in tensor memory, as one or two CTAs read them.

        requires       rows of one product: of SFA up to M, of SFB up to 256, of a pair M and N exactly; no
                       more columns than tensor memory has
        postcondition  row r of `layout` is row r of the operand, or of one half of it, in every copy

    >>> one = Factors("SFA", 128, 4)
    >>> print(one.layout)
    S[((4, 32), 4) : ((4@TCol, 1@TLane), 1@TCol)] + R[4 : 32@TLane]
    >>> print(Factors("SFB", 256, 4, m=128, cta_group=2).layout)
    S[((2, 4, 32), 4) : ((64@TLane, 4@TCol, 1@TLane), 1@TCol)] + R[(2, 2) : (32@TLane, 1@cbx)]
    >>> print(Factors("SFB", 96, 4, m=128, cta_group=2, half=1).layout)
    S[((2, 32), 4) : ((4@TCol, 1@TLane), 1@TCol)] + R[(2, 2) : (32@TLane, 1@cbx)] + 64@TLane
    """

    operand: str
    rows: int
    """M of SFA, N of SFB: of the pair, where there are two CTAs."""
    sf_k: int
    m: int = BLOCK_ROWS
    cta_group: int = 1
    half: int | None = None
    """The half of N, where the halves of the lanes have one each; None for both."""

    def __post_init__(self) -> None:
        if self.operand not in OPERANDS:
            raise LayoutError("TW601", f"{self.operand!r} are no scale factors", hint="known: SFA SFB")
        for name in ("rows", "sf_k"):
            object.__setattr__(self, name, _counted(getattr(self, name), name))
        self._check_product()
        self._check_rows()
        self._check_half()
        if self.written > COLUMNS:
            raise Refused(
                "TW605",
                f"{self.sf_k} factors of {self.rows} rows take {self.written} columns of tensor memory",
                witness={"columns": self.written, "most": COLUMNS},
                hint=f"it has {COLUMNS}: cut them along K",
            )

    def _check_product(self) -> None:
        legal = product_of("mxf4", as_int(self.cta_group, "cta_group")).shapes
        if self.m not in legal:
            pair = "; 256 is of cta_group 2" if self.m == 256 else ""
            raise Refused(
                "TW602",
                f"no product with scales has M = {self.m} of cta_group {self.cta_group}",
                witness={"m": self.m, "cta_group": self.cta_group},
                hint=f"M is {' or '.join(map(str, legal))}{pair}",
            )

    def _check_rows(self) -> None:
        most = self.m if self.operand == "SFA" else MOST_N
        pair = self.cta_group == 2
        whole = self.rows == most if self.operand == "SFA" else self.rows % N_OF_PAIR == 0
        if self.rows <= most and (whole or not pair):
            return
        wanted = f"M = {most}" if self.operand == "SFA" else f"an N of 16, 32, ..., {MOST_N}"
        raise Refused(
            "TW603",
            f"{self.operand} of {self.rows} rows is not of one product"
            + (f" of a pair with M = {self.m}" if pair else ""),
            witness={"rows": self.rows, "most": most},
            hint=f"it has the rows of {wanted}"
            + ("" if pair else ", or fewer")
            + "; every further tile has columns of its own",
        )

    def _check_half(self) -> None:
        if self.half is None:
            inside = self.rows // 2
            if self.split and inside > QUARTER and inside % QUARTER:
                raise Refused(
                    "TW501",
                    f"halves of {inside} rows are no whole number of 32: one layout does not say both",
                    witness={"rows": self.rows, "half": inside},
                    hint="ask for each: half=0 and half=1",
                )
            return
        if not self.split:
            raise LayoutError(
                "TW601", "half is of SFB of a pair with M = 128", hint="elsewhere all lanes have all of N"
            )
        if as_int(self.half, "half") not in (0, 1):
            raise LayoutError("TW601", f"there is no half {self.half}", hint="half=0 or half=1")

    @property
    def split(self) -> bool:
        """Return True if the two halves of the lanes have the factors of two halves of N."""
        return self.operand == "SFB" and self.cta_group == 2 and self.m == BLOCK_ROWS

    @property
    def lane_copies(self) -> int:
        """Return the number of lanes of a CTA that have each factor."""
        return 2 if self.split else 4

    @property
    def cta_copies(self) -> int:
        """Return the number of CTAs that have each factor: both of a pair have those of B."""
        return 2 if self.operand == "SFB" and self.cta_group == 2 else 1

    @property
    def own(self) -> int:
        """Return the number of rows that lie among the same lanes of one CTA."""
        shared = self.split or (self.operand == "SFA" and self.cta_group == 2)
        return self.rows // 2 if shared else self.rows

    @property
    def quarters(self) -> int:
        """Return the 32-bit columns that the words of all rows take: 32 rows each."""
        return -(-self.own // QUARTER)

    @property
    def words(self) -> int:
        """Return the words of a row."""
        return -(-self.sf_k // WORD)

    @property
    def next_word(self) -> int:
        """Return the 32-bit columns from a word of a row to the next: whole blocks, but for a pair whose M is
        128.
        """
        whole = self.cta_group == 1 or self.m == 256
        return _up(self.quarters, BLOCK_ROWS // QUARTER) if whole else self.quarters

    @property
    def columns(self) -> int:
        """Return the 32-bit columns that products read."""
        return self.next_word * (self.words - 1) + self.quarters

    @property
    def written(self) -> int:
        """Return the 32-bit columns that copies write, each of which writes four."""
        return _up(self.columns, BLOCK_ROWS // QUARTER)

    @property
    def padded(self) -> tuple[int, int]:
        """Return rows and factors with those that fill the last ones up."""
        return self._shares * self._inside, self.words * WORD

    @property
    def _shares(self) -> int:
        """Return the groups of lanes, or CTAs, that share the rows."""
        return 1 if self.half is not None else self.rows // self.own

    @property
    def _inside(self) -> int:
        """Return the rows of a share, with those that fill it up."""
        return self.own if self._shares > 1 and self.own < QUARTER else self.quarters * QUARTER

    @property
    def layout(self) -> Layout:
        """Return [rows, sf_k], both rounded up to whole blocks, over TLane, TCol in bytes, and
        cbx of a pair.
        """
        rows = [(self.quarters, WORD @ COLUMN), (self._inside // self.quarters, 1 @ LANE)]
        if self._shares > 1:
            rows.insert(0, (2, HALF @ LANE if self.split else 1 @ CTA))
        factors = [(self.words, self.next_word * WORD @ COLUMN), (WORD, 1 @ COLUMN)]
        copies = [Iter(self.lane_copies, QUARTER @ LANE)]
        if self.cta_copies > 1:
            copies.append(Iter(self.cta_copies, 1 @ CTA))
        whole = layout_of(*map(without_ones, (rows, factors)), copies=copies)
        return whole + HALF @ LANE if self.half else whole

    @property
    def source(self) -> Layout:
        """Return the bytes of shared memory that copies of 64x128b.warpx2::01_23 bring to the two halves, [N,
        4].

        A copy reads 64 rows of 16 bytes: row i has the words of rows i, 32 + i, ... of the first half of N,
        row 32 + i those of the second. For N = 256 that is two blocks of `blocks`; otherwise a part stays
        empty.

        >>> print(Factors("SFB", 128, 4, m=128, cta_group=2).source)
        S[((2, 2, 32), 4) : ((512, 4, 16), 1)]
        """
        inside = self._inside // self.quarters
        shape = ((2, self.quarters, inside), WORD)
        return Layout(shape, tuple(step @ STORE for step in (BLOCK_BYTES, WORD, WORD * WORD, 1)))


@dataclass(frozen=True, slots=True)
class Take:
    """The factors of a row that one product along K takes."""

    step: int
    first: int
    """The first factor."""
    column: int
    """The 32-bit column, counted from that of the row's first word."""
    id: int
    """The byte of the word: the id in the instruction descriptor."""


def taken(scaling: Scaling, k: int = 0) -> int:
    """Return the factors of a row that a product takes: K = 96 takes half as many again as K = 64."""
    return scaling.vector * 3 // 2 if k == DEEP_K else scaling.vector


def takes(scaling: Scaling, sf_k: int, next_word: int, k: int = 0) -> tuple[Take, ...]:
    """Return the products along K, as far as the factors reach: the first factor, its column and its id.

        postcondition  4 * word + id == first

    >>> from tilewise.hardware.tcgen05.kinds import KINDS
    >>> [(take.column, take.id) for take in takes(KINDS["mxf4"].scaling(), 8, 4)]
    [(0, 0), (0, 2), (4, 0), (4, 2)]
    >>> [(take.first, take.column, take.id) for take in takes(KINDS["mxf4"].scaling(), 12, 4, k=96)]
    [(0, 0, 0), (3, 0, 3), (6, 4, 2), (9, 8, 1)]
    """
    many = taken(scaling, k)
    return tuple(
        Take(step, step * many, step * many // WORD * next_word, step * many % WORD)
        for step in range(sf_k // many)
    )


def _counted(count: int, name: str) -> int:
    if as_int(count, name) < 1:
        raise LayoutError("TW102", f"{name} is 1 or more, not {count}")
    return count


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit
