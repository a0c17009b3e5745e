"""Floats of machine code: exact ones, and those of divisions, which lie between two ends."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, inf, isnan, nan, trunc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled.sass_texts import number, ran

from tilewise.compiled.lanes import Value
from tilewise.compiled.launch import Launch

DIVIDED = (
    "I2F.U16 R0, R4",
    "IMAD.MOV.U32 R3, RZ, RZ, 0x4b800000",
    "I2FP.F32.U32.RZ R2, R2",
    "FSETP.GEU.AND P1, PT, |R0|.reuse, 1.175494350822287508e-38, PT",
    "FSETP.GT.AND P0, PT, |R0|, 8.50705917302346158658e+37, PT",
    "FSEL R3, R3, 1, !P1",
    "FSEL R3, R3, 0.25, !P0",
    "ISETP.NE.U32.AND P0, PT, R4, RZ, PT",
    "FMUL R0, R0, R3",
    "MUFU.RCP R0, R0",
    "FMUL R3, R3, R0",
    "IADD3 R3, R3, 0x2, RZ",
    "FMUL.RZ R5, R2, R3",
    "F2I.U32.TRUNC.NTZ R5, R5",
    "LOP3.LUT R9, R5, 0xffff, RZ, 0xc0, !PT",
    "@!P0 IMAD.MOV.U32 R9, RZ, RZ, -0x1",
)
"""ptxas's sequence for R2 / R4 of 16 bits."""
MANY = Launch((32, 1, 1), (1024, 1, 1))


