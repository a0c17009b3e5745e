"""Hold the cost of asynchronous copies to what an H200 counted of 1,959 of them, one warp each.

The rule was found in the first 653. The others were drawn by two other seeds, and counted, after that.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compiled.predicted import archive
from tests.compiled.sass_texts import program_of
from tools.counters import copies

from tilewise.check.access.access import INACTIVE
from tilewise.check.banks import count
from tilewise.compiled.findings import findings_of
from tilewise.compiled.kernel import ReadKernel
from tilewise.compiled.launch import Launch
from tilewise.compiled.run import counted as ran
from tilewise.hardware.limits import LANES
from tilewise.pictures.kernel.request import picture_of

OWN = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
"""The unit's own counter."""
PASSES = "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"
OF_INSTRUCTION = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"

SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

OTHERS = 3
"""Wavefronts of three loads without a lane, which ptxas puts before each copy."""
AT_THE_END = 1

PAGE = Path(__file__).parents[2] / "docs" / "banks.md"


AFTERWARDS = (29, 31)
"""Seeds of the patterns that were counted when the rule was known."""


@cache
def record(seed: int = copies.SEED) -> dict[str, Any]:
    name = "cp_async" if seed == copies.SEED else f"cp_async_{seed}"
    return json.loads(archive().read(f"{name}.json"))


def cases(*forms: str, seed: int = copies.SEED) -> list[dict[str, Any]]:
    """Return the recorded cases of some forms, and which of their lanes read something."""
    asked = copies.cases(seed)
    assert [(one.form, list(one.source)) for one in asked] == [
        (case["form"], case["from"]) for case in record(seed)["cases"]
    ]
    pairs = zip(record(seed)["cases"], asked, strict=True)
    return [
        case | {"read": [*map(bool, one.sizes)], "seed": seed} for case, one in pairs if one.form in forms
    ]


def counters(case: dict[str, Any], run: str) -> dict[str, int]:
    """Return the counters of one run of a case: `once`, or `often` with the L1 warm."""
    return dict(zip(record(case["seed"])["metrics"][run], case[run], strict=True))


def warm(case: dict[str, Any]) -> int | None:
    """Return the wavefronts of a copy whose bytes are in the L1; None where nobody counted it."""
    if "often" not in case:
        return None
    repeats = record()["often"] - 1
    each, rest = divmod(counters(case, "often")[OWN] - counters(case, "once")[OWN], repeats)
    assert rest == 0, case
    return each - OTHERS


def first(case: dict[str, Any]) -> int | None:
    """Return the wavefronts of a first copy; None where its lines took several passes through the tags."""
    once = counters(case, "once")
    return once[OWN] - OTHERS - AT_THE_END if once[PASSES] <= 1 else None


def predicted(case: dict[str, Any], read: Sequence[bool] = (True,) * LANES) -> int:
    """Return the wavefronts of a case by the rule."""
    bytes = int(case["form"].rpartition("_")[2])
    targets = np.array([[INACTIVE if at is None else at for at in case["to"]]])
    sources = np.where((targets == INACTIVE) | ~np.array(read), INACTIVE, [case["from"]])
    return int(count("cp.async", bytes, targets, sources)["wavefronts"][0])


@pytest.mark.parametrize(
    ("form", "many", "comparable"), [("copy_4", 210, 169), ("copy_8", 213, 161), ("copy_16", 57, 43)]
)
def test_copies_take_what_the_unit_counted(form, many, comparable):
    every = cases(form)
    counted = [(predicted(case), {warm(case), first(case)} - {None}) for case in every]
    assert len(counted) == many
    assert not [case for case, (want, found) in zip(every, counted, strict=True) if found - {want}]
    assert sum(bool(found) for _, found in counted) == comparable


def test_copies_drawn_afterwards_take_what_the_unit_counted():
    every = [case for seed in AFTERWARDS for case in cases("copy_4", "copy_8", "copy_16", seed=seed)]
    counted = [(predicted(case), {warm(case), first(case)} - {None}) for case in every]
    assert not [case for case, (want, found) in zip(every, counted, strict=True) if found - {want}]
    assert sum(bool(found) for _, found in counted) == 754
    assert "754 more, drawn when the rule was known" in PAGE.read_text(encoding="utf-8")


