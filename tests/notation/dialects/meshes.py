"""Shardings by their plainest definitions: which device holds an element, and where in its shard."""

from __future__ import annotations

from itertools import product
from math import prod

from tilewise.core.layout import Layout


def held(layout: Layout, index: tuple[int, ...], axes: tuple[str, ...]) -> set[tuple[tuple[int, ...], int]]:
    """(coordinates of the device, position in its shard) of every copy of an element."""
    return {(tuple(place[axis] for axis in axes), place["m"]) for place in layout.places(*index)}


def indices(shape):
    """All indices of a shape, in row-major order."""
    return product(*map(range, shape))


def position(inside, shard):
    """The row-major position of an index in a shard."""
    at = 0
    for i, extent in zip(inside, shard, strict=True):
        at = at * extent + i
    return at


def shared(shape, tiles, tile_of):
    """{index: (device, position)} of a tensor in tiles, as XLA pads them.

    `tiles` has their number in each dimension, and `tile_of` {device: which tile it has}.
    """
    shard = [-(-n // t) for n, t in zip(shape, tiles, strict=True)]
    found = {index: set() for index in indices(shape)}
    for device, tile in tile_of.items():
        ranges = [
            range(t * size, min((t + 1) * size, n)) for t, size, n in zip(tile, shard, shape, strict=True)
        ]
        for index in product(*ranges):
            inside = [i - t * size for i, t, size in zip(index, tile, shard, strict=True)]
            found[index].add((device, position(inside, shard)))
    return found


def tile_of_coordinates(extents, cuts):
    """{coordinates of a device: its tile} on a mesh {axis: extent}.

    A cut lists parts of axes, major first: (axis, what lies before the part, how many it has).
    """
    names = list(extents)
    found = {}
    for coordinates in product(*(range(extents[name]) for name in names)):
        tile = []
        for cut in cuts:
            number = 0
            for name, before, many in cut:
                along = coordinates[names.index(name)] * before * many // extents[name] % many
                number = number * many + along
            tile.append(number)
        found[coordinates] = tuple(tile)
    return found


def drawn_mesh(rng, most=64):
    """{axis: extent} of a mesh with few devices."""
    names = rng.sample(["x", "y", "z", "data", "model", "stage_0"], rng.randint(1, 4))
    extents = {}
    for name in names:
        extents[name] = rng.choice([1, 2, 2, 3, 4, 4, 6, 8])
        if prod(extents.values()) > most:
            extents[name] = 1
    return extents


def drawn_parts(rng, extent):
    """Draw the parts of an axis, and return them in order: (what lies before, how many)."""
    parts, before = [], 1
    while extent > 1:
        many = rng.choice([d for d in range(2, extent + 1) if extent % d == 0])
        parts.append((before, many))
        before *= many
        extent //= many
    return parts


def drawn_cuts(rng, extents, rank, parts=False):
    """Draw the axes, or parts of them, that cut each dimension; some cut no dimension."""
    pieces = [
        (name, before, many)
        for name, extent in extents.items()
        for before, many in (drawn_parts(rng, extent) if parts else [(1, extent)])
    ]
    rng.shuffle(pieces)
    cuts = [[] for _ in range(rank)]
    for piece in pieces:
        where = rng.randint(-1, rank - 1)
        if where >= 0:
            cuts[where].append(piece)
    return [merged(cut, extents) for cut in cuts]


def merged(cut, extents):
    """A cut in which neighbouring parts of one axis are one part, as Shardy wants it."""
    found = []
    for name, before, many in cut:
        if found and found[-1][0] == name and found[-1][1] * found[-1][2] == before:
            found[-1] = (name, found[-1][1], found[-1][2] * many)
        else:
            found.append((name, before, many))
    return found


def drawn_shape(rng, cuts, uneven=False):
    """Extents that the cuts divide, or any."""
    shape = []
    for cut in cuts:
        many = prod(part[2] for part in cut)
        shape.append(rng.randint(1, 2 * many + 3) if uneven else many * rng.randint(1, 3))
    return tuple(shape)


def differences(layout, found, axes):
    """The indices at which a layout says another thing than a definition."""
    return [index for index, expected in found.items() if held(layout, index, axes) != expected]
