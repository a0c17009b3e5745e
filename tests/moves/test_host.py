"""The move on the CPU where it takes moves apart: blocks, threads, boxes, halves of bytes, plain parts."""

import tracemalloc

import numpy as np
import pytest
from tests.moves.pairs import WORDS, case
from tests.moves.test_move import elements, expected, storage

from tilewise import DType, R, S, Swizzle, laneid
from tilewise.moves.arrays import host
from tilewise.moves.arrays.host import Strided, within_limits
from tilewise.moves.pairs.pair import Pair, pair_of

ITEMS = np.random.default_rng(9).integers(0, 256, 1 << 21, dtype=np.uint8)


def given(shape, kind):
    """Random bytes as an array."""
    return np.resize(ITEMS, np.prod(shape) * np.dtype(kind).itemsize).view(kind).reshape(shape)


def copy(source, target):
    """Move the elements of an array to another of its shape."""
    order = sorted(range(target.ndim), key=lambda axis: -abs(target.strides[axis]))
    host.copy_views([(source.transpose(order), target.transpose(order))])


PERMUTED = [
    ((1021, 1019), "u1", (1, 0)),
    ((1024, 1024), "u1", (1, 0)),
    ((3, 350_001), "u1", (1, 0)),
    ((350_001, 3), "u1", (1, 0)),
    ((5, 200_003), "u2", (1, 0)),
    ((701, 703), "u2", (1, 0)),
    ((512, 513), "u4", (1, 0)),
    ((4, 65_537), "c16", (1, 0)),
    ((255, 257), "u8", (1, 0)),
    ((251, 257), "c16", (1, 0)),
    ((7, 3, 101, 103), "u1", (0, 2, 3, 1)),
    ((7, 101, 103, 3), "u1", (0, 3, 1, 2)),
    ((301, 299, 5), "u2", (1, 0, 2)),
    ((301, 299, 65), "u1", (1, 0, 2)),
    ((41, 43, 300), "u4", (1, 0, 2)),
    ((9, 8, 7, 10, 16, 11), "u2", (3, 0, 5, 1, 4, 2)),
    ((2,) * 20, "u1", tuple(range(20))[::-1]),
]


@pytest.mark.parametrize(("shape", "kind", "order"), PERMUTED, ids=str)
@pytest.mark.parametrize("cores", [1, 3])
def test_blocks_are_numpy_s_assignment(shape, kind, order, cores, monkeypatch):
    monkeypatch.setattr(host, "_cores", lambda: cores)
    monkeypatch.setattr(host, "ALONE", 1 << 18)
    source = given(shape, kind).transpose(order)
    target = np.zeros(source.shape, kind)
    copy(source, target)
    assert target.tobytes() == source.tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_blocks_of_any_strides_are_numpy_s_assignment(seed, monkeypatch):
    """Small blocks, so that small arrays have many of them: views with gaps, downwards, broadcast."""
    draw = np.random.default_rng(seed)
    monkeypatch.setattr(host, "BLOCK", int(draw.choice([64, 200, 1024])))
    monkeypatch.setattr(host, "ROW", int(draw.choice([16, 64, 512])))
    monkeypatch.setattr(host, "COLUMN", int(draw.choice([1, 16, 256])))
    monkeypatch.setattr(host, "ALONE", 2048)
    monkeypatch.setattr(host, "APART", int(draw.choice([1, 8, 64])))
    kind = str(draw.choice(["u1", "u2", "u4", "u8", "c16"]))
    rank = int(draw.integers(1, 6))
    shape = tuple(int(n) for n in draw.integers(1, {1: 999, 2: 60, 3: 20, 4: 9, 5: 6}[rank] + 1, rank))
    source, target = _view(draw, shape, kind), _view(draw, shape, kind)
    if rank > 1 and seed % 3 == 0:
        source = np.broadcast_to(source[:1], shape)
    wanted = target.base.copy()
    _same_view(wanted, target)[...] = source
    copy(source, target)
    assert target.base.tobytes() == wanted.tobytes()


def _view(draw, shape, kind):
    """A view of random elements with gaps, its axes in some order and some of them downwards."""
    order = draw.permutation(len(shape))
    room = [shape[axis] + int(draw.integers(0, 3)) for axis in order]
    base = draw.integers(0, 256, int(np.prod(room)) * np.dtype(kind).itemsize, dtype=np.uint8).view(kind)
    base = base.reshape(room)
    view = base.transpose(np.argsort(order))[tuple(slice(n) for n in shape)]
    return view[tuple(slice(None, None, int(step)) for step in draw.choice([1, 1, -1], len(shape)))]


