"""Coalescing: the definition, its two fast forms, and figures that a person can check."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.check.test_access import tiles

from tilewise import LayoutError, Refused, S, Swizzle
from tilewise.check.access import Access, Lanes, access_of, lanes_of
from tilewise.check.access.access import INACTIVE
from tilewise.check.coalesce import Coalescing, coalescing, coalescing_of, count, counted
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.memory import sectors
from tilewise.hardware.memory.banks import Operation


def naive(bytes: int, addresses: Sequence[int | None], together: int = 32) -> dict[str, int]:
    """Count, byte by byte, the bytes that lanes ask for and their blocks, group of lanes by group."""
    useful, found, lines = set(), 0, 0
    for first in range(0, len(addresses), together):
        asked = set()
        for address in addresses[first : first + together]:
            asked |= set() if address is None else set(range(address, address + bytes))
        useful |= asked
        found += len({byte // 32 for byte in asked})
        lines += len({byte // 128 for byte in asked})
    return {"sectors": found, "lines": lines, "useful": len(useful), "ideal": (len(useful) + 31) // 32}


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, list[int | None]]:
    """A width and the addresses of the lanes: near, far, equal and inactive ones."""
    bytes = draw(st.sampled_from((1, 2, 4, 8, 16)))
    reach = draw(st.sampled_from((1, 4, 40, 3000)))
    vector = st.integers(0, reach).map(lambda at: at * bytes)
    some = st.one_of(st.none(), vector, vector) if draw(st.booleans()) else vector
    return bytes, draw(st.lists(some, max_size=32))


def plain(found: object) -> dict[str, int]:
    """The four counts of an answer."""
    return {name: int(getattr(found, name)) for name in ("sectors", "lines", "useful", "ideal")}


@given(requests())
def test_a_request_takes_what_its_bytes_touch(asked):
    bytes, addresses = asked
    found = counted("ld", bytes, addresses)
    assert plain(found) == naive(bytes, addresses)
    assert found.excess == found.sectors - found.ideal >= 0
    assert found.first == min((at for at in addresses if at is not None), default=None)
    lanes = sorted(lane for group in found.groups for who in group.values() for lane in who)
    assert lanes == [lane for lane, at in enumerate(addresses) if at is not None]


@given(st.lists(requests(), min_size=1, max_size=5))
def test_all_requests_at_once_are_each_of_them(several):
    bytes = several[0][0]
    rows = [[at // own * bytes if at is not None else None for at in asked] for own, asked in several]
    lanes = max(1, *map(len, rows))
    padded = [row + [None] * (lanes - len(row)) for row in rows]
    array = np.array([[INACTIVE if at is None else at for at in row] for row in padded], np.int64)
    found = count("ld", bytes, array)
    for number, row in enumerate(padded):
        each = {name: int(found[name][number]) for name in ("sectors", "lines", "useful", "ideal")}
        assert each == naive(bytes, row)
        assert found["first"][number] == min((at for at in row if at is not None), default=0)


def costs_at(layout: Layout, bytes: int) -> Coalescing:
    """An access by its addresses: [request, lane] to bytes."""
    index = S[(*extents_of(layout.shape), bytes)]
    return coalescing_of(Lanes(Access("made", Operation.of("ld"), DType.of("u8"), (1,), index), layout))


steps_of_bits = st.lists(st.sampled_from(range(10)), min_size=8, max_size=8, unique=True)
"""Powers of two, each once, so that sums are XORs."""


@given(
    st.one_of(steps_of_bits, st.lists(st.integers(0, 9), min_size=8, max_size=8)),
    st.integers(0, 3),
    st.sampled_from((0, 0, 1, 3, 1024, 5120)),
    st.sampled_from((1, 2, 4, 8, 16)),
    st.integers(0, 5),
    st.sampled_from((None, Swizzle(3, 4, 3), Swizzle(2, 5, 4))),
)
def test_ranks_are_the_count_of_every_request(powers, more, origin, bytes, bits, swizzle):
    powers = [0 if power == 9 else bytes << power for power in powers]
    steps = [tuple(powers[:more]), tuple(powers[3 : 3 + bits])]
    shape = tuple((2,) * len(part) or 1 for part in steps)
    layout = S[shape : tuple(part or 0 for part in steps)]
    layout = layout + bytes * origin
    layout = layout if swizzle is None else swizzle @ layout
    costs = costs_at(layout, bytes)
    every = [layout.place(flat)["m"] for flat in range(layout.size)]
    rows = [every[first : first + (1 << bits)] for first in range(0, layout.size, 1 << bits)]
    event(f"by ranks: {costs.closed}")
    expected = [naive(bytes, row) for row in rows]
    for name in ("sectors", "lines", "useful", "ideal"):
        assert getattr(costs, name) == sum(own[name] for own in expected)
        assert not costs.closed or all(costs.counts[name] == (own[name],) for own in expected)
    if not costs.closed:
        assert any(
            every[0] ^ every[a] ^ every[b] ^ every[a ^ b]
            for a in range(len(every))
            for b in range(len(every))
        )
    starts = [min(row) for row in rows]
    assert costs.alignment == next(
        size for size in (128, 64, 32, 16, 8, 4, 2, 1) if not any(at % size for at in starts)
    )


@pytest.mark.parametrize("together", [{16: 8}, {8: 16, 16: 8}])
def test_fewer_lanes_at_once_would_be_one_row_of_the_table(monkeypatch, together):
    changed = dict(sectors.TOGETHER) | together
    monkeypatch.setattr("tilewise.check.coalesce.TOGETHER", changed)
    rng = random.Random(7)
    for bytes in changed:
        rows = [[bytes * rng.randrange(40) for _ in range(32)] for _ in range(20)]
        found = count("ld", bytes, np.array(rows))
        for number, row in enumerate(rows):
            expected = naive(bytes, row, changed[bytes])
            assert plain(counted("ld", bytes, row)) == expected
            assert [int(found["sectors"][number]), int(found["lines"][number])] == [
                expected["sectors"],
                expected["lines"],
            ]
    layout = S[(4, (2, 16)) : (512, (0, 16))]
    costs = costs_at(layout, 16)
    assert costs.closed
    assert (costs.sectors, costs.lines) == (4 * 16, 4 * 4)


# -- whole accesses --------------------------------------------------------------------------------


def every_request(found: Coalescing) -> list[dict[str, int]]:
    listed = found.lanes.table.tolist()
    rows = [[None if at == INACTIVE else at for at in row] for row in listed]
    return [naive(found.access.bytes, row) for row in rows]


@given(
    tiles(),
    st.sampled_from(("row", "col")),
    st.sampled_from(("f32", "f16", "u8")),
    st.sampled_from((0, 32, 64, 4096)),
)
def test_an_access_takes_what_its_requests_take(layout, name, dtype, base):
    try:
        found = coalescing(layout, name, dtype=dtype, base=base)
    except LayoutError:
        return
    each = every_request(found)
    assert plain(found) == {key: sum(own[key] for own in each) for key in each[0]}
    losses = [own["sectors"] - own["ideal"] for own in each]
    assert losses[found.worst] == max(losses)
    assert plain(found.request(found.worst)) == each[found.worst]
    assert found.requests == len(each)
    lanes = lanes_of(access_of(name, layout, dtype, base=base), layout, base)
    assert found.lanes.table.tolist() == lanes.table.tolist()


@pytest.mark.parametrize(
    ("layout", "access", "dtype", "sectors", "ideal", "lines"),
    [
        (S[(64, 64) : (64, 1)], "row:2B", "f16", 256, 256, 128),
        (S[(64, 64) : (64, 1)], "row:16B", "f16", 256, 256, 64),
        (S[(64, 64) : (64, 1)], "col:2B", "f16", 4096, 256, 4096),
        (S[(64, 64) : (64, 1)], "col:16B", "f16", 512, 256, 512),
        (S[(64, 64) : (1, 64)], "col:2B", "f16", 256, 256, 128),
        (S[1024:1], "row:4B", "f32", 128, 128, 32),
        (S[1024:2], "row:4B", "f32", 256, 128, 64),
        (S[1024:1] + 1, "row:4B", "f32", 160, 128, 64),
        (S[1024:0], "row:4B", "f32", 32, 32, 32),
        (S[(32, 4) : (32, 1)], "row:16B", "f32", 32, 16, 32),
    ],
)
def test_figures_that_fit_on_paper(layout, access, dtype, sectors, ideal, lines):
    found = coalescing(layout, access, dtype=dtype)
    assert (found.sectors, found.ideal, found.lines) == (sectors, ideal, lines)


def test_stores_are_counted_by_the_counter_of_stores():
    tile = S[(8, 64) : (64, 1)]
    metrics = {
        op: coalescing(tile, "row:16B", dtype="f16", operation=op).as_dict()["metric"] for op in ("ld", "st")
    }
    assert metrics == {op: f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st")}


def test_a_matrix_of_any_size_is_closed():
    found = coalescing(S[(1 << 20, 1 << 20) : (1 << 20, 1)], "row:16B", dtype="f16")
    assert found.closed
    assert found.sectors == found.ideal == 1 << 36
    odd = coalescing(S[(1000, 512) : (512, 1)], "row:16B", dtype="f16")
    assert odd.closed
    assert odd.sectors == odd.ideal == 1000 * 512 * 2 // 32


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["numpy", "definition"])
@pytest.mark.parametrize(("pitch", "access"), [(72, "row:4B"), (1001, "col:4B"), (36, "row:16B")], ids=str)
def test_few_requests_are_counted_as_many_are(monkeypatch, few, pitch, access):
    monkeypatch.setattr("tilewise.check.access.costs.FEW", few)
    found = coalescing(S[(64, 32) : (pitch, 1)], access, dtype="f32", base=16)
    assert not found.closed
    requests = [found.request(number) for number in range(found.requests)]
    for name in ("sectors", "lines", "useful", "ideal"):
        assert getattr(found, name) == sum(getattr(request, name) for request in requests)
    assert found.alignment == max(
        1 << bit for bit in range(8) if not any(r.first % (1 << bit) for r in requests)
    )
    excess = [request.excess for request in requests]
    assert found.worst == excess.index(max(excess))


def test_requests_a_period_apart_are_counted_once():
    small = coalescing(S[(64, 1000) : (1001, 1)], "col:4B", dtype="f32")
    assert len(small.counts["sectors"]) < small.requests
    large = coalescing(S[(1 << 14, 33_000) : (33_001, 1)], "col:4B", dtype="f32")
    assert large.requests == (1 << 14) * 33_000 // 32
    assert large.sectors == large.requests * 32


@pytest.mark.parametrize("rows", [1 << 70, 3**50], ids=str)
def test_sectors_beyond_any_register_are_counted_exactly(rows):
    few, many = (coalescing(S[(count, 96) : (97, 1)], "row:4B", dtype="f32") for count in (32, rows))
    assert (few.closed, many.closed) == (False, False)
    each = [few.request(number).sectors for number in range(few.requests)]
    whole, rest = divmod(many.requests, len(each))
    assert many.sectors == whole * sum(each) + sum(each[:rest])


def test_a_tail_is_counted_by_its_active_lanes():
    found = coalescing(S[(7, 7) : (7, 1)], "row:4B", dtype="f32")
    assert (found.requests, found.sectors, found.ideal, found.lines) == (2, 7, 7, 2)
    assert found.request(1).useful == 17 * 4
    assert not found.closed


def test_alignment_is_that_of_where_requests_begin():
    starts: list[tuple[Layout, int]] = [
        (S[(64, 64) : (64, 1)], 128),
        (S[(64, 64) : (66, 1)], 4),
        (S[(64, 64) : (64, 1)] + 8, 16),
        (S[(64, 32) : (48, 1)], 64),
    ]
    for layout, alignment in starts:
        assert coalescing(layout, "row:4B", dtype="f16").alignment == alignment
    assert coalescing(S[(64, 64) : (64, 1)], "row:4B", dtype="f16", base=64).alignment == 64


@pytest.mark.parametrize("access", ["ldmatrix.x4", "stmatrix.x4", "tma", "row:4B@atom"])
def test_what_is_of_shared_memory_is_told(access):
    with pytest.raises(LayoutError, match="does not reach global memory"):
        coalescing(S[(64, 64) : (64, 1)], access, dtype="f16")


def test_an_access_that_no_instruction_makes_is_refused():
    with pytest.raises(Refused, match="no neighbours"):
        coalescing(S[(64, 64) : (1, 64)], "row:16B", dtype="f16")


@pytest.mark.parametrize("pitch", [64, 66])
def test_waves_of_64_lanes_are_refused_for_every_pitch(pitch):
    with pytest.raises(LayoutError, match="64 addresses, and a warp has 32 lanes"):
        coalescing(S[(64, 64) : (pitch, 1)], "mfma.C(32x32x8, dtype=f16)", dtype="f16")


@pytest.mark.parametrize(
    ("operation", "bytes", "addresses", "code"),
    [
        ("ldmatrix", 16, [0], "TW601"),
        ("ld", 3, [0], "TW602"),
        ("ld", 4, [0] * 33, "TW201"),
        ("ld", 4, [0, 2], "TW203"),
        ("ld", 4, [-4], "TW203"),
        ("ld", 4, [-8], "TW203"),
    ],
)
def test_what_is_no_request_is_told(operation, bytes, addresses, code):
    with pytest.raises(LayoutError) as no:
        counted(operation, bytes, addresses)
    assert no.value.code == code


def test_there_is_no_request_past_the_last():
    with pytest.raises(LayoutError, match=r"requests are 0\.\.15"):
        coalescing(S[(64, 64) : (64, 1)], "row:16B", dtype="f16").request(16)


def test_an_address_below_zero_is_no_question_of_alignment():
    with pytest.raises(LayoutError, match="at -8, below 0"):
        counted("ld", 4, [0, 4, -8])
