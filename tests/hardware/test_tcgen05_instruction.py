"""The instruction descriptor of tcgen05, held to the document's tables written as arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import LayoutError
from tilewise.core.errors import Refused
from tilewise.hardware.catalog import find
from tilewise.hardware.fields import reserved
from tilewise.hardware.tcgen05.instruction import (
    IDS,
    InstructionWord,
    fields_of,
    kinds_of_word,
    remarks,
    words,
)
from tilewise.hardware.tcgen05.kinds import KINDS, Kind, Product

A_CODES = {
    "f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1,
}  # fmt: skip
D_CODES = {"f16": 0, "f32": 1, "s32": 2}


def by_hand(one: InstructionWord) -> int:
    """PTX ISA, Tables 42 to 44, as sums."""
    word = one.sparse << 2 | one.negate_a << 13 | one.negate_b << 14
    word |= (one.a_major == "mn") << 15 | (one.b_major == "mn") << 16 | one.n // 8 << 17
    if one.kind in ("f16", "tf32", "f8f6f4", "i8"):
        word |= one.selector | one.saturate << 3 | D_CODES[one.d] << 4 | A_CODES[one.a] << 7
        word |= A_CODES[one.b] << 10 | one.m // 16 << 24
        return word | {0: 0, 8: 1, 16: 2, 32: 3}[one.max_shift] << 30
    word |= one.sfb_id << 4 | (one.scale_dtype == "ue8m0") << 23 | one.m // 128 << 27 | one.sfa_id << 29
    if one.kind == "mxf8f6f4":
        return word | A_CODES[one.a] << 7 | A_CODES[one.b] << 10
    return word | 1 << 7 | 1 << 10 | (one.k == 96) << 31


@st.composite
def instructions(draw: st.DrawFn) -> InstructionWord:
    kind = KINDS[draw(st.sampled_from([*KINDS]))]
    sparse = draw(st.booleans())
    ws = not kind.scaled and draw(st.booleans())
    group = 1 if ws else draw(st.sampled_from((1, 2)))
    deep = kind.packed and not sparse and draw(st.booleans())
    shapes = Product(kind, group, sparse, ws, 96 if deep else 0).shapes
    m = draw(st.sampled_from([*shapes]))
    a = draw(st.sampled_from(kind.types))
    b = draw(st.sampled_from(kind.types)) if kind.mixed else a
    majors = [draw(st.sampled_from(kind.majors(dtype))) for dtype in (a, b)]
    step = 16 * group if majors[1] == "mn" and kind.check(b).bits == 8 else 1
    n = draw(st.sampled_from([n for n in shapes[m] if n % step == 0]))
    given = {"a": a, "b": b, "sparse": sparse, "ws": ws, "cta_group": group}
    given |= {"a_major": majors[0], "b_major": majors[1], "k": 96 if deep else 0}
    if kind.name != "i8":
        given |= {"negate_a": draw(st.booleans()), "negate_b": draw(st.booleans())}
    if not kind.scaled:
        shifts = (0, 8, 16, *((32,) * (m > 32))) if ws else (0,)
        given |= {"d": draw(st.sampled_from(kind.into(a))), "max_shift": draw(st.sampled_from(shifts))}
        given |= {"saturate": kind.name == "i8" and draw(st.booleans())}
        given |= {"selector": draw(st.integers(0, 1)) if sparse and kind.name in ("f16", "tf32") else 0}
        return InstructionWord(kind.name, m, n, **given)
    scaling = draw(st.sampled_from(kind.scalings))
    word = {"2X": "3X", "4X": "6X"}[scaling.word] if deep else scaling.word
    ids = {name: draw(st.sampled_from(IDS[word])) for name in ("sfa_id", "sfb_id")}
    return InstructionWord(kind.name, m, n, **given, scale=word, scale_dtype=scaling.dtype, **ids)


@given(instructions())
def test_the_word_is_the_documents(one):
    assert one.value == by_hand(one)
    assert reserved(fields_of(one.kind), one.value) == []


@given(instructions())
def test_and_back(one):
    said = {"cta_group": one.cta_group, "ws": one.ws, "scale": one.scale or None}
    assert InstructionWord.decode(one.value, one.kind, **said) == one
    if not one.ws:
        assert one.kind in kinds_of_word(one.value)
    assert {said.name for said in words(one)} == {field.name for field in fields_of(one.kind)}


@pytest.mark.parametrize(
    ("kind", "given", "message", "hint"),
    [
        ("f16", {"m": 32}, "no M = 32", "M = 32 is of cta_group 1 with .ws"),
        ("f16", {"n": 12}, "N = 12", "the nearest N are 8 and 16"),
        ("i8", {"n": 40}, "N = 40", "32 and 48"),
        ("i8", {"negate_a": True}, "negates nothing", "floats"),
        ("f16", {"saturate": True}, "does not saturate", "kind::i8"),
        ("f16", {"a": "e4m3"}, "does not multiply e4m3", "e4m3 is of f8f6f4 mxf8f6f4"),
        ("f16", {"a": "f16", "b": "bf16"}, "f16 by bf16 into f32", "bf16 goes with bf16"),
        ("f16", {"a": "bf16", "d": "f16"}, "into f16", "bf16 goes with bf16 into f32"),
        ("tf32", {"d": "f16"}, "into f16", "accumulates in f32"),
        ("f8f6f4", {"a": "e2m1", "a_major": "mn"}, "A of e2m1 K-major alone", "8 bits"),
        ("f8f6f4", {"b_major": "mn", "n": 24}, "N = 24 of an N-major B of e4m3", "16 and 32"),
        ("f16", {"selector": 1}, "no sparsity selector 1 with dense A", "0 and 1"),
        ("f8f6f4", {"sparse": True, "selector": 1}, "no sparsity selector 1 with sparse A", "all else 0"),
        ("f16", {"sparse": True, "selector": 2}, "no sparsity selector 2", "0 and 1"),
        ("f16", {"m": 256}, "no M = 256", "M = 256 is of cta_group 2"),
        ("f16", {"cta_group": 2, "m": 64}, "no M = 64", "M = 64 is of cta_group 1"),
        ("f16", {"max_shift": 8}, "without .ws", "tcgen05.mma.ws shifts B"),
        ("f16", {"m": 32, "n": 64, "ws": True, "max_shift": 32}, "M = 32", "at most 16"),
        ("f16", {"max_shift": 5}, "up to 5", "0, 8, 16 or 32"),
        ("mxf4", {"ws": True}, "no product of cta_group 1, .ws", "without scales"),
        ("mxf4", {"m": 64}, "no M = 64", "M is 128"),
        ("mxf4", {"scale": "4X"}, "no scales 4X", "2X of ue8m0"),
        ("mxf4", {"scale_dtype": "ue4m3"}, "no scales ue4m3", "2X of ue8m0"),
        ("mxf4", {"sfa_id": 1}, "the id of A's scales is 1", "byte of a 32-bit word"),
        ("mxf4nvf4", {"sfb_id": 2}, "4X scales have 0", "byte"),
        ("mxf4", {"k": 96, "sparse": True, "m": 256, "cta_group": 2}, "no K = 96 with sparse A", "K is 128"),
        ("mxf4", {"k": 96, "cta_group": 2}, "no M = 128 of cta_group 2, K = 96", "of cta_group 1"),
        ("mxf4", {"k": 96, "scale": "2X"}, "has no 2X scales", "3X"),
        ("f16", {"k": 32}, "no K = 32", "K is 16"),
        ("f16", {"scale": "1X"}, "no scales 1X", "mxf8f6f4 mxf4 mxf4nvf4 have"),
    ],
)
def test_what_there_is_not(kind, given, message, hint):
    with pytest.raises(Refused) as no:
        InstructionWord(kind, **({"m": 128, "n": 64} | given))
    assert message in no.value.reason
    assert hint in no.value.hint


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (1 << 6 | 0x08100010, "f16", "bit 6 is set"),
        (0x08100010 | 1 << 23 | 1 << 29, "f16", "bits 23, 29 are set"),
        (0x08100010 | 2 << 7, "f16", "2 is no type of A of kind::f16"),
        (0x08100020, "f16", "does not multiply f16 by f16 into s32"),
        (0x08100030, "f16", "3 is no type of D"),
        (0x00100010, "f16", "no M = 0"),
    ],
)
def test_words_that_say_nothing(value, kind, message):
    with pytest.raises(Refused) as no:
        InstructionWord.decode(value, kind)
    assert message in no.value.reason


def test_64_bits_of_cutlass_are_their_upper_half():
    assert InstructionWord.decode(0x0840001000000000, "f16") == InstructionWord.decode(0x08400010, "f16")
    with pytest.raises(LayoutError) as no:
        InstructionWord.decode(0x0840001000000001, "f16")
    assert "the upper half" in no.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_shapes_are_legal(kind):
    for group in (1, 2):
        for sparse in (False, True):
            some = Product(KINDS[kind], group, sparse)
            for m, ns in some.shapes.items():
                assert some.check(m, ns[0]) == (m, ns[0])
                assert max(ns) == 256


def test_every_instance_of_shapes_builds():
    entry = find("tcgen05.shapes")
    listed = [*entry.listed()]
    assert len(listed) == 4 * 6 + 3 * 4
    for values in listed:
        facts = entry(**values).facts
        assert facts["m"]
        assert max(facts["n"]) in (128, 256)


def test_shapes_that_there_are_not():
    with pytest.raises(Refused) as no:
        find("tcgen05.shapes")("mxf4", ws="1")
    assert "no product of cta_group 1, .ws" in no.value.reason
    assert find("tcgen05.shapes")("f16", m=64, n=40).facts["n"] == 40


def test_what_the_word_does_not_say():
    fine = remarks(InstructionWord("mxf4nvf4", 128, 64, scale="4X", scale_dtype="ue8m0"))
    assert "it is the word of a pair of CTAs as well: the instruction says which" in fine
    assert "in code for sm_100a block16 may be called scale_vec::4X" in fine
    assert "the word does not say how many scales a row has, 2X or 4X: the instruction does" in fine
    assert remarks(InstructionWord("mxf4", 128, 64, k=96))[0] == "it is on sm_103a"
    assert "it is on sm_100a, sm_103a and sm_110a" in remarks(InstructionWord("mxf4", 128, 64, sparse=True))
    assert len(remarks(InstructionWord("f16", 64, 64))) == 1


@pytest.mark.parametrize("scale", ["2X", "scale_vec::2X", "block32"])
def test_scales_by_any_name(scale):
    one = InstructionWord("mxf4nvf4", 128, 64, scale=scale)
    assert (one.scale, one.scale_dtype) == ("2X", "ue8m0")
    assert one.words.endswith(".block_scale.block32")


@given(instructions())
def test_what_is_left_out_is_taken_alike(one):
    """A word that is made without saying the scales is read so."""
    short = InstructionWord(
        one.kind, one.m, one.n, sparse=one.sparse, ws=one.ws, k=one.k, cta_group=one.cta_group
    )
    assert InstructionWord.decode(short.value, one.kind, cta_group=one.cta_group, ws=one.ws) == short


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sparse": "yes"}, "sparse is True or False"),
        ({"cta_group": True}, "cta_group"),
        ({"sfa_id": 1.5}, "sfa_id"),
    ],
)
def test_values_of_other_types(given, message):
    with pytest.raises(LayoutError) as no:
        InstructionWord("f16", 128, 64, **given)
    assert message in no.value.message


@pytest.mark.parametrize(
    ("word", "meant"),
    [("bf16", "f16"), ("nvfp4", "mxf4nvf4"), ("fp8", "f8f6f4"), ("e4m3", "f8f6f4"), ("s8", "i8")],
)
def test_kinds_by_their_types(word, meant):
    with pytest.raises(LayoutError) as no:
        Kind.of(word)
    assert f"did you mean {meant}?" in no.value.hint
