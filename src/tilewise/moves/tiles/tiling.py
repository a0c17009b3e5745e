"""The choice of a tile for a pair: the largest that keeps both sides in whole sectors, and fits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import gcd, prod

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.pairs.digits import begins_at, run_of, sides_of, spread
from tilewise.moves.pairs.pair import Pair
from tilewise.moves.tiles.aims import MIDDLE, OTHERS, SMALL, Aim, aims, bytes_of
from tilewise.moves.tiles.conflicts import calmest
from tilewise.moves.tiles.tile import VECTOR, Tile

ALIGNED = 256
"""Bytes to which an allocator aligns memory."""

SHARED = 72 * 1024
"""Bytes of a tile at most, so that several blocks are on a multiprocessor at once."""

HALO, HALO_OF_SMALL = 1.34, 2.0
"""Elements that a tile may read for each that it writes, where another reads fewer: small tensors lose
no more time by it than by fewer threads."""

SLACK = 1.3
"""Largest length of a run's vectors together, in lengths of the run, where others are shorter."""

EVEN = 1.1
"""Largest length of a digit's tiles together, in lengths of the digit; longer ones are made equal."""

THREADS = (128, 256, 512)
"""Threads that a block may have."""


def tile_of(pair: Pair, aligned: int = ALIGNED) -> Tile | None:
    """Return the tile to take, or None if threads should read the elements that they write one by one.

    Both storages are aligned to `aligned` bytes.

        requires  the simplest digits, of whole bytes

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> tile = tile_of(simplest(pair_of(S[8192, 8192], S[(8192, 8192) : (1, 8192)], DType.of("bf16"))))
    >>> tile.extents, tile.pitches, tile.swizzle_shift, tile.blocks
    ((128, 128), (256, 2), 7, 4096)
    """
    return next(_laid(_boxes(pair, aligned)), None)


def _laid(boxes: Iterator[Tile]) -> Iterator[Tile]:
    """Yield boxes placed in shared memory, if they fit with their paddings.

    First come boxes that read little more than they write, and whose threads all have work.
    """
    wasteful: list[Tile] = []

    def thrifty() -> Iterator[Tile]:
        for box in boxes:
            small = bytes_of(box.pair) < (MIDDLE if box.unit == 1 else SMALL)
            reads_little = box.surplus <= (HALO_OF_SMALL if small else HALO)
            if reads_little and box.write_vectors * VECTOR <= SLACK * box.run_elements * box.unit:
                yield box
            else:
                wasteful.append(box)

    for box in chain(thrifty(), wasteful):
        tile = calmest(box)
        if tile.shared_bytes <= SHARED:
            yield tile


def _boxes(pair: Pair, aligned: int, more: Sequence[Aim] = ()) -> Iterator[Tile]:
    """Yield tiles for the aims, one after another; elements of 4 bits are spread."""
    if pair.bits == 4:
        pair, aligned = spread(pair), 2 * aligned
    if pair.digits:
        tried = (_box(pair, aim, aligned) for aim in chain(aims(pair, aligned), more))
        yield from (box for box in tried if box is not None)


def turns_words(pair: Pair, aligned: int = ALIGNED) -> bool:
    """Return True if the first box to try has whole words, which a thread turns.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> sides = [(S[n, n], S[(n, n) : (1, n)]) for n in (512, 511)]
    >>> [turns_words(pair_of(*own, DType.of("u4"))) for own in sides]
    [True, False]
    """
    box = next(_boxes(pair, aligned), None)
    return box is not None and box.words > 1


def tile_for(pair: Pair, aim: Aim, aligned: int = ALIGNED) -> Tile | None:
    """Return a tile for that aim, or None where a side has no run, or a swizzle parts its vectors."""
    box = _box(pair, aim, aligned)
    return None if box is None else next(_laid(iter((box,))), None)