def test_copies_past_the_l1_have_a_sector_for_each_line_and_target_sector():
    """Lanes that write one place race, so their patterns are left out."""
    every = [case for seed in AFTERWARDS for case in cases("bypass_16", seed=seed)]
    apart = [case for case in every if len({*case["to"]} - {None}) == LANES - case["to"].count(None)]
    assert (len(every), len(apart)) == (114, 82)
    for case in apart:
        ends = zip(case["from"], case["to"], strict=True)
        pairs = {(source // 128, target // 32) for source, target in ends if target is not None}
        assert counters(case, "once")[SECTORS] == len(pairs), case


def test_the_page_says_how_many_were_comparable():
    found = [{warm(case), first(case)} - {None} for case in cases("copy_4", "copy_8", "copy_16")]
    text = PAGE.read_text(encoding="utf-8")
    assert f"| `cp.async`, both sides at random | {sum(map(bool, found))} | 0 |" in text
    assert f"{len(found) - sum(map(bool, found))} more patterns of `cp.async`" in text


def test_copies_past_the_l1_take_no_wavefront():
    every = cases("bypass_16")
    assert len(every) == 57
    assert {first(case) for case in every} | {warm(case) for case in every} == {0, None}


def test_copies_that_fill_are_off_where_the_page_says():
    """A lane that fills reads nothing. In a few launches such lanes had wavefronts of their own."""
    counted = [(case, warm(case)) for case in cases("fill_4", "fill_8") if warm(case) is not None]
    off = [count - predicted(case, case["read"]) for case, count in counted]
    assert (len(off), sum(map(bool, off)), min(off), max(off)) == (39, 7, 0, 3)
    assert "In 7 of 39 such patterns" in PAGE.read_text(encoding="utf-8")


def test_the_counter_of_the_instruction_is_another_as_often_as_the_page_says():
    off = Counter(
        case["form"]
        for case in cases("copy_4", "copy_8", "copy_16")
        if counters(case, "once")[OF_INSTRUCTION] != predicted(case)
    )
    assert off == {"copy_4": 21, "copy_8": 31, "copy_16": 4}
    assert f"in {sum(off.values())} of these 480 patterns" in PAGE.read_text(encoding="utf-8")


def test_a_first_copy_of_many_lines_takes_more_as_the_page_says():
    several = [case for case in cases("copy_4", "copy_8", "copy_16") if first(case) is None]
    more = [counters(case, "once")[OWN] - OTHERS - AT_THE_END - predicted(case) for case in several]
    assert min(more) == 0
    assert f"{sum(map(bool, more))} of {len(several)}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("to", "read", "says"),
    [
        (4, 128, "neighbouring lanes, 128 bytes apart, read the same banks of the L1"),
        (128, 4, "neighbouring lanes, 128 bytes apart, meet in the same banks"),
        (4, 4, ""),
    ],
)
def test_a_finding_names_the_side_on_which_lanes_meet(to, read, says):
    lines = [
        "S2R R0, SR_TID.X",
        f"IMAD R1, R0, {to:#x}, RZ",
        f"IMAD R2, R0, {read:#x}, RZ",
        "MOV R3, RZ",
        "LDGSTS.E [R1], desc[UR4][R2.64]",
        "EXIT",
    ]
    program = program_of(*lines)
    kernel = ReadKernel("copy", program, ran(program, Launch((1, 1, 1), (32, 1, 1))))
    found = [one for one in findings_of(kernel) if one.kind == "conflicts"]
    assert [one.cause for one in found] == (
        [f"a copy of 4 bytes a lane takes 32 wavefronts where 1 would do: {says}"] if says else []
    )
    for one in found:
        assert "32 wavefronts where 1 would do" in picture_of(one.row)
        assert one.command.startswith("tilewise coalesce" if read > to else "tilewise banks")
