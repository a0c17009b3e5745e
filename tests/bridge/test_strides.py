"""Strided arrays as layouts and back: NumPy, DLPack, interfaces, buffers, and what looks like torch."""

from __future__ import annotations

import array as standard_array
from collections import Counter
from random import Random

import numpy as np
import pytest

from tilewise import Axis, Layout, LayoutError, NotDecided, R, Refused, S, Swizzle, gpuid_x, laneid, m, reg
from tilewise.bridge import layout_of, strided_view, strides_of
from tilewise.core.shapes import coordinates
from tilewise.testing import naive_map
from tilewise.testing.generate import random_layout

# -- what arrays say -------------------------------------------------------------------------------


class OnlyDLPack:
    """Speaks DLPack alone, with versions."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)


class OldDLPack(OnlyDLPack):
    """Speaks DLPack as before versions."""

    def __dlpack__(self):
        return self.array.__dlpack__()


class OnlyInterface:
    """Speaks the array interface alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class OnDevice:
    """Speaks the CUDA array interface alone."""

    def __init__(self, array):
        said = dict(array.__array_interface__)
        self.__cuda_array_interface__ = {key: said[key] for key in ("shape", "typestr", "data", "strides")}


class FakeTorch:
    """The part of a torch tensor that the bridge uses, over a flat NumPy array."""

    layout = "torch.strided"

    def __init__(self, storage, shape, strides, offset=0):
        self.storage, self.shape, self._strides, self._offset = storage, shape, strides, offset

    def stride(self):
        return self._strides

    def storage_offset(self):
        return self._offset

    def element_size(self):
        return self.storage.itemsize

    def data_ptr(self):
        return self.storage.__array_interface__["data"][0] + self._offset * self.storage.itemsize

    def as_strided(self, shape, strides, offset):
        return FakeTorch(self.storage, tuple(shape), tuple(strides), offset)

    def __getitem__(self, index):
        at = self._offset + sum(i * s for i, s in zip(index, self._strides, strict=True))
        return self.storage[at]


def random_array(rng):
    """A view of a fresh array: sliced, reversed, transposed, broadcast, one element, no dimension."""
    array = np.arange(120, dtype=rng.choice(("i1", "i2", "f4", "f8", "c16"))).reshape(
        rng.choice(((120,), (2, 60), (3, 5, 8), (2, 3, 4, 5), (1, 120, 1)))
    )
    for _ in range(rng.randrange(3)):
        slices = []
        for extent in array.shape:
            low = rng.randrange(extent)
            slices.append(slice(low, None, rng.choice((1, 1, 2, 3))))
            if rng.random() < 0.2:
                slices[-1] = slice(None, None, -1)
        array = array[tuple(slices)]
        if rng.random() < 0.5:
            order = list(range(array.ndim))
            rng.shuffle(order)
            array = array.transpose(order)
    if rng.random() < 0.2:
        array = np.broadcast_to(array, (3, *array.shape))
    if rng.random() < 0.1:
        array = array[(0,) * array.ndim + (...,)]
    return array


