"""matrices.*: a device that does as the manual says, recorded and compared; planted faults are found."""

from dataclasses import replace

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.hardware import naive_matrices as naive
from tools.questions import matrices as questions

from tilewise.gpu.verify import matrices
from tilewise.gpu.verify.kernels import survived
from tilewise.gpu.verify.matrices import BYTES, NOWHERE, Matrices, placed
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.truth import load, save
from tilewise.hardware.matrices.forms import Form, forms

BOTH = ("ldmatrix", "stmatrix")
MOVES, FAULTS = PARTS["matrices.movmatrix"], PARTS["matrices.faults"]
CASES = [FAULTS.case(row) for row in FAULTS.cases()]


def faults_truth(replies):
    """The record of results, each with what the halves met."""
    return FAULTS.truth(FAULTS.cases(), matrices.fault_answers(replies))


class Device:
    """Stands where `Session` does, with the manual's models on bytes; `kernel` stands where kernels do."""

    def upload(self, array):
        return np.ascontiguousarray(array)

    def empty(self, size):
        return np.zeros(size // 2, np.uint16)

    def download(self, buffer, dtype, shape):
        return buffer.view(dtype).reshape(shape)

    def kernel(self, form):
        def load(blocks, threads, addresses, content, words, out):
            rows = out.view(np.uint32).reshape(blocks, 32, -1)
            for row, lanes in zip(rows, addresses, strict=True):
                read = [int(lane) if i not in form.unread else None for i, lane in enumerate(lanes)]
                row[:] = naive.ldmatrix(content.tobytes(), read, form.count, form.trans)

        def store(blocks, threads, addresses, content, words, out):
            registers = content.view(np.uint32).reshape(32, -1).tolist()
            windows = out.view(np.uint8).reshape(blocks, -1)
            for window, lanes in zip(windows, addresses, strict=True):
                memory = bytearray(b"\xff" * len(window))
                read = [int(lane) if i not in form.unread else None for i, lane in enumerate(lanes)]
                naive.stmatrix(memory, read, registers, form.count, form.trans)
                window[:] = np.frombuffer(memory, np.uint8)

        return load if form.instruction == "ldmatrix" else store

    def move(self, blocks, threads, given, out):
        rows = out.view(np.uint32).reshape(blocks, 32)
        for row, words in zip(rows, given.view(np.uint32).reshape(blocks, 32), strict=True):
            row[:] = naive.movmatrix(words.tolist())


@pytest.fixture(scope="module")
def device():
    made = Device()
    every = [form for instruction in BOTH for form in questions.asked(instruction)]
    return Matrices(made, {None: made.move} | {form: made.kernel(form) for form in every})


def cases_of(instruction):
    part = PARTS[f"matrices.{instruction}"]
    return map(part.case, part.cases())


def answers(device, instruction, monkeypatch):
    monkeypatch.setattr(Matrices, "of", lambda wanted, told: device)
    told = []
    truth = PARTS[f"matrices.{instruction}"].measure(lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == len(truth.cases)
    return truth


# -- loads and stores ------------------------------------------------------------------------------


@pytest.mark.parametrize("instruction", BOTH)
def test_what_a_device_does_is_recorded_and_compared(device, instruction, monkeypatch, tmp_path):
    save(tmp_path / "matrices.zip", [answers(device, instruction, monkeypatch)])
    (truth,) = load(tmp_path / "matrices.zip")
    found = PARTS["matrices.ldmatrix"].compare(truth)
    assert (found.cases, found.different) == (372, 0)
    assert set(found.covered["form"]) == {"x1", "x2", "x4", "x1.trans", "x2.trans", "x4.trans"}
    assert found.numbers == sum(64 * 2 * count * 62 for count in (1, 2, 4))


@pytest.mark.parametrize("instruction", BOTH)
def test_a_half_that_met_another_byte_is_found(device, instruction, monkeypatch):
    truth = answers(device, instruction, monkeypatch)
    halves = truth.arrays["bytes"].copy()
    halves[5] += 2
    (difference,) = PARTS["matrices.ldmatrix"].compare(replace(truth, arrays={"bytes": halves})).differences
    assert (difference.witness["lane"], difference.witness["half"]) == (2, 1)
    assert "1 of 64 differ" in difference.message


def test_what_was_written_beside_is_found(device, monkeypatch):
    truth = answers(device, "stmatrix", monkeypatch)
    cases = [truth.cases[0] | {"others": 3}, *truth.cases[1:]]
    (difference,) = PARTS["matrices.ldmatrix"].compare(replace(truth, cases=cases)).differences
    assert "3 more places" in difference.message


def test_a_number_that_stands_twice_or_nowhere_has_no_place():
    window = np.full(16, 0xFFFF, np.uint16)
    window[[3, 7, 9]] = 0, 2, 2
    assert placed(window, 3).tolist() == [6, NOWHERE, NOWHERE]


def test_addresses_are_rows_of_shared_memory_and_what_is_stored_does_not_meet():
    for instruction in BOTH:
        for form, lanes in cases_of(instruction):
            assert not any(lane % 16 for lane in lanes)
            assert max(lanes) + 16 <= BYTES
            if instruction == "stmatrix":
                assert len(set(lanes)) == 32, form
    assert any(len(set(lanes)) < 32 for _, lanes in cases_of("ldmatrix"))


def test_every_form_of_hopper_is_asked_with_the_unread_lanes_elsewhere():
    assert len(questions.asked("ldmatrix")) == len(questions.asked("stmatrix")) == 6
    for form in questions.asked("ldmatrix"):
        assert (np.ptp(questions.addresses_of(form)[:, form.unread], axis=0) > 0).all() or form.count == 4


def test_another_layout_is_another_prediction():
    """Lanes that change places would differ from the record, and so would a missing .trans."""
    lanes = questions.addresses_of(Form("ldmatrix", 4))[5]
    plain, turned = (matrices.expected(Form("ldmatrix", 4, trans), lanes) for trans in (False, True))
    assert (plain != turned).sum() == 32 * 8 - 4 * 8
    swapped = lanes.copy()
    swapped[[0, 31]] = swapped[[31, 0]]
    assert (matrices.expected(Form("ldmatrix", 4), swapped) != plain).sum() == 2 * 8


# -- movmatrix -------------------------------------------------------------------------------------


def test_what_moves_is_recorded_and_compared(device, monkeypatch):
    monkeypatch.setattr(Matrices, "of", lambda wanted, told: device)
    truth = MOVES.measure(lambda done, total: None)
    assert MOVES.compare(truth).different == 0
    halves = truth.arrays["halves"].copy()
    halves[64 + 11] = 63
    (difference,) = MOVES.compare(replace(truth, arrays={"halves": halves})).differences
    assert difference.witness == {"lane": 5, "half": 1, "found": [31, 1], "expected": [12, 1]}


def test_a_half_that_no_lane_had_is_found(device):
    before = questions.given()
    after = device.moves(np.array(before))
    after[3, 0] = 999
    truth = MOVES.truth(MOVES.cases(), matrices.moved(before, after))
    assert truth.arrays["halves"][3 * 64] == NOWHERE
    assert MOVES.compare(truth).different == 1


# -- faults ----------------------------------------------------------------------------------------


def told(number):
    """Return the answer of a device that reads the lanes of the manual, each address at its turn."""
    form, lanes = CASES[number]
    read = [int(lane) for lane in lanes[: 8 * form.count]]
    if any(address % 16 for address in read):
        return 716, None
    if any(address > BYTES - 16 for address in read):
        return 700, None
    return 0, matrices.expected(form, lanes).tolist()


@pytest.fixture(scope="module")
def said():
    return [told(number) for number in range(len(CASES))]


def test_faults_are_recorded_and_compared(said, tmp_path):
    save(tmp_path / "matrices.zip", [faults_truth(said)])
    (truth,) = load(tmp_path / "matrices.zip")
    found = FAULTS.compare(truth)
    assert (found.cases, found.different) == (100, 0)
    assert found.covered["outcome"] == {"done": 52, "illegal address": 24, "misaligned address": 24}


def test_every_way_of_a_fault_is_asked_of_every_form():
    for form in questions.asked("ldmatrix"):
        asked = [lanes for other, lanes in CASES if other == form]
        unread = [lanes[lane] for lanes in asked for lane in form.unread]
        assert any(lane % 16 for lane in unread) == (form.count < 4)
        for result in (0, 700, 716):
            assert any(matrices.agrees(form, lanes, result) for lanes in asked)


@pytest.mark.parametrize(
    ("at", "answer", "message"),
    [
        (1, None, "the device says done"),
        (3, (700, None), "the device says illegal address"),
        (5, (716, None), "the device says misaligned address"),
        (5, (999, None), "the device says CUresult 999"),
    ],
)
def test_another_outcome_is_a_difference(said, at, answer, message):
    form, lanes = CASES[at]
    other = [*said]
    other[at] = answer or (0, matrices.expected(form, lanes).tolist())
    (difference,) = FAULTS.compare(faults_truth(other)).differences
    assert difference.message == message


def test_a_fault_outside_may_be_called_otherwise(said):
    other = [*said]
    other[2] = (715, None)
    assert FAULTS.compare(faults_truth(other)).different == 0


def test_a_half_that_an_unread_lane_changed_is_a_difference(said):
    other = [*said]
    other[5] = (0, [*said[5][1][:-1], 0])
    (difference,) = FAULTS.compare(faults_truth(other)).differences
    assert "other bytes" in difference.message


@pytest.mark.parametrize(
    ("error", "result"), [("CUDA_ERROR_ILLEGAL_ADDRESS: ...", 700), ("MISALIGNED_ADDRESS", 716)]
)
def test_what_the_driver_says_is_read(error, result, monkeypatch):
    def of(wanted, told):
        raise RuntimeError(error)

    monkeypatch.setattr(Matrices, "of", of)
    assert survived(matrices.met_alone, CASES[3]) == (result, None)


def test_an_error_that_is_none_of_these_is_told(monkeypatch):
    def of(wanted, told):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Matrices, "of", of)
    with pytest.raises(RuntimeError, match="out of memory"):
        survived(matrices.met_alone, CASES[0])


def test_a_launch_that_is_done_tells_what_the_halves_met(device, monkeypatch):
    monkeypatch.setattr(Matrices, "of", lambda wanted, told: device)
    for number in (0, 5, 50, 55):
        assert survived(matrices.met_alone, CASES[number]) == told(number)


# -- the source ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_form_of_hopper_assembles():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    every = [form for form in forms() if not form.kind.special]
    code, said = nvrtc.compile_to_cubin(
        library, Matrices.source(every), "--gpu-architecture=sm_90a", nvrtc.MINIMAL
    )
    assert said == ""
    assert all(Matrices.name(form).encode() in code for form in every)
    assert b"probe_movmatrix" in code


@pytest.mark.slow
def test_a_form_that_hopper_has_not_does_not_assemble():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    (form, *_) = [form for form in forms() if form.kind.special]
    with pytest.raises(AssertionError, match="not supported"):
        nvrtc.compile_to_cubin(library, Matrices.source([form]), "--gpu-architecture=sm_90a")
