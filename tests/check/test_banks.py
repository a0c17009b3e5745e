"""Bank conflicts: the definition, its two fast forms, and what is known of the hardware."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.check.banks_cases import naive_paired, naive_turns, naive_wavefronts, requests

from tilewise import LayoutError, S, Swizzle
from tilewise.check.access import Access, Lanes, access_of
from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import Conflicts, conflicts, conflicts_of, count, counted
from tilewise.check.coalesce import counted as counted_sectors
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.hardware.memory.banks import OPERATIONS, Operation

BYTE = DType.of("u8")


def lanes_at(layout: Layout, name: str = "ld", bytes: int = 4) -> Lanes:
    """An access by its addresses: [request, lane] to bytes."""
    requests, lanes = layout.shape if len(layout.shape) == 2 else (1, layout.shape[0])
    assert isinstance(requests, int)
    assert isinstance(lanes, int)
    index = S[(requests, lanes, bytes)]
    return Lanes(Access("made", Operation.of(name), BYTE, (1,), index), layout)


def plain(found: Conflicts) -> list[int]:
    """The wavefronts of every request, by the naive loop over the places of the layout."""
    access, layout = found.access, found.lanes.layout
    assert layout is not None
    every = [layout.place(flat)["m"] for flat in range(layout.size)]
    rows = [every[first : first + access.lanes] for first in range(0, layout.size, access.lanes)]
    return [naive_wavefronts(access.operation.name, access.bytes, row) for row in rows]


# -- one request -----------------------------------------------------------------------------------


@given(requests())
def test_a_request_takes_what_the_plain_loop_says(asked: tuple[str, int, list[int | None]]) -> None:
    name, bytes, addresses = asked
    request = counted(name, bytes, addresses)
    assert request.wavefronts == naive_wavefronts(name, bytes, addresses)
    lanes = [lane for phase in request.phases for lane in phase.lanes]
    assert lanes == [lane for lane, address in enumerate(addresses) if address is not None]
    assert request.excess == request.wavefronts - request.ideal >= 0


@given(requests())
def test_a_merged_request_asks_in_pairs(asked: tuple[str, int, list[int | None]]) -> None:
    name, bytes, addresses = asked
    lanes = [*addresses, *[None] * (32 - len(addresses))]
    may = name == "ld" and bytes > 4
    apart = [distance for distance in (1, 2) if may and naive_paired(lanes, distance)]
    assert counted(name, bytes, addresses).merged == (apart[0] if apart else 0)


@given(requests(), st.randoms(use_true_random=False))
def test_the_order_of_lanes_inside_a_phase_does_not_count(
    asked: tuple[str, int, list[int | None]], rng: random.Random
) -> None:
    _, bytes, addresses = asked
    together = Operation.of("st").together(bytes)
    shuffled: list[int | None] = []
    for first in range(0, len(addresses), together):
        phase = addresses[first : first + together]
        rng.shuffle(phase)
        shuffled += phase
    assert counted("st", bytes, shuffled).wavefronts == counted("st", bytes, addresses).wavefronts


KNOWN = {
    "4 bytes in a row": ("ld", 4, [4 * n for n in range(32)], 1, 1),
    "one word for all": ("ld", 4, [0] * 32, 1, 1),
    "a column of 128-byte rows": ("ld", 4, [128 * n for n in range(32)], 32, 1),
    "the column of a padded tile": ("ld", 4, [132 * n for n in range(32)], 1, 1),
    "every second word": ("ld", 4, [8 * n for n in range(32)], 2, 1),
    "bytes of 8 words": ("ld", 1, list(range(32)), 1, 1),
    "halves of one bank": ("ld", 2, [128 * (n // 2) + 2 * (n % 2) for n in range(32)], 16, 1),
    "8 bytes in a row": ("ld", 8, [8 * n for n in range(32)], 2, 2),
    "16 bytes in a row": ("ld", 16, [16 * n for n in range(32)], 4, 4),
    "16 bytes down 128-byte rows": ("ld", 16, [128 * n for n in range(32)], 32, 4),
    "16 bytes, all in one address": ("ld", 16, [0] * 32, 2, 2),
    "8 bytes, all in one address": ("ld", 8, [0] * 32, 1, 1),
    "8 bytes, pairs n^1": ("ld", 8, [8 * (n // 2) for n in range(32)], 1, 1),
    "16 bytes, pairs n^2": ("ld", 16, [16 * (n % 2 + n // 4 * 2) for n in range(32)], 2, 2),
    "16 bytes, pairs n^4": ("ld", 16, [16 * (n % 4 + n // 8 * 4) for n in range(32)], 4, 4),
    "8 bytes, halves of the warp alike": ("ld", 8, [8 * (n % 16) for n in range(32)], 2, 2),
    "a store of 8 bytes to one address": ("st", 8, [0] * 32, 2, 2),
    "a store of 16 bytes to one address": ("st", 16, [0] * 32, 4, 4),
    "ldmatrix.x4 of one row": ("ldmatrix", 16, [0] * 32, 4, 4),
    "ldmatrix.x4 of packed rows": ("ldmatrix", 16, [16 * n for n in range(32)], 4, 4),
    "ldmatrix.x4 down 128-byte rows": ("ldmatrix", 16, [128 * n for n in range(32)], 32, 4),
    "ldmatrix.x2": ("ldmatrix", 16, [128 * n for n in range(16)], 16, 2),
    "stmatrix.x1": ("stmatrix", 16, [128 * n for n in range(8)], 8, 1),
    "a lone lane": ("ld", 16, [None] * 31 + [16], 1, 1),
    "no lane": ("ld", 16, [None] * 32, 0, 0),
}
"""(operation, bytes, addresses, wavefronts, ideal): by documents, and by earlier measurements of an H200."""


@pytest.mark.parametrize("case", KNOWN)
def test_what_is_known(case: str) -> None:
    name, bytes, addresses, wavefronts, ideal = KNOWN[case]
    request = counted(name, bytes, addresses)
    assert (request.wavefronts, request.ideal) == (wavefronts, ideal)


@pytest.mark.parametrize(("bytes", "least", "most"), [(4, 1, 1), (8, 2, 6), (16, 5, 14)])
def test_lanes_are_not_dealt_anew(bytes: int, least: int, most: int) -> None:
    """A run of neighbours in random order costs more than in lane order, but for 4 bytes."""
    rng = random.Random(bytes)
    for _ in range(50):
        addresses = [bytes * n for n in range(32)]
        rng.shuffle(addresses)
        assert least <= counted("ld", bytes, addresses).wavefronts <= most


def test_a_phase_says_who_asks_which_bank_for_what() -> None:
    (phase,) = counted("ld", 4, [0, 128, 128, 4]).phases
    assert phase.banks == {0: {0: (0,), 32: (1, 2)}, 1: {1: (3,)}}
    assert (phase.wavefronts, phase.busiest, phase.lanes) == (2, 0, (0, 1, 2, 3))


@pytest.mark.parametrize("pitch", [64, 66])
def test_waves_of_64_lanes_are_refused_for_every_pitch(pitch: int) -> None:
    with pytest.raises(LayoutError, match="64 addresses, and a warp has 32 lanes"):
        conflicts(S[(64, 64) : (pitch, 1)], "mfma.C(32x32x8, dtype=f16)", dtype="f16")


@pytest.mark.parametrize(
    ("name", "bytes", "addresses", "code"),
    [
        ("ld", 4, [0] * 33, "TW201"),
        ("ld", 4, [2], "TW203"),
        ("st", 16, [-16], "TW203"),
        ("ld", 3, [0], "TW602"),
        ("cp.async", 2, [0], "TW602"),
        ("ldmatrix", 8, [0], "TW602"),
        ("load", 4, [0], "TW601"),
    ],
)
def test_what_no_warp_asks(name: str, bytes: int, addresses: list[int], code: str) -> None:
    with pytest.raises(LayoutError) as refused:
        counted(name, bytes, addresses)
    assert refused.value.code == code


def test_every_operation_says_where_it_is_from_and_merges_loads_alone() -> None:
    for name, operation in OPERATIONS.items():
        assert Operation.of(name) is Operation.of(operation) is operation
        assert operation.source.url.startswith("https://")
        assert bool(operation.pairs) == (name == "ld")
    assert [name for name, operation in OPERATIONS.items() if operation.unknown] == ["atom", "tma"]
    assert [name for name, operation in OPERATIONS.items() if operation.least] == ["cp.async"]


# -- many requests ---------------------------------------------------------------------------------


@given(st.lists(requests(), min_size=1, max_size=4))
def test_requests_counted_at_once_are_what_they_are_alone(
    asked: list[tuple[str, int, list[int | None]]],
) -> None:
    name, bytes, _ = asked[0]
    rows = [row for own, width, row in asked if (own, width) == (name, bytes)]
    lanes = max(map(len, rows))
    array = np.full((len(rows), lanes), INACTIVE, np.int64)
    for row, addresses in zip(array, rows, strict=True):
        row[: len(addresses)] = [INACTIVE if address is None else address for address in addresses]
    counts = count(Operation.of(name), bytes, array)
    alone = [counted(name, bytes, row) for row in rows]
    assert counts["wavefronts"].tolist() == [request.wavefronts for request in alone]
    assert counts["ideal"].tolist() == [request.ideal for request in alone]
    ways = [max(phase.wavefronts for phase in request.phases) for request in alone]
    assert counts["ways"].tolist() == ways


@given(st.data())
def test_copies_take_turns_at_the_banks_of_both_sides(data: st.DataObject) -> None:
    bytes = data.draw(st.sampled_from(OPERATIONS["cp.async"].widths))
    vector = st.integers(0, data.draw(st.sampled_from((1, 4, 40, 300)))).map(lambda at: at * bytes)
    lanes = data.draw(st.integers(1, 32))
    targets, sources = ([*data.draw(st.lists(vector, min_size=lanes, max_size=lanes))] for _ in "ts")
    for lane in data.draw(st.lists(st.integers(0, lanes - 1))):
        sources[lane] = None  # it fills its target with zeros
        if data.draw(st.booleans()):
            targets[lane] = None
    sides = [np.array([[INACTIVE if at is None else at for at in side]]) for side in (targets, sources)]
    found = count("cp.async", bytes, *sides)
    assert found["wavefronts"].tolist() == [naive_turns(bytes, targets, sources)]
    alone = counted("cp.async", bytes, targets)
    assert found["wavefronts"] >= alone.wavefronts
    row = np.arange(0, lanes * bytes, bytes)[None]
    apart = count("cp.async", bytes, sides[0], np.where(sides[0] == INACTIVE, INACTIVE, row))
    assert apart["wavefronts"].tolist() == [alone.wavefronts]


def test_an_address_below_zero_is_no_question_of_alignment() -> None:
    for refusing in (
        lambda: counted("ld", 4, [0, 4, -8]),
        lambda: count(Operation.of("ld"), 4, np.array([[0, 4, -8]])),
    ):
        with pytest.raises(LayoutError, match="at -8, below 0") as refused:
            refusing()
        assert "multiple" not in str(refused.value)


def test_counting_refuses_what_no_instruction_asks() -> None:
    for address in (2, -4):
        with pytest.raises(LayoutError, match="lane 1 of request 0 asks for 4 bytes"):
            count(Operation.of("ld"), 4, np.array([[0, address]]))
    with pytest.raises(LayoutError, match="33 addresses"):
        count(Operation.of("ld"), 4, np.zeros((1, 33), np.int64))


# -- in closed form --------------------------------------------------------------------------------


@st.composite
def address_layouts(draw: st.DrawFn) -> Lanes:
    """[request, lane] to bytes: powers of two in any order, with or without a swizzle and an offset."""
    name = draw(st.sampled_from((*OPERATIONS, "ld", "ld", "ld")))
    bytes = draw(st.sampled_from(OPERATIONS[name].widths[-3:]))
    lane_bits, request_bits = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    steps = draw(st.permutations([bytes << bit for bit in range(9)]))
    steps = [step * draw(st.sampled_from((1, 1, 1, 0))) for step in steps[: lane_bits + request_bits]]
    asks_in_pairs = draw(st.sampled_from((0, 0, 1, 2, 2)))
    if 0 < asks_in_pairs <= lane_bits:
        steps[-asks_in_pairs] = 0
    bits = [2] * len(steps)
    requests = draw(st.sampled_from((1, 1, 3, 5)))
    shape = ((requests, *bits[:request_bits]), (*bits[request_bits:], 1))
    far = bytes << 9
    layout = Layout(shape, tuple(map(as_vector, (far, *steps, 1)))) + far * draw(st.integers(0, 5))
    if draw(st.booleans()):
        base = bytes.bit_length() - 1 + draw(st.integers(0, 3))
        mask = draw(st.integers(1, 3))
        layout = Swizzle(mask, base, draw(st.integers(mask, 5))) @ layout
    if draw(st.booleans()):
        layout = layout + bytes * draw(st.integers(0, 40))
    index = S[(requests << request_bits, 1 << lane_bits, bytes)]
    return Lanes(Access("made", Operation.of(name), BYTE, (1,), index), layout)


@given(address_layouts())
def test_both_ways_to_count_agree(lanes: Lanes) -> None:
    found = conflicts_of(lanes)
    each = plain(found)
    counts = count(lanes.access.operation, lanes.access.bytes, lanes.table)
    assert counts["wavefronts"].tolist() == each
    assert found.wavefronts == sum(each)
    assert found.ideal == counts["ideal"].sum()
    assert found.ways == counts["ways"].max()
    assert each[found.worst] == max(each) == found.request(found.worst).wavefronts


@given(address_layouts(), st.sampled_from([0, 1, 1 << 20]))
def test_few_requests_are_counted_as_many_are(lanes: Lanes, few: int) -> None:
    """In NumPy from `few` on, else by the definition; wherever the bound is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilewise.check.access.costs.FEW", few)
        patch.setattr("tilewise.check.banks._by_ranks", lambda *_: None)
        found = conflicts_of(lanes)
        each = plain(found)
        assert (found.wavefronts, found.worst) == (sum(each), each.index(max(each)))
        requests = [found.request(number) for number in range(found.requests)]
        assert found.ideal == sum(request.ideal for request in requests)
        assert found.ways == max(phase.wavefronts for request in requests for phase in request.phases)


