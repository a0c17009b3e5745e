"""Where a tile lies in shared memory so that the threads that gather it meet fewest bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.tile import LINE, VECTOR, Tile

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Float64s = np.ndarray[Any, np.dtype[np.float64]]

WARP = 32
SHIFTS = (0, 5)
"""Where a target run may begin in a sector, in elements: those that are looked at."""

WORD_STORES = 6
"""Wavefronts that stores of four words for one vector cost beside one, and what their instructions weigh."""

PADDINGS = {VECTOR: 8, 4: 16}
"""How many paddings of a row are tried, by the bytes of a step."""

COLUMNS = {8: 1.0, 4: 1.1, 2: 1.3}
"""How many vectors of a target run neighbouring threads write, and what lines that are not whole cost."""


def calmest(tile: Tile) -> Tile:
    """The tile by the padding, the stores and the order of threads that cost the fewest wavefronts.

    Tiles of whole vectors on both sides are swizzled instead, and have no conflicts.
    """
    if not (tile.read_shift or tile.write_shift):
        return replace(tile, columns=_columns(tile)[0])
    ways = [
        replace(tile, word_stores=granule == 4, padding=padding)
        for granule, paddings in PADDINGS.items()
        if granule >= tile.unit
        for padding in range(paddings)
    ]
    pitches = np.array([way.pitches for way in ways], np.int64)
    extra = np.array([_extra(way) for way in ways])
    best = []
    for columns in _columns(tile):
        own = replace(tile, columns=columns)
        costs = _wavefronts(own, pitches) * COLUMNS.get(columns, 1.3) + extra
        place = int(costs.argmin())
        best.append((float(costs[place]), -columns, replace(ways[place], columns=columns)))
    return min(best, key=lambda found: found[:2])[2]


def _columns(tile: Tile) -> Sequence[int]:
    """The orders of threads that leave few of them idle; for a short run as many as it has vectors."""
    vectors = tile.write_vectors
    found = [count for count in COLUMNS if vectors >= count and -vectors % count * 8 <= vectors]
    return found or [vectors]


def _extra(tile: Tile) -> float:
    """What stores by words, and longer rows, weigh beside wavefronts."""
    granule = 4 if tile.word_stores else VECTOR
    return (WORD_STORES if tile.word_stores else 0) + 0.01 * tile.padding * granule


def _wavefronts(tile: Tile, pitches: Int64s) -> Float64s:
    """What one warp's reads for its vectors cost, for each row of pitches.

    The mean over some shifts and over the bytes of a word: elements that are whole words apart cost one.
    """
    rows = _lanes(tile)
    begins = _begins(tile, rows)
    elements = range(max(1, min(tile.vector, 4 // tile.unit)))
    digits = np.zeros((len(tile.digits), len(elements), *begins.shape), np.int64)
    for element in elements:
        for i, values in _along(tile, begins + element):
            digits[i, element] = values
    for i, values in rows.items():
        digits[i] += values
    addresses = np.tensordot(pitches, digits.reshape(len(tile.digits), -1), 1)
    costs = _costs(addresses.reshape(-1, WARP), tile.unit).reshape(len(pitches), -1)
    means: Float64s = costs.mean(axis=1) * tile.vector
    return means


def _lanes(tile: Tile) -> dict[int, Int64s]:
    """{digit: its value in each lane} of the write rows."""
    rest, found = np.arange(WARP) // tile.columns, {}
    for i, extent in tile.write_row_extents.items():
        turned = tile.words if tile.words > 1 and i == tile.read_run[0] else 1
        found[i] = rest % extent * turned
        rest = rest // extent
    return found


def _begins(tile: Tile, rows: dict[int, Int64s]) -> Int64s:
    """Positions of the write run where each lane's vector begins, for each of the shifts."""
    sector = SECTOR // tile.unit
    targets = sum((values * tile.digits[i].write for i, values in rows.items()), np.zeros(WARP, np.int64))
    back = (targets + np.array(SHIFTS)[:, None]) % sector if tile.write_shift else np.zeros((1, 1), np.int64)
    begins: Int64s = np.arange(WARP) % tile.columns * tile.vector - back + tile.halo * tile.write_inner
    return begins


def _along(tile: Tile, positions: Int64s) -> list[tuple[int, Int64s]]:
    """(digit, its values) of positions of the write run."""
    found = []
    for i in tile.write_run:
        last = i == tile.write_run[-1]
        found.append((i, positions if last else positions % tile.extents[i]))
        positions = positions // tile.extents[i]
    return found


def _costs(addresses: Int64s, unit: int) -> Int64s:
    """Wavefronts of each row of lanes' addresses: the most words that one bank is asked for."""
    lanes = WARP // 2 if unit == 8 else WARP
    words = np.sort(addresses.reshape(len(addresses), -1, lanes) // 4, axis=2)
    first = np.diff(words, axis=2, prepend=words[:, :, :1] - 1) != 0
    banks = np.where(first, words % (LINE // 4), -1)
    banks.sort(axis=2)
    starts = np.arange(lanes)
    changes = np.diff(banks, axis=2, prepend=-2) != 0
    begun = np.maximum.accumulate(np.where(changes, starts, 0), axis=2)
    run = np.where(banks >= 0, starts - begun + 1, 1)
    wavefronts: Int64s = run.max(axis=2).sum(axis=1)
    return wavefronts
