"""Tiles that are forced on small tensors, each with what makes it special, run as programs of threads."""

import ctypes
from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from tests.moves.pairs import Case, case
from tests.moves.shim import aligned, run
from tests.moves.test_move import expected, on_the_shim, storage

from tilewise import DType, O, S, Swizzle
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves import move, plan
from tilewise.moves.arrays.tuned import tiles_of
from tilewise.moves.kernels import spelling
from tilewise.moves.kernels.checked import Fault
from tilewise.moves.pairs.digits import simplest, spread
from tilewise.moves.tiles import tile as tile_module
from tilewise.moves.tiles.aims import Aim
from tilewise.moves.tiles.conflicts import STAGGERS
from tilewise.moves.tiles.tile import VECTOR, Tile
from tilewise.moves.tiles.tiling import HALO, SLACK, tile_for


def permuted(shape, order):
    """A row-major array, and the same with its modes in another order."""
    strides, step = [0] * len(shape), 1
    for i in reversed(order):
        strides[i] = step
        step *= shape[i]
    return S[shape], S[shape : tuple(strides)]


def forced(shape, order, dtype, aim, **changed):
    """The plan of a permutation, by a tile for that aim."""
    found = plan(*permuted(shape, order), dtype)
    pair = simplest(found.pair, 2048)
    tile = tile_for(spread(pair) if pair.bits == 4 else pair, aim)
    return replace(found, chosen=replace(tile, **changed))


def turned(array, shape, order, bits):
    """The bytes that NumPy makes of it."""
    if bits == 4:
        halves = np.stack([array & 15, array >> 4], axis=1).reshape(shape).transpose(order).reshape(-1)
        return halves[0::2] | halves[1::2] << 4
    return array.reshape(*shape, bits // 8).transpose(*order, len(shape)).reshape(-1)


def check(shape, order, dtype, aim, **changed):
    """Run the forced plan, compare, and give its tile."""
    found = forced(shape, order, dtype, aim, **changed)
    count = found.pair.source.size * found.pair.bits // 8
    given, made = aligned(count), aligned(count)
    given[:] = np.random.default_rng(count).integers(0, 256, count)
    run(found.kernel, found.launch[0], found.launch[1], given, made)
    assert isinstance(found.way, Tile)
    assert made.tobytes() == turned(given, shape, order, found.pair.bits).tobytes()
    return found.way


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "aim", "nested"),
    [
        ((31, 2, 33, 3, 19), (4, 1, 3, 0, 2), "bf16", Aim(64, 256, 4096, 128), False),
        ((31, 5, 33, 37), (3, 1, 0, 2), "u8", Aim(32, 256, 4096, 128), False),
        ((31, 5, 33, 37), (3, 1, 0, 2), "u8", Aim(32, 320, 4096, 128), True),
        ((31, 2, 33, 21), (3, 1, 0, 2), "f32", Aim(32, 320, 4096, 128), True),
    ],
)
def test_a_share_of_a_run_ends_within_a_sector(shape, order, dtype, aim, nested):
    tile = check(shape, order, dtype, aim)
    assert (tile.uneven, tile.write_shift, tile.nested) == (True, True, nested)
    assert 0 < tile.unread < tile.halo * tile.write_inner
    assert tile.surplus < prod(tile.held) / prod(tile.extents)
    assert tile.write_vectors == most_vectors(tile)


