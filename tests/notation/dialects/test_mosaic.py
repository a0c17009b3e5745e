"""Mosaic's layouts, held to what its tiles mean, loop by loop.

The meaning is that of jax/experimental/mosaic/gpu/fragmented_array.py in https://github.com/jax-ml/jax.
"""

from __future__ import annotations

import json
from gzip import decompress
from itertools import islice, product
from math import prod
from pathlib import Path
from random import Random

import pytest
from tests.notation.dialects.mosaic_drawn import drawn_layout, naive_places

import tilewise
from tilewise import LayoutError, Refused, S, parse
from tilewise.core.dtypes import DType
from tilewise.notation import dialects
from tilewise.notation.dialects import DIALECTS, Given, dialect_of, read
from tilewise.notation.dialects.mosaic import NAMED

MOSAIC = DIALECTS["mosaic"]
RECORD = Path(__file__).with_name("records") / "mosaic.json.gz"
"""Random TiledLayouts and the elements that Mosaic gives threads; tests/oracle/test_mosaic.py writes it."""
WGMMA = (
    "TiledLayout(tiling=Tiling(((64, 8), (16, 8), (8, 8), (1, 2))), "
    "warp_dims=(-8,), lane_dims=(-4, -3), vector_dim=-1)"
)


def held(layout, index):
    """Every (warp, lane, register) that holds an element."""
    return {(place["wid_in_wg"], place["laneid"], place["reg"]) for place in layout.places(*index)}


def test_drawn_layouts_are_what_the_loops_say(times):
    rng = Random(5)
    for _ in range(times(400)):
        said, shape = drawn_layout(rng)
        layout = parse(str(said), shape=shape)
        assert parse(said.attribute, shape=shape) == layout
        step = 1 + prod(shape) // 40
        for index in islice(product(*map(range, shape)), 0, None, step):
            assert held(layout, index) == naive_places(said, shape, index)


@pytest.mark.parametrize("n", [8, 64, 128, 256])
def test_the_layout_of_wgmma_is_the_catalogues(n):
    catalogue = tilewise.parse(f"wgmma.D(f32, n={n})")
    for text in (WGMMA, "WGMMA_LAYOUT", "fa.WGMMA_LAYOUT_ACC_32BIT"):
        assert parse(text, shape=(64, n)).same(catalogue).answer is True


def test_the_operand_in_registers_is_the_catalogues():
    assert parse("WGMMA_LAYOUT", shape=(64, 16)).same(tilewise.parse("wgmma.A(f16)")).answer is True
    assert parse("WGMMA_LAYOUT_8BIT", shape=(64, 32)).same(tilewise.parse("wgmma.A(e4m3)")).answer is True


