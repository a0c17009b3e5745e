"""Every field in words: the document's definitions, what is not read, what overlaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware.of_wgmma import Operand, feeding, ignored, masked, remarks, words

from tilewise import LayoutError
from tilewise.hardware.modes import MODES
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS

OPERANDS = [
    Operand(row.name, major, operand, n)
    for row in INPUTS.values()
    for major in row.majors
    for operand in "AB"
    for n in (8, 64, 160)
]


def said(descriptor, name, *asked):
    return next(field for field in words(descriptor, *asked) if field.name == name)


@pytest.mark.parametrize(
    ("mode", "major", "lbo", "sbo"),
    [
        ("none", "k", "from the first 16 bytes of K to the next 16", "from the first 8 rows to the next 8"),
        ("64B", "k", "not read in this mode and major; 1 is written by custom", None),
        (
            "none",
            "mn",
            "from the first 8 of K to the next 8",
            "from the first 8 rows (16 bytes) to the next 8",
        ),
        (
            "32B",
            "mn",
            "from the first 16 rows (32 bytes) to the next 16",
            "from the first 8 of K to the next 8",
        ),
        (
            "64B",
            "mn",
            "from the first 32 rows (64 bytes) to the next 32",
            "from the first 8 of K to the next 8",
        ),
        ("128B", "mn", "from the first 64 rows (128 bytes) to the next 64", None),
    ],
)
def test_the_documents_definitions(mode, major, lbo, sbo):
    d = Descriptor(lbo=4096, sbo=2048, mode=mode)
    assert said(d, "lbo", major).says == lbo
    assert sbo is None or said(d, "sbo", major).says == sbo


def test_bytes_and_encoded():
    d = Descriptor(start=0x400, lbo=16, sbo=1024, mode="128B", base_offset=3)
    assert [(field.name, field.bytes, field.encoded) for field in words(d)] == [
        ("start", 1024, 64),
        ("lbo", 16, 1),
        ("sbo", 1024, 64),
        ("base_offset", None, 3),
        ("mode", None, 1),
    ]


@pytest.mark.parametrize(
    ("mode", "base_offset", "says"),
    [
        ("none", 5, "not read: nothing is swizzled"),
        ("128B", 0, "the swizzle pattern begins at a multiple of 1024"),
        ("128B", 5, "the swizzle pattern begins 640 bytes past a multiple of 1024"),
        ("64B", 5, "the swizzle pattern begins 128 bytes past a multiple of 512"),
        ("32B", 4, "the swizzle pattern begins at a multiple of 256"),
    ],
)
def test_the_base_offset(mode, base_offset, says):
    assert said(Descriptor(mode=mode, base_offset=base_offset), "base_offset").says == says


@pytest.mark.parametrize(
    ("asked", "name", "says"),
    [
        (Operand("f16", "k", "B", 8), "sbo", "not read: there are no more than 8 rows"),
        (Operand("f16", "mn", "B", 32), "lbo", "not read: all 32 rows lie in one atom of 64"),
        (Operand("f16", "mn", "A"), "lbo", "not read: all 64 rows lie in one atom of 64"),
        (Operand("f16", "mn", "B", 96), "lbo", "from the first 64 rows (128 bytes) to the next 64"),
    ],
)
def test_too_few_rows_for_a_field(asked, name, says):
    assert said(Descriptor(sbo=1024, mode="128B"), name, "k", asked).says == says


@given(
    st.integers(0, 200).map(lambda count: count * 16),
    st.integers(0, 200).map(lambda count: count * 16),
    st.sampled_from(list(MODES)),
    st.integers(0, 7),
    st.sampled_from(OPERANDS),
)
def test_masked_fields_are_those_that_change_nothing(lbo, sbo, mode, base_offset, operand):
    d = Descriptor(0, lbo, sbo, mode, base_offset)
    assert ignored(d, "k", operand) == operand.unread(d)
    assert operand.addresses(masked(d, "k", operand)) == operand.addresses(d)


def test_an_unknown_major():
    with pytest.raises(LayoutError) as refused:
        words(Descriptor(), "row")
    assert refused.value.code == "TW601"


# -- remarks ---------------------------------------------------------------------------------------


def test_nothing_is_remarked_on_a_tile_as_it_should_be():
    for mode in MODES:
        fed = feeding(mode, "k", "bf16", 64, 64, operand="A", base=1024)
        assert remarks(fed.descriptor, "k", Operand("bf16", "k", "A"), fed.descriptor.value) == ()


@pytest.mark.parametrize(
    ("descriptor", "operand", "says"),
    [
        (Descriptor(sbo=64, mode="128B"), None, "64 as the field counts is 1024 bytes"),
        (
            Descriptor(sbo=512, mode="128B"),
            None,
            "8 rows take 1024 bytes and the next 8 begin after 512: they overlap",
        ),
        (Descriptor(start=256, sbo=1024, mode="128B"), None, "a tile that begins here has base offset 2"),
        (Descriptor(start=32, sbo=1024, mode="128B"), None, "a tile that begins here is not read at all"),
        (Descriptor(start=32, sbo=1024, mode="128B", base_offset=2), None, "the start is elsewhere"),
        (
            Descriptor(lbo=128, sbo=64),
            Operand("f16", "k", "A"),
            "elements (row, k) (0, 8) and (12, 0) share byte 128",
        ),
        (Descriptor(sbo=1024, mode="128B"), Operand("f16", "mn", "B", 96), "what is read is 2 layouts"),
        (
            Descriptor(start=230 << 10, sbo=1024, mode="128B"),
            Operand("f16", "k", "A"),
            "shared memory ends at 233472: it faults",
        ),
    ],
)
def test_remarks(descriptor, operand, says):
    assert any(says in remark for remark in remarks(descriptor, "k", operand))


def test_reserved_bits_are_remarked():
    (one,) = remarks(Descriptor(sbo=1024, mode="128B"), "k", None, 0x4000404000000000)
    assert one.startswith("reserved bit 46 is set")
    assert "Blackwell" in one
    (two,) = remarks(Descriptor(sbo=1024, mode="128B"), "k", None, 0x403000400000C000)
    told = "; Blackwell's have the mode of LBO in bit 52, with 0b001 in bits 48-46"
    assert two == "reserved bits [14, 15, 52, 53] are set: Hopper passes them over" + told
    (three,) = remarks(Descriptor(sbo=1024, mode="128B"), "k", None, 0x402000400000C000)
    assert three == "reserved bits [14, 15, 53] are set: Hopper passes them over"
    (four,) = remarks(Descriptor(sbo=1024, mode="128B"), "k", None, 0x4000C04000000000)
    assert four.endswith("bits 48-46, the version of Blackwell's descriptors, are 0b011, and theirs is 0b001")
