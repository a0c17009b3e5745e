"""The tile and the cluster of a problem, by times measured on an H200."""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import NamedTuple

from tilewise.codegen.gemm.plan import SPAN
from tilewise.codegen.parts.copies import BYTE
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError


class TileChoice(NamedTuple):
    """A tile of D, the blocks of a cluster, and the tiles of a group down M."""

    tile: tuple[int, int]
    cluster: tuple[int, int]
    group: int = 8
    parts: int = 1
    """Parts of K, each of a block of its own."""


MULTIPROCESSORS = 132
MOST = 2**31 - 2**10
"""An extent that kernels do not count up to."""
RATE = {
    (128, 256): 1.0,
    (128, 192): 0.95,
    (128, 128): 0.88,
    (128, 64): 0.62,
    (64, 128): 0.62,
    (64, 64): 0.4,
}
"""{tile: the rate at which a multiprocessor computes it, beside that of the largest}."""
FEW = 8
"""Tiles of which half a cluster's would be too many to leave out."""
START = 6
"""Steps along K that a tile's begin and end take as long as, where no other tile hides them."""


PARTS = (1, 2, 3, 4, 6, 8, 12, 16)
LEAST_STEPS = 8
"""Steps along K of a part, at least."""
LAUNCHED, MOVED = 1.6e5, 1.2e-2
"""The time to launch the kernel that adds parts up, and to move a byte, in the unit of a step's elements."""


def chosen(
    m: int,
    n: int,
    k: int,
    dtype_a: DType | str,
    dtype_b: DType | str | None = None,
    *,
    majors: tuple[str | None, str | None] = (None, None),
    batches: int = 1,
    grouped: bool = False,
    splits: bool = True,
    promotes: bool = False,
    multiprocessors: int = MULTIPROCESSORS,
) -> TileChoice:
    """Return the choice with the least expected time for D [m, n], or for many of them.

    Groups are cut off where they end: their clusters go along N.

    >>> chosen(8192, 8192, 8192, "bf16")
    TileChoice(tile=(128, 256), cluster=(2, 1), group=8, parts=1)
    >>> chosen(2048, 2048, 2048, "bf16")
    TileChoice(tile=(128, 256), cluster=(1, 1), group=16, parts=1)
    """
    if not all(1 <= extent < MOST for extent in (m, n, k)):
        raise LayoutError(
            "TW401", f"a product of {m} x {n} x {k}", hint=f"each extent is 1 or more, below {MOST}"
        )
    types = DType.of(dtype_a), DType.of(dtype_b if dtype_b is not None else dtype_a)
    line = [SPAN * BYTE // own.bits for own in types]
    steps = ceil(k / line[0])
    units = [own if major == "mn" else 8 for own, major in zip(line, majors, strict=True)]

    def cost(choice: tuple[tuple[int, int], int]) -> float:
        tile, parts = choice
        tiles = ceil(m / tile[0]) * ceil(n / tile[1]) * batches * parts
        turns = ceil(tiles / multiprocessors)
        added = LAUNCHED + MOVED * m * n * 4 * (2 * parts + 1) if parts > 1 else 0
        return (turns * ceil(steps / parts) + START) * tile[0] * tile[1] / RATE[tile] + added

    most = max(1, steps // LEAST_STEPS) if splits and not grouped and batches == 1 else 1
    tiles = [tile for tile in RATE if tile[1] < max(RATE)[1] or not promotes]
    tile, parts = min(product(tiles, (one for one in PARTS if one <= most)), key=cost)
    if parts > 1:
        return TileChoice(tile, (1, 1), 16, parts)
    down, along = ceil(m / tile[0]), ceil(n / tile[1])
    if down * along * batches <= multiprocessors:
        return TileChoice(tile, (1, 1), 16)
    shares_b, shares_a = (
        extent % (2 * unit) == 0 for extent, unit in zip(tile[::-1], units[::-1], strict=True)
    )
    if grouped and shares_a and (along % 2 == 0 or along > FEW):
        return TileChoice(tile, (1, 2), 4)
    if shares_b and not grouped and (down % 2 == 0 or down > FEW):
        return TileChoice(tile, (2, 1))
    return TileChoice(tile, (1, 1))