def test_rows_of_wgmma_are_in_all_lanes_of_a_group():
    layout = parse("WGMMA_ROW_LAYOUT", shape=(64,))
    for row in range(64):
        lanes = {(row // 16, row % 8 * 4 + copy, row // 8 % 2) for copy in range(4)}
        assert held(layout, (row,)) == lanes


@pytest.mark.parametrize("name", NAMED)
def test_every_name_is_read(name):
    shape = NAMED[name].tiles[0]
    assert parse(f"fa.{name}", shape=shape).size == prod(shape)


@pytest.mark.parametrize(
    "text", ["WGStridedFragLayout(shape=(64, 128), vec_size=8)", "WGStridedFragLayout((8, 3, 256), 2)"]
)
def test_strided_layouts_give_threads_a_vector_in_turn(text):
    layout = parse(text)
    shape, vector = ((64, 128), 8) if "64" in text else ((8, 3, 256), 2)
    for element, index in enumerate(product(*map(range, shape))):
        thread, register = element // vector % 128, element // (vector * 128) * vector + element % vector
        assert held(layout, index) == {(thread // 32, thread % 32, register)}


def test_strided_layouts_without_digits_show_an_index():
    with pytest.raises(Refused) as no:
        parse("WGStridedFragLayout(shape=(256, 12), vec_size=8)")
    assert no.value.code == "TW510"
    assert no.value.witness == {"index": (43, 0)}


def test_a_splat_is_in_every_thread():
    layout = parse("#mosaic_gpu.WGSplatFragLayout<[2, 3]>")
    assert held(layout, (1, 2)) == {(warp, lane, 0) for warp in range(4) for lane in range(32)}


def test_shared_memory_has_tiles_and_a_swizzle():
    layout = parse("TileTransform(tiling=(8, 64), rounding=None)", shape=(64, 128))
    for row, column in product(range(64), range(128)):
        tile, inside = row // 8 * 2 + column // 64, row % 8 * 64 + column % 64
        assert layout.place(row, column)["m"] == tile * 512 + inside


@pytest.mark.parametrize(("dtype", "swizzle"), [*product(("f16", "f32", "s8"), (32, 64, 128))])
def test_a_swizzle_moves_16_bytes_in_lines(dtype, swizzle):
    size = DType.of(dtype).bits // 8
    line = swizzle // size
    text = f"[TilingTransform((8, {line})), SwizzleTransform({swizzle})]"
    layout = parse(text, shape=(16, 2 * line), dtype=dtype)
    for row, column in product(range(16), range(2 * line)):
        plain = ((row // 8 * 2 + column // line) * 8 * line + row % 8 * line + column % line) * size
        chunk = plain // 16 ^ (plain // 128 % 8 % (swizzle // 16))
        assert layout.place(row, column)["m"] * size == chunk * 16 + plain % 16


def test_a_swizzle_needs_the_type():
    with pytest.raises(LayoutError, match="counts bytes") as error:
        parse("SwizzleTransform(128)", shape=(64, 64))
    assert error.value.code == "TW105"


def test_records_of_mosaic():
    for text, shape, held_by in json.loads(decompress(RECORD.read_bytes())):
        layout = parse(text, shape=tuple(shape))
        for warp, lane, register, *index in held_by:
            assert (warp, lane, register) in held(layout, index)


def test_writing_gives_the_same_map(times):
    rng = Random(6)
    written = 0
    for _ in range(times(2000)):
        said, shape = drawn_layout(rng)
        layout = parse(str(said), shape=shape)
        written += written_back(layout, shape)
    assert written > times(2000) * 0.97


def written_back(layout, shape):
    """Return whether a layout is written; check that its text is read as the same map."""
    try:
        text = dialects.write(MOSAIC, layout, Given())
    except LayoutError as error:
        assert "slow digits first" in error.message  # noqa: PT017
        return False
    given = None if text.startswith("WGSplat") else shape
    assert read(MOSAIC, Given(text, given)).layout.same(layout).answer is True
    return True


def test_a_splat_is_written_back():
    for text in ("WGSplatFragLayout(shape=(2, 3))", "WGSplatFragLayout(shape=())"):
        assert dialects.write(MOSAIC, parse(text), Given()) == text


@pytest.mark.parametrize(
    "layout",
    [
        S[(8, 8) : (8, 1)],
        parse("S[(4, 32) : (1@warpid, 1@laneid)]"),
        parse("S[(4, 16) : (1@wid_in_wg, 1@laneid)]"),
        parse("S[(4, 16) : (1@wid_in_wg, 2@laneid)] + R[2 : 1@laneid] + 1@reg"),
        parse("S[(4, 32, 2) : (1@wid_in_wg, 1@laneid, 2@reg)]"),
        parse("S[(4, 32, 2) : (1@wid_in_wg, 1@laneid, 0)]"),
        parse("S[(4, 32) : (1@wid_in_wg, 1@laneid)] + R[2 : 1@reg]"),
        parse("S[(4, 32, (2, 2, 2)) : (1@wid_in_wg, 1@laneid, (2@reg, 4@reg, 1@reg))]"),
    ],
)
def test_what_a_tiled_layout_cannot_say_is_refused_in_words(layout):
    with pytest.raises(LayoutError) as error:
        dialects.write(MOSAIC, layout, Given())
    assert error.value.code == "TW008"


def test_looks():
    assert dialect_of(WGMMA).name == "mosaic"
    assert dialect_of("fa.TCGEN05_LAYOUT").name == "mosaic"
    assert dialect_of("[#mosaic_gpu.tile<[8, 64]>]").name == "mosaic"
    assert dialect_of("wgmma.D(f32, n=64)") is None
    assert dialect_of("TileLayout(S[8 : 1])") is None