def base_of(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def says_where_elements_are(layout, array, first):
    """Element by element, from the address of place 0."""
    start = np.asarray(array).__array_interface__["data"][0]
    for flat in range(layout.size):
        index = coordinates(flat, array.shape) if array.shape else ()
        steps = sum(i * s for i, s in zip(index, array.strides, strict=True))
        assert first + layout.place(flat)["m"] * array.itemsize == start + steps


def test_every_array_says_where_its_elements_are(times):
    rng = Random(3)
    for _ in range(times(300)):
        array = random_array(rng)
        layout = layout_of(array)
        assert layout.shape == array.shape
        says_where_elements_are(layout, array, base_of(array).__array_interface__["data"][0])
        alone = layout_of(array, array)
        assert alone.same(layout - layout.place(0)["m"])
        for speaker in (OnlyInterface(array), OnDevice(array)):
            assert layout_of(speaker, array) == alone
        if array.flags.writeable:
            assert layout_of(OnlyDLPack(array), array) == alone
            assert layout_of(OldDLPack(array)) == alone
        in_bytes = layout_of(array, unit="byte")
        assert in_bytes == layout.in_bytes(bytes_of(array)) or array.itemsize > 8


def bytes_of(array):
    return {1: "u8", 2: "s16", 4: "f32", 8: "f64"}.get(array.itemsize, "f64")


def test_places_count_from_the_start_of_the_storage():
    buffer = np.arange(24).reshape(4, 6)
    assert layout_of(buffer[1:, ::2]) == S[(3, 3) : (6, 2)] + 6
    assert layout_of(buffer[::-1]) == S[(4, 6) : (-6, 1)] + 18
    assert layout_of(buffer[1:, ::2], buffer[1:]) == S[(3, 3) : (6, 2)]
    assert layout_of(buffer[0], buffer[1]) == S[6:1] - 6
    assert layout_of(np.broadcast_to(buffer[2], (5, 6))) == S[(5, 6) : (0, 1)] + 12


class FakeStorage:
    """A storage as torch tells its size."""

    def __init__(self, nbytes):
        self.nbytes = lambda: nbytes


class RealTorch(FakeTorch):
    """As FakeTorch, and it tells its storage."""

    def untyped_storage(self):
        return FakeStorage(self.storage.nbytes)


BUFFER = bytearray(64)
WHOLE = np.arange(24.0)


@pytest.mark.parametrize(
    ("array", "origin"),
    [
        (np.frombuffer(BUFFER, "i4", 4, 16), np.frombuffer(memoryview(BUFFER), "i4", 2)),
        (np.ndarray((4,), "i4", BUFFER, 16), np.frombuffer(BUFFER, "i4", 2)),
        (RealTorch(WHOLE, (4,), (1,), 4), RealTorch(WHOLE, (2,), (1,), 0)),
        (RealTorch(WHOLE, (4,), (1,), 4), WHOLE[:2]),
        (OnlyDLPack(WHOLE[4:8]), WHOLE),
        (strided_view(S[4:1] + 4, WHOLE), WHOLE[:2]),
    ],
    ids=["buffer", "ndarray", "torch", "torch and NumPy", "DLPack", "view"],
)
def test_an_origin_is_found_in_the_same_memory(array, origin):
    assert layout_of(array, origin) == S[4:1] + 4


@pytest.mark.parametrize(
    "speaker", [np.asarray, OnlyInterface, OnlyDLPack, OnDevice], ids=lambda s: s.__name__
)
def test_an_origin_in_other_memory_is_refused(speaker):
    one, other = np.arange(8), np.arange(8)
    with pytest.raises(Refused, match="share no memory") as refused:
        layout_of(speaker(one), speaker(other))
    assert refused.value.code == "TW511"
    with pytest.raises(Refused, match="share no memory"):
        layout_of(RealTorch(one, (8,), (1,)), speaker(other))


@pytest.mark.parametrize("ask", [strides_of, lambda text: strided_view(text, np.arange(4))])
def test_text_is_no_layout(ask):
    with pytest.raises(LayoutError, match=r"not of the str 'S\[4 : 1\]'") as refused:
        ask("S[4 : 1]")
    assert (refused.value.code, "parse(text)" in refused.value.hint) == ("TW107", True)


def test_a_list_has_no_memory_to_view():
    with pytest.raises(LayoutError, match="not of the list") as refused:
        strided_view(S[3:1], [1, 2, 3])
    assert "numpy.array" in refused.value.hint


def test_a_dimension_of_one_element_has_a_stride_that_says_nothing():
    assert layout_of(np.zeros((1, 4))[:, ::2]) == S[(1, 2) : (0, 2)]


def test_elements_of_several_kinds():
    assert layout_of(np.zeros((2, 3), dtype=[("x", "f4"), ("y", "i2")])) == S[2, 3]
    assert layout_of(np.array([["a", "bc"]])) == S[(1, 2) : (0, 1)]
    assert layout_of(np.array([None, "x"], dtype=object)) == S[2]
    field = np.zeros(3, dtype=[("x", "f4"), ("y", "i2")])["x"]
    assert layout_of(field, unit="byte") == S[3:6].counted("byte")
    with pytest.raises(LayoutError, match="6 bytes, no multiple of an element of 32 bits") as refused:
        layout_of(field)
    assert (refused.value.code, "unit" in refused.value.hint) == ("TW106", True)
    assert layout_of(np.zeros(3, dtype="u2"), unit="bit") == S[3:16].counted("bit")


def test_buffers_of_the_standard_library():
    assert layout_of(standard_array.array("i", range(5))) == S[5]
    assert layout_of(b"abc") == S[3]
    assert layout_of(memoryview(b"abcdef")[::-2]) == S[3:-2] + 4
    assert layout_of(memoryview(bytes(12)).cast("B", (3, 4))) == S[3, 4]
    assert layout_of(memoryview(bytes(4)).cast("I", ())) == S[()]


def test_what_looks_like_torch():
    storage = np.arange(24.0)
    tensor = FakeTorch(storage, (3, 3), (6, 2), 6)
    assert layout_of(tensor) == S[(3, 3) : (6, 2)] + 6
    assert layout_of(tensor, FakeTorch(storage, (24,), (1,), 2)) == S[(3, 3) : (6, 2)] + 4
    assert layout_of(tensor, storage) == S[(3, 3) : (6, 2)] + 6
    view = strided_view(S[(2, 3) : (1, 4)] + 1, FakeTorch(storage, (3, 5), (5, 1), 5))
    assert (view.shape, view.stride(), view.storage_offset()) == ((2, 3), (1, 4), 6)
    assert layout_of(view, FakeTorch(storage, (), (), 5)).same(S[(2, 3) : (1, 4)] + 1)
    assert view[1, 2] == storage[5 + 1 + 1 + 8]


def test_a_tensor_without_strides_or_memory():
    sparse = FakeTorch(np.zeros(4), (2, 2), (2, 1))
    sparse.layout = "torch.sparse_coo"
    with pytest.raises(Refused, match="sparse_coo has no strides"):
        layout_of(sparse)
    nowhere = FakeTorch(np.zeros(4), (2, 2), (2, 1))
    nowhere.data_ptr = lambda: 0
    assert layout_of(nowhere) == S[2, 2]
    with pytest.raises(LayoutError, match="does not tell its address") as refused:
        layout_of(nowhere, np.zeros(4))
    assert refused.value.code == "TW511"


def test_a_capsule_is_read_once_it_is_whole():
    from tilewise.bridge.dlpack import described, read_capsule

    said = described(OnlyDLPack(np.zeros((3, 4), "f4")))
    assert (said.shape, said.strides, said.bits, said.byte_offset) == ((3, 4), (4, 1), 32, 0)
    with pytest.raises(LayoutError, match="no DLPack capsule"):
        read_capsule(object())
    capsule = np.zeros(3).__dlpack__()
    np.from_dlpack(
        type("Given", (), {"__dlpack__": lambda *_, **__: capsule, "__dlpack_device__": lambda _: (1, 0)})()
    )
    with pytest.raises(LayoutError, match="can still be read"):
        read_capsule(capsule)


@pytest.mark.parametrize("versioned", [False, True])
def test_the_fields_of_a_capsule(versioned):
    """A capsule made here, field by field: lanes, an offset in bytes, strides that are left out."""
    made = make_capsule((3, 4), None, bits=16, lanes=2, byte_offset=8, versioned=versioned)
    holder = type("Holder", (), {"__dlpack__": lambda *_, **__: made.capsule})()
    assert layout_of(holder) == S[3, 4] + 2
    strided = make_capsule((3, 4), (1, 3), bits=4, lanes=1, byte_offset=3, versioned=versioned)
    holder = type("Holder", (), {"__dlpack__": lambda *_, **__: strided.capsule})()
    assert layout_of(holder) == S[(3, 4) : (1, 3)] + 6
    assert layout_of(holder, unit="bit") == (S[(3, 4) : (4, 12)] + 24).counted("bit")


def test_a_capsule_from_the_future():
    made = make_capsule((3,), None, bits=8, lanes=1, byte_offset=0, versioned=True, major=2)
    holder = type("Holder", (), {"__dlpack__": lambda *_, **__: made.capsule})()
    with pytest.raises(LayoutError, match=r"version 2\.0"):
        layout_of(holder)


class make_capsule:  # noqa: N801 - reads as a function, and keeps what the capsule points to
    """A DLPack capsule with the given fields, which nobody frees."""

    def __init__(self, shape, strides, *, bits, lanes, byte_offset, versioned, major=1):
        import ctypes

        from tilewise.bridge import dlpack

        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        managed = dlpack._Versioned() if versioned else dlpack._Managed()
        tensor = managed.tensor
        tensor.data, tensor.rank, tensor.byte_offset = 4096, len(shape), byte_offset
        tensor.dtype.bits, tensor.dtype.lanes = bits, lanes
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        if versioned:
            managed.major = major
        self.managed, self.name = managed, b"dltensor_versioned" if versioned else b"dltensor"
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule = new(ctypes.addressof(managed), self.name, None)


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda: layout_of(object()), "TW107"),
        (lambda: layout_of([1, 2]), "TW107"),
        (lambda: layout_of(np.zeros((0, 3))), "TW102"),
        (lambda: layout_of(np.zeros(3), unit="word"), "TW106"),
        (lambda: layout_of(np.zeros(3), b"abc"), "TW511"),
        (lambda: layout_of(np.zeros(3, dtype="V0")), "TW511"),
        (lambda: strided_view(S[3], [1, 2, 3]), "TW107"),
        (lambda: strided_view(S[3], np.zeros(0)), "TW511"),
        (lambda: strides_of(S[8:1], shape=(3, 3)), "TW202"),
    ],
)
def test_what_is_refused(ask, code):
    with pytest.raises(LayoutError) as refused:
        ask()
    assert refused.value.code == code


