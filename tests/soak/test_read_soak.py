"""The soak of reading, with a reader that knows the answer and one that has a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.codegen import nvrtc
from tests.compiled.random.compare import Reading
from tests.compiled.random.compile import nvdisasm
from tests.compiled.random.perfect import issues
from tests.soak import read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(nvrtc.load() is None or nvdisasm() is None, reason="this takes NVRTC and nvdisasm"),
]


def test_a_reader_without_a_fault_has_none(capsys):
    assert read.main(["--count", "12", "--seed", "3"], lambda text, case: Reading(list(issues(case)))) == 0
    said = capsys.readouterr().out
    assert said.count("12 kernels: 12 by line") == 2
    assert said.count("0 wrong") == 2


def test_a_fault_is_told_with_what_meets_it_again(capsys):
    def faulty(text, case):
        first, *rest = issues(case)
        moved = replace(first, addresses=first.addresses + 16)
        return Reading([moved if case.seed == 3_000_004 else first, *rest])

    assert read.main(["--count", "6", "--seed", "3"], faulty) == 1
    said = capsys.readouterr().out
    assert "--seed 3 --first 4 --count 1 --target sm_90 --show" in said
    arguments = said.split(": ", 1)[1].splitlines()[0].split()
    assert read.main(arguments, faulty) == 1
    assert "__global__ void k3000004(" in capsys.readouterr().out
