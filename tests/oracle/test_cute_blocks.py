"""CuTe's blocks, held to what CuTe's Python DSL says of 300 tiled MMAs and tiled copies that it prints.

`--update-goldens` records some of them, and what C++ prints, for machines without the DSL and a compiler.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.notation.dialects.cute_blocks import as_cpp, disagreement, pair_of, size
from tests.notation.dialects.test_cute_block import CPP_RECORD, RECORD
from tests.oracle import cute_traits

pytestmark = pytest.mark.oracle

SCRIPT = Path(__file__).with_name("cute_dsl_blocks.py")
PROGRAM = Path(__file__).with_name("cute_blocks.cpp")
RECORDED, SMALL = 60, 1 << 14
"""So many of those of which threads hold no more values than that."""


@pytest.fixture(scope="module")
def blocks():
    """300 blocks, with the DSL's own layouts of every part."""
    if find_spec("nvidia_cutlass_dsl") is None:
        pytest.skip("nvidia-cutlass-dsl is not installed")
    environment = os.environ | {"CUTE_DSL_ARCH": "sm_90a"}
    done = subprocess.run(
        [sys.executable, SCRIPT, "300", "7"], capture_output=True, text=True, check=True, env=environment
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_every_part_of_300_blocks_is_what_the_dsl_says(blocks):
    assert len(blocks) == 300
    found = Counter(
        disagreement(block["text"], part, tv) for block in blocks for part, tv in block["parts"].items()
    )
    assert set(found) <= {"", "CuTe has no layout"}, found
    assert found[""] > 20 * found["CuTe has no layout"]


def held(block):
    """Return the number of values that threads hold of all parts."""
    return sum(size(pair_of(tv)[0]) for tv in block["parts"].values() if "x" not in tv)


def test_some_are_recorded(blocks, pytestconfig):
    chosen = [block for block in blocks if held(block) <= SMALL][:RECORDED]
    if pytestconfig.getoption("--update-goldens"):
        RECORD.write_bytes(gzip.compress(json.dumps(chosen).encode(), mtime=0))
    assert json.loads(gzip.decompress(RECORD.read_bytes())) == chosen


def test_cpp_writes_the_same_otherwise():
    assert as_cpp("MMA Atom\n  ThrID:           32:1") == "MMA_Atom\n  ThrID: _32:_1"


def test_cpp_prints_what_is_recorded(tmp_path, pytestconfig):
    if why := cute_traits.missing():
        pytest.skip(why)
    program = tmp_path / "blocks"
    command = ["nvcc", "-std=c++17", "-x", "c++", f"-I{cute_traits.headers()}", "-o", program, PROGRAM]
    subprocess.run(command, check=True, capture_output=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    if pytestconfig.getoption("--update-goldens"):
        CPP_RECORD.write_text(printed, encoding="utf-8")
    assert CPP_RECORD.read_text(encoding="utf-8") == printed