# -- strides of layouts ----------------------------------------------------------------------------


def naive_strides(layout, shape):
    """The only strides and offset that can be, if they are the layout: (strides, offset) on m, or None."""
    places = naive_map(layout)
    if any(len(held) > 1 for held in places):
        return None
    where = [dict(next(iter(held))) for held in places]
    names = {name for place in where for name in place}
    if len(names) > 1 or any(layout.axis(name).kind != "storage" for name in names):
        return None
    line = [next(iter(place.values()), 0) for place in where]
    tails = [np.prod(shape[i + 1 :], dtype=int) for i in range(len(shape))]
    strides = [line[tail] - line[0] if extent > 1 else 0 for extent, tail in zip(shape, tails, strict=True)]
    for flat, place in enumerate(line):
        index = coordinates(flat, shape)
        if place != line[0] + sum(i * s for i, s in zip(index, strides, strict=True)):
            return None
    return tuple(strides), line[0]


def check_strides(rng):
    """One random layout in one random shape, its strides held against the listing."""
    layout = random_layout(rng, max_size=48) if rng.random() < 0.5 else plain_layout(rng)
    shape = other_shape(rng, layout.size) if rng.random() < 0.4 else None
    extents = (
        tuple(np.prod(np.array(leaves(mode)), dtype=int) for mode in layout.shape) if shape is None else shape
    )
    expected = naive_strides(layout, tuple(map(int, extents)))
    try:
        found = strides_of(layout, shape)
    except Refused:
        assert expected is None, (layout, shape)
        return "refused"
    except NotDecided:
        return "undecided"
    assert expected is not None, (layout, shape)
    assert found == (tuple(map(int, extents)), *expected)
    return "answered"


