"""Sparse mma (mma.sp): half of A is zero; the other half is stored, and metadata locates it.

One picture serves all types. A row of A is cut into chunks of four units, and two units of a chunk are
kept. A unit is one element of 8 or 16 bits, a pair of elements of 4 bits, or half an element of tf32, whose
halves go together. A kept unit has an index of 2 bits, its place in its chunk; the indices of a row stand
one after another, low bits first. A [M, K/2] is stored as a dense A of that width is.

Rows g and 8 + g have indices for one, two or four registers: as many of each four lanes 4 g + t supply them,
and the selector picks these lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import flat_index
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.mma.fragments import input_fragment, packed, result_fragment, unpacked
from tilewise.hardware.mma.instructions import Shape, multiplying
from tilewise.hardware.mma.kinds import INDEX, container

LANE, REG = Axis("laneid"), Axis("reg")
QUAD, ROWS = 4, 16
EACH = REGISTER_BITS // INDEX.bits
UNITS, KEPT = 4, 2
"""Units of a chunk, and those that are kept."""

ORDERED = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""The indices that a chunk may have, the first below the second: PTX's 0b0100, 0b1000, 0b1001, ..."""
WHOLE = ((0, 1), (2, 3))
"""The patterns of tf32, whose units are the halves of elements: 0b0100 and 0b1110."""

_MAY_HAVE = {2: "one element", 4: "two elements", 8: "two pairs"}


