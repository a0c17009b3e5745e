"""Elements of 4 bits that part: tiles whose elements are spread, or turned, run as programs of threads."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.moves.pairs import of_4_bits
from tests.moves.shim import aligned, run
from tests.moves.test_move import element, expected, storage
from tests.moves.test_tiles import permuted

from tilewise import O, S, Swizzle
from tilewise.moves import move, plan
from tilewise.moves.kernels import spelling
from tilewise.moves.pairs.digits import simplest, spread
from tilewise.moves.tiles import tile as tile_module
from tilewise.moves.tiles.aims import Aim
from tilewise.moves.tiles.conflicts import STAGGERS
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.tiling import tile_for
from tilewise.moves.tiles.turned import FEW_TILES, Turned, turned_by
from tilewise.moves.ways import Bulk

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
    pair = None if found.pair.digits is None else simplest(found.pair, 8 * found.aligned)
    if pair is not None and pair.bits == 4 and draw.random() < 0.7:
        found = replace(found, chosen=_another(pair, found, draw))
    return asked, found, offset


def _another(pair, found, draw):
    """Return a small tile of some kind; the plan's own where no such tile exists."""
    if draw.random() < 0.25:
        sizes = draw.choice([64, 128, 256]), draw.choice([32, 96, 224]), draw.choice([64, 128])
        return turned_by(pair, *sizes) or found.way
    runs = draw.choice([16, 32, 64, 128]), draw.choice([16, 16, 32, 32, 64])
    aim = Aim(*runs, draw.choice([256, 256, 4096]), draw.choice([32, 128]))
    return tile_for(spread(pair), aim, 2 * found.aligned) or found.way


def check_drawn(seed):
    """Run the kernel of a seed on the CPU: it makes the naive move, and nothing beside the target."""
    asked, found, offset = drawn(seed)
    source, size = storage(asked, seed), found.sizes[1]
    given, room = aligned(source.size, offset), aligned(size + 512, offset)
    given[:], room[:] = source, GUARD
    target = room[256 : 256 + size]
    if found.fills:
        target[found.fill_from :] = found.fill[0]
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


def way(source, target, box=None):
    """Return the way of elements of 4 bits."""
    found = plan(source, target, "u4", shape=box).way
    if isinstance(found, Turned):
        return "turned"
    return "spread" if found.pair.spread else "bytes"


@pytest.mark.parametrize(
    ("source", "target", "box", "wanted"),
    [
        (S[254, 94], S[(254, 94) : (1, 256)], (254, 94), "turned"),
        (S[256, 96], S[(254, 94) : (1, 254)], (254, 94), "turned"),
        (S[254, 94], S[(256, 96) : (1, 256)], (254, 94), "spread"),
        (S[256, 96], S[((3, 128), 96) : ((12288, 1), 128)], (256, 96), "spread"),
        (S[255, 94], S[(256, 94) : (1, 256)], (255, 94), "spread"),
        (S[254, 93], S[(254, 94) : (1, 254)], (254, 93), "spread"),
    ],
)
def test_a_box_is_spread_where_a_limit_counts(source, target, box, wanted):
    assert way(source, target, box) == wanted


def test_a_limit_may_count_both_digits_of_a_byte():
    source, target = S[((64, 32),) : ((32, 1),)], S[((64, 32),) : ((1, 64),)]
    assert [way(source, target, box) for box in (None, (2048,), (2016,))] == ["spread"] * 3
    found = plan(source, target, "u4", shape=(2016,), fill=9)
    assert sorted(digit.counts for digit in found.pair.digits) == [(1,), (32,)]
    check_guarded(found)


@pytest.mark.parametrize(
    ("later", "wanted"), [(0, "spread"), (32, "spread"), (16, "spread"), (2, "bytes"), (1, "bytes")]
)
def test_elements_are_spread_where_what_is_behind_a_swizzle_is_whole_vectors(later, wanted):
    rows, columns = permuted((128, 96), (1, 0))
    apart = O[later] @ Swizzle(2, 5, 3)
    for sides in ((apart @ rows, columns), (rows, apart @ columns)):
        assert way(*sides) == wanted
        check_guarded(plan(*sides, "u4", fill=9))


