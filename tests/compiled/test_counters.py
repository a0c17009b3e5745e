"""Hold predicted counters of 146 launches of five compilers to those of an H200."""

from __future__ import annotations

import pytest
from tests.compiled.predicted import WAVEFRONTS, by_instruction, compared, record, run_of, sources

from tilewise.compiled.sums import totals

ON_DATA = (
    "gather_rows gather_elements scatter_elements binary_search spmv_csr bitonic_sort triton_embedding "
    "triton_gather_elements triton_cross_entropy triton_grouped_matmul"
).split()
"""Launches whose addresses, predicates or loops hang on loaded data: the answer leaves those accesses out."""


def differing(kind: str) -> tuple[set[str], int, int]:
    """Return the launches with a counter that differs, the number of equal counters, and of all."""
    found = [(name, equal) for name in record() for _, equal in compared(name, kind)]
    return {name for name, equal in found if not equal}, sum(equal for _, equal in found), len(found)


def test_machine_code_has_the_counters_of_the_device_but_those_that_hang_on_data():
    names, equal, many = differing("sass")
    assert names == {*ON_DATA}
    assert many == 8 * 146
    assert equal >= 1149


@pytest.mark.parametrize("kind", ["sass", "ptx"])
def test_copies_through_the_l1_have_the_wavefronts_of_their_instructions(kind):
    metric = f"{WAVEFRONTS}_ldgsts_cache_access.sum"
    counted = {name: one["counters"].get(metric, 0) for name, one in record().items()}
    assert sum(map(bool, counted.values())) == 6
    for name, wanted in counted.items():
        run = run_of(name, kind)
        copies = totals(run.tallies, run.weight)["shared"].get("copy", {"wavefronts": 0})
        assert copies["wavefronts"] == wanted, name


def test_ptx_has_nine_counters_of_ten():
    _, equal, many = differing("ptx")
    assert equal >= 0.9 * many


@pytest.mark.parametrize("name", sources())
def test_each_instruction_has_its_counters(name):
    different = [row for row in by_instruction(name) if row[1] != row[2]]
    assert bool(different) == (name in ON_DATA)
