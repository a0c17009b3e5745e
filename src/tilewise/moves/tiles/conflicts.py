"""Where a tile lies in shared memory so that the threads that gather it meet fewest bank conflicts."""

from __future__ import annotations

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

COLUMNS = {8: 0.0, 4: 2.0, 2: 6.0}
"""How many vectors of a target run neighbouring threads write, and what lines that are not whole cost."""

WIDEST = 16
"""How many they write of a tile that is swizzled: runs of 256 bytes, for which two may meet in a bank."""

IDLE = 1.125
"""By how much threads may be more than vectors where nothing else tells orders apart."""

FOLD = 0.5
"""What a fold costs: the choice between two addresses for every element."""


def calmest(tile: Tile) -> Tile:
    """The tile by the padding, the stores and the order of threads that cost the fewest wavefronts.

    Tiles of whole vectors on both sides are swizzled instead.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[8191, 8191], S[(8191, 8191) : (1, 8191)], DType.of("u8")))
    >>> tile = calmest(Tile(pair, (128, 256), (1,), (0,), 512, read_shift=True, write_shift=True))
    >>> tile.columns, tile.word_stores, max(tile.pitches)
    (8, True, 291)
    """
    if tile.swizzle_shift is not None:
        orders = [count for count, idle in _orders(tile.write_vectors, WIDEST) if idle <= IDLE]
        return replace(tile, columns=next(iter(orders), tile.write_vectors))
    from tilewise.moves.tiles.paddings import Rows  # NumPy comes with the first tile whose rows are padded

    least = tile.vector * (2 if tile.unit == 8 else 1)
    granules = [granule for granule in PADDINGS if granule >= tile.unit]
    ways = sorted(
        (round((least + more) * idle, 6), more, idle, columns, granule, folded)
        for columns, idle in _orders(tile.write_vectors)
        for granule in granules
        for folded in ((False, True) if tile.foldable else (False,))
        for more in (COLUMNS.get(columns, 0.0) + STORES[granule] + FOLD * folded,)
    )
    rows: dict[tuple[int, bool], Rows] = {}
    best, found = inf, tile
    for lowest, more, idle, columns, granule, folded in ways:
        if lowest >= best:
            break
        if (granule, folded) not in rows:
            own = replace(tile, fold=granule) if folded else tile
            rows[granule, folded] = Rows(own, granule, PADDINGS[granule])
        wavefronts, padded = rows[granule, folded].best(columns)
        cost = (wavefronts + more) * idle
        if cost < best:
            best, found = cost, padded
    return found


def _orders(vectors: int, widest: int = max(COLUMNS)) -> list[tuple[int, float]]:
    """Orders of threads, and by how much threads are more than vectors; a short run has one for each."""
    counts = [count for count in (widest, *COLUMNS) if vectors >= count] or [vectors]
    return [(count, -(-vectors // count) * count / vectors) for count in dict.fromkeys(counts)]
