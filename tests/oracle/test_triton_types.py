"""The readings of Triton's types, held against Triton: random types, dumps, and the texts of its tests.

Triton's lit tests are no part of this project. The test of them takes a copy of github.com/triton-lang/triton
that TRITON_SOURCE names:

    git clone --depth 1 https://github.com/triton-lang/triton
    TRITON_SOURCE=triton pytest -m oracle tests/oracle/test_triton_types.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.notation.dialects.triton_places import held
from tests.oracle import triton_claims
from tests.oracle.triton_drawn import KINDS, drawn
from tests.oracle.triton_texts import types_in

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent
COUNT, LEAST = 400, 300
"""So many types of a kind are drawn, and Triton answers to so many of them."""

FORGOTTEN = re.compile(r"#ttg\.linear<{[^}]*order = |#ttg\.amd_wmma<{[^>]*isTransposed = ")
"""Keys of old texts that Triton's parser passes over in silence, and a reading refuses."""


@pytest.fixture(scope="module", autouse=True)
def triton() -> str:
    """Return the version of Triton that answers."""
    if why := triton_claims.missing():
        pytest.skip(why)
    return version("triton")


def answers(types: Sequence[str]) -> list[dict[str, Any]]:
    """Return what Triton says of these types."""
    done = subprocess.run(
        [sys.executable, HERE / "triton_types.py"],
        input=json.dumps(types),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_random_types(kind, triton):
    tally = held(answers(drawn(kind, COUNT)), triton)
    print(f"{kind}: {tally}; untold: {dict(tally.untold)}")
    assert tally.holds(), tally
    assert tally.equal >= LEAST, tally.untold


def test_a_type_that_moved_by_one_bit_is_found(triton):
    """The comparison itself finds every answer of which two bases changed places."""
    types = [text for kind in KINDS for text in drawn(kind, 20)]
    told = [answer for answer in answers(types) if "untold" not in answer]
    changed = []
    for answer in told:
        places = [
            (name, at) for name, own in answer["bases"].items() for at, basis in enumerate(own) if any(basis)
        ]
        if len(places) > 1:
            (one, i), (other, j) = places[0], places[-1]
            bases = {name: list(own) for name, own in answer["bases"].items()}
            bases[one][i], bases[other][j] = bases[other][j], bases[one][i]
            changed.append({**answer, "bases": bases})
    assert len(changed) > 300
    assert held(changed, triton).equal == 0


def test_dumps_of_kernels(triton):
    """Every type in the TTGIR of plain kernels, compiled for every target."""
    done = subprocess.run(
        [sys.executable, HERE / "triton_kernels.py"], capture_output=True, text=True, check=True
    )
    dumps = json.loads(done.stdout)["dumps"]
    assert len(dumps) > 90, done.stderr
    types = sorted({text for dump in dumps.values() for text in types_in(dump)})
    tally = held(answers(types), triton)
    print(f"{len(types)} types of {len(dumps)} dumps: {tally}; untold: {dict(tally.untold)}")
    assert tally.holds(0), tally
    assert tally.equal > 600


def test_lit_tests_of_triton(triton):
    source = os.environ.get("TRITON_SOURCE")
    if source is None:
        pytest.skip("TRITON_SOURCE names no copy of github.com/triton-lang/triton")
    files = sorted(Path(source, "test").rglob("*.mlir"))
    # a file has several modules, each with aliases of its own
    modules = [module for file in files for module in file.read_text().split("// -----")]
    found = {text for module in modules for text in types_in(module)}
    types = sorted(text for text in found if not FORGOTTEN.search(text))
    tally = held(answers(types), triton)
    print(f"{len(types)} types of {len(files)} files: {tally}; untold: {dict(tally.untold)}")
    assert tally.holds(), tally
    assert tally.equal > 3_000
