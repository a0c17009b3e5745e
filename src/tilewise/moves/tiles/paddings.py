"""Rows of a tile in shared memory, padded in every way that is tried, and the wavefronts of each.

Rows that lie a word further apart move a word of row r by r banks. So the different words of a request are
looked up once, with their rows, and all paddings are asked of those together; and so are all ways to store
and to gather the tile, as NumPy takes as long for one as for some. Words of two rows count as two: where a
short run has vectors that reach into other rows, beyond its ends, that is a wavefront too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate
from math import gcd
from typing import Any

import numpy as np

from tilewise.hardware.memory.banks import BANKS, WORD
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.tiles.conflicts import PADDINGS, Gathering
from tilewise.moves.tiles.tile import Stagger, Tile

Int64s = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SHIFTS = (0, 5)
"""Where a target run may begin in a sector, in elements: those that are looked at."""

PADDING_COST = 0.01
"""Wavefronts that a byte weighs by which rows are longer."""

_LANES = np.arange(32)
_PADDINGS = np.arange(max(PADDINGS.values()))[:, None]
_ROW = 32
"""The bit from which on a place in shared memory has its row; its byte, from 1 << 31 on, lies below."""
_AGAIN = BANKS
"""In place of the bank of a word that a lane before has asked for."""


class Rows:
    """The rows of a tile, stored by vectors or by words, to be padded and gathered in some ways."""

    def __init__(self, tile: Tile, columns: Sequence[int]) -> None:
        self._tile = tile
        self._columns = columns
        self._stored = {granule: replace(tile, word_stores=granule == WORD) for granule in PADDINGS}
        self._steps = {granule: _steps(own) for granule, own in self._stored.items()}
        self._together = len(_LANES) // 2 if tile.unit == 8 else len(_LANES)

    def best(self, ways: Sequence[Gathering]) -> list[tuple[float, int]]:
        """The fewest wavefronts of a vector by each way, with what padding weighs; and that padding.

        requires       for a stagger a tile that is regular
        postcondition  the tile with a stagger is regular
        """
        turns = [_turns(way.stagger, self._tile.of_word, self._elements[way.granule]) for way in ways]
        words = self._words(ways, turns)
        together = len(words) // sum(map(len, turns))
        requests = [len(own) * together for own in turns]
        further = _PADDINGS * np.array([way.granule // WORD for way in ways]).repeat(requests)
        wavefronts = self._wavefronts(words, further.astype(np.uint8))
        sums = np.add.reduceat(wavefronts, [0, *accumulate(requests[:-1])], axis=1).T.tolist()
        return [self._least(way, *own) for way, *own in zip(ways, requests, sums, strict=True)]

    def _least(self, way: Gathering, requests: int, wavefronts: list[int]) -> tuple[float, int]:
        """What the padding costs that costs least, of those that a way may have, and which it is."""
        vectors = requests * self._together // len(_LANES)
        each, weight = self._tile.vector / vectors, PADDING_COST * way.granule
        costs = [own * each + i * weight for i, own in enumerate(wavefronts[: self._paddings(way)])]
        least = min(costs)
        return least, costs.index(least)

    def _paddings(self, way: Gathering) -> int:
        """How many paddings a way may have: one where others part two digits, and those are to be one."""
        return 1 if way.stagger and not self._regular[way.granule] else PADDINGS[way.granule]

    @cached_property
    def _regular(self) -> dict[int, bool]:
        """Whether the tile is regular when its rows are padded."""
        return {granule: replace(own, padding=1).regular for granule, own in self._stored.items()}

    @cached_property
    def _elements(self) -> dict[int, int]:
        """How many elements of a vector are looked at, by granules: those that may begin at other bytes.

        With the next element all lanes go on by one step. They go to the same banks, only all further, where
        that is whole words, or where all of them are at the same byte of a word.
        """
        run = self._tile.write_run
        if len(run) > 1:
            return dict.fromkeys(self._steps, max(1, WORD // self._tile.unit))
        steps = self._steps.items()
        return {own: 1 if self._in_phase(of) else WORD // gcd(WORD, of[run[0]]) for own, of in steps}

    def _in_phase(self, steps: list[int]) -> bool:
        """Whether all lanes are at the same byte of a word, wherever their rows of the target begin."""
        tile = self._tile
        back = steps[tile.write_run[0]] if tile.write_shift else 0
        return all((steps[i] - tile.digits[i].write * back) % WORD == 0 for i in tile.write_row_extents)

    def _words(self, ways: Sequence[Gathering], turns: Sequence[Int64s]) -> Int64s:
        """[request, lane]: the words that lanes ask for together, with their rows, in order."""
        tile, counts = self._tile, [len(own) for own in turns]
        granules, columns = (
            np.array([own.index(asked) for asked in found]).repeat(counts)
            for own, found in (
                (list(self._steps), [way.granule for way in ways]),
                (self._columns, [way.columns for way in ways]),
            )
        )
        steps = np.array([*self._steps.values()])[granules, :, None, None]
        begins, kept = self._lanes
        positions, places = np.concatenate(turns)[:, None] + begins[columns], kept[granules, columns]
        for i in tile.write_run[:-1]:
            positions, value = np.divmod(positions, tile.extents[i])
            places = places + value * steps[:, i]
        places = places + positions * steps[:, tile.write_run[-1]]
        words: Int64s = (places >> 2).reshape(-1, self._together)
        words.sort(axis=1)
        return words

    @cached_property
    def _lanes(self) -> tuple[Int64s, Int64s]:
        """[columns, shift, lane]: where in its target run each lane's vector begins;
        [granule, columns, shift, lane]: the place in shared memory of that run's row.
        """
        tile, columns = self._tile, np.array(self._columns)[:, None]
        steps = np.array([*self._steps.values()])[:, :, None, None]
        rest, column = np.divmod(_LANES, columns)
        kept, targets = np.full((len(steps), *rest.shape), 1 << _ROW - 1), np.zeros(rest.shape, np.int64)
        for i, extent in tile.write_row_extents.items():
            rest, value = np.divmod(rest, extent)
            kept += steps[:, i] * value
            targets += value * tile.digits[i].write
        begins = ((column + rest * columns) * tile.vector + tile.halo * tile.write_inner)[:, None]
        if tile.write_shift:
            begins = begins - (targets[:, None] + np.array(SHIFTS)[:, None]) % (SECTOR // tile.unit)
        return begins, kept[:, :, None]

    def _wavefronts(self, words: Int64s, further: Bytes) -> Int64s:
        """[padding, request]: the most words that one bank is asked for, each once."""
        again = np.zeros(words.shape, np.uint8)
        again[:, 1:] = words[:, 1:] == words[:, :-1]
        banks = further[:, :, None] * (words >> _ROW - 2).astype(np.uint8)
        banks += words.astype(np.uint8)
        banks &= BANKS - 1
        banks |= again * _AGAIN
        np.minimum(banks, _AGAIN, out=banks)
        every = _AGAIN + 1
        places = banks.astype(np.intp)  # as a sum of both types, they would take three times as long
        places += np.arange(0, further.size * every, every).reshape(*further.shape, 1)
        asked = np.bincount(places.ravel(), minlength=further.size * every)
        busiest: Int64s = asked.reshape(*further.shape, every)[..., :BANKS].max(axis=2)
        return busiest


@lru_cache(maxsize=64)
def _turns(stagger: Stagger | None, of_word: int, elements: int) -> Int64s:
    """[request, lane]: the elements of their vectors that lanes ask for together.

    Where they begin with other elements of each word, what one word has all have.
    """
    if stagger is None:
        return np.arange(elements)[:, None] + 0 * _LANES
    first = _LANES // stagger.threads
    if not stagger.of_words:
        return np.asarray((np.arange(of_word)[:, None] + first) % of_word)
    words = (np.arange(4)[:, None, None] + first) % 4
    return (words * of_word + np.arange(min(elements, of_word))[:, None]).reshape(-1, len(_LANES))


def _steps(tile: Tile) -> list[int]:
    """What a step of each digit adds to a place in shared memory: bytes, and rows."""
    rows, steps = 1, list(tile.pitches)
    for i in tile.rows:
        steps[i] += rows << _ROW
        rows *= tile.held[i]
    return steps