def most_vectors(tile: Tile) -> int:
    """Vectors of the sectors that end in a run of a tile, wherever it begins."""
    length = tile.run_elements * tile.unit
    ends = ((begin, begin + length) for begin in range(0, SECTOR, tile.unit))
    return max(end // SECTOR - begin // SECTOR for begin, end in ends) * (SECTOR // VECTOR)


@pytest.mark.parametrize(("extent", "dtype"), [(63, "u8"), (65, "u8"), (37, "bf16"), (33, "f32")])
def test_short_runs_are_written_by_a_thread_for_each_of_their_vectors(extent, dtype):
    turn = plan(S[extent, 4001, 301], S[(extent, 4001, 301) : (1, extent, extent * 4001)], dtype)
    tile = turn.way
    assert isinstance(tile, Tile)
    assert tile.uneven
    assert tile.write_vectors == most_vectors(tile)
    assert tile.write_vectors % tile.columns == 0


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "aim"),
    [
        ((33, 7, 29), (2, 1, 0), "f32", Aim(64, 128, 4096, 128)),
        ((21, 5, 37), (2, 1, 0), "bf16", Aim(32, 32, 1024, 128)),
        ((13, 5, 3, 37), (3, 1, 2, 0), "u8", Aim(32, 16, 512, 128)),
    ],
)
def test_a_run_that_ends_within_a_vector_goes_on_into_the_next_digit(shape, order, dtype, aim):
    tile = check(shape, order, dtype, aim)
    assert tile.extents[tile.write_run[0]] == tile.digits[tile.write_run[0]].extent
    assert tile.halo >= 1
    assert not tile.partial


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "digits", "pieces"),
    [
        ((30, 12, 12), (0, 2, 1), "f16", 3, 2),
        ((70, 12, 12), (0, 2, 1), "u8", 3, 3),
        ((70, 13, 13), (0, 2, 1), "u8", 3, 3),
        ((900, 3, 3), (0, 2, 1), "f16", 3, 4),
        ((130, 4, 6), (0, 2, 1), "u8", 3, 5),
        ((5, 3, 4, 14, 4, 14), (0, 2, 4, 3, 5, 1), "f16", 4, 4),
        ((5, 3, 4, 14, 4, 14), (0, 2, 4, 3, 5, 1), "u8", 5, 6),
    ],
)
def test_whole_runs_of_a_tile_go_on_and_are_gathered_in_pieces(shape, order, dtype, digits, pieces):
    tile = check(shape, order, dtype, Aim(128, 64, 8192))
    assert (len(tile.write_run), tile.nested, tile.swizzle_shift) == (digits, False, None)
    assert all(tile.extents[i] == tile.digits[i].extent for i in tile.write_run[:-1])
    gathered = forced(shape, order, dtype, Aim(128, 64, 8192)).kernel
    assert (f"at{pieces - 1} =" in gathered, f"at{pieces} =" in gathered) == (True, False)


@pytest.mark.parametrize(("shape", "dtype"), [((1000000, 12, 12), "f16"), ((1704144, 13, 13), "u8")])
def test_matrices_of_a_batch_lie_side_by_side_on_both_sides(shape, dtype):
    tile = plan(*permuted(shape, (0, 2, 1)), dtype).way
    assert isinstance(tile, Tile)
    assert (tile.read_run, tile.write_run) == ((2, 1, 0), (1, 2, 0))
    assert (tile.read_shift, tile.write_shift) == (False, False)


def test_words_of_the_source_are_turned_where_a_whole_run_could_go_on_along_them():
    tile = plan(*permuted((64, 128, 96, 96), (0, 2, 3, 1)), "bf16").way
    assert isinstance(tile, Tile)
    assert (tile.write_run, tile.words) == ((1,), 2)


@pytest.mark.parametrize(
    ("shape", "dtype", "aim", "extents"),
    [
        ((511, 515), "bf16", Aim(256, 128, 16384), (64, 129)),
        ((300, 257), "u8", Aim(128, 128, 8192), (166, 129)),
        ((255, 130), "f32", Aim(128, 128, 8192), (72, 33)),
        ((320, 320), "f32", Aim(512, 128, 16384), (32, 160)),
        ((272, 272), "u8", Aim(128, 128, 4096), (96, 96)),
    ],
)
def test_tiles_of_a_digit_are_as_long_as_each_other(shape, dtype, aim, extents):
    tile = check(shape, (1, 0), dtype, aim)
    assert tile.extents == extents
    assert (tile.read_shift, tile.write_shift) == ((shape[0] % 16 != 0,) * 2)


@pytest.mark.parametrize("stagger", STAGGERS, ids=str)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((301, 160), "u8"), ((304, 100), "u8"), ((3, 101, 76), "u8"), ((299, 34), "bf16"), ((301, 53), "f32")],
)
def test_threads_that_begin_with_other_elements_make_the_same_vectors(shape, dtype, stagger):
    order = (len(shape) - 1, *range(len(shape) - 1))
    tile = check(shape, order, dtype, Aim(64, 128, 8192, 128), stagger=stagger)
    assert tile.regular


