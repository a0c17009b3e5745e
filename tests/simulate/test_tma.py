"""TMA in the model, held to every box that an H200 loaded, and stores to an own loop over elements."""

import random
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.hardware.naive_tma import swizzled

from tilewise import LayoutError, Refused
from tilewise.gpu.verify.part import of_row
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import recorded_truth
from tilewise.gpu.verify.tma import ELEMENTS, MARGIN, OTHER, UNTOUCHED, BoxLoad, passes_of
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import nan_fill
from tilewise.simulate.memory import Memory
from tilewise.simulate.tma import copy_of, load, store

TRUTH = Path(__file__).parents[1] / "hardware" / "truth"
MODES = ("none", "32B", "64B", "128B")


# -- loads: what the device did ------------------------------------------------------------------------


@cache
def numbered(each, digit):
    """Global memory in which element i has a digit of i + 1, as the device was given."""
    numbers = np.arange(1, ELEMENTS[each] + 1, dtype=np.uint64) >> np.uint64(8 * each * digit)
    memory = Memory(ELEMENTS[each] * each, name="global")
    memory.put(numbers & np.uint64((1 << 8 * each) - 1), f"u{8 * each}") if each < 8 else memory.put(
        numbers.view(np.int64), "s64"
    )
    return memory


def landed(box):
    """Return what the slots of shared memory hold after the model's load, as the record has it."""
    each, slots = box.bytes_each, None
    for digit in range(passes_of(each)):
        shared = Memory(box.window)
        corner, start = box.corner, box.start
        copy = load(
            box.tensor_map, numbered(each, digit), shared, address=MARGIN * each, corner=corner, to=start
        )
        if slots is None:
            slots = np.zeros(box.window // each, np.uint64)
        slots |= shared.data.view(f"<u{each}").astype(np.uint64) << np.uint64(8 * each * digit)
    written = shared.written.reshape(-1, each)
    assert np.array_equal(written.all(axis=1), written.any(axis=1))
    found = np.where(slots <= ELEMENTS[each], slots, 0).astype(np.int64)
    if box.fill == "nan":
        fill = sum(nan_fill(8 * each) << 8 * each * digit for digit in range(passes_of(each)))
        found[slots == np.uint64(fill)] = OTHER
    found[~written.any(axis=1)] = UNTOUCHED
    return found, copy.bytes


def recorded():
    truth = recorded_truth(PARTS["tma.boxes"], TRUTH)
    return list(zip(truth.cases, truth.parted("slots"), strict=True))


@pytest.mark.parametrize("mode", MODES)
def test_every_box_that_the_device_loaded(mode):
    asked = [(of_row(BoxLoad, case), case, slots) for case, slots in recorded()]
    asked = [one for one in asked if one[0].mode == mode]
    loaded = 0
    for box, case, slots in asked:
        if case["result"]:
            with pytest.raises(Refused) as refused:
                landed(box)
            assert refused.value.code == "TW607", box
            continue
        found, counted = landed(box)
        assert np.array_equal(found, slots), box
        assert counted == case["counted"], box
        loaded += 1
    assert loaded > 150


def test_a_box_that_lands_otherwise_is_noticed(monkeypatch):
    """A model whose rows are packed under a swizzle differs from the device on narrow boxes."""
    from tilewise.hardware.tma import landing

    monkeypatch.setattr(landing, "row_pitch", lambda mode, inner: inner)
    asked = [(of_row(BoxLoad, case), slots) for case, slots in recorded() if not case["result"]]
    narrow = [one for one in asked if one[0].mode == "128B" and one[0].box[-1] * one[0].bytes_each < 128]
    differ = sum(not np.array_equal(landed(box)[0], slots) for box, slots in narrow[:20])
    assert differ == 20


# -- stores: an own loop over the elements -------------------------------------------------------------


def stored(tensor_map, corner, start, tile, tensor):
    """The tensor's bytes after a store, one element at a time."""
    each = tensor_map.dtype.bits // 8
    strides = (*tensor_map.global_strides_bytes, each)
    width = tensor_map.mode.width
    row_bytes = tensor_map.box[-1] * each
    pitch = max(row_bytes, width) if tensor_map.mode.bits else row_bytes
    tensor = bytearray(tensor)
    shape = (*tensor_map.global_shape[:-1], -(-tensor_map.global_shape[-1] * each // 16) * 16 // each)
    for row, index in enumerate(product(*map(range, tensor_map.box[:-1]))):
        for column in range(tensor_map.box[-1]):
            at = [first + i for first, i in zip(corner, (*index, column), strict=True)]
            if all(0 <= a < extent for a, extent in zip(at, shape, strict=True)):
                to = sum(a * stride for a, stride in zip(at, strides, strict=True))
                place = swizzled(start + row * pitch + column * each, tensor_map.mode.name)
                tensor[to : to + each] = tile[place : place + each]
    return bytes(tensor)


def any_store(dice):
    mode, each = dice.choice(MODES), dice.choice((1, 2, 4, 8))
    widths = {"none": 256, "32B": 32, "64B": 64, "128B": 128}
    inner = dice.randrange(16, widths[mode] + 1, 16) // each
    rank = dice.randint(1, 3)
    box = (*(dice.choice((1, 2, 3, 8)) for _ in range(rank - 1)), min(inner, 256))
    shape = tuple(extent + dice.choice((0, 1, 5)) for extent in box[:-1])
    shape = (*shape, box[-1] + dice.choice((0, 0, 16, 48, 8, 24)) // each)
    steps, strides = shape[-1] * each, []
    for extent in shape[-2::-1]:
        strides.insert(0, -(-steps // 16) * 16)
        steps = strides[0] * extent
    corner = (*(dice.randint(0, 3) for _ in box[:-1]), dice.randint(0, 2) * 16 // each)
    dtype = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[each]
    tensor_map = TensorMap.of(dtype, shape, box, mode=mode)
    return TensorMap(tensor_map.dtype, shape, tuple(strides), box, mode=mode), corner


def test_stores_write_what_a_loop_writes(times):
    dice = random.Random(7)
    clipped = 0
    for _ in range(times(150)):
        tensor_map, corner = any_store(dice)
        start = 128 * dice.randrange(8)
        tile, tensor = Memory(start + 20480), Memory(1 << 16, name="global")
        content = np.frombuffer(dice.randbytes(tile.size), np.uint8)
        before = np.frombuffer(dice.randbytes(tensor.size), np.uint8)
        tile.put(content, "u8")
        tensor.put(before, "u8")
        copy = store(tensor_map, tile, tensor, corner=corner, start=start)
        want = stored(tensor_map, corner, start, content.tobytes(), before.tobytes())
        assert tensor.data.tobytes() == want, (tensor_map, corner)
        clipped += not copy.inside.all()
    assert times(50) < clipped < times(150)


def test_what_was_loaded_goes_back_by_a_store():
    dice = random.Random(8)
    for _ in range(40):
        tensor_map, corner = any_store(dice)
        tensor, tile, other = Memory(1 << 16), Memory(1 << 16), Memory(1 << 16)
        tensor.put(np.frombuffer(dice.randbytes(tensor.size), np.uint8), "u8")
        came = load(tensor_map, tensor, tile, corner=corner, to=1024)
        went = store(tensor_map, tile, other, corner=corner, start=1024)
        inside, behind = (bytes_of(went, where) for where in (came.inside, behind_row(went)))
        assert np.array_equal(other.data[inside], tensor.data[inside])
        assert not other.data[behind].any()
        assert np.array_equal(np.flatnonzero(other.written), np.sort([*inside, *behind]))


def behind_row(copy):
    """Mark each element that is moved though its row has ended: a store does so to the next 16 bytes."""
    column = copy.corner[-1] + np.arange(copy.inside.shape[-1])
    return copy.inside & (column >= copy.tensor_map.global_shape[-1])


def bytes_of(copy, where):
    """The bytes of global memory of some elements of a copy."""
    each = copy.tensor_map.dtype.bits // 8
    return np.add.outer(copy.tensor[where], np.arange(each)).ravel()


# -- what a store writes behind a row's end ------------------------------------------------------------

RAGGED = TensorMap(TensorMap.of("bf16", (16, 72), (8, 72)).dtype, (16, 67), (144,), (8, 72))
"""Rows of 134 bytes, 144 apart: 10 bytes behind each."""


def test_a_store_that_reaches_the_end_of_a_row_writes_whole_16_bytes():
    tile, tensor = Memory(2048), Memory(16 * 144, name="global")
    tile.put(np.repeat(np.arange(1, 9), 72), "s16")
    copy = store(RAGGED, tile, tensor, corner=(4, 0))
    assert (int(behind_row(copy).sum()), int(tensor.written.sum())) == (8 * 5, 8 * 144)
    assert tensor.take("s16", 6, at=6 * 144 + 132).tolist() == [3] * 6
    assert not behind_row(copy_of(RAGGED, corner=(4, 0))).any()


def test_a_store_that_ends_before_the_end_of_a_row_writes_no_more():
    narrow = TensorMap(RAGGED.dtype, (16, 67), (144,), (8, 64))
    tile, tensor = Memory(2048), Memory(16 * 144, name="global")
    tile.put([1] * 512, "s16")
    copy = store(narrow, tile, tensor, corner=(0, 0))
    assert (int(behind_row(copy).sum()), int(tensor.written.sum())) == (0, 8 * 128)


def test_what_a_store_writes_behind_a_row_was_written_before():
    tile = Memory(2048)
    for row in range(8):
        tile.put([1] * 67, "s16", at=144 * row)
    with pytest.raises(Refused) as refused:
        store(RAGGED, tile, Memory(16 * 144, name="global"), corner=(0, 0))
    witness = refused.value.witness
    assert refused.value.code == "TW612"
    assert (witness["fault"], witness["i0"], witness["i1"], witness["address"]) == ("unwritten", 0, 67, 134)


def test_a_tensor_whose_last_row_ends_its_memory_has_no_room_for_what_a_store_writes_behind():
    tile, tensor = Memory(2048), Memory(15 * 144 + 134, name="global")
    tile.put([1] * 8 * 72, "s16")
    store(RAGGED, tile, tensor, corner=(7, 0))
    with pytest.raises(Refused) as refused:
        store(RAGGED, tile, tensor, corner=(8, 0))
    witness = refused.value.witness
    assert refused.value.code == "TW612"
    assert (witness["fault"], witness["i0"], witness["i1"]) == ("outside", 7, 67)


def test_a_store_with_a_negative_coordinate_is_refused_and_a_load_is_filled():
    full = Memory(4096)
    full.put([1] * 4096, "u8")
    with pytest.raises(Refused) as refused:
        store(MAP, full, Memory(4096, name="global"), corner=(-1, 0))
    assert refused.value.witness == {"rules": ["store-coordinate"]}
    assert not load(MAP, full, Memory(2048), corner=(-1, 0)).inside[0].any()


# -- what is refused -----------------------------------------------------------------------------------

MAP = TensorMap.of("bf16", (16, 64), (8, 64), mode="128B")


def test_a_tensor_that_reaches_past_its_memory_is_told_with_the_element():
    tensor = Memory(16 * 128 - 64, name="global")
    tensor.put(range(tensor.size // 2), "s16")
    with pytest.raises(Refused) as refused:
        load(MAP, tensor, Memory(2048), corner=(8, 0))
    witness = refused.value.witness
    assert refused.value.code == "TW612"
    assert witness["fault"] == "outside"
    assert (witness["instruction"], witness["i0"], witness["i1"]) == ("TMA load", 7, 32)


def test_a_store_of_what_nothing_wrote():
    tile = Memory(2048)
    tile.put([0] * 512, "u8")
    with pytest.raises(Refused) as refused:
        store(MAP, tile, Memory(4096, name="global"), corner=(0, 0))
    assert refused.value.witness["fault"] == "unwritten"
    assert (refused.value.witness["i0"], refused.value.witness["address"]) == (4, 576)


def test_a_store_whose_clipped_part_was_never_written():
    tile, tensor = Memory(2048), Memory(4096, name="global")
    tile.put([1] * 512, "u8")
    store(MAP, tile, tensor, corner=(12, 0))
    assert int(tensor.written.sum()) == 4 * 128


def test_rows_that_overlap_are_not_stored_twice():
    overlapping = TensorMap(MAP.dtype, (8, 64), (64,), (8, 64), mode="128B")
    tile = Memory(1024)
    tile.put(range(512), "s16")
    with pytest.raises(Refused) as refused:
        store(overlapping, tile, Memory(4096, name="global"), corner=(0, 0))
    assert refused.value.witness["fault"] == "overlapping"


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"corner": (0, 4)}, "coordinate-multiple"),
        ({"corner": (0, 0), "to": 64}, "shared-address"),
        ({"corner": (0, 0), "address": 8}, "address"),
    ],
    ids=["coordinate", "shared", "address"],
)
def test_a_copy_that_the_hardware_refuses(given, rule):
    with pytest.raises(Refused) as refused:
        load(MAP, Memory(4096, name="global"), Memory(4096), **given)
    assert refused.value.witness == {"rules": [rule]}


def test_a_corner_has_a_coordinate_a_dimension():
    with pytest.raises(LayoutError, match="TW003"):
        copy_of(MAP, corner=(0,))


def test_interleaved_boxes_and_stores_with_steps_are_not_in_the_tables():
    interleaved = TensorMap.of("u8", (4, 8, 64), (2, 4, 16), interleave="16B")
    stepped = TensorMap.of("f32", (16, 32), (8, 32), element_strides=(2, 1))
    full = Memory(4096)
    full.put([0] * 4096, "u8")
    with pytest.raises(Refused, match="not in the tables"):
        load(interleaved, full, Memory(4096), corner=(0, 0, 0))
    with pytest.raises(Refused, match="not in the tables"):
        store(stepped, full, Memory(4096), corner=(0, 0))


@pytest.mark.parametrize(
    ("name", "kept", "changed"),
    [
        ("FLOAT32_FTZ", 0x00800001, 0x00000001),
        ("FLOAT32_FTZ", 0x80000000, 0x80000001),
        ("FLOAT32_FTZ", 0x80800001, 0x807FFFFF),
        ("TFLOAT32", 0xBF802000, 0xBF800001),
        ("TFLOAT32", 0x3F802000, 0x3F800001),
        ("TFLOAT32_FTZ", 0x3F802000, 0x00002000),
        ("FLOAT32", 0x00000001, None),
    ],
)
def test_types_that_change_numbers_carry_those_that_they_keep(name, kept, changed):
    tensor_map = TensorMap(name, (8, 4), (16,), (8, 4))
    tensor, tile = Memory(128, name="global"), Memory(128)
    tensor.put([kept] * 32, "u32")
    load(tensor_map, tensor, tile, corner=(0, 0))
    assert tile.take("u32", 32).tolist() == [kept] * 32
    back = Memory(128, name="global")
    store(tensor_map, tile, back, corner=(0, 0))
    assert back.take("u32", 32).tolist() == [kept] * 32
    if changed is not None:
        for memory in (tensor, tile):
            memory.put([changed], "u32", at=20)
        with pytest.raises(Refused, match="on the way"):
            load(tensor_map, tensor, tile, corner=(0, 0))
        with pytest.raises(Refused, match="on the way"):
            store(tensor_map, tile, back, corner=(0, 0))
        assert back.take("u32", 32).tolist() == [kept] * 32
