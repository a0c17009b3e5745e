"""Named moves against NumPy, and against the tables of the hardware that know the same packings."""

from __future__ import annotations

import numpy as np
import pytest

from tilewise import DType, LayoutError, Refused, S, move, plan
from tilewise.check.match import match
from tilewise.check.suggest import suggest
from tilewise.core.dtypes import DTYPES
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands import tiles
from tilewise.moves import named
from tilewise.simulate import scales


def array(*shape, dtype=np.uint16):
    return np.random.default_rng(sum(shape)).integers(0, 1 << 8, shape).astype(dtype)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (64, 48), (61, 67)])
def test_transpose(rows, columns):
    x = array(rows, columns)
    assert np.array_equal(named.transpose(rows, columns).move(x), x.T.reshape(-1))


@pytest.mark.parametrize(
    ("shape", "order"),
    [((7,), (0,)), (7, 0), ((2, 3, 5), (2, 0, 1)), ((4, 1, 6, 3), (3, 1, 0, 2)), ((2, 3, 4), (0, -1, -2))],
)
def test_permute(shape, order):
    x = array(*np.atleast_1d(shape))
    assert np.array_equal(named.permute(shape, order).move(x), x.transpose(order).reshape(-1))


def test_images():
    x = array(2, 5, 7, 3)
    last = named.nchw_to_nhwc(2, 5, 7, 3).move(x)
    assert np.array_equal(last, x.transpose(0, 2, 3, 1).reshape(-1))
    assert np.array_equal(named.nhwc_to_nchw(2, 7, 3, 5).move(last), x.reshape(-1))