@pytest.mark.parametrize(
    ("shape", "dtype", "aim"),
    [
        ((322, 3, 12, 12), "u8", Aim(64, 64, 4096)),
        ((159, 5, 4, 20), "bf16", Aim(64, 64, 8192)),
        ((340, 3, 10, 4), "bf16", Aim(16, 128, 8192)),
    ],
)
def test_a_run_that_goes_on_from_a_row_into_padded_ones_is_gathered_in_order(shape, dtype, aim):
    tile = check(shape, (1, 3, 0, 2), dtype, aim)
    assert (tile.write_run[0] in tile.read_run, tile.write_run[1] in tile.rows) == (True, True)
    assert not tile.run_bytes % VECTOR
    assert tile.padding
    assert (tile.regular, tile.stagger) == (False, None)


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ((519217, 517), 1),  # a row's next tile is 4057 blocks away otherwise
        ((65489, 4099), 1),
        ((8197, 32749), 0),  # what is read between fits in the cache
        ((517, 519217), 0),
        ((524288, 512), 0),  # no sector is shared
    ],
)
def test_neighbours_in_a_row_follow_each_other_where_a_cache_forgets_between(shape, first):
    assert plan(*permuted(shape, (1, 0)), "u8").way.block_order[0] == first


@pytest.mark.parametrize(("shape", "order"), [((301, 170), (1, 0)), ((9, 40, 170), (2, 1, 0))])
def test_blocks_in_the_order_of_the_source_move_the_same(monkeypatch, shape, order):
    monkeypatch.setattr(tile_module, "FORGOTTEN", 0)
    tile = check(shape, order, "u8", Aim(64, 32, 2048, 128))
    assert tile.block_order[0] == tile.read_run[-1] == len(shape) - 1


def test_rows_that_end_in_a_halo_are_read_to_their_end():
    source, target = S[2, 200, 2], S[(2, 200, 2) : (1, 2, 400)] + 1
    found = plan(source, target, "u8")
    tile = tile_for(simplest(found.pair, 2048), Aim(32, 32, 256, 128))
    given, made = aligned(800), aligned(801)
    given[:] = np.random.default_rng(1).integers(0, 256, 800)
    run(replace(found, chosen=tile).kernel, tile.blocks, tile.threads, given, made)
    assert (tile.read_run[-1], tile.read_shift, tile.halo) == (tile.write_run[-1], False, 16)
    assert made[1:].tobytes() == turned(given, (2, 200, 2), (2, 1, 0), 8).tobytes()


def test_a_halo_that_shifts_rows_has_none_that_are_swizzled():
    source, target = S[3, 200, 2], S[(3, 200, 2) : (1, 3, 600)] + 1
    plain, swizzled = (
        tile_for(simplest(plan(own, target, "u8").pair, 2048), Aim(32, 48, 256, 128))
        for own in (source, Swizzle(1, 4, 2) @ source)
    )
    assert (plain.read_run[-1], plain.halo * 2 % VECTOR, plain.read_shift) == (plain.write_run[-1], 6, True)
    assert swizzled is None


@pytest.mark.parametrize(
    ("shape", "order"),
    [((64, 96), (1, 0)), ((96, 160), (1, 0)), ((4, 32, 5, 64), (3, 0, 2, 1)), ((3, 64, 64), (2, 0, 1))],
)
def test_spread_elements_are_turned_by_words(shape, order):
    tile = check(shape, order, "u4", Aim(32, 32, 1024, 128))
    assert (tile.pair.spread, tile.words) == (True, 4)


@pytest.mark.parametrize(("shape", "dtype"), [((301, 70), "u8"), ((70, 98), "f32")])
def test_what_counts_by_64_bits_moves_the_same(monkeypatch, shape, dtype):
    monkeypatch.setattr(spelling, "INT", 64)
    assert "const long long o0" in forced(shape, (1, 0), dtype, Aim(32, 32, 1024, 128)).kernel
    check(shape, (1, 0), dtype, Aim(32, 32, 1024, 128))


@pytest.mark.parametrize(
    ("shape", "dtype", "wide"),
    [
        ((2, 134217000), "f32", False),
        ((2, 536870916), "f32", True),
        ((2, 268435458), "f64", True),
        ((3, 300000002), "f64", True),
    ],
)
def test_bytes_along_a_run_are_counted_by_64_beyond_31_bits(shape, dtype, wide):
    found = plan(*permuted(shape, (1, 0)), dtype)
    assert isinstance(found.way, Tile)
    assert ("const long long o1" in found.kernel) == wide


def test_what_a_limit_counts_beyond_31_bits_is_counted_by_64():
    found = plan(S[70000], S[((65536, 65536),) : ((1, 65552),)], "u8", shape=(70000,), fill=7)
    assert "const long long o0" in found.kernel


