"""Where a tile lies in shared memory so that the threads that gather it meet fewest bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tilewise.hardware.memory.banks import WORD
from tilewise.moves.tiles.tile import VECTOR, Tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.tiles.paddings import Rows

PADDINGS = {VECTOR: 8, WORD: 16}
"""How many paddings of a row are tried, by the bytes of a step."""

STORES = {VECTOR: 0.0, WORD: 1.5}
"""What stores by such steps cost of a vector beside those by vectors, in wavefronts."""

COLUMNS = {8: 0.0, 4: 1.0, 2: 6.0}
"""How many vectors of a target run neighbouring threads write, and what lines that are not whole cost."""

FOLD = 0.5
"""What a fold costs: the choice between two addresses for every element."""


def calmest(tile: Tile) -> Tile:
    """The tile by the padding, the stores and the order of threads that cost the fewest wavefronts.

    Tiles of whole vectors on both sides are swizzled instead, and have no conflicts.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[8191, 8191], S[(8191, 8191) : (1, 8191)], DType.of("u8")))
    >>> tile = calmest(Tile(pair, (128, 256), (1,), (0,), 512, read_shift=True, write_shift=True))
    >>> tile.columns, tile.word_stores, max(tile.pitches)
    (8, True, 291)
    """
    orders = _orders(tile)
    if not (tile.read_shift or tile.write_shift):
        return replace(tile, columns=orders[0])
    from tilewise.moves.tiles.paddings import Rows  # NumPy comes with the first tile whose rows are padded

    least = tile.vector * (2 if tile.unit == 8 else 1)
    granules = [granule for granule in PADDINGS if granule >= tile.unit]
    ways = sorted(
        (least + COLUMNS.get(columns, 0.0) + STORES[granule] + FOLD * folded, -columns, granule, folded)
        for columns in orders
        for granule in granules
        for folded in ((False, True) if tile.foldable else (False,))
    )
    rows: dict[tuple[int, bool], Rows] = {}
    best, found = inf, tile
    for lowest, columns, granule, folded in ways:
        if lowest >= best:
            break
        if (granule, folded) not in rows:
            own = replace(tile, fold=granule) if folded else tile
            rows[granule, folded] = Rows(own, granule, PADDINGS[granule])
        wavefronts, padded = rows[granule, folded].best(-columns)
        cost = wavefronts + lowest - least
        if cost < best:
            best, found = cost, padded
    return found


def _orders(tile: Tile) -> Sequence[int]:
    """The orders of threads that leave few of them idle; for a short run as many as it has vectors."""
    vectors = tile.write_vectors
    found = [count for count in COLUMNS if vectors >= count and -vectors % count * 8 <= vectors]
    return found or [vectors]
