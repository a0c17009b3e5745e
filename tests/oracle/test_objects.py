"""`layout_of` on the neighbours' own objects, held against what they say of places."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tilewise import LayoutError, parse
from tilewise.bridge import layout_of
from tilewise.notation.dialects import DIALECTS

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def test_layouts_of_pycute():
    pycute = pytest.importorskip("pycute", reason="nvidia-cutlass is not installed")
    rng = Random(5)
    for _ in range(100):
        extents = [rng.choice([1, 2, 3, 4]) for _ in range(4)]
        strides = [rng.randrange(30) for _ in range(4)]
        shape = ((extents[0], extents[1]), extents[2], (extents[3],))
        theirs = pycute.Layout(shape, ((strides[0], strides[1]), strides[2], (strides[3],)))
        ours = layout_of(theirs)
        for i in range(theirs.size()):
            assert ours.place(i)["m"] == theirs(i)


@pytest.fixture(scope="module")
def tirx():
    return pytest.importorskip("tvm.tirx.layout", reason="apache-tvm is not installed")


def test_tile_layouts_of_tirx(tirx):
    lanes = tirx.S[(8, 4, 2) : ((4, "laneid"), (1, "laneid"), (1, "reg"))]
    theirs = tirx.TileLayout(lanes + tirx.R[(2,) : ((4, "warpid"),)] + 5)
    ours = layout_of(theirs)
    assert ours == parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)] + R[2 : 4@warpid] + 5@m")
    for i in range(ours.size):
        place = {axis: int(steps) for axis, steps in theirs.apply(i).items()}
        ours_too = ours.places(i)[0]
        assert all(ours_too[axis] == steps for axis, steps in place.items())


@pytest.mark.parametrize("inner", [True, False])
def test_swizzles_of_tirx(tirx, inner):
    for bits, base, shift in product((0, 1, 2, 3), (0, 2, 3), (3, 4)):
        tile = tirx.TileLayout(tirx.S[(8, 64) : (64, 1)])
        theirs = tirx.ComposeLayout(base, bits, shift, tile, inner)
        ours = layout_of(theirs)
        for flat in range(0, 512, 5):
            assert ours.place(flat)["m"] == int(theirs.apply(flat)["m"]), (bits, base, shift)


def test_layouts_of_cutes_dsl():
    cutlass = pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    cute = cutlass.cute
    seen = []

    @cute.jit
    def kernel():
        plain = cute.make_layout(((4, 2), 4), stride=((8, 1), 2))
        swizzled = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64)))
        seen.append((layout_of(plain), [plain(i) for i in range(32)]))
        seen.append((layout_of(swizzled), [swizzled(i) for i in range(512)]))

    kernel()
    for ours, theirs in seen:
        assert [ours.place(i)["m"] for i in range(ours.size)] == [int(at) for at in theirs]


def test_shardings_of_jax():
    pytest.importorskip("jax", reason="jax is not installed")
    import jax
    import numpy as np
    from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

    mesh = AbstractMesh((2, 4), ("x", "y"))
    sharding = NamedSharding(mesh, PartitionSpec("x", None))
    layout = parse("S[((2, 4), 4) : ((1@x, 4@m), 1@m)] + R[4 : 1@y]")
    assert layout_of(sharding, shape=(8, 4)).same(layout).answer is True
    array = jax.ShapeDtypeStruct((8, 4), "float32", sharding=sharding)
    assert layout_of(array).same(layout).answer is True
    with pytest.raises(LayoutError):
        layout_of(array, shape=(4, 4))
    both = NamedSharding(mesh, PartitionSpec(("y", "x")))
    assert layout_of(both, shape=(8,)) == parse("S[((4, 2),) : ((1@y, 1@x),)]")
    one = NamedSharding(Mesh(np.array(jax.devices()[:1]), ("x",)), PartitionSpec("x"))
    assert layout_of(jax.device_put(np.zeros((3, 4), "f4"), one)) == parse("S[3, 4]")
    assert layout_of(jax.sharding.SingleDeviceSharding(jax.devices()[0]), shape=(4,)) == parse("S[4]")


@pytest.fixture(scope="module")
def torch_mesh():
    """A mesh of a process group that only pretends."""
    pytest.importorskip("torch", reason="torch is not installed")
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    yield init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    dist.destroy_process_group()


def test_placements_of_torch(torch_mesh):
    import torch
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.distributed.tensor.placement_types import _StridedShard

    layout = parse("S[((2, 4), 4) : ((1@dp, 4@m), 1@m)] + R[4 : 1@tp]")
    placements = (Shard(0), Replicate())
    assert layout_of((torch_mesh, placements), shape=(8, 4)).same(layout).answer is True
    tensor = DTensor.from_local(torch.zeros(4, 4), torch_mesh, placements, run_check=False)
    assert layout_of(tensor).same(layout).answer is True
    strided = [_StridedShard(0, split_factor=4), Shard(0)]
    turned = parse("S[((4, 2, 2),) : ((1@tp, 1@dp, 1@m),)]")
    assert layout_of((torch_mesh, strided), shape=(16,)).same(turned).answer is True
    with pytest.raises(LayoutError, match="part of a sum"):
        layout_of((torch_mesh, [Partial(), Replicate()]), shape=(4,))


@pytest.mark.skipif("gluon" not in DIALECTS and "triton" not in DIALECTS, reason="no dialect of Triton yet")
def test_layouts_of_gluon():
    gluon = pytest.importorskip("triton.experimental.gluon.language", reason="triton is not installed")
    blocked = gluon.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    layout = layout_of(blocked, shape=(32, 16))
    expected = parse("S[((4, 8), (4, 4)) : ((1@warpid, 4@laneid), (1@laneid, 1@reg))]")
    assert layout.same(expected).answer is True