def bits_of(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def float_of(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def divided(lines, a, b):
    """Return the quotients of pairs, and which of them are known."""
    lanes, _, _ = ran(lines, {"R2": a, "R4": b}, MANY)
    value = lanes.read("R9")
    unknown = np.zeros(1, np.bool_) if value.unknown is None else value.unknown
    return lanes.spread(value.bits), ~lanes.spread(unknown)


def pairs(divisors, count: int = 32768):
    """Return numbers of 16 bits about multiples of their divisors, where a quotient changes."""
    rng = np.random.default_rng(3)
    b = np.resize(np.asarray(divisors, np.int64), count)
    a = b * rng.integers(0, 65536 // np.maximum(b, 1) + 1) + rng.integers(-1, 2, count)
    return np.clip(a, 0, 65535), b


@pytest.mark.parametrize("begin", [1, 300, 32768])
def test_quotient_of_16_bits_is_known(begin):
    a, b = pairs(range(begin, begin + 32768))
    quotients, known = divided(DIVIDED, a, b)
    assert known.all()
    assert (quotients == a // b).all()


def test_quotient_by_zero_is_that_of_the_hardware():
    quotients, known = divided(DIVIDED, [7] * 32768, [0] * 32768)
    assert known.all()
    assert (quotients == 0xFFFFFFFF).all()


def test_quotient_that_hangs_on_the_last_place_is_not_known():
    """Without what ptxas adds to the reciprocal, a multiple of the divisor may fall short of its quotient."""
    a, b = pairs(range(3, 3000))
    quotients, known = divided([line for line in DIVIDED if not line.startswith("IADD3")], a, b)
    assert not known.all()
    assert known.any()
    assert (quotients == a // b)[known].all()


def test_reciprocal_counts_as_unknown():
    lanes, _, _ = ran(
        ["MUFU.RCP R1, R0", "IADD3 R2, R1, 0x1, RZ", "LOP3.LUT R3, R1, 0xff, RZ, 0xc0, !PT"],
        {"R0": bits_of(3)},
    )
    assert all(lanes.read(name).unknown is not None for name in ("R1", "R2", "R3"))


def test_lanes_that_part_keep_their_ends():
    lines = ["ISETP.LT.AND P3, PT, R6, 0x8, PT", *(f"@P3 {line}" for line in DIVIDED[:-1])]
    lanes, _, _ = ran(lines, {"R2": 1000, "R4": 7, "R6": range(32), "R9": 5})
    assert [number(lanes, "R9", lane) for lane in (0, 7, 8, 31)] == [142, 142, 5, 5]


# -- exact floats ----------------------------------------------------------------------------------------

FLOATS = st.one_of(
    st.floats(width=32, allow_nan=False),
    st.integers(-70000, 70000).map(float),
    st.sampled_from([0.0, -0.0, inf, -inf, 1.5, 2.0**-126, 2.0**-149, 3.0e38]),
)
TOWARDS = {"": None, ".RZ": 0, ".RM": -1, ".RP": 1}


@np.errstate(all="ignore")
def rounded(exact: Fraction, towards: int | None) -> float:
    """Return the float that a number is rounded to: the nearest, or one in a direction."""
    near = np.float32(float(exact)) if exact else np.float32(0)
    below = (
        near
        if not np.isinf(near) and Fraction(float(near)) <= exact
        else np.nextafter(near, np.float32(-inf))
    )
    if np.isinf(near):
        below = np.nextafter(np.float32(inf), np.float32(0)) if near > 0 else np.float32(-inf)
    above = (
        below
        if np.isfinite(below) and Fraction(float(below)) == exact
        else np.nextafter(below, np.float32(inf))
    )
    if towards is None:
        return float(near)
    return float(below if towards < 0 or (towards == 0 and exact > 0) else above)


@given(a=FLOATS, b=FLOATS, way=st.sampled_from([*TOWARDS]))
def test_product_is_exact(a, b, way):
    lanes, _, _ = ran([f"FMUL{way} R2, R0, R1"], {"R0": bits_of(a), "R1": bits_of(b)})
    a, b = float_of(bits_of(a)), float_of(bits_of(b))
    if isnan(a * b):
        assert lanes.read("R2").unknown is not None
    elif inf in (abs(a), abs(b)) or not a * b:
        assert number(lanes, "R2") == bits_of(a * b) or (a and b)
    else:
        found = float_of(number(lanes, "R2"))
        assert found == rounded(Fraction(a) * Fraction(b), TOWARDS[way])


def test_small_floats_are_flushed_where_the_text_says_so():
    small = bits_of(2.0**-130)
    lines = [
        "FMUL R2, R0, 1",
        "FMUL.FTZ R3, R0, 1",
        "FMUL.FTZ R4, R1, 0.5",
        "FSETP.GT.FTZ.AND P0, PT, R0, RZ, PT",
    ]
    lanes, _, _ = ran(lines, {"R0": small, "R1": bits_of(-(2.0**-126))})
    assert [number(lanes, name) for name in ("R2", "R3", "R4")] == [small, 0, 1 << 31]
    assert not lanes.truth("P0").bits.any()


@given(a=FLOATS | st.just(nan), b=FLOATS | st.just(nan))
def test_comparisons_of_floats(a, b):
    relations = {"LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b, "EQ": a == b, "NE": a != b}
    lines = [
        f"FSETP.{name}{u}.AND P{n}, PT, R0, -R1, PT" for u in ("", "U") for n, name in enumerate(relations)
    ]
    ordered = not (isnan(a) or isnan(b))
    for half in (0, 1):
        lanes, _, _ = ran(lines[6 * half : 6 * half + 6], {"R0": bits_of(a), "R1": bits_of(b) ^ 1 << 31})
        for place, holds in enumerate(relations.values()):
            assert bool(lanes.truth(f"P{place}").bits[0]) == (holds if ordered else bool(half))


@given(value=st.integers(-(2**63), 2**64 - 1), way=st.sampled_from([*TOWARDS]))
def test_integers_as_floats(value, way):
    halves = {"R0": value & 0xFFFFFFFF, "R1": value >> 32 & 0xFFFFFFFF}
    kinds = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "U32": 32, "S32": 32, "U64": 64, "S64": 64}
    for kind, width in kinds.items():
        lanes, _, _ = ran([f"I2F.{kind}{way} R2, R0"], halves)
        cut = value & (1 << width) - 1
        if kind[0] == "S" and cut >> width - 1:
            cut -= 1 << width
        assert float_of(number(lanes, "R2")) == rounded(Fraction(cut), TOWARDS[way])


@given(a=FLOATS | st.just(nan))
def test_floats_as_integers(a):
    ends = {
        "U32": (0, 2**32 - 1),
        "S32": (-(2**31), 2**31 - 1),
        "U64": (0, 2**64 - 1),
        "S64": (-(2**63), 2**63 - 1),
    }
    a = float_of(bits_of(a))
    for kind, (low, high) in ends.items():
        for way, function in ((".TRUNC", trunc), (".FLOOR", floor), (".CEIL", ceil), ("", round)):
            lanes, _, _ = ran([f"F2I.{kind}{way}.NTZ R2, R0"], {"R0": bits_of(a)})
            if isnan(a):
                assert lanes.read("R2").unknown is not None
                continue
            whole = (high if a > 0 else low) if abs(a) == inf else max(low, min(high, function(a)))
            found = number(lanes, "R2") | (number(lanes, "R3") << 32 if kind.endswith("64") else 0)
            assert found == whole & (1 << int(kind[1:])) - 1


def test_floats_that_no_rule_reads_are_not_known():
    lines = [
        "FADD R1, R0, R0",
        "FMUL.SAT R2, R0, R0",
        "I2F.F64 R4, R0",
        "F2I.F64 R6, R4",
        "MUFU.SQRT R7, R0",
        "FMUL R8, R0, +QNAN",
    ]
    lanes, _, _ = ran(lines, {"R0": bits_of(2)})
    assert all(lanes.read(name).unknown is not None for name in ("R1", "R2", "R4", "R6", "R7", "R8"))
    assert isinstance(lanes.read("R8"), Value)
