"""The tile of elements of 4 bits whose rows begin anywhere: words of 8 elements, turned 8 by 8 in registers.

A thread reads a word of each of eight rows of the source, shifted to begin with the tile. Turned they are
words of eight runs of the target, which are kept in shared memory, and shifted again to where vectors of the
target begin. Runs go over as many digits as make them long: what counts is a position in them.
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
"""Elements of a vector: a tile has so many more of a target run, as its last vector may end there."""

WIDE, TALL, THREADS = 192, 480, 512
"""Elements of a row of the source at most, of a run of the target, and threads of a block."""

SMALL = 128, 224, 512
"""The same where there are few tiles, so that every multiprocessor has work."""

OTHERS = (192, 480, 512), (128, 480, 512), (256, 352, 512), (192, 480, 768), (64, 224, 256), (128, 96, 256)
"""Those that were best for some, and are tried where a pair is measured."""

FEW_TILES = 264
"""Tiles that are two for each multiprocessor."""

SHORTEST = 64, 128
"""Elements of a run of the source, and of the target, under which others are faster."""

RATE = 0.8
"""Of a copy's rate, what such tiles were seen to reach (docs/move.md)."""


@dataclass(frozen=True)
class Turned:
    """A tile of a pair of elements of 4 bits, without limits and swizzles."""

    pair: Pair
    read_run: tuple[int, ...]
    """Digits that are contiguous in the source one after another, the fastest first."""
    write_run: tuple[int, ...]
    """The same of the target; no digit is in both."""
    wide: int = WIDE
    """Elements of a row of the source, whole words."""
    tall: int = TALL
    """Elements of a run of the target: with those that are read ahead a multiple of 32."""
    threads: int = THREADS

    @property
    def digits(self) -> tuple[Digit, ...]:
        """The digits of the pair."""
        return self.pair.digits or ()

    @property
    def rows(self) -> int:
        """How many rows of the source are read."""
        return self.tall + AHEAD

    @property
    def run_pitch(self) -> int:
        """Words from run to run, an odd number: a vector may begin before the first element."""
        return self.rows // IN_WORD + 5

    @property
    def skew(self) -> int:
        """Words by which every 32 runs lie further apart, so that words of a row go to as many banks."""
        return max(1, 32 * IN_WORD // self.wide)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block."""
        return 4 * (self.wide * self.run_pitch + self.wide // 32 * self.skew)

    def length(self, run: tuple[int, ...]) -> int:
        """Elements of all of a run."""
        return prod(self.digits[i].extent for i in run)

    @cached_property
    def counts(self) -> dict[tuple[int, ...], int]:
        """How many tiles lie along the runs and along each other digit, the fastest first.

        Those of the target's run, unless the cache would have forgotten what neighbours in the source share.
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
        """How many tiles there are."""
        return prod(self.counts.values())

    # -- what a plan asks --------------------------------------------------------------------------

    kind = "tile"
    stays = fills_beyond = False
    changes_words = True
    rate, vectors = RATE, (IN_WORD // 2, AHEAD // 2)
    swizzle = None

    def sectors(self, aligned: int) -> tuple[float, float]:
        """Sectors that are read, and written, for as many bytes of elements as one has."""
        row = self.wide / 2
        return self.rows / self.tall * (row + SECTOR) / row, 1.0

    @property
    def named_extents(self) -> dict[str, Any]:
        """The tile as JSON has it."""
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
    """The tile of a pair; None where a run is short, or where there is more to look at.

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
    """The tiles that may be taken for a pair, that of `turned_of` first; none where that has none.

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
    """The tile with rows of which as many cover little more than a run of the source."""
    length = tile.length(tile.read_run)
    row = -(-length // -(-length // tile.wide))
    return replace(tile, wide=-(-row // IN_WORD) * IN_WORD)


def turned_by(pair: Pair, wide: int, tall: int, threads: int) -> Turned | None:
    """The tile of those extents."""
    if pair.bits != 4 or pair.limits or pair.source.swizzles or pair.target.swizzles:
        return None
    reads, writes = _runs(pair.digits or (), wide, tall)
    return Turned(pair, reads, writes, wide, tall, threads) if reads and writes else None


def _runs(digits: tuple[Digit, ...], wide: int, tall: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The runs of both sides, by turns a digit longer until they are as long as is wanted."""
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
