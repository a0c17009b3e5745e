"""Registers against a dictionary of bits; tiles of every type, and what must not be read."""

import numpy as np
import pytest

from tilewise import LayoutError, R, Refused, S, laneid, parse, reg, tid_in_wg, warpid
from tilewise.core.dtypes import DType
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.wgmma.fragments import d_fragment as wgmma_d
from tilewise.simulate.faults import Step
from tilewise.simulate.numbers import encode
from tilewise.simulate.registers import Padded, Registers
from tilewise.testing import naive_map

STEP = Step("mma.sync, A")

FRAGMENTS = [
    (a_fragment("m16n8k16", "f16"), "f16"),
    (b_fragment("m16n8k16", "bf16"), "bf16"),
    (d_fragment("m16n8k16", "f32"), "f32"),
    (d_fragment("m8n8k4", "f64"), "f64"),
    (a_fragment("m16n8k8", "tf32"), "tf32"),
    (a_fragment("m16n8k32", "s8"), "s8"),
    (a_fragment("m16n8k64", "u4"), "u4"),
    (b_fragment("m8n8k128", "b1"), "b1"),
    (d_fragment("m8n8k4", "f16", product=2), "f16"),
    (wgmma_d("f16", 24), "f16"),
    (S[(2, 16) : (2 @ reg, 1 @ laneid)] + R[2 : 16 @ laneid], "s8"),
    (S[(4, 32, 2) : (1 @ warpid, 1 @ laneid, 1 @ reg)], "s16"),
    (S[(128, 2) : (1 @ tid_in_wg, 3 @ reg)], "f32"),
]


def bits_plainly(layout, element):
    """(first bit of the thread's registers, thread, flat index) of every copy of every element."""
    for flat, held in enumerate(naive_map(layout)):
        for place in held:
            at = dict(place)
            warp = at.get("warpid", 0) + at.get("wid_in_wg", 0)
            thread = 32 * warp + at.get("laneid", 0) + at.get("tid_in_wg", 0)
            yield at.get("reg", 0) * element.bits, thread, flat


@pytest.mark.parametrize(("layout", "dtype"), FRAGMENTS, ids=lambda value: str(value))
def test_a_tile_lies_where_its_layout_says(layout, dtype):
    element = DType.of(dtype)
    rng = np.random.default_rng(layout.size)
    numbers = rng.integers(0, 2, layout.size)
    held = Registers.holding(numbers, layout, dtype)
    codes = encode(numbers, dtype)
    wanted = np.zeros((held.warps * 32, held.count), object)
    known = np.zeros((held.warps * 32, held.count), object)
    for first, thread, flat in bits_plainly(layout, element):
        for bit in range(element.bits):
            word, place = divmod(first + bit, 32)
            wanted[thread, word] |= (int(codes[flat]) >> bit & 1) << place
            known[thread, word] |= 1 << place
    assert np.array_equal(held.words.reshape(wanted.shape), wanted)
    assert np.array_equal(held.known.reshape(known.shape), known)
    assert np.array_equal(held.numbers(layout, dtype).ravel(), numbers)


@pytest.mark.parametrize(("taken", "lowest"), [(8, 0), (8, 2), (4, 0)])
def test_types_of_four_bits_in_bytes(taken, lowest):
    layout = S[(32, 8) : (1 @ laneid, 1 @ reg)]
    numbers = np.tile([0.0, 0.5, 1, 1.5, 2, 3, 4, -6], (32, 1))
    padded = Padded(DType.of("e2m1"), taken, lowest)
    held = Registers.holding(numbers, layout, padded)
    codes = [0, 1, 2, 3, 4, 5, 6, 15]
    whole = sum(code << taken * place + lowest for place, code in enumerate(codes))
    assert held.words[0, 7].tolist() == [whole >> 32 * word & 0xFFFFFFFF for word in range(held.count)]
    assert (held.known == 0xFFFFFFFF).all()  # the padding is written too
    assert np.array_equal(held.numbers(layout, padded), numbers)


def test_other_bits_stay():
    low, high = S[32 : 1 @ laneid], S[32 : 1 @ laneid] + 1 @ reg
    first = Registers.holding(np.arange(32), low, "u16")
    both = first.put(np.full(32, 7), high, "u16")
    assert both.words[0, :, 0].tolist() == [lane | 7 << 16 for lane in range(32)]
    assert np.array_equal(first.known[0, :, 0], np.full(32, 0xFFFF))  # a value, which does not change


def test_what_is_put_replaces_what_was_there():
    full = Registers.of(np.full((32, 1), 0xFFFFFFFF))
    found = full.put(np.full(32, 5), S[32 : 1 @ laneid] + 1 @ reg, "u8").words[0, :, 0]
    assert set(found.tolist()) == {0xFFFF05FF}


