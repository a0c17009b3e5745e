"""Descriptors at the end of shared memory: what is asked, and what a device says to it."""

import numpy as np
import pytest

from tilewise.gpu.probes.descriptors import expected
from tilewise.gpu.probes.edges import cases
from tilewise.gpu.probes.spelling import END
from tilewise.gpu.verify.edges import PART, compare, truth_of
from tilewise.gpu.verify.truth import load, save

EVERY = cases()


def last_byte(case):
    return int(expected(case).max()) * 2 + 1


def as_the_tables_say(case):
    return None if last_byte(case) >= END else expected(case)


def test_some_end_with_the_last_byte_and_some_go_past_it():
    lasts = [last_byte(case) for case in EVERY]
    assert PART.size() == len(EVERY) == 36
    assert lasts.count(END - 1) == 6
    assert 20 < sum(last >= END for last in lasts) < 30
    assert min(last for last in lasts if last >= END) < END + 16


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
    assert (found.cases, found.different) == (36, 0)


@pytest.mark.parametrize(
    ("at", "answer", "said"),
    [
        (0, lambda case: None, "stays inside shared memory, and the device faulted"),
        (1, expected, "goes past the end of shared memory, and the device did not fault"),
        (0, lambda case: expected(case) + 8, "other elements are read"),
    ],
)
def test_another_answer_is_a_difference(at, answer, said):
    found = [as_the_tables_say(case) for case in EVERY]
    found[at] = answer(EVERY[at])
    (difference,) = compare(truth_of(EVERY, found)).differences
    assert said in difference.message


def test_a_device_that_faults_at_all_is_no_empty_record():
    truth = truth_of(EVERY, [None] * len(EVERY))
    assert truth.arrays["places"].size == 0
    assert compare(truth).different == sum(last_byte(case) < END for case in EVERY)
    assert np.array([row["faults"] for row in truth.cases]).all()
