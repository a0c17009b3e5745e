"""The kernel of a way, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewise.moves.kernels.gather_kernel import gather_kernel
from tilewise.moves.kernels.spelling import NAME
from tilewise.moves.kernels.tile_kernel import tile_kernel
from tilewise.moves.kernels.turned_kernel import turned_kernel
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.turned import Turned
from tilewise.moves.ways.bulk import Bulk
from tilewise.moves.ways.gather import Gather
from tilewise.moves.ways.way import Way

KERNELS: dict[type[Way], Callable[[Any, int, bytes, str], str]] = {
    Bulk: lambda way, storage, fill, name: "",
    Tile: tile_kernel,
    Turned: lambda way, storage, fill, name: turned_kernel(way, storage, name),
    Gather: lambda way, storage, fill, name: gather_kernel(way, name),
}
"""What writes the kernel of each way, of its source's bytes, its fill and its name."""


def text_of(way: Way, storage: int, fill: bytes, name: str = NAME) -> str:
    """The source of the kernel, on a source of `storage` bytes; nothing where a copy of memory is enough.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.ways.choice import way_of
    >>> turned, later = S[(64, 96) : (1, 64)], S[64, 96] + 8
    >>> ways = [way_of(pair_of(S[64, 96], target, DType.of("u8"))) for target in (turned, later)]
    >>> ["move(" in text_of(way, 64 * 96, b"\\0") for way in ways]
    [True, False]
    """
    return KERNELS[type(way)](way, storage, fill, name)
