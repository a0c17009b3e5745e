"""The tile and the cluster of a problem, by times measured on an H200."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from tilewise.codegen.gemm.plan import SPAN, SUMS
from tilewise.codegen.parts.copies import BYTE
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError

Tile = tuple[int, int]


class TileChoice(NamedTuple):
    """A tile of D, the blocks of a cluster, and the tiles of a group down M."""

    tile: Tile
    cluster: tuple[int, int]
    group: int = 8
    parts: int = 1
    """Parts of K, each of a block of its own."""


MULTIPROCESSORS = 132
MOST = 2**31 - 2**10
"""An extent that kernels do not count up to."""
RATE = {
    (128, 256): 1.0,
    (128, 240): 0.965,
    (128, 224): 0.975,
    (128, 208): 0.965,
    (128, 192): 0.99,
    (128, 176): 0.96,
    (128, 160): 0.98,
    (128, 144): 0.96,
    (128, 128): 0.985,
    (128, 112): 0.93,
    (128, 96): 0.86,
    (128, 64): 0.73,
    (64, 128): 0.77,
    (64, 64): 0.55,
}
"""{tile: the rate at which a multiprocessor computes it, beside that of the largest}."""
BETWEEN = 3.6e4
"""The time that a block spends between two tiles, in the unit of a step's elements."""
PARTS = (1, 2, 3, 4, 6, 8, 12, 16)
LEAST_STEPS = 8
"""Steps along K of a part, at least."""
LAUNCHED, MOVED = 4.5e5, 1.0e-2
"""The time to launch the kernel that adds parts up, and to move a byte, in the unit of a step's elements."""
TRIED = 8
"""Tiles that are measured, each with several clusters."""


@dataclass(frozen=True)
class GemmProblem:
    """A product of whole matrices, as far as the choice of a tile depends on it."""

    m: int
    n: int
    k: int
    types: tuple[DType, DType]
    majors: tuple[str, str] = ("k", "k")
    batches: int = 1
    grouped: bool = False
    splits: bool = True
    """True if K may be split."""
    promotes: bool = False
    multiprocessors: int = MULTIPROCESSORS

    def __post_init__(self) -> None:
        if not all(1 <= extent < MOST for extent in (self.m, self.n, self.k)):
            hint = f"each extent is 1 or more, below {MOST}"
            raise LayoutError("TW401", f"a product of {self.m} x {self.n} x {self.k}", hint=hint)

    @property
    def steps(self) -> int:
        """Return the stages along K."""
        return ceil(self.k / min(self._line(0), self._line(1)))

    @property
    def chosen(self) -> TileChoice:
        """Return the choice with the least expected time."""
        return min(self._choices, key=self.cost)

    @property
    def candidates(self) -> list[TileChoice]:
        """Return the choices that are worth measuring, the one without measures first."""
        found = []
        for usual in sorted(self._choices, key=self.cost)[:TRIED]:
            found.append(usual)
            clusters = [own for own in ((1, 1), (2, 1), (1, 2)) if self._shares(usual.tile, own)]
            if usual.parts == 1:
                found += [usual._replace(cluster=own, group=group) for own in clusters for group in (4, 16)]
        return list(dict.fromkeys(found))

    def cost(self, choice: TileChoice) -> float:
        """Return the expected time of a choice, in the unit of a step's elements."""
        (rows, columns), parts = choice.tile, choice.parts
        step = rows * columns / RATE[choice.tile]
        added = LAUNCHED + MOVED * self.m * self.n * 4 * (2 * parts + 1) if parts > 1 else 0
        return self._turns(choice) * (ceil(self.steps / parts) * step + BETWEEN) + added

    def arranged(self, tile: Tile, parts: int) -> TileChoice:
        """Return a tile with its usual cluster. Groups are cut off where they end: theirs go along N."""
        alone = TileChoice(tile, (1, 1), 16, parts)
        cluster, group = ((1, 2), 4) if self.grouped else ((2, 1), 8)
        together = alone._replace(cluster=cluster, group=group)
        turns = self._turns(alone)
        shares = parts == 1 < turns == self._turns(together) and self._shares(tile, together.cluster)
        return together if shares else alone

    def _turns(self, choice: TileChoice) -> int:
        """Return the tiles that the busiest multiprocessor computes."""
        (rows, columns), (down, along), _, parts = choice
        tiles = ceil(self.m / (rows * down)) * down * ceil(self.n / (columns * along)) * along
        return ceil(tiles * self.batches * parts / self.multiprocessors)

    @property
    def _choices(self) -> Iterable[TileChoice]:
        """Yield each tile, with the parts into which K may be split."""
        whole = not self.splits or self.grouped or self.batches > 1 or self._line(0) != self._line(1)
        most = 1 if whole else max(1, self.steps // LEAST_STEPS)
        for tile in RATE:
            if not self.promotes or tile[1] <= SUMS:
                yield from (self.arranged(tile, parts) for parts in PARTS if parts <= most)

    def _line(self, side: int) -> int:
        return SPAN * BYTE // self.types[side].bits

    def _shares(self, tile: Tile, cluster: tuple[int, int]) -> bool:
        """Return True if the blocks of a cluster each load whole boxes of what they share."""
        return all(
            extent % (count * (self._line(side) if self.majors[side] == "mn" else 8)) == 0
            for side, extent, count in ((0, tile[0], cluster[1]), (1, tile[1], cluster[0]))
            if count > 1
        )


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
    promotes: bool = False,
) -> TileChoice:
    """Return the choice with the least expected time for D [m, n], or for many of them.

    >>> chosen(8192, 8192, 8192, "bf16")
    TileChoice(tile=(128, 192), cluster=(2, 1), group=8, parts=1)
    >>> chosen(2048, 2048, 2048, "bf16")
    TileChoice(tile=(128, 256), cluster=(1, 1), group=16, parts=1)
    """
    types = DType.of(dtype_a), DType.of(dtype_b if dtype_b is not None else dtype_a)
    lies = majors[0] or "k", majors[1] or "k"
    return GemmProblem(m, n, k, types, lies, batches, grouped, promotes=promotes).chosen
