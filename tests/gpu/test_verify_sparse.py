"""mma.sparse: what an emulated warp tells, recorded and compared; planted faults are found."""

from dataclasses import replace

import numpy as np
import pytest
from tests.emit import nvrtc
from tests.gpu.warp import Warp
from tools.questions import products as questions

from tilewise.gpu.verify import mma
from tilewise.gpu.verify.mma import MmaCase, Products, source
from tilewise.gpu.verify.part import Questions
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.truth import load, save

EVERY = questions.sparse()
SPARSE, ACCUMULATORS = PARTS["mma.sparse"], PARTS["mma.sparse.accumulators"]


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
    device = Warp()
    return Products(device, {choice.probe: device.kernel(choice.probe, choice.fragments, expanding(choice))})


def truth_of(choices):
    """The record of each with the last of its metadata."""
    cases = [case for choice in choices for case in questions.with_metadata([choice])[-1:]]
    words = [np.array([case.metadata], np.uint32) for case in cases]
    found = [products_of(c).pairs(c.probe, each)[0] for c, each in zip(cases, words, strict=True)]
    shapes = [case.instruction.shape for case in cases]
    answers = [mma.as_recorded(pairs, shape.n) for pairs, shape in zip(found, shapes, strict=True)]
    return SPARSE.truth(map(questions.row, cases), answers)


@pytest.fixture
def truth():
    small = [choice for choice in EVERY if choice.instruction.shape.k <= 16 and choice.instruction.a != "f16"]
    small = [choice for choice in small if choice.instruction.ordered or choice.selector == 1]
    return truth_of(small)


def test_what_a_warp_tells_is_recorded_and_compared(truth, tmp_path):
    save(tmp_path / "mma.zip", [truth])
    (back,) = load(tmp_path / "mma.zip")
    found = SPARSE.compare(back)
    assert (found.cases, found.different) == (len(truth.cases), 0)
    assert set(found.covered["selector"]) == {"0", "1", "2", "3"}


@pytest.mark.parametrize("types", ["s8", "u4", "e5m2"])
def test_narrow_types_are_recorded_and_compared(types):
    choices = [choice for choice in EVERY if choice.instruction.a == choice.instruction.b == types]
    some = [choice for choice in choices if choice.instruction.ordered][:1]
    truth = truth_of(some)
    assert SPARSE.compare(truth).different == 0


@pytest.mark.parametrize("name", ["d", "b"])
def test_one_place_that_is_another_is_found(truth, name):
    array = truth.arrays[name].copy()
    array[-1] -= 1
    (difference,) = SPARSE.compare(replace(truth, arrays=truth.arrays | {name: array})).differences
    assert "1 of" in difference.message
    assert difference.case == str(MmaCase.of(truth.cases[-1]))


def test_four_bits_that_the_catalogue_reads_elsewhere_are_found(truth):
    """Each word of the lanes that the selector names matters, and no other."""
    for case in truth.cases[::5]:
        choice = MmaCase.of(case)
        words = choice.metadata
        want = choice.columns
        matter = []
        for lane in range(32):
            word = 0x44444444 if words[lane] != 0x44444444 else 0xEEEEEEEE
            other = replace(choice, metadata=(*words[:lane], word, *words[lane + 1 :]))
            matter.append(not np.array_equal(other.columns, want))
        assert tuple(np.flatnonzero(matter)) == choice.half.lanes(choice.selector)


def test_a_case_survives_its_record(truth):
    assert [questions.row(MmaCase.of(case)) for case in truth.cases] == [
        {key: value for key, value in case.items() if key != "length"} for case in truth.cases
    ]


def test_what_passes_through_is_recorded_and_compared():
    some = EVERY[::9]
    came = [products_of(choice).passed(choice.probe) for choice in some]
    truth = ACCUMULATORS.truth(map(questions.row, some), [{"c": each} for each in came])
    assert ACCUMULATORS.compare(truth).different == 0
    changed = truth.arrays["c"].copy()
    changed[-1] = 0
    (difference,) = ACCUMULATORS.compare(replace(truth, arrays={"c": changed})).differences
    assert difference.witness == {"place": 127, "found": 0, "expected": 127}


def test_a_device_is_asked_all(monkeypatch):
    some = EVERY[:1]
    monkeypatch.setattr(Products, "of", lambda probes, told: products_of(*some))
    found = []
    for part, cases in ((SPARSE, questions.with_metadata(some)), (ACCUMULATORS, some)):
        asked = Questions((), [questions.row(case) for case in cases])
        part = replace(part, questions=lambda name, asked=asked: asked)
        found.append(part.compare(part.measure(lambda done, total: None)))
    assert [(each.cases, each.different) for each in found] == [(14, 0), (1, 0)]


def test_every_four_bits_of_the_metadata_have_a_number_that_ten_cases_spell():
    words = questions.metadata_of(EVERY[0])[:10]
    pieces = np.stack([words >> 4 * piece & 15 for piece in range(8)], axis=-1).reshape(10, 256)
    assert (pieces[0] == questions.FIRST).all()
    assert (pieces[1] == questions.SECOND).all()
    spelled = sum((pieces[2 + bit] == questions.SECOND).astype(int) << bit for bit in range(8))
    assert spelled.tolist() == list(range(256))


def test_what_is_drawn_is_legal_and_of_every_kind():
    """Where nothing says that indices ascend, and they are not halves of one element, any two are drawn."""
    for choice in EVERY:
        legal = {first | second << 2 for first, second in choice.half.patterns}
        if not choice.instruction.ordered and choice.instruction.a != "tf32":
            legal = set(range(16))
        words = questions.metadata_of(choice)
        pieces = {int(word) >> 4 * piece & 15 for word in words.ravel() for piece in range(8)}
        assert pieces == legal
        assert len(words) == (14 if choice.instruction.ordered else 4)


@pytest.mark.slow
def test_every_instruction_assembles():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    some = [choice for choice in EVERY if choice.instruction.ordered or choice.selector == 0]
    for group in Products.programs(choice.probe for choice in some):
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
