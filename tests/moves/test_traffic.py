"""The sectors of a tile, counted: those that each block touches, element by element."""

import itertools
from math import prod

import numpy as np
import pytest

from tilewise import S
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves import plan
from tilewise.moves.pairs.digits import begins_at


def turned(shape, order, dtype):
    strides, step = [0] * len(shape), 1
    for i in reversed(order):
        strides[i] = step
        step *= shape[i]
    return plan(S[tuple(shape)], S[tuple(shape) : tuple(strides)], dtype)


def blocks(tile):
    """The values of each digit that a block reads, its halo among them, and where its write run begins."""
    last = tile.write_run[-1]
    for where in itertools.product(*(range(count) for count in tile.counts)):
        begins = [number * extent for number, extent in zip(where, tile.extents, strict=True)]
        before = [tile.halo if i == last else 0 for i in range(len(begins))]
        values = [
            np.arange(max(0, begin - more), min(begin + extent, digit.extent))
            for begin, more, extent, digit in zip(begins, before, tile.extents, tile.digits, strict=True)
        ]
        yield values, begins[last] * tile.write_inner


def counted(tile, name):
    """Sectors that all blocks touch, for as many bytes of elements as one has."""
    side = tile.pair.source if name == "read" else tile.pair.target
    sectors = 0
    for digits, begin in blocks(tile):
        address, position = np.full(1, side.start), np.zeros(1, int)
        for i, (digit, values) in enumerate(zip(tile.digits, digits, strict=True)):
            along = values * digit.write if i in tile.write_run else values * 0
            address = np.add.outer(address, values * getattr(digit, name)).ravel()
            position = np.add.outer(position, along).ravel()
        needed = position >= begin - (SECTOR // tile.unit - 1 if tile.halo else 0)
        sectors += len(np.unique(address[needed] * tile.unit // SECTOR))
    return sectors * SECTOR / (prod(digit.extent for digit in tile.digits) * tile.unit)


@pytest.mark.parametrize(
    ("shape", "order", "dtype"),
    [
        ((1031, 2053), (1, 0), "u8"),
        ((2044, 2060), (1, 0), "u8"),
        ((515, 1027), (1, 0), "f32"),
        ((515, 1027), (1, 0), "f64"),
        ((63, 9, 65, 127), (3, 2, 1, 0), "f32"),
        ((9, 403, 67, 61), (0, 2, 1, 3), "bf16"),
        ((1021, 1023), (1, 0), "b128"),
        ((1024, 1024), (1, 0), "u8"),
        ((4096, 8), (1, 0), "bf16"),
    ],
)
def test_sectors_are_those_that_are_counted(shape, order, dtype):
    tile = turned(shape, order, dtype).way
    reads, writes = tile.sectors(256)
    assert reads == pytest.approx(counted(tile, "read"), rel=0.03)
    if not tile.halo:
        assert writes == pytest.approx(counted(tile, "write"), rel=0.03)


@pytest.mark.parametrize(
    ("source", "target", "dtype"),
    [
        (S[3, 4096], S[(3, 4096) : (1, 4)], "u8"),  # a byte beside every pixel
        (S[(512, 256, 3) : (768, -3, 1)] + 765, S[(512, 256, 3) : (256, 1, 131072)], "u8"),  # mirrored
        (S[(512, 256) : (272, 1)], S[(512, 256) : (1, 544)], "u8"),  # gaps in which a sector has no room
        (S[(64, 64) : (64, 4096)], S[64, 64], "b128"),
    ],
    ids=str,
)
def test_sectors_of_gaps_and_of_steps_downwards_are_those_that_are_counted(source, target, dtype):
    tile = plan(source, target, dtype).way
    reads, writes = tile.sectors(256)
    assert reads == pytest.approx(counted(tile, "read"), rel=0.05)
    assert writes == pytest.approx(counted(tile, "write"), rel=0.05)


def test_sectors_of_what_is_read_again_and_again_are_those_of_once():
    assert plan(S[(1024, 1024) : (0, 1)], S[1024, 1024], "u8").sectors == (1.0, 1.0)


def test_what_no_tile_moves_has_sectors_where_they_are_known():
    one_by_one = plan(S[6], S[6:2], "u8")
    assert (one_by_one.kind, one_by_one.data()["sectors"]) == ("gather", None)
    assert plan(S[6] + 6, S[6], "u8").data()["sectors"] == {"read": 1.0, "write": 1.0}


def test_where_rows_begin():
    pair = turned((24, 40), (1, 0), "u8").pair
    runs = pair.digits
    assert [begins_at(pair, "read", (1,), [digit.extent for digit in runs], 256)] == [8]
    assert begins_at(pair, "write", (0,), (16, 40), 256) == 8
    assert begins_at(pair, "write", (0,), (24, 40), 4) == 4
