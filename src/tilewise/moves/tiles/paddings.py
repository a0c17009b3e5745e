"""Rows of a tile in shared memory under every padding to try, and the wavefronts of each.

Rows that lie a word further apart move a word of row r by r banks. The different words of a request are
therefore listed once, with their rows, and shared by all paddings. Words of two rows count as two:
where a short run has vectors that reach into other rows, beyond its ends, that is a wavefront too many.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np

from tilewise.hardware.memory.banks import BANKS, WORD
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.tiles.conflicts import PADDINGS, Gathering
from tilewise.moves.tiles.tile import Stagger, Tile

Int64s = np.ndarray[Any, np.dtype[np.int64]]

SHIFTS = (0, 5)
"""Begins of a target run in a sector, in elements, that are examined."""

PADDING_COST = 0.01
"""Cost of a byte of padding, in wavefronts."""

_LANES = np.arange(32)
_ROW = 32
"""The lowest bit of the row in a place of shared memory; its byte, from 1 << 31 on, lies below."""
_AGAIN = BANKS
"""The bank of a word that a lane before requests too."""


def least_conflicts(tile: Tile, way: Gathering) -> tuple[float, int]:
    """Return the fewest wavefronts of a vector, with the weight of the padding, and the padding.

    requires       a tile that is stored as the way stores it; for a stagger one that is regular
    postcondition  the tile with a stagger is regular: where longer rows part two digits, none is longer
    """
    paddings = 1 if way.stagger and not replace(tile, padding=1).regular else PADDINGS[way.granule]
    words = _words(tile, way)
    further = np.arange(paddings) * (way.granule // WORD)
    wavefronts = _wavefronts(words, further.astype(np.uint8)[:, None, None]).sum(axis=1).tolist()
    each, weight = tile.vector * len(_LANES) / words.size, PADDING_COST * way.granule
    costs = [own * each + i * weight for i, own in enumerate(wavefronts)]
    least = min(costs)
    return least, costs.index(least)


def _words(tile: Tile, way: Gathering) -> Int64s:
    """Return [request, lane], the words that lanes request together, with their rows, in order."""
    rows, steps = 1, list(tile.pitches)  # a step of a digit adds to a place: bytes, and rows
    for i in tile.rows:
        steps[i] += rows << _ROW
        rows *= tile.held[i]
    rest, column = np.divmod(_LANES, way.columns)
    places, targets = np.full(len(_LANES), 1 << _ROW - 1), np.zeros(len(_LANES), np.int64)
    for i, extent in tile.write_row_extents.items():
        rest, value = np.divmod(rest, extent)
        places += steps[i] * value
        targets += tile.digits[i].write * value
    begins = (column + rest * way.columns) * tile.vector + tile.halo * tile.write_inner
    if tile.write_shift:
        begins = begins - (targets + np.array(SHIFTS)[:, None]) % (SECTOR // tile.unit)
    positions = _turns(way.stagger, tile.of_word, _elements(tile))[:, None] + begins
    for i in tile.write_run[:-1]:
        positions, value = np.divmod(positions, tile.extents[i])
        places = places + value * steps[i]
    places = places + positions * steps[tile.write_run[-1]]
    together = len(_LANES) // 2 if tile.unit == 8 else len(_LANES)
    words: Int64s = (places >> 2).reshape(-1, together)
    words.sort(axis=1)
    return words


def _elements(tile: Tile) -> int:
    """Return the number of elements of a vector to examine, which may begin at different bytes of a word.

    With the next element all lanes go on by one step. All go to the same banks, shifted, if the step
    is whole words, or if all of them are at the same byte of a word, wherever their rows begin.
    """
    if len(tile.write_run) > 1:
        return max(1, WORD // tile.unit)
    step = tile.pitches[tile.write_run[0]]
    back = step if tile.write_shift else 0
    steps = [tile.pitches[i] - tile.digits[i].write * back for i in tile.write_row_extents]
    return 1 if all(own % WORD == 0 for own in steps) else WORD // gcd(WORD, step)


def _wavefronts(words: Int64s, further: Any) -> Int64s:
    """Return [padding, request], the most different words requested of one bank."""
    again = np.zeros(words.shape, np.uint8)
    again[:, 1:] = words[:, 1:] == words[:, :-1]
    banks = further * (words >> _ROW - 2).astype(np.uint8) + words.astype(np.uint8)
    banks = np.minimum(banks & BANKS - 1 | again * _AGAIN, _AGAIN)
    requests, every = banks.size // banks.shape[-1], _AGAIN + 1
    # as a sum of both types, they would take three times as long
    places = banks.reshape(requests, -1).astype(np.intp) + np.arange(0, requests * every, every)[:, None]
    asked = np.bincount(places.ravel(), minlength=requests * every)
    busiest: Int64s = asked.reshape(*banks.shape[:-1], every)[..., :BANKS].max(axis=-1)
    return busiest


@lru_cache(maxsize=64)
def _turns(stagger: Stagger | None, of_word: int, elements: int) -> Int64s:
    """Return [request, lane], the elements of their vectors that lanes request together.

    Where lanes begin with other elements of each word, all words have the same order.
    """
    if stagger is None:
        return np.arange(elements)[:, None] + 0 * _LANES
    first = _LANES // stagger.threads
    if not stagger.of_words:
        return np.asarray((np.arange(of_word)[:, None] + first) % of_word)
    words = (np.arange(4)[:, None, None] + first) % 4
    return (words * of_word + np.arange(min(elements, of_word))[:, None]).reshape(-1, len(_LANES))