def leaves(mode):
    return [inner for part in mode for inner in leaves(part)] if isinstance(mode, tuple) else [mode]


def plain_layout(rng):
    """Digits of one line of memory, nested at random, now and then swizzled."""
    extents = [rng.choice((1, 2, 3, 4, 5)) for _ in range(rng.randint(0, 4))]
    order = rng.sample(range(len(extents)), len(extents))
    strides, step = [0] * len(extents), 1
    for position in order:
        strides[position] = step * rng.choice((1, 1, -1))
        step *= extents[position] * rng.choice((1, 1, 2))
    shape = (tuple(extents[:2]), *extents[2:]) if len(extents) > 2 and rng.random() < 0.5 else tuple(extents)
    layout = Layout(shape, tuple(strides)) + rng.randrange(64)
    return Swizzle(1, rng.randrange(3), 2) @ layout if rng.random() < 0.2 else layout


def other_shape(rng, size):
    shape = []
    while size > 1:
        part = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        shape.append(part)
        size //= part
    return tuple(shape)


def test_strides_are_found_wherever_there_are_some(times):
    rng, tally = Random(5), Counter()
    for _ in range(times(2_000)):
        tally[check_strides(rng)] += 1
    assert tally["undecided"] <= 5
    assert min(tally["answered"], tally["refused"]) > times(400), tally


