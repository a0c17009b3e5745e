"""mma.sync in the model: every dense instruction against whole numbers, and what an H200 did."""

from pathlib import Path

import numpy as np
import pytest

from tilewise import LayoutError, Refused, S, laneid, reg
from tilewise.gpu.verify.mma import MmaCase
from tilewise.gpu.verify.truth import load
from tilewise.hardware.mma.instructions import (
    Instruction,
    Shape,
    instructions,
    kind_instructions,
)
from tilewise.simulate.mma import adder_of, bound, dtype_of, fragments_of, mma, operand, registers_of, result
from tilewise.simulate.numbers import FLOATS, is_float, whole_range
from tilewise.simulate.registers import Registers
from tilewise.simulate.sums import product

RECORD = Path(__file__).parents[1] / "hardware" / "truth" / "mma.zip"
PLAIN = [*instructions(), *(this for this in kind_instructions(sparse=False) if this.scaling is None)]
WORDS = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def drawn(rng, dtype, shape):
    """Whole numbers that the type has, small enough that every sum of products is exact."""
    if not is_float(dtype):
        low, high = whole_range(dtype)
        return rng.integers(max(low, -100), min(high, 100) + 1, shape)
    most = {"e2m1": 1, "e3m2": 2, "e2m3": 1, "f64": 1000}.get(dtype, 3)
    return rng.integers(-most, most + 1, shape)


@pytest.mark.parametrize("this", PLAIN, ids=str)
def test_whole_numbers_are_multiplied_exactly(this):
    rng = np.random.default_rng(len(str(this)))
    shape, products = this.shape, len(fragments_of(this, "A"))
    left = drawn(rng, this.a, (products, shape.m, shape.k))
    right = drawn(rng, this.b, (products, shape.n, shape.k))
    start = rng.integers(-50, 50, (products, shape.m, shape.n))
    held = [operand(this, *pair) for pair in zip("ABC", (left, right, start), strict=True)]
    found = result(this, mma(str(this), *held)).reshape(start.shape)
    op = getattr(this, "op", "")
    for each in range(products):
        if op:
            differ = left[each][:, None, :] != right[each][None, :, :]
            both = left[each][:, None, :] & right[each][None, :, :]
            wanted = (differ if op == "xor.popc" else both).sum(-1)
        else:
            wanted = left[each] @ right[each].T
        assert np.array_equal(found[each], wanted + start[each])


# -- what an H200 did ------------------------------------------------------------------------------


def recorded(part):
    (truth,) = load(RECORD, part)
    return truth


