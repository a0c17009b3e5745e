"""The defaults of a kernel around mma.sync: its warps, its stages, and its notes."""

from __future__ import annotations

import re

import pytest

from tilewise import Refused, parse
from tilewise.codegen.mma import Plan, kernel_source, planned
from tilewise.codegen.mma.choice import WARPS, grids
from tilewise.hardware.limits import shared_bytes
from tilewise.hardware.mma.instructions import Shape

TILES = [(m, n, 32) for m in (16, 48, 64, 80, 96, 128, 160, 192) for n in (8, 40, 64, 80, 96, 128, 160, 192)]


def grid_of(plan: Plan) -> tuple[tuple[int, int], int]:
    return plan.warps, plan.threads


# -- warps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("majors", [("k", "k"), ("mn", "mn"), ("mn", "k")], ids="/".join)
def test_every_tile_of_whole_instructions_has_warps(majors: tuple[str, str]) -> None:
    refused = []
    for tile in TILES:
        try:
            plan = planned(tile, "f16", majors=majors)
        except Refused as no:
            refused.append((tile, no.reason))
            continue
        instructions = tile[0] // 16 * (tile[1] // 8)
        assert plan.warps[0] * plan.warps[1] >= min(4, instructions) or instructions % 4, tile
    assert refused == []


@pytest.mark.parametrize(
    ("tile", "dtype", "warps"),
    [
        ((64, 64, 32), "bf16", (2, 2)),
        ((64, 64, 16), "f64", (2, 2)),
        ((128, 128, 32), "bf16", (2, 2)),
        ((128, 256, 32), "bf16", (2, 4)),
        ((128, 96, 64), "f16", (2, 2)),
        ((192, 128, 64), "f16", (3, 2)),
        ((64, 80, 32), "f16", (2, 2)),
        ((16, 8, 16), "f16", (1, 1)),
        ((16, 64, 16), "f16", (1, 4)),
        ((48, 8, 16), "f16", (3, 1)),
    ],
)
def test_the_grid_is_the_one_of_the_rule(
    tile: tuple[int, int, int], dtype: str, warps: tuple[int, int]
) -> None:
    assert planned(tile, dtype).warps == warps