def _box(pair: Pair, aim: Aim, aligned: int) -> Tile | None:
    """Return the tile without its place in shared memory, or None."""
    unit, digits = pair.bits // 8, pair.digits or ()
    reads, writes = (
        run_of(pair, name, max(1, far // unit)) for name, far in (("read", aim.read), ("write", aim.write))
    )
    if unit < VECTOR and not (reads and writes):
        return None
    extents = [max(reads.get(i, 1), writes.get(i, 1)) for i in range(len(digits))]
    read_run = _read_run(pair, reads, writes, extents)
    _grow(pair, extents, read_run, aim.bytes)
    # rows are padded apart along a write run, and words are turned along the first digit of a read run
    read_run = _continued(pair, "read", read_run, extents, writes)
    write_run = _continued(pair, "write", tuple(writes), extents, tuple(reads)[:1])
    shifts = tuple(
        unit < VECTOR and begins_at(pair, name, run, extents, aligned) < VECTOR
        for name, run in (("read", read_run), ("write", write_run))
    )
    if any(shift and side.swizzles for shift, (side, _) in zip(shifts, sides_of(pair), strict=True)):
        return None
    kept = [unit << own.base for side, _ in sides_of(pair) for own in side.swizzles if own.bits]
    if min(kept, default=VECTOR) < VECTOR:
        return None
    tile = Tile(pair, tuple(extents), read_run, write_run, THREADS[0], shifts[0], shifts[1])
    tile = _evened(tile)
    tile = replace(tile, threads=_threads(tile, aim.share))
    if tile.halo and tile.write_run[-1] in read_run:
        begins = tile.halo * digits[read_run[-1]].read * unit
        tile = replace(tile, read_shift=shifts[0] or begins % VECTOR != 0)
        if tile.read_shift and pair.source.swizzles:
            return None
    return tile if tile.shared_bytes <= SHARED else None


def _threads(tile: Tile, share: int) -> int:
    """Return the threads for that share of a tile; fewer where each needs registers for many elements."""
    if tile.words == 1 and (tile.unit == 1 or (tile.unit == 2 and not tile.nested)):
        share *= 2
    wanted = prod(tile.extents) * tile.unit // share
    return max((count for count in THREADS if 4 * count <= 5 * wanted), default=THREADS[0])


def _read_run(
    pair: Pair, reads: dict[int, int], writes: dict[int, int], extents: list[int]
) -> tuple[int, ...]:
    """Return the digits of the read run that make a row; those of the write run count rows if possible."""
    run: list[int] = []
    for i in reads:
        whole = all(extents[j] == (pair.digits or ())[j].extent for j in run)
        length = prod(extents[j] for j in run) * (pair.bits // 8)
        if run and i in writes and whole and length % VECTOR == 0:
            break
        run.append(i)
    return tuple(run)


def _continued(
    pair: Pair, name: str, run: tuple[int, ...], extents: Sequence[int], excluded: Collection[int]
) -> tuple[int, ...]:
    """Return a run of a side, continued by digits of which the tile has several values, if not excluded.

    Rows of a whole tile then lie side by side, as matrices of a batch do. A write run that would end within
    a vector goes on into any digit. Elements as wide as a vector were as fast apart.
    """
    digits = pair.digits or ()
    while run and pair.bits < 8 * VECTOR and extents[run[-1]] == digits[run[-1]].extent:
        length = prod(extents[i] for i in run)
        parted = name == "write" and length * pair.bits // 8 % VECTOR != 0
        following = (i for i, digit in enumerate(digits) if getattr(digit, name) == length and i not in run)
        more = next((i for i in following if parted or (extents[i] > 1 and i not in excluded)), None)
        if more is None:
            break
        run = (*run, more)
    return run


def _grow(pair: Pair, extents: list[int], read_run: tuple[int, ...], wanted: int) -> None:
    """Extend the digits that step least in the target, until a tile has `wanted` bytes."""
    digits = pair.digits or ()
    for i in sorted(range(len(digits)), key=lambda i: abs(digits[i].write)):
        bytes_now = prod(extents) * pair.bits // 8
        if 2 * bytes_now <= wanted and i not in read_run[:-1]:
            extents[i] = min(digits[i].extent, extents[i] * (wanted // bytes_now))


def _evened(tile: Tile) -> Tile:
    """Return the tile with other extents, where the last tile of a digit would have little to do."""
    reach = [digit.extent for digit in tile.digits]
    if tile.halo:
        reach[tile.write_run[-1]] += tile.halo
    extents = [
        extent if extent >= digit.extent else _even(tile, i, far)
        for i, (digit, extent, far) in enumerate(zip(tile.digits, tile.extents, reach, strict=True))
    ]
    return replace(tile, extents=tuple(extents))


def _even(tile: Tile, digit: int, reach: int) -> int:
    """Return an extent whose tiles cover little more than necessary, without more of them.

    Runs are then whole sectors: always if they begin at whole vectors, else only if that costs little.
    """
    extent = tile.extents[digit]
    more, fewer = -(-reach // extent), max(1, reach // extent)
    tried = [extent, -(-reach // fewer), -(-reach // more)]
    runs = [tile.write_run] if tile.read_shift else [tile.write_run, tile.read_run]
    for run in runs:
        if digit in run:
            sector, inner = SECTOR // tile.unit, prod(tile.extents[i] for i in run[: run.index(digit)])
            step = sector // gcd(inner, sector)
            whole = [-(-own // step) * step for own in tried]
            shifted = run is runs[0] and tile.write_shift
            tried = [own for both in zip(whole, tried, strict=True) for own in both] if shifted else whole
    within = (min(own, tile.digits[digit].extent) for own in tried)
    fits = (own for own in within if 3 * own <= 4 * extent and -(-reach // own) * own <= EVEN * reach)
    return next(fits, extent)


def candidates(pair: Pair, aligned: int = ALIGNED) -> list[Tile]:
    """Return the tiles to choose from for a pair, the one expected to be the fastest first.

    postcondition  the first is that of `tile_of`; no two are equal

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[8192, 8192], S[(8192, 8192) : (1, 8192)], DType.of("bf16")))
    >>> candidates(pair)[0] == tile_of(pair)
    True
    """
    return list(dict.fromkeys(_laid(_boxes(pair, aligned, OTHERS))))
