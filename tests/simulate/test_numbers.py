"""The values of bits: all codes of all small types by plain arithmetic, NumPy's own floats, and rounding."""

import re
from fractions import Fraction
from math import copysign, inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewise import LayoutError
from tilewise.core.dtypes import DType
from tilewise.simulate.numbers import (
    FLOATS,
    SIGNED,
    UNSIGNED,
    cut,
    decode,
    encode,
    joined,
    whole_range,
)

SMALL = [name for name in FLOATS if DType.of(name).bits <= 16]
WHOLE = [*SIGNED, *UNSIGNED]


def plainly(code: int, name: str) -> float:
    """The number of a code, from the words of the formats' documents alone."""
    exponent_bits, mantissa_bits, bias = {
        "f16": (5, 10, 15),
        "bf16": (8, 7, 127),
        "e5m2": (5, 2, 15),
        "e4m3": (4, 3, 7),
        "ue4m3": (4, 3, 7),
        "e3m2": (3, 2, 3),
        "e2m3": (2, 3, 1),
        "e2m1": (2, 1, 1),
    }[name]
    fraction = code % 2**mantissa_bits
    exponent = code // 2**mantissa_bits % 2**exponent_bits
    negative = name != "ue4m3" and code // 2 ** (mantissa_bits + exponent_bits) % 2 == 1
    last = exponent == 2**exponent_bits - 1
    if name in ("f16", "bf16", "e5m2") and last:
        return nan if fraction else (-inf if negative else inf)
    if name in ("e4m3", "ue4m3") and last and fraction == 2**mantissa_bits - 1:
        return nan
    point = Fraction(fraction, 2**mantissa_bits)
    value = (
        point * Fraction(2) ** (1 - bias) if exponent == 0 else (1 + point) * Fraction(2) ** (exponent - bias)
    )
    return copysign(float(value), -1 if negative else 1)


@pytest.mark.parametrize("name", SMALL)
def test_every_code_is_the_number_that_the_format_says(name):
    bits = DType.of(name).bits
    found = decode(np.arange(1 << bits), name)
    wanted = np.array([plainly(code, name) for code in range(1 << bits)])
    np.testing.assert_array_equal(found, wanted)
    assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize(("name", "own"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)])
def test_numpy_reads_its_own_floats_alike(name, own):
    rng = np.random.default_rng(3)
    kind = np.dtype(own).str.replace("f", "u")
    codes = rng.integers(0, np.iinfo(kind).max, 20_000, dtype=kind)
    with np.errstate(invalid="ignore"):  # NaNs that signal
        wanted = codes.view(own).astype(np.float64)
    np.testing.assert_array_equal(decode(codes, name), wanted)


@pytest.mark.parametrize(("name", "own"), [("f16", np.float16), ("f32", np.float32)])
def test_numpy_rounds_to_its_own_floats_alike(name, own):
    rng = np.random.default_rng(4)
    size = {"f16": 20, "f32": 160}[name]
    numbers = rng.standard_normal(50_000) * np.exp2(rng.integers(-size - 10, size, 50_000))
    halves = np.arange(4096) * 2.0**-25  # ties, of subnormal numbers among them
    every = np.concatenate([numbers, halves, -halves, [0.0, -0.0, inf, -inf]])
    with np.errstate(over="ignore"):
        wanted = every.astype(own)
    assert np.array_equal(encode(every, name), wanted.view(f"<u{wanted.itemsize}"))


@pytest.mark.parametrize("name", SMALL)
def test_what_a_type_has_keeps_its_code(name):
    codes = np.arange(1 << DType.of(name).bits)
    numbers = decode(codes, name)
    kept = ~np.isnan(numbers) if name != "ue4m3" else (codes < 0x7F)
    assert np.array_equal(encode(numbers[kept], name), codes[kept])
    assert np.isnan(decode(encode(nan, name), name)) == (FLOATS[name].special != "none")


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=40)
@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_the_nearest_number_is_taken(name, number):
    """No finite number of the type is nearer; of two as near, the one with the even code."""
    codes = np.arange(1 << DType.of(name).bits)
    numbers = decode(codes, name)
    finite = np.isfinite(numbers)
    if name == "ue4m3":
        finite &= codes < 0x7F
        number = abs(number)
    code = int(encode(number, name, saturate=True))
    distance = np.abs(numbers[finite] - number)
    found = float(decode(code, name))
    assert abs(found - number) == distance.min()
    near = codes[finite][distance == distance.min()]
    if len({numbers[one] for one in near}) == 2 and abs(number) < FLOATS[name].largest:
        assert code % 2 == 0
    assert np.signbit(found) == np.signbit(number)


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=40)
@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_towards_zero_is_the_last_one_before(name, number):
    number = abs(number) if name == "ue4m3" else number
    numbers = decode(np.arange(1 << DType.of(name).bits), name)
    numbers = numbers[np.isfinite(numbers)]
    found = float(decode(encode(number, name, rounding="zero"), name))
    assert found == (numbers[numbers <= number].max() if number >= 0 else numbers[numbers >= number].min())