def test_the_rule_by_its_definition() -> None:
    """No grid of those left out has fewer warps of the kind, or reads less with as many."""
    for m, n, _ in TILES:
        found = list(grids(Shape.of("m16n8k16"), 32, m, n))
        assert len(set(found)) == len(found)
        for rows, columns in found:
            assert m % (16 * rows) == n % (8 * columns) == 0
        every = [
            (rows, columns)
            for rows in range(1, m // 16 + 1)
            for columns in range(1, n // 8 + 1)
            if m % (16 * rows) == n % (8 * columns) == 0 and rows * columns <= 32
            if m * n // (rows * columns) // 32 <= 128
        ]
        assert found[0] == min(every, key=lambda grid: cost(grid, m, n))


def cost(grid: tuple[int, int], m: int, n: int) -> tuple[int, ...]:
    """Return the page's order: warps short of four, warps, rows of A and B that one reads, squarer first."""
    rows, columns = grid
    return max(0, WARPS - rows * columns), rows * columns, m // rows + n // columns, max(grid)


def test_a_layout_that_two_warps_do_not_share_has_other_warps() -> None:
    thirds = parse("S[((3, 32), 32) : ((2048, 40), 1)]")
    assert planned((96, 64, 32), "f16", layouts=(thirds, None)).warps[0] in (1, 3)
    with pytest.raises(Refused, match="does not divide between 2 x 1 warps"):
        planned((96, 64, 32), "f16", layouts=(thirds, None), warps=(2, 2))


def test_a_tile_that_no_warps_hold_asks_for_a_smaller_one() -> None:
    with pytest.raises(Refused) as no:
        planned((256, 256, 64), "f16", stages=1)
    assert "more than a multiprocessor holds" in no.value.reason
    assert no.value.hint.startswith("take a smaller tile")
    for tile, reason, hint in (
        ((208, 256, 32), "registers", "take a smaller tile"),
        ((240, 208, 128), "does not divide", "take another tile, or another layout"),
    ):
        with pytest.raises(Refused) as no:
            planned(tile, "f16", majors=("k", "mn"), out="f16")
        assert reason in no.value.reason
        assert no.value.hint == f"{hint}: no other warps hold it"
    with pytest.raises(Refused) as no:
        planned((256, 256, 64), "f16", accumulator="f16", warps=(1, 1))
    assert "more than a thread has" in no.value.reason
    assert no.value.hint.startswith("take more warps")


# -- stages -----------------------------------------------------------------------------------------


def test_stages_are_as_many_as_fit_and_three_at_most() -> None:
    assert planned((64, 64, 32), "bf16").stages == 3
    assert planned((64, 64, 32), "bf16", stages=1).stages == 1
    assert planned((128, 128, 128), "bf16").stages == 1  # of 64 KiB each: 99 KiB is what sm_86 has
    assert planned((128, 128, 128), "bf16", arch="sm_80").stages == 2
    assert planned((128, 128, 128), "bf16", arch="sm_90").stages == 3
    assert planned((64, 64, 32), "f16", arch="sm_75").stages == 1
    assert planned((64, 64, 32), "bf16", load="copy").stages == 1


@pytest.mark.parametrize(
    ("arch", "most"),
    [("sm_75", 65536), ("sm_80", 166912), ("sm_86", 101376), ("sm_89", 101376), ("sm_120", 101376)],
)
def test_a_block_has_the_shared_memory_of_its_architecture(arch: str, most: int) -> None:
    assert shared_bytes(arch) == most
    stages = {} if arch == "sm_75" else {"stages": 4}
    k = 192 if arch == "sm_75" else 128
    with pytest.raises(Refused) as no:
        planned((128, 128, k), "f16", arch=arch, **stages)
    assert f"and a block of {arch} has {most}" in no.value.reason


def test_a_tile_that_no_block_holds_is_said_of_its_operand() -> None:
    with pytest.raises(Refused) as no:
        planned((128, 128, 512), "f16", arch="sm_75")
    assert (
        "layout of A: the tile reaches from byte 0 to 131071, and shared memory has 65536" in no.value.reason
    )


def test_what_some_of_the_later_ones_do_not_have_is_said() -> None:
    text = kernel_source(planned((128, 128, 64), "f16", stages=4))
    assert "sm_80 and later but sm_86, sm_88, sm_89, sm_120, sm_121" in " ".join(text.split("\n// "))
    assert "later but" not in kernel_source(planned((128, 128, 64), "f16", stages=3))
    with pytest.raises(Refused) as no:
        planned((128, 128, 64), "f16", stages=6)
    assert "a block of sm_80 has 166912" in no.value.reason
    assert "--arch sm_90 has 232448" in no.value.hint


def test_more_than_48_KiB_are_to_be_allowed() -> None:  # noqa: N802 - the unit
    allowed = "cudaFuncAttributeMaxDynamicSharedMemorySize"
    assert allowed in kernel_source(planned((128, 128, 64), "f16", stages=3))
    assert allowed not in kernel_source(planned((64, 64, 32), "f16"))


# -- notes ------------------------------------------------------------------------------------------


def test_what_is_slow_is_said_with_its_reason() -> None:
    plan = planned((64, 64, 32), "f16", layouts=(parse("S[(64, 32) : (36, 1)]"), None))
    loads, copied = plan.notes
    assert loads.startswith("A by ld.shared.b32, not by ldmatrix: ")
    assert "no multiple of 16" in loads
    assert copied.startswith("A is copied 8 bytes at a time")
    head = kernel_source(plan).split("\n\n")[0].replace("\n// ", " ")
    for note in plan.notes:
        assert note in " ".join(head.split())


def test_usual_tiles_have_nothing_to_say() -> None:
    for dtype in ("f16", "bf16", "s8", "tf32", "f64", "e4m3", "s4"):
        assert planned((64, 64, 64), dtype).notes == (), dtype
    assert planned((64, 64, 32), "f16", majors=("mn", "mn")).notes == ()
    (note,) = planned((64, 64, 64), "s8", majors=("k", "mn")).notes
    assert note.startswith("B by ld.shared.b8, not by ldmatrix: ")
    assert planned((64, 64, 16), "f16", arch="sm_70").notes == ()  # which has no ldmatrix at all


def test_matrices_can_be_demanded() -> None:
    layouts = parse("S[(64, 32) : (36, 1)]"), None
    with pytest.raises(Refused, match="no warp moves this layout of A"):
        planned((64, 64, 32), "f16", layouts=layouts, form="matrices")
    plan = planned((64, 64, 32), "f16", form="matrices")
    assert [own.form for own in (plan.a, plan.b)] == ["matrices", "matrices"]


# -- hints ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtypes", "asked", "hint"),
    [
        (("f16",), {"store": "stmatrix"}, "--out f16 or --out bf16"),
        (("s8",), {"store": "stmatrix"}, "--store shared"),
        (("e4m3",), {"arch": "sm_80"}, "sm_89 and later have m16n8k32"),
    ],
)
def test_a_hint_is_what_to_type(dtypes: tuple[str, ...], asked: dict[str, str], hint: str) -> None:
    with pytest.raises(Refused) as no:
        planned((64, 64, 64), *dtypes, **asked)
    assert hint in no.value.hint


def test_digits_in_an_exclusive_or_stand_in_parentheses() -> None:
    text = kernel_source(planned((64, 64, 64), "s8", majors=("k", "mn")))
    line = next(line for line in text.splitlines() if "b_first ^" in line)
    assert re.search(r"b_first \^ \([^()]*[%/][^()]*\)", line), line