def _same_view(memory, view):
    """Return the view of other bytes that `view` is of its own memory."""
    offset = (view.ctypes.data - view.base.ctypes.data) // view.itemsize
    flat = memory.view(view.dtype)
    return np.lib.stride_tricks.as_strided(flat[offset:], view.shape, view.strides)


def test_small_arrays_start_no_threads(monkeypatch):
    monkeypatch.setattr(host, "ThreadPoolExecutor", None)
    monkeypatch.setattr(host, "_cores", lambda: 64)
    source = given((1024, 1024), "u1").T
    target = np.zeros(source.shape, "u1")
    copy(source, target)
    assert target.tobytes() == source.tobytes()


# -- moves taken apart -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5000, 5120))
def test_moves_taken_apart_are_the_naive_moves(seed, monkeypatch):
    """As large moves are done: small blocks, short lists, and swizzles taken apart."""
    monkeypatch.setattr(host, "BLOCK", 256)
    monkeypatch.setattr(host, "ALONE", 1024)
    monkeypatch.setattr(host, "CHUNK", 50)
    asked = case(seed, 400)
    source = storage(asked, seed)
    room = asked.target.max("m") + 1
    target = _filled(asked, room)
    host.move_bytes(source, target, pair_of(asked.source, asked.target, asked.dtype, asked.shape))
    assert target.tobytes() == expected(asked, source, room).tobytes(), str(asked)


