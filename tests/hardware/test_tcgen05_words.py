"""Every field of tcgen05's descriptors in words, and what a reader should know besides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware import of_wgmma
from tests.hardware.of_tcgen05 import addresses, ignored, masked, remarks, unread, words

from tilewise.core.errors import Refused
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.tcgen05.descriptor import LBO_MODES, Descriptor
from tilewise.hardware.tcgen05.operand import Operand
from tilewise.hardware.wgmma.descriptor import Descriptor as OfWgmma

OPERANDS = [
    Operand("bf16", "k", "A", m=128),
    Operand("bf16", "mn", "A", m=64),
    Operand("bf16", "mn", n=8),
    Operand("tf32", "mn", n=64),
    Operand("e4m3", "mn", n=160),
    Operand("bf16", n=64, sparse=True),
    Operand("e2m1", kind="mxf4", n=64, k=96),
    Operand("e3m2", n=8),
]
BYTES = st.integers(0, 2**14 - 1).map(lambda count: 16 * count)
DESCRIPTORS = st.builds(
    Descriptor,
    BYTES,
    BYTES,
    BYTES,
    st.sampled_from([*BLACKWELL.values()]),
    st.integers(0, 7),
    st.sampled_from(LBO_MODES),
    st.integers(0, 7),
)


def said(descriptor, name, *asked):
    return next(field for field in words(descriptor, *asked) if field.name == name)


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("major", ["k", "mn"])
def test_what_both_engines_have_is_said_alike(mode, major):
    fields = {"start": 4096, "lbo": 2048, "sbo": 4096, "mode": mode, "base_offset": 2}
    theirs = {one.name: one.says for one in of_wgmma.words(OfWgmma(**fields), major)}
    ours = {one.name: one.says for one in words(Descriptor(**fields), major)}
    assert {name: ours[name] for name in theirs} == theirs
    assert remarks(Descriptor(**fields), major) == of_wgmma.remarks(OfWgmma(**fields), major)


def test_atoms_of_32_bytes():
    d = Descriptor(lbo=4096, sbo=512, mode=BLACKWELL["128B_ATOM_32B"])
    assert said(d, "sbo", "mn").says == "from the first 4 of K to the next 4"
    of = Operand("tf32", "mn", n=64)
    assert said(d, "lbo", "mn", of).says == "from the first 32 rows (128 bytes) to the next 32"
    assert said(d, "mode", "mn").says.endswith("Swizzle<2,5,2> on byte addresses, in atoms of 32 bytes")


def test_absolute_mode():
    d = Descriptor(96, 16384, 1024, "128B", lbo_mode="absolute")
    assert said(d, "lbo").says == "the address of the second chunk: K past the end of a row of 128 bytes"
    assert said(d, "lbo_mode").says == "absolute: LBO is an address"
    deep = Operand("e2m1", kind="mxf4", n=64, k=96)
    assert "absolute LBO mode is of sm_103a" in remarks(d, "k", deep)
    assert "k 64 to 95 are read from the second chunk: what is read is 2 layouts" in remarks(d, "k", deep)
    first = Descriptor(0, 16384, 1024, "128B", lbo_mode="absolute")
    assert ignored(first, "k", deep) == ("lbo",)
    assert said(first, "lbo", "k", deep).says.startswith("not read: K of 48 bytes ends in the row of 128")
    assert "for a K of 48 bytes, and this one has 32" in remarks(d, "k", Operand("bf16", n=64))[0]


def test_of_few_rows_each_field_has_a_reason_of_its_own():
    of = Operand("e2m1", kind="mxf4", n=8, k=96)
    d = Descriptor(0, 16384, 0, "128B", lbo_mode="absolute")
    assert said(d, "sbo", "k", of).says == "not read: there are no more than 8 rows"
    assert said(d, "lbo", "k", of).says == "not read: K of 48 bytes ends in the row of 128 where it begins"


@pytest.mark.parametrize(
    ("fields", "major", "broken"),
    [
        ({"mode": "64B"}, "k", "is of 128B in 16-byte atoms alone, and the mode is 64B"),
        ({"mode": BLACKWELL["128B_ATOM_32B"]}, "k", "and the mode is 128B_ATOM_32B"),
        ({"mode": "128B"}, "mn", "is K-major alone"),
        ({"mode": "128B", "base_offset": 3}, "k", "asks for base offset 0, and it is 3"),
    ],
    ids=str,
)
def test_a_broken_restriction_is_a_remark(fields, major, broken):
    d = Descriptor(lbo=1024, sbo=4096, lbo_mode="absolute", **fields)
    assert any(broken in remark for remark in remarks(d, major))


def test_the_second_chunk_is_called_that_of_the_one_mode_that_has_it():
    """Absolute mode of another mode than 128B: no row of 64 bytes has a second chunk."""
    d = Descriptor(lbo=1024, sbo=512, mode="64B", lbo_mode="absolute")
    assert said(d, "lbo").says == "the address of a second chunk, which mode 128B alone has"


@pytest.mark.parametrize(("lbo", "past"), [(0x4000, 0), (0x4080, 128), (0x4040, 64)])
def test_a_second_chunk_that_begins_elsewhere_than_its_pattern(lbo, past):
    d = Descriptor(96, lbo, 1024, "128B", lbo_mode="absolute")
    of = Operand("e2m1", kind="mxf4", n=16, k=96)
    told = f"the second chunk begins {past} past a multiple of 1024, where its pattern begins"
    for asked in (None, of):
        found = [one for one in remarks(d, "k", asked) if one.startswith("the second chunk begins")]
        assert [one.partition(":")[0] for one in found] == [told] * (past > 0)
    assert not any("second chunk" in one for one in remarks(replace(d, start=0), "k", of))


def test_hoppers_word_is_told_from_blackwells():
    d = Descriptor.decode(0x4000004000010000)
    assert said(d, "version").says == "Blackwell's descriptors have 1 here; Hopper's have 0"
    (remark,) = remarks(d)
    assert remark.endswith("it is one of Hopper's, which --engine wgmma reads")
    (other,) = remarks(Descriptor.decode(0x4000C04000010000))
    assert other == "bits 48-46 are 0b011, and 0b001 in Blackwell's descriptors"
    assert remarks(Descriptor.decode(0x4000404000010000)) == ()


def test_wgmma_names_the_engine_of_a_word_with_bit_46():
    d = OfWgmma.decode(0x4000404000010000)
    (remark,) = of_wgmma.remarks(d, value=0x4000404000010000)
    assert "reserved bit 46 is set: Hopper passes it over" in remark
    assert remark.endswith("the version of Blackwell's descriptors, which --engine tcgen05 reads")


@pytest.mark.parametrize(
    ("bits", "named"), [([15], "reserved bit 15 is set"), ([15, 60], "bits [15, 60] are")]
)
def test_bits_that_are_fixed_at_0(bits, named):
    value = 0x4000404000010000 | sum(1 << bit for bit in bits)
    (remark,) = remarks(Descriptor.decode(value), value=value)
    assert named in remark
    assert remark.endswith("and 0 in Blackwell's descriptors")


def test_what_no_document_says_is_a_remark_where_words_are_asked():
    d = Descriptor(96, 16, 1024, "128B")
    deep = Operand("e2m1", kind="mxf4", n=64, k=96)
    assert any("no document says what is read there" in remark for remark in remarks(d, "k", deep))
    tf32 = Operand("tf32", "mn", n=64)
    assert any("MN-major tf32 in mode 128B" in remark for remark in remarks(d, "mn", tf32))


@given(DESCRIPTORS, st.sampled_from([None, *OPERANDS]), st.sampled_from(["k", "mn"]))
def test_every_word_is_said(d, of, major):
    found = words(d, major, of)
    assert [one.name for one in found] == [*d.encoded]
    assert [one.encoded for one in found] == [*d.encoded.values()]
    assert all(one.says for one in found)
    assert all(isinstance(remark, str) and remark for remark in remarks(d, major, of, d.value))


@given(DESCRIPTORS, st.sampled_from(OPERANDS))
def test_what_is_said_to_be_ignored_is_not_read(d, of):
    try:
        silent = unread(d, of)
    except Refused:
        return
    assert {*silent} <= {*ignored(d, of.major, of)}
    assert addresses(masked(d, of.major, of), of) == addresses(d, of)


def test_overlaps_and_the_end_of_shared_memory():
    of = Operand("bf16", n=64)
    assert any("they overlap" in one for one in remarks(Descriptor(sbo=64, mode="128B"), "k", of))
    assert any("share byte" in one for one in remarks(Descriptor(mode="128B"), "k", of))
    far = Descriptor(start=0x38000, sbo=4096, mode="128B")
    assert any("shared memory ends at 233472" in one for one in remarks(far, "k", of))
    inside = Descriptor(lbo=4096, sbo=1024, mode="128B")
    assert any(
        "rows end inside an atom of 64" in one for one in remarks(inside, "mn", Operand("bf16", "mn", n=96))
    )