def test_strides_by_hand():
    assert strides_of(S[(8, 4) : (1, 8)]) == ((8, 4), (1, 8), 0)
    assert strides_of(S[((4, 2), 8) : ((16, 8), 1)] + 5) == ((8, 8), (8, 1), 5)
    assert strides_of(S[(4, 2, 8) : (16, 8, 1)], shape=(8, 8)) == ((8, 8), (8, 1), 0)
    assert strides_of(Swizzle(3, 3, 3) @ S[(8, 8) : (8, 1)]) == ((8, 8), (8, 1), 0)
    assert strides_of(Swizzle(1, 0, 1) @ S[2:2]) == ((2,), (3,), 0)
    assert strides_of(S[(8, 4) : (1 @ reg, 8 @ reg)] + 3 @ reg) == ((8, 4), (1, 8), 3)
    assert strides_of(S[(2, 4) : (1 @ m + 2 @ m, 0)]) == ((2, 4), (3, 0), 0)
    assert strides_of(S[()] + 3) == ((), (), 3)
    assert strides_of(S[4 : 1 @ Axis("buf", storage=True)]) == ((4,), (1,), 0)
    assert strides_of(S[(2**25, 2**25) : (1, 2**25)]) == ((2**25, 2**25), (1, 2**25), 0)
    assert strides_of(S[8:1] + R[2:0]) == ((8,), (1,), 0)


@pytest.mark.parametrize(
    ("layout", "shape", "witness", "message"),
    [
        (S[(4, 2, 2, 4) : (16, 4, 8, 1)], (8, 8), (0, 4), "(0, 4) lives at 8@m, and they say 4@m"),
        (S[((4, 2), 4) : ((1, 4), 8)], None, (2, 0), "lives at 1@m, and they say 8@m"),
        (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], None, (1, 8), "lives at 64@m"),
        (S[8:1] + R[2:8], None, ((2, 8 @ m),), "several copies"),
        (S[(8, 4) : (1 @ laneid, 1 @ reg)], None, ("laneid", "reg"), "live along laneid and reg"),
        (S[8 : 1 @ gpuid_x], None, ("gpuid_x",), "one storage"),
        (S[8:1] + 3 @ laneid, None, ("m", "laneid"), "one storage"),
        (S[4 : 1 @ m + 1 @ reg], None, ("m", "reg"), "one storage"),
    ],
)
def test_what_has_no_strides_says_why(layout, shape, witness, message):
    with pytest.raises(Refused) as refused:
        strides_of(layout, shape)
    assert (refused.value.code, refused.value.witness) == ("TW511", witness)
    assert message in refused.value.reason
    assert refused.value.hint


def test_a_hint_names_a_shape_that_has_strides():
    tiles = S[(4, 2, 2, 4) : (16, 4, 8, 1)]
    with pytest.raises(Refused, match=r"in shape \(4, 2, 2, 4\) it has strides"):
        strides_of(tiles, shape=(8, 8))
    assert strides_of(tiles, shape=(4, 2, 2, 4)) == ((4, 2, 2, 4), (16, 4, 8, 1), 0)


# -- views -----------------------------------------------------------------------------------------


def check_view(rng):
    """One random layout over one random buffer: the view shows what the layout says, or is refused."""
    layout = plain_layout(rng)
    buffer = np.arange(rng.choice((1, 40, 400, 4000)), dtype=rng.choice(("i2", "i4", "i8")))
    if rng.random() < 0.3:
        buffer = buffer[rng.randrange(len(buffer)) :: rng.choice((1, 2))]
    memory = base_of(buffer)
    first = layout_of(buffer).place(0)["m"]
    last = layout_of(buffer).place(buffer.size - 1)["m"]
    low, high = layout.extremes("m")
    try:
        strides_of(layout)
    except Refused:
        with pytest.raises(Refused):
            strided_view(layout, buffer)
        return "refused"
    if low < 0 or high > last - first:
        with pytest.raises(Refused) as refused:
            strided_view(layout, buffer)
        outside = refused.value.witness or (0,)
        assert not 0 <= layout.place(*outside)["m"] <= last - first
        return "refused outside"
    view = strided_view(layout, buffer)
    assert np.shares_memory(view, memory)
    assert view.dtype == buffer.dtype
    for flat in range(layout.size):
        index = coordinates(flat, view.shape) if view.shape else ()
        assert view[index] == memory[first + layout.place(flat)["m"]]
    assert layout_of(view, buffer).same(layout)
    if buffer is memory:
        assert layout_of(view).same(layout)
    return "answered"


