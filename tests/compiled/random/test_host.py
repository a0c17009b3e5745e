"""The interpreter of random kernels agrees with what a compiler of C++ makes of the same text."""

from __future__ import annotations

import shutil

import pytest
from tests.compiled.random.host import traces
from tests.compiled.random.interpreter import run
from tests.compiled.random.kernels import kernel

BATCH = 25
COMPILER = shutil.which("g++") or shutil.which("clang++")
FIRST = 5_000_000


def agree(first: int, count: int, folder) -> None:
    kernels = [kernel(seed) for seed in range(first, first + count)]
    for one, told in zip(kernels, traces(kernels, folder, COMPILER), strict=True):
        mine = run(one)
        parted = [who for who in mine if mine[who] != told[who]]
        assert not parted, f"seed {one.seed}, (block, thread) {parted[0]}"


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_a_few_kernels_do_on_the_host_what_the_interpreter_says(tmp_path):
    agree(FIRST, 12, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("batch", range(5))
def test_kernels_do_on_the_host_what_the_interpreter_says(batch, tmp_path):
    agree(FIRST + (1 + batch) * BATCH, BATCH, tmp_path)


def test_kernels_of_a_seed_are_always_the_same():
    assert kernel(17) == kernel(17)
    assert kernel(17) != kernel(18)
