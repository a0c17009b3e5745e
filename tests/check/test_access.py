"""Accesses against plain loops: which elements, at which addresses, or which lane no instruction serves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.check import naive_access as naive
from tests.interpreter import said

from tilewise import Axis, LayoutError, R, Refused, S, Swizzle, laneid, m, parse, reg, warpid
from tilewise.check.access import Access, access_of, lanes_of, widest
from tilewise.check.access.access import INACTIVE
from tilewise.check.access.addresses import proven
from tilewise.check.banks import conflicts
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.catalog import entries, find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.catalog.registry import engine_entries
from tilewise.tables import table
from tilewise.testing import strategies

BITS = {"f64": 64, "f32": 32, "f16": 16, "u8": 8, "e2m1": 4}


def elements(access: Access) -> naive.Elements:
    """The elements that each lane asks for, those past the end left out."""
    size = prod(extents_of(access.tile))
    listed = table(access.index).array.reshape(access.requests, access.lanes, access.elements).tolist()
    return [[lane if lane[0] < size else [] for lane in request] for request in listed]


def whole(asked: naive.Elements, size: int) -> naive.Elements:
    """The same with as many lanes in each request, inactive ones at the end."""
    lanes = max(map(len, asked))
    padded = [request + [[]] * (lanes - len(request)) for request in asked]
    return [[lane if lane and lane[0] < size else [] for lane in request] for request in padded]


@st.composite
def tiles(draw: st.DrawFn, swizzled: bool | None = None) -> Layout:
    """Tiles of rows and columns: of either major, padded, swizzled, offset, now and then anything."""
    if draw(st.integers(0, 5)) == 0:
        made = strategies.layouts(max_size=96, axes=(m,), replicas=False, units=("element", "byte", "bit"))
        return draw(made)
    down, across = (draw(st.sampled_from((1, 2, 3, 8, 12, 16, 32, 40, 48, 64))) for _ in range(2))
    major = draw(st.booleans())
    pitch = (across if major else down) + draw(st.sampled_from((0, 0, 0, 1, 2, 4, 8)))
    layout = S[(down, across) : ((pitch, 1) if major else (1, pitch))]
    layout = layout + draw(st.sampled_from((0, 0, 0, 1, 4, 8, 64)))
    for one in draw(st.lists(strategies.swizzles(max_base=5), max_size=2)) if swizzled is not False else []:
        layout = one @ layout
    return layout


widths = st.sampled_from((1, 2, 4, 8, 16))


def held_to(name: str, layout: Layout, dtype: str, bytes: int, base: int, asked: naive.Elements) -> None:
    """The access of that name equals the loop: elements, addresses, or the lane that is refused."""
    access = access_of(name, layout, dtype)
    assert elements(access) == whole(asked, layout.size)
    assert access.bytes == bytes
    assert access_of(access.name, layout, dtype) == access
    expected = naive.addresses(layout, asked, BITS[dtype], base)
    if isinstance(expected, tuple):
        with pytest.raises(Refused) as no:
            lanes_of(access, layout, base)
        assert no.value.code == "TW610"
        assert (no.value.witness["request"], no.value.witness["lane"]) == expected
        return
    lanes = lanes_of(access, layout, base)
    for one, other in zip(lanes.table.tolist(), expected, strict=True):
        padded = other + [None] * (access.lanes - len(other))
        assert one == [INACTIVE if address is None else address for address in padded]
    if lanes.layout is not None:
        active = [address for request in expected for address in request]
        assert table(lanes.layout).array.reshape(-1).tolist() == active


def vector_of(dtype: str, bytes: int) -> int:
    """Elements in so many bytes, which is at least one."""
    assume(bytes * 8 % BITS[dtype] == 0)
    return bytes * 8 // BITS[dtype]


def converts(layout: Layout, dtype: str) -> None:
    """Leave out the layouts that have no address in the units of a type."""
    try:
        _ = layout.in_bits(dtype) if BITS[dtype] < 8 else layout.in_bytes(dtype)
    except LayoutError:
        assume(False)


bases = st.sampled_from((0, 0, 0, 2, 8, 16, 128, 1024))


@given(tiles(), st.sampled_from(sorted(BITS)), widths, bases)
def test_rows_are_the_plain_loop(layout, dtype, bytes, base):
    vector = vector_of(dtype, bytes)
    converts(layout, dtype)
    held_to(f"row:{bytes}B", layout, dtype, bytes, base, naive.rows(layout.size, vector))


@given(tiles(), st.sampled_from(sorted(BITS)), widths, bases)
def test_columns_are_the_plain_loop(layout, dtype, bytes, base):
    vector = vector_of(dtype, bytes)
    converts(layout, dtype)
    assume(len(layout.shape) == 2)
    down, across = extents_of(layout.shape)
    if across % vector:
        with pytest.raises(Refused, match="no whole number of vectors"):
            access_of(f"col:{bytes}B", layout, dtype)
        return
    held_to(f"col:{bytes}B", layout, dtype, bytes, base, naive.columns(down, across, vector))


@given(
    st.sampled_from((8, 16, 24, 32, 48, 64)),
    st.sampled_from((8, 16, 24, 32, 64)),
    st.sampled_from(("f64", "f32", "f16", "u8", "e2m1")),
    st.sampled_from((1, 2, 4)),
    st.sampled_from(("ldmatrix.x{}", "ldmatrix.x{}.trans", "stmatrix.x{}")),
    st.booleans(),
    st.sampled_from((None, Swizzle(3, 3, 3), Swizzle(2, 4, 3), Swizzle(1, 0, 4))),
    st.sampled_from((0, 4, 8, 16)),
    bases,
)
def test_matrices_are_the_plain_loop(tall, wide, dtype, count, name, turned, swizzle, padding, base):
    pitch = (tall if turned else wide) + padding
    layout = S[(tall, wide) : ((1, pitch) if turned else (pitch, 1))]
    layout = layout if swizzle is None else swizzle @ layout
    held = 128 // BITS[dtype]
    high, broad = (held, 8) if turned else (8, held)
    fits = tall % (high * (2 if count > 1 else 1)) == 0 and wide % (broad * (2 if count > 2 else 1)) == 0
    starts = [sum(layout.points(i * (wide if turned else 1))[0]) for i in range(held)] if fits else []
    if not fits or starts != list(range(starts[0], starts[0] + held)):
        with pytest.raises(Refused, match="TW610"):
            access_of(name.format(count), layout, dtype)
        return
    asked = naive.matrices(tall, wide, held, count, turned)
    held_to(name.format(count), layout, dtype, 16, base, asked)


@pytest.mark.parametrize(
    ("name", "call", "warps"),
    [
        ("mma.A:m16n8k16:{}B", "mma.A(m16n8k16, f16)", 1),
        ("mma.B:m16n8k16:{}B", "mma.B(m16n8k16, f16)", 1),
        ("mma.D:m16n8k16:f32:{}B", "mma.D(m16n8k16, f32)", 1),
        ("wgmma.D:f32:n16:{}B", "wgmma.D(f32, n=16)", 4),
        ("wgmma.D(f32, n=32):{}B", "wgmma.D(f32, n=32)", 4),
    ],
)
@pytest.mark.parametrize("bytes", [2, 4, 8])
@pytest.mark.parametrize("swizzle", [None, Swizzle(3, 3, 3), Swizzle(1, 0, 3)], ids=str)
def test_fragments_are_the_plain_loop(name, call, warps, bytes, swizzle):
    layout = S[(64, 32) : (32, 1)]
    layout = layout if swizzle is None else swizzle @ layout
    each = [{"wid_in_wg": warp} for warp in range(warps)] if warps > 1 else [{}]
    asked = naive.fragments(parse(call), 64, 32, bytes // 2, each)
    held_to(name.format(bytes), layout, "f16", bytes, 0, asked)


def test_a_fragment_as_a_layout_is_that_of_the_catalogue():
    tile = S[(16, 16) : (16, 1)]
    named = access_of("mma.A:m16n8k16:4B", tile, "f16")
    written = access_of(parse("mma.A(m16n8k16, f16)"), tile, "f16", "ld")
    assert table(named.index).array.reshape(-1).tolist() == table(written.index).array.reshape(-1).tolist()
    own = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
    assert elements(access_of(own, S[(8, 8)], "f16")) == [[[2 * lane, 2 * lane + 1] for lane in range(32)]]
    by_warp = access_of(own + 3 @ warpid, S[(8, 8)], "f16")
    assert by_warp.requests == 1


@pytest.mark.parametrize(
    ("name", "extents", "hint"),
    [
        ("mma.B:m16n8k16", (16, 8), "modes swapped"),
        ("mma.A:m16n8k16", (32, 8), ""),
        ("wgmma.D:f32:n16", (16, 64), "modes swapped"),
        ("wgmma.D:f32:n16", (128, 8), ""),
    ],
)
def test_a_part_of_as_many_elements_is_not_the_tile(name, extents, hint):
    with pytest.raises(Refused, match="one part is") as no:
        access_of(name, S[extents], "f16")
    assert no.value.witness["tile"] == list(extents)
    assert hint in no.value.hint
    assert bool(hint) == bool(no.value.hint)


def test_a_part_is_a_tile_of_more_modes_where_its_rows_are_whole_modes():
    flat = access_of("wgmma.D:f32:n8", S[(64, 8)], "f16")
    assert elements(access_of("wgmma.D:f32:n8", S[(2, 32, 8)], "f16")) == elements(flat)
    with pytest.raises(Refused, match="rows and columns"):
        access_of("wgmma.D:f32:n8", S[(2, 8, 32)], "f16")


@pytest.mark.parametrize(
    "name", ["wgmma.A", "wgmma.D", "mma.A", "mma.B", "mma.D", "mma.sp.A", "mma.sp.B", "mma.sp.D"]
)
def test_fragments_of_the_catalogue_move_every_element_once(name):
    """Volta's four products alone have lanes that hold nothing: such a part is refused."""
    entry = find(name)
    for values in instances_of(entry).values():
        call = entry.spelled(values)
        rows, columns = extents_of(parse(call).shape)
        tile = S[(2 * rows, columns)]
        if "m8n8k4" in call and "f64" not in call:
            with pytest.raises(Refused, match="holds nothing"):
                access_of(call, tile, "b32")
            continue
        moved = table(access_of(call, tile, "b32").index).array.reshape(-1)
        assert sorted(moved.tolist()) == list(range(tile.size))


