"""Every kernel of the table of `bench/move.py`, compiled and assembled for each architecture that it is for.

Kernels are in one program, a part of them at a time: NVRTC takes a tenth of a second for each that way.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from bench.move import cases
from tests.codegen import nvrtc

from tilewise.moves.source import kernel_source

KERNELS = {case.name: case.plan for case in cases()}
PARTS = 4
SHARED = {"sm_80": 163 << 10, "sm_90a": 227 << 10, "sm_100a": 227 << 10}
"""Bytes of shared memory that a block may ask for, by the architecture."""


def test_the_table_is_all_there():
    assert len(KERNELS) >= 60
    assert {own.kind for own in KERNELS.values()} <= {"tile", "gather"}
    assert len({case.name for case in cases()}) == len([*cases()])


def test_accesses_alone_are_those_of_the_kernels_and_nothing_is_turned(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "bench")  # where the programs of the bench lie
    bounds = importlib.import_module("move_bounds")
    chosen = bounds.chosen("")
    assert len(chosen) > 20
    for case in chosen:
        text, own = bounds.alone(case).kernel, case.plan.kernel
        assert text.count(" = fetched(at);") == own.count(" = fetched(at);") > 0
        assert text.count("*(V16*)to = ") == own.count("*(V16*)to = ")
        assert "(tile + " in own
        assert "(tile + " not in text
        assert "__syncthreads" not in text


@pytest.mark.parts(3)
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("arch", SHARED)
def test_every_kernel_of_the_table_is_assembled(arch: str, part: int):
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC")
    plans = [*KERNELS.values()][part::PARTS]
    program = "\n".join(kernel_source(own, f"move_{number}") for number, own in enumerate(plans))
    cubin, log = nvrtc.compile_to_cubin(library, program, f"-arch={arch}", nvrtc.MINIMAL)
    assert "warning" not in log, log
    named = {int(number) for number in re.findall(rb"\.text\.move_(\d+)\0", cubin)}
    assert named == {*range(len(plans))}
    assert max(own.launch[2] for own in plans) <= SHARED[arch]
