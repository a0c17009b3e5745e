"""The tile of elements of 4 bits whose rows begin anywhere: words of 8 elements, turned 8 by 8 in registers.

A thread reads a word of each of eight rows of the source, shifted to begin with the tile. Turned, they are
words of eight runs of the target. Shared memory keeps them, and they are shifted again to where vectors of
the target begin. Runs cover several digits to be long: only positions in a run count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.moves.tiles.tile import is_forgotten

IN_WORD = 8
"""Elements of a word."""

AHEAD = 32
"""Elements of a vector: a tile has that many more of a target run, as its last vector may end there."""

WIDE, TALL, THREADS = 192, 480, 512
"""Elements of a row of the source at most, of a run of the target, and threads of a block."""

SMALL = 128, 224, 512
"""The same for few tiles, so that every multiprocessor has work."""

OTHERS = (192, 480, 512), (128, 480, 512), (256, 352, 512), (192, 480, 768), (64, 224, 256), (128, 96, 256)
"""Tiles that were best for some pairs; measurements try them too."""

FEW_TILES = 264
"""Tiles that give two to each multiprocessor."""

SHORTEST = 64, 128
"""Elements of a run of the source, and of the target, below which others are faster."""

RATE = 0.8
"""Part of a copy's rate that such tiles reached (docs/reference/move-figures.md)."""


@dataclass(frozen=True)
class Turned:
    """A tile of a pair of elements of 4 bits, without limits and swizzles."""

    pair: Pair
    read_run: tuple[int, ...]
    """Digits that are contiguous in the source one after another, the fastest first."""
    write_run: tuple[int, ...]
    """The same for the target; no digit is in both."""
    wide: int = WIDE
    """Elements of a row of the source, whole words."""
    tall: int = TALL
    """Elements of a run of the target; with those read ahead, a multiple of 32."""
    threads: int = THREADS

    @property
    def digits(self) -> tuple[Digit, ...]:
        """Return the digits of the pair."""
        return self.pair.digits or ()

    @property
    def rows(self) -> int:
        """Return the number of rows of the source to read."""
        return self.tall + AHEAD

    @property
    def run_pitch(self) -> int:
        """Return the words from run to run, an odd number: a vector may begin before the first element."""
        return self.rows // IN_WORD + 5

    @property
    def skew(self) -> int:
        """Return the words by which every 32 runs lie further apart: words of a row then differ in banks."""
        return max(1, 32 * IN_WORD // self.wide)

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory of a block."""
        return 4 * (self.wide * self.run_pitch + self.wide // 32 * self.skew)

    def length(self, run: tuple[int, ...]) -> int:
        """Return the elements of a whole run."""
        return prod(self.digits[i].extent for i in run)

    @cached_property
    def counts(self) -> dict[tuple[int, ...], int]:
        """Return the number of tiles along the runs and along each other digit, the fastest first.

        The target's run is first, unless the cache would lose the sectors that neighbours in the source
        share.
        """
        within = {*self.read_run, *self.write_run}
        others = sorted((i for i in range(len(self.digits)) if i not in within), key=self._step)
        down = {self.write_run: -(-self.length(self.write_run) // self.tall)}
        along = {self.read_run: -(-self.length(self.read_run) // self.wide)}
        far = is_forgotten(down[self.write_run], along[self.read_run], self.wide * self.tall)
        return (along | down if far else down | along) | {(i,): self.digits[i].extent for i in others}

    def _step(self, digit: int) -> int:
        return abs(self.digits[digit].write)

    @property
    def blocks(self) -> int:
        """Return the number of tiles."""
        return prod(self.counts.values())

    # -- answers for a plan ------------------------------------------------------------------------

    kind = "tile"
    stays = fills_beyond = False
    changes_words = True
    rate, vectors = RATE, (IN_WORD // 2, AHEAD // 2)
    swizzle = None

    def sectors(self, aligned: int) -> tuple[float, float]:
        """Return the sectors read, and written, divided by those that hold the elements' bytes."""
        row = self.wide / 2
        return self.rows / self.tall * (row + SECTOR) / row, 1.0

    @property
    def named_extents(self) -> dict[str, Any]:
        """Return the tile as JSON."""
        read, write = self.wide // 2, self.tall // 2
        return {
            "elements": [self.tall, self.wide],
            "bytes": self.tall * read,
            "element_bytes": 0.5,
            "read_run_bytes": read,
            "write_run_bytes": write,
            "pitches": [4 * self.run_pitch],
        }


def turned_of(pair: Pair) -> Turned | None:
    """Return the tile of a pair, or None where a run is short, or the pair has limits or swizzles.

        requires  the simplest digits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> tile = turned_of(pair_of(S[999, 777], S[(999, 777) : (1, 999)], DType.of("u4")))
    >>> tile.read_run, tile.write_run, tile.blocks
    ((1,), (0,), 35)
    """
    large = turned_by(pair, WIDE, TALL, THREADS)
    if large is None:
        return None
    if large.length(large.read_run) < SHORTEST[0] or large.length(large.write_run) < SHORTEST[1]:
        return None
    return turned_by(pair, *SMALL) if large.blocks < FEW_TILES else _evened(large)


def turned_candidates(pair: Pair) -> list[Turned]:
    """Return the tiles to choose from for a pair, that of `turned_of` first; empty if that has no tile.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = pair_of(S[999, 777], S[(999, 777) : (1, 999)], DType.of("u4"))
    >>> turned_candidates(pair)[0] == turned_of(pair), len(turned_candidates(pair))
    (True, 7)
    """
    first = turned_of(pair)
    if first is None:
        return []
    others = (turned_by(pair, *own) for own in OTHERS)
    return list(dict.fromkeys((first, *(_evened(tile) for tile in others if tile is not None))))


def _evened(tile: Turned) -> Turned:
    """Return the tile with the shortest rows that cover a run of the source in as many tiles."""
    length = tile.length(tile.read_run)
    row = -(-length // -(-length // tile.wide))
    return replace(tile, wide=-(-row // IN_WORD) * IN_WORD)


def turned_by(pair: Pair, wide: int, tall: int, threads: int) -> Turned | None:
    """Return the tile of those extents, or None if the pair has no such tile."""
    if pair.bits != 4 or pair.limits or pair.source.swizzles or pair.target.swizzles:
        return None
    reads, writes = _runs(pair.digits or (), wide, tall)
    return Turned(pair, reads, writes, wide, tall, threads) if reads and writes else None


def _runs(digits: tuple[Digit, ...], wide: int, tall: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the runs of both sides, extended in turns by a digit until they have the wanted lengths."""
    runs: dict[str, list[int]] = {"read": [], "write": []}
    wanted = {"read": wide, "write": tall}
    growing = True
    while growing:
        growing = False
        for name, run in runs.items():
            length = prod(digits[i].extent for i in run)
            following = [
                i
                for i, digit in enumerate(digits)
                if getattr(digit, name) == length and not any(i in own for own in runs.values())
            ]
            if following and length < wanted[name]:
                run.append(following[0])
                growing = True
    return tuple(runs["read"]), tuple(runs["write"])
