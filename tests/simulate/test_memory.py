"""Memory against a dictionary of bytes, and every fault with its culprit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewise import LayoutError, R, Refused, S, Swizzle, laneid
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.simulate.faults import Step
from tilewise.simulate.memory import NOBODY, Memory, bits_of
from tilewise.simulate.numbers import encode
from tilewise.testing import naive_places

LOAD = Step("ld.shared.v4", warp=3)
STORE = Step("st.shared.v4", warp=3)


def refused(action):
    with pytest.raises(Refused) as caught:
        action()
    assert caught.value.code == "TW612"
    return caught.value


@settings(max_examples=40)
@given(
    start=st.integers(0, 5000),
    steps=st.lists(
        st.tuples(st.integers(1, 4), st.lists(st.integers(-1, 59), min_size=1, max_size=8)), max_size=6
    ),
)
def test_memory_is_a_dictionary_of_bytes(start, steps):
    memory, plain = Memory(64, start=start), {}
    for number, (width, places) in enumerate(steps, 1):
        addresses = [NOBODY if place < 0 else start + place for place in dict.fromkeys(places)]
        data = np.full((len(addresses), width), number, np.uint8)
        memory.write(STORE, addresses, data)
        plain |= {at + byte: number for at in addresses if at != NOBODY for byte in range(width)}
    for address in range(start, start + 64):
        assert bool(memory.written[address - start]) == (address in plain)
        if address in plain:
            assert memory.read(LOAD, [address], 1).item() == plain[address]
        else:
            assert refused(lambda at=address: memory.read(LOAD, [at], 1)).witness["address"] == address


def test_lanes_that_are_not_active_touch_nothing():
    memory = Memory(64)
    memory.write(STORE, [NOBODY, 16], [[1] * 4, [2] * 4])
    assert memory.written.sum() == 4
    assert memory.read(LOAD, [16, NOBODY], 4).tolist() == [[2] * 4, [0] * 4]


def test_a_byte_that_nothing_wrote():
    memory = Memory(64)
    memory.write(STORE, [0], np.zeros((1, 20), np.uint8))
    no = refused(lambda: memory.read(LOAD, [0, 16], 16))
    assert no.witness == {
        "fault": "unwritten",
        "memory": "shared",
        "instruction": "ld.shared.v4",
        "warp": 3,
        "lane": 1,
        "address": 20,
    }
    assert "ld.shared.v4, warp 3, lane 1 reads byte 20 of shared memory, which nothing wrote" in str(no)


@pytest.mark.parametrize("address", [49, 64, 15, 0, 1 << 40])
def test_outside_of_memory(address):
    memory = Memory(48, start=16)
    memory.put(np.zeros(48), "u8", at=16)
    for action in (
        lambda: memory.read(LOAD, [16, address], 16),
        lambda: memory.write(STORE, [16, address], np.ones((2, 16), np.uint8)),
    ):
        no = refused(action)
        assert (no.witness["fault"], no.witness["lane"], no.witness["address"]) == ("outside", 1, address)
    assert not memory.data.any()  # where a step is refused nothing is written


def test_the_host_reaches_for_no_place_below_zero():
    memory = Memory(64)
    memory.put(np.zeros(64), "u8")
    for action in (
        lambda: memory.put([1, 2], "u8", at=-1),
        lambda: memory.put([1, 2], "u8", S[2:-1]),
        lambda: memory.take("u8", S[2:-1]),
        lambda: memory.take("u4", 2, at=-1),
    ):
        witness = refused(action).witness
        assert (witness["fault"], witness["address"]) == ("outside", -1)
    assert not memory.data.any()


def test_the_last_row_that_fits():
    memory = Memory(48, start=16)
    memory.write(STORE, [48], np.ones((1, 16), np.uint8))
    assert memory.read(LOAD, [48], 16).sum() == 16


def test_from_one_part_into_the_next():
    memory = Memory(1024)
    memory.region("A", 256)
    b = memory.region("B", 256, align=256)
    memory.put(np.zeros(512), "u8")
    no = refused(lambda: memory.read(LOAD, [0, 248], 16))
    assert no.witness | {"fault": "outside", "region": "A", "lane": 1, "address": 248} == no.witness
    assert "past the end of A, bytes 0 to 255" in str(no)
    no = refused(lambda: memory.read(LOAD, [b.end], 1))
    assert no.witness["fault"] == "outside"
    assert "in none of A, bytes 0 to 255; B, bytes 256 to 511" in str(no)


def test_only_some_of_the_parts():
    memory = Memory(1024)
    memory.region("A", 256)
    memory.region("B", 256)
    memory.put(np.ones(512), "u8")
    part = memory.within("A")
    no = refused(lambda: part.read(LOAD, [0, 256], 16))
    assert (no.witness["fault"], no.witness["lane"], no.witness["address"]) == ("outside", 1, 256)
    part.write(STORE, [16], [[7]])
    assert memory.read(LOAD, [16, 256], 1).ravel().tolist() == [7, 1]
    with pytest.raises(LayoutError, match="no part C"):
        memory.within("A", "C")


def test_parts_do_not_meet():
    memory = Memory(1024, start=100)
    memory.region("A", 256, align=128)
    assert [(one.start, one.end) for one in memory.regions] == [(128, 384)]
    for name, at in (("A", 512), ("B", 383), ("B", 99), ("B", 1100)):
        with pytest.raises(LayoutError, match=r"A|fit"):
            memory.region(name, 32, at=at)
    memory.region("B", 28, at=100)
    assert [one.name for one in memory.regions] == ["B", "A"]


def test_misaligned():
    memory = Memory(64)
    no = refused(lambda: memory.write(STORE, [16, 24], np.zeros((2, 16)), aligned=16))
    assert no.witness | {"fault": "misaligned", "lane": 1, "address": 24, "aligned": 16} == no.witness


def test_two_lanes_write_one_byte():
    memory = Memory(64)
    memory.write(STORE, [0, 2], [[1, 2, 3, 4], [3, 4, 5, 6]])  # the same bytes where they meet
    no = refused(lambda: memory.write(STORE, [8, 20, 10], [[1, 2, 3, 4], [9] * 4, [3, 5, 5, 6]]))
    assert no.witness == {
        "fault": "overlapping",
        "memory": "shared",
        "instruction": "st.shared.v4",
        "warp": 3,
        "lane": 0,
        "other": {"lane": 2},
        "address": 11,
    }
    assert memory.read(LOAD, [0], 6).tolist() == [[1, 2, 3, 4, 5, 6]]
    assert memory.written.sum() == 6


def test_a_copy_goes_its_own_way():
    memory = Memory(64)
    memory.region("A", 32)
    other = memory.copy()
    other.put([7], "u8")
    assert (memory.written.sum(), other.written.sum()) == (0, 1)
    assert other.regions == memory.regions


def test_what_is_shown_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        Memory(64).data[0] = 1


# -- tiles -----------------------------------------------------------------------------------------

LAYOUTS = [
    S[(4, 8) : (8, 1)],
    S[(4, 8) : (1, 4)],
    Swizzle(2, 1, 3) @ S[(8, 8) : (8, 1)],
    S[(2, 4) : (16, 2)] + 3,
    S[(4, 4) : (4, 1)] + R[2:32],
]


@pytest.mark.parametrize("dtype", ["u4", "b1", "s8", "f16", "tf32", "f64", "e2m1"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_tile_lies_where_its_layout_says(layout, dtype):
    rng = np.random.default_rng(layout.size)
    element = DType.of(dtype)
    numbers = rng.integers(0, 2, layout.size)
    memory = Memory(1024)
    memory.put(numbers, dtype, layout)
    codes = encode(numbers, dtype)
    whole = int.from_bytes(memory.data.tobytes(), "little")
    places = [
        (flat, dict(place).get("m", 0)) for flat in range(layout.size) for place in naive_places(layout, flat)
    ]
    for flat, place in places:
        assert whole >> place * element.bits & (1 << element.bits) - 1 == codes[flat]
    assert np.array_equal(memory.take(dtype, layout).ravel(), numbers)
    bits = {place * element.bits + bit for _, place in places for bit in range(element.bits)}
    assert memory.written.sum() == len({bit // 8 for bit in bits})


def test_a_base_goes_inside_the_swizzle():
    """From an address that the pattern does not repeat by, hardware XORs the bits of the address."""
    layout = Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    memory = Memory(4096)
    memory.put(np.arange(512) % 100, "f16", layout, at=128)
    for row, column in ((0, 0), (3, 17), (7, 63)):
        address = 128 + 128 * row + 2 * column
        address ^= (address >> 7 & 7) << 4
        assert memory.take("f16", 1, at=address).item() == (64 * row + column) % 100


def test_layouts_may_count_bytes():
    assert bits_of(S[4:4].in_bytes("f16"), "f16", at=3).ravel().tolist() == [24, 88, 152, 216]


def test_two_elements_at_one_place():
    memory = Memory(64)
    memory.put([1, 1], "u4", S[2:0])
    for dtype in ("u4", "f32"):
        no = refused(lambda dtype=dtype: memory.put([1, 2], dtype, S[2:0]))
        assert no.witness["fault"] == "overlapping"


def test_bits_beside_an_element_stay():
    memory = Memory(64)
    memory.put(range(8), "u4")
    memory.put([15], "u4", S[1:1] + 3)
    assert memory.take("u4", 8).tolist() == [0, 1, 2, 15, 4, 5, 6, 7]


def test_elements_of_six_bits_lie_one_after_another():
    memory = Memory(64)
    numbers = [1.0, 0.5, -2.0, 28.0]
    memory.put(numbers, "e3m2")
    assert memory.written.sum() == 3
    assert memory.take("e3m2", 4).tolist() == numbers


def test_what_is_no_memory():
    with pytest.raises(LayoutError, match="memory has m"):
        Memory(64).put([1, 2], "u8", S[2 : 1 @ laneid])
    with pytest.raises(LayoutError, match="begin at byte 3"):
        Memory(64).put([1, 2], "f16", S[2:1], at=3)


@pytest.mark.parametrize(
    ("dtype", "numbers"), [("u4", [1, 2, 3]), ("e2m3", [1.0, 2.0, 3.0]), ("b1", [1] * 9)]
)
def test_bits_behind_the_last_element_stay(dtype, numbers):
    memory = Memory(8)
    memory.put([0xFF] * 8, "u8")
    memory.put(numbers, dtype, at=1)
    bits = len(numbers) * DType.of(dtype).bits
    whole = int.from_bytes(memory.data.tobytes(), "little")
    assert whole >> 8 + bits == (1 << 56 - bits) - 1
    assert memory.take(dtype, len(numbers), at=1).tolist() == numbers
    with pytest.raises(Refused, match="outside of bytes 0 to 7"):
        memory.put(numbers, dtype, at=7 + (bits <= 8))


@pytest.mark.parametrize(("dtype", "step"), [("u8", 12), ("f16", 20), ("u4", 6)])
def test_elements_that_begin_inside_of_a_byte(dtype, step):
    """They were moved to where a byte begins, without a word."""
    memory, layout = Memory(64), Layout((2,), (step,), unit="bit")
    memory.put(np.zeros(64), "u8")
    for action in (lambda: memory.put([1, 2], dtype, layout), lambda: memory.take(dtype, layout)):
        with pytest.raises(LayoutError, match=f"element 1 of .* begins at bit {step} of memory"):
            action()


@pytest.mark.parametrize("dtype", ["u8", "f32", "u4"])
def test_copies_of_an_element_are_one_number(dtype):
    memory, layout = Memory(64), S[4:1] + R[2:8]
    memory.put([1, 2, 3, 4], dtype, layout)
    assert memory.take(dtype, layout).tolist() == [1, 2, 3, 4]
    memory.put([5], dtype, S[1:1] + 10)
    no = refused(lambda: memory.take(dtype, layout))
    each = DType.of(dtype).bits
    places = {"address": 2 * each // 8, "other": 10 * each // 8}
    assert (
        no.witness == {"fault": "apart", "memory": "shared", "instruction": "the host", "element": 2} | places
    )


@pytest.mark.parametrize("shape", [(8, 4), (4, 7), (31,), (33,)])
def test_numbers_in_other_extents_than_the_layout(shape):
    memory = Memory(64)
    with pytest.raises(LayoutError, match="numbers of the shape"):
        memory.put(np.zeros(shape), "u8", S[(4, 8) : (8, 1)])
    assert not memory.written.any()


def test_addresses_are_whole():
    memory = Memory(64)
    for action in (
        lambda: memory.put([1], "u8", at=1.5),
        lambda: memory.put([1], "u8", S[1:1], at=1.5),
        lambda: memory.take("u8", 1, at=0.5),
    ):
        with pytest.raises(LayoutError, match="at must be an integer"):
            action()
    memory.put(range(64), "u8")
    for action in (
        lambda: memory.read(LOAD, [0.5], 1),
        lambda: memory.write(STORE, np.array([1.0]), [[1]]),
    ):
        with pytest.raises(LayoutError, match="are whole numbers"):
            action()
    assert memory.read(LOAD, [], 4).shape == (0, 4)


def test_a_part_without_a_name():
    with pytest.raises(LayoutError, match="no part without a name"):
        Memory(64).within()
    with pytest.raises(LayoutError) as caught:
        Memory(64).within("A")
    assert "region(...) names one" in str(caught.value)


def test_lanes_that_write_the_same_hide_none_that_does_not():
    """Three lanes at one byte: two agree and come first, and the error names the third with one of them."""
    for values, pair in (((1, 1, 2), (1, 2)), ((2, 1, 1), (0, 1)), ((1, 2, 1), (0, 1))):
        no = refused(lambda values=values: Memory(8).write(STORE, [0, 0, 0], np.array(values)[:, None]))
        assert (no.witness["lane"], no.witness["other"]["lane"]) == pair
