"""Random layouts of Mosaic, and what they mean, loop by loop."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random
from typing import NamedTuple


class Copies(NamedTuple):
    """In the place of a dimension: so many lanes or warps hold the same."""

    times: int

    def __repr__(self) -> str:
        return f"Replicated(times={self.times})"


class Tiled(NamedTuple):
    """The fields of a TiledLayout."""

    tiles: tuple[tuple[int, ...], ...]
    warps: tuple[int | Copies, ...]
    lanes: tuple[int | Copies, ...]
    vector: int

    def __str__(self) -> str:
        return (
            f"TiledLayout(tiling=Tiling(tiles={self.tiles}), warp_dims={self.warps}, "
            f"lane_dims={self.lanes}, vector_dim={self.vector})"
        )

    @property
    def attribute(self) -> str:
        """The attribute of MLIR."""
        tiles = [list(tile) for tile in self.tiles]
        warps, lanes = (
            "["
            + ", ".join(
                f"#mosaic_gpu.Replicated<times = {dim.times}>" if isinstance(dim, Copies) else str(dim)
                for dim in dims
            )
            + "]"
            for dims in (self.warps, self.lanes)
        )
        return (
            f"#mosaic_gpu.TiledLayout<{tiles}, warp_dims = {warps}, "
            f"lane_dims = {lanes}, vector_dim = {self.vector}>"
        )


def drawn_tiling(rng: Random, deepest: int = 3) -> tuple[tuple[int, ...], ...]:
    """Tiles, each inside the one before it."""
    tile = tuple(rng.choice((2, 4, 8, 16, 32, 64)) for _ in range(rng.randint(1, 3)))
    tiles = [tile]
    for _ in range(rng.randint(1, deepest)):
        last = tiles[-1][-rng.randint(1, len(tiles[-1])) :]
        tiles.append(
            tuple(rng.choice([d for d in (1, 2, 4, 8, 16, 32, 64) if extent % d == 0]) for extent in last)
        )
    return tuple(tiles)


def inner_shape(tiles) -> tuple[int, ...]:
    """The dimensions that the tiles make of one tile of the first kind."""
    shape = tiles[0]
    for tile in tiles:
        kept = len(shape) - len(tile)
        shape = (*shape[:kept], *(e // t for e, t in zip(shape[kept:], tile, strict=True)), *tile)
    return shape[len(tiles[0]) :]


def drawn_layout(rng: Random) -> tuple[Tiled, tuple[int, ...]]:
    """A layout and the shape of an array."""
    tiles = drawn_tiling(rng)
    inner = inner_shape(tiles)
    free = [at - len(inner) for at in range(len(inner))]
    rng.shuffle(free)
    vector = free.pop()
    taken: dict[int, list[int | Copies]] = {}
    for many in (4, 32):
        dims: list[int | Copies] = []
        left = many
        for at in list(free):
            if left % inner[at] == 0 and rng.random() < 0.8:
                free.remove(at)
                dims.append(at)
                left //= inner[at]
        if left > 1:
            dims.insert(rng.randint(0, len(dims)), Copies(left))
        taken[many] = dims
    first = tiles[0]
    shape = tuple(extent * rng.choice((1, 2, 3)) for extent in first)
    if rng.random() < 0.3:
        shape = (rng.choice((2, 3)), *shape)
    return Tiled(tiles, tuple(taken[4]), tuple(taken[32]), vector), shape


def naive_places(layout: Tiled, shape: tuple[int, ...], index: tuple[int, ...]) -> set[tuple[int, int, int]]:
    """Every (warp, lane, register) that holds an element."""
    at, extents = list(index), list(shape)
    for tile in layout.tiles:
        kept = len(extents) - len(tile)
        at = (
            at[:kept]
            + [i // t for i, t in zip(at[kept:], tile, strict=True)]
            + [i % t for i, t in zip(at[kept:], tile, strict=True)]
        )
        extents = extents[:kept] + [e // t for e, t in zip(extents[kept:], tile, strict=True)] + list(tile)
    register = 0
    parted = {dim for dim in (*layout.warps, *layout.lanes) if not isinstance(dim, Copies)}
    for position, extent in enumerate(extents):
        if position - len(extents) not in (*parted, layout.vector):
            register = register * extent + at[position]
    register = register * extents[layout.vector] + at[layout.vector]
    counts = []
    for dims in (layout.warps, layout.lanes):
        choices = [range(dim.times) if isinstance(dim, Copies) else (at[dim],) for dim in dims]
        sizes = [dim.times if isinstance(dim, Copies) else extents[dim] for dim in dims]
        counts.append(
            [sum(c * prod(sizes[k + 1 :]) for k, c in enumerate(choice)) for choice in product(*choices)]
        )
    return {(warp, lane, register) for warp in counts[0] for lane in counts[1]}
