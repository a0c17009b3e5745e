"""wgmma's descriptor: 64 bits there and back, ranges, reserved bits, alignment, the base offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import LayoutError, Refused
from tilewise.hardware.fields import picture
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.template import LIMIT, base_offset_of
from tilewise.hardware.wgmma.descriptor import Descriptor

FIELDS = Descriptor.FIELDS

BYTES = st.integers(0, LIMIT // 16 - 1).map(lambda count: 16 * count)
DESCRIPTORS = st.builds(Descriptor, BYTES, BYTES, BYTES, st.sampled_from(list(MODES)), st.integers(0, 7))

WORKED = (  # figure, mode, element bytes, LBO and SBO in elements, their encodings
    (166, "none", 4, 64, 32, (16, 8)),
    (167, "32B", 4, None, 64, (1, 16)),
    (168, "none", 2, 128, 64, (16, 8)),
    (169, "32B", 2, 128, 256, (16, 32)),
    (170, "64B", 2, 256, 512, (32, 64)),
)
"""The worked examples of the document; where an example has no LBO, it assumes 1."""


def by_the_document(start, lbo, sbo, base_offset, code):
    """The word as the document puts it together."""

    def encode(x):
        return (x & 0x3FFFF) >> 4

    return encode(start) | encode(lbo) << 16 | encode(sbo) << 32 | base_offset << 49 | code << 62


@given(DESCRIPTORS)
def test_there_and_back(descriptor):
    assert Descriptor.decode(descriptor.value) == descriptor
    assert Descriptor.reserved_bits(descriptor.value) == []


@given(DESCRIPTORS)
def test_the_word_is_the_documents(d):
    code = {"none": 0, "128B": 1, "64B": 2, "32B": 3}[d.mode.name]
    assert d.value == by_the_document(d.start, d.lbo, d.sbo, d.base_offset, code)


@given(st.integers(0, (1 << 64) - 1))
def test_every_word_has_a_descriptor_and_reserved_bits(word):
    free = {14, 15, 30, 31, 46, 47, 48, *range(52, 62)}
    found = Descriptor.reserved_bits(word)
    assert found == [bit for bit in sorted(free) if word >> bit & 1]
    assert Descriptor.decode(word).value == word & ~sum(1 << bit for bit in found)


def test_cutlass_f16_k_major_128b():
    assert Descriptor(lbo=16, sbo=1024, mode=Mode.of("128B")).value == 0x4000004000010000


@pytest.mark.parametrize(("figure", "mode", "size", "lbo", "sbo", "encoded"), WORKED)
def test_the_documents_worked_examples(figure, mode, size, lbo, sbo, encoded):
    d = Descriptor(lbo=16 if lbo is None else lbo * size, sbo=sbo * size, mode=mode)
    assert (d.encoded["lbo"], d.encoded["sbo"]) == encoded
    assert (d.value >> 16 & 0x3FFF, d.value >> 32 & 0x3FFF) == encoded


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sbo": 8}, "sbo of 8 bytes is no multiple of 16"),
        ({"lbo": 1}, "lbo of 1 bytes is no multiple of 16"),
        ({"start": LIMIT}, "start of 262144 bytes does not fit"),
        ({"sbo": LIMIT}, "sbo of 262144 bytes does not fit"),
        ({"sbo": -1024}, "sbo of -1024 bytes does not fit"),
        ({"base_offset": 8}, "base offset of 8 does not fit 3 bits"),
        ({"base_offset": -1}, "base offset of -1 does not fit 3 bits"),
    ],
)
def test_what_a_field_does_not_hold(fields, said):
    with pytest.raises(LayoutError, match=said) as refused:
        Descriptor(**fields)
    assert refused.value.code == "TW604"
    assert refused.value.hint


def test_a_number_of_16_bytes_is_told_from_bytes():
    with pytest.raises(LayoutError) as refused:
        Descriptor(lbo=1)
    assert "1 as the field counts is 16 bytes" in refused.value.hint


def test_an_address_beyond_18_bits_says_what_the_field_would_keep():
    with pytest.raises(LayoutError) as refused:
        Descriptor(start=0x7F0000400)
    assert "0x400" in refused.value.hint


@pytest.mark.parametrize("word", [-1, 1 << 64])
def test_a_word_of_more_than_64_bits(word):
    for ask in (Descriptor.decode, Descriptor.reserved_bits):
        with pytest.raises(LayoutError, match="no number of 64 bits") as refused:
            ask(word)
        assert refused.value.code == "TW604"


@pytest.mark.parametrize(("mode", "bytes_"), [("none", 16), ("32B", 256), ("64B", 512), ("128B", 1024)])
def test_alignment_by_mode(mode, bytes_):
    assert Mode.of(mode).period == bytes_
    assert base_offset_of(3 * bytes_, mode) == 0


@given(st.integers(0, 2047), st.sampled_from(["32B", "64B", "128B"]))
def test_the_base_offset_is_the_documents_formula(count, mode):
    start = 128 * count
    formula = (start >> 0x7) & 0x7
    assert base_offset_of(start, mode) == (0 if start % Mode.of(mode).period == 0 else formula)


@pytest.mark.parametrize(("start", "mode"), [(16, "32B"), (64, "128B"), (1088, "64B"), (8, "none")])
def test_a_pattern_between_units_has_no_base_offset(start, mode):
    with pytest.raises(Refused) as refused:
        base_offset_of(start, mode)
    assert refused.value.code == "TW605"
    assert refused.value.witness["address"] == start


def test_the_fields_do_not_overlap():
    masks = [field.mask for field in FIELDS]
    assert sum(masks) == masks[0] | masks[1] | masks[2] | masks[3] | masks[4]
    assert [field.where for field in FIELDS] == ["13-0", "29-16", "45-32", "51-49", "63-62"]


@given(st.integers(0, (1 << 64) - 1))
def test_the_picture_shows_every_bit(word):
    high, low = (lines[1].split() for lines in (picture(FIELDS, word)[:3], picture(FIELDS, word)[4:]))
    bits = "".join(high + low).replace(".", "0").replace("!", "1")
    assert int(bits, 2) == word
    assert len(bits) == 64
