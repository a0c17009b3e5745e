"""Where a tile lies in shared memory so that the threads that gather it meet fewest bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tilewise.hardware.memory.banks import WORD
from tilewise.moves.tile import VECTOR, Tile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.paddings import Rows

PADDINGS = {VECTOR: 8, WORD: 16}
"""How many paddings of a row are tried, by the bytes of a step."""

STORES = {VECTOR: 0, WORD: 6}
"""Wavefronts that stores by such steps cost beside those by vectors, and what their instructions weigh."""

COLUMNS = {8: 1.0, 4: 1.1, 2: 1.3}
"""How many vectors of a target run neighbouring threads write, and what lines that are not whole cost."""


def calmest(tile: Tile) -> Tile:
    """The tile by the padding, the stores and the order of threads that cost the fewest wavefronts.

    Tiles of whole vectors on both sides are swizzled instead, and have no conflicts.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.digits import simplest
    >>> from tilewise.moves.pair import pair_of
    >>> pair = simplest(pair_of(S[8191, 8191], S[(8191, 8191) : (1, 8191)], DType.of("u8")))
    >>> tile = calmest(Tile(pair, (128, 256), (1,), (0,), 512, read_shift=True, write_shift=True))
    >>> tile.columns, tile.word_stores, max(tile.pitches)
    (8, True, 291)
    """
    orders = _orders(tile)
    if not (tile.read_shift or tile.write_shift):
        return replace(tile, columns=orders[0])
    from tilewise.moves.paddings import Rows  # NumPy comes with the first tile whose rows are padded

    least = tile.vector * (2 if tile.unit == 8 else 1)
    granules = [granule for granule in PADDINGS if granule >= tile.unit]
    ways = sorted(
        (least * _weight(columns) + STORES[granule], -columns, granule)
        for columns in orders
        for granule in granules
    )
    rows: dict[int, Rows] = {}
    best, found = inf, tile
    for lowest, columns, granule in ways:
        if lowest >= best:
            break
        if granule not in rows:
            rows[granule] = Rows(tile, granule, PADDINGS[granule])
        cost, padded = rows[granule].best(-columns, _weight(-columns))
        if cost + STORES[granule] < best:
            best, found = cost + STORES[granule], padded
    return found


def _weight(columns: int) -> float:
    return COLUMNS.get(columns, max(COLUMNS.values()))


def _orders(tile: Tile) -> Sequence[int]:
    """The orders of threads that leave few of them idle; for a short run as many as it has vectors."""
    vectors = tile.write_vectors
    found = [count for count in COLUMNS if vectors >= count and -vectors % count * 8 <= vectors]
    return found or [vectors]