def test_a_layout_of_threads_and_values_counts_as_cute_does():
    """CuTe's own for C of SM80_16x8x16: (thread, value) to m + 16 n."""
    tile = S[(16, 8) : (8, 1)]
    cute = access_of("((4,8),(2,2)):((32,1),(16,8)):4B@st", tile, "f32")
    named = access_of("mma.D:m16n8k16:f32:4B", tile, "f32")
    assert elements(cute) == elements(named)
    assert access_of(cute.name, tile, "f32") == cute


@given(
    tiles(),
    widths,
    st.tuples(st.integers(1, 3), st.integers(1, 32), st.integers(1, 8)),
    st.tuples(st.integers(0, 40), st.integers(-1, 20), st.integers(0, 2)),
    st.integers(1, 3),
)
def test_a_layout_of_indices_is_what_it_says(layout, bytes, extents, steps, modes):
    converts(layout, "u8")
    index = {1: S[extents[1:2] : steps[1:2]], 2: S[extents[1:] : steps[1:]], 3: S[extents:steps]}[modes]
    requests, lanes, held = (extents[0] if modes == 3 else 1), extents[1], (extents[2] if modes > 1 else 1)
    text = f"{index}:{bytes}B"
    if index.min() < 0 or index.max() >= layout.size:
        with pytest.raises(Refused, match="TW502"):
            access_of(text, layout, "u8")
    elif held % bytes:
        with pytest.raises(Refused, match="no whole number of vectors"):
            access_of(text, layout, "u8")
    else:
        asked = [
            [
                [steps[0] * r + steps[1] * lane + steps[2] * (first + i) for i in range(bytes)]
                for lane in range(lanes)
            ]
            for r in range(requests)
            for first in range(0, held, bytes)
        ]
        held_to(text, layout, "u8", bytes, 0, asked)


