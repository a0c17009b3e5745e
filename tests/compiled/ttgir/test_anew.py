"""Conversions that were never recorded, compiled by Triton: renamings take nothing, other warps barriers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilewise.compiled.ttgir.module import module_of

pytestmark = pytest.mark.oracle
HERE = Path(__file__).parent


def test_new_conversions_are_classed_as_triton_makes_them():
    pytest.importorskip("triton")
    run = [sys.executable, str(HERE / "record.py"), "some"]
    told = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    facts = json.loads(told)
    assert len(facts) >= 20
    for one in facts:
        (conversion,) = module_of(one["ttgir"]).conversions()
        free = not (one["shuffles"] or one["loads"] or one["stores"] or one["barriers"])
        assert free == (conversion.kind == "renamed"), one["ttgir"]
        assert one["barriers"] or conversion.kind != "warps", one["ttgir"]
