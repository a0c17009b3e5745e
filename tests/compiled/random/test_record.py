"""What `tilewise.compiled.trace` reads of recorded kernels is what the interpreter says of their source."""

from __future__ import annotations

from functools import cache

import pytest
from tests.compiled.random.compare import Outcome, Tally, outcome, reader
from tests.compiled.random.record import BATCH, PLAN, Batch, batches

FORMS = ("machine", "ptx")
SAMPLE = tuple(range(0, len(PLAN) * BATCH, 10))
"""The kernels of a quick run."""
MOST_REFUSED = 0.03


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
    left_out = tally.words["refused"] + tally.words["unknown"]
    assert left_out <= MOST_REFUSED * tally.words.total(), tally.reasons
