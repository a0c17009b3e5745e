"""The descriptors of questions to a device: their number, kinds, and reads, and the record of them."""

from itertools import product

import numpy as np
import pytest
from tests.gpu import rivals
from tools.questions.descriptors import LEGAL, ODD, RESERVED, drawn

from tilewise.gpu.verify.wgmma import AREA, BASE, END, DescriptorCase, WgmmaProbe, chunks, expected, spread
from tilewise.hardware.modes import MODES
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS

EVERY = drawn()
CELL = LEGAL + ODD + RESERVED


def in_bytes(case):
    return expected(case) * case.instruction.bits // 8


def test_there_are_enough_and_they_are_the_same_each_time():
    assert len(EVERY) >= 5_000
    assert drawn.__wrapped__() == EVERY
    assert drawn(seed=1) != EVERY
    assert len(set(EVERY)) > 0.97 * len(EVERY)


def test_every_type_operand_major_and_mode_is_asked_alike():
    counts = {}
    for case in EVERY:
        cell = (case.dtype, case.instruction.d, case.operand, case.major, case.descriptor.mode.name)
        counts[cell] = counts.get(cell, 0) + 1
    for row in INPUTS.values():
        for d, operand, major, mode in product(row.accumulators, "AB", row.majors, MODES):
            assert counts[row.name, d, operand, major, mode] >= CELL
    assert {case.instruction.n for case in EVERY if case.major == "mn"} == set(INPUTS["f16"].n)


def test_all_of_it_lies_in_the_shared_memory_of_the_probe():
    for case in EVERY[::7]:
        read = in_bytes(case)
        assert read.min() >= BASE, case
        assert read.max() < (AREA if case.operand == "A" else END), case


def test_legal_ones_read_no_byte_twice_and_odd_ones_do():
    twice = 0
    for at, case in enumerate(EVERY):
        if at % 13 or case.instruction.bits == 1:
            continue
        alone = np.unique(expected(case)).size == expected(case).size
        assert alone or LEGAL <= at % CELL < LEGAL + ODD, case
        twice += not alone
    assert twice > 50


def test_odd_ones_are_odd_in_every_way():
    odd = [case.descriptor for at, case in enumerate(EVERY) if LEGAL <= at % CELL < LEGAL + ODD]
    swizzled = [descriptor for descriptor in odd if descriptor.mode.bits]
    assert {descriptor.base_offset for descriptor in odd} == set(range(8))
    assert sum(descriptor.start % descriptor.mode.width != 0 for descriptor in swizzled) > 500
    assert sum(0 < descriptor.sbo < descriptor.mode.period for descriptor in swizzled) > 500
    assert any(descriptor.sbo == 0 for descriptor in odd)
    assert any(descriptor.lbo == 0 for descriptor in odd)


def test_the_last_of_a_cell_have_bits_that_no_field_has():
    for at, case in enumerate(EVERY):
        assert (case.reserved != 0) == (at % CELL >= LEGAL + ODD)
        assert Descriptor.decode(case.value) == case.descriptor
        assert sum(1 << bit for bit in Descriptor.reserved_bits(case.value)) == case.reserved


@pytest.mark.parametrize("case", EVERY[::211], ids=lambda case: f"{case.instruction} {case.operand}")
def test_chunks_hold_all_that_is_read(case):
    kept = chunks(expected(case), case)
    assert kept.size * 16 == expected(case).size * case.instruction.bits // 8
    assert np.array_equal(spread(kept, case), expected(case).ravel())


def test_what_is_not_read_in_whole_chunks_is_not_kept_so():
    case = DescriptorCase(WgmmaProbe("f16", "f16", "f32", 8), "B", Descriptor(start=1024, lbo=128, sbo=256))
    for row, k, value in ((3, 5, 0), (0, 0, 513), (7, 15, -1)):
        read = expected(case).copy()
        read[row, k] = value
        assert chunks(read, case) is None


def test_chunks_are_counted_from_address_zero():
    case = DescriptorCase(WgmmaProbe("tf32", "tf32", "f32", 8), "B", Descriptor(start=2048, lbo=256, sbo=0))
    assert expected(case)[1].tolist() == [516, 517, 518, 519, 580, 581, 582, 583]
    assert chunks(expected(case), case)[1].tolist() == [129, 145]


# -- what the record would tell apart --------------------------------------------------------------


def test_the_tables_are_what_the_manual_says_once_more_in_plain_arithmetic():
    for case in EVERY[::9]:
        assert np.array_equal(rivals.ours(case), in_bytes(case)), case


@pytest.mark.parametrize("rival", rivals.RIVALS, ids=lambda rival: rival.__name__)
def test_no_other_reading_would_give_the_same_answers(rival):
    some = EVERY[::7]
    assert sum(not np.array_equal(rival(case), rivals.ours(case)) for case in some) > 70
