"""What an H200 said, held against the manual's arithmetic written out here: no layout, no table of tilewise.

`test_truth` holds the catalogue to the record; this holds the record to plain numbers, so that a fault
which measuring and comparing share is seen.
"""

import numpy as np
import pytest
from tests.hardware.test_truth import TRUTH

from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import recorded_truth

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
DESCRIPTORS = [name for name in PARTS if name.startswith("descriptors.") and name != "descriptors.end"]


def recorded(name):
    truth = recorded_truth(PARTS[name], TRUTH)
    (array,) = truth.arrays
    return list(zip(truth.cases, truth.parted(array), strict=True))


def swizzled(address, width, base_offset=0):
    """Bits 9-7 of the address, less the base offset, into bits 6-4, as many as the width has."""
    return address ^ ((address >> 7) - base_offset & width // 16 - 1) << 4


# -- registers -------------------------------------------------------------------------------------


def test_the_owners_of_d():
    for case, owned in recorded("fragments.d"):
        thread, e = np.divmod(np.arange(64 * case["n"]), case["n"] // 2)
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        row = 16 * warp + 8 * (e // 2 % 2) + group
        column = 8 * (e // 4) + 2 * t + e % 2
        assert np.array_equal(owned, row * case["n"] + column), case


def test_the_owners_of_a():
    for case, owned in recorded("fragments.a"):
        bits = BITS[case["a"]]
        k, each = 256 // bits, 32 // bits
        thread, e = np.divmod(np.arange(64 * k), k // 2)
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        register = e // each
        row = 16 * warp + 8 * (register % 2) + group
        column = register // 2 * (k // 2) + each * t + e % each
        assert np.array_equal(owned, row * k + column), case


# -- descriptors -----------------------------------------------------------------------------------


def chunks(case):
    """The address of each chunk of 16 bytes: [row, chunk of K], or [chunk of rows, k]."""
    value, bits = int(case["value"], 16), BITS[case["types"][0]]
    start, lbo, sbo = (16 * (value >> low & 0x3FFF) for low in (0, 16, 32))
    width = {0: 16, 3: 32, 2: 64, 1: 128}[value >> 62]
    rows = 64 if case["operand"] == "A" else case["n"]
    if case["major"] == "k":
        r, c = np.ogrid[:rows, :2]
        between = lbo if width == 16 else 16
        address = start + r // 8 * sbo + r % 8 * width + c * between
    else:
        j, k = np.ogrid[: rows * bits // 128, : 256 // bits]
        along, across = (sbo, lbo) if width == 16 else (lbo, sbo)
        together = width // 16
        address = start + j // together * along + j % together * 16 + k // 8 * across + k % 8 * width
    return swizzled(address, width, value >> 49 & 7 if width > 16 else 0)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_the_chunks_that_descriptors_read(name):
    cases = recorded(name)
    for case, places in cases:
        assert case["whole"], case
        assert np.array_equal(places, chunks(case).ravel() // 16), case
    assert len(cases) >= 500


# -- boxes -----------------------------------------------------------------------------------------


def slots_of(case, length):
    """What each element-sized slot of shared memory holds after the copy."""
    each = {"8": 1, "16": 2, "32": 4, "64": 8}[case["dtype"].lstrip("bfu")]
    width = WIDTHS[case["mode"]]
    steps = [*case["steps"][:-1], 1] if case["steps"] else [1] * len(case["box"])
    counts = [-(-extent // step) for extent, step in zip(case["box"], steps, strict=True)]
    index = np.indices(counts).reshape(len(counts), -1)
    pitch = max(counts[-1] * each, width) if width > 16 else counts[-1] * each
    row = np.zeros_like(index[0])
    for count, i in zip(counts[:-1], index[:-1], strict=True):
        row = row * count + i
    byte = swizzled(case["start"] + row * pitch + index[-1] * each, width)
    inside, place, stride = np.ones(len(row), bool), np.full(len(row), 1025), 1
    for i, corner, step, extent in zip(
        index[::-1], case["corner"][::-1], steps[::-1], case["shape"][::-1], strict=True
    ):
        at = corner + step * i
        inside &= (at >= 0) & (at < extent)
        place += at * stride
        stride = -(-stride * extent * each // 32) * 32 // each
    slots = np.full(length, -1)
    slots[byte // each] = np.where(inside, place, -3 if case["fill"] == "nan" else 0)
    return slots, len(row) * each


def test_the_bytes_that_boxes_land_in():
    loaded = [(case, slots) for case, slots in recorded("tma.boxes") if not case["result"]]
    for case, slots in loaded:
        want, size = slots_of(case, len(slots))
        assert np.array_equal(slots, want), case
        assert case["counted"] == size, case
    assert len(loaded) >= 500
    assert any(case["fill"] == "nan" for case, _ in loaded)


def test_a_box_wider_than_its_swizzle_is_refused():
    refused = [case for case, _ in recorded("tma.boxes") if case["result"]]
    assert len(refused) >= 20
    for case in refused:
        inner = case["box"][-1] * int(case["dtype"].lstrip("bfu")) // 8
        assert inner > WIDTHS[case["mode"]] > 16 or case["fill"] == "nan", case