def test_views_show_what_the_layout_says(times):
    rng, tally = Random(11), Counter()
    for _ in range(times(1_000)):
        tally[check_view(rng)] += 1
    assert min(tally["answered"], tally["refused"], tally["refused outside"]) > times(50), tally


def test_a_view_writes_to_the_array_and_keeps_it():
    buffer = np.zeros(12, dtype="i4")
    view = strided_view(S[(3, 4) : (1, 3)], buffer)
    view[2, 3] = 7
    assert buffer[11] == 7
    fresh = strided_view(S[(2, 2) : (2, 1)], np.arange(4))  # nothing else holds the buffer
    assert fresh.tolist() == [[0, 1], [2, 3]]
    buffer.flags.writeable = False
    assert not strided_view(S[3], buffer).flags.writeable


def test_views_of_all_kinds_of_elements():
    records = np.zeros(6, dtype=[("x", "f4"), ("y", "i2")])
    records["y"] = range(6)
    view = strided_view(S[(2, 3) : (1, 2)], records)
    assert view.dtype == records.dtype
    assert view["y"].tolist() == [[0, 2, 4], [1, 3, 5]]
    objects = np.array([None, "a", 2, 3.0], dtype=object)
    assert strided_view(S[2:-3] + 3, objects).tolist() == [3.0, None]
    halves = strided_view(S[(2, 3) : (2, 4)].counted("byte"), np.arange(8, dtype="i2"))
    assert halves.tolist() == [[0, 2, 4], [1, 3, 5]]
    unaligned = strided_view(S[3:1].counted("byte"), np.array([0x0102, 0x0304, 0x0506], dtype="<u2"))
    assert unaligned.tolist() == [0x0102, 0x0401, 0x0304]


def test_a_view_in_another_shape():
    buffer = np.arange(64)
    assert strided_view(S[64], buffer, shape=(8, 8))[3, 5] == 29
    columns = strided_view(S[(4, 2, 8) : (2, 1, 8)], buffer, shape=(8, 8))
    assert columns[3, 5] == 43


@pytest.mark.parametrize(
    ("layout", "witness", "place"),
    [
        (S[(4, 7) : (7, 1)], (3, 6), 27),
        (S[(4, 2) : (-7, 1)] + 3, (3, 0), -18),
        (S[24:1] + 1, (23,), 24),
        (S[(2, 3) : (5, -1)] + 1, (0, 2), -1),
        (S[()] + 24, (), 24),
        (S[()] - 1, (), -1),
    ],
)
def test_no_element_lies_outside(layout, witness, place):
    with pytest.raises(Refused, match=rf"lives at {place}, and the array's memory is 0\.\.23") as refused:
        strided_view(layout, np.arange(24).reshape(4, 6))
    assert (refused.value.code, refused.value.witness) == ("TW511", witness)


def test_an_element_that_is_cut_off_lies_outside():
    """Bytes: the last one of the last element counts."""
    array = np.arange(3, dtype="i4")
    assert strided_view(S[3:4].counted("byte"), array).tolist() == [0, 1, 2]
    with pytest.raises(Refused):
        strided_view(S[3:4].counted("byte") + 1, array)


def test_places_before_the_first_element_of_a_reversed_array():
    reverse = np.arange(6)[::-1]
    assert strided_view(S[6:-1], reverse).tolist() == [5, 4, 3, 2, 1, 0]
    with pytest.raises(Refused):
        strided_view(S[2:1], reverse)


def test_torch_has_no_negative_strides():
    tensor = FakeTorch(np.arange(8.0), (8,), (1,))
    with pytest.raises(Refused, match="no negative strides") as refused:
        strided_view(S[8:-1] + 7, tensor)
    assert refused.value.witness == (0, -1)
    with pytest.raises(Refused, match="lives at 8"):
        strided_view(S[9:1], tensor)
    assert strided_view(S[(2, 4) : (8, 16)].counted("byte"), tensor).stride() == (1, 2)
    with pytest.raises(LayoutError, match="no multiple"):
        strided_view(S[2:3].counted("byte"), tensor)
