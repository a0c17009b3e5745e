"""Which way the elements of a pair go."""

from __future__ import annotations

from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.nibbles import in_bytes
from tilewise.moves.pairs.pair import Pair
from tilewise.moves.tiles.tiling import ALIGNED, tile_of
from tilewise.moves.tiles.turned import turned_of
from tilewise.moves.ways.bulk import bulk_of
from tilewise.moves.ways.gather import Gather, gather_of
from tilewise.moves.ways.way import Way


def way_of(pair: Pair, aligned: int = ALIGNED) -> Way:
    """The way that a pair takes between storages that are aligned to as many bytes.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> matrix, turned, apart = S[1023, 511], S[(1023, 511) : (1, 1023)], S[(1023, 511) : (1533, 3)]
    >>> asked = (matrix + 8, "u8"), (turned, "u8"), (turned, "u4"), (apart, "u8")
    >>> ways = [way_of(pair_of(matrix, target, DType.of(dtype))) for target, dtype in asked]
    >>> [type(way).__name__ for way in ways]
    ['Bulk', 'Tile', 'Turned', 'Gather']
    """
    if pair.digits is None:
        return Gather(pair)
    wide = simplest(pair, 8 * aligned)
    bulk = bulk_of(wide)
    if bulk is not None:
        return bulk
    turned = turned_of(wide)
    if turned is not None and in_bytes(wide) is None:
        return turned
    tile = tile_of(wide, aligned)
    if turned is not None and not (tile is not None and tile.exchanges_well):
        return turned
    return tile or gather_of(wide, aligned)
