"""The bridge held against torch and JAX: what they say of their tensors, and views that torch makes."""

from __future__ import annotations

from random import Random

import pytest
from tests.bridge.test_strides import OldDLPack, OnlyDLPack, plain_layout

from tilewise import Refused, S, Swizzle
from tilewise.bridge import layout_of, strided_view, strides_of
from tilewise.core.shapes import coordinates

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def test_views_of_torch(torch):
    base = torch.arange(120.0).reshape(2, 3, 4, 5)
    views = [
        base,
        base.permute(3, 1, 0, 2),
        base[1, ::2, 1:],
        base[0, 0].expand(7, 4, 5),
        base.view(6, 20).T,
        base.diagonal(0, 1, 2),
        base.unfold(3, 3, 1),
        base[1, 2, 3, 4],
        base.to(torch.bfloat16)[:, 1],
        base.to(torch.float8_e4m3fn).transpose(0, 3),
    ]
    for view in views:
        layout = layout_of(view)
        assert layout.shape == tuple(view.shape)
        storage = view.flatten().float() if view.dim() else view.reshape(1).float()
        flat = torch.as_strided(
            view, (view.untyped_storage().size() // view.element_size(),), (1,), 0
        ).float()
        for x in range(layout.size):
            assert flat[layout.place(x)["m"]] == storage[x]


def test_torch_by_dlpack(torch):
    base = torch.arange(24.0).reshape(4, 6)
    for view in (base, base.T, base[1:, ::2], base.bfloat16().T, base.expand(2, 4, 6)):
        alone = layout_of(view, view)
        assert layout_of(OnlyDLPack(view), view) == alone
        assert layout_of(OldDLPack(view)) == alone


def test_views_that_torch_makes(torch):
    rng, viewed = Random(17), 0
    base = torch.arange(400)
    for _ in range(400):
        layout = plain_layout(rng)
        try:
            shape, strides, _ = strides_of(layout)
            view = strided_view(layout, base)
        except Refused:
            continue
        viewed += 1
        assert tuple(view.shape) == shape
        assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        assert view.stride() == strides
        for x in range(layout.size):
            assert view[coordinates(x, shape)] == layout.place(x)["m"]
        assert layout_of(view).same(layout)
    assert viewed > 50


def test_what_torch_cannot_view(torch):
    base = torch.arange(16)
    for layout in (S[8:-1] + 7, S[17:1], Swizzle(1, 0, 2) @ S[(4, 4) : (4, 1)]):
        with pytest.raises(Refused):
            strided_view(layout, base)
    inner = strided_view(S[(2, 2) : (1, 2)], base[4:8])
    assert inner.tolist() == [[4, 6], [5, 7]]
    with pytest.raises(Refused):
        strided_view(S[5:1], base[4:8])


def test_tensors_without_strides_or_memory(torch):
    with pytest.raises(Refused, match="sparse_coo"):
        layout_of(torch.eye(3).to_sparse())
    assert layout_of(torch.empty(3, 4, device="meta").T) == S[(4, 3) : (1, 4)]
    assert layout_of(torch.nn.Parameter(torch.zeros(2, 3))) == S[2, 3]


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    array = jax.numpy.arange(12).reshape(3, 4)
    assert layout_of(array) == layout_of(array.T.T) == S[3, 4]
    turned = array.T
    assert layout_of(turned, turned) == S[4, 3]  # JAX keeps its arrays row-major
    assert layout_of(array.astype(jax.numpy.bfloat16)) == S[3, 4]
