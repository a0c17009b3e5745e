"""Questions that have a process of their own."""

from __future__ import annotations

from os import getpid

import pytest

from tilewise.gpu.verify.kernels import FAULTS, alone, result_name, survived


def whose(number):
    """Return the number, and the process that answers."""
    return number, getpid()


def raised(error):
    raise error


def test_each_is_asked_in_a_process_of_its_own_and_answers_keep_their_order():
    heard = []
    found = alone(whose, range(3), lambda done, total: heard.append((done, total)))
    assert [(result, number) for result, (number, _) in found] == [(0, 0), (0, 1), (0, 2)]
    assert len({getpid(), *(process for _, (_, process) in found)}) == 4
    assert heard == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("result", FAULTS)
def test_a_fault_is_known_by_its_name_whatever_raised_it(result):
    assert survived(raised, KeyError(f"CUDA_ERROR_{FAULTS[result]}: an error")) == (result, None)
    assert result_name(result) == FAULTS[result].lower().replace("_", " ")


def test_an_error_that_is_no_fault_is_told_with_its_kind():
    with pytest.raises(RuntimeError, match="KeyError: 'CUDA_ERROR_OUT_OF_MEMORY'"):
        survived(raised, KeyError("CUDA_ERROR_OUT_OF_MEMORY"))