# -- how wide --------------------------------------------------------------------------------------


@given(tiles(), st.sampled_from(sorted(BITS)), st.sampled_from(("row", "col")), bases)
def test_the_widest_is_legal_and_the_next_is_not(layout, dtype, name, base):
    converts(layout, dtype)
    assume(name == "row" or len(layout.shape) == 2)
    legal = []
    for bytes in (1, 2, 4, 8, 16):
        vector = bytes * 8 // BITS[dtype]
        if bytes * 8 % BITS[dtype]:
            continue
        if name == "row":
            asked = naive.rows(layout.size, vector)
        else:
            down, across = extents_of(layout.shape)
            if across % vector:
                continue
            asked = naive.columns(down, across, vector)
        if not isinstance(naive.addresses(layout, asked, BITS[dtype], base), tuple):
            legal.append(bytes)
    if not legal:
        with pytest.raises(Refused, match="TW610"):
            widest(name, layout, dtype, base=base)
        return
    found = widest(name, layout, dtype, base=base)
    assert found.bytes == max(legal)
    assert access_of(name, layout, dtype, base=base) == found.access
    assert found.next == (2 * found.bytes if found.bytes < 16 else None)
    narrower = [access.bytes for access in found.narrower]
    assert narrower == sorted((bytes for bytes in legal if bytes < found.bytes), reverse=True)
    if found.next is not None:
        with pytest.raises(Refused) as no:
            lanes_of(access_of(f"{name}:{found.next}B", layout, dtype), layout, base)
        if found.blocked.witness["rule"] == "base":
            at_zero = widest(name, layout, dtype)
            assert base % found.next
            assert at_zero.bytes >= found.next
        else:
            assert no.value.reason == found.blocked.reason


