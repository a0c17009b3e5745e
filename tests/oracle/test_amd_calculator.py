"""The record of AMD's calculator: whole, of a commit that is named, and what a clone of it says."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.oracle.amd_calculator import VARIABLE, asked, recorded

from tilewise.hardware.mfma.instructions import instructions

pytestmark = pytest.mark.oracle


def test_the_record_is_of_every_instruction_and_names_its_commit() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", recorded()["commit"])
    assert recorded()["instructions"].keys() == {str(this) for this in instructions()}


def test_each_has_as_many_elements_as_its_operands() -> None:
    for this in instructions():
        said = recorded()["instructions"][str(this)]
        m, n, k = this.shape.m, this.shape.n, this.shape.k
        for operand, extents in {"A": (m, k), "B": (k, n), "C": (m, n), "D": (m, n)}.items():
            blocks = said[operand]
            assert len(blocks) == this.blocks
            assert {(len(rows), len(row)) for rows in blocks for row in rows} == {extents}


def test_a_clone_says_what_is_recorded() -> None:
    folder = os.environ.get(VARIABLE)
    if folder is None:
        pytest.skip(f"{VARIABLE} names no clone of the calculator")
    if find_spec("tabulate") is None:
        pytest.skip("tabulate, which the calculator needs, is not installed")
    assert asked(Path(folder))["instructions"] == recorded()["instructions"]