def packed_plainly(x, fill):
    """Factors in blocks of 128 x 4, in each 32 rows of 16 bytes, four factors of four rows."""
    rows, sf_k = x.shape
    down, along = -(-rows // 128), -(-sf_k // 4)
    whole = np.full((down * 128, along * 4), fill, np.uint8)
    whole[:rows, :sf_k] = x
    blocks = []
    for i in range(down):
        for j in range(along):
            block = whole[128 * i : 128 * i + 128, 4 * j : 4 * j + 4]
            blocks += [block[lane + 32 * quarter] for lane in range(32) for quarter in range(4)]
    return np.concatenate(blocks)


@pytest.mark.parametrize(("rows", "sf_k"), [(128, 4), (256, 12), (1, 1), (300, 5), (127, 9)])
def test_scale_factors(rows, sf_k):
    x = array(rows, sf_k, dtype=np.uint8)
    packed = named.pack_scales_128x4(rows, sf_k).move(x, fill=127)
    assert np.array_equal(packed, packed_plainly(x, 127))
    assert np.array_equal(packed, scales.pack(x, fill=127))
    back = named.unpack_scales_128x4(rows, sf_k)
    assert np.array_equal(back.move(packed), x.reshape(-1))
    assert back.plan().bytes == 2 * x.size or back.shape is None


def atoms_plainly(x, width, deep=8):
    """A matrix of bytes as swizzled atoms of `deep` rows, down the rows first."""
    rows, row_bytes = x.shape
    out = []
    for left in range(0, row_bytes, width):
        for top in range(0, rows, deep):
            atom = x[top : top + deep, left : left + width]
            out += list(atom.reshape(-1, 16))
    chunks = np.array(out).reshape(-1, 16)
    places = np.arange(len(chunks))
    keyed = places ^ (places >> 3 & width // 16 - 1)
    swizzled = np.empty_like(chunks)
    swizzled[keyed] = chunks
    return swizzled.reshape(-1)


@pytest.mark.parametrize(("swizzle", "width"), [("128B", 128), ("64B", 64), ("32B", 32), ("none", 16)])
@pytest.mark.parametrize(("rows", "columns"), [(64, 64), (128, 192)])
def test_tiles_for_wgmma(swizzle, width, rows, columns):
    x = array(rows, columns)
    made = named.tile_for_wgmma(rows, columns, "bf16", swizzle)
    expected = atoms_plainly(x.view(np.uint8).reshape(rows, -1), width)
    assert np.array_equal(made.move(x).view(np.uint8), expected)
    if swizzle == "none":
        assert np.array_equal(named.core_matrices(rows, columns, "bf16").move(x).view(np.uint8), expected)


@pytest.mark.parametrize("swizzle", ["128B", "64B", "32B", "none"])
def test_tiles_are_those_that_suggest_takes(swizzle):
    asked = suggest(operand="A", rows=128, k=64, dtype="bf16", mode=swizzle)
    assert named.tile_for_wgmma(128, 64, "bf16", swizzle).target.same(asked.tile).answer


BY_WIDTH = {"b8": "s8", "b16": "f16", "s16": "f16", "u16": "f16", "b32": "tf32", "s32": "tf32", "u32": "tf32"}
"""{a type that says a width alone: the one of wgmma that has it, in every major in which one has}."""


def is_read(dtype, major):
    """Return whether wgmma reads a tile of that type, as `match` says."""
    deep = tiles.extents(Mode.of("none"), major, DType.of(dtype))
    rows, k = max(64, deep[0]), max(256 // DType.of(dtype).bits, deep[1])
    tile = tiles.tile("none", major, dtype, rows, k)
    return match(tile, operand="A", dtype=dtype).legal


@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("dtype", [name for name, dtype in DTYPES.items() if 128 % dtype.bits == 0])
def test_tiles_are_made_of_what_match_says_that_wgmma_reads(dtype, major):
    own = BY_WIDTH.get(dtype, dtype)
    if is_read(own, major):
        assert named.tile_for_wgmma(64, 64, dtype, major=major).dtype.name == dtype
        return
    with pytest.raises(Refused, match=r"wgmma (does not multiply|reads)") as no:
        named.tile_for_wgmma(64, 64, dtype, major=major)
    assert no.value.code == "TW602"
    assert no.value.hint


def test_tiles_are_filled_up_to_whole_atoms():
    x = array(100, 72)
    found = named.tile_for_wgmma(100, 72, "bf16").move(x, fill=7)
    whole = np.full((104, 128), 7, np.uint16)
    whole[:100, :72] = x
    assert np.array_equal(found, named.tile_for_wgmma(104, 128, "bf16").move(whole))


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda: named.permute((2, 3), (0, 0)), "TW202"),
        (lambda: named.permute((2, 3), (0, 1, 2)), "TW202"),
        (lambda: named.transpose(0, 4), "TW102"),
        (lambda: named.pack_scales_128x4(300, 5).plan("bf16"), "TW106"),
        (lambda: named.transpose(4, 4).plan(), "TW401"),
        (lambda: named.tile_for_wgmma(64, 64, "bf16", "48B"), "TW601"),
        (lambda: named.permute((2, 3), None), "TW101"),
        (lambda: named.permute(None, (0, 1)), "TW101"),
        (lambda: named.transpose(4, 4).plan("u8", shape=(2, 2)), "TW401"),
        (lambda: named.transpose(4, 4).plan("u8", arch="sm_90"), "TW401"),
        (lambda: plan(named.transpose, dtype="u8"), "TW401"),
        (lambda: move(np.zeros(4), named.transpose), "TW401"),
    ],
)
def test_what_is_refused(ask, code):
    with pytest.raises(LayoutError) as refused:
        ask()
    assert refused.value.code == code
    assert refused.value.hint