@pytest.mark.parametrize(
    ("layout", "name", "base", "bytes", "reason"),
    [
        (S[(64, 64) : (64, 1)], "row", 0, 16, None),
        (S[(64, 64) : (66, 1)], "row", 0, 4, "from element 64 on, which is at byte 132, no multiple of 8"),
        (S[(64, 64) : (1, 64)], "row", 0, 2, "elements 0 and 1 are at bytes 0 and 128: no neighbours"),
        (S[(64, 64) : (64, 1)], "row", 8, 8, "the tile is at byte 8, no multiple of 16"),
        (S[(64, 12) : (12, 1)], "col", 0, 8, "a row of 12 elements is no whole number of vectors of 8"),
        (S[(64, 64) : (64, 1)], "mma.A:m16n8k16", 0, 4, "elements 1 and 512 are at bytes 2 and 1024"),
        (S[(64, 64) : (64, 1)], "S[(32, 2) : (64, 1)]", 0, 4, "a lane has 2 elements"),
    ],
)
def test_what_blocks_the_next_width(layout, name, base, bytes, reason):
    found = widest(name, layout, "f16", base=base)
    assert found.bytes == bytes
    assert (found.blocked is None) == (reason is None)
    assert reason is None or reason in found.blocked.reason


# -- proofs without a list -------------------------------------------------------------------------


@given(tiles(), st.sampled_from((1, 2, 4, 8)), bases)
def test_what_is_proven_is_so(layout, vector, base):
    converts(layout, "u8")
    rows = S[(max(1, layout.size // vector), 1, vector) : (vector, 0, 1)]
    moved = layout.in_bytes("u8")
    try:
        composed = (moved + 0).compose(rows) if moved.size % vector == 0 else None
    except LayoutError:
        composed = None
    assume(composed is not None)
    if proven(composed, vector, 1):
        listed = table(composed).array.reshape(-1, vector)
        assert (listed == listed[:, :1] + range(vector)).all()
        assert (listed[:, 0] % vector == 0).all()
        assert (listed >= 0).all()


def test_a_swizzle_below_the_vector_can_turn_it_around():
    """Byte 8 goes to 9, and 9 to 8: an affine map whose columns count, from an odd address."""
    turned = Swizzle(1, 0, 3) @ (S[(4, 1, 2) : (16, 0, 1)] + 8)
    assert turned.points(0) + turned.points(1) == [(9,), (8,)]
    assert not proven(turned, 2, 1)
    assert proven(Swizzle(1, 0, 3) @ (S[(4, 1, 2) : (16, 0, 1)] + 128), 2, 1)
    layout = Swizzle(1, 0, 3) @ (S[(4, 2) : (16, 1)] + 8)
    with pytest.raises(Refused, match="elements 0 and 1 are at bytes 9 and 8"):
        lanes_of(access_of("row:2B", layout, "u8"), layout)


def test_no_address_is_below_0():
    for layout in (S[(8, 8) : (-8, 1)], S[(7, 8) : (-8, 1)], S[(64, 8) : (8, 1)] - 8):
        with pytest.raises(Refused) as no:
            lanes_of(access_of("row:4B", layout, "u8"), layout)
        assert no.value.witness["rule"] == "negative"
        lanes = lanes_of(access_of("row:4B", layout, "u8"), layout, 64)
        assert min(at for at in lanes.table.reshape(-1).tolist() if at != INACTIVE) == 64 + layout.min()


@pytest.mark.parametrize(("first", "lane"), [(-2, 0), (2, 4)])
def test_a_lane_has_all_its_elements_in_the_tile_or_none(first, lane):
    tile = S[(4, 5) : (5, 1)] + 2
    access = replace(access_of("row:4B", tile - 2, "u8"), index=S[(1, 6, 4) : (24, 4, 1)] + first)
    with pytest.raises(Refused) as no:
        lanes_of(access, tile)
    assert (no.value.witness["rule"], no.value.witness["lane"]) == ("end", lane)


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "u8", "e2m1"])
@pytest.mark.parametrize("name", ["row:16B", "col:8B", "ldmatrix.x4", "tma"])
def test_usual_tiles_need_no_list(dtype, name):
    columns = 1024 // BITS[dtype]
    for layout in (
        (S[(64, columns)], Swizzle.named("SWIZZLE_128B", dtype) @ S[(64, columns)])
        if dtype != "e2m1"
        else (S[(64, columns)],)
    ):
        assert lanes_of(access_of(name, layout, dtype), layout, 4096).listed is None


def test_a_large_tile_is_as_cheap_as_a_small_one():
    layout = Swizzle(3, 3, 3) @ S[(1 << 25, 1 << 25) : (1 << 25, 1)]
    lanes = lanes_of(access_of("row:16B", layout, "bf16"), layout)
    assert lanes.listed is None
    assert lanes.access.requests == 1 << 42


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("wgmma.D:f32:n64", S[(1 << 20, 1 << 20) : (1 << 20, 1)]),
        ("col", S[(1 << 20, 1 << 20) : (1, 1 << 20)]),
        ("row", Swizzle(1, 1, 3) @ S[(1 << 20, 1 << 20) : (1 << 20, 1)]),
    ],
)
def test_a_large_tile_is_refused_by_its_first_request(name, layout):
    """The reason needs no list of addresses, which would be too long."""
    found = widest(name, layout, "f16")
    assert found.bytes < 16
    assert found.blocked.witness["request"] == 0


