"""Descriptors that were read, held to TTGIR of the same kernels, and to what an H200 counted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from tests.compiled.engines.agreement import covered, differences, products, tables, texts, wanted
from tests.compiled.predicted import archive, launches, record, run_of, sources

from tilewise.compiled.engines import products_of
from tilewise.compiled.program import EngineCall
from tilewise.compiled.texts import programs_of
from tilewise.compiled.ttgir.module import module_of

ROOT = Path(__file__).parents[3]


# -- descriptors against the encodings of TTGIR ----------------------------------------------------------


@pytest.mark.parametrize("name", texts())
def test_descriptors_read_the_buffers_that_ttgir_names(name):
    lines = [*differences(texts()[name])]
    assert lines
    assert [line for line in lines if not line.endswith(": ")] == []


@pytest.mark.oracle
def test_descriptors_of_kernels_that_triton_compiles_anew():
    pytest.importorskip("triton")
    for name in Random().sample([*texts()], 6):
        run = [sys.executable, "-m", "tests.compiled.engines.record", name]
        told = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        lines = [*differences(json.loads(told))]
        assert lines
        assert [line for line in lines if not line.endswith(": ")] == [], name


def test_the_record_has_all_that_it_is_held_to():
    held = {"A": set(), "B": set()}
    for text in texts().values():
        for operands in wanted(text["ttgir"], module_of(text["ttgir"])).values():
            for one in operands:
                held[one.letter].add((one.source, one.major, one.mode))
    along_k = {("shared", "k", mode) for mode in ("32B", "64B", "128B")}
    along_rows = {("shared", "mn", mode) for mode in ("32B", "64B", "128B")}
    elsewhere = {("registers", "", ""), ("tensor memory", "", "")}
    assert held["A"] == along_k | along_rows - {("shared", "mn", "32B")} | elsewhere
    assert held["B"] == along_k | along_rows
    assert len(texts()) >= 100


@pytest.mark.parametrize(
    ("was", "is_now"),
    [("swizzlingByteWidth = 64", "swizzlingByteWidth = 32"), ("transposed = false", "transposed = true")],
)
def test_another_encoding_does_not_agree(was, is_now):
    name = "boxes_bf16_kn_64x64x32_90"
    text = texts()[name]
    module = module_of(text["ttgir"])
    row = products(text["ptx"], module)[0]
    (operands,) = wanted(text["ttgir"], module).values()
    other = text["ttgir"].replace(was, is_now, 1)
    (others,) = wanted(other, module_of(other)).values()
    read = tables(row.operands[0])
    assert covered(operands[0].bytes, read) == 3
    assert covered(others[0].bytes, read) == 0
    assert covered(operands[0].bytes, frozenset([*read][1:])) == 0


# -- an H200's counters ----------------------------------------------------------------------------------

GMMA = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"
WAVEFRONT = 128


@cache
def with_calls() -> list[str]:
    """Return the launches of the corpus with products or bulk copies, of which data decide nothing."""
    found = []
    for name, launch in launches().items():
        text = archive().read(launch["files"]["sass"]).decode()
        if re.search(r"\b(?:[HIQ]G?MMA|UBLKCP)\.", text) and not launch.get("note"):
            steps = (one.steps for one in next(programs_of(text, launch["kernel"])).instructions)
            found += [name] if any(isinstance(step, EngineCall) for step in chain(*steps)) else []
    return found


@pytest.mark.parametrize("name", with_calls())
def test_warps_call_engines_as_often_as_a_gpu_counted(name):
    run, issued = run_of(name, "sass"), sources()[name]["executed"]
    at = {id(step): number for number, one in enumerate(run.program.instructions) for step in one.steps}
    calls = [tally for tally in run.calls if tally.call.words is not None]
    assert calls
    assert [tally.instructions for tally in calls] == [issued[at[id(tally.call)]] for tally in calls]


@pytest.mark.parametrize("kind", ["sass", "ptx"])
def test_bytes_of_descriptors_are_the_wavefronts_that_a_gpu_counted(kind):
    names = [name for name in with_calls() if record()[name]["counters"][GMMA]]
    assert len(names) == 5
    for name in names:
        rows = products_of(run_of(name, kind).calls, 1.0)
        read = sum(row.times * operand.bytes for row in rows for operand in row.operands)
        assert read == record()[name]["counters"][GMMA] * WAVEFRONT, name