def test_a_digit_beyond_31_bits_is_counted_by_64():
    found = plan(*permuted((3 << 30, 6), (1, 0)), "u8")
    assert isinstance(found.way, Tile)
    assert "const long long o0 = (long long)(blockIdx.x) *" in found.kernel
    assert "const int o" not in found.kernel


@pytest.mark.parametrize(
    ("source", "target", "box"),
    [
        (S[((2, 8), 90) : ((720, 1), 8)], S[(10, 90) : (1, 10)], (2, 90)),
        (S[((2, 8), (12, 8)) : ((768, 8), (64, 1))], S[(10, 92) : (1, 10)], (2, 90)),
        (S[((2, 8), 90) : ((720, 1), 8)], S[(13, 90) : (1, 16)] + 3, (13, 90)),
        (S[((2, 4), 90) : ((360, 1), 4)], S[(5, 90) : (1, 8)] + 3, (5, 90)),
    ],
)
def test_blocks_of_the_source_that_reach_beyond_the_target_write_nothing_there(source, target, box):
    asked = Case(source, target, DType.of("u8"), box, 5)
    given = storage(asked, 1)
    found, made = on_the_shim(asked, given, target.max("m") + 1)
    wanted = expected(asked, given, target.max("m") + 1).tobytes()
    assert found.kind == "tile"
    assert made.tobytes() == wanted
    assert move(given, source, target, shape=box, fill=5).tobytes() == wanted


@pytest.mark.parametrize(
    ("rows", "columns", "padding", "later"), [(3, 13, 28, 0), (5, 13, 0, 1), (3, 21, 0, 1), (5, 29, 4, 3)]
)
def test_what_a_halo_has_before_its_tile_is_counted_in_limits(rows, columns, padding, later):
    within = 4 * columns - 5
    source = S[(rows, (columns, 4)) : (4, (4 * rows + padding, 1))]
    asked = Case(source, S[(rows, within) : (1, rows)] + later, DType.of("u8"), (rows, within), 5)
    found = plan(source, asked.target, "u8", shape=asked.shape)
    tile = tile_for(simplest(found.pair, 2048), Aim(16, 32, 64, 128))
    given, made = storage(asked, 1), aligned(found.sizes[1])
    made[:] = 5
    run(replace(found, chosen=tile).kernel, tile.blocks, tile.threads, given, made)
    assert (tile.halo > 0, len(tile.write_run), tile.pair.limits[0].fills) == (True, 3, False)
    assert made.tobytes() == expected(asked, given, made.size).tobytes()


@pytest.mark.parametrize(
    ("source", "target", "box"),
    [
        (S[(64, (2, 4)) : (4, (256, 1))], S[(64, 7) : (1, 64)], (64, 7)),
        (S[(64, (4, 4)) : (4, (256, 1))], S[(64, 13) : (1, 64)], (64, 13)),
    ],
)
def test_turned_words_that_a_limit_parts_are_written_within_it(source, target, box):
    found = plan(source, target, "u8", shape=box)
    asked = Case(source, target, DType.of("u8"), box, 0)
    given, room = aligned(found.sizes[0]), aligned(found.sizes[1] + 256)
    given[:], room[:] = storage(asked, 1), 0xA5
    run(found.kernel, found.launch[0], found.launch[1], given, room)
    made = room[: found.sizes[1]]
    assert (found.way.words, [limit.fills for limit in found.pair.limits]) == (4, [False])
    assert made.tobytes() == expected(asked, given, made.size).tobytes()
    assert {*room[made.size :]} == {0xA5}


@pytest.mark.parametrize(
    ("dtype", "fill"), [("b128", bytes(range(16))), ("b64", bytes(range(8))), ("u8", b"\5")], ids=str
)
def test_a_tile_of_vectors_fills_what_is_beyond_the_box(dtype, fill):
    """The fill of 16 bytes is four words that differ, in their order."""
    wide = 16 // len(fill)
    target = S[(32, 8, wide) : (wide, 32 * wide, 1)]
    found = plan(S[30, 7, wide], target, dtype, shape=(30, 7, wide), fill=fill, checked=True)
    given, made = aligned(found.sizes[0]), aligned(found.sizes[1])
    given[:] = np.random.default_rng(1).integers(0, 256, given.size)
    wanted = np.resize(np.frombuffer(fill, np.uint8), (8, 32, 16))
    wanted[:7, :30] = given.reshape(30, 7, 16).transpose(1, 0, 2)
    fault = Fault.in_dll(run(found.kernel, *found.launch[:2], given, made), "move_fault")
    assert (found.kind, found.way.unit, found.fills) == ("tile", 16, False)
    assert not fault.found, fault
    assert made.tobytes() == wanted.tobytes()


