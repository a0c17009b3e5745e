"""The blocks of a cluster in an encoding, as today and as in 3.0 to 3.5; and orders of dimensions."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.notation.dialects.triton.attributes import Encoding, spelled
from tilewise.notation.dialects.triton.tile import BLOCK, Basis, Tile

OLD = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


def blocks_of(encoding: Encoding, rank: int) -> list[Basis]:
    """Return the bases of the blocks, in parts that a block holds; none where a cluster has one block.

    Today an encoding lists them, `CGALayout = [[0, 1]]`. Before 3.6 three keys said how many blocks there
    are in each dimension, how many of these hold parts of their own, and in which order they come
    (makeCgaLayout).
    """
    if "CGALayout" in encoding.items:
        bases = encoding.bases("CGALayout", rank)
        for basis in bases:
            if any(x & x - 1 for x in basis) or sum(map(bool, basis)) > 1:
                raise encoding.error(
                    "TW102",
                    f"CGALayout has {spelled(basis)}, and a block steps by a power of two",
                    "CGALayout",
                )
        return list(bases)
    if not any(key in encoding.items for key in OLD):
        return []
    blocks, split = encoding.powers("CTAsPerCGA", rank), encoding.powers("CTASplitNum", rank)
    order = encoding.numbers("CTAOrder", rank)
    if sorted(order) != [*range(rank)]:
        raise encoding.error(
            "TW003", f"CTAOrder = {spelled(order)} is no permutation of the dimensions", "CTAOrder"
        )
    tile = Tile(rank)
    for dimension in order:
        if blocks[dimension] < split[dimension]:
            raise encoding.error(
                "TW102", f"{blocks[dimension]} blocks do not hold {split[dimension]} parts", "CTASplitNum"
            )
        tile.step(BLOCK, split[dimension], dimension).still(BLOCK, blocks[dimension] // split[dimension])
    return tile.bases[BLOCK]


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
    if swapped and rank > 1:
        order[0], order[1] = order[1], order[0]
    return order