@given(address_layouts())
def test_ranks_name_the_merge(lanes: Lanes) -> None:
    found = conflicts_of(lanes)
    if found.ranks is not None:
        request = found.request(0)
        assert len(request.phases) == found.ranks.phases
        assert request.merged == found.ranks.merged
        for phase in request.phases:
            assert sum(map(len, phase.banks.values())) == 1 << found.ranks.words
            assert len(phase.banks) == 1 << found.ranks.banks


@pytest.mark.parametrize(
    ("layout", "closed"),
    [
        (S[(32, 32) : (4, 128)], True),
        (Swizzle(3, 4, 3) @ S[(32, 32) : (4, 128)], True),
        (S[(3, 32) : (4096, 128)], True),
        (S[(3, 32) : (96, 128)], False),
        (S[(64, 32) : (4, 132)], False),
        (S[(4, 24) : (128, 4)], False),
        (S[(4, 16) : (128, -4)] + 4096, False),
    ],
)
def test_what_is_decided_by_ranks(layout: Layout, closed: bool) -> None:
    found = conflicts_of(lanes_at(layout))
    assert found.closed is closed
    assert found.wavefronts == sum(plain(found))


def test_misaligned_addresses_are_refused_in_both_ways() -> None:
    for layout in (S[(1, 32) : (0, 2)], S[(2, 32) : (2, 4)], S[(1, 32) : (0, 4)] + 2):
        with pytest.raises(LayoutError, match="no multiple of 4"):
            conflicts_of(lanes_at(layout))


