"""Two parsers written apart, one by hand and one by lark, read the same layouts and refuse the same texts."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.notation import writing
from tests.notation.reader import Refused, Unclear, read

from tilewise import LayoutError, parse

SOUP = """
    S[ R[ O[ ( ) ] < > : , , @ @ + - * // o ∘ Swizzle<1,0,1> Swizzle(1,0,1) Swizzle SWIZZLE_128B (bf16)
    8 2 1 0 K S m buf Sw<1,0,1> smem_ptr[16b](unset) _8 _smem_ptr S[8:1] S[(8,2):(2,1)] axis= ? (2,2)
    (1@x,1) = . 8:1 (8):(1) ()
""".split()


def ours(text):
    return parse(text, let=writing.LET, storage=writing.STORAGE)


def theirs(text):
    try:
        return read(text, writing.LET, writing.STORAGE)
    except Refused:
        label = re.match(r"\s*_*[A-Za-z][\w .-]*[:=]", text)  # a layout of CuTe may have one
        found = label and read(text[label.end() :], writing.LET, writing.STORAGE)
        if not found or found.order != "cute":
            raise
        return found


def both(text):
    """Return what each reader makes of the text: a layout, or None."""
    mine = writing.outcome(ours, text, LayoutError)
    try:
        return mine, writing.outcome(theirs, text, Refused)
    except Unclear:
        return mine, mine


@given(st.randoms(use_true_random=False))
def test_generated_texts_are_read_alike(rng):
    text = writing.text(rng)
    mine, other = both(text)
    assert mine is not None, text
    assert mine == other, text


@given(st.randoms(use_true_random=False))
def test_mistyped_texts_are_read_or_refused_alike(rng):
    text = writing.mutated(rng, writing.text(rng))
    mine, other = both(text)
    assert mine == other, text


def test_many_texts_are_read_alike(times):
    rng = Random(20)
    refused = 0
    for _ in range(times(1_500)):
        text = writing.text(rng)
        mine, other = both(text)
        assert mine is not None, text
        assert mine == other, text
        text = writing.mutated(rng, text)
        mine, other = both(text)
        assert mine == other, text
        refused += mine is None
    assert times(750) < refused < times(1_500)


def test_word_soup_is_read_or_refused_alike(times):
    rng = Random(21)
    accepted = 0
    for _ in range(times(10_000)):
        text = rng.choice(("", " ", "\n", " \n ")).join(rng.choice(SOUP) for _ in range(rng.randint(1, 8)))
        mine, other = both(text)
        assert mine == other, text
        accepted += mine is not None
    assert accepted > times(50)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("S[8,4]", "S[(8, 4) : (4, 1)]"),
        ("S[(8, 4),]", "S[((8, 4),) : ((4, 1),)]"),
        ("1@a + (S[8 : 1] + 1@b) - 1@c", "S[8 : 1@m] + 1@a + 1@b - 1@c"),
        ("(R[2 : 8]) + S[8 : 1] + (R[2 : 16] + R[2 : 32])", "S[8 : 1] + R[(2, 2, 2) : (8, 16, 32)]"),
        ("Swizzle<1,0,1>@S[4 : 1]", "Swizzle<1,0,1> o S[4 : 1]"),
        ("S[(8, 4) : (4@o, 1@S)]", "S [ (8,4):(4 @ o,1 @ S) ]"),
        ("Swizzle<3,3,3> o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        ("S<3,3,3> o _0 o (_8,_64):(_64,_1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        ("Sw<3,4,3>_smem_ptr[ 16b ](0x400) o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        ("smem_ptr[16b](0x7f8f00000c00) o (64,256):(_1,64)", "S[(64, 256) : (1, 64)]"),
        ("smem_ptr[16b](0x400) o Sw<3,3,3> o _0 o (8,64):(64,1)", "Swizzle<3,3,3> o S[(8, 64) : (64, 1)]"),
        (
            "Sw<3,4,3>_smem_ptr[16b](0x480) o 64 o (8,64):(64,1)",
            "Swizzle<3,3,3> o (S[(8, 64) : (64, 1)] + 64)",
        ),
        ("Sw<1,0,1> o -4 o 8:1", "Swizzle<1,0,1> o (S[8 : 1] - 4)"),
        ("((8,2),(4,4)):((8,64),(1,4))", "S[((2, 8), (4, 4)) : ((64, 8), (4, 1))]"),
        ("((2,(2,4)),3):((1,(2,4)),16)", "S[(((4, 2), 2), 3) : (((4, 2), 1), 16)]"),
    ],
)
def test_spellings_of_one_layout(text, same_as):
    mine, other = both(text)
    assert mine == other == parse(same_as).in_order(mine.order)


@pytest.mark.parametrize(
    "text",
    ["S[(8, 4), 2 : ((4, 1), 1)]", "Sw<1,0,1> _8:_1", "S[(),2]", "Swizzle(1,0,1,axis=buf)@reg o S[4 : 1]"],
)
def test_what_only_seems_to_be_a_layout(text):
    assert both(text) == (None, None)
