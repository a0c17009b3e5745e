"""ldmatrix, stmatrix and movmatrix in the model: against the manual's words, and what an H200 did."""

from pathlib import Path

import numpy as np
import pytest
from tests.hardware import naive_matrices

from tilewise import LayoutError, Refused
from tilewise.gpu.verify.truth import load
from tilewise.hardware.matrices.forms import Form, forms, short
from tilewise.simulate.matrices import ldmatrix, movmatrix, stmatrix
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers

RECORD = Path(__file__).parents[1] / "hardware" / "truth" / "matrices.zip"
BYTES = 32 * 1024
"""Shared memory of the recorded cases."""


def filled(size, seed=1):
    memory = Memory(size)
    memory.put(np.random.default_rng(seed).integers(0, 256, size), "u8")
    return memory


def drawn(form, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(64) if form.instruction == "stmatrix" else rng.integers(0, 64, 64)
    read = form.count * form.rows
    return [16 * int(row) if lane < read else None for lane, row in enumerate(rows[:32])]


@pytest.mark.parametrize("form", forms("ldmatrix"), ids=short)
def test_loads_do_what_the_manual_says(form):
    for seed in range(5):
        memory, addresses = filled(1024, seed), drawn(form, seed)
        found = ldmatrix(memory, form, addresses)
        wanted = naive_matrices.ldmatrix(
            memory.data.tobytes(), addresses, form.count, form.trans, form.shape, form.type
        )
        assert found.words[0].tolist() == wanted
        assert (found.known == 0xFFFFFFFF).all()


@pytest.mark.parametrize("form", forms("stmatrix"), ids=short)
def test_stores_do_what_the_manual_says(form):
    for seed in range(5):
        memory, addresses = Memory(1024), drawn(form, seed)
        words = np.random.default_rng(seed).integers(0, 2**32, (32, form.registers))
        stmatrix(memory, form, addresses, Registers.of(words))
        plain = bytearray(1024)
        naive_matrices.stmatrix(plain, addresses, words.tolist(), form.count, form.trans, form.shape)
        assert memory.data.tobytes() == bytes(plain)
        assert memory.written.sum() == form.count * form.rows * 16


def test_movmatrix_does_what_the_manual_says():
    words = np.random.default_rng(3).integers(0, 2**32, (32, 1))
    wanted = naive_matrices.movmatrix(words[:, 0].tolist())
    assert movmatrix(Registers.of(words)).words[0, :, 0].tolist() == wanted


# -- what an H200 did ------------------------------------------------------------------------------


def cases_of(part):
    (truth,) = load(RECORD, part)
    return truth


def test_loads_do_what_an_h200_did():
    """Every 16 bits of shared memory held their own number; each half of a register says which it got."""
    truth, memory = cases_of("matrices.ldmatrix"), Memory(BYTES)
    memory.put(np.arange(BYTES // 2), "u16")
    for case, halves in zip(truth.cases, truth.parted("bytes"), strict=True):
        found = ldmatrix(memory, case["form"], case["addresses"])
        got = np.ascontiguousarray(found.words, "<u4").view("<u2").ravel()
        assert np.array_equal(2 * got.astype(int), halves), case["form"]
    assert len(truth.cases) > 300


def test_stores_do_what_an_h200_did():
    """Every half of a register held its own number; shared memory says where each went, and nothing else."""
    truth = cases_of("matrices.stmatrix")
    for case, halves in zip(truth.cases, truth.parted("bytes"), strict=True):
        form, memory = Form.of("stmatrix", case["form"]), Memory(BYTES)
        numbers = np.arange(32 * form.registers * 2, dtype="<u2")
        stmatrix(memory, form, case["addresses"], Registers.of(numbers.view("<u4").reshape(32, -1)))
        at = np.flatnonzero(memory.written[::2])
        found = np.zeros(numbers.size, int)
        found[memory.data.view("<u2")[at]] = 2 * at
        assert np.array_equal(found, halves), case["form"]
        assert memory.written.sum() == 2 * numbers.size
        assert case["others"] == 0
    assert len(truth.cases) > 300


def test_movmatrix_does_what_an_h200_did():
    truth = cases_of("matrices.movmatrix")
    for case, halves in zip(truth.cases, truth.parted("halves"), strict=True):
        given = np.array(case["given"], "<u2")
        moved = movmatrix(Registers.of(given.view("<u4").reshape(32, 1)))
        found = np.ascontiguousarray(moved.words, "<u4").view("<u2").ravel()
        assert np.array_equal(found, given[halves])
    assert truth.cases


def test_a_wrong_table_would_be_noticed():
    """The record tells a matrix that is not transposed from one that is."""
    truth, memory = cases_of("matrices.ldmatrix"), Memory(BYTES)
    memory.put(np.arange(BYTES // 2), "u16")
    case, halves = next(
        pair for pair in zip(truth.cases, truth.parted("bytes"), strict=True) if pair[0]["form"] == "x1"
    )
    found = ldmatrix(memory, "x1.trans", case["addresses"])
    got = np.ascontiguousarray(found.words, "<u4").view("<u2").ravel()
    assert not np.array_equal(2 * got.astype(int), halves)


# -- faults ----------------------------------------------------------------------------------------


def refused(action):
    with pytest.raises(Refused) as caught:
        action()
    return caught.value


def test_the_lane_whose_row_was_not_written():
    memory = Memory(1024)
    memory.put(np.zeros(128 + 8), "u8")
    no = refused(lambda: ldmatrix(memory, "x4", [16 * lane for lane in range(32)], warp=2))
    assert no.witness == {
        "fault": "unwritten",
        "memory": "shared",
        "instruction": "ldmatrix.x4",
        "warp": 2,
        "lane": 8,
        "address": 136,
    }


def test_rows_are_aligned_to_their_sixteen_bytes():
    no = refused(lambda: ldmatrix(filled(1024), "x1", [16 * lane + 8 * (lane == 3) for lane in range(8)]))
    assert (no.witness["fault"], no.witness["lane"], no.witness["address"]) == ("misaligned", 3, 56)


def test_padding_is_not_read():
    form, memory = Form.of("ldmatrix", "m8n16.x1.b4x16_p64"), Memory(128)
    for row in range(8):
        memory.put(np.arange(8), "u8", at=16 * row)
    ldmatrix(memory, form, [16 * lane for lane in range(8)])


def test_two_rows_at_one_address():
    held = Registers.of(np.arange(32)[:, None])
    addresses = [16 * (lane % 4) for lane in range(8)]
    no = refused(lambda: stmatrix(Memory(128), "x1", addresses, held))
    assert (no.witness["lane"], no.witness["other"]) == (0, {"lane": 4})
    stmatrix(Memory(128), "x1", addresses, Registers.of(np.ones((32, 1))))


def test_registers_that_nothing_wrote():
    no = refused(lambda: stmatrix(Memory(512), "x4", [16 * lane for lane in range(32)], Registers.empty(4)))
    assert (no.witness["fault"], no.witness["instruction"]) == ("unwritten", "stmatrix.x4")
    assert refused(lambda: movmatrix(Registers.empty(1))).witness["fault"] == "unwritten"


def test_what_does_not_fit():
    with pytest.raises(LayoutError, match="lane 16 supplies no address"):
        ldmatrix(filled(1024), "x4", [16 * lane for lane in range(16)])
    with pytest.raises(LayoutError, match="takes 4 registers"):
        stmatrix(Memory(512), "x4", [0] * 32, Registers.empty(2))
    with pytest.raises(LayoutError, match="is no ldmatrix"):
        ldmatrix(filled(1024), Form("stmatrix", 1), [0] * 32)
    with pytest.raises(LayoutError, match="one register of one warp"):
        movmatrix(Registers.empty(2))


def test_rows_that_are_stored_are_aligned_as_well():
    memory, held = Memory(1024), Registers.of(np.arange(32)[:, None])
    for trans in (False, True):
        rows = [16 * lane + 8 * (lane == 3) for lane in range(8)]
        no = refused(lambda rows=rows, trans=trans: stmatrix(memory, "x1", rows, held, trans=trans))
        assert (no.witness["fault"], no.witness["lane"], no.witness["address"]) == ("misaligned", 3, 56)
    assert not memory.written.any()
