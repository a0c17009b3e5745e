"""tcgen05's 64 bits: the document's table of fields, and the restrictions of absolute mode."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import LayoutError, Refused
from tilewise.hardware.modes import BLACKWELL, mode_of
from tilewise.hardware.operands.template import LIMIT, base_offset_of
from tilewise.hardware.tcgen05.descriptor import (
    LBO_MODES,
    Descriptor,
    check_absolute,
    made,
)
from tilewise.hardware.wgmma.descriptor import Descriptor as OfWgmma

CODES, FIELDS = Descriptor.CODES, Descriptor.FIELDS
BYTES = st.integers(0, LIMIT // 16 - 1).map(lambda count: 16 * count)
DESCRIPTORS = st.builds(
    Descriptor,
    BYTES,
    BYTES,
    BYTES,
    st.sampled_from([*BLACKWELL.values()]),
    st.integers(0, 7),
    st.sampled_from(LBO_MODES),
)
DOCUMENT = {
    "start": (0, 13),
    "lbo": (16, 29),
    "sbo": (32, 45),
    "version": (46, 48),
    "base_offset": (49, 51),
    "lbo_mode": (52, 52),
    "mode": (61, 63),
}
"""Table 40: the bits of every field but the one that is 0."""
SWIZZLING = {"none": 0, "128B_ATOM_32B": 1, "128B": 2, "64B": 4, "32B": 6}


def by_the_document(d):
    """The word, from Table 40 alone: matrix-descriptor-encode(x) = (x & 0x3FFFF) >> 4."""

    def encode(x):
        return (x & 0x3FFFF) >> 4

    word = encode(d.start) | encode(d.lbo) << 16 | encode(d.sbo) << 32
    word |= 0b001 << 46 | d.base_offset << 49
    word |= {"relative": 0, "absolute": 1}[d.lbo_mode] << 52
    return word | SWIZZLING[d.mode.name] << 61


@given(DESCRIPTORS)
def test_the_word_is_the_documents_and_there_and_back(d):
    assert d.value == by_the_document(d)
    assert Descriptor.decode(d.value) == d
    assert Descriptor.reserved_bits(d.value) == []


def test_the_fields_stand_where_the_document_has_them():
    assert {field.name: (field.low, field.high) for field in FIELDS} == DOCUMENT
    assert CODES == SWIZZLING


@given(st.integers(0, (1 << 64) - 1))
def test_every_word_has_a_descriptor_or_no_mode(word):
    if word >> 61 in (3, 5, 7):
        with pytest.raises(Refused, match="is no swizzling mode") as refused:
            Descriptor.decode(word)
        assert (refused.value.code, refused.value.witness) == ("TW604", {"mode": word >> 61})
        return
    d = Descriptor.decode(word)
    kept = sum(((1 << (high - low + 1)) - 1) << low for low, high in DOCUMENT.values())
    assert d.value == word & kept
    assert Descriptor.reserved_bits(word) == [
        bit for bit in range(64) if word >> bit & 1 and not kept >> bit & 1
    ]


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
def test_hoppers_word_differs_in_the_version_alone(mode):
    """Hopper's two bits of the mode are the high ones of Blackwell's three."""
    fields = {"start": 0x1400, "lbo": 16, "sbo": 1024, "mode": mode, "base_offset": 3}
    assert Descriptor(**fields).value == OfWgmma(**fields).value | 1 << 46
    assert Descriptor.decode(OfWgmma(**fields).value).version == 0


def test_the_constant_of_many_kernels():
    d = Descriptor.decode(0x4000404000010000)
    assert (d.lbo, d.sbo, d.mode.name, d.version, d.absolute) == (16, 1024, "128B", 1, False)
    assert d.named == {
        "start": 0,
        "lbo": 16,
        "sbo": 1024,
        "version": 1,
        "base_offset": 0,
        "lbo_mode": "relative",
        "mode": "128B",
        "atomicity": 16,
    }


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"start": 8}, "TW604", "start of 8 bytes is no multiple of 16"),
        ({"lbo": 24}, "TW604", "lbo of 24 bytes is no multiple of 16"),
        ({"sbo": LIMIT}, "TW604", "sbo of 262144 bytes does not fit its 14 bits"),
        ({"start": -16}, "TW604", "does not fit its 14 bits"),
        ({"base_offset": 8}, "TW604", "base offset of 8 does not fit 3 bits"),
        ({"version": 8}, "TW604", "version of 8 does not fit 3 bits"),
        ({"lbo_mode": "byte"}, "TW601", "'byte' is no mode of LBO"),
        ({"mode": "256B"}, "TW601", "no swizzle mode"),
        ({"start": 1.5}, "TW101", "start"),
    ],
    ids=str,
)
def test_what_a_field_does_not_hold(fields, code, said):
    with pytest.raises(LayoutError, match=said) as refused:
        Descriptor(**fields)
    assert refused.value.code == code


# -- 32-byte atoms ---------------------------------------------------------------------------------


def test_the_mode_that_keeps_32_bytes_together():
    mode = mode_of("128B", 32)
    assert (mode.keeps, mode.rows, mode.width, mode.period) == (32, 4, 128, 512)
    assert made(mode="128B", atomicity=32) == Descriptor(mode=mode)
    assert {other.keeps for other in BLACKWELL.values() if other != mode} == {16}
    for byte in range(0, 2048, 4):
        assert mode.swizzle(byte) == byte ^ (byte >> 7 & 3) << 5
    assert repr(mode) == "BLACKWELL['128B_ATOM_32B']"
    assert mode_of(mode) is mode


@pytest.mark.parametrize("mode", ["none", "32B", "64B"])
def test_narrower_modes_have_no_such_atom(mode):
    with pytest.raises(Refused, match=f"no mode {mode} keeps 32 bytes together") as refused:
        made(mode=mode, atomicity=32)
    assert refused.value.witness == {"mode": mode, "atomicity": 32}


def test_hopper_has_no_such_mode():
    with pytest.raises(Refused, match="wgmma has no mode 128B_ATOM_32B"):
        OfWgmma(mode=BLACKWELL["128B_ATOM_32B"])
    with pytest.raises(LayoutError, match="no swizzle mode"):
        OfWgmma(mode="128B_ATOM_32B")


def test_a_pattern_of_512_bytes_has_base_offset_0_at_each_of_them():
    mode = mode_of("128B", 32)
    assert [base_offset_of(128 * count, mode) for count in range(5)] == [0, 1, 2, 3, 0]


# -- absolute mode ---------------------------------------------------------------------------------

LEGAL = {"lbo": 0x8000, "sbo": 1024, "mode": "128B", "lbo_mode": "absolute"}


def test_what_absolute_mode_allows():
    d = made(**LEGAL)
    assert d.absolute
    assert check_absolute(d, "k") is d
    assert d.value >> 52 & 1 == 1


@pytest.mark.parametrize(
    ("broken", "said", "witness"),
    [
        ({"mode": "64B"}, "is of 128B in 16-byte atoms alone", {"mode": "64B", "atomicity": 16}),
        ({"mode": "none"}, "is of 128B in 16-byte atoms alone", {"mode": "none", "atomicity": 16}),
        ({"atomicity": 32}, "in 16-byte atoms alone", {"mode": "128B_ATOM_32B", "atomicity": 32}),
        ({"major": "mn"}, "is K-major alone", {"major": "mn"}),
        ({"base_offset": 5}, "asks for base offset 0, and it is 5", {"base_offset": 5}),
    ],
    ids=str,
)
def test_each_restriction_says_which_it_is(broken, said, witness):
    with pytest.raises(Refused, match=said) as refused:
        made(**(LEGAL | broken))
    assert (refused.value.code, refused.value.witness) == ("TW604", witness)
    assert refused.value.hint.endswith("or LBO mode relative")
    relative = LEGAL | broken | {"lbo_mode": "relative"}
    assert not made(**relative).absolute


def test_a_word_that_breaks_a_restriction_is_read_all_the_same():
    broken = Descriptor(lbo=1024, mode="64B", base_offset=2, lbo_mode="absolute")
    assert Descriptor.decode(broken.value) == broken