def test_a_register_that_nothing_wrote():
    layout = d_fragment("m16n8k16", "f32")
    held = Registers.holding(np.zeros((16, 8)), layout, "f32").beside(Registers.empty(1))
    held.numbers(layout, "f32")
    with pytest.raises(Refused) as caught:
        held.held(STEP)
    assert caught.value.code == "TW612"
    assert caught.value.witness == {
        "fault": "unwritten",
        "instruction": "mma.sync, A",
        "warp": 0,
        "lane": 0,
        "register": 4,
    }
    half = Registers.holding(np.zeros(31), S[31 : 1 @ laneid], "f32")
    with pytest.raises(Refused) as caught:
        half.numbers(S[32 : 1 @ laneid], "f32", step=STEP)
    assert caught.value.witness["lane"] == 31


def test_copies_that_are_apart():
    layout = S[16 : 1 @ laneid] + R[2 : 16 @ laneid]
    words = np.zeros((32, 1), int)
    words[19] = 1
    with pytest.raises(Refused) as caught:
        Registers.of(words).numbers(layout, "s32", step=STEP)
    assert caught.value.witness == {
        "fault": "apart",
        "instruction": "mma.sync, A",
        "element": [3],
        "threads": [[0, 3], [0, 19]],
    }


def test_two_numbers_at_one_place():
    both = S[(2, 2) : (1 @ laneid, 0 @ reg)]
    with pytest.raises(LayoutError, match=r"two numbers at the place of element \(1, 0\)"):
        Registers.holding([[1, 1], [1, 2]], both, "f32")
    assert Registers.holding([[1, 1], [2, 2]], both, "f32").words[0, 1, 0] == 0x40000000


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (S[4:1], "axis m"),
        (S[4 : -1 @ laneid], "below 0"),
        (S[64 : 1 @ laneid], "has lane 63, and a warp has lanes 0 to 31"),
        (S[4 : 1 @ reg], "needs 1 x 32 x 4"),
    ],
    ids=str,
)
def test_what_registers_do_not_hold(layout, words):
    with pytest.raises(LayoutError, match=words):
        Registers.empty(1).put([0] * layout.size, layout, "f32")


def test_a_wave_of_64_lanes_is_not_two_warps():
    """The lanes of mfma's operands are a wave of CDNA: lane 32 is not lane 0 of the next warp."""
    wave = parse("mfma.D(32x32x8, f32)")
    with pytest.raises(LayoutError, match="has lane 63"):
        Registers.holding(np.zeros((32, 32)), wave, "f32")


def test_lanes_that_were_not_active_keep_what_they_had():
    old = Registers.of(np.arange(64).reshape(32, 2))
    new = Registers.empty(2).put(np.full(4, 9), S[4 : 1 @ laneid], "u32")
    held = new.over(old)
    assert held.words[0, :5].tolist() == [[9, 1], [9, 3], [9, 5], [9, 7], [8, 9]]
    assert (held.known == 0xFFFFFFFF).all()


def test_parts_of_registers():
    held = Registers.of(np.arange(2 * 32 * 4).reshape(2, 32, 4))
    assert held.warp(1)[1:3].words[0, 0].tolist() == [129, 130]
    assert held[:1].beside(held[3:]).words[1, 2].tolist() == [136, 139]
    assert repr(held) == "Registers(2 x 32 x 4)"
    with pytest.raises(LayoutError, match="not of the shape"):
        Registers.of(np.zeros((4, 31, 2)))


def test_what_lies_over_registers_that_nothing_wrote():
    new = Registers.empty(1).put(np.full(4, 9), S[4 : 1 @ laneid], "u32")
    held = new.over(Registers.empty(1).put([7], S[1 : 1 @ laneid] + 4 @ laneid, "u32"))
    assert held.words[0, :6, 0].tolist() == [9, 9, 9, 9, 7, 0]
    assert held.known[0, :6, 0].tolist() == [0xFFFFFFFF] * 5 + [0]


def test_numbers_in_other_extents_than_the_fragment():
    layout = S[(4, 8) : (8 @ laneid, 1 @ laneid)]
    assert Registers.holding(np.arange(32), layout, "u32").words[0, 9, 0] == 9
    for shape in ((8, 4), (16, 8), (4,)):
        with pytest.raises(LayoutError, match="numbers of the shape"):
            Registers.holding(np.zeros(shape), layout, "u32")
        with pytest.raises(LayoutError, match="numbers of the shape"):
            Registers.empty(1, warps=2).put(np.zeros((2, *shape)), layout, "u32", each=True)


def test_words_are_whole_and_warps_are_there():
    with pytest.raises(LayoutError, match="whole numbers"):
        Registers.of(np.full((32, 1), 1.5))
    for number in (-1, 2):
        with pytest.raises(LayoutError, match=f"no warp {number}"):
            Registers.empty(1, warps=2).warp(number)