def test_an_access_of_a_billion_requests_costs_nothing() -> None:
    found = conflicts_of(lanes_at(S[(1 << 30, 32) : (4, 128 << 28)]))
    assert (found.wavefronts, found.ideal, found.closed) == (32 << 30, 1 << 30, True)
    assert found.request((1 << 30) - 1).wavefronts == 32


@pytest.mark.parametrize("requests", [1 << 62, 1 << 100, 5**30], ids=str)
@pytest.mark.parametrize("step", [132, 136, 176], ids=str)
def test_requests_beyond_any_register_are_counted_exactly(requests: int, step: int) -> None:
    """Requests repeat after 32 of them, for they are 4 bytes apart."""
    few, many = (conflicts_of(lanes_at(S[(count, 32) : (4, step)])) for count in (32, requests))
    assert not many.closed
    whole, rest = divmod(requests, 32)
    each = plain(few)
    assert many.wavefronts == whole * sum(each) + sum(each[:rest])
    assert (many.ideal, many.ways) == (requests, few.ways)


# -- accesses of a tile ----------------------------------------------------------------------------


@pytest.mark.parametrize("swizzle", [None, Swizzle(3, 3, 3)], ids=str)
@pytest.mark.parametrize("pitch", [72, 96, 200])
def test_rows_of_any_pitch_are_counted_once_a_period(pitch: int, swizzle: Swizzle | None) -> None:
    """A tile of 3,000 rows is counted whole, and one of 2^20 rows by its first ones."""
    few, many = (S[(rows, 64) : (pitch, 1)] for rows in (1 << 13, 1 << 30))
    if swizzle is not None:
        few, many = swizzle @ few, swizzle @ many
    small, large = (conflicts(tile, "ldmatrix.x4", dtype="f16") for tile in (few, many))
    by_hand = [small.request(number) for number in range(small.requests)]
    assert small.wavefronts == sum(request.wavefronts for request in by_hand)
    assert small.ideal == sum(request.ideal for request in by_hand)
    assert small.worst == max(range(len(by_hand)), key=lambda number: by_hand[number].wavefronts)
    assert (large.wavefronts, large.ideal) == (small.wavefronts << 17, small.ideal << 17)
    assert (large.ways, large.worst, large.closed) == (small.ways, small.worst, False)
    assert large.request(large.worst).wavefronts == by_hand[small.worst].wavefronts