def _filled(asked, room):
    """The bytes of a target before anything has moved."""
    if asked.dtype.bits < 8:
        return np.full(-(-room // 2), asked.fill * 17, np.uint8)
    return np.full(room, asked.fill, WORDS[asked.dtype.bits]).view(np.uint8)


TILES = S[((6, 8), (5, 64)) : ((2560, 64), (512, 1))]
TURNED = S[(48, 320) : (1, 48)]
PERIODS = {
    "into atoms": (S[48, 320], Swizzle(3, 3, 3) @ TILES, "u2"),
    "out of atoms, turned": (Swizzle(3, 3, 3) @ TILES, TURNED, "u2"),
    "both swizzled": (Swizzle(2, 4, 3) @ S[32, 512], Swizzle(3, 2, 4) @ S[(32, 512) : (1, 32)], "u1"),
    "with copies": (S[48, 320], Swizzle(3, 3, 3) @ (TILES + R[2 : 1 << 14]), "u2"),
    "upwards": (Swizzle(2, 0, -3) @ S[(32, 512) : (1, 32)], S[32, 512] + 3, "u8"),
    "outside": (Swizzle(2, 4, 3) @ S[48, 320] + 512, S[48, 320], "c16"),
}


@pytest.mark.parametrize("name", PERIODS)
@pytest.mark.parametrize("cores", [1, 3])
def test_swizzled_sides_are_moved_as_by_addresses(name, cores, monkeypatch):
    monkeypatch.setattr(host, "_cores", lambda: cores)
    monkeypatch.setattr(host, "BLOCK", 4096)
    monkeypatch.setattr(host, "ALONE", 4096)
    source, target, kind = PERIODS[name]
    bits = 8 * np.dtype(kind).itemsize
    pair = pair_of(source, target, DType.of(f"b{bits}"))
    assert [type(part) for part in host._parts(pair, 128)] == [Strided]
    row = given((pair.source.size,), kind).view("u1")
    ours, theirs = (np.zeros(pair.target.size * bits // 8, "u1") for _ in range(2))
    host.move_bytes(row, ours, pair)
    host._move_listed(row, theirs, pair)
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        (Swizzle(3, 3, 3) @ S[(64, 64) : (72, 1)], "u8"),  # digits carry
        (Swizzle(3, 3, 3) @ (S[64, 64] + 9), "u8"),
        (Swizzle(3, 0, 3) @ S[(60, 6) : (6, 1)], "u8"),  # a digit of 6
        (Swizzle(7, 0, 7) @ S[1 << 14], "u8"),  # of too many values
        (Swizzle(3, 3, 3) @ S[64, 64], "u4"),
        (Swizzle(2, 3, 2) @ (Swizzle(2, 1, 3) @ S[48, 320]), "u8"),
    ],
    ids=str,
)
def test_digits_that_carry_where_a_swizzle_acts_are_listed(layout, dtype):
    turned = S[layout.shape : (1, layout.shape[0])] if len(layout.shape) == 2 else S[layout.shape : 3]
    assert [type(part) for part in host._parts(pair_of(turned, layout, DType.of(dtype)), 128)] == [Pair]


@pytest.mark.parametrize("box", [None, (1, 3, 4)])
def test_an_axis_that_never_steps_is_no_storage_of_listed_elements(box):
    source, target = S[(1, 3, 4) : (1 @ laneid, 5, 1)], S[(1, 4, 3) : (1 @ laneid, 4, 1)]
    if box:
        target = S[(1, (2, 2), (3, 2)) : (1 @ laneid, (20, 7), (2, 1))]
    pair = pair_of(source, target, DType.of("u8"), box)
    row, out = np.arange(pair.source.size, dtype="u1"), np.zeros(pair.target.size, "u1")
    host._move_listed(row, out, pair)
    for x in np.ndindex(source.shape):
        ours, theirs = x, x if box else target.coordinates(source.flat_index(*x))
        assert out[target.place(*theirs)["m"]] == source.place(*ours)["m"]


def test_limits_are_few_boxes():
    kind = DType.of("u8")
    blocked = S[((3, 4, 32), (4, 4)) : ((2048, 4, 16), (512, 1))]
    parts = list(within_limits(pair_of(S[301, 13], blocked, kind, shape=(301, 13))))
    assert len(parts) == 6
    assert sum(int(np.prod([digit.extent for digit in part.digits])) for part in parts) == 301 * 13


@pytest.mark.parametrize("unit", WORDS)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 100])
def test_filled_bytes_are_the_element_again_and_again(unit, size):
    element = bytes(range(3, 3 + unit // 8))
    target = np.zeros(size, np.uint8)
    host.fill_bytes(target, element)
    assert target.tobytes() == (element * 100)[:size]


# -- memory ----------------------------------------------------------------------------------------

LARGE = {
    "a transpose": ((S[2048, 4096], S[(2048, 4096) : (1, 2048)], "u8"), {}),
    "nibbles turned": ((S[1024, 4096], S[(1024, 4096) : (1, 1024)], "u4"), {}),
    "swizzled, digits carry": ((Swizzle(3, 3, 3) @ S[(1024, 2048) : (2056, 1)], S[1024, 2048], "u8"), {}),
    "one long digit, swizzled": ((Swizzle(3, 3, 3) @ S[1 << 21 : 3], S[1 << 21], "u8"), {}),
    "no digits in common": ((S[(2097, 1001) : (1003, 1)], S[(1001, 2097) : (2099, 1)], "u8"), {}),
    "no digits in common, and copies": (
        (S[(203, 101) : (103, 1)], S[(101, 203) : (209, 1)] + R[256 : 1 << 15], "u8"),
        {},
    ),
    "padded": ((S[2001, 1003], S[2048, 1024], "u8"), {"shape": (2001, 1003)}),
    "copies": ((S[1023, 1025], S[(1023, 1025) : (1, 1023)] + R[2 : 1 << 21], "u8"), {}),
}


@pytest.mark.parametrize("name", LARGE)
def test_memory_is_bounded(name):
    (source, target, kind), asked = LARGE[name]
    bits = DType.of(kind).bits
    sides = [-(-(layout.max("m") + 1) * bits // 8) for layout in (source, target)]
    row, out = np.resize(ITEMS, sides[0]), np.zeros(sides[1], np.uint8)
    pair = pair_of(source, target, DType.of(kind), **asked)
    tracemalloc.start()
    host.move_bytes(row, out, pair)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 << 20, f"{peak / 2**20:.1f} MiB beside {sum(sides) / 2**20:.1f}"
    ours, theirs = (elements(array, bits) for array in (row, out))
    box = asked.get("shape")
    for flat in range(0, source.size if box is None else int(np.prod(box)), 9973):
        index = (flat,) if box is None else tuple(int(n) for n in np.unravel_index(flat, box))
        at = source.points(source.flat_index(*index) if box else flat)[0][0]
        for (place,) in target.points(target.flat_index(*index) if box else flat):
            assert theirs[place] == ours[at], index
