"""wgmma's parts: what an emulated device spells, recorded and compared; planted faults are found."""

from dataclasses import replace

import numpy as np
import pytest
from tests.gpu.emulator import Emulator
from tools.questions import descriptors

from tilewise.gpu.verify import wgmma
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.truth import load, save
from tilewise.gpu.verify.wgmma import NOTHING, Bench, DescriptorCase, WgmmaProbe, expected
from tilewise.hardware.wgmma.instructions import INPUTS

SMALL = [
    WgmmaProbe("f16", "f16", "f32", 8),
    WgmmaProbe("s8", "u8", "s32", 16),
    WgmmaProbe("tf32", "tf32", "f32", 24),
]


PART = PARTS["descriptors.f16"]


def fragments_truth(operand, this, owned):
    """The record of one instruction."""
    row = {"operand": operand.upper(), "a": this.a, "b": this.b, "d": this.d, "n": this.n}
    return PARTS[f"fragments.{operand}"].truth([row], [{"owned": owned}])


def differences(truth):
    return PARTS[truth.part].compare(truth).differences


def descriptors_truth(every, found):
    """The record of what is read for some cases."""
    return PART.truth(map(descriptors.row, every), map(wgmma.kept, every, found))


def bench_of(instructions):
    device = Emulator()
    return Bench(device, {this: device.kernel(this) for this in instructions})


# -- fragments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("this", SMALL, ids=str)
def test_what_the_device_spells_of_d_is_the_owner_of_each_element(this):
    owned = bench_of([this]).d(this)
    assert differences(fragments_truth("d", this, owned)) == []
    assert owned.shape == (128, this.n // 2)


@pytest.mark.parametrize("this", SMALL, ids=str)
def test_what_the_device_spells_of_a_is_the_owner_of_each_element(this):
    owned = bench_of([this]).a(this)
    assert differences(fragments_truth("a", this, owned)) == []


def test_registers_that_changed_places_are_found():
    this = SMALL[0]
    owned = wgmma.owners(wgmma.d_fragment("f32", 8)).reshape(128, 4).copy()
    owned[[3, 5]] = owned[[5, 3]]
    (found,) = differences(fragments_truth("d", this, owned))
    assert found.witness == {"thread": 3, "element": 0, "found": [1, 2], "expected": [0, 6]}
    assert "8 of 512 differ" in found.message


def test_a_register_that_spells_nonsense_is_found():
    this = SMALL[0]
    device = Emulator()

    def kernel(*arguments):
        device.kernel(this)(*arguments)
        arguments[-1].reshape(4, 128)[2, 9] |= 1 << 31

    owned = Bench(device, {this: kernel}).d(this)
    (found,) = differences(fragments_truth("d", this, owned))
    assert found.witness["found"] is None
    assert "element unknown, not" in found.message


def test_every_type_is_asked_at_every_n():
    asked = {(this.a, this.d, this.n) for this in descriptors.instructions()}
    assert asked == {(row.name, d, n) for row in INPUTS.values() for d in row.accumulators for n in row.n}


# -- descriptors -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some():
    """A few cases of each type, operand and major, with what an emulated device reads for them."""
    asked = [case for dtype in ("f16", "tf32", "b1") for case in descriptors.asked(dtype)]
    every = [case for case in asked if case.instruction.n <= 24][::31]
    found = [wgmma.places_read(bench_of([case.instruction]), [case])[0] for case in every]
    return every, found


def test_what_the_device_reads_is_recorded_and_compared(some, tmp_path):
    every, found = some
    save(tmp_path / "descriptors.zip", [descriptors_truth(every, found)])
    (truth,) = load(tmp_path / "descriptors.zip")
    comparison = PART.compare(truth)
    assert (comparison.cases, comparison.different) == (len(every), 0)
    assert comparison.numbers == sum(map(np.size, found))
    assert all(case["whole"] for case in truth.cases)


def test_a_case_survives_its_record(some):
    every, found = some
    rows = descriptors_truth(every, found).cases
    for case, row in zip(every, rows, strict=True):
        back = DescriptorCase.of(row)
        assert (back.operand, back.dtype, back.major) == (case.operand, case.dtype, case.major)
        assert back.descriptor == case.descriptor
        assert np.array_equal(expected(back), expected(case))


def test_a_chunk_from_elsewhere_is_found(some):
    every, found = some
    truth = descriptors_truth(every[:3], found[:3])
    places = truth.arrays["places"].copy()
    places[-1] += 1
    (difference,) = differences(replace(truth, arrays={"places": places}))
    assert difference.witness["found"] == difference.witness["expected"] + 16
    assert f"{every[2].chunk} of" in difference.message


@pytest.mark.parametrize("planted", [NOTHING, 4000])
def test_one_element_from_elsewhere_is_found(some, planted):
    every, found = some
    read_from = found[0].copy()
    read_from[-1, -1] = planted
    truth = descriptors_truth(every[:1], [read_from])
    assert not truth.cases[0]["whole"]
    (difference,) = differences(truth)
    rows, k = read_from.shape
    assert difference.witness["element"] == [rows - 1, k - 1]
    assert (difference.witness["found"] is None) == (planted == NOTHING)


def test_the_cases_cover_what_they_are_to_cover():
    every = [case for dtype in INPUTS for case in descriptors.asked(dtype)]
    assert len(every) >= 5000
    cells = {(case.instruction.a, case.operand, case.major, case.descriptor.mode.name) for case in every}
    wanted = {
        (row.name, operand, major, mode)
        for row in INPUTS.values()
        for operand in "AB"
        for major in row.majors
        for mode in ("none", "32B", "64B", "128B")
    }
    assert cells == wanted
    assert {case.descriptor.base_offset for case in every} == set(range(8))
    assert any(case.descriptor.start % case.descriptor.mode.period for case in every)
