"""TMA's parts with a device that follows the tables, and with faults planted in what it says."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.gpu.parts import boxes_truth, loaded, rules_truth

from tilewise.gpu.device import DriverError
from tilewise.gpu.verify import tma as copying
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.tma import (
    ELEMENTS,
    FILL,
    MARGIN,
    MOST_SHARED,
    OTHER,
    POISONS,
    TORN,
    UNTOUCHED,
    BoxLoad,
    decode,
    passes_of,
    place_of,
)
from tilewise.gpu.verify.truth import load, save

BOXES, RULES, FAULTS = (PARTS[f"tma.{name}"] for name in ("boxes", "rules", "faults"))
PLAIN = BoxLoad("u16", "128B", (32, 256), (16, 64), (-3, 200), 128)


# -- the cases -------------------------------------------------------------------------------------


def test_the_boxes_cover_what_they_are_to_cover():
    every = [BOXES.case(row) for row in BOXES.cases()]
    assert len(set(every)) >= 500
    assert {(box.mode, box.bytes_each) for box in every} == {
        (mode, each) for mode in ("none", "32B", "64B", "128B") for each in (1, 2, 4, 8)
    }
    assert {len(box.box) for box in every} == {1, 2, 3, 4, 5}
    for rank in range(2, 6):
        for mode in ("none", "32B", "64B", "128B"):
            reaching = [
                b for b in every if (len(b.box), b.mode) == (rank, mode) and (place_of(b) == FILL).any()
            ]
            assert any(min(box.corner) < 0 for box in reaching)
            assert any(
                corner + extent > whole
                for box in reaching
                for corner, extent, whole in zip(box.corner, box.box, box.shape, strict=True)
            )


def test_every_box_fits_the_memories_that_it_is_loaded_between():
    for box in map(BOXES.case, BOXES.cases()):
        assert box.window <= MOST_SHARED, box
        assert box.shape[0] * box.strides[0] + MARGIN <= ELEMENTS[box.bytes_each], box
        assert box.start % 128 == 0, box


# -- the kernel ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_kernel_compiles_without_a_word():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    source = Path(copying.__file__).with_name("tma.cu").read_text()
    ptx = nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90a", nvrtc.MINIMAL)
    for rank in range(1, 6):
        assert f"cp.async.bulk.tensor.{rank}d.shared::cluster.global" in ptx


# -- what the windows spell ------------------------------------------------------------------------


@pytest.mark.parametrize("each", [1, 2, 4, 8])
def test_windows_are_decoded(each):
    slots = np.array([5, UNTOUCHED, FILL, ELEMENTS[each], UNTOUCHED, 258])
    nan = (1 << 8 * each * passes_of(each)) - 1
    windows = []
    for digit, poison in [*((digit, 0) for digit in range(passes_of(each))), (0, 1)]:
        numbers = np.append(slots.astype(np.uint64), np.uint64(nan)) >> np.uint64(8 * each * digit)
        window = numbers.astype(f"<u{each}").view(np.uint8).reshape(-1, each).copy()
        window[:-1][slots == UNTOUCHED] = POISONS[poison]
        windows.append(window.ravel())
    found, others = decode(windows[:-1], windows[-1], each)
    assert found.tolist() == [*slots.tolist(), OTHER]
    assert others == ((1 << 8 * each) - 1,)


def test_half_an_element_is_no_element():
    windows = [np.array([1, POISONS[0]], np.uint8), np.array([1, POISONS[1]], np.uint8)]
    found, others = decode(windows[:1], windows[1], 2)
    assert (found.tolist(), others) == ([TORN], ())


def test_places_are_those_of_the_tensor_in_its_buffer():
    box = BoxLoad("u32", "none", (3, 5, 7), (2, 9, 8), (2, -2, 3))
    places = place_of(box)
    for index in np.ndindex(*box.box):
        at = [corner + i for corner, i in zip(box.corner, index, strict=True)]
        inside = all(0 <= x < extent for x, extent in zip(at, box.shape, strict=True))
        wanted = MARGIN + 1 + sum(x * stride for x, stride in zip(at, box.strides, strict=True))
        assert places[index] == (wanted if inside else FILL), index


# -- faults ----------------------------------------------------------------------------------------


def test_a_device_that_follows_the_tables_has_no_difference(tmp_path):
    every = [PLAIN, replace(PLAIN, steps=(2, 1)), replace(PLAIN, mode="64B")]
    save(tmp_path / "tma.zip", [boxes_truth(every)])
    (truth,) = load(tmp_path / "tma.zip")
    found = BOXES.compare(truth)
    assert (found.cases, found.different) == (3, 0)
    assert found.covered["outcome"] == {"loaded": 2, "refused by the driver": 1}
    assert found.covered["reach"] == {"beyond the tensor": 3}


def faulty(landed):
    return BOXES.compare(boxes_truth([PLAIN], [landed]))


def test_two_elements_that_changed_places_are_found():
    landed = loaded(PLAIN)
    slots = landed.slots.copy()
    first, second = np.flatnonzero(slots > 0)[[10, 90]]
    slots[[first, second]] = slots[[second, first]]
    (found,) = faulty(replace(landed, slots=slots)).differences
    assert found.witness["byte"] == 2 * first
    assert found.message.startswith(f"byte {2 * first}: holding element ")


@pytest.mark.parametrize("planted", [UNTOUCHED, FILL, TORN, OTHER])
def test_an_element_that_did_not_arrive_is_found(planted):
    landed = loaded(PLAIN)
    slots = landed.slots.copy()
    slots[np.flatnonzero(slots > 0)[-1]] = planted
    assert faulty(replace(landed, slots=slots)).different == 1


def test_a_byte_behind_the_box_that_was_written_is_found():
    landed = loaded(PLAIN)
    slots = landed.slots.copy()
    slots[-1] = FILL
    (found,) = faulty(replace(landed, slots=slots)).differences
    assert "holding zero, not what it held before" in found.message


@pytest.mark.parametrize("counted", [PLAIN.bytes - 32, PLAIN.bytes + 16, None])
def test_a_barrier_that_counted_other_bytes_is_found(counted):
    (found,) = faulty(replace(loaded(PLAIN), counted=counted)).differences
    assert found.witness == {"counted": counted, "expected": PLAIN.bytes}


@pytest.mark.parametrize("sent", [PLAIN.bytes - 32, PLAIN.bytes, PLAIN.bytes + 8, PLAIN.bytes + 16])
def test_a_barrier_that_is_told_too_many_bytes_tells_how_many_came(monkeypatch, sent):
    def launch(device, box, poison, expected):
        return np.full(box.window, poison, np.uint8), max(expected - sent, 0)

    monkeypatch.setattr(copying.TensorCopies, "_launch", launch)
    monkeypatch.setattr(copying.TensorCopies, "_encode_box", lambda device, box, buffer: 0)
    monkeypatch.setattr(copying.TensorCopies, "_buffer", lambda device, each, digit: 0)
    device = object.__new__(copying.TensorCopies)
    assert device.load(PLAIN).counted == sent


def test_a_box_that_the_driver_refuses_without_a_rule_is_found():
    found = BOXES.compare(boxes_truth([PLAIN], [1]))
    assert found.differences[0].message == "the driver refuses it with 1, and no rule of ours does"


def test_a_box_that_the_driver_takes_against_a_rule_is_found():
    wide = replace(PLAIN, box=(16, 128))
    slots = np.zeros(wide.window // 2, np.int64)
    found = BOXES.compare(boxes_truth([wide], [replace(loaded(PLAIN), slots=slots)]))
    assert found.differences[0].message == "the driver takes it, and we name box-swizzle"


@pytest.mark.parametrize(("bits", "right"), [(0x7FF7, True), (0x7FFF, False), (0x7C00, False)])
def test_a_fill_of_nan_is_the_one_that_the_tables_have(bits, right):
    box = replace(PLAIN, dtype="f16", fill="nan")
    landed = replace(loaded(box), others=(bits,))
    found = BOXES.compare(boxes_truth([box], [landed]))
    assert found.different == (not right)


def test_a_value_from_nowhere_is_found():
    (found,) = faulty(replace(loaded(PLAIN), others=(0x1234,))).differences
    assert found.message == "the value 0x1234 is no element of the tensor"


# -- rules -----------------------------------------------------------------------------------------


def test_a_driver_that_follows_the_rules_has_no_difference():
    found = RULES.compare(rules_truth())
    assert found.different == 0
    assert found.cases == len(RULES.cases())
    assert set(found.covered["outcome"]) == {"taken", "refused"}


def test_each_verdict_that_is_turned_round_is_found():
    truth = rules_truth()
    for turned in (0, 100, len(truth.cases) - 1):
        results = truth.arrays["results"].copy()
        results[turned] = not results[turned]
        found = RULES.compare(replace(truth, arrays={"results": results}))
        assert found.different == 1
        assert ("the driver takes it" in found.differences[0].message) == (results[turned] == 0)


# -- faults of copies ------------------------------------------------------------------------------


def faults_truth():
    """The record of a device that faults where our rules say."""
    every = [FAULTS.case(row) for row in FAULTS.cases()]
    whole = [box.start % 128 == 0 and box.corner[-1] * box.bytes_each % 16 == 0 for box in every]
    results = [0 if fine else 716 if box.start % 128 else 715 for box, fine in zip(every, whole, strict=True)]
    return FAULTS.truth(FAULTS.cases(), [{"results": result} for result in results])


def test_a_device_that_faults_by_the_rules_has_no_difference():
    found = FAULTS.compare(faults_truth())
    assert found.different == 0
    assert set(found.covered["outcome"]) == {"done", "illegal instruction", "misaligned address"}
    assert set(found.covered["rule"]) == {"none", "coordinate-multiple", "shared-address"}


def test_a_copy_that_is_done_against_a_rule_and_one_that_faults_without_are_found():
    truth = faults_truth()
    for at in (0, len(truth.cases) - 1):
        results = truth.arrays["results"].copy()
        results[at] = 0 if results[at] else 719
        (found,) = FAULTS.compare(replace(truth, arrays={"results": results})).differences
        assert found.message in (
            "the device says launch failed, we say no rule",
            "the device says done, we say shared-address",
        )


def test_the_error_of_the_driver_survives_another_process():
    error = pickle.loads(pickle.dumps(DriverError(715, "CUDA_ERROR_ILLEGAL_INSTRUCTION")))
    assert (error.code, str(error)) == (715, "the driver says CUDA_ERROR_ILLEGAL_INSTRUCTION")