def test_rows_that_begin_amid_bytes_are_turned_or_spread():
    source, target = permuted((256, 96), (1, 0))
    others = target, target + 64, target + 34, target + 33, S[(256, 96) : (1, 257)]
    assert [way(source, other) for other in others] == ["spread"] * 2 + ["turned"] * 3
    assert way(*permuted((65, 96), (1, 0))) == "spread"
    assert way(*permuted((129, 66), (1, 0))) == "turned"


def test_rows_of_few_bytes_are_spread():
    assert [way(*permuted((n, 4096), (1, 0))) for n in (3, 6, 10, 32)] == ["spread"] * 4
    assert way(*permuted((4096, 3), (1, 0))) == "spread"


@pytest.mark.parametrize(
    ("shape", "order", "sizes"),
    [
        ((301, 203), (1, 0), (64, 96, 128)),
        ((131, 262), (1, 0), (256, 32, 64)),
        ((5, 7, 31, 9), (3, 1, 0, 2), (128, 32, 64)),
        ((9, 3, 11, 7), (3, 2, 1, 0), (64, 32, 64)),
    ],
)
def test_turned_tiles_are_the_naive_moves(shape, order, sizes):
    found = plan(*permuted(shape, order), "u4", fill=9)
    check_guarded(replace(found, chosen=turned_by(simplest(found.pair), *sizes)))


def test_turned_runs_go_over_as_many_digits_as_make_them_long():
    tile = turned_by(simplest(plan(*permuted((9, 3, 11, 7), (3, 2, 1, 0)), "u4").pair), 64, 224, 128)
    assert (tile.read_run, tile.write_run) == ((3, 2), (0, 1))
    assert [tile.length(run) for run in (tile.read_run, tile.write_run)] == [77, 27]


def test_rows_of_turned_tiles_are_as_long_as_each_other():
    wide = [plan(*permuted((200003, row), (1, 0)), "u4").way.wide for row in (32767, 769, 517, 254)]
    assert wide == [192, 160, 176, 128]


def test_turned_tiles_follow_each_other_in_a_row_where_a_cache_forgets_between():
    far, near = (plan(*permuted((n, 769), (1, 0)), "u4").way for n in (522753, 30011))
    assert [next(iter(tile.counts)) for tile in (far, near)] == [far.read_run, near.write_run]


@pytest.mark.parametrize(("shape", "order"), [((301, 203), (1, 0)), ((9, 11, 5, 31), (3, 1, 0, 2))])
def test_turned_tiles_in_the_order_of_the_source_move_the_same(monkeypatch, shape, order):
    monkeypatch.setattr(tile_module, "FORGOTTEN", 0)
    found = plan(*permuted(shape, order), "u4", fill=9)
    tile = turned_by(simplest(found.pair), 64, 32, 128)
    assert next(iter(tile.counts)) == tile.read_run
    check_guarded(replace(found, chosen=tile))


COUNTS = {
    "far": re.compile(r"const (\w+|long long) (?:along|across) = "),
    "near": re.compile(r"(\w+|long long) (?:at\[8\];|run = )"),
    "wide": re.compile(r"const (\w+|long long) (?:from|place) = "),
}
"""Variables that count along a run, between places of a tile, and in a storage, with their types."""


def counted_by(text):
    """The types that count in the kernel of a turned tile."""
    return {name: {own.split()[0] for own in pattern.findall(text)} for name, pattern in COUNTS.items()}


@pytest.mark.parametrize(
    ("source", "target", "types"),
    [
        (*permuted((301, 203), (1, 0)), ("int", "int", "int")),
        (*permuted((20000, 301, 203), (0, 2, 1)), ("int", "int", "long")),
        (*permuted((3 << 30, 301), (1, 0)), ("long", "long", "long")),
        (*permuted((301, 3 << 30), (1, 0)), ("long", "long", "long")),
        (S[(301, 203) : (1 << 32, 1)], S[(301, 203) : (1, 301)], ("int", "long", "long")),
        (S[301, 203], S[(301, 203) : (1, 1 << 32)], ("int", "long", "long")),
    ],
    ids=str,
)
def test_turned_tiles_count_by_64_bits_beyond_31(source, target, types):
    found = plan(source, target, "u4")
    assert isinstance(found.way, Turned)
    assert counted_by(found.kernel) == {name: {own} for name, own in zip(COUNTS, types, strict=True)}


