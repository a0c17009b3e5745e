"""Descriptors at the end of shared memory: the questions, and a device's answers."""

import numpy as np
import pytest
from tools.questions.descriptors import at_the_end, row

from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.truth import load, save
from tilewise.gpu.verify.wgmma import END, INSIDE, PAST, WHOLE, expected, reach

EVERY = at_the_end()
PART = PARTS["descriptors.end"]
compare = PART.compare


def truth_of(every, answers):
    """The record of what is read; None is a fault."""
    answered = [{"places": [] if r is None else r, "faults": r is None} for r in answers]
    return PART.truth(map(row, every), answered)


def last_byte(case):
    return int(expected(case).max()) * 2 + 1


def as_the_tables_say(case):
    return {INSIDE: expected, PAST: beyond_is_nothing, WHOLE: lambda case: None}[reach(case)](case)


def beyond_is_nothing(case):
    return np.where(expected(case) * 2 < END, expected(case), -1)


def test_some_end_with_the_last_byte_and_some_go_past_it():
    lasts = [last_byte(case) for case in EVERY]
    assert len(PART.cases()) == len(EVERY) == 78
    assert lasts.count(END - 1) == 6
    reaches = [reach(case) for case in EVERY]
    assert [reaches.count(far) for far in (INSIDE, PAST, WHOLE)] == [9, 42, 27]
    assert all((last < END) == (far == INSIDE) for last, far in zip(lasts, reaches, strict=True))


def test_some_would_come_back_if_sums_wrapped_around():
    """Each byte of these is inside modulo 2^18, so that a fault says that nothing wraps."""
    inside = [
        case for case in EVERY if last_byte(case) >= END and ((expected(case) * 2) % (1 << 18) < END).all()
    ]
    assert {case.descriptor.mode.name for case in inside} == {"none", "32B", "64B", "128B"}


def test_what_a_device_says_is_kept_and_compared(tmp_path):
    truth = truth_of(EVERY, [as_the_tables_say(case) for case in EVERY])
    save(tmp_path / "descriptors.zip", [truth])
    (back,) = load(tmp_path / "descriptors.zip")
    found = compare(back)
    assert (found.cases, found.different) == (78, 0)


@pytest.mark.parametrize(
    ("at", "answer", "said"),
    [
        (0, lambda case: None, "stays inside shared memory, and the device faulted"),
        (8, beyond_is_nothing, "goes past the end of shared memory, and the device did not fault"),
        (1, expected, "other elements are read"),
        (0, lambda case: expected(case) + 8, "other elements are read"),
    ],
)
def test_another_answer_is_a_difference(at, answer, said):
    found = [as_the_tables_say(case) for case in EVERY]
    found[at] = answer(EVERY[at])
    (difference,) = compare(truth_of(EVERY, found)).differences
    assert said in difference.message


def test_where_no_document_says_a_fault_is_no_difference():
    found = [None if reach(case) == PAST else as_the_tables_say(case) for case in EVERY]
    assert compare(truth_of(EVERY, found)).different == 0


def test_a_device_that_faults_at_all_is_no_empty_record():
    truth = truth_of(EVERY, [None] * len(EVERY))
    assert truth.arrays["places"].size == 0
    assert compare(truth).different == sum(last_byte(case) < END for case in EVERY)
    assert np.array([row["faults"] for row in truth.cases]).all()
