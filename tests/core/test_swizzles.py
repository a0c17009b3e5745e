"""Swizzles: laws, names, and what they do to addresses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import DType, LayoutError, S, Swizzle, reg
from tilewise.core.dtypes import DTYPES
from tilewise.core.swizzles import apply_chain, period_of, undo_chain
from tilewise.testing import naive_xor
from tilewise.testing.strategies import swizzles

ADDRESSES = st.integers(-(2**70), 2**70) | st.integers(-4096, 4096)


@given(swizzles(max_bits=6, max_base=6), ADDRESSES)
def test_a_swizzle_is_its_definition_and_an_involution(sw, address):
    assert sw(address) == naive_xor(address, sw.bits, sw.base, sw.shift)
    assert sw(sw(address)) == address


def test_an_address_of_numpy_is_swizzled_exactly():
    assert Swizzle(3, 3, 3)(np.uint8(200)) == 208
    assert Swizzle(3, 3, 3)(np.int8(-56)) == Swizzle(3, 3, 3)(-56)
    assert Swizzle(1, 0, 70)(np.int64(5)) == 5


@pytest.mark.parametrize("address", [2.0, True, "2", None])
def test_an_address_that_is_no_integer_is_refused(address):
    with pytest.raises(LayoutError, match="an address must be an integer") as error:
        Swizzle(1, 0, 1)(address)
    assert error.value.code == "TW101"


@given(swizzles(max_bits=6, max_base=6), ADDRESSES, st.integers(-50, 50))
def test_the_pattern_repeats_by_its_period(sw, address, times):
    assert sw(address + times * sw.period) == sw(address) + times * sw.period
    assert 0 <= sw(address) - address // sw.period * sw.period < sw.period


@given(swizzles(max_bits=4, max_base=3))
def test_no_shorter_power_of_two_is_a_period(sw):
    half = sw.period // 2
    assert sw.period == (1 << (sw.bits + sw.base + abs(sw.shift)) if sw.bits else 1)
    assert not sw.bits or any(sw(a + half) != sw(a) + half for a in range(sw.period))


@given(st.lists(swizzles(), max_size=4), ADDRESSES)
def test_a_chain_acts_from_the_right_and_is_undone(chain, address):
    expected = address
    for sw in reversed(chain):
        expected = sw(expected)
    assert apply_chain(chain, address) == expected
    assert undo_chain(chain, expected) == address
    period = period_of(chain)
    assert apply_chain(chain, address + period) == expected + period


@given(swizzles(max_bits=3, max_base=5), st.sampled_from([2, 4, 8]))
def test_scaling_counts_the_same_permutation_in_other_units(sw, ratio):
    finer = sw.scaled(ratio, 1)
    assert finer.scaled(1, ratio) == sw
    for address in range(0, 600, 7):
        for unit in range(ratio):
            assert finer(address * ratio + unit) == sw(address) * ratio + unit


def test_scaling_that_is_not_exact_is_refused():
    for sw, up, down in [(Swizzle(1, 0, 1), 1, 2), (Swizzle(1, 4, 1), 3, 1), (Swizzle(3, 4, 3), 8, 6)]:
        with pytest.raises(LayoutError) as error:
            sw.scaled(up, down)
        assert error.value.code == "TW106"
    assert Swizzle(0, 0, 0).scaled(1, 64) == Swizzle(0, 0, 0)


MODE_BITS = {"SWIZZLE_32B": 1, "SWIZZLE_64B": 2, "SWIZZLE_128B": 3}
BASE_OF_WIDTH = {1: 7, 4: 5, 8: 4, 16: 3, 32: 2, 64: 1, 128: 0}


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.bits != 6], ids=str)
@pytest.mark.parametrize("mode", MODE_BITS)
def test_the_hardware_s_modes_in_elements_of_every_dtype(mode, dtype):
    sw = Swizzle.named(mode, dtype)
    assert (sw.bits, sw.base, sw.shift) == (MODE_BITS[mode], BASE_OF_WIDTH[dtype.bits], 3)
    width = 16 << sw.bits
    assert sw.period * dtype.bits == 8 * width * 8
    in_bits = Swizzle.named(mode).scaled(8, 1)
    assert all(in_bits(a * dtype.bits) == sw(a) * dtype.bits for a in range(sw.period))


@pytest.mark.parametrize("mode", MODE_BITS)
def test_6_bit_elements_have_no_swizzle_of_their_own(mode):
    for dtype in ("e2m3", "e3m2"):
        with pytest.raises(LayoutError) as error:
            Swizzle.named(mode, dtype)
        assert error.value.code == "TW106"
        assert not Swizzle.named("SWIZZLE_NONE", dtype).bits


def test_modes_on_bytes_and_on_another_axis():
    assert [Swizzle.named(mode) for mode in MODE_BITS] == [Swizzle(b, 4, 3) for b in (1, 2, 3)]
    assert Swizzle.named("swizzle_128b", "bf16", axis=reg) == Swizzle(3, 3, 3, axis=reg)


@pytest.mark.parametrize(("bits", "rows_per_step"), [(3, 1), (2, 2), (1, 4)], ids=["128B", "64B", "32B"])
def test_the_16_byte_sectors_of_an_atom(bits, rows_per_step):
    """Sector c of row r stands at c ^ (r // rows_per_step)."""
    sectors = 1 << bits
    atom = Swizzle(bits, 4, 3) @ S[(8, sectors, 16)]
    for r in range(8):
        for c in range(sectors):
            swapped = c ^ (r // rows_per_step)
            assert atom.place(r, c, 5)["m"] == (r * sectors + swapped) * 16 + 5


def test_prefixes_associate():
    a, b, tile = Swizzle(1, 0, 2), Swizzle(1, 1, 3), S[32:1]
    assert (a @ b) @ tile == a @ (b @ tile)
    assert (a @ b @ tile).swizzles == (a, b)


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (64, "f64 float64 double"),
        (32, "f32 float32 tf32 s32 int32"),
        (16, "f16 half bf16 bfloat16 s16 int16"),
        (8, "e4m3 e5m2 ue4m3 ue8m0 s8 u8 int8 uint8 float8_e4m3fn float8_e5m2"),
        (6, "e2m3 e3m2"),
        (4, "e2m1 s4 u4"),
        (1, "b1"),
    ],
)
def test_the_width_of_every_dtype(bits, names):
    assert {DType.of(name).bits for name in names.split()} == {bits}
    assert DType.of(names.split()[0].upper()) == DType.of(names.split()[0])


def test_an_unknown_dtype_suggests_a_known_one():
    with pytest.raises(LayoutError) as error:
        DType.of("bf61")
    assert error.value.code == "TW105"
    assert "bf16" in error.value.hint
