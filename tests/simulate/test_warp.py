"""Loads, stores and shuffles of a warp, lane by lane in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import LayoutError, R, Refused, S, laneid
from tilewise.simulate.matrices import ldmatrix
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers
from tilewise.simulate.warp import load, shuffle, store

WIDTHS = (1, 2, 4, 8, 16)


def filled(size=1024, seed=1):
    memory = Memory(size)
    memory.put(np.random.default_rng(seed).integers(0, 256, size), "u8")
    return memory


@given(
    width=st.sampled_from(WIDTHS),
    places=st.lists(st.none() | st.integers(0, 63), min_size=1, max_size=32),
    signed=st.booleans(),
)
def test_each_lane_loads_its_bytes(width, places, signed):
    memory = filled()
    addresses = [None if place is None else place * width for place in places]
    held = load(memory, addresses, width, signed=signed)
    for lane in range(32):
        at = addresses[lane] if lane < len(addresses) else None
        if at is None:
            assert not held.known[0, lane].any()
            continue
        data = memory.data[at : at + width].tobytes()
        if width < 4:
            number = int.from_bytes(data, "little", signed=signed) % 2**32
            assert held.words[0, lane].tolist() == [number]
        else:
            assert held.words[0, lane].astype("<u4").tobytes() == data
        assert (held.known[0, lane] == 0xFFFFFFFF).all()


@given(width=st.sampled_from(WIDTHS), places=st.permutations(range(40)), active=st.sets(st.integers(0, 31)))
def test_each_lane_stores_its_bytes(width, places, active):
    memory = Memory(1024)
    words = np.random.default_rng(2).integers(0, 2**32, (32, max(1, width // 4)))
    held = Registers.of(words)
    addresses = [places[lane] * width if lane in active else None for lane in range(32)]
    store(memory, addresses, held, width)
    plain = {}
    for lane in active:
        data = b"".join(int(word).to_bytes(4, "little") for word in words[lane])[:width]
        plain |= {addresses[lane] + place: byte for place, byte in enumerate(data)}
    assert {int(at): int(memory.data[at]) for at in np.flatnonzero(memory.written)} == plain


def test_what_is_stored_is_loaded():
    memory, addresses = Memory(512), [16 * (lane ^ 5) for lane in range(32)]
    held = Registers.of(np.arange(128).reshape(32, 4))
    store(memory, addresses, held, 16)
    assert np.array_equal(load(memory, addresses, 16).words, held.words)


@pytest.mark.parametrize("width", [0, 3, 32])
def test_no_instruction_moves_other_widths(width):
    with pytest.raises(LayoutError, match="bytes a lane"):
        load(filled(), [0], width)
    with pytest.raises(LayoutError, match="bytes a lane"):
        store(filled(), [0], Registers.of(np.zeros((32, 8))), width)


def fault_of(action):
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.witness


def test_faults_name_the_lane():
    memory = filled(256)
    held = Registers.of(np.arange(32)[:, None])
    assert fault_of(lambda: load(memory, [0, 4, 6], 4))["lane"] == 2
    assert fault_of(lambda: load(memory, [None, 256], 4))["lane"] == 1
    witness = fault_of(lambda: store(memory, [0, None, 0], held, 4))
    assert (witness["fault"], witness["lane"], witness["other"]) == ("overlapping", 0, {"lane": 2})
    store(memory, [0, None, 0], Registers.of(np.ones((32, 1))), 4)  # the same bytes twice
    with pytest.raises(LayoutError, match="33 addresses"):
        load(memory, [0] * 33, 4)


def test_addresses_as_a_layout_of_lanes():
    memory, rows = filled(4096), S[(2, 16) : (16, 128)]
    told = [16 * (lane // 16) + 128 * (lane % 16) for lane in range(32)]
    assert ldmatrix(memory, "x4", rows).words.tolist() == ldmatrix(memory, "x4", told).words.tolist()
    assert load(memory, rows, 8).words.tolist() == load(memory, told, 8).words.tolist()
    with pytest.raises(LayoutError, match="64"):
        load(memory, S[64:4], 4)
    for wrong in (S[(8, 4) : (1 @ laneid, 4)], S[8:4] + R[2:64]):
        with pytest.raises(LayoutError, match="gives a lane no one address"):
            load(memory, wrong, 4)


def test_an_address_below_zero_is_no_lane_at_rest():
    for action in (
        lambda: load(filled(), [0, -1], 4),
        lambda: store(filled(), [0, np.int64(-4)], Registers.of(np.zeros((32, 1))), 4),
        lambda: ldmatrix(filled(), "x1", [0, -16, *range(0, 96, 16)]),
    ):
        witness = fault_of(action)
        assert (witness["fault"], witness["lane"]) == ("outside", 1)
        assert witness["address"] < 0


def test_a_lane_stores_what_nothing_wrote():
    loaded = load(filled(), [0, None, 8], 4)
    witness = fault_of(lambda: store(Memory(64), [0, 4], loaded, 4))
    assert (witness["fault"], witness["lane"], witness["register"]) == ("unwritten", 1, 0)
    store(Memory(64), [0, None, 4], loaded, 4)
    byte = load(filled(), [0], 1)
    assert (byte.known[0, 0] == 0xFFFFFFFF).all()


def shuffled(mode, lane, amount, width):
    """CUDA's words: the lane that is read."""
    group, place = lane // width * width, lane % width
    match mode:
        case "idx":
            return group + amount % width
        case "up":
            return group + place - amount if place >= amount else lane
        case "down":
            return group + place + amount if place + amount < width else lane
        case "bfly":
            return lane ^ amount if (lane ^ amount) < group + width else lane