def test_no_tile_is_longer_than_its_digits(times):
    plans = [case(seed, 6000) for seed in range(times(400))]
    tiles = [
        tile
        for asked in plans
        for tile in tiles_of(plan(asked.source, asked.target, asked.dtype, shape=asked.shape))
    ]
    assert len(tiles) > times(1000)
    for tile in tiles:
        assert all(1 <= own <= digit.extent for own, digit in zip(tile.extents, tile.digits, strict=True))


def stored(tile, shift, row):
    """Bytes of shared memory that the vectors of a row of the first digit of the rows are stored to."""
    digit = tile.rows[0]
    back = (shift + row * tile.digits[digit].read * tile.unit) % SECTOR
    begin = shift - back + row * tile.pitches[digit]
    ends = back // tile.taken * tile.taken, -(-(back + tile.run_bytes) // tile.taken) * tile.taken
    return [begin + end for end in ends]


def test_rows_are_stored_to_bytes_of_their_own():
    plans = [case(seed, 6000) for seed in range(400)]
    asked = [plan(own.source, own.target, own.dtype, shape=own.shape) for own in plans]
    odd = [
        tile_for(spread(simplest(plan(*permuted(shape, (1, 0)), "u4").pair, 2048)), Aim(read, 128, 16384))
        for shape in ((333, 999), (333, 777), (51, 1001), (333, 1023))
        for read in (64, 128, 256)
    ]
    ways = [*(tile for one in asked for tile in tiles_of(one)), *odd]
    tiles = [way for way in ways if isinstance(way, Tile) and way.read_shift and way.rows]
    assert {(tile.taken, tile.word_stores) for tile in tiles} >= {(16, False), (16, True), (32, False)}
    for tile in tiles:
        for shift in range(0, SECTOR, tile.unit):
            rows = [stored(tile, shift, row) for row in range(min(40, tile.held[tile.rows[0]]))]
            assert all(end <= begin for (_, end), (begin, _) in pairwise(rows))


def test_a_share_of_a_run_is_whole_sectors_where_that_takes_little():
    found = forced((2, 5, 1001), (0, 2, 1), "u8", Aim(16, 128, 128, 128)).way
    assert found.halo
    assert (found.extents[found.write_run[-1]], found.uneven) == (32, False)


def test_a_tile_with_a_small_halo_is_taken_before_one_with_a_large():
    found = plan(*permuted((31, 17, 33, 67, 127), (4, 1, 3, 0, 2)), "bf16").way
    assert 1 < found.surplus <= HALO
    assert found.write_vectors * VECTOR <= SLACK * found.run_elements * found.unit


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "extents", "threads"),
    [
        ((16384, 16384), (1, 0), "u8", (256, 256), 512),
        ((4096, 4096), (1, 0), "u8", (64, 256), 512),
        ((1024, 1024), (1, 0), "u8", (64, 128), 256),
        ((16381, 16381), (1, 0), "u8", (128, 256), 512),
        ((523775, 513), (1, 0), "u8", (128, 129), 256),
        ((1447, 1447), (1, 0), "u8", (96, 64), 512),
        ((1024, 1023), (1, 0), "u8", (32, 64), 128),
        ((1447, 1447), (1, 0), "f32", (32, 48), 256),
        ((63, 65, 257, 255), (3, 2, 1, 0), "u8", (63, 2, 1, 128), 256),
        ((4096, 8192), (1, 0), "bf16", (64, 128), 512),
        ((16384, 8192), (1, 0), "bf16", (128, 128), 512),
        ((4095, 4095), (1, 0), "bf16", (64, 128), 512),
        ((9, 4095, 65, 63), (0, 2, 1, 3), "bf16", (1, 48, 3, 63), 256),
        ((8191, 8191), (1, 0), "f32", (32, 128), 512),
        ((64, 3, 1152, 1152), (0, 2, 3, 1), "u8", (1, 3, 2688), 128),
    ],
)
def test_tiles_are_those_that_were_fastest(shape, order, dtype, extents, threads):
    tile = plan(*permuted(shape, order), dtype).way
    assert (tile.extents, tile.threads) == (extents, threads)


