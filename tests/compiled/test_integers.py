"""Integer instructions of machine code against plain arithmetic on Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled.sass_texts import number, ran

WORD = 1 << 32
words = st.one_of(
    st.sampled_from([0, 1, 2, 31, 32, 33, WORD - 1, WORD // 2, WORD // 2 - 1]), st.integers(0, WORD - 1)
)


def signed(word: int) -> int:
    return word - WORD if word >= WORD // 2 else word


def cut(value: int) -> int:
    return value % WORD


def run_one(instruction: str, a: int, b: int, c: int, register: str = "R4", **truths: bool) -> int:
    lanes, _, _ = ran([instruction], {"R1": a, "R2": b, "R3": c, **truths})
    return number(lanes, register)


THREE: dict[str, Callable[[int, int, int], int]] = {
    "IADD3 R4, R1, R2, R3": lambda a, b, c: a + b + c,
    "IADD3 R4, R1, -R2, R3": lambda a, b, c: a - b + c,
    "IADD3 R4, -R1, 0x7, RZ": lambda a, b, c: 7 - a,
    "IADD3 R4, ~R1, R2, RZ": lambda a, b, c: b - a - 1,
    "VIADD R4, R1, 0xffffffff": lambda a, b, c: a - 1,
    "IMAD R4, R1, R2, R3": lambda a, b, c: a * b + c,
    "IMAD R4, R1, -0x7, R3": lambda a, b, c: -7 * a + c,
    "IMAD.IADD R4, R1, 0x1, -R2": lambda a, b, c: a - b,
    "IMAD.MOV R4, RZ, RZ, -R1": lambda a, b, c: -a,
    "IMAD.SHL.U32 R4, R1, 0x8, RZ": lambda a, b, c: 8 * a,
    "IMAD.HI.U32 R4, R1, R2, RZ": lambda a, b, c: a * b >> 32,
    "IMAD.HI R4, R1, R2, RZ": lambda a, b, c: signed(a) * signed(b) >> 32,
    "IMAD.WIDE.U32 R4, R1, R2, RZ": lambda a, b, c: a * b,
    "LEA R4, R1, R2, 0x3": lambda a, b, c: (a << 3) + b,
    "LEA.HI R4, R1, R2, RZ, 0x5": lambda a, b, c: (a >> 27) + b,
    "LEA.HI R4, R1, R2, R3, 0x5": lambda a, b, c: ((c << 32 | a) << 5 >> 32) + b,
    "LEA.HI.SX32 R4, R1, R2, 0x1e": lambda a, b, c: (signed(a) >> 2) + b,
    "IABS R4, R1": lambda a, b, c: abs(signed(a)),
    "SHF.L.U32 R4, R1, 0x5, RZ": lambda a, b, c: a << 5,
    "SHF.L.U32 R4, R1, R2, RZ": lambda a, b, c: a << b if b < 32 else 0,
    "SHF.R.U32.HI R4, RZ, R2, R1": lambda a, b, c: a >> b if b < 32 else 0,
    "SHF.R.S32.HI R4, RZ, R2, R1": lambda a, b, c: signed(a) >> min(b, 31),
    "SHF.L.U64.HI R4, R1, 0x4, R3": lambda a, b, c: (c << 32 | a) << 4 >> 32,
    "SHF.R.U64 R4, R1, 0x4, R3": lambda a, b, c: (c << 32 | a) >> 4,
    "SHF.R.S64 R4, R1, 0x3f, R3": lambda a, b, c: signed(c) >> 31,
    "SHF.R.S64 R4, R1, R2, R3": lambda a, b, c: (signed(c) << 32 | a) >> min(b, 63),
    "SHF.L.W.U32.HI R4, R1, R2, R3": lambda a, b, c: (c << 32 | a) << b % 32 >> 32,
    "SGXT R4, R1, 0x8": lambda a, b, c: a % 256 - 256 * (a >> 7 & 1),
    "SGXT.U32 R4, R1, 0x8": lambda a, b, c: a % 256,
    "BMSK R4, R1, 0x3": lambda a, b, c: 7 << a if a < 32 else 0,
    "POPC R4, R1": lambda a, b, c: a.bit_count(),
    "BREV R4, R1": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "FLO.U32 R4, R1": lambda a, b, c: a.bit_length() - 1,
    "FLO.U32.SH R4, R1": lambda a, b, c: 32 - a.bit_length() if a else -1,
    "LOP3.LUT R4, R1, R2, R3, 0x96, !PT": lambda a, b, c: a ^ b ^ c,
    "LOP3.LUT R4, R1, R2, RZ, 0xc0, !PT": lambda a, b, c: a & b,
    "LOP3.LUT R4, R1, R2, R3, 0xf8, !PT": lambda a, b, c: a | b & c,
    "LOP3.LUT R4, RZ, R1, RZ, 0x33, !PT": lambda a, b, c: ~a,
    "PRMT R4, R1, 0x5410, R3": lambda a, b, c: a % 65536 | c % 65536 << 16,
    "PRMT R4, R1, 0x7632, R3": lambda a, b, c: a >> 16 | c >> 16 << 16,
    "VIMNMX R4, R1, R2, PT": lambda a, b, c: min(signed(a), signed(b)),
    "VIMNMX.U32 R4, R1, R2, !PT": lambda a, b, c: max(a, b),
    "IMNMX R4, R1, R2, !PT": lambda a, b, c: max(signed(a), signed(b)),
    "MOV R4, R1": lambda a, b, c: a,
    "HFMA2.MMA R4, -RZ, RZ, 0, 5.9604644775390625e-08": lambda a, b, c: 1,
}


@pytest.mark.parametrize("instruction", THREE)
@given(a=words, b=words, c=words)
def test_word_is_that_of_plain_arithmetic(instruction, a, b, c):
    assert run_one(instruction, a, b, c) == cut(THREE[instruction](a, b, c))


@given(a=st.integers(0, 2**64 - 1), b=st.integers(0, 2**64 - 1))
def test_sum_of_64_bits_carries(a, b):
    lanes, _, _ = ran(
        ["IADD3 R6, P0, R0, R2, RZ", "IADD3.X R7, R1, R3, RZ, P0, !PT"],
        {"R0": a % WORD, "R1": a >> 32, "R2": b % WORD, "R3": b >> 32},
    )
    assert number(lanes, "R6") | number(lanes, "R7") << 32 == (a + b) % 2**64


@given(a=st.integers(0, 2**64 - 1), b=st.integers(0, 2**64 - 1))
def test_difference_of_64_bits_borrows(a, b):
    lanes, _, _ = ran(
        ["IADD3 R6, P0, R0, -R2, RZ", "IADD3.X R7, R1, ~R3, RZ, P0, !PT"],
        {"R0": a % WORD, "R1": a >> 32, "R2": b % WORD, "R3": b >> 32},
    )
    assert number(lanes, "R6") | number(lanes, "R7") << 32 == (a - b) % 2**64


@given(a=st.integers(0, 2**64 - 1), b=words, shift=st.integers(1, 31))
def test_address_of_an_element_of_64_bits(a, b, shift):
    """LEA and LEA.HI.X with a carry between them: b + (a << shift), of 64 bits."""
    lanes, _, _ = ran(
        [f"LEA R6, P0, R0, R2, {shift:#x}", f"LEA.HI.X R7, R0, R3, R1, {shift:#x}, P0"],
        {"R0": a % WORD, "R1": a >> 32, "R2": b, "R3": 0x7F00},
    )
    expected = ((0x7F00 << 32 | b) + (a << shift)) % 2**64
    assert number(lanes, "R6") | number(lanes, "R7") << 32 == expected


@given(a=words, b=words, shift=st.integers(0, 31))
def test_difference_of_a_shifted_word_borrows(a, b, shift):
    """LEA of a negated register carries where nothing is borrowed, for 0 as well."""
    lanes, _, _ = ran(
        [f"LEA R6, P0, -R0, R2, {shift:#x}", "IADD3.X R7, R3, -0x1, RZ, P0, !PT"],
        {"R0": a, "R2": b, "R3": 0x7F00},
    )
    moved = cut(a << shift)
    assert number(lanes, "R6") | number(lanes, "R7") << 32 == ((0x7F00 << 32 | b) - moved) % 2**64


longs = st.integers(-(2**63), 2**63 - 1)
OF_64_BITS: dict[str, Callable[[int, int], int]] = {
    "IADD.64 R6, R0, R2": lambda a, b: a + b,
    "IADD3.64 R6, PT, PT, R0, R2, RZ": lambda a, b: a + b,
    "IADD.64 R6, R0, 0x7fffffffff": lambda a, b: a + 0x7FFFFFFFFF,
    "MOV.64 R6, 0x7fffffffff": lambda a, b: 0x7FFFFFFFFF,
    "IMNMX.S64 PT, PT, R6, R0, R2, PT, !PT": min,
    "IMNMX.S64 PT, PT, R6, R0, R2, !PT, !PT": max,
    "SEL.64 R6, R0, 0x40, PT": lambda a, b: a,
    "SEL.64 R6, R0, 0x40, !PT": lambda a, b: 0x40,
}


@pytest.mark.parametrize("instruction", OF_64_BITS)
@given(a=longs, b=longs)
def test_instruction_of_64_bits(instruction, a, b):
    halves = {"R0": cut(a), "R1": cut(a >> 32), "R2": cut(b), "R3": cut(b >> 32)}
    lanes, _, _ = ran([instruction, "ISETP.GT.S64.AND P0, PT, R0, R2, PT"], halves)
    assert number(lanes, "R6") | number(lanes, "R7") << 32 == OF_64_BITS[instruction](a, b) % 2**64
    assert bool(lanes.truth("P0").bits[0]) == (a > b)


COMPARED = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}


@pytest.mark.parametrize("relation", COMPARED)
@given(a=words, b=words, c=st.booleans())
def test_comparison_and_its_complement(relation, a, b, c):
    compared = COMPARED[relation]
    for kind, of in (("U32.", int), ("", signed)):
        lanes, _, _ = ran([f"ISETP.{relation}.{kind}AND P1, P2, R1, R2, P0"], {"R1": a, "R2": b, "P0": c})
        holds = compared(of(a), of(b))
        assert [bool(lanes.truth(name).bits[0]) for name in ("P1", "P2")] == [holds and c, not holds and c]


@pytest.mark.parametrize("relation", COMPARED)
@given(a=st.integers(-(2**63), 2**63 - 1), b=st.integers(-(2**63), 2**63 - 1), near=st.booleans())
def test_comparison_of_64_bits(relation, a, b, near):
    b = (a >> 32 << 32) + b % WORD if near else b
    words = {"R0": a % WORD, "R1": (a >> 32) % WORD, "R2": b % WORD, "R3": (b >> 32) % WORD}
    lanes, _, _ = ran(
        [f"ISETP.{relation}.U32.AND P0, PT, R0, R2, PT", f"ISETP.{relation}.AND.EX P0, PT, R1, R3, PT, P0"],
        words,
    )
    assert bool(lanes.truth("P0").bits[0]) == COMPARED[relation](a, b)


@given(table=st.integers(0, 255), a=st.booleans(), b=st.booleans(), c=st.booleans())
def test_predicates_by_their_table(table, a, b, c):
    lanes, _, _ = ran([f"PLOP3.LUT P3, PT, P0, P1, P2, {table:#x}, 0x0"], {"P0": a, "P1": b, "P2": c})
    assert bool(lanes.truth("P3").bits[0]) == bool(table >> (4 * a + 2 * b + c) & 1)


@given(st.lists(words, min_size=32, max_size=32), st.integers(0, 31))
def test_shuffles(numbers, step):
    for mode, other in (
        ("BFLY", lambda lane: lane ^ step),
        ("IDX", lambda lane: step),
        ("UP", lambda lane: lane - step if lane >= step else lane),
        ("DOWN", lambda lane: lane + step if lane + step < 32 else lane),
    ):
        clamp = "0x0" if mode == "UP" else "0x1f"
        lanes, _, _ = ran([f"SHFL.{mode} PT, R4, R1, {step:#x}, {clamp}"], {"R1": numbers})
        assert [number(lanes, "R4", lane) for lane in range(32)] == [
            numbers[other(lane)] for lane in range(32)
        ]


@given(st.lists(st.booleans(), min_size=32, max_size=32))
def test_votes(truths):
    lanes, _, _ = ran(["VOTE.ANY R4, P1, P0", "VOTE.ALL P2, P0"], {"P0": truths})
    assert number(lanes, "R4") == sum(holds << lane for lane, holds in enumerate(truths))
    assert [bool(lanes.truth(name).bits[0]) for name in ("P1", "P2")] == [any(truths), all(truths)]


@given(st.lists(st.integers(0, 5), min_size=32, max_size=32), st.booleans())
def test_lanes_with_the_same_number(numbers, one_number):
    given_ones = [numbers[0]] * 32 if one_number else numbers
    lanes, _, _ = ran(["MATCH.ANY R4, R1", "MATCH.ALL P0, R5, R1"], {"R1": given_ones})
    alike = [sum((b == a) << lane for lane, b in enumerate(given_ones)) for a in given_ones]
    assert [number(lanes, "R4", lane) for lane in range(32)] == alike
    every = len(set(given_ones)) == 1
    assert bool(lanes.spread(lanes.truth("P0").bits)[7]) == every
    assert number(lanes, "R5", 7) == (2**32 - 1) * every


@given(a=words, b=st.integers(1, WORD - 1))
def test_division_as_the_compiler_writes_it(a, b):
    """nvcc's sequence for a / b of unsigned numbers: a reciprocal, and two corrections."""
    lanes, _, _ = ran(
        [
            "I2F.U32.RP R4, R2",
            "MUFU.RCP R4, R4",
            "VIADD R6, R4, 0xffffffe",
            "F2I.FTZ.U32.TRUNC.NTZ R7, R6",
            "IMAD.MOV.U32 R6, RZ, RZ, RZ",
            "IADD3 R9, RZ, -R7, RZ",
            "IMAD R9, R9, R2, RZ",
            "IMAD.HI.U32 R7, R7, R9, R6",
            "IMAD.HI.U32 R7, R7, R1, RZ",
            "IMAD.MOV R4, RZ, RZ, -R7",
            "IMAD R4, R2, R4, R1",
            "ISETP.GE.U32.AND P0, PT, R4, R2, PT",
            "@P0 IADD3 R4, R4, -R2, RZ",
            "@P0 VIADD R7, R7, 0x1",
            "ISETP.GE.U32.AND P1, PT, R4, R2, PT",
            "@P1 VIADD R7, R7, 0x1",
        ],
        {"R1": a, "R2": b},
    )
    assert number(lanes, "R7") == a // b


def test_float_is_not_known():
    lanes, _, _ = ran(["FADD R4, R1, R2", "IADD3 R5, R4, 0x1, RZ", "MUFU.RCP R6, R1"], {"R1": 0, "R2": 0})
    assert all(lanes.read(name).unknown is not None for name in ("R4", "R5", "R6"))


def test_predicate_keeps_the_words_of_other_lanes():
    few = [lane < 3 for lane in range(32)]
    lanes, _, _ = ran(["@P0 LDS R1, [RZ]", "@!P0 MOV R2, 0x5"], {"R1": 7, "R2": 9, "P0": few})
    unknown = lanes.read("R1").unknown
    assert unknown is not None
    assert unknown.tolist() == few
    assert [number(lanes, "R2", lane) for lane in (0, 5)] == [9, 5]
