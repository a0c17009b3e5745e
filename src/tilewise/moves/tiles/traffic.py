"""What a tile reads and writes in sectors: where its runs begin, and how many sectors each of them touches.

Blocks share no sectors: where runs begin anywhere, both of two neighbours read the one in which one ends and
the next begins. It comes from device memory once, and twice from the cache that all multiprocessors share,
which has little more to give than a copy takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.pairs.pair import Pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.tiles.tile import Tile


def begins_at(pair: Pair, name: str, run: Sequence[int], extents: Sequence[int], aligned: int) -> int:
    """The bytes that all runs of a side begin at multiples of; `name` is "read" or "write".

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[512, 508], S[(512, 508) : (1, 512)], DType.of("u8")))
    >>> begins_at(pair, "read", (1,), (128, 128), 256), begins_at(pair, "write", (0,), (128, 128), 256)
    (4, 128)
    """
    side = pair.source if name == "read" else pair.target
    unit, least = pair.bits // 8, gcd(aligned, side.start * pair.bits // 8, side.outer * pair.bits // 8)
    for i, digit in enumerate(pair.digits or ()):
        step = getattr(digit, name) * unit
        if i not in run:
            least = gcd(least, step)
        elif extents[i] != digit.extent:
            least = gcd(least, step * extents[i])
    return least


def traffic(tile: Tile, aligned: int) -> tuple[float, float]:
    """Sectors that are read, and written, for as many bytes of elements as one has.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> ways = [plan(S[n, n], S[(n, n) : (1, n)], "u8").way for n in (16384, 16381)]
    >>> [tuple(round(share, 2) for share in traffic(way, 256)) for way in ways]
    [(1.0, 1.0), (1.39, 1.0)]
    """
    aligned *= 2 if tile.pair.spread else 1
    reads = tile.surplus * _touched(tile, "read", tile.read_run, aligned)
    return reads, 1.0 if tile.halo else _touched(tile, "write", tile.write_run, aligned)


def _touched(tile: Tile, name: str, run: tuple[int, ...], aligned: int) -> float:
    """Bytes of sectors for a byte of what the tile has of a side without a gap in which a sector has room."""
    sector = SECTOR * (2 if tile.pair.spread else 1)
    length = elements = prod(tile.extents[i] for i in run)
    steps = sorted((abs(getattr(digit, name)), i) for i, digit in enumerate(tile.digits) if i not in run)
    for step, i in steps:
        if step and (step - length) * tile.unit < sector:
            run, length = (*run, i), length + step * (tile.extents[i] - 1)
            elements *= tile.extents[i]
    step = min(sector, begins_at(tile.pair, name, run, tile.extents, aligned))
    covered = -(-length * tile.unit // step) * step
    return (covered + sector - step) / (elements * tile.unit)