@dataclass(frozen=True, slots=True)
class Sparse:
    """The storage of A of an mma.sp, and the lanes whose metadata locates its elements.

    >>> half = Sparse.of("m16n8k32", "f16")
    >>> half.chunk, half.threads, half.selectors
    (4, 2, (0, 1))
    >>> print(half.a_fragment)
    S[((2, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    >>> print(half.metadata(1))
    S[((2, 8), (2, 8)) : ((8@reg, 4@laneid), (1@laneid, 1@reg))] + 2@laneid
    """

    shape: Shape
    dtype: DType
    taken: int
    """Bits of a register that an element takes."""

    @classmethod
    def of(cls, shape: Shape | str, dtype: DType | str) -> Sparse:
        """Return the storage for a shape and the type of A, or refuse with the shapes of the type."""
        wanted, element = Shape.of(shape), DType.of(dtype)
        multiplying(wanted, element.name, "a", "sparse")
        return cls(wanted, element, container(wanted, element, sparse=True)[0])

    # -- widths ----------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """Return the neighbours in a row of A of which half are kept: 2 of tf32, 8 of 4 bits, else 4."""
        return 2 if self.taken == REGISTER_BITS else 8 if self.taken == 4 else UNITS

    @property
    def stored(self) -> int:
        """Return the elements of a row of A that are stored."""
        return self.shape.k // 2

    @property
    def indices(self) -> int:
        """Return the indices of a row of A, two for each chunk."""
        return KEPT * self.shape.k // self.chunk

    @property
    def threads(self) -> int:
        """Return the lanes of each four that supply indices."""
        return ROWS // 8 * self.indices // EACH

    @property
    def selectors(self) -> tuple[int, ...]:
        """Return the legal sparsity selectors."""
        return tuple(range(QUAD // self.threads))

    @property
    def patterns(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of indices that a chunk may have."""
        return WHOLE if self.taken == REGISTER_BITS else ORDERED

    # -- fragments -------------------------------------------------------------------------------

    @property
    def a_fragment(self) -> Layout:
        """Return the stored A [M, K/2] in registers."""
        return input_fragment(ROWS, self.stored, REGISTER_BITS // self.taken)

    @property
    def b_fragment(self) -> Layout:
        """Return B [N, K] in registers."""
        return input_fragment(self.shape.n, self.shape.k, REGISTER_BITS // self.taken)

    @property
    def d_fragment(self) -> Layout:
        """Return C or D [M, N] in registers."""
        return result_fragment(self.shape.m, self.shape.n)

    def metadata(self, selector: int = 0) -> Layout:
        """Return the indices [M, indices of a row] in the metadata registers; `reg` counts 2-bit indices.

        requires  selector is one of `selectors`
        postcondition  index i of row r is bits 2 v, 2 v + 1 of lane l, where place(r, i) = l@laneid + v@reg

        >>> print(Sparse.of("m16n8k16", "f16").metadata(3))
        S[((2, 8), (1, 8)) : ((8@reg, 4@laneid), (0, 1@reg))] + 3@laneid
        >>> print(Sparse.of("m16n8k64", "e4m3").metadata())
        S[((2, 8), (2, 16)) : ((1@laneid, 4@laneid), (2@laneid, 1@reg))]
        """
        by_lane = self.taken <= 8
        row = 1 @ LANE if by_lane else self.indices // self.threads @ REG
        lanes = self.threads // 2 if by_lane else self.threads
        far = (self.threads // lanes @ LANE) if lanes > 1 else ZERO
        return Layout(
            ((ROWS // 8, 8), (lanes, self.indices // lanes)),
            (row, QUAD @ LANE, far, 1 @ REG),
            offset=along(LANE, self.threads * self.check_selector(selector)),
        )

    def check_selector(self, selector: int) -> int:
        """Return the selector, or refuse it with the lanes to choose from."""
        chosen = as_int(selector, "the selector")
        if chosen not in self.selectors:
            supply = {1: "one lane of each four supplies", 2: "a pair of each four supplies"}
            reason = supply.get(self.threads, "all four lanes supply")
            raise Refused(
                "TW602",
                f"{self.shape} of {self.dtype} has no selector {chosen}: {reason} its metadata",
                witness={"shape": str(self.shape), "dtype": self.dtype.name, "selector": chosen},
                hint=f"it takes {' '.join(map(str, self.selectors))}",
            )
        return chosen

    def lanes(self, selector: int = 0) -> tuple[int, ...]:
        """Return the lanes whose metadata is read.

        >>> Sparse.of("m16n8k32", "s8").lanes(1)[:4]
        (2, 3, 6, 7)
        """
        first = self.threads * self.check_selector(selector)
        return tuple(lane for lane in range(LANES) if first <= lane % QUAD < first + self.threads)

    def supplier(self, row: int, stored: int, selector: int = 0) -> tuple[int, int, int]:
        """Return (lane, lowest bit, highest bit) of the metadata that locates a stored element.

        >>> Sparse.of("m16n8k32", "f16").supplier(9, 10, selector=1)
        (7, 20, 21)
        >>> Sparse.of("m16n8k8", "tf32").supplier(0, 3)
        (0, 12, 15)
        """
        indices = self.indices_of(stored)
        place = self.metadata(selector).place(row, indices[0]).as_dict()
        low = INDEX.bits * place["reg"]
        return place["laneid"], low, low + INDEX.bits * len(indices) - 1

    # -- the meaning of indices ------------------------------------------------------------------

    def indices_of(self, stored: int) -> range:
        """Return the indices of its row that locate a stored element: one, or two for tf32."""
        first = KEPT * stored // (self.chunk // 2)
        return range(first, first + max(1, KEPT * 2 // self.chunk))

    def column(self, stored: int, indices: Sequence[int]) -> int:
        """Return the column of A of a stored element of a row, given the indices of the row.

        >>> Sparse.of("m16n8k16", "f16").column(3, [0, 1, 1, 3, 0, 1, 0, 1])
        7
        >>> Sparse.of("m16n8k64", "s4").column(3, [0, 2] + 14 * [0])
        5
        """
        kept = self.chunk // 2
        _check_rows([indices], self.indices, "metadata")
        index = indices[self.indices_of(flat_index(stored, (self.stored,)))[0]]
        inside = index * self.chunk // UNITS + (stored % 2 if self.chunk > UNITS else 0)
        return stored // kept * self.chunk + inside

    def expand(self, stored: Sequence[Sequence[int]], indices: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return A [M, K] from the stored A [M, K/2] and the indices; elements not stored are 0.

        >>> Sparse.of("m16n8k8", "tf32").expand([[5, 6, 7, 8]], [[0, 1, 2, 3, 0, 1, 2, 3]])
        [[5, 0, 0, 6, 7, 0, 0, 8]]
        """
        rows = self.check_indices(indices, len(stored))
        _check_rows(stored, self.stored, "a stored A")
        dense = [[0] * self.shape.k for _ in rows]
        for row, kept, said in zip(dense, stored, rows, strict=True):
            for number, value in enumerate(kept):
                row[self.column(number, said)] = value
        return dense

    def compress(self, dense: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[list[int]]]:
        """Return the stored A and the indices of an A [M, K]; refuse the first chunk with too many elements.

        postcondition  expand(*compress(A)) == A

        >>> Sparse.of("m16n8k8", "tf32").compress([[5, 0, 0, 6, 7, 0, 0, 0]])
        ([[5, 6, 7, 0]], [[0, 1, 2, 3, 0, 1, 0, 1]])
        """
        _check_rows(dense, self.shape.k, "an A")
        rows = [self._kept(number, row) for number, row in enumerate(dense)]
        return [row[0] for row in rows], [row[1] for row in rows]

    def _kept(self, number: int, row: Sequence[int]) -> tuple[list[int], list[int]]:
        stored: list[int] = []
        indices: list[int] = []
        for first in range(0, self.shape.k, self.chunk):
            chunk = row[first : first + self.chunk]
            pair = self._pattern(number, first, chunk)
            indices += pair
            stored += [value for place, value in enumerate(chunk) if place * UNITS // self.chunk in pair]
        return stored, indices

    def _pattern(self, row: int, first: int, chunk: Sequence[int]) -> tuple[int, int]:
        used = {place * UNITS // self.chunk for place, value in enumerate(chunk) if value}
        for pair in self.patterns:
            if used <= set(pair):
                return pair
        last = first + self.chunk - 1
        raise Refused(
            "TW602",
            f"A is not as sparse as {self.shape} of {self.dtype} wants it: columns {first} to {last} of row "
            f"{row} hold more than {_MAY_HAVE[self.chunk]} other than 0",
            witness={"row": row, "columns": [first, last]},
        )

    # -- the registers ---------------------------------------------------------------------------

    def pack(self, indices: Sequence[Sequence[int]], selector: int = 0, other: int = 0) -> list[int]:
        """Return the metadata register of each lane; lanes that are not read have `other`.

        requires  16 rows of indices, every pair one of `patterns`

        >>> words = Sparse.of("m16n8k16", "f16").pack(16 * [[0, 1, 0, 2, 1, 2, 2, 3]], selector=2)
        >>> [hex(word) for word in words[:4]]
        ['0x0', '0x0', '0xe984e984', '0x0']
        """
        rows, read = self.check_indices(indices), self.lanes(selector)
        words = [0 if lane in read else other for lane in range(LANES)]
        return packed(self.metadata(selector), rows, INDEX.bits, words)

    def unpack(self, words: Sequence[int], selector: int = 0) -> list[list[int]]:
        """Return the indices in the lanes' metadata registers.

        postcondition  unpack(pack(indices, selector), selector) == indices
        """
        return unpacked(self.metadata(selector), words, INDEX.bits)

    def check_indices(self, indices: Sequence[Sequence[int]], rows: int = ROWS) -> list[list[int]]:
        """Return the indices as Python's integers, which shift without loss.

        Refuse any number but `rows` times `self.indices`, and pairs that have no meaning in the manual.
        """
        if len(indices) != rows:
            raise LayoutError("TW202", f"{len(indices)} rows of indices, where there are {rows} rows")
        _check_rows(indices, self.indices, "metadata")
        exact = [[as_int(index, "an index") for index in row] for row in indices]
        for number, row in enumerate(exact):
            for first in range(0, self.indices, KEPT):
                pair = (row[first], row[first + 1])
                if pair not in self.patterns:
                    raise Refused(
                        "TW602",
                        f"row {number}, chunk {first // KEPT}: indices {pair[0]} and {pair[1]} mean nothing",
                        witness={"row": number, "chunk": first // KEPT, "indices": list(pair)},
                        hint=f"legal: {', '.join(f'{low} {high}' for low, high in self.patterns)}",
                    )
        return exact


def _check_rows(rows: Sequence[Sequence[int]], width: int, of: str) -> None:
    for number, row in enumerate(rows):
        if len(row) != width:
            raise LayoutError("TW202", f"{of} has rows of {width}, and row {number} has {len(row)}")
