"""Linear maps from places to elements, built as Triton builds them: one power of two after the other.

Triton's words are in include/triton/Tools/LinearLayout.h. An input dimension such as `lane` has a basis for
every bit: the move of that bit on each coordinate of the element, by XOR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError
from tilewise.core.shapes import flat_index
from tilewise.notation.dialects.triton.encodings import Encoding

Basis = tuple[int, ...]
Shape = Sequence[int]

REGISTER, LANE, WARP, BLOCK = "register", "lane", "warp", "block"
OFFSET, ROW, COL, PARTITION = "offset", "row", "col", "partition"
AXES = {
    REGISTER: Axis("reg"),
    LANE: Axis("laneid"),
    WARP: Axis("warpid"),
    OFFSET: m,
    PARTITION: Axis("buffer"),
    ROW: Axis("TLane"),
    COL: Axis("TCol"),
    BLOCK: Axis("cbx"),
}
MAX_BITS = 64


@dataclass(slots=True)
class Tile:
    """The bases of a map that covers a tile, and the tile's size in each dimension.

    >>> tile = Tile(2).step(REGISTER, 2, 1).step(LANE, 4, 0)
    >>> tile.fit((8, 2), REGISTER).bases
    {'register': [(0, 1), (4, 0)], 'lane': [(1, 0), (2, 0)]}
    """

    rank: int
    order: Shape = ()
    """In this order the dimensions grow; row-major without it."""
    bases: dict[str, list[Basis]] = field(default_factory=dict)
    size: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.order = self.order or row_major(self.rank)
        self.size = self.size or [1] * self.rank

    def put(self, place: str, *bases: Basis) -> Tile:
        """Append the moves of the next bits of a place."""
        known = self.bases.setdefault(place, [])
        for basis in bases:
            known.append(basis)
            self.size = [max(size, 1 << x.bit_length()) for size, x in zip(self.size, basis, strict=True)]
        if len(known) > MAX_BITS:
            raise LayoutError("TW005", f"{place} has more than 2^{MAX_BITS} places")
        return self

    def step(self, place: str, extent: int, dimension: int | None) -> Tile:
        """Append places along a dimension; without one they repeat the elements of those before them."""
        self.put(place)
        for _ in range(_bits(extent)):
            step = 0 if dimension is None else self.size[dimension]
            self.put(place, unit(self.rank, dimension, step))
        return self

    def steps(self, place: str, extents: Shape, order: Iterable[int], still: int | None = None) -> Tile:
        """Step along several dimensions, in order; along `still` the places hold the same."""
        for dimension in order:
            self.step(place, extents[dimension], None if dimension == still else dimension)
        return self

    def repeat(self, over: Mapping[str, Sequence[Basis]]) -> Tile:
        """Let places go on from tile to tile: these bases count tiles."""
        inside = tuple(self.size)
        for place, bases in over.items():
            self.put(place, *(tuple(map(int.__mul__, basis, inside)) for basis in bases))
        return self

    def fit(self, shape: Shape, grows: str) -> Tile:
        """Cut off the part beyond a shape, and let the places of `grows` reach its end.

        Triton's ensureLayoutNotSmallerThan and ensureLayoutNotLargerThan (lib/Tools/LayoutUtils.cpp): a
        basis beyond the shape becomes 0.
        """
        for dimension in self.order:
            self.step(grows, max(1, shape[dimension] // self.size[dimension]), dimension)
        for place, bases in self.bases.items():
            self.bases[place] = [
                tuple(0 if x >= extent else x for x, extent in zip(basis, shape, strict=True))
                for basis in bases
            ]
        self.size = [*map(min, self.size, shape)]
        return self

    def over_blocks(
        self, encoding: Encoding, shape: Shape, grows: str = REGISTER, still: int | None = None
    ) -> Tile:
        """Fit the part of one block of the cluster, and lay the blocks over the shape."""
        self.fit(shape_of_a_block(encoding, shape, still), grows)
        return self.repeat({BLOCK: blocks_of(encoding, self.rank, still)}).fit(shape, grows)

    def without(self, place: str) -> Tile:
        """Drop the places that repeat the elements of others."""
        self.bases[place] = [basis for basis in self.bases.get(place, []) if any(basis)]
        return self


def unit(rank: int, dimension: int | None, step: int) -> Basis:
    """Return the basis that steps along one dimension.

    >>> unit(3, 1, 8)
    (0, 8, 0)
    """
    return tuple(step if other == dimension else 0 for other in range(rank))


def shape_of_a_block(encoding: Encoding, shape: Shape, still: int | None = None) -> list[int]:
    """Return the shape of one block's part: Triton's getShapePerCTA."""
    split = Tile(len(shape)).put(BLOCK, *blocks_of(encoding, len(shape), still)).size
    return [max(1, extent // many) for extent, many in zip(shape, split, strict=True)]


def flattened(bases: Mapping[str, Sequence[Basis]], shape: Shape) -> dict[str, list[int]]:
    """Return the moves of bases on the flat index of a shape.

    >>> flattened({"lane": [(2, 1)]}, (4, 8))
    {'lane': [17]}
    """
    return {place: [flat_index(basis, tuple(shape)) for basis in moved] for place, moved in bases.items()}


def _bits(extent: int) -> int:
    """Return the number of bits of so many places; Triton lays out powers of two alone."""
    if extent < 1 or extent & extent - 1:
        raise LayoutError("TW102", f"{extent} is no power of two, and Triton lays out powers of two alone")
    return extent.bit_length() - 1


# -- blocks of a cluster, and orders of dimensions -------------------------------------------------


_OLD = {"CTAsPerCGA", "CTASplitNum", "CTAOrder"}
_OLD_OF_TENSOR_MEMORY = ("CTASplitM", "CTASplitN")


def blocks_of(encoding: Encoding, rank: int, still: int | None = None) -> list[Basis]:
    """Return the bases of the blocks, in parts that a block holds; [] where a cluster has one block.

    Along `still`, blocks hold the same.

    Today an encoding lists them, `CGALayout = [[0, 1]]`. Before 3.6 three keys had the number of blocks
    in each dimension, the number of these with different parts, and their order (makeCgaLayout). Those
    of tensor memory had the numbers of blocks along M and N.
    """
    tile = Tile(rank).put(BLOCK, *encoding.bases("CGALayout", rank))
    if any(sum(map(int.bit_count, basis)) > 1 for basis in tile.bases[BLOCK]):
        raise encoding.error("TW102", "a block steps by a power of two, in one dimension", "CGALayout")
    for dimension, key in enumerate(_OLD_OF_TENSOR_MEMORY):
        if key in encoding.items:
            tile.step(BLOCK, encoding.power(key), dimension)
    if not _OLD.isdisjoint(encoding.items):
        blocks, split = encoding.powers("CTAsPerCGA", rank), encoding.powers("CTASplitNum", rank)
        for along in encoding.order("CTAOrder", rank):
            many, parts = blocks[along], split[along]
            if many < parts:
                raise encoding.error("TW102", f"{many} blocks do not hold {parts} parts", "CTASplitNum")
            tile.step(BLOCK, parts, along).step(BLOCK, many // parts, None)
    return tile.bases[BLOCK] if still is None else fixed_along(still, tile.bases[BLOCK])


def rank_of_product(encoding: Encoding, shape: Shape) -> int:
    """Return the rank of a matrix, or of several; refuse any other."""
    if len(shape) not in (2, 3):
        message = f"{encoding.name} lays out matrices, and no tensor of {len(shape)} dimensions"
        raise encoding.error("TW202", message)
    return len(shape)


def fixed_along(dimension: int, blocks: Iterable[Basis]) -> list[Basis]:
    """Return bases of blocks that hold the same along a dimension.

    >>> fixed_along(1, [(1, 0), (0, 1)])
    [(1, 0), (0, 0)]
    """
    return [(*basis[:dimension], 0, *basis[dimension + 1 :]) for basis in blocks]


def row_major(rank: int, *, swapped: bool = False) -> list[int]:
    """Return the order of a matrix among others, the fastest dimension first: Triton's getMatrixOrder.

    >>> row_major(3), row_major(3, swapped=True)
    ([2, 1, 0], [1, 2, 0])
    """
    order = [*reversed(range(rank))]
    return [*order[1::-1], *order[2:]] if swapped else order


def order_of(bases: Iterable[Basis], rank: int) -> tuple[int, ...]:
    """Return the order in which bases meet the dimensions; the others follow row-major.

    >>> order_of([(0, 1, 0), (1, 0, 0), (0, 2, 0)], 3)
    (1, 0, 2)
    """
    met = [dimension for basis in bases for dimension in range(rank) if basis[dimension]]
    return tuple(dict.fromkeys([*met, *row_major(rank)]))