def lane_by_lane(places):
    """Places as the record counts them: so many elements a lane, one after another."""
    return S[(32, places // 32) : (1 @ laneid, 1 @ reg)]


def by_the_record(this, a, b, c, met, came):
    """D's places, out of those of A, B and C, by the pairs that an H200 was seen to multiply and add.

    `met` has for every place of A, in order, N places of D with those of B; `came`, for every place of D,
    that of C.
    """
    d_places, b_places = (one.reshape(len(a), -1) for one in met)
    left, right = np.broadcast_to(a[:, None], d_places.shape), b[b_places]
    pairs = {"xor.popc": left != right, "and.popc": left * right}.get(this.op, left * right)
    found = c[came].copy()
    np.add.at(found, d_places, pairs)
    return found


def places_of(this):
    return {name: registers_of(this, name) * 32 * 32 // dtype_of(this, name).bits for name in "ABCD"}


def test_the_product_is_that_of_the_pairs_that_an_h200_multiplied():
    """Places of registers alone: no fragment of ours has a part in what is expected."""
    dense, sums, rng = recorded("mma.dense"), recorded("mma.accumulators"), np.random.default_rng(7)
    every = zip(dense.cases, dense.parted("d"), dense.parted("b"), sums.cases, sums.parted("c"), strict=True)
    for case, d, b, other, came in every:
        this = MmaCase.of(case).instruction
        assert this == MmaCase.of(other).instruction
        drawn_places = {name: drawn(rng, dtype_of(this, name).name, n) for name, n in places_of(this).items()}
        held = [
            Registers.holding(drawn_places[name], lane_by_lane(drawn_places[name].size), dtype_of(this, name))
            for name in "ABC"
        ]
        found = mma(this, *held).numbers(lane_by_lane(places_of(this)["D"]), this.d).ravel()
        wanted = by_the_record(this, *(drawn_places[name] for name in "ABC"), (d, b), came)
        assert np.array_equal(found, wanted), str(this)


def test_every_dense_instruction_of_hopper_was_asked():
    said = {str(MmaCase.of(case).instruction) for case in recorded("mma.dense").cases}
    assert said == {str(this) for this in instructions(arch="sm_90a")}


# -- floats and integers ---------------------------------------------------------------------------


def test_floats_are_added_exactly_or_as_an_architecture_adds_them():
    rng = np.random.default_rng(1)
    numbers = [rng.standard_normal((16, 16)), rng.standard_normal((8, 16)), rng.standard_normal((16, 8))]
    held = [operand(WORDS, *pair) for pair in zip("ABC", numbers, strict=True)]
    left, right, start = (result(WORDS, one, name) for one, name in zip(held, "ABC", strict=True))
    exact, hopper = result(WORDS, mma(WORDS, *held)), result(WORDS, mma(WORDS, *held, adds_as="sm_90"))
    assert np.array_equal(exact, product(left, right, start, "f32"))
    assert np.array_equal(hopper, product(left, right, start, "f32", adder=adder_of(WORDS, "sm_90")))
    assert (exact != hopper).any()
    room = bound(WORDS, *held, "sm_90")[0, 0]
    assert (np.abs(exact - hopper) <= room).all()
    assert room.max() < 1e-5


def test_integers_and_doubles_leave_no_room():
    for words in ("m16n8k32.row.col.s32.s8.u8.s32", "m8n8k4.row.col.f64.f64.f64.f64"):
        shape = Shape.of(words.split(".")[0])
        held = [
            operand(words, name, np.ones(size))
            for name, size in (
                ("A", (shape.m, shape.k)),
                ("B", (shape.n, shape.k)),
                ("C", (shape.m, shape.n)),
            )
        ]
        assert adder_of(words, "sm_90") is None
        assert not bound(words, *held, "sm_90").any()


@pytest.mark.parametrize("words", ["m16n8k32.row.col.f32.e4m3.e5m2.f32", "m8n8k4.row.col.f32.f16.f16.f32"])
def test_what_hopper_runs_as_other_instructions_has_a_wider_bound(words):
    assert adder_of(words, "sm_90") is None
    assert adder_of(words, "sm_89" if "e4m3" in words else "sm_70") is not None
    shape, rng = Shape.of(words.split(".")[0]), np.random.default_rng(3)
    sizes = {"A": (shape.m, shape.k), "B": (shape.n, shape.k), "C": (shape.m, shape.n)}
    held = [operand(words, name, rng.standard_normal(size)) for name, size in sizes.items()]
    assert np.array_equal(mma(words, *held).words, mma(words, *held, adds_as="sm_90").words)
    room = bound(words, *held, "sm_90")
    assert (room > 0).all()
    assert room.max() < 1e-3
    ones = [operand(words, name, np.ones(sizes[name])) for name in "AB"]
    many = operand(words, "C", np.full(sizes["C"], 2.0**24))  # each 1 may be lost, alone with 2^24
    assert (bound(words, *ones, many, "sm_90") >= shape.k).all()


def test_satfinite_is_a_word_of_the_instruction():
    words = "m16n8k16.row.col{}.s32.s8.s8.s32"
    full = [
        operand(words.format(""), "A", np.full((16, 16), 127)),
        operand(words.format(""), "B", np.full((8, 16), 127)),
        operand(words.format(""), "C", np.full((16, 8), 2**31 - 1)),
    ]
    wrapped, held = (mma(words.format(word), *full) for word in ("", ".satfinite"))
    assert set(result(words.format(""), held).ravel().tolist()) == {2**31 - 1}
    assert set(result(words.format(""), wrapped).ravel().tolist()) == {2**31 - 1 + 16 * 127**2 - 2**32}
    assert np.array_equal(mma(words.format(""), *full, saturate=True).words, held.words)


def test_a_register_of_tf32_loses_its_low_bits():
    words = "m16n8k4.row.col.f32.tf32.tf32.f32"
    a = Registers.of(np.full((32, 2), 0x3F801FFF))  # 1 and low bits
    b = operand(words, "B", np.ones((8, 4)))
    assert set(result(words, mma(words, a, b, operand(words, "C", np.zeros((16, 8))))).ravel()) == {4.0}


def test_results_are_rounded_to_f16():
    words = "m16n8k8.row.col.f16.f16.f16.f16"
    held = [
        operand(words, "A", np.full((16, 8), 256.0)),
        operand(words, "B", np.eye(8) * [[1], [1 + 2**-8], [300], [1], [1], [1], [1], [1]]),
        operand(words, "C", np.full((16, 8), 2.0**-6)),
    ]
    found = result(words, mma(words, *held))[0].tolist()
    assert found[:3] == [256.0, 257.0, np.inf]
    assert FLOATS["f16"].largest < 256 * 300


# -- many warps, and what is refused ----------------------------------------------------------------


def test_each_warp_multiplies_its_own():
    words, rng = "m16n8k8.row.col.f32.tf32.tf32.f32", np.random.default_rng(2)
    every = [
        [
            operand(words, name, rng.integers(-3, 4, size))
            for name, size in (("A", (16, 8)), ("B", (8, 8)), ("C", (16, 8)))
        ]
        for _ in range(3)
    ]
    held = [Registers.of(np.concatenate([one[at].words for one in every])) for at in range(3)]
    together = mma(words, *held)
    for warp, one in enumerate(every):
        assert np.array_equal(together.warp(warp).words, mma(words, *one).words)


def test_a_register_that_nothing_wrote_is_named():
    a, b = Registers.empty(4), operand(WORDS, "B", np.ones((8, 16)))
    with pytest.raises(Refused) as caught:
        mma(WORDS, a, b, operand(WORDS, "C", np.zeros((16, 8))))
    assert caught.value.code == "TW612"
    assert caught.value.witness["instruction"] == f"{WORDS}, A"


@pytest.mark.parametrize(
    "this",
    [
        str(next(this for this in kind_instructions() if this.scaling)),
        str(next(this for this in kind_instructions() if this.sparse)),
    ],
)
def test_what_the_model_does_not_multiply(this):
    registers = Registers.empty(4)
    with pytest.raises(Refused, match="mma does not multiply"):
        mma(this, registers, registers, registers)


def test_the_number_of_registers():
    b, c = operand(WORDS, "B", np.ones((8, 16))), operand(WORDS, "C", np.zeros((16, 8)))
    with pytest.raises(LayoutError, match=r"A of .* is in 4 registers, not 2"):
        mma(WORDS, b, b, c)


def test_an_instruction_that_does_not_exist():
    with pytest.raises(Refused):
        operand(Instruction(Shape(16, 8, 16), "f16", "bf16", "f32"), "A", np.zeros((16, 16)))


def test_an_operand_that_is_given_the_other_way_round():
    """B is [N, K]: one of [K, N] has as many numbers, and is not taken."""
    words = "m16n8k16.row.col.f32.f16.f16.f32"
    for name, shape in (("A", (8, 32)), ("B", (16, 8)), ("C", (8, 16)), ("B", (8, 8)), ("B", (2, 8, 16))):
        with pytest.raises(LayoutError, match="numbers of the shape"):
            operand(words, name, np.zeros(shape))
    assert operand(words, "B", np.zeros(128)).count == 2


def test_operands_of_other_warps():
    words = "m16n8k16.row.col.f32.f16.f16.f32"
    one = [operand(words, name, np.zeros(size)) for name, size in (("A", 256), ("B", 128), ("C", 128))]
    two = [Registers.of(np.concatenate([held.words] * 2)) for held in one]
    assert mma(words, *two).warps == 2
    for which in range(3):
        mixed = [two[at] if at == which else one[at] for at in range(3)]
        with pytest.raises(LayoutError, match="A is of "):
            mma(words, *mixed)
        with pytest.raises(LayoutError, match="A is of "):
            bound(words, *mixed, "sm_90")


@pytest.mark.parametrize(("arch", "kept"), [("sm_70", 23), ("sm_75", 24), ("sm_80", 24), ("sm_90", 25)])
def test_each_architecture_keeps_its_own_bits(arch, kept):
    """Beside 1, a term of 2^-kept is the last that is seen."""
    words = "m16n8k8.row.col.f32.f16.f16.f32"
    b, c = operand(words, "B", np.eye(8)), operand(words, "C", np.full((16, 8), -1.0))
    for last, left in ((kept, 2.0**-kept), (kept + 1, 0.0)):
        a = np.zeros((16, 8))
        a[0, :2] = 1.0, 2.0**-12
        pair = np.zeros((8, 8))
        pair[0, :2] = 1.0, 2.0 ** (12 - last)
        held = operand(words, "A", a), operand(words, "B", pair), c
        assert result(words, mma(words, *held, adds_as=arch))[0, 0] == left
    assert result(words, mma(words, operand(words, "A", a), b, c))[0, 1] == 2.0**-12 - 1
