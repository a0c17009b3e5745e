"""Where a tile lies in shared memory: the choice beside every other, each counted lane by lane."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from statistics import mean

import pytest

from tilewise import S
from tilewise.check.banks import counted
from tilewise.moves import plan
from tilewise.moves.tiles.conflicts import (
    COLUMNS,
    EACH,
    PADDINGS,
    SHORT_RUN,
    STAGGERS,
    STORES,
    WHOLE_WARP,
    Gathering,
    calmest,
)
from tilewise.moves.tiles.paddings import PADDING_COST, SHIFTS, least_conflicts
from tilewise.moves.tiles.tile import Stagger, Tile

SHIFTED = {
    "bytes, both sides": plan(S[16381, 16381], S[(16381, 16381) : (1, 16381)], "u8"),
    "bytes, both sides, at other bytes of a word": plan(S[4091, 4093], S[(4091, 4093) : (1, 4091)], "u8"),
    "bytes, the source": plan(S[4096, 4093], S[(4096, 4093) : (1, 4096)], "u8"),
    "bytes, the target": plan(S[4093, 4096], S[(4093, 4096) : (1, 4093)], "u8"),
    "bytes, whole words": plan(S[4092, 4092], S[(4092, 4092) : (1, 4092)], "u8"),
    "halves": plan(S[1447, 1447], S[(1447, 1447) : (1, 1447)], "bf16"),
    "words": plan(S[511, 511], S[(511, 511) : (1, 511)], "f32"),
    "words of doubles": plan(S[511, 511], S[(511, 511) : (1, 511)], "f64"),
    "planes to pixels": plan(S[3, 1151 * 1151], S[(3, 1151 * 1151) : (1, 3)], "u8"),
    "a run of two digits": plan(S[17, 33, 67], S[(17, 33, 67) : (33, 1, 561)], "bf16"),
    "a run of a digit of rows and one of others": plan(
        S[1255, 64, 6, 20], S[(1255, 64, 6, 20) : (6, 150600, 1, 7530)], "bf16"
    ),
    "a digit that does not divide a vector": plan(S[64, 4, 15], S[(64, 4, 15) : (64, 16, 1)] + 3, "u8"),
    "rows of two digits": plan(
        S[(50, 49) : (65, 1)], S[((25, 2), (7, 7)) : ((112, 7), (16, 1))], "u8", shape=(50, 49)
    ),
    "rows of the source that follow each other": plan(S[(3300, 32) : (64, 1)], S[3300, 32] + 1, "u8"),
}
WARP = 32


def begun(tile: Tile, lane: int, element: int) -> int:
    """The element that a lane reads when one that begins with the first reads that one."""
    if tile.stagger is None:
        return element
    word, own = divmod(element, tile.of_word)
    first = lane // tile.stagger.threads
    if tile.stagger.of_words:
        return (word + first) % 4 * tile.of_word + own
    return word * tile.of_word + (own + first) % tile.of_word


def words_of(tile: Tile, shift: int, element: int) -> Iterator[int]:
    """The byte of shared memory where the word begins that each lane of the first warp reads."""
    sector = 32 // tile.unit
    for lane in range(WARP):
        column, rest = lane % tile.columns, lane // tile.columns
        address = target = 0
        for i, extent in tile.write_row_extents.items():
            address += rest % extent * tile.pitches[i]
            target += rest % extent * tile.digits[i].write
            rest //= extent
        back = (target + shift) % sector if tile.write_shift else 0
        column += rest * tile.columns  # of the rows again, where they are fewer than threads
        position = column * tile.vector - back + tile.halo * tile.write_inner + begun(tile, lane, element)
        for i in tile.write_run[:-1]:
            address += position % tile.extents[i] * tile.pitches[i]
            position //= tile.extents[i]
        address += position * tile.pitches[tile.write_run[-1]]
        yield address // 4 * 4 + (1 << 30)


def elements(tile: Tile) -> range:
    """Elements of a vector that differ in where they begin in a word, or in which words threads are at."""
    return range(tile.vector if tile.stagger and tile.stagger.of_words else max(1, 4 // tile.unit))


def beside(tile: Tile) -> float:
    """Return the cost of a vector beside wavefronts and padding."""
    order = STAGGERS[tile.stagger] if tile.stagger else 0
    stores = STORES[4 if tile.word_stores else 16]
    return COLUMNS.get(tile.columns, 0) + tile.vector * (stores + order)


def cost(tile: Tile) -> float:
    """Return the cost of a vector of the target: wavefronts of its elements, by the model of the banks."""
    together = 16 if tile.unit == 8 else WARP
    found = []
    for shift in SHIFTS if tile.write_shift else (0,):
        for element in elements(tile):
            words = list(words_of(tile, shift, element))
            requests = (words[first : first + together] for first in range(0, WARP, together))
            found.append(sum(counted("ld", 4, asked).wavefronts for asked in requests))
    granule = 4 if tile.word_stores else 16
    return mean(found) * tile.vector + beside(tile) + PADDING_COST * tile.padding * granule


def unpadded(name: str) -> Tile:
    tile = SHIFTED[name].way
    assert isinstance(tile, Tile)
    assert tile.read_shift or tile.write_shift
    return replace(tile, padding=0, word_stores=False, columns=8, stagger=None)


def orders(tile: Tile) -> list[int]:
    vectors = tile.write_vectors
    found = [own for own in COLUMNS if vectors >= own] or [vectors]
    found += [vectors] if vectors % 2 == 0 and vectors <= SHORT_RUN and vectors not in found else []
    return [*found, WHOLE_WARP] if vectors > 2 * WHOLE_WARP else found


def with_idle(tile: Tile) -> float:
    """The cost where threads are more than vectors."""
    vectors = tile.write_vectors
    return (cost(tile) + EACH) * -(-vectors // tile.columns) * tile.columns / vectors


def may_be(tile: Tile) -> bool:
    """Return whether threads of such a tile may begin as they do."""
    return tile.stagger is None or tile.regular


def staggers(tile: Tile) -> list[Stagger | None]:
    some = [own for own in STAGGERS if own.of_words or tile.unit < 4]
    return [None, *some] if tile.regular else [None]


def ways(tile: Tile) -> list[Gathering]:
    """All that a tile may be stored and gathered by."""
    return [
        Gathering(0, granule, columns, stagger, 0, 1)
        for columns in orders(tile)
        for granule in PADDINGS
        for stagger in (staggers(tile) if granule >= tile.unit else ())
    ]


def padded(tile: Tile, way: Gathering, padding: int) -> Tile:
    stored = way.granule == 4
    return replace(tile, columns=way.columns, word_stores=stored, padding=padding, stagger=way.stagger)


def found_for(tile: Tile, way: Gathering) -> tuple[float, int]:
    """The padding that the search finds, and its cost."""
    return least_conflicts(replace(tile, word_stores=way.granule == 4), way)


@pytest.mark.parametrize("name", SHIFTED)
def test_paddings_cost_what_the_model_of_the_banks_counts(name):
    tile = unpadded(name)
    for way in ways(tile):
        found, padding = found_for(tile, way)
        best = padded(tile, way, padding)
        every = (padded(tile, way, own) for own in range(PADDINGS[way.granule]))
        assert found + beside(best) == pytest.approx(cost(best))
        assert cost(best) == pytest.approx(min(map(cost, filter(may_be, every))))


@pytest.mark.parametrize("name", SHIFTED)
def test_no_choice_costs_less(name):
    tile = unpadded(name)
    every = (
        replace(tile, columns=columns, word_stores=granule == 4, padding=padding, stagger=stagger)
        for columns in orders(tile)
        for granule, paddings in PADDINGS.items()
        for padding in range(paddings if granule >= tile.unit else 0)
        for stagger in staggers(tile)
    )
    found = calmest(tile)
    assert found.regular or found.stagger is None
    assert with_idle(found) == pytest.approx(min(map(with_idle, filter(may_be, every))))
    assert replace(found, padding=0, word_stores=False, columns=8, stagger=None) == tile


@pytest.mark.parametrize("name", SHIFTED)
def test_threads_begin_with_other_elements_of_rows_that_are_regular_as_they_are_padded(name, monkeypatch):
    """Also where longer rows were better: without padding two digits may be one, which they part."""
    monkeypatch.setattr("tilewise.moves.tiles.paddings.PADDING_COST", -PADDING_COST)
    tile = unpadded(name)
    for way in ways(tile):
        assert may_be(padded(tile, way, found_for(tile, way)[1]))


def test_whole_vectors_are_planned_without_numpy():
    code = """
import sys
from tilewise import S, plan
found = plan(S[8192, 8192], S[(8192, 8192) : (1, 8192)], "bf16")
assert found.kind == "tile" and found.copy_fraction and found.data() and found.kernel
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