def test_the_worst_request_is_the_first_that_takes_most() -> None:
    rows = np.array([[4 * lane for lane in range(32)], [128 * lane for lane in range(32)]] * 2)
    access = Access("made", Operation.of("ld"), BYTE, (1,), S[(4, 32, 4)])
    found = conflicts_of(Lanes(access, None, rows))
    assert (found.wavefronts, found.ways, found.worst, found.closed) == (66, 32, 1, False)
    assert [found.request(number).wavefronts for number in range(4)] == [1, 32, 1, 32]


def test_the_end_of_a_tile_is_a_request_of_fewer_lanes() -> None:
    """400 elements of 2 bytes are 12 requests and a half."""
    found = conflicts(S[(20, 20) : (20, 1)], "row:2B", dtype="f16")
    assert (found.requests, found.wavefronts, found.ideal) == (13, 13, 13)
    (phase,) = found.request(12).phases
    assert phase.lanes == tuple(range(16))
    assert phase.banks[0] == {192: (0, 1)}


def test_a_type_is_needed_but_for_an_access_that_has_one() -> None:
    tile = S[(64, 64) : (64, 1)]
    with pytest.raises(LayoutError, match="the type of an element is not given"):
        conflicts(tile, "row:16B")
    access = access_of("ldmatrix.x4", tile, "bf16")
    swizzled = Swizzle(3, 3, 3) @ tile
    assert conflicts(tile, access).wavefronts == 8 * conflicts(swizzled, access).wavefronts == 512


