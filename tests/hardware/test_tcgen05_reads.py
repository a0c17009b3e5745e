"""The reads of tcgen05's descriptors, against a plain loop over (row, k) as the document defines it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware.of_tcgen05 import (
    addresses,
    byte_of,
    extremes,
    pieces,
    pieces_of,
    reads,
    unread,
    unread_of,
)
from tests.hardware.of_wgmma import addresses as read_by_wgmma

from tilewise import LayoutError, Refused
from tilewise.core.dtypes import DType
from tilewise.hardware.modes import BLACKWELL, MODES
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.kinds import KINDS, Product
from tilewise.hardware.tcgen05.operand import FINDINGS, Operand, modes_of
from tilewise.hardware.wgmma.descriptor import Descriptor as OfWgmma

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
STORED = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}
"""Bits of types that lie in memory as they are; 4 and 6 bits depend on the kind."""


def naive(d, of, row, k):
    """The byte in which an element begins, from the definitions of LBO and SBO alone."""
    bits, packed = DType.of(of.dtype).bits, of.kind in ("mxf4", "mxf4nvf4")
    stored = STORED.get(of.dtype, 4 if packed else 8)
    in_chunk, width = 128 // stored, WIDTHS[d.mode.name]
    along = k if of.major == "k" else row
    chunk, inside = along // in_chunk, along % in_chunk * bits // 8
    deep = 4 if d.mode.name == "128B_ATOM_32B" else 8
    if of.major == "k":
        down = d.sbo * (row // 8) + (16 if width == 16 else width) * (row % 8)
        across = d.lbo * chunk if width == 16 else 16 * chunk
        start = d.start
        if d.lbo_mode == "absolute" and start % 128 + across >= 128:
            start, across = d.lbo, start % 128 + across - 128
        at = start + down + across + inside
    elif width == 16:
        at = d.start + chunk * d.sbo + k // 8 * d.lbo + k % 8 * 16 + inside
    else:
        atom, chunk = divmod(chunk, width // 16)
        at = d.start + atom * d.lbo + chunk * 16 + k // deep * d.sbo + k % deep * width + inside
    lines = {"none": 0, "32B": 1, "64B": 3, "128B": 7, "128B_ATOM_32B": 3}[d.mode.name]
    return at ^ ((((at >> 7) - d.base_offset) & lines) << (5 if deep == 4 else 4))


def operands():
    """Operands of every kind, type, major and CTA group, of some sizes."""
    for kind in KINDS.values():
        for dtype in kind.types:
            for major in kind.majors(dtype):
                for cta_group, sparse in ((1, False), (2, False), (1, True)):
                    such = {"kind": kind.name, "cta_group": cta_group, "sparse": sparse}
                    for m in Product(kind, cta_group, sparse).shapes:
                        yield Operand(dtype, major, "A", m=m, **such)
                    for n in (64, 96, 160, 256):
                        yield Operand(dtype, major, "B", n=n, **such)


ASKED = list(operands())
BYTES = st.one_of(
    st.integers(0, 2**14 - 1).map(lambda count: 16 * count),
    st.sampled_from([0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]),
)


def mode_for(of, name):
    """The mode, or the nearest one that is read so."""
    legal = [mode for mode in modes_of(of.dtype, of.major) if not mode.bits or of.bytes <= mode.width]
    return BLACKWELL[name] if BLACKWELL[name] in legal else legal[-1]


@given(
    st.sampled_from(ASKED),
    st.tuples(BYTES, BYTES, BYTES),
    st.sampled_from(list(MODES)),
    st.integers(0, 7),
    st.randoms(use_true_random=False),
)
def test_any_descriptor_reads_what_the_loop_says(of, distances, name, base_offset, dice):
    start, lbo, sbo = distances
    mode = mode_for(of, name)
    if of.major == "k" and mode.bits:
        start -= start % min(of.bytes, mode.width)
    d = Descriptor(start, lbo, sbo, mode, base_offset)
    table, found = addresses(d, of), pieces(d, of)
    assert [len(table), {len(line) for line in table}] == [of.rows, {of.depth}]
    for _ in range(20):
        row, k = dice.randrange(of.rows), dice.randrange(of.depth)
        byte = naive(d, of, row, k)
        assert table[row][k] == byte == byte_of(d, row, k, of)
        (piece,) = (p for p in found if all(a <= x < b for x, (a, b) in zip((row, k), p.box, strict=True)))
        place = piece.layout.place(row - piece.box[0][0], k - piece.box[1][0]).as_dict().get("m", 0)
        assert place // (8 if piece.layout.unit == "bit" else 1) == byte


@pytest.mark.parametrize(
    "of", ASKED, ids=lambda of: f"{of.kind}-{of.dtype}-{of.major}-{of.operand}-{of.rows}"
)
def test_how_much_one_cta_reads(of):
    whole = of.m if of.operand == "A" else of.n
    assert of.rows * of.cta_group == whole
    assert of.bytes == (64 if of.sparse and of.operand == "B" else 32)
    table = addresses(Descriptor(lbo=1024, sbo=2048, mode=mode_for(of, "128B")), of)
    assert (len(table), len(table[0])) == (of.rows, of.depth)


def test_sub_byte_elements_are_packed_as_their_kind_has_them():
    d = Descriptor(sbo=1024, mode="128B")
    packed = addresses(d, Operand("e2m1", kind="mxf4", n=8))[0]
    assert packed[:5] == [0, 0, 1, 1, 2]
    assert packed[30:34] == [15, 15, 16, 16]
    padded = addresses(d, Operand("e2m1", kind="f8f6f4", n=8))[0]
    assert padded[:5] == [0, 0, 1, 1, 2]
    assert padded[14:18] == [7, 7, 16, 16]
    six = addresses(d, Operand("e3m2", kind="mxf8f6f4", n=8))[0]
    assert six[:6] == [0, 0, 1, 2, 3, 3]
    assert six[14:18] == [10, 11, 16, 16]
    assert reads(d, Operand("e3m2", n=8)).unit == "bit"
    assert extremes(d, Operand("e3m2", n=8)) == (0, 1019)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("major", ["k", "mn"])
def test_what_wgmma_reads_too_is_the_same(mode, major):
    fields = {"start": 4096, "lbo": 2048, "sbo": 4096, "mode": mode, "base_offset": 2}
    for n in (8, 64, 96):
        ours = addresses(Descriptor(**fields), Operand("bf16", major, n=n))
        assert ours == read_by_wgmma(OfWgmma(**fields), dtype="bf16", major=major, n=n)


# -- fields that are not read ----------------------------------------------------------------------


@pytest.mark.parametrize("of", ASKED[::7], ids=str)
def test_fields_that_are_not_read_change_nothing_and_others_do(of):
    for name in MODES:
        mode = mode_for(of, name)
        d = Descriptor(1024, 2048, 4096, mode)
        table, silent = addresses(d, of), unread(d, of)
        for field, other in (("lbo", 512), ("sbo", 512), ("base_offset", 1)):
            changed = addresses(replace(d, **{field: other}), of) != table
            assert changed == (field not in silent)


# -- 48 bytes of K ---------------------------------------------------------------------------------

DEEP = Operand("e2m1", kind="mxf4", operand="A", m=128, k=96)
SECOND = 0x9000


@pytest.mark.parametrize("inside", range(0, 128, 16))
def test_the_second_chunk(inside):
    d = Descriptor(0x2000 + inside, SECOND, 1024, "128B", lbo_mode="absolute")
    table, found = addresses(d, DEEP), pieces(d, DEEP)
    here = min(3, (128 - inside) // 16)
    assert [piece.box for piece in found] == [
        ((0, 128), (32 * first, 32 * last)) for first, last in ((0, here), (here, 3)) if first < last
    ]
    for row in (0, 1, 7, 8, 9, 63, 127):
        assert table[row] == [naive(d, DEEP, row, k) for k in range(96)]
        assert [byte_of(d, row, k, DEEP) for k in (0, 31, 32, 64, 95)] == [
            table[row][k] for k in (0, 31, 32, 64, 95)
        ]
    assert ("lbo" in unread(d, DEEP)) == (here == 3)
    assert (len(found) == 2) == (inside > 80)


def test_two_chunks_are_never_one_layout():
    d = Descriptor(96, SECOND, 1024, "128B", lbo_mode="absolute")
    with pytest.raises(Refused, match="what is read is 2 layouts") as refused:
        reads(d, DEEP)
    assert (refused.value.code, refused.value.witness) == ("TW501", {"rows": [0, 128], "k": [64, 96]})
    even = replace(d, start=0)
    assert reads(even, DEEP).shape == ((16, 8), (3, 16, 2))


@pytest.mark.parametrize(
    ("of", "fields", "said", "hint"),
    [
        (DEEP, {"start": 96, "mode": "128B"}, "K of 48 bytes from byte 96 of a row of 128", "absolute"),
        (DEEP, {"start": 32, "mode": "64B"}, "K of 48 bytes from byte 32 of a row of 64", "take mode 128B"),
        (DEEP, {"mode": "32B"}, "K of 48 bytes from byte 0 of a row of 32", "take mode 128B"),
        (DEEP, {"mode": "none"}, "no whole number of pairs", "take mode 128B"),
        (Operand("bf16", n=64), {"start": 112, "mode": "128B"}, "K of 32 bytes from byte 112", "of 32 bytes"),
        (Operand("bf16", n=64, sparse=True), {"mode": "32B"}, "K of 64 bytes", "take mode 64B or 128B"),
        (Operand("bf16", n=64, sparse=True), {"start": 96, "mode": "128B"}, "K of 64", "multiple of 64"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_what_no_document_says_is_refused(of, fields, said, hint):
    with pytest.raises(Refused, match=said) as refused:
        pieces(Descriptor(sbo=1024, **fields), of)
    assert refused.value.code == "TW605"
    assert hint in refused.value.hint


def test_absolute_mode_of_another_k_reads_one_chunk_and_no_second():
    of = Operand("bf16", n=64)
    d = Descriptor(96, SECOND, 1024, "128B", lbo_mode="absolute")
    assert addresses(d, of) == addresses(replace(d, lbo=16, lbo_mode="relative"), of)
    with pytest.raises(Refused, match="goes on past it"):
        addresses(replace(d, start=112), of)


# -- what there is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "major", "modes"),
    [
        ("bf16", "k", ["none", "32B", "64B", "128B"]),
        ("bf16", "mn", ["none", "32B", "64B", "128B"]),
        ("e4m3", "mn", ["none", "32B", "64B", "128B"]),
        ("tf32", "k", ["none", "32B", "64B", "128B"]),
        ("tf32", "mn", ["128B_ATOM_32B"]),
    ],
)
def test_which_modes_a_type_is_read_in(dtype, major, modes):
    """Table 54, but for the K-major mode of which no atom is drawn."""
    assert [mode.name for mode in modes_of(dtype, major)] == modes
    of = Operand(dtype, major, n=64)
    for mode in BLACKWELL.values():
        d = Descriptor(lbo=4096, sbo=1024, mode=mode)
        if mode.name in modes:
            assert len(addresses(d, of)) == 64
            continue
        with pytest.raises(Refused, match=f"{dtype} in mode {mode}") as refused:
            addresses(d, of)
        assert refused.value.code == "TW602"


def test_tf32_mn_major_takes_4_of_k_at_a_time():
    d = Descriptor(lbo=4096, sbo=512, mode=BLACKWELL["128B_ATOM_32B"])
    of = Operand("tf32", "mn", n=64)
    assert [byte_of(d, 0, k, of) for k in range(8)] == [0, 160, 320, 480, 512, 672, 832, 992]
    assert [byte_of(d, row, 1, of) for row in (0, 8, 16, 24, 32)] == [160, 128, 224, 192, 4096 + 160]


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ({"dtype": "f32", "n": 64}, "TW602", "tcgen05 does not multiply f32"),
        ({"dtype": "e2m1", "major": "mn", "n": 64}, "TW602", "K-major alone"),
        ({"dtype": "bf16", "n": 12}, "TW602", "N = 12"),
        ({"dtype": "bf16", "operand": "A", "m": 96}, "TW602", "M = 96"),
        ({"dtype": "bf16", "operand": "A"}, "TW601", "A needs m"),
        ({"dtype": "bf16"}, "TW601", "B needs n"),
        ({"dtype": "bf16", "operand": "C", "n": 8}, "TW601", "no operand in shared memory"),
        ({"dtype": "bf16", "major": "m", "n": 8}, "TW601", "no major direction"),
        ({"dtype": "e4m3", "major": "mn", "n": 24}, "TW602", "N-major B of e4m3"),
        ({"dtype": "bf16", "n": 24, "cta_group": 2}, "TW602", "cta_group 2"),
        ({"dtype": "bf16", "n": 8, "ws": True}, "TW602", ".ws"),
        ({"dtype": "bf16", "n": 64, "k": 96}, "TW602", "kind::f16 has no K = 96"),
        ({"dtype": "e2m1", "kind": "mxf4", "n": 64, "k": 96, "sparse": True}, "TW602", "no K = 96 with"),
        ({"dtype": "e2m1", "kind": "mxf4", "n": 12, "k": 96}, "TW602", "no M = 128, N = 12 of .* K = 96"),
        ({"dtype": "bf16", "kind": "tf32", "n": 64}, "TW602", "kind::tf32 does not multiply bf16"),
    ],
    ids=str,
)
def test_operands_that_there_are_not(asked, code, said):
    with pytest.raises(LayoutError, match=said) as refused:
        Operand(**asked)
    assert refused.value.code == code


@pytest.mark.parametrize(("row", "k"), [(8, 0), (0, 16), (-1, 0), (0, -1)])
def test_an_element_outside_the_operand(row, k):
    with pytest.raises(LayoutError, match="outside 0") as refused:
        byte_of(Descriptor(), row, k, Operand("f16", n=8))
    assert refused.value.code == "TW201"


@pytest.mark.parametrize("asked", [reads, pieces, addresses, extremes, unread])
def test_what_is_no_descriptor_is_told_how_one_is_made(asked):
    with pytest.raises(LayoutError, match=r"TW107: a descriptor belongs here[^\0]*Descriptor\.decode"):
        asked(0x4000404000010000, Operand("bf16", n=8))
    with pytest.raises(LayoutError, match="TW107: an operand belongs here"):
        asked(Descriptor(), "bf16")


def test_what_is_read_as_a_type_of_memory():
    """Without an instruction: what a check asks, where 4 bits of f8f6f4 are bytes."""
    dice = random.Random(5)
    for name in MODES:
        d = Descriptor(0, 4096, 2048, name)
        of = Operand("e4m3", n=96)
        (piece,) = pieces_of(d, dtype="b8", major="k", rows=96, k=32)
        for _ in range(20):
            row, k = dice.randrange(96), dice.randrange(32)
            assert piece.layout.place(row, k)["m"] == byte_of(d, row, k, of)
        assert unread_of(d, dtype="b8", major="k", rows=96, k=32) == unread(d, of)


def test_findings_say_that_nobody_asked_a_blackwell():
    names = [finding.name for finding in FINDINGS]
    assert len({*names}) == len(names) == 4
    assert all(finding.says and "device" not in finding.confirmed for finding in FINDINGS)


@pytest.mark.parametrize(
    ("inside", "second", "ends"), [(112, 0x9070, 144), (112, 0x9060, 0), (96, 0x9070, 0)]
)
def test_the_second_chunk_ends_in_its_row(inside, second, ends):
    """Both chunks lie within 128 bytes that are aligned to 128."""
    d = Descriptor(0x2000 + inside, second, 1024, "128B", lbo_mode="absolute")
    if not ends:
        assert len(pieces(d, DEEP)) == 2
        return
    with pytest.raises(
        Refused, match="the second chunk, of 32 bytes from byte 112 of a row of 128"
    ) as refused:
        pieces(d, DEEP)
    assert refused.value.code == "TW605"
    assert refused.value.witness == {"lbo": second, "inside": 112, "bytes": 32, "row": 128}
