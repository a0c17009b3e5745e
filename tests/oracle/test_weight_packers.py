"""The record of packed weights: packages say today what it says, and so do sources that a folder has."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.oracle.weight_packers import PACKAGES, SOURCES, VARIABLE, answers_of

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_is_recorded(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert [*PACKAGES[package]()] == answers_of(package)


@pytest.mark.parametrize("program", SOURCES)
def test_the_source_of_a_program_says_what_is_recorded(program: str) -> None:
    folder = os.environ.get(VARIABLE)
    if folder is None:
        pytest.skip(f"{VARIABLE} names no folder of programs that pack weights")
    if find_spec("torch") is None:
        pytest.skip("torch, which they pack with, is not installed")
    place, _, asked = SOURCES[program]
    assert [*asked(Path(folder) / place)] == answers_of(program)
