"""The comparison of a reader with the interpreter: it takes what compilers do, and no fault."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
from tests.compiled.random import compare
from tests.compiled.random.compare import Case, Issue, Outcome, Reading, Row, case_of
from tests.compiled.random.kernels import kernel
from tests.compiled.random.perfect import issues
from tests.compiled.random.tree import source

from tilewise import LayoutError
from tilewise.compiled.lines import Line


@cache
def case(seed: int) -> Case:
    made = kernel(seed)
    return case_of(made, {line: number for number, line in source(made).lines.items()})


def of_way(way: str) -> Case:
    return case(
        next(seed for seed in range(100) if kernel(seed).way == way and not kernel(seed).hangs_on_data)
    )


def judged(told: list[Issue], it: Case) -> Outcome:
    return compare.outcome(lambda text, case: Reading(told), "", it)


@pytest.mark.parametrize("base", compare.BASES)
@pytest.mark.parametrize("seed", range(6))
def test_a_reader_without_a_fault_is_right_by_line(seed, base):
    assert judged(list(issues(case(seed), base)), case(seed)).word == "by line"


def further(issue: Issue) -> Issue:
    addresses = issue.addresses.copy()
    addresses[0] += issue.instruction.bytes
    return replace(issue, addresses=addresses)


def fewer_lanes(issue: Issue) -> Issue:
    parts = {name: getattr(issue, name)[1:] for name in ("blocks", "threads", "addresses", "known")}
    return replace(issue, **parts)


def other_kind(issue: Issue) -> Issue:
    kind = "ld" if issue.instruction.operation != "ld" else "st"
    return replace(issue, instruction=replace(issue.instruction, operation=kind))


def other_thread(issue: Issue) -> Issue:
    return replace(issue, threads=np.roll(issue.threads, 1))


FAULTS = (further, fewer_lanes, other_kind, other_thread)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(8))
def test_a_fault_in_one_instruction_is_found(seed, fault):
    it = case(seed)
    told = list(issues(it))
    at = Random(seed).choice(
        [at for at, issue in enumerate(told) if len(set(issue.addresses.tolist())) > 1] or [0]
    )
    if len(told[at].addresses) == 1 and fault is other_thread:
        return
    told[at] = fault(told[at])
    found = judged(told, it)
    assert found.word == "wrong" or (it.way != "volatile" and found.word == "fewer")


def test_an_instruction_that_runs_twice_is_found():
    for way in ("plain", "fenced", "volatile"):
        it = of_way(way)
        told = list(issues(it))
        found = judged([*told, told[0]], it)
        assert found.word == "wrong"
        assert "reader alone: line" in found.why


def test_one_that_a_compiler_left_out_is_wrong_of_volatile_kernels_and_of_atomic_operations():
    for way, word in (("plain", "fewer"), ("fenced", "fewer"), ("volatile", "wrong")):
        it = of_way(way)
        assert it.rows[0].kind != "atom"
        twice = replace(it, rows=[*it.rows, it.rows[0]])
        assert judged(list(issues(it)), twice).word == word


def test_no_atomic_operation_is_left_out():
    it = next(
        it for it in map(case, range(40)) if it.way == "fenced" and "atom" in {row.kind for row in it.rows}
    )
    twice = replace(it, rows=[*it.rows, next(row for row in it.rows if row.kind == "atom")])
    assert judged(list(issues(it)), twice).word == "wrong"


def test_one_lane_makes_an_atomic_operation_for_lanes_of_one_address():
    """One lane stands for all where they share each address; two do not, nor one of different addresses."""
    shared = [Row(5, "atom", "shared", thread, 64 + 8 * turn, 4) for thread in (1, 4, 9) for turn in (0, 1)]
    apart = [row._replace(address=row.address + 16 * (row.thread == 9)) for row in shared]
    for wanted, threads, word in (
        (shared, (1, 4, 9), "by line"),
        (shared, (4,), "by line"),
        (shared, (1, 4), "wrong"),
        (shared, (2,), "wrong"),
        (apart, (4,), "wrong"),
        ([*shared, *shared], (4,), "wrong"),
    ):
        for way in ("plain", "volatile"):
            it = replace(of_way(way), rows=wanted)
            rows = [shared[turn]._replace(thread=thread) for thread in threads for turn in (0, 1)]
            assert compare.judged(it, rows, False, Reading(())).word == word


def test_a_gap_of_a_vector_is_loaded_twice_in_plain_kernels_alone():
    four = [Row(site, "ld", "shared", 0, 2 * site, 2) for site in range(4)]
    vector = Row(0, "ld", "shared", 0, 0, 8)
    stores = [replace_kind(row) for row in four]
    for way, rows, found, word in (
        ("plain", four, [vector], "by kernel"),
        ("plain", four, [vector, four[3]], "fewer"),
        ("plain", four, [vector, four[3], four[3]], "wrong"),
        ("plain", stores, [replace_kind(vector), stores[3]], "wrong"),
        ("fenced", four, [vector, four[3]], "wrong"),
        ("volatile", four, [vector, four[3]], "wrong"),
    ):
        it = replace(of_way(way), rows=rows)
        assert compare.judged(it, found, False, Reading(())).word == word


def replace_kind(row: Row) -> Row:
    return row._replace(kind="st")


def test_a_merged_instruction_counts_by_kernel():
    it = of_way("fenced")
    told = list(issues(it))
    at = next(at for at, issue in enumerate(told) if issue.instruction.line != told[0].instruction.line)
    for line in (Line("program.cu", 1), None):
        told[at] = replace(told[at], instruction=replace(told[at].instruction, line=line))
        assert judged(told, it).word == "by kernel"


def test_what_is_not_known_is_no_fault_unless_the_rest_is():
    it = of_way("volatile")
    told = list(issues(it))
    told[3] = replace(told[3], known=told[3].known & False)
    assert judged(told, it) == Outcome("unknown", "addresses")
    assert judged(told, replace(it, hangs_on_data=True)).word == "hangs on data"
    told[5] = replace(told[5], addresses=told[5].addresses + 1)
    assert judged(told, replace(it, hangs_on_data=True)).word == "wrong"
    assert judged(told, it).word == "wrong"


def test_a_guess_is_taken_where_loaded_values_decide_and_counted_elsewhere():
    it = of_way("volatile")
    told = Reading(list(issues(it))[:5], guessed=True)
    assert compare.outcome(lambda text, case: told, "", it) == Outcome("unknown", "branches")
    assert compare.outcome(lambda text, case: told, "", replace(it, hangs_on_data=True)).word == "guessed"


def test_a_refusal_counts_by_its_kind_and_any_other_error_is_wrong():
    def refuses(text, it):
        raise LayoutError("TW610", "the instruction 0x1f FOO is not known")

    def breaks(text, it):
        raise KeyError("R5")

    assert compare.outcome(refuses, "", case(0)).word == "refused"
    assert "N" in compare.outcome(refuses, "", case(0)).why
    assert compare.outcome(breaks, "", case(0)).word == "wrong"