@pytest.mark.parametrize(("shape", "order"), [((301, 203), (1, 0)), ((9, 3, 11, 7), (3, 2, 1, 0))])
def test_turned_tiles_that_count_by_64_bits_move_the_same(monkeypatch, shape, order):
    monkeypatch.setattr(spelling, "INT", 64)
    found = plan(*permuted(shape, order), "u4", fill=9)
    found = replace(found, chosen=turned_by(simplest(found.pair), 64, 96, 128))
    assert counted_by(found.kernel)["far"] == {"long"}
    check_guarded(found)


def test_few_turned_tiles_are_small_ones():
    small, large = (plan(*permuted((n, n), (1, 0)), "u4").way for n in (1447, 8191))
    assert (small.wide, small.tall) < (large.wide, large.tall)
    assert replace(small, wide=large.wide, tall=large.tall).blocks < FEW_TILES <= large.blocks


@pytest.mark.parametrize("stagger", [own for own in STAGGERS if own.of_words], ids=str)
def test_threads_that_begin_with_other_words_pack_the_same_elements(stagger):
    found = plan(*permuted((3, 331, 3), (0, 2, 1)), "u4", fill=9)
    tile = tile_for(spread(simplest(found.pair)), Aim(64, 64, 1024), 512)
    assert tile.regular
    check_guarded(replace(found, chosen=replace(tile, stagger=stagger)))


def check_guarded(found):
    """Run a kernel on the CPU: it makes the move, and nothing beside the target."""
    read, written = found.sizes
    given, room = aligned(read), aligned(written + 512)
    given[:], room[:] = np.random.default_rng(read).integers(0, 256, read), GUARD
    target = room[256 : 256 + written]
    if found.fills:
        target[found.fill_from :] = found.fill[0]
    run(found.kernel, found.launch[0], found.launch[1], given, room[256:])
    made = move(given, found.source, found.target, dtype="u4", shape=found.pair.box, fill=9)
    assert target.tobytes() == made.tobytes()
    assert {*room[:256], *room[256 + written :]} == {GUARD}


@pytest.mark.parametrize(
    ("shape", "order", "aim"),
    [
        ((301, 303), (1, 0), Aim(64, 64, 4096, 128)),
        ((64, 96), (1, 0), Aim(32, 32, 1024, 128)),
        ((3, 701), (1, 0), Aim(64, 128, 512, 128)),
        ((701, 3), (1, 0), Aim(64, 128, 512, 128)),
        ((5, 7, 31, 9), (3, 1, 0, 2), Aim(32, 64, 1024, 128)),
    ],
)
def test_spread_tiles_are_the_naive_moves(shape, order, aim):
    found = plan(*permuted(shape, order), "u4", fill=9)
    check_guarded(replace(found, chosen=tile_for(spread(simplest(found.pair)), aim)))


def test_a_thread_gathers_a_word_of_the_target():
    found = plan(S[(33, 21) : (64, 3)], S[33, 21], "u4", fill=9)
    assert (found.kind, found.way.in_words, found.vector) == ("gather", True, {"read": 1, "write": 4})
    check_guarded(found)


def test_a_last_byte_that_is_not_whole_is_all_that_is_filled():
    odd, even, spaced = (plan(S[63, n], S[(63, n) : (1, m)], "u4") for n, m in ((63, 63), (64, 63), (63, 64)))
    assert (odd.fills, odd.fill_from) == (True, 1984)
    assert (even.fills, even.fill_from) == (False, 0)
    assert (spaced.fills, spaced.fill_from) == (True, 0)
    assert odd.seconds < spaced.seconds


def test_cases_are_of_many_kinds():
    ways = [drawn(seed)[1].way for seed in range(300)]
    spread = [way for way in ways if isinstance(way, Tile) and way.pair.spread]
    turned = [way for way in ways if isinstance(way, Turned)]
    assert min(len(spread) - 100, len(turned) - 20) > 0, (len(spread), len(turned))
    shifts = {(tile.read_shift, tile.write_shift) for tile in spread}
    assert shifts == {(True, True), (True, False), (False, True), (False, False)}
    assert {tile.words for tile in spread} == {1, 4}
    assert {bool(tile.halo) for tile in spread} == {tile.nested for tile in spread} == {True, False}
    assert any(limit.fills for tile in spread for limit in tile.pair.limits)
    assert any(not limit.fills for tile in spread for limit in tile.pair.limits)
    assert any(side.swizzles for tile in spread for side in (tile.pair.source, tile.pair.target))
    assert max(len(tile.write_run) for tile in turned) > 1
    assert np.mean([isinstance(way, Tile) for way in ways]) > 0.6
