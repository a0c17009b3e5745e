"""JAX's shardings, held to what a mesh and a spec mean, and written back."""

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


def written_mesh(rng, extents):
    """A mesh as JAX prints it, in one version or another."""
    pairs = ", ".join(f"'{name}': {extent}" for name, extent in extents.items())
    sizes, names = tuple(extents.values()), tuple(extents)
    kinds = f"({', '.join(['Auto'] * len(names))}{',' if len(names) == 1 else ''})"
    numbers = list(range(prod(sizes)))
    for extent in reversed(sizes):
        numbers = [numbers[at : at + extent] for at in range(0, len(numbers), extent)]
    return rng.choice(
        [
            f"Mesh({pairs})",
            f"Mesh({pairs}, axis_types={kinds})",
            f"AbstractMesh({pairs}, axis_types={kinds}, device_kind=cpu, num_cores=None, platform=cpu)",
            f"Mesh(axis_sizes={sizes}, axis_names={names}, axis_types={kinds})",
            f"Mesh(device_ids=array({numbers[0]}), axis_names={names})",
            f"AbstractMesh({tuple(zip(names, sizes, strict=True))})",
        ]
    )


def written_spec(rng, cuts):
    """A spec as JAX prints it; dimensions at the end that no axis cuts may be left out."""
    entries = []
    for cut in cuts:
        names = tuple(part[0] for part in cut)
        entries.append(names if len(names) > 1 or rng.random() < 0.2 else names[0] if names else None)
    while entries and not entries[-1] and rng.random() < 0.5:
        entries.pop()
    return rng.choice(["P", "PartitionSpec"]) + repr(tuple(entries))


def drawn(rng, uneven=False):
    """(text, shape, mesh, cuts) of a sharding."""
    extents = drawn_mesh(rng)
    cuts = drawn_cuts(rng, extents, rng.randint(1, 3))
    cuts = [[(name, 1, extents[name]) for name, _, _ in cut] for cut in cuts]
    shape = drawn_shape(rng, cuts, uneven)
    mesh, spec = written_mesh(rng, extents), written_spec(rng, cuts)
    text = rng.choice(
        [
            f"NamedSharding(mesh={mesh}, spec={spec}, memory_kind=device)",
            f"{spec} on {mesh}",
            f"{spec}, {extents!r}",
            f"ShapeDtypeStruct(shape={shape}, dtype=float32,"
            f" sharding=NamedSharding(mesh={mesh}, spec={spec}))",
        ]
    )
    return text, shape, extents, cuts


@pytest.mark.parametrize("uneven", [False, True])
def test_a_mesh_and_a_spec_are_a_layout(times, uneven):
    rng = Random(f"jax{uneven}")
    for _ in range(times(150)):
        text, shape, extents, cuts = drawn(rng, uneven)
        found = reading(text, shape=shape)
        tiles = [prod(part[2] for part in cut) for cut in cuts]
        expected = shared(shape, tiles, tile_of_coordinates(extents, cuts))
        assert not differences(found.layout, expected, tuple(extents)), text
        padded = extents_of(found.layout.shape)
        assert found.box == (None if padded == shape else shape)
        assert any("JAX refuses" in note for note in found.notes) == (padded != shape)


def test_what_is_read_is_written(times):
    rng = Random("jax written")
    for _ in range(times(2000)):
        text, shape, *_ = drawn(rng, rng.random() < 0.3)
        layout = parse(text, shape=shape)
        written = write(DIALECTS["jax"], layout, Given())
        again = parse(written, shape=extents_of(layout.shape))
        assert again.same(layout).answer is True, (text, written)
        assert write(DIALECTS["jax"], again, Given()) == written


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("P('x', None) on {'x': 2}", "S[((2, 2), 4) : ((1@x, 4@m), 1@m)]"),
        ("P('x', unreduced=set()) on {'x': 2}", None),
        ("P('x', reduced={'y'}) on {'x': 2, 'y': 2}", "S[((2, 2), 4) : ((1@x, 4@m), 1@m)] + R[2 : 1@y]"),
        ("P(UNCONSTRAINED, 'x') on {'x': 2}", "S[(4, (2, 2)) : (2@m, (1@x, 1@m))]"),
        ("int8[4@x,4@(y,z)] on {'x': 2, 'y': 2, 'z': 2}", "S[((2, 2), (2, 2)) : ((1@x, 1@m), (1@y, 1@z))]"),
        ("GSPMDSharding({maximal device=1})", "S[(4, 4) : (4@m, 1@m)] + 1@gpuid"),
        ("SingleDeviceSharding(device=TpuDevice(id=2, process_index=0), memory_kind=device)", None),
        ("NamedSharding(mesh=Mesh(), spec=P())", "S[4, 4]"),
        ("NamedSharding(Mesh('x': 2), P('x'))", "S[((2, 2), 4) : ((1@x, 4@m), 1@m)]"),
    ],
)
def test_texts(text, layout):
    if layout is None and "unreduced" in text:
        with pytest.raises(LayoutError, match="part of a sum"):
            parse(text, shape=(4, 4))
    elif layout is None:
        assert parse(text, shape=(4, 4)).place(0, 0)["gpuid"] == 2
    else:
        assert parse(text, shape=(4, 4)).same(parse(layout)).answer is True


def test_a_spec_without_a_mesh_takes_its_axes_from_names():
    with pytest.raises(LayoutError) as error:
        parse("P('x')", shape=(4, 4))
    assert error.value.code == "TW007"
    layout = parse("P('x')", shape=(4, 4), let={"x": 2, "y": 3})
    assert layout.same(parse("S[((2, 2), 4) : ((1@x, 4@m), 1@m)] + R[3 : 1@y]")).answer is True


def test_errors_of_a_sharding_inside_point_into_the_whole_text():
    text = "GSPMDSharding({devices=[3]<=[4]}, memory_kind=device)"
    with pytest.raises(LayoutError) as error:
        parse(text, shape=(4,))
    start, end = error.value.span
    assert text[start:end] == "[3]<=[4]"


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("S[((8, 2),) : ((1@m, 1@x),)]", "dealt out in turns"),
        ("S[(2, 2) : (2@x, 1@x)]", "whole axes"),
        ("S[(2, 8) : (1@x, 1@m)] + R[2 : 2@x]", "whole axes"),
        ("S[(2, 8) : (1@x, 1@m)] + 1@x", "the first device"),
    ],
)
def test_what_a_spec_cannot_say(layout, words):
    with pytest.raises(LayoutError) as error:
        write(DIALECTS["jax"], parse(layout), Given())
    assert error.value.code == "TW008"
    assert words in str(error.value)
