"""A leg begins where its tile is: what is elsewhere is refused, and told how it gets there."""

from __future__ import annotations

import numpy as np
import pytest

from tilewise import LayoutError, S, Swizzle
from tilewise.simulate.journey import Journey

NUMBERS = np.arange(64 * 64).reshape(64, 64) % 7


@pytest.fixture
def way():
    return Journey()


@pytest.mark.parametrize(
    ("leg", "words", "hint"),
    [
        (lambda way, tensor, tile: way.to_registers(tensor, "A"), "A is in global memory", "tma_load"),
        (lambda way, tensor, tile: way.wgmma(tensor, tile), "A is in global memory", "tma_load"),
        (lambda way, tensor, tile: way.wgmma(tile, tensor), "A is in global memory", "tma_load"),
        (lambda way, tensor, tile: way.tma_store(tensor, tensor), "A is in global memory", "tma_load"),
        (lambda way, tensor, tile: way.tma_load(tile, (64, 64)), "A tile is in shared memory", "tensor"),
        (lambda way, tensor, tile: way.tma_store(tile, tile), "A tile is in shared memory", "tensor"),
        (lambda way, tensor, tile: way.tma_load(NUMBERS, (64, 64)), "not the ndarray", "tensor"),
        (lambda way, tensor, tile: way.to_registers("A tile", "A"), "not the str", "tma_load"),
    ],
    ids=[
        "ldmatrix-of-global",
        "wgmma-of-global-a",
        "wgmma-of-global-b",
        "store-of-global",
        "load-of-shared",
        "store-to-shared",
        "load-of-numbers",
        "ldmatrix-of-a-name",
    ],
)
def test_a_leg_begins_where_its_tile_is(way, leg, words, hint):
    tensor = way.tensor("A", NUMBERS, "bf16")
    tile = way.tma_load(tensor, (64, 64))
    legs = list(way.legs)
    with pytest.raises(LayoutError) as refused:
        leg(way, tensor, tile)
    assert words in refused.value.message
    assert hint in refused.value.hint
    assert way.legs == legs


def test_a_refused_leg_does_not_keep_the_next_one_from_its_name(way):
    tensor = way.tensor("A", NUMBERS, "bf16")
    with pytest.raises(LayoutError, match="multiple of 8"):
        way.tma_load(tensor, (64, 60), mode="none")
    tile = way.tma_load(tensor, (64, 64))
    assert np.array_equal(way.read(tile), NUMBERS)


def test_a_tile_may_be_read_as_one_who_is_wrong_about_it_does(way):
    """The leg that reads is the one that is named, with the first element that is another."""
    tile = way.tma_load(way.tensor("A", NUMBERS, "bf16"), (64, 64), mode="128B")
    way.to_registers(tile, "A")
    way.to_registers(tile, "A", mode="128B")
    way.to_registers(tile, "A", layout=Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)])
    assert way.wrong is None
    for asked in ({"mode": "64B"}, {"layout": S[(64, 64) : (64, 1)]}):
        way = Journey()
        tile = way.tma_load(way.tensor("A", NUMBERS, "bf16"), (64, 64), mode="128B")
        way.to_registers(tile, "A", **asked)
        assert way.wrong is way.legs[1]
        row, column = way.wrong.wrong.index
        assert way.wrong.wrong.expected == NUMBERS[row, column]
        assert "WRONG: element" in str(way)
