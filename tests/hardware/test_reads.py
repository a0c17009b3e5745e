"""The reads of a descriptor, against a plain loop over (row, k) for any descriptor at all."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hardware.of_wgmma import addresses, byte_of, extremes, pieces, reads, unread

from tilewise import LayoutError, Refused
from tilewise.hardware.modes import MODES
from tilewise.hardware.operands.template import LIMIT
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import FINDINGS
from tilewise.hardware.wgmma.instructions import INPUTS

ASKED = [
    {"dtype": row.name, "major": major, "operand": operand, "n": n}
    for row in INPUTS.values()
    for major in row.majors
    for operand in "AB"
    for n in (row.n if operand == "B" else (8,))
]
"""Every operand that an instruction reads from shared memory."""

SOME = [asked for asked in ASKED if asked["n"] in (8, 16, 24, 64, 96, 160, 256)]

BYTES = st.one_of(
    st.integers(0, LIMIT // 16 - 1).map(lambda count: 16 * count),
    st.sampled_from([0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, LIMIT - 16]),
)
DESCRIPTORS = st.builds(Descriptor, BYTES, BYTES, BYTES, st.sampled_from(list(MODES)), st.integers(0, 7))


def naive(d, row, k, dtype, major):
    """The byte of one element, from the definitions of LBO and SBO alone."""
    bits = INPUTS[dtype].dtype.bits
    width = {"none": 16, "32B": 32, "64B": 64, "128B": 128}[d.mode.name]
    if major == "k":
        byte = k * bits // 8
        chunk, inside = byte // 16, byte % 16
        if d.mode.name == "none":
            at = d.start + row // 8 * d.sbo + row % 8 * 16 + chunk * d.lbo + inside
        else:
            at = d.start + row // 8 * d.sbo + row % 8 * width + chunk * 16 + inside
    else:
        byte = row * bits // 8
        chunk, inside = byte // 16, byte % 16
        if d.mode.name == "none":
            at = d.start + chunk * d.sbo + k // 8 * d.lbo + k % 8 * 16 + inside
        else:
            atom, chunk = chunk // (width // 16), chunk % (width // 16)
            at = d.start + atom * d.lbo + chunk * 16 + k // 8 * d.sbo + k % 8 * width + inside
    rows = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[d.mode.name]
    return at ^ ((((at >> 7) - d.base_offset) & rows) << 4)


def rows_of(asked):
    return 64 if asked["operand"] == "A" else asked["n"]


@given(DESCRIPTORS, st.sampled_from(ASKED), st.randoms(use_true_random=False))
def test_any_descriptor_reads_what_the_loop_says(d, asked, dice):
    found = pieces(d, **asked)
    table = addresses(d, **asked)
    depth = INPUTS[asked["dtype"]].k
    assert len(table) == rows_of(asked)
    assert {len(row) for row in table} == {depth}
    for _ in range(40):
        row, k = dice.randrange(rows_of(asked)), dice.randrange(depth)
        byte = naive(d, row, k, asked["dtype"], asked["major"])
        assert table[row][k] == byte
        assert byte_of(d, row, k, **asked) == byte
        (piece,) = (p for p in found if p.box[0][0] <= row < p.box[0][1])
        assert piece.box[1] == (0, depth)
        assert piece.layout.place(row - piece.box[0][0], k).as_dict() == {"m": byte}


@pytest.mark.parametrize("asked", SOME, ids=lambda asked: "-".join(map(str, asked.values())))
def test_every_operand_row_by_row(asked):
    """Whole rows of an odd descriptor, through the layouts alone."""
    dice = random.Random(str(asked))
    mode = dice.choice(list(MODES))
    d = Descriptor(16 * dice.randrange(4096), 16 * dice.randrange(512), 16 * dice.randrange(512), mode, 3)
    depth, covered = INPUTS[asked["dtype"]].k, 0
    for piece in pieces(d, **asked):
        (first, last), _ = piece.box
        assert first == covered
        covered = last
        assert piece.layout.unit == "byte"
        for row in sorted({0, last - first - 1, *dice.choices(range(last - first), k=8)}):
            got = [piece.layout.place(row, k) for k in range(depth)]
            expected = [naive(d, first + row, k, asked["dtype"], asked["major"]) for k in range(depth)]
            assert [place.as_dict()["m"] for place in got] == expected
    assert covered == rows_of(asked)


def test_one_piece_where_n_is_whole_atoms_and_two_where_not():
    for mode, row in ((mode, n) for mode in MODES.values() for n in INPUTS["f16"].n):
        d = Descriptor(lbo=4096, sbo=1024, mode=mode)
        found = pieces(d, dtype="f16", major="mn", n=row)
        atom = mode.elements("f16")
        ends_inside = row % atom and row > atom
        assert len(found) == (2 if ends_inside else 1)
        if ends_inside:
            with pytest.raises(Refused, match=f"{row} rows end inside an atom of {atom}") as refused:
                reads(d, dtype="f16", major="mn", n=row)
            assert refused.value.witness == {"rows": [row // atom * atom, row]}


def test_lbo_that_goes_on_where_the_atom_ends_is_one_layout():
    d = Descriptor(lbo=128, sbo=4096, mode="128B")
    assert reads(d, dtype="bf16", major="mn", n=96).shape == (96, (2, 8))


@given(DESCRIPTORS, st.sampled_from(SOME))
def test_fields_that_are_not_read_change_nothing(d, asked):
    table = addresses(d, **asked)
    for name in unread(d, **asked):
        for other in (0, 16, 4096) if name != "base_offset" else (0, 5):
            assert addresses(replace(d, **{name: other}), **asked) == table


@pytest.mark.parametrize("asked", SOME, ids=lambda asked: "-".join(map(str, asked.values())))
def test_fields_that_are_read_change_something(asked):
    for mode in MODES:
        d = Descriptor(1024, 2048, 4096, mode, 0)
        table = addresses(d, **asked)
        for name, other in (("lbo", 512), ("sbo", 512), ("base_offset", 1)):
            changed = addresses(replace(d, **{name: other}), **asked) != table
            assert changed == (name not in unread(d, **asked))


@given(DESCRIPTORS, st.sampled_from(SOME))
def test_the_first_and_the_last_byte(d, asked):
    table = addresses(d, **asked)
    bytes_ = max(INPUTS[asked["dtype"]].dtype.bits // 8, 1)
    assert extremes(d, **asked) == (min(map(min, table)), max(map(max, table)) + bytes_ - 1)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"dtype": "f32"}, "TW602"),
        ({"dtype": "e4m3", "major": "mn"}, "TW602"),
        ({"dtype": "s8", "n": 40}, "TW602"),
        ({"dtype": "f16", "major": "m"}, "TW601"),
        ({"dtype": "f16", "operand": "C"}, "TW601"),
        ({"dtype": "f17"}, "TW105"),
    ],
)
def test_what_no_instruction_reads(asked, code):
    with pytest.raises(LayoutError) as refused:
        reads(Descriptor(), **asked)
    assert refused.value.code == code


@pytest.mark.parametrize(("row", "k"), [(8, 0), (0, 16), (-1, 0), (0, -1)])
def test_an_element_outside_the_operand(row, k):
    with pytest.raises(LayoutError, match="outside 0") as refused:
        byte_of(Descriptor(), row, k, dtype="f16", n=8)
    assert refused.value.code == "TW201"


def test_findings_have_names_of_their_own():
    names = [finding.name for finding in FINDINGS]
    assert len(set(names)) == len(names) > 5
    assert all(finding.says and finding.asked and finding.confirmed for finding in FINDINGS)


@pytest.mark.parametrize("asked", [reads, pieces, addresses, extremes, unread])
@pytest.mark.parametrize("given", [None, 0x4000004000010000, "0x0"])
def test_what_is_no_descriptor_is_told_how_one_is_made(asked, given):
    with pytest.raises(LayoutError, match=r"TW107: a descriptor belongs here[^\0]*Descriptor\.decode"):
        asked(given, dtype="bf16", n=8)
