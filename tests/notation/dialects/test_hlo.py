"""HLO's shardings, held to what the grid of devices means, and written back."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest
from tests.notation.dialects.meshes import differences, drawn_shape, shared

from tilewise import LayoutError, Refused, parse
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects import DIALECTS, Given, write
from tilewise.notation.read import reading


def numbers_of(counted, order):
    """Numbers counted up in a shape, in the order of its transposed dimensions."""
    pitches = [prod(counted[i + 1 :]) for i in range(len(counted))]
    grid = product(*(range(counted[i]) for i in order))
    return [sum(at * pitches[i] for at, i in zip(where, order, strict=True)) for where in grid]


def drawn(rng, uneven=False, most=4):
    """(text, shape, the numbers of the devices in the grid, tiles, copies) of a sharding that is a layout."""
    counted = [rng.choice([2, 2, 3, 4]) for _ in range(rng.randint(1, most))]
    order = rng.sample(range(len(counted)), len(counted))
    numbers, grid, at = numbers_of(counted, order), [], 0
    while at < len(order):  # tiles of whole dimensions, and of none
        take = rng.randint(0, 2)
        grid.append(prod(counted[i] for i in order[at : at + take]))
        at += take
    copies = grid.pop() if len(grid) > 1 and rng.random() < 0.5 else 1
    devices = [*grid, copies] if copies > 1 else grid
    tail = " last_tile_dim_replicate" if copies > 1 else ""
    if copies > 1 and rng.random() < 0.3:
        tail = " last_tile_dims={replicated}"
    listed = ",".join(map(str, numbers))
    iota = f"<=[{','.join(map(str, counted))}]"
    iota += "" if order == sorted(order) and rng.random() < 0.5 else f"T({','.join(map(str, order))})"
    which = listed if rng.random() < 0.3 else iota
    text = f"{{devices=[{','.join(map(str, devices))}]{which}{tail}}}"
    shape = drawn_shape(rng, [[("", 1, tiles)] for tiles in grid], uneven)
    return text, shape, numbers, grid, copies


def tile_of(numbers, grid, copies):
    """{device: its tile}"""
    return {
        (number,): tuple(where[:-1])
        for number, where in zip(numbers, product(*map(range, (*grid, copies))), strict=True)
    }


@pytest.mark.parametrize("uneven", [False, True])
def test_a_grid_of_devices_is_a_layout(times, uneven):
    rng = Random(f"hlo{uneven}")
    for _ in range(times(300)):
        text, shape, numbers, grid, copies = drawn(rng, uneven, most=3)
        found = reading(text, shape=shape)
        assert not differences(found.layout, shared(shape, grid, tile_of(numbers, grid, copies)), ("gpuid",))
        padded = extents_of(found.layout.shape)
        assert found.box == (None if padded == shape else shape)


def test_what_is_read_is_written(times):
    rng = Random("hlo written")
    for _ in range(times(2000)):
        text, shape, *_ = drawn(rng, rng.random() < 0.3)
        layout = parse(text, shape=shape)
        written = write(DIALECTS["hlo"], layout, Given())
        again = parse(written, shape=extents_of(layout.shape))
        assert again.same(layout).answer is True, (text, written)
        assert write(DIALECTS["hlo"], again, Given()) == written


@pytest.mark.parametrize(
    ("text", "shape", "layout"),
    [
        ("{maximal device=0}", (4, 4), "S[4, 4]"),
        ("{maximal device=3}", (4, 4), "S[(4, 4) : (4@m, 1@m)] + 3@gpuid"),
        ("{devices=[4]3,2,1,0}", (8,), "S[(4, 2) : (-1@gpuid, 1@m)] + 3@gpuid"),
        ("{devices=[2,1,2]0,3,1,2 last_tile_dim_replicate}", (4, 4), None),
        ("{devices=[2,1,2]3,0,2,1 last_tile_dim_replicate}", (4, 4), None),
        (
            "{devices=[2,1,2]2,0,3,1 last_tile_dim_replicate}",
            (4, 4),
            "S[((2, 2), 4) : ((1@gpuid, 4@m), 1@m)] + R[2 : 2@gpuid]",
        ),
        ("{devices=[2,1]<=[2] shard_as 5}", (4, 4), "S[((2, 2), 4) : ((1@gpuid, 4@m), 1@m)]"),
        ('{devices=[2,1]<=[2] metadata={op_name="a}b" x={1}}}', (4, 4), "S[((2, 2), 4) : ((1@gpuid, 4), 1)]"),
    ],
)
def test_texts(text, shape, layout):
    if layout is None:
        with pytest.raises(Refused) as refused:
            parse(text, shape=shape)
        assert refused.value.code == "TW510"
        assert refused.value.witness
    else:
        assert parse(text, shape=shape).same(parse(layout)).answer is True


def test_groups_of_copies_are_sets():
    """XLA sorts the devices of a group; the numbers of a group are no digits in the order given here."""
    layout = parse("{devices=[2,1,4]0,1,3,2,4,7,5,6 last_tile_dim_replicate}", shape=(4, 4))
    assert {place["gpuid"] for place in layout.places(0, 0)} == {0, 1, 2, 3}
    assert {place["gpuid"] for place in layout.places(2, 0)} == {4, 5, 6, 7}


def test_tiles_that_cut_a_transposed_dimension_are_refused():
    with pytest.raises(Refused) as refused:
        parse("{devices=[2,3]<=[2,3]T(1,0)}", shape=(4, 3))
    numbers = numbers_of([2, 3], [1, 0])
    tile, device = refused.value.witness["tile"], refused.value.witness["device"]
    assert numbers[tile[0] * 3 + tile[1]] == device
    along = numbers[3] * tile[0] + numbers[1] * tile[1]
    assert along != device


def test_copies_everywhere_need_the_number_of_devices():
    with pytest.raises(LayoutError) as error:
        parse("{replicated}", shape=(4, 4))
    assert error.value.code == "TW007"
    layout = parse("{replicated}", shape=(4, 4), let={"devices": 8})
    assert {place["gpuid"] for place in layout.places(1, 2)} == set(range(8))
    assert write(DIALECTS["hlo"], layout, Given()) == "{devices=[1,1,8]<=[8] last_tile_dim_replicate}"


def test_manual_groups_have_a_tensor_each():
    found = reading("{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", shape=(4, 4))
    assert found.layout.same(parse("S[((2, 2), 4) : ((4@gpuid, 4@m), 1@m)] + R[2 : 1@gpuid]")).answer is True
    assert "2 by 2@gpuid" in found.notes[0]


MODULE = """module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  func.func public @main(%arg0: tensor<16x8xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}, \
%arg1: tensor<8x4xbf16> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> \
(tensor<16x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, \
tensor<32x8xf32> {mhlo.sharding = "{maximal device=0}"}) {
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[8,1]<=[8]}"} : \
(tensor<16x4xf32>) -> tensor<24x4xf32>
"""


def test_a_module_has_a_layout_for_every_annotation():
    shapes = {"arg0": (16, 8), "arg1": (8, 4), "result": (16, 4), "result.1": (32, 8), "1": (24, 4)}
    for part, shape in shapes.items():
        found = reading(MODULE, dialect="hlo", part=part)
        assert extents_of(found.layout.shape) == shape
    assert str(reading(MODULE, part="arg1").dtype) == "bf16"
    with pytest.raises(LayoutError) as error:
        parse(MODULE)
    assert "arg0, arg1, result, result.1, 1" in str(error.value)


LINE = '%p.1 = f32[2,8]{1,0} parameter(0), sharding={devices=[8,1]<=[2,4]T(1,0)}, metadata={op_name="a"}'


def test_a_line_of_a_module_says_whose_extents_it_takes():
    before = reading(LINE)
    assert before.box == (2, 8)
    assert "partitioned" in before.notes[0]
    after = reading(f"ENTRY %main.1_spmd (param: f32[2,8]) -> f32[2,8] {{\n  {LINE}\n", dialect="hlo")
    assert extents_of(after.layout.shape) == (16, 8)
    assert after.box is None


def test_a_tuple_has_a_layout_for_every_element():
    text = (
        "ROOT %t.1 = (f32[8,4]{1,0}, bf16[16]{0}) tuple(%a, %b), "
        "sharding={{devices=[2,1,4]<=[8] last_tile_dim_replicate}, /*index=1*/{devices=[8]<=[8]}}"
    )
    assert reading(text, part="t.1.1").layout.same(parse("S[(8, 2) : (1@gpuid, 1@m)]")).answer is True
    assert str(reading(text, part="t.1.1").dtype) == "bf16"


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("S[(2, 8) : (1@x, 1@m)]", "numbers its devices along gpuid"),
        ("S[((8, 2),) : ((1@m, 1@gpuid),)]", "dealt out in turns"),
        ("S[(2, 8) : (2@gpuid, 1@m)]", "counted through once"),
        ("S[(2, 8) : (1@gpuid, 2@m)]", "row-major"),
        ("S[(2, 8) : (1@gpuid, 0)]", "share a place"),
        ("S[(2, 8) : (1@gpuid + 8@m, 1@m)]", "one axis"),
        ("S[8 : 1] + R[2 : 8]", "copies"),
        ("Swizzle<1,0,2> o S[8]", "swizzles"),
        ("S[(2, 8) : (1@gpuid, 1@m)] + 1@gpuid", "once each"),
    ],
)
def test_what_hlo_cannot_say(layout, words):
    with pytest.raises(LayoutError) as error:
        write(DIALECTS["hlo"], parse(layout), Given())
    assert error.value.code == "TW008"
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("{mesh[x=2,y=4], [{x}, {y:(1)2}]}", "S[((2, 4), (2, 2)) : ((1@x, 2@m), (2@y, 1@m))] + R[2 : 1@y]"),
        (
            "{mesh['x'=2], device_ids=([2]T(0)), [{}, {'x'}], replicated={}}",
            "S[(8, (2, 2)) : (2, (1@x, 1@m))]",
        ),
        ("{mesh[x=2,y=4], replicated}", "S[(8, 4) : (4@m, 1@m)] + R[(2, 4) : (1@x, 1@y)]"),
        ("{mesh[x=2,y=4], [{x}, {}], manual={y}, metadata={op}}", "S[((2, 4), 4) : ((1@x, 4@m), 1@m)]"),
    ],
)
def test_axes_of_a_mesh_have_names(text, layout):
    found = reading(text, shape=(8, 4))
    assert found.layout.same(parse(layout)).answer is True
    assert bool(found.notes) == ("device_ids" in text or "manual" in text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("%1" * 30_000 + " sharding={", "TW004"),
        ("x " * 60_000, "TW004"),
        ("%a: tensor<" + "9" * 5_000 + 'xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}', "TW005"),
        ("{devices=[65537]<=[65537]}", "TW005"),
        ("{devices=[2]" + "9" * 2_000 + "}", "TW005"),
    ],
)
def test_hostile_texts_are_refused_at_once(text, code):
    with pytest.raises(LayoutError) as error:
        parse(text, dialect="hlo", shape=(64,))
    assert error.value.code == code
