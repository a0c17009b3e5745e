"""The part of a move that a block of threads makes: a box of the digits, by way of shared memory.

The box is contiguous for a while in the source (its read run) and in the target (its write run). Both are
then touched in whole sectors. Vectors of 16 bytes go from the source to shared memory unchanged; threads then
gather the elements of a vector of the target. Where runs of a side do not begin at multiples of 16 bytes,
vectors still do:

    source  rows of shared memory are shifted as the rows of the source are, so that a vector lands whole
    target  a block owns the sectors that end in its run, and reads the rows before that these need

No vector is ever split but at the ends of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from tilewise.core.polynomials import is_same, is_whole
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.pairs.digits import begins_at
from tilewise.moves.pairs.pair import Digit, Pair

VECTOR = 16
"""Bytes of the widest access of a thread."""

FEW_HELD = 3
"""Vectors of the source that a thread holds in few registers, beside those at the end of a row."""

LINE = 128
"""Bytes of a wavefront of shared memory: 32 banks of 4."""

FORGOTTEN = 20 << 20
"""Bytes read and written after which the L2 cache has lost a sector read before: tried on an H200, whose
cache has 60 MB (docs/move.md)."""

RATE, SPREAD_RATE, SPREAD_WORDS_RATE = 0.97, 0.65, 0.87
"""Measured parts of a copy's rate: tiles of whole sectors, spread tiles that are gathered, and spread tiles
that are turned by words (docs/reference/move-figures.md)."""


def is_forgotten(between: int, along: int, touched: int) -> bool:
    """Return True if the cache loses a sector that neighbours of a row share, and another order would help.

    `between` blocks come between the two, and each touches `touched` bytes; `along` tiles are in the
    row.

    >>> is_forgotten(4093, 2, 1 << 16), is_forgotten(129, 64, 1 << 16), is_forgotten(4, 2029, 1 << 16)
    (True, False, False)
    """
    return between > along and between * touched > FORGOTTEN


@dataclass(frozen=True, slots=True)
class Stagger:
    """Threads that begin with other elements of the vectors that they gather, and go on around."""

    threads: int
    """Number of neighbours that begin with the same element; the next as many begin with the next."""
    of_words: bool
    """True if they begin with another word of the vector; False if with another element of each word."""


@dataclass(frozen=True)
class Tile:
    """A tile of a pair with the simplest digits: how to read, keep, and write it."""

    pair: Pair
    extents: tuple[int, ...]
    read_run: tuple[int, ...]
    """Digits that are contiguous in the source one after another, the fastest first."""
    write_run: tuple[int, ...]
    """The same for the target."""
    threads: int
    read_shift: bool
    write_shift: bool
    word_stores: bool = False
    """True if shifted vectors are stored to shared memory by words, for rows that meet fewer conflicts."""
    padding: int = 0
    """Steps by which rows of shared memory are longer than necessary."""
    stagger: Stagger | None = None
    """The elements with which threads begin, also for fewer conflicts; None if all begin with the first."""
    columns: int = 8
    """Vectors of a target run that neighbouring threads write."""
    order: tuple[int, ...] | None = None
    """The digits along which tiles lie, where sizes are names and do not tell; see `block_order`."""

    # -- the box -----------------------------------------------------------------------------------

    @property
    def digits(self) -> tuple[Digit, ...]:
        """Return the digits of the pair."""
        return self.pair.digits or ()

    @cached_property
    def unit(self) -> int:
        """Return the bytes of an element."""
        return self.pair.bits // 8

    @cached_property
    def vector(self) -> int:
        """Return the elements of a vector."""
        return VECTOR // self.unit

    @cached_property
    def halo(self) -> int:
        """Return the positions of the write run's last digit that a tile reads before its begin."""
        if not (self.write_shift and self.write_run):
            return 0
        last = self.write_run[-1]
        if is_same(self.extents[last], self.digits[last].extent):
            return 0
        return -(-self._before // self.write_inner)

    @property
    def _before(self) -> int:
        """Return how many elements before its begin a tile may have to write, to begin with a sector."""
        return SECTOR // self.unit - 1

    @property
    def write_inner(self) -> int:
        """Return the elements of the write run for a step of its last digit."""
        return prod(self.extents[i] for i in self.write_run[:-1])

    @cached_property
    def held(self) -> tuple[int, ...]:
        """Return the extents of the box in shared memory: those of the tile, with the halo."""
        last = self.write_run[-1] if self.halo else None
        return tuple(extent + (self.halo if i == last else 0) for i, extent in enumerate(self.extents))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Return the number of tiles along each digit; with a halo, one more may own the end of the last."""
        last = self.write_run[-1] if self.halo else None
        reach = [digit.extent + (self.halo if i == last else 0) for i, digit in enumerate(self.digits)]
        return tuple(-(-far // extent) for far, extent in zip(reach, self.extents, strict=True))

    @property
    def blocks(self) -> int:
        """Return the number of tiles."""
        return prod(self.counts)

    @cached_property
    def block_order(self) -> tuple[int, ...]:
        """Return the digits along which tiles lie, the fastest first: by their steps in the target.

        Neighbours along a row of the source share a sector, where rows begin anywhere. If the cache would
        lose it before the second neighbour comes, they come one after another.
        """
        if self.order is not None:
            return self.order
        by_write = sorted(range(len(self.digits)), key=lambda i: abs(self.digits[i].write))
        order = [i for i in dict.fromkeys((*self.write_run, *by_write)) if self.counts[i] > 1]
        along = self.read_run[-1] if self.read_shift else None
        if along in order:
            between = prod(self.counts[i] for i in order[: order.index(along)])
            if is_forgotten(between, self.counts[along], self._touched):
                order = [along, *(i for i in order if i != along)]
        return tuple(order)

    @property
    def _touched(self) -> int:
        """Return the bytes that a block reads, and writes."""
        return 2 * self.stored(prod(self.extents))

    @cached_property
    def ragged(self) -> tuple[int, ...]:
        """Return the digits whose last tile is not whole."""
        return tuple(
            i
            for i in self.block_order
            if self.halo_of(i) or not is_whole(self.digits[i].extent, self.extents[i])
        )

    def halo_of(self, digit: int) -> int:
        """Return the positions of a digit that the tile reads before its begin."""
        return self.halo if self.halo and digit == self.write_run[-1] else 0

    @property
    def few_registers(self) -> bool:
        """Return True if 32 registers a thread are enough: all threads of a multiprocessor run at once."""
        gathered = self.words == 1 and self.unit > 1 and not self.partial
        return gathered and self.row_count * (self.run_bytes // VECTOR) <= FEW_HELD * self.threads

    # -- reading -----------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Return the digits outside the read run: each of their values is a row; write run first."""
        order = dict.fromkeys((*self.write_run, *range(len(self.digits))))
        return tuple(i for i in order if i not in self.read_run and self.held[i] > 1)

    @property
    def row_count(self) -> int:
        """Return the number of rows that a tile reads."""
        return prod(self.held[i] for i in self.rows) - self.unread

    @property
    def unread(self) -> int:
        """Return the rows of a halo of whole digits before the first in which a target vector may begin."""
        if not self.halo or self.rows != self.write_run:
            return 0
        return self.halo * self.write_inner - self._before

    @property
    def surplus(self) -> float:
        """Return the elements that a tile reads for each that it writes."""
        return self.row_count * prod(self.held[i] for i in self.read_run) / prod(self.extents)

    @cached_property
    def run_bytes(self) -> int:
        """Return the bytes of a row."""
        return prod(self.held[i] for i in self.read_run) * self.unit

    def stored(self, elements: int) -> int:
        """Return the bytes of that many elements in a storage."""
        return -(-elements // 2) if self.pair.spread else elements * self.unit

    @property
    def taken(self) -> int:
        """Return the bytes of shared memory for one read of the source.

        Spread elements take twice the bytes read: of a vector where rows begin anywhere, elsewhere of half a
        vector.
        """
        return 2 * VECTOR if self.pair.spread and self.read_shift else VECTOR

    @property
    def run_vectors(self) -> int:
        """Return the vectors that cover a row wherever it begins."""
        slack = SECTOR - self.unit if self.read_shift else 0
        return -(-(self.run_bytes + slack) // self.taken)

    # -- shared memory -----------------------------------------------------------------------------

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """Return the bytes between neighbours along each digit in shared memory."""
        pitches, step = [0] * len(self.digits), self.unit
        for i in self.read_run:
            pitches[i], step = step, step * self.held[i]
        granule = self.granule
        step = -(-self.run_bytes // VECTOR) * VECTOR
        if self.read_shift:
            step = self.run_bytes + self._beside
        for number, i in enumerate(self.rows):
            if self.read_shift:
                step += (self.digits[i].read * self.unit - step) % granule
            step += 0 if number else self.padding * granule
            pitches[i], step = step, step * self.held[i]
        return tuple(pitches)

    @property
    def granule(self) -> int:
        """Return the bytes of a step by which rows are shifted and padded."""
        return 4 if self.word_stores else VECTOR

    @property
    def _beside(self) -> int:
        """Return the least bytes between rows, so that no vector has bytes of two rows.

        A vector reaches beyond its row by all its bytes but one. Where rows lie apart by a step that divides
        no vector, the vector of the next row may begin that much sooner, less a step.
        """
        return 2 * self.taken - 1 - self.granule

    def merged(self, digits: Sequence[int], extents: Sequence[int]) -> dict[int, int]:
        """Return digits and extents; a digit that continues another in shared memory is joined to it."""
        found: dict[int, int] = {}
        for i in digits:
            head = next(reversed(found), None)
            if head is None or self.pitches[i] != found[head] * self.pitches[head]:
                found[i] = extents[i]
            else:
                found[head] *= extents[i]
        return found

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory of a block."""
        end = self.run_bytes
        if self.rows:
            last = self.rows[-1]
            end = self.pitches[last] * self.held[last]
        end = max(end, -(-self.run_bytes // VECTOR) * VECTOR) + (4 * VECTOR if self.read_shift else 0)
        return -(-end // LINE) * LINE

    @cached_property
    def swizzle_shift(self) -> int | None:
        """Return S of the Swizzle<3,4,S> over bytes of shared memory; None where rows are padded instead.

        Where a digit ends within a vector, each of its elements would have to be swizzled by itself.
        """
        if self.read_shift or self.write_shift or not self.nested:
            return None
        row = -(-self.run_bytes // VECTOR) * VECTOR
        return (max(row * self.vector, LINE) - 1).bit_length() - 4

    # -- writing -----------------------------------------------------------------------------------

    @cached_property
    def write_rows(self) -> tuple[int, ...]:
        """Return the digits outside the write run: each of their values is a run of the target."""
        order = dict.fromkeys((*self.read_run, *range(len(self.digits))))
        return tuple(i for i in order if i not in self.write_run and self.extents[i] > 1)

    @property
    def run_elements(self) -> int:
        """Return the elements of a write run."""
        return prod(self.extents[i] for i in self.write_run)

    @property
    def write_vectors(self) -> int:
        """Return the vectors of a write run, wherever it begins; with a halo, of sectors that end in it."""
        if self.halo:
            sector = SECTOR // self.unit
            return (self.run_elements + sector - 1) // sector * (SECTOR // VECTOR)
        slack = self._before if self.write_shift else 0
        return -(-(self.run_elements + slack) // self.vector)

    @property
    def uneven(self) -> bool:
        """Return True if the tile's part of a shifted run ends inside a sector and needs a bounds check."""
        return bool(self.halo) and self.run_elements * self.unit % SECTOR != 0

    @property
    def partial(self) -> bool:
        """Return True if some vector of the target has elements outside its run."""
        return not self.halo and bool(self.run_elements % self.vector or self.write_shift)

    @property
    def nested(self) -> bool:
        """Return True if elements of a vector have constant distances: no digit of its run ends in it."""
        if len(self.merged(self.write_run, self.extents)) <= 1:
            return True
        inner, fits = 1, not self.write_shift
        for i in self.write_run[:-1]:
            inner *= self.extents[i]
            fits &= inner % self.vector == 0 or self.vector % inner == 0
        return fits

    @property
    def regular(self) -> bool:
        """Return True if a vector's elements are evenly apart, and any order may gather them."""
        gathered = self.words == 1 and not self.partial
        return gathered and self.unit <= 4 and len(self.merged(self.write_run, self.extents)) == 1

    @property
    def of_word(self) -> int:
        """Return the elements of a quarter of a vector: of a word, or of half a word if they are spread."""
        return self.vector // 4

    @cached_property
    def words(self) -> int:
        """Return the neighbours in a word of the source that a thread turns; 1 where it gathers elements."""
        count = 4 // self.unit if self.unit < 4 else 1
        if count == 1 or self.read_shift or self.write_shift or not (self.read_run and self.write_run):
            return 1
        inner = self.read_run[0]
        fits = inner not in self.write_run and self.extents[inner] % count == 0
        fits &= is_whole(self.digits[inner].extent, count)
        return count if fits and self.extents[self.write_run[0]] % self.vector == 0 else 1

    @property
    def write_row_extents(self) -> dict[int, int]:
        """Return the number of threads along each digit of the write rows."""
        extents = {i: self.extents[i] for i in self.write_rows}
        if self.words > 1:
            extents[self.read_run[0]] //= self.words
        return extents

    # -- answers for a plan ------------------------------------------------------------------------

    kind = "tile"
    stays, fills_beyond = False, True

    @property
    def changes_words(self) -> bool:
        """Return True if elements of 4 bits are changed in words of 4 bytes."""
        return self.pair.spread

    def sectors(self, aligned: int) -> tuple[float, float]:
        """Return the sectors read, and written, divided by those that hold the elements' bytes.

        Blocks share no sectors: where runs begin anywhere, two neighbours both read the sector in which the
        first ends and the second begins. It comes from device memory once, and twice from the cache that all
        multiprocessors share. That cache has little more bandwidth than a copy takes.

        >>> from tilewise import S
        >>> from tilewise.moves import plan
        >>> ways = [plan(S[n, n], S[(n, n) : (1, n)], "u8").way for n in (16384, 16381)]
        >>> [tuple(round(share, 2) for share in way.sectors(256)) for way in ways]
        [(1.0, 1.0), (1.39, 1.0)]
        """
        aligned *= 2 if self.pair.spread else 1
        reads = self.surplus * self._covered("read", self.read_run, aligned)
        return reads, 1.0 if self.halo else self._covered("write", self.write_run, aligned)

    def _covered(self, name: str, run: tuple[int, ...], aligned: int) -> float:
        """Return the bytes of sectors for a byte of elements; gaps smaller than a sector are touched too."""
        sector = SECTOR * (2 if self.pair.spread else 1)
        length = elements = prod(self.extents[i] for i in run)
        steps = sorted((abs(getattr(digit, name)), i) for i, digit in enumerate(self.digits) if i not in run)
        for step, i in steps:
            if step and (step - length) * self.unit < sector:
                run, length = (*run, i), length + step * (self.extents[i] - 1)
                elements *= self.extents[i]
        begin = min(sector, begins_at(self.pair, name, run, self.extents, aligned))
        covered = -(-length * self.unit // begin) * begin
        return (covered + sector - begin) / (elements * self.unit)

    @property
    def rate(self) -> float:
        """Return the part of a copy's rate that it reaches, if it has no more sectors."""
        if self.pair.spread:
            return SPREAD_RATE if self.words == 1 else SPREAD_WORDS_RATE
        return RATE

    @property
    def vectors(self) -> tuple[int, int]:
        """Return the bytes that a thread reads, and writes, at once."""
        return (self.taken // 2, VECTOR // 2) if self.pair.spread else (VECTOR, VECTOR)

    @property
    def swizzle(self) -> str | None:
        """Return the swizzle of shared memory, over bytes; None where rows lie apart."""
        return None if self.swizzle_shift is None else f"Swizzle<3,4,{self.swizzle_shift}>"

    @property
    def named_extents(self) -> dict[str, Any]:
        """Return the tile as JSON."""
        read = prod(self.extents[i] for i in self.read_run)
        return {
            "elements": list(self.extents),
            "bytes": self.stored(prod(self.extents)),
            "element_bytes": 0.5 if self.pair.spread else self.unit,
            "read_run_bytes": self.stored(read),
            "write_run_bytes": self.stored(self.run_elements),
            "pitches": list(self.pitches),
        }