def test_a_list_that_would_be_too_long_says_what_needs_none():
    with pytest.raises(LayoutError, match="one by one") as no:
        lanes_of(access_of("row:2B", S[(1000003, 1000) : (1000, 1)], "f16"), S[(1000003, 1000) : (1000, 1)])
    assert "extents and strides are powers of two" in no.value.hint


# -- what is not understood ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("rwo", "TW601", "did you mean row?"),
        ("descriptor.A", "TW601", "tilewise match says how"),
        ("descriptor.A:tcgen05", "TW601", "tilewise match --engine tcgen05 says how"),
        ("boxes", "TW601", "tilewise tma says how"),
        ("", "TW601", "such as row:16B"),
        ("row:16", "TW601", "did you mean row:16B?"),
        ("row:16b", "TW601", "did you mean row:16B?"),
        ("col:2bytes", "TW601", "did you mean col:2B?"),
        ("row@lds", "TW601", "after @: ld st"),
        ("row:16B@shared", "TW601", "after @: ld st"),
        ("mma:m16n8k16", "TW601", "mma.A:m16n8k16"),
        (":16B", "TW601", "such as row:16B"),
        ("row:3B", "TW602", "it has 1, 2, 4, 8, 16"),
        ("row:16B@ldmatrix", "TW601", "ldmatrix has patterns of its own"),
        ("ldmatrix.x3", "TW602", ""),
        ("ldmatrix.x4:8B", "TW602", "its rows have 16"),
        ("ldmatrix.x4@st", "TW601", "ldmatrix.x4 by ldmatrix, and by st"),
        ("ldmatrix.m8n16.x1.b4x16_p64", "TW610", "leaves bytes between its rows"),
        ("mma.Q:m16n8k16", "TW601", "mma.Q"),
        ("mma.A:m16n8k17", "TW602", ""),
        ("S[(64, 1) : (1, 1)]", "TW201", "64 lanes, and a warp has 32"),
        ("S[(2, 2, 2, 2) : (1, 1, 1, 1)]", "TW202", "(request, lane, element)"),
        ("S[(32, 8) : (640, 1)]", "TW502", "the tile has 4096 elements"),
        ("S[(32, 8) : (-1, 1)]", "TW502", "index -31"),
        ("S[(32, 8) : (1@e0, 1@e1)] + 60@e1", "TW502", "coordinate 67 on e1, and the tile has 64 there"),
        ("S[(32, 8) : (1@e0, 1@e1)] - 1@e0 + 1@e1", "TW502", "coordinate -1 on e0"),
        ("S[8 : 1@warpid]", "TW509", "lanes ask for indices of the tile"),
        ("S[8 : 1] + R[2 : 8]", "TW509", "copies"),
        ("S[(8, 4) : (1@e0, 1@m)]", "TW509", "on e0 and m"),
        ("S[(8, 4) : (1@e0, 1@e2)]", "TW509", "on e0 and e2"),
        ("S[(32, 8", "TW004", ""),
        ("S[(16, 2) : (1@laneid, 1@reg)] + 3@laneid", "TW610", "0@laneid"),
        ("S[(16, 2) : (2@laneid, 1@reg)]", "TW610", "holds nothing"),
    ],
)
def test_what_is_no_access_is_told(text, code, said):
    with pytest.raises(LayoutError) as no:
        access_of(text, S[(64, 64) : (64, 1)], "f16")
    assert no.value.code == code
    assert said in str(no.value)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (S[(8, 8) : (4 @ laneid, 1 @ reg)], "elements live on laneid"),
        (S[(8, 8) : (1 @ warpid, 8 @ m)], "elements live on warpid"),
        (S[(8, 8) : (8, 1)] + R[2:64], "copies"),
    ],
)
def test_elements_need_an_address_each(layout, said):
    with pytest.raises(Refused, match=said):
        access_of("row:2B", layout, "f16")