def test_a_named_move_is_given_in_place_of_two_layouts():
    pair, x = named.pack_scales_128x4(300, 5), np.arange(1500).astype(np.uint8)
    assert plan(pair) == pair.plan()
    assert plan(pair, dtype="ue8m0", fill=b"\x7f") == pair.plan("ue8m0", fill=b"\x7f")
    assert move(x, pair, fill=9).tolist() == pair.move(x, fill=9).tolist()
    out = np.zeros(3072, np.uint8)
    assert move(x, pair, out=out) is out
    assert out.tolist() == pair.move(x).tolist()


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda: plan(named.transpose(4, 4), "bf16"), "TW401", "no target 'bf16'"),
        (lambda: plan(named.transpose(4, 4)), "TW401", "the type of an element is not given"),
        (lambda: plan(named.transpose(4, 4), dtype="u8", shape=(2, 2)), "TW401", r"no box \(2, 2\)"),
        (lambda: plan(named.transpose(4, 4), S[4, 4], "u8"), "TW401", "it takes no target"),
        (lambda: plan(S[4, 4], "u8"), "TW107", "a layout for the target belongs here, not the str 'u8'"),
        (lambda: plan("S[4]", S[4], "u8"), "TW107", "a layout for the source belongs here"),
        (lambda: plan("S[4]", "S[4]", "u8"), "TW107", r"for the source belongs here(.|\n)*parse\(\) reads"),
        (lambda: plan("permute(4, 0)", dtype="u8"), "TW107", r"named import permute, and permute\(\.\.\.\)"),
        (lambda: move(np.zeros(4), " transpose(2, 2)"), "TW107", "named import transpose, and"),
        (lambda: plan(S[4], "transpose(2, 2)", "u8"), "TW107", "named import transpose, and"),
        (lambda: plan(S[4], named.transpose(2, 2), "u8"), "TW107", "is given in place of both layouts"),
        (lambda: plan(S[4], S[4]), "TW401", "the type of an element is not given"),
        (lambda: move(np.zeros(4), None), "TW107", "a layout for the target belongs here"),
        (lambda: move(np.zeros(4), S[4]), "TW401", "one layout is given, and a move has two"),
        (lambda: plan(S[4], dtype="u8"), "TW401", "one layout is given, and a move has two"),
        (lambda: move(np.zeros(4), named.transpose(2, 2), shape=(1, 1)), "TW401", "no box"),
        (lambda: move(np.zeros(4), named.transpose(2, 2), S[4]), "TW107", "a layout for the source"),
    ],
)
def test_what_is_no_pair_is_said(ask, code, said):
    with pytest.raises(LayoutError, match=said) as refused:
        ask()
    assert refused.value.code == code


def test_another_name_of_the_same_width_is_taken():
    assert named.pack_scales_128x4(128, 4).plan("ue8m0").dtype == DType.of("ue8m0")


@pytest.mark.parametrize("asked", [lambda x, of: move(x, of), lambda x, of: of.move(x)])
@pytest.mark.parametrize(
    ("pair", "kind", "own", "given"),
    [
        (named.tile_for_wgmma(64, 64, "bf16"), np.float32, "16 bits", "4 bytes"),
        (named.pack_scales_128x4(64, 64), np.int64, "8 bits", "8 bytes"),
        (named.core_matrices(8, 48, "e2m1"), np.uint16, "4 bits", "2 bytes"),
    ],
)
def test_an_array_of_another_width_than_the_name_says_is_refused(asked, pair, kind, own, given):
    with pytest.raises(LayoutError, match=f"elements of {own}, and the array's have {given}") as refused:
        asked(np.zeros(4096, kind), pair)
    assert (refused.value.code, f'dtype="{pair.dtype}"' in refused.value.hint) == ("TW106", True)


def test_a_type_that_is_asked_for_is_held_to_the_name():
    pair, x = named.tile_for_wgmma(64, 64, "bf16"), array(64, 64)
    as_bytes = move(x.view(np.uint8), pair, dtype="f16")
    assert as_bytes.tobytes() == move(x, pair).tobytes()
    with pytest.raises(LayoutError, match="of 16 bits, and f32 has 32"):
        move(x, pair, dtype="f32")


def test_halves_of_bytes_are_what_the_name_says():
    pair, x = named.core_matrices(8, 48, "e2m1"), array(8, 24, dtype=np.uint8)
    assert move(x, pair, fill=6).tobytes() == move(x, pair, dtype="e2m1", fill=6).tobytes()


def test_types_that_do_not_fill_chunks_are_refused():
    with pytest.raises(Refused):
        named.core_matrices(64, 64, "e2m3")


@pytest.mark.parametrize(
    ("words", "code"),
    [((S[4], None), "TW107"), ((4, S[4]), "TW107"), ((S[4], S[4], None, "f31"), "TW105")],
)
def test_a_move_of_ones_own_is_of_layouts(words, code):
    with pytest.raises(LayoutError) as refused:
        named.Named(*words)
    assert refused.value.code == code


def test_the_type_of_a_move_of_ones_own_may_be_a_name():
    own = named.Named(S[4], S[4] + 1, None, "bf16")
    assert own == named.Named(S[4], S[4] + 1, None, DType.of("bf16"))
    assert own.plan() == plan(S[4], S[4] + 1, "bf16")


def test_an_array_of_one_mode_has_one_order():
    for order in (0, np.int64(0), (-1,), np.array([0])):
        assert named.permute(np.int64(5), order) == named.permute((5,), (0,))


def test_an_array_without_modes_has_one_order():
    assert named.permute((), ()).target == S[()]
    assert named.permute((), ()).move(np.array(7)).tolist() == [7]