@given(
    mode=st.sampled_from(["idx", "up", "down", "bfly"]),
    width=st.sampled_from([1, 2, 4, 8, 16, 32]),
    amounts=st.lists(st.integers(0, 31), min_size=32, max_size=32),
    active=st.sets(st.integers(0, 31)),
)
def test_shuffles_read_the_lane_that_cuda_says(mode, width, amounts, active):
    held = Registers.of(np.arange(64).reshape(32, 2))
    found = shuffle(held, mode, amounts, width=width, active=sorted(active))
    for lane in range(32):
        source = shuffled(mode, lane, amounts[lane], width)
        both = lane in active and source in active
        assert (found.known[0, lane] == (0xFFFFFFFF if both else 0)).all()
        if both:
            assert found.words[0, lane].tolist() == [2 * source, 2 * source + 1]


def test_a_lower_group_is_read_by_bfly():
    """Only lanes past the end of the group are out of reach: PTX compares with its last lane."""
    found = shuffle(Registers.of(np.arange(32)[:, None]), "bfly", 8, width=8)
    assert found.words[0, :, 0].tolist() == [*range(8), *range(8), *range(16, 24), *range(16, 24)]


def test_no_such_shuffle():
    held = Registers.empty(1)
    with pytest.raises(LayoutError, match="no shuffle"):
        shuffle(held, "left", 1)
    with pytest.raises(LayoutError, match="groups of 3"):
        shuffle(held, "up", 1, width=3)


def test_addresses_and_amounts_are_whole_numbers_of_their_range():
    memory, lanes = filled(), Registers.of(np.arange(32)[:, None])
    with pytest.raises(LayoutError, match="an address"):
        load(memory, [0.5], 4)
    for amount in (-1, 32, 0.5, [1, 2], [0] * 31 + [40]):
        with pytest.raises(LayoutError, match="a shuffle by"):
            shuffle(lanes, "up", amount)


def test_a_store_needs_only_the_bytes_that_it_writes():
    low = Registers.empty(1).put(range(32), S[32 : 1 @ laneid], "u16")
    memory = Memory(128)
    store(memory, [2 * lane for lane in range(32)], low, 2)
    assert memory.take("u16", 32).tolist() == list(range(32))
    store(memory, [64 + lane for lane in range(32)], low, 1)
    with pytest.raises(Refused) as refused:
        store(memory, [4 * lane for lane in range(32)], low, 4)
    assert refused.value.witness["fault"] == "unwritten"


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_loads_and_stores_are_aligned(width):
    memory, held = filled(), Registers.of(np.arange(32 * 4).reshape(32, 4))
    before = memory.data.copy()
    for action in (
        lambda at: load(memory, at, width),
        lambda at: store(memory, at, held, width),
    ):
        with pytest.raises(Refused) as refused:
            action([0, 2 * width, 4 * width + width // 2])
        witness = refused.value.witness
        assert (witness["fault"], witness["lane"], witness["aligned"]) == ("misaligned", 2, width)
    assert np.array_equal(memory.data, before)