def test_coordinates_and_axes_that_stand_still_in_an_access():
    tile = S[(8, 8) : (9, 1)]
    wanted = elements(access_of("S[(8, 4) : (8, 2)]:1B", tile, "u8"))
    for text in ("S[(8, 4) : (1@e0, 2@e1)]:1B", "S[(1, 8, 4) : (5@e3, 8@m, 2@m)]:1B"):
        assert elements(access_of(text, tile, "u8")) == wanted


def test_axes_on_which_nothing_moves_are_left_aside():
    plain = S[(8, 8) : (8, 1)]
    still = S[(1, 8, 8) : (3 @ laneid, 8, 1)] + 0 @ warpid
    buffer = Axis("buf", storage=True)
    elsewhere = Swizzle(3, 0, 3) @ S[(8, 8) : (8 @ buffer, 1 @ buffer)]
    for layout in (still, elsewhere, S[(8, 8) : (8 @ buffer, 1 @ buffer)]):
        lanes = lanes_of(access_of("row:4B", layout, "u8", base=64), layout, 64)
        assert lanes.layout is not None
        assert lanes.table.tolist() == lanes_of(access_of("row:4B", plain, "u8"), plain, 64).table.tolist()


def test_an_access_is_of_one_size():
    access = access_of("row:16B", S[(64, 64) : (64, 1)], "f16")
    assert access_of(access, S[(64, 64) : (1, 64)], "f16") is access
    assert access_of(access, S[4096:1], "f16", "st").operation.name == "st"
    for refused in (lambda layout: access_of(access, layout, "f16"), lambda layout: lanes_of(access, layout)):
        with pytest.raises(LayoutError, match="4096 elements, and the tile has 64"):
            refused(S[(8, 8)])


def test_the_operation_is_the_name_s_the_suffix_s_or_the_argument_s():
    tile = S[(64, 64) : (64, 1)]
    said = {
        ("row:16B", None): "ld",
        ("row:16B@st", None): "st",
        ("row:16B", "st"): "st",
        ("row:16B@st", "st"): "st",
        ("mma.D:m16n8k16:f32", None): "st",
        ("mma.D:m16n8k16:f32@ld", None): "ld",
        ("stmatrix.x4", None): "stmatrix",
        ("stmatrix.x4", "stmatrix"): "stmatrix",
        ("tma", None): "tma",
    }
    for (text, operation), name in said.items():
        access = access_of(text, tile, "f16", operation)
        assert access.operation.name == name
        assert access_of(access.name, tile, "f16") == access
    with pytest.raises(LayoutError, match="say one of them"):
        access_of("row:16B@st", tile, "f16", "ld")


def test_tma_writes_the_rows_of_a_box_in_chunks():
    for layout, order in ((S[(8, 64) : (64, 1)], (0, 1)), (S[(64, 8) : (1, 64)], (1, 0))):
        access = access_of("tma", layout, "f16")
        assert (access.requests, access.lanes, access.bytes) == (8, 8, 16)
        listed = lanes_of(access, layout).table
        assert listed.tolist() == [[128 * row + 16 * chunk for chunk in range(8)] for row in range(8)]
        asked = elements(access)
        first = [layout.coordinates(lane[0]) for request in asked for lane in request]
        assert [(at[order[0]], at[order[1]]) for at in first] == list(product(range(8), range(0, 64, 8)))


