"""Shardings held against JAX's devices_indices_map and torch's cuts, each asked in a process of its own.

`pytest tests/oracle/test_shardings.py --update-goldens` records their answers for machines without them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.notation.dialects.recorded import differ_from_jax, differ_from_torch, record_of, write_record

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
HERE = Path(__file__).parent


def said_by(script, package, update, name):
    """Return what a neighbour says; record it where `update` is true."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = subprocess.run([sys.executable, HERE / script], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    if update:
        write_record(name, said)
    return said


@pytest.fixture(scope="module")
def jax_said(request):
    return said_by("jax_shardings.py", "jax", request.config.getoption("--update-goldens"), "jax")


@pytest.fixture(scope="module")
def torch_said(request):
    return said_by("torch_placements.py", "torch", request.config.getoption("--update-goldens"), "dtensor")


@pytest.mark.parametrize("dialect", ["hlo", "shardy", "jax"])
def test_shardings_are_what_jax_says(jax_said, dialect):
    assert [text for case in jax_said["cases"] for text in differ_from_jax(case, dialect)] == []


def test_placements_are_what_torch_says(torch_said):
    said = [differ_from_torch(case) for case in torch_said["cases"]]
    assert [text for wrong, _ in said for text in wrong] == []
    assert sum(not refused for _, refused in said) >= 200


def test_what_was_recorded_is_what_they_say(jax_said, torch_said):
    for name, said in (("jax", jax_said), ("dtensor", torch_said)):
        recorded = record_of(name)
        if recorded["version"] == said["version"]:
            assert recorded == said
