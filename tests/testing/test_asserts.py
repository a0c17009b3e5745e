"""The assertions for users' tests: what they let pass, what they stop, and what they say of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewise
from tilewise import Layout, LayoutError, NotDecided, R, S, Swizzle, laneid, parse, tx
from tilewise.check.banks import conflicts
from tilewise.check.match import Match, Mismatch, match
from tilewise.core.compare import Comparison
from tilewise.testing import assert_conflict_free, assert_matches, assert_same, naive_map, naive_places
from tilewise.testing.generate import perturbed, rewritten
from tilewise.testing.strategies import layouts

ROWS = S[(8, 64) : (64, 1)]
TILE = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
ROOT = Path(tilewise.__file__).parents[1]


def said_by(claim, *asked, **settings) -> list[str]:
    """The lines of the failure; none where the claim holds."""
    try:
        claim(*asked, **settings)
    except AssertionError as failure:
        return str(failure).splitlines()
    return []


# -- assert_same -----------------------------------------------------------------------------------


@given(layouts(), layouts(), st.randoms(use_true_random=False))
def test_it_fails_where_the_definition_differs_and_shows_the_first_of_them(layout, drawn, rng):
    for other in (rewritten(rng, layout), perturbed(rng, layout), drawn):
        if layout.same(other).answer is None:
            continue
        lines = said_by(assert_same, layout, other)
        maps = naive_map(layout), naive_map(other)
        assert bool(lines) == (maps[0] != maps[1])
        if not lines or layout.size != other.size:
            continue
        apart = [flat for flat in range(layout.size) if maps[0][flat] != maps[1][flat]]
        assert f"  {len(apart)} of {layout.size} elements are elsewhere" in lines
        index = layout.coordinates(apart[0])
        shown = str(index) if len(index) > 1 else str(index[0]) if index else "()"
        assert lines[0].startswith(f"not the same map: they first differ at {shown}")
        assert lines[5].split("  ")[1] == shown


def test_the_table_has_both_sides_of_the_elements_that_differ():
    expected = Swizzle(3, 3, 3) @ ROWS
    lines = said_by(assert_same, ROWS, expected)
    rows = [line.rsplit(maxsplit=2) for line in lines[5:11]]
    assert [row[0].strip() for row in rows] == [f"(1, {column})" for column in range(6)]
    for column, (_, found, other) in enumerate(rows):
        assert {found} == {f"{dict(place)['m']}@m" for place in naive_places(ROWS, 64 + column)}
        assert {other} == {f"{dict(place)['m']}@m" for place in naive_places(expected, 64 + column)}


def test_an_axis_that_counts_nothing_makes_no_difference():
    named = S[(2, 2) : (0, 1)] + 0 @ laneid
    lines = said_by(assert_same, named, S[(2, 2) : (0, 9)])
    assert "  2 of 4 elements are elsewhere" in lines


@pytest.mark.parametrize(
    ("found", "expected", "cause"),
    [
        (ROWS, Swizzle(3, 3, 3) @ ROWS, "without the swizzles they are one map"),
        (Swizzle(2, 3, 3) @ ROWS, Swizzle(3, 3, 3) @ ROWS, "without the swizzles they are one map"),
        (ROWS, ROWS + 5, "every element is -5@m from where it is expected"),
        (ROWS, S[(64, 8) : (1, 64)], "it is the expected map with its modes in the order (1, 0)"),
        (
            S[(8, (8, 8)) : (64, (8, 1))],
            S[(8, (8, 8)) : (64, (1, 8))],
            "it is the expected map with its digits, (8, 8, 8), in the order (0, 2, 1)",
        ),
        (
            S[(8, 4) : (4 @ laneid, 1 @ laneid)],
            S[(8, 4) : (4 @ tx, 1 @ tx)],
            "it is the expected map under other names: laneid stands for tx",
        ),
        (ROWS + R[2 : 1 @ laneid], ROWS, "the places are right, and copies are too many"),
        (ROWS, ROWS + R[2 : 1 @ laneid], "the places are right, and copies are missing"),
    ],
    ids=["swizzle", "other swizzle", "shift", "order", "digits", "names", "copies", "no copies"],
)
def test_the_cause_is_named(found, expected, cause):
    assert said_by(assert_same, found, expected)[-1] == f"  {cause}"


def test_no_cause_is_made_up():
    assert said_by(assert_same, ROWS, S[(8, 64) : (65, 1)])[-1] == "  448 of 512 elements are elsewhere"


def test_a_map_too_large_to_list_says_how_far_it_was_compared():
    large = S[(2**20, 2**20) : (2**20, 1)]
    assert_same(large, S[2**40 : 1])
    lines = said_by(assert_same, large, S[(2**20, 2**20) : (2**20 + 1, 1)])
    assert lines[0] == "not the same map: they first differ at (1, 0), flat index 1048576"
    assert lines[-1] == "  4096 of 1099511627776 elements are elsewhere among the next 4096"


def test_other_sizes_and_units_are_said():
    assert said_by(assert_same, S[64:1], S[(8, 4) : (4, 1)]) == [
        "not the same map: 64 elements in 64, expected 32 in (8, 4)",
        "  found     S[64 : 1]",
        "  expected  S[(8, 4) : (4, 1)]",
    ]
    assert said_by(assert_same, S[64:1].in_bytes("u8"), S[64:1])[0].endswith(
        "one counts bytes, the other elements"
    )


def test_what_was_not_decided_does_not_pass(monkeypatch):
    monkeypatch.setattr(Layout, "same", lambda *_: Comparison(None, "not decided within the bound"))
    with pytest.raises(NotDecided):
        assert_same(S[4:1], S[4:2])


@pytest.mark.parametrize("wrong", ["S[4 : 1]", None, 4])
def test_what_is_no_layout_is_no_failed_claim(wrong):
    with pytest.raises(LayoutError, match="TW107"):
        assert_same(S[4:1], wrong)
    with pytest.raises(LayoutError, match="TW107"):
        assert_same(wrong, S[4:1])


# -- assert_matches --------------------------------------------------------------------------------

MMA = {"engine": "mma", "shape": "m16n8k16"}

TILES = [
    "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
    "Swizzle<2,3,3> o S[(64, 32) : (32, 1)]",
    "Swizzle<3,3,3> o S[(64, 64) : (1, 64)]",
    "Swizzle<3,4,3> o S[(64, 64) : (64, 1)]",
    "S[(64, 64) : (64, 1)]",
    "S[(64, 64) : (72, 1)]",
    "S[(64, 64) : (66, 1)]",
    "S[(64, 60) : (64, 1)]",
    "S[(64, 64) : (64, 2)]",
    "S[(64, 64) : (0, 1)]",
    "S[(64, 64) : (64@laneid, 1@reg)]",
]


@pytest.mark.parametrize("text", TILES)
@pytest.mark.parametrize(
    "asked",
    [{"engine": "wgmma"}, {"engine": "tcgen05", "cta_group": 2}, MMA, MMA | {"form": "x4"}],
    ids=["wgmma", "tcgen05", "mma", "mma x4"],
)
def test_it_is_match_and_says_every_reason(text, asked):
    layout = parse(text)
    answer = match(layout, operand="A", dtype="bf16", **asked)
    lines = said_by(assert_matches, layout, operand="A", dtype="bf16", **asked)
    assert bool(lines) == isinstance(answer, Mismatch)
    if not lines:
        assert str(assert_matches(layout, operand="A", dtype="bf16", **asked)) == str(answer)
        return
    assert f"  {layout}" in lines
    assert ("tcgen05" in lines[0]) == (asked["engine"] == "tcgen05")
    for reason in answer.reasons:
        assert f"  {reason.rule}: {reason.message}" in lines
    for near in answer.nearest[:1]:
        assert f"  {near.layout}" in lines
        assert_matches(near.layout, operand="A", dtype="bf16", **asked)


def test_both_answers_were_among_the_tiles():
    assert {type(match(parse(text), operand="A", dtype="bf16")) for text in TILES} == {Match, Mismatch}


def test_tma_copies_a_tile_or_says_why_not():
    plan = assert_matches(TILE, engine="tma", dtype="bf16", shape=(4096, 4096))
    assert plan.tensor_map.mode.name == "128B"
    assert said_by(assert_matches, S[(64, 64) : (1, 64)], engine="tma", dtype="f16", shape=(512, 512)) == [
        "TMA does not copy it from a tensor of (512, 512) in f16",
        "  S[(64, 64) : (1, 64)]",
        "because",
        "  TW607: the tile is contiguous along dimension 0, the tensor along dimension 1",
        "    TMA does not transpose: lay the tile out along dimension 1, or copy by threads",
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "wgmma needs the operand of the tile"),
        ({"engine": "tma"}, "tma needs the shape of the tensor"),
        ({"engine": "tma", "operand": "A", "shape": (64, 64)}, "tma copies tiles of any operand"),
        ({"engine": "mma", "operand": "A"}, "mma has many shapes, and the call names none"),
        ({"engine": "tensor core", "operand": "A"}, "'tensor core' is no engine that match knows"),
    ],
    ids=["operand", "shape", "too much", "mma", "engine"],
)
def test_a_claim_that_is_not_understood_is_no_failed_claim(asked, message):
    with pytest.raises(LayoutError, match=message):
        assert_matches(TILE, dtype="bf16", **asked)


# -- assert_conflict_free --------------------------------------------------------------------------


def test_lanes_that_ask_in_pairs_cost_a_load_half_of_a_store():
    pairs = S[(16, 2, 8) : (8, 0, 1)].group(16 * 2, 8)
    loads, stores = (assert_conflict_free(ROWS, pairs, "bf16", operation=op) for op in ("ld", "st"))
    assert (loads.wavefronts, stores.wavefronts) == (2, 4)


PLAIN_TILES = [
    "S[(64, 64) : (64, 1)]",
    "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]",
    "Swizzle<2,3,3> o S[(64, 64) : (64, 1)]",
    "S[(64, 64) : (72, 1)]",
    "S[(64, 64) : (66, 1)]",
    "S[(64, 64) : (80, 1)]",
    "S[(32, 64) : (96, 1)]",
    "S[(64, 64) : (68, 1)]",
]


def plainly(layout: Layout, access: str, base: int) -> tuple[int, int]:
    """(wavefronts, the fewest) of 16-byte rows or 2-byte columns of a tile of 2-byte elements, by a loop."""
    rows, columns = layout.shape
    if access == "row:16B":
        starts = [(row, column) for row in range(rows) for column in range(0, columns, 8)]
    else:
        starts = [(row, column) for column in range(columns) for row in range(rows)]
    bytes, together = (16, 8) if access == "row:16B" else (2, 32)
    total = 0
    for first in range(0, len(starts), together):
        words: dict[int, set[int]] = {}
        for start in starts[first : first + together]:
            at = base + 2 * layout.place(*start)["m"]
            for word in range(at // 4, (at + bytes - 1) // 4 + 1):
                words.setdefault(word % 32, set()).add(word)
        total += max(map(len, words.values()))
    return total, len(starts) // together


@pytest.mark.parametrize("text", PLAIN_TILES)
@pytest.mark.parametrize("access", ["row:16B", "col:2B"])
@pytest.mark.parametrize("base", [0, 48])
def test_it_fails_where_a_plain_count_is_above_the_fewest(text, access, base):
    layout = parse(text)
    aligned = access == "col:2B" or all(layout.place(row, 0)["m"] % 8 == 0 for row in range(layout.shape[0]))
    lines = said_by(assert_conflict_free, layout, access, "bf16", base=base)
    if not aligned:
        assert lines[0] == "no instruction makes this access"
        return
    wavefronts, fewest = plainly(layout, access, base)
    assert bool(lines) == (wavefronts > fewest)
    if lines:
        assert lines[0] == f"{access} of bf16 takes {wavefronts} wavefronts, and {fewest} would do"
        assert lines[1] == f"  {layout}"
    else:
        assert assert_conflict_free(layout, access, "bf16", base=base).wavefronts == wavefronts


def test_the_worst_phase_is_drawn():
    lines = said_by(assert_conflict_free, S[(64, 64) : (64, 1)], "ldmatrix.x4", "bf16")
    assert lines[2:5] == [
        "the worst request is the first, 32 wavefronts instead of 4",
        "  phase 0: lanes 0..7, 8 wavefronts: bank 0 gives 8 words; cells number the wavefronts",
        "     bank 0       4       8       12      16      20      24      28",
    ]
    drawn = [line.split()[2:] for line in lines[5:13]]
    assert drawn == [[str(lane + 1)] * 4 + ["."] * 28 for lane in range(8)]
    assert lines[13].split() == ["words", *"8888", *["."] * 28]


@pytest.mark.parametrize(
    ("layout", "access", "dtype"),
    [
        (S[(64, 16) : (16, 1)], "ldmatrix.x4", "f16"),
        (S[(32, 32) : (32, 1)], "col:4B", "f32"),
        (S[(2, 48) : (64, 1)], "row:4B", "f32"),
        (S[(64, 64) : (1, 64)], "row:2B", "f16"),
        (S[(64, 96) : (96, 1)], "stmatrix.x4", "bf16"),
    ],
    ids=["ldmatrix", "column", "row", "column-major", "stmatrix"],
)
def test_the_layout_that_it_names_takes_fewer(layout, access, dtype):
    *_, said, better = said_by(assert_conflict_free, layout, access, dtype)
    number = int(said.removeprefix("it would take ").split()[0])
    now = conflicts(layout, access, dtype=dtype).wavefronts
    assert conflicts(parse(better.strip()), access, dtype=dtype).wavefronts == number < now
    if "16 bytes of a row" in said:
        assert conflicts(parse(better.strip()), "row:16B", dtype=dtype)


@pytest.mark.parametrize(
    ("layout", "access", "dtype", "ideal"),
    [
        (S[(32, 32) : (32, 1)], "col:4B", "f32", 32),
        (S[(64, 64) : (64, 1)], "col:2B", "bf16", 128),
        (S[(64, 64) : (64, 1)], "col:8B", "bf16", 64),
    ],
    ids=["transpose", "two-bytes", "eight-bytes"],
)
def test_where_wide_rows_are_in_the_way_the_layout_of_narrower_ones_is_named(layout, access, dtype, ideal):
    """The first layout still fails the claim; the second fulfils it, and rows can be written to it."""
    *_, wide, first, narrow, second = said_by(assert_conflict_free, layout, access, dtype)
    rows = "row:" + access.partition(":")[2]
    assert "keep 16 bytes of a row together" in wide
    assert narrow == f"it would take {ideal} and keep {rows[4:-1]} bytes of a row together under"
    with pytest.raises(AssertionError):
        assert_conflict_free(parse(first.strip()), access, dtype)
    for asked in (access, rows):
        assert_conflict_free(parse(second.strip()), asked, dtype)


def test_conflicts_that_no_layout_avoids_are_called_that():
    lines = said_by(assert_conflict_free, TILE, "col:2B", "bf16")
    assert lines[-3].startswith("with 16 bytes of a row together no layout takes fewer")
    assert lines[-2:] == [
        "it would take 256 and keep 2 bytes of a row together under",
        "  Swizzle<3,0,8> o Swizzle<3,3,3> o S[(128, 64) : (64, 1)]",
    ]


def test_a_request_after_the_first_may_be_the_worst():
    """The first 32 of row 0 have a bank each; its last 16 and the first 16 of row 1 share 16 banks."""
    lines = said_by(assert_conflict_free, S[(2, 48) : (64, 1)], "row:4B", "f32")
    assert lines[2] == "the worst request is number 1, 2 wavefronts instead of 1"
    assert lines[3].startswith("  phase 0: lanes 0..31, 2 wavefronts: bank 0 gives 2 words")


def test_a_phase_after_the_first_may_be_the_worst():
    """A row has 12 chunks: lanes 8..15 have the last four of row 0 and the first four of row 1."""
    lines = said_by(assert_conflict_free, S[(2, 48) : (64, 1)], "row:16B", "f32")
    assert lines[3].startswith("  phase 1: lanes 8..15, 2 wavefronts: bank 0 gives 2 words")


def test_letters_are_said_to_come_after_9():
    lines = said_by(assert_conflict_free, S[(32, 32) : (32, 1)], "col:4B", "f32")
    assert lines[3].endswith("32 wavefronts: bank 0 gives 32 words; cells number the wavefronts, a after 9")
    assert lines[5 + 9].split()[:3] == ["lane", "9", "a"]


def test_one_request_is_not_called_the_worst():
    lines = said_by(assert_conflict_free, S[(32, 32) : (32, 1)], S[(32, 1) : (32, 0)], "f32")
    assert lines[2] == "its one request takes 32 wavefronts instead of 1"


@pytest.mark.parametrize("wrong", ["diagonal", "row:3B"])
def test_an_access_that_is_not_understood_is_no_failed_claim(wrong):
    with pytest.raises(LayoutError):
        assert_conflict_free(TILE, wrong, "bf16")
    with pytest.raises(LayoutError):
        assert_conflict_free("S[(64, 64) : (64, 1)]", "row:16B", "bf16")


# -- in a test run ---------------------------------------------------------------------------------


def test_pytest_shows_the_message_at_the_line_that_claims(tmp_path):
    test = tmp_path / "test_of_mine.py"
    test.write_text(
        "from tilewise import S\nfrom tilewise.testing import assert_same, assert_matches\n\n\n"
        "def test_same():\n    assert_same(S[(4, 4) : (4, 1)], S[(4, 4) : (1, 4)])\n\n\n"
        'def test_matches():\n    assert_matches(S[(64, 64) : (64, 1)], operand="A", dtype="f16")\n\n\n'
        "def test_copies():\n"
        '    assert_matches(S[(9, 9) : (1, 9)], engine="tma", dtype="f16", shape=(64, 64))\n',
        encoding="utf-8",
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", str(test)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert "E       AssertionError: not the same map: they first differ at (0, 1), flat index 1" in run.stdout
    assert "E         (0, 1)  1@m    4@m" in run.stdout
    assert "E       AssertionError: wgmma does not read it as A of f16" in run.stdout
    assert "asserts.py" not in run.stdout
    assert [line for line in run.stdout.splitlines() if line.startswith("test_of_mine.py:")] == [
        "test_of_mine.py:6: AssertionError",
        "test_of_mine.py:10: AssertionError",
        "test_of_mine.py:14: AssertionError",
    ]


def test_claims_hold_without_pythons_assertions():
    code = (
        "from tilewise import S\nfrom tilewise.testing import assert_same\n"
        "try:\n    assert_same(S[4 : 1], S[4 : 2])\nexcept AssertionError:\n    print('stopped')"
    )
    run = subprocess.run(
        [sys.executable, "-O", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert run.stdout == "stopped\n"