def test_counts_are_plain_data() -> None:
    found = conflicts(S[(64, 64) : (64, 1)], "ldmatrix.x4", dtype="bf16")
    assert found.as_dict() == {
        "access": "ldmatrix.x4",
        "operation": "ldmatrix",
        "bytes": 16,
        "requests": 16,
        "lanes": 32,
        "idle": 0,
        "wavefronts": 512,
        "ideal": 64,
        "excess": 448,
        "ways": 8,
        "closed": True,
        "ranks": {"words": 5, "banks": 2},
        "metric": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    }
    assert found.request(3).as_dict()["phases"][0]["lanes"] == list(range(8))


@pytest.mark.parametrize("address", [0.0, 1.5, "0", True], ids=repr)
def test_addresses_are_whole_numbers(address: object) -> None:
    for refusing in (counted, counted_sectors):
        with pytest.raises(LayoutError, match="address of lane 1"):
            refusing("ld", 4, [0, address])  # type: ignore[list-item]  # what is refused


def test_a_base_is_a_whole_number() -> None:
    with pytest.raises(LayoutError, match="base"):
        conflicts(S[(8, 8)], "row", dtype="f16", base=0.5)  # type: ignore[arg-type]  # what is refused


def test_addresses_of_numpy_are_plain_data() -> None:
    addresses = np.arange(32) * 8
    for counting in (counted, counted_sectors):
        of_numpy, of_python = counting("ld", 8, list(addresses)), counting("ld", 8, addresses.tolist())
        assert json.dumps(of_numpy.as_dict()) == json.dumps(of_python.as_dict())
