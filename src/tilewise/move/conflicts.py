"""Where a tile lies in shared memory so that the threads that gather it meet fewest bank conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.move.tile import LINE, VECTOR, Tile

Int64s = np.ndarray[Any, np.dtype[np.int64]]

WARP = 32
SHIFTS = (0, 5, 11)
"""Where a target run may begin in a sector, in elements: those that are looked at."""

WORD_STORES = 6
"""Wavefronts that stores of four words for one vector cost beside one, and what their instructions weigh."""

PADDINGS = {VECTOR: 8, 4: 16}
"""How many paddings of a row are tried, by the bytes of a step."""


def calmest(tile: Tile) -> Tile:
    """The tile by the padding, the stores and the order of threads that cost the fewest wavefronts.

    Tiles of whole vectors on both sides are swizzled instead, and have no conflicts.
    """
    if not (tile.read_shift or tile.write_shift):
        return replace(tile, columns=_columns(tile)[0])
    ways = [
        replace(tile, word_stores=granule == 4, padding=padding, columns=columns)
        for columns in _columns(tile)
        for granule, paddings in PADDINGS.items()
        if granule >= tile.unit
        for padding in range(paddings)
    ]
    return min(ways, key=_cost)


def _columns(tile: Tile) -> list[int]:
    """How many neighbouring vectors of a run neighbouring threads may write: full lines first."""
    vectors = tile.write_vectors
    return [count for count in (8, 4, 2) if vectors % count == 0] or [vectors]


def _cost(tile: Tile) -> float:
    """Wavefronts for a vector of each thread, weighed by how whole the lines are that it writes."""
    whole = {8: 1.0, 4: 1.1}.get(tile.columns, 1.3)
    stores = WORD_STORES if tile.word_stores else 0
    return _wavefronts(tile) * whole + stores + 0.01 * tile.padding * (4 if tile.word_stores else VECTOR)


def _wavefronts(tile: Tile) -> float:
    """What one warp's reads for its vectors cost: the mean over some shifts, and over the bytes of a word."""
    begins = _begins(tile)
    elements = range(min(tile.vector, 4 // tile.unit) or 1)
    addresses = np.stack([_along(tile, begins + element) for element in elements])
    addresses += _rows(tile)
    return float(_costs(addresses.reshape(-1, WARP), tile.unit).mean()) * tile.vector


def _lanes(tile: Tile) -> list[tuple[int, Int64s]]:
    """(digit, its value in each lane) of the write rows."""
    rest, found = np.arange(WARP) // tile.columns, []
    for i, extent in tile.write_row_extents.items():
        found.append((i, rest % extent * (tile.words if tile.words > 1 and i == tile.read_run[0] else 1)))
        rest = rest // extent
    return found


def _rows(tile: Tile) -> Int64s:
    """Bytes in shared memory at which the row of each lane begins."""
    return sum((values * tile.pitches[i] for i, values in _lanes(tile)), np.zeros(WARP, np.int64))


def _begins(tile: Tile) -> Int64s:
    """Positions of the write run where each lane's vector begins, for each of the shifts."""
    sector = SECTOR // tile.unit
    targets = sum((values * tile.digits[i].write for i, values in _lanes(tile)), np.zeros(WARP, np.int64))
    back = (targets + np.array(SHIFTS)[:, None]) % sector if tile.write_shift else 0
    begins: Int64s = np.arange(WARP) % tile.columns * tile.vector - back + tile.halo * tile.write_inner
    return begins


def _along(tile: Tile, positions: Int64s) -> Int64s:
    """Bytes in shared memory of positions of the write run."""
    addresses = np.zeros_like(positions)
    for i in tile.write_run:
        last = i == tile.write_run[-1]
        addresses += (positions if last else positions % tile.extents[i]) * tile.pitches[i]
        positions = positions // tile.extents[i]
    return addresses


def _costs(addresses: Int64s, unit: int) -> Int64s:
    """Wavefronts of each row of lanes' addresses: the most words that one bank is asked for."""
    lanes = WARP // 2 if unit == 8 else WARP
    words = np.sort(addresses.reshape(len(addresses), -1, lanes) // 4, axis=2)
    first = np.diff(words, axis=2, prepend=words[:, :, :1] - 1) != 0
    banks = np.where(first, words % (LINE // 4), -1)
    counted = (banks[..., None] == np.arange(LINE // 4)).sum(axis=2)
    wavefronts: Int64s = counted.max(axis=2).sum(axis=1)
    return wavefronts
