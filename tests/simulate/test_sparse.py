"""mma.sp in the model: against whole matrices, and what an H200 did with any metadata."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewise import LayoutError, Refused, S, laneid, reg
from tilewise.gpu.verify.mma import MmaCase
from tilewise.gpu.verify.truth import load
from tilewise.hardware.mma.instructions import instructions, sparse_instructions
from tilewise.hardware.mma.sparse import Sparse
from tilewise.simulate.mma import columns_of, fragments_of, mma, operand, result, stored
from tilewise.simulate.numbers import is_float, whole_range
from tilewise.simulate.registers import Registers

RECORD = Path(__file__).parents[1] / "hardware" / "truth" / "mma.zip"
WORDS = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
EVERY = [replace(this, ordered=ordered) for this in sparse_instructions() for ordered in (True, False)]


def drawn(rng, dtype, shape):
    """Whole numbers that the type has, small enough that every sum of products is exact."""
    low, high = (-3, 3) if is_float(dtype) else whole_range(dtype)
    return rng.integers(max(low, -50), min(high, 50) + 1, shape)


def half_of(rng, this):
    """An A of whose every chunk some pair of units is kept."""
    half = Sparse.of(this.shape, this.a)
    whole = np.zeros((16, this.shape.k), int)
    unit = max(1, half.chunk // 4)
    for row in range(16):
        for first in range(0, this.shape.k, half.chunk):
            kept = rng.integers(2) if half.chunk == 2 else rng.permutation(4)[:2]
            for place in np.atleast_1d(kept):
                at = first + int(place) * unit
                whole[row, at : at + unit] = drawn(rng, this.a, unit)
    return whole


@pytest.mark.parametrize("this", EVERY, ids=str)
def test_the_product_is_that_of_the_whole_matrix(this):
    rng = np.random.default_rng(len(str(this)))
    for selector in Sparse.of(this.shape, this.a).selectors:
        whole = half_of(rng, this)
        right, start = drawn(rng, this.b, (8, this.shape.k)), rng.integers(-50, 50, (16, 8))
        a, metadata = stored(this, whole, selector=selector)
        held = a, operand(this, "B", right), operand(this, "C", start)
        found = result(this, mma(str(this), *held, metadata, selector=selector))
        assert np.array_equal(found, whole @ right.T + start)


# -- what an H200 did ------------------------------------------------------------------------------


def recorded(part):
    (truth,) = load(RECORD, part)
    return truth


def lane_by_lane(places):
    """Places as the record counts them: so many elements a lane, one after another."""
    return S[(32, places // 32) : (1 @ laneid, 1 @ reg)]


def test_the_product_is_that_of_the_pairs_that_an_h200_multiplied():
    """Places of registers alone, by metadata of any bits: no fragment has a part in what is expected."""
    pairs, rng = recorded("mma.sparse"), np.random.default_rng(7)
    sums = recorded("mma.sparse.accumulators")
    came = {str(MmaCase.of(case)): c for case, c in zip(sums.cases, sums.parted("c"), strict=True)}
    drawn_for = {}
    for case, d, b in zip(pairs.cases, pairs.parted("d"), pairs.parted("b"), strict=True):
        choice = MmaCase.of(case)
        this = choice.instruction
        if this not in drawn_for:
            types = {"A": this.a, "B": this.b, "C": this.d}
            numbers = {name: drawn(rng, types[name], fragments_of(this, name)[0].size) for name in "ABC"}
            held = [
                Registers.holding(numbers[name], lane_by_lane(numbers[name].size), types[name])
                for name in "ABC"
            ]
            drawn_for[this] = numbers, held
        numbers, held = drawn_for[this]
        metadata = Registers.of(np.array(case["metadata"])[:, None])
        made = mma(this, *held, metadata, selector=choice.selector)
        found = made.numbers(lane_by_lane(fragments_of(this, "D")[0].size), this.d).ravel()
        wanted = numbers["C"][came[str(choice)]].copy()
        np.add.at(wanted, d, np.repeat(numbers["A"], 8) * numbers["B"][b])
        assert np.array_equal(found, wanted), (str(choice), case["metadata"])
    assert len(pairs.cases) > 900


# -- what is refused -------------------------------------------------------------------------------


def test_metadata_that_do_not_ascend():
    _, metadata = stored(WORDS, np.tile([0, 1, 1, 0], (16, 4)))
    backwards = Registers(metadata.words * 0 + 0b0001_0001, metadata.known)
    with pytest.raises(Refused, match="indices 1 and 0 mean nothing"):
        columns_of(WORDS, backwards)
    plain = WORDS.replace("::ordered_metadata", "")
    assert columns_of(plain, backwards)[0].tolist() == [1, 0, 5, 4, 8, 8, 12, 12]
    assert columns_of(WORDS, metadata)[0].tolist() == [1, 2, 5, 6, 9, 10, 13, 14]


def test_only_the_lanes_that_the_selector_names_supply_metadata():
    whole = np.tile([0, 1, 1, 0], (16, 4))
    _, metadata = stored(WORDS, whole, selector=2)
    assert np.array_equal(columns_of(WORDS, metadata, 2), columns_of(WORDS, stored(WORDS, whole)[1]))
    with pytest.raises(Refused) as caught:
        columns_of(WORDS, metadata, 1)
    assert (caught.value.witness["fault"], caught.value.witness["lane"]) == ("unwritten", 1)
    with pytest.raises(Refused, match="no selector 4"):
        columns_of(WORDS, metadata, 4)


def test_an_a_that_is_not_sparse_enough():
    with pytest.raises(Refused, match="columns 0 to 3 of row 0"):
        stored(WORDS, np.ones((16, 16)))


def test_integers_saturate_where_the_word_says_so():
    words = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col{}.s32.s8.s8.s32"
    plain = words.format("")
    a, metadata = stored(plain, np.tile([100, 0, 0, 100], (16, 8)))
    held = (
        a,
        operand(plain, "B", np.full((8, 32), 100)),
        operand(plain, "C", np.full((16, 8), 2**31 - 1)),
    )
    found = [
        set(result(plain, mma(words.format(word), *held, metadata)).ravel().tolist())
        for word in ("", ".satfinite")
    ]
    assert found == [{2**31 - 1 + 16 * 10_000 - 2**32}, {2**31 - 1}]


def test_a_dense_instruction_stores_no_half():
    with pytest.raises(Refused, match="is no sparse instruction"):
        stored(instructions()[0], np.zeros((16, 16)))


def test_metadata_go_with_sparse_instructions_alone():
    a, metadata = stored(WORDS, np.tile([0, 1, 1, 0], (16, 4)))
    b, c = operand(WORDS, "B", np.ones((8, 16))), operand(WORDS, "C", np.zeros((16, 8)))
    with pytest.raises(LayoutError, match="takes the metadata of one warp"):
        mma(WORDS, a, b, c)
    dense = WORDS.replace("mma.sp::ordered_metadata", "mma")
    with pytest.raises(LayoutError, match="takes no metadata"):
        mma(dense, a.beside(a), b, c, metadata)


def test_how_a_sparse_sum_is_added_is_not_known():
    a, metadata = stored(WORDS, np.tile([0, 1, 1, 0], (16, 4)))
    b, c = operand(WORDS, "B", np.ones((8, 16))), operand(WORDS, "C", np.zeros((16, 8)))
    with pytest.raises(Refused, match=r"how a device adds the floats of mma\.sp"):
        mma(WORDS, a, b, c, metadata, adds_as="sm_90")


def test_no_such_operand():
    with pytest.raises(LayoutError, match="no operand"):
        operand(WORDS, "E", np.zeros(1))
