"""Objects of neighbours, as plain stand-ins that have what the real ones have."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tilewise import LayoutError, Swizzle, parse
from tilewise.bridge import layout_of, reading_of


class Printed:
    """Prints the text that it is made with, and has these attributes."""

    def __init__(self, text, **has):
        self.text = text
        self.__dict__.update(has)

    def __repr__(self):
        return self.text


def mesh_of(names, *shape):
    """A mesh of torch."""
    return SimpleNamespace(mesh_dim_names=names, shape=shape, mesh=np.arange(np.prod(shape)).reshape(shape))


def shard(dim):
    return Printed(f"Shard(dim={dim})")


REPLICATE = Printed("Replicate()")


def same(layout, text):
    return layout.same(parse(text)).answer is True


def test_a_dtensor_is_read_by_its_placements():
    tensor = SimpleNamespace(
        placements=(shard(0), REPLICATE), device_mesh=mesh_of(("dp", "tp"), 2, 4), shape=(8, 4)
    )
    assert same(layout_of(tensor), "S[((2, 4), 4) : ((1@dp, 4@m), 1@m)] + R[4 : 1@tp]")
    with pytest.raises(LayoutError, match=r"has the shape \(8, 4\)"):
        layout_of(tensor, shape=(4, 4))
    with pytest.raises(LayoutError, match="no array in memory"):
        layout_of(tensor, unit="byte")


def test_cuts_of_a_dtensor_act_in_the_order_that_it_has():
    tensor = SimpleNamespace(
        placements=(shard(0), shard(0), REPLICATE),
        device_mesh=mesh_of(("a", "b", "c"), 2, 2, 2),
        shape=(8,),
        _spec=SimpleNamespace(shard_order=(SimpleNamespace(tensor_dim=0, mesh_dims=(1, 0)),)),
    )
    assert same(layout_of(tensor), "S[(2, 2, 2) : (1@b, 1@a, 1@m)] + R[2 : 1@c]")
    tensor._spec.shard_order[0].mesh_dims = (0, 1)
    assert same(layout_of(tensor), "S[(2, 2, 2) : (1@a, 1@b, 1@m)] + R[2 : 1@c]")


@pytest.mark.parametrize("turned", [False, True])
def test_a_mesh_and_placements_are_a_pair(turned):
    pair = (mesh_of(None, 2, 4), [shard(1), shard(0)])
    layout = layout_of(pair[::-1] if turned else pair, shape=(8, 4))
    assert same(layout, "S[((4, 2), (2, 2)) : ((1@gpuid, 2@m), (4@gpuid, 1@m))]")


def test_uneven_chunks_come_with_their_extents():
    found = reading_of((mesh_of(("x",), 2), [shard(0)]), shape=(15,))
    assert found.box == (15,)
    assert same(found.layout, "S[(2, 8) : (1@x, 1@m)]")


def sharding(**axes):
    """A NamedSharding of JAX."""
    mesh = SimpleNamespace(axis_names=tuple(axes), shape=axes)
    return SimpleNamespace(mesh=mesh, spec=Printed("PartitionSpec('x', None)"), num_devices=8)


def test_a_sharding_of_jax_is_read_by_its_mesh_and_spec():
    layout = layout_of(sharding(x=2, y=4), shape=(8, 4))
    assert same(layout, "S[((2, 4), 4) : ((1@x, 4@m), 1@m)] + R[4 : 1@y]")
    with pytest.raises(LayoutError) as error:
        layout_of(sharding(x=2, y=4))
    assert error.value.code == "TW202"


def test_an_array_on_a_mesh_is_what_its_sharding_says():
    array = SimpleNamespace(sharding=sharding(x=2), shape=(8, 4), __array__=None)
    assert same(layout_of(array), "S[((2, 4), 4) : ((1@x, 4@m), 1@m)]")


def test_an_array_on_one_device_has_strides():
    class Array(np.ndarray):
        sharding = SimpleNamespace(num_devices=1)

    assert layout_of(np.zeros((3, 4)).view(Array)) == parse("S[3, 4]")


def test_a_sharding_that_prints_as_one_of_hlo():
    obj = Printed("GSPMDSharding({replicated})", num_devices=4, devices_indices_map=None)
    assert same(layout_of(obj, shape=(4,)), "S[4] + R[4 : 1@gpuid]")


def iters(*digits):
    return [SimpleNamespace(extent=e, stride=s, axis=SimpleNamespace(name=a)) for e, s, a in digits]


class Named:
    """An axis that can be a key."""

    def __init__(self, name):
        self.name = name


def tile(*digits, replica=(), offset=()):
    """A TileLayout of TIRx."""
    return SimpleNamespace(
        shard=iters(*digits), replica=iters(*replica), offset={Named(name): n for name, n in offset}
    )


def test_a_tile_layout_of_tirx():
    obj = tile((8, 4, "laneid"), (4, 1, "laneid"), replica=[(2, 4, "warpid")], offset=[("m", 5)])
    assert layout_of(obj) == parse("S[(8, 4) : (4@laneid, 1@laneid)] + R[2 : 4@warpid] + 5@m")
    assert layout_of(obj, shape=(32,)).shape == ((8, 4),)


@pytest.mark.parametrize("inner", [True, False])
def test_a_swizzle_of_tirx(inner):
    plain = tile((8, 64, "m"), (64, 1, "m"))
    obj = SimpleNamespace(per_element=3, swizzle_len=2, atom_len=3, swizzle_inner=inner, tile_layout=plain)
    assert layout_of(obj) == Swizzle(2, 3, 3 if inner else -3) @ parse("S[(8, 64) : (64@m, 1@m)]")


def test_a_number_that_is_not_bound_yet():
    with pytest.raises(LayoutError, match="bind its variables"):
        layout_of(tile((None, 1, "m")))


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("((2, 2), 3):((1, 6), 2)", {"shape": ((2, 2), 3), "stride": ((1, 6), 2)}),
        ("S<3,4,3> o 0 o (8,64):(64,1)", {"shape": (8, 64), "outer": None}),
    ],
)
def test_what_prints_in_cutes_notation(text, has):
    assert str(layout_of(Printed(text, **has))) == str(parse(text))


class PartitionSpec(Printed):
    """Prints as a call of its own class, which a dialect reads."""


def test_what_prints_as_a_call_that_is_read():
    layout = layout_of(PartitionSpec("PartitionSpec('x') on {'x': 2}"), shape=(4,))
    assert same(layout, "S[(2, 2) : (1@x, 1@m)]")


@pytest.mark.parametrize(
    "obj", ["S[8 : 1]", ("S[8 : 1]", 2), Printed("S[8 : 1]"), Printed("PartitionSpec('x')"), object(), None]
)
def test_other_objects_are_no_layouts(obj):
    with pytest.raises(LayoutError) as error:
        layout_of(obj)
    assert error.value.code == "TW107"
