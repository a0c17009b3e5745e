"""Rows of a tile in shared memory, padded in every way that is tried, and the wavefronts of each.

Rows that lie a word further apart move a word of row r by r banks. So the different words of a request are
looked up once, with their rows, and all paddings are asked of those together. Words of two rows count as two:
where a short run has vectors that reach into other rows, beyond its ends, that is a wavefront too many.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from tilewise.hardware.memory.banks import BANKS, WORD
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.tiles.tile import Stagger, Tile

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SHIFTS = (0, 5)
"""Where a target run may begin in a sector, in elements: those that are looked at."""

PADDING_COST = 0.01
"""Wavefronts that a byte weighs by which rows are longer."""

_LANES = np.arange(32)
_ROW = 32
"""The bit from which on a place in shared memory has its row; its byte, from 1 << 31 on, lies below."""
_AGAIN = BANKS
"""Added to the bank of a word that a lane before has asked for."""


class Rows:
    """The rows of a tile, stored by vectors or by words, to be padded by some of those."""

    def __init__(self, tile: Tile, granule: int, paddings: int) -> None:
        self.tile = replace(tile, word_stores=True) if granule == WORD else tile
        self._further = np.arange(paddings, dtype=np.uint8)[:, None, None] * (self.tile.granule // WORD)
        self._extra = np.arange(paddings) * (PADDING_COST * self.tile.granule)
        self._steps = _steps(self.tile)
        self._together = len(_LANES) // 2 if tile.unit == 8 else len(_LANES)

    def best(self, columns: int, stagger: Stagger | None = None) -> tuple[float, Tile]:
        """The fewest wavefronts of a vector by an order of threads, with what padding weighs; the tile.

        requires       for a stagger a tile that is regular
        postcondition  the tile with a stagger is regular
        """
        words = self._words(columns, stagger)
        vectors = words.size // len(_LANES)
        costs = self._wavefronts(words) * (self.tile.vector / vectors) + self._extra
        padding = int(costs[: self._regular_paddings if stagger else None].argmin())
        return float(costs[padding]), replace(self.tile, padding=padding, columns=columns, stagger=stagger)

    @cached_property
    def _regular_paddings(self) -> int:
        """How many of the paddings keep the tile regular: where they part two digits, the first, of 0."""
        return len(self._extra) if replace(self.tile, padding=1).regular else 1

    def _words(self, columns: int, stagger: Stagger | None) -> Int64s:
        """[request, lane]: the words that lanes ask for together, with their rows, in order."""
        tile = self.tile
        rest, column = np.divmod(_LANES, columns)
        kept, targets = np.full(1, 1 << _ROW - 1), np.zeros(1, np.int64)
        for i, extent in tile.write_row_extents.items():
            rest, value = np.divmod(rest, extent)
            kept = kept + self._steps[i] * value
            targets = targets + value * tile.digits[i].write
        begins = (column + rest * columns) * tile.vector + tile.halo * tile.write_inner
        if tile.write_shift:
            begins = begins - (targets + np.array(SHIFTS)[:, None]) % (SECTOR // tile.unit)
        elements = self._staggered(stagger) if stagger else self._elements[:, None]
        positions = elements[:, None] + begins
        words = (kept + self._along(positions) >> 2).reshape(-1, self._together)
        words.sort(axis=1)
        return words

    @property
    def _elements(self) -> Int64s:
        """Elements of a vector that are looked at: those that may begin at other bytes."""
        tile, run = self.tile, self.tile.write_run
        if len(run) == 1:
            return np.arange(WORD // gcd(WORD, self._steps[run[0]]))
        return np.arange(max(1, WORD // tile.unit))

    def _staggered(self, stagger: Stagger) -> Int64s:
        """[request, lane]: the elements of their vectors that lanes ask for together.

        Where they begin with other elements of each word, what one word has all have.
        """
        of_word, first = self.tile.of_word, _LANES // stagger.threads
        within = np.arange(of_word)[:, None]
        if not stagger.of_words:
            return np.asarray((within + first) % of_word)
        words = (np.arange(4)[:, None, None] + first) % 4
        return (words * of_word + within).reshape(-1, len(_LANES))

    def _along(self, positions: Int64s) -> Int64s:
        """Places in shared memory of positions of the write run."""
        *inner, last = self.tile.write_run
        places = np.zeros(1, np.int64)
        for i in inner:
            positions, value = np.divmod(positions, self.tile.extents[i])
            places = places + value * self._steps[i]
        return places + positions * self._steps[last]

    def _wavefronts(self, words: Int64s) -> Int64s:
        """Those of all requests for each padding: the most words that one bank is asked for, each once."""
        again = np.zeros(words.shape, np.uint8)
        again[:, 1:] = words[:, 1:] == words[:, :-1]
        rows: Bytes = (words >> _ROW - 2).astype(np.uint8)
        banks = self._further * rows
        banks += words.astype(np.uint8)
        banks &= BANKS - 1
        banks |= again * _AGAIN
        every = BANKS + _AGAIN
        requests = len(banks) * len(words)
        places = np.arange(0, requests * every, every).reshape(len(banks), len(words), 1) + banks
        asked = np.bincount(places.ravel(), minlength=requests * every)
        busiest = asked.reshape(requests, every)[:, :BANKS].max(axis=1)
        wavefronts: Int64s = busiest.reshape(len(banks), -1).sum(axis=1)
        return wavefronts


def _steps(tile: Tile) -> list[int]:
    """What a step of each digit adds to a place in shared memory: bytes, and rows."""
    rows, steps = 1, list(tile.pitches)
    for i in tile.rows:
        steps[i] += rows << _ROW
        rows *= tile.held[i]
    return steps
