"""Shardy's shardings, held to what axes and their parts mean, and written back."""

from __future__ import annotations

from math import prod
from random import Random

import pytest
from tests.notation.dialects.meshes import (
    differences,
    drawn_cuts,
    drawn_mesh,
    drawn_shape,
    shared,
    tile_of_coordinates,
)

from tilewise import LayoutError, parse
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects import DIALECTS, Given, write
from tilewise.notation.read import reading


def written_axis(extents, part):
    name, before, many = part
    return f'"{name}"' if many == extents[name] else f'"{name}":({before}){many}'


def drawn(rng, uneven=False):
    """(text, shape, mesh, cuts) of a sharding over axes and parts of axes."""
    extents = drawn_mesh(rng)
    cuts = drawn_cuts(rng, extents, rng.randint(1, 3), parts=True)
    mesh = ", ".join(f'"{name}"={extent}' for name, extent in extents.items())
    dimensions = []
    for cut in cuts:
        axes = [written_axis(extents, part) for part in cut]
        axes += ["?"] if rng.random() < 0.2 else []
        dimensions.append("{" + ", ".join(axes) + "}" + ("p1" if axes and rng.random() < 0.1 else ""))
    listed = ", ".join(dimensions)
    if rng.random() < 0.5:
        text = f"#sdy.sharding<mesh<[{mesh}]>, [{listed}]>"
    else:
        text = f"sdy.mesh @mesh = <[{mesh}]>\n#sdy.sharding<@mesh, [{listed}]>"
    return text, drawn_shape(rng, cuts, uneven), extents, cuts


@pytest.mark.parametrize("uneven", [False, True])
def test_axes_and_their_parts_are_a_layout(times, uneven):
    rng = Random(f"shardy{uneven}")
    for _ in range(times(150)):
        text, shape, extents, cuts = drawn(rng, uneven)
        found = reading(text, shape=shape)
        tiles = [prod(part[2] for part in cut) for cut in cuts]
        expected = shared(shape, tiles, tile_of_coordinates(extents, cuts))
        assert not differences(found.layout, expected, tuple(extents)), text
        padded = extents_of(found.layout.shape)
        assert found.box == (None if padded == shape else shape)


def test_what_is_read_is_written(times):
    rng = Random("shardy written")
    for _ in range(times(2000)):
        text, shape, *_ = drawn(rng, rng.random() < 0.3)
        layout = parse(text, shape=shape)
        written = write(DIALECTS["shardy"], layout, Given())
        again = parse(written, shape=extents_of(layout.shape))
        assert again.same(layout).answer is True, (text, written)
        assert write(DIALECTS["shardy"], again, Given()) == written


def test_parts_that_count_on_are_written_as_one():
    layout = parse("S[((2, 2, 4), (2, 2)) : ((4@x, 2@x, 2@m), (1@x, 1@m))]")
    text = '#sdy.sharding<mesh<["x"=8]>, [{"x":(1)4}, {"x":(4)2}]>'
    assert write(DIALECTS["shardy"], layout, Given()) == text


def test_the_order_of_the_axes_can_be_given():
    layout = parse("S[(2, 4) : (1@x, 1@y)]")
    text = write(DIALECTS["shardy"], layout, Given(let={"y": 4, "x": 2}))
    assert text == '#sdy.sharding<mesh<["y"=4, "x"=2]>, [{"x"}, {"y"}]>'


MODULE = """module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}, \
%arg1: tensor<8x4xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> \
{jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<32x8xf32> \
{jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y", "x"}, {}]> : tensor<24x4xf32>
    %2:2 = stablehlo.f %1 {sdy.sharding = \
#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"y"}]>]>} : \
(tensor<24x4xf32>) -> (tensor<2x4xf32>, tensor<8xf32>)
"""


def test_a_module_has_a_layout_for_every_annotation():
    shapes = {
        "arg0": (16, 8),
        "arg1": (8, 4),
        "result": (16, 4),
        "result.1": (32, 8),
        "1": (24, 4),
        "2": (2, 4),
        "2.1": (8,),
    }
    for part, shape in shapes.items():
        found = reading(MODULE, part=part)
        assert extents_of(found.layout.shape) == shape, part
    assert str(reading(MODULE, part="arg1").dtype) == "bf16"
    with pytest.raises(LayoutError) as error:
        parse(MODULE)
    assert "arg0, arg1, result, result.1, 1, 2" in str(error.value)


def test_a_mesh_that_the_text_does_not_have_can_be_given():
    text = '#sdy.sharding<@mesh, [{"x"}, {}]>'
    with pytest.raises(LayoutError) as error:
        parse(text, shape=(4, 4))
    assert error.value.code == "TW007"
    layout = parse(text, shape=(4, 4), let={"x": 2, "y": 3})
    assert layout.same(parse("S[((2, 2), 4) : ((1@x, 4@m), 1@m)] + R[3 : 1@y]")).answer is True


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("S[((8, 2),) : ((1@m, 1@x),)]", "dealt out in turns"),
        ("S[(2, 8) : (3@x, 1@m)]", "counted through once"),
        ("S[(2, 2) : (1@x, 1@x)]", "counted through once"),
        ("S[(2, 8) : (1@x, 1@m)] + 1@x", "the first device"),
        ("S[(2, 8) : (-1@x, 1@m)] + 1@x", "the first device"),
    ],
)
def test_what_shardy_cannot_say(layout, words):
    with pytest.raises(LayoutError) as error:
        write(DIALECTS["shardy"], parse(layout), Given())
    assert error.value.code == "TW008"
    assert words in str(error.value)
