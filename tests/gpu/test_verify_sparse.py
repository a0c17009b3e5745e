"""mma.sparse: what an emulated warp tells, recorded and compared; planted faults are found."""

from dataclasses import replace

import numpy as np
import pytest
from tests.emit import nvrtc
from tests.gpu.warp import Warp

from tilewise.gpu.probes.mma import source
from tilewise.gpu.probes.products import Products, programs
from tilewise.gpu.verify import sparse
from tilewise.gpu.verify.truth import load, save

EVERY = sparse.asked()


def expanding(choice):
    """[1, M, K] of the stored A: the words of metadata read one index at a time, each row of words once."""
    half = choice.half
    known = {}

    def columns(words):
        key = words.tobytes()
        if key not in known:
            indices = half.unpack([int(word) for word in words], choice.selector)
            known[key] = np.array([[half.column(s, row) for s in range(half.stored)] for row in indices])
        return known[key]

    def expand(stored, words):
        full = np.zeros((1, half.shape.m, half.shape.k), stored.dtype)
        np.add.at(full[0], (np.arange(half.shape.m)[:, None], columns(words)), stored[0])
        return full

    return expand


def products_of(choice):
    device, half = Warp(), choice.half
    fragments = ([half.a_fragment], [half.b_fragment], [half.d_fragment], [half.d_fragment])
    return Products(device, {choice.probe: device.kernel(choice.probe, fragments, expanding(choice))})


def truth_of(monkeypatch, choices, take=slice(None)):
    monkeypatch.setattr(sparse, "asked", lambda: tuple(choices))
    chosen = sparse.metadata_of
    monkeypatch.setattr(sparse, "metadata_of", lambda choice: chosen(choice)[take])
    each = [products_of(choice).pairs(choice.probe, sparse.metadata_of(choice)) for choice in choices]
    return sparse.truth_of([pairs for found in each for pairs in found])


@pytest.fixture
def truth(monkeypatch):
    small = [choice for choice in EVERY if choice.instruction.shape.k <= 16 and choice.instruction.a != "f16"]
    small = [choice for choice in small if choice.instruction.ordered or choice.selector == 1]
    return truth_of(monkeypatch, small, slice(-1, None))


def test_what_a_warp_tells_is_recorded_and_compared(truth, tmp_path):
    save(tmp_path / "mma.zip", [truth])
    (back,) = load(tmp_path / "mma.zip")
    found = sparse.compare(back)
    assert (found.cases, found.different) == (len(truth.cases), 0)
    assert set(found.covered["selector"]) == {"0", "1", "2", "3"}


@pytest.mark.parametrize("types", ["s8", "u4", "e5m2"])
def test_narrow_types_are_recorded_and_compared(types, monkeypatch):
    choices = [choice for choice in EVERY if choice.instruction.a == choice.instruction.b == types]
    some = [choice for choice in choices if choice.instruction.ordered][:1]
    truth = truth_of(monkeypatch, some, slice(-1, None))
    assert sparse.compare(truth).different == 0


@pytest.mark.parametrize("name", ["d", "b"])
def test_one_place_that_is_another_is_found(truth, name):
    array = truth.arrays[name].copy()
    array[-1] -= 1
    (difference,) = sparse.compare(replace(truth, arrays=truth.arrays | {name: array})).differences
    assert "1 of" in difference.message
    assert difference.case == str(sparse.choice_of(truth.cases[-1]))


def test_four_bits_that_the_catalogue_reads_elsewhere_are_found(truth):
    """Each word of the lanes that the selector names matters, and no other."""
    for case in truth.cases[::5]:
        choice = sparse.choice_of(case)
        words = np.array(case["metadata"])
        want = sparse.columns(choice.half, choice.selector, words)
        matter = []
        for lane in range(32):
            other = words.copy()
            other[lane] = 0x44444444 if words[lane] != 0x44444444 else 0xEEEEEEEE
            matter.append(not np.array_equal(sparse.columns(choice.half, choice.selector, other), want))
        assert tuple(np.flatnonzero(matter)) == choice.half.lanes(choice.selector)


def test_a_case_survives_its_record(truth):
    assert [sparse.row_of(sparse.choice_of(case)) for case in truth.cases] == [
        {key: case[key] for key in ("shape", "types", "ordered", "selector")} for case in truth.cases
    ]


def test_what_passes_through_is_recorded_and_compared(monkeypatch):
    some = EVERY[::9]
    monkeypatch.setattr(sparse, "asked", lambda: some)
    came = [products_of(choice).passed(choice.probe) for choice in some]
    truth = sparse.accumulators_truth(came)
    assert sparse.compare_accumulators(truth).different == 0
    changed = truth.arrays["c"].copy()
    changed[-1] = 0
    (difference,) = sparse.compare_accumulators(replace(truth, arrays={"c": changed})).differences
    assert difference.witness == {"place": 127, "found": 0, "expected": 127}


def test_a_device_is_asked_all(monkeypatch):
    some = EVERY[:1]
    monkeypatch.setattr(Products, "of", lambda probes, told: products_of(*some))
    monkeypatch.setattr(sparse, "asked", lambda: some)
    truth = sparse.measure(lambda done, total: None)
    assert (sparse.compare(truth).cases, sparse.compare(truth).different) == (14, 0)
    assert sparse.compare_accumulators(sparse.measure_accumulators(lambda done, total: None)).cases == 1


def test_every_four_bits_of_the_metadata_have_a_number_that_ten_cases_spell():
    words = sparse.metadata_of(EVERY[0])[:10]
    pieces = np.stack([words >> 4 * piece & 15 for piece in range(8)], axis=-1).reshape(10, 256)
    assert (pieces[0] == sparse.FIRST).all()
    assert (pieces[1] == sparse.SECOND).all()
    spelled = sum((pieces[2 + bit] == sparse.SECOND).astype(int) << bit for bit in range(8))
    assert spelled.tolist() == list(range(256))


def test_what_is_drawn_is_legal_and_of_every_kind():
    """Where nothing says that indices ascend, and they are not halves of one element, any two are drawn."""
    for choice in EVERY:
        legal = {first | second << 2 for first, second in choice.half.patterns}
        if not choice.instruction.ordered and choice.instruction.a != "tf32":
            legal = set(range(16))
        words = sparse.metadata_of(choice)
        pieces = {int(word) >> 4 * piece & 15 for word in words.ravel() for piece in range(8)}
        assert pieces == legal
        assert len(words) == (14 if choice.instruction.ordered else 4)


@pytest.mark.slow
def test_every_instruction_assembles():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    some = [choice for choice in EVERY if choice.instruction.ordered or choice.selector == 0]
    for group in programs(choice.probe for choice in some):
        code, _ = nvrtc.compile_to_cubin(library, source(group), "-arch=sm_90a", nvrtc.MINIMAL)
        assert all(this.kernel.encode() in code for this in group)


@pytest.mark.slow
def test_a_selector_that_there_is_not_does_not_assemble():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    for choice in EVERY[::7]:
        this = choice.instruction
        lax = (str(this.shape), this.a, this.d) == ("m16n8k32", "f16", "f32")  # the assembler takes 2 and 3
        past = replace(choice.probe, selector=4 if lax else len(choice.half.selectors))
        with pytest.raises(AssertionError, match="error"):
            nvrtc.compile_to_cubin(library, source([past]), "--gpu-architecture=sm_90a")
