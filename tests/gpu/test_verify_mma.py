"""mma.sync's parts: what an emulated warp tells, recorded and compared; planted faults are found."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.codegen import nvrtc
from tests.gpu.warp import Warp
from tools.questions import products as questions

from tilewise.core.dtypes import DType
from tilewise.gpu.verify import mma
from tilewise.gpu.verify.kernels import ONE
from tilewise.gpu.verify.mma import INTEGERS, Products, WarpOperand, factor, source
from tilewise.gpu.verify.part import Questions
from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.truth import load, save

EVERY = questions.dense()
LARGEST_FIRST = sorted((case.instruction for case in EVERY), key=lambda this: this.shape, reverse=True)
SMALLEST = {(this.a, this.b, this.op, this.majors): this for this in LARGEST_FIRST}
SMALL = [*map(mma.MmaCase, SMALLEST.values())]
DENSE, ACCUMULATORS = PARTS["mma.dense"], PARTS["mma.accumulators"]


def products_of(every):
    device = Warp()
    kernels = {}
    for this in every:
        kernels[this.probe] = device.kernel(this.probe, this.fragments)
    return Products(device, kernels)


def dense_truth(every):
    products = products_of(every)
    return pairs_truth(every, [products.pairs(this.probe)[0] for this in every])


def pairs_truth(every, found):
    """The record of pairs, [place of A, place of D]."""
    shapes = [this.instruction.shape for this in every]
    answers = [mma.as_recorded(pairs, shape.n) for pairs, shape in zip(found, shapes, strict=True)]
    return DENSE.truth(map(questions.row, every), answers)


def passed_truth(every, found):
    """The record of the places of C."""
    return ACCUMULATORS.truth(map(questions.row, every), [{"c": came} for came in found])


@pytest.fixture(scope="module")
def truth():
    return dense_truth(SMALL)


# -- dense products --------------------------------------------------------------------------------


def test_what_a_warp_tells_is_recorded_and_compared(truth, tmp_path):
    save(tmp_path / "mma.zip", [truth])
    (back,) = load(tmp_path / "mma.zip")
    found = DENSE.compare(back)
    assert (found.cases, found.different) == (len(SMALL), 0)
    assert found.numbers == sum(this.instruction.shape.n * this.probe.a.places for this in SMALL)


def test_the_small_ones_are_of_every_type():
    assert {this.types[:2] for this in SMALL} == {this.types[:2] for this in EVERY}
    assert {this.instruction.op for this in SMALL} == {"", "xor.popc", "and.popc"}


def test_a_case_survives_its_record(truth):
    assert [mma.MmaCase.of(case) for case in truth.cases] == SMALL


@pytest.mark.parametrize("name", ["d", "b"])
def test_one_place_that_is_another_is_found(truth, name):
    array = truth.arrays[name].copy()
    array[3] += 1
    (difference,) = DENSE.compare(replace(truth, arrays=truth.arrays | {name: array})).differences
    assert difference.witness["place"] == 0
    assert "1 of" in difference.message


def test_a_place_that_reaches_too_few_is_found():
    this = SMALL[0]
    pairs = products_of([this]).pairs(this.probe)[0]
    pairs[5, np.flatnonzero(pairs[5] >= 0)[0]] = -1
    (difference,) = DENSE.compare(pairs_truth([this], [pairs])).differences
    assert difference.witness["place"] == 5
    assert "places of D and B unknown, not" in difference.message


def test_a_number_that_no_product_gives_is_found():
    this = SMALL[0]
    pairs = products_of([this]).pairs(this.probe)[0]
    pairs[7, 0] = -2
    assert DENSE.compare(pairs_truth([this], [pairs])).different == 1


def test_a_product_is_the_same_however_k_is_numbered():
    """The comparison is of products and not of names: columns may change places in A and B alike."""
    a, b, _, d = map(SMALL[-1].places, "ABCD")
    order = np.arange(a.shape[-1])
    order[[0, 1]] = order[[1, 0]]
    want, both, one = (
        mma.meeting(left, d[:, :, None, :], right.transpose(0, 2, 1)[:, None])
        for left, right in ((a, b), (a[..., order], b[..., order]), (a[..., order], b))
    )
    assert all(map(np.array_equal, want, both))
    assert not all(map(np.array_equal, want, one))


# -- accumulators ----------------------------------------------------------------------------------


def test_what_passes_through_is_recorded_and_compared():
    products = products_of(EVERY)
    truth = passed_truth(EVERY, [products.passed(this.probe) for this in EVERY])
    found = ACCUMULATORS.compare(truth)
    assert (found.cases, found.different) == (len(EVERY), 0)
    changed = truth.arrays["c"].copy()
    changed[[9, 10]] = changed[[10, 9]]
    (difference,) = ACCUMULATORS.compare(replace(truth, arrays={"c": changed})).differences
    assert difference.witness == {"place": 9, "found": 10, "expected": 9}


def test_volta_widens_an_accumulator_into_other_places():
    """C of f16 has whole rows in a lane, D of f32 has not: what passes changes its place."""
    (this,) = [
        this
        for this in EVERY
        if this.types[2:] == ("f16", "f32") and this.instruction.majors == ("row", "col")
    ]
    came = products_of([this]).passed(this.probe)
    assert sorted(came.tolist()) == list(range(256))
    assert came.tolist() != list(range(256))
    assert ACCUMULATORS.compare(passed_truth([this], [came])).different == 0


def test_a_device_is_asked_all_and_how_far_it_is_is_told(monkeypatch):
    some = SMALL[:3]

    def of(probes, told):
        assert set(probes) == {this.probe for this in some}
        told(1, 2)
        return products_of(some)

    monkeypatch.setattr(Products, "of", of)
    said = []
    asked = Questions((), [questions.row(case) for case in some])
    for part in (DENSE, ACCUMULATORS):
        part = replace(part, questions=lambda name: asked)
        found = part.compare(part.measure(lambda done, total: said.append((done, total))))
        assert (found.cases, found.different) == (3, 0)
    assert said == 2 * [(1, 5), (3, 5), (4, 5), (5, 5)]


# -- operands --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f64", "tf32", "bf16", "e5m2", "u4", "b1"])
def test_places_fill_registers_from_the_low_bits_on(dtype):
    held, bits = WarpOperand(dtype, 4), DType.of(dtype).bits
    words = held.words_of(np.eye(held.places, dtype=bool), factor(dtype, "B")[0])
    for place in range(0, held.places, 7):
        lane, element = divmod(place, held.places // 32)
        whole = sum(int(word) << 32 * i for i, word in enumerate(words[place, lane]))
        assert whole == factor(dtype, "B")[0] << bits * element
        assert words[place].astype(bool).any(axis=1).sum() == 1


@pytest.mark.parametrize("names", [("s8", "u8"), ("s4", "u4")])
def test_the_products_of_integers_tell_which_type_each_operand_has(names):
    found = {(a, b): factor(a, "A")[1] * factor(b, "B")[1] for a, b in product(names, repeat=2)}
    assert len(set(found.values())) == 4
    for name in names:
        bits = DType.of(name).bits
        for pattern, number in INTEGERS[name]:
            assert pattern - (name[0] == "s") * (1 << bits) == number


def test_other_types_tell_by_what_is_one():
    """One of a type is no one of another of as many bits, so an operand that is read as another shows."""
    for a, b in product(ONE, repeat=2):
        if DType.of(a).bits == DType.of(b).bits and {a, b} not in ({"s8", "u8"}, {"f32", "tf32"}, {a}):
            assert ONE[a] != ONE[b]


# -- the source ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_instruction_assembles():
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed")
    for group in Products.programs(this.probe for this in EVERY):
        code, said = nvrtc.compile_to_cubin(library, source(group), "-arch=sm_90a", nvrtc.MINIMAL)
        assert said == ""
        assert all(this.kernel.encode() in code for this in group)
        assert len(group) <= Products.together


def test_the_instruction_as_it_is_written():
    this = next(this for this in EVERY if str(this).endswith("m16n8k8.row.col.f64.f64.f64.f64"))
    text = source([this.probe])
    assert "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" in text
    assert '"d"(a_row[3]), "d"(b_row[0])' in text