@pytest.mark.parametrize("text", ["(24):(3)", "(32,2):(5,1)", "(32,1):(7,1)"])
def test_indices_of_cute_that_no_row_major_layout_has_are_refused_in_plain_words(text):
    with pytest.raises(Refused, match="down the first mode") as no:
        access_of(text, S[(16, 64)], "u8")
    assert no.value.code == "TW610"
    assert "e0" in no.value.hint


def test_lanes_of_cute_stay_lanes_where_a_column_ends_between_them():
    tile = S[(16, 5) : (5, 1)]
    access = access_of("24:2", tile, "u8")
    assert (access.requests, access.lanes, access.elements) == (1, 24, 1)
    assert elements(access) == [[[2 * lane % 16 * 5 + 2 * lane // 16] for lane in range(24)]]
    assert elements(access_of(access.name, tile, "u8")) == elements(access)


def test_an_index_of_cute_past_the_end_is_told_of_the_tile():
    with pytest.raises(Refused, match="lanes ask for index 1240, and the tile has 1024 elements") as no:
        access_of("(32,1):(40,1)", S[(16, 64)], "u8")
    assert no.value.code == "TW502"


def in_chunks(layout: Layout, digits: list[int], held: int) -> naive.Elements:
    """Chunks in the order of the digits, the slowest first; eight a request."""
    weights = [prod(extent for extent, _ in layout.digits[at + 1 :]) for at in range(len(layout.digits))]
    ranges = [range(layout.digits[at][0]) for at in digits]
    order = [sum(weights[at] * i for at, i in zip(digits, place, strict=True)) for place in product(*ranges)]
    chunks = [order[first : first + held] for first in range(0, len(order), held)]
    return [chunks[first : first + 8] for first in range(0, len(chunks), 8)]


@pytest.mark.parametrize("swizzle", [None, Swizzle(1, 3, 3)], ids=str)
@pytest.mark.parametrize(
    ("layout", "digits"),
    [
        (S[(64, (4, 16)) : (16, (1024, 1))], [1, 0, 2]),
        (S[(64, (8, 8)) : (8, (512, 1))], [1, 0, 2]),
        (S[((4, 16), 64) : ((1024, 1), 16)], [0, 2, 1]),
        (S[(2, 8, 3, 32) : (768, 32, 256, 1)], [0, 2, 1, 3]),
        (S[(6, 40) : (48, 1)], [0, 1]),
        (S[(64, 3) : (1, 72)], [1, 0]),
    ],
)
def test_tma_fills_box_after_box(layout, digits, swizzle):
    """Boxes narrower than 128 bytes lie row below row: eight chunks are rows of one box, not of several."""
    tile = layout if swizzle is None else swizzle @ layout
    asked = whole(in_chunks(tile, digits, 8), tile.size)
    assert elements(access_of("tma", tile, "f16")) == asked


@pytest.mark.parametrize(
    ("layout", "hint"),
    [
        (S[(24, 64) : (1, 24)], "its modes swapped"),
        (S[(40, 3) : (1, 48)], "its modes swapped"),
        (S[(8, (3, 24)) : (24, (192, 1))], "one box of it"),
    ],
)
def test_runs_that_eight_chunks_do_not_divide_are_refused_in_plain_words(layout, hint):
    run = 48 if 24 in (layout.digits[0][0], layout.digits[-1][0]) else 80
    with pytest.raises(Refused, match=f"runs of {run} bytes, and eight chunks") as no:
        access_of("tma", layout, "f16")
    assert hint in no.value.hint
    assert no.value.witness == {"run": run}
    if len(layout.digits) == 2:
        turned = layout.permute(1, 0)
        assert elements(access_of("tma", turned, "f16")) == whole(in_chunks(turned, [0, 1], 8), turned.size)


def test_tma_fills_narrow_boxes_without_conflicts():
    for mode, wide in (("SWIZZLE_NONE", 8), ("SWIZZLE_32B", 16), ("SWIZZLE_64B", 32), ("SWIZZLE_128B", 64)):
        tile = Swizzle.named(mode, "f16") @ S[(64, (128 // wide, wide)) : (wide, (64 * wide, 1))]
        assert conflicts(tile, "tma", dtype="f16").ways == 1


@pytest.mark.parametrize("text", ["row:4B", "row:4B@st", "mma.D:m16n8k16:f32:4B", "S[(32, 2) : (2, 1)]:4B"])
@pytest.mark.parametrize("operation", ["ld", "st", "cp.async"])
def test_an_access_asked_again_by_another_operation_has_its_name(text, operation):
    tile = S[(64, 64) : (64, 1)]
    again = access_of(access_of(text, tile, "f16"), tile, "f16", operation)
    assert again.operation.name == operation
    assert access_of(again.name, tile, "f16").operation == again.operation


@pytest.mark.parametrize(
    ("text", "operation"),
    [("ldmatrix.x4", "st"), ("tma", "st"), ("row:16B", "ldmatrix"), ("stmatrix.x1", "ldmatrix")],
)
def test_an_access_asked_again_is_moved_by_what_can(text, operation):
    tile = S[(64, 64) : (64, 1)]
    with pytest.raises(LayoutError) as no:
        access_of(access_of(text, tile, "f16"), tile, "f16", operation)
    assert no.value.code == "TW601"


def test_an_access_asked_again_keeps_its_type():
    tile = S[(64, 64) : (64, 1)]
    with pytest.raises(LayoutError, match="elements of f16, not of f32"):
        access_of(access_of("row", tile, "f16"), tile, "f32")


@pytest.mark.parametrize("asked", [5, None, ("row",)])
def test_an_access_is_a_text_or_a_layout(asked):
    for asking in (access_of, widest):
        with pytest.raises(LayoutError, match="an access belongs here"):
            asking(asked, S[(8, 8)], "f16")


@pytest.mark.parametrize("text", [" row : 16B @ st ", "row:16B @st", "row :16 B@ st"])
def test_spaces_between_the_words_mean_nothing(text):
    assert access_of(text, S[(64, 64)], "f16").name == "row:16B@st"


@pytest.mark.parametrize(
    ("dtype", "operation", "said", "hint"),
    [
        (
            "e2m3",
            "ld",
            "no vector of 1, 2, 4, 8, 16 bytes is whole elements of e2m3, which have 6 bits",
            "as u8",
        ),
        ("b128", "atom", "no vector of 4, 8 bytes is whole elements of b128, which have 128 bits", ""),
    ],
)
def test_a_type_that_no_vector_holds_is_told_once_for_all(dtype, operation, said, hint):
    with pytest.raises(Refused) as no:
        widest("row", S[(64, 64)], dtype, operation)
    assert no.value.reason == said
    assert no.value.witness["rule"] == "type"
    assert hint in no.value.hint
    assert bool(hint) == bool(no.value.hint)


def test_what_the_first_request_tells_is_not_listed(monkeypatch):
    """The answer is that of the list, for a tile that would take seconds to list."""
    monkeypatch.setattr("tilewise.tables.table", None)
    for tile in (S[(32, 1 << 20) : (1, 36)], Swizzle(3, 2, 3) @ S[(32, 1 << 20) : (1 << 20, 1)]):
        with pytest.raises(Refused) as no:
            lanes_of(access_of("row:16B", tile, "f16"), tile)
        assert (no.value.witness["request"], no.value.witness["rule"]) == (0, "neighbours")


# -- what is imported ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "loaded"),
    [
        ("row", []),
        ("S[(32, 8) : (64, 1)]", []),
        ("(32,8):(8,1)", []),
        ("wgmma.D:f32:n64", ["wgmma"]),
        ("mma.A(m16n8k16, f16)", ["mma"]),
    ],
)
def test_an_access_imports_the_engine_that_it_names_and_no_other(access, loaded):
    """In an interpreter of its own, for others import them all; the explorer's address asks the same."""
    program = (
        "import sys; from tilewise import S; from tilewise.check.access.patterns import pattern_of; "
        "from tilewise.check.access.access import Stored; from tilewise.pictures.address import page_knows; "
        f"pattern_of({access!r}, Stored.of(S[(64, 64) : (64, 1)], 'bf16')); page_knows({access!r}); "
        "from tilewise.hardware.catalog.registry import ENGINES; "
        "print(*[name for name, module in ENGINES.items() if module in sys.modules])"
    )
    assert said(program).split() == loaded


def test_every_entry_is_known_by_the_first_word_of_its_name():
    assert all(name in engine_entries(name) for name in entries())
