"""The record of the corpus: complete, of no machine in particular, and in agreement with itself."""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "corpus"
TABLE: dict[str, Any] = json.loads((HERE / "launches.json").read_text(encoding="utf-8"))
LAUNCHES = {launch["name"]: launch for launch in TABLE["launches"]}
WORDS = {"ptr": 8, "i64": 8, "i32": 4, "f32": 4}

WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
BYPASSING = "smsp__sass_inst_executed_op_ldgsts_cache_bypass.sum"
COPIED = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"


@cache
def texts() -> dict[str, str]:
    """Return every text of the record."""
    with zipfile.ZipFile(HERE / "record.zip") as record:
        names = [name for name in record.namelist() if not name.endswith(".cubin")]
        return {name: record.read(name).decode() for name in names}


@cache
def counted(file: str) -> dict[str, Any]:
    """Return what was counted, as one of the record's files has it."""
    found: dict[str, Any] = json.loads(texts()[file])
    return found


def test_enough_kernels_of_enough_compilers() -> None:
    kernels = {
        (launch["files"]["cubin"], launch["kernel"]): launch["compiler"] for launch in LAUNCHES.values()
    }
    each = {compiler: list(kernels.values()).count(compiler) for compiler in set(kernels.values())}
    assert len(kernels) >= 64
    assert each.keys() == {"cuda", "triton", "gluon", "cute", "tilelang"}
    assert each["cuda"] >= 36 and each["triton"] >= 14 and min(each.values()) >= 3  # noqa: PT018


def test_every_launch_has_its_texts_and_counters() -> None:
    assert counted("counters.json")["launches"].keys() == LAUNCHES.keys()
    assert counted("sources.json")["launches"].keys() == LAUNCHES.keys()
    for launch in LAUNCHES.values():
        assert f".text.{launch['kernel']}:" in texts()[launch["files"]["sass"]], launch["name"]
        addresses = counted("counters.json")["launches"][launch["name"]]["addresses"]
        pointers = [arg["type"] == "ptr" for arg in launch["args"]]
        assert [address is not None for address in addresses] == pointers, launch["name"]


def test_arguments_are_the_parameters_of_the_kernel() -> None:
    for launch in LAUNCHES.values():
        ptx = texts()[launch["files"]["ptx"]]
        head = re.search(rf"\.entry {re.escape(launch['kernel'])}\((.*?)\)\n", ptx, re.DOTALL)
        assert head, launch["name"]
        sizes = [int(bits) // 8 for bits in re.findall(r"\.param \.[ubf](\d+)", head[1])]
        assert sizes == [WORDS[arg["type"]] for arg in launch["args"]], launch["name"]


def test_no_path_of_a_machine() -> None:
    for name, text in texts().items():
        assert not re.search(r"/(home|root|tmp|usr|work|Users)/", text), name


@pytest.mark.parametrize(
    ("space", "operation", "column", "counters"),
    [
        ("Shared", "Store", "L1 Wavefronts Shared", (f"{WAVEFRONTS}st.sum", f"{WAVEFRONTS}stsm.sum")),
        (
            "Shared",
            "Load",
            "L1 Wavefronts Shared",
            (f"{WAVEFRONTS}ld.sum", f"{WAVEFRONTS}ldsm.sum", f"{WAVEFRONTS}gmma.sum"),
        ),
        ("Shared", "Atomic", "L1 Wavefronts Shared", (f"{WAVEFRONTS}atom.sum",)),
        ("Global", "Store", "L2 Theoretical Sectors Global", (f"{SECTORS}st.sum",)),
        ("Global", "Load", "L2 Theoretical Sectors Global", (f"{SECTORS}ld.sum",)),
    ],
)
def test_source_pages_add_up_to_counters(
    space: str, operation: str, column: str, counters: tuple[str, ...]
) -> None:
    """Hold a page against the counters of another run.

    The counter of loads from global memory has asynchronous copies, too. Of those that bypass the L1 it says
    other numbers than the page. An access without a space has all that it reached, such as `Global,Shared`.
    """
    for name, launch in counted("counters.json")["launches"].items():
        if (space, operation) == ("Global", "Load") and launch["counters"][BYPASSING]:
            continue
        accesses = counted("sources.json")["launches"][name]["accesses"]
        mine = [
            access
            for access in accesses
            if space in access["Address Space"].split(",") and access.get("Access Operation") == operation
        ]
        beside = launch["counters"][COPIED] if (space, operation) == ("Global", "Load") else 0
        found = sum(launch["counters"][counter] for counter in counters) - beside
        assert sum(access[column] for access in mine) == found, name


def test_copies_vary_both_sides() -> None:
    record = counted("cp_async.json")
    small = [case for case in record["cases"] if case["form"] in ("copy_4", "copy_8")]
    assert len({(*case["to"], *case["from"]) for case in small}) >= 400
    assert len({tuple(case["from"]) for case in small}) >= 150
    assert all(len(case["once"]) == len(record["metrics"]["once"]) for case in record["cases"])
