"""Elements of 4 bits that part: tiles of bytes that exchange halves, run as programs of threads."""

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.moves.pairs import of_4_bits
from tests.moves.shim import aligned, run
from tests.moves.test_move import element, expected, storage
from tests.moves.test_tiles import check, permuted

from tilewise import S
from tilewise.moves import plan
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.nibbles import in_bytes
from tilewise.moves.plan import Bulk
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.tiling import Aim, tile_for

GUARD = 0xA5


def drawn(seed):
    """The case of a seed, and a plan of it: for some alignment, by some tile."""
    asked, draw = of_4_bits(seed), random.Random(~seed)
    offset = draw.choice([0, 0, 0, 0, 1, 2, 4, 8])
    found = plan(
        asked.source,
        asked.target,
        asked.dtype,
        shape=asked.shape,
        fill=element(asked),
        aligned=offset or 256,
    )
    read, write = draw.choice([16, 32, 64, 128]), draw.choice([16, 16, 32, 32, 64])
    if isinstance(found.way, Tile) and found.way.pair.exchanged is not None and draw.random() < 0.7:
        pair = in_bytes(simplest(found.pair, 8 * found.aligned))
        aim = Aim(read, write, draw.choice([256, 256, 4096]), draw.choice([32, 128]))
        found = replace(found, way=tile_for(pair, aim, found.aligned) or found.way)
    return asked, found, offset


def check_drawn(seed):
    """Run the kernel of a seed on the CPU: it makes the naive move, and nothing beside the target."""
    asked, found, offset = drawn(seed)
    source, size = storage(asked, seed), found.sizes[1]
    given, room = aligned(source.size, offset), aligned(size + 512, offset)
    given[:], room[:] = source, GUARD
    target = room[256 : 256 + size]
    if found.fills:
        target[:] = found.fill[0]
    if isinstance(found.way, Bulk):
        way = found.way
        target[way.write : way.write + way.bytes] = given[way.read : way.read + way.bytes]
    else:
        run(found.kernel, found.launch[0], found.launch[1], given, room[256:])
    told = f"{asked}\n{found.way}"
    assert target.tobytes() == expected(asked, source, asked.target.max("m") + 1).tobytes(), told
    assert set(room[:256]) | set(room[256 + size :]) == {GUARD}, told
    return found.way


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_4_bits_are_the_naive_moves(seed):
    check_drawn(seed)


@pytest.mark.parametrize(
    ("shape", "order", "lag", "leader"),
    [
        ((300, 302), (1, 0), 6, 0),
        ((284, 302), (1, 0), 2, 1),
        ((272, 98), (1, 0), 8, 0),
        ((4, 134, 130), (2, 1, 0), 4, 1),
    ],
)
def test_two_runs_begin_anywhere_and_a_thread_writes_both(shape, order, lag, leader):
    tile = check(shape, order, "u4", Aim(32, 32, 1024, 128))
    assert (tile.lag, tile.leader) == (lag, leader)
    assert (tile.halo > 0, tile.parted, tile.write_shift) == (True, True, True)


def test_rows_behind_two_folds():
    tile = check((304 - 8, 304), (1, 0), "u4", Aim(64, 64, 8192, 128), fold=4, word_stores=True)
    assert (tile.foldable, tile.lag) == (True, 4)


def test_rows_of_two_bytes_are_read_as_one_run():
    tile = check((600, 4), (1, 0), "u4", Aim(64, 64, 4096, 128))
    assert tile.pair.exchanged in tile.read_run


@pytest.mark.parametrize(
    ("source", "target", "box", "kind"),
    [
        (S[62, 94], S[(62, 94) : (1, 64)], (62, 94), "tile"),
        (S[64, 96], S[(62, 94) : (1, 62)], (62, 94), "tile"),
        (S[62, 94], S[(64, 96) : (1, 64)], (62, 94), "tile"),
        (S[64, 96], S[((3, 32), 96) : ((3072, 1), 32)], (64, 96), "tile"),
        (S[63, 94], S[(64, 94) : (1, 64)], (63, 94), "gather"),
        (S[62, 93], S[(62, 94) : (1, 62)], (62, 93), "gather"),
    ],
)
def test_a_box_of_whole_bytes_goes_by_tiles(source, target, box, kind):
    found = plan(source, target, "u4", shape=box)
    assert found.kind == kind


def test_rows_that_begin_amid_bytes_go_one_by_one():
    source, target = permuted((64, 96), (1, 0))
    apart = S[(64, 96) : (1, 65)]
    others = target, target + 64, target + 34, target + 33, apart
    assert [plan(source, other, "u4").kind for other in others] == ["tile"] * 3 + ["gather"] * 2
    assert plan(*permuted((65, 96), (1, 0)), "u4").kind == "gather"


def test_cases_are_of_many_kinds():
    ways = [drawn(seed)[1].way for seed in range(300)]
    tiles = [way for way in ways if isinstance(way, Tile) and way.pair.exchanged is not None]
    parted = [tile for tile in tiles if tile.parted]
    assert len(tiles) > 200
    assert {tile.lag for tile in parted} >= {0, 1, 2, 4, 8}
    shifts = {(tile.read_shift, tile.write_shift) for tile in parted}
    assert shifts >= {(True, True), (True, False), (False, True)}
    assert {bool(tile.halo) for tile in parted} == {tile.nested for tile in parted} == {True, False}
    assert any(limit.fills for tile in parted for limit in tile.pair.limits)
    assert any(not limit.fills for tile in parted for limit in tile.pair.limits)
    assert np.mean([isinstance(way, Tile) for way in ways]) > 0.6
