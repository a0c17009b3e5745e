"""tcgen05.ld, .st and .cp, held to the formulas of the document, lane by lane and register by register."""

from __future__ import annotations

import pytest
from tests.hardware.tcgen05_formulas import MOST, REGISTERS, ROWS, WORDS

from tilewise import LayoutError
from tilewise.core.errors import Refused
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.places import positions_of
from tilewise.hardware.tcgen05.copies import COPIES, Copy
from tilewise.hardware.tcgen05.loads import FORMS, Form, instruction


def who(layout, *index):
    place = layout.place(*index).as_dict()
    return place.get("laneid", 0), place.get("reg", 0)


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    form = FORMS[name]
    assert form.repeats == tuple(2**i for i in range(8) if 2**i <= MOST[name])
    for repeat in form.repeats[:5]:
        layout = form.layout(repeat)
        registers = repeat * REGISTERS[name]
        assert layout.size == 32 * registers
        for t in range(32):
            for r in range(registers):
                assert who(layout, *WORDS[name](t, r)) == (t, r)


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("repeat", [1, 4])
def test_packed(name, repeat):
    layout = FORMS[name].layout(repeat, packed=True)
    for t in range(32):
        for r in range(repeat * REGISTERS[name]):
            lane, column = WORDS[name](t, r)
            for half in (0, 1):
                assert who(layout, lane, 2 * column + half) == (t, 2 * r + half)


@pytest.mark.parametrize("repeat", [1, 2, 128])
def test_two_parts(repeat):
    layout = FORMS["16x32bx2"].layout(repeat)
    for t in range(32):
        for r in range(repeat):
            assert who(layout, t % 16, t // 16, r) == (t, r)
    built = find("tcgen05.ld")("16x32bx2", f"x{repeat}")
    assert built.facts["columns"] == {"each": repeat, "split": repeat}


@pytest.mark.parametrize("copy", COPIES, ids=lambda one: f"{one.form}.{one.multicast}".rstrip("."))
def test_copies(copy):
    rows, width, lanes = ROWS[f"{copy.form}.{copy.multicast}".rstrip(".")]
    assert (copy.row_count, copy.bytes) == (rows, width)
    for i in range(rows):
        for b in range(width):
            found = {
                (p.as_dict().get("TLane", 0), p.as_dict().get("TCol", 0)) for p in copy.layout.places(i, b)
            }
            assert found == {(lane, b) for lane in lanes(i)}


def test_a_copy_of_packed_scales_is_what_a_product_reads():
    """The 512 bytes of a block, through 32x128b.warpx4, are where tcgen05.sfa has the factors."""
    block, sfa = find("tcgen05.sf")(128, 4).layout, find("tcgen05.sfa")("mxf8f6f4", rows=128).layout
    copy = find("tcgen05.cp")("32x128b").layout
    for row in range(128):
        for factor in range(4):
            byte = block.place(row, factor).as_dict().get("m", 0)
            found = {_on(place) for place in copy.places(byte // 16, byte % 16)}
            assert found == {_on(place) for place in sfa.places(row, factor)}


def test_and_of_the_two_halves_of_n():
    """Two blocks, through 64x128b.warpx2::01_23, are SFB of a pair with M = 128 and N = 256."""
    block, sfb = (
        find("tcgen05.sf")(256, 4).layout,
        find("tcgen05.sfb")("mxf8f6f4", rows=256, m=128, cta_group=2).layout,
    )
    copy = find("tcgen05.cp")("64x128b", "warpx2::01_23").layout
    for row in range(256):
        for factor in range(4):
            byte = block.place(row, factor).as_dict().get("m", 0)
            own = {place for place in sfb.places(row, factor) if not place["cbx"]}
            assert {_on(place) for place in copy.places(byte // 16, byte % 16)} == {
                _on(place) for place in own
            }


def _on(place):
    return place["TLane"], place["TCol"]


def test_where_a_word_is():
    position = positions_of(find("tcgen05.ld")("16x256b", "x2", "1"), (9, 5))[0]
    assert (position.place["laneid"], position.register, position.bits) == (5, 2, (16, 31))
    assert str(positions_of(find("tcgen05.ld")("32x32b", "x4"), (7, 3))[0]).startswith(
        "(7, 3) -> lane 7, register 3"
    )


def test_instructions():
    assert instruction(True, "16x32bx2", 2, True) == "tcgen05.st.sync.aligned.16x32bx2.x2.unpack::16b.b32"
    assert Copy.of("4x256b").instruction(2) == "tcgen05.cp.cta_group::2.4x256b"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Form.of("16x16b"), LayoutError, "no form 16x16b"),
        (lambda: FORMS["16x128b"].check_repeat(128), Refused, "not repeated 128 times"),
        (lambda: FORMS["32x32b"].check_repeat("x3"), Refused, "not repeated 3 times"),
        (lambda: find("tcgen05.ld")("32x32b", "x2", split=4), LayoutError, "reads no second half"),
        (lambda: find("tcgen05.ld")("16x32bx2", "x128", split=400), LayoutError, "outside tensor memory"),
        (lambda: Copy.of("64x128b"), LayoutError, "to which is not said"),
        (lambda: Copy.of("64x128b", "warpx4"), Refused, "no 64x128b with warpx4"),
        (lambda: Copy.of("128x128b", "warpx4"), Refused, "no 128x128b with warpx4"),
        (lambda: Copy.of("64x64b"), LayoutError, "no form 64x64b"),
        (lambda: Copy.of("32x128b").instruction(source="b5"), LayoutError, "spreads no b5"),
        (lambda: Copy.of("32x128b").instruction(cta_group=4), LayoutError, "no cta_group 4"),
    ],
)
def test_what_there_is_not(call, kind, message):
    with pytest.raises(kind) as no:
        call()
    assert message in no.value.message