def test_what_is_too_large():
    over = [1e30, -1e30, inf]
    assert decode(encode(over, "f16"), "f16").tolist() == [inf, -inf, inf]
    assert decode(encode(over, "f16", saturate=True), "f16").tolist() == [65504, -65504, 65504]
    assert decode(encode([65519.0, 65520.0], "f16"), "f16").tolist() == [65504, inf]
    assert decode(encode([65520.0, inf], "f16", rounding="zero"), "f16").tolist() == [65504, inf]
    assert all(isnan(value) for value in decode(encode(over, "e4m3"), "e4m3"))
    assert decode(encode(over, "e2m1"), "e2m1").tolist() == [6, -6, 6]


def test_nan_is_all_ones_but_the_sign():
    assert [hex(int(encode(nan, name))) for name in ("f16", "bf16", "f32", "e4m3", "e5m2")] == [
        "0x7fff",
        "0x7fff",
        "0x7fffffff",
        "0x7f",
        "0x7f",
    ]


def test_tf32_is_read_without_its_low_bits():
    assert decode([0x3F801FFF, 0x3F802000], "tf32").tolist() == [1.0, 1.0 + 2.0**-10]
    assert encode(1.0 + 2.0**-11, "tf32") == 0x3F800000  # a tie goes to the even one
    assert encode(1.0 + 3 * 2.0**-11, "tf32") == 0x3F804000


@pytest.mark.parametrize("name", WHOLE)
@given(data=st.data())
def test_integers_are_twos_complement(name, data):
    low, high = whole_range(name)
    number = data.draw(st.integers(max(low, -(2**62)), min(high, 2**62)))
    code = int(encode(number, name))
    assert code == number % (1 << DType.of(name).bits)
    assert int(decode(code, name)) == number


def test_integers_that_a_type_does_not_have():
    with pytest.raises(LayoutError, match="s8 does not hold 128"):
        encode([3, 128], "s8")
    with pytest.raises(LayoutError, match="whole numbers"):
        encode([0.5], "s32")
    assert decode(encode([300, -300], "s8", saturate=True), "s8").tolist() == [127, -128]


def test_scales_are_powers_of_two():
    codes = np.arange(256)
    found = decode(codes, "ue8m0")
    assert found[:255].tolist() == [2.0 ** (code - 127) for code in range(255)]
    assert isnan(found[255])
    assert np.array_equal(encode(found, "ue8m0"), codes)
    for odd in (3.0, 0.0, -1.0, 2.0**128):
        with pytest.raises(LayoutError, match="ue8m0 does not hold"):
            encode(odd, "ue8m0")


@pytest.mark.parametrize("name", ["b16", "b32", "b128"])
def test_bits_of_no_type_are_no_number(name):
    with pytest.raises(LayoutError, match="says no number"):
        decode([0], name)


# -- codes in bytes --------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    bits=st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64]),
    rows=st.integers(1, 3),
    count=st.integers(1, 4),
    data=st.data(),
)
def test_codes_fill_bytes_from_the_lowest_bit_on(bits, rows, count, data):
    each = 8 * count if bits < 8 else count
    codes = data.draw(
        st.lists(
            st.lists(st.integers(0, (1 << bits) - 1), min_size=each, max_size=each),
            min_size=rows,
            max_size=rows,
        )
    )
    held = joined(np.array(codes, np.uint64), bits)
    for row, said in zip(held, codes, strict=True):
        whole = sum(code << bits * place for place, code in enumerate(said))
        assert row.tobytes() == whole.to_bytes(each * bits // 8, "little")
    assert np.array_equal(cut(held, bits), np.array(codes, np.uint64))


@pytest.mark.parametrize("number", [1.5, nan, inf, -inf, 1e30])
@pytest.mark.parametrize("saturate", [False, True])
def test_what_is_no_whole_number_is_named(number, saturate):
    with pytest.raises(LayoutError, match=f"s8 does not hold {re.escape(str(number))}"):
        encode([0.0, number], "s8", saturate=saturate)
