"""The algebra as people reach it: its module, its methods, several tilers, and hints."""

from __future__ import annotations

import pytest
from tests.interpreter import said

from tilewise import Layout, LayoutError, Refused, S, Swizzle, laneid, reg, tx, warpid
from tilewise.core import algebra as home
from tilewise.core.bits import affine
from tilewise.core.dtypes import DType

WITHOUT_A_LAYOUT = {"recognise", "explanations", "from_bases"}
TILE = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]


# -- the module ------------------------------------------------------------------------------------


def test_the_algebra_is_a_module():
    import tilewise.algebra
    from tilewise import algebra
    from tilewise.algebra import compose

    assert algebra is tilewise.algebra
    assert compose(S[(6, 6) : (6, 1)], S[4:9]) == S[4:9]
    assert all(getattr(algebra, name) is getattr(home, name) for name in home.__all__)
    assert algebra.__all__ == home.__all__
    with pytest.raises(AttributeError, match=r"'tilewise\.algebra' has no attribute 'upcast'"):
        _ = algebra.upcast


def test_import_tilewise_does_not_load_it():
    code = "import tilewise, sys; print('tilewise.algebra' in sys.modules, tilewise.algebra.rank.__name__)"
    assert said(code) == "False rank\n"


# -- methods ---------------------------------------------------------------------------------------


def test_every_operation_on_a_layout_is_a_method():
    called = {"slices": "slice"}
    missing = {name for name in home.__all__ if not hasattr(Layout, called.get(name, name))}
    assert missing == WITHOUT_A_LAYOUT


@pytest.mark.parametrize(
    ("method", "function"),
    [
        (TILE.bases, lambda: home.bases(TILE)),
        (TILE.rank, lambda: home.rank(TILE)),
        (S[(4, 2, 8) : (8, 0, 1)].kernel, lambda: home.kernel(S[(4, 2, 8) : (8, 0, 1)])),
        (
            lambda: TILE.refinement(S[(16, 32) : (1, 16)]),
            lambda: home.refinement(TILE, S[(16, 32) : (1, 16)]),
        ),
        (lambda: TILE.recognise_map(), lambda: home.recognise_map(affine(TILE))),
        (
            lambda: TILE.slice((0, 4), None).layout.swizzle_chain(),
            lambda: Swizzle(2, 3, 3) @ S[(4, 64) : (64, 1)],
        ),
    ],
)
def test_methods_are_the_functions(method, function):
    assert method() == function()


def test_several_tilers_go_mode_by_mode():
    layout = S[(32, 8) : (8, 1)]
    assert layout.compose(S[4:1], S[2:2]) == layout.compose((S[4:1], S[2:2]))
    assert layout.compose(None, 4) == layout.compose((None, 4))
    for form in ("logical", "zipped", "tiled", "flat"):
        divide, product = (getattr(layout, f"{form}_{kind}") for kind in ("divide", "product"))
        assert divide(16, 4) == divide((16, 4))
        assert product(2, 3) == product((2, 3))
    assert layout.tile(2, 3) == layout.tile((2, 3))
    named = layout.compose(S[(4, 2) : (1 @ laneid, 1 @ reg)], modes=("laneid", "reg"))
    assert named == S[(4, 2) : (8, 1)]


# -- what is said of wrong words -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda: S[(4, 32) : (1 @ warpid, 1 @ laneid)].fuse_axes("warpid", "laneid"), "TW103", "one axis"),
        (lambda: S[4 : 1 @ warpid].fuse_axes(warpid), "TW103", "one axis"),
        (lambda: S[(2, 64) : (64 @ tx, 1 @ tx)].split_axis("tx", "abc"), "TW103", "tx splits into"),
        (lambda: S[4:1].tile_to_shape(3), "TW503", "one block is 4"),
        (lambda: S[4:1].tile_to_shape(6), "TW503", "the next multiples are 4 and 8"),
        (lambda: home.recognise([0.5, 1.0]), "TW101", "whole numbers"),
        (lambda: S[(4, 2) : (1, 3)].inverse(), "TW505", "hint: ask place by place"),
        (lambda: S[(4, 2, 8) : (8, 0, 1)].inverse(), "TW505", "hint: quasi_inverse gives the smallest"),
    ],
)
def test_hints(ask, code, said):
    with pytest.raises(LayoutError) as error:
        ask()
    assert error.value.code == code
    assert said in str(error.value)


def test_a_pack_lies_on_storage():
    with pytest.raises(Refused, match="apart along laneid, and a pack lies on storage") as refused:
        S[(16, 8) : (8 @ laneid, 1 @ laneid)].recast("f16", "f32")
    assert refused.value.witness == 1
    with pytest.raises(Refused, match="apart along laneid"):
        S[(16, 8) : (8 @ reg, 1 @ reg + 1 @ laneid)].pack(2)
    with pytest.raises(Refused, match="is at 2@m, which is not 1 after 0@m"):
        S[(16, 8) : (16, 2)].pack(2)


@pytest.mark.parametrize("name", ["b8", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s64", "f64"])
def test_dtypes_of_every_width(name):
    assert DType.of(name).bits == int(name[1:])
    assert S[8:1].in_bytes(name).max() == 7 * DType.of(name).bits // 8


def test_dtypes_by_numpys_names():
    assert [DType.of(name).name for name in ("uint16", "uint32", "uint64", "int64")] == [
        "u16",
        "u32",
        "u64",
        "s64",
    ]
