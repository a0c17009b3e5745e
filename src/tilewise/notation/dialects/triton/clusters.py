"""The blocks of a cluster in an encoding, as today and as in 3.0 to 3.5; and orders of dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.tile import BLOCK, REGISTER, Basis, Tile

_OLD = {"CTAsPerCGA", "CTASplitNum", "CTAOrder"}
_OLD_OF_TENSOR_MEMORY = ("CTASplitM", "CTASplitN")


def blocks_of(encoding: Encoding, rank: int) -> list[Basis]:
    """Return the bases of the blocks, in parts that a block holds; none where a cluster has one block.

    Today an encoding lists them, `CGALayout = [[0, 1]]`. Before 3.6 three keys said how many blocks there
    are in each dimension, how many of these hold parts of their own, and in which order they come
    (makeCgaLayout). Those of tensor memory said how many there are along M and N.
    """
    listed = encoding.bases("CGALayout", rank)
    for basis in listed:
        if sum(x.bit_count() for x in basis) > 1:
            message = f"CGALayout has {spelled(basis)}, and a block steps by a power of two"
            raise encoding.error("TW102", message, "CGALayout")
    tile = Tile(rank).put(BLOCK, *listed)
    for dimension, key in enumerate(_OLD_OF_TENSOR_MEMORY):
        if key in encoding.items:
            tile.step(BLOCK, encoding.power(key), dimension)
    if not _OLD.isdisjoint(encoding.items):
        blocks, split = encoding.powers("CTAsPerCGA", rank), encoding.powers("CTASplitNum", rank)
        for dimension in encoding.order("CTAOrder", rank):
            many, parts = blocks[dimension], split[dimension]
            if many < parts:
                raise encoding.error("TW102", f"{many} blocks do not hold {parts} parts", "CTASplitNum")
            tile.step(BLOCK, parts, dimension).still(BLOCK, many // parts)
    return tile.bases[BLOCK]


def rank_of_product(encoding: Encoding, shape: Sequence[int]) -> int:
    """Return the rank of a matrix, or of several; refuse any other."""
    if len(shape) not in (2, 3):
        message = f"{encoding.name} lays out matrices, and no tensor of {len(shape)} dimensions"
        raise encoding.error("TW202", message)
    return len(shape)


def over_blocks(
    tile: Tile, encoding: Encoding, shape: Sequence[int], grows: str = REGISTER, still: int | None = None
) -> Tile:
    """Lay a tile over a shape, and over the blocks of a cluster; along one dimension they hold the same."""
    blocks = blocks_of(encoding, tile.rank)
    return tile.over_blocks(blocks if still is None else fixed_along(still, blocks), shape, grows)


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
