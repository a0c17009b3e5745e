"""Hold the reader to the interpreter of the source, over recorded kernels."""

from __future__ import annotations

from functools import cache

import pytest
from tests.compiled.random.compare import MOST_LEFT_OUT, Outcome, Tally, outcome, reader
from tests.compiled.random.record import BATCH, PLAN, Batch, batches

FORMS = ("machine", "ptx")
SAMPLE = tuple(range(0, len(PLAN) * BATCH, 25))
"""The kernels of a quick run."""


@cache
def recorded() -> tuple[Batch, ...]:
    return tuple(batches())


def outcome_of(number: int, form: str) -> Outcome:
    batch = recorded()[number // BATCH]
    found = outcome(reader, getattr(batch, form), batch.cases[number % BATCH])
    assert found.word != "wrong", f"kernel {number} of {batch.target}:\n{found.why}"
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", SAMPLE)
def test_a_kernel_of_the_sample_is_read_right(number, form):
    outcome_of(number, form)


@pytest.mark.slow
@pytest.mark.parts(2)
@pytest.mark.parametrize("form", FORMS)
def test_all_kernels_are_read_right_and_few_refused(form):
    tally = Tally()
    for number in range(len(PLAN) * BATCH):
        tally.add(outcome_of(number, form))
    assert tally.left_out() <= MOST_LEFT_OUT * tally.total(), tally.reasons
