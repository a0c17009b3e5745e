"""Tiles on their way: what arrives, where it stands, what it costs, what is noticed."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from tilewise import LayoutError, Refused, S, Swizzle
from tilewise.check.banks import conflicts
from tilewise.simulate.journey import Issue, Journey
from tilewise.simulate.journey.copies import address_of
from tilewise.simulate.numbers import decode, encode

RNG = np.random.default_rng(6)


def small(*shape):
    return RNG.integers(-4, 5, shape)


def fed(way, a, b, dtype="bf16", mode="128B"):
    """The tiles of A and B in shared memory."""
    tensors = [way.tensor(name, numbers, dtype) for name, numbers in (("A", a), ("B", b))]
    return [way.tma_load(tensor, tensor.shape, mode=mode) for tensor in tensors]


def to_the_end(way, d, dtype, mode="128B"):
    """D, stored through shared memory in a tensor of its own."""
    tile = way.to_shared(way.convert(d, dtype), mode=mode)
    return way.tma_store(tile, way.empty("C", d.shape, dtype))


# -- what arrives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["32B", "64B", "128B"])
@pytest.mark.parametrize(
    ("dtype", "d", "out"),
    [("bf16", "f32", "bf16"), ("f16", "f16", "f16"), ("tf32", "f32", "f32"), ("e4m3", "f32", "bf16")],
    ids=lambda name: name,
)
def test_a_product_by_wgmma(dtype, d, out, mode):
    a, b, way = small(128, 256), small(32, 256), Journey()
    result = to_the_end(way, way.wgmma(*fed(way, a, b, dtype, mode), dtype=d), out)
    assert np.array_equal(way.read(result), decode(encode(a @ b.T, out), out))
    assert way.wrong is None


@pytest.mark.parametrize(
    ("dtype", "out"), [("bf16", "f16"), ("s8", "s32"), ("tf32", "f32")], ids=lambda name: name
)
def test_a_product_by_mma(dtype, out):
    a, b, way = small(32, 64), small(16, 64), Journey()
    left, right = fed(way, a, b, dtype, "64B" if dtype == "s8" else "128B")
    d = way.mma(
        way.to_registers(left, "A"), way.to_registers(right, "B"), dtype="s32" if out == "s32" else "f32"
    )
    result = to_the_end(way, d, out, mode="64B")
    assert np.array_equal(way.read(result), a @ b.T)
    assert way.wrong is None


def test_a_of_wgmma_in_registers():
    a, b, way = small(128, 64), small(64, 64), Journey()
    left, right = fed(way, a, b)
    d = way.wgmma(way.to_registers(left, "A", warps=4), right)
    assert np.array_equal(d.numbers, a @ b.T)
    assert way.legs[2].count == 4 * 2 * 4  # four warps of two times 16 rows, an x4 for 16 of K


def test_b_as_it_lies_with_n_contiguous():
    """B [K, N] of global memory, its tile seen as [N, K]: MN-major descriptors."""
    a, b, way = small(64, 64), small(64, 128), Journey()
    left, right = fed(way, a, b, "f16")
    d = way.wgmma(left, right.transposed)
    assert np.array_equal(d.numbers, a @ b)
    assert way.wrong is None


def test_c_is_added():
    a, b, way = small(64, 128), small(32, 128), Journey()
    left, right = (way.tensor(name, numbers, "bf16") for name, numbers in (("A", a), ("B", b)))
    d = None
    for k in (0, 64):
        tiles = (
            way.tma_load(one, (one.shape[0], 64), corner=(0, k), at=at)
            for one, at in ((left, 0), (right, 8192))
        )
        d = way.wgmma(*tiles, c=d)
    assert np.array_equal(d.numbers, a @ b.T)
    one = Journey()
    fragments = [
        one.to_registers(tile, name)
        for tile, name in zip(fed(one, a[:16, :64], b[:8, :64]), "AB", strict=True)
    ]
    twice = one.mma(*fragments, c=one.mma(*fragments))
    assert np.array_equal(twice.numbers, 2 * a[:16, :64] @ b[:8, :64].T)


def test_what_lies_outside_a_tensor():
    a, way = small(50, 40), Journey()
    tile = way.tma_load(way.tensor("A", a, "f32"), (16, 32), corner=(40, 16))
    want = np.zeros((16, 32))
    want[:10, :24] = a[40:, 16:]
    assert np.array_equal(tile.numbers, want)
    out = way.empty("C", (20, 36), "f32")
    part = way.tma_store(tile, out, corner=(12, 12))
    assert part.shape == (8, 24)
    assert np.array_equal(part.numbers, want[:8, :24])
    assert int(way.memory.written.sum()) == (50 * 40 + 8 * 24) * 4
    assert (way.wrong, way.legs[-1].behind) == (None, 0)
    with pytest.raises(LayoutError, match="TW201"):
        way.tma_store(tile, out, corner=(20, 0))
    for corner in ((12, -8), (-8, 0)):
        with pytest.raises(Refused, match="store-coordinate: a store starts at coordinate -8"):
            way.tma_store(tile, out, corner=corner)
    assert int(way.memory.written.sum()) == (50 * 40 + 8 * 24) * 4


def test_a_store_overwrites_what_is_behind_rows_up_to_16_bytes_and_says_so():
    a, way = small(8, 32), Journey()
    tile = way.tma_load(way.tensor("A", a, "bf16"), (8, 32), mode="64B")
    out = way.empty("C", (8, 27), "bf16", pitch=32)
    part = way.tma_store(tile, out)
    assert part.shape == (8, 27)
    assert np.array_equal(part.numbers, a[:, :27])
    assert way.wrong is None
    leg = way.legs[-1]
    assert (leg.behind, leg.as_dict()["behind"]) == (8 * 10, 80)
    assert str(leg).endswith("1 x cp.async.bulk.tensor.2d; 80 bytes behind ends of rows overwritten")
    overwritten = way.memory.take("bf16", 5, at=address_of(out) + 27 * 2)
    assert overwritten.tolist() == a[0, 27:].tolist()
    shorter = way.tma_store(tile, way.empty("E", (4, 40), "bf16"))
    assert (shorter.shape, way.legs[-1].behind) == ((4, 32), 0)


@pytest.mark.parametrize("seed", range(16))
def test_any_way_ends_in_the_product(seed):
    """Types, extents, modes and layouts at random."""
    dice = random.Random(seed)
    dtype = dice.choice(["bf16", "f16", "tf32", "e4m3", "e5m2", "s8"])
    whole, by_wgmma = dtype == "s8", dice.random() < 0.5
    deep = {"tf32": 8, "bf16": 16, "f16": 16}.get(dtype, 32) * dice.choice([1, 2, 4, 8])
    a = small((64 if by_wgmma else 16) * dice.choice([1, 2]), deep)
    b = small(dice.choice([8, 16, 32, 64]), deep)
    mode, out = dice.choice(["32B", "64B", "128B"]), "s32" if whole else dice.choice(["f16", "f32"])
    way, d = Journey(), "s32" if whole else "f32"
    tiles = fed(way, a, b, dtype, mode)
    if by_wgmma and dice.random() < 0.5:
        tiles[0] = way.to_registers(tiles[0], "A", warps=4)
    if not by_wgmma:
        tiles = [way.to_registers(tile, name) for tile, name in zip(tiles, "AB", strict=True)]
    made = (way.wgmma if by_wgmma else way.mma)(*tiles, dtype=d)
    pitch = len(b) + dice.choice([0, 1, 2, 4, 8])
    own = dice.choice([None, S[(len(a), len(b)) : (pitch, 1)]])
    tile = way.to_shared(way.convert(made, out), mode=dice.choice(["64B", "128B"]), layout=own)
    end = tile if own else way.tma_store(tile, way.empty("C", (len(a), len(b)), out))
    assert np.array_equal(way.read(end), a @ b.T)
    assert way.wrong is None


# -- where it stands -----------------------------------------------------------------------------------


def bits_at(way, stop, row, column):
    """The bits of one element, looked up where its stop says that it is."""
    bits, place = stop.dtype.bits, stop.places[row, column]
    if stop.space == "registers":
        warp, lane, element = place
        word = int(stop.registers.words[warp, lane, element * bits // 32])
        return word >> element * bits % 32 & (1 << bits) - 1
    memory = way.shared if stop.space == "shared" else way.memory
    return int.from_bytes(memory.data[place : place + bits // 8].tobytes(), "little")


def test_every_element_is_where_its_stop_says():
    a, b, way = small(64, 64), small(64, 64), Journey()
    left, right = fed(way, a, b)
    d = way.wgmma(way.to_registers(left, "A", warps=4), right)
    to_the_end(way, d, "bf16")
    way.to_shared(d, layout=Swizzle(2, 3, 3) @ S[(64, 64) : (64, 1)])
    for stop in way.stops:
        if not stop.written:
            continue
        for row, column in ((0, 0), (17, 9), (63, 62), (40, 33)):
            assert bits_at(way, stop, row, column) == int(stop.codes[row, column]), (stop, row, column)


def test_an_element_is_followed_back():
    a, way = small(64, 64), Journey()
    tensor = way.tensor("A", a, "bf16")
    tile = way.tma_load(tensor, (32, 32), corner=(16, 32), mode="64B")
    fragments = way.to_registers(tile, "A")
    byte = 64 * 3 + (2 * 5) ^ (3 // 2 % 4) << 4
    assert way.follow(fragments, (3, 5)) == [
        "A fragments (3, 5): warp 0, lane 14, element 1: register 0",
        f"A tile (3, 5): shared byte {byte}, bank {byte // 4 % 32}",
        f"A (19, 37): global byte {128 * 19 + 2 * 37}",
    ]


def test_it_is_plain_data():
    a, b, way = small(64, 64), small(32, 64), Journey()
    to_the_end(way, way.wgmma(*fed(way, a, b)), "bf16")
    said = json.loads(json.dumps(way.as_dict()))
    names = [stop["name"] for stop in said["stops"]]
    assert len(set(names)) == len(names)
    for leg, own in zip(said["legs"], way.legs, strict=True):
        assert {*leg["from"], leg["to"]} <= set(names)
        assert (leg["wavefronts"], leg["wrong"]) == (own.wavefronts, None)
        assert sum(issue["wavefronts"] for issue in leg["issues"]) == (leg["wavefronts"] or 0)
    tile = said["stops"][names.index("A tile")]
    assert decode(tile["bits"], "bf16").tolist() == a.tolist()
    assert tile["places"][1][:8:7] == [144, 158]
    assert said["legs"][1]["steps"] == [{"corner": [0, 0], "shared": 8192, "bytes": 4096}]
    product = said["legs"][2]["steps"]
    assert [(step["m"], step["n"], step["k"]) for step in product] == [(0, 0, k) for k in (0, 16, 32, 48)]
    assert product[1]["a"] == "0x4000004000010002"
    short = way.as_dict(elements=False)
    assert "places" not in short["stops"][0]
    assert said["stops"][names.index("C")]["bits"] is None


def test_names_are_given_once():
    way = Journey()
    tiles = [way.tma_load(way.tensor("A", small(8, 64), "bf16"), (8, 64)) for _ in range(3)]
    assert [tile.name for tile in tiles] == ["A tile", "A (2) tile", "A (3) tile"]


# -- what it costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "ways"),
    [
        (S[(64, 64) : (64, 1)], 8),
        (Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)], 1),
        (S[(64, 64) : (72, 1)], 1),
        (Swizzle(2, 3, 3) @ S[(64, 64) : (64, 1)], 2),
    ],
    ids=["rows", "swizzled", "padded", "half"],
)
def test_the_conflicts_of_a_store_are_those_of_the_access(layout, ways):
    way = Journey()
    d = way.wgmma(*fed(way, small(64, 64), small(64, 64)))
    way.to_shared(way.convert(d, "bf16"), layout=layout)
    leg = way.legs[-1]
    asked = conflicts(layout, "stmatrix.x4", dtype="bf16")
    assert (leg.instruction, leg.count) == ("stmatrix.x4", 16)
    assert (leg.wavefronts, leg.ideal) == (asked.wavefronts, asked.ideal)
    assert (leg.excess, leg.worst.request.wavefronts) == ((ways - 1) * leg.ideal, 4 * ways)


@pytest.mark.parametrize(("pitch", "form"), [(66, "st.shared.b32"), (65, "st.shared.b16")], ids=["66", "65"])
def test_rows_that_no_matrix_fits_are_stored_by_narrow_vectors(pitch, form):
    way = Journey()
    d = way.convert(way.wgmma(*fed(way, small(64, 64), small(64, 64))), "bf16")
    tile = way.to_shared(d, layout=S[(64, 64) : (pitch, 1)])
    assert way.legs[-1].instruction == form
    assert np.array_equal(tile.numbers, d.numbers)
    assert way.wrong is None


def test_rows_of_a_tensor_may_be_apart():
    way, numbers = Journey(), small(16, 64)
    a = way.tensor("A", numbers, "bf16", pitch=80)
    c = way.tma_store(way.tma_load(a, (16, 64)), way.empty("C", (16, 64), "bf16", pitch=72))
    assert way.wrong is None
    assert np.array_equal(way.read(c), numbers)
    assert [int(stop.places[1, 0] - stop.places[0, 0]) for stop in (a, c)] == [160, 144]


def test_a_tile_has_its_name_and_a_place_in_shared_memory_that_is_there():
    way = Journey(shared=4096)
    a = way.tensor("A", small(8, 64), "bf16")
    tile = way.tma_load(a, (8, 64), at=2048, name="first")
    assert (tile.name, tile.start, int(tile.places.min())) == ("first", 2048, 2048)
    with pytest.raises(LayoutError, match="does not fit"):
        way.tma_load(way.tensor("B", small(64, 64), "bf16"), (64, 64))


def test_a_leg_in_words():
    way = Journey()
    d = way.convert(way.wgmma(*fed(way, small(64, 64), small(64, 64))), "bf16")
    way.to_shared(d, layout=S[(64, 64) : (64, 1)], name="rows")
    assert str(way.legs[-1]) == "5. store: D in bf16 -> rows; 16 x stmatrix.x4; 512 wavefronts, ideal 64"
    assert str(way.legs[2]) == "3. wgmma: A tile, B tile -> D; 4 x wgmma.m64n64k16.f32.bf16.bf16"


def test_the_conflicts_of_a_load_are_those_of_the_access():
    way = Journey()
    tile = way.tma_load(way.tensor("A", small(64, 64), "bf16"), (64, 64), mode="none", at=0)
    way.to_registers(tile, "A")
    asked = conflicts(S[(64, 64) : (64, 1)], "ldmatrix.x4", dtype="bf16")
    assert (way.legs[-1].wavefronts, way.legs[-1].ideal) == (asked.wavefronts, asked.ideal) == (512, 64)


def test_lanes_whose_address_no_matrix_reads_cost_nothing():
    way = Journey()
    way.to_registers(way.tma_load(way.tensor("B", small(8, 16), "f16"), (8, 16), mode="32B"), "B")
    leg = way.legs[-1]
    assert (leg.instruction, len(leg.issues[0].addresses)) == ("ldmatrix.x2", 16)
    assert (leg.wavefronts, leg.ideal) == (2, 2)


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
def test_a_load_writes_every_chunk_of_its_boxes_once(mode):
    way = Journey()
    tile = way.tma_load(way.tensor("A", small(24, 128), "bf16"), (24, 128), mode=mode)
    leg = way.legs[0]
    written = [address for issue in leg.issues for address in issue.addresses]
    assert sorted(written) == sorted({int(byte) // 16 * 16 for byte in tile.places.ravel()})
    box = tile.layout.slice(None, (0, 128 // leg.count)).layout
    asked = conflicts(box, "tma", dtype="bf16")
    assert (leg.wavefronts, leg.ideal) == (leg.count * asked.wavefronts, leg.count * asked.ideal)


def test_nothing_is_said_of_what_nothing_predicts():
    way = Journey()
    to_the_end(way, way.wgmma(*fed(way, small(64, 64), small(64, 64))), "bf16")
    assert [leg.verb for leg in way.legs if leg.wavefronts is None] == ["wgmma", "convert", "TMA store"]
    assert way.legs[2].worst is way.legs[2].excess is None


# -- what goes wrong -----------------------------------------------------------------------------------


def test_a_tile_that_is_stored_in_another_mode():
    way = Journey()
    d = way.convert(way.wgmma(*fed(way, small(64, 64), small(64, 64))), "bf16")
    way.tma_store(way.to_shared(d, mode="128B"), way.empty("C", (64, 64), "bf16"), mode="64B")
    assert way.wrong is way.legs[-1]
    assert way.wrong.wrong.index == (0, 32)
    assert "WRONG: element (0, 32) is" in str(way)
    assert json.loads(json.dumps(way.as_dict()))["legs"][-1]["wrong"]["index"] == [0, 32]


def test_a_tile_that_is_overwritten_before_it_is_read():
    way = Journey()
    left, right = fed(way, small(64, 64) + 10, small(64, 64) + 10)
    way.tma_load(way.tensor("other", small(8, 64), "bf16"), (8, 64), at=left.start + 1024)
    way.wgmma(left, right)
    assert way.wrong.wrong.index == (8, 0)
    assert way.wrong.wrong.count == 8 * 64


def test_a_tile_whose_layout_is_not_what_its_writer_meant():
    """A kernel that takes a 64B tile for one of 128B: the numbers arrive elsewhere."""
    way = Journey()
    left, _ = fed(way, small(64, 64), small(64, 64))
    meant = replace(left, layout=Swizzle(2, 4, 3) @ S[(64, 64) : (128, 2)].counted("byte"))
    way.to_registers(meant, "A")
    assert way.wrong is way.legs[-1]


def test_a_tensor_to_which_nothing_was_written():
    way = Journey()
    with pytest.raises(Refused) as refused:
        way.tma_load(way.empty("A", (64, 64), "bf16"), (64, 64))
    assert (refused.value.code, refused.value.witness["region"]) == ("TW612", "A")


@pytest.mark.parametrize(
    ("do", "code"),
    [
        (lambda way, a, b: way.wgmma(a, way.to_registers(b, "B")), "TW605"),
        (lambda way, a, b: way.mma(a, b), "TW602"),
        (lambda way, a, b: way.to_registers(b, "B", warps=4), "TW601"),
        (lambda way, a, b: way.to_shared(a), "TW601"),
        (lambda way, a, b: way.to_registers(a, "A").transposed, "TW601"),
        (lambda way, a, b: way.wgmma(a, replace(b, layout=S[(64, 64) : (128, 2)].counted("byte"))), "TW605"),
        (lambda way, a, b: way.tma_load(way.tensor("X", small(8, 96), "bf16"), (8, 96)), "TW603"),
        (lambda way, a, b: way.wgmma(way.tma_load(a.source, (64, 64), mode="none"), b), "TW605"),
        (lambda way, a, b: way.tensor("X", np.zeros(8), "bf16"), "TW202"),
        (lambda way, a, b: way.tensor("X", np.zeros((8, 8)), "e2m1"), "TW106"),
    ],
    ids=[
        "b-registers",
        "no-fragments",
        "warps",
        "no-d",
        "transposed",
        "swizzle",
        "boxes",
        "none",
        "rank",
        "bits",
    ],
)
def test_what_is_refused(do, code):
    way = Journey()
    with pytest.raises(LayoutError) as refused:
        do(way, *fed(way, small(64, 64), small(64, 64)))
    assert refused.value.code == code


def test_small_floats_are_made_by_satfinite():
    """PTX has no other cvt to them: what is too large is the largest number, not NaN or infinity."""
    way = Journey()
    big = np.zeros((64, 64))
    big[0, :2] = 1000, -(2.0**20)
    d = way.wgmma(*fed(way, big, np.eye(64)))
    for dtype, most in (("e4m3", 448.0), ("e5m2", 57344.0)):
        made = way.convert(d, dtype)
        assert way.read(made)[0, :2].tolist() == [min(1000.0, most) if dtype == "e4m3" else 1024.0, -most]
        assert way.legs[-1].instruction == f"cvt.rn.satfinite.{dtype}.f32"
    assert way.read(way.convert(d, "f16"))[0, 1] == -np.inf
    assert way.wrong is None


def test_a_layout_of_another_shape_is_no_tile_of_d():
    way = Journey()
    d = way.wgmma(*fed(way, small(64, 64), small(64, 64)))
    with pytest.raises(LayoutError, match="is no layout of D, which is 64 x 64"):
        way.to_shared(d, layout=S[(32, 64) : (64, 1)])


@pytest.mark.parametrize("index", [(64, 0), (0, 64), (-1, 0), (0, -1)])
def test_an_element_that_is_not_there_is_not_followed(index):
    way = Journey()
    d = way.wgmma(*fed(way, small(64, 64), small(64, 64)))
    with pytest.raises(LayoutError, match="is no element of D, 64 x 64"):
        way.follow(d, index)


def test_every_fragment_of_c_is_added_to_its_own():
    a, b, one = small(32, 32), small(24, 32), Journey()
    fragments = [
        one.to_registers(tile, name) for tile, name in zip(fed(one, a, b, mode="64B"), "AB", strict=True)
    ]
    first = one.mma(*fragments)
    assert np.array_equal(one.mma(*fragments, c=first).numbers, 2 * a @ b.T)
    assert one.wrong is None


def test_a_tile_that_is_longer_than_what_it_overwrites():
    way = Journey()
    short = way.tma_load(way.tensor("A", small(16, 64), "bf16"), (16, 64))
    way.tma_load(way.tensor("B", small(16, 64), "bf16"), (16, 64))
    long = way.tensor("C", small(32, 64), "bf16")
    with pytest.raises(LayoutError, match="meets A tile"):
        way.tma_load(long, (32, 64), at=short.start)
    assert np.array_equal(way.read(short), short.numbers)


def test_the_worst_of_a_leg_is_the_first_that_takes_the_most():
    way = Journey()
    fed(way, small(16, 64), small(16, 64))
    free, twice = (tuple(step * lane for lane in range(32)) for step in (4, 8))
    issues = tuple(Issue("ld", warp, 4, at) for warp, at in enumerate((free, twice, free, twice)))
    leg = replace(way.legs[0], issues=issues)
    assert [issue.request.wavefronts for issue in issues] == [1, 2, 1, 2]
    assert leg.worst is issues[1]
    assert (leg.wavefronts, leg.ideal, leg.excess) == (6, 4, 2)


def test_what_is_no_number_arrives_as_such():
    way, numbers = Journey(), np.zeros((16, 64))
    numbers[3, 5] = np.nan
    tile = way.tma_load(way.tensor("A", numbers, "f16"), (16, 64))
    assert np.isnan(way.read(tile)[3, 5])
    assert way.wrong is None