@pytest.mark.parametrize(
    ("shape", "dtype", "bounds"),
    [
        ((12289, 21845), "u8", "512, 3"),
        ((523775, 513), "u8", "256, 6"),
        ((11587, 11587), "bf16", "512, 3"),
        ((101, 517, 503), "u8", "256"),
        ((8191, 8191), "f32", "512, MOVE_AT_ONCE / 512"),
    ],
)
def test_registers_last_for_as_many_blocks_as_was_fastest(shape, dtype, bounds):
    order = tuple(reversed(range(len(shape))))
    assert f"__launch_bounds__({bounds})" in plan(*permuted(shape, order), dtype).kernel


@pytest.mark.parametrize(
    ("shape", "order", "dtype", "aim"),
    [
        ((5, 61, 7, 90), (0, 3, 2, 1), "bf16", Aim(64, 64, 1024)),
        ((170, 301), (1, 0), "u8", Aim(64, 64, 1024)),
        ((301, 170), (1, 0), "f32", Aim(64, 64, 1024)),
    ],
)
def test_tiles_with_edges_within_the_storage_test_no_vector(shape, order, dtype, aim):
    found = forced(shape, order, dtype, aim)
    blocks, threads, _ = found.launch
    counted = f'extern "C" {{ u8 tests[{blocks}]; }}\n'
    text = found.kernel.replace("V16 one =", "tests[blockIdx.x] = 1; V16 one =")
    text = text.replace('extern "C"', counted + 'extern "C"', 1)
    count = found.pair.source.size * found.pair.bits // 8
    given, made = aligned(count), aligned(count)
    given[:] = np.random.default_rng(count).integers(0, 256, count)
    library = run(text, blocks, threads, given, made)
    tests = sum((ctypes.c_ubyte * blocks).in_dll(library, "tests"))
    assert made.tobytes() == turned(given, shape, order, found.pair.bits).tobytes()
    assert 0 < tests < (blocks - whole_tiles(found.way)) / 2


BEFORE = O[-256] @ Swizzle(3, 4, -4) @ (S[(54, 80) : (128, 1)] + 1280)
"""No element is swizzled to the 256 bytes before the storage, but what is behind some rows is."""


@pytest.mark.parametrize(
    ("source", "target", "dtype", "aim", "offset"),
    [
        (Swizzle(3, 2, -3) @ S[13, 40], S[(13, 40) : (1, 16)], "f32", Aim(64, 64, 1024), 0),
        (Swizzle(3, 4, -4) @ S[27, 80], S[(27, 80) : (1, 32)], "u8", Aim(48, 32, 1024), 0),
        (BEFORE, S[(54, 80) : (1, 64)], "u8", Aim(48, 32, 1024), 0),
        (S[(90, 70) : (-70, 1)] + 89 * 70, S[(90, 70) : (1, 90)], "u8", Aim(32, 32, 512), 0),
        (S[(90, 70) : (-70, 1)] + 89 * 70, S[(90, 70) : (1, 96)], "u8", Aim(32, 32, 512), 1),
        (S[90, 70], S[(90, 70) : (1, 90)], "u8", Aim(32, 32, 512), 17),
    ],
    ids=["swizzled words", "swizzled bytes", "before", "downwards", "downwards, with edges", "anywhere"],
)
def test_tiles_with_edges_read_within_the_storage(source, target, dtype, aim, offset):
    asked = Case(source, target, DType.of(dtype), None, 0)
    found = plan(source, target, dtype, aligned=offset & -offset or 256, checked=True)
    tile = tile_for(simplest(found.pair, 2048), aim, offset & -offset or 256)
    found = replace(found, chosen=tile)
    own = storage(asked, 1)
    given, made = aligned(own.size, offset), aligned(found.sizes[1], offset)
    given[:] = own
    fault = Fault.in_dll(run(found.kernel, *found.launch[:2], given, made), "move_fault")
    assert tile.ragged
    assert not fault.found, fault
    assert made.tobytes() == expected(asked, own, target.max("m") + 1).tobytes()


def whole_tiles(tile):
    """Return how many tiles, with their halos, are within all digits."""
    counts = []
    for i, digit in enumerate(tile.digits):
        own, halo = tile.extents[i], tile.held[i] - tile.extents[i]
        begins = range(0, own * tile.counts[i], own)
        counts.append(sum(begin >= halo and begin + own <= digit.extent for begin in begins))
    return prod(counts)
