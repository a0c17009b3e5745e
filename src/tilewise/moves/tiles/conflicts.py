"""The place of a tile in shared memory with the fewest bank conflicts among the threads that gather it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from operator import itemgetter
from typing import NamedTuple

from tilewise.hardware.memory.banks import WORD
from tilewise.moves.tiles.tile import VECTOR, Stagger, Tile

PADDINGS = {VECTOR: 8, WORD: 16}
"""Number of paddings of a row to try, by the bytes of a step."""

STORES = {VECTOR: 0.0, WORD: 0.4}
"""Cost per element of stores by such steps, beside stores by vectors. All costs here are in wavefronts,
and were found by trial on an H200."""

COLUMNS = {8: 0.0, 4: 10.0, 2: 20.0}
"""Vectors of a target run that neighbouring threads write, and the cost of lines that are then not whole."""

WHOLE_WARP = 32
"""Another number of vectors for them, where a run has more than twice as many."""

WIDEST = 16
"""Vectors for them in a swizzled tile: runs of 256 bytes, for which two may meet in a bank."""

SHORT_RUN = 20
"""Longest run whose vectors may all be neighbours: in pairs, those of a sector."""

EACH = 12.0
"""Cost of a vector beside its wavefronts: idle threads are dear."""

IDLE = 1.125
"""Largest ratio of threads to vectors for orders that differ in nothing else."""

STAGGERS = {
    Stagger(2, of_words=False): 0.1,
    Stagger(4, of_words=False): 0.1,
    Stagger(2, of_words=True): 0.5,
    Stagger(8, of_words=True): 0.5,
}
"""Ways in which threads begin with other elements of their vectors, with the cost for an element: more
addresses, and code that restores the order of elements."""


def calmest(tile: Tile) -> Tile:
    """Return the tile with the cheapest padding, stores, order of threads and first elements.

    Tiles of whole vectors on both sides, whose digits end with vectors, are swizzled instead.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[8191, 8191], S[(8191, 8191) : (1, 8191)], DType.of("u8")))
    >>> tile = calmest(Tile(pair, (128, 256), (1,), (0,), 512, read_shift=True, write_shift=True))
    >>> tile.columns, tile.word_stores, max(tile.pitches)
    (8, True, 283)
    """
    if tile.swizzle_shift is not None:
        orders = [count for count, idle in _orders(tile.write_vectors, WIDEST) if idle <= IDLE]
        return replace(tile, columns=next(iter(orders), tile.write_vectors))
    from tilewise.moves.tiles.paddings import least_conflicts  # NumPy comes with the first padded rows

    stored = {granule: replace(tile, word_stores=granule == WORD) for granule in PADDINGS}
    least, best = inf, tile
    for way in sorted(_ways(tile), key=itemgetter(0)):
        if way.least >= least:
            break
        wavefronts, padding = least_conflicts(stored[way.granule], way)
        cost = (wavefronts + way.more) * way.idle
        if cost < least:
            least, rows = cost, stored[way.granule]
            best = replace(rows, padding=padding, columns=way.columns, stagger=way.stagger)
    return best


class Gathering(NamedTuple):
    """A way to store and to gather a tile, and its cost beside the wavefronts of the gather."""

    least: float
    """Its cost at least, with the wavefronts."""
    granule: int
    columns: int
    stagger: Stagger | None
    more: float
    """Wavefronts that a vector is worth: by itself, for stores, lines that are not whole, and its order."""
    idle: float
    """Ratio of threads to vectors."""


def _ways(tile: Tile) -> Iterator[Gathering]:
    """Yield the ways to gather a tile."""
    unit, vector, staggers = tile.unit, tile.vector, _staggers(tile)
    least, stored = vector * (2 if unit == 8 else 1), tile.taken / VECTOR
    for columns, idle in _orders(tile.write_vectors):
        lines = COLUMNS.get(columns, 0.0)
        for granule in PADDINGS:
            stores = STORES[granule] * stored
            for stagger in staggers if granule >= unit else ():
                order = 0.0 if stagger is None else STAGGERS[stagger]
                more = EACH + lines + vector * (stores + order)
                yield Gathering(round((least + more) * idle, 6), granule, columns, stagger, more, idle)


def _staggers(tile: Tile) -> list[Stagger | None]:
    """Return the ways for threads to begin: with the first element, or with others if any order is right."""
    some = [own for own in STAGGERS if own.of_words or (tile.of_word > 1 and not tile.pair.spread)]
    return [None, *some] if tile.regular else [None]


def _orders(vectors: int, widest: int = max(COLUMNS)) -> list[tuple[int, float]]:
    """Return orders of threads, each with its ratio of threads to vectors; a short run has one for each."""
    counts = [count for count in (widest, *COLUMNS) if vectors >= count] or [vectors]
    counts += [vectors] if vectors % 2 == 0 and vectors <= SHORT_RUN else []
    counts += [WHOLE_WARP] if vectors > 2 * WHOLE_WARP else []
    return [(count, -(-vectors // count) * count / vectors) for count in dict.fromkeys(counts)]
