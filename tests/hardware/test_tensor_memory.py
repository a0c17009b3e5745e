"""Tensor memory: its addresses, who reaches them, what is allocated, and how elements lie in columns."""

import random

import pytest

from tilewise import LayoutError, Refused
from tilewise.core.dtypes import DTYPES
from tilewise.hardware.catalog import find
from tilewise.hardware.tcgen05.addresses import (
    ALLOCATIONS,
    COLUMNS,
    LANES,
    Address,
    Cells,
    allocation_for,
    check_allocation,
    check_column,
    check_reach,
    lanes_of,
)

# -- addresses -------------------------------------------------------------------------------------


def test_an_address_is_its_lane_and_its_column_both_ways():
    for lane in range(128):
        for column in (0, 1, 31, 256, 511):
            address = Address(lane, column)
            assert address.value == int(address) == 65536 * lane + column
            assert Address.of(address.value) == address
            assert str(address) == f"0x{lane:04x}{column:04x}"


def test_addresses_add_up_as_kernels_add_them():
    rng = random.Random(1)
    for _ in range(200):
        lane, column = rng.randrange(128), rng.randrange(512)
        to = rng.randrange(128), rng.randrange(512)
        moved = Address(lane, column).moved(to[0] - lane, to[1] - column)
        assert moved == Address(*to)
        assert moved.value == Address(lane, column).value + ((to[0] - lane) << 16) + to[1] - column


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Address(128, 0), "no lane 128"),
        (lambda: Address(-1, 0), "no lane -1"),
        (lambda: Address(0, 512), "no column 512"),
        (lambda: Address.of(128 << 16), "0x00800000: tensor memory has no lane 128"),
        (lambda: Address.of(512), "0x00000200: tensor memory has no column 512"),
        (lambda: Address.of(1 << 32), "it has 32 bits"),
        (lambda: Address.of(-1), "it has 32 bits"),
        (lambda: Address(127, 511).moved(columns=1), "no column 512"),
        (lambda: Address(127, 511).moved(lanes=1), "no lane 128"),
        (lambda: Address(0.5, 0), "must be an integer"),
        (lambda: check_column(True), "must be an integer"),
    ],
)
def test_what_is_no_address_is_said(made, said):
    with pytest.raises(LayoutError, match=said) as caught:
        made()
    assert caught.value.hint


# -- warps and allocation --------------------------------------------------------------------------


def test_each_lane_is_reached_by_one_warp_of_a_warpgroup():
    for warp in range(12):
        quarter = warp % 4
        assert list(lanes_of(warp)) == [lane for lane in range(128) if lane // 32 == quarter]
        for lane in range(LANES):
            if lane // 32 == quarter:
                assert check_reach(warp, lane) == lane
                assert Address(lane, 0).warp == quarter
            else:
                with pytest.raises(Refused, match=f"warp {warp} does not reach lane {lane}") as no:
                    check_reach(warp, lane)
                assert f"warps {lane // 32}, {lane // 32 + 4}, " in no.value.hint


def test_allocations_are_the_powers_of_two_from_32_to_512():
    assert ALLOCATIONS == (32, 64, 128, 256, 512)
    for columns in range(1, COLUMNS + 1):
        fitting = min(size for size in (32, 64, 128, 256, 512) if size >= columns)
        assert allocation_for(columns) == fitting
        if columns == fitting:
            assert check_allocation(columns) == columns
        else:
            with pytest.raises(Refused, match=f"ask for {fitting}"):
                check_allocation(columns)
    for columns, said in (
        (0, "0 is no number of columns"),
        (-32, "-32 is no number"),
        (513, "no 513 columns"),
        (1024, "no 1024"),
    ):
        for check in (allocation_for, check_allocation):
            with pytest.raises(LayoutError, match=said):
                check(columns)


# -- elements --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.bits != 6])
def test_packed_elements_fill_columns_without_a_gap(name):
    bits = DTYPES[name].bits
    cells = Cells.of(name)
    assert (cells.counted, cells.step, cells.held) == (bits, 1, None)
    for number in range(100):
        first = number * bits
        assert cells.at(number) == (first // 32, first % 32, first % 32 + bits - 1)
        for bit in range(first, first + bits):
            assert cells.element_at(bit // 32, bit % 32) == number
        assert cells.columns(number + 1) == (first + bits - 1) // 32 + 1


@pytest.mark.parametrize(
    ("name", "taken", "lowest", "step", "held"),
    [
        ("f16", 32, 0, 2, None),
        ("bf16", 32, 0, 2, None),
        ("e2m1", 8, 2, 1, (8, 2)),
        ("e2m3", 8, 0, 1, (8, 0)),
        ("e3m2", 8, 1, 1, (8, 1)),
        ("e2m1", 8, 0, 2, None),
    ],
)
def test_elements_that_take_more_bits_than_they_have(name, taken, lowest, step, held):
    bits = DTYPES[name].bits
    cells = Cells.of(name, taken, lowest)
    assert (cells.step, cells.held) == (step, held)
    owners = {}
    for number in range(40):
        for bit in range(bits):
            owners[divmod(number * taken + lowest + bit, 32)] = number
    for column in range(cells.columns(40)):
        for bit in range(32):
            assert cells.element_at(column, bit) == owners.get((column, bit))
    for number in range(40):
        column, low, high = cells.at(number)
        assert [owner for owner in owners if owners[owner] == number] == [
            (column, bit) for bit in range(low, high + 1)
        ]
        assert column == number * cells.step * cells.counted // 32  # what the axis TCol says


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("e3m2",), "6 bits fill no columns"),
        (("e3m2", 12), "12 bits fill no columns"),
        (("f16", 0), "0 bits fill no columns"),
        (("f16", 8), "does not lie from bit 0 of 8"),
        (("e2m1", 8, 5), "does not lie from bit 5 of 8"),
        (("e2m1", 8, -1), "does not lie from bit -1 of 8"),
        (("f128",), "unknown dtype"),
    ],
)
def test_what_fills_no_columns_is_said(given, said):
    with pytest.raises(LayoutError, match=said) as caught:
        Cells.of(*given)
    assert caught.value.hint


# -- the entry -------------------------------------------------------------------------------------


def test_the_entry_says_an_address_both_ways():
    entry = find("tcgen05.address")
    facts = entry(lane=100, column=7).facts
    assert facts["address"] == "0x00640007"
    assert facts["reached_by"] == {"warp": 3, "first_lane": 96, "last_lane": 127}
    assert entry(address=0x00640007).facts == facts
    assert entry(column=7, dtype="e4m3").facts["TCol"] == {"dtype": "e4m3", "first": 28, "last": 31}
    assert entry(column=7, dtype="f64").facts["TCol"] == {"dtype": "f64", "first": 3, "last": 3}
    assert entry().facts["allocations"] == [32, 64, 128, 256, 512]
    with pytest.raises(LayoutError, match="an address, and a lane"):
        entry(lane=1, address=2)
